//! Packet-hops per second on one core: the paper's network with calls over UDP and TCP, and file transfers.
//!
//! A hop is a packet that arrives at the end of a link. What is timed is the run: 60 simulated seconds, and as many packets
//! for each number of flows where that varies. Arrivals are drawn and flows are set up before.

use divan::Bencher;
use divan::counter::ItemsCount;
use guestright_congestion::{
    AnyController, InitialWindow, RecoveryKind, RecoverySettings, Reno, RenoSettings, Vegas, VegasSettings,
};
use guestright_engine::{Instant, Streams};
use guestright_transport::path::{Bottleneck, Call, Carrier, Path, PathConfig, TcpCarrier, Transfer};
use guestright_transport::{ReceiverSettings, SenderSettings, Source, SourceSettings};
use guestright_units::Seed;

fn main() {
    divan::main();
}

const NANOS: u64 = 1_000_000_000;

fn streams() -> Streams {
    Streams::new(Seed::from_number(1))
}

/// Links for `flows` calls: as loaded as with 80 calls over 2 Mbit/s, whatever their number.
fn config(flows: u32) -> PathConfig {
    let paper = PathConfig::paper_c();
    let wide = |bottleneck: Bottleneck| Bottleneck {
        rate: bottleneck.rate * u64::from(flows) / 80,
        buffer: (bottleneck.buffer * flows / 80).max(20),
        ..bottleneck
    };
    PathConfig { first: wide(paper.first), second: wide(paper.second), ..paper }
}

fn arrivals(flow: u32, seconds: u64) -> Vec<Instant> {
    let mut chance = streams().stream("speech", flow.into());
    let start = Instant(u64::from(flow) * 2 * NANOS / 120 % (2 * NANOS));
    let source = Source::new(SourceSettings::paper_c(160), start, Instant(seconds * NANOS), &mut chance);
    source.expect("the settings can be").collect()
}

fn newreno(segment: u32, window: u32) -> TcpCarrier<AnyController> {
    let reno = RenoSettings { initial_window: InitialWindow::Segments(2), ..RenoSettings::rfc5681(segment) };
    TcpCarrier {
        sender: SenderSettings {
            recovery: RecoverySettings::new(RecoveryKind::NewReno, segment),
            window: window * segment,
            ..SenderSettings::rfc(segment)
        },
        receiver: ReceiverSettings {
            window: window * segment,
            acknowledge_every: 1,
            ..ReceiverSettings::rfc5681()
        },
        controller: AnyController::Reno(Reno::new(reno).expect("the settings can be")),
        send_buffer: None,
    }
}

/// ns-2's Vegas.
fn vegas(segment: u32, window: u32) -> TcpCarrier<AnyController> {
    let vegas = Vegas::new(VegasSettings::ns2(segment, window)).expect("the settings can be");
    TcpCarrier {
        sender: SenderSettings::ns2(RecoveryKind::Vegas, segment, window),
        receiver: ReceiverSettings::ns2(segment, window),
        controller: AnyController::Vegas(vegas),
        send_buffer: None,
    }
}

#[derive(Clone, Copy)]
enum Over {
    Udp,
    NewReno,
    Vegas,
}

fn path(config: PathConfig, over: Over, calls: u32, bulk: u32, seconds: u64) -> Path<AnyController> {
    let mut path = Path::new(config, &streams()).expect("the configuration can be");
    for flow in 0..calls {
        let carrier = match over {
            Over::Udp => Carrier::Udp { header_bytes: 0 },
            Over::NewReno => Carrier::Tcp(newreno(160, 20)),
            Over::Vegas => Carrier::Tcp(vegas(160, 20)),
        };
        let call = Call { arrivals: arrivals(flow, seconds), packet_bytes: 160, carrier, errors: None };
        path.add_call(call).expect("the call can be");
    }
    for flow in 0..bulk {
        let start = Instant(u64::from(flow) * 10_000_000);
        let transfer = Transfer { start, bytes: None, tcp: newreno(1_000, 64) };
        path.add_transfer(transfer).expect("the transfer can be");
    }
    path
}

fn measure(bencher: Bencher, seconds: u64, make: impl Fn() -> Path<AnyController> + Sync) {
    let mut once = make();
    once.run(Instant(seconds * NANOS));
    bencher.counter(ItemsCount::new(once.hops())).with_inputs(make).bench_local_values(|mut path| {
        path.run(Instant(seconds * NANOS));
        path
    });
}

/// 120 calls over 2 Mbit/s, 60 s.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn udp_120(bencher: Bencher) {
    measure(bencher, 60, || path(PathConfig::paper_c(), Over::Udp, 120, 0, 60));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn newreno_120(bencher: Bencher) {
    measure(bencher, 60, || path(PathConfig::paper_c(), Over::NewReno, 120, 0, 60));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn vegas_120(bencher: Bencher) {
    measure(bencher, 60, || path(PathConfig::paper_c(), Over::Vegas, 120, 0, 60));
}

/// With 60 file transfers.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn udp_120_bulk_60(bencher: Bencher) {
    measure(bencher, 60, || path(PathConfig::paper_c(), Over::Udp, 120, 60, 60));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn newreno_120_bulk_60(bencher: Bencher) {
    measure(bencher, 60, || path(PathConfig::paper_c(), Over::NewReno, 120, 60, 60));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn vegas_120_bulk_60(bencher: Bencher) {
    measure(bencher, 60, || path(PathConfig::paper_c(), Over::Vegas, 120, 60, 60));
}

/// What is needed before a run, drawing arrivals included.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn set_up_120(bencher: Bencher) {
    bencher.bench_local(|| path(PathConfig::paper_c(), Over::Udp, 120, 0, 60));
}

/// So long are flows run before the time is taken: by then each has sent and has had losses, and memory has grown.
const WARM_SECONDS: u64 = 4;

/// How the cost of a packet depends on the number of flows: the same load for each, the same number of packets in all, and
/// neither setting up nor the first seconds count.
fn measure_warm(bencher: Bencher, over: Over, flows: u32) {
    let seconds = WARM_SECONDS + (100_000 / u64::from(flows)).min(1_000);
    let warm = || {
        let mut path = path(config(flows), over, flows, 0, seconds);
        path.run(Instant(WARM_SECONDS * NANOS));
        path
    };
    let mut once = warm();
    let before = once.hops();
    once.run(Instant(seconds * NANOS));
    bencher.counter(ItemsCount::new(once.hops() - before)).with_inputs(warm).bench_local_values(
        |mut path| {
            path.run(Instant(seconds * NANOS));
            path
        },
    );
}

#[divan::bench(args = [20, 120, 1_000, 10_000], sample_count = 5, sample_size = 1)]
fn udp_flows(bencher: Bencher, flows: u32) {
    measure_warm(bencher, Over::Udp, flows);
}

#[divan::bench(args = [20, 120, 1_000, 10_000], sample_count = 5, sample_size = 1)]
fn newreno_flows(bencher: Bencher, flows: u32) {
    measure_warm(bencher, Over::NewReno, flows);
}

/// What flows of 60 s need before they run, drawing arrivals included.
#[divan::bench(args = [20, 120, 1_000, 10_000], sample_count = 5, sample_size = 1)]
fn set_up_newreno_flows(bencher: Bencher, flows: u32) {
    bencher.counter(ItemsCount::new(flows)).bench_local(|| path(config(flows), Over::NewReno, flows, 0, 60));
}
