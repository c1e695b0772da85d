//! The wires and the router in real time, with packets of kernels on them.

use super::request::Request;
use super::tunnel::Tunnel;
use crate::error::BenchError;
use crate::netns::addresses::{SINK, SOURCE, flow_of};
use crate::netns::packet::Headers;
use crate::virtual_time::instant;
use guestright_emulator::{Network, Side};
use guestright_engine::{Instant, Queue};
use guestright_receipt_cost::Sample;
use guestright_units::Time;
use guestright_world::tcp::{Carried, Receipts, Setup, WireEvent, Wires, WiresReport};
use std::collections::VecDeque;
use std::time::Duration;

/// A network that carries IPv4 packets over the testbed's wires.
#[derive(Debug)]
pub(super) struct Router {
    setup: Setup,
    queue: Queue<Event>,
    wires: Wires<Vec<u8>>,
    /// One for each transfer, where there are any.
    tunnels: Vec<Tunnel>,
    receipts: Option<(Receipts, Sample)>,
    /// What comes in at the time of the events that say so.
    entering: VecDeque<Carried<Vec<u8>>>,
    leaving: VecDeque<Leaving>,
    /// Transfers that are at their end, whose hosts bring no more receipts.
    over: Vec<bool>,
    done: Done,
}

/// What it did, beside the wires themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) wires: WiresReport,
    pub(super) receipts: u64,
    /// Receipts that were genuine and did not pass.
    pub(super) refused_receipts: u64,
    pub(super) packets: u64,
    pub(super) arrived: u64,
    pub(super) events: u64,
    /// Packets that no transfer has.
    pub(super) strangers: u64,
    /// Packets that a tunnel would not carry, or that had another length in it than the testbed reckons with.
    pub(super) garbled: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Enter,
    Receipt(u32),
    Wire(WireEvent),
}

impl From<WireEvent> for Event {
    fn from(event: WireEvent) -> Self {
        Self::Wire(event)
    }
}

#[derive(Debug)]
struct Leaving {
    at: Instant,
    side: Side,
    bytes: Vec<u8>,
}

impl Router {
    pub(super) fn new(request: &Request) -> Result<Self, BenchError> {
        let flows = request.setup.starts().len();
        let mut rng = guestright_clock::rng();
        let tunnels = match request.setup.tunnel() {
            None => Vec::new(),
            Some(tunnel) => (0..flows)
                .map(|_| Tunnel::new(tunnel, &mut rng))
                .collect::<Result<_, _>>()
                .map_err(|error| BenchError::Run(format!("make tunnels: {error}")))?,
        };
        let receipts = match request.setup.receipts().zip(request.suite) {
            None => None,
            Some(((receipts, _), suite)) => {
                let sample = Sample::sign(suite)
                    .map_err(|error| BenchError::Run(format!("sign a receipt of {suite}: {error}")))?;
                Some((receipts, sample))
            }
        };
        Ok(Self {
            setup: request.setup.clone(),
            queue: Queue::new(),
            wires: request.setup.wires()?,
            tunnels,
            receipts,
            entering: VecDeque::new(),
            leaving: VecDeque::new(),
            over: vec![false; flows],
            done: Done::default(),
        })
    }

    /// Whether nothing is on its way.
    pub(super) fn is_quiet(&self) -> bool {
        self.wires.is_quiet() && self.entering.is_empty() && self.leaving.is_empty()
    }

    /// The run begins: hosts bring receipts from now on, and what was before does not count.
    pub(super) fn begin(&mut self, from: Duration) -> Result<(), BenchError> {
        if self.is_quiet() {
            self.wires = self.setup.wires()?;
        }
        self.done = Done::default();
        if self.receipts.is_some() {
            for ((_, first), flow) in self.setup.starts().iter().zip(0..) {
                self.queue.push(instant(from) + first.since(Instant::START), Event::Receipt(flow));
            }
        }
        Ok(())
    }

    /// A transfer is at its end.
    pub(super) fn end_transfer(&mut self, flow: usize) {
        self.over[flow] = true;
    }

    /// What it did since the run began.
    pub(super) fn done(&self) -> Done {
        Done { wires: self.wires.report(), ..self.done }
    }

    fn advance(&mut self, now: Duration) {
        let now = instant(now);
        while self.queue.next_at().is_some_and(|at| at <= now) {
            let Some((at, event)) = self.queue.pop() else { return };
            self.done.events += 1;
            match event {
                Event::Enter => {
                    if let Some(carried) = self.entering.pop_front() {
                        self.wires.enter(carried, &mut self.queue);
                    }
                }
                Event::Receipt(flow) => self.verify(flow, at),
                Event::Wire(event) => self.wires.handle(event, &mut self.queue),
            }
            while let Some(carried) = self.wires.poll_arrived() {
                self.arrived(carried, at);
            }
        }
    }

    /// A host has brought a receipt.
    fn verify(&mut self, flow: u32, at: Instant) {
        let Some((receipts, sample)) = &self.receipts else { return };
        if self.over[flow as usize] {
            return;
        }
        self.done.receipts += 1;
        self.done.refused_receipts += u64::from(sample.verify().is_err());
        self.wires.verify(flow, receipts.cost, &mut self.queue);
        self.queue.push(at + receipts.interval, Event::Receipt(flow));
    }

    /// A packet has reached its host.
    fn arrived(&mut self, carried: Carried<Vec<u8>>, at: Instant) {
        let Carried { flow, is_ack, what: mut bytes, .. } = carried;
        if let Some(tunnel) = self.tunnels.get(flow as usize) {
            let Some(opened) = tunnel.open(is_ack, &mut bytes, time(at)) else {
                self.done.garbled += 1;
                return;
            };
            bytes = opened;
        }
        self.done.arrived += 1;
        let side = if is_ack { Side::Near } else { Side::Far };
        self.leaving.push_back(Leaving { at, side, bytes });
    }

    /// A packet as it goes over the wires: sealed where there is a tunnel, by whoever has its end there.
    fn prepared(&mut self, flow: u32, is_ack: bool, packet: &[u8], at: Instant) -> Option<Vec<u8>> {
        let Some(tunnel) = self.tunnels.get(flow as usize) else { return Some(packet.to_vec()) };
        let sealed = tunnel
            .seal(is_ack, packet, time(at))
            .filter(|sealed| tunnel.wire_len(sealed) == self.setup.wire_len(packet.len()));
        if sealed.is_none() {
            self.done.garbled += 1;
        }
        sealed
    }
}

/// Which transfer's packet it is.
fn transfer_of(side: Side, headers: &Headers, flows: usize) -> Option<u32> {
    let [near, far] = headers.ends(side == Side::Near);
    let flow = flow_of(near.1, far.1)?;
    (near.0 == SOURCE && far.0 == SINK && (flow as usize) < flows).then_some(flow)
}

fn time(at: Instant) -> Time {
    Time(at.0 / 1_000)
}

impl Network for Router {
    fn enter(&mut self, side: Side, packet: &[u8], now: Duration) {
        self.advance(now);
        let (at, is_ack) = (instant(now), side == Side::Far);
        let flow = Headers::parse(packet).and_then(|headers| transfer_of(side, &headers, self.over.len()));
        let bytes = u32::try_from(packet.len()).ok().filter(|bytes| *bytes <= Wires::<Vec<u8>>::BYTES_MAX);
        let (Some(flow), Some(bytes)) = (flow, bytes) else {
            // Kernels complain (ICMP) of what comes to sockets that are gone.
            self.done.strangers += 1;
            return;
        };
        self.done.packets += 1;
        let Some(what) = self.prepared(flow, is_ack, packet, at) else { return };
        self.entering.push_back(Carried { flow, is_ack, bytes, what });
        self.queue.push(at, Event::Enter);
        self.advance(now);
    }

    fn due(&self) -> Option<Duration> {
        let leaving = self.leaving.front().map(|leaving| leaving.at);
        leaving.into_iter().chain(self.queue.next_at()).min().map(|at| Duration::from_nanos(at.0))
    }

    fn leave(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<(Side, Duration)> {
        self.advance(now);
        let Leaving { at, side, bytes } = self.leaving.pop_front()?;
        *packet = bytes;
        Some((side, Duration::from_nanos(at.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns::addresses::{SINK_PORT, SOURCE_PORT};
    use crate::netns::packet::What;
    use crate::netns::packet::tests::packet;
    use guestright_experiment::{Settings, Testbed};
    use guestright_units::Seed;
    use guestright_world::Tcp;

    fn router(settings: Settings) -> Router {
        let settings = settings.with("until_s", 60.0).with("flows", 2).complete(Tcp.settings()).unwrap();
        Router::new(&Request::read(&settings, Seed::from_number(1)).unwrap()).unwrap()
    }

    fn segment(flow: u16, length: usize) -> Vec<u8> {
        let what = What::Tcp { sequence: 7, opens: false };
        packet((SOURCE, SOURCE_PORT + flow), (SINK, SINK_PORT + flow), what, &vec![0; length])
    }

    /// Everything that leaves until nothing happens for a second, with where and when.
    fn drain(router: &mut Router) -> Vec<(Side, Duration, Vec<u8>)> {
        let mut left = Vec::new();
        while let Some(due) = router.due().filter(|due| *due < Duration::from_secs(1)) {
            let mut bytes = Vec::new();
            while let Some((side, at)) = router.leave(due, &mut bytes) {
                left.push((side, at, bytes.clone()));
            }
        }
        left
    }

    fn paper_a() -> Settings {
        let esp = Settings::new().with("tunnel", "esp").with("esp.mode", "l2tp");
        esp.with("esp.suite", "aes-128-cbc+hmac-md5-96")
    }

    #[test]
    fn a_packet_takes_the_time_of_cables_and_processor_either_way() {
        let mut router = router(Settings::new());
        let there = segment(1, 1_460);
        router.enter(Side::Near, &there, Duration::from_millis(7));
        // Four cables of 100 Mb/s carry 1538 octets each, 0.5 us long; the processor takes 91 us and 0.15 for an octet.
        let cables = Duration::from_nanos(4 * (1_538 * 80 + 500));
        let processor = Duration::from_nanos(91_000 + 1_500 * 150);
        let want = Duration::from_millis(7) + cables + processor;
        assert_eq!(drain(&mut router), [(Side::Far, want, there)]);
        let back = packet((SINK, SINK_PORT), (SOURCE, SOURCE_PORT), What::Udp, b"an acknowledgement");
        router.enter(Side::Far, &back, Duration::from_millis(50));
        let left = drain(&mut router);
        assert_eq!((left.len(), left[0].0, &left[0].2), (1, Side::Near, &back));
        assert_eq!((router.done().packets, router.done().arrived, router.done().strangers), (2, 2, 0));
    }

    /// 60 octets are 152 in paper A's tunnel; the router's processor opens what a host has sealed, and the other way round.
    #[test]
    fn what_goes_through_a_tunnel_is_really_sealed_and_comes_out_as_it_was() {
        let mut router = router(paper_a());
        let there = packet((SOURCE, SOURCE_PORT), (SINK, SINK_PORT), What::Udp, &[7; 32]);
        assert_eq!(router.setup.wire_len(there.len()), 152);
        let sealed = router.prepared(0, false, &there, Instant(0)).unwrap();
        assert!(!sealed.windows(8).any(|window| window == [7; 8]), "readable");
        let back = packet((SINK, SINK_PORT), (SOURCE, SOURCE_PORT), What::Udp, &[8; 1_300]);
        router.enter(Side::Near, &there, Duration::ZERO);
        router.enter(Side::Far, &back, Duration::ZERO);
        let left = drain(&mut router);
        assert_eq!(left.iter().map(|(_, _, bytes)| bytes).collect::<Vec<_>>(), [&there, &back]);
        assert_eq!(router.done().garbled, 0);
    }

    #[test]
    fn what_was_changed_on_the_way_does_not_come_out_and_is_counted() {
        let mut router = router(paper_a());
        let packet = segment(0, 100);
        let mut sealed = router.prepared(0, false, &packet, Instant(0)).unwrap();
        sealed[40] ^= 1;
        let carried = Carried { flow: 0, is_ack: false, bytes: 140, what: sealed };
        router.arrived(carried, Instant(0));
        assert_eq!((router.done().garbled, router.done().arrived), (1, 0));
        assert!(router.leaving.is_empty());
    }

    #[test]
    fn what_no_transfer_has_is_not_carried_and_counted() {
        let mut router = router(Settings::new());
        let strangers = [
            segment(2, 100),
            packet((SOURCE, SOURCE_PORT), (SINK, SINK_PORT + 1), What::Udp, b"other ports"),
            segment(0, 2_100),
            b"no packet".to_vec(),
        ];
        for stranger in &strangers {
            router.enter(Side::Near, stranger, Duration::ZERO);
        }
        assert_eq!(drain(&mut router), []);
        assert_eq!(router.done().strangers, 4);
    }

    #[test]
    fn receipts_are_verified_and_take_the_processor_until_their_transfer_is_over() {
        let mut router = router(Settings::new().with("receipts.suite", "ed25519"));
        router.begin(Duration::ZERO).unwrap();
        router.advance(Duration::from_secs(5));
        assert_eq!((router.done().receipts, router.done().refused_receipts), (2, 0));
        router.end_transfer(0);
        router.advance(Duration::from_millis(19_900));
        let done = router.done();
        assert_eq!(done.receipts, 2 + 3, "of one transfer");
        // A packet that comes while one is verified, for 48.4 ms, waits until the verification is over.
        let (now, there) = (Duration::from_secs(20), segment(1, 1_460));
        router.queue.push(instant(now), Event::Receipt(1));
        router.enter(Side::Near, &there, now + Duration::from_millis(1));
        let mut bytes = Vec::new();
        assert_eq!(router.leave(now + Duration::from_micros(48_400), &mut bytes), None);
        assert!(router.leave(now + Duration::from_millis(50), &mut bytes).is_some());
    }
}
