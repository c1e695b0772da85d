use super::measured::Measured;
use super::wired::{Machine, Wire};
use crate::radio::Radio;
use guestright_engine::{Instant, Nanos, Part, Pool, Queue, Streams as Chance};
use guestright_experiment::{Outcome, SettingError};
use guestright_wlan::{self as wlan, Msdu, Output, StationId, Wlan};

/// What a run is.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// When each stream starts, sorted; within the first interval.
    pub(super) streams: Vec<Instant>,
    pub(super) packet_bytes: u32,
    /// Length of the packets on the air.
    pub(super) wire_bytes: u32,
    pub(super) interval: Nanos,
    /// Packets of each stream.
    pub(super) rounds: u32,
    pub(super) warmup: Nanos,
    pub(super) length: Nanos,
    pub(super) into_host: Wire,
    pub(super) host: Machine,
    pub(super) access_point: Nanos,
    pub(super) into_gateway: Wire,
    pub(super) gateway: Machine,
    pub(super) back: Wire,
    pub(super) radio: Radio,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The next packet reaches the mobile station's queue.
    Ready,
    Radio(wlan::Event),
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    stream: u32,
    sequence: u32,
    sent: Instant,
}

/// Generator, mobile station, access point and gateway.
///
/// Only the radio has events. Before it and behind it packets keep their order and nothing is lost, so that their times
/// are known when they come.
pub(super) struct Network {
    config: Config,
    queue: Queue<Event>,
    pool: Pool<Packet>,
    wlan: Wlan,
    station: StationId,
    access_point: StationId,
    measured: Measured,
    next: Option<Packet>,
    events: u64,
}

impl Network {
    pub(super) fn new(config: Config, chance: &Chance) -> Result<Self, SettingError> {
        let layout = config.radio.layout(1, false, 1);
        let cell = &layout.cells()[0];
        let (access_point, station) = (cell.access_point, cell.laptops[0]);
        let measured = Measured::new(config.streams.len(), config.interval, config.warmup, config.length);
        Ok(Self {
            wlan: layout.wlan(chance)?,
            config,
            queue: Queue::new(),
            pool: Pool::new(),
            station,
            access_point,
            measured,
            next: None,
            events: 0,
        })
    }

    /// Sends everything, and waits for what is on its way.
    pub(super) fn run(mut self) -> Outcome {
        self.wlan.start(&mut Part::new(&mut self.queue, Event::Radio));
        if self.config.rounds > 0 {
            self.generate(0, 0);
        }
        while self.next.is_some() || !self.pool.is_empty() {
            let Some((now, event)) = self.queue.pop() else { break };
            self.events += 1;
            match event {
                Event::Ready => self.enqueue(now),
                Event::Radio(event) => {
                    self.wlan.handle(event, &mut Part::new(&mut self.queue, Event::Radio));
                    self.drain(now);
                }
            }
        }
        self.outcome()
    }

    /// The generator sends a packet; it will be ready when cable and mobile station have done their part.
    fn generate(&mut self, stream: u32, sequence: u32) {
        let sent = self.config.streams[stream as usize] + self.config.interval * u64::from(sequence);
        self.measured.sent(stream as usize, sent);
        self.next = Some(Packet { stream, sequence, sent });
        let ready = self.config.host.pass(self.config.into_host.carry(sent));
        self.queue.push(ready, Event::Ready);
    }

    fn enqueue(&mut self, now: Instant) {
        let packet = self.next.take().expect("an event is scheduled for each packet that is generated");
        let key = self.pool.insert(packet);
        let msdu = Msdu { key, bytes: self.config.wire_bytes, to: self.access_point };
        if !self.wlan.enqueue(self.station, msdu, &mut Part::new(&mut self.queue, Event::Radio)) {
            self.pool.remove(key);
            self.measured.lost(now);
        }
        self.drain(now);
        let after = packet.stream + 1;
        if (after as usize) < self.config.streams.len() {
            self.generate(after, packet.sequence);
        } else if packet.sequence + 1 < self.config.rounds {
            self.generate(0, packet.sequence + 1);
        }
    }

    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.wlan.poll_output() {
            match output {
                Output::Delivered { msdu, .. } => {
                    let packet = self.pool.remove(msdu.key);
                    let config = &mut self.config;
                    let at_gateway = config.into_gateway.carry(now + config.access_point);
                    let back = config.back.carry(config.gateway.pass(at_gateway));
                    self.measured.delivered(packet.stream as usize, packet.sequence, packet.sent, back);
                }
                Output::Dropped { msdu, .. } => {
                    self.pool.remove(msdu.key);
                    self.measured.lost(now);
                }
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn outcome(self) -> Outcome {
        let stats = self.wlan.stats(self.station);
        let packets = u64::from(self.config.rounds) * self.config.streams.len() as u64;
        let mut outcome = Outcome { packets, events: self.events, ..Outcome::default() }
            .with("queue_drops", stats.queue_full as f64)
            .with("retry_drops", stats.retry_limit as f64)
            .with("queue_max", stats.queued_max as f64);
        let busy = self.wlan.channel_stats(1).map(|channel| channel.busy);
        outcome.set("air_share", busy.map(|busy| busy.as_seconds() / self.config.length.as_seconds()));
        self.measured.note(self.config.packet_bytes, &mut outcome);
        outcome
    }
}
