//! Time of this computer as the engine has it.

use guestright_engine::{Instant, Nanos};
use std::time::Duration;

/// Virtual time is time since the emulator's start.
pub(crate) fn instant(since: Duration) -> Instant {
    Instant(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// A time of a run, from the run's begin on.
pub(crate) fn at(begin: std::time::Instant, since: Instant) -> std::time::Instant {
    begin + Duration::from_nanos(since.0)
}

/// The same span of time, as the engine has it.
pub(crate) fn span(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
