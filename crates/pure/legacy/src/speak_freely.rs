//! Speak Freely (John Walker, 1991 to 2004), as its source for Unix, version 7.6, has it (public domain): its own packets
//! and its RTP mode, with the ciphers that paper D measures (Tables 5 and 11 to 13).
//!
//! In its own protocol a packet has flags, a name, a length, and sound: no sequence number, no time. [`packet`] reads and
//! writes it; [`rtp`] the packets of RTP mode; [`cipher`] encrypts them.
//!
//! ```
//! use guestright_legacy::speak_freely::{Cipher, Config, Form, Protocol, SpeakFreely};
//! use guestright_units::{Micros, Seed, Time};
//! use guestright_voice::session::Frame;
//! use guestright_voice::tool::{Side, Tool as _};
//!
//! let to = "192.0.2.1:2074".parse()?;
//! let config = Config {
//!     cipher: Cipher::Blowfish,
//!     phrase: "correct horse".to_owned().into(),
//!     ..Config::new(Side::Caller { to }, Form::Gsm, Protocol::Own)
//! };
//! let mut tool = SpeakFreely::new(config, &Seed::from_number(1), Time(0))?;
//! let frame = Frame { payload: &[0xd5; 330], duration: Micros(200_000), is_speech: true, noise_level: 60 };
//! tool.handle_frame(&frame, Time(200_000));
//! let sound = std::iter::from_fn(|| tool.poll_transmit()).last().expect("it is sent at once");
//! assert_eq!(sound.bytes.len(), 24 + 336, "a header, and Table 5's 336 bytes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What the tool could not do, and this does not either:
//!
//! - *Nothing is authenticated.* A flipped bit comes through as other sound; packets of an old call can be sent again.
//! - *Equal packets are encrypted equally*: every packet begins from zero, and the key is MD5 of the phrase, for ever.
//! - *The order is that of arrival* in its own protocol, and what is missing is not noticed. Robust mode
//!   ([`Config::copies`] above 1) numbers packets modulo 256: what is not ahead of the last packet by that number, and
//!   less than 16 behind it, is dropped, so nothing is shuffled; what is farther behind is a new beginning. RTP mode has
//!   sequence numbers and times.
//! - *A packet that the network has doubled* looks like the next packet, and the tool played it twice. Equal packets are so
//!   rare while somebody speaks that here a packet equal to one of the last [`EQUAL_KEPT`] counts as a duplicate, with
//!   and without numbers; a copy that comes later than that is played again. The price: of digital silence, where a codec
//!   makes the same packet again and again, all but the first go missing, which is silence all the same. Nothing is added
//!   to the packets for it.
//! - *Anybody who knows the address can speak* where no cipher is set. The first to send something well formed is the
//!   peer for the rest of the call; the original mixed everybody.
//! - *A wrong phrase is not noticed.* What is decrypted is noise of the right length, and is played. In RTP mode the
//!   header is noise too, so nothing is taken.
//! - *A farewell is never encrypted* in its own protocol: whoever can send from the peer's address ends the call.
//!
//! Where it differs from the original, besides that: one UDP port instead of two (its control packets went to the port
//! above; here a control packet is known by its second byte); sound that is not under the call's cipher is refused, where the
//! original played it; and no text, faces, one-time pad, PGP, AES, VAT, 2X or
//! VOX.

pub mod cipher;
pub mod packet;
pub mod rtp;

mod config;
mod control;
mod cost;
mod receive;
mod tool;

pub use cipher::Cipher;
pub use config::{COPIES_MAX, Config, ConfigError, Form, NAME_MAX, Protocol};
pub use cost::work;
pub use receive::EQUAL_KEPT;
pub use tool::SpeakFreely;

/// Why it is broken, to follow [`crate::BANNER`].
pub const INSECURE: &str = "every packet is encrypted alike under a key that is MD5 of the pass phrase, and nothing is \
                            authenticated: equal sound looks equal, and whoever is in the middle can change, replay \
                            and add sound.";

#[cfg(test)]
mod tests;
