//! The network of a call: laptop, radio, access point, wire, access point, radio, laptop; and the same way back.

mod messages;

use super::config::{Cells, Config, Phases};
use crate::cpu::{self, Cpu};
use crate::meter::{Loss, StreamMeter};
use crate::radio::{RadioCell, Usage, usage};
use crate::receipts::{Household, Mode, ProtocolConfig, ProtocolEvent, Receipts};
use guestright_engine::{Instant, Key, Nanos, Part, Pool, Queue, Streams};
use guestright_experiment::SettingError;
use guestright_quality::{DelayMeter, Interval};
use guestright_transport::{Link, LinkEvent, LinkNumber};
use guestright_units::Seed;
use guestright_wlan::{self as wlan, Msdu, Output, StationId, Wlan};
use rand::RngExt;

/// How long a run goes on after the last packet was sent, for those on their way.
const DRAIN: Nanos = Nanos::from_seconds(5);

/// An end of the network: 0 is the laptop that is always there, 1 the other laptop, or the wired host.
type End = u8;

/// Everything that can be due.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A stream sends: call and the end it starts from.
    Send(u16, End),
    Radio(wlan::Event),
    Wire(LinkEvent),
    Cpu(End, cpu::Event),
    /// A verification of a call is due at an access point.
    Receipt(End, u16),
    Protocol(End, ProtocolEvent),
}

/// What is on its way.
#[derive(Clone, Copy, Debug)]
struct Packet {
    call: u16,
    /// The end where it started; messages of the protocol stay at their end.
    from: End,
    kind: Kind,
    born: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Voice { number: u32 },
    ToVisitor(Key),
    ToAccessPoint(Key),
}

/// An access point beside its radio.
#[derive(Debug)]
struct AccessPoint {
    cpu: Option<Cpu>,
    cell: RadioCell, // One laptop for all calls, or one for each.
    household: Option<Household>,
}

/// What the processor verifies.
#[derive(Clone, Copy, Debug)]
struct Ticket {
    /// The message that waits for it; none if verifications are emulated.
    message: Option<Key>,
    /// What it takes, without signing.
    verifying: Nanos,
}

/// What has been worked up to some instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Done {
    /// By each access point's processor.
    pub(super) cpus: Vec<cpu::Work>,
    /// By the busier channel, up to the last frame's end.
    pub(super) radio_busy: Nanos,
}

/// What a run gave.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) config: Config,
    /// By call, the one from end 0 first.
    pub(super) streams: Vec<StreamMeter>,
    pub(super) delays: DelayMeter,
    pub(super) losses: [u64; Loss::COUNT],
    pub(super) cpus: Vec<cpu::CpuStats>,
    /// Before the calls began, and up to their end.
    pub(super) done: [Done; 2],
    /// What the verifications that were finished took.
    pub(super) verifying: Nanos,
    pub(super) radio: Usage,
    pub(super) protocol: Vec<crate::receipts::ProtocolStats>,
    /// Messages of the protocol that were lost.
    pub(super) messages_lost: u64,
    pub(super) events: u64,
}

/// The network while it runs.
#[derive(Debug)]
pub(super) struct Network {
    config: Config,
    queue: Queue<Event>,
    packets: Pool<Packet>,
    letters: Pool<Vec<u8>>,
    tickets: Vec<Ticket>,
    free_tickets: Vec<u32>,
    radio: Wlan,
    wires: [Link; 2], // By the end where they start.
    points: Vec<AccessPoint>,
    streams: Vec<StreamMeter>,
    delays: DelayMeter,
    losses: [u64; Loss::COUNT],
    messages_lost: u64,
    verifying: Nanos,
}

impl Network {
    pub(super) fn new(config: Config, seed: Seed) -> Result<Self, SettingError> {
        let chance = Streams::new(seed);
        let mut queue = Queue::new();
        let cells = if config.cells == Cells::Wired { 1 } else { 2 };
        let laptops = if config.stations_per_call { config.calls } else { 1 };
        let layout = config.radio.layout(cells, config.cells == Cells::TwoChannels, laptops);
        let mut radio = layout.wlan(&chance)?;
        radio.start(&mut Part::new(&mut queue, Event::Radio));
        let wire = |number| {
            Link::new(LinkNumber(number), config.wire)
                .map_err(|error| SettingError::unfit("wire.rate_mbps", error.to_string()))
        };
        let wires = [wire(0)?, wire(1)?];
        let mut points = Vec::new();
        for (number, cell) in (0..).zip(layout.cells()) {
            let household = household(&config, number, &chance, &mut queue);
            let cpu = config.cpu.map(|(cpu, _)| Cpu::new(cpu));
            points.push(AccessPoint { cpu, cell: cell.clone(), household });
        }
        let mut network = Self {
            queue,
            packets: Pool::new(),
            letters: Pool::new(),
            tickets: Vec::new(),
            free_tickets: Vec::new(),
            radio,
            wires,
            points,
            streams: Vec::new(),
            delays: DelayMeter::default(),
            losses: [0; Loss::COUNT],
            messages_lost: 0,
            verifying: Nanos(0),
            config,
        };
        network.start_streams(&chance);
        network.start_receipts(&chance);
        Ok(network)
    }

    /// Runs until all packets have arrived or were lost.
    pub(super) fn run(mut self) -> Run {
        let begin = Instant::START + self.config.warmup;
        let end = begin + self.config.shape.interval + self.config.duration + DRAIN;
        let mut events = 0;
        // A processor's work is known up to the next event; so the calls' span is cut out exactly.
        let marks = [begin, begin + self.config.duration];
        let mut done: Vec<Done> = Vec::new();
        while self.queue.next_at().is_some_and(|at| at <= end) {
            while let Some(mark) = marks.get(done.len()).filter(|mark| self.queue.next_at() > Some(**mark)) {
                done.push(self.done(*mark));
            }
            let Some((now, event)) = self.queue.pop() else { break };
            events += 1;
            self.handle(event, now);
        }
        let done = [0, 1].map(|number| done.get(number).cloned().unwrap_or_else(|| self.done(marks[number])));
        let sent: u64 = self.streams.iter().map(|stream| u64::from(stream.sent())).sum();
        let delivered: u64 = self.streams.iter().map(StreamMeter::delivered).sum();
        let lost: u64 = self.losses.iter().sum();
        self.losses[Loss::Unfinished as usize] = sent - delivered - lost;
        Run {
            radio: self.usage(),
            streams: self.streams,
            delays: self.delays,
            losses: self.losses,
            cpus: self
                .points
                .iter()
                .map(|point| point.cpu.as_ref().map(|cpu| *cpu.stats()).unwrap_or_default())
                .collect(),
            protocol: self
                .points
                .iter()
                .filter_map(|point| point.household.as_ref().map(|household| *household.stats()))
                .collect(),
            messages_lost: self.messages_lost,
            events,
            done,
            verifying: self.verifying,
            config: self.config,
        }
    }

    fn done(&self, at: Instant) -> Done {
        let work = |point: &AccessPoint| point.cpu.as_ref().map(|cpu| cpu.work(at)).unwrap_or_default();
        Done { cpus: self.points.iter().map(work).collect(), radio_busy: self.usage().busy }
    }

    fn usage(&self) -> Usage {
        usage(&self.radio, self.points.iter().map(|point| &point.cell))
    }

    fn start_streams(&mut self, chance: &Streams) {
        let interval = self.config.shape.interval.0.max(1);
        let mut phases = chance.stream("phase", 0);
        let count = u64::from(self.config.calls) * 2;
        for call in 0..self.config.calls {
            for from in 0..2 {
                let index = u64::from(call) * 2 + u64::from(from);
                let phase = match self.config.phases {
                    Phases::Random => phases.random_range(0..interval),
                    Phases::Even => index * interval / count,
                };
                let start = Instant::START + self.config.warmup + Nanos(phase);
                self.streams.push(StreamMeter::new(&self.config.shape, start));
                if self.config.packets() > 0 {
                    self.queue.push(start, Event::Send(call, from));
                }
            }
        }
    }

    fn start_receipts(&mut self, chance: &Streams) {
        let Some(Receipts { mode: Mode::Emulated(offsets), interval, .. }) = self.config.receipts else {
            return;
        };
        for number in (0..).take(self.points.len()) {
            let first = offsets.first(interval, self.config.calls, u64::from(number), chance);
            for (call, at) in (0..).zip(first) {
                self.queue.push(at, Event::Receipt(number, call));
            }
        }
    }

    fn handle(&mut self, event: Event, now: Instant) {
        match event {
            Event::Send(call, from) => self.send(call, from, now),
            Event::Radio(event) => {
                self.radio.handle(event, &mut Part::new(&mut self.queue, Event::Radio));
                self.drain_radio(now);
            }
            Event::Wire(event) => {
                let from = End::from(event.link.0 == 1);
                let wire = &mut self.wires[usize::from(from)];
                wire.handle(event, &mut Part::new(&mut self.queue, Event::Wire));
                if let Some(delivered) = wire.poll_output() {
                    self.leave_wire(delivered.key, from, now);
                }
            }
            Event::Cpu(at, event) => self.run_cpu(at, event, now),
            Event::Receipt(at, call) => {
                let Some(receipts) = &self.config.receipts else { return };
                let next = now + receipts.interval;
                let cost = receipts.cost.verify_ms;
                self.verify(at, None, (cost, 0.0), now);
                if next < Instant::START + self.config.warmup + self.config.duration {
                    self.queue.push(next, Event::Receipt(at, call));
                }
            }
            Event::Protocol(at, event) => {
                let queue = &mut self.queue;
                if let Some(household) = &mut self.points[usize::from(at)].household {
                    household.handle(event, &mut Part::new(queue, protocol_event(at)));
                }
                self.drain_household(at, now);
            }
        }
    }

    /// A stream's next packet starts on its way.
    fn send(&mut self, call: u16, from: End, now: Instant) {
        let stream = &mut self.streams[usize::from(call) * 2 + usize::from(from)];
        let number = stream.send();
        if number + 1 < self.config.packets() {
            self.queue.push(now + self.config.shape.interval, Event::Send(call, from));
        }
        let key = self.packets.insert(Packet { call, from, kind: Kind::Voice { number }, born: now });
        match self.points.get_mut(usize::from(from)) {
            Some(point) => {
                if let Some(household) = &mut point.household {
                    household.meter(call, self.config.shape.packet_bytes());
                }
                let laptop = point.laptop(call);
                let to = point.cell.access_point;
                if !self.transmit(laptop, to, key, self.config.tunnel.radio_bytes) {
                    self.lose(key, Loss::StationQueue);
                }
            }
            None => self.enter_wire(key, from),
        }
    }

    fn transmit(&mut self, station: StationId, to: StationId, key: Key, bytes: u32) -> bool {
        self.radio.enqueue(station, Msdu { key, bytes, to }, &mut Part::new(&mut self.queue, Event::Radio))
    }

    fn drain_radio(&mut self, now: Instant) {
        while let Some(output) = self.radio.poll_output() {
            match output {
                Output::Delivered { station, msdu, .. } => {
                    let packet = *self.packets.get(msdu.key);
                    match packet.kind {
                        Kind::ToVisitor(letter) => self.reach_visitor(msdu.key, packet, letter, now),
                        Kind::ToAccessPoint(letter) => self.reach_access_point(msdu.key, packet, letter, now),
                        Kind::Voice { number } => match self.point_of(station) {
                            Some(at) => self.enter_access_point(msdu.key, at, now),
                            None => self.hear(msdu.key, packet, number, now),
                        },
                    }
                }
                Output::Dropped { msdu, .. } => self.lose(msdu.key, Loss::Retries),
            }
        }
    }

    /// Which access point a station is.
    fn point_of(&self, station: StationId) -> Option<End> {
        (0..).zip(&self.points).find(|(_, point)| point.cell.access_point == station).map(|(at, _)| at)
    }

    /// A packet comes to an access point, from the radio or from the wire.
    fn enter_access_point(&mut self, key: Key, at: End, now: Instant) {
        let packet = *self.packets.get(key);
        let tunnel = self.config.tunnel;
        let point = &mut self.points[usize::from(at)];
        if let Some(household) = &mut point.household
            && !household.pass(packet.call, self.config.shape.packet_bytes())
        {
            return self.lose(key, Loss::Closed);
        }
        let (Some(cpu), Some((_, costs))) = (&mut point.cpu, &self.config.cpu) else {
            return self.leave_access_point(key, at, now);
        };
        let cost = if tunnel.ends_here {
            costs.nat(tunnel.wire_bytes) + costs.esp(tunnel.radio_bytes)
        } else {
            costs.nat(tunnel.wire_bytes)
        };
        if !cpu.forward(key, cost, &mut Part::new(&mut self.queue, cpu_event(at))) {
            self.lose(key, Loss::Backlog);
        }
    }

    /// An access point's processor has forwarded a packet: to the wire, or to the laptop.
    fn leave_access_point(&mut self, key: Key, at: End, _now: Instant) {
        let packet = *self.packets.get(key);
        if packet.from == at {
            return self.enter_wire(key, at);
        }
        let point = &self.points[usize::from(at)];
        let (station, laptop) = (point.cell.access_point, point.laptop(packet.call));
        if !self.transmit(station, laptop, key, self.config.tunnel.radio_bytes) {
            self.lose(key, Loss::AccessPointQueue);
        }
    }

    fn enter_wire(&mut self, key: Key, from: End) {
        let wire = &mut self.wires[usize::from(from)];
        if !wire.enqueue(key, self.config.tunnel.wire_bytes, &mut Part::new(&mut self.queue, Event::Wire)) {
            self.lose(key, Loss::Wire);
        }
    }

    fn leave_wire(&mut self, key: Key, from: End, now: Instant) {
        let to = 1 - from;
        if usize::from(to) < self.points.len() {
            return self.enter_access_point(key, to, now);
        }
        let packet = *self.packets.get(key);
        if let Kind::Voice { number } = packet.kind {
            self.hear(key, packet, number, now);
        }
    }

    /// A packet is at the ear.
    fn hear(&mut self, key: Key, packet: Packet, number: u32, now: Instant) {
        self.packets.remove(key);
        let stream = &mut self.streams[usize::from(packet.call) * 2 + usize::from(packet.from)];
        let delay_ms = stream.deliver(number, packet.born, now);
        self.delays.add(Interval::exact(delay_ms));
        let to = usize::from(1 - packet.from);
        if let Some(household) = self.points.get_mut(to).and_then(|point| point.household.as_mut()) {
            household.meter(packet.call, self.config.shape.packet_bytes());
        }
    }

    fn lose(&mut self, key: Key, loss: Loss) {
        let packet = self.packets.remove(key);
        match packet.kind {
            Kind::Voice { .. } => self.losses[loss as usize] += 1,
            Kind::ToVisitor(letter) | Kind::ToAccessPoint(letter) => {
                self.letters.remove(letter);
                self.messages_lost += 1;
            }
        }
    }

    /// Has an access point's processor verify; without one it is done at once.
    fn verify(&mut self, at: End, message: Option<Key>, ms: (f64, f64), now: Instant) {
        let (Some(cpu), Some((_, costs))) = (&mut self.points[usize::from(at)].cpu, &self.config.cpu) else {
            return self.verified(at, message, now);
        };
        let (verifying, signing) = (costs.verification(ms.0), costs.verification(ms.1));
        let ticket = Ticket { message, verifying };
        let number = self.free_tickets.pop().unwrap_or_else(|| {
            self.tickets.push(ticket);
            u32::try_from(self.tickets.len() - 1).expect("processors limit what waits for them")
        });
        self.tickets[number as usize] = ticket;
        if !cpu.verify(number, verifying + signing, &mut Part::new(&mut self.queue, cpu_event(at))) {
            self.free_tickets.push(number);
            if let Some(key) = message {
                self.lose(key, Loss::Backlog);
            }
        }
    }

    fn run_cpu(&mut self, at: End, event: cpu::Event, now: Instant) {
        let Some(cpu) = &mut self.points[usize::from(at)].cpu else { return };
        cpu.handle(event, &mut Part::new(&mut self.queue, cpu_event(at)));
        while let Some(output) = self.points[usize::from(at)].cpu.as_mut().and_then(Cpu::poll_output) {
            match output {
                cpu::Output::Forwarded(key) => self.leave_access_point(key, at, now),
                cpu::Output::Verified(number) => {
                    self.free_tickets.push(number);
                    let Ticket { message, verifying } = self.tickets[number as usize];
                    self.verifying += verifying;
                    self.verified(at, message, now);
                }
            }
        }
    }
}

impl AccessPoint {
    fn laptop(&self, call: u16) -> StationId {
        self.cell.laptops[usize::from(call) % self.cell.laptops.len()]
    }
}

fn household(config: &Config, number: u8, chance: &Streams, queue: &mut Queue<Event>) -> Option<Household> {
    let receipts = config.receipts.as_ref().filter(|receipts| receipts.mode == Mode::Protocol)?;
    // Visitors come in the first half of the warm-up, and have the second to open their sessions.
    let protocol = ProtocolConfig { number, calls: config.calls, arrival: Nanos(config.warmup.0 / 2) };
    Some(Household::new(protocol, receipts, chance, &mut Part::new(queue, protocol_event(number))))
}

fn cpu_event(at: End) -> fn(cpu::Event) -> Event {
    if at == 0 { |event| Event::Cpu(0, event) } else { |event| Event::Cpu(1, event) }
}

fn protocol_event(at: End) -> fn(ProtocolEvent) -> Event {
    if at == 0 { |event| Event::Protocol(0, event) } else { |event| Event::Protocol(1, event) }
}
