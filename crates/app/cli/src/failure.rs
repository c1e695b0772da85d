//! What went wrong, told to a person.

use std::fmt;
use std::process::ExitCode;

/// Whose fault it is; each kind has an exit code of its own (sysexits.h where it has one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request cannot be carried out as it was put: 1.
    User,
    /// A setting or a file is wrong: 78.
    Config,
    /// A peer, the network or the operating system refused: 69.
    Network,
}

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

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, with where it happened.
    pub fn within(self, place: impl fmt::Display + Send + Sync + 'static) -> Self {
        Self { error: self.error.context(place), ..self }
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::User => 1,
            Kind::Network => 69,
            Kind::Config => 78,
        })
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
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::user(error)
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
}
