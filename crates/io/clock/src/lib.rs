//! The clock and the entropy of this computer.
//!
//! Out: [`Clock::now`], which never goes back, [`unix_seconds`] for what is done once, [`seed`], which nobody can foresee, and
//! [`thread_time`], what work costs.

use guestright_units::{Seed, Time, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A wall clock that is further away from ours has been set.
const SET_MIN: Duration = Duration::from_secs(1);
/// For so long it has to stay where it was set to before it is believed: time servers, and people, correct themselves.
const BELIEVED_AFTER: Duration = Duration::from_secs(30);
/// Nobody ran this program before (1 January 2026). A clock that says so has not been set since the computer started.
const FIRST_PLAUSIBLE: Duration = Duration::from_secs(1_767_225_600);
/// Both clocks are read at one moment if no more than this lies between the readings.
const ONE_MOMENT: Duration = Duration::from_micros(10);
/// So often it is tried to read both clocks at one moment.
const READINGS_MAX: usize = 16;

/// Time since the Unix epoch that never goes back.
///
/// It is read from the wall clock once and then advanced by a clock that nobody sets, which goes on while the computer
/// sleeps. If the wall clock is later set, and stays so for half a minute, this clock follows it forward. It cannot follow
/// it back: [`Clock::was_set_back`] says that a new clock is needed. One that is not set at all, as on a router that has
/// just started, is followed at once.
#[derive(Clone, Debug)]
pub struct Clock {
    started: Duration,
    epoch: Duration,
    /// The wall clock is so far away, and since when.
    doubt: Option<Doubt>,
    was_set_back: bool,
}

/// A wall clock that says something else than ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Doubt {
    since: Duration,
    is_ahead: bool,
    by: Duration,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        let (started, epoch) = closest_reading(steady, wall);
        Self { started, epoch, doubt: None, was_set_back: false }
    }

    /// The current time.
    pub fn now(&mut self) -> Time {
        let started = self.started;
        micros(self.follow(wall, || steady().saturating_sub(started)))
    }

    /// Whether the wall clock was set back, and stayed so for half a minute: this clock is wrong from then on.
    pub fn was_set_back(&self) -> bool {
        self.was_set_back
    }

    /// The time by both clocks.
    fn follow(&mut self, wall: impl FnOnce() -> Duration, elapsed: impl FnOnce() -> Duration) -> Duration {
        // In this order: a thread that the computer leaves waiting in between reads a wall clock that is behind. The
        // other way round it would seem to have been set forward.
        let wall = wall();
        let elapsed = elapsed();
        let ours = self.epoch + elapsed;
        let (is_ahead, by) = (wall > ours, wall.abs_diff(ours));
        if by <= SET_MIN {
            self.doubt = None;
            return ours;
        }
        let doubt = self.doubt.filter(|doubt| doubt.is_ahead == is_ahead && doubt.by.abs_diff(by) <= SET_MIN);
        let doubt = *self.doubt.insert(doubt.unwrap_or(Doubt { since: elapsed, is_ahead, by }));
        let is_unset = ours < FIRST_PLAUSIBLE && is_ahead;
        if !is_unset && elapsed.saturating_sub(doubt.since) < BELIEVED_AFTER {
            return ours;
        }
        if !is_ahead {
            self.was_set_back = true;
            return ours;
        }
        self.epoch += by;
        self.doubt = None;
        ours + by
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
    duration(rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime))
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

/// A clock that nobody sets and that does not stop while the computer sleeps.
fn steady() -> Duration {
    duration(rustix::time::clock_gettime(rustix::time::ClockId::Boottime))
}

fn duration(time: rustix::time::Timespec) -> Duration {
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

/// Seconds since this computer started, also those in which it slept. Nobody sets that clock.
pub fn seconds_since_boot() -> u64 {
    steady().as_secs()
}

/// The time now, for what is done once. Who compares times that it has read keeps a [`Clock`].
pub fn unix_seconds() -> UnixSeconds {
    Clock::start().now().unix_seconds()
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
    use std::time::Instant;

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
        let mut clock = at(seconds(BEGAN));
        let time = clock.follow(|| read(seconds(BEGAN)), || read(seconds(0)));
        assert_eq!((time, clock.epoch), (seconds(BEGAN + 103), seconds(BEGAN)));
    }

    const BEGAN: u64 = 1_800_000_000;

    fn at(epoch: Duration) -> Clock {
        Clock { started: Duration::ZERO, epoch, doubt: None, was_set_back: false }
    }

    #[test]
    fn a_wall_clock_that_is_set_is_believed_when_it_stays_so() {
        let seconds = Duration::from_secs;
        let day = 86_400;
        let mut clock = at(seconds(BEGAN));
        let mut tell = |wall: u64, elapsed: u64| {
            let time = clock.follow(|| seconds(wall), || seconds(elapsed));
            (time.as_secs() - BEGAN, clock.was_set_back())
        };
        // A day ahead for six seconds, and back.
        assert_eq!(tell(BEGAN + day + 1, 1), (1, false));
        assert_eq!(tell(BEGAN + day + 7, 7), (7, false));
        assert_eq!(tell(BEGAN + 8, 8), (8, false));
        // A minute ahead, then two, and it stays.
        assert_eq!(tell(BEGAN + 70, 10), (10, false));
        assert_eq!(tell(BEGAN + 150, 30), (30, false));
        assert_eq!(tell(BEGAN + 161, 41), (41, false), "not long enough");
        assert_eq!(tell(BEGAN + 180, 60), (180, false));
        assert_eq!(tell(BEGAN + 190, 70), (190, false));
        // Back by an hour: this clock goes on, and says that it is wrong.
        assert_eq!(tell(BEGAN + 200 - 3_600, 80), (200, false));
        assert_eq!(tell(BEGAN + 231 - 3_600, 111), (231, true));
    }

    #[test]
    fn a_clock_that_was_never_set_is_set_at_once() {
        let seconds = Duration::from_secs;
        let mut clock = at(seconds(5)); // A router without a battery, five seconds into 1970.
        assert_eq!(clock.follow(|| seconds(BEGAN), || seconds(20)), seconds(BEGAN));
        assert_eq!(clock.follow(|| seconds(BEGAN + 1), || seconds(21)), seconds(BEGAN + 1));
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
