//! How good the calls in a capture were, or how good one would be: as text, as JSON, as a table of seconds, as a page.
//!
//! In: a capture file ([`read`]), or what somebody says of a call ([`stated`]). Out: a `Report` of `guestright-capture`, and
//! what is shown of it: [`table`] for people, [`json`] for programs, [`csv`] for spreadsheets, [`page`] with figures, and the
//! sentences about a file in [`words`]. Of many captures ([`batch`]) and of an interface that is watched ([`live`], [`screen`])
//! each stream is one [`line`](mod@line), and all together are a [`tally`].
//!
//! Invariants: what is not known is never shown as a number, and always with its reason; nothing on a page is fetched or
//! run, whatever a capture holds.

pub mod batch;
pub mod csv;
mod figures;
pub mod json;
pub mod line;
pub mod live;
pub mod page;
pub mod read;
pub mod screen;
pub mod stated;
pub mod table;
pub mod tally;
pub mod words;
