//! The firewall on a thread of its own: it runs other programs and must not hold up the loop.

use guestright_error::RunError;
use guestright_firewall::{Class, Firewall, FirewallError, Flow, MacAddress, Traffic, translated_ports};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::access_point::Address;
use guestright_units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc as tasks;

/// How many answers may wait for the loop.
const DONE_MAX: usize = 64;
/// How many orders may wait for the firewall before the loop lets visitors wait.
const ORDERS_MAX: usize = 256;
/// The kernel's table of connections is read at most so often: it may be long.
const LOOK_UP_EVERY: Duration = Duration::from_secs(1);

/// What the firewall is asked to do.
#[derive(Debug)]
pub(super) enum Order {
    Open(Address, ServiceClass),
    Reclassify(Address, ServiceClass),
    Close(Address),
    Read,
    Stop,
}

#[derive(Debug)]
pub(super) enum Done {
    /// What the firewall has counted and learned.
    Read(Box<Reading>),
    /// A visitor's packets pass.
    Opened(Address),
    /// A visitor is closed; this is what it had used.
    Closed(Address, Bytes),
    /// An order failed.
    Failed(String),
}

/// What a reading tells.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// What each visitor has used since it was opened.
    pub(super) used: Vec<(Address, Bytes)>,
    /// What was dropped, in packets.
    pub(super) drops: BTreeMap<String, u64>,
    /// What tunnels without a session have had.
    pub(super) allowance: Bytes,
    /// Such tunnels: visitor, home, and the port from which the home sees it come.
    pub(super) tunnels: Vec<(Ipv4Addr, Ipv4Addr, NonZeroU16)>,
}

/// The firewall, and when the table of connections was last read.
struct Guard {
    firewall: Firewall,
    looked_up: Option<Instant>,
    /// Whether that failed before.
    blind: bool,
}

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Orders {
    sender: mpsc::Sender<Order>,
    /// Sent, and not carried out yet.
    waiting: Arc<AtomicUsize>,
}

impl Orders {
    /// Asks the firewall for something; false if its thread has ended. Never waits: an order must not be lost, so
    /// the limit is held where orders come from ([`Orders::are_many`]).
    pub(super) fn send(&self, order: Order) -> bool {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.sender.send(order).is_ok()
    }

    /// Whether the firewall is so far behind that visitors have to wait.
    pub(super) fn are_many(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= ORDERS_MAX
    }
}

/// The thread, the way to it, and what it has done.
pub(super) struct Running {
    pub(super) orders: Orders,
    pub(super) done: tasks::Receiver<Done>,
    pub(super) thread: JoinHandle<Result<(), FirewallError>>,
}

/// Starts the thread.
///
/// The thread waits while the loop has [`DONE_MAX`] answers to read. The loop does not wait for the thread as long as
/// it holds the receiver, and once that is dropped the thread waits no more, so neither can wait for the other.
pub(super) fn start(firewall: Firewall) -> Result<Running, RunError> {
    let (sender, orders) = mpsc::channel();
    let (done, received) = tasks::channel(DONE_MAX);
    let waiting = Arc::<AtomicUsize>::default();
    let left = Arc::clone(&waiting);
    let thread = std::thread::Builder::new().name("firewall".to_owned()).spawn(move || {
        let mut guard = Guard { firewall, looked_up: None, blind: false };
        let reply = |answer| drop(done.blocking_send(answer));
        while let Ok(order) = orders.recv() {
            if matches!(order, Order::Stop) {
                break;
            }
            match guard.carry_out(&order) {
                Ok(Some(answer)) => reply(answer),
                Ok(None) => {}
                Err(error) => {
                    reply(Done::Failed(error.to_string()));
                    if let Order::Close(address) = order {
                        reply(Done::Closed(address, Bytes(0)));
                    }
                }
            }
            left.fetch_sub(1, Ordering::Relaxed);
        }
        guard.firewall.down()
    });
    let thread = thread.map_err(RunError::network)?;
    Ok(Running { orders: Orders { sender, waiting }, done: received, thread })
}

impl Guard {
    fn carry_out(&mut self, order: &Order) -> Result<Option<Done>, FirewallError> {
        let firewall = &mut self.firewall;
        match order {
            Order::Open(address, class) => {
                let (mac, class) = (MacAddress::new(address.mac)?, firewall_class(*class));
                match address.home {
                    None => firewall.grant(mac, address.ip, class)?,
                    Some(home) => firewall.grant_tunnel(mac, address.ip, home, class)?,
                }
                Ok(Some(Done::Opened(*address)))
            }
            Order::Reclassify(address, class) => {
                let class = firewall_class(*class);
                match address.home {
                    None => firewall.set_class(address.ip, class)?,
                    Some(_) => firewall.set_tunnel_class(address.ip, class)?,
                }
                Ok(None)
            }
            Order::Close(address) => {
                let mac = MacAddress::new(address.mac)?;
                let used = match address.home {
                    None => firewall.close(mac, address.ip)?,
                    Some(home) => firewall.close_tunnel(mac, address.ip, home)?,
                };
                Ok(Some(Done::Closed(*address, both_ways(used))))
            }
            Order::Read => Ok(Some(Done::Read(Box::new(self.read()?)))),
            Order::Stop => Ok(None),
        }
    }

    fn read(&mut self) -> Result<Reading, FirewallError> {
        let visitors = self.firewall.traffic()?.into_iter();
        let visitors = visitors.map(|((mac, ip), used)| (Address::new(mac.bytes(), ip), both_ways(used)));
        let tunnels = self.firewall.tunnel_traffic()?.into_iter();
        let tunnels = tunnels.map(|((mac, ip, home), used)| {
            (Address { mac: mac.bytes(), ip, home: Some(home) }, both_ways(used))
        });
        let (drops, allowance) = self.firewall.drops_and_allowance()?;
        Ok(Reading {
            used: visitors.chain(tunnels).collect(),
            drops,
            allowance: Bytes(allowance),
            tunnels: self.tunnels()?,
        })
    }

    /// Tunnels without a session; of each visitor one.
    fn tunnels(&mut self) -> Result<Vec<(Ipv4Addr, Ipv4Addr, NonZeroU16)>, FirewallError> {
        if self.looked_up.is_some_and(|at| at.elapsed() < LOOK_UP_EVERY) {
            return Ok(Vec::new());
        }
        let flows: BTreeSet<Flow> = self.firewall.flows()?;
        if flows.is_empty() {
            return Ok(Vec::new());
        }
        self.looked_up = Some(Instant::now());
        let of = |(flow, port): (Flow, NonZeroU16)| (*flow.visitor.ip(), *flow.home.ip(), port);
        match translated_ports(&flows) {
            Ok(ports) => Ok(ports.into_iter().map(of).collect()),
            Err(error) => {
                // Everybody else is served all the same.
                if !std::mem::replace(&mut self.blind, true) {
                    tracing::warn!(%error, "visitors with nothing but a tunnel cannot be served");
                }
                Ok(Vec::new())
            }
        }
    }
}

fn both_ways(traffic: Traffic) -> Bytes {
    Bytes(traffic.up.saturating_add(traffic.down))
}

fn firewall_class(class: ServiceClass) -> Class {
    match class {
        ServiceClass::Lowest => Class::Lowest,
        ServiceClass::Low => Class::Low,
        ServiceClass::Middle => Class::Middle,
        ServiceClass::High => Class::High,
        ServiceClass::Own => Class::Own,
    }
}
