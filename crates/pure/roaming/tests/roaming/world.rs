//! Households with an access point, a team server and a store; visitors; a bad link between them; virtual time.

use crate::homes::{Connection, DistantHome, TunnelGuest};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Bundle, Receipt, Registers};
use guestright_reciprocity::StrangerCounters;
use guestright_roaming::Ledger;
use guestright_roaming::access_point::{self, AccessPoint, Address, CONTACT, Path, Transmit};
use guestright_roaming::home::{self, StoreReport, TeamServer, Token};
use guestright_roaming::message::Message;
use guestright_roaming::visitor::{self, Visitor};
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// When every run starts.
pub(crate) const START: Time = UnixSeconds(1_800_000_000).time();
/// How often the firewall's counters are read.
pub(crate) const TICK: Micros = Micros::from_millis(250);
/// The access point is this peer of its team server.
pub(crate) const AP: home::Peer = 1;
/// A member is this peer of its team server.
pub(crate) const MEMBER: home::Peer = 2;

/// The link between visitors and access points.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) loss: f64,
    pub(crate) duplicates: f64,
    pub(crate) delay_max: Micros,
}

impl Link {
    pub(crate) const GOOD: Self = Self { loss: 0.0, duplicates: 0.0, delay_max: Micros::from_millis(10) };
    /// Delays of up to 200 ms that differ from message to message also reorder.
    pub(crate) const fn bad(loss: f64) -> Self {
        Self { loss, duplicates: 0.2, delay_max: Micros::from_millis(200) }
    }
}

pub(crate) struct Household {
    pub(crate) team: SecretKey,
    pub(crate) key: SecretKey,
    pub(crate) certificate: Certificate,
    pub(crate) ap: AccessPoint,
    pub(crate) home: TeamServer,
    pub(crate) home_up: bool,
    pub(crate) store: Registers,
    pub(crate) certificates: BTreeMap<Vec<u8>, Certificate>,
    pub(crate) store_fails: bool,
    pub(crate) firewall: BTreeMap<Address, Bytes>,
    pub(crate) firewall_answers: bool,
    pub(crate) events: Vec<(Time, access_point::Event)>,
    pub(crate) home_events: Vec<home::Event>,
    pub(crate) to_members: Vec<Message>,
    waiting: BTreeMap<Token, Vec<(Receipt, Certificate)>>,
}

pub(crate) struct Guest {
    pub(crate) visitor: Visitor,
    pub(crate) ledger: Ledger,
    pub(crate) address: Address,
    pub(crate) house: usize,
    pub(crate) carried: Bytes,
    pub(crate) meter_permille: u64,
    pub(crate) bytes_per_tick: u64,
    /// No part of so many bytes passes.
    pub(crate) packet: u64,
    pub(crate) silent_from: Option<Time>,
    pub(crate) events: Vec<visitor::Event>,
    pub(crate) sent: Vec<Vec<u8>>,
}

pub(crate) enum Delivery {
    /// Accounts and holds are durable.
    Kept {
        house: usize,
        token: u64,
    },
    /// A frame about a hold, of one home to another.
    BetweenHomes {
        house: usize,
        from: TeamId,
        frame: Vec<u8>,
    },
    Connection(Connection),
    AccessPoint {
        house: usize,
        address: Address,
        path: Path,
        bytes: Vec<u8>,
    },
    Visitor {
        guest: usize,
        bytes: Vec<u8>,
    },
    ToHome {
        house: usize,
        bytes: Vec<u8>,
    },
    FromHome {
        house: usize,
        bytes: Vec<u8>,
    },
    Stored {
        house: usize,
        token: Token,
    },
    Stopped {
        house: usize,
        address: Address,
    },
    Leave {
        guest: usize,
    },
    Tick,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) rng: StdRng,
    pub(crate) link: Link,
    pub(crate) houses: Vec<Household>,
    pub(crate) guests: Vec<Guest>,
    pub(crate) homes: Vec<DistantHome>,
    pub(crate) tunnels: Vec<TunnelGuest>,
    pub(crate) trace: Vec<String>,
    queue: BTreeMap<(Time, u64), Delivery>,
    number: u64,
}

pub(crate) fn address(number: usize) -> Address {
    let [.., a, b, c] = number.to_be_bytes();
    Address::new([2, 0, 0, a, b, c], Ipv4Addr::new(10, a, b, c))
}

impl World {
    pub(crate) fn new(seed: u64, houses: usize, link: Link) -> Self {
        Self::with(seed, houses, link, &access_point::Config::default(), &home::Config::default())
    }

    pub(crate) fn with(
        seed: u64,
        houses: usize,
        link: Link,
        ap: &access_point::Config,
        home: &home::Config,
    ) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let houses = (0..houses).map(|_| Household::new(ap.clone(), home.clone(), &mut rng)).collect();
        let mut world = Self {
            now: START,
            rng,
            link,
            houses,
            guests: Vec::new(),
            homes: Vec::new(),
            tunnels: Vec::new(),
            trace: Vec::new(),
            queue: BTreeMap::new(),
            number: 0,
        };
        world.schedule(TICK, Delivery::Tick);
        world
    }

    /// All homes have links to each other.
    pub(crate) fn link_all(&mut self) {
        let teams: Vec<_> = self.houses.iter().map(Household::id).collect();
        for house in &mut self.houses {
            let own = house.id();
            for team in teams.iter().filter(|team| **team != own) {
                house.home.handle_neighbour(*team, home::Neighbour::Up, &mut self.rng, self.now);
            }
        }
        self.drain();
    }

    /// A member of `consumer` took so much from `provider` an hour ago, and both homes know. The receipt, to be shown.
    pub(crate) fn took(&mut self, consumer: usize, provider: usize, bytes: u64) -> Bundle {
        let provider_id = self.houses[provider].id();
        let bundle = self.houses[consumer].owes(provider_id, bytes, &mut self.rng);
        let certificate = Certificate::parse(&bundle.certificates[0]).unwrap();
        let receipt = Receipt::from_kept(&bundle.receipts[0], &certificate).unwrap();
        for house in [consumer, provider] {
            let home = &mut self.houses[house].home;
            home.handle_first_hand(&receipt, &certificate, &mut self.rng, self.now);
            self.drain_house(house);
        }
        bundle
    }

    /// A member of `team` comes to `house` and asks at once.
    pub(crate) fn visit(&mut self, team: usize, house: usize, bundle: Bundle) -> usize {
        let (key, certificate) = self.houses[team].member(&mut self.rng);
        self.visit_as(key, certificate, house, bundle)
    }

    pub(crate) fn visit_as(
        &mut self,
        key: SecretKey,
        certificate: Certificate,
        house: usize,
        bundle: Bundle,
    ) -> usize {
        self.visit_from(address(self.guests.len() + 1), (key, certificate), house, bundle)
    }

    pub(crate) fn visit_from(
        &mut self,
        address: Address,
        (key, certificate): (SecretKey, Certificate),
        house: usize,
        bundle: Bundle,
    ) -> usize {
        let config = visitor::Config::default();
        let visitor = Visitor::new(config, key, certificate, bundle, None, &mut self.rng, self.now);
        let guest = self.guests.len();
        self.guests.push(Guest {
            visitor,
            ledger: Ledger::default(),
            address,
            house,
            carried: Bytes(0),
            meter_permille: 1_000,
            bytes_per_tick: 100_000,
            packet: 1,
            silent_from: None,
            events: Vec::new(),
            sent: Vec::new(),
        });
        self.drain();
        guest
    }

    pub(crate) fn leave_at(&mut self, guest: usize, at: Time) {
        self.schedule(at - self.now, Delivery::Leave { guest });
    }

    pub(crate) fn show(&mut self, guest: usize, bundle: Bundle) {
        self.guests[guest].visitor.show(bundle, &mut self.rng, self.now);
        self.drain();
    }

    /// Bytes from anybody on the link, without loss.
    pub(crate) fn inject(&mut self, house: usize, address: Address, path: Path, bytes: &[u8]) {
        self.houses[house].ap.handle_visitor(address, path, bytes, self.now);
        self.drain();
    }

    pub(crate) fn inject_visitor(&mut self, guest: usize, bytes: &[u8]) {
        self.guests[guest].visitor.handle_input(bytes, self.now);
        self.drain();
    }

    pub(crate) fn run_for(&mut self, span: Micros) {
        let until = self.now + span;
        let mut turns = 0;
        while let Some(next) = self.next().filter(|next| *next <= until) {
            turns = if next > self.now { 0 } else { turns + 1 };
            assert!(turns < 20_000, "a machine asks again and again for {next:?}");
            self.now = self.now.max(next);
            self.step();
        }
        self.now = until;
    }

    /// Forgets who was there and what happened, once all have gone.
    pub(crate) fn forget(&mut self) {
        self.queue.retain(|_, delivery| matches!(delivery, Delivery::Tick));
        self.guests.clear();
        self.trace.clear();
        for house in &mut self.houses {
            house.events.clear();
            house.home_events.clear();
        }
    }

    fn next(&self) -> Option<Time> {
        let queued = self.queue.keys().next().map(|(at, _)| *at);
        let houses = self.houses.iter().filter_map(|house| house.ap.poll_timeout());
        let guests = self.guests.iter().filter_map(|guest| guest.visitor.poll_timeout());
        let homes = self.homes.iter().filter_map(|home| home.delegate.poll_timeout());
        let servers = self.houses.iter().filter_map(|house| house.home.poll_timeout());
        houses.chain(servers).chain(guests).chain(homes).chain(queued).min()
    }

    fn step(&mut self) {
        let due = self.queue.first_entry().filter(|entry| entry.key().0 <= self.now);
        if let Some(entry) = due {
            let delivery = entry.remove();
            self.deliver(delivery);
            return self.drain();
        }
        for house in &mut self.houses {
            if house.ap.poll_timeout().is_some_and(|at| at <= self.now) {
                house.ap.handle_timeout(self.now);
            }
            if house.home.poll_timeout().is_some_and(|at| at <= self.now) {
                house.home.handle_timeout(&mut self.rng, self.now);
            }
        }
        for guest in &mut self.guests {
            if guest.visitor.poll_timeout().is_some_and(|at| at <= self.now) {
                guest.visitor.handle_timeout(self.now);
            }
        }
        for home in &mut self.homes {
            if home.delegate.poll_timeout().is_some_and(|at| at <= self.now) {
                home.delegate.handle_timeout(self.now);
            }
        }
        self.drain();
    }

    fn deliver(&mut self, delivery: Delivery) {
        let now = self.now;
        match delivery {
            Delivery::AccessPoint { house, address, path, bytes } => {
                self.houses[house].ap.handle_visitor(address, path, &bytes, now);
            }
            Delivery::Visitor { guest, bytes } => self.guests[guest].visitor.handle_input(&bytes, now),
            Delivery::ToHome { house, bytes } if self.houses[house].home_up => {
                self.houses[house].home.handle_input(AP, &bytes, &mut self.rng, now);
            }
            Delivery::FromHome { house, bytes } if self.houses[house].home_up => {
                self.houses[house].ap.handle_home(&bytes, now);
            }
            Delivery::ToHome { .. } | Delivery::FromHome { .. } => {}
            Delivery::Stored { house, token } => self.houses[house].store(token, &mut self.rng, now),
            Delivery::BetweenHomes { house, from, frame } => {
                let home = &mut self.houses[house].home;
                home.handle_home_message(from, &frame, &mut self.rng, now);
                self.drain_house(house);
            }
            Delivery::Kept { house, token } => {
                let home = &mut self.houses[house].home;
                home.handle_kept(token, &mut self.rng, now);
                self.drain_house(house);
            }
            Delivery::Stopped { house, address } => {
                let counted = self.houses[house].firewall.remove(&address).unwrap_or_default();
                self.houses[house].ap.handle_closed(address, counted, now);
            }
            Delivery::Leave { guest } => self.guests[guest].visitor.leave(now),
            Delivery::Connection(connection) => self.deliver_connection(connection),
            Delivery::Tick => self.tick(),
        }
    }

    /// Traffic of a quarter of a second passes where it is let through, and the counters are read.
    fn tick(&mut self) {
        for guest in &mut self.guests {
            let house = &mut self.houses[guest.house];
            let limit = house.limit(guest.address);
            if let Some(counter) = house.firewall.get_mut(&guest.address) {
                let room = Bytes(guest.bytes_per_tick).min(limit.saturating_sub(*counter));
                let bytes = room.saturating_sub(Bytes(room.0 % guest.packet));
                *counter = counter.saturating_add(bytes);
                guest.carried = guest.carried.saturating_add(bytes);
                let counted = *counter;
                house.ap.handle_traffic(guest.address, counted, self.now);
            }
        }
        self.tick_tunnels();
        self.schedule(TICK, Delivery::Tick);
    }

    pub(crate) fn schedule(&mut self, after: Micros, delivery: Delivery) {
        self.number += 1;
        self.queue.insert((self.now + after, self.number), delivery);
    }

    /// Puts a message on the bad link: once, twice or not at all, sooner or later.
    fn schedule_on_link(&mut self, make: impl Fn() -> Delivery) {
        let copies = if self.rng.random_bool(self.link.duplicates) { 2 } else { 1 };
        for _ in 0..copies {
            let delay = Micros(self.rng.random_range(1_000..=self.link.delay_max.0));
            if !self.rng.random_bool(self.link.loss) {
                self.schedule(delay, make());
            }
        }
    }

    /// Carries out what the machines want. Whoever calls a machine by hand calls this next.
    pub(crate) fn drain(&mut self) {
        for index in 0..self.houses.len() {
            self.drain_house(index);
        }
        for index in 0..self.guests.len() {
            self.drain_guest(index);
        }
        for index in 0..self.homes.len() {
            self.drain_distant_home(index);
        }
    }

    fn drain_house(&mut self, house: usize) {
        let now = self.now;
        while let Some(transmit) = self.houses[house].ap.poll_transmit() {
            match transmit {
                Transmit::Home(bytes) => {
                    self.schedule(Micros::from_millis(15), Delivery::ToHome { house, bytes })
                }
                Transmit::Visitor(path, bytes) if path & CONTACT != 0 => {
                    self.send_to_home(house, path, bytes)
                }
                Transmit::Visitor(path, bytes) => {
                    let guest = usize::try_from(path).unwrap_or(usize::MAX);
                    if guest < self.guests.len() {
                        self.schedule_on_link(|| Delivery::Visitor { guest, bytes: bytes.clone() });
                    }
                }
            }
        }
        while let Some((peer, bytes)) = self.houses[house].home.poll_transmit() {
            if peer == AP {
                self.schedule(Micros::from_millis(15), Delivery::FromHome { house, bytes });
            } else {
                self.houses[house].to_members.push(Message::parse(&bytes).unwrap());
            }
        }
        while let Some(event) = self.houses[house].ap.poll_event() {
            self.trace.push(format!("{now:?} access point {house}: {event:?}"));
            match &event {
                access_point::Event::Opened { address, .. } => {
                    self.houses[house].firewall.insert(*address, Bytes(0));
                }
                access_point::Event::Closing { address, .. } if self.houses[house].firewall_answers => {
                    self.schedule(Micros::from_millis(20), Delivery::Stopped { house, address: *address });
                }
                access_point::Event::Connect { path, home } => self.connect_home(house, *path, *home),
                access_point::Event::Disconnect(path) => self.hang_up(house, *path),
                _ => {}
            }
            self.houses[house].events.push((now, event));
        }
        self.drain_home_events(house);
    }

    fn drain_home_events(&mut self, house: usize) {
        let now = self.now;
        while let Some(event) = self.houses[house].home.poll_event() {
            self.trace.push(format!("{now:?} home {house}: {event:?}"));
            self.houses[house].home_events.push(event.clone());
            match event {
                home::Event::Store { token, receipts } => {
                    self.houses[house].waiting.insert(token, receipts);
                    self.schedule(Micros::from_millis(30), Delivery::Stored { house, token });
                }
                home::Event::Fetch { token, since, max } => {
                    let found = self.houses[house].find(since, max);
                    self.houses[house].home.handle_fetched(token, found);
                    self.drain_house(house);
                }
                home::Event::Keep(write) => {
                    self.schedule(Micros::from_millis(30), Delivery::Kept { house, token: write.token });
                }
                home::Event::SendHome(team, message) => {
                    let from = self.houses[house].id();
                    if let Some(to) = self.houses.iter().position(|other| other.id() == team) {
                        let frame = guestright_credit::frame(&message);
                        let delivery = Delivery::BetweenHomes { house: to, from, frame };
                        self.schedule(Micros::from_millis(50), delivery);
                    }
                }
                home::Event::HomeLearned(..)
                | home::Event::AskHome(..)
                | home::Event::Reserved { .. }
                | home::Event::Renewed { .. }
                | home::Event::Answered { .. }
                | home::Event::Acted { .. }
                | home::Event::Begun { .. }
                | home::Event::Finished { .. }
                | home::Event::Revoked(_)
                | home::Event::Decided { .. }
                | home::Event::Refused { .. } => {}
            }
        }
    }

    fn drain_guest(&mut self, index: usize) {
        loop {
            let guest = &mut self.guests[index];
            if let Some(event) = guest.visitor.poll_event() {
                self.trace.push(format!("{:?} visitor {index}: {event:?}", self.now));
                if event == visitor::Event::MeterNeeded {
                    let counted = Bytes(guest.carried.0 * guest.meter_permille / 1_000);
                    guest.visitor.handle_meter(counted, &mut guest.ledger, self.now);
                }
                guest.events.push(event);
            } else if let Some(bytes) = guest.visitor.poll_transmit() {
                guest.sent.push(bytes.clone());
                let silent = guest.silent_from.is_some_and(|from| self.now >= from);
                let (house, address) = (guest.house, guest.address);
                let path = Path::try_from(index).unwrap();
                if !silent {
                    let make = || Delivery::AccessPoint { house, address, path, bytes: bytes.clone() };
                    self.schedule_on_link(make);
                }
            } else {
                return;
            }
        }
    }
}

impl Household {
    /// How much the firewall lets through of this visitor, from its opening on.
    pub(crate) fn limit(&self, address: Address) -> Bytes {
        let mut open = self.ap.open();
        open.find(|gate| gate.address == address).map_or(Bytes(0), |gate| gate.most)
    }

    fn new(ap: access_point::Config, home: home::Config, rng: &mut StdRng) -> Self {
        let team = SecretKey::generate(Suite::Ed25519, rng);
        let key = SecretKey::generate(Suite::Ed25519, rng);
        let certificate = certify(&team, &key, Role::AccessPoint);
        let id = team.public().team_id();
        let mut home = TeamServer::new(home, id, [], vec![], StrangerCounters::default(), START);
        home.handle_connected(AP, certificate.clone(), START).unwrap();
        Self {
            ap: AccessPoint::new(
                ap,
                SecretKey::from_bytes(Suite::Ed25519, &key.to_bytes()).unwrap(),
                certificate.clone(),
            ),
            team,
            key,
            certificate,
            home,
            home_up: true,
            store: Registers::default(),
            certificates: BTreeMap::new(),
            store_fails: false,
            firewall: BTreeMap::new(),
            firewall_answers: true,
            events: Vec::new(),
            home_events: Vec::new(),
            to_members: Vec::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Its access point was killed, and starts with nothing but its key.
    pub(crate) fn restart(&mut self, config: access_point::Config) {
        let key = SecretKey::from_bytes(Suite::Ed25519, &self.key.to_bytes()).unwrap();
        self.ap = AccessPoint::new(config, key, self.certificate.clone());
        self.firewall.clear();
    }

    pub(crate) fn id(&self) -> TeamId {
        self.team.public().team_id()
    }

    pub(crate) fn member(&self, rng: &mut StdRng) -> (SecretKey, Certificate) {
        let key = SecretKey::generate(Suite::Ed25519, rng);
        let certificate = certify(&self.team, &key, Role::Member);
        (key, certificate)
    }

    /// A member of this household says that it took `weight` from `provider` an hour ago.
    pub(crate) fn owes(&self, provider: TeamId, weight: u64, rng: &mut StdRng) -> Bundle {
        let (key, certificate) = self.member(rng);
        let receipt = Receipt::sign(&key, &certificate, provider, started(), Bytes(weight));
        Bundle {
            certificates: vec![certificate.as_bytes().to_vec()],
            receipts: vec![receipt.as_bytes().to_vec()],
            revocations: vec![],
        }
    }

    pub(crate) fn send(&mut self, peer: home::Peer, message: &Message, rng: &mut StdRng, now: Time) {
        self.home.handle_input(peer, &message.emit(), rng, now);
    }

    fn store(&mut self, token: Token, rng: &mut StdRng, now: Time) {
        let receipts = self.waiting.remove(&token).unwrap_or_default();
        if self.store_fails {
            return self.home.handle_store_failed(token, "the disk is full");
        }
        let mut report = StoreReport::default();
        for (receipt, certificate) in receipts {
            self.certificates.insert(receipt.certificate().0.to_vec(), certificate);
            report.admit(&mut self.store, receipt);
        }
        self.home.handle_stored(token, &report, rng, now);
    }

    fn find(&self, since: UnixSeconds, max: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let own = self.id();
        let shown =
            self.store.iter().filter(|receipt| receipt.provider() == own && receipt.started() >= since);
        let pair = |receipt: &Receipt| {
            let certificate = &self.certificates[receipt.certificate().0.as_slice()];
            (receipt.as_bytes().to_vec(), certificate.as_bytes().to_vec())
        };
        shown.take(max).map(pair).collect()
    }
}

pub(crate) fn certify(team: &SecretKey, key: &SecretKey, role: Role) -> Certificate {
    let now = START.unix_seconds();
    Certificate::issue(team, key.public(), role, now.minus(30 * 86_400), now.plus(30 * 86_400))
}

/// When the sessions of made-up receipts began.
pub(crate) fn started() -> UnixSeconds {
    START.unix_seconds().minus(3_600)
}

impl Household {
    pub(crate) fn closed(&self) -> Vec<(guestright_roaming::message::Code, Bytes, Bytes)> {
        let closed = |(_, event): &(Time, access_point::Event)| match event {
            access_point::Event::Closed { code, session } => Some((*code, session.counted, session.signed)),
            _ => None,
        };
        self.events.iter().filter_map(closed).collect()
    }

    pub(crate) fn opened(&self) -> usize {
        let opened =
            |event: &&(Time, access_point::Event)| matches!(event.1, access_point::Event::Opened { .. });
        self.events.iter().filter(opened).count()
    }

    pub(crate) fn refused(&self, kind: &str) -> u64 {
        self.ap.refusals().get(kind).copied().unwrap_or(0)
    }

    pub(crate) fn home_refused(&self, kind: &str) -> u64 {
        self.home.refusals().get(kind).copied().unwrap_or(0)
    }
}

impl Guest {
    /// The largest weight that it signed.
    pub(crate) fn signed(&self) -> Bytes {
        self.receipts().map(Receipt::weight).max().unwrap_or_default()
    }

    pub(crate) fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.events.iter().filter_map(|event| match event {
            visitor::Event::Signed(receipt) => Some(receipt),
            _ => None,
        })
    }

    pub(crate) fn granted(&self) -> Vec<(TeamId, guestright_reciprocity::ServiceClass)> {
        let granted = |event: &visitor::Event| match event {
            visitor::Event::Granted { provider, class, .. } => Some((*provider, *class)),
            _ => None,
        };
        self.events.iter().filter_map(granted).collect()
    }

    pub(crate) fn ended(&self) -> Option<(guestright_roaming::message::Code, &str)> {
        self.events.iter().find_map(|event| match event {
            visitor::Event::Ended { code, reason } => Some((*code, reason.as_str())),
            _ => None,
        })
    }
}
