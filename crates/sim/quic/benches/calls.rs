//! 120 calls of 60 s over QUIC on the paper's path: packet-hops per second on one core. Set-up is timed too.

use divan::Bencher;
use divan::counter::ItemsCount;
use guestright_congestion::Reno;
use guestright_engine::{Instant, Nanos, Streams};
use guestright_quic::{Algorithm, Carriage, Congestion, Opening, QuicEnds, QuicSettings};
use guestright_transport::path::{Call, Carrier, Path, PathConfig};
use guestright_transport::{Source, SourceSettings};
use guestright_units::Seed;
use rand::RngExt as _;

fn main() {
    divan::main();
}

const END: Instant = Instant(60_000_000_000);

/// Packet-hops of one run.
fn run(carriage: Carriage, algorithm: Algorithm) -> u64 {
    let streams = Streams::new(Seed::from_number(1));
    let settings = QuicSettings {
        opening: Opening::WithFirstPacket,
        ..QuicSettings::call(carriage, Congestion::Named(algorithm))
    };
    let mut path = Path::<Reno>::new(PathConfig::paper_c(), &streams).expect("the paper's path can be");
    for flow in 0..120 {
        let start = Instant(streams.stream("start", flow).random_range(0..2_000_000_000));
        let mut speech = streams.stream("speech", flow);
        let source = Source::new(SourceSettings::paper_c(160), start, END, &mut speech);
        let arrivals = source.expect("the paper's source can be").collect();
        let ends = QuicEnds::new(&settings, &streams, flow).expect("the settings can be");
        let carrier = Carrier::Foreign(Box::new(ends));
        path.add_call(Call { arrivals, packet_bytes: 160, carrier, errors: None }).expect("the call can be");
    }
    path.run(END + Nanos::from_seconds(1));
    path.hops()
}

#[divan::bench(args = [Algorithm::QuinnNewReno, Algorithm::Vegas, Algorithm::Real])]
fn datagrams(bencher: Bencher, algorithm: Algorithm) {
    bencher
        .counter(ItemsCount::new(run(Carriage::Datagrams, algorithm)))
        .bench(|| run(Carriage::Datagrams, algorithm));
}

#[divan::bench(args = [Algorithm::QuinnNewReno, Algorithm::Vegas])]
fn stream(bencher: Bencher, algorithm: Algorithm) {
    bencher
        .counter(ItemsCount::new(run(Carriage::Stream, algorithm)))
        .bench(|| run(Carriage::Stream, algorithm));
}

#[divan::bench]
fn stream_per_packet(bencher: Bencher) {
    let run = || run(Carriage::StreamPerPacket, Algorithm::QuinnNewReno);
    bencher.counter(ItemsCount::new(run())).bench(run);
}
