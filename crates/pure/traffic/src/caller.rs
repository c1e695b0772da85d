//! The end that asks for a run.

use std::collections::VecDeque;

use guestright_units::{Micros, Seed, Time};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::message::{Message, Refusal};
use crate::offset::ClockSource;
use crate::plan::Plan;
use crate::receiver::CallRow;
use crate::report::CallFigures;
use crate::session::{Ended, Outcome, Session};

/// How often an unanswered question is put again, and how many times.
const AGAIN: Micros = Micros::from_millis(250);
const ATTEMPTS_MAX: u32 = 20;

/// What the caller has to tell.
#[derive(Clone, Debug, PartialEq)]
pub enum CallerEvent {
    /// The other end agrees; packets flow a second from now.
    Started,
    /// A second of a call is over.
    Row(Box<CallRow>),
    /// The run is over.
    Finished(Box<Outcome>),
    /// The other end will not. The caller is done.
    Refused(Refusal),
    /// The other end does not answer. The caller is done.
    NoAnswer,
}

/// Asks the other end for a run, carries it out, and asks what the other end received.
#[derive(Debug)]
pub struct Caller {
    plan: Plan,
    source: ClockSource,
    seed: Seed,
    session: u32,
    state: State,
    attempts: u32,
    again_at: Option<Time>,
    transmits: VecDeque<Vec<u8>>,
    events: VecDeque<CallerEvent>,
}

#[derive(Debug)]
enum State {
    /// `Hello` has been sent.
    Greeting,
    /// `Start` has been sent, with this in it.
    Starting([u8; 8]),
    Running(Box<Session>),
    /// The figures of the other end are being fetched.
    Asking(Box<Session>, Vec<CallFigures>),
    Done,
}

impl Caller {
    /// A caller that begins at once. The seed is for the run's number and for phases.
    pub fn new(plan: Plan, source: ClockSource, seed: &Seed, now: Time) -> Self {
        let mut random = ChaCha8Rng::from_seed(seed.0);
        let session = random.random();
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        let mut caller = Self {
            plan,
            source,
            seed: Seed(bytes),
            session,
            state: State::Greeting,
            attempts: 0,
            again_at: Some(now),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        };
        caller.handle_timeout(now);
        caller
    }

    /// Takes a datagram from the other end, with the time of its arrival, which may be over. What is not of this run
    /// is dropped. Voice leaves in [`Caller::handle_timeout`] only, so that it carries the right time.
    pub fn handle_datagram(&mut self, bytes: &[u8], now: Time) {
        match Message::parse(bytes) {
            Some(message) if message.session() == self.session => self.handle_message(message, now),
            Some(_) => {}
            None => {
                if let State::Running(session) = &mut self.state {
                    session.handle_voice(bytes, now);
                }
            }
        }
        self.collect();
    }

    fn handle_message(&mut self, message: Message, now: Time) {
        match (&mut self.state, message) {
            (State::Greeting, Message::Welcome { cookie, .. }) => {
                self.state = State::Starting(cookie);
                self.ask_anew(now);
            }
            (State::Starting(_), Message::Started { .. }) => {
                let session = Session::new(self.plan, self.session, self.source, &self.seed, now);
                self.state = State::Running(Box::new(session));
                self.again_at = None;
                self.events.push_back(CallerEvent::Started);
            }
            (State::Greeting | State::Starting(_), Message::Refused { reason, .. }) => {
                self.events.push_back(CallerEvent::Refused(reason));
                self.done();
            }
            (State::Asking(session, theirs), Message::Report { first, calls, figures, .. }) => {
                let next = theirs.len();
                let fits = calls == session.plan().calls && usize::from(first) == next && !figures.is_empty();
                let right = figures.iter().zip(next..).all(|(call, number)| usize::from(call.call) == number);
                if fits && right && next + figures.len() <= usize::from(calls) {
                    theirs.extend(figures);
                    self.ask_anew(now);
                }
            }
            (State::Running(session) | State::Asking(session, _), message) => {
                session.handle_message(&message, now)
            }
            (State::Greeting | State::Starting(_) | State::Done, _) => {}
        }
    }

    /// The next question may be put at once, and has all its attempts.
    fn ask_anew(&mut self, now: Time) {
        self.attempts = 0;
        self.again_at = Some(now);
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        self.advance(now);
    }

    /// Ends the run before its time. What was measured until then is still told.
    pub fn stop(&mut self, now: Time) {
        match &mut self.state {
            State::Greeting | State::Starting(_) => self.done(),
            State::Running(session) => session.wind_up(Ended::Stopped, now),
            State::Asking(..) => {
                self.attempts = ATTEMPTS_MAX;
                self.again_at = Some(now);
            }
            State::Done => {}
        }
        self.advance(now);
    }

    fn advance(&mut self, now: Time) {
        if let State::Running(session) | State::Asking(session, _) = &mut self.state {
            session.handle_timeout(now);
        }
        self.collect();
        if let State::Running(session) = &self.state
            && session.figures().is_some()
        {
            let silent = session.ended() == Ended::Silence;
            if let State::Running(session) = std::mem::replace(&mut self.state, State::Done) {
                self.state = State::Asking(session, Vec::new());
            }
            self.ask_anew(now);
            self.attempts = if silent { ATTEMPTS_MAX } else { 0 };
        }
        if self.again_at.is_some_and(|at| now >= at) {
            self.ask(now);
        }
    }

    /// Fetches what the session has to send and to tell.
    fn collect(&mut self) {
        if let State::Running(session) | State::Asking(session, _) = &mut self.state {
            while let Some(bytes) = session.poll_transmit() {
                self.transmits.push_back(bytes);
            }
            while let Some(row) = session.poll_row() {
                self.events.push_back(CallerEvent::Row(Box::new(row)));
            }
        }
    }

    /// Puts the question of this state, or gives up.
    fn ask(&mut self, now: Time) {
        let session = self.session;
        let complete = match &self.state {
            State::Asking(_, theirs) => theirs.len() == usize::from(self.plan.calls),
            State::Greeting | State::Starting(_) | State::Running(_) | State::Done => false,
        };
        if complete || self.attempts == ATTEMPTS_MAX {
            self.settle();
            return;
        }
        let question = match &self.state {
            State::Greeting => Message::Hello { session, plan: self.plan },
            State::Starting(cookie) => Message::Start { session, plan: self.plan, cookie: *cookie },
            State::Asking(_, theirs) => {
                Message::Ask { session, first: u16::try_from(theirs.len()).unwrap_or(u16::MAX) }
            }
            State::Running(_) | State::Done => return,
        };
        self.transmits.push_back(question.emit());
        self.attempts += 1;
        self.again_at = Some(now + AGAIN);
    }

    /// There is no more to ask, or nobody who answers.
    fn settle(&mut self) {
        match &self.state {
            State::Asking(session, theirs) => {
                let all = theirs.len() == usize::from(self.plan.calls);
                if let Some(outcome) = session.outcome(all.then_some(theirs)) {
                    self.events.push_back(CallerEvent::Finished(Box::new(outcome)));
                }
                self.transmits.push_back(Message::Bye { session: self.session }.emit());
            }
            State::Greeting | State::Starting(_) => self.events.push_back(CallerEvent::NoAnswer),
            State::Running(_) | State::Done => {}
        }
        self.done();
    }

    fn done(&mut self) {
        self.state = State::Done;
        self.again_at = None;
    }

    /// The next datagram for the other end.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmits.pop_front()
    }

    pub fn poll_event(&mut self) -> Option<CallerEvent> {
        self.events.pop_front()
    }

    /// When [`Caller::handle_timeout`] is wanted; `None` when the caller is done.
    pub fn poll_timeout(&self) -> Option<Time> {
        let session = match &self.state {
            State::Running(session) | State::Asking(session, _) => session.poll_timeout(),
            State::Greeting | State::Starting(_) | State::Done => None,
        };
        [session, self.again_at].into_iter().flatten().min()
    }
}
