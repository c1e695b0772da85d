//! The firewall on a thread of its own: it runs other programs and must not hold up the loop.

use super::stations::{Radios, Stations};
use guestright_error::RunError;
use guestright_firewall::{
    self as firewall, Class, Firewall, FirewallError, Flow, Layers, MacAddress, Passing, Shaping, Traffic,
    translated_ports,
};
use guestright_ordered::OrderedMap;
use guestright_reciprocity::ServiceClass;
use guestright_roaming::access_point::{Address, Gate};
use guestright_units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc as tasks;

/// How many answers may wait for the loop.
const DONE_MAX: usize = 64;
/// How many orders may wait for the firewall before the loop lets visitors wait.
const ORDERS_MAX: usize = 256;
/// Where IKE begins (RFC 7296, section 2).
const IKE_PORT: u16 = 500;
/// The kernel's table of connections is read at most so often: it may be long.
const LOOK_UP_EVERY: Duration = Duration::from_secs(1);
/// The layers are compared with what they should be this often, also when the kernel has not said that something was changed. It
/// says so for all that they consist of but whether marks count, which each reading looks at: this is for what we do not know.
const COMPARE_EVERY: Duration = Duration::from_secs(60);
/// And not more often than so.
const COMPARE_GAP: Duration = Duration::from_millis(300);
/// So often in a row putting the layers back may fail.
const FAILURES_MAX: u32 = 3;

/// What the firewall is asked to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Let a visitor through, for so many bytes.
    Open(Address, ServiceClass, Bytes),
    Reclassify(Address, ServiceClass),
    Close(Address),
    /// Read what was counted, and keep these gates open for another lease.
    /// With `rates` what the kernel's radios say of stations, too.
    Read {
        gates: Vec<Gate>,
        rates: bool,
    },
    /// From now on grants last so long, and visitors have this share of the line.
    Reconfigure {
        lease_ms: u64,
        shaping: Option<Shaping>,
    },
    /// Read what the static filter has dropped, which takes other programs.
    CountBarred,
    /// Something was changed that may be part of a layer.
    Compare,
    Stop,
}

#[derive(Debug)]
pub(super) enum Done {
    /// What the firewall has counted and learned.
    Read(Box<Reading>),
    /// A visitor's packets pass.
    Opened(Address),
    /// A visitor is closed; this is what it had used.
    Closed(Address, Traffic),
    /// It was reconfigured, or was not, for this reason; then all is as it was.
    Reconfigured(Result<(), String>),
    /// An order failed, and what may follow from that. One that has to be carried out is tried again.
    Failed(String),
    /// What the layers are like, after they were compared with what they should be.
    Compared(Condition),
    /// Packets that the static filter has dropped.
    Barred(u64),
}

/// What the layers are like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) layers: Layers,
    /// What is wrong, in words.
    pub(super) trouble: Option<String>,
    /// How often something was put back, by what it was.
    pub(super) mended: BTreeMap<&'static str, u64>,
    /// Packets that the static filter has dropped.
    pub(super) barred: u64,
    /// It cannot be put back: nobody forwards any more, and the program has to end.
    pub(super) is_lost: bool,
}

/// What a reading tells.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// What each visitor has used since it was opened, and what the kernel counts of it.
    pub(super) passing: Vec<(Address, firewall::Reading)>,
    /// The radios' stations, or why they are not known, where they were asked for.
    pub(super) stations: Option<Result<Stations, String>>,
    /// What was dropped, in packets.
    pub(super) drops: BTreeMap<String, u64>,
    /// What tunnels without a session have had.
    pub(super) allowance: Bytes,
    /// Such tunnels: visitor, home, and the port from which the home sees it come.
    pub(super) tunnels: Vec<(Ipv4Addr, Ipv4Addr, NonZeroU16)>,
}

/// What is kept in mind about those who pass.
#[derive(Default)]
struct Grants {
    radios: Radios,
    /// When the table of connections was last read.
    looked_up: Option<Instant>,
    /// Whether that failed before.
    blind: bool,
    /// Who could not be let through yet: it is tried again.
    unopened: OrderedMap<Address, (ServiceClass, Bytes)>,
}

/// What is kept in mind about the layers.
struct Guard {
    grants: Grants,
    /// When they were last compared, and how often putting them back has failed since.
    compared: Instant,
    failures: u32,
    condition: Condition,
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
pub(super) fn start(mut firewall: Firewall) -> Result<Running, RunError> {
    let condition = Condition { layers: firewall.layers(), ..Condition::default() };
    let (sender, orders) = mpsc::channel();
    let (done, received) = tasks::channel(DONE_MAX);
    let waiting = Arc::<AtomicUsize>::default();
    let left = Arc::clone(&waiting);
    let (changed, pending) = (sender.clone(), Arc::<AtomicBool>::default());
    let noticed = Arc::clone(&pending);
    let changes = firewall.watch(move || {
        if !noticed.swap(true, Ordering::Relaxed) {
            let _ = changed.send(Order::Compare); // The thread may have ended.
        }
    });
    let changes = changes.map_err(RunError::network)?;
    let mut guard = Guard { grants: Grants::default(), compared: Instant::now(), failures: 0, condition };
    let mut desk = Desk { orders, waiting: left, noticed: pending, changed: false, done, is_over: false };
    let thread = std::thread::Builder::new().name("firewall".to_owned()).spawn(move || {
        let mut next = Instant::now();
        while !desk.is_over {
            desk.serve(&mut firewall, &mut guard.grants, next);
            if std::mem::take(&mut desk.changed) {
                next = Instant::now().max(guard.compared + COMPARE_GAP);
            }
            if Instant::now() >= next {
                let condition = guard.compare(&mut firewall, &mut desk);
                desk.is_over |= condition.is_lost;
                // Also for what has changed meanwhile, behind the part that looked at it.
                let is_due = condition.trouble.is_some() || std::mem::take(&mut desk.changed);
                next = Instant::now() + if is_due { COMPARE_GAP } else { COMPARE_EVERY };
                desk.reply(Done::Compared(condition));
            }
        }
        drop(changes);
        if guard.condition.is_lost {
            // What is still in force stays, for it keeps strangers out.
            firewall.abandon();
            return Ok(());
        }
        firewall.down()
    });
    let thread = thread.map_err(RunError::network)?;
    Ok(Running { orders: Orders { sender, waiting }, done: received, thread })
}

/// Where orders come in, and answers go out.
struct Desk {
    orders: mpsc::Receiver<Order>,
    waiting: Arc<AtomicUsize>,
    /// Whether an order to compare is on its way.
    noticed: Arc<AtomicBool>,
    /// Whether the layers are to be compared.
    changed: bool,
    done: tasks::Sender<Done>,
    /// Nothing more is to be done.
    is_over: bool,
}

impl Desk {
    fn reply(&self, answer: Done) {
        // The loop may have ended.
        let _ = self.done.blocking_send(answer);
    }

    /// Waits for orders until then, and carries out the next.
    fn serve(&mut self, firewall: &mut Firewall, grants: &mut Grants, until: Instant) {
        match self.orders.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => {
                self.is_over = true;
            }
            Ok(Order::Compare) => {
                self.noticed.store(false, Ordering::Relaxed);
                self.changed = true;
            }
            Ok(order) => {
                if matches!(order, Order::Read { .. }) {
                    grants
                        .open_again(firewall)
                        .into_iter()
                        .for_each(|address| self.reply(Done::Opened(address)));
                    self.changed |= !firewall.marks_count();
                }
                match grants.carry_out(firewall, &order) {
                    Ok(Some(answer)) => self.reply(answer),
                    Ok(None) => {}
                    Err(error) => {
                        grants.keep_unopened(&order);
                        self.reply(Done::Failed(error.to_string()));
                    }
                }
                self.waiting.fetch_sub(1, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }

    /// Carries out what is waiting.
    fn serve_waiting(&mut self, firewall: &mut Firewall, grants: &mut Grants) {
        while !self.is_over && self.waiting.load(Ordering::Relaxed) > 0 {
            self.serve(firewall, grants, Instant::now());
        }
    }
}

impl Guard {
    /// Compares the layers with what they should be, and puts back what is gone. What cannot be put back three times ends
    /// all forwarding; an interface that is not there is waited for.
    ///
    /// Orders are carried out between its parts: gates that are not renewed in time would shut.
    fn compare(&mut self, firewall: &mut Firewall, desk: &mut Desk) -> Condition {
        let result = firewall.reconcile(|firewall| desk.serve_waiting(firewall, &mut self.grants));
        self.compared = Instant::now();
        let condition = &mut self.condition;
        condition.layers = firewall.layers();
        condition.barred = firewall.barred().unwrap_or(condition.barred);
        match result {
            Ok(found) => {
                for what in found.mended {
                    tracing::warn!(what, "something else had changed a part of the firewall; it is put back");
                    *condition.mended.entry(what).or_default() += 1;
                }
                condition.trouble = found.unseen.map(|error| error.to_string());
                self.failures = 0;
            }
            Err(error @ (FirewallError::NoInterface { .. } | FirewallError::NoAddress { .. })) => {
                condition.trouble = Some(error.to_string());
                self.failures = 0;
            }
            Err(error) => {
                self.failures += 1;
                condition.trouble = Some(error.to_string());
                if self.failures == FAILURES_MAX {
                    firewall.stop_forwarding();
                    condition.is_lost = true;
                }
            }
        }
        condition.clone()
    }
}

impl Grants {
    /// Keeps in mind who could not be let through.
    fn keep_unopened(&mut self, order: &Order) {
        if let Order::Open(address, class, most) = order {
            self.unopened.insert(*address, (*class, *most));
        }
    }

    /// Tries again to let those through who could not be, unless they are closed meanwhile; whom it worked for.
    fn open_again(&mut self, firewall: &mut Firewall) -> Vec<Address> {
        let mut opened = Vec::new();
        for (address, (class, most)) in self.unopened.clone() {
            if self.carry_out(firewall, &Order::Open(address, class, most)).is_ok() {
                self.unopened.remove(&address);
                opened.push(address);
            }
        }
        opened
    }

    fn carry_out(&mut self, firewall: &mut Firewall, order: &Order) -> Result<Option<Done>, FirewallError> {
        match order {
            Order::Open(address, class, Bytes(most)) => {
                let (mac, class) = (MacAddress::new(address.mac)?, firewall_class(*class));
                match address.home {
                    None => firewall.grant(mac, address.ip, class, *most)?,
                    Some(home) => firewall.grant_tunnel(mac, address.ip, home, class, *most)?,
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
                self.unopened.remove(address);
                let mac = MacAddress::new(address.mac)?;
                let used = match address.home {
                    None => firewall.close(mac, address.ip),
                    Some(home) => firewall.close_tunnel(mac, address.ip, home),
                };
                match used {
                    Ok(used) => Ok(Some(Done::Closed(*address, used))),
                    // It was never let through.
                    Err(FirewallError::NotGranted { .. }) => {
                        Ok(Some(Done::Closed(*address, Traffic::default())))
                    }
                    // Its gates are not kept open, so they shut; and the machine asks again until it is closed.
                    Err(error) => Err(error),
                }
            }
            Order::Read { gates: open, rates } => {
                let mut reading = self.read(firewall)?;
                let gate = |gate: &Gate| guestright_firewall::Gate {
                    address: gate.address.ip,
                    home: gate.address.home,
                    most: gate.most.0,
                    window: gate.window.0,
                };
                let gates: Vec<_> = open.iter().map(gate).collect();
                firewall.renew(&gates)?;
                // Behind what guests wait for: a driver may take its time.
                reading.stations = (cfg!(feature = "radio") && *rates).then(|| self.radios.stations());
                Ok(Some(Done::Read(Box::new(reading))))
            }
            Order::Reconfigure { lease_ms, shaping } => {
                let result = firewall.reconfigure(*lease_ms, *shaping);
                Ok(Some(Done::Reconfigured(result.map_err(|error| error.to_string()))))
            }
            Order::CountBarred => Ok(firewall.barred().ok().map(Done::Barred)),
            Order::Compare | Order::Stop => Ok(None),
        }
    }

    fn read(&mut self, firewall: &mut Firewall) -> Result<Reading, FirewallError> {
        let of = |((mac, ip, home), reading): (Passing, firewall::Reading)| {
            (Address { mac: mac.bytes(), ip, home }, reading)
        };
        let passing = firewall.read()?.into_iter().map(of).collect();
        let (drops, allowance) = firewall.drops_and_allowance()?;
        Ok(Reading {
            passing,
            stations: None,
            drops,
            allowance: Bytes(allowance),
            tunnels: self.tunnels(firewall)?,
        })
    }

    /// Tunnels without a session; of each visitor one.
    fn tunnels(
        &mut self,
        firewall: &mut Firewall,
    ) -> Result<Vec<(Ipv4Addr, Ipv4Addr, NonZeroU16)>, FirewallError> {
        if self.looked_up.is_some_and(|at| at.elapsed() < LOOK_UP_EVERY) {
            return Ok(Vec::new());
        }
        let mut flows: BTreeSet<Flow> = firewall.flows()?;
        // IPsec's tunnel is at another port: its key exchange has moved there before there is one (RFC 7296, section 2.23).
        flows.retain(|flow| flow.home.port() != IKE_PORT);
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

pub(super) fn both_ways(traffic: Traffic) -> Bytes {
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
