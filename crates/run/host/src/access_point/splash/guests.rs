//! What the access point knows of those who look at the page, and the trials that they begin there.

use super::super::guard::Order;
use super::super::{HomeState, Loop};
use super::Question;
use guestright_reciprocity::ServiceClass;
use guestright_roaming::access_point::{Address, BLOCKED, Gate, SessionStatus};
use guestright_roaming::home::is_used_up;
use guestright_roaming::message::{Code, Message};
use guestright_roaming::trials::{TrialConfig, TrialEvent, TrialState, Trials};
use guestright_splash::{Debt, Guest, LeaseToken, Standing, Trial, WhyRefused, WhyServed};
use guestright_units::{Bytes, Micros, TeamId, Time};
use rand::Rng;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;

/// How many addresses have a token, and of how many it is remembered why they were turned away. The oldest gives way.
const LEASES_MAX: usize = 1_024;
const REFUSALS_MAX: usize = 1_024;
/// What happened longer ago says nothing of a guest any more.
const REMEMBERED: Micros = Micros::from_seconds(900);
/// How many wait for one trial to begin.
const WAITING_MAX: usize = 4;

/// What is kept in mind about guests for the page.
#[derive(Debug)]
pub(in super::super) struct Guests {
    pub(in super::super) trials: Trials,
    tokens: BTreeMap<Address, (LeaseToken, Time)>,
    refused: BTreeMap<Address, Refusal>,
    waiting: BTreeMap<Address, Vec<oneshot::Sender<()>>>,
    /// Sessions that begin where a trial was: the firewall counts from nothing on for them, so the trial is closed first.
    after_trial: BTreeSet<Address>,
}

#[derive(Clone, Debug)]
struct Refusal {
    what: Standing,
    at: Time,
}

impl Guests {
    pub(in super::super) fn new(config: TrialConfig, now: Time) -> Self {
        Self {
            trials: Trials::new(config, now),
            tokens: BTreeMap::new(),
            refused: BTreeMap::new(),
            waiting: BTreeMap::new(),
            after_trial: BTreeSet::new(),
        }
    }

    /// Why somebody got nothing, for whoever asks at that address later.
    pub(in super::super) fn note_refusal(&mut self, address: Address, kind: &str, reason: &str, now: Time) {
        let refused = |why| Standing::Refused { why, chain: Vec::new() };
        let what = match kind {
            "denied" if is_used_up(reason) => refused(WhyRefused::AllowanceUsedUp),
            "denied" | "home-refused" => refused(WhyRefused::Other(reason.to_owned())),
            "certificate" => refused(WhyRefused::CertificateEnded),
            "revoked" => refused(WhyRefused::Revoked),
            "busy" => refused(WhyRefused::Busy),
            "home-away" => Standing::HomeAway,
            // It says nothing of the guest, but of a message.
            _ => return,
        };
        self.note(address, what, now);
    }

    /// How a session ended.
    pub(in super::super) fn note_end(&mut self, session: &SessionStatus, code: Code, now: Time) {
        let why = match code {
            // The list says so for as long as it is on that.
            Code::Refused if session.was_blocked => return,
            Code::Unpaid => WhyRefused::Unpaid,
            Code::Refused if session.left.is_some() => WhyRefused::AllowanceUsedUp,
            Code::Refused => WhyRefused::Other("the decision changed".to_owned()),
            Code::Certificate => WhyRefused::Revoked,
            Code::Malformed | Code::Receipt | Code::Busy | Code::NoSession | Code::Closed => return,
        };
        self.note(session.address, Standing::Refused { why, chain: Vec::new() }, now);
    }

    fn note(&mut self, address: Address, what: Standing, now: Time) {
        let address = Address { home: None, ..address };
        self.refused.insert(address, Refusal { what, at: now });
        if self.refused.len() > REFUSALS_MAX {
            let oldest = self.refused.iter().min_by_key(|(_, it)| it.at).map(|(address, _)| *address);
            oldest.map(|oldest| self.refused.remove(&oldest));
        }
    }

    /// The token of this address: whoever has another hardware address has another one.
    fn token(&mut self, address: Address, rng: &mut impl Rng, now: Time) -> LeaseToken {
        if let Some((token, seen)) = self.tokens.get_mut(&address) {
            *seen = now;
            return token.clone();
        }
        if self.tokens.len() >= LEASES_MAX {
            let oldest = self.tokens.iter().min_by_key(|(_, (_, seen))| *seen).map(|(address, _)| *address);
            oldest.map(|oldest| self.tokens.remove(&oldest));
        }
        let mut chance = [0; LeaseToken::BYTES];
        rng.fill_bytes(&mut chance);
        let token = LeaseToken::new(chance);
        self.tokens.insert(address, (token.clone(), now));
        token
    }

    pub(in super::super) fn status(&self) -> Value {
        let (running, begun, carried, left) = self.trials.figures();
        json!({ "running": running, "begun": begun, "carried": carried.0, "left_today": left.0 })
    }
}

pub(in super::super) fn handle_page(this: &mut Loop, question: Question) {
    if cfg!(not(feature = "splash")) {
        return; // Nobody can ask, and nothing is tried.
    }
    let now = this.clock.now();
    match question {
        Question::Guest(address, reply) => {
            let guest = guest(this, address, now);
            // Whoever asked may have gone.
            let _ = reply.send(guest);
        }
        Question::StartTrial(address, reply) => {
            let waiting = this.guests.waiting.entry(address).or_default();
            if waiting.len() < WAITING_MAX {
                waiting.push(reply);
            }
            let is_blocked = this.machine.is_blocked(address.mac);
            if is_blocked {
                this.note_refusal(address, "blocked", BLOCKED);
            }
            if is_blocked || this.machine.serves(address.ip) || this.stopping {
                this.guests.waiting.remove(&address);
            } else {
                this.guests.trials.start(address, now);
            }
        }
    }
}

fn guest(this: &mut Loop, address: Address, now: Time) -> Guest {
    let standing = standing(this, address, now);
    let trial = match this.guests.trials.state(address, now) {
        TrialState::Closed => Trial::Closed,
        _ if this.machine.is_blocked(address.mac) => Trial::Closed,
        // It comes out of the home's allowance.
        TrialState::Offered(_) if this.home_state != HomeState::Up => Trial::Closed,
        TrialState::Offered(bytes) => Trial::Offered(bytes),
        TrialState::Running { left, seconds_left } => Trial::Running { left, seconds_left },
        TrialState::UsedUp => Trial::UsedUp,
    };
    Guest { standing, trial, token: this.guests.token(address, &mut this.rng, now) }
}

fn standing(this: &Loop, address: Address, now: Time) -> Standing {
    if this.stopping {
        return Standing::Closed;
    }
    if this.machine.is_blocked(address.mac) {
        let why = WhyRefused::Other(BLOCKED.to_owned());
        return Standing::Refused { why, chain: Vec::new() };
    }
    let sessions = this.machine.status();
    // Of a guest with a tunnel alone there is one session for that.
    let is_its = |it: &&SessionStatus| it.address.ip == address.ip && it.address.mac == address.mac;
    if let Some(session) = sessions.iter().find(is_its) {
        let (why, chain) = why(this, session);
        return if session.open && this.passing.contains(&session.address) {
            Standing::Served { class: session.class, left: session.left, why, chain }
        } else {
            Standing::Welcome { why, chain }
        };
    }
    let refusal = this.guests.refused.get(&address).filter(|it| now - it.at < REMEMBERED);
    match refusal {
        Some(refusal) => refusal.what.clone(),
        None if this.home_state == HomeState::Lost => Standing::Undecided,
        None => Standing::Stranger,
    }
}

/// Why a session is served, and the debts that it is served on: it has proved its key.
fn why(this: &Loop, session: &SessionStatus) -> (WhyServed, Vec<Debt>) {
    let own = this.machine.team_id();
    if session.class == ServiceClass::Own || session.team == own {
        return (WhyServed::Own, Vec::new());
    }
    let Some(chain) = &session.chain else {
        let why = if session.for_everybody { WhyServed::Everybody } else { WhyServed::Allowance };
        return (why, Vec::new());
    };
    let creditors = chain.between.iter().copied().chain([session.team]);
    let debtors = [own].into_iter().chain(chain.between.iter().copied());
    let debts = debtors.zip(creditors).map(|(debtor, creditor)| debt(debtor, creditor, chain.bytes));
    (if chain.between.is_empty() { WhyServed::Owed } else { WhyServed::Chain }, debts.collect())
}

/// From now on the page says this, and so much may be tried.
pub(in super::super) fn change_page(this: &mut Loop, settings: &super::super::Settings) {
    let now = this.clock.now();
    this.guests.trials.reconfigure(settings.trial(), now);
    let (Some(page), Some(splash)) = (&this.page, &settings.splash) else { return };
    match splash.machine(page.address()) {
        Ok(machine) => page.change(machine),
        Err(error) => tracing::error!(%error, "the splash page stays as it was"),
    }
}

/// Carries out what the trials want.
pub(in super::super) fn drain_trials(this: &mut Loop) {
    if cfg!(not(feature = "splash")) {
        return; // Nobody can ask, and nothing is tried.
    }
    while let Some(event) = this.guests.trials.poll_event() {
        match event {
            TrialEvent::Ask { reference, bytes } => {
                let asked = Message::Tryq { reference, request: bytes, unused: Bytes(0) };
                if this.home_state != HomeState::Up || this.home.try_send(asked.emit()).is_err() {
                    let now = this.clock.now();
                    this.guests.trials.handle_answer(reference, Bytes(0), now);
                }
            }
            TrialEvent::Over { reference, unused } => {
                let over = Message::Tryq { reference, request: Bytes(0), unused };
                // If it gets lost, all of it counts as carried.
                let _ = this.home.try_send(over.emit());
            }
            TrialEvent::Open(Gate { address, most, .. }) => {
                this.order(Order::Open(address, ServiceClass::Lowest, most));
            }
            TrialEvent::Close(address) => this.order(Order::Close(address)),
            TrialEvent::Begun { address, runs } => {
                tracing::debug!(%address, runs, "a trial");
                if runs {
                    this.retention.trial_begins(address);
                }
                for waiting in this.guests.waiting.remove(&address).into_iter().flatten() {
                    // Whoever asked may have gone.
                    let _ = waiting.send(());
                }
            }
        }
    }
}

/// Takes in the home's answer about a trial; false if it is another message.
pub(in super::super) fn handle_trial_answer(this: &mut Loop, bytes: &[u8], now: Time) -> bool {
    if cfg!(not(feature = "splash")) || !bytes.starts_with(b"TRYR ") {
        return false;
    }
    if let Ok(Message::Tryr { reference, granted, .. }) = Message::parse(bytes) {
        this.guests.trials.handle_answer(reference, granted, now);
    }
    true
}

/// A session's packets are to pass. A trial at its address ends first, for the firewall would go on with its counts.
pub(in super::super) fn open_session(this: &mut Loop, address: Address, class: ServiceClass, most: Bytes) {
    let now = this.clock.now();
    this.guests.refused.remove(&Address { home: None, ..address });
    if this.guests.trials.is_at(address.ip) {
        this.guests.trials.end(address.ip, now);
        this.guests.after_trial.insert(address);
        drain_trials(this);
    }
    if !this.guests.after_trial.contains(&address) {
        this.order(Order::Open(address, class, most));
    } else if !this.guests.trials.is_at(address.ip) {
        this.guests.after_trial.remove(&address);
        this.order(Order::Open(address, class, most));
    }
}

/// A session that waits for the end of a trial is over before it has begun.
pub(in super::super) fn session_is_over(this: &mut Loop, address: Address) {
    this.guests.after_trial.remove(&address);
}

/// Takes in that the firewall has closed a trial; false if it was none.
pub(in super::super) fn trial_closed(this: &mut Loop, address: Address, counted: Bytes) -> bool {
    if cfg!(not(feature = "splash")) || !this.guests.trials.contains(address) {
        return false;
    }
    this.retention.trial_ends(address, counted);
    this.guests.trials.handle_closed(address, counted);
    let waiting: Vec<_> = this.guests.after_trial.iter().filter(|it| it.ip == address.ip).copied().collect();
    for address in waiting {
        this.guests.after_trial.remove(&address);
        let gate = this.machine.open().find(|gate| gate.address == address);
        let class = this.machine.status().into_iter().find(|it| it.address == address).map(|it| it.class);
        if let (Some(gate), Some(class)) = (gate, class) {
            this.order(Order::Open(address, class, gate.most));
        }
    }
    true
}

fn debt(debtor: TeamId, creditor: TeamId, left: Bytes) -> Debt {
    Debt { debtor, creditor, left }
}
