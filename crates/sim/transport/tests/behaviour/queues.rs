//! Queue disciplines against traces by hand, and against what their RFCs promise.

use crate::harness::offers::{Fate, Offer, Story, link, millis, run_offers, streams};
use guestright_engine::{Instant, Nanos, Pool, Queue};
use guestright_transport::{
    AnyLink, CoDelSettings, Discipline, Ecn, Errors, FqCoDelSettings, LinkNumber, LinkSettings, LinkStatus,
    ManagedLink, Packet, QueueLimit, RedSettings, SettingsError,
};
use proptest::prelude::*;

/// 1000 bytes are 1 ms.
const RATE: u64 = 8_000_000;

fn settings(limit: u32) -> LinkSettings {
    LinkSettings { queue_max: QueueLimit::Packets(limit), ..LinkSettings::bare(RATE) }
}

/// Places of the packets that were dropped after they had been taken, and when, in milliseconds.
fn drops(story: &Story) -> Vec<(usize, u64)> {
    let of = |(index, fate): (usize, &Fate)| match fate {
        Fate::Dropped(at) => Some((index, at.0 / 1_000_000)),
        Fate::Refused | Fate::Arrived { .. } => None,
    };
    story.fates.iter().enumerate().filter_map(of).collect()
}

fn refused(story: &Story) -> Vec<usize> {
    let is_refused = |(index, fate): (usize, &Fate)| (*fate == Fate::Refused).then_some(index);
    story.fates.iter().enumerate().filter_map(is_refused).collect()
}

fn marked(story: &Story) -> Vec<(usize, u64)> {
    let of = |(index, fate): (usize, &Fate)| match fate {
        Fate::Arrived { marked: true, at, .. } => Some((index, at.0 / 1_000_000)),
        Fate::Refused | Fate::Dropped(_) | Fate::Arrived { .. } => None,
    };
    story.fates.iter().enumerate().filter_map(of).collect()
}

/// How long each packet took from its offer to its arrival; none, if it did not arrive.
fn waits(story: &Story, offers: &[Offer], flow: u32) -> Vec<Nanos> {
    let of = |(fate, offer): (&Fate, &Offer)| match fate {
        Fate::Arrived { at, .. } if offer.flow == flow => Some(at.since(offer.at)),
        Fate::Refused | Fate::Dropped(_) | Fate::Arrived { .. } => None,
    };
    story.fates.iter().zip(offers).filter_map(of).collect()
}

/// `burst` packets at once, and one a millisecond from then on, up to `until` ms.
fn standing(burst: usize, until: u64, ecn: Ecn) -> Vec<Offer> {
    let first = std::iter::repeat_n(Instant::START, burst);
    let offers = first.chain((1..until).map(millis));
    offers.map(|at| Offer { ecn, ..Offer::new(at, 1_000, 0) }).collect()
}

// RED.

/// The average is the queue itself, all are dropped above `maxthresh`.
fn sharp_red() -> RedSettings {
    RedSettings { q_weight: 1.0, gentle: false, linterm: 1.0, ..RedSettings::ns2() }
}

#[test]
fn red_drops_by_the_average_and_not_by_the_queue() {
    // A burst at time 0. The first is sent at once, so those that come see 0, 0, 1, 2, 3, ... waiting. With a weight of
    // one half the average is 0, 0, 0.5, 1.25, 2.125, 3.0625, 4.03, 4.5, ...: the sixth is the first above 3 and let in,
    // the seventh and all behind it are dropped, for at p = 1 no pause is left.
    let red = RedSettings { q_weight: 0.5, thresh: 2.9, maxthresh: 3.0, ..sharp_red() };
    let story =
        run_offers(link(settings(100), Discipline::Red(red), &Errors::None), &standing(10, 0, Ecn::Not));
    assert_eq!(refused(&story), [6, 7, 8, 9]);
    assert_eq!((story.stats.taken, story.stats.dropped, story.stats.discarded), (6, 4, 0));
}

#[test]
fn red_drops_a_growing_share_between_its_thresholds_evenly_spread() {
    // Each packet finds 10 waiting, half way between 5 and 15: p = 0.1 / 2 = 1 / 20. The next drop is 1 to 19 packets
    // after the last, each as likely; with pauses, 20 to 39.
    for (wait, least, most) in [(true, 20, 39), (false, 1, 19)] {
        let red = RedSettings { q_weight: 1.0, wait, ..RedSettings::ns2() };
        let mut link = link(settings(100), Discipline::Red(red), &Errors::None);
        let (mut queue, mut pool) = (Queue::new(), Pool::new());
        let (mut gaps, mut since) = (Vec::new(), 0_u32);
        while gaps.len() < 2_000 {
            while link.queue_len(queue.now()) < 12 {
                since += 1;
                let packet = Packet { key: pool.insert(()), bytes: 1_000, flow: 0, ecn: Ecn::Not };
                if !link.enqueue(packet, &mut queue) {
                    gaps.push(since);
                    since = 0;
                }
            }
            let (_, event) = queue.pop().expect("something is being sent");
            link.handle(event, &mut queue);
            while link.poll_output().is_some() {}
        }
        // The first one counts from the start.
        let gaps = &gaps[1..];
        let (min, max) = (gaps.iter().min(), gaps.iter().max());
        // One of 20 equally likely lengths is missed by 1999 draws with (19/20)^1999.
        assert_eq!((min.copied(), max.copied()), (Some(least), Some(most)), "wait {wait}");
        let mean = f64::from(gaps.iter().sum::<u32>()) / 1_999.0;
        // Five standard errors: 6 / sqrt(1999).
        assert!((mean - f64::from(least + most) / 2.0).abs() < 0.7, "wait {wait}: {mean}");
    }
}

#[test]
fn red_marks_what_may_be_marked_while_few_are_to_be() {
    // The fourth packet finds two waiting, which is the first time at `thresh`, and is let in; from the fifth on all are
    // above `maxthresh`: p = 1.
    let of = |mark_p: f64, limit: u32, ecn: Ecn| {
        let red = RedSettings { thresh: 2.0, maxthresh: 3.0, mark_p, setbit: true, ..sharp_red() };
        run_offers(link(settings(limit), Discipline::Red(red), &Errors::None), &standing(8, 0, ecn))
    };
    let indexes = |story: &Story| marked(story).iter().map(|(index, _)| *index).collect::<Vec<usize>>();
    let story = of(1.0, 100, Ecn::Classic);
    assert_eq!((indexes(&story), refused(&story)), (vec![4, 5, 6, 7], vec![]));
    // A full queue marks nothing more.
    let story = of(1.0, 6, Ecn::Classic);
    assert_eq!((indexes(&story), refused(&story)), (vec![4, 5], vec![6, 7]));
    // Too many are to be marked, or these may not be.
    for story in [of(0.9, 100, Ecn::Classic), of(1.0, 100, Ecn::Not)] {
        assert_eq!((indexes(&story), refused(&story)), (vec![], vec![4, 5, 6, 7]));
    }
}

/// What `ns2/red.tcl` offers.
fn offers_of_ns2() -> Vec<Offer> {
    let (mut x, mut micros) = (1_u64, 0);
    let next = |number: u32| {
        x = x * 16_807 % 2_147_483_647;
        micros += 1 + x % 12_000 + if number % 100 == 99 { 200_000 } else { 0 };
        Offer::new(Instant(micros * 1_000), 997, 0)
    };
    (0..20_000).map(next).collect()
}

/// The numbers of the packets that RED drops of them, on link `number`.
fn dropped_as_ns2(red: RedSettings, number: u32) -> Vec<usize> {
    let settings = LinkSettings {
        delay: Nanos::from_millis(10),
        queue_max: QueueLimit::Packets(50),
        ..LinkSettings::bare(1_234_567)
    };
    let link = AnyLink::new(LinkNumber(number), settings, Discipline::Red(red), &Errors::None, &streams());
    refused(&run_offers(link.expect("the settings can be"), &offers_of_ns2()))
}

#[test]
fn red_is_the_one_of_ns2_where_nothing_is_left_to_chance() {
    // From 5 on average all are dropped. Measured with Debian's ns-2 2.35: how many, and the sum of their numbers.
    for (q_weight, count, sum) in [(0.05, 983, 8_624_542), (0.5, 964, 8_738_187), (0.002, 2, 9_195)] {
        let red = RedSettings { thresh: 5.0, maxthresh: 5.000_001, q_weight, ..sharp_red() };
        let dropped = dropped_as_ns2(red, 0);
        assert_eq!((dropped.len(), dropped.iter().sum::<usize>()), (count, sum), "q_weight {q_weight}");
    }
}

#[test]
fn red_is_the_one_of_ns2_on_average() {
    // Mean and standard deviation of 20 runs of Debian's ns-2 2.35 (seeds 1 to 20).
    let base = RedSettings { linterm: 2.0, q_weight: 0.02, ..RedSettings::ns2() };
    let cases = [
        (base, 122.8, 2.25),
        (RedSettings { gentle: false, wait: false, ..base }, 292.8, 6.67),
        (RedSettings { thresh: 3.0, maxthresh: 6.0, q_weight: 0.05, wait: false, ..base }, 1_154.3, 7.18),
    ];
    for (red, mean, deviation) in cases {
        let ours = (0..20).map(|number| dropped_as_ns2(red, number).len()).sum::<usize>() as f64 / 20.0;
        // Five standard errors of the difference of two means of 20.
        assert!((ours - mean).abs() <= 5.0 * deviation * 0.1_f64.sqrt(), "{red:?}: {ours}, ns-2 {mean}");
    }
}

// CoDel.

#[test]
fn codel_drops_after_an_interval_and_then_by_the_control_law() {
    // The packet that leaves at k ms has waited k ms, and 200 ms from 200 ms on. At 5 ms the wait is too long for the
    // first time, at 105 ms for an interval: a drop; then 100 ms, 100/sqrt(2), 100/sqrt(3), ... later, at the end of the
    // transmission that comes next: 205, 275.7, 333.4, 383.4, 428.2, 469.0, 506.8.
    let codel = Discipline::CoDel(CoDelSettings::rfc8289());
    let story = run_offers(link(settings(1_000), codel, &Errors::None), &standing(200, 520, Ecn::Not));
    let times: Vec<u64> = drops(&story).iter().map(|(_, at)| *at).take(8).collect();
    assert_eq!(times, [105, 205, 276, 334, 384, 429, 469, 507]);
    // Those at the head went: packet k would have left at k ms, and one earlier after each drop.
    let indexes: Vec<usize> = drops(&story).iter().map(|(index, _)| *index).take(4).collect();
    assert_eq!(indexes, [105, 206, 278, 337]);
}

#[test]
fn codel_marks_at_the_same_times_and_drops_nothing() {
    let codel = Discipline::CoDel(CoDelSettings { ecn: true, ..CoDelSettings::rfc8289() });
    let story = run_offers(link(settings(1_000), codel, &Errors::None), &standing(200, 520, Ecn::Classic));
    assert_eq!((story.stats.dropped, story.stats.delivered), (0, 719));
    // They arrive a millisecond after they were taken from the queue.
    let times: Vec<u64> = marked(&story).iter().map(|(_, at)| *at).take(8).collect();
    assert_eq!(times, [106, 206, 277, 335, 385, 430, 470, 508]);
    assert_eq!(story.stats.marked, marked(&story).len() as u64);
}

#[test]
fn codel_resumes_where_it_left_if_that_was_not_long_ago() {
    // As before, up to 520 ms and then no more: 7 drops up to 469 ms, 8 up to 507, so the 8th drop is at count 8. The
    // queue is empty at some 711 ms. A second burst at 800 ms is above from 805 on: the first drop is at 905, and the
    // next one not 100 ms but 100/sqrt(count) later.
    let again = |pause: u64| {
        let mut offers = standing(200, 520, Ecn::Not);
        offers.extend(std::iter::repeat_n(Offer::new(millis(pause), 1_000, 0), 400));
        let codel = Discipline::CoDel(CoDelSettings::rfc8289());
        let story = run_offers(link(settings(1_000), codel, &Errors::None), &offers);
        let before = drops(&story).iter().filter(|(index, _)| *index < 719).count();
        let times: Vec<u64> =
            drops(&story).iter().filter(|(index, _)| *index >= 719).map(|(_, at)| *at - pause).collect();
        (before, times)
    };
    let (before, times) = again(800);
    assert!(before > 8, "{before}");
    // It was entered with count 1 and left with `before`: it starts with the difference.
    let first = 100.0 / ((before - 1) as f64).sqrt();
    assert_eq!(times[0], 105);
    // At the end of the transmission that comes next.
    assert!((0.0..1.0).contains(&((times[1] - 105) as f64 - first)), "{before} {times:?}");
    // After 16 intervals it starts from one.
    let (_, times) = again(3_000);
    assert_eq!(times[..3], [105, 205, 276]);
}

#[test]
fn codel_leaves_a_queue_alone_that_is_short_at_times_or_holds_no_more_than_one_packet() {
    let codel = Discipline::CoDel(CoDelSettings::rfc8289());
    // Bursts of 90 ms every 100 ms: never above the target for an interval.
    let bursts: Vec<Offer> = (0..20)
        .flat_map(|burst| std::iter::repeat_n(Offer::new(millis(burst * 100), 1_000, 0), 90))
        .collect();
    let story = run_offers(link(settings(1_000), codel, &Errors::None), &bursts);
    assert_eq!(story.stats.dropped, 0);
    // Two packets of 1000 bytes in the queue at 80 kbit/s: each waits for 100 ms and more, but no more than 1514 bytes
    // wait behind it.
    let slow = LinkSettings { rate: 80_000, ..settings(3) };
    let offers: Vec<Offer> = (0..50).map(|number| Offer::new(millis(number * 100), 1_000, 0)).collect();
    let offers: Vec<Offer> = [offers[0], offers[0]].into_iter().chain(offers).collect();
    let story = run_offers(link(slow, codel, &Errors::None), &offers);
    assert_eq!(story.stats.discarded, 0);
    assert!(waits(&story, &offers, 0).iter().max() >= Some(&Nanos::from_millis(200)));
}

#[test]
fn the_step_marks_each_l4s_packet_that_waited_longer() {
    let codel =
        CoDelSettings { ce_threshold: Some(Nanos::from_millis(3)), ecn: true, ..CoDelSettings::rfc8289() };
    for (ecn, want) in [(Ecn::L4s, vec![4, 5, 6, 7]), (Ecn::Classic, vec![]), (Ecn::Not, vec![])] {
        let story =
            run_offers(link(settings(100), Discipline::CoDel(codel), &Errors::None), &standing(8, 0, ecn));
        let indexes: Vec<usize> = marked(&story).iter().map(|(index, _)| *index).collect();
        assert_eq!(indexes, want, "{ecn:?}");
    }
}

// fq_codel.

fn fq_codel() -> FqCoDelSettings {
    FqCoDelSettings::rfc8290()
}

#[test]
fn fq_codel_keeps_a_call_apart_from_a_file_transfer() {
    // The file fills the link one and a half times; the call is 200 bytes every 20 ms.
    let mut offers: Vec<Offer> = (0..5_000_u64).map(|number| Offer::new(millis(number), 1_500, 1)).collect();
    offers.extend((0..250).map(|number| Offer::new(Instant(number * 20_000_000 + 123_456), 200, 2)));
    offers.sort_by_key(|offer| offer.at);
    let one = run_offers(link(settings(50), Discipline::DropTail, &Errors::None), &offers);
    let fair = run_offers(link(settings(50), Discipline::FqCoDel(fq_codel()), &Errors::None), &offers);
    let calls = waits(&fair, &offers, 2);
    assert_eq!(calls.len(), 250, "no packet of the call is dropped");
    // At most the rest of a packet of 1500 bytes, and its own 0.2 ms. The first one comes when the file is new as well.
    assert_eq!(calls[0], Nanos(3_200_000 - 123_456));
    assert!(calls[1..].iter().max() <= Some(&Nanos::from_micros(1_700)), "{:?}", calls.iter().max());
    let calls = waits(&one, &offers, 2);
    // The one queue is full from 150 ms on, and a packet of the file always there before one of the call.
    assert!(calls.len() < 20, "{}", calls.len());
    // And the link is as busy.
    assert!(fair.stats.delivered_bytes * 100 >= one.stats.delivered_bytes * 99, "{fair:?}");
}

#[test]
fn fq_codel_shares_bytes_and_not_packets() {
    // Two flows that both want all of the link, with packets of 1500 and of 300 bytes. Those that were sent within the
    // offers are counted, not the remains.
    let mut offers: Vec<Offer> =
        (0..2_000_u64).map(|number| Offer::new(Instant(number * 1_500_000), 1_500, 1)).collect();
    offers.extend((0..10_000_u64).map(|number| Offer::new(Instant(number * 300_000), 300, 2)));
    offers.sort_by_key(|offer| offer.at);
    let story = run_offers(link(settings(1_000), Discipline::FqCoDel(fq_codel()), &Errors::None), &offers);
    let share = |flow: u32| -> u64 {
        let sent = |fate: &Fate| matches!(fate, Fate::Arrived { at, .. } if at.0 < 3_000_000_000);
        let of_flow =
            story.fates.iter().zip(&offers).filter(|(fate, offer)| offer.flow == flow && sent(fate));
        of_flow.map(|(_, offer)| u64::from(offer.bytes)).sum()
    };
    // 3 s of 8 Mbit/s are 3 MB.
    assert!(share(1).abs_diff(share(2)) <= 2 * 1_514, "{} {}", share(1), share(2));
    assert!(share(1) + share(2) > 2_990_000);
}

#[test]
fn fq_codel_takes_turns_of_a_quantum_and_new_ones_first() {
    // At time 0: five packets of flow 1 (the first is sent at once), then three of flow 2. Flow 1 has 1514 - 1000 left
    // of its turn, sends its second packet and has used it up; it is old. Flow 2 is new: two packets; then one of each,
    // by turns: at each turn 1514 more, and what is below nothing is carried over.
    let mut offers = vec![Offer::new(Instant(0), 1_000, 1); 5];
    offers.extend(vec![Offer::new(Instant(0), 1_000, 2); 3]);
    let story = run_offers(link(settings(100), Discipline::FqCoDel(fq_codel()), &Errors::None), &offers);
    // Left of the turn of 1: 514, -486 | of 2: 514, -486 | 1: 1028, 28, -972 | 2: 1028, 28 | 1: 542
    assert_eq!(story.order, [0, 1, 5, 6, 2, 3, 7, 4]);
}

#[test]
fn fq_codel_drops_half_of_the_fattest_from_its_head_when_all_is_full() {
    // 12 at most, one of them being sent. Flow 1 has 6 waiting (6000 bytes), flow 2 five of 1500 (7500 bytes): the next
    // of flow 1 (7000 then) drops three of flow 2.
    let mut offers = vec![Offer::new(Instant(0), 1_000, 1); 7];
    offers.extend(vec![Offer::new(Instant(0), 1_500, 2); 5]);
    offers.push(Offer::new(Instant(0), 1_000, 1));
    let story = run_offers(link(settings(12), Discipline::FqCoDel(fq_codel()), &Errors::None), &offers);
    assert_eq!(drops(&story), [(7, 0), (8, 0), (9, 0)]);
    assert_eq!((story.stats.taken, story.stats.discarded, story.stats.delivered), (13, 3, 10));
    // A batch is 64 at most.
    let offers = vec![Offer::new(Instant(0), 1_000, 1); 202];
    let story = run_offers(link(settings(201), Discipline::FqCoDel(fq_codel()), &Errors::None), &offers);
    let at_once: Vec<usize> =
        drops(&story).iter().filter(|(_, at)| *at == 0).map(|(index, _)| *index).collect();
    assert_eq!(at_once, (1..65).collect::<Vec<usize>>());
}

#[test]
fn fq_codel_spreads_flows_over_its_queues_by_chance_of_the_seed() {
    // Of n flows over 1024 queues, none shares its queue with chance (1 - 1/1024) ... (1 - (n-1)/1024). Two flows that
    // share a queue leave in the order in which they came; otherwise they take turns. 120 flows with two packets each:
    // were each alone, all first packets would leave before the second ones.
    let offers: Vec<Offer> = (0..120).flat_map(|flow| vec![Offer::new(Instant(0), 1_514, flow); 2]).collect();
    let link_of = |number| {
        AnyLink::new(
            LinkNumber(number),
            settings(1_000),
            Discipline::FqCoDel(fq_codel()),
            &Errors::None,
            &streams(),
        )
        .expect("the settings can be")
    };
    let (mut shared, mut orders) = (0, Vec::new());
    for number in 0..50 {
        let story = run_offers(link_of(number), &offers);
        // The packets of one turn of all queues: 120 without collisions.
        let second = story.order.iter().position(|index| index % 2 == 1).expect("all arrive");
        let firsts = story.order.iter().take_while(|index| **index % 2 == 0).count();
        assert_eq!(second, firsts);
        shared += usize::from(firsts < 120);
        orders.push(story.order);
    }
    // 120 flows collide with 1 - 0.0008: nearly always, in every run with other pairs.
    assert!(shared >= 45, "{shared}");
    orders.sort();
    orders.dedup();
    assert!(orders.len() >= 45, "the salt is the link's own: {}", orders.len());
}

// All of them.

fn disciplines() -> impl Strategy<Value = Discipline> {
    let codel = CoDelSettings {
        target: Nanos(2_000_000),
        interval: Nanos(10_000_000),
        ecn: true,
        ce_threshold: Some(Nanos(1_000_000)),
        ..CoDelSettings::rfc8289()
    };
    prop_oneof![
        Just(Discipline::DropTail),
        Just(Discipline::Red(RedSettings { q_weight: 0.2, setbit: true, ..RedSettings::for_buffer(10) })),
        Just(Discipline::Red(RedSettings {
            q_weight: 0.5,
            gentle: false,
            wait: false,
            ..RedSettings::for_buffer(10)
        })),
        Just(Discipline::CoDel(codel)),
        (1_u32..9, 100_u32..2_000, 1_u32..9).prop_map(move |(flows, quantum, drop_batch)| {
            Discipline::FqCoDel(FqCoDelSettings { codel, flows, quantum, drop_batch })
        }),
    ]
}

fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let ecn = prop_oneof![Just(Ecn::Not), Just(Ecn::Classic), Just(Ecn::L4s)];
    let offer = (0_u64..2_500_000, 1_u32..1_500, 0_u32..6, ecn);
    proptest::collection::vec(offer, 1..300).prop_map(|offers| {
        let mut at = Instant::START;
        let next = |(pause, bytes, flow, ecn)| {
            // Half of them come in bursts.
            at += Nanos(if pause % 2 == 0 { 0 } else { pause });
            Offer { at, bytes, flow, ecn }
        };
        offers.into_iter().map(next).collect()
    })
}

proptest! {
    #[test]
    fn every_packet_comes_out_once_in_the_order_of_its_flow_and_within_the_limit(
        discipline in disciplines(),
        limit in 1_u32..20,
        in_bytes: bool,
        delay in 0_u64..10_000_000,
        offers in offers(),
    ) {
        let queue_max =
            if in_bytes { QueueLimit::Bytes(u64::from(limit) * 1_000) } else { QueueLimit::Packets(limit) };
        let settings = LinkSettings { queue_max, delay: Nanos(delay), ..LinkSettings::bare(RATE) };
        let errors = Errors::Bernoulli { per_million: 100_000 };
        // That each comes out once, `tell` sees to itself.
        let story = run_offers(link(settings, discipline, &errors), &offers);
        let stats = story.stats;
        prop_assert_eq!(stats.taken, stats.delivered + stats.lost + stats.discarded);
        prop_assert_eq!(stats.taken + stats.dropped - stats.discarded, offers.len() as u64);
        prop_assert_eq!(refused(&story).len() as u64, stats.dropped - stats.discarded);
        prop_assert_eq!(drops(&story).len() as u64, stats.discarded);
        prop_assert_eq!(marked(&story).len() as u64, stats.marked);
        if !in_bytes {
            prop_assert!(story.longest <= limit as usize, "{} > {limit}", story.longest);
        }
        for flow in 0..6 {
            let indexes: Vec<usize> =
                story.order.iter().copied().filter(|index| offers[*index].flow == flow).collect();
            prop_assert!(indexes.is_sorted(), "flow {flow}: {indexes:?}");
        }
        for (index, _) in marked(&story) {
            prop_assert_ne!(offers[index].ecn, Ecn::Not);
        }
        // The transmitter rests only when nothing waits: what it sent took its time.
        let sent = story.order.iter().map(|index| u64::from(offers[*index].bytes)).sum::<u64>();
        prop_assert_eq!(stats.busy, Nanos(sent * 1_000));
    }

    #[test]
    fn a_link_that_rests_has_nothing_to_send(
        discipline in disciplines(),
        offers in offers(),
    ) {
        let story = run_offers(link(settings(1_000), discipline, &Errors::None), &offers);
        // Without drops, departures are those of any queue that is served without a pause.
        if story.stats.dropped == 0 {
            let mut free = Instant::START;
            let mut want = Vec::new();
            for offer in &offers {
                free = free.max(offer.at) + Nanos(u64::from(offer.bytes) * 1_000);
                want.push(free);
            }
            let last = story.fates.iter().map(|fate| match fate {
                Fate::Arrived { at, .. } => *at,
                Fate::Refused | Fate::Dropped(_) => Instant::START,
            });
            prop_assert_eq!(last.max(), want.last().copied());
        }
    }

    #[test]
    fn a_managed_link_with_drop_tail_is_the_plain_link(
        limit in 1_u32..12,
        in_bytes: bool,
        delay in 0_u64..10_000_000,
        offers in offers(),
    ) {
        let queue_max =
            if in_bytes { QueueLimit::Bytes(u64::from(limit) * 700) } else { QueueLimit::Packets(limit) };
        let settings = LinkSettings { queue_max, delay: Nanos(delay), overhead: 38, ..LinkSettings::bare(RATE) };
        let errors = Errors::Gilbert { per_million: 50_000, burst_thousandths: 2_500 };
        let plain = link(settings, Discipline::DropTail, &errors);
        let managed = ManagedLink::new(LinkNumber(4), settings, Discipline::DropTail, &errors, &streams());
        let managed = AnyLink::Managed(Box::new(managed.expect("the settings can be")));
        prop_assert_eq!(run_offers(managed, &offers), run_offers(plain, &offers));
    }
}

#[test]
fn a_managed_link_that_has_grown_allocates_nothing() {
    let disciplines = [
        Discipline::Red(RedSettings::for_buffer(50)),
        Discipline::CoDel(CoDelSettings::rfc8289()),
        Discipline::FqCoDel(fq_codel()),
    ];
    for discipline in disciplines {
        let mut link = link(settings(50), discipline, &Errors::Bernoulli { per_million: 10_000 });
        let (mut queue, mut pool) = (Queue::new(), Pool::new());
        // Twice as much as the link carries, of seven flows.
        let mut run = |until: u32| {
            for number in 0..until {
                for flow in [number % 7, 7] {
                    let key = pool.insert(());
                    if !link.enqueue(Packet { key, bytes: 1_000, flow, ecn: Ecn::Not }, &mut queue) {
                        pool.remove(key);
                    }
                }
                while let Some(output) = link.poll_output() {
                    let guestright_transport::LinkOutput::Dropped { key } = output else {
                        panic!("{output:?}")
                    };
                    pool.remove(key);
                }
                let sent = link.stats().delivered + link.stats().lost;
                while link.stats().delivered + link.stats().lost == sent {
                    let (_, event) = queue.pop().expect("something is being sent");
                    link.handle(event, &mut queue);
                    while let Some(output) = link.poll_output() {
                        match output {
                            guestright_transport::LinkOutput::Delivered(packet) => pool.remove(packet.key),
                            guestright_transport::LinkOutput::Dropped { key } => pool.remove(key),
                        }
                    }
                }
            }
        };
        // CoDel catches up with a flow that does not listen only at its 10,000th drop.
        run(60_000);
        let info = allocation_counter::measure(|| run(20_000));
        assert_eq!(info.count_total, 0, "{discipline:?}");
    }
}

#[test]
fn refuses_disciplines_that_cannot_be() {
    let codel = CoDelSettings::rfc8289();
    let times = |target, interval| SettingsError::CoDel { link: 4, target, interval, max: 600_000_000_000 };
    let red = |setting, want| SettingsError::Red { link: 4, setting, want };
    let ns2 = RedSettings::ns2();
    #[rustfmt::skip]
    let cases = [
        (Discipline::CoDel(CoDelSettings { target: Nanos(0), ..codel }), times(0, 100_000_000)),
        (Discipline::CoDel(CoDelSettings { interval: Nanos(4), ..codel }), times(5_000_000, 4)),
        (Discipline::FqCoDel(FqCoDelSettings { codel: CoDelSettings { target: Nanos(0), ..codel }, ..fq_codel() }),
         times(0, 100_000_000)),
        (Discipline::FqCoDel(FqCoDelSettings { flows: 0, ..fq_codel() }),
         SettingsError::FlowQueues { link: 4, got: 0, max: 65_536 }),
        (Discipline::FqCoDel(FqCoDelSettings { quantum: 0, ..fq_codel() }), SettingsError::Quantum { link: 4 }),
        (Discipline::FqCoDel(FqCoDelSettings { drop_batch: 0, ..fq_codel() }), SettingsError::Quantum { link: 4 }),
        (Discipline::Red(RedSettings { thresh: 15.0, ..ns2 }),
         red("thresh and maxthresh", "0 <= thresh < maxthresh <= 1e9")),
        (Discipline::Red(RedSettings { linterm: 0.5, ..ns2 }), red("linterm", "1 to 1e9")),
        (Discipline::Red(RedSettings { q_weight: f64::NAN, ..ns2 }), red("q_weight", "above 0, at most 1")),
        (Discipline::Red(RedSettings { mean_pktsize: 0, ..ns2 }), red("mean_pktsize", "1 or more")),
        (Discipline::Red(RedSettings { mark_p: 1.5, ..ns2 }), red("mark_p", "0 to 1")),
    ];
    for (discipline, want) in cases {
        let got = AnyLink::new(LinkNumber(4), settings(9), discipline, &Errors::None, &streams()).err();
        assert_eq!(got, Some(want), "{discipline:?}");
    }
}
