//! Datagrams of the exchange.

use super::AgreementError;
use guestright_wire::rtp::Kind;

/// No datagram is longer: what goes through any path of today with headers to spare.
pub const DATAGRAM_MAX: usize = 1_200;

pub(super) const VERSION: u8 = 1;
pub(super) const HEADER_LEN: usize = 12;
/// The length of a Noise key, and of a commitment.
pub(super) const KEY_LEN: usize = 32;
/// What ChaCha20-Poly1305 adds.
pub(super) const TAG_LEN: usize = 16;
/// What is around the certificate and the signature in SECOND, the longer of the two that carry them: the header, the
/// ephemeral key, the sealed static key, the check value of the payload, and the length of the certificate.
pub(super) const PROOF_MAX: usize = DATAGRAM_MAX - HEADER_LEN - KEY_LEN - (KEY_LEN + TAG_LEN) - TAG_LEN - 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub(super) tag: [u8; 8],
    pub(super) body: Body<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body<'a> {
    /// As long as the answer, so that nobody is drowned by it.
    Hello,
    Commit(&'a [u8; KEY_LEN]),
    First(&'a [u8]),
    Second(&'a [u8]),
    Third(&'a [u8]),
    Done(&'a [u8; TAG_LEN]),
}

impl<'a> Message<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, AgreementError> {
        use AgreementError::Malformed;
        if bytes.len() > DATAGRAM_MAX {
            return Err(Malformed("longer than 1200 bytes"));
        }
        let (header, body) =
            bytes.split_first_chunk::<HEADER_LEN>().ok_or(Malformed("shorter than its header"))?;
        let [first, version, kind, reserved, tag @ ..] = *header;
        if first != Kind::AGREEMENT || reserved != 0 {
            return Err(Malformed("another kind of datagram"));
        }
        if version != VERSION {
            return Err(Malformed("another version"));
        }
        let fixed = |length: usize, what| if body.len() == length { Ok(body) } else { Err(Malformed(what)) };
        let sealed =
            |shortest: usize, what| if body.len() >= shortest { Ok(body) } else { Err(Malformed(what)) };
        let body = match kind {
            1 if body == [0; KEY_LEN] => Body::Hello,
            1 => return Err(Malformed("HELLO is not 32 zero bytes")),
            2 => Body::Commit(body.try_into().map_err(|_| Malformed("COMMIT is not 32 bytes"))?),
            3 => Body::First(fixed(KEY_LEN, "FIRST is not 32 bytes")?),
            4 => Body::Second(sealed(2 * KEY_LEN + 2 * TAG_LEN, "SECOND is too short")?),
            5 => Body::Third(sealed(KEY_LEN + 2 * TAG_LEN, "THIRD is too short")?),
            6 => Body::Done(body.try_into().map_err(|_| Malformed("DONE is not 16 bytes"))?),
            _ => return Err(Malformed("an unknown kind of message")),
        };
        Ok(Self { tag, body })
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let (kind, body): (u8, &[u8]) = match self.body {
            Body::Hello => (1, &[0; KEY_LEN]),
            Body::Commit(commitment) => (2, commitment),
            Body::First(body) => (3, body),
            Body::Second(body) => (4, body),
            Body::Third(body) => (5, body),
            Body::Done(body) => (6, body),
        };
        let mut bytes = Vec::with_capacity(HEADER_LEN + body.len());
        bytes.extend_from_slice(&[Kind::AGREEMENT, VERSION, kind, 0]);
        bytes.extend_from_slice(&self.tag);
        bytes.extend_from_slice(body);
        debug_assert!(bytes.len() <= DATAGRAM_MAX, "lengths were checked when the agreement was prepared");
        bytes
    }
}

/// Whether these bytes have the form of a datagram of an agreement, and would be written the same.
#[must_use]
pub fn parses(bytes: &[u8]) -> bool {
    Message::parse(bytes).is_ok_and(|message| message.emit() == bytes)
}
