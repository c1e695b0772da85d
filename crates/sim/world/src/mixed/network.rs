use super::settings::{Config, setting_of};
use crate::meter::StreamMeter;
use guestright_engine::{Instant, Key, Nanos, Part, Pool, Queue, Streams};
use guestright_experiment::SettingError;
use guestright_quality::{DelayMeter, Interval};
use guestright_units::Seed;
use guestright_wlan::edca::{self, CategoryStats, Edca};
use guestright_wlan::{AccessCategory, Msdu, Output, StationId};
use rand::RngExt;

const ACCESS_POINT: StationId = StationId(0);
/// A TCP acknowledgement: IPv4, and TCP with timestamps.
const ACK_BYTES: u32 = 52;
/// A sender whose packet found no room tries again after this: less than a frame of many packets takes, and not at each moment.
const FULL: Nanos = Nanos::from_micros(100);

/// What a packet on the air is.
#[derive(Clone, Copy, Debug)]
enum Packet {
    /// Of stream number `stream`: even ones go up, odd ones down.
    Voice { stream: usize, number: u32, born: Instant },
    /// Of flow number `flow`: downloads first, then uploads.
    Bulk { flow: usize },
    /// It acknowledges so many packets.
    Ack { flow: usize, count: u32 },
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Radio(edca::Event),
    /// A stream's next packet comes to its sender on the radio.
    Voice {
        stream: usize,
        number: u32,
    },
    /// A flow may send so many packets more.
    Allowed {
        flow: usize,
        count: u32,
    },
    Begin,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    station: StationId,
    is_upload: bool,
    /// Packets that the receiver has not acknowledged yet.
    pending: u32,
    bytes: u64,
}

/// What was measured.
pub(super) struct Run {
    pub(super) streams: Vec<StreamMeter>,
    pub(super) delays: DelayMeter,
    pub(super) length: Nanos,
    /// Bytes of IP packets, by flow.
    pub(super) downloaded: Vec<u64>,
    pub(super) uploaded: Vec<u64>,
    pub(super) busy: Nanos,
    /// Of all categories of all stations.
    pub(super) stats: Vec<CategoryStats>,
    /// Of the bulk's category at the access point.
    pub(super) bulk: CategoryStats,
    pub(super) mcs: Vec<u8>,
    pub(super) unfinished: u64,
    pub(super) packets: u64,
    pub(super) events: u64,
}

pub(super) struct Network {
    config: Config,
    radio: Edca,
    queue: Queue<Event>,
    packets: Pool<Packet>,
    streams: Vec<StreamMeter>,
    delays: DelayMeter,
    flows: Vec<Flow>,
    /// When calls begin and bulk is measured.
    begin: Instant,
    end: Instant,
    busy_before: Nanos,
    stats_before: Vec<CategoryStats>,
    sent: u64,
    /// Packets of calls on the radio.
    calling: u64,
    events: u64,
}

impl Network {
    pub(super) fn new(config: Config, seed: Seed) -> Result<Self, SettingError> {
        let chance = Streams::new(seed);
        let radio = Edca::new(&config.radio, &chance)
            .map_err(|error| SettingError::unfit(setting_of(&error), error.to_string()))?;
        let begin = Instant::START + config.warmup;
        let mut network = Self {
            radio,
            queue: Queue::new(),
            packets: Pool::new(),
            streams: Vec::new(),
            delays: DelayMeter::default(),
            flows: Vec::new(),
            begin,
            end: begin + config.duration,
            busy_before: Nanos(0),
            stats_before: Vec::new(),
            sent: 0,
            calling: 0,
            events: 0,
            config,
        };
        network.start_streams(&chance);
        network.start_flows();
        Ok(network)
    }

    fn start_streams(&mut self, chance: &Streams) {
        let mut phases = chance.stream("phase", 0);
        let interval = self.config.shape.interval.0.max(1);
        for stream in 0..usize::from(self.config.calls) * 2 {
            let start = self.begin + Nanos(phases.random_range(0..interval));
            self.streams.push(StreamMeter::new(&self.config.shape, start));
            // What comes down has been on its way for a while.
            let at = if stream.is_multiple_of(2) { start } else { start + self.config.wire_delay };
            self.queue.push(at, Event::Voice { stream, number: 0 });
        }
    }

    fn start_flows(&mut self) {
        let Config { calls, downloads, uploads, bulk_window: count, .. } = self.config;
        for number in 0..downloads + uploads {
            let (station, is_upload) = (StationId(1 + calls + number), number >= downloads);
            self.flows.push(Flow { station, is_upload, pending: 0, bytes: 0 });
            self.queue.push(Instant::START, Event::Allowed { flow: usize::from(number), count });
        }
        self.queue.push(self.begin, Event::Begin);
    }

    /// Runs until the calls are over, and five seconds more for what is on its way.
    pub(super) fn run(mut self) -> Run {
        let last = self.end + Nanos::from_seconds(5);
        let mut done = None;
        while let Some(at) = self.queue.next_at().filter(|at| *at <= last) {
            if at > self.end && done.is_none() {
                done = Some(self.measure());
            }
            let Some((now, event)) = self.queue.pop() else { break };
            self.events += 1;
            self.handle(event, now);
            if now > self.end && !self.has_calls() {
                break;
            }
        }
        let (stats, bulk, busy, flows) = done.unwrap_or_else(|| self.measure());
        let bytes = |is_upload: bool| {
            flows.iter().filter(|flow| flow.is_upload == is_upload).map(|flow| flow.bytes).collect()
        };
        let mcs = (1..=self.config.stations()).map(|to| self.radio.mode(ACCESS_POINT, StationId(to)).mcs());
        Run {
            downloaded: bytes(false),
            uploaded: bytes(true),
            mcs: mcs.collect(),
            streams: self.streams,
            delays: self.delays,
            length: self.config.duration,
            busy,
            stats,
            bulk,
            unfinished: self.calling,
            packets: self.sent,
            events: self.events,
        }
    }

    fn measure(&self) -> (Vec<CategoryStats>, CategoryStats, Nanos, Vec<Flow>) {
        let stats = self.stats().into_iter().zip(&self.stats_before);
        let stats: Vec<CategoryStats> = stats.map(|(now, before)| since(&now, before)).collect();
        let bulk = stats[self.config.bulk_category.index()];
        (stats, bulk, self.radio.busy(self.end) - self.busy_before, self.flows.clone())
    }

    fn stats(&self) -> Vec<CategoryStats> {
        let stations = 0..=self.config.stations();
        let of =
            |station| AccessCategory::ALL.map(|category| *self.radio.stats(StationId(station), category));
        stations.flat_map(of).collect()
    }

    /// Whether packets of calls are on their way, or may still come from beyond the access point.
    fn has_calls(&self) -> bool {
        let beyond = self.config.wire_delay + self.config.shape.interval;
        self.calling > 0 || self.queue.now() <= self.end + beyond
    }

    fn handle(&mut self, event: Event, now: Instant) {
        match event {
            Event::Radio(event) => {
                self.radio.handle(event, &mut Part::new(&mut self.queue, Event::Radio));
            }
            Event::Voice { stream, number } => self.send_voice(stream, number, now),
            Event::Allowed { flow, count } => {
                for _ in 0..count {
                    self.send_bulk(flow);
                }
            }
            Event::Begin => {
                self.busy_before = self.radio.busy(now);
                self.stats_before = self.stats();
                for flow in &mut self.flows {
                    flow.bytes = 0;
                }
            }
        }
        self.drain(now);
    }

    fn send_voice(&mut self, stream: usize, number: u32, now: Instant) {
        let born = if stream.is_multiple_of(2) { now } else { Instant(now.0 - self.config.wire_delay.0) };
        if born >= self.end {
            return;
        }
        self.streams[stream].send();
        let next = now + self.config.shape.interval;
        self.queue.push(next, Event::Voice { stream, number: number + 1 });
        let station = StationId(1 + u16::try_from(stream / 2).expect("at most 200 calls"));
        let (from, to) =
            if stream.is_multiple_of(2) { (station, ACCESS_POINT) } else { (ACCESS_POINT, station) };
        let (category, bytes) = (self.config.call_category, self.config.call_bytes);
        let is_accepted = self.transmit(from, to, category, bytes, Packet::Voice { stream, number, born });
        self.calling += u64::from(is_accepted);
    }

    fn send_bulk(&mut self, flow: usize) {
        let Flow { station, is_upload, .. } = self.flows[flow];
        let (from, to) = if is_upload { (station, ACCESS_POINT) } else { (ACCESS_POINT, station) };
        let bytes = self.config.bulk_bytes;
        if !self.transmit(from, to, self.config.bulk_category, bytes, Packet::Bulk { flow }) {
            self.queue.push(self.queue.now() + FULL, Event::Allowed { flow, count: 1 });
        }
    }

    fn transmit(
        &mut self,
        from: StationId,
        to: StationId,
        category: AccessCategory,
        bytes: u32,
        packet: Packet,
    ) -> bool {
        self.sent += 1;
        let key = self.packets.insert(packet);
        let msdu = Msdu { key, bytes, to };
        let is_accepted =
            self.radio.enqueue(from, category, msdu, &mut Part::new(&mut self.queue, Event::Radio));
        if !is_accepted {
            self.packets.remove(key);
        }
        is_accepted
    }

    /// The sender may send so many packets more: a way and its return beyond the access point later.
    fn allow(&mut self, flow: usize, count: u32, now: Instant) {
        let wait = if self.config.bulk_ack_every == 0 { 0 } else { self.config.wire_delay.0 * 2 };
        self.queue.push(now + Nanos(wait.max(1)), Event::Allowed { flow, count });
    }

    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.radio.poll_output() {
            match output {
                Output::Delivered { msdu, .. } => self.deliver(msdu.key, now),
                Output::Dropped { msdu, .. } => match self.packets.remove(msdu.key) {
                    Packet::Voice { .. } => self.calling -= 1,
                    Packet::Bulk { flow } => self.allow(flow, 1, now),
                    Packet::Ack { flow, count } => self.allow(flow, count, now),
                },
            }
        }
    }

    fn deliver(&mut self, key: Key, now: Instant) {
        match self.packets.remove(key) {
            Packet::Voice { stream, number, born } => {
                self.calling -= 1;
                let at = if stream.is_multiple_of(2) { now + self.config.wire_delay } else { now };
                let delay_ms = self.streams[stream].deliver(number, born, at);
                self.delays.add(Interval::exact(delay_ms));
            }
            Packet::Bulk { flow } => {
                self.flows[flow].bytes += u64::from(self.config.bulk_bytes);
                self.acknowledge(flow, now);
            }
            Packet::Ack { flow, count } => self.allow(flow, count, now),
        }
    }

    fn acknowledge(&mut self, flow: usize, now: Instant) {
        let every = self.config.bulk_ack_every;
        if every == 0 {
            return self.allow(flow, 1, now);
        }
        let Flow { station, is_upload, pending, .. } = &mut self.flows[flow];
        *pending += 1;
        if *pending < every {
            return;
        }
        let count = std::mem::take(pending);
        let (from, to) = if *is_upload { (ACCESS_POINT, *station) } else { (*station, ACCESS_POINT) };
        let category = self.config.bulk_category;
        if !self.transmit(from, to, category, ACK_BYTES, Packet::Ack { flow, count }) {
            self.allow(flow, count, now);
        }
    }
}

fn since(now: &CategoryStats, before: &CategoryStats) -> CategoryStats {
    CategoryStats {
        accepted: now.accepted - before.accepted,
        queue_full: now.queue_full - before.queue_full,
        delivered: now.delivered - before.delivered,
        delivered_bytes: now.delivered_bytes - before.delivered_bytes,
        retry_limit: now.retry_limit - before.retry_limit,
        accesses: now.accesses - before.accesses,
        internal_collisions: now.internal_collisions - before.internal_collisions,
        unanswered: now.unanswered - before.unanswered,
        ppdus: now.ppdus - before.ppdus,
        mpdus: now.mpdus - before.mpdus,
        mpdus_lost: now.mpdus_lost - before.mpdus_lost,
    }
}
