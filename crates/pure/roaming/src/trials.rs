//! Trials: bytes that an access point lets through for a station that nobody signs for (design note 0014).
//!
//! A trial is no session: there is no certificate, no key and no receipt. What it may carry is set aside by the home out of
//! what the household gives away, before the first packet passes, and the rest goes back afterwards. Hardware addresses are
//! free, so what bounds trials is not that a station has one a day, but what all of them have: a bucket here, and the share
//! of the allowance that the home lets go for them.

use crate::access_point::{Address, Gate};
use crate::message::{Reference, Volume};
use guestright_ordered::OrderedMap;
use guestright_units::{Bytes, Micros, Time};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

const DAY: Micros = Micros::from_seconds(86_400);
/// How many stations are remembered for a day. There are no more trials in a day than that.
const STATIONS_MAX: usize = 1_024;
/// How many trials run at a time.
const RUNNING_MAX: usize = 32;
/// How long the home and the firewall have: a person waits.
const BEGIN_MAX: Micros = Micros::from_seconds(3);
/// After so long the firewall is asked again to close one.
const CLOSE_AGAIN: Micros = Micros::from_seconds(1);
/// Whoever was turned away is turned away for so long.
const TURNED_AWAY: Micros = Micros::from_seconds(60);
/// A trial of less is none: a few pages.
const TRIAL_MIN: Bytes = Bytes(1_000_000);

/// What a household lets strangers try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialConfig {
    /// What one station has in a day; nothing: there are no trials.
    pub each: Bytes,
    /// What all have in a day, together.
    pub per_day: Bytes,
    /// How long one runs at most.
    pub time: Micros,
}

impl TrialConfig {
    /// No trials.
    pub const NONE: Self = Self { each: Bytes(0), per_day: Bytes(0), time: Micros(0) };
}

/// How it stands with a station's trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialState {
    /// There is none to be had.
    Closed,
    Offered(Bytes),
    Running {
        left: Bytes,
        seconds_left: u32,
    },
    UsedUp,
}

/// What the program around the machine has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialEvent {
    /// Ask the home for so much; its answer goes to [`Trials::handle_answer`].
    Ask { reference: Reference, bytes: Bytes },
    /// Let the station's packets through, then call [`Trials::handle_opened`].
    Open(Gate),
    /// Stop them, then call [`Trials::handle_closed`] with what was counted. Said again until that happens.
    Close(Address),
    /// Tell the home that the trial is over, and how much of it was not carried.
    Over { reference: Reference, unused: Bytes },
    /// What somebody waits for who has pressed the button: whether it runs now.
    Begun { address: Address, runs: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The home was asked, and has until then.
    Asked {
        until: Time,
    },
    /// The firewall was asked, and has until then.
    Opening {
        until: Time,
    },
    Open,
    /// The firewall was asked to close it, and is asked again then.
    Closing {
        again: Time,
    },
}

#[derive(Clone, Copy, Debug)]
struct Trial {
    reference: Reference,
    stage: Stage,
    granted: Bytes,
    counted: Bytes,
    end: Time,
}

/// The trials of an access point.
///
/// After every call that goes in (`start`, `handle_*`, `end*`) the program drains [`poll_event`](Self::poll_event), and calls
/// [`handle_timeout`](Self::handle_timeout) by [`poll_timeout`](Self::poll_timeout). [`gates`](Self::gates) are kept open
/// with those of sessions.
#[derive(Debug)]
pub struct Trials {
    config: TrialConfig,
    trials: OrderedMap<Address, Trial>,
    /// Until when a station has no other trial.
    stations: OrderedMap<[u8; 6], Time>,
    /// What was given and has not come back yet, and when that was.
    given: Bytes,
    filled: Time,
    last_reference: Reference,
    events: VecDeque<TrialEvent>,
    /// Since the start: how many ran, and what they carried.
    begun: u64,
    carried: Bytes,
}

impl Trials {
    pub fn new(config: TrialConfig, now: Time) -> Self {
        Self {
            config,
            trials: OrderedMap::new(),
            stations: OrderedMap::new(),
            given: Bytes(0),
            filled: now,
            last_reference: now.0,
            events: VecDeque::new(),
            begun: 0,
            carried: Bytes(0),
        }
    }

    /// From now on so much may be tried. What was given today stays given; what runs goes on.
    pub fn reconfigure(&mut self, config: TrialConfig, now: Time) {
        self.refill(now);
        self.config = config;
    }

    /// How it stands with a station.
    pub fn state(&self, address: Address, now: Time) -> TrialState {
        if let Some(trial) = self.trials.get(&address) {
            return match trial.stage {
                Stage::Open => TrialState::Running {
                    left: trial.granted.saturating_sub(trial.counted),
                    seconds_left: u32::try_from((trial.end - now).0 / 1_000_000).unwrap_or(u32::MAX),
                },
                Stage::Asked { .. } | Stage::Opening { .. } | Stage::Closing { .. } => TrialState::UsedUp,
            };
        }
        if self.config.each == Bytes(0) {
            return TrialState::Closed;
        }
        let had = self.stations.get(&address.mac).is_some_and(|until| now < *until);
        let same_ip = self.trials.keys().any(|other| other.ip == address.ip);
        if had || same_ip || self.left() < self.config.each || self.trials.len() >= RUNNING_MAX {
            return TrialState::UsedUp;
        }
        TrialState::Offered(self.config.each)
    }

    /// Somebody has pressed the button. [`TrialEvent::Begun`] says what became of it.
    pub fn start(&mut self, address: Address, now: Time) {
        self.forget(now);
        self.refill(now);
        let is_offered = matches!(self.state(address, now), TrialState::Offered(_));
        let is_room = self.stations.len() < STATIONS_MAX || self.stations.contains_key(&address.mac);
        if !is_offered || !is_room {
            // What is on its way is waited for.
            if !self.trials.get(&address).is_some_and(Trial::is_beginning) {
                self.events.push_back(TrialEvent::Begun { address, runs: false });
            }
            return;
        }
        self.last_reference += 1;
        let (reference, bytes) = (self.last_reference, self.config.each);
        // Before anything is asked: the home's answer takes time, and there are other buttons.
        self.given = self.given.saturating_add(bytes);
        self.stations.insert(address.mac, now + DAY);
        let stage = Stage::Asked { until: now + BEGIN_MAX };
        let trial =
            Trial { reference, stage, granted: bytes, counted: Bytes(0), end: now + self.config.time };
        self.trials.insert(address, trial);
        self.events.push_back(TrialEvent::Ask { reference, bytes });
    }

    /// The home has set so much aside for a trial; nothing: it does not.
    pub fn handle_answer(&mut self, reference: Reference, granted: Bytes, now: Time) {
        let asked =
            |trial: &&mut Trial| trial.reference == reference && matches!(trial.stage, Stage::Asked { .. });
        let found = self.trials.iter_mut().find(|(_, trial)| asked(trial));
        let Some((&address, trial)) = found else {
            // Too late, or nobody's.
            if granted > Bytes(0) {
                self.events.push_back(TrialEvent::Over { reference, unused: granted });
            }
            return;
        };
        let wanted = trial.granted;
        let granted = granted.min(wanted);
        if granted < TRIAL_MIN.min(wanted) {
            self.turn_away(address, now);
            if granted > Bytes(0) {
                self.events.push_back(TrialEvent::Over { reference, unused: granted });
            }
            return;
        }
        (trial.granted, trial.stage) = (granted, Stage::Opening { until: now + BEGIN_MAX });
        trial.end = now + self.config.time;
        let gate = trial.gate(address);
        self.put_back(wanted.saturating_sub(granted));
        self.events.push_back(TrialEvent::Open(gate));
    }

    /// The station's packets pass.
    pub fn handle_opened(&mut self, address: Address) {
        let Some(trial) = self.trials.get_mut(&address) else { return };
        if matches!(trial.stage, Stage::Opening { .. }) {
            trial.stage = Stage::Open;
            self.begun += 1;
            self.events.push_back(TrialEvent::Begun { address, runs: true });
        }
    }

    /// What was counted for it so far, both ways.
    pub fn handle_traffic(&mut self, address: Address, counted: Bytes, now: Time) {
        let Some(trial) = self.trials.get_mut(&address) else { return };
        trial.counted = trial.counted.max(counted);
        if trial.stage == Stage::Open && trial.left_is_nothing() {
            self.close(address, now);
        }
    }

    /// It was closed, and so much was counted.
    pub fn handle_closed(&mut self, address: Address, counted: Bytes) {
        let Some(trial) = self.trials.remove(&address) else { return };
        let carried = trial.counted.max(counted);
        let unused = trial.granted.saturating_sub(carried);
        self.carried = self.carried.saturating_add(carried);
        self.put_back(unused);
        self.events.push_back(TrialEvent::Over { reference: trial.reference, unused });
    }

    /// A session begins at this address, or everything ends: the trial is over.
    pub fn end(&mut self, ip: Ipv4Addr, now: Time) {
        let here: Vec<_> = self.trials.keys().filter(|address| address.ip == ip).copied().collect();
        here.into_iter().for_each(|address| self.give_up(address, now));
    }

    /// The household does not serve this station: what it tries is over. Says whether there was anything.
    pub fn end_station(&mut self, station: [u8; 6], now: Time) -> bool {
        let here: Vec<_> = self.trials.keys().filter(|address| address.mac == station).copied().collect();
        here.iter().for_each(|address| self.give_up(*address, now));
        !here.is_empty()
    }

    pub fn end_all(&mut self, now: Time) {
        self.config = TrialConfig::NONE;
        let all: Vec<_> = self.trials.keys().copied().collect();
        all.into_iter().for_each(|address| self.give_up(address, now));
    }

    pub fn handle_timeout(&mut self, now: Time) {
        let due = |trial: &Trial| trial.due() <= now;
        let all: Vec<_> =
            self.trials.iter().filter(|(_, trial)| due(trial)).map(|(address, _)| *address).collect();
        all.into_iter().for_each(|address| self.give_up(address, now));
        self.forget(now);
        self.refill(now);
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        self.trials.values().map(Trial::due).min()
    }

    pub fn poll_event(&mut self) -> Option<TrialEvent> {
        self.events.pop_front()
    }

    /// Whether the packets of this address pass, or soon do, by a trial.
    pub fn contains(&self, address: Address) -> bool {
        self.trials.get(&address).is_some_and(|trial| !matches!(trial.stage, Stage::Asked { .. }))
    }

    /// Whether a station at this address has one.
    pub fn is_at(&self, ip: Ipv4Addr) -> bool {
        self.trials.keys().any(|address| address.ip == ip)
    }

    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// What the firewall keeps open.
    pub fn gates(&self) -> impl Iterator<Item = Gate> + '_ {
        let open = self.trials.iter().filter(|(_, trial)| trial.stage == Stage::Open);
        open.map(|(address, trial)| trial.gate(*address))
    }

    /// How many run, how many ran since the start, what those carried that are over, and what may still be given today.
    pub fn figures(&self) -> (usize, u64, Bytes, Bytes) {
        (self.trials.len(), self.begun, self.carried, self.left())
    }

    fn left(&self) -> Bytes {
        self.config.per_day.saturating_sub(self.given)
    }

    fn give_up(&mut self, address: Address, now: Time) {
        let Some(trial) = self.trials.get(&address) else { return };
        match trial.stage {
            // An answer that comes later is given back.
            Stage::Asked { .. } => self.turn_away(address, now),
            Stage::Opening { .. } => {
                self.events.push_back(TrialEvent::Begun { address, runs: false });
                self.close(address, now);
            }
            Stage::Open | Stage::Closing { .. } => self.close(address, now),
        }
    }

    fn close(&mut self, address: Address, now: Time) {
        let Some(trial) = self.trials.get_mut(&address) else { return };
        trial.stage = Stage::Closing { again: now + CLOSE_AGAIN };
        self.events.push_back(TrialEvent::Close(address));
    }

    /// Nothing was opened, and nothing given.
    fn turn_away(&mut self, address: Address, now: Time) {
        let Some(trial) = self.trials.remove(&address) else { return };
        self.put_back(trial.granted);
        self.stations.insert(address.mac, now + TURNED_AWAY);
        self.events.push_back(TrialEvent::Begun { address, runs: false });
    }

    fn put_back(&mut self, unused: Bytes) {
        self.given = self.given.saturating_sub(unused);
    }

    fn forget(&mut self, now: Time) {
        self.stations.retain(|_, until| now < *until);
    }

    /// What was given comes back within a day. Time that goes back brings nothing.
    fn refill(&mut self, now: Time) {
        let per_day = self.config.per_day.0;
        let passed = now.since(self.filled).min(DAY);
        let back = u128::from(per_day) * u128::from(passed.0) / u128::from(DAY.0);
        let back = u64::try_from(back).unwrap_or(u64::MAX);
        // Whole bytes only: the rest of the time counts for the next.
        if back > 0 || self.given == Bytes(0) {
            self.filled = now;
            self.put_back(Bytes(back));
        }
    }
}

impl Trial {
    /// It may pass in one window: there is nobody who would sign for a part of it.
    fn gate(&self, address: Address) -> Gate {
        Gate { address, most: self.granted, window: self.granted }
    }

    fn is_beginning(&self) -> bool {
        matches!(self.stage, Stage::Asked { .. } | Stage::Opening { .. })
    }

    /// What is left may be too little for a packet.
    fn left_is_nothing(&self) -> bool {
        self.granted.saturating_sub(self.counted) < Volume::MIN
    }

    fn due(&self) -> Time {
        match self.stage {
            Stage::Asked { until } | Stage::Opening { until } => until,
            Stage::Open => self.end,
            Stage::Closing { again } => again,
        }
    }
}

#[cfg(test)]
mod tests;
