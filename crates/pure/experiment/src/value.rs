use serde::{Deserialize, Serialize};
use std::fmt;

/// A value of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number; always finite in a plan.
    Float(f64),
    /// A word or a name.
    Text(String),
}

impl Value {
    /// The number that it is, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            // A plan's whole numbers are limited to what a double holds exactly.
            #[expect(clippy::cast_precision_loss, reason = "plans allow at most 2^53")]
            Self::Integer(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }

    /// What kind of value it is: "a whole number".
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
        }
    }
}

/// As a plan would have it, without the quotes of text.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            // Whole numbers without ".0", huge and tiny ones with an exponent.
            Self::Float(value) if *value == 0.0 || (1e-6..1e15).contains(&value.abs()) => {
                write!(f, "{value}")
            }
            Self::Float(value) => write!(f, "{value:e}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
