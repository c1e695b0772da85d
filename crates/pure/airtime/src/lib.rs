//! Airtime of IEEE 802.11: rates and times of frames, from which the simulator (`sim/wlan`) and the access point's meter
//! both reckon.
//!
//! Clauses are those of IEEE 802.11-2020.

mod phy;
mod rate;

pub use phy::{ACK_BYTES, CTS_BYTES, Phy, Preamble, Protection, RTS_BYTES, Standard};
pub use rate::{Modulation, RATES, Rate, RateFacts, RateSet};
