//! The clock and the entropy of this computer.
//!
//! Out: [`Clock::now`], which never goes back, [`seed`], which nobody can foresee, and [`thread_time`], what work costs.

use guestright_units::{Seed, Time};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A wall clock that is further ahead has been set.
const SET_FORWARD_MIN: Duration = Duration::from_secs(1);
/// Both clocks are read at one moment if no more than this lies between the readings.
const ONE_MOMENT: Duration = Duration::from_micros(10);
/// So often it is tried to read both clocks at one moment.
const READINGS_MAX: usize = 16;

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
        let began = Instant::now();
        let (started, epoch) = closest_reading(|| began.elapsed(), wall);
        Self { started: began + started, epoch }
    }

    /// The current time.
    pub fn now(&mut self) -> Time {
        let started = self.started;
        micros(self.follow(wall, || started.elapsed()))
    }

    /// The time by both clocks.
    fn follow(&mut self, wall: impl FnOnce() -> Duration, elapsed: impl FnOnce() -> Duration) -> Duration {
        // In this order: a thread that the computer leaves waiting in between reads a wall clock that is behind. The
        // other way round it would seem to have been set forward, and this clock would be wrong from then on.
        let wall = wall();
        let steady = self.epoch + elapsed();
        let ahead = wall.saturating_sub(steady);
        if ahead > SET_FORWARD_MIN {
            self.epoch += ahead;
            return steady + ahead;
        }
        steady
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

/// Both clocks, read as close to each other as the computer allows: a thread that has to wait between the two readings
/// would be wrong by as much for as long as the clock goes.
fn closest_reading(
    mut steady: impl FnMut() -> Duration,
    mut wall: impl FnMut() -> Duration,
) -> (Duration, Duration) {
    let mut closest: Option<(Duration, (Duration, Duration))> = None;
    for _ in 0..READINGS_MAX {
        let before = steady();
        let read = wall();
        let apart = steady().saturating_sub(before);
        if closest.is_none_or(|(least, _)| apart < least) {
            closest = Some((apart, (before, read)));
        }
        if apart <= ONE_MOMENT {
            break;
        }
    }
    closest.map(|(_, reading)| reading).expect("it is read at least once")
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
    use std::cell::Cell;

    #[test]
    fn the_clock_does_not_go_back_and_knows_the_year() {
        let mut clock = Clock::start();
        let (first, second) = (clock.now(), clock.now());
        assert!(first <= second);
        assert!(first.unix_seconds().0 > 1_700_000_000);
    }

    #[test]
    fn a_thread_that_waits_between_two_readings_does_not_set_the_clock() {
        let seconds = Duration::from_secs;
        let truth = Cell::new(seconds(100));
        // Each reading is followed by three seconds in which the thread does not run.
        let read = |offset: Duration| {
            let reading = truth.get() + offset;
            truth.set(truth.get() + seconds(3));
            reading
        };
        let mut clock = Clock { started: Instant::now(), epoch: seconds(1_000) };
        let time = clock.follow(|| read(seconds(1_000)), || read(seconds(0)));
        assert_eq!((time, clock.epoch), (seconds(1_103), seconds(1_000)));
        // It follows a wall clock that was set.
        let time = clock.follow(|| seconds(5_000), || seconds(110));
        assert_eq!((time, clock.epoch), (seconds(5_000), seconds(4_890)));
    }

    #[test]
    fn the_clock_starts_with_the_readings_that_are_closest() {
        let millis = Duration::from_millis;
        // The thread has to wait in the first reading, not in the second.
        let mut steady = [0, 40, 50, 50].into_iter().map(millis);
        let mut wall = [1_040, 1_050].into_iter().map(millis);
        let reading = closest_reading(|| steady.next().unwrap(), || wall.next().unwrap());
        assert_eq!(reading, (millis(50), millis(1_050)));
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
