//! Airtime of IEEE 802.11: how long frames take, how many calls an access point carries, and which of its guests call.
//!
//! - [`Phy`], [`Rate`]: rates and times of frames, from which the simulator (`sim/wlan`) reckons too.
//! - [`Radio`]: how many calls of a [`CallShape`] fit beside what is there, by the E-model.
//! - [`CallMeter`]: in go the counters of each guest, out come calls, load, and how many more calls fit ([`Room`]).
//!
//! Design note 0018 says what a meter that sees inside no packet cannot know. Clauses are those of IEEE 802.11-2020.

mod capacity;
mod meter;
mod phy;
mod rate;

pub use capacity::{CALLS_MAX, CallShape, MOS_MIN, Radio, Stream, Traffic};
pub use meter::{CallMeter, Count, Counted, Room};
pub use phy::{ACK_BYTES, CTS_BYTES, Phy, Preamble, Protection, RTS_BYTES, Standard};
pub use rate::{Modulation, RATES, Rate, RateFacts, RateSet};
