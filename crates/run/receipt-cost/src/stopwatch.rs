//! How long a piece of work takes a processor.

use guestright_clock::thread_time;
use std::time::Duration;

/// Work is done again until it took so long: a thousand times what the clock cannot tell apart.
const LEAST: Duration = Duration::from_millis(4);
/// And never more often.
const ROUNDS_MAX: u32 = 1 << 20;

/// The time that one round of `work` takes this thread, in µs. The first round is not counted: it fills the caches.
pub fn time_us(mut work: impl FnMut()) -> f64 {
    work();
    let mut rounds = 1_u32;
    loop {
        let began = thread_time();
        (0..rounds).for_each(|_| work());
        let took = thread_time().saturating_sub(began);
        if took >= LEAST || rounds >= ROUNDS_MAX {
            return took.as_secs_f64() * 1e6 / f64::from(rounds);
        }
        rounds *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_work_takes_longer() {
        let work = |times: u64| {
            move || {
                std::hint::black_box((0..times).map(std::hint::black_box).sum::<u64>());
            }
        };
        let (one, four) = (time_us(work(1_000)), time_us(work(8_000)));
        assert!(one > 0.0 && four > 2.0 * one, "{one} and {four}");
    }
}
