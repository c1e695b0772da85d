//! Congestion control without I/O: how much may be on its way, and how long to wait for news of it.
//!
//! - A [`Controller`] keeps the congestion window. In: what was acknowledged, lost, timed out. Out: a window in bytes,
//!   and for algorithms that have one a pacing rate. [`Reno`] is that of RFC 5681, [`Fixed`] none at all.
//! - [`Recovery`] counts duplicate acknowledgements, and says when to retransmit before a timeout: Reno (RFC 5681) and
//!   NewReno (RFC 6582). Reno and NewReno have the same controller and differ only here.
//! - [`RetransmissionTimeout`] turns round-trip times into a timeout (RFC 6298).
//!
//! All three are sums: no clock, no packet, no chance, no floating point. A program for real sockets can use them as
//! the simulator does.
//!
//! Windows and counts are in bytes of payload, places in the stream are offsets from its first byte (64 bits, so they
//! do not wrap), times are in microseconds.
//!
//! ```
//! use guestright_congestion::{Ack, Controller, Reno, RenoSettings};
//!
//! let mut reno = Reno::new(RenoSettings::rfc5681(1_460))?;
//! assert_eq!(reno.window(), 3 * 1_460);
//! // In slow start each acknowledgement of a full segment adds a segment.
//! reno.on_ack(&Ack { bytes: 1_460, window_limited: true, ..Ack::default() });
//! assert_eq!(reno.window(), 4 * 1_460);
//! # Ok::<(), guestright_congestion::SettingsError>(())
//! ```

mod controller;
mod fixed;
mod recovery;
mod reno;
mod settings;
mod timeout;

pub use controller::{Ack, Controller, Flight, RateSample, Sent, WINDOW_MAX, WaveReport};
pub use fixed::Fixed;
pub use recovery::{Duplicate, Progress, Recovery, RecoveryKind, RecoverySettings};
pub use reno::{Reno, RenoSettings};
pub use settings::{Increase, InitialWindow, RecoveryExit, SettingsError};
pub use timeout::{RetransmissionTimeout, TimeoutSettings};
