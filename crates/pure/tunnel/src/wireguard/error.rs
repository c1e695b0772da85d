//! What can be wrong with a configuration.

use thiserror::Error;

/// Where a configuration is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {fault}")]
pub struct ConfigError {
    /// The line, from 1; the last line for what is missing at the end.
    pub line: usize,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong. Values are shown only where they cannot be keys.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The text is too long.
    #[error("the text has {got} bytes; at most {max} are read")]
    TooLong {
        /// Its bytes.
        got: usize,
        /// Bytes that are read at most.
        max: usize,
    },
    /// Too many of something.
    #[error("more than {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many may be there.
        max: usize,
    },
    /// Neither a section nor `Key = value`.
    #[error("this is neither `[Interface]`, `[Peer]` nor `Key = value`")]
    NoSetting,
    /// A section other than the two.
    #[error("there is no section of this name; there are `[Interface]` and `[Peer]`")]
    UnknownSection,
    /// A second `[Interface]`, or a second peer with the same key.
    #[error("a second {0}")]
    Again(&'static str),
    /// A setting before any section.
    #[error("`{key}` stands before any section")]
    NoSection {
        /// The name before the `=`.
        key: &'static str,
    },
    /// A key that the section does not have.
    #[error("{section} has no key `{key}`")]
    UnknownKey {
        /// Which section.
        section: &'static str,
        /// The key as it was written, if it is short and plain.
        key: String,
    },
    /// A value that the key cannot have.
    #[error("`{key}` is {want}")]
    Value {
        /// The name before the `=`.
        key: &'static str,
        /// What it should be.
        want: &'static str,
    },
    /// A section ended without what it needs.
    #[error("{section} has no `{key}`")]
    Missing {
        /// Which section.
        section: &'static str,
        /// The name before the `=`.
        key: &'static str,
    },
}
