//! A caller, a listener, and the two ways between them, in virtual time.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use guestright_traffic::{
    Caller, CallerEvent, ClockSource, Listener, ListenerConfig, ListenerEvent, Outcome, Plan, Refusal,
};
use guestright_units::{Micros, Seed, Time};

const EPOCH: u64 = 1_000_000_000_000;

/// What becomes of the n-th datagram: how long it takes, or that it is lost.
type Fate = Box<dyn Fn(u64) -> Option<u64>>;

pub(crate) struct Way {
    fate: Fate,
    voice_only: bool,
    count: u64,
    pub(crate) dropped: u64,
    pub(crate) bytes: usize,
}

impl Way {
    pub(crate) fn new(fate: impl Fn(u64) -> Option<u64> + 'static) -> Self {
        Self { fate: Box::new(fate), voice_only: false, count: 0, dropped: 0, bytes: 0 }
    }

    /// Only voice is counted and may be lost; messages take 20 ms.
    pub(crate) fn voice_only(self) -> Self {
        Self { voice_only: true, ..self }
    }

    fn forward(&mut self, bytes: &[u8]) -> Option<u64> {
        self.bytes += bytes.len();
        if self.voice_only && bytes[0] & 0xc0 != 0x80 {
            return Some(20_000);
        }
        let fate = (self.fate)(self.count);
        self.count += 1;
        self.dropped += u64::from(fate.is_none());
        fate
    }
}

pub(crate) struct World {
    pub(crate) there: Way,
    pub(crate) back: Way,
    /// How far the listener's clock is ahead.
    pub(crate) offset_us: u64,
    /// How much faster it runs.
    pub(crate) drift_ppm: f64,
    /// Strangers send to both ends.
    pub(crate) noise: bool,
    pub(crate) caller_events: Vec<CallerEvent>,
    pub(crate) listener_events: Vec<ListenerEvent>,
    now: u64,
    plan: Plan,
    source: ClockSource,
    config: ListenerConfig,
    ends: Option<(Caller, Listener)>,
    flying: BTreeMap<(u64, u64), (bool, Vec<u8>)>,
    flown: u64,
}

fn peer() -> SocketAddr {
    ([10, 0, 0, 2], 5_000).into()
}

fn stranger() -> SocketAddr {
    ([10, 0, 0, 3], 5_000).into()
}

impl World {
    pub(crate) fn new(plan: Plan, source: ClockSource) -> Self {
        let config =
            ListenerConfig { calls_max: 100, duration_max: Micros(100_000_000), from: None, runs_max: None };
        Self {
            there: Way::new(|_| Some(20_000)),
            back: Way::new(|_| Some(20_000)),
            offset_us: 0,
            drift_ppm: 0.0,
            noise: false,
            caller_events: Vec::new(),
            listener_events: Vec::new(),
            now: 0,
            plan,
            source,
            config,
            ends: None,
            flying: BTreeMap::new(),
            flown: 0,
        }
    }

    pub(crate) fn allow(&mut self, change: impl FnOnce(&mut ListenerConfig)) {
        change(&mut self.config);
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.now
    }

    /// Runs until neither end wants anything any more.
    pub(crate) fn run(&mut self) {
        self.run_until(u64::MAX);
    }

    pub(crate) fn run_until(&mut self, end: u64) {
        let (mut caller, mut listener) = self.ends.take().unwrap_or_else(|| {
            let caller = Caller::new(self.plan, self.source, &Seed::from_number(1), Time(EPOCH + self.now));
            (caller, Listener::new(self.config.clone(), self.source, &Seed::from_number(2)))
        });
        loop {
            self.drain(&mut caller, &mut listener);
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let wanted = [
                caller.poll_timeout().map(|time| time.0 - EPOCH),
                listener.poll_timeout().map(|time| self.true_time(time)),
                arrival,
            ];
            let Some(next) = wanted.into_iter().flatten().min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            assert!(self.now < 3_600_000_000, "a run does not last an hour");
            while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (there, bytes) = entry.remove();
                if there {
                    listener.handle_datagram(&bytes, peer(), self.theirs());
                } else {
                    caller.handle_datagram(&bytes, Time(EPOCH + self.now));
                }
                self.drain(&mut caller, &mut listener);
            }
            caller.handle_timeout(Time(EPOCH + self.now));
            listener.handle_timeout(self.theirs());
        }
        self.ends = Some((caller, listener));
    }

    pub(crate) fn stop(&mut self, caller_stops: bool) {
        let now = Time(EPOCH + self.now);
        let theirs = self.theirs();
        let (caller, listener) = self.ends.as_mut().expect("the run has begun");
        if caller_stops { caller.stop(now) } else { listener.stop(theirs) }
    }

    /// Somebody else wants a run.
    pub(crate) fn knock(&mut self) -> Option<Refusal> {
        let theirs = self.theirs();
        let (_, listener) = self.ends.as_mut().expect("the run has begun");
        let mut other = Caller::new(self.plan, self.source, &Seed::from_number(9), theirs);
        while let Some(bytes) = other.poll_transmit() {
            listener.handle_datagram(&bytes, stranger(), theirs);
        }
        let mut answers = Vec::new();
        while let Some((to, bytes)) = listener.poll_transmit() {
            if to == stranger() {
                answers.push(bytes);
            }
        }
        answers.iter().for_each(|bytes| other.handle_datagram(bytes, theirs));
        if let Some(CallerEvent::Refused(reason)) = other.poll_event() { Some(reason) } else { None }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let finished = self
            .caller_events
            .iter()
            .find_map(|event| if let CallerEvent::Finished(outcome) = event { Some(outcome) } else { None });
        Outcome::clone(finished.expect("the caller has finished"))
    }

    pub(crate) fn listener_outcome(&self) -> Outcome {
        let finished = self.listener_events.iter().find_map(|event| {
            if let ListenerEvent::Finished(outcome) = event { Some(outcome) } else { None }
        });
        Outcome::clone(finished.expect("the listener has finished"))
    }

    /// How many rows the caller and the listener told.
    pub(crate) fn rows(&self) -> (usize, usize) {
        let caller = self.caller_events.iter().filter(|event| matches!(event, CallerEvent::Row(_))).count();
        let listener =
            self.listener_events.iter().filter(|event| matches!(event, ListenerEvent::Row(_))).count();
        (caller, listener)
    }

    fn theirs(&self) -> Time {
        let drifted = self.now as f64 * self.drift_ppm / 1e6;
        Time(EPOCH + self.offset_us + self.now + drifted as u64)
    }

    /// When the listener's clock shows this, or a little later.
    fn true_time(&self, theirs: Time) -> u64 {
        let since = theirs.0.saturating_sub(EPOCH + self.offset_us) as f64;
        (since / (1.0 + self.drift_ppm / 1e6)).ceil() as u64 + u64::from(self.drift_ppm > 0.0)
    }

    fn drain(&mut self, caller: &mut Caller, listener: &mut Listener) {
        while let Some(bytes) = caller.poll_transmit() {
            if self.noise {
                self.disturb(&bytes, caller, listener);
            }
            if let Some(took) = self.there.forward(&bytes) {
                self.flown += 1;
                self.flying.insert((self.now + took, self.flown), (true, bytes));
            }
        }
        while let Some((to, bytes)) = listener.poll_transmit() {
            if to != peer() {
                continue;
            }
            if let Some(took) = self.back.forward(&bytes) {
                self.flown += 1;
                self.flying.insert((self.now + took, self.flown), (false, bytes));
            }
        }
        self.caller_events.extend(std::iter::from_fn(|| caller.poll_event()));
        self.listener_events.extend(std::iter::from_fn(|| listener.poll_event()));
    }

    /// A stranger repeats what he overhears to the listener, and sends noise to the caller, where a socket that is
    /// connected lets nothing else through than what bears the listener's address.
    fn disturb(&mut self, bytes: &[u8], caller: &mut Caller, listener: &mut Listener) {
        let theirs = self.theirs();
        listener.handle_datagram(bytes, stranger(), theirs);
        let mut turned = bytes.to_vec();
        for octet in turned.iter_mut().skip(4) {
            *octet ^= 0x55;
        }
        listener.handle_datagram(&turned, peer(), theirs);
        caller.handle_datagram(&turned, Time(EPOCH + self.now));
    }
}
