//! What strangers can cause is not said in the log as often as they like.

use guestright_units::{Micros, Time};

const MINUTE: Micros = Micros::from_seconds(60);
/// How many lines of one kind a minute has.
const LINES_MAX: u32 = 20;

/// Lines of one kind.
#[derive(Debug, Default)]
pub(crate) struct LogPace {
    since: Time,
    lines: u32,
    unsaid: u64,
}

impl LogPace {
    /// Whether another line is said now; then also how many were not, since the last that was.
    pub(crate) fn next(&mut self, now: Time) -> Option<u64> {
        if now - self.since >= MINUTE {
            (self.since, self.lines) = (now, 0);
        }
        if self.lines == LINES_MAX {
            self.unsaid += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_lines_and_the_next_says_what_was_not_said() {
        let mut pace = LogPace::default();
        let now = Time(1_000_000_000);
        assert!((0..LINES_MAX).all(|_| pace.next(now) == Some(0)));
        assert!((0..500).all(|_| pace.next(now + Micros::from_seconds(59)).is_none()));
        assert_eq!(pace.next(now + MINUTE), Some(500));
        assert_eq!(pace.next(now + MINUTE), Some(0));
    }
}
