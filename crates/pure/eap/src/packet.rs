//! EAP as bytes (RFC 3748, section 4), and what EAP-TLS puts into it (RFC 5216, section 3).

use thiserror::Error;

/// A packet is at most as long as a RADIUS packet that could carry it (RFC 2865, section 3).
pub(crate) const PACKET_BYTES_MAX: usize = 4_096;
/// An identity is at most as long as RADIUS can carry it (RFC 2865, section 5.1).
const IDENTITY_BYTES_MAX: usize = 253;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;

const IDENTITY: u8 = 1;
const NOTIFICATION: u8 = 2;
const NAK: u8 = 3;
/// The number of EAP-TLS among the methods (RFC 5216, section 3.1).
pub(crate) const TLS: u8 = 13;

const LENGTH_INCLUDED: u8 = 0x80;
const MORE_FRAGMENTS: u8 = 0x40;
const START: u8 = 0x20;

/// An EAP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// From the home.
    Request { identifier: u8, method: Method<'a> },
    /// From the phone.
    Response { identifier: u8, method: Method<'a> },
    /// The end, from the home.
    Success { identifier: u8 },
    /// The end, from the home.
    Failure { identifier: u8 },
}

/// What a request or a response is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method<'a> {
    /// Who the phone says it is, or what it is to be shown when it is asked.
    Identity(&'a [u8]),
    /// Something to show; a response has nothing in it.
    Notification(&'a [u8]),
    /// The phone wants one of these methods instead; none if it is empty or 0.
    Nak(&'a [u8]),
    /// EAP-TLS.
    Tls(Fragment<'a>),
    /// A method that is not ours.
    Other { method: u8, content: &'a [u8] },
}

/// A piece of what TLS has to say; without flags and bytes it is an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The home asks the phone to begin.
    pub start: bool,
    /// There is more of the same message.
    pub more: bool,
    /// How long the whole message is.
    pub total: Option<u32>,
    pub bytes: &'a [u8],
}

/// Bytes that are no EAP packet.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PacketError {
    #[error("an EAP packet of {got} bytes is too short")]
    Short { got: usize },
    #[error("an EAP packet of {got} bytes is too long")]
    Long { got: usize },
    #[error("an EAP packet says that it has {want} bytes, and has {got}")]
    Length { got: usize, want: usize },
    #[error("{0} is no code of EAP")]
    Code(u8),
    #[error("an identity of {got} bytes is too long")]
    Identity { got: usize },
    #[error("a packet that only ends a conversation has something in it")]
    Trailing,
}

impl<'a> Packet<'a> {
    /// Reads a packet. What is behind its end is padding, and reserved flags mean nothing (RFC 3748, section 4;
    /// RFC 5216, section 3.1).
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let [code, identifier, high, low, rest @ ..] = bytes else {
            return Err(PacketError::Short { got: bytes.len() });
        };
        if bytes.len() > PACKET_BYTES_MAX {
            return Err(PacketError::Long { got: bytes.len() });
        }
        let want = usize::from(u16::from_be_bytes([*high, *low]));
        let content = want.checked_sub(4).and_then(|content| rest.get(..content));
        let content = content.ok_or(PacketError::Length { got: bytes.len(), want })?;
        let identifier = *identifier;
        let ends = if content.is_empty() { Ok(()) } else { Err(PacketError::Trailing) };
        Ok(match *code {
            REQUEST => Self::Request { identifier, method: Method::parse(content)? },
            RESPONSE => Self::Response { identifier, method: Method::parse(content)? },
            SUCCESS => ends.map(|()| Self::Success { identifier })?,
            FAILURE => ends.map(|()| Self::Failure { identifier })?,
            other => return Err(PacketError::Code(other)),
        })
    }

    /// The packet as bytes.
    ///
    /// # Panics
    /// If it is longer than a packet may be; whoever fills it knows the limit.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let (code, identifier, method) = match self {
            Self::Request { identifier, method } => (REQUEST, *identifier, Some(method)),
            Self::Response { identifier, method } => (RESPONSE, *identifier, Some(method)),
            Self::Success { identifier } => (SUCCESS, *identifier, None),
            Self::Failure { identifier } => (FAILURE, *identifier, None),
        };
        let mut bytes = vec![code, identifier, 0, 0];
        if let Some(method) = method {
            method.emit(&mut bytes);
        }
        let length = u16::try_from(bytes.len()).expect("a packet is short");
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }
}

impl<'a> Method<'a> {
    fn parse(content: &'a [u8]) -> Result<Self, PacketError> {
        let [method, content @ ..] = content else {
            return Err(PacketError::Short { got: 4 });
        };
        Ok(match *method {
            IDENTITY if content.len() > IDENTITY_BYTES_MAX => {
                return Err(PacketError::Identity { got: content.len() });
            }
            IDENTITY => Self::Identity(content),
            NOTIFICATION => Self::Notification(content),
            NAK => Self::Nak(content),
            TLS => Self::Tls(Fragment::parse(content)?),
            method => Self::Other { method, content },
        })
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        let (method, content) = match *self {
            Self::Identity(content) => (IDENTITY, content),
            Self::Notification(content) => (NOTIFICATION, content),
            Self::Nak(content) => (NAK, content),
            Self::Tls(fragment) => {
                bytes.push(TLS);
                return fragment.emit(bytes);
            }
            Self::Other { method, content } => (method, content),
        };
        bytes.push(method);
        bytes.extend_from_slice(content);
    }
}

impl<'a> Fragment<'a> {
    /// "I have it, go on."
    pub const ACKNOWLEDGEMENT: Self = Self { start: false, more: false, total: None, bytes: &[] };
    /// "Begin."
    pub const START: Self = Self { start: true, ..Self::ACKNOWLEDGEMENT };

    /// Whether this only says that something has arrived.
    #[must_use]
    pub fn is_acknowledgement(&self) -> bool {
        !self.start && !self.more && self.bytes.is_empty()
    }

    fn parse(content: &'a [u8]) -> Result<Self, PacketError> {
        let [flags, content @ ..] = content else {
            return Err(PacketError::Short { got: 5 });
        };
        let (total, bytes) = if flags & LENGTH_INCLUDED == 0 {
            (None, content)
        } else {
            let (total, bytes) =
                content.split_first_chunk().ok_or(PacketError::Short { got: 6 + content.len() })?;
            (Some(u32::from_be_bytes(*total)), bytes)
        };
        Ok(Self { start: flags & START != 0, more: flags & MORE_FRAGMENTS != 0, total, bytes })
    }

    fn emit(&self, bytes: &mut Vec<u8>) {
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        bytes.push(
            flag(self.total.is_some(), LENGTH_INCLUDED)
                | flag(self.more, MORE_FRAGMENTS)
                | flag(self.start, START),
        );
        bytes.extend(self.total.map(u32::to_be_bytes).into_iter().flatten());
        bytes.extend_from_slice(self.bytes);
    }
}

#[cfg(test)]
mod tests;
