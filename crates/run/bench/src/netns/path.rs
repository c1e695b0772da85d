//! The simulator's links and queues in real time, with packets of kernels on them.
//!
//! ```text
//! voice i --access--> R1 ==first==> R2 ==second==> R3 --sink access (errors, both ways)--> voice sink i
//!                    bulk j --access--> R2          R3 --access--> bulk sink j
//! ```
//!
//! Whose a packet is, its addresses and ports say; the way back is the same. Between [`Path::new`] and [`Path::begin`]
//! nothing is lost by errors, so that connections are there when a run begins.

use super::addresses::{BULK_SINK, BULK_SOURCE, SINK, SOURCE, flow_of};
use super::ledger::{Crossing, Entry, Ledger, Loss};
use super::packet::{Headers, mark};
use super::request::Request;
use crate::virtual_time::instant;
use guestright_emulator::{Network, Side};
use guestright_engine::{Instant, Key, Part, Pool, Queue, Streams};
use guestright_transport::path::{Bottleneck, FlowReport, PathConfig};
use guestright_transport::{
    AnyLink, Discipline, Errors, LinkEvent, LinkNumber, LinkOutput, LinkSettings, LinkStats, LinkStatus,
    Packet, QueueLimit, SettingsError,
};
use guestright_units::Seed;
use std::collections::VecDeque;
use std::time::Duration;

/// What waits before a host's link, if there is no limit.
const ENDLESS: QueueLimit = QueueLimit::Packets(1 << 20);
/// The places of the routers' links: there, and behind it back.
const FIRST: usize = 0;
const SECOND: usize = 2;
/// The places of the links from and to sinks begin here; behind them are those of sources.
const SINKS: usize = 4;
/// The number of the first of them in the simulator (`guestright_transport::path`).
const SINKS_NUMBER: u32 = 16;

/// A network that carries IPv4 packets as the testbed's network carries its own.
#[derive(Debug)]
pub(super) struct Path {
    config: PathConfig,
    calls: u32,
    bulk: u32,
    seed: Seed,
    queue: Queue<Event>,
    packets: Pool<Carried>,
    links: Vec<AnyLink>,
    out: VecDeque<Leaving>,
    /// From when to when errors lose packets and everything is counted.
    run: Option<(Instant, Instant)>,
    ledger: Ledger,
    /// Packets that no flow has: they are not carried.
    strangers: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Enter(Key),
    Link(LinkEvent),
}

/// A packet on its way.
#[derive(Debug)]
struct Carried {
    bytes: Vec<u8>,
    way: Way,
    headers: Headers,
    hop: usize,
    /// What is noted of it, if it counts.
    entry: Option<Entry>,
}

/// Which way a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    kind: Kind,
    flow: u32,
    /// From the side of the sinks.
    is_back: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Call,
    Bulk,
}

#[derive(Debug)]
struct Leaving {
    at: Instant,
    side: Side,
    bytes: Vec<u8>,
}

/// What the network did in a run.
#[derive(Debug)]
pub(super) struct Carriage {
    /// The links between routers: from R1 to R2, R2 to R1, R2 to R3, R3 to R2.
    pub(super) routers: [LinkStats; 4],
    /// The accounts of the calls and behind them those of the file transfers.
    pub(super) flows: Vec<FlowReport>,
    /// Packets with speech that crossed it.
    pub(super) crossings: Vec<Crossing>,
    /// Packets that were no flow's, during the run.
    pub(super) strangers: u64,
}

impl Path {
    pub(super) fn new(request: &Request, seed: Seed) -> Result<Self, SettingsError> {
        let mut path = Self {
            config: request.setup.path().clone(),
            calls: request.setup.flows(),
            bulk: request.setup.bulk(),
            seed,
            queue: Queue::new(),
            packets: Pool::new(),
            links: Vec::new(),
            out: VecDeque::new(),
            run: None,
            ledger: Ledger::new(request),
            strangers: 0,
        };
        path.links = path.new_links(true)?;
        Ok(path)
    }

    /// Whether nothing is on its way.
    pub(super) fn is_quiet(&self) -> bool {
        self.packets.is_empty() && self.out.is_empty()
    }

    /// The run begins: errors lose packets from now on, and what was before `from` or comes after `until` does not count.
    /// The network has to be quiet, so that its links are as new.
    pub(super) fn begin(&mut self, from: Duration, until: Duration) -> Result<(), SettingsError> {
        if self.is_quiet() {
            self.links = self.new_links(false)?;
        }
        self.run = Some((instant(from), instant(until)));
        self.ledger.clear();
        Ok(())
    }

    /// What it did.
    pub(super) fn finish(self) -> Carriage {
        let routers = [0, 1, 2, 3].map(|link: usize| self.links[link].stats());
        let (flows, crossings) = self.ledger.finish();
        Carriage { routers, flows, crossings, strangers: self.strangers }
    }

    /// All links. The chance of each is that of its number, which is the simulator's: the `n`th packet on its way to a
    /// call's sink meets the same error on either platform.
    fn new_links(&self, is_calm: bool) -> Result<Vec<AnyLink>, SettingsError> {
        let path = &self.config;
        let streams = Streams::new(self.seed.clone());
        let mut links = Vec::new();
        let mut add = |settings: LinkSettings, discipline: Discipline, errors: &Errors| {
            let number = number(links.len());
            links.push(AnyLink::new(number, settings, discipline, errors, &streams)?);
            Ok::<(), SettingsError>(())
        };
        for Bottleneck { rate, delay, buffer, discipline } in
            [path.first, path.first, path.second, path.second]
        {
            let queue_max = QueueLimit::Packets(buffer);
            let settings = LinkSettings { delay, queue_max, ..LinkSettings::bare(rate) };
            add(settings, discipline, &Errors::None)?;
        }
        let queue_max = path.access.buffer.map_or(ENDLESS, QueueLimit::Packets);
        let access =
            LinkSettings { delay: path.access.delay, queue_max, ..LinkSettings::bare(path.access.rate) };
        let flows = self.calls + self.bulk;
        for flow in 0..flows {
            let is_lossy = flow < self.calls && !is_calm;
            for errors in [&path.errors, &path.reverse_errors] {
                add(access, Discipline::DropTail, if is_lossy { errors } else { &Errors::None })?;
            }
        }
        for _ in 0..2 * flows {
            add(access, Discipline::DropTail, &Errors::None)?;
        }
        Ok(links)
    }

    /// Moves time on to `now`, and does what is due.
    fn advance(&mut self, now: Duration) {
        let now = instant(now);
        while self.queue.next_at().is_some_and(|at| at <= now) {
            let Some((_, event)) = self.queue.pop() else { return };
            match event {
                Event::Enter(key) => self.go_on(key),
                Event::Link(event) => {
                    let link = link_index(event.link);
                    self.links[link].handle(event, &mut Part::new(&mut self.queue, Event::Link));
                    self.drain(link);
                }
            }
        }
    }

    /// Takes what a link hands over.
    fn drain(&mut self, link: usize) {
        while let Some(output) = self.links[link].poll_output() {
            match output {
                LinkOutput::Dropped { key } => self.lose(key, loss_of(link)),
                LinkOutput::Delivered(delivered) if delivered.lost => self.lose(delivered.key, Loss::Error),
                LinkOutput::Delivered(delivered) => {
                    let carried = self.packets.get_mut(delivered.key);
                    if delivered.marked {
                        mark(&mut carried.bytes);
                    }
                    carried.hop += 1;
                    self.go_on(delivered.key);
                }
            }
        }
    }

    /// Puts a packet on its next link, or lets it leave.
    fn go_on(&mut self, key: Key) {
        let carried = self.packets.get(key);
        let Some(link) = carried.way.link(carried.hop, self.calls, self.calls + self.bulk) else {
            let carried = self.packets.remove(key);
            let at = self.queue.now();
            if let Some(entry) = carried.entry
                && self.counts(at)
            {
                self.ledger.arrived(entry, at);
            }
            let side = if carried.way.is_back { Side::Near } else { Side::Far };
            self.out.push_back(Leaving { at, side, bytes: carried.bytes });
            return;
        };
        let bytes = u32::try_from(carried.bytes.len()).unwrap_or(u32::MAX);
        let flow = carried.way.flow_number(self.calls);
        let packet = Packet { key, bytes, flow, ecn: carried.headers.ecn };
        if !self.links[link].enqueue(packet, &mut Part::new(&mut self.queue, Event::Link)) {
            self.lose(key, loss_of(link));
        }
        self.drain(link);
    }

    fn lose(&mut self, key: Key, loss: Loss) {
        let carried = self.packets.remove(key);
        if let Some(entry) = carried.entry
            && self.counts(self.queue.now())
        {
            self.ledger.lost(entry, loss);
        }
    }

    fn counts(&self, at: Instant) -> bool {
        self.run.is_some_and(|(from, until)| from <= at && at <= until)
    }

    /// The way of a packet that comes in at `side`, if it is a flow's.
    fn way(&self, side: Side, headers: &Headers) -> Option<Way> {
        let [near, far] = headers.ends(side == Side::Near);
        let (kind, count) = match (near.0, far.0) {
            (SOURCE, SINK) => (Kind::Call, self.calls),
            (BULK_SOURCE, BULK_SINK) => (Kind::Bulk, self.bulk),
            _ => return None,
        };
        let flow = flow_of(near.1, far.1)?;
        (flow < count).then_some(Way { kind, flow, is_back: side == Side::Far })
    }
}

impl Way {
    /// The link of a hop.
    fn link(self, hop: usize, calls: u32, flows: u32) -> Option<usize> {
        let own = 2 * self.flow_number(calls) as usize;
        let sink = SINKS + own;
        let access = SINKS + 2 * flows as usize + own;
        let there: &[usize] = match self.kind {
            Kind::Call => &[access, FIRST, SECOND, sink],
            Kind::Bulk => &[access, SECOND, sink],
        };
        let index = if self.is_back { there.len().checked_sub(hop + 1)? } else { hop };
        there.get(index).map(|link| link + usize::from(self.is_back))
    }

    /// Calls first, file transfers behind them.
    const fn flow_number(self, calls: u32) -> u32 {
        match self.kind {
            Kind::Call => self.flow,
            Kind::Bulk => calls + self.flow,
        }
    }
}

impl Network for Path {
    fn enter(&mut self, side: Side, packet: &[u8], now: Duration) {
        self.advance(now);
        let known = Headers::parse(packet).and_then(|headers| Some((headers, self.way(side, &headers)?)));
        let at = instant(now);
        let Some((headers, way)) = known else {
            // After a run kernels complain (ICMP) of what comes to sockets that are gone.
            self.strangers += u64::from(self.counts(at));
            return;
        };
        let flow = way.flow_number(self.calls);
        // Where a stream begins is noted before the run too.
        let entry = self.ledger.sent(flow, way.is_back, &headers, packet, at);
        let entry = self.counts(at).then_some(entry);
        let key = self.packets.insert(Carried { bytes: packet.to_vec(), way, headers, hop: 0, entry });
        self.queue.push(at, Event::Enter(key));
        self.advance(now);
    }

    fn due(&self) -> Option<Duration> {
        let out = self.out.front().map(|leaving| leaving.at);
        out.into_iter().chain(self.queue.next_at()).min().map(|at| Duration::from_nanos(at.0))
    }

    fn leave(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<(Side, Duration)> {
        self.advance(now);
        let Leaving { at, side, bytes } = self.out.pop_front()?;
        *packet = bytes;
        Some((side, Duration::from_nanos(at.0)))
    }
}

/// Where a link's queue drops.
const fn loss_of(link: usize) -> Loss {
    match link {
        0 | 1 => Loss::First,
        2 | 3 => Loss::Second,
        _ => Loss::Access,
    }
}

/// The number of the link at a place, and back.
fn number(index: usize) -> LinkNumber {
    let number = u32::try_from(index).unwrap_or(u32::MAX);
    LinkNumber(if index < SINKS { number } else { number + SINKS_NUMBER - 4 })
}

const fn link_index(number: LinkNumber) -> usize {
    let number = number.0 as usize;
    if number < SINKS { number } else { number + SINKS - SINKS_NUMBER as usize }
}

#[cfg(test)]
mod tests {
    use super::super::addresses::{SINK_PORT, SOURCE_PORT};
    use super::super::packet::What;
    use super::super::packet::tests::packet;
    use super::*;
    use guestright_experiment::{Settings, Testbed};
    use guestright_world::Transports;

    const SEQUENCE: u32 = u32::MAX - 150;

    fn path(settings: Settings) -> Path {
        let settings = settings.complete(Transports.settings()).unwrap();
        let request = Request::read(&settings, &["reno".to_owned()]).unwrap();
        Path::new(&request, Seed::from_number(1)).unwrap()
    }

    fn settings() -> Settings {
        Settings::new().with("flows", 2).with("bulk.flows", 1).with("errors.model", "none")
    }

    fn speech(number: u32) -> Vec<u8> {
        let payload = [&number.to_be_bytes()[..], &[0; 168]].concat();
        packet((SOURCE, SOURCE_PORT + 1), (SINK, SINK_PORT + 1), What::Udp, &payload)
    }

    /// Everything that leaves, with where and when.
    fn drain(path: &mut Path) -> Vec<(Side, Duration, Vec<u8>)> {
        let mut left = Vec::new();
        while let Some(due) = path.due() {
            let mut bytes = Vec::new();
            while let Some((side, at)) = path.leave(due, &mut bytes) {
                left.push((side, at, bytes.clone()));
            }
        }
        left
    }

    #[test]
    fn a_packet_takes_the_time_of_its_links_either_way() {
        let mut path = path(settings());
        path.begin(Duration::ZERO, Duration::from_secs(60)).unwrap();
        let there = speech(0);
        assert_eq!(there.len(), 200);
        path.enter(Side::Near, &there, Duration::from_millis(7));
        // 5 ms and 0.16 ms at 10 Mb/s, 10 ms and 0.8 ms at 2 Mb/s, each twice, after 7 ms.
        let left = drain(&mut path);
        assert_eq!(left, [(Side::Far, Duration::from_micros(7_000 + 31_920), there)]);
        let back = packet((SINK, SINK_PORT), (SOURCE, SOURCE_PORT), What::Udp, &[0; 172]);
        path.enter(Side::Far, &back, Duration::from_millis(100));
        let left = drain(&mut path);
        assert_eq!(left, [(Side::Near, Duration::from_micros(100_000 + 31_920), back)]);
        // A file transfer comes in at R2: one bottleneck less.
        let bulk = packet((BULK_SOURCE, SOURCE_PORT), (BULK_SINK, SINK_PORT), What::Udp, &[0; 172]);
        path.enter(Side::Near, &bulk, Duration::from_millis(200));
        let left = drain(&mut path);
        assert_eq!(left, [(Side::Far, Duration::from_micros(200_000 + 21_120), bulk)]);
        let done = path.finish();
        assert_eq!((done.routers[0].delivered, done.routers[2].delivered), (1, 2));
        assert_eq!((done.flows[1].sent, done.flows[1].arrived, done.flows[0].back_arrived), (1, 1, 1));
        assert_eq!(done.crossings.len(), 1);
        assert_eq!(done.strangers, 0);
    }

    #[test]
    fn what_no_flow_has_is_not_carried_and_counted() {
        let mut path = path(settings());
        path.begin(Duration::ZERO, Duration::from_secs(1)).unwrap();
        let strangers = [
            packet((SOURCE, SOURCE_PORT + 2), (SINK, SINK_PORT + 2), What::Udp, b"a third call"),
            packet((SOURCE, SOURCE_PORT), (SINK, SINK_PORT + 1), What::Udp, b"other ports"),
            packet((BULK_SOURCE, SOURCE_PORT), (SINK, SINK_PORT), What::Udp, b"other hosts"),
            b"no packet".to_vec(),
        ];
        for stranger in &strangers {
            path.enter(Side::Near, stranger, Duration::ZERO);
        }
        path.enter(Side::Near, b"after the run", Duration::from_secs(2));
        assert_eq!(drain(&mut path), []);
        assert_eq!(path.finish().strangers, 4);
    }

    /// Nothing vanishes: what was sent has arrived, or was dropped, lost, or is on its way.
    #[test]
    fn a_full_queue_drops_and_every_packet_has_a_fate() {
        let lossy =
            settings().with("first.buffer", 5).with("errors.model", "bernoulli").with("errors.per", 0.2);
        let mut path = path(lossy);
        path.begin(Duration::ZERO, Duration::from_millis(200)).unwrap();
        // 1000 packets in 100 ms, ten times what R1 sends.
        for number in 0..1_000 {
            path.enter(Side::Near, &speech(number), Duration::from_micros(100 * u64::from(number)));
            let mut bytes = Vec::new();
            while path.leave(Duration::from_micros(100 * u64::from(number)), &mut bytes).is_some() {}
        }
        let on_the_way = path.packets.len() as u64;
        let mut left = 0;
        let mut bytes = Vec::new();
        while path.leave(Duration::from_millis(150), &mut bytes).is_some() {
            left += 1;
        }
        assert!(left > 0 && on_the_way > 0);
        let still = path.packets.len() as u64;
        let done = path.finish();
        let flow = done.flows[1];
        assert_eq!(flow.sent, 1_000);
        assert!(flow.dropped_first > 500 && flow.errors > 0 && flow.dropped_second == 0, "{flow:?}");
        assert_eq!(flow.on_the_way(), still, "{flow:?}");
        assert_eq!(flow.dropped_first, done.routers[0].dropped);
        assert_eq!(flow.arrived, done.crossings.len() as u64);
    }

    /// The same packets of a call are lost as in the simulator: the links' chance has the simulator's numbers.
    #[test]
    fn errors_are_those_of_the_simulator() {
        use guestright_congestion::Reno;
        use guestright_transport::path::{Call, Carrier, DeliveredPackets, Path as Simulated};
        let settings = settings().with("errors.model", "bernoulli").with("errors.per", 0.1);
        let completed = settings.complete(Transports.settings()).unwrap();
        let request = Request::read(&completed, &["reno".to_owned()]).unwrap();
        let streams = Streams::new(Seed::from_number(1));
        let config = request.setup.path().clone();
        let mut simulated =
            Simulated::<Reno, _>::watched(config, &streams, DeliveredPackets::default()).unwrap();
        let every = 20_000_000;
        for flow in 0..2 {
            let arrivals =
                if flow == 0 { vec![] } else { (0..500).map(|number| Instant(number * every)).collect() };
            let carrier = Carrier::Udp { header_bytes: 40 };
            simulated.add_call(Call { arrivals, packet_bytes: 160, carrier, errors: None }).unwrap();
        }
        simulated.run(Instant(20_000_000_000));
        let want: Vec<u32> = simulated.into_watch().0.iter().map(|delivery| delivery.number).collect();
        let mut path = Path::new(&request, Seed::from_number(1)).unwrap();
        path.begin(Duration::ZERO, Duration::from_secs(60)).unwrap();
        let mut got = Vec::new();
        for number in 0..500 {
            path.enter(Side::Near, &speech(number), Duration::from_nanos(u64::from(number) * every));
            for (_, _, bytes) in drain(&mut path) {
                got.push(u32::from_be_bytes(*bytes[28..].first_chunk().unwrap()));
            }
        }
        assert_eq!(got, want);
        assert!(want.len() > 400 && want.len() < 480, "{}", want.len());
    }

    #[test]
    fn before_a_run_begins_nothing_is_lost_and_nothing_counts() {
        let mut path = path(settings().with("errors.model", "bernoulli").with("errors.per", 0.5));
        for number in 0..100 {
            path.enter(Side::Near, &speech(number), Duration::from_millis(u64::from(number)));
        }
        assert!(!path.is_quiet());
        assert_eq!(drain(&mut path).len(), 100);
        assert!(path.is_quiet());
        path.begin(Duration::from_secs(1), Duration::from_secs(2)).unwrap();
        let done = path.finish();
        assert_eq!((done.flows[1].sent, done.routers[0].taken, done.crossings.len()), (0, 0, 0));
    }

    #[test]
    fn segments_that_are_sent_again_are_told_from_new_ones_across_the_end_of_the_numbers() {
        let mut path = path(settings().with("transport", "reno"));
        let segment = |sequence: u32, opens: bool, length: usize| {
            let what = What::Tcp { sequence, opens };
            packet((SOURCE, SOURCE_PORT), (SINK, SINK_PORT), what, &vec![0; length])
        };
        path.enter(Side::Near, &segment(SEQUENCE, true, 0), Duration::ZERO);
        drain(&mut path);
        path.begin(Duration::from_millis(500), Duration::from_secs(60)).unwrap();
        let first = SEQUENCE.wrapping_add(1);
        // Packets 0, 1, 2, then 1 again, 3, and 0 and 1 together once more.
        let sent = [(0, 160), (160, 160), (320, 160), (160, 160), (480, 160), (0, 320)];
        for (seconds, (offset, length)) in (1_u64..).zip(sent) {
            path.enter(
                Side::Near,
                &segment(first.wrapping_add(offset), false, length),
                Duration::from_secs(seconds),
            );
            drain(&mut path);
        }
        path.enter(Side::Near, &segment(first.wrapping_add(640), false, 0), Duration::from_secs(9));
        drain(&mut path);
        let done = path.finish();
        let flow = done.flows[0];
        assert_eq!((flow.sent, flow.again, flow.arrived, flow.empty_sent), (6, 2, 6, 1));
        let fresh: Vec<bool> = done.crossings.iter().map(|crossing| crossing.fresh).collect();
        assert_eq!(fresh, [true, true, true, false, true, false]);
    }
}
