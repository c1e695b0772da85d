//! Congestion control without I/O: how much may be on its way, and how long to wait for news of it.
//!
//! - A [`Controller`] keeps the congestion window. In: what was acknowledged, lost, timed out. Out: a window in bytes,
//!   and for algorithms that have one a pacing rate. [`AnyController`] is whichever a program chooses:
//!   [`Reno`] (RFC 5681), [`Aimd`] (TCP(alpha, beta)), [`Vegas`], [`Westwood`] (and Westwood+), [`Real`] (a reading of
//!   TCP-Real), [`Cubic`] (RFC 9438), [`Bbr`] (version 1), and [`Fixed`], none at all.
//! - [`Recovery`] counts duplicate acknowledgements, and says when to retransmit before a timeout: Reno (RFC 5681) and
//!   NewReno (RFC 6582). Reno and NewReno have the same controller and differ only here.
//! - [`RetransmissionTimeout`] turns round-trip times into a timeout (RFC 6298).
//! - [`Algorithm`] has the names of those that QUIC can have, with quinn's own.
//! - [`tfrc`] is no controller but a pair of machines: a rate by equation for datagrams (RFC 5348).
//! - [`model`] has the throughput of TCP(alpha, beta) as a formula, beside what is measured.
//!
//! All are sums: no clock, no packet, no chance, and no arithmetic that is not the same on any computer (whole numbers, or
//! IEEE 754's + - * / and square root). A program for real sockets can use them as the simulator does.
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

mod aimd;
mod algorithm;
mod any;
mod bbr;
mod controller;
mod cubic;
mod fixed;
mod millionths;
pub mod model;
mod real;
mod recovery;
mod reno;
mod scale;
mod settings;
pub mod tfrc;
mod timeout;
mod vegas;
mod westwood;

pub use aimd::{Aimd, AimdSettings};
pub use algorithm::Algorithm;
pub use any::AnyController;
pub use bbr::{Bbr, BbrPhase, BbrSettings};
pub use controller::{Ack, Controller, Flight, RateSample, Sent, WINDOW_MAX, WaveReport};
pub use cubic::{Cubic, CubicSettings};
pub use fixed::Fixed;
pub use millionths::Millionths;
pub use real::{Real, RealReadings, RealSettings, Trend, WaveMeter};
pub use recovery::{Duplicate, Progress, Recovery, RecoveryKind, RecoverySettings};
pub use reno::{Reno, RenoSettings};
pub use settings::{Increase, InitialWindow, RecoveryExit, SettingsError, WindowUnit};
pub use timeout::{RetransmissionTimeout, TimeoutSettings};
pub use vegas::{Vegas, VegasSettings};
pub use westwood::{Westwood, WestwoodFilter, WestwoodSettings};
