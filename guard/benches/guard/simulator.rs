//! The simulator: events of its queue, a cell of 802.11, and flows over the links of paper C.

use crate::{Path as GuardPath, ROUNDS_MAX, Round};
use guestright_congestion::{
    AnyController, InitialWindow, RecoveryKind, RecoverySettings, Reno, RenoSettings,
};
use guestright_engine::{Instant, Key, Pool, Queue, Streams};
use guestright_transport::path::{Call, Carrier, Path, PathConfig, TcpCarrier};
use guestright_transport::{ReceiverSettings, SenderSettings, Source, SourceSettings};
use guestright_units::Seed;
use guestright_wlan::{Config, Event, Msdu, Output, Phy, Rate, StationId, Wlan};
use std::hint::black_box;

pub(crate) const PATHS: &[GuardPath] = &[
    ("simulate-40-events", queue),
    ("simulate-wlan-10-ms", wlan),
    ("simulate-udp-120", || transport(false)),
    ("simulate-newreno-120", || transport(true)),
];

const NANOS: u64 = 1_000_000_000;

fn streams() -> Streams {
    Streams::new(Seed::from_number(1))
}

/// A thousand events wait.
fn queue() -> Round {
    const WAITING: u64 = 1_000;
    let mut queue = Queue::<[u32; 4]>::new();
    (0..WAITING).for_each(|number| queue.push(Instant(number * 7_919 % WAITING), [0; 4]));
    Box::new(move || {
        for number in 0..40 {
            let (at, event) = queue.pop().unwrap();
            queue.push(Instant(at.0 + 1 + number * 7_919 % WAITING), black_box(event));
        }
    })
}

/// Ten stations that always have something for their access point.
struct Cell {
    radio: Wlan,
    queue: Queue<Event>,
    key: Key,
}

impl Cell {
    fn new() -> Self {
        const STATIONS: u16 = 10;
        let phy = Phy { ack_rate: Some(Rate::Cck11), ..Phy::b() };
        let config = Config { phy, ..Config::new(&[1], usize::from(STATIONS)) };
        let radio = Wlan::new(&config, &streams()).unwrap();
        let mut cell = Self { radio, queue: Queue::new(), key: Pool::new().insert(()) };
        cell.radio.start(&mut cell.queue);
        for station in (1..=STATIONS).flat_map(|station| [station; 2]) {
            cell.send(StationId(station));
        }
        cell
    }

    fn send(&mut self, from: StationId) {
        let msdu = Msdu { key: self.key, bytes: 60, to: StationId(0) };
        assert!(self.radio.enqueue(from, msdu, &mut self.queue), "there is room for two");
    }

    fn run(&mut self, end: Instant) {
        while self.queue.next_at().is_some_and(|at| at < end) {
            let (_, event) = self.queue.pop().unwrap();
            self.radio.handle(event, &mut self.queue);
            while let Some(output) = self.radio.poll_output() {
                let (Output::Delivered { from, .. } | Output::Dropped { station: from, .. }) = output;
                self.send(from);
            }
        }
    }
}

/// Each round is 10 ms.
fn wlan() -> Round {
    let (mut cell, mut rounds) = (Cell::new(), 1..);
    Box::new(move || cell.run(Instant(NANOS / 100 * rounds.next().unwrap())))
}

fn newreno() -> TcpCarrier<AnyController> {
    const SEGMENT: u32 = 160;
    const WINDOW: u32 = 20 * SEGMENT;
    let reno = RenoSettings { initial_window: InitialWindow::Segments(2), ..RenoSettings::rfc5681(SEGMENT) };
    TcpCarrier {
        sender: SenderSettings {
            recovery: RecoverySettings::new(RecoveryKind::NewReno, SEGMENT),
            window: WINDOW,
            ..SenderSettings::rfc(SEGMENT)
        },
        receiver: ReceiverSettings { window: WINDOW, acknowledge_every: 1, ..ReceiverSettings::rfc5681() },
        controller: AnyController::Reno(Reno::new(reno).unwrap()),
        send_buffer: None,
    }
}

/// 120 calls, by UDP or by TCP. Each round is 100 ms.
fn transport(by_tcp: bool) -> Round {
    const ROUND: u64 = NANOS / 10;
    let end = Instant(ROUND * ROUNDS_MAX as u64);
    let mut path = Path::new(PathConfig::paper_c(), &streams()).unwrap();
    for flow in 0..120 {
        let mut chance = streams().stream("speech", flow);
        let start = Instant(flow * 2 * NANOS / 120 % (2 * NANOS));
        let arrivals = Source::new(SourceSettings::paper_c(160), start, end, &mut chance).unwrap().collect();
        let carrier = if by_tcp { Carrier::Tcp(newreno()) } else { Carrier::Udp { header_bytes: 0 } };
        path.add_call(Call { arrivals, packet_bytes: 160, carrier, errors: None }).unwrap();
    }
    let mut rounds = 1..;
    Box::new(move || path.run(Instant(ROUND * rounds.next().unwrap())))
}
