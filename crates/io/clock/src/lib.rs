//! The clock and the entropy of this computer.
//!
//! Out: [`Clock::now`], which never goes back, [`seed`], which nobody can foresee, and [`thread_time`], what work costs.

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

/// The processor's time that this thread has used so far: what a piece of work costs, whatever else runs beside it.
///
/// POSIX's `CLOCK_THREAD_CPUTIME_ID`. A computer whose cores change their speed makes the same work cost more or less.
#[must_use]
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
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
    fn only_work_takes_a_thread_s_time() {
        let began = thread_time();
        let mut sum = 0_u64;
        while thread_time() == began {
            sum = std::hint::black_box(sum + 1);
        }
        let (worked, slept) = (thread_time(), Instant::now());
        while slept.elapsed() < Duration::from_millis(50) {
            std::thread::park_timeout(Duration::from_millis(50));
        }
        assert!(thread_time() - worked < Duration::from_millis(25), "{sum}");
    }

    #[test]
    fn two_seeds_differ() {
        assert_ne!(seed().0, seed().0);
    }
}
