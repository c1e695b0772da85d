//! Session descriptions: SDP (RFC 8866), as offers and answers carry it (RFC 3264).
//!
//! Three readers want different things of the same text. A home reads a whole description, changes what it must and
//! writes the rest as it was: [`Description`]. A telephone picks what it knows and says which line is wrong. A capture
//! takes what it can get from a text that may be cut. So this is in layers: [`Lines`] are numbered and limited,
//! [`Line::field`] splits one at `=`, and [`Origin`], [`Connection`], [`MediaLine`], [`Attribute`], [`RtpMap`] and
//! [`Crypto`] read a field's value. Ranges and what to do about a malformed line are the reader's business.
//!
//! Invariants: nothing is read past [`Limits`]; nothing is copied but by [`Description`]; a description that is written
//! reads the same.

mod description;
mod field;

pub use description::{Description, Media, OwnedField, SdpError};
pub use field::{
    Attribute, Connection, Crypto, Direction, Family, MediaLine, Origin, RtpMap, SessionVersion,
};

use thiserror::Error;

/// How much of a description is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole text.
    pub bytes_max: usize,
    /// Lines, without empty ones.
    pub lines_max: usize,
    /// `m=` lines of a [`Description`].
    pub media_max: usize,
}

/// A text is longer than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{got} bytes, at most {max} are read")]
pub struct TooLong {
    /// Bytes.
    pub got: usize,
    /// Bytes that are read at most.
    pub max: usize,
}

/// The lines of a description, without empty ones, up to the limit.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    left: usize,
    is_cut: bool,
}

impl<'a> Lines<'a> {
    /// Begins at the top.
    ///
    /// # Errors
    /// The text is longer than the limit.
    pub fn new(text: &'a str, limits: &Limits) -> Result<Self, TooLong> {
        if text.len() > limits.bytes_max {
            return Err(TooLong { got: text.len(), max: limits.bytes_max });
        }
        Ok(Self { lines: text.lines().enumerate(), left: limits.lines_max, is_cut: false })
    }

    /// Whether lines were left out because there are more than the limit.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let (index, text) = self.lines.find(|(_, text)| !text.is_empty())?;
        self.is_cut = self.left == 0;
        self.left = self.left.checked_sub(1)?;
        Some(Line { number: index + 1, text })
    }
}

/// A line that is not empty, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from one, empty lines included.
    pub number: usize,
    /// Without its end.
    pub text: &'a str,
}

/// What a line says, and of what kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// One byte: `a` of `a=sendrecv`. RFC 8866 has lower-case letters only.
    pub kind: char,
    /// After `=`.
    pub value: &'a str,
}

/// Why a line has no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    /// There is no `=`.
    #[error("a line without `=`")]
    NoEquals,
    /// There is not one letter before `=`.
    #[error("not one letter before `=`")]
    NoLetter,
}

impl<'a> Line<'a> {
    /// Whether there is nothing but white space on it.
    #[must_use]
    pub fn is_blank(self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether there are control characters on it, which no description has. A tab is none.
    #[must_use]
    pub fn has_control_characters(self) -> bool {
        self.text.chars().any(|letter| letter.is_control() && letter != '\t')
    }

    /// The letter, and what is after `=`.
    ///
    /// # Errors
    /// It is not written so.
    pub fn field(self) -> Result<Field<'a>, LineError> {
        let (kind, value) = self.text.split_once('=').ok_or(LineError::NoEquals)?;
        match kind.as_bytes() {
            [kind] => Ok(Field { kind: char::from(*kind), value }),
            _ => Err(LineError::NoLetter),
        }
    }
}

#[cfg(test)]
mod tests;
