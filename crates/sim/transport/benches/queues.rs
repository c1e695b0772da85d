//! Packet-hops per second on one core of links with each discipline, in a ring of 16.
//!
//! As `ring_one_event` of the bench `hops`: 1024 packets, of three flows, and none is dropped. What drop-tail costs here
//! beside that one is the choice of the kind of link.

use divan::Bencher;
use divan::counter::ItemsCount;
use guestright_engine::{Key, Nanos, Pool, Queue, Streams};
use guestright_transport::{
    AnyLink, CoDelSettings, Discipline, Ecn, Errors, FqCoDelSettings, LinkEvent, LinkNumber, LinkOutput,
    LinkSettings, Packet, QueueLimit, RedSettings,
};
use guestright_units::Seed;

fn main() {
    divan::main();
}

const RING: u32 = 16;
const HOPS: u64 = 200_000;

/// A target that is never missed, so that nothing is dropped and all packets stay.
fn codel() -> CoDelSettings {
    CoDelSettings {
        target: Nanos::from_seconds(500),
        interval: Nanos::from_seconds(500),
        ..CoDelSettings::rfc8289()
    }
}

fn ring(bencher: Bencher, discipline: Discipline, errors: &Errors) {
    let settings = LinkSettings {
        delay: Nanos::from_millis(1),
        queue_max: QueueLimit::Packets(2_000),
        ..LinkSettings::bare(100_000_000)
    };
    let streams = Streams::new(Seed::from_number(1));
    let packets = || -> Vec<(Key, u32)> {
        let mut pool = Pool::new();
        (0..1_024).map(|number| (pool.insert(()), if number % 2 == 0 { 1_500 } else { 40 })).collect()
    };
    let packet = |key: Key, bytes: u32| Packet {
        key,
        bytes,
        flow: u32::try_from(key.index() % 3).unwrap_or(0),
        ecn: Ecn::Not,
    };
    let start = || {
        let mut queue = Queue::new();
        let mut links: Vec<AnyLink> = (0..RING)
            .map(|number| {
                AnyLink::new(LinkNumber(number), settings, discipline, errors, &streams).expect("they can be")
            })
            .collect();
        for (number, (key, bytes)) in (0..).zip(packets()) {
            assert!(links[number % RING as usize].enqueue(packet(key, bytes), &mut queue), "there is room");
        }
        (queue, links)
    };
    let bencher = bencher.counter(ItemsCount::new(HOPS)).with_inputs(start);
    bencher.bench_local_values(|(mut queue, mut links): (Queue<LinkEvent>, Vec<AnyLink>)| {
        let mut hops = 0;
        while hops < HOPS {
            let (_, event) = queue.pop().expect("packets go round for ever");
            let link = event.link.0 as usize;
            links[link].handle(event, &mut queue);
            while let Some(output) = links[link].poll_output() {
                let LinkOutput::Delivered(arrived) = output else { panic!("nothing is dropped") };
                links[(link + 1) % RING as usize].enqueue(packet(arrived.key, arrived.bytes), &mut queue);
                hops += 1;
            }
        }
        (queue, links)
    });
}

#[divan::bench]
fn drop_tail(bencher: Bencher) {
    ring(bencher, Discipline::DropTail, &Errors::None);
}

#[divan::bench]
fn drop_tail_bernoulli(bencher: Bencher) {
    ring(bencher, Discipline::DropTail, &Errors::Bernoulli { per_million: 10_000 });
}

#[divan::bench]
fn drop_tail_gilbert(bencher: Bencher) {
    ring(bencher, Discipline::DropTail, &Errors::Gilbert { per_million: 10_000, burst_thousandths: 3_000 });
}

#[divan::bench]
fn red(bencher: Bencher) {
    let settings = RedSettings { thresh: 1_500.0, maxthresh: 2_000.0, ..RedSettings::ns2() };
    ring(bencher, Discipline::Red(settings), &Errors::None);
}

#[divan::bench]
fn codel_alone(bencher: Bencher) {
    ring(bencher, Discipline::CoDel(codel()), &Errors::None);
}

#[divan::bench]
fn fq_codel(bencher: Bencher) {
    ring(
        bencher,
        Discipline::FqCoDel(FqCoDelSettings { codel: codel(), ..FqCoDelSettings::rfc8290() }),
        &Errors::None,
    );
}
