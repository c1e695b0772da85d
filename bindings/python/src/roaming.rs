//! The protocol's machines, to script a scenario with: a home, its access point, and visitors. Time comes in, in
//! microseconds since 1970; messages come in and go out as bytes; what lies between them is the script's.
//!
//! A home keeps its receipts in memory, which counts as durable here.

use crate::receipts::{Certificate, Key, Receipt};
use guestright_identity::{self as identity, Role, SecretKey, Suite};
use guestright_receipt::{self as receipt, Bundle, Registers};
use guestright_reciprocity::StrangerCounters;
use guestright_roaming::access_point::{self, Address, Transmit};
use guestright_roaming::home::{self, StoreReport, TeamServer};
use guestright_roaming::{self as machines, Ledger, visitor};
use guestright_units::{Bytes, Time, UnixSeconds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::net::Ipv4Addr;

/// For how long a script's certificates hold, before and after their issue.
const LIFE_SECONDS: u64 = 30 * 86_400;
/// The first word of an event, and all of it as text.
type Named = (String, String);

/// A household's home: the team's key, its accounts, its store of receipts.
#[pyclass(module = "guestright._lab")]
pub(crate) struct Home {
    team: SecretKey,
    server: TeamServer,
    store: Registers,
    certificates: BTreeMap<Vec<u8>, identity::Certificate>,
    events: VecDeque<home::Event>,
    peers: home::Peer,
    rng: StdRng,
}

#[pymethods]
impl Home {
    /// Its keys and its chance come from `seed`.
    #[new]
    #[pyo3(signature = (*, seed, now_us))]
    fn new(seed: u64, now_us: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let team = SecretKey::generate(Suite::Ed25519, &mut rng);
        let id = team.public().team_id();
        let config = home::Config::default();
        let server = TeamServer::new(config, id, [], vec![], StrangerCounters::default(), Time(now_us));
        let (store, certificates, events) = (Registers::default(), BTreeMap::new(), VecDeque::new());
        Self { team, server, store, certificates, events, peers: 0, rng }
    }

    #[getter]
    fn team_id(&self) -> String {
        self.team.public().team_id().to_string()
    }

    /// A new member of the team: its key and its certificate.
    fn member(&mut self, now_us: u64) -> (Key, Certificate) {
        let (key, certificate) = self.certify(Role::Member, now_us);
        (Key(key), Certificate(certificate))
    }

    /// A new access point of the household, connected to this home under the number `peer`.
    fn access_point(&mut self, now_us: u64) -> PyResult<AccessPoint> {
        let (key, certificate) = self.certify(Role::AccessPoint, now_us);
        self.peers += 1;
        let connected = self.server.handle_connected(self.peers, certificate.clone(), Time(now_us));
        connected.map_err(PyValueError::new_err)?;
        let machine = machines::AccessPoint::new(access_point::Config::default(), key, certificate);
        Ok(AccessPoint { machine, peer: self.peers })
    }

    /// Takes in a message of the access point with the number `peer`.
    fn handle_input(&mut self, peer: home::Peer, message: &[u8], now_us: u64) {
        self.server.handle_input(peer, message, &mut self.rng, Time(now_us));
        self.store(Time(now_us));
    }

    fn handle_timeout(&mut self, now_us: u64) {
        self.server.handle_timeout(&mut self.rng, Time(now_us));
        self.store(Time(now_us));
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.server.poll_timeout().map(|at| at.0)
    }

    /// The next message to send, and to which peer.
    fn poll_transmit<'py>(&mut self, py: Python<'py>) -> Option<(home::Peer, Bound<'py, PyBytes>)> {
        self.server.poll_transmit().map(|(peer, message)| (peer, PyBytes::new(py, &message)))
    }

    fn poll_event(&mut self) -> Option<Named> {
        self.events.pop_front().map(|event| named(&event))
    }

    /// The receipts that count, of each session the largest.
    fn receipts(&self) -> Vec<Receipt> {
        self.store.iter().cloned().map(Receipt).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Home {}: {} receipts>", self.team.public().team_id().short(), self.store.len())
    }
}

impl Home {
    fn certify(&mut self, role: Role, now_us: u64) -> (SecretKey, identity::Certificate) {
        let key = SecretKey::generate(Suite::Ed25519, &mut self.rng);
        let now = Time(now_us).unix_seconds();
        let (from, until) = (UnixSeconds(now.0.saturating_sub(LIFE_SECONDS)), now.plus(LIFE_SECONDS));
        let certificate = identity::Certificate::issue(&self.team, key.public(), role, from, until);
        (key, certificate)
    }

    /// Does what the machine wants of a store, and keeps its other events for the script.
    fn store(&mut self, now: Time) {
        while let Some(event) = self.server.poll_event() {
            match &event {
                home::Event::Store { token, receipts } => {
                    let mut report = StoreReport::default();
                    for (receipt, certificate) in receipts {
                        self.certificates.insert(receipt.certificate().0.to_vec(), certificate.clone());
                        report.admit(&mut self.store, receipt.clone());
                    }
                    self.server.handle_stored(*token, &report, &mut self.rng, now);
                }
                home::Event::Fetch { token, since, max } => {
                    let found = self.find(*since, *max);
                    self.server.handle_fetched(*token, found);
                }
                home::Event::Keep(write) => self.server.handle_kept(write.token, &mut self.rng, now),
                home::Event::SendHome(..)
                | home::Event::AskHome(..)
                | home::Event::HomeLearned(..)
                | home::Event::Reserved { .. }
                | home::Event::Revoked(_)
                | home::Event::Finished { .. }
                | home::Event::Renewed { .. }
                | home::Event::Begun { .. }
                | home::Event::Decided { .. }
                | home::Event::Answered { .. }
                | home::Event::Acted { .. }
                | home::Event::Refused { .. } => self.events.push_back(event),
            }
        }
    }

    fn find(&self, since: UnixSeconds, max: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let own = self.team.public().team_id();
        let pair = |receipt: &receipt::Receipt| {
            let certificate = self.certificates.get(receipt.certificate().0.as_slice())?;
            Some((receipt.as_bytes().to_vec(), certificate.as_bytes().to_vec()))
        };
        let shown =
            self.store.iter().filter(|receipt| receipt.provider() == own && receipt.started() >= since);
        shown.filter_map(pair).take(max).collect()
    }
}

/// An access point. Visitors have numbers, which stand for their addresses too.
#[pyclass(module = "guestright._lab")]
pub(crate) struct AccessPoint {
    machine: machines::AccessPoint,
    peer: home::Peer,
}

#[pymethods]
impl AccessPoint {
    /// Its number at its home.
    #[getter]
    fn peer(&self) -> home::Peer {
        self.peer
    }

    /// Takes in a message of a visitor.
    fn handle_visitor(&mut self, visitor: u32, message: &[u8], now_us: u64) {
        self.machine.handle_visitor(address(visitor), u64::from(visitor), message, Time(now_us));
    }

    /// Takes in a message of its home.
    fn handle_home(&mut self, message: &[u8], now_us: u64) {
        self.machine.handle_home(message, Time(now_us));
    }

    /// Takes in what was counted for a visitor since it was opened, both ways.
    fn handle_traffic(&mut self, visitor: u32, counted: u64, now_us: u64) {
        self.machine.handle_traffic(address(visitor), Bytes(counted), Time(now_us));
    }

    /// Takes in that a visitor's packets are held back from now on, and what was counted until then.
    fn handle_closed(&mut self, visitor: u32, counted: u64, now_us: u64) {
        self.machine.handle_closed(address(visitor), Bytes(counted), Time(now_us));
    }

    fn handle_timeout(&mut self, now_us: u64) {
        self.machine.handle_timeout(Time(now_us));
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.machine.poll_timeout().map(|at| at.0)
    }

    /// The next message to send: to a visitor by its number, or (None) to the home.
    fn poll_transmit<'py>(&mut self, py: Python<'py>) -> Option<(Option<u64>, Bound<'py, PyBytes>)> {
        self.machine.poll_transmit().map(|transmit| match transmit {
            Transmit::Visitor(visitor, message) => (Some(visitor), PyBytes::new(py, &message)),
            Transmit::Home(message) => (None, PyBytes::new(py, &message)),
        })
    }

    fn poll_event(&mut self) -> Option<Named> {
        self.machine.poll_event().map(|event| named(&event))
    }

    /// Who is served: by visitor, how many bytes may pass since it was opened, both ways.
    fn open(&self) -> BTreeMap<u32, u64> {
        self.machine.open().map(|gate| (visitor_of(gate.address), gate.most.0)).collect()
    }
}

/// A visitor with its own meter's day.
#[pyclass(module = "guestright._lab")]
pub(crate) struct Visitor {
    machine: machines::Visitor,
    ledger: Ledger,
    receipts: Vec<receipt::Receipt>,
}

#[pymethods]
impl Visitor {
    /// A member who comes to an access point and asks at once.
    #[new]
    #[pyo3(signature = (key, certificate, *, seed, now_us))]
    fn new(key: &Key, certificate: &Certificate, seed: u64, now_us: u64) -> PyResult<Self> {
        if key.0.public() != certificate.0.subject() {
            return Err(PyValueError::new_err("the certificate is for another key"));
        }
        let own = SecretKey::from_bytes(key.0.public().suite(), &key.0.to_bytes());
        let own = own.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let (mut rng, config) = (StdRng::seed_from_u64(seed), visitor::Config::default());
        let (certificate, bundle) = (certificate.0.clone(), Bundle::default());
        let machine = machines::Visitor::new(config, own, certificate, bundle, None, &mut rng, Time(now_us));
        Ok(Self { machine, ledger: Ledger::default(), receipts: Vec::new() })
    }

    fn handle_input(&mut self, message: &[u8], now_us: u64) {
        self.machine.handle_input(message, Time(now_us));
    }

    /// What the meter has counted, both ways: after the event MeterNeeded.
    fn handle_meter(&mut self, counted: u64, now_us: u64) {
        self.machine.handle_meter(Bytes(counted), &mut self.ledger, Time(now_us));
    }

    fn handle_timeout(&mut self, now_us: u64) {
        self.machine.handle_timeout(Time(now_us));
    }

    /// Says goodbye.
    fn leave(&mut self, now_us: u64) {
        self.machine.leave(Time(now_us));
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.machine.poll_timeout().map(|at| at.0)
    }

    fn poll_transmit<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.machine.poll_transmit().map(|message| PyBytes::new(py, &message))
    }

    fn poll_event(&mut self) -> Option<Named> {
        let event = self.machine.poll_event()?;
        if let visitor::Event::Signed(receipt) = &event {
            self.receipts.push(receipt.clone());
        }
        Some(named(&event))
    }

    /// The receipts that it has signed, as far as their events were polled.
    fn receipts(&self) -> Vec<Receipt> {
        self.receipts.iter().cloned().map(Receipt).collect()
    }
}

fn named(event: &impl Debug) -> Named {
    let text = format!("{event:?}");
    let name = text.chars().take_while(char::is_ascii_alphanumeric).collect();
    (name, text)
}

/// A visitor's addresses, by its number.
fn address(visitor: u32) -> Address {
    let [a, b, c, d] = visitor.to_be_bytes();
    Address::new([2, 0, a, b, c, d], Ipv4Addr::new(10, b, c, d))
}

fn visitor_of(address: Address) -> u32 {
    let [_, _, a, b, c, d] = address.mac;
    u32::from_be_bytes([a, b, c, d])
}
