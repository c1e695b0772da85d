//! What is between the hosts: cables, switches, and the router with its processor.
//!
//! It knows no TCP. Whoever has ends puts in what they send ([`Wires::enter`]) and takes out what reaches a host
//! ([`Wires::poll_arrived`]): the simulator's TCP in virtual time, or two kernels' in real time.

use crate::cpu::{self, Costs, Cpu, CpuConfig, CpuStats};
use crate::overhead::Wrapping;
use guestright_engine::{Key, Nanos, Part, Pool, Queue};
use guestright_experiment::SettingError;
use guestright_transport::{Link, LinkEvent, LinkNumber, LinkSettings, LinkStatus};
use std::collections::VecDeque;

/// What stands between the hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Between {
    /// One switch, to which all hosts are connected: every flow has its own ports.
    OneSwitch,
    /// Two switches and a cable: all flows share the cable.
    TwoSwitches,
    /// Two switches and the router; its processor, if it takes time.
    Router(Option<(CpuConfig, Costs)>),
}

/// Something that wires have scheduled for themselves.
#[derive(Clone, Copy, Debug)]
pub struct WireEvent(Due);

#[derive(Clone, Copy, Debug)]
enum Due {
    Link(LinkEvent),
    Cpu(cpu::Event),
}

/// A packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried<T> {
    /// The number of its transfer.
    pub flow: u32,
    /// From the receiver to the sender.
    pub is_ack: bool,
    /// Length as its sender's TCP has it, as on the router's outside.
    pub bytes: u32,
    pub what: T,
}

/// What wires did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WiresReport {
    pub(super) cpu: Option<CpuStats>,
    pub(super) link_drops: u64,
    /// Packets that are still somewhere.
    pub(super) left: u64,
}

/// A packet, and its length on the hosts' side of the router: in the tunnel, if there is one.
#[derive(Debug)]
struct Packet<T> {
    carried: Carried<T>,
    wrapped: u32,
}

/// Places of a link. Those of `SHARED` are there once, the others once for each flow.
const TO_ROUTER_INSIDE: u32 = 0;
const FROM_ROUTER_OUTSIDE: u32 = 1;
const TO_ROUTER_OUTSIDE: u32 = 2;
const FROM_ROUTER_INSIDE: u32 = 3;
const SHARED: u32 = 4;
const FROM_SENDER: u32 = 0;
const TO_RECEIVER: u32 = 1;
const FROM_RECEIVER: u32 = 2;
const TO_SENDER: u32 = 3;
const OWN: u32 = 4;

/// Cables, switches and a router, with packets on them.
#[derive(Debug)]
pub struct Wires<T> {
    pool: Pool<Packet<T>>,
    links: Vec<Link>,
    cpu: Option<(Cpu, Costs)>,
    between: Between,
    wrapping: Wrapping,
    /// Lengths in the tunnel of the packets that there are, by their own length.
    wrapped: Vec<u32>,
    arrived: VecDeque<Carried<T>>,
}

impl<T> Wires<T> {
    /// The longest packet that they take; Ethernet carries 1500 bytes.
    pub const BYTES_MAX: u32 = 2_047;

    /// Those of so many transfers.
    pub(super) fn new(
        flows: u32,
        between: Between,
        wrapping: Wrapping,
        link: LinkSettings,
    ) -> Result<Self, SettingError> {
        let mut links = Vec::new();
        for number in 0..SHARED + OWN * flows {
            let link = Link::new(LinkNumber(number), link)
                .map_err(|error| SettingError::unfit("link.queue_max", error.to_string()))?;
            links.push(link);
        }
        let cpu = match between {
            Between::Router(processor) => processor.map(|(cpu, costs)| (Cpu::new(cpu), costs)),
            Between::OneSwitch | Between::TwoSwitches => None,
        };
        let wrapped = vec![0; Self::BYTES_MAX as usize + 1];
        let (pool, arrived) = (Pool::new(), VecDeque::new());
        Ok(Self { pool, links, cpu, between, wrapping, wrapped, arrived })
    }

    /// A host sends a packet of at most [`Self::BYTES_MAX`].
    pub fn enter<E: From<WireEvent>>(&mut self, carried: Carried<T>, queue: &mut Queue<E>) {
        let wrapped = self.wrapped(carried.bytes);
        let offset = if carried.is_ack { FROM_RECEIVER } else { FROM_SENDER };
        let link = SHARED + OWN * carried.flow + offset;
        let key = self.pool.insert(Packet { carried, wrapped });
        self.enqueue(link, key, queue);
    }

    /// Takes an event that it had scheduled.
    pub fn handle<E: From<WireEvent>>(&mut self, event: WireEvent, queue: &mut Queue<E>) {
        match event.0 {
            Due::Link(event) => {
                let link = event.link.0 as usize;
                self.links[link].handle(event, &mut links_part(queue));
                while let Some(packet) = self.links[link].poll_output() {
                    self.reached(event.link.0, packet.key, queue);
                }
            }
            Due::Cpu(event) => {
                if let Some((cpu, _)) = &mut self.cpu {
                    cpu.handle(event, &mut cpu_part(queue));
                }
                self.drain_cpu(queue);
            }
        }
    }

    /// The router has a receipt of a host's to verify, which takes `cost`; nothing, if its processor takes no time.
    pub fn verify<E: From<WireEvent>>(&mut self, flow: u32, cost: Nanos, queue: &mut Queue<E>) {
        if let Some((cpu, _)) = &mut self.cpu {
            cpu.verify(flow, cost, &mut cpu_part(queue));
        }
        self.drain_cpu(queue);
    }

    /// What has reached the host that it is for, oldest first; to be drained after every call.
    pub fn poll_arrived(&mut self) -> Option<Carried<T>> {
        self.arrived.pop_front()
    }

    /// Whether nothing is on its way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.pool.is_empty() && self.arrived.is_empty()
    }

    /// What they did so far.
    #[must_use]
    pub fn report(&self) -> WiresReport {
        WiresReport {
            cpu: self.cpu.as_ref().map(|(cpu, _)| *cpu.stats()),
            link_drops: self.links.iter().map(|link| link.stats().dropped).sum(),
            left: self.pool.len() as u64,
        }
    }

    fn wrapped(&mut self, bytes: u32) -> u32 {
        let known = &mut self.wrapped[bytes as usize];
        if *known == 0 {
            let wire = self.wrapping.wire_len(bytes as usize);
            *known = u32::try_from(wire).expect("a tunnel adds little");
        }
        *known
    }

    /// Puts a packet on a link, with the length that it has there.
    fn enqueue<E: From<WireEvent>>(&mut self, link: u32, key: Key, queue: &mut Queue<E>) {
        let packet = self.pool.get(key);
        let is_inside = match link {
            FROM_ROUTER_OUTSIDE | TO_ROUTER_OUTSIDE => false,
            TO_ROUTER_INSIDE | FROM_ROUTER_INSIDE => true,
            own => matches!((own - SHARED) % OWN, FROM_SENDER | TO_SENDER),
        };
        let bytes = if is_inside { packet.wrapped } else { packet.carried.bytes };
        if !self.links[link as usize].enqueue(key, bytes, &mut links_part(queue)) {
            self.pool.remove(key);
        }
    }

    /// A packet is at the end of a link.
    fn reached<E: From<WireEvent>>(&mut self, link: u32, key: Key, queue: &mut Queue<E>) {
        let flow = self.pool.get(key).carried.flow;
        let own = |offset: u32| SHARED + OWN * flow + offset;
        match (link, self.between) {
            (TO_ROUTER_INSIDE | TO_ROUTER_OUTSIDE, Between::Router(_)) => self.route(key, queue),
            (TO_ROUTER_INSIDE | FROM_ROUTER_OUTSIDE, _) => self.enqueue(own(TO_RECEIVER), key, queue),
            (TO_ROUTER_OUTSIDE | FROM_ROUTER_INSIDE, _) => self.enqueue(own(TO_SENDER), key, queue),
            (_, between) => match ((link - SHARED) % OWN, between) {
                (FROM_SENDER, Between::OneSwitch) => self.enqueue(own(TO_RECEIVER), key, queue),
                (FROM_RECEIVER, Between::OneSwitch) => self.enqueue(own(TO_SENDER), key, queue),
                (FROM_SENDER, _) => self.enqueue(TO_ROUTER_INSIDE, key, queue),
                (FROM_RECEIVER, _) => self.enqueue(TO_ROUTER_OUTSIDE, key, queue),
                _ => self.arrived.push_back(self.pool.remove(key).carried),
            },
        }
    }

    /// The router has a packet: its processor translates addresses, and is the tunnel's end.
    fn route<E: From<WireEvent>>(&mut self, key: Key, queue: &mut Queue<E>) {
        let Some((cpu, costs)) = &mut self.cpu else {
            self.forward(key, queue);
            return;
        };
        let packet = self.pool.get(key);
        let tunnel = if self.wrapping == Wrapping::None { Nanos(0) } else { costs.esp(packet.wrapped) };
        let cost = costs.nat(packet.carried.bytes) + tunnel;
        if !cpu.forward(key, cost, &mut cpu_part(queue)) {
            self.pool.remove(key);
        }
        self.drain_cpu(queue);
    }

    fn drain_cpu<E: From<WireEvent>>(&mut self, queue: &mut Queue<E>) {
        while let Some(output) = self.cpu.as_mut().and_then(|(cpu, _)| cpu.poll_output()) {
            match output {
                cpu::Output::Forwarded(key) => self.forward(key, queue),
                cpu::Output::Verified(_) => {}
            }
        }
    }

    fn forward<E: From<WireEvent>>(&mut self, key: Key, queue: &mut Queue<E>) {
        let is_ack = self.pool.get(key).carried.is_ack;
        self.enqueue(if is_ack { FROM_ROUTER_INSIDE } else { FROM_ROUTER_OUTSIDE }, key, queue);
    }
}

fn links_part<E: From<WireEvent>>(queue: &mut Queue<E>) -> Part<'_, E, LinkEvent> {
    Part::new(queue, |event| E::from(WireEvent(Due::Link(event))))
}

fn cpu_part<E: From<WireEvent>>(queue: &mut Queue<E>) -> Part<'_, E, cpu::Event> {
    Part::new(queue, |event| E::from(WireEvent(Due::Cpu(event))))
}
