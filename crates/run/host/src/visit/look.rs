//! When to look around: now and then, and at once when the kernel says that the network has changed.

use guestright_firewall::Changes;
use std::sync::Arc;
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
    /// None if the kernel does not tell; then the interval has to do.
    _changes: Option<Changes>,
    /// Something has changed that nobody has looked at yet.
    is_due: bool,
    /// The last look was for a change, and not for the time.
    was_called: bool,
    looked: Instant,
}

impl Look {
    pub(super) fn start() -> Self {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let changed = Arc::new(Notify::new());
        let notify = Arc::clone(&changed);
        let again = Arc::clone(&changed);
        let changes = Changes::watch_switch(move || notify.notify_one())
            .or_else(|_| Changes::watch(move || again.notify_one()));
        let changes =
            changes.map_err(|error| tracing::info!(%error, "moves are noticed a little later")).ok();
        Self { every, changed, _changes: changes, is_due: false, was_called: true, looked: Instant::now() }
    }

    /// Whether the last look was for a change of links, addresses, routes, rules or firewalls.
    pub(super) fn was_called(&self) -> bool {
        self.was_called
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
        self.was_called = std::mem::take(&mut self.is_due);
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
            _changes: None,
            is_due: false,
            was_called: false,
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
