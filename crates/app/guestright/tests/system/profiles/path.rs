//! Two hosts with an emulated path between them, which keeps a record of what it did to every packet.

#[path = "../../../../../io/emulator/tests/harness/hosts.rs"]
mod hosts;

use guestright_emulator::{Emulator, Network, Side};
use guestright_netns::World;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Where the caller is.
pub(crate) const CALLER: &str = "198.18.0.1";
/// Where the callee is.
pub(crate) const CALLEE: &str = "198.19.0.1";

/// What a path does to packets, by chance, in both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    pub(crate) seed: u64,
    /// The least delay.
    pub(crate) delay: Duration,
    /// Up to so much more, each as likely: packets that follow each other closely change places.
    pub(crate) jitter: Duration,
    /// The share that vanishes.
    pub(crate) loss: f64,
    /// The share that comes 50 ms later than all others, after those that were sent later.
    pub(crate) overtaken: f64,
    /// The share that comes twice.
    pub(crate) twice: f64,
}

impl Weather {
    /// A path that is bad, and not so bad that nobody could talk over it.
    pub(crate) const FOUL: Self = Self {
        seed: 7,
        delay: Duration::from_millis(40),
        jitter: Duration::from_millis(20),
        loss: 0.03,
        overtaken: 0.02,
        twice: 0.02,
    };
}

/// How much later the overtaken ones come.
const OVERTAKEN_BY: Duration = Duration::from_millis(50);

/// What became of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub(crate) from: Side,
    pub(crate) entered: Duration,
    /// When it came out; never, if it was lost.
    pub(crate) left: Option<Duration>,
}

/// Where to, what, and of which passage; a second copy is of none.
type Flying = (Side, Vec<u8>, Option<usize>);

/// The path.
#[derive(Debug)]
pub(crate) struct Path {
    weather: Weather,
    rng: StdRng,
    /// By when they are due, and in the order in which they came in.
    on_the_way: BTreeMap<(Duration, u64), Flying>,
    count: u64,
    pub(crate) trace: Vec<Passage>,
}

impl Path {
    fn new(weather: Weather) -> Self {
        let rng = StdRng::seed_from_u64(weather.seed);
        Self { weather, rng, on_the_way: BTreeMap::new(), count: 0, trace: Vec::new() }
    }

    fn send(&mut self, to: Side, packet: &[u8], now: Duration, passage: Option<usize>) {
        let more = self.weather.jitter.mul_f64(self.rng.random());
        let overtaken = self.rng.random::<f64>() < self.weather.overtaken;
        let late = if overtaken { OVERTAKEN_BY } else { Duration::ZERO };
        self.count += 1;
        let due = now + self.weather.delay + more + late;
        self.on_the_way.insert((due, self.count), (to, packet.to_vec(), passage));
    }
}

impl Network for Path {
    fn enter(&mut self, side: Side, packet: &[u8], now: Duration) {
        self.trace.push(Passage { from: side, entered: now, left: None });
        if self.rng.random::<f64>() < self.weather.loss {
            return;
        }
        self.send(side.other(), packet, now, Some(self.trace.len() - 1));
        if self.rng.random::<f64>() < self.weather.twice {
            self.send(side.other(), packet, now, None);
        }
    }

    fn due(&self) -> Option<Duration> {
        self.on_the_way.first_key_value().map(|((due, _), _)| *due)
    }

    fn leave(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<(Side, Duration)> {
        let first = self.on_the_way.first_entry().filter(|first| first.key().0 <= now)?;
        let ((due, _), (side, bytes, passage)) = first.remove_entry();
        *packet = bytes;
        if let Some(passage) = passage {
            self.trace[passage].left = Some(now);
        }
        Some((side, due))
    }
}

/// Hosts `caller` and `callee`, with the path between them.
pub(crate) struct Topology {
    pub(crate) world: World,
    pub(crate) emulator: Emulator<Path>,
}

impl Topology {
    pub(crate) fn build(weather: Weather) -> Self {
        let mut world = World::new("pro-").unwrap();
        let hosts = [("caller", CALLER, CALLEE), ("callee", CALLEE, CALLER)];
        let [near, far] = hosts::join(&mut world, hosts);
        let emulator = Emulator::start(near, far, Path::new(weather), Instant::now()).unwrap();
        Self { world, emulator }
    }

    /// What became of all packets that one side has sent so far.
    pub(crate) fn trace(&self, from: Side) -> Vec<Passage> {
        let all = self.emulator.with(|path, _| path.trace.clone());
        all.into_iter().filter(|passage| passage.from == from).collect()
    }
}
