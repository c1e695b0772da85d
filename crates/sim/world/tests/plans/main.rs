//! Every plan of the repository, read and run in small.

mod paper_plans;
mod playout_plans;
mod town_plans;
mod transport_plans;
mod voice_plans;
