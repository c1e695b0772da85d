//! What went wrong, told to a person.

pub use guestright_error::Kind;

use guestright_error::{Fault, RunError};
use std::fmt;
use std::process::ExitCode;

/// What a shell says of a command that Ctrl-C ended: 128, and 2 for SIGINT. A command that hears the signal and ends in
/// order says the same.
pub const INTERRUPTED: u8 = 130;

/// What was measured is worse than the person allowed. Nothing failed, so it is no code of an error.
pub const BELOW: u8 = 3;

/// An error with its kind and, when one is known, what to do about it.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    error: anyhow::Error,
    hint: Option<String>,
    is_broken_pipe: bool,
    /// Another code than that of its kind.
    code: Option<u8>,
}

impl Failure {
    fn new(kind: Kind, error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        let is_broken_pipe = error.downcast_ref::<RunError>().is_some_and(Fault::is_broken_pipe);
        Self { kind, error, hint: None, is_broken_pipe, code: None }
    }

    pub fn user(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::User, error)
    }

    pub fn config(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::Config, error)
    }

    pub fn network(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::Network, error)
    }

    /// We were wrong.
    pub fn bug(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::Bug, error)
    }

    /// A person, or whoever runs this program, ended what was asked for before it was done.
    pub fn interrupted(error: impl Into<anyhow::Error>) -> Self {
        Self { code: Some(INTERRUPTED), ..Self::user(error) }
    }

    /// A measurement is below what the person asked for.
    pub fn below(error: impl Into<anyhow::Error>) -> Self {
        Self { code: Some(BELOW), ..Self::user(error) }
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, with where it happened.
    pub fn within(self, context: impl fmt::Display + Send + Sync + 'static) -> Self {
        Self { error: self.error.context(context), ..self }
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// Of sysexits.h where it has one for the kind: `EX_UNAVAILABLE`, `EX_SOFTWARE`, `EX_CONFIG`.
    pub(crate) fn code(&self) -> u8 {
        if let Some(code) = self.code {
            return code;
        }
        match self.kind {
            Kind::User => 1,
            Kind::Network => 69,
            Kind::Bug => 70,
            Kind::Config => 78,
        }
    }

    /// What a person reads: which program failed, what happened, and what to do about it.
    pub fn message(&self, program: &str) -> String {
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!("  what to do: {hint}\n"));
        format!("{program}: {:#}\n{hint}", self.error)
    }

    /// What happened, without what to do about it.
    pub fn what(&self) -> String {
        format!("{:#}", self.error)
    }

    /// What to do about it, if that is known.
    pub fn what_to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// As the programs say it on standard error where JSON is wanted.
    pub fn object(&self) -> serde_json::Value {
        serde_json::json!({ "sentence": self.what(), "hint": self.what_to_do(), "code": self.code() })
    }

    /// For whoever asked over a control socket.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({ "error": format!("{:#}", self.error), "hint": self.hint })
    }

    /// Whether the reader of our output has gone, as in `guestright … | head`.
    pub fn is_broken_pipe(&self) -> bool {
        self.is_broken_pipe
    }
}

/// For a loop that has something of a person's read again.
impl From<Failure> for RunError {
    fn from(failure: Failure) -> Self {
        let what = failure.what();
        let error = match failure.kind {
            Kind::User => Self::user(what),
            Kind::Config => Self::config(what),
            Kind::Network => Self::network(what),
            Kind::Bug => Self::bug(what),
        };
        match failure.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// There is no other way to make a failure of an error by `?`: one that does not know its kind is given it by name.
impl<E: Fault> From<E> for Failure {
    fn from(error: E) -> Self {
        let (kind, hint, is_broken_pipe) = (error.kind(), error.hint(), error.is_broken_pipe());
        Self { kind, error: anyhow::Error::new(error), hint, is_broken_pipe, code: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message("guestright"))
    }
}

/// What every command returns.
pub type Outcome = Result<(), Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_happened_and_what_to_do() {
        let error = anyhow::anyhow!("no such file").context("read ap.toml");
        let shown = Failure::config(error).hint("make one").to_string();
        assert_eq!(shown, "guestright: read ap.toml: no such file\n  what to do: make one\n");
    }

    #[test]
    fn each_kind_has_its_exit_code() {
        let error = || anyhow::anyhow!("x");
        assert_eq!(Failure::user(error()).code(), 1);
        assert_eq!(Failure::interrupted(error()).hint("go on").within("a run").code(), 130);
        assert_eq!(Failure::below(error()).within("a call").code(), 3);
        assert_eq!(Failure::network(error()).code(), 69);
        assert_eq!(Failure::bug(error()).code(), 70);
        assert_eq!(Failure::config(error()).code(), 78);
    }

    #[test]
    fn an_error_that_knows_its_kind_keeps_it_with_its_sentence_and_its_hint() {
        type Make = fn(&'static str) -> RunError;
        let rows: [(Make, u8); 4] =
            [(RunError::user, 1), (RunError::network, 69), (RunError::bug, 70), (RunError::config, 78)];
        for (make, code) in rows {
            let failure = Failure::from(make("no such file").with_hint("make one"));
            assert_eq!(failure.code(), code);
            assert_eq!(failure.to_string(), "guestright: no such file\n  what to do: make one\n");
        }
    }

    #[test]
    fn only_output_that_nobody_reads_is_a_broken_pipe() {
        let pipe = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(Failure::from(RunError::Output(pipe())).is_broken_pipe());
        assert!(!Failure::network(pipe()).is_broken_pipe());
        let within = anyhow::Error::new(RunError::Output(pipe())).context("tell what happened");
        assert!(Failure::network(within).is_broken_pipe());
    }
}
