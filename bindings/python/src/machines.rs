//! Links and congestion controllers, to script a path with. Time comes in, in microseconds.

use guestright_congestion::{Ack, Algorithm, AnyController, Controller as _, Flight, Sent};
use guestright_engine::{Instant, Nanos, Part, Pool, Queue, Streams};
use guestright_transport::{
    Link as Simulated, LinkEvent, LinkNumber, LinkSettings, LinkStatus as _, QueueLimit,
};
use guestright_units::{Micros, Seed, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The most packets that are in a link at once, the queue and the wire together.
const PACKETS_MAX: usize = 1 << 20;

/// A congestion controller with settings of today (an initial window of ten segments).
#[pyclass(module = "guestright._lab")]
pub(crate) struct Controller {
    algorithm: Algorithm,
    controller: AnyController,
}

#[pymethods]
impl Controller {
    #[new]
    #[pyo3(signature = (algorithm, *, segment = 1_200))]
    fn new(algorithm: &str, segment: u32) -> PyResult<Self> {
        let found = Algorithm::from_name(algorithm).filter(|found| !found.name().starts_with("quinn-"));
        let found = found.ok_or_else(|| {
            let ours = Algorithm::ALL.iter().map(|one| one.name()).filter(|name| !name.starts_with("quinn-"));
            let names = ours.collect::<Vec<_>>().join(", ");
            PyValueError::new_err(format!("there is no controller `{algorithm}`; there are {names}"))
        })?;
        let controller =
            found.controller(segment).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { algorithm: found, controller })
    }

    /// How many bytes may be on their way.
    #[getter]
    fn window(&self) -> u64 {
        self.controller.window()
    }

    /// Where slow start ends, in bytes; None before the first loss.
    #[getter]
    fn slow_start_threshold(&self) -> Option<u64> {
        Some(self.controller.slow_start_threshold()).filter(|bytes| *bytes < u64::MAX)
    }

    /// Bits per second; None: as fast as the window lets segments leave.
    #[getter]
    fn pacing_bps(&self) -> Option<u64> {
        self.controller.pacing().map(|rate| rate.0.get())
    }

    /// A segment leaves.
    #[pyo3(signature = (now_us, *, offset, bytes, in_flight, again = false))]
    fn on_sent(&mut self, now_us: u64, offset: u64, bytes: u64, in_flight: u64, again: bool) {
        self.controller.on_sent(&Sent { now: Time(now_us), offset, bytes, in_flight, again, last: false });
    }

    /// New data was acknowledged.
    #[pyo3(signature = (now_us, *, bytes, acknowledged, in_flight, round_trip_us = None, window_limited = true))]
    fn on_ack(
        &mut self,
        now_us: u64,
        bytes: u64,
        acknowledged: u64,
        in_flight: u64,
        round_trip_us: Option<u64>,
        window_limited: bool,
    ) {
        self.controller.on_ack(&Ack {
            now: Time(now_us),
            bytes,
            acknowledged,
            next: acknowledged.saturating_add(in_flight),
            in_flight,
            round_trip: round_trip_us.map(Micros),
            window_limited,
            segments: 1,
            ..Ack::default()
        });
    }

    /// A loss was found: a recovery begins.
    #[pyo3(signature = (now_us, *, in_flight, next = 0))]
    fn on_loss(&mut self, now_us: u64, in_flight: u64, next: u64) {
        self.controller.on_loss(&flight(now_us, in_flight, next));
    }

    /// A recovery is over.
    #[pyo3(signature = (now_us, *, acknowledged, in_flight))]
    fn on_recovered(&mut self, now_us: u64, acknowledged: u64, in_flight: u64) {
        let next = acknowledged.saturating_add(in_flight);
        self.controller.on_recovered(&Ack {
            now: Time(now_us),
            acknowledged,
            in_flight,
            next,
            ..Ack::default()
        });
    }

    /// The retransmission timer went off.
    #[pyo3(signature = (now_us, *, in_flight, next = 0))]
    fn on_timeout(&mut self, now_us: u64, in_flight: u64, next: u64) {
        self.controller.on_timeout(&flight(now_us, in_flight, next));
    }

    fn __repr__(&self) -> String {
        format!("<Controller {}: window {} bytes>", self.algorithm.name(), self.controller.window())
    }
}

fn flight(now_us: u64, in_flight: u64, next: u64) -> Flight {
    Flight { now: Time(now_us), in_flight, next, ..Flight::default() }
}

/// A link that carries packets one way: a queue that drops at its end, a rate, and a delay.
#[pyclass(module = "guestright._lab")]
pub(crate) struct Link {
    link: Simulated,
    /// The link's events; nothing is a point in time that was only named.
    queue: Queue<Option<LinkEvent>>,
    packets: Pool<u64>,
    arrived: Vec<Arrived>,
}

/// When it arrived, in microseconds; its tag; its bytes; and whether the wire lost it.
type Arrived = (u64, u64, u32, bool);

#[pymethods]
impl Link {
    /// `rate_bps` is in bits per second; `loss` is the share of packets that the wire loses, by `seed`.
    #[new]
    #[pyo3(signature = (rate_bps, *, delay_us = 0, queue_packets = 1_000, loss = 0.0, seed = 0))]
    fn new(rate_bps: u64, delay_us: u64, queue_packets: u32, loss: f64, seed: u64) -> PyResult<Self> {
        if !(0.0..=1.0).contains(&loss) {
            return Err(PyValueError::new_err(format!("loss is {loss}; a share from 0 to 1 is wanted")));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a million")]
        let loss_per_million = (loss * 1e6).round() as u32;
        let settings = LinkSettings {
            delay: Nanos::from_micros(delay_us),
            queue_max: QueueLimit::Packets(queue_packets),
            loss_per_million,
            ..LinkSettings::bare(rate_bps)
        };
        let chance = Streams::new(Seed::from_number(seed)).stream("link", 0);
        let link = Simulated::lossy(LinkNumber(0), settings, chance);
        let link = link.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { link, queue: Queue::new(), packets: Pool::new(), arrived: Vec::new() })
    }

    /// Puts a packet with a number of yours into the queue; false if it was full and dropped it. Time does not go back.
    fn send(&mut self, now_us: u64, bytes: u32, tag: u64) -> PyResult<bool> {
        self.move_to(now_us)?;
        if self.packets.len() + self.arrived.len() >= PACKETS_MAX {
            return Ok(false);
        }
        let key = self.packets.insert(tag);
        let is_queued = self.link.enqueue(key, bytes, &mut Part::new(&mut self.queue, Some));
        if !is_queued {
            self.packets.remove(key);
        }
        Ok(is_queued)
    }

    /// When something happens next; None: nothing is on its way.
    fn poll_timeout(&self) -> Option<u64> {
        self.queue.next_at().map(|at| at.0.div_ceil(1_000))
    }

    /// What has arrived since it was last asked, in its order: (time in µs, tag, bytes, whether the wire lost it).
    fn advance(&mut self, now_us: u64) -> PyResult<Vec<Arrived>> {
        self.move_to(now_us)?;
        Ok(std::mem::take(&mut self.arrived))
    }

    /// How many packets were dropped because the queue was full.
    #[getter]
    fn dropped(&self) -> u64 {
        self.link.stats().dropped
    }

    /// How many packets are in the queue or on the wire.
    #[getter]
    fn in_flight(&self) -> usize {
        self.packets.len()
    }
}

impl Link {
    /// Everything that happens until then.
    fn move_to(&mut self, now_us: u64) -> PyResult<()> {
        let until = Instant::from_time(Time(now_us));
        if until < self.queue.now() {
            let was = self.queue.now().0 / 1_000;
            return Err(PyValueError::new_err(format!("now_us is {now_us}, but it was {was} already")));
        }
        self.queue.push(until, None);
        while self.queue.next_at().is_some_and(|at| at <= until) {
            let Some((at, event)) = self.queue.pop() else { break };
            let Some(event) = event else { continue };
            self.link.handle(event, &mut Part::new(&mut self.queue, Some));
            while let Some(packet) = self.link.poll_output() {
                let tag = self.packets.remove(packet.key);
                self.arrived.push((at.0 / 1_000, tag, packet.bytes, packet.lost));
            }
        }
        Ok(())
    }
}
