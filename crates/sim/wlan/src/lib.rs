//! IEEE 802.11 in virtual time: stations that share channels by the distributed coordination function (DCF).
//!
//! - In: a [`Config`] (rates and times in [`Phy`], which are those of `guestright-airtime`, rules of access in [`Mac`], [`Cell`]s on channels, [`Station`]s with
//!   queues), and packets ([`Wlan::enqueue`]).
//! - Out: what became of each packet ([`Output`]), counters ([`Stats`], [`ChannelStats`]), and on request every frame on
//!   the air ([`OnAir`]), which [`tap`] makes bytes of.
//! - Backoffs are exact to the slot: they stop while the medium is busy, run on after DIFS, and are drawn behind every
//!   transmission. Whose backoffs end in the same nanosecond, collide. A simulation takes an event for each access to the
//!   medium, not for each slot.
//! - All stations on a channel hear each other, at once (no distances, no hidden stations). Different channels do not
//!   disturb each other.
//! - What is accepted comes back in exactly one [`Output`].
//!
//! [`edca`] is the model of 802.11n, ac and ax: categories, aggregates, distances.
//!
//! Beside them, as pure functions: [`bianchi`], what a saturated cell carries, and [`bound`], how many voice streams or
//! calls it carries by the formulas of the literature.
//!
//! Clauses are those of IEEE 802.11-2020.

pub mod bianchi;
pub mod bound;
mod channel;
mod config;
pub mod edca;
mod exchange;
mod output;
mod station;
pub mod tap;
mod wlan;

pub use config::{
    Beacons, Cell, Config, ConfigError, Eifs, IdleAccess, MSDU_BYTES_MAX, Mac, Station, StationId,
};
pub use guestright_airtime::{
    ACK_BYTES, CTS_BYTES, Modulation, Phy, Preamble, Protection, RATES, RTS_BYTES, Rate, RateFacts, RateSet,
    Standard,
};
pub use guestright_airtime::{
    Access, AccessCategory, Band, Format, Guard, Ht, MinstrelConfig, Mode, Width, ampdu_bytes_max,
};
pub use output::{ChannelStats, DropReason, Msdu, OnAir, OnAirKind, Output, Stats};
pub use wlan::{Event, Wlan};
