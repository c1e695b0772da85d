//! A run, seen from one of its ends. Both ends do the same from the moment they have agreed.

use std::collections::VecDeque;

use guestright_units::{Micros, Seed, Time};
use serde::Serialize;
use thiserror::Error;

use crate::generator::{Generator, Pacing};
use crate::message::Message;
use crate::offset::{ClockMeter, ClockSource, Exchange};
use crate::plan::Plan;
use crate::receiver::{CallRow, ROW_CHECK, Receiver};
use crate::report::{CallFigures, Direction};

/// Before the first packet: time for the clocks to be compared.
const LEAD: Micros = Micros::from_seconds(1);
/// After the last packet: time for what is still on its way.
const TRAIL: Micros = Micros::from_millis(1_500);
/// How often clocks are compared before the first packet, and from then on.
const PROBE_OFTEN: Micros = Micros::from_millis(40);
const PROBE_SELDOM: Micros = Micros::from_millis(200);
/// How long the other end may be silent.
const SILENCE_MAX: Micros = Micros::from_seconds(10);
/// Questions that may be open at a time; older ones are forgotten.
const PROBES_MAX: usize = 64;
/// How often one says that one has finished.
const SENT_EVERY: Micros = Micros::from_millis(100);

/// Why a run ended before its time.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    #[error("as planned")]
    AsPlanned,
    /// We were told to stop.
    #[error("stopped before its time")]
    Stopped,
    /// The other end stopped.
    #[error("the other end stopped before its time")]
    OtherStopped,
    /// The other end fell silent.
    #[error("nothing came from the other end for {} s", SILENCE_MAX.as_seconds())]
    Silence,
}

/// What came of a run at one end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// What was to be done.
    pub plan: Plan,
    pub ended: Ended,
    /// What arrived here.
    pub received: Direction,
    /// What arrived at the other end, as far as it told.
    pub sent: Option<Direction>,
    /// How well our packets kept their times.
    pub pacing: Pacing,
    /// Datagrams that belonged to nothing.
    pub foreign: u64,
}

#[derive(Debug)]
pub(crate) struct Session {
    plan: Plan,
    session: u32,
    start: Time,
    end: Time,
    generator: Generator,
    receiver: Receiver,
    clock: ClockMeter,
    ended: Ended,
    received_at: Time,
    /// How many packets each of their calls sent, once they have said it.
    theirs: Option<u32>,
    probe_at: Option<Time>,
    row_at: Time,
    sent_at: Option<Time>,
    probes: VecDeque<(u32, Time)>,
    probe_number: u32,
    transmits: VecDeque<Vec<u8>>,
    figures: Option<Vec<CallFigures>>,
}

impl Session {
    pub(crate) fn new(plan: Plan, session: u32, source: ClockSource, seed: &Seed, now: Time) -> Self {
        let start = now + LEAD;
        let clock = ClockMeter::new(source);
        Self {
            plan,
            session,
            start,
            end: start + plan.duration() + TRAIL,
            generator: Generator::new(plan, session, seed, start),
            receiver: Receiver::new(plan, session),
            ended: Ended::AsPlanned,
            received_at: now,
            theirs: None,
            probe_at: Some(now), // Also to show that we are there, when all voice is lost.
            clock,
            row_at: start,
            sent_at: None,
            probes: VecDeque::new(),
            probe_number: 0,
            transmits: VecDeque::new(),
            figures: None,
        }
    }

    /// Takes a datagram from the other end that is no message of the set-up.
    pub(crate) fn handle_voice(&mut self, bytes: &[u8], now: Time) {
        if self.receiver.handle_datagram(bytes, now, &mut self.clock) {
            self.received_at = now;
        }
    }

    /// Takes a message of this run. `None` means that it has none for the session itself.
    pub(crate) fn handle_message(&mut self, message: &Message, now: Time) {
        self.received_at = now;
        match *message {
            Message::Probe { session, number, asked } => {
                let answer = Message::Answer { session, number, asked, arrived: now, answered: now };
                self.transmits.push_back(answer.emit());
            }
            Message::Answer { number, asked, arrived, answered, .. } => {
                // Only what we have asked, and each of it once.
                if let Some(index) = self.probes.iter().position(|probe| *probe == (number, asked)) {
                    self.probes.remove(index);
                    if self.clock.wants_exchanges() {
                        self.clock.handle_exchange(Exchange { asked, arrived, answered, received: now });
                    }
                }
            }
            Message::Sent { packets, .. } => {
                let first = self.theirs.is_none();
                self.theirs = Some(packets);
                if first && packets < self.plan.packets && self.ended == Ended::AsPlanned {
                    self.wind_up(Ended::OtherStopped, now);
                }
            }
            Message::Hello { .. }
            | Message::Welcome { .. }
            | Message::Start { .. }
            | Message::Started { .. }
            | Message::Refused { .. }
            | Message::Ask { .. }
            | Message::Report { .. }
            | Message::Bye { .. } => {}
        }
    }

    /// Sends no more; what is on its way is waited for.
    pub(crate) fn wind_up(&mut self, why: Ended, now: Time) {
        if self.generator.due().is_some() {
            self.ended = why;
            self.generator.stop();
            self.sent_at = Some(now);
            self.end = self.end.min(now + TRAIL);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        while let Some(packet) = self.generator.next(now) {
            self.transmits.push_back(packet);
        }
        if self.figures.is_some() {
            return;
        }
        if self.generator.due().is_none() && self.sent_at.is_none_or(|at| now >= at) {
            self.sent_at = Some(now + SENT_EVERY);
            self.transmits
                .push_back(Message::Sent { session: self.session, packets: self.generator.rounds() }.emit());
        }
        if self.probe_at.is_some_and(|at| now >= at) {
            self.probe(now);
        }
        if now >= self.row_at {
            self.row_at = now + ROW_CHECK;
            self.receiver.handle_timeout(now);
        }
        if now.since(self.received_at) >= SILENCE_MAX {
            self.ended = Ended::Silence;
            self.generator.stop();
            self.finish();
        } else if now >= self.end {
            self.finish();
        }
    }

    fn probe(&mut self, now: Time) {
        if self.probes.len() == PROBES_MAX {
            self.probes.pop_front();
        }
        let number = self.probe_number;
        self.probe_number = number.wrapping_add(1);
        self.probes.push_back((number, now));
        self.transmits.push_back(Message::Probe { session: self.session, number, asked: now }.emit());
        self.probe_at = Some(now + if now < self.start { PROBE_OFTEN } else { PROBE_SELDOM });
    }

    fn finish(&mut self) {
        self.figures = Some(self.receiver.finish(self.theirs, self.start));
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        if self.figures.is_some() {
            return None;
        }
        let sent = if self.generator.due().is_none() { self.sent_at } else { None };
        let times = [self.generator.due(), self.probe_at, sent, Some(self.row_at), Some(self.end)];
        times.into_iter().flatten().chain([self.received_at + SILENCE_MAX]).min()
    }

    pub(crate) fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmits.pop_front()
    }

    pub(crate) fn poll_row(&mut self) -> Option<CallRow> {
        self.receiver.poll_row()
    }

    /// What arrived here, once the run is over.
    pub(crate) fn figures(&self) -> Option<&[CallFigures]> {
        self.figures.as_deref()
    }

    /// What came of it, once the run is over; `theirs` is what the other end says that it received.
    pub(crate) fn outcome(&self, theirs: Option<&[CallFigures]>) -> Option<Outcome> {
        let figures = self.figures.as_deref()?;
        Some(Outcome {
            plan: self.plan,
            ended: self.ended,
            received: Direction::new(&self.plan, figures, self.clock.summary()),
            sent: theirs.map(|figures| Direction::new(&self.plan, figures, None)),
            pacing: self.generator.pacing(),
            foreign: self.receiver.foreign(),
        })
    }

    pub(crate) fn number(&self) -> u32 {
        self.session
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn ended(&self) -> Ended {
        self.ended
    }
}
