//! SIP messages as bytes, and as a start line, headers and a body (RFC 3261 section 7 and 25).
//!
//! Stricter than the grammar where leniency lets two readers see two messages: lines end with CR LF and nothing else,
//! there are no control characters, the length of the body is what Content-Length says, and headers that may occur
//! once occur once. Compact names become long ones, folded lines one line; everything else is kept as it was.

use std::fmt;
use thiserror::Error;

/// No message is longer, in bytes.
pub const MESSAGE_MAX: usize = 16 * 1_024;
/// No more header lines.
const HEADERS_MAX: usize = 96;
/// No header line is longer, in bytes.
const LINE_MAX: usize = 2_048;

/// Why bytes are not a SIP message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// It is longer than any may be.
    #[error("a message, line or list is longer than {max}")]
    TooLong { max: usize },
    /// It is not written as SIP is.
    #[error("not a SIP message: {0}")]
    Malformed(&'static str),
    /// It lacks a header, or has one twice, or the header cannot be understood.
    #[error("the header {0} is missing, repeated or not understood")]
    Header(&'static str),
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Begin or change a call.
    Invite,
    /// The answer to INVITE has arrived.
    Ack,
    /// The call is over.
    Bye,
    /// The INVITE is withdrawn.
    Cancel,
    /// Here is where I am reached.
    Register,
    /// Are you there, what can you do.
    Options,
    /// Change a call that may not have begun (RFC 3311).
    Update,
    /// A provisional answer has arrived (RFC 3262).
    Prack,
    /// Something within a call, such as a digit (RFC 6086).
    Info,
    /// Anything else.
    Other(String),
}

impl Method {
    /// The method with this name.
    pub(crate) fn new(name: &str) -> Self {
        match name {
            "INVITE" => Self::Invite,
            "ACK" => Self::Ack,
            "BYE" => Self::Bye,
            "CANCEL" => Self::Cancel,
            "REGISTER" => Self::Register,
            "OPTIONS" => Self::Options,
            "UPDATE" => Self::Update,
            "PRACK" => Self::Prack,
            "INFO" => Self::Info,
            other => Self::Other(other.to_owned()),
        }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Invite => "INVITE",
            Self::Ack => "ACK",
            Self::Bye => "BYE",
            Self::Cancel => "CANCEL",
            Self::Register => "REGISTER",
            Self::Options => "OPTIONS",
            Self::Update => "UPDATE",
            Self::Prack => "PRACK",
            Self::Info => "INFO",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The first line of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    Request {
        /// What is asked for.
        method: Method,
        /// Of whom, not yet understood.
        uri: String,
    },
    Response {
        /// Its number, from 100 to 699.
        code: u16,
        /// The reason phrase, for people.
        reason: String,
    },
}

/// A message: well-formed, not yet understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The first line.
    pub start: Start,
    headers: Vec<(String, String)>,
    /// What it carries.
    pub body: Vec<u8>,
}

/// Header names of one letter (RFC 3261 section 7.3.3, RFC 4028, RFC 6665), and those that occur often.
const COMPACT: [(&str, &str); 14] = [
    ("a", "Accept-Contact"),
    ("b", "Referred-By"),
    ("c", "Content-Type"),
    ("e", "Content-Encoding"),
    ("f", "From"),
    ("i", "Call-ID"),
    ("k", "Supported"),
    ("l", "Content-Length"),
    ("m", "Contact"),
    ("o", "Event"),
    ("s", "Subject"),
    ("t", "To"),
    ("v", "Via"),
    ("x", "Session-Expires"),
];

/// Headers that a message has once.
const ONCE: [&str; 7] = ["From", "To", "Call-ID", "CSeq", "Max-Forwards", "Content-Length", "Content-Type"];

impl Message {
    /// A request without headers.
    #[must_use]
    pub fn request(method: Method, uri: &str) -> Self {
        Self { start: Start::Request { method, uri: uri.to_owned() }, headers: Vec::new(), body: Vec::new() }
    }

    /// An answer without headers.
    #[must_use]
    pub fn response(code: u16, reason: &str) -> Self {
        let start = Start::Response { code, reason: reason.to_owned() };
        Self { start, headers: Vec::new(), body: Vec::new() }
    }

    /// Reads a whole message, as a datagram or a frame carries it. Bytes after the body are ignored, as RFC 3261
    /// section 18.3 wants it of datagrams.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        if bytes.len() > MESSAGE_MAX {
            return Err(MessageError::TooLong { max: MESSAGE_MAX });
        }
        let end = head_length(bytes).ok_or(MessageError::Malformed("the headers do not end"))?;
        let head = std::str::from_utf8(&bytes[..end - 4])
            .map_err(|_| MessageError::Malformed("the headers are not UTF-8"))?;
        let mut lines = head.split("\r\n");
        let start = parse_start(check_line(lines.next().unwrap_or_default())?)?;
        let mut message = Self { start, headers: Vec::new(), body: Vec::new() };
        for line in lines {
            message.read_line(check_line(line)?)?;
        }
        for name in ONCE {
            if message.values(name).count() > 1 {
                return Err(MessageError::Header(name));
            }
        }
        let rest = &bytes[end..];
        let length = message.content_length()?.unwrap_or(rest.len());
        message.body = rest.get(..length).ok_or(MessageError::Malformed("the body is cut short"))?.to_vec();
        Ok(message)
    }

    /// How long the message is that begins with these bytes of a stream, once that can be seen. Empty lines between
    /// messages are messages of that length: they keep connections alive (RFC 5626 section 3.5.1).
    ///
    /// # Errors
    /// [`MessageError`]: the stream cannot be read on.
    pub fn measure(bytes: &[u8]) -> Result<Option<usize>, MessageError> {
        if bytes.starts_with(b"\r\n") {
            return Ok(Some(2));
        }
        let Some(end) = head_length(bytes) else {
            let too_long = bytes.len() > MESSAGE_MAX;
            return if too_long { Err(MessageError::TooLong { max: MESSAGE_MAX }) } else { Ok(None) };
        };
        let mut length = None;
        let head = std::str::from_utf8(&bytes[..end - 4])
            .map_err(|_| MessageError::Malformed("the headers are not UTF-8"))?;
        for (name, value) in head.split("\r\n").skip(1).filter_map(|line| line.split_once(':')) {
            let name = name.trim_end();
            if name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("l") {
                let number = decimal(value.trim()).ok_or(MessageError::Header("Content-Length"))?;
                if length.is_some_and(|other| other != number) {
                    return Err(MessageError::Header("Content-Length"));
                }
                length = Some(number);
            }
        }
        // On a stream the header is a must (RFC 3261 section 20.14).
        let length = length.ok_or(MessageError::Header("Content-Length"))?;
        let total = end.saturating_add(length);
        if total > MESSAGE_MAX {
            return Err(MessageError::TooLong { max: MESSAGE_MAX });
        }
        Ok(Some(total))
    }

    fn read_line(&mut self, line: &str) -> Result<(), MessageError> {
        if line.starts_with([' ', '\t']) {
            let (_, value) = self.headers.last_mut().ok_or(MessageError::Malformed("it begins folded"))?;
            if value.len() + line.len() > LINE_MAX {
                return Err(MessageError::TooLong { max: LINE_MAX });
            }
            value.push(' ');
            value.push_str(line.trim());
            return Ok(());
        }
        if self.headers.len() == HEADERS_MAX {
            return Err(MessageError::TooLong { max: HEADERS_MAX });
        }
        let (name, value) = line.split_once(':').ok_or(MessageError::Malformed("a header has no colon"))?;
        let name = name.trim_end_matches([' ', '\t']);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(MessageError::Malformed("a header's name is none"));
        }
        self.headers.push((long_name(name), value.trim().to_owned()));
        Ok(())
    }

    fn content_length(&self) -> Result<Option<usize>, MessageError> {
        let Some(text) = self.get("Content-Length") else { return Ok(None) };
        decimal(text).map(Some).ok_or(MessageError::Header("Content-Length"))
    }

    /// The value of the first header of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|header| header.0.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The values of all headers of this name, line by line.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = move |header: &&(String, String)| header.0.eq_ignore_ascii_case(name);
        self.headers.iter().filter(found).map(|(_, value)| value.as_str())
    }

    /// The values of a header that may be a list, one by one.
    pub fn list<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.values(name).flat_map(split_list)
    }

    /// Whether a header that is a list of words has this word.
    #[must_use]
    pub fn has_word(&self, name: &str, word: &str) -> bool {
        self.list(name).any(|each| each.eq_ignore_ascii_case(word))
    }

    /// All headers in order.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Adds a header at the end. Control characters, which could be read as further headers, become spaces.
    pub fn push(&mut self, name: &str, value: impl fmt::Display) {
        let clean = |letter: char| if letter.is_control() { ' ' } else { letter };
        self.headers.push((name.to_owned(), value.to_string().chars().map(clean).collect()));
    }

    /// [`push`](Self::push), for building.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.push(name, value);
        self
    }

    /// Adds the headers of these names as another message has them.
    pub(crate) fn copy_headers(&mut self, from: &Self, names: &[&str]) {
        for name in names {
            for value in from.values(name) {
                self.push(name, value);
            }
        }
    }

    /// The status code of a response.
    pub(crate) fn code(&self) -> Option<u16> {
        match self.start {
            Start::Response { code, .. } => Some(code),
            Start::Request { .. } => None,
        }
    }

    /// The number in CSeq (RFC 3261 section 8.1.1.5).
    pub(crate) fn sequence(&self) -> Option<u32> {
        let (number, _) = self.get("CSeq")?.split_once([' ', '\t'])?;
        decimal(number).filter(|number| *number < 1 << 31)
    }

    /// Gives it a body.
    #[must_use]
    pub fn with_body(mut self, kind: &str, body: Vec<u8>) -> Self {
        self.push("Content-Type", kind);
        self.body = body;
        self
    }

    /// The same with this Via on top, in the place of the first `replaced` ones.
    pub(crate) fn with_top_via(&self, via: impl fmt::Display, replaced: usize) -> Self {
        let mut message = Self { start: self.start.clone(), headers: Vec::new(), body: self.body.clone() };
        message.push("Via", via);
        self.list("Via").skip(replaced).for_each(|via| message.push("Via", via));
        message.headers.extend(self.headers.iter().filter(|(name, _)| name != "Via").cloned());
        message
    }

    /// What goes on the wire. Content-Length is the last header and right.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut text = match &self.start {
            Start::Request { method, uri } => format!("{method} {uri} SIP/2.0\r\n"),
            Start::Response { code, reason } => format!("SIP/2.0 {code} {reason}\r\n"),
        };
        for (name, value) in self.headers.iter().filter(|(name, _)| name != "Content-Length") {
            text.push_str(name);
            text.push_str(": ");
            text.push_str(value);
            text.push_str("\r\n");
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// How long start line and headers are, the empty line included.
fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|start| start + 4)
}

fn check_line(line: &str) -> Result<&str, MessageError> {
    if line.len() > LINE_MAX {
        return Err(MessageError::TooLong { max: LINE_MAX });
    }
    if line.chars().any(|letter| letter.is_control() && letter != '\t') {
        return Err(MessageError::Malformed("there is a control character in the headers"));
    }
    Ok(line)
}

fn parse_start(line: &str) -> Result<Start, MessageError> {
    let malformed = MessageError::Malformed("the first line is neither a request's nor an answer's");
    if let Some(rest) = line.strip_prefix("SIP/2.0 ") {
        let (code, reason) = rest.split_once(' ').unwrap_or((rest, ""));
        let code = code.parse().ok().filter(|number| (100..700).contains(number) && code.len() == 3);
        return Ok(Start::Response { code: code.ok_or(malformed)?, reason: reason.trim().to_owned() });
    }
    let mut parts = line.split(' ');
    let (Some(method), Some(uri), Some("SIP/2.0"), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(malformed);
    };
    if method.is_empty() || method.len() > 32 || !method.bytes().all(is_token) || uri.is_empty() {
        return Err(malformed);
    }
    Ok(Start::Request { method: Method::new(method), uri: uri.to_owned() })
}

/// A number written in decimal digits and nothing else.
pub(crate) fn decimal<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// RFC 3261 section 25.1, `token`.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(&byte)
}

fn long_name(name: &str) -> String {
    let known = [
        "Via",
        "Max-Forwards",
        "CSeq",
        "Call-ID",
        "Content-Length",
        "Content-Type",
        "WWW-Authenticate",
        "Min-SE",
        "RSeq",
        "SIP-ETag",
        "RAck",
    ];
    let compact = COMPACT.iter().find(|(short, _)| name.eq_ignore_ascii_case(short)).map(|(_, long)| *long);
    let long = compact.or_else(|| known.into_iter().find(|each| name.eq_ignore_ascii_case(each)));
    long.map_or_else(|| capitals(name), str::to_owned)
}

/// `record-route` as `Record-Route`.
fn capitals(name: &str) -> String {
    let mut begin = true;
    let letter = |letter: char| {
        let upper = std::mem::replace(&mut begin, letter == '-');
        if upper { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
    };
    name.chars().map(letter).collect()
}

/// Cuts a list at its commas, but not within quotes or angle brackets.
fn split_list(value: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped, mut depth) = (false, false, 0_usize);
    let parts = value.split(move |letter: char| {
        if escaped {
            escaped = false;
            return false;
        }
        match letter {
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '<' if !quoted => depth += 1,
            '>' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => return true,
            _ => {}
        }
        false
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests;
