//! The scenarios of `scenario.cc`: voice streams over IEEE 802.11b at 11 Mb/s, long preamble, without a CPU model.

use guestright_engine::{Instant, Key, Nanos, Part, Pool, Queue, Streams};
use guestright_units::Seed;
use guestright_wlan::{self as wlan, Cell, Config, Mac, Msdu, Output, Phy, Rate, Station, StationId, Wlan};

use super::verdict::Counts;

/// Who talks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One station sends to its access point.
    OneWay,
    /// One station and its access point send to each other.
    BothWays,
    /// A station, its access point, a wire, another access point and its station; both ways.
    TwoCells {
        /// Whether the cells are on one channel or on two.
        channels: u32,
    },
}

impl Shape {
    /// The shape that files call `name`.
    pub(crate) fn named(name: &str, channels: u32) -> Option<Self> {
        match (name, channels) {
            ("one-way", 1) => Some(Self::OneWay),
            ("both-ways", 1) => Some(Self::BothWays),
            ("two-cells", 1 | 2) => Some(Self::TwoCells { channels }),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Who talks to whom.
    pub(crate) shape: Shape,
    /// Length of an IP packet.
    pub(crate) bytes: u32,
    /// Calls, or streams where they have one way.
    pub(crate) calls: u32,
    /// The run's number; phases and chance come from it.
    pub(crate) run: u32,
    /// Between packets of a stream.
    pub(crate) interval: Nanos,
    /// Before anything is measured.
    pub(crate) warmup: Nanos,
    /// Measured after that.
    pub(crate) measured: Nanos,
    /// Packets that a station keeps.
    pub(crate) queue_max: usize,
    /// The wire between two cells: never full, always the same delay.
    pub(crate) wire: Nanos,
}

impl Plan {
    /// What the stored figures were made with.
    pub(crate) const fn new(shape: Shape, bytes: u32, calls: u32, run: u32) -> Self {
        Self {
            shape,
            bytes,
            calls,
            run,
            interval: Nanos::from_millis(20),
            warmup: Nanos::from_seconds(5),
            measured: Nanos::from_seconds(60),
            queue_max: 100,
            wire: Nanos::from_micros(100),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A stream's next packet is there.
    Packet(u32),
    /// A packet has come through the wire.
    Wired(Key),
    Radio(wlan::Event),
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    stream: u32,
    created: Instant,
}

/// One direction of one call: its hops over the air, and what was measured.
#[derive(Clone, Copy, Debug)]
struct Stream {
    first: (StationId, StationId),
    second: Option<(StationId, StationId)>,
    last_delay: Option<u64>,
}

/// The sums behind [`Counts`].
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    offered: u64,
    delivered: u64,
    arrived: u64,
    delay: u64,
    variation: u64,
    variations: u64,
}

struct World {
    plan: Plan,
    queue: Queue<Event>,
    radio: Wlan,
    packets: Pool<Packet>,
    streams: Vec<Stream>,
    sums: Sums,
    begin: Instant,
    end: Instant,
}

/// Makes a run and counts.
pub(crate) fn run(plan: &Plan) -> Counts {
    let mut world = World::new(plan);
    while let Some((_, event)) = world.queue.pop() {
        world.handle(event);
    }
    world.counts()
}

impl World {
    fn new(plan: &Plan) -> Self {
        let (config, streams) = build(plan);
        let chance = Streams::new(Seed::from_number(u64::from(plan.run)));
        let radio = Wlan::new(&config, &chance).expect("the scenario's settings are good");
        let mut queue = Queue::new();
        for number in 0..u32::try_from(streams.len()).expect("few streams") {
            // The same phases as in `scenario.cc`.
            let phase = mix((u64::from(plan.run) << 32) + u64::from(number)) % plan.interval.0;
            queue.push(Instant(phase), Event::Packet(number));
        }
        let begin = Instant::START + plan.warmup;
        let (packets, sums, end) = (Pool::new(), Sums::default(), begin + plan.measured);
        Self { plan: *plan, queue, radio, packets, streams, sums, begin, end }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Packet(number) => self.make_packet(number),
            Event::Wired(key) => {
                let stream = self.streams[self.packets.get(key).stream as usize];
                self.enqueue(key, stream.second.expect("only streams of two cells use the wire"));
            }
            Event::Radio(event) => self.radio.handle(event, &mut Part::new(&mut self.queue, Event::Radio)),
        }
        while let Some(output) = self.radio.poll_output() {
            self.handle_output(&output);
        }
    }

    fn make_packet(&mut self, number: u32) {
        let now = self.queue.now();
        if now >= self.end {
            return; // The queues run empty, and the run ends.
        }
        self.queue.push(now + self.plan.interval, Event::Packet(number));
        self.sums.offered += u64::from(now >= self.begin);
        let key = self.packets.insert(Packet { stream: number, created: now });
        self.enqueue(key, self.streams[number as usize].first);
    }

    fn enqueue(&mut self, key: Key, (from, to): (StationId, StationId)) {
        let msdu = Msdu { key, bytes: self.plan.bytes, to };
        let mut agenda = Part::new(&mut self.queue, Event::Radio);
        if !self.radio.enqueue(from, msdu, &mut agenda) {
            self.packets.remove(key);
        }
    }

    fn handle_output(&mut self, output: &Output) {
        match output {
            Output::Delivered { station, msdu, .. } => {
                let number = self.packets.get(msdu.key).stream;
                let stream = &self.streams[number as usize];
                if stream.second.is_some() && *station == stream.first.1 {
                    self.queue.push(self.queue.now() + self.plan.wire, Event::Wired(msdu.key));
                } else {
                    self.count(msdu.key);
                }
            }
            Output::Dropped { msdu, .. } => {
                self.packets.remove(msdu.key);
            }
        }
    }

    fn count(&mut self, key: Key) {
        let packet = self.packets.remove(key);
        let now = self.queue.now();
        self.sums.arrived += u64::from(now >= self.begin && now < self.end);
        if packet.created < self.begin {
            return;
        }
        let delay = now.since(packet.created).0;
        self.sums.delivered += 1;
        self.sums.delay += delay;
        let last = &mut self.streams[packet.stream as usize].last_delay;
        if let Some(last) = *last {
            self.sums.variation += delay.abs_diff(last);
            self.sums.variations += 1;
        }
        *last = Some(delay);
    }

    fn counts(&self) -> Counts {
        let Sums { offered, delivered, arrived, delay, variation, variations } = self.sums;
        let (delay_ns, variation_ns) = (delay / delivered.max(1), variation / variations.max(1));
        Counts { offered, delivered, arrived, delay_ns, variation_ns }
    }
}

/// The radios, and the streams in the order of `scenario.cc`: V1 and W1, then V2 and W2.
fn build(plan: &Plan) -> (Config, Vec<Stream>) {
    let (v1, w1, v2, w2) = (StationId(0), StationId(1), StationId(2), StationId(3));
    let stream = |first, second| Stream { first, second, last_delay: None };
    let (channels, call): (&[u8], Vec<Stream>) = match plan.shape {
        Shape::OneWay => (&[1], vec![stream((v1, w1), None)]),
        Shape::BothWays => (&[1], vec![stream((v1, w1), None), stream((w1, v1), None)]),
        Shape::TwoCells { channels } => {
            let call = vec![stream((v1, w1), Some((w2, v2))), stream((v2, w2), Some((w1, v1)))];
            (if channels == 1 { &[1, 1] } else { &[1, 11] }, call)
        }
    };
    let cells = channels.iter().map(|channel| Cell { channel: *channel }).collect();
    let pair = |cell| [Station::new(cell), Station::access_point(cell)];
    let stations = (0..channels.len()).flat_map(pair);
    let stations = stations.map(|station| Station { queue_max: plan.queue_max, ..station }).collect();
    let phy = Phy { ack_rate: Some(Rate::Cck11), ..Phy::b() };
    let mac = Mac { backoff_when_deferred: false, sense_time: Nanos::from_micros(4), ..Mac::default() };
    let config = Config { phy, mac, cells, stations };
    let calls = plan.calls as usize * call.len();
    (config, call.into_iter().cycle().take(calls).collect())
}

/// splitmix64: the phases are the same numbers in both simulators.
fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}
