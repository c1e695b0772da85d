use guestright_engine::Instant;
use std::sync::OnceLock;
use std::time::Duration;

/// The start of every run, as quinn sees it.
static START: OnceLock<std::time::Instant> = OnceLock::new();

/// A point of a run as quinn's.
pub(crate) fn to_quinn(at: Instant) -> std::time::Instant {
    start() + Duration::from_nanos(at.0)
}

/// One of quinn's points as one of the run.
pub(crate) fn from_quinn(at: std::time::Instant) -> Instant {
    let nanos = at.saturating_duration_since(start()).as_nanos();
    Instant(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[expect(
    clippy::disallowed_methods,
    reason = "there is no other way to an instant of std's; only differences to it are ever used"
)]
fn start() -> std::time::Instant {
    *START.get_or_init(std::time::Instant::now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_same_point() {
        for at in [0, 1, 999, 60_000_000_001] {
            assert_eq!(from_quinn(to_quinn(Instant(at))), Instant(at));
        }
        assert_eq!(to_quinn(Instant(5)) - to_quinn(Instant(2)), Duration::from_nanos(3));
    }
}
