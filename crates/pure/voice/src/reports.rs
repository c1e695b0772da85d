//! What is behind the reports of RTCP (RFC 3550, section 6); their format is [`guestright_wire::rtcp`].
//!
//! [`Reception`] keeps the sums for a report on somebody else's packets, [`Schedule`] says when the next report is due,
//! [`round_trip`] what the other side's report says about the path.

mod reception;
mod schedule;

pub use reception::{Reception, round_trip};
pub use schedule::Schedule;

#[cfg(test)]
mod tests;
