//! SRTP and SRTCP: what carries voice where others could listen (RFC 3711, RFC 7714).
//!
//! In: a [`MasterKey`], and packets of one direction. Out: the packets protected ([`Protect`]) or checked and opened
//! ([`Unprotect`]). [`CryptoLine`] is how keys go through SDP (RFC 4568).
//!
//! Invariants:
//!
//! - A packet that fails its check changes nothing: no window, no rollover counter, no table of sources.
//! - An index is protected once. A sender that repeats itself is refused, because a second text under one index would
//!   give away the key of AES-GCM.
//! - An index is opened once: the window of [`WINDOW`] packets is always on.
//! - SRTCP that says it is not encrypted is refused; it is not looked at unauthenticated.
//! - Rollover counters live as long as the context. A change of address, a re-INVITE, or an hour on hold is nothing to
//!   them: keep the context while the key is the same.
//! - Keys are wiped, and `Debug` does not show them.
//!
//! The ciphers come from RustCrypto (`aes`, `aes-gcm`, `hmac`, `sha1`), the framing is ours, for reasons that the
//! design note gives; `tests/srtp_judges.rs` compares every profile with two other implementations.

mod crypto_line;
mod derive;
mod index;
mod key;
mod profile;
mod protect;
mod session_key;
mod unprotect;

pub use crypto_line::{CryptoLine, CryptoLineError, CryptoLineHidden};
pub use index::{IndexState, WINDOW, Window};
pub use key::MasterKey;
pub use profile::Profile;
pub use protect::Protect;
pub use unprotect::Unprotect;

use guestright_wire::rtp::RtpError;
use thiserror::Error;

/// So many sources may be protected or opened with one key: softphones take a new one now and then.
///
/// A source is never forgotten while its key lives, since that would open the door to replays.
pub const SOURCES_MAX: usize = 64;

/// Why a packet was not protected or not opened.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SrtpError {
    /// It is no RTP packet.
    #[error(transparent)]
    Rtp(#[from] RtpError),
    /// Too few bytes for a header and the check value.
    #[error("the packet has {got} bytes, at least {want} are needed")]
    TooShort {
        /// Bytes that were there.
        got: usize,
        /// The fewest that make sense.
        want: usize,
    },
    /// The first byte of an RTCP packet does not say version 2.
    #[error("RTCP version {0}, expected 2")]
    RtcpVersion(u8),
    /// Written or changed by somebody without the key, or for another key.
    #[error("the check value of the packet does not fit")]
    Forged,
    /// This index was opened before.
    #[error("packet {index} of source {ssrc:08x} came before")]
    Replayed {
        ssrc: u32,
        /// Rollover counter and sequence number, or the SRTCP index.
        index: u64,
    },
    /// The index lies below the window: nobody can tell whether it was used.
    #[error("packet {index} of source {ssrc:08x} is too old")]
    TooOld {
        ssrc: u32,
        /// Rollover counter and sequence number, or the SRTCP index.
        index: u64,
    },
    /// The peer sent SRTCP in the clear, although encryption was agreed on.
    #[error("SRTCP without encryption, which was not agreed on")]
    NotEncrypted,
    /// Too many sources under one key.
    #[error("source {ssrc:08x} would be one more than {SOURCES_MAX} under one key")]
    TooManySources { ssrc: u32 },
    /// The key has protected as many packets as it may (RFC 3711, section 9.2). A new one is needed.
    #[error("the key has protected as many packets as it may; agree on a new one")]
    KeyWornOut,
    /// The key or the salt has another length than its profile wants.
    #[error(
        "{profile} wants a key of {want_key} and a salt of {want_salt} bytes, got {got_key} and {got_salt}"
    )]
    KeyLength {
        profile: Profile,
        /// Bytes of the key that was given.
        got_key: usize,
        /// Bytes of the salt that was given.
        got_salt: usize,
        /// Bytes of a key.
        want_key: usize,
        /// Bytes of a salt.
        want_salt: usize,
    },
}

#[cfg(test)]
mod tests;
