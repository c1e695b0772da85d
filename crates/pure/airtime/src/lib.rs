//! Airtime of IEEE 802.11: how long frames take, how many calls an access point carries, and which of its guests call.
//!
//! - [`Phy`], [`Rate`]: rates and times of frames, from which the simulator (`sim/wlan`) reckons too.
//! - [`Ht`], [`Mode`]: the same of 802.11n, ac and ax, and what is aggregated into a frame; [`Access`]: how categories of
//!   traffic contend (EDCA); [`Minstrel`]: which mode a sender takes.
//! - [`Radio`]: how many calls of a [`CallShape`] fit beside what is there, by the E-model.
//! - [`CallMeter`]: in go the counters of each guest, out come calls, load, and how many more calls fit ([`Room`]).
//!
//! Design note 0018 says what a meter that sees inside no packet cannot know. Clauses are those of IEEE 802.11-2020.

mod capacity;
mod edca;
mod meter;
mod minstrel;
mod mode;
mod phy;
mod ppdu;
mod rate;

pub use capacity::{CALLS_MAX, CallShape, MOS_MIN, Radio, Stream, Traffic};
pub use edca::{Access, AccessCategory};
pub use meter::{CallMeter, Count, Counted, Room};
pub use minstrel::{Minstrel, MinstrelConfig};
pub use mode::{Format, Guard, Mode, Width};
pub use phy::{ACK_BYTES, CTS_BYTES, Phy, Preamble, Protection, RTS_BYTES, Standard};
pub use ppdu::{
    Band, Ht, PPDU_TIME_MAX, ampdu_bytes_max, amsdu_bytes_max, amsdu_subframe_bytes, block_ack_bytes,
    preamble_time, subframe_bytes,
};
pub use rate::{Modulation, RATES, Rate, RateFacts, RateSet};
