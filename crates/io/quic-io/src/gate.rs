//! When quinn has room for more: it does not say so, but its congestion controller hears of everything it takes to know.

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// What one connection has on its way, and may have. All in bytes of UDP payload.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Notify,
    mtu: AtomicU64,
    repeats: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    in_flight: u64,
    /// Given to quinn and not sent yet, about.
    given: u64,
    /// Lost, and to be sent again before anything new: of streams only.
    lost: u64,
    window: u64,
}

impl Gate {
    /// Of a connection that sends again what is lost, or does not.
    pub(crate) fn new(repeats: bool) -> Self {
        Self { repeats, ..Self::default() }
    }

    /// Whether quinn would send a packet of `bytes` at once, but for pacing. It waits while a whole MTU more than what is
    /// on its way reaches the window.
    pub(crate) fn is_open(&self) -> bool {
        let mtu = self.mtu.load(Ordering::Relaxed);
        self.with(|state| state.in_flight + state.given + state.lost + mtu < state.window)
    }

    /// Whether nothing is on its way, nor waits in quinn, as far as can be told.
    pub(crate) fn is_idle(&self) -> bool {
        self.with(|state| state.in_flight + state.given == 0)
    }

    /// So much was given to quinn.
    pub(crate) fn give(&self, bytes: u64) {
        self.with(|state| state.given += bytes);
    }

    /// Waits for something to have changed since the last time.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        // Numbers that a panic elsewhere cannot leave half changed.
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        self.with(change);
        self.changed.notify_one();
    }
}

/// Makes controllers that tell a gate.
pub(crate) struct WatchedFactory {
    pub(crate) gate: Arc<Gate>,
    pub(crate) inner: Arc<dyn ControllerFactory + Send + Sync>,
}

impl ControllerFactory for WatchedFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.inner).build(now, current_mtu);
        self.gate.mtu.store(current_mtu.into(), Ordering::Relaxed);
        let window = inner.window();
        self.gate.update(|state| state.window = window);
        Box::new(Watched { inner, gate: Arc::clone(&self.gate) })
    }
}

/// A controller that tells a gate what it hears.
struct Watched {
    inner: Box<dyn Controller>,
    gate: Arc<Gate>,
}

impl Watched {
    fn update(&self, change: impl FnOnce(&mut State)) {
        let window = self.inner.window();
        self.gate.update(|state| {
            change(state);
            state.window = window;
        });
    }
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
        self.update(|state| {
            state.in_flight += bytes;
            let new = bytes.saturating_sub(state.lost);
            state.lost = state.lost.saturating_sub(bytes);
            state.given = state.given.saturating_sub(new);
        });
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        self.update(|state| {
            state.in_flight = in_flight;
            if in_flight == 0 {
                // Nothing keeps quinn from sending what it has: it has nothing. Headers that were counted twice end here.
                (state.given, state.lost) = (0, 0);
            }
        });
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        let again = if self.gate.repeats { lost_bytes } else { 0 };
        self.update(|state| {
            state.in_flight = state.in_flight.saturating_sub(lost_bytes);
            state.lost += again;
        });
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
        self.gate.mtu.store(new_mtu.into(), Ordering::Relaxed);
        self.update(|_| ());
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), gate: Arc::clone(&self.gate) })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_quinn_control::Algorithm;

    #[test]
    fn opens_and_closes_with_the_window() {
        let gate = Arc::new(Gate::new(true));
        assert!(!gate.is_open(), "there is no connection");
        let inner = guestright_quinn_control::factory(Algorithm::Reno);
        let start = Instant::now();
        let mut watched = Arc::new(WatchedFactory { gate: Arc::clone(&gate), inner }).build(start, 1_200);
        assert!(gate.is_open());
        // A window of 12,000 bytes: open below 10,800.
        gate.give(10_800);
        assert!(!gate.is_open());
        watched.on_sent(start, 10_799, 0);
        assert!(!gate.is_open(), "what is sent is on its way instead");
        watched.on_end_acks(start, 10_700, false, None);
        assert!(gate.is_open());
        watched.on_congestion_event(start, start, false, 1_200);
        assert!(!gate.is_open(), "half the window, and 9500 on their way");
        watched.on_end_acks(start, 3_700, false, None);
        assert!(!gate.is_open(), "1200 of it go again");
        watched.on_end_acks(start, 3_500, false, None);
        assert!(gate.is_open());
        // Several packets in one datagram: nothing is left of them.
        for _ in 0..7 {
            gate.give(162);
        }
        watched.on_sent(start, 1_170, 1);
        watched.on_end_acks(start, 0, false, None);
        assert_eq!(gate.with(|state| state.given), 0);
        assert!(gate.is_open() && gate.is_idle());
        // What is lost goes before what is new, where it is sent again.
        watched.on_sent(start, 4_900, 2);
        let much_later = start + std::time::Duration::from_secs(9);
        watched.on_congestion_event(much_later, start, false, 4_900);
        assert!(!gate.is_open(), "6000 bytes of window");
        watched.on_sent(much_later, 1_170, 3);
        assert_eq!(gate.with(|state| (state.in_flight, state.lost)), (1_170, 3_730));
        watched.on_end_acks(much_later, 0, false, None);
        assert!(gate.is_open());
    }
}
