//! Voice over QUIC on real sockets.
//!
//! - A [`VoiceReceiver`] listens on a socket to any number of calls. Out: what was heard, and when.
//! - A [`VoiceSender`] speaks one call. In: what is to be said, and when. Out: when each packet was given to QUIC, what was
//!   thrown away because too much waited, what the connection counted.
//!
//! Both are quinn on tokio, with any congestion control that has a name ([`Algorithm`]) and any way of carrying voice
//! ([`Carriage`]). The caller makes the sockets (in whichever network they are to live) and hands in the clock that
//! everything is reckoned by.
//!
//! The receiver has a key of its own for each run, and shows it without a certificate (RFC 7250); the sender is told of it
//! beforehand and speaks with nobody else. Callers are not asked who they are: this is for measuring.
//!
//! A voice packet says which call it belongs to and its number, four bytes each; the rest is zeros.

mod error;
mod gate;
mod key;
mod packet;
mod receiver;
mod sender;
mod settings;

pub use error::QuicIoError;
#[doc(no_inline)]
pub use guestright_quinn_control::{Algorithm, Carriage};
pub use key::{ParseServerKeyError, ServerKey};
pub use packet::PACKET_BYTES_MIN;
pub use receiver::{ReceivedPacket, VoiceReceiver};
pub use sender::{Sent, SentReport, Spoken, VoiceSender};
pub use settings::{Clock, VoiceSettings};
