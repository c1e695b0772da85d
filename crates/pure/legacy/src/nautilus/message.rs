//! The framing, which is ours.

use super::CODEC_BYTES;
use thiserror::Error;

/// Bytes of a nonce.
pub const NONCE_LEN: usize = 16;
/// Bytes of a check, and of a farewell.
pub const CHECK_LEN: usize = 8;
/// Bytes before the sound.
pub const HEADER_LEN: usize = 4;
/// Numbers of packets are below it.
pub const NUMBER_MAX: u32 = 1 << 24;
/// A public value is no longer.
pub const PUBLIC_MAX: usize = 512;

const VERSION: u8 = 1;
const HELLO: u8 = 1;
const ANSWER: u8 = 2;
const CONFIRM: u8 = 3;
pub(super) const VOICE: u8 = 4;
pub(super) const HANG_UP: u8 = 5;

/// What each side says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The cipher's code.
    pub cipher: u8,
    /// The key agreement's code.
    pub agreement: u8,
    /// Never the same twice.
    pub nonce: [u8; NONCE_LEN],
    /// The public value of Diffie-Hellman, or nothing.
    pub public: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From the caller, first.
    Hello(Offer),
    /// From the callee.
    Answer {
        /// About the callee.
        offer: Offer,
        /// Shows that it has the key.
        check: [u8; CHECK_LEN],
    },
    /// From the caller: it has the key too.
    Confirm {
        /// Shows it.
        check: [u8; CHECK_LEN],
    },
    Voice {
        /// One more with each packet, from 0, below [`NUMBER_MAX`].
        number: u32,
        sound: [u8; CODEC_BYTES],
    },
    HangUp {
        /// A fixed text, encrypted.
        sealed: [u8; CHECK_LEN],
    },
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum MessageError {
    /// Its first byte is none that is known.
    #[error("no message begins with {0}")]
    Kind(u8),
    /// It has another length than its kind has.
    #[error("{got} bytes are no message of this kind")]
    Length {
        /// Bytes that came.
        got: usize,
    },
    /// Another version, or bytes that have to be zero are not.
    #[error("another version than {VERSION}, or bytes that have to be zero are not")]
    Version,
}

impl Message {
    /// Reads a datagram, all of it.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let length = MessageError::Length { got: bytes.len() };
        let Some((header, body)) = bytes.split_first_chunk::<HEADER_LEN>() else { return Err(length) };
        match *header {
            [HELLO, rest @ ..] => Ok(Self::Hello(Offer::parse(rest, body, length)?)),
            [ANSWER, rest @ ..] => {
                let (body, check) = body.split_last_chunk().ok_or(length)?;
                Ok(Self::Answer { offer: Offer::parse(rest, body, length)?, check: *check })
            }
            [VOICE, n0, n1, n2] => {
                let number = u32::from_be_bytes([0, n0, n1, n2]);
                Ok(Self::Voice { number, sound: body.try_into().map_err(|_| length)? })
            }
            [CONFIRM, 0, 0, 0] => Ok(Self::Confirm { check: body.try_into().map_err(|_| length)? }),
            [HANG_UP, 0, 0, 0] => Ok(Self::HangUp { sealed: body.try_into().map_err(|_| length)? }),
            [CONFIRM | HANG_UP, ..] => Err(MessageError::Version),
            [kind, ..] => Err(MessageError::Kind(kind)),
        }
    }

    /// As it is sent.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        match self {
            Self::Hello(offer) => offer.emit(HELLO),
            Self::Answer { offer, check } => [&offer.emit(ANSWER)[..], check].concat(),
            Self::Confirm { check } => [&[CONFIRM, 0, 0, 0][..], check].concat(),
            Self::Voice { number, sound } => {
                let [_, n0, n1, n2] = number.to_be_bytes();
                [&[VOICE, n0, n1, n2][..], sound].concat()
            }
            Self::HangUp { sealed } => [&[HANG_UP, 0, 0, 0][..], sealed].concat(),
        }
    }
}

impl Offer {
    fn parse(header: [u8; 3], body: &[u8], length: MessageError) -> Result<Self, MessageError> {
        let [VERSION, cipher, agreement] = header else { return Err(MessageError::Version) };
        let (nonce, public) = body.split_first_chunk().ok_or(length)?;
        if public.len() > PUBLIC_MAX {
            return Err(length);
        }
        Ok(Self { cipher, agreement, nonce: *nonce, public: public.to_vec() })
    }

    fn emit(&self, kind: u8) -> Vec<u8> {
        [&[kind, VERSION, self.cipher, self.agreement][..], &self.nonce, &self.public].concat()
    }

    /// What goes into the key.
    pub(super) fn transcript(&self) -> Vec<u8> {
        self.emit(0)
    }
}
