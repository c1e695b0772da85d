//! Links against sums by hand, and against a link as textbooks have it.

use crate::harness::between::At;
use crate::harness::two_events::TextbookLink;
use guestright_engine::{Instant, Key, Nanos, Pool, Queue, Streams};
use guestright_transport::{
    Link, LinkEvent, LinkNumber, LinkSettings, LinkStatus, QueueLimit, SettingsError,
};
use guestright_units::Seed;
use proptest::prelude::*;

const NUMBER: LinkNumber = LinkNumber(3);

fn link(settings: LinkSettings) -> Link {
    Link::new(NUMBER, settings).expect("the settings can be")
}

fn keys(count: usize) -> Vec<Key> {
    let mut pool = Pool::new();
    (0..count).map(|number| pool.insert(number)).collect()
}

/// When each packet arrives.
fn arrivals(link: &mut Link, queue: &mut Queue<LinkEvent>) -> Vec<(Instant, Key)> {
    let mut arrived = Vec::new();
    while let Some((at, event)) = queue.pop() {
        link.handle(event, queue);
        while let Some(packet) = link.poll_output() {
            arrived.push((at, packet.key));
        }
    }
    arrived
}

#[test]
fn a_packet_takes_its_transmission_and_its_propagation() {
    // (1462 + 38) * 8 bits at 100 Mbit/s are 120 us; and 500 ns of cable.
    let mut link = link(LinkSettings::ethernet_100());
    let mut queue = Queue::new();
    let keys = keys(3);
    assert!(link.enqueue(keys[0], 1_462, &mut queue));
    // An acknowledgement of 40 bytes is padded to 46: 6.72 us, the shortest frame there is.
    assert!(link.enqueue(keys[1], 40, &mut queue));
    assert!(link.enqueue(keys[2], 46, &mut queue));
    assert_eq!((link.queue_len(Instant(0)), link.in_flight()), (3, 3));
    assert_eq!(queue.len(), 1, "one event for all of them");
    let want = [(Instant(120_500), keys[0]), (Instant(127_220), keys[1]), (Instant(133_940), keys[2])];
    assert_eq!(arrivals(&mut link, &mut queue), want);
    let stats = link.stats();
    assert_eq!((stats.taken, stats.delivered, stats.dropped, stats.queue_max), (3, 3, 0, 3));
    assert_eq!((stats.taken_bytes, stats.delivered_bytes), (1_548, 1_548));
    assert_eq!(stats.busy, Nanos(133_440));
}

#[test]
fn a_full_queue_drops_what_comes_and_counts_what_is_being_sent() {
    let settings = LinkSettings { queue_max: QueueLimit::Packets(2), ..LinkSettings::bare(8_000_000) };
    let mut link = link(settings);
    let mut queue = Queue::new();
    let keys = keys(5);
    // 1000 bytes are 1 ms.
    let taken: Vec<bool> = keys.iter().map(|key| link.enqueue(*key, 1_000, &mut queue)).collect();
    assert_eq!(taken, [true, true, false, false, false]);
    assert_eq!(queue.next_at(), Some(Instant(1_000_000)));
    let event = queue.pop().expect("a packet arrives").1;
    link.handle(event, &mut queue);
    assert_eq!(link.poll_output().map(|packet| packet.key), Some(keys[0]));
    // One has left: there is room for one.
    assert!(link.enqueue(keys[2], 1_000, &mut queue));
    assert!(!link.enqueue(keys[3], 1_000, &mut queue));
    assert_eq!(link.stats().dropped, 4);
}

#[test]
fn room_is_there_as_soon_as_the_last_bit_has_left_not_when_it_arrives() {
    let settings = LinkSettings {
        queue_max: QueueLimit::Packets(1),
        delay: Nanos::from_millis(100),
        ..LinkSettings::bare(8_000_000)
    };
    let (mut link, mut wake) = (link(settings), link(LinkSettings::bare(8_000_000)));
    let mut queue = Queue::new();
    let keys = keys(3);
    assert!(link.enqueue(keys[0], 1_000, &mut queue));
    // Another link's packet, to have an event at 1 ms.
    wake.enqueue(keys[2], 1_000, &mut queue);
    assert_eq!(queue.pop().map(|(at, _)| at), Some(Instant(1_000_000)));
    assert!(link.enqueue(keys[1], 1_000, &mut queue));
    assert_eq!((link.queue_len(queue.now()), link.in_flight()), (1, 2));
}

#[test]
fn a_limit_in_bytes_lets_small_packets_in_and_any_into_an_empty_queue() {
    let settings = LinkSettings { queue_max: QueueLimit::Bytes(1_000), ..LinkSettings::bare(1_000_000) };
    let mut link = link(settings);
    let mut queue = Queue::new();
    let keys = keys(6);
    assert!(link.enqueue(keys[0], 600, &mut queue));
    assert!(!link.enqueue(keys[1], 401, &mut queue));
    assert!(link.enqueue(keys[2], 400, &mut queue));
    assert!(!link.enqueue(keys[3], 1, &mut queue));
    arrivals(&mut link, &mut queue);
    assert!(link.enqueue(keys[4], 9_000, &mut queue));
    assert!(!link.enqueue(keys[5], 1, &mut queue));
}

#[test]
fn a_lossy_link_loses_its_share_and_takes_the_time_all_the_same() {
    let settings = LinkSettings {
        loss_per_million: 30_000,
        queue_max: QueueLimit::Packets(1),
        ..LinkSettings::bare(1_000_000)
    };
    let chance = Streams::new(Seed::from_number(5)).stream("loss", 0);
    let mut link = Link::lossy(NUMBER, settings, chance).expect("the settings can be");
    let key = keys(1)[0];
    let mut queue = Queue::new();
    let mut lost = 0;
    for _ in 0..100_000 {
        assert!(link.enqueue(key, 125, &mut queue));
        let event = queue.pop().expect("a packet arrives").1;
        link.handle(event, &mut queue);
        lost += u64::from(link.poll_output().expect("a packet has arrived").lost);
    }
    // 3000 and four standard deviations of 54.
    assert!((2_784..=3_216).contains(&lost), "{lost}");
    assert_eq!((link.stats().lost, link.stats().delivered), (lost, 100_000 - lost));
    assert_eq!(queue.now(), Instant(100_000 * 1_000_000));
}

#[test]
fn all_or_nothing_can_be_lost() {
    for (loss_per_million, want) in [(0, 0), (1_000_000, 1_000)] {
        let settings = LinkSettings { loss_per_million, ..LinkSettings::bare(1_000_000) };
        let chance = Streams::new(Seed::from_number(5)).stream("loss", 0);
        let mut link = Link::lossy(NUMBER, settings, chance).expect("the settings can be");
        let mut queue = Queue::new();
        for key in keys(1_000) {
            assert!(link.enqueue(key, 125, &mut queue));
        }
        arrivals(&mut link, &mut queue);
        assert_eq!(link.stats().lost, want);
    }
}

#[test]
fn refuses_settings_that_cannot_be() {
    let base = LinkSettings::bare(1_000);
    let queue = |got, unit| SettingsError::Queue { link: 3, got, max: 1 << 32, unit };
    #[rustfmt::skip]
    let cases = [
        (LinkSettings { rate: 0, ..base }, SettingsError::Rate { link: 3 }),
        (LinkSettings { queue_max: QueueLimit::Packets(0), ..base }, queue(0, "packets")),
        (LinkSettings { queue_max: QueueLimit::Bytes(0), ..base }, queue(0, "bytes")),
        (LinkSettings { queue_max: QueueLimit::Bytes(1 << 33), ..base }, queue(1 << 33, "bytes")),
        (LinkSettings { loss_per_million: 1, ..base }, SettingsError::NoChance { link: 3 }),
        (LinkSettings { loss_per_million: 1_000_001, ..base },
         SettingsError::Loss { link: 3, got_per_million: 1_000_001 }),
    ];
    for (settings, want) in cases {
        assert_eq!(Link::new(NUMBER, settings).err(), Some(want));
    }
}

/// What a link made of offers: what it took, how long its queue was then, and when what came out.
#[derive(Debug, Default, PartialEq)]
struct Story {
    taken: Vec<bool>,
    queue: Vec<usize>,
    arrived: Vec<(Instant, Key)>,
}

/// Packets are offered after everything else that happens at their time.
fn run_real(settings: LinkSettings, offers: &[(Instant, u32)], keys: &[Key]) -> Story {
    let mut queue = Queue::new();
    let mut link = link(settings);
    let mut story = Story::default();
    for (number, (offered_at, bytes)) in offers.iter().chain([&(Instant::NEVER, 0)]).enumerate() {
        while queue.next_at().is_some_and(|at| at <= *offered_at) {
            let (at, event) = queue.pop().expect("there is a next event");
            link.handle(event, &mut queue);
            story.arrived.extend(link.poll_output().map(|packet| (at, packet.key)));
        }
        if *bytes > 0 {
            story.taken.push(link.enqueue(keys[number], *bytes, &mut At(*offered_at, &mut queue)));
            story.queue.push(link.queue_len(*offered_at));
        }
    }
    story
}

fn run_textbook(settings: LinkSettings, offers: &[(Instant, u32)], keys: &[Key]) -> Story {
    let mut queue = Queue::new();
    let mut link = TextbookLink::new(settings);
    let mut story = Story::default();
    for (number, (offered_at, bytes)) in offers.iter().chain([&(Instant::NEVER, 0)]).enumerate() {
        while queue.next_at().is_some_and(|at| at <= *offered_at) {
            let (at, event) = queue.pop().expect("there is a next event");
            link.handle(event, &mut queue);
            story.arrived.extend(link.poll_output().map(|(key, _)| (at, key)));
        }
        if *bytes > 0 {
            story.taken.push(link.enqueue(keys[number], *bytes, &mut At(*offered_at, &mut queue)));
            story.queue.push(link.queue_len());
        }
    }
    story
}

proptest! {
    #[test]
    fn is_the_link_of_the_textbooks(
        in_bytes: bool,
        limit in 1_u32..12,
        rate in 100_000_000_u64..10_000_000_000,
        delay in 0_u64..10_000,
        offers in proptest::collection::vec((0_u64..4_000, 1_u32..1_000), 1..300),
    ) {
        let queue_max =
            if in_bytes { QueueLimit::Bytes(u64::from(limit) * 300) } else { QueueLimit::Packets(limit) };
        let settings = LinkSettings { delay: Nanos(delay), queue_max, overhead: 38, ..LinkSettings::bare(rate) };
        let keys = keys(offers.len());
        let mut at = Instant::START;
        let offers: Vec<(Instant, u32)> = offers
            .iter()
            .map(|(pause, bytes)| {
                at += Nanos(*pause);
                (at, *bytes)
            })
            .collect();
        prop_assert_eq!(run_real(settings, &offers, &keys), run_textbook(settings, &offers, &keys));
    }
}
