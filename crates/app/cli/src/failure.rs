//! What went wrong, told to a person.

pub use guestright_error::Kind;

use guestright_error::RunError;
use std::fmt;
use std::process::ExitCode;

/// An error with its kind and, when one is known, what to do about it.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    error: anyhow::Error,
    hint: Option<String>,
}

impl Failure {
    pub fn user(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: Kind::User, error: error.into(), hint: None }
    }

    pub fn config(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: Kind::Config, error: error.into(), hint: None }
    }

    pub fn network(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: Kind::Network, error: error.into(), hint: None }
    }

    /// We were wrong.
    pub fn bug(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: Kind::Bug, error: error.into(), hint: None }
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
    fn code(&self) -> u8 {
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

    /// For whoever asked over a control socket.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({ "error": format!("{:#}", self.error), "hint": self.hint })
    }

    /// Whether the reader of our output has gone, as in `guestright … | head`.
    pub fn is_broken_pipe(&self) -> bool {
        let io = self.error.downcast_ref::<std::io::Error>();
        io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
            || self.error.downcast_ref::<RunError>().is_some_and(RunError::is_broken_pipe)
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    /// An error that knows its kind keeps it, with its hint; any other is taken for the user's.
    fn from(error: E) -> Self {
        let error = error.into();
        let known = error.chain().find_map(|cause| cause.downcast_ref::<RunError>());
        let kind = known.map_or(Kind::User, RunError::kind);
        let hint = known.and_then(RunError::hint).map(str::to_owned);
        Self { kind, error, hint }
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
        assert_eq!(Failure::network(error()).code(), 69);
        assert_eq!(Failure::bug(error()).code(), 70);
        assert_eq!(Failure::config(error()).code(), 78);
    }

    #[test]
    fn the_error_of_a_loop_keeps_its_kind_its_sentence_and_its_hint() {
        let error = || RunError::config(std::io::Error::other("no such file")).with_hint("make one");
        let shown = "guestright: no such file\n  what to do: make one\n";
        assert_eq!((Failure::from(error()).code(), Failure::from(error()).to_string().as_str()), (78, shown));
        let within = anyhow::Error::new(error()).context("read ap.toml");
        assert_eq!((Failure::from(within).code(), Failure::from(RunError::bug("x")).code()), (78, 70));
        let pipe = RunError::Output(std::io::ErrorKind::BrokenPipe.into());
        assert!(Failure::from(pipe).is_broken_pipe());
    }
}
