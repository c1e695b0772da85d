use super::Content;
use guestright_units::Time;
use std::fmt::Debug;
use thiserror::Error;

/// Protects what one side sends, and opens what it receives. Both directions have keys of their own.
///
/// Key material rides on the four messages of a phase. For the direction in which we talk: [`Seal::probe`],
/// [`Seal::install`], [`Seal::complete`]; for the one in which we listen: [`Seal::response`], [`Seal::ack`].
/// [`Seal::seal`] and [`Seal::open`] work throughout; the key that is sent with changes in [`Seal::complete`], and, where
/// the seal has a ratchet, with time.
pub trait Seal: Debug + Send {
    /// Writes a datagram for `content` over what is in `datagram`.
    ///
    /// `room` is what a packet of sound has at present, in bytes of the codec: everything else is padded to look like it,
    /// as far as it fits.
    ///
    /// # Errors
    /// [`SealError::WornOut`]: the key must not be used any more. [`SealError::Unsealable`]: not this, or not yet.
    fn seal(
        &mut self,
        content: &Content,
        room: usize,
        now: Time,
        datagram: &mut Vec<u8>,
    ) -> Result<(), SealError>;

    /// Opens a datagram.
    ///
    /// # Errors
    /// Why not. Nothing has changed then: no key, no window.
    fn open(&mut self, datagram: &[u8], now: Time) -> Result<Opened, SealError>;

    /// We talk and begin a phase: the key material of PROBE.
    fn probe(&mut self, phase: u32) -> Vec<u8>;

    /// We listen and answer: the key material of RESPONSE.
    ///
    /// # Errors
    /// [`SealError::KeyPart`].
    fn response(&mut self, phase: u32, probe: &[u8]) -> Result<Vec<u8>, SealError>;

    /// We talk, the round trip is known: the key material of INSTALL.
    ///
    /// # Errors
    /// [`SealError::KeyPart`].
    fn install(&mut self, phase: u32, response: &[u8]) -> Result<Vec<u8>, SealError>;

    /// We listen, and will understand the new key from now on: the key material of ACK.
    ///
    /// # Errors
    /// [`SealError::KeyPart`].
    fn ack(&mut self, phase: u32, install: &[u8]) -> Result<Vec<u8>, SealError>;

    /// We talk, and use the new key from now on.
    ///
    /// # Errors
    /// [`SealError::KeyPart`].
    fn complete(&mut self, phase: u32, ack: &[u8]) -> Result<(), SealError>;

    /// A phase in which we talk will not be completed.
    fn abandon(&mut self, phase: u32);
}

/// What was in a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    pub content: Content,
    /// The sender's count of datagrams, as wide as it takes never to repeat.
    pub sequence: u64,
}

/// Why a datagram was not opened, or a message not understood.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SealError {
    /// Not of this protection.
    #[error("not a datagram of this protection: {0}")]
    Malformed(&'static str),
    /// Its check failed, or no key fits.
    #[error("it was forged, changed, or made with an unknown key")]
    Forged,
    /// It came before, or is too old to tell.
    #[error("it was replayed, or is too old")]
    Replayed,
    /// The key material of a message does not fit.
    #[error("the key material of a handshake does not fit: {0}")]
    KeyPart(&'static str),
    /// The key protected as much as it may.
    #[error("the key is worn out")]
    WornOut,
    /// There is no key for it yet, or it is longer than this protection can have.
    #[error("it cannot be protected: {0}")]
    Unsealable(&'static str),
}
