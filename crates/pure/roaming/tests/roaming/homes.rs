//! Homes far away that sign for visitors who have nothing but a tunnel, and the telephone between them and access
//! points.

use crate::world::{Delivery, Household, START, World, certify};
use guestright_identity::{AccessPoints, Delegation, DelegationTerms, KeyId, Role, SecretKey, Suite};
use guestright_receipt::{Bundle, Receipt};
use guestright_roaming::Ledger;
use guestright_roaming::access_point::{Address, Path};
use guestright_roaming::delegate::{self, Config, ConnectionId, Counted, Delegate, Event, Mandate, Spent};
use guestright_roaming::message::Message;
use guestright_units::{Bytes, Micros, Time};
use rand::rngs::StdRng;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;

/// What passes without a grant.
pub(crate) const ALLOWANCE: u64 = 131_072;
/// The telephone takes so long, each way.
const DELAY: Micros = Micros::from_millis(20);

/// What happens on the telephone.
pub(crate) enum Connection {
    Answered { house: usize, path: Path, home: usize },
    Failed { house: usize, path: Path },
    ToHome { home: usize, connection: ConnectionId, bytes: Vec<u8> },
    ToAccessPoint { house: usize, path: Path, bytes: Vec<u8> },
    HomeHungUp { house: usize, path: Path },
    AccessPointHungUp { home: usize, connection: ConnectionId },
}

pub(crate) struct DistantHome {
    pub(crate) delegate: Delegate,
    pub(crate) ip: Ipv4Addr,
    /// Whether it answers the telephone.
    pub(crate) answers: bool,
    /// Whether it says anything on it.
    pub(crate) speaks: bool,
    /// What is said instead of what its machine says.
    pub(crate) says: Option<Vec<u8>>,
    pub(crate) mandates: Vec<Mandate>,
    /// Where its members' tunnels end now.
    pub(crate) endpoints: BTreeMap<KeyId, SocketAddrV4>,
    pub(crate) counted: BTreeMap<SocketAddrV4, u64>,
    /// What its meter sees of what is carried.
    pub(crate) meter_permille: u64,
    pub(crate) kept: BTreeMap<KeyId, Spent>,
    pub(crate) ledgers: BTreeMap<KeyId, Ledger>,
    pub(crate) events: Vec<Event>,
    connections: BTreeMap<ConnectionId, (usize, Path)>,
    next_connection: ConnectionId,
    rng: StdRng,
}

/// A visitor with a tunnel.
pub(crate) struct TunnelGuest {
    pub(crate) house: usize,
    pub(crate) home: usize,
    pub(crate) member: KeyId,
    /// All of its packets.
    pub(crate) address: Address,
    /// Where its access point sends from.
    pub(crate) port: u16,
    pub(crate) bytes_per_tick: u64,
    /// What it has had without a grant.
    pub(crate) allowed: u64,
    /// What it has had with one.
    pub(crate) carried: u64,
}

/// The address of a household's router in the Internet.
pub(crate) fn router(house: usize) -> Ipv4Addr {
    Ipv4Addr::new(203, 0, 113, u8::try_from(house + 1).unwrap())
}

pub(crate) fn terms(bytes_per_day: u64) -> DelegationTerms {
    let now = START.unix_seconds();
    let (not_before, not_after) = (now.minus(10), now.plus(30 * 86_400));
    let bytes_per_day = Bytes(bytes_per_day);
    DelegationTerms { bytes_per_day, not_before, not_after, access_points: AccessPoints::Any }
}

/// A member of a household delegates to its home.
pub(crate) fn mandate(house: &Household, terms: DelegationTerms, rng: &mut StdRng) -> Mandate {
    let (member, _) = house.member(rng);
    let key = SecretKey::generate(Suite::Ed25519, rng);
    let certificate = certify(&house.team, &key, Role::Member);
    let delegation = Delegation::issue(&member, key.public(), terms).unwrap();
    Mandate::new(delegation, key, certificate, house.id()).unwrap()
}

impl World {
    /// A home in the Internet; gives its number.
    pub(crate) fn add_home(&mut self, mandates: Vec<Mandate>, config: Config) -> usize {
        use rand::SeedableRng;
        let number = self.homes.len();
        self.homes.push(DistantHome {
            delegate: Delegate::new(config, BTreeMap::new(), BTreeMap::new()),
            ip: Ipv4Addr::new(192, 0, 2, u8::try_from(number + 1).unwrap()),
            answers: true,
            speaks: true,
            says: None,
            mandates,
            endpoints: BTreeMap::new(),
            counted: BTreeMap::new(),
            meter_permille: 1_000,
            kept: BTreeMap::new(),
            ledgers: BTreeMap::new(),
            events: Vec::new(),
            connections: BTreeMap::new(),
            next_connection: 1,
            rng: StdRng::seed_from_u64(7),
        });
        number
    }

    /// The member of that number comes to `house` with a tunnel to its home, through this port.
    pub(crate) fn tunnel(&mut self, house: usize, home: usize, member: usize, port: u16) -> usize {
        let member = self.homes[home].mandates[member].delegation().member_id();
        let number = self.tunnels.len();
        let address = crate::world::address(1_000 + number);
        let (allowed, carried) = (0, 0);
        self.tunnels.push(TunnelGuest {
            house,
            home,
            member,
            address,
            port,
            bytes_per_tick: 50_000,
            allowed,
            carried,
        });
        self.homes[home].endpoints.insert(member, SocketAddrV4::new(router(house), port));
        number
    }

    /// The address under which a tunnel's session is known.
    pub(crate) fn tunnel_address(&self, tunnel: usize) -> Address {
        let guest = &self.tunnels[tunnel];
        Address { home: Some(self.homes[guest.home].ip), ..guest.address }
    }

    pub(crate) fn tick_tunnels(&mut self) {
        for number in 0..self.tunnels.len() {
            let address = self.tunnel_address(number);
            let guest = &mut self.tunnels[number];
            let (house, home) = (&mut self.houses[guest.house], &mut self.homes[guest.home]);
            let ordinary = house.firewall.contains_key(&guest.address);
            let limit = house.limit(address);
            let granted = house.firewall.get_mut(&address).filter(|_| !ordinary);
            let passed = match granted {
                Some(counter) => {
                    let passed = Bytes(guest.bytes_per_tick).min(limit.saturating_sub(*counter));
                    *counter = counter.saturating_add(passed);
                    guest.carried += passed.0;
                    let counted = *counter;
                    house.ap.handle_traffic(address, counted, self.now);
                    passed.0
                }
                None if ordinary => guest.bytes_per_tick,
                None => {
                    let passed = guest.bytes_per_tick.min(ALLOWANCE - guest.allowed);
                    guest.allowed += passed;
                    if guest.bytes_per_tick > 0 {
                        let port = NonZeroU16::new(guest.port).unwrap();
                        house.ap.handle_flow(guest.address, home.ip, port, self.now);
                    }
                    passed
                }
            };
            let endpoint = SocketAddrV4::new(router(guest.house), guest.port);
            *home.counted.entry(endpoint).or_default() += passed * home.meter_permille / 1_000;
        }
    }

    pub(crate) fn connect_home(&mut self, house: usize, path: Path, ip: Ipv4Addr) {
        let connection = match self.homes.iter().position(|home| home.ip == ip && home.answers) {
            Some(home) => Connection::Answered { house, path, home },
            None => Connection::Failed { house, path },
        };
        self.schedule(DELAY, Delivery::Connection(connection));
    }

    pub(crate) fn send_to_home(&mut self, house: usize, path: Path, bytes: Vec<u8>) {
        if let Some((home, connection)) = self.line(house, path) {
            self.schedule(DELAY, Delivery::Connection(Connection::ToHome { home, connection, bytes }));
        }
    }

    pub(crate) fn hang_up(&mut self, house: usize, path: Path) {
        if let Some((home, connection)) = self.line(house, path) {
            self.schedule(DELAY, Delivery::Connection(Connection::AccessPointHungUp { home, connection }));
        }
    }

    fn line(&self, house: usize, path: Path) -> Option<(usize, ConnectionId)> {
        let mut lines = self.homes.iter().enumerate().flat_map(|(home, distant)| {
            distant.connections.iter().map(move |(&connection, &at)| (home, connection, at))
        });
        lines.find(|(_, _, at)| *at == (house, path)).map(|(home, connection, _)| (home, connection))
    }

    /// Every connection is lost, and both ends notice.
    pub(crate) fn cut_lines(&mut self) {
        for home in 0..self.homes.len() {
            for (connection, (house, path)) in std::mem::take(&mut self.homes[home].connections) {
                self.homes[home].delegate.handle_hung_up(connection, self.now);
                self.houses[house].ap.handle_disconnected(path, self.now);
            }
        }
        self.drain();
    }

    /// How many connections to homes a household's access point has made.
    pub(crate) fn connections_of(&self, house: usize) -> usize {
        let is_connect = |(_, event): &&(Time, _)| {
            matches!(event, guestright_roaming::access_point::Event::Connect { .. })
        };
        self.houses[house].events.iter().filter(is_connect).count()
    }

    pub(crate) fn deliver_connection(&mut self, connection: Connection) {
        let now = self.now;
        match connection {
            Connection::Answered { house, path, home } => {
                let distant = &mut self.homes[home];
                let connection = distant.next_connection;
                distant.next_connection += 1;
                distant.connections.insert(connection, (house, path));
                distant.delegate.handle_connected(connection, router(house), now);
                self.houses[house].ap.handle_connected(path);
            }
            Connection::Failed { house, path } => self.houses[house].ap.handle_disconnected(path, now),
            Connection::ToHome { home, connection, bytes } => {
                if self.homes[home].connections.contains_key(&connection) {
                    self.homes[home].delegate.handle_input(connection, &bytes, now);
                }
            }
            Connection::ToAccessPoint { house, path, bytes } => {
                if self.line(house, path).is_some() {
                    self.houses[house].ap.handle_contact(path, &bytes, now);
                }
            }
            Connection::HomeHungUp { house, path } => {
                let Some((home, connection)) = self.line(house, path) else { return };
                self.homes[home].connections.remove(&connection);
                self.homes[home].delegate.handle_hung_up(connection, now);
                self.houses[house].ap.handle_disconnected(path, now);
            }
            Connection::AccessPointHungUp { home, connection } => {
                if self.homes[home].connections.remove(&connection).is_some() {
                    self.homes[home].delegate.handle_hung_up(connection, now);
                }
            }
        }
    }

    pub(crate) fn drain_distant_home(&mut self, number: usize) {
        let now = self.now;
        loop {
            let home = &mut self.homes[number];
            // Events first: what is signed is kept before it is sent.
            if let Some(event) = home.delegate.poll_event() {
                self.trace.push(format!("{now:?} distant home {number}: {event:?}"));
                let home = &mut self.homes[number];
                home.events.push(event.clone());
                home.carry_out(&event, now);
                if let Event::Ended(connection, _) = event
                    && let Some(&(house, path)) = home.connections.get(&connection)
                {
                    self.schedule(
                        Micros(2 * DELAY.0),
                        Delivery::Connection(Connection::HomeHungUp { house, path }),
                    );
                }
            } else if let Some((connection, bytes)) = home.delegate.poll_transmit() {
                let bytes = home.says.clone().unwrap_or(bytes);
                if let Some(&(house, path)) = home.connections.get(&connection).filter(|_| home.speaks) {
                    let connection = Connection::ToAccessPoint { house, path, bytes };
                    self.schedule(DELAY, Delivery::Connection(connection));
                }
            } else {
                return;
            }
        }
    }
}

impl DistantHome {
    fn carry_out(&mut self, event: &Event, now: Time) {
        match event {
            Event::LookupNeeded(connection, at) => {
                let member =
                    self.endpoints.iter().find(|(_, endpoint)| *endpoint == at).map(|(member, _)| *member);
                let found =
                    self.mandates.iter().find(|mandate| Some(mandate.delegation().member_id()) == member);
                let counted = self.counted_of(*at.ip());
                let found = found.map(|mandate| (mandate, Bundle::default()));
                self.delegate.handle_lookup(*connection, found, &counted.into(), &mut self.rng, now);
            }
            Event::MeterNeeded(connection, member, ip) => {
                let counted = self.counted_of(*ip);
                self.delegate.handle_meter(
                    *connection,
                    self.endpoints.get(member).copied(),
                    &counted.into(),
                    now,
                );
            }
            Event::Spent(member, spent) => drop(self.kept.insert(*member, *spent)),
            Event::Metered(member, ledger) => drop(self.ledgers.insert(*member, ledger.as_ref().clone())),
            // A stranger of the tests, who is nowhere.
            Event::Ended(connection, _) if !self.connections.contains_key(connection) => {
                self.delegate.handle_hung_up(*connection, now)
            }
            _ => {}
        }
    }

    fn counted_of(&self, ip: Ipv4Addr) -> Counted {
        let of = self.counted.iter().filter(|(peer, _)| *peer.ip() == ip);
        of.map(|(peer, &bytes)| (peer.port(), Bytes(bytes))).collect()
    }

    /// The largest receipt of each session.
    pub(crate) fn signed(&self) -> u64 {
        let mut sessions = BTreeMap::<_, u64>::new();
        for receipt in self.receipts() {
            let weight = sessions.entry(receipt.session()).or_default();
            *weight = receipt.weight().0.max(*weight);
        }
        sessions.values().sum()
    }

    pub(crate) fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.events.iter().filter_map(|event| match event {
            Event::Signed(_, receipt) => Some(receipt),
            _ => None,
        })
    }

    pub(crate) fn sessions(&self) -> usize {
        self.receipts().map(Receipt::session).collect::<BTreeSet<_>>().len()
    }

    pub(crate) fn refused(&self, kind: &str) -> u64 {
        self.delegate.refusals().get(kind).copied().unwrap_or(0)
    }

    /// It starts again with what it has kept.
    pub(crate) fn restart(&mut self) {
        self.delegate = Delegate::new(delegate::Config::default(), self.kept.clone(), self.ledgers.clone());
        self.counted.clear();
    }

    /// Says this to its machine, as any access point could.
    pub(crate) fn hear(&mut self, ip: Ipv4Addr, messages: &[Message], now: Time) -> ConnectionId {
        let connection = 1_000_000 + self.next_connection;
        self.next_connection += 1;
        self.delegate.handle_connected(connection, ip, now);
        messages.iter().for_each(|message| self.delegate.handle_input(connection, &message.emit(), now));
        connection
    }
}
