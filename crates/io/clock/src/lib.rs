//! The clock and the entropy of this computer.
//!
//! Out: [`Clock::now`], which never goes back, and [`seed`], which nobody can foresee.

use guestright_units::{Seed, Time};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since the Unix epoch that never goes back.
///
/// It is read from the wall clock once and then advanced by the monotonic clock. If the wall clock is later set
/// forward by more than a second, as on a router that learns the date after it has booted, this clock follows; if it
/// is set back, this clock goes on.
#[derive(Clone, Debug)]
pub struct Clock {
    started: Instant,
    epoch: Duration,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { started: Instant::now(), epoch: wall() }
    }

    /// The current time.
    pub fn now(&mut self) -> Time {
        let steady = self.epoch + self.started.elapsed();
        let ahead = wall().saturating_sub(steady);
        if ahead > Duration::from_secs(1) {
            self.epoch += ahead;
        }
        micros(self.epoch + self.started.elapsed())
    }

    /// How long it is until `time`; zero if that is over.
    pub fn until(&mut self, time: Time) -> Duration {
        Duration::from_micros((time - self.now()).0)
    }
}

fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn micros(since: Duration) -> Time {
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// A seed from the operating system.
///
/// # Panics
/// If the operating system has no entropy, with which no key may be made.
pub fn seed() -> Seed {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system has a source of entropy");
    Seed(bytes)
}

/// A generator for keys and nonces, seeded by the operating system.
pub fn rng() -> StdRng {
    StdRng::from_seed(seed().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_go_back_and_knows_the_year() {
        let mut clock = Clock::start();
        let (first, second) = (clock.now(), clock.now());
        assert!(first <= second);
        assert!(first.unix_seconds().0 > 1_700_000_000);
    }

    #[test]
    fn two_seeds_differ() {
        assert_ne!(seed().0, seed().0);
    }
}
