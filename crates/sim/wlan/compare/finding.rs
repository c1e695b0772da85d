//! One thing in which two simulators agree or not.

use std::fmt;

/// What was compared, and how far the two are apart.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// Whose figures ours are compared with.
    pub(crate) judge: &'static str,
    /// What is compared.
    pub(crate) what: String,
    /// The judge's figure.
    pub(crate) theirs: f64,
    pub(crate) ours: f64,
    /// How far they are apart, in the unit of `allowed`.
    pub(crate) apart: f64,
    /// How far they may be apart.
    pub(crate) allowed: f64,
}

impl Finding {
    /// A difference that is absolute.
    pub(crate) fn absolute(judge: &'static str, what: String, theirs: f64, ours: f64, allowed: f64) -> Self {
        Self { judge, what, theirs, ours, apart: ours - theirs, allowed }
    }

    /// A difference that is a share of the judge's figure.
    pub(crate) fn relative(judge: &'static str, what: String, theirs: f64, ours: f64, allowed: f64) -> Self {
        let apart = if theirs == 0.0 { ours } else { ours / theirs - 1.0 };
        Self { judge, what, theirs, ours, apart, allowed }
    }

    /// Whether they agree.
    pub(crate) fn agrees(&self) -> bool {
        self.apart.abs() <= self.allowed
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.agrees() { "agrees" } else { "DIFFERS" };
        let Self { judge, what, theirs, ours, apart, allowed } = self;
        write!(
            f,
            "{verdict:8}{what:58} {judge} {theirs:12.4}  ours {ours:12.4}  apart {apart:+.4} (allowed {allowed:.4})"
        )
    }
}
