//! Layouts by hand, calls in virtual time, and what an attacker would send.

mod hostile;
mod layout;
mod playout;
mod set_up;
mod speech;
mod world;
