//! Playout policies on the same traces: late loss against delay, and the best that hindsight could do.
//!
//! - [`Trace`]: packets with the times at which they were made and came, and what a handshake would take. Made by a
//!   [`Family`], or read from a file.
//! - [`Algorithm`]: a policy and the one number that is turned. [`play`] runs a policy over a trace: it sees what has
//!   arrived, and decides about a talkspurt when its first packet is there. [`Figures`] say how good that was.
//! - [`Bound`]: the least mean delay for each number of late packets, in hindsight (Moon, Kurose, Towsley 1998).
//! - [`at_loss`]: what delay an algorithm needs for a given late loss.
//!
//! Invariants: no packet is played before it came; within a talkspurt the delay is constant; talkspurts do not overlap.
//! So the bound holds for every policy. The same seed gives the same figures on every computer.

mod algorithm;
mod bound;
mod captured;
mod equal;
mod family;
mod figures;
mod handshake;
mod player;
mod trace;

pub use algorithm::{Algorithm, Knob};
pub use bound::{Bound, Talkspurt};
pub use captured::{CapturedError, from_captures};
pub use equal::{AtLoss, at_loss};
pub use family::{Call, Family, Talk};
pub use figures::{Figures, Judge};
pub use handshake::{Exchange, Handshakes, PHASE};
pub use player::{Played, Rules, play};
pub use trace::{PACKETS_MAX, Packet, Trace, TraceError, Way};
