//! A profile of Nautilus (Bill Dorsey, Pat Mullarky, Paul Rubin, 1995 to 1998): LPC-10 under Blowfish, IDEA or triple DES
//! in cipher feedback, as paper D measures it (Tables 5 and 11 to 13).
//!
//! Nautilus's source was not to be had. From its manual are the codec, the ciphers and their mode, a key of each call's
//! own, from a pass phrase or by Diffie-Hellman, and that the speakers compare what they see; from the paper's Table 5 the
//! packets: 8 frames of LPC-10, 56 bytes, 5.55 times a second. **Everything else is ours**: the framing, the messages of
//! the key agreement, how keys and initialisation vectors are made. It speaks with nothing but itself.
//!
//! ```text
//! voice     4 | number u24 BE | 56 bytes, encrypted
//! hello     1 | version 1 | cipher | agreement | nonce, 16 bytes | public value, if Diffie-Hellman
//! answer    2 | version 1 | cipher | agreement | nonce, 16 bytes | public value | check, 8 bytes
//! confirm   3 | 0 | 0 | 0 | check, 8 bytes
//! hang up   5 | 0 | 0 | 0 | 8 bytes, encrypted
//! ```
//!
//! The caller says hello until it is answered, the callee answers until that is confirmed. Both hash what they share (the
//! phrase, or the result of Diffie-Hellman) and what was said into the call's key, into the checks, and into the digits
//! that are read aloud. The initialisation vector of a packet is its kind, direction and number, encrypted, so that a lost
//! packet harms no other.
//!
//! What is weak, beside 64-bit blocks:
//!
//! - *Voice is not authenticated.* A flipped bit of the cipher text flips that bit of the sound, and changes the eight bytes
//!   behind it; whoever can send from the peer's address can add noise.
//! - *The digits are 32 bits, without a commitment before them*: whoever sits in the middle, finishes with one side and
//!   then tries 2^32 nonces on the other (seconds of SHA-1) makes both see the same. PGPfone has the commitment.
//! - *A pass phrase can be guessed offline* from one overheard hello and answer, at the speed of SHA-1; and whoever learns
//!   it later opens every call that was recorded.
//!
//! A wrong phrase is noticed here: no check fits, the set-up ends after [`ATTEMPTS_MAX`] attempts.
//!
//! ```
//! use guestright_legacy::nautilus::{Config, KeyAgreement, Nautilus};
//! use guestright_units::{Seed, Time};
//! use guestright_voice::tool::{Side, Tool};
//!
//! let (here, there) = ("192.0.2.1:4000".parse()?, "192.0.2.2:4000".parse()?);
//! let phrase = || KeyAgreement::PassPhrase("correct horse".to_owned().into());
//! let begin = |side, seed| Nautilus::new(Config::new(side, phrase()), &Seed::from_number(seed), Time(0));
//! let mut caller = begin(Side::Caller { to: there }, 1)?;
//! let mut callee = begin(Side::Callee, 2)?;
//! while let Some(said) = caller.poll_transmit() {
//!     callee.handle_datagram(&said.bytes, here, Time(0))?;
//!     while let Some(said) = callee.poll_transmit() {
//!         caller.handle_datagram(&said.bytes, there, Time(0))?;
//!     }
//! }
//! assert!(caller.is_ready() && callee.is_ready());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod message;

mod agreement;
mod config;
mod cost;
mod key;
mod tool;

pub use agreement::ATTEMPTS_MAX;
pub use config::{Cipher, Config, ConfigError, KeyAgreement};
pub use cost::work;
pub use tool::Nautilus;

/// Bytes of LPC-10 in a packet: 8 frames of 7.
pub const CODEC_BYTES: usize = 56;

/// Samples in a packet, at 8 kHz.
pub const PACKET_SAMPLES: usize = 1_440;

/// Why it is broken, to follow [`crate::BANNER`].
pub const INSECURE: &str = "sound is not authenticated, so whoever is in the middle can change and add some; a pass \
                            phrase can be guessed from one overheard call, and who tries 2^32 times forges the digits.";

#[cfg(test)]
mod tests;
