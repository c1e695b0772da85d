//! When to look around: now and then, and at once when the kernel says that the network has changed.

use guestright_firewall::Changes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How often is looked while something is under way: a tunnel that does not carry yet, or a network that is new.
const EVERY: Duration = Duration::from_millis(300);
/// How often where all is as it should be. What changes around us the kernel says; so this is for the tunnel alone.
const EVERY_SETTLED: Duration = Duration::from_secs(4);
/// Changes come in swarms: a link, an address, a route. Between two looks there is at least so much time.
const SPACING: Duration = Duration::from_millis(10);

/// How much there is to look after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// No tunnel and no switch.
    Nothing,
    /// Both are as they should be.
    Settled,
    /// They are, but an answer through the tunnel is missing, and patience with that ends then.
    Unanswered(Instant),
    Unsettled,
}

/// Tells when to look.
#[derive(Debug)]
pub(super) struct Look {
    changed: Arc<Notify>,
    /// Those that the kernel tells of; without all of them the clock has to do.
    changes: Vec<Changes>,
    /// Whether what the switch consists of may have changed since somebody asked.
    switch_changed: Arc<AtomicBool>,
    /// Something has changed that nobody has looked at yet.
    is_due: bool,
    /// When somebody has looked last; nothing: it is time.
    looked: Option<Instant>,
}

impl Look {
    /// For one who has a tunnel and a switch to look after. It is looked at once, too, when `bell` is rung.
    pub(super) fn start(bell: Arc<Notify>) -> Self {
        let look = Self { changed: bell, ..Self::at_nothing() };
        let [moves, attacks] = [(); 2].map(|()| Arc::clone(&look.changed));
        let is_suspect = Arc::clone(&look.switch_changed);
        let surroundings = Changes::watch(move || moves.notify_one());
        let switch = Changes::watch_switch(move || {
            is_suspect.store(true, Ordering::Relaxed);
            attacks.notify_one();
        });
        let of_kernel = |changes: Result<_, _>| {
            changes.inspect_err(|error| tracing::info!(%error, "changes are noticed later")).ok()
        };
        Self { changes: [surroundings, switch].into_iter().filter_map(of_kernel).collect(), ..look }
    }

    /// For one who has neither.
    pub(super) fn at_nothing() -> Self {
        Self {
            changed: Arc::new(Notify::new()),
            changes: Vec::new(),
            switch_changed: Arc::new(AtomicBool::new(true)),
            is_due: false,
            looked: None,
        }
    }

    /// Whether what the switch consists of may have changed since this was asked last: links, routes, rules or firewalls.
    pub(super) fn switch_may_have_changed(&self) -> bool {
        self.switch_changed.swap(false, Ordering::Relaxed)
    }

    /// How long it may be from one look to the next.
    fn every(&self, need: Need) -> Option<Duration> {
        let hears_of_changes = self.changes.len() == 2;
        match need {
            Need::Nothing => None,
            Need::Settled if hears_of_changes => Some(EVERY_SETTLED),
            Need::Unanswered(until) if hears_of_changes => {
                let left = self.looked.map_or(EVERY, |looked| until.saturating_duration_since(looked));
                Some(left.clamp(EVERY, EVERY_SETTLED))
            }
            Need::Settled | Need::Unanswered(_) | Need::Unsettled => Some(EVERY),
        }
    }

    /// Waits until it is time to look. Nothing is lost if nobody waits to the end.
    pub(super) async fn tick(&mut self, need: Need) {
        let Some(every) = self.every(need) else { return std::future::pending().await };
        let Self { changed, is_due, looked, .. } = self;
        if let Some(looked) = *looked {
            let change = async {
                if !*is_due {
                    changed.notified().await;
                    *is_due = true;
                }
                tokio::time::sleep_until(looked + SPACING).await;
            };
            tokio::select! {
                () = tokio::time::sleep_until(looked + every) => {}
                () = change => {}
            }
        }
        self.is_due = false;
        self.looked = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One who has just looked, and hears of changes in no other way than the test's.
    fn look() -> Look {
        Look { looked: Some(Instant::now()), ..Look::at_nothing() }
    }

    /// How long it takes until it is time to look.
    async fn next(look: &mut Look, need: Need) -> Duration {
        let began = Instant::now();
        look.tick(need).await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_looked_at_without_the_clock_and_a_swarm_of_them_seldom() {
        let mut look = look();
        for _ in 0..20 {
            look.changed.notify_one();
            assert!((SPACING..EVERY / 10).contains(&next(&mut look, Need::Settled).await));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_not_lost_when_something_else_came_first() {
        let mut look = look();
        look.changed.notify_one();
        // Somebody begins to wait, and is called away during the pause between two looks.
        tokio::select! {
            biased;
            () = look.tick(Need::Settled) => panic!("it looked before its time"),
            () = std::future::ready(()) => {}
        }
        assert!(next(&mut look, Need::Settled).await < EVERY / 10);
        // And it is looked at once.
        assert!(next(&mut look, Need::Unsettled).await >= EVERY);
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_has_to_do_where_the_kernel_says_nothing() {
        let mut look = Look::at_nothing();
        assert_eq!(next(&mut look, Need::Settled).await, Duration::ZERO, "whoever begins looks at once");
        let late = EVERY + SPACING;
        for need in [Need::Settled, Need::Unanswered(Instant::now()), Need::Unsettled] {
            assert!((EVERY..late).contains(&next(&mut look, need).await), "{need:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_nothing_to_look_after_never_looks() {
        let mut look = Look::at_nothing();
        look.changed.notify_one();
        let day = Duration::from_secs(86_400);
        assert!(tokio::time::timeout(day, look.tick(Need::Nothing)).await.is_err());
    }
}
