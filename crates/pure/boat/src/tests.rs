//! What the phases, the clock and the buffer must hold, in one direction and in virtual time.

mod buffer;
mod direction;
mod endpoint;
mod phases;
mod playout;
