//! RADIUS packets: what is read of them, who made them, and how they are written.

use crate::attribute::{Attribute, Kind, VALUE_BYTES_MAX, text_pieces};
use crate::error::RadiusError;
use crate::secret::{Secret, equal};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// RFC 2865, section 3.
pub const PACKET_BYTES_MAX: usize = 4_096;
const HEADER_BYTES: usize = 20;
/// Message-Authenticator with its two octets of header.
const MESSAGE_AUTHENTICATOR_BYTES: usize = 18;

/// What a packet is (IANA, "RADIUS Packet Type Codes").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    AccessRequest = 1,
    AccessAccept = 2,
    AccessReject = 3,
    AccountingRequest = 4,
    AccountingResponse = 5,
    AccessChallenge = 11,
    StatusServer = 12,
    DisconnectRequest = 40,
    DisconnectAck = 41,
    DisconnectNak = 42,
    CoaRequest = 43,
    CoaAck = 44,
    CoaNak = 45,
}

/// How a packet's authenticator is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// It is chance, and Message-Authenticator vouches for the packet: Access-Request and Status-Server.
    Chance,
    /// It is a digest over the packet, with zeros in its place.
    Digest,
    /// It is a digest over the packet, with the request's authenticator in its place.
    Response,
}

impl Code {
    pub const ALL: [Self; 13] = [
        Self::AccessRequest,
        Self::AccessAccept,
        Self::AccessReject,
        Self::AccountingRequest,
        Self::AccountingResponse,
        Self::AccessChallenge,
        Self::StatusServer,
        Self::DisconnectRequest,
        Self::DisconnectAck,
        Self::DisconnectNak,
        Self::CoaRequest,
        Self::CoaAck,
        Self::CoaNak,
    ];

    fn form(self) -> Form {
        match self {
            Self::AccessRequest | Self::StatusServer => Form::Chance,
            Self::AccountingRequest | Self::DisconnectRequest | Self::CoaRequest => Form::Digest,
            Self::AccessAccept
            | Self::AccessReject
            | Self::AccountingResponse
            | Self::AccessChallenge
            | Self::DisconnectAck
            | Self::DisconnectNak
            | Self::CoaAck
            | Self::CoaNak => Form::Response,
        }
    }

    /// Whether a packet has to have a Message-Authenticator.
    ///
    /// All of Access-*: RFC 3579, section 3.2, demands it where there is EAP, and BlastRADIUS (CVE-2024-3596; Goldberg and
    /// others, USENIX Security 2024) forges an Access-Accept where it may be missing, because the Response Authenticator is
    /// plain MD5. Status-Server: RFC 5997, section 3.
    fn needs_message_authenticator(self) -> bool {
        matches!(
            self,
            Self::AccessRequest
                | Self::AccessAccept
                | Self::AccessReject
                | Self::AccessChallenge
                | Self::StatusServer
        )
    }

    /// Whether it is an answer.
    #[must_use]
    pub fn is_response(self) -> bool {
        self.form() == Form::Response
    }
}

impl TryFrom<u8> for Code {
    type Error = RadiusError;

    fn try_from(got: u8) -> Result<Self, RadiusError> {
        Self::ALL.into_iter().find(|code| *code as u8 == got).ok_or(RadiusError::Code { got })
    }
}

/// A packet whose form is right. Who made it is not known before one of the `verify_…` says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    code: Code,
    identifier: u8,
    authenticator: [u8; 16],
    /// All of it, without padding.
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a datagram. What follows the packet's own length is padding (RFC 2865, section 3).
    ///
    /// # Errors
    /// [`RadiusError`]: lengths that do not fit, or a code that we do not speak.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, RadiusError> {
        let got = datagram.len();
        let Some((&[code, identifier, high, low], rest)) = datagram.split_first_chunk() else {
            return Err(RadiusError::Length { got });
        };
        let want = usize::from(u16::from_be_bytes([high, low]));
        if !(HEADER_BYTES..=PACKET_BYTES_MAX).contains(&want) {
            return Err(RadiusError::Length { got: want });
        }
        let truncated = RadiusError::Truncated { got, want };
        let bytes = datagram.get(..want).ok_or(truncated.clone())?;
        let authenticator = *rest.first_chunk().ok_or(truncated)?;
        let packet = Self { code: Code::try_from(code)?, identifier, authenticator, bytes };
        let mut at = HEADER_BYTES;
        while at < want {
            let length = bytes.get(at + 1).map_or(0, |length| usize::from(*length));
            if length < 2 || at + length > want {
                return Err(RadiusError::Attribute { at });
            }
            at += length;
        }
        Ok(packet)
    }

    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    #[must_use]
    pub fn identifier(&self) -> u8 {
        self.identifier
    }

    #[must_use]
    pub fn authenticator(&self) -> [u8; 16] {
        self.authenticator
    }

    /// The packet without padding.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// All attributes in their order.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let mut rest = &self.bytes[HEADER_BYTES..];
        std::iter::from_fn(move || {
            let (&[kind, length], _) = rest.split_first_chunk()?;
            let (attribute, after) = rest.split_at_checked(usize::from(length))?;
            rest = after;
            Some(Attribute { kind: Kind(kind), value: attribute.get(2..)? })
        })
    }

    /// The values of all attributes of a kind.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.attributes().filter(move |attribute| attribute.kind == kind).map(|attribute| attribute.value)
    }

    /// The value of an attribute that is there at most once.
    ///
    /// # Errors
    /// If it is there more than once.
    pub fn one(&self, kind: Kind) -> Result<Option<&'a [u8]>, RadiusError> {
        let mut all = self.all(kind);
        let first = all.next();
        if all.next().is_some() { Err(RadiusError::Repeated { kind }) } else { Ok(first) }
    }

    /// An attribute that is text.
    ///
    /// # Errors
    /// If it is repeated, empty, or not UTF-8.
    pub fn text(&self, kind: Kind) -> Result<Option<&'a str>, RadiusError> {
        let read = |value: &'a [u8]| match std::str::from_utf8(value) {
            Ok(text) if !text.is_empty() => Ok(text),
            _ => Err(RadiusError::Value { kind, got: value.len() }),
        };
        self.one(kind)?.map(read).transpose()
    }

    /// An attribute that is a number.
    ///
    /// # Errors
    /// If it is repeated or does not have four octets.
    pub fn integer(&self, kind: Kind) -> Result<Option<u32>, RadiusError> {
        Ok(self.fixed(kind)?.map(u32::from_be_bytes))
    }

    /// The address of the NAS, of either kind. Where both are there it is the IPv6 address.
    ///
    /// # Errors
    /// If one of them is repeated or not as long as an address.
    pub fn nas_address(&self) -> Result<Option<IpAddr>, RadiusError> {
        let v6 = self.fixed::<16>(Kind::NAS_IPV6_ADDRESS)?.map(|octets| Ipv6Addr::from(octets).into());
        let v4 = self.fixed::<4>(Kind::NAS_IP_ADDRESS)?.map(|octets| Ipv4Addr::from(octets).into());
        Ok(v6.or(v4))
    }

    fn fixed<const N: usize>(&self, kind: Kind) -> Result<Option<[u8; N]>, RadiusError> {
        let read = |value: &[u8]| {
            <[u8; N]>::try_from(value).map_err(|_| RadiusError::Value { kind, got: value.len() })
        };
        self.one(kind)?.map(read).transpose()
    }

    /// Several attributes that are one value in pieces: EAP-Message (RFC 3579, section 3.1), Reply-Message. Nothing if there
    /// is none of them.
    #[must_use]
    pub fn joined(&self, kind: Kind) -> Option<Vec<u8>> {
        let pieces: Vec<_> = self.all(kind).collect();
        (!pieces.is_empty()).then(|| pieces.concat())
    }

    /// Checks that a request is from somebody with the secret.
    ///
    /// # Errors
    /// [`RadiusError::Authenticator`], [`RadiusError::MessageAuthenticator`], [`RadiusError::Missing`].
    pub fn verify_request(&self, secret: &Secret) -> Result<(), RadiusError> {
        match self.code.form() {
            Form::Chance => self.verify_message(secret, &self.authenticator),
            Form::Digest => {
                self.verify_digest(secret, &[0; 16])?;
                self.verify_message(secret, &[0; 16])
            }
            Form::Response => Err(RadiusError::NotAsked),
        }
    }

    /// Checks that a response is from somebody with the secret, and for the request with this authenticator.
    ///
    /// # Errors
    /// As [`verify_request`](Self::verify_request).
    pub fn verify_response(&self, secret: &Secret, request: &[u8; 16]) -> Result<(), RadiusError> {
        if self.code.form() != Form::Response {
            return Err(RadiusError::NotAsked);
        }
        self.verify_digest(secret, request)?;
        self.verify_message(secret, request)
    }

    fn verify_digest(&self, secret: &Secret, authenticator: &[u8; 16]) -> Result<(), RadiusError> {
        let want = secret.digest(&[&self.bytes[..4], authenticator, &self.bytes[HEADER_BYTES..]]);
        if equal(&want, &self.authenticator) { Ok(()) } else { Err(RadiusError::Authenticator) }
    }

    /// The HMAC is over the packet with `authenticator` in its place and zeros for the HMAC itself.
    fn verify_message(&self, secret: &Secret, authenticator: &[u8; 16]) -> Result<(), RadiusError> {
        let kind = Kind::MESSAGE_AUTHENTICATOR;
        let Some(value) = self.one(kind)? else {
            let needed = self.code.needs_message_authenticator();
            return if needed { Err(RadiusError::Missing { kind }) } else { Ok(()) };
        };
        if value.len() != 16 {
            return Err(RadiusError::Value { kind, got: value.len() });
        }
        let mut before = HEADER_BYTES;
        for attribute in self.attributes().take_while(|attribute| attribute.kind != kind) {
            before += 2 + attribute.value.len();
        }
        let (head, tail) = (&self.bytes[HEADER_BYTES..before + 2], &self.bytes[before + 18..]);
        let want = secret.hmac(&[&self.bytes[..4], authenticator, head, &[0; 16], tail]);
        if equal(&want, value) { Ok(()) } else { Err(RadiusError::MessageAuthenticator { kind }) }
    }
}

/// A packet that is being written.
#[derive(Clone, Debug)]
pub struct Draft {
    code: Code,
    identifier: u8,
    attributes: Vec<u8>,
}

impl Draft {
    #[must_use]
    pub fn new(code: Code, identifier: u8) -> Self {
        Self { code, identifier, attributes: Vec::new() }
    }

    /// # Errors
    /// If the value or the packet would be too long. Then nothing has changed.
    pub fn push(&mut self, kind: Kind, value: &[u8]) -> Result<&mut Self, RadiusError> {
        let length = u8::try_from(value.len() + 2).map_err(|_| RadiusError::TooLong)?;
        let after = HEADER_BYTES + MESSAGE_AUTHENTICATOR_BYTES + self.attributes.len() + usize::from(length);
        if after > PACKET_BYTES_MAX {
            return Err(RadiusError::TooLong);
        }
        self.attributes.extend([kind.0, length]);
        self.attributes.extend(value);
        Ok(self)
    }

    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_integer(&mut self, kind: Kind, value: u32) -> Result<&mut Self, RadiusError> {
        self.push(kind, &value.to_be_bytes())
    }

    /// NAS-IP-Address or NAS-IPv6-Address.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_nas_address(&mut self, address: IpAddr) -> Result<&mut Self, RadiusError> {
        match address {
            IpAddr::V4(address) => self.push(Kind::NAS_IP_ADDRESS, &address.octets()),
            IpAddr::V6(address) => self.push(Kind::NAS_IPV6_ADDRESS, &address.octets()),
        }
    }

    /// An EAP packet, in as many EAP-Message as it needs.
    ///
    /// # Errors
    /// If the packet would be too long; then pieces may have been added.
    pub fn push_eap(&mut self, eap: &[u8]) -> Result<&mut Self, RadiusError> {
        for piece in eap.chunks(VALUE_BYTES_MAX) {
            self.push(Kind::EAP_MESSAGE, piece)?;
        }
        Ok(self)
    }

    /// A text in Reply-Message, in as many as it needs; none of them ends inside a character.
    ///
    /// # Errors
    /// If the packet would be too long; then pieces may have been added.
    pub fn push_reply_message(&mut self, text: &str) -> Result<&mut Self, RadiusError> {
        for piece in text_pieces(text) {
            self.push(Kind::REPLY_MESSAGE, piece.as_bytes())?;
        }
        Ok(self)
    }

    /// The request. `chance` is the authenticator of an Access-Request or Status-Server and has to be unpredictable; those
    /// of other requests are digests.
    #[must_use]
    pub fn emit_request(&self, secret: &Secret, chance: [u8; 16]) -> Vec<u8> {
        debug_assert!(!self.code.is_response(), "a response answers a request");
        match self.code.form() {
            Form::Chance => self.emit(secret, &chance, false),
            Form::Digest | Form::Response => self.emit(secret, &[0; 16], true),
        }
    }

    /// The response to the request with this authenticator.
    #[must_use]
    pub fn emit_response(&self, secret: &Secret, request: &[u8; 16]) -> Vec<u8> {
        debug_assert!(self.code.is_response(), "a request answers nothing");
        self.emit(secret, request, true)
    }

    /// Message-Authenticator is the first attribute: in front of it there is nothing that anybody but us has chosen, and
    /// that is what makes the collisions of BlastRADIUS useless even to clients that do not check it (CVE-2024-3596;
    /// draft-ietf-radext-deprecating-radius). Accounting has none (RFC 2869, section 5.19).
    fn emit(&self, secret: &Secret, authenticator: &[u8; 16], is_digest: bool) -> Vec<u8> {
        let has_message_authenticator =
            !matches!(self.code, Code::AccountingRequest | Code::AccountingResponse);
        let extra = if has_message_authenticator { MESSAGE_AUTHENTICATOR_BYTES } else { 0 };
        let length = HEADER_BYTES + extra + self.attributes.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend([self.code as u8, self.identifier]);
        bytes.extend(u16::try_from(length).expect("`push` keeps to the limit").to_be_bytes());
        bytes.extend(authenticator);
        if has_message_authenticator {
            bytes.extend([Kind::MESSAGE_AUTHENTICATOR.0, 18]);
            bytes.extend([0; 16]);
        }
        bytes.extend(&self.attributes);
        if has_message_authenticator {
            let mac = secret.hmac(&[&bytes]);
            bytes[HEADER_BYTES + 2..HEADER_BYTES + MESSAGE_AUTHENTICATOR_BYTES].copy_from_slice(&mac);
        }
        if is_digest {
            let digest = secret.digest(&[&bytes]);
            bytes[4..HEADER_BYTES].copy_from_slice(&digest);
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
