//! When to look around: now and then, and at once when the kernel says that the network has changed.

use guestright_firewall::Changes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, Interval, MissedTickBehavior};

/// How often is looked in any case, also at how the tunnel is.
const EVERY: Duration = Duration::from_millis(300);
/// Changes come in swarms: a link, an address, a route. Between two looks there is at least so much time.
const SPACING: Duration = Duration::from_millis(10);

/// Tells when to look.
#[derive(Debug)]
pub(super) struct Look {
    every: Interval,
    changed: Arc<Notify>,
    /// Those that the kernel tells of; without any the interval has to do.
    _changes: Vec<Changes>,
    /// Whether what the switch consists of may have changed since somebody asked.
    switch_changed: Arc<AtomicBool>,
    /// Something has changed that nobody has looked at yet.
    is_due: bool,
    looked: Instant,
}

impl Look {
    pub(super) fn start() -> Self {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let changed = Arc::new(Notify::new());
        let switch_changed = Arc::new(AtomicBool::new(true));
        let [moves, attacks] = [(); 2].map(|()| Arc::clone(&changed));
        let is_suspect = Arc::clone(&switch_changed);
        let surroundings = Changes::watch(move || moves.notify_one());
        let switch = Changes::watch_switch(move || {
            is_suspect.store(true, Ordering::Relaxed);
            attacks.notify_one();
        });
        let of_kernel = |changes: Result<_, _>| {
            changes.inspect_err(|error| tracing::info!(%error, "changes are noticed later")).ok()
        };
        let changes = [surroundings, switch].into_iter().filter_map(of_kernel).collect();
        Self { every, changed, _changes: changes, switch_changed, is_due: false, looked: Instant::now() }
    }

    /// Whether what the switch consists of may have changed since this was asked last: links, routes, rules or firewalls.
    pub(super) fn switch_may_have_changed(&self) -> bool {
        self.switch_changed.swap(false, Ordering::Relaxed)
    }

    /// Waits until it is time to look. Nothing is lost if nobody waits to the end.
    pub(super) async fn tick(&mut self) {
        let Self { every, changed, is_due, looked, .. } = self;
        let change = async {
            if !*is_due {
                changed.notified().await;
                *is_due = true;
            }
            tokio::time::sleep_until(*looked + SPACING).await;
        };
        tokio::select! {
            _ = every.tick() => {}
            () = change => {}
        }
        self.is_due = false;
        self.looked = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Far longer than any test: what comes sooner did not come by the clock.
    const LONG: Duration = Duration::from_secs(60);

    async fn look() -> Look {
        let mut every = tokio::time::interval(LONG);
        every.tick().await; // An interval begins with a tick.
        Look {
            every,
            changed: Arc::default(),
            _changes: Vec::new(),
            switch_changed: Arc::default(),
            is_due: false,
            looked: Instant::now(),
        }
    }

    #[tokio::test]
    async fn a_change_is_looked_at_without_the_clock_and_a_swarm_of_them_seldom() {
        let mut look = look().await;
        let (began, mut looks) = (Instant::now(), 0);
        while looks < 20 {
            look.changed.notify_one();
            look.tick().await;
            looks += 1;
        }
        assert!(began.elapsed() >= SPACING * looks && began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_change_is_not_lost_when_something_else_came_first() {
        let mut look = look().await;
        look.changed.notify_one();
        // Somebody begins to wait, and is called away during the pause between two looks.
        tokio::select! {
            biased;
            () = look.tick() => panic!("it looked before its time"),
            () = std::future::ready(()) => {}
        }
        let began = Instant::now();
        look.tick().await;
        assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
        // And it is looked at once.
        assert!(tokio::time::timeout(SPACING * 5, look.tick()).await.is_err());
    }
}
