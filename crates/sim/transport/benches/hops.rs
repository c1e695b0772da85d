//! Packet-hops per second on one core: a dumbbell of greedy TCP flows over 100 Mbit/s.
//!
//! A hop is a packet that arrives at the end of a link. Setting the run up is not part of what is timed.
//!
//! And links alone: packets go round a ring of 16, with one event for each hop, and as textbooks have it with two.

#[path = "../tests/behaviour/harness/dumbbell.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod dumbbell;
#[path = "../tests/behaviour/harness/two_events.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod two_events;

use divan::Bencher;
use divan::counter::ItemsCount;
use dumbbell::{Dumbbell, Plan};
use guestright_congestion::{Controller, Reno, RenoSettings};
use guestright_engine::{Instant, Key, Nanos, Pool, Queue};
use guestright_transport::{
    Link, LinkEvent, LinkNumber, LinkSettings, QueueLimit, ReceiverSettings, SenderSettings,
};
use two_events::{TextbookLink, TwoEvents};

fn main() {
    divan::main();
}

/// `flows` flows share 100 Mbit/s; 20 ms there and back; the queue holds 100 packets.
fn plan(flows: u32) -> Plan {
    let access = LinkSettings { delay: Nanos::from_millis(2), ..LinkSettings::bare(1_000_000_000) };
    Plan {
        flows,
        access,
        bottleneck: LinkSettings {
            rate: 100_000_000,
            delay: Nanos::from_millis(6),
            queue_max: QueueLimit::Packets(100),
            ..access
        },
        sender: SenderSettings { window: 1 << 20, ..SenderSettings::rfc(1_460) },
        receiver: ReceiverSettings { window: 1 << 20, acknowledge_every: 1, ..ReceiverSettings::rfc5681() },
        bytes: None,
        stagger: Nanos::from_millis(7),
    }
}

fn reno() -> Reno {
    Reno::new(RenoSettings::rfc5681(1_460)).expect("the settings can be")
}

fn boxed() -> Box<dyn Controller> {
    Box::new(reno())
}

/// Ten simulated seconds, after two to warm up.
fn measure<C: Controller>(bencher: Bencher, flows: u32, controller: fn() -> C) {
    let warm = || {
        let mut dumbbell = Dumbbell::new(plan(flows), 1, controller).expect("the plan can be");
        dumbbell.run(Instant(2_000_000_000));
        dumbbell
    };
    let hops = |dumbbell: &mut Dumbbell<C>| {
        let before = dumbbell.hops();
        dumbbell.run(Instant(12_000_000_000));
        dumbbell.hops() - before
    };
    let count = hops(&mut warm());
    bencher.counter(ItemsCount::new(count)).with_inputs(warm).bench_local_values(|mut dumbbell| {
        hops(&mut dumbbell);
        dumbbell
    });
}

#[divan::bench(args = [1, 8, 60])]
fn newreno(bencher: Bencher, flows: u32) {
    measure(bencher, flows, reno);
}

/// With the controller chosen at run time.
#[divan::bench(args = [8])]
fn newreno_boxed(bencher: Bencher, flows: u32) {
    measure(bencher, flows, boxed);
}

const RING: u32 = 16;
const RING_HOPS: u64 = 200_000;

/// 100 Mbit/s and 1 ms: of 1024 packets some 8 are on each wire, the others wait.
fn ring_link() -> LinkSettings {
    LinkSettings {
        delay: Nanos::from_millis(1),
        queue_max: QueueLimit::Packets(2_000),
        ..LinkSettings::bare(100_000_000)
    }
}

/// Packets of a ring, with their lengths: every second one an acknowledgement.
fn ring_packets() -> Vec<(Key, u32)> {
    let mut pool = Pool::new();
    (0..1_024).map(|number| (pool.insert(()), if number % 2 == 0 { 1_500 } else { 40 })).collect()
}

#[divan::bench]
fn ring_one_event(bencher: Bencher) {
    let ring = || {
        let mut queue = Queue::new();
        let mut links: Vec<Link> = (0..RING)
            .map(|number| Link::new(LinkNumber(number), ring_link()).expect("the settings can be"))
            .collect();
        for (number, (key, bytes)) in (0..).zip(ring_packets()) {
            let link: &mut Link = &mut links[number % RING as usize];
            assert!(link.enqueue(key, bytes, &mut queue), "there is room");
        }
        (queue, links)
    };
    let bencher = bencher.counter(ItemsCount::new(RING_HOPS)).with_inputs(ring);
    bencher.bench_local_values(|(mut queue, mut links): (Queue<LinkEvent>, Vec<Link>)| {
        for _ in 0..RING_HOPS {
            let (_, event) = queue.pop().expect("packets go round for ever");
            let link = event.link.0 as usize;
            links[link].handle(event, &mut queue);
            let packet = links[link].poll_output().expect("a packet has arrived");
            links[(link + 1) % RING as usize].enqueue(packet.key, packet.bytes, &mut queue);
        }
        (queue, links)
    });
}

#[divan::bench]
fn ring_two_events(bencher: Bencher) {
    /// Which link it is of would be a part of the event.
    type Event = (u32, TwoEvents);
    /// The engine's view of one link.
    struct Of<'a>(u32, &'a mut Queue<Event>);
    impl guestright_engine::Agenda<TwoEvents> for Of<'_> {
        fn now(&self) -> Instant {
            self.1.now()
        }
        fn schedule(&mut self, at: Instant, event: TwoEvents) {
            self.1.push(at, (self.0, event));
        }
    }
    let ring = || {
        let mut queue: Queue<Event> = Queue::new();
        let mut links: Vec<TextbookLink> = (0..RING).map(|_| TextbookLink::new(ring_link())).collect();
        for (number, (key, bytes)) in (0..).zip(ring_packets()) {
            let link = number % RING;
            assert!(links[link as usize].enqueue(key, bytes, &mut Of(link, &mut queue)), "there is room");
        }
        (queue, links)
    };
    let bencher = bencher.counter(ItemsCount::new(RING_HOPS)).with_inputs(ring);
    bencher.bench_local_values(|(mut queue, mut links)| {
        let mut hops = 0;
        while hops < RING_HOPS {
            let (_, (link, event)) = queue.pop().expect("packets go round for ever");
            links[link as usize].handle(event, &mut Of(link, &mut queue));
            if let Some((key, bytes)) = links[link as usize].poll_output() {
                let next = (link + 1) % RING;
                links[next as usize].enqueue(key, bytes, &mut Of(next, &mut queue));
                hops += 1;
            }
        }
        (queue, links)
    });
}
