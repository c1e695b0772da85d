//! Calls over QUIC in virtual time: quinn-proto's endpoints as [`guestright_transport::Ends`].
//!
//! - [`QuicEnds`] is one call: a client that speaks and a server that listens, each a real QUIC endpoint, one connection
//!   between them. In: voice packets, datagrams that arrive, time. Out: datagrams, voice packets heard.
//! - [`QuicSettings`] says how voice is carried ([`Carriage`]: DATAGRAM frames of RFC 9221, one stream, a stream for each
//!   packet), what may wait, and which [`Congestion`] control is used: quinn's own, or ours by
//!   [`guestright_quinn_control`].
//!
//! What is real: packets, frames, acknowledgements, loss detection, pacing, flow control, the handshake's round trips.
//! What is not: cryptography. Nothing is encrypted, so that runs are fast and the same bytes everywhere; every packet is as
//! long as if it were (16 bytes of tag), handshake messages have the length of TLS 1.3's with a raw Ed25519 key.
//!
//! The same seed gives the same datagrams. quinn takes `std::time::Instant`, which cannot be made but from a clock: one is
//! read once in a process, everything else is added to it, and no result depends on it. quinn's own CUBIC uses `f64::cbrt`
//! of the platform, so its windows may differ in a last digit between platforms; nothing else here does.

mod carried;
mod clock;
mod end;
mod ends;
mod error;
mod identifiers;
mod null;
mod settings;
mod wire;

pub use ends::{QuicEnds, QuicStats};
pub use error::QuicError;
#[doc(no_inline)]
pub use guestright_quinn_control::{Algorithm, Carriage};
pub use settings::{Congestion, Opening, QuicSettings};
