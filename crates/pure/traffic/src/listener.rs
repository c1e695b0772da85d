//! The end that lets others begin runs with it.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use guestright_units::{Micros, Seed, Time};
use hmac::{Hmac, KeyInit, Mac};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::message::{Cookie, Message, Refusal, is_other_version};
use crate::offset::ClockSource;
use crate::plan::Plan;
use crate::receiver::CallRow;
use crate::report::PER_MESSAGE;
use crate::session::{Ended, Outcome, Session};

/// How long figures are kept for a caller that asks for them.
const KEEP: Micros = Micros::from_seconds(10);
/// Answers that wait to be sent; with more, the newest are dropped.
const TRANSMITS_MAX: usize = 16_384;

/// What a listener allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Calls in one run.
    pub calls_max: u16,
    /// How long a run may last.
    pub duration_max: Micros,
    /// The only address that may begin one; `None`: any.
    pub from: Option<IpAddr>,
    /// After so many runs it is done; `None`: never.
    pub runs_max: Option<u32>,
}

/// What a listener has to tell.
#[derive(Clone, Debug, PartialEq)]
pub enum ListenerEvent {
    /// A run begins.
    Started {
        peer: SocketAddr,
        /// What was agreed.
        plan: Plan,
    },
    /// A second of a call is over.
    Row(Box<CallRow>),
    /// A run is over.
    Finished(Box<Outcome>),
    /// Somebody was sent away.
    Refused { peer: SocketAddr, reason: Refusal },
}

/// Lets others begin runs with it, one at a time.
pub struct Listener {
    config: ListenerConfig,
    source: ClockSource,
    secret: [u8; 32],
    random: ChaCha8Rng,
    run: Option<Run>,
    runs: u32,
    transmits: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<ListenerEvent>,
}

#[derive(Debug)]
struct Run {
    peer: SocketAddr,
    session: Session,
    /// When it is forgotten, once its end has been told.
    forget_at: Option<Time>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("config", &self.config)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

impl Listener {
    /// A listener without a run. The seed is for cookies and for phases.
    pub fn new(config: ListenerConfig, source: ClockSource, seed: &Seed) -> Self {
        let mut random = ChaCha8Rng::from_seed(seed.0);
        let mut secret = [0; 32];
        random.fill(&mut secret);
        let (transmits, events) = (VecDeque::new(), VecDeque::new());
        Self { config, source, secret, random, run: None, runs: 0, transmits, events }
    }

    /// Takes a datagram, with the time of its arrival, which may be over. What is neither a request nor of the
    /// present run is dropped. Voice leaves in [`Listener::handle_timeout`] only, so that it carries the right time.
    pub fn handle_datagram(&mut self, bytes: &[u8], from: SocketAddr, now: Time) {
        match Message::parse(bytes) {
            Some(Message::Hello { session, plan }) => self.greet(session, &plan, from),
            Some(Message::Start { session, plan, cookie }) => self.start(session, plan, cookie, from, now),
            Some(message) => self.handle_message(&message, from, now),
            None => self.handle_other(bytes, from, now),
        }
        self.collect();
    }

    fn greet(&mut self, session: u32, plan: &Plan, from: SocketAddr) {
        match self.objection(session, plan, from) {
            Some(reason) => self.refuse(session, reason, from),
            None => {
                self.answer(from, &Message::Welcome { session, cookie: self.cookie(session, plan, from) })
            }
        }
    }

    fn start(&mut self, session: u32, plan: Plan, cookie: Cookie, from: SocketAddr, now: Time) {
        if !bool::from(self.cookie(session, &plan, from).ct_eq(&cookie)) {
            return;
        }
        if let Some(run) = &self.run
            && (run.peer, run.session.number(), run.forget_at) == (from, session, None)
        {
            // Our answer was lost.
            self.answer(from, &Message::Started { session });
            return;
        }
        if let Some(reason) = self.objection(session, &plan, from) {
            self.refuse(session, reason, from);
            return;
        }
        let mut seed = [0; 32];
        self.random.fill(&mut seed);
        let session_machine = Session::new(plan, session, self.source, &Seed(seed), now);
        self.run = Some(Run { peer: from, session: session_machine, forget_at: None });
        self.runs += 1;
        self.answer(from, &Message::Started { session });
        self.events.push_back(ListenerEvent::Started { peer: from, plan });
    }

    /// Why a run will not be. A run that is over only waits for its caller to ask, and makes room.
    fn objection(&self, session: u32, plan: &Plan, from: SocketAddr) -> Option<Refusal> {
        let same = |run: &Run| run.peer == from && run.session.number() == session;
        let busy = self.run.as_ref().is_some_and(|run| run.forget_at.is_none() || same(run));
        if self.config.from.is_some_and(|allowed| allowed != from.ip().to_canonical()) {
            Some(Refusal::Address)
        } else if busy || self.config.runs_max.is_some_and(|most| self.runs >= most) {
            Some(Refusal::Busy)
        } else if plan.calls > self.config.calls_max {
            Some(Refusal::TooManyCalls)
        } else if plan.duration() > self.config.duration_max {
            Some(Refusal::TooLong)
        } else {
            None
        }
    }

    fn refuse(&mut self, session: u32, reason: Refusal, from: SocketAddr) {
        self.answer(from, &Message::Refused { session, reason });
        if self.events.len() < TRANSMITS_MAX {
            self.events.push_back(ListenerEvent::Refused { peer: from, reason });
        }
    }

    fn handle_message(&mut self, message: &Message, from: SocketAddr, now: Time) {
        let Some(run) = self.run.as_mut().filter(|run| run.peer == from) else { return };
        if run.session.number() != message.session() {
            return;
        }
        if let Message::Ask { session, first } = message {
            let Some(figures) = run.session.figures() else { return };
            let part: Vec<_> = figures.iter().skip(usize::from(*first)).take(PER_MESSAGE).copied().collect();
            let calls = run.session.plan().calls;
            let report = Message::Report { session: *session, first: *first, calls, figures: part };
            self.answer(from, &report);
        } else if run.forget_at.is_none() {
            run.session.handle_message(message, now);
        } else if matches!(message, Message::Bye { .. }) {
            run.forget_at = Some(now);
        }
    }

    fn handle_other(&mut self, bytes: &[u8], from: SocketAddr, now: Time) {
        if let Some(session) = is_other_version(bytes) {
            self.refuse(session, Refusal::Version, from);
        } else if let Some(run) = self.run.as_mut().filter(|run| run.peer == from && run.forget_at.is_none())
        {
            run.session.handle_voice(bytes, now);
        }
    }

    fn answer(&mut self, to: SocketAddr, message: &Message) {
        if self.transmits.len() < TRANSMITS_MAX {
            self.transmits.push_back((to, message.emit()));
        }
    }

    /// What only somebody can know who receives at this address.
    fn cookie(&self, session: u32, plan: &Plan, from: SocketAddr) -> Cookie {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes keys of any length");
        match from.ip() {
            IpAddr::V4(address) => mac.update(&address.octets()),
            IpAddr::V6(address) => mac.update(&address.octets()),
        }
        mac.update(&from.port().to_be_bytes());
        mac.update(&session.to_be_bytes());
        mac.update(&plan.emit());
        let digest = mac.finalize().into_bytes();
        let mut cookie = Cookie::default();
        cookie.copy_from_slice(&digest[..8]);
        cookie
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        self.advance(now);
    }

    /// Ends the present run before its time, and lets nobody begin another.
    pub fn stop(&mut self, now: Time) {
        self.config.runs_max = Some(0);
        if let Some(run) = &mut self.run {
            run.session.wind_up(Ended::Stopped, now);
            if run.forget_at.is_some() {
                run.forget_at = Some(now);
            }
        }
        self.advance(now);
    }

    fn advance(&mut self, now: Time) {
        let Some(run) = &mut self.run else { return };
        run.session.handle_timeout(now);
        self.collect();
        let Some(run) = &mut self.run else { return };
        if run.forget_at.is_none()
            && let Some(outcome) = run.session.outcome(None)
        {
            run.forget_at = Some(now + KEEP);
            self.events.push_back(ListenerEvent::Finished(Box::new(outcome)));
        }
        if run.forget_at.is_some_and(|until| now >= until) {
            self.run = None;
        }
    }

    /// Fetches what the session has to send and to tell.
    fn collect(&mut self) {
        let Some(run) = &mut self.run else { return };
        while let Some(bytes) = run.session.poll_transmit() {
            self.transmits.push_back((run.peer, bytes));
        }
        while let Some(row) = run.session.poll_row() {
            self.events.push_back(ListenerEvent::Row(Box::new(row)));
        }
    }

    /// The next datagram, and for whom.
    pub fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.transmits.pop_front()
    }

    pub fn poll_event(&mut self) -> Option<ListenerEvent> {
        self.events.pop_front()
    }

    /// When [`Listener::handle_timeout`] is wanted; `None` while there is no run.
    pub fn poll_timeout(&self) -> Option<Time> {
        let run = self.run.as_ref()?;
        [run.session.poll_timeout(), run.forget_at].into_iter().flatten().min()
    }

    /// Whether all runs that were wanted are over.
    pub fn is_done(&self) -> bool {
        self.run.is_none() && self.config.runs_max.is_some_and(|most| self.runs >= most)
    }
}
