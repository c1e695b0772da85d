use crate::settings::SettingError;
use std::fmt;
use thiserror::Error;

/// Why a plan is refused: every mistake that was found, in the order of the lines.
#[derive(Clone, Debug, Error, PartialEq)]
pub struct PlanError {
    /// At least one.
    pub mistakes: Vec<Mistake>,
}

/// One mistake and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a plan.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Problem {
    /// It is not TOML.
    #[error("not TOML: {message}")]
    Syntax {
        /// The parser's words.
        message: String,
    },
    /// A key that means nothing here.
    #[error("{table} has no key `{key}`{}", hint(meant.as_deref()))]
    UnknownKey {
        table: String,
        key: String,
        /// A key much like it.
        meant: Option<String>,
    },
    /// A key that has to be there.
    #[error("{table} has no `{key}`; {want} is wanted")]
    MissingKey {
        table: String,
        key: &'static str,
        /// What it would have to be.
        want: String,
    },
    /// A value of another kind, or outside of what is allowed.
    #[error("`{key}` is {got}; {want} is wanted")]
    Wrong {
        key: String,
        got: String,
        /// What it would have to be.
        want: String,
    },
    /// A name that nothing has.
    #[error("there is no {what} `{name}`{}", hint(meant.as_deref()))]
    UnknownName {
        /// What is named: "testbed", "axis".
        what: &'static str,
        name: String,
        /// A name much like it.
        meant: Option<String>,
    },
    /// A name given twice.
    #[error("the {what} `{name}` is already on line {line}; give this one another name")]
    Twice {
        /// What is named.
        what: &'static str,
        name: String,
        /// Where it was first.
        line: usize,
    },
    /// More than a plan may have.
    #[error("{got} {what}; at most {max} are allowed")]
    TooMany {
        what: &'static str,
        /// How many there are.
        got: usize,
        /// How many there may be.
        max: usize,
    },
    /// A setting that the testbed refuses.
    #[error("{0}")]
    Setting(SettingError),
    /// A setting that the testbed refuses at one point of the sweep.
    #[error("{error} (case `{case}`{})", at(point))]
    Point {
        /// What the testbed says.
        error: SettingError,
        case: String,
        /// With which values of the axes; empty without a sweep.
        point: String,
    },
    /// Things that do not go together.
    #[error("{0}")]
    Unfit(String),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}

fn hint(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn at(point: &str) -> String {
    if point.is_empty() { String::new() } else { format!(", {point}") }
}
