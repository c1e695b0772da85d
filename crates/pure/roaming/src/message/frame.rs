//! Start line, headers, body: the form that all messages share.

use crate::message::InSession;
use crate::message::error::MessageError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guestright_identity::Certificate;
use guestright_receipt::Bundle;
use guestright_units::{Bytes, UnixSeconds};
use std::str::FromStr;

/// No start line is longer.
pub const START_LINE_MAX: usize = 64;
/// No header block is longer.
pub const HEADER_BLOCK_MAX: usize = 4_096;
/// No message has more headers.
pub const HEADERS_MAX: usize = 32;
/// No body is longer.
pub const BODY_MAX: usize = 64 * 1_024;
/// No message is longer.
pub const MESSAGE_MAX: usize = START_LINE_MAX + HEADER_BLOCK_MAX + BODY_MAX;

/// A message taken apart, its values not read yet.
pub(super) struct Frame<'a> {
    pub(super) method: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    body: &'a [u8],
}

/// How long the message is that begins with `bytes`, once its headers are there: for streams.
///
/// # Errors
/// [`MessageError`] if no message can begin like that.
pub fn message_len(bytes: &[u8]) -> Result<Option<usize>, MessageError> {
    match head(bytes) {
        Ok(head) => Ok(Some(head.body_at + head.body_len)),
        Err(MessageError::Truncated { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

struct Head<'a> {
    method: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    body_at: usize,
    body_len: usize,
}

fn head(bytes: &[u8]) -> Result<Head<'_>, MessageError> {
    let (start, mut at) = line(bytes, 0, &Part { name: "start line", at: 0, max: START_LINE_MAX })?;
    let method = start.strip_suffix(" P2PWNC/3.0").ok_or(MessageError::StartLine)?;
    let header_block = Part { name: "header block", at, max: HEADER_BLOCK_MAX };
    let mut headers: Vec<(&str, &str)> = Vec::new();
    loop {
        let (text, next) = line(bytes, at, &header_block)?;
        at = next;
        if text.is_empty() {
            break;
        }
        let malformed = MessageError::HeaderLine { line: headers.len() + 1 };
        let (name, value) = text.split_once(": ").ok_or(malformed.clone())?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(malformed);
        }
        if headers.iter().any(|(known, _)| *known == name) {
            return Err(MessageError::DuplicateHeader(name.to_owned()));
        }
        if headers.len() == HEADERS_MAX {
            return Err(MessageError::TooLong {
                part: "list of headers",
                got: HEADERS_MAX + 1,
                max: HEADERS_MAX,
            });
        }
        headers.push((name, value));
    }
    let length = headers.iter().find(|(name, _)| *name == "Content-Length");
    let body_len = length.map_or(Ok(0), |(_, value)| number("Content-Length", value))?;
    if body_len > BODY_MAX {
        return Err(MessageError::TooLong { part: "body", got: body_len, max: BODY_MAX });
    }
    Ok(Head { method, headers, body_at: at, body_len })
}

/// What begins at `at` and may be so long, its last CR LF included.
struct Part {
    name: &'static str,
    at: usize,
    max: usize,
}

/// The line of `part` that begins at `at`, without its CR LF, and where the next one begins.
fn line<'a>(bytes: &'a [u8], at: usize, part: &Part) -> Result<(&'a str, usize), MessageError> {
    let end = part.at + part.max;
    let window = bytes.get(at..end.min(bytes.len())).unwrap_or_default();
    let Some(length) = window.windows(2).position(|pair| pair == b"\r\n") else {
        let cut = bytes.len() < end;
        let too_long = MessageError::TooLong { part: part.name, got: bytes.len() - part.at, max: part.max };
        return Err(if cut { MessageError::Truncated { got: bytes.len() } } else { too_long });
    };
    let text = std::str::from_utf8(&window[..length]).ok();
    let text = text.filter(|text| text.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    let malformed = if at == 0 { MessageError::StartLine } else { MessageError::HeaderLine { line: 0 } };
    Ok((text.ok_or(malformed)?, at + length + 2))
}

impl<'a> Frame<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let head = head(bytes)?;
        let rest = &bytes[head.body_at..];
        if rest.len() < head.body_len {
            return Err(MessageError::Truncated { got: bytes.len() });
        }
        if rest.len() > head.body_len {
            return Err(MessageError::Trailing { got: rest.len() - head.body_len });
        }
        Ok(Self { method: head.method, headers: head.headers, body: rest })
    }

    pub(super) fn text(&self, name: &'static str) -> Result<&'a str, MessageError> {
        let found = self.headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or(MessageError::MissingHeader(name))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| *known == name)
    }

    pub(super) fn value<T: FromStr<Err: ToString>>(&self, name: &'static str) -> Result<T, MessageError> {
        number(name, self.text(name)?)
    }

    pub(super) fn optional<T: FromStr<Err: ToString>>(
        &self,
        name: &'static str,
    ) -> Result<Option<T>, MessageError> {
        self.text(name).ok().map(|value| number(name, value)).transpose()
    }

    pub(super) fn base64(&self, name: &'static str) -> Result<Vec<u8>, MessageError> {
        let malformed = |error: base64::DecodeError| MessageError::Header { name, why: error.to_string() };
        STANDARD.decode(self.text(name)?).map_err(malformed)
    }

    pub(super) fn bytes<const N: usize>(&self, name: &'static str) -> Result<[u8; N], MessageError> {
        let bytes = self.base64(name)?;
        let why = format!("it has {} bytes, not {N}", bytes.len());
        bytes.try_into().map_err(|_| MessageError::Header { name, why })
    }

    pub(super) fn certificate(&self, name: &'static str) -> Result<Box<Certificate>, MessageError> {
        let bytes = self.base64(name)?;
        Certificate::parse(&bytes).map(Box::new).map_err(MessageError::Certificate)
    }

    /// The session, if one goes on.
    pub(super) fn in_session(&self) -> Result<Option<InSession>, MessageError> {
        let Some(started) = self.optional("Session-Started")?.map(UnixSeconds) else { return Ok(None) };
        let (left, unpaid) = (Bytes(self.value("Left")?), Bytes(self.value("Unpaid")?));
        Ok(Some(InSession { started, left, unpaid }))
    }

    pub(super) fn body(&self) -> &'a [u8] {
        self.body
    }

    pub(super) fn bundle(&self) -> Result<Bundle, MessageError> {
        Ok(Bundle::parse(self.body)?)
    }
}

fn number<T: FromStr<Err: ToString>>(name: &'static str, value: &str) -> Result<T, MessageError> {
    value.parse().map_err(|error: T::Err| MessageError::Header { name, why: error.to_string() })
}
