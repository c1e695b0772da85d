use crate::settings::SettingError;
use std::fmt::{self, Write as _};
use thiserror::Error;

/// The most characters of a line that are shown.
const SHOWN_MAX: usize = 120;

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

impl PlanError {
    /// What is wrong with the plan of this name and text, line by line, as compilers say it.
    #[must_use]
    pub fn pointed(&self, name: &str, text: &str) -> String {
        let count = self.mistakes.len();
        let mut refusal = match count {
            1 => format!("{name} has a mistake"),
            _ => format!("{name} has {count} mistakes"),
        };
        for mistake in &self.mistakes {
            let Mistake { line, column, problem } = mistake;
            let _ = write!(refusal, "\n{name}:{line}:{column}: {problem}");
            if let Some(shown) = text.lines().nth(line.saturating_sub(1)) {
                refusal.push_str(&pointed(*line, *column, shown));
            }
        }
        refusal
    }
}

/// A line with its number, and a caret below the character that is meant.
fn pointed(line: usize, column: usize, text: &str) -> String {
    // Of a long line the part around the place.
    let first = column.saturating_sub(SHOWN_MAX * 2 / 3);
    let shown: String =
        text.chars().skip(first).take(SHOWN_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let margin = " ".repeat(line.to_string().len());
    let before = " ".repeat(column.saturating_sub(1).saturating_sub(first));
    format!("\n  {line} | {}\n  {margin} | {before}^", shown.trim_end())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_that_is_meant_has_a_caret_below_it() {
        assert_eq!(
            pointed(7, 5, "a\tb = 1"),
            "\n  7 | a b = 1\n  7 |     ^".replacen("\n  7 |     ^", "\n    |     ^", 1)
        );
        let long = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let text = pointed(12, 501, &long);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[0].find('X'), lines[1].find('^'), "{text}");
        assert!(lines[0].len() < 140);
    }
}
