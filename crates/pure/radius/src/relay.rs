//! EAP between an access point and a home that is not on the same computer: what is asked, and what comes back.
//!
//! Not RADIUS: it has no secret of its own and goes over sealed channels only. A message begins with 0xfe and the number
//! of this form, 1. Beside it on a link travel SIP, which begins with ASCII, the directory's CBOR, which begins with a byte
//! from 0x80 to 0x9f, and frames of credit, which begin with 0xff. 0xfe is in no UTF-8 text, and begins no item of CBOR
//! (RFC 8949, appendix B).
//!
//! | bytes | what |
//! | --- | --- |
//! | 2 | 0xfe, 1 |
//! | 1 | kind: 1 question, 2 challenge, 3 accept, 4 reject, 5 away |
//! | 16 | the conversation |
//! | the rest | by kind, see [`Question`] and [`What`] |
//!
//! Numbers are big-endian. There is one way to write each message.

use crate::mppe::Msk;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use thiserror::Error;

/// What begins with it is ours, in whatever form.
const FIRST: u8 = 0xfe;
/// The form that this version writes and reads.
const FORM: u8 = 1;
const HEAD_BYTES: usize = 3 + 16;

/// No EAP packet here is longer: RADIUS carries none that is (RFC 2865, section 3: 4,096 octets with everything).
pub const EAP_BYTES_MAX: usize = 4_000;
/// No message has more bytes.
pub const MESSAGE_BYTES_MAX: usize = HEAD_BYTES + 64 + 4 + 19 + EAP_BYTES_MAX;

/// Whether a frame on a link is one of these messages, in whatever form.
#[must_use]
pub fn is_message(bytes: &[u8]) -> bool {
    bytes.first() == Some(&FIRST)
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RelayError {
    #[error("a message of EAP begins with 0xfe and 1")]
    Form,
    #[error("{0} is no kind of message of EAP")]
    Kind(u8),
    #[error("the message of EAP ends too early, or does not end where it has to")]
    Length,
    #[error("an EAP packet here has 4 to {EAP_BYTES_MAX} bytes")]
    Eap,
    #[error("a sentence has at most {} bytes of text in one line", Sentence::BYTES_MAX)]
    Sentence,
    #[error("the home's address is none")]
    Address,
}

/// What the access point that carries a conversation calls it: 16 bytes of chance. A home keeps those of different askers
/// apart, so nobody names another's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conversation(pub [u8; 16]);

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Conversation({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// One line for a guest, which another household has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence(String);

impl Sentence {
    /// A sentence of ours is about half as long.
    pub const BYTES_MAX: usize = 240;

    /// The text in one line, as far as it fits.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut line: String =
            text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        line.truncate(line.floor_char_boundary(Self::BYTES_MAX));
        Self(line)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parse(bytes: &[u8]) -> Result<Self, RelayError> {
        let text = std::str::from_utf8(bytes).map_err(|_| RelayError::Sentence)?;
        let sentence = Self::new(text);
        if sentence.0 == text { Ok(sentence) } else { Err(RelayError::Sentence) }
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an access point asks a guest's home. After the head: two bytes of Framed-MTU, 0 if there is none, and the EAP
/// packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub conversation: Conversation,
    /// How long the home's EAP packets may be (RFC 3579, section 2.4).
    pub framed_mtu: Option<u16>,
    /// What the guest's device has sent.
    pub eap: Vec<u8>,
}

/// What the home says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub conversation: Conversation,
    pub what: What,
}

/// See [`Answer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The device is to answer this. After the head: the EAP packet.
    Challenge { eap: Vec<u8> },
    /// It is a member's. After the head: the key, the time, the address, the EAP packet.
    Accept {
        /// EAP-Success.
        eap: Vec<u8>,
        msk: Msk,
        /// How long the device's certificate still counts. 4 bytes.
        valid_for_seconds: u32,
        /// Where the home expects the device's tunnel. One byte, 0, 4 or 6, then as many bytes as it takes, and the port.
        home: Option<SocketAddr>,
    },
    /// It is not. After the head: one byte with the length of the sentence, the sentence, the EAP packet.
    Reject { eap: Vec<u8>, reason: Sentence },
    /// There is no answer, and none will come. After the head: the sentence.
    Away { reason: Sentence },
}

impl Question {
    const KIND: u8 = 1;

    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mtu = self.framed_mtu.unwrap_or(0).to_be_bytes();
        [&head(Self::KIND, self.conversation), mtu.as_slice(), &self.eap].concat()
    }

    /// # Errors
    /// [`RelayError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, RelayError> {
        let (kind, conversation, mut rest) = split_head(bytes)?;
        if kind != Self::KIND {
            return Err(RelayError::Kind(kind));
        }
        let mtu = u16::from_be_bytes(rest.array()?);
        Ok(Self { conversation, framed_mtu: (mtu != 0).then_some(mtu), eap: rest.eap()? })
    }
}

impl Answer {
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let head = |kind| head(kind, self.conversation);
        match &self.what {
            What::Challenge { eap } => [&head(2), eap.as_slice()].concat(),
            What::Accept { eap, msk, valid_for_seconds, home } => {
                let valid = valid_for_seconds.to_be_bytes();
                [&head(3), msk.as_bytes().as_slice(), &valid, &emit_address(*home), eap].concat()
            }
            What::Reject { eap, reason } => {
                let length = u8::try_from(reason.0.len()).expect("a sentence is shorter than 256 bytes");
                [&head(4), [length].as_slice(), reason.0.as_bytes(), eap].concat()
            }
            What::Away { reason } => [&head(5), reason.0.as_bytes()].concat(),
        }
    }

    /// # Errors
    /// [`RelayError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, RelayError> {
        let (kind, conversation, mut rest) = split_head(bytes)?;
        let what = match kind {
            2 => What::Challenge { eap: rest.eap()? },
            3 => What::Accept {
                msk: Msk::new(rest.array()?),
                valid_for_seconds: u32::from_be_bytes(rest.array()?),
                home: rest.address()?,
                eap: rest.eap()?,
            },
            4 => {
                let [length] = rest.array()?;
                let reason = Sentence::parse(rest.take(usize::from(length))?)?;
                What::Reject { reason, eap: rest.eap()? }
            }
            5 => What::Away { reason: Sentence::parse(rest.0)? },
            other => return Err(RelayError::Kind(other)),
        };
        Ok(Self { conversation, what })
    }
}

fn head(kind: u8, conversation: Conversation) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..3].copy_from_slice(&[FIRST, FORM, kind]);
    head[3..].copy_from_slice(&conversation.0);
    head
}

fn split_head(bytes: &[u8]) -> Result<(u8, Conversation, Rest<'_>), RelayError> {
    let mut rest = Rest(bytes);
    match rest.array() {
        Ok([FIRST, FORM]) => {}
        _ => return Err(RelayError::Form),
    }
    let [kind] = rest.array()?;
    Ok((kind, Conversation(rest.array()?), rest))
}

fn emit_address(address: Option<SocketAddr>) -> Vec<u8> {
    let Some(address) = address else { return vec![0] };
    let port = address.port().to_be_bytes();
    match address.ip() {
        IpAddr::V4(ip) => [&[4], ip.octets().as_slice(), &port].concat(),
        IpAddr::V6(ip) => [&[6], ip.octets().as_slice(), &port].concat(),
    }
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], RelayError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(RelayError::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RelayError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(RelayError::Length)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn address(&mut self) -> Result<Option<SocketAddr>, RelayError> {
        let ip = match self.array()? {
            [0] => return Ok(None),
            [4] => IpAddr::from(Ipv4Addr::from(self.array()?)),
            [6] => IpAddr::from(Ipv6Addr::from(self.array::<16>()?)),
            _ => return Err(RelayError::Address),
        };
        let port = u16::from_be_bytes(self.array()?);
        if port == 0 || ip.is_unspecified() || ip.is_multicast() {
            return Err(RelayError::Address);
        }
        Ok(Some(SocketAddr::new(ip, port)))
    }

    /// All that is left.
    fn eap(&mut self) -> Result<Vec<u8>, RelayError> {
        if !(4..=EAP_BYTES_MAX).contains(&self.0.len()) {
            return Err(RelayError::Eap);
        }
        Ok(std::mem::take(&mut self.0).to_vec())
    }
}

#[cfg(test)]
mod tests;
