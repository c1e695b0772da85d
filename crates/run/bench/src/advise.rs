//! Voice over each transport on a live path, there and back: the engine below `guestright-lab advise`.
//!
//! One end calls [`listen`]; the other makes a [`Caller`], and for each transport a [`Leg`] in each direction. What a leg
//! gives are differences of two clocks; [`rate`] turns them into ratings when all legs of a direction are there, and
//! [`in_text`] shows what is advised.

mod caller;
mod leg;
mod listener;
mod protocol;
mod shown;
mod trials;

pub use caller::{Caller, LegResult};
pub use leg::rate;
pub use listener::{ListenerConfig, ListenerEvent, listen};
pub use protocol::{CarrierName, Leg};
pub use shown::{in_json, in_text};
pub use trials::{Transport, Tried, leg, rate_all, transports, words};

/// QUIC's usual congestion control today.
pub const QUIC_CONGESTION: &str = "quinn-cubic";
