//! Datagrams of the introduction.

use super::INTRODUCTION;
use crate::modern::Cipher;
use guestright_voice::agreement::Fingerprint;
use guestright_voice::tool::ToolError;

pub(super) const NONCE_LEN: usize = 16;
pub(super) const COOKIE_LEN: usize = 16;
pub(super) const VERSION: u8 = 1;

const HEADER_LEN: usize = 4;
const FINGERPRINT_LEN: usize = 32;
const ASK: u8 = 1;
const AGAIN: u8 = 2;
const ANSWER: u8 = 3;
/// Zeros at the end of ASK: as long as a COMMIT, which follows ANSWER.
const ASK_PADDING: usize = 44;

/// What a caller says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) nonce: [u8; NONCE_LEN],
    pub(super) fingerprint: Fingerprint,
    pub(super) prefers: Cipher,
}

/// What a callee says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Of the ASK.
    pub(super) caller_nonce: [u8; NONCE_LEN],
    pub(super) nonce: [u8; NONCE_LEN],
    pub(super) fingerprint: Fingerprint,
    pub(super) prefers: Cipher,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Datagram {
    /// The cookie is all zeros before there is one.
    Ask {
        ask: Ask,
        cookie: [u8; COOKIE_LEN],
    },
    Again {
        nonce: [u8; NONCE_LEN],
        cookie: [u8; COOKIE_LEN],
    },
    Answer(Answer),
}

impl Ask {
    /// All of it, in bytes; always as many.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&self.nonce[..], &self.fingerprint.0, &[number(self.prefers)]].concat()
    }
}

impl Answer {
    /// All of it, in bytes; always as many.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let prefers = [number(self.prefers)];
        [&self.caller_nonce[..], &self.nonce, &self.fingerprint.0, &prefers].concat()
    }
}

impl Datagram {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ToolError> {
        use ToolError::Malformed;
        let (header, mut body) =
            bytes.split_first_chunk::<HEADER_LEN>().ok_or(Malformed("shorter than its header"))?;
        let [first, version, kind, reserved] = *header;
        if first != INTRODUCTION || reserved != 0 {
            return Err(Malformed("another kind of datagram"));
        }
        if version != VERSION {
            return Err(Malformed("another version of the introduction"));
        }
        let body = &mut body;
        let datagram = match kind {
            ASK => {
                let ask =
                    Ask { nonce: read_array(body)?, fingerprint: fingerprint(body)?, prefers: cipher(body)? };
                let cookie = read_array(body)?;
                if read_array::<ASK_PADDING>(body)? != [0; ASK_PADDING] {
                    return Err(Malformed("ASK does not end in zeros"));
                }
                Self::Ask { ask, cookie }
            }
            AGAIN => Self::Again { nonce: read_array(body)?, cookie: read_array(body)? },
            ANSWER => Self::Answer(Answer {
                caller_nonce: read_array(body)?,
                nonce: read_array(body)?,
                fingerprint: fingerprint(body)?,
                prefers: cipher(body)?,
            }),
            _ => return Err(Malformed("an unknown step of the introduction")),
        };
        if body.is_empty() { Ok(datagram) } else { Err(Malformed("longer than it should be")) }
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let (kind, body) = match self {
            Self::Ask { ask, cookie } => {
                (ASK, [ask.to_bytes().as_slice(), cookie, &[0; ASK_PADDING]].concat())
            }
            Self::Again { nonce, cookie } => (AGAIN, [&nonce[..], cookie].concat()),
            Self::Answer(answer) => (ANSWER, answer.to_bytes()),
        };
        [&[INTRODUCTION, VERSION, kind, 0][..], &body].concat()
    }
}

fn number(cipher: Cipher) -> u8 {
    match cipher {
        Cipher::Aes128Gcm => 1,
        Cipher::ChaCha20Poly1305 => 2,
    }
}

fn cipher(body: &mut &[u8]) -> Result<Cipher, ToolError> {
    match read_array(body)? {
        [1] => Ok(Cipher::Aes128Gcm),
        [2] => Ok(Cipher::ChaCha20Poly1305),
        [_] => Err(ToolError::Malformed("an unknown cipher")),
    }
}

fn fingerprint(body: &mut &[u8]) -> Result<Fingerprint, ToolError> {
    read_array::<FINGERPRINT_LEN>(body).map(Fingerprint)
}

fn read_array<const N: usize>(body: &mut &[u8]) -> Result<[u8; N], ToolError> {
    let (taken, rest) = body.split_first_chunk().ok_or(ToolError::Malformed("shorter than it should be"))?;
    *body = rest;
    Ok(*taken)
}

/// Whether these bytes have the form of a datagram of an introduction, and would be written the same.
#[must_use]
pub fn parses(bytes: &[u8]) -> bool {
    Datagram::parse(bytes).is_ok_and(|datagram| datagram.emit() == bytes)
}
