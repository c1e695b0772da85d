//! What ends a loop of this room, or keeps it from starting.
//!
//! In: errors of the crates below, and what was being done when they came. Out: a [`RunError`] with its [`Kind`], the
//! sentence that a person reads, the error behind it as its source, and a hint where one is known. Crates of this room
//! that have an error of their own make it a [`Fault`] too, and the programs treat all of them alike.
//!
//! Invariants: a kind is chosen where the error happens, by whoever knows whose fault it is; nothing turns into an
//! error of a kind by itself. The sources of an error together, joined by colons, are the whole sentence.

use std::error::Error;
use std::fmt;

/// An error of any crate.
type Source = Box<dyn Error + Send + Sync + 'static>;

/// Whose fault it is. The programs give each kind an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request cannot be carried out as it was put.
    User,
    /// A setting or a file is wrong.
    Config,
    /// A peer, the network or the operating system refused.
    Network,
    /// We were wrong.
    Bug,
}

/// An error that knows whose fault it is.
pub trait Fault: Error + Send + Sync + 'static {
    fn kind(&self) -> Kind;

    /// What can be done about it, where that is known.
    fn hint(&self) -> Option<String>;

    /// Whether the reader of our output has gone.
    fn is_broken_pipe(&self) -> bool;
}

/// Why a loop ended or could not start.
///
/// ```
/// use guestright_error::{Fault as _, Kind, OrFail as _, RunError};
///
/// let bound = std::net::TcpListener::bind("192.0.2.1:1").or_network(|| "listen at 192.0.2.1:1".to_owned());
/// let error = bound.unwrap_err().with_hint("is the address one of this computer?");
/// assert_eq!(error.kind(), Kind::Network);
/// assert!(error.sentence().starts_with("listen at 192.0.2.1:1: "));
/// assert_eq!(RunError::config("no such setting").sentence(), "no such setting");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// [`Kind::User`].
    #[error(transparent)]
    User(Cause),
    /// [`Kind::Config`].
    #[error(transparent)]
    Config(Cause),
    /// [`Kind::Network`].
    #[error(transparent)]
    Network(Cause),
    /// [`Kind::Bug`].
    #[error(transparent)]
    Bug(Cause),
    /// Nobody reads what we write, or it cannot be written. [`Kind::User`].
    #[error(transparent)]
    Output(std::io::Error),
}

/// What happened, and what to do about it.
#[derive(Debug)]
pub struct Cause {
    what: Source,
    hint: Option<String>,
}

/// What was being done when something else failed.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
struct While {
    context: String,
    source: Source,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.what.fmt(f)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.what.source()
    }
}

impl RunError {
    pub fn user(what: impl Into<Source>) -> Self {
        Self::new(Kind::User, what)
    }

    pub fn config(what: impl Into<Source>) -> Self {
        Self::new(Kind::Config, what)
    }

    pub fn network(what: impl Into<Source>) -> Self {
        Self::new(Kind::Network, what)
    }

    pub fn bug(what: impl Into<Source>) -> Self {
        Self::new(Kind::Bug, what)
    }

    /// A thread that ended in a panic.
    pub fn broken_thread(which: &str) -> Self {
        Self::bug(format!("{which} broke down"))
    }

    fn new(kind: Kind, what: impl Into<Source>) -> Self {
        let cause = Cause { what: what.into(), hint: None };
        match kind {
            Kind::User => Self::User(cause),
            Kind::Config => Self::Config(cause),
            Kind::Network => Self::Network(cause),
            Kind::Bug => Self::Bug(cause),
        }
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(cause) = self.cause_mut() {
            cause.hint = Some(hint.into());
        }
        self
    }

    fn cause_mut(&mut self) -> Option<&mut Cause> {
        match self {
            Self::User(cause) | Self::Config(cause) | Self::Network(cause) | Self::Bug(cause) => Some(cause),
            Self::Output(_) => None,
        }
    }

    /// The whole sentence: this error and its sources, joined by colons. The hint is not in it.
    pub fn sentence(&self) -> String {
        let mut sentence = self.to_string();
        let mut source = self.source();
        while let Some(error) = source {
            sentence.push_str(": ");
            sentence.push_str(&error.to_string());
            source = error.source();
        }
        sentence
    }
}

impl Fault for RunError {
    fn kind(&self) -> Kind {
        match self {
            Self::User(_) | Self::Output(_) => Kind::User,
            Self::Config(_) => Kind::Config,
            Self::Network(_) => Kind::Network,
            Self::Bug(_) => Kind::Bug,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::User(cause) | Self::Config(cause) | Self::Network(cause) | Self::Bug(cause) => {
                cause.hint.clone()
            }
            Self::Output(_) => None,
        }
    }

    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

/// Gives an error its kind, and says what was being done.
pub trait OrFail<T> {
    /// # Errors
    /// The error that there was, as one of [`Kind::User`].
    fn or_user(self, context: impl FnOnce() -> String) -> Result<T, RunError>;

    /// # Errors
    /// The error that there was, as one of [`Kind::Config`].
    fn or_config(self, context: impl FnOnce() -> String) -> Result<T, RunError>;

    /// # Errors
    /// The error that there was, as one of [`Kind::Network`].
    fn or_network(self, context: impl FnOnce() -> String) -> Result<T, RunError>;
}

impl<T, E: Into<Source>> OrFail<T> for Result<T, E> {
    fn or_user(self, context: impl FnOnce() -> String) -> Result<T, RunError> {
        self.map_err(|error| RunError::user(While::new(context, error)))
    }

    fn or_config(self, context: impl FnOnce() -> String) -> Result<T, RunError> {
        self.map_err(|error| RunError::config(While::new(context, error)))
    }

    fn or_network(self, context: impl FnOnce() -> String) -> Result<T, RunError> {
        self.map_err(|error| RunError::network(While::new(context, error)))
    }
}

impl While {
    fn new(context: impl FnOnce() -> String, error: impl Into<Source>) -> Self {
        Self { context: context(), source: error.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_every_source_once_and_no_hint() {
        let refused = || Err::<(), _>(std::io::Error::other("no route"));
        let error = refused().or_config(|| "read a.toml".to_owned()).unwrap_err().with_hint("make one");
        assert_eq!((error.kind(), error.sentence().as_str()), (Kind::Config, "read a.toml: no route"));
        assert_eq!(error.hint().as_deref(), Some("make one"));
        let again = Err::<(), _>(error).or_network(|| "start".to_owned()).unwrap_err();
        assert_eq!(
            (again.kind(), again.sentence().as_str()),
            (Kind::Network, "start: read a.toml: no route")
        );
    }

    #[test]
    fn only_output_that_nobody_reads_is_a_broken_pipe() {
        let broken = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(RunError::Output(broken()).is_broken_pipe());
        assert!(!RunError::network(broken()).is_broken_pipe());
        assert!(!RunError::Output(std::io::Error::other("x")).is_broken_pipe());
    }
}
