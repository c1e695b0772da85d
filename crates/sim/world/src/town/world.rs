//! The town's clock: visits, messages between homes, timers, crashes.

use super::coalition::Coalition;
use super::home::{Home, Output, team};
use super::papers::Papers;
use super::people::{DAY, People, count, exponential, lognormal};
use super::search::Scratch;
use super::settings::{Cheat, Rule, TownSettings};
use super::tally::Tally;
use super::visit::Visit;
use crate::whole::nanos;
use guestright_credit::{HoldId, Message, Proof, Signed};
use guestright_engine::{Instant, Nanos, Queue, Stream, Streams};
use rand::RngExt as _;
use std::collections::BTreeMap;

/// Names of the coalition begin after those of the teams.
pub(super) type Name = u32;

#[derive(Debug)]
pub(super) enum Event {
    /// The trip of this number begins.
    Trip(usize),
    /// Somebody of the coalition tries somewhere.
    Attempt,
    Message {
        from: Name,
        to: Name,
        message: Box<Message>,
    },
    Timer(u32),
    /// What a visit's grant has not reserved by now, it does not get.
    Deadline {
        visit: u32,
        began: Instant,
    },
    /// A visit's grant is used up.
    Served(u32),
    /// A visit at the coalition's home is over.
    ServedByCoalition(u32),
    Day(u32),
    Down(u32),
    Up(u32),
}

/// Everything in one run.
#[derive(Debug)]
pub(super) struct World<'a> {
    pub(super) settings: &'a TownSettings,
    pub(super) people: People,
    pub(super) homes: Vec<Home>,
    pub(super) papers: Option<Papers>,
    pub(super) coalition: Coalition,
    pub(super) queue: Queue<Event>,
    pub(super) visits: BTreeMap<u32, Visit>,
    pub(super) visits_made: u32,
    /// Which visit each hold is for.
    pub(super) asked: BTreeMap<HoldId, u32>,
    pub(super) tally: Tally,
    pub(super) chance: Stream,
    pub(super) scratch: Scratch,
    /// What receipts say. A proof is the index of its receipt in here, so it cannot be forged.
    receipts: Vec<Signed>,
    /// When the last message of each link arrives.
    links: BTreeMap<(Name, Name), Instant>,
    network: Stream,
    end: Instant,
    #[cfg(test)]
    pub(super) past: super::past::Past,
}

impl<'a> World<'a> {
    pub(super) fn new(settings: &'a TownSettings, streams: &Streams) -> Self {
        let people = People::new(settings, streams);
        let mut chance = streams.stream("town", 0);
        let mut homes: Vec<Home> = (0..count(people.teams.len()))
            .map(|number| Home::new(number, settings, people.teams[number as usize].joins))
            .collect();
        let silent = streams.stream("silent", 0);
        if settings.coalition.cheat == Cheat::Silent {
            silence(&mut homes, &people, settings.coalition.silent_share, silent);
        }
        let papers = (settings.policy != Rule::Credit).then(|| Papers::new(settings, streams));
        let coalition = Coalition::new(settings, &people, streams);
        let tally = Tally::new(settings, &people);
        let mut queue = Queue::new();
        for (number, trip) in people.trips.iter().enumerate() {
            queue.push(trip.at, Event::Trip(number));
        }
        for day in 0..settings.people.days {
            queue.push(Instant(u64::from(day) * DAY.0), Event::Day(day));
        }
        if settings.coalition.cheat == Cheat::Crashes {
            for home in 0..count(homes.len()) {
                queue.push(crash_after(settings, Instant::START, &mut chance), Event::Down(home));
            }
        }
        Self {
            settings,
            people,
            homes,
            papers,
            coalition,
            queue,
            visits: BTreeMap::new(),
            visits_made: 0,
            asked: BTreeMap::new(),
            tally,
            chance,
            scratch: Scratch::default(),
            receipts: Vec::new(),
            links: BTreeMap::new(),
            network: streams.stream("network", 0),
            end: Instant(u64::from(settings.people.days) * DAY.0),
            #[cfg(test)]
            past: super::past::Past::default(),
        }
    }

    /// Runs to the end, and two hours longer for what is still on its way.
    pub(super) fn run(&mut self) {
        let last = self.end + Nanos::from_seconds(7_200);
        while self.queue.next_at().is_some_and(|at| at <= last) {
            let Some((_, event)) = self.queue.pop() else { break };
            self.handle(event);
        }
        for home in &mut self.homes {
            home.check_accounts();
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.queue.now()
    }

    pub(super) fn is_hostile(&self, name: Name) -> bool {
        self.people.teams.get(name as usize).is_none_or(|team| team.hostile)
    }

    /// A proof of what a member signed.
    pub(super) fn sign(&mut self, signed: Signed) -> Proof {
        self.receipts.push(signed);
        let index = self.receipts.len() - 1;
        Proof { receipt: index.to_be_bytes().to_vec(), certificate: Vec::new() }
    }

    /// Sends a message, which takes its time or is lost.
    pub(super) fn post(&mut self, from: Name, to: Name, message: Message) {
        self.tally.messages += 1;
        let network = &self.settings.network;
        let delay = lognormal(network.delay_ms, network.spread, &mut self.network);
        let is_lost = self.network.random::<f64>() < network.loss;
        if is_lost || self.is_mute(from) {
            return;
        }
        let arrives = self.now() + nanos((network.write_ms + delay) * 1e6);
        let last = self.links.entry((from, to)).or_default();
        *last = arrives.max(*last);
        self.queue.push(*last, Event::Message { from, to, message: Box::new(message) });
    }

    /// Says what a home's machines have to say. Events are about grants; the caller looks at them.
    pub(super) fn speak(&mut self, home: u32, output: Output) {
        for (to, message) in output.messages {
            self.post(home, to, message);
        }
        for event in output.events {
            self.note_hold(event);
        }
        self.set_timer(home);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Trip(number) => self.begin_trip(number),
            Event::Attempt => self.attempt(),
            Event::Message { from, to, message } => self.deliver(from, to, *message),
            Event::Timer(home) => self.time_out(home),
            Event::Deadline { visit, began } => self.end_waiting(visit, began),
            Event::Served(visit) => self.finish_grant(visit),
            Event::ServedByCoalition(visit) => self.finish_at_coalition(visit),
            Event::Day(day) => self.begin_day(day),
            Event::Down(home) => {
                self.homes[home as usize].up = false;
                let away = Nanos::from_seconds(3_600).0 as f64 * self.settings.coalition.crash_hours;
                self.queue.push(self.queue.now() + nanos(away), Event::Up(home));
            }
            Event::Up(home) => {
                let now = self.queue.now();
                self.homes[home as usize].restart(now);
                self.set_timer(home);
                self.queue.push(crash_after(self.settings, now, &mut self.chance), Event::Down(home));
            }
        }
    }

    fn deliver(&mut self, from: Name, to: Name, message: Message) {
        if self.is_hostile(to) {
            return self.deceive(from, to, message);
        }
        if self.is_mute(to) || !self.homes[to as usize].up {
            return;
        }
        let signed = message.proof().and_then(|proof| self.receipt(proof));
        let is_last =
            matches!(&message, Message::Commit { terms, proof: Some(_) } if terms.consumer == team(to));
        let now = self.now();
        let home = &mut self.homes[to as usize];
        if is_last {
            home.honoured(from);
        }
        home.holds.handle_message(team(from), message, signed, now.time());
        let output = home.drain();
        let asked: Vec<u32> = output.events.iter().filter_map(|event| self.visit_of(event)).collect();
        self.speak(to, output);
        for visit in asked {
            self.end_round(visit);
        }
    }

    fn receipt(&self, proof: &Proof) -> Option<Signed> {
        let index = proof.receipt.as_slice().try_into().map(usize::from_be_bytes).ok()?;
        self.receipts.get(index).copied()
    }

    fn time_out(&mut self, home: u32) {
        let now = self.now();
        let machine = &mut self.homes[home as usize];
        if machine.timer != Some(now) {
            return;
        }
        machine.timer = None;
        if machine.up {
            machine.holds.handle_timeout(now.time());
            let output = machine.drain();
            self.speak(home, output);
        }
    }

    fn set_timer(&mut self, home: u32) {
        let now = self.now();
        let machine = &mut self.homes[home as usize];
        let due = machine.holds.poll_timeout().map(|due| Instant::from_time(due).max(now));
        if let Some(due) = due.filter(|due| machine.timer.is_none_or(|timer| *due < timer)) {
            machine.timer = Some(due);
            self.queue.push(due, Event::Timer(home));
        }
    }

    fn begin_day(&mut self, day: u32) {
        let now = self.now();
        for home in &mut self.homes {
            home.check_accounts();
        }
        let flood = self.settings.coalition.cheat == Cheat::Flood && day == self.settings.coalition.flood_day;
        if flood {
            self.homes.iter_mut().for_each(|home| home.hints.clear());
        }
        if let Some(papers) = &mut self.papers {
            papers.begin_day(flood);
        }
        if self.settings.coalition.cheat == Cheat::Junk {
            self.junk();
        }
        if self.settings.coalition.cheat != Cheat::None {
            let attempts = self.settings.coalition.people * self.settings.coalition.attempts_per_day;
            for _ in 0..attempts {
                let at = now + Nanos(self.coalition.chance.random_range(0..DAY.0));
                self.queue.push(at, Event::Attempt);
            }
        }
    }

    /// Whether nothing comes from there or arrives there.
    fn is_mute(&self, name: Name) -> bool {
        self.homes.get(name as usize).is_some_and(|home| home.silent)
    }
}

fn silence(homes: &mut [Home], people: &People, share: f64, mut chance: Stream) {
    for (home, team) in homes.iter_mut().zip(&people.teams) {
        home.silent = chance.random::<f64>() < share && !team.hostile;
    }
}

fn crash_after(settings: &TownSettings, now: Instant, chance: &mut Stream) -> Instant {
    now + nanos(exponential(settings.coalition.crash_days * DAY.as_seconds() * 1e9, chance))
}
