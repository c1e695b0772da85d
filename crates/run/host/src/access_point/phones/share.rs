//! A share of a thread's time.

use std::time::Duration;
use tokio::time::Instant;

/// So much may be used at once after a pause.
const BURST: Duration = Duration::from_millis(20);

/// Something may use one part in so many of the time. What it has used, it waits for afterwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    parts: u32,
    /// By when the time that was used is paid for.
    paid_at: Instant,
}

impl Share {
    pub(super) fn new(parts: u32) -> Self {
        Self { parts, paid_at: Instant::now() }
    }

    /// Waits until it may go on.
    pub(super) async fn turn(&self) {
        let ahead = BURST * self.parts;
        if let Some(at) = self.paid_at.checked_sub(ahead) {
            tokio::time::sleep_until(at).await;
        }
    }

    /// It has used so much.
    pub(super) fn charge(&mut self, used: Duration) {
        self.paid_at = self.paid_at.max(Instant::now()) + used * self.parts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whatever_it_costs_it_has_its_share_and_no_more() {
        for cost in [10, 100, 5_000].map(Duration::from_micros) {
            let mut share = Share::new(4);
            let begun = Instant::now();
            let mut used = Duration::ZERO;
            while begun.elapsed() < Duration::from_secs(10) {
                share.turn().await;
                tokio::time::advance(cost).await;
                share.charge(cost);
                used += cost;
            }
            let share = used.as_secs_f64() / begun.elapsed().as_secs_f64();
            assert!((0.20..=0.26).contains(&share), "{share} at {cost:?} each");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_pause_it_need_not_wait() {
        let mut share = Share::new(4);
        tokio::time::advance(Duration::from_secs(5)).await;
        let begun = Instant::now();
        for _ in 0..20 {
            share.turn().await;
            share.charge(Duration::from_micros(500));
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
