//! Keys that two members agree on, end to end, on the way that the media takes.
//!
//! In: who we are ([`Prepared`]), the peer's [`Fingerprint`] out of the signalling, whom we expect, datagrams, the
//! time. Out: datagrams, and [`Agreed`]: keys for both directions, the peer's certificate, and four [`Words`] to read to
//! each other. Design note 0004, section 3, says why.
//!
//! # The exchange
//!
//! ```text
//! caller                                         callee
//!   HELLO                            ->
//!                                   <-   COMMIT  SHA-256 of its ephemeral key
//!   FIRST   e                        ->
//!                                   <-   SECOND  e, ee, s, es, {certificate, signature}
//!   THIRD   s, se, {certificate, signature}  ->
//!                                   <-   DONE    proof that it has the keys
//! ```
//!
//! FIRST to THIRD are Noise_XX_25519_ChaChaPoly_BLAKE2s. Whoever moves last could try keys until the words come out as it
//! likes; the callee moves last, so the callee commits. The words cover both ephemeral keys, and nothing that is sent
//! later. The prologue covers the version, the SRTP profile, both fingerprints with their roles, what the keys are for if
//! not for SRTP ([`Agreement::for_application`]), and the commitment. Each signature covers the handshake's hash so far,
//! the role, and the signer's keys.
//!
//! # Datagrams
//!
//! `8 | version 1 | kind | 0 | tag (8 bytes) | body`. The first byte is [`Kind::AGREEMENT`](guestright_wire::rtp::Kind::AGREEMENT),
//! which RFC 7983 and RFC 9443 leave free. The tag is that of the call, so stray datagrams cost a comparison. None is
//! longer than [`DATAGRAM_MAX`].
//!
//! # Invariants
//!
//! - Nothing is agreed with a peer whose certificate, signature, fingerprint or expected key does not fit.
//! - A datagram that does not fit changes nothing. A repeated one is answered with what was answered before.
//! - The callee answers one FIRST only; another would let somebody see its key and choose again.
//! - Tries, and checks that cost arithmetic, are bounded.

mod machine;
mod message;
mod noise;
mod prepared;
mod words;

pub use machine::{Agreed, Agreement, Call, Event};
pub use message::{DATAGRAM_MAX, parses};
pub use prepared::{Fingerprint, Prepared};
pub use words::Words;

use guestright_identity::{IdentityError, KeyId};
use thiserror::Error;

/// Which side of the call we are. The caller speaks first, whoever's datagram comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Made the offer.
    Caller,
    /// Answered it.
    Callee,
}

/// What is wrong with a datagram, or why there will be no agreement.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AgreementError {
    /// Not a datagram of an agreement, or one of another version.
    #[error("not a datagram of a key agreement: {0}")]
    Malformed(&'static str),
    /// For another call, or the other side was told something else by the signalling than we were.
    #[error("the datagram belongs to another call")]
    OtherCall,
    /// It is not its turn.
    #[error("the datagram is out of turn")]
    OutOfTurn,
    /// Not from whom it says, or changed on the way.
    #[error("the datagram was forged or changed")]
    Forged,
    /// Too many that cost arithmetic; it was not looked at.
    #[error("too many datagrams to check them all")]
    TooMany,
    /// The peer's key is not the one that it had committed to: somebody is trying to choose the words.
    #[error("the peer's key is not the one that it committed to")]
    Commitment,
    /// The peer is not whom the signalling announced.
    #[error("the peer's key is not the one of its fingerprint in the signalling")]
    Fingerprint,
    /// The peer is somebody else than was expected.
    #[error("the peer is {got}, expected {want}; if its key has changed, ask it by another way")]
    OtherPeer {
        /// The key that it showed.
        got: KeyId,
        /// The key that was expected.
        want: KeyId,
    },
    /// The peer's certificate or signature does not hold.
    #[error("the peer's certificate or signature does not hold: {0}")]
    Identity(#[from] IdentityError),
    /// Our own certificate and signature do not fit into one datagram.
    #[error("certificate and signature have {got} bytes, at most {max} fit into a datagram")]
    TooLong {
        /// Bytes of both.
        got: usize,
        max: usize,
    },
    /// Nobody answered in time.
    #[error("no agreement with the peer within {seconds} s")]
    Timeout {
        /// How long we tried.
        seconds: u64,
    },
}

#[cfg(test)]
mod tests;
