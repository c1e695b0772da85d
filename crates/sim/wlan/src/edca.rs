//! 802.11n, ac and ax in virtual time: stations with four categories of traffic (EDCA), aggregates and block ACK, at distances.
//!
//! - In: a [`Config`], and packets with their category ([`Edca::enqueue`]).
//! - Out: what became of each packet ([`Output`], exactly one for each that was accepted) and counters ([`CategoryStats`]).
//! - Each station hears what is loud enough where it is ([`Air`]): stations may be hidden from each other. A frame is received by who
//!   began to receive it, each MPDU of it as often as its ratio of signal to noise and other frames lets it ([`Air::mpdu_chance`]).
//! - Backoffs are exact to the slot, as in [`crate::Wlan`]; a simulation takes an event for each access, not for each slot.
//!
//! Propagation takes no time, so that who sends in the same nanosecond collides. [`crate::Wlan`] remains the model of 802.11a, b
//! and g.
//!
//! Clauses are those of IEEE 802.11-2020.

mod access;
mod air;
mod config;
mod exchange;
mod flow;
mod queue;

pub use air::Air;
pub use config::{Aggregation, Config, ConfigError, RateChoice, Station, WINDOW_MAX};

use crate::config::StationId;
use crate::output::{Msdu, Output};
use air::Signals;
use config::Times;
use exchange::{Exchange, OnAir, Response};
use flow::Flow;
use guestright_airtime::{AccessCategory, Minstrel};
use guestright_engine::{Agenda, Instant, Nanos, Stream, Streams};
use queue::Category;
use std::collections::{BTreeMap, VecDeque};

/// An event of an [`Edca`]: give it back to [`Edca::handle`] when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event(pub(crate) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A backoff of the station is over, if its plan is still this one.
    Access { node: u16, epoch: u32 },
    /// A frame ends.
    Ended { frame: u32 },
    /// SIFS has passed since the frame that is answered or followed.
    Respond { node: u16, response: Response },
    /// The station that has won goes on with data, if its exchange is still this one.
    GoOn { node: u16, epoch: u32 },
    /// No answer has begun.
    Timeout { node: u16, epoch: u32 },
    /// What was reserved is over.
    ReservationEnded { node: u16 },
    /// Nothing has followed an RTS: what it reserved is void (10.3.2.4).
    ReservationVoid { node: u16, since: u64 },
}

/// What one category of a station has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CategoryStats {
    /// MSDUs that were put into the queue.
    pub accepted: u64,
    /// MSDUs for which the queue had no room.
    pub queue_full: u64,
    /// MSDUs of this sender that their receivers have got.
    pub delivered: u64,
    /// Bytes of their IP packets.
    pub delivered_bytes: u64,
    /// MSDUs given up at the retry limit that the receiver has not got.
    pub retry_limit: u64,
    /// Times that it won access to the medium, or shared it.
    pub accesses: u64,
    /// Times that a more urgent category of the same station won in the same slot.
    pub internal_collisions: u64,
    /// Frames that nothing answered: data or RTS.
    pub unanswered: u64,
    /// PPDUs with data, and the MPDUs in them.
    pub ppdus: u64,
    pub mpdus: u64,
    /// MPDUs that did not arrive.
    pub mpdus_lost: u64,
}

/// A station as the machine sees it.
#[derive(Debug)]
struct Node {
    categories: [Category; 4],
    /// Frames of others that it hears now.
    sensed: u32,
    /// When it last began to hear one; ns.
    sensed_at: u64,
    is_sending: bool,
    /// Until when the medium is reserved for others (NAV); ns.
    reserved_until: u64,
    /// Whether it sees the medium idle, and no exchange of its own goes on.
    is_idle: bool,
    /// What it waits for longer than AIFS when the medium is idle again, because it could not read the last frame; ns.
    eifs: u64,
    /// The frame that it receives.
    locked: Option<u32>,
    /// When its next access is planned, and the number of that plan.
    planned: u64,
    epoch: u32,
    exchange: Option<Exchange>,
}

/// Stations that share a channel by EDCA.
///
/// A machine in virtual time. In: [`Edca::enqueue`], and [`Edca::handle`] for each event it has put on the agenda. Out:
/// [`Edca::poll_output`], to be drained after each call. The same configuration, streams and calls give the same outputs at the
/// same times.
#[derive(Debug)]
pub struct Edca {
    config: Config,
    times: Times,
    signals: Signals,
    nodes: Vec<Node>,
    on_air: Vec<OnAir>,
    next_frame: u32,
    next_exchange: u32,
    /// By sender, category and receiver.
    flows: BTreeMap<(u16, usize, u16), Flow>,
    /// By sender and receiver.
    rates: BTreeMap<(u16, u16), Minstrel>,
    outputs: VecDeque<Output>,
    errors: Stream,
    samples: Stream,
    busy: Nanos,
    busy_since: u64,
}

impl Edca {
    /// Stations that have sent nothing yet, on an idle channel.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration.
    pub fn new(config: &Config, streams: &Streams) -> Result<Self, ConfigError> {
        config.check()?;
        let times = Times::new(config);
        let nodes = (0..).zip(&config.stations).map(|(number, station)| {
            let access = if station.is_access_point { &config.access_point } else { &config.access };
            let category = |index: usize| {
                let backoffs = streams.stream("802.11 EDCA backoff", number * 4 + index as u64);
                Category::new(
                    access[index],
                    times.sifs + u64::from(access[index].aifsn) * times.slot,
                    backoffs,
                )
            };
            Node::new([0, 1, 2, 3].map(category))
        });
        Ok(Self {
            times,
            signals: Signals::new(config),
            nodes: nodes.collect(),
            on_air: Vec::new(),
            next_frame: 0,
            next_exchange: 0,
            flows: BTreeMap::new(),
            rates: BTreeMap::new(),
            outputs: VecDeque::new(),
            errors: streams.stream("802.11 EDCA errors", 0),
            samples: streams.stream("802.11 EDCA samples", 0),
            busy: Nanos(0),
            busy_since: 0,
            config: config.clone(),
        })
    }

    /// Gives `station` a packet of `category` to send. `false`: its queue is full, and the packet stays the caller's.
    ///
    /// # Panics
    ///
    /// If there is no such station or receiver, if they are the same, or if the MSDU would be longer than
    /// [`crate::MSDU_BYTES_MAX`].
    pub fn enqueue(
        &mut self,
        station: StationId,
        category: AccessCategory,
        msdu: Msdu,
        agenda: &mut impl Agenda<Event>,
    ) -> bool {
        assert!(
            msdu.bytes + config::SNAP_BYTES <= crate::MSDU_BYTES_MAX,
            "an MSDU of {} bytes is too long: the network above has to divide it",
            msdu.bytes
        );
        assert!(
            msdu.to.index() < self.nodes.len() && msdu.to != station,
            "{station:?} cannot send to {:?} over the air",
            msdu.to
        );
        let queue_max = self.config.stations[station.index()].queue_max;
        let mpdu_bytes = msdu.bytes + self.config.overhead_bytes;
        let node = &mut self.nodes[station.index()];
        if !node.categories[category.index()].push(msdu, mpdu_bytes, queue_max, agenda.now()) {
            return false;
        }
        self.request(station.0, category.index(), agenda);
        true
    }

    /// Handles an event that is due now.
    pub fn handle(&mut self, event: Event, agenda: &mut impl Agenda<Event>) {
        match event.0 {
            Kind::Access { node, epoch } => {
                if self.nodes[usize::from(node)].epoch == epoch {
                    self.access(node, agenda);
                }
            }
            Kind::Ended { frame } => self.ended(frame, agenda),
            Kind::Respond { node, response } => self.respond(node, response, agenda),
            Kind::GoOn { node, epoch } => self.go_on(node, epoch, agenda),
            Kind::Timeout { node, epoch } => self.timeout(node, epoch, agenda),
            Kind::ReservationEnded { node } => self.update(node, agenda),
            Kind::ReservationVoid { node, since } => {
                let (now, it) = (agenda.now().0, &mut self.nodes[usize::from(node)]);
                if it.sensed_at <= since && it.sensed == 0 {
                    it.reserved_until = it.reserved_until.min(now);
                }
                self.update(node, agenda);
            }
        }
    }

    /// What became of an MSDU, in the order in which it happened; MSDUs of one sender, category and receiver come in theirs.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// What a category of a station has done.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    #[must_use]
    pub fn stats(&self, station: StationId, category: AccessCategory) -> &CategoryStats {
        &self.nodes[station.index()].categories[category.index()].stats
    }

    /// MSDUs in a queue, those on the air with them.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    #[must_use]
    pub fn queued(&self, station: StationId, category: AccessCategory) -> usize {
        self.nodes[station.index()].categories[category.index()].queued()
    }

    /// How long anything was on the air until `now`.
    #[must_use]
    pub fn busy(&self, now: Instant) -> Nanos {
        let current = if self.on_air.is_empty() { 0 } else { now.0 - self.busy_since };
        Nanos(self.busy.0 + current)
    }

    /// The mode in which `from` would send to `to` if it tried none.
    #[must_use]
    pub fn mode(&self, from: StationId, to: StationId) -> guestright_airtime::Mode {
        match (self.config.stations[from.index()].rate, self.rates.get(&(from.0, to.0))) {
            (RateChoice::Fixed(mode), _) => mode,
            (RateChoice::Adaptive(_), Some(minstrel)) => minstrel.best(),
            (RateChoice::Standard | RateChoice::Adaptive(_), _) => self.config.phy.mode,
        }
    }
}
