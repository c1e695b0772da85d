//! The same as a simulation that knows no events and looks at every microsecond, with the same backoffs.

use crate::air::scene::Scene;
use guestright_engine::{Stream, Streams};
use guestright_units::Seed;
use guestright_wlan::{Config, IdleAccess, Mac, Output, Phy, Rate};
use proptest::prelude::*;
use rand::Rng;
use std::collections::VecDeque;

const DATA: u64 = 262;
const EXCHANGE: u64 = DATA + 10 + 203;
const DIFS: u64 = 50;
const SLOT: u64 = 20;
const TIMEOUT: u64 = 10 + 20 + 192;
const ATTEMPTS_MAX: u32 = 7;

/// A station of the simulation by microseconds. Times are in µs.
struct Plain {
    backoffs: Stream,
    queue: VecDeque<u64>,
    slots: u64,
    /// When its first slot begins.
    base: u64,
    /// Not before this.
    earliest: u64,
    window: u64,
    attempts: u32,
    is_immediate: bool,
    /// When it drops its packet, after the last timeout.
    gives_up_at: Option<u64>,
    is_sending: bool,
}

impl Plain {
    fn new(number: u64, seed: u64) -> Self {
        Self {
            backoffs: Streams::new(Seed::from_number(seed)).stream("802.11 backoff", number),
            queue: VecDeque::new(),
            slots: 0,
            base: 0, // The medium has always been idle.
            earliest: 0,
            window: 32,
            attempts: 0,
            is_immediate: false,
            gives_up_at: None,
            is_sending: false,
        }
    }

    fn draw(&mut self) {
        self.slots = u64::from(self.backoffs.next_u32()) % self.window;
    }

    fn finish(&mut self) {
        self.queue.pop_front();
        (self.window, self.attempts, self.is_sending) = (32, 0, false);
        self.draw();
    }

    fn is_at_boundary(&self, now: u64) -> bool {
        now >= self.base && (now - self.base).is_multiple_of(SLOT)
    }

    fn contends(&self) -> bool {
        !self.queue.is_empty() && !self.is_sending && self.gives_up_at.is_none()
    }
}

/// What came out: who, when, whether it was delivered.
type Outcome = (u16, u64, bool);

/// The whole channel: stations from 1 on send to 0.
struct Channel {
    stations: Vec<Plain>,
    at_once: bool,
    redraw: bool,
    busy_until: Option<u64>,
    outcomes: Vec<Outcome>,
}

impl Channel {
    fn tick(&mut self, now: u64, arrivals: &[(u64, u16)]) {
        if self.busy_until.is_none() {
            for station in &mut self.stations {
                if station.slots > 0 && now > station.base && station.is_at_boundary(now) {
                    station.slots -= 1;
                }
            }
        }
        for &(_, from) in arrivals.iter().filter(|(at, _)| *at == now) {
            self.arrive(usize::from(from), now);
        }
        if self.busy_until == Some(now) {
            self.end(now);
        }
        self.give_up(now);
        if self.busy_until.is_none() {
            self.access(now);
        }
    }

    fn arrive(&mut self, from: usize, now: u64) {
        let (is_busy, at_once) = (self.busy_until.is_some(), self.at_once);
        let station = &mut self.stations[from];
        let was_idle = station.queue.is_empty() && !station.is_sending;
        station.queue.push_back(now);
        if !was_idle || station.slots > 0 {
            return;
        }
        if is_busy {
            station.draw();
        } else {
            station.is_immediate = true;
            station.base = station.base.max(if at_once { now } else { now + DIFS });
        }
    }

    fn end(&mut self, now: u64) {
        self.busy_until = None;
        let senders = self.stations.iter().filter(|station| station.is_sending).count();
        for station in &mut self.stations {
            if !station.is_sending {
                continue;
            }
            station.is_sending = false;
            if senders == 1 {
                station.finish();
                station.earliest = 0;
            } else if station.attempts == ATTEMPTS_MAX {
                station.gives_up_at = Some(now + TIMEOUT);
            } else {
                station.window = (station.window * 2).min(1_024);
                station.draw();
                station.earliest = now + TIMEOUT + DIFS;
            }
        }
        for station in &mut self.stations {
            station.base = (now + DIFS).max(station.earliest);
        }
    }

    fn give_up(&mut self, now: u64) {
        for (number, station) in (0..).zip(&mut self.stations) {
            if station.gives_up_at == Some(now) {
                station.gives_up_at = None;
                station.finish();
                station.earliest = now + DIFS;
                station.base = station.base.max(station.earliest);
                self.outcomes.push((number, now, false));
            }
        }
    }

    fn access(&mut self, now: u64) {
        let is_next = |station: &Plain| station.contends() && station.slots == 0 && now >= station.base;
        let senders: Vec<_> =
            (0..self.stations.len()).filter(|index| is_next(&self.stations[*index])).collect();
        let [first, rest @ ..] = &senders[..] else { return };
        if rest.is_empty() {
            self.outcomes.push((u16::try_from(*first).expect("few"), now + DATA, true));
        }
        self.busy_until = Some(now + if rest.is_empty() { EXCHANGE } else { DATA });
        for (index, station) in self.stations.iter_mut().enumerate() {
            if senders.contains(&index) {
                station.is_sending = true;
                station.attempts += 1;
            } else if station.contends() && station.is_immediate && station.slots == 0 && self.redraw {
                station.draw();
            }
            station.is_immediate = false;
        }
    }
}

fn plain(arrivals: &[(u64, u16)], stations: u16, seed: u64, rules: (bool, bool), end: u64) -> Vec<Outcome> {
    let (at_once, redraw) = rules;
    let stations = (0..=u64::from(stations)).map(|number| Plain::new(number, seed)).collect();
    let mut channel = Channel { stations, at_once, redraw, busy_until: None, outcomes: Vec::new() };
    for now in 0..end {
        channel.tick(now, arrivals);
    }
    channel.outcomes.retain(|outcome| outcome.1 < end);
    channel.outcomes.sort_by_key(|outcome| outcome.1);
    channel.outcomes
}

fn by_events(
    arrivals: &[(u64, u16)],
    stations: u16,
    seed: u64,
    rules: (bool, bool),
    end: u64,
) -> Vec<Outcome> {
    let idle_access = if rules.0 { IdleAccess::AtOnce } else { IdleAccess::AfterDifs };
    let mac = Mac { idle_access, backoff_when_deferred: rules.1, ..Mac::default() };
    let phy = Phy { ack_rate: Some(Rate::Cck11), ..Phy::b() };
    let mut scene = Scene::new(&Config { phy, mac, ..Config::new(&[1], usize::from(stations)) }, seed);
    for &(at, from) in arrivals {
        scene.arrive(at, from, 0, 60);
    }
    scene.run(end);
    assert!(scene.refused.is_empty() && !scene.air.is_empty() && scene.radio.poll_air().is_none());
    let outcome = |(at, output): &(guestright_engine::Instant, Output)| match output {
        Output::Delivered { from, .. } => (from.0, at.0 / 1_000, true),
        Output::Dropped { station, .. } => (station.0, at.0 / 1_000, false),
    };
    scene.outputs.iter().map(outcome).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn events_give_what_looking_at_every_microsecond_gives(
        stations in 1..=12_u16,
        load in 1..90_usize,
        span in prop_oneof![Just(2_000_u64), Just(20_000), Just(60_000)],
        chance in proptest::collection::vec(any::<(u64, u16)>(), 90),
        rules: (bool, bool),
        seed: u64,
    ) {
        let mut arrivals: Vec<(u64, u16)> =
            chance[..load].iter().map(|(at, from)| (at % span, 1 + from % stations)).collect();
        arrivals.sort_unstable();
        let end = 100_000;
        let want = plain(&arrivals, stations, seed, rules, end);
        prop_assert_eq!(by_events(&arrivals, stations, seed, rules, end), want);
    }
}

#[test]
fn many_stations_at_once_reach_the_retry_limit_alike() {
    // A contention window that starts at 31 for 60 stations: somebody is unlucky seven times.
    let arrivals: Vec<_> = (0..60 * 8).map(|number| (0, 1 + number % 60)).collect();
    let mut dropped = 0;
    for seed in 0..3 {
        let want = plain(&arrivals, 60, seed, (false, true), 500_000);
        dropped += want.iter().filter(|outcome| !outcome.2).count();
        assert_eq!(by_events(&arrivals, 60, seed, (false, true), 500_000), want);
    }
    assert!(dropped > 0, "nobody reached the limit");
}
