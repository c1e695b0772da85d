//! Session descriptions (RFC 4566, RFC 3264): lines in order, of which only those are understood that a home changes.

mod stream;

pub use stream::{Direction, Heard, Keys, Local, Mode, Network, Ports, Secret, hear, say};

use crate::message::{decimal, is_token};
use std::fmt::Write as _;
use thiserror::Error;

/// No description is longer, in bytes.
const DESCRIPTION_MAX: usize = 8 * 1_024;
/// No more lines.
const LINES_MAX: usize = 256;
/// No more streams.
const STREAMS_MAX: usize = 8;

/// Why a description is refused. The text goes to the caller, in a Warning.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SdpError {
    /// It is not one.
    #[error("the session description is not understood: {0}")]
    Malformed(&'static str),
    /// No voice.
    #[error("nothing but RTP audio is carried, and none is offered")]
    NoAudio,
    /// Somebody wants voice between homes in the clear.
    #[error("voice between homes has to be protected")]
    Unprotected,
    /// The other home does not know our way to protect it.
    #[error("the other home offers no key for AEAD_AES_128_GCM")]
    NoKey,
    /// A call that was protected one way is to be protected another way.
    #[error("the call is protected {was}, and stays so: {now} is refused")]
    OtherProtection {
        /// As agreed on.
        was: Mode,
        /// As asked for.
        now: Mode,
    },
}

/// One stream of a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// `audio`, `video` and so on.
    pub kind: String,
    /// Where it is wanted; 0 for nowhere.
    pub port: u16,
    /// How it is carried, such as `RTP/AVP`.
    pub protocol: String,
    /// The formats, as written.
    pub formats: Vec<String>,
    /// Its lines: what is before `=`, and after.
    pub lines: Vec<(char, String)>,
}

/// A session description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The number of the session, and of its version, from the `o=` line.
    pub origin: (u64, u64),
    /// The lines before the first stream, without `v=`, `o=` and `s=`.
    pub lines: Vec<(char, String)>,
    /// The streams.
    pub streams: Vec<Stream>,
    /// The address in the `o=` line.
    origin_address: String,
}

impl Description {
    /// Reads one.
    ///
    /// # Errors
    /// [`SdpError::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self, SdpError> {
        if bytes.len() > DESCRIPTION_MAX {
            return Err(SdpError::Malformed("it is too long"));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| SdpError::Malformed("it is not UTF-8"))?;
        let mut lines = text.lines().filter(|line| !line.is_empty());
        if lines.next() != Some("v=0") {
            return Err(SdpError::Malformed("it does not begin with v=0"));
        }
        let (origin, origin_address) = parse_origin(lines.next().unwrap_or_default())?;
        let mut this = Self { origin, lines: Vec::new(), streams: Vec::new(), origin_address };
        for (number, line) in lines.enumerate() {
            if number == LINES_MAX {
                return Err(SdpError::Malformed("it has too many lines"));
            }
            let (kind, value) = parse_line(line)?;
            if kind == 'm' && this.streams.len() == STREAMS_MAX {
                return Err(SdpError::Malformed("it has too many streams"));
            }
            match (kind, this.streams.last_mut()) {
                ('m', _) => this.streams.push(parse_stream(value)?),
                ('v' | 'o', _) => return Err(SdpError::Malformed("it has two beginnings")),
                ('s', None) => {}
                (_, Some(stream)) => stream.lines.push((kind, value.to_owned())),
                (_, None) => this.lines.push((kind, value.to_owned())),
            }
        }
        Ok(this)
    }

    /// What goes on the wire; `host` is the address of whoever sends it.
    #[must_use]
    pub fn emit(&self, host: std::net::IpAddr) -> Vec<u8> {
        let kind = if host.is_ipv4() { "IP4" } else { "IP6" };
        let (id, version) = self.origin;
        let mut text = format!("v=0\r\no=- {id} {version} IN {kind} {host}\r\ns=-\r\nc=IN {kind} {host}\r\n");
        let has_time = self.lines.iter().any(|(kind, _)| *kind == 't');
        for (kind, value) in &self.lines {
            let _ = write!(text, "{kind}={value}\r\n");
        }
        if !has_time {
            text.push_str("t=0 0\r\n");
        }
        for stream in &self.streams {
            let formats = stream.formats.join(" ");
            let _ = write!(text, "m={} {} {} {formats}\r\n", stream.kind, stream.port, stream.protocol);
            for (kind, value) in &stream.lines {
                let _ = write!(text, "{kind}={value}\r\n");
            }
        }
        text.into_bytes()
    }

    /// The addresses that it names, as written, longest first.
    pub(crate) fn addresses(&self) -> Vec<&str> {
        let all = self.lines.iter().chain(self.streams.iter().flat_map(|stream| &stream.lines));
        let connections = all.filter(|(kind, _)| *kind == 'c').filter_map(|(_, value)| connection(value));
        let mut found: Vec<&str> = connections.chain([self.origin_address.as_str()]).collect();
        found.sort_by_key(|address| std::cmp::Reverse(address.len()));
        found.dedup();
        found
    }
}

/// The address in a `c=` line.
pub(crate) fn connection(value: &str) -> Option<&str> {
    let mut words = value.split(' ');
    let (Some("IN"), Some("IP4" | "IP6"), Some(address)) = (words.next(), words.next(), words.next()) else {
        return None;
    };
    Some(address.split('/').next().unwrap_or_default())
}

fn parse_line(line: &str) -> Result<(char, &str), SdpError> {
    if line.chars().any(|letter| letter.is_control() && letter != '\t') {
        return Err(SdpError::Malformed("it has control characters"));
    }
    let parts = line.split_once('=').filter(|(kind, _)| kind.len() == 1);
    let (kind, value) = parts.ok_or(SdpError::Malformed("a line is not letter=text"))?;
    let kind = kind.chars().next().filter(char::is_ascii_lowercase);
    Ok((kind.ok_or(SdpError::Malformed("a line is not letter=text"))?, value))
}

fn parse_origin(line: &str) -> Result<((u64, u64), String), SdpError> {
    let malformed = SdpError::Malformed("its second line is not o=");
    let (kind, value) = parse_line(line)?;
    let words: Vec<&str> = value.split(' ').collect();
    let ('o', [_, id, version, "IN", "IP4" | "IP6", address]) = (kind, words.as_slice()) else {
        return Err(malformed);
    };
    let (Some(id), Some(version)) = (decimal(id), decimal(version)) else { return Err(malformed) };
    Ok(((id, version), (*address).to_owned()))
}

fn parse_stream(value: &str) -> Result<Stream, SdpError> {
    let malformed = SdpError::Malformed("a stream is not kind, port, protocol and formats");
    let mut words = value.split(' ').filter(|word| !word.is_empty());
    let (Some(kind), Some(port), Some(protocol)) = (words.next(), words.next(), words.next()) else {
        return Err(malformed);
    };
    let plain = |word: &str| word.bytes().all(|byte| is_token(byte) || byte == b'/');
    let formats: Vec<String> = words.map(str::to_owned).collect();
    let port = decimal(port).filter(|_| plain(kind) && plain(protocol) && !formats.is_empty());
    let (kind, protocol) = (kind.to_owned(), protocol.to_owned());
    Ok(Stream { kind, port: port.ok_or(malformed)?, protocol, formats, lines: Vec::new() })
}

#[cfg(test)]
mod tests;
