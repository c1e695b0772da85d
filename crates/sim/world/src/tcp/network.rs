use crate::cpu::{self, Costs, Cpu, CpuConfig, CpuStats};
use crate::overhead::Wrapping;
use guestright_congestion::{Reno, RenoSettings};
use guestright_engine::{Instant, Key, Nanos, Part, Pool, Queue};
use guestright_experiment::SettingError;
use guestright_transport::{
    Flow, Link, LinkEvent, LinkNumber, LinkSettings, LinkStatus, Receiver, ReceiverSettings, Segment, Sender,
    SenderSettings, SenderState, TcpEvent,
};

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

/// Receipts that the router verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Receipts {
    /// How long one verification takes the processor.
    pub(super) cost: Nanos,
    /// How often each host brings one.
    pub(super) interval: Nanos,
}

/// What a run is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    pub(super) bytes: u64,
    pub(super) between: Between,
    pub(super) wrapping: Wrapping,
    pub(super) receipts: Option<Receipts>,
    pub(super) link: LinkSettings,
    pub(super) sender: SenderSettings,
    pub(super) reno: RenoSettings,
    pub(super) receiver: ReceiverSettings,
    /// For each flow, when it starts, and when its first receipt comes.
    pub(super) starts: Vec<(Instant, Instant)>,
    pub(super) until: Instant,
}

/// What one flow did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FlowReport {
    pub(super) bytes: u64,
    pub(super) started: Instant,
    pub(super) finished: Option<Instant>,
    pub(super) timeouts: u64,
    pub(super) retransmitted: u64,
}

/// What all of them did.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Report {
    pub(super) flows: Vec<FlowReport>,
    pub(super) cpu: Option<CpuStats>,
    /// Receipts that were due.
    pub(super) receipts: u64,
    pub(super) link_drops: u64,
    pub(super) ended: Instant,
    pub(super) packets: u64,
    pub(super) events: u64,
    /// Packets that were still somewhere when the run ended.
    pub(super) left: u64,
    /// Packets that reached the host they were for.
    pub(super) arrived: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Start(u32),
    Receipt(u32),
    Link(LinkEvent),
    Tcp(TcpEvent),
    Cpu(cpu::Event),
}

/// A segment on its way.
#[derive(Clone, Copy, Debug)]
struct Packet {
    segment: Segment,
    flow: u32,
    is_ack: bool,
    /// Length as its sender's TCP has it, as on the router's outside.
    bytes: u32,
    /// Length on the hosts' side of the router: in the tunnel, if there is one.
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

/// Hosts, cables, switches and a router.
pub(super) struct Network {
    queue: Queue<Event>,
    pool: Pool<Packet>,
    links: Vec<Link>,
    senders: Vec<Sender<Reno>>,
    receivers: Vec<Receiver>,
    cpu: Option<(Cpu, Costs)>,
    between: Between,
    wrapping: Wrapping,
    /// Lengths in the tunnel of the packets that there are, by their own length.
    wrapped: Vec<u32>,
    receipts: Option<Receipts>,
    report: Report,
    over: Vec<bool>,
    running: usize,
    bytes: u64,
    until: Instant,
}

/// Longer than any packet: Ethernet carries 1500 bytes.
const BYTES_MAX: usize = 2_048;

impl Network {
    pub(super) fn new(config: &Config) -> Result<Self, SettingError> {
        let flows = u32::try_from(config.starts.len()).expect("there are few flows");
        let refuse =
            |error: &dyn std::fmt::Display| SettingError::unfit("tcp.window_bytes", error.to_string());
        let unfit_link =
            |error: &dyn std::fmt::Display| SettingError::unfit("link.queue_max", error.to_string());
        let mut network = Self {
            queue: Queue::new(),
            pool: Pool::new(),
            links: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            cpu: None,
            between: config.between,
            wrapping: config.wrapping,
            wrapped: vec![0; BYTES_MAX],
            receipts: config.receipts,
            report: Report::default(),
            over: vec![false; config.starts.len()],
            running: config.starts.len(),
            bytes: config.bytes,
            until: config.until,
        };
        for number in 0..SHARED + OWN * flows {
            let link = Link::new(LinkNumber(number), config.link).map_err(|error| unfit_link(&error))?;
            network.links.push(link);
        }
        if let Between::Router(Some((cpu, costs))) = config.between {
            network.cpu = Some((Cpu::new(cpu), costs));
        }
        for flow in 0..flows {
            let reno = Reno::new(config.reno).map_err(|error| refuse(&error))?;
            let sender = Sender::new(Flow(flow), config.sender, reno).map_err(|error| refuse(&error))?;
            let receiver = Receiver::new(Flow(flow), config.receiver).map_err(|error| refuse(&error))?;
            network.senders.push(sender);
            network.receivers.push(receiver);
        }
        for (flow, (start, receipt)) in (0_u32..).zip(&config.starts) {
            network.queue.push(*start, Event::Start(flow));
            if network.receipts.is_some() && network.cpu.is_some() {
                network.queue.push(*receipt, Event::Receipt(flow));
            }
            network.report.flows.push(FlowReport { started: *start, ..FlowReport::default() });
        }
        Ok(network)
    }

    /// Runs until every flow is finished, or the time is over.
    pub(super) fn run(mut self) -> Report {
        while self.running > 0 && self.queue.next_at().is_some_and(|at| at <= self.until) {
            let Some((_, event)) = self.queue.pop() else { break };
            self.report.events += 1;
            self.step(event);
        }
        for ((sender, receiver), flow) in self.senders.iter().zip(&self.receivers).zip(&mut self.report.flows)
        {
            flow.bytes = receiver.delivered();
            flow.finished = sender.finished_at();
            flow.timeouts = sender.stats().timeouts;
            flow.retransmitted = sender.stats().again;
        }
        self.report.ended = self.queue.now();
        self.report.cpu = self.cpu.as_ref().map(|(cpu, _)| *cpu.stats());
        self.report.link_drops = self.links.iter().map(|link| link.stats().dropped).sum();
        self.report.left = self.pool.len() as u64;
        self.report
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Start(flow) => {
                let sender = &mut self.senders[flow as usize];
                sender.write(self.bytes);
                sender.close();
                self.send(flow);
            }
            Event::Receipt(flow) => self.handle_receipt(flow),
            Event::Tcp(event) => {
                let flow = event.flow.0;
                let agenda = &mut Part::new(&mut self.queue, Event::Tcp);
                self.senders[flow as usize].handle(event, agenda);
                self.receivers[flow as usize].handle(event, agenda);
                self.send(flow);
            }
            Event::Link(event) => {
                let link = &mut self.links[event.link.0 as usize];
                link.handle(event, &mut Part::new(&mut self.queue, Event::Link));
                while let Some(packet) = self.links[event.link.0 as usize].poll_output() {
                    self.arrived(event.link.0, packet.key);
                }
            }
            Event::Cpu(event) => {
                if let Some((cpu, _)) = &mut self.cpu {
                    cpu.handle(event, &mut Part::new(&mut self.queue, Event::Cpu));
                }
                self.drain_cpu();
            }
        }
    }

    /// Sends what the two ends of a flow have to say.
    fn send(&mut self, flow: u32) {
        let index = flow as usize;
        while let Some(segment) =
            self.senders[index].poll_segment(&mut Part::new(&mut self.queue, Event::Tcp))
        {
            let bytes = self.senders[index].packet_bytes(&segment);
            self.emit(segment, flow, false, bytes);
        }
        while let Some(segment) =
            self.receivers[index].poll_segment(&mut Part::new(&mut self.queue, Event::Tcp))
        {
            let bytes = self.receivers[index].packet_bytes(&segment);
            self.emit(segment, flow, true, bytes);
        }
        let is_over = matches!(self.senders[index].state(), SenderState::Finished | SenderState::Aborted);
        if is_over && !self.over[index] {
            self.over[index] = true;
            self.running -= 1;
        }
    }

    fn emit(&mut self, segment: Segment, flow: u32, is_ack: bool, bytes: u32) {
        self.report.packets += 1;
        let wrapped = self.wrapped(bytes);
        let key = self.pool.insert(Packet { segment, flow, is_ack, bytes, wrapped });
        let offset = if is_ack { FROM_RECEIVER } else { FROM_SENDER };
        self.enqueue(SHARED + OWN * flow + offset, key);
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
    fn enqueue(&mut self, link: u32, key: Key) {
        let packet = self.pool.get(key);
        let is_inside = match link {
            FROM_ROUTER_OUTSIDE | TO_ROUTER_OUTSIDE => false,
            TO_ROUTER_INSIDE | FROM_ROUTER_INSIDE => true,
            own => matches!((own - SHARED) % OWN, FROM_SENDER | TO_SENDER),
        };
        let bytes = if is_inside { packet.wrapped } else { packet.bytes };
        let agenda = &mut Part::new(&mut self.queue, Event::Link);
        if !self.links[link as usize].enqueue(key, bytes, agenda) {
            self.pool.remove(key);
        }
    }

    /// A packet is at the end of a link.
    fn arrived(&mut self, link: u32, key: Key) {
        let packet = *self.pool.get(key);
        let own = |offset: u32| SHARED + OWN * packet.flow + offset;
        match (link, self.between) {
            (TO_ROUTER_INSIDE | TO_ROUTER_OUTSIDE, Between::Router(_)) => self.route(key, &packet),
            (TO_ROUTER_INSIDE | FROM_ROUTER_OUTSIDE, _) => self.enqueue(own(TO_RECEIVER), key),
            (TO_ROUTER_OUTSIDE | FROM_ROUTER_INSIDE, _) => self.enqueue(own(TO_SENDER), key),
            (_, between) => match ((link - SHARED) % OWN, between) {
                (FROM_SENDER, Between::OneSwitch) => self.enqueue(own(TO_RECEIVER), key),
                (FROM_RECEIVER, Between::OneSwitch) => self.enqueue(own(TO_SENDER), key),
                (FROM_SENDER, _) => self.enqueue(TO_ROUTER_INSIDE, key),
                (FROM_RECEIVER, _) => self.enqueue(TO_ROUTER_OUTSIDE, key),
                _ => self.deliver(key),
            },
        }
    }

    fn deliver(&mut self, key: Key) {
        let packet = self.pool.remove(key);
        self.report.arrived += 1;
        let agenda = &mut Part::new(&mut self.queue, Event::Tcp);
        if packet.is_ack {
            self.senders[packet.flow as usize].handle_segment(&packet.segment, agenda);
        } else {
            self.receivers[packet.flow as usize].handle_segment(&packet.segment, agenda);
        }
        self.send(packet.flow);
    }

    /// The router has a packet: its processor translates addresses, and is the tunnel's end.
    fn route(&mut self, key: Key, packet: &Packet) {
        let Some((cpu, costs)) = &mut self.cpu else {
            self.forward(key);
            return;
        };
        let tunnel = if self.wrapping == Wrapping::None { Nanos(0) } else { costs.esp(packet.wrapped) };
        let cost = costs.nat(packet.bytes) + tunnel;
        if !cpu.forward(key, cost, &mut Part::new(&mut self.queue, Event::Cpu)) {
            self.pool.remove(key);
        }
        self.drain_cpu();
    }

    fn drain_cpu(&mut self) {
        while let Some(output) = self.cpu.as_mut().and_then(|(cpu, _)| cpu.poll_output()) {
            match output {
                cpu::Output::Forwarded(key) => self.forward(key),
                cpu::Output::Verified(_) => {}
            }
        }
    }

    fn forward(&mut self, key: Key) {
        let is_ack = self.pool.get(key).is_ack;
        self.enqueue(if is_ack { FROM_ROUTER_INSIDE } else { FROM_ROUTER_OUTSIDE }, key);
    }

    fn handle_receipt(&mut self, flow: u32) {
        let (Some(receipts), Some((cpu, _))) = (self.receipts, &mut self.cpu) else { return };
        if self.over[flow as usize] {
            return;
        }
        self.report.receipts += 1;
        cpu.verify(flow, receipts.cost, &mut Part::new(&mut self.queue, Event::Cpu));
        self.queue.push(self.queue.now() + receipts.interval, Event::Receipt(flow));
        self.drain_cpu();
    }
}
