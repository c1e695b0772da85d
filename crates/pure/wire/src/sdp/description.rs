//! A whole description, in the order that it was written in.

use super::field::{MediaLine, Origin};
use super::{Field, Limits, Line, Lines};
use std::fmt::Write as _;
use thiserror::Error;

/// Why a text is no description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", self.reason())]
pub enum SdpError {
    /// It has more bytes than [`Limits::bytes_max`].
    TooLong,
    /// It is not UTF-8.
    Encoding,
    /// Its first line is not `v=0`.
    Version,
    /// Its second line is not `o=`, whole.
    Origin,
    /// A line has a control character.
    ControlCharacter,
    /// A line is not a lower-case letter, `=` and a value.
    Line,
    /// There are more lines than [`Limits::lines_max`].
    TooManyLines,
    /// There are more streams than [`Limits::media_max`].
    TooManyMedia,
    /// `v=` or `o=` come again.
    TwoBeginnings,
    /// A stream is not kind, port, protocol and formats.
    Media,
}

impl SdpError {
    /// The same as [`Display`](std::fmt::Display).
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::TooLong => "it is too long",
            Self::Encoding => "it is not UTF-8",
            Self::Version => "it does not begin with v=0",
            Self::Origin => "its second line is not o=",
            Self::ControlCharacter => "it has control characters",
            Self::Line => "a line is not letter=text",
            Self::TooManyLines => "it has too many lines",
            Self::TooManyMedia => "it has too many streams",
            Self::TwoBeginnings => "it has two beginnings",
            Self::Media => "a stream is not kind, port, protocol and formats",
        }
    }
}

/// A line that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedField {
    /// The letter before `=`.
    pub kind: char,
    /// After it.
    pub value: String,
}

impl OwnedField {
    /// `a=` with this value.
    #[must_use]
    pub fn attribute(value: impl Into<String>) -> Self {
        Self { kind: 'a', value: value.into() }
    }
}

/// A stream: an `m=` line and the lines below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// `audio`, `video` and so on.
    pub kind: String,
    /// Where it is wanted; 0 for nowhere.
    pub port: u16,
    /// How it is carried, such as `RTP/AVP`.
    pub protocol: String,
    /// The formats, as written.
    pub formats: Vec<String>,
    /// Its other lines, in order.
    pub lines: Vec<OwnedField>,
}

impl Media {
    fn parse(value: &str) -> Option<Self> {
        let line = MediaLine::parse(value)?;
        Some(Self {
            kind: line.kind.to_owned(),
            port: line.strict_port()?,
            protocol: line.protocol.to_owned(),
            formats: line.formats().map(str::to_owned).collect(),
            lines: Vec::new(),
        })
    }

    /// The values of its `a=` lines.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        attributes(&self.lines)
    }
}

/// A description, all of it: what is written reads the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The `o=` line.
    pub origin: Origin,
    /// The other lines before the first stream, without `v=`.
    pub lines: Vec<OwnedField>,
    /// The streams, in order.
    pub media: Vec<Media>,
}

impl Description {
    /// Reads one, strictly: two readers see the same in it.
    ///
    /// # Errors
    /// [`SdpError`].
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, SdpError> {
        if bytes.len() > limits.bytes_max {
            return Err(SdpError::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| SdpError::Encoding)?;
        let mut lines = Lines::new(text, limits).map_err(|_| SdpError::TooLong)?;
        if lines.next().is_none_or(|line| line.text != "v=0") {
            return Err(SdpError::Version);
        }
        let origin = match lines.next().map(strict_field).ok_or(SdpError::Line)?? {
            Field { kind: 'o', value } => Origin::parse(value).ok_or(SdpError::Origin)?,
            Field { .. } => return Err(SdpError::Origin),
        };
        let mut this = Self { origin, lines: Vec::new(), media: Vec::new() };
        for line in lines.by_ref() {
            this.push_field(strict_field(line)?, limits)?;
        }
        if lines.is_cut() { Err(SdpError::TooManyLines) } else { Ok(this) }
    }

    fn push_field(&mut self, field: Field<'_>, limits: &Limits) -> Result<(), SdpError> {
        let owned = || OwnedField { kind: field.kind, value: field.value.to_owned() };
        let is_full = self.media.len() >= limits.media_max;
        match (field.kind, self.media.last_mut()) {
            ('m', _) if is_full => return Err(SdpError::TooManyMedia),
            ('m', _) => self.media.push(Media::parse(field.value).ok_or(SdpError::Media)?),
            ('v' | 'o', _) => return Err(SdpError::TwoBeginnings),
            (_, Some(media)) => media.lines.push(owned()),
            (_, None) => self.lines.push(owned()),
        }
        Ok(())
    }

    /// What goes on the wire.
    #[must_use]
    pub fn emit(&self) -> String {
        let mut text = format!("v=0\r\no={}\r\n", self.origin);
        // Writing into a string does not fail.
        let mut push = |field: &OwnedField| {
            let _ = write!(text, "{}={}\r\n", field.kind, field.value);
        };
        self.lines.iter().for_each(&mut push);
        for media in &self.media {
            let Media { kind, port, protocol, formats, lines } = media;
            let value = format!("{kind} {port} {protocol} {}", formats.join(" "));
            push(&OwnedField { kind: 'm', value });
            lines.iter().for_each(&mut push);
        }
        text
    }

    /// The values of the `a=` lines before the first stream.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        attributes(&self.lines)
    }
}

fn attributes(lines: &[OwnedField]) -> impl Iterator<Item = &str> {
    lines.iter().filter(|field| field.kind == 'a').map(|field| field.value.as_str())
}

fn strict_field(line: Line<'_>) -> Result<Field<'_>, SdpError> {
    if line.has_control_characters() {
        return Err(SdpError::ControlCharacter);
    }
    line.field().ok().filter(|field| field.kind.is_ascii_lowercase()).ok_or(SdpError::Line)
}
