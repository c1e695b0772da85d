//! TCP-friendly rate control (RFC 5348): a rate by equation, for flows that want it smooth.
//!
//! Not a [`crate::Controller`]: it has no window and retransmits nothing. Two machines without I/O exchange
//! [`TfrcData`] headers on datagrams and [`TfrcFeedback`].
//!
//! ```text
//!                 bytes to send                     datagrams
//!  application ------------------> TfrcSender ----- TfrcData -----> TfrcReceiver
//!                                       ^---------- TfrcFeedback --------'
//! ```
//!
//! - The receiver finds loss events (losses within a round trip are one), keeps the last 8 intervals between them, and
//!   reports `p`, one over their weighted mean, and how fast data came in: once for each round trip, and at once when there
//!   is a new loss event (sections 5 and 6).
//! - The sender's rate is that of the [`equation`], and no more than twice what came in; before the first loss it doubles
//!   each round trip. Without feedback for four round trips it halves (section 4).
//!
//! Units: bytes and bytes per second of the segments that the rates are counted in, microseconds. The arithmetic is that of
//! IEEE 754 with nothing but + - * / and square roots, hence the same on any computer.
//!
//! What the RFC leaves open:
//! - The rate that the first feedback reports, of a single packet, is not used.
//! - A sender that was silent may not make up for it: no credit is kept (section 4.6 lets one keep a round trip's).
//! - The receiver learns the round-trip time from the sender's packets; while it is not known, each packet gets its feedback
//!   (there is one a second).
//! - A packet that comes after it was taken for lost changes nothing.
//! - Feedback does not say that there is a new loss event, only `p`: the sender takes a larger `p` for one.
//! - Small packets (RFC 4828): the open loss interval is not divided by its losses, only those that are over.
//! - Not there: faster restart, CCID 3's options, a variable size of segments.

mod equation;
mod history;
mod receiver;
mod sender;

pub use equation::{equation, loss_event_rate_for};
pub use history::LossHistory;
pub use receiver::{TfrcReceiver, TfrcReceiverSettings};
pub use sender::{TfrcSender, TfrcSenderSettings};

use guestright_units::{Micros, Time};

/// What the sender puts on each datagram (section 3.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TfrcData {
    /// One more for each datagram.
    pub sequence: u64,
    /// When it was sent, by the sender's clock.
    pub sent: Time,
    /// The sender's estimate of the round-trip time; `None` before the first feedback.
    pub round_trip: Option<Micros>,
    /// What counts of it for the rates, in bytes.
    pub bytes: u32,
}

/// What the receiver reports (section 3.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TfrcFeedback {
    /// [`TfrcData::sent`] of the datagram that came last.
    pub echo: Time,
    /// How long ago that was.
    pub delay: Micros,
    /// How fast data came in since the last feedback, bytes per second; `None` with the first datagram.
    pub received: Option<f64>,
    /// `p`: loss events per datagram, 0 to 1.
    pub loss_event_rate: f64,
}

#[cfg(test)]
mod tests;
