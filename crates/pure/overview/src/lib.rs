//! What a household sees of its home: is it on, who is served and why, what is owed, whether all is well.
//!
//! In: what `home` and its access points know, or the JSON that one of them wrote. Out: an [`Overview`], and its JSON. The page,
//! `guestright status --json` and other programs read the same.
//!
//! - [`Overview`]: all of it. [`Overview::from_json`] reads, [`Overview::to_json`] writes, [`Overview::shortened`] leaves out
//!   what is too much and counts it.
//! - [`Answer`]: the part of it that an access point knows, and its CBOR.
//! - [`Standing`]: how the household stands, in one sentence and one of six states.
//! - [`Guest`], [`Balance`], [`Why`], [`Hour`], [`Refusal`], [`Member`], [`Call`], [`Finding`]: its parts.
//! - [`Sum`], [`Rate`], [`Count`], [`Moment`], [`Mos`], [`Name`], [`Sentence`], [`Team`], [`Key`]: the values that they are made of.
//!
//! ```
//! use guestright_overview::{Hour, Moment, Sum};
//! use guestright_units::Bytes;
//!
//! let hour: Hour = serde_json::from_str(
//!     r#"{ "start": 1795802400, "served": 81000000, "consumed": 0, "allowance_used": 2000000, "refused": { "busy": 2 } }"#,
//! )
//! .unwrap();
//! assert_eq!(hour.served, Sum::from(Bytes(81_000_000)));
//! assert_eq!(hour.start.get(), 1_795_802_400);
//!
//! // What a program says has bounds: a browser's numbers end at 2^53 - 1.
//! assert!(serde_json::from_str::<Moment>("9007199254740992").is_err());
//! ```
//!
//! Invariants: sums are bytes, times are seconds since 1970-01-01 UTC, rates are bits a second, and no number is larger than a
//! browser holds exactly. Every text and list that is read has a limit (`…_MAX`), and no text has control characters or turns the
//! direction of writing. What is written is read as the same. A field that is not known is passed over, because a newer program may
//! have it; a field that is missing is an error, unless it may be `null`.
//!
//! With the feature `describe`, `openapi` gives the schema.

#![warn(missing_docs)]

mod access_point;
mod answer;
mod call;
mod class;
mod credit;
#[cfg(feature = "describe")]
mod describe;
mod finding;
mod guest;
mod history;
mod id;
mod list;
mod member;
mod mos;
mod number;
mod overview;
mod standing;
mod text;
mod why;

pub use access_point::{AccessPoint, CALLERS_MAX, COUNTERS_MAX, CallRoom};
pub use answer::{ANSWER_BYTES_MAX, ANSWER_VERSION, Answer, AnswerError};
pub use call::{Call, Phase, Protection};
pub use class::Class;
pub use credit::{Allowance, Balance, Credit};
#[cfg(feature = "describe")]
pub use describe::openapi;
pub use finding::Finding;
pub use guest::{Guest, ServedBy};
pub use history::{Hour, REASONS_MAX, Refusal, RefusedBy};
pub use id::{IdError, Key, Team};
pub use member::{DEVICES_MAX, Device, DeviceKind, Member};
pub use mos::{Mos, MosError};
pub use number::{Count, Moment, NUMBER_MAX, NumberError, Rate, Sum};
pub use overview::{
    ACCESS_POINTS_MAX, BALANCES_MAX, CALLS_MAX, FINDINGS_MAX, GUESTS_MAX, HOURS_MAX, JSON_BYTES_MAX, LeftOut,
    MEMBERS_MAX, May, NAMES_MAX, Overview, OverviewError, REFUSALS_MAX,
};
pub use standing::{Standing, State};
pub use text::{Name, Sentence, TextError};
pub use why::{DebtPath, LINES_MAX, PATH_TEAMS_MAX, PATHS_MAX, Why};
