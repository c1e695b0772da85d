//! The simulator's TCP at both ends of the wires, in virtual time.

use super::wires::{Between, Carried, WireEvent, Wires, WiresReport};
use crate::overhead::Wrapping;
use guestright_congestion::{Reno, RenoSettings};
use guestright_engine::{Instant, Nanos, Part, Queue};
use guestright_experiment::SettingError;
use guestright_transport::{
    Flow, LinkSettings, Receiver, ReceiverSettings, Segment, Sender, SenderSettings, SenderState, TcpEvent,
};

/// Receipts that the router verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipts {
    /// How long one verification takes the processor.
    pub cost: Nanos,
    /// How often each host brings one.
    pub interval: Nanos,
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

/// What one transfer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowReport {
    /// Bytes that its receiver has in order.
    pub bytes: u64,
    pub started: Instant,
    /// When its sender knew that everything had arrived.
    pub finished: Option<Instant>,
    pub timeouts: u64,
    /// Segments that were sent again.
    pub retransmitted: u64,
}

/// What all of them did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub flows: Vec<FlowReport>,
    pub wires: WiresReport,
    /// Receipts that were due.
    pub receipts: u64,
    pub ended: Instant,
    /// Packets that hosts sent.
    pub packets: u64,
    pub events: u64,
    /// Packets that reached the host they were for.
    pub arrived: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Start(u32),
    Receipt(u32),
    Tcp(TcpEvent),
    Wire(WireEvent),
}

impl From<WireEvent> for Event {
    fn from(event: WireEvent) -> Self {
        Self::Wire(event)
    }
}

/// Hosts, cables, switches and a router.
pub(super) struct Network {
    queue: Queue<Event>,
    wires: Wires<Segment>,
    senders: Vec<Sender<Reno>>,
    receivers: Vec<Receiver>,
    receipts: Option<Receipts>,
    report: Report,
    over: Vec<bool>,
    running: usize,
    bytes: u64,
    until: Instant,
}

impl Network {
    pub(super) fn new(config: &Config) -> Result<Self, SettingError> {
        let flows = u32::try_from(config.starts.len()).expect("there are few flows");
        let refuse =
            |error: &dyn std::fmt::Display| SettingError::unfit("tcp.window_bytes", error.to_string());
        let mut network = Self {
            queue: Queue::new(),
            wires: Wires::new(flows, config.between, config.wrapping, config.link)?,
            senders: Vec::new(),
            receivers: Vec::new(),
            receipts: config.receipts,
            report: Report::default(),
            over: vec![false; config.starts.len()],
            running: config.starts.len(),
            bytes: config.bytes,
            until: config.until,
        };
        for flow in 0..flows {
            let reno = Reno::new(config.reno).map_err(|error| refuse(&error))?;
            let sender = Sender::new(Flow(flow), config.sender, reno).map_err(|error| refuse(&error))?;
            let receiver = Receiver::new(Flow(flow), config.receiver).map_err(|error| refuse(&error))?;
            network.senders.push(sender);
            network.receivers.push(receiver);
        }
        for (flow, (start, receipt)) in (0_u32..).zip(&config.starts) {
            network.queue.push(*start, Event::Start(flow));
            if network.receipts.is_some() {
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
        self.report.wires = self.wires.report();
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
            Event::Wire(event) => {
                self.wires.handle(event, &mut self.queue);
                while let Some(carried) = self.wires.poll_arrived() {
                    self.deliver(&carried);
                }
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
        self.wires.enter(Carried { flow, is_ack, bytes, what: segment }, &mut self.queue);
    }

    fn deliver(&mut self, carried: &Carried<Segment>) {
        self.report.arrived += 1;
        let agenda = &mut Part::new(&mut self.queue, Event::Tcp);
        if carried.is_ack {
            self.senders[carried.flow as usize].handle_segment(&carried.what, agenda);
        } else {
            self.receivers[carried.flow as usize].handle_segment(&carried.what, agenda);
        }
        self.send(carried.flow);
    }

    fn handle_receipt(&mut self, flow: u32) {
        let Some(receipts) = self.receipts else { return };
        if self.over[flow as usize] {
            return;
        }
        self.report.receipts += 1;
        self.wires.verify(flow, receipts.cost, &mut self.queue);
        self.queue.push(self.queue.now() + receipts.interval, Event::Receipt(flow));
    }
}
