//! 802.11n, ac and ax by hand, by properties, against Bianchi and against the figures of ns-3's examples.

mod hidden;
mod ns3;
mod promises;
mod scene;
mod sums;
mod voice;
