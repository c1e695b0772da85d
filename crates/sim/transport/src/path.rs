//! The paper's network as one machine: calls and file transfers over two links in a row.
//!
//! ```text
//! voice source i --access--> R1 ==first==> R2 ==second==> R3 --access (errors)--> voice sink i
//!                     bulk source j --access--> R2        R3 --access--> bulk sink j
//! ```
//!
//! What sinks send takes the same way back. Each packet costs one event for each hop, and no memory of its own: packets
//! are small and copied, what belongs to a flow lies in tables by its number. The same configuration and chance give the
//! same packets on every computer.
//!
//! - A link's transmitter works as [`crate::Link`]'s: a packet is sent for its bits over the rate, rounded up to a
//!   nanosecond, and a queue's limit counts the packet that is being sent.
//! - A packet that the sink's link loses takes its time on the link, and nobody sees it arrive.
//! - The links of hosts have no limit on what waits, unless one is set.
//!
//! ```
//! use guestright_congestion::Reno;
//! use guestright_engine::{Instant, Streams};
//! use guestright_transport::path::{Call, Carrier, Path, PathConfig};
//! use guestright_units::Seed;
//!
//! let mut path = Path::<Reno>::new(PathConfig::paper_c(), &Streams::new(Seed::from_number(1)))?;
//! let arrivals = (0..100).map(|number| Instant(number * 20_000_000)).collect();
//! path.add_call(Call { arrivals, packet_bytes: 160, carrier: Carrier::Udp { header_bytes: 40 }, errors: None })?;
//! path.run(Instant(3_000_000_000));
//! let call = path.report().calls[0];
//! assert_eq!((call.made, call.delivered + call.errors), (100, 100));
//! # Ok::<(), guestright_transport::SettingsError>(())
//! ```

mod airborne;
mod config;
mod ends;
mod flow;
mod jitter;
mod lane;
mod line;
mod report;
mod slab;
mod step;
mod watch;
mod wheel;

pub use config::{Access, Bottleneck, Call, Carrier, PathConfig, TcpCarrier, Transfer};
use report::Tally;
pub use report::{FlowReport, PathReport};
pub use watch::{DeliveredPacket, DeliveredPackets, Watch};

use crate::error::SettingsError;
use crate::link::LinkStats;
use crate::tcp::{Flow, Receiver, ReceiverSettings, Sender, SenderSettings};
use airborne::Segments;
use flow::{Datagram, End, ForeignEnd, Slots, TcpEnd};
use guestright_congestion::Controller;
use guestright_engine::{Instant, Nanos, Streams};
use jitter::Jitter;
use lane::{Lanes, Loss};
use line::Line;
use slab::Slab;
use std::sync::Arc;
use wheel::Wheel;

/// Where a packet arrives, or what else happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A packet arrives at a router, on its way there.
    R1,
    R2,
    R3,
    /// A packet arrives at the sink.
    Sink,
    /// A packet arrives at a router, on its way back.
    BackR3,
    BackR2,
    BackR1,
    /// A packet arrives at the source.
    Source,
    /// The application speaks.
    Speak,
    /// A file transfer begins.
    Start,
    Retransmission,
    Pacing,
    Acknowledgement,
    /// Other ends' timers.
    SourceTimer,
    SinkTimer,
    /// A line with a managed queue wants to be looked at; its number stands in the place of the flow.
    Line,
}

/// An event: a packet that arrives, or something else.
#[derive(Clone, Copy, Debug)]
struct Parcel {
    flow: u32,
    /// UDP: the number of the packet; otherwise the place in the pool.
    key: u32,
    /// The length of the IP packet.
    bytes: u16,
    step: Step,
    marks: Marks,
}

/// What else is known of a packet, in one byte: an event takes twelve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks(u8);

impl Marks {
    const NONE: Self = Self(0);
    /// It has payload.
    const FULL: Self = Self(1);
    /// It may be marked (ECN).
    const CAPABLE: Self = Self(2);
    const MARKED: Self = Self(4);

    const fn new(full: bool, capable: bool) -> Self {
        Self((full as u8 * Self::FULL.0) | (capable as u8 * Self::CAPABLE.0))
    }
}

impl Parcel {
    const fn event(step: Step, flow: u32) -> Self {
        Self { flow, key: 0, bytes: 0, step, marks: Marks::NONE }
    }

    const fn has(&self, mark: Marks) -> bool {
        self.marks.0 & mark.0 != 0
    }

    const fn is_full(&self) -> bool {
        self.has(Marks::FULL)
    }

    const fn is_packet(&self) -> bool {
        matches!(
            self.step,
            Step::R1
                | Step::R2
                | Step::R3
                | Step::Sink
                | Step::BackR3
                | Step::BackR2
                | Step::BackR1
                | Step::Source
        )
    }
}

/// The network with its flows. `C`: congestion control of TCP flows. `W`: who is told of packets.
#[derive(Debug)]
pub struct Path<C, W = ()> {
    net: Net,
    ends: Vec<End>,
    tcps: Vec<TcpEnd<C>>,
    /// The settings of the TCP stream that was added last.
    senders: Option<Arc<SenderSettings>>,
    receivers: Option<Arc<ReceiverSettings>>,
    calls: Vec<Speech>,
    starts: Vec<Start>,
    watch: W,
    until: Instant,
}

/// Everything between the ends.
#[derive(Debug)]
struct Net {
    wheel: Wheel<Parcel>,
    jitter: Jitter,
    lanes: Lanes,
    /// R1 to R2, R2 to R1, R2 to R3, R3 to R2.
    lines: [Line; 4],
    segments: Segments,
    datagrams: Slab<Datagram>,
    tallies: Vec<Tally>,
    /// What happens seldom, and is not in the tallies.
    counts: Vec<FlowReport>,
    calls: u32,
    hops: u64,
    ecn: bool,
}

/// What a call says.
#[derive(Debug)]
#[repr(align(64))]
struct Speech {
    arrivals: Box<[Instant]>,
    /// Some arrivals, that of the packet which is spoken next among them. The others lie far from here, and from everything
    /// else that is in use: with thousands of calls it takes longer to fetch one from there than to do the rest of its event.
    group: [Instant; Self::GROUP],
    /// Packets that were spoken; of UDP whose way to R1 is known before, those that are on it or beyond.
    spoken: u32,
    packet_bytes: u32,
    /// UDP: bytes of the IP packet.
    wire_bytes: u16,
}

/// `settings`, or rather those that were added last, if they are the same.
fn shared<S: PartialEq>(last: &mut Option<Arc<S>>, settings: S) -> Arc<S> {
    if let Some(last) = last
        && **last == settings
    {
        return Arc::clone(last);
    }
    Arc::clone(last.insert(Arc::new(settings)))
}

/// When a file transfer begins, and what it has.
#[derive(Clone, Copy, Debug)]
struct Start {
    bytes: Option<u64>,
}

impl Speech {
    const GROUP: usize = 12;

    fn new(arrivals: Vec<Instant>, packet_bytes: u32, wire_bytes: u16) -> Self {
        let group = [Instant::NEVER; Self::GROUP];
        let mut speech = Self { arrivals: arrivals.into(), group, spoken: 0, packet_bytes, wire_bytes };
        speech.fetch_group();
        speech
    }

    /// When the next packet is spoken, if there is one.
    #[inline]
    const fn next(&self) -> Option<Instant> {
        if self.spoken as usize == self.arrivals.len() {
            return None;
        }
        Some(self.group[self.spoken as usize % Self::GROUP])
    }

    /// It has been spoken.
    #[inline]
    fn advance(&mut self) {
        self.spoken += 1;
        if (self.spoken as usize).is_multiple_of(Self::GROUP) {
            self.fetch_group();
        }
    }

    fn fetch_group(&mut self) {
        let group = &self.arrivals[self.spoken as usize..];
        for (slot, at) in self.group.iter_mut().zip(group) {
            *slot = *at;
        }
    }

    fn made(&self, until: Instant) -> u64 {
        self.arrivals.partition_point(|at| *at <= until) as u64
    }
}

impl<C: Controller> Path<C> {
    /// A path without flows, and nobody who is told.
    ///
    /// # Errors
    ///
    /// If a link cannot be: its rate, its queue, its discipline, its errors.
    pub fn new(config: PathConfig, streams: &Streams) -> Result<Self, SettingsError> {
        Self::watched(config, streams, ())
    }
}

impl<C: Controller, W: Watch> Path<C, W> {
    /// A path without flows.
    ///
    /// # Errors
    ///
    /// As [`Path::new`].
    pub fn watched(config: PathConfig, streams: &Streams, watch: W) -> Result<Self, SettingsError> {
        let lines = [
            Line::new(0, &config.first, streams)?,
            Line::new(1, &config.first, streams)?,
            Line::new(2, &config.second, streams)?,
            Line::new(3, &config.second, streams)?,
        ];
        let net = Net {
            wheel: Wheel::new(),
            ecn: config.ecn,
            jitter: Jitter::new(config.jitter, streams),
            lanes: Lanes::new(&config, streams)?,
            lines,
            segments: Segments::new(),
            datagrams: Slab::new(),
            tallies: Vec::new(),
            counts: Vec::new(),
            calls: 0,
            hops: 0,
        };
        let (ends, tcps, calls, starts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self {
            net,
            ends,
            tcps,
            senders: None,
            receivers: None,
            calls,
            starts,
            watch,
            until: Instant::START,
        })
    }

    /// Adds a call; gives the number of its flow. Calls are added before file transfers.
    ///
    /// # Errors
    ///
    /// If a setting of its TCP or of its errors cannot be.
    ///
    /// # Panics
    ///
    /// If a file transfer was added before, arrivals are not in order, or a packet is longer than IP can carry.
    pub fn add_call(&mut self, call: Call<C>) -> Result<u32, SettingsError> {
        assert!(self.starts.is_empty(), "calls are added before file transfers");
        assert!(call.arrivals.is_sorted(), "packets are spoken in the order of time");
        let flow = self.net.calls;
        let (end, header_bytes) = match call.carrier {
            Carrier::Udp { header_bytes } => (End::Udp, header_bytes),
            Carrier::Tcp(tcp) => {
                let slots = Slots::new(call.packet_bytes, tcp.send_buffer, tcp.receiver.window);
                (self.tcp(flow, tcp, slots)?, 0)
            }
            Carrier::Foreign(ends) => {
                (End::Foreign(Box::new(ForeignEnd { ends, due: [Instant::NEVER; 2] })), 0)
            }
        };
        let wire_bytes =
            u16::try_from(call.packet_bytes + header_bytes).expect("IP carries 65535 bytes at most");
        let speech = Speech::new(call.arrivals, call.packet_bytes, wire_bytes);
        self.net.lanes.add(call.errors.as_ref().map_or(Loss::Path, Loss::Own))?;
        self.net.calls += 1;
        let first = speech.next();
        self.calls.push(speech);
        self.add(end);
        match (first, &self.ends[flow as usize]) {
            (Some(_), End::Udp) if self.net.lanes.are_endless() => self.step_ahead(flow),
            (Some(at), End::Udp | End::Tcp(_) | End::Foreign(_)) => {
                self.net.wheel.push(at, Parcel::event(Step::Speak, flow));
            }
            (None, _) => {}
        }
        self.wake(flow);
        Ok(flow)
    }

    /// Adds a file transfer; gives the number of its flow.
    ///
    /// # Errors
    ///
    /// If a setting of its TCP cannot be.
    pub fn add_transfer(&mut self, transfer: Transfer<C>) -> Result<u32, SettingsError> {
        let flow = u32::try_from(self.ends.len()).expect("flows are few");
        let end = self.tcp(flow, transfer.tcp, Slots::new(1, None, 0))?;
        self.net.lanes.add(Loss::Never)?;
        self.starts.push(Start { bytes: transfer.bytes });
        self.add(end);
        self.net.wheel.push(transfer.start, Parcel::event(Step::Start, flow));
        Ok(flow)
    }

    fn tcp(&mut self, flow: u32, tcp: TcpCarrier<C>, slots: Slots) -> Result<End, SettingsError> {
        let index = u32::try_from(self.tcps.len()).expect("flows are few");
        self.tcps.push(TcpEnd {
            sender: Sender::new(Flow(flow), shared(&mut self.senders, tcp.sender), tcp.controller)?,
            receiver: Receiver::new(Flow(flow), shared(&mut self.receivers, tcp.receiver))?,
            slots,
        });
        Ok(End::Tcp(index))
    }

    fn tcp_of(&self, flow: u32) -> Option<&TcpEnd<C>> {
        match self.ends.get(flow as usize)? {
            End::Tcp(index) => self.tcps.get(*index as usize),
            End::Udp | End::Foreign(_) => None,
        }
    }

    fn add(&mut self, end: End) {
        self.ends.push(end);
        self.net.tallies.push(Tally::NONE);
        self.net.counts.push(FlowReport::default());
    }

    /// Runs until `until`, what happens then included.
    pub fn run(&mut self, until: Instant) {
        while let Some(parcel) = self.net.wheel.pop(until) {
            self.step(parcel);
        }
        self.until = self.until.max(until);
    }

    /// Who is told.
    pub const fn watch(&self) -> &W {
        &self.watch
    }

    /// The network is no longer needed: who was told.
    pub fn into_watch(self) -> W {
        self.watch
    }

    /// The TCP sender of a flow, if it has one.
    #[must_use]
    pub fn sender(&self, flow: u32) -> Option<&Sender<C>> {
        Some(&self.tcp_of(flow)?.sender)
    }

    /// The TCP receiver of a flow, if it has one.
    #[must_use]
    pub fn receiver(&self, flow: u32) -> Option<&Receiver> {
        Some(&self.tcp_of(flow)?.receiver)
    }

    /// Packets that arrived at the end of a link so far.
    #[must_use]
    pub const fn hops(&self) -> u64 {
        self.net.hops
    }

    /// Packets that were sent and have neither arrived nor been dropped nor lost, there and back. Counted by looking for
    /// them, not from other counts.
    #[must_use]
    pub fn packets_on_the_way(&self) -> u64 {
        let is_packet = |parcel: &&Parcel| parcel.is_packet() && !self.is_ahead(parcel);
        let wheel = self.net.wheel.waiting().filter(is_packet).count();
        let managed: usize = self.net.lines.iter().map(Line::parcels).sum();
        // UDP: one packet at a time is known to be on its way to the first router; others may wait behind it.
        let behind = |speech: &Speech| speech.made(self.until).saturating_sub(speech.spoken.into());
        (wheel + managed) as u64 + self.calls.iter().map(behind).sum::<u64>()
    }

    /// What became of everything so far.
    #[must_use]
    pub fn report(&self) -> PathReport {
        let now = self.until;
        let mut flows: Vec<FlowReport> =
            (0..).zip(&self.ends).map(|(flow, end)| self.flow(flow, end)).collect();
        let transfers = flows.split_off(self.calls.len());
        let routers: [LinkStats; 4] = std::array::from_fn(|line| self.net.lines[line].stats(now));
        PathReport {
            now,
            calls: flows,
            transfers,
            routers,
            hops: self.net.hops,
            events: self.net.wheel.scheduled(),
        }
    }

    fn flow(&self, flow: u32, end: &End) -> FlowReport {
        let mut report = self.net.counts[flow as usize];
        self.net.tallies[flow as usize].fill(&mut report);
        if let Some(speech) = self.calls.get(flow as usize) {
            report.made = speech.made(self.until);
            report.delivered_bytes = report.delivered * u64::from(speech.packet_bytes);
            if matches!(end, End::Udp) {
                report.sent = report.made;
            }
        }
        if let Some(tcp) = self.tcp_of(flow) {
            report.sender = Some(tcp.sender.stats());
            report.receiver = Some(tcp.receiver.stats());
            let timeout = tcp.sender.timeout();
            let doubled = timeout.timeout().0;
            report.timeout = Some(Nanos::from_micros(doubled >> timeout.doublings().min(63)));
            report.round_trip = timeout.smoothed().map(|span| Nanos::from_micros(span.0));
            if flow >= self.net.calls {
                report.delivered_bytes = tcp.receiver.delivered();
            }
        }
        report
    }
}
