#![expect(clippy::cast_possible_truncation, reason = "numbers in tests are small, or are meant to wrap")]

use super::*;
use crate::judge::Unknown;
use proptest::prelude::*;

const STEP: u64 = 20_000;

/// Packet `n` of a stream of 20 ms, on its way for `delay_us`.
fn packet(n: u64, delay_us: u64) -> Packet {
    Packet {
        sequence: (n % 65_536) as u16,
        timestamp: (n.wrapping_mul(160) % (1 << 32)) as u32,
        marker: n == 0,
        payload_bytes: 20,
        arrival: Time(1_000_000_000 + n * STEP + delay_us),
        delay_ms: Some(Interval::exact(delay_us as f64 / 1e3)),
    }
}

fn analyse(packets: impl IntoIterator<Item = Packet>) -> (Vec<Row>, Summary) {
    let mut analyser = Analyser::new(AnalyserConfig::new(Codec::G729a));
    let mut rows = Vec::new();
    for packet in packets {
        analyser.handle_packet(&packet);
        rows.extend(std::iter::from_fn(|| analyser.poll_row()));
    }
    analyser.finish();
    rows.extend(std::iter::from_fn(|| analyser.poll_row()));
    (rows, analyser.summary())
}

#[test]
fn a_clean_stream_is_clean() {
    let (rows, summary) = analyse((0..500).map(|n| packet(n, 30_000)));
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|row| row.received == 50 && row.network.rate == Some(0.0)));
    assert_eq!((summary.network.expected, summary.network.lost, summary.playout.lost), (500, 0, 0));
    assert_eq!(summary.jitter.rfc3550_ms, Some(0.0));
    assert_eq!(summary.packet_ms, 20.0);
    assert_eq!(summary.delay.unwrap().mean_ms, Interval::exact(30.0));
    assert_eq!(summary.talkspurts.count, 1);
    let paper = summary.judgement.paper_a.unwrap();
    assert!((paper.r.low - (81.16 - 0.024 * 30.0)).abs() < 1e-9);
}

/// Tools that feed the loss since the start of the call into the E-model stick at a score of 1 after a bad minute.
#[test]
fn loss_is_of_the_interval_and_not_of_the_call() {
    let bad = 500..1_000;
    let kept = (0..1_500).filter(|n| !bad.contains(n) || n % 2 == 0);
    let (rows, summary) = analyse(kept.map(|n| packet(n, 30_000)));
    assert_eq!(rows.len(), 30);
    for row in &rows {
        let wrong = (10..20).contains(&row.index);
        assert_eq!(row.network.rate, Some(if wrong { 0.5 } else { 0.0 }), "{}", row.index);
        let mos = row.judgement.listening.as_ref().unwrap().mos.low;
        assert!(if wrong { mos < 2.0 } else { mos > 4.0 }, "{}: {mos}", row.index);
    }
    assert!((summary.network.rate.unwrap() - 1.0 / 6.0).abs() < 1e-9);
    assert_eq!(summary.worst_row.unwrap().start_s, 10.0);
}

#[test]
fn a_tenth_lost_is_not_4_5() {
    let (rows, summary) = analyse((0..1_000).filter(|n| n % 10 != 3).map(|n| packet(n, 30_000)));
    assert!((summary.network.rate.unwrap() - 0.1).abs() < 1e-9);
    for row in &rows {
        let opinion = row.judgement.conversation.as_ref().unwrap();
        assert!(opinion.mos.high < 3.0 && opinion.mos.low >= 1.0, "{opinion:?}");
    }
}

#[test]
fn losses_belong_to_the_second_they_were_due_in() {
    // Three seconds of nothing, found out about afterwards.
    let (rows, summary) = analyse((0..500).filter(|n| !(100..250).contains(n)).map(|n| packet(n, 30_000)));
    let lost: Vec<u64> = rows.iter().map(|row| row.network.lost).collect();
    assert_eq!(lost, [0, 0, 50, 50, 50, 0, 0, 0, 0, 0]);
    assert_eq!((summary.network.lost, summary.network.longest_run), (150, 150));
    assert_eq!(summary.talkspurts.count, 1);
}

#[test]
fn a_second_without_packets_has_no_score() {
    // Silence: the sequence goes on, the timestamps jump.
    let talk = (0..100).map(|n| packet(n, 30_000));
    let again = (100..200).map(|n| Packet {
        timestamp: (n as u32) * 160 + 3 * 8_000,
        arrival: packet(n, 30_000).arrival + Micros(3_000_000),
        ..packet(n, 0)
    });
    let (rows, summary) = analyse(talk.chain(again));
    assert_eq!(rows.len(), 7);
    for index in [2, 3, 4] {
        assert_eq!(rows[index].network.rate, None);
        assert_eq!(rows[index].judgement.conversation, Err(Unknown::NoPackets));
        assert_eq!(rows[index].judgement.listening, Err(Unknown::NoPackets));
    }
    assert_eq!(summary.network.lost, 0);
    assert_eq!(summary.playout.lost, 0);
    assert_eq!(summary.talkspurts.count, 2, "a jump of the timestamps begins a talkspurt");
}

#[test]
fn sequence_numbers_and_timestamps_wrap() {
    let start = 65_536_u64 * 8_192 - 100; // Both wrap: 2^16 packets, and 160 · 2^29 ticks.
    let (_, summary) =
        analyse((start..start + 200).map(|n| Packet {
            timestamp: (n.wrapping_mul(160) as u32).wrapping_sub(7),
            ..packet(n, 30_000)
        }));
    assert_eq!((summary.network.expected, summary.network.lost, summary.playout.lost), (200, 0, 0));
    assert_eq!(summary.jitter.mean_abs_d_ms, Some(0.0));
}

#[test]
fn duplicates_and_overtaken_packets_are_neither_lost_nor_counted_twice() {
    let mut packets: Vec<Packet> = (0..200).map(|n| packet(n, 30_000)).collect();
    packets.swap(50, 51);
    packets[50].arrival = packets[51].arrival;
    packets.insert(120, packets[119]);
    packets.insert(120, packets[117]);
    let (rows, summary) = analyse(packets);
    assert_eq!((summary.network.expected, summary.network.lost), (200, 0));
    assert_eq!((summary.counts.duplicates, summary.counts.reordered, summary.counts.received), (2, 1, 200));
    assert_eq!(rows.iter().map(|row| row.received).sum::<u64>(), 200);
}

#[test]
fn a_sender_that_starts_anew_loses_one_packet_not_thousands() {
    let again = (0..100_u64).map(|n| Packet {
        sequence: 40_000 + n as u16,
        timestamp: 2_000_000_000 + n as u32 * 160,
        arrival: packet(100 + n, 30_000).arrival,
        ..packet(n, 30_000)
    });
    let (_, summary) = analyse((0..100).map(|n| packet(n, 30_000)).chain(again));
    assert_eq!((summary.counts.restarts, summary.counts.strays), (1, 1));
    assert_eq!((summary.network.expected, summary.network.lost, summary.playout.lost), (199, 0, 0));
    assert!(summary.jitter.mean_abs_d_ms.unwrap() < 1e-9);
}

#[test]
fn late_packets_are_lost_to_the_ear_only() {
    // Every 20th packet takes 61 ms longer.
    let (_, summary) = analyse((0..1_000).map(|n| packet(n, if n % 20 == 19 { 91_001 } else { 30_000 })));
    assert_eq!((summary.network.lost, summary.counts.late, summary.counts.overflow), (0, 50, 0));
    assert_eq!(summary.dejitter_loss, Some(0.05));
    assert_eq!(summary.playout.rate, Some(0.05));
    let paper = summary.judgement.paper_a.unwrap();
    assert_eq!((paper.best.inputs.network_loss, paper.best.inputs.dejitter_loss), (0.0, 0.05));
}

#[test]
fn without_delay_there_is_a_listening_score_only_unless_somebody_states_it() {
    let blind = |n| Packet { delay_ms: None, ..packet(n, 30_000) };
    let (rows, summary) = analyse((0..100).map(blind));
    assert_eq!(summary.delay, None);
    assert_eq!(summary.judgement.conversation, Err(Unknown::NoDelay));
    assert!(summary.judgement.listening.is_ok() && rows[0].judgement.listening.is_ok());
    assert!(summary.mean_row_mos.is_some(), "of the listening scores");

    let config =
        AnalyserConfig { delay_ms: Some(Interval::exact(40.0)), ..AnalyserConfig::new(Codec::G729a) };
    let mut analyser = Analyser::new(config);
    (0..100).for_each(|n| {
        analyser.handle_packet(&blind(n));
    });
    analyser.finish();
    let opinion = analyser.summary().judgement.conversation.unwrap();
    assert_eq!(opinion.caveats, [crate::judge::Caveat::DelayAssumed]);
}

#[test]
fn rows_come_out_while_nothing_arrives() {
    let mut analyser = Analyser::new(AnalyserConfig::new(Codec::G729a));
    (0..75).for_each(|n| {
        analyser.handle_packet(&packet(n, 0));
    });
    assert_eq!(analyser.poll_row(), None);
    analyser.handle_timeout(Time(1_000_000_000 + 5_100_000));
    let rows: Vec<Row> = std::iter::from_fn(|| analyser.poll_row()).collect();
    assert_eq!(rows.iter().map(|row| row.received).collect::<Vec<_>>(), [50, 25, 0, 0]);
    // What was lost meanwhile counts from then on, and is not forgotten.
    (280..400).for_each(|n| {
        analyser.handle_packet(&packet(n, 0));
    });
    analyser.finish();
    let later: u64 = std::iter::from_fn(|| analyser.poll_row()).map(|row| row.network.lost).sum();
    assert_eq!(later, 280 - 75);
    assert_eq!(analyser.summary().network.lost, 280 - 75);
}

#[test]
fn silence_behind_the_last_packet_has_no_rows() {
    let mut analyser = Analyser::new(AnalyserConfig::new(Codec::G729a));
    (0..75).for_each(|n| {
        analyser.handle_packet(&packet(n, n % 2 * 1_000));
    });
    analyser.handle_timeout(Time(1_000_000_000 + 2_900_000));
    analyser.finish();
    let rows: Vec<Row> = std::iter::from_fn(|| analyser.poll_row()).collect();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.jitter.mean_abs_d_ms == Some(1.0)), "{rows:?}");
}

#[test]
fn a_long_silence_is_left_out() {
    let later = (100..200).map(|n| Packet { arrival: packet(n + 50 * 7_200, 0).arrival, ..packet(n, 0) });
    let (rows, summary) = analyse((0..100).map(|n| packet(n, 0)).chain(later));
    assert_eq!(rows.len(), 4);
    assert_eq!(summary.counts.silences, 1);
    assert_eq!(rows.iter().map(|row| row.received).collect::<Vec<_>>(), [50, 50, 50, 50]);
}

#[test]
fn no_packets_no_figures() {
    let (rows, summary) = analyse([]);
    assert_eq!(rows, []);
    assert_eq!(summary.network.rate, None);
    assert_eq!(summary.judgement.conversation, Err(Unknown::NoPackets));
    assert_eq!((summary.mean_row_mos, summary.dejitter_loss), (None, None));
}

#[test]
fn what_is_known_to_have_been_sent_counts_at_both_ends() {
    let config = AnalyserConfig { first_sequence: Some(0), ..AnalyserConfig::new(Codec::G729a) };
    let mut analyser = Analyser::new(config);
    (10..100).for_each(|n| {
        analyser.handle_packet(&packet(n, 0));
    });
    analyser.handle_missing(150, Time(0));
    analyser.finish();
    let summary = analyser.summary();
    assert_eq!(
        (summary.network.expected, summary.network.lost, summary.network.longest_run),
        (250, 160, 150)
    );
    let rows: Vec<Row> = std::iter::from_fn(|| analyser.poll_row()).collect();
    assert_eq!(rows.iter().map(|row| row.network.lost).sum::<u64>(), 160);
    assert_eq!(rows.last().unwrap().network.rate, Some(1.0));

    let mut silent = Analyser::new(config);
    silent.handle_missing(75, Time(5_000_000));
    silent.finish();
    assert_eq!(silent.summary().network.rate, Some(1.0));
    assert_eq!(
        std::iter::from_fn(|| silent.poll_row()).map(|row| row.network.lost).collect::<Vec<_>>(),
        [50, 25]
    );
}

#[test]
fn packets_that_the_first_has_overtaken_count() {
    // 5 comes first, then 3 and 4; 2 never does, nobody knows of it; 1 comes too.
    let order = [5, 3, 4, 1].into_iter().chain(6..100);
    let arrivals = (5..).map(|n| packet(n, 0).arrival);
    let (rows, summary) = analyse(order.zip(arrivals).map(|(n, arrival)| Packet { arrival, ..packet(n, 0) }));
    assert_eq!((summary.network.expected, summary.network.lost), (99, 1), "2 is missing between 1 and 3");
    assert_eq!((summary.counts.reordered, summary.counts.stale), (3, 0));
    assert_eq!((rows[0].network.expected, rows[0].network.lost), (51, 1));
    assert_eq!(summary.talkspurts.count, 1);
}

#[test]
fn what_comes_before_the_first_a_second_later_is_stale() {
    let (_, summary) =
        analyse((10..80).map(|n| packet(n, 0)).chain([Packet { sequence: 9, ..packet(80, 0) }]));
    assert_eq!((summary.network.expected, summary.counts.stale), (70, 1));
}

#[test]
fn nothing_comes_before_a_first_that_is_known() {
    let config = AnalyserConfig { first_sequence: Some(10), ..AnalyserConfig::new(Codec::G729a) };
    let mut analyser = Analyser::new(config);
    for n in [10, 9, 11] {
        analyser.handle_packet(&packet(n, 0));
    }
    analyser.finish();
    assert_eq!((analyser.summary().network.expected, analyser.summary().counts.stale), (2, 1));
}

#[test]
fn time_does_not_go_back() {
    let mut packets: Vec<Packet> = (0..100).map(|n| packet(n, 0)).collect();
    packets[60].arrival = Time(5);
    let (rows, summary) = analyse(packets);
    assert_eq!(rows.len(), 2);
    assert_eq!(summary.network.lost, 0);
}

proptest! {
    /// Whatever arrives: nothing panics, memory stays small, and the sums agree.
    #[test]
    fn anything_may_arrive(
        packets in prop::collection::vec((any::<u16>(), any::<u32>(), any::<bool>(), 0..3_000_000_u64, any::<bool>()), 0..400),
        rate in prop::sample::select(vec![0_u32, 1, 8_000, 48_000, u32::MAX]),
    ) {
        let mut analyser = Analyser::new(AnalyserConfig { clock_rate_hz: rate, ..AnalyserConfig::new(Codec::G711u) });
        let mut now = 0;
        for (sequence, timestamp, marker, gap, near) in packets {
            now += gap;
            let sequence = if near { sequence % 300 } else { sequence };
            let packet = Packet { sequence, timestamp, marker, payload_bytes: 160, arrival: Time(now), delay_ms: None };
            analyser.handle_packet(&packet);
            prop_assert!(analyser.slots.len() <= 3_200);
            prop_assert!(analyser.open.len() <= 620);
        }
        analyser.finish();
        let summary = analyser.summary();
        let counts = summary.counts;
        prop_assert_eq!(counts.received + counts.duplicates + counts.stale + counts.strays, counts.packets);
        prop_assert_eq!(summary.network.expected, counts.received + summary.network.lost);
        prop_assert_eq!(summary.playout.lost, summary.network.lost + counts.late + counts.overflow);
        let rows: Vec<Row> = std::iter::from_fn(|| analyser.poll_row()).collect();
        prop_assert_eq!(rows.iter().map(|row| row.network.expected).sum::<u64>(), summary.network.expected);
        prop_assert_eq!(rows.iter().map(|row| row.network.lost).sum::<u64>(), summary.network.lost);
        prop_assert_eq!(rows.iter().map(|row| row.received).sum::<u64>(), counts.received);
        for row in &rows {
            if let Ok(opinion) = &row.judgement.listening {
                prop_assert!((1.0..=4.5).contains(&opinion.mos.low) && (0.0..=100.0).contains(&opinion.r.low));
            }
        }
    }

    /// Reordering within the settling time changes no count.
    #[test]
    fn order_does_not_matter_within_limits(lost in prop::collection::btree_set(1..199_u64, 0..40), swaps in prop::collection::vec(0..150_usize, 0..20)) {
        let mut order: Vec<u64> = (0..200).filter(|n| !lost.contains(n)).collect();
        for swap in swaps {
            if swap + 1 < order.len() {
                order.swap(swap, swap + 1);
            }
        }
        let arrivals: Vec<Time> = (0..).map(|n| packet(n, 0).arrival).take(order.len()).collect();
        let packets = order.iter().zip(arrivals).map(|(n, arrival)| Packet { arrival, ..packet(*n, 0) });
        let (_, summary) = analyse(packets);
        prop_assert_eq!(summary.network.lost as usize, lost.len());
        prop_assert_eq!(summary.network.expected, 200);
    }
}

#[test]
fn the_worst_ten_seconds_are_those_with_the_losses() {
    // From second 23 to 28 every fourth packet is lost, in second 40 one.
    let lost = |n: u64| (23 * 50..28 * 50).contains(&n) && n % 4 == 1 || n == 40 * 50;
    let (_, summary) = analyse((0..60 * 50).filter(|n| !lost(*n)).map(|n| packet(n, 30_000)));
    let worst = summary.worst_stretch.unwrap();
    assert!((18.0..=23.0).contains(&worst.start_s), "{worst:?}");
    assert_eq!((worst.length_s, worst.expected), (10.0, 500));
    assert!((62..=63).contains(&worst.lost), "{worst:?}");
    let ratio = worst.burst_ratio.unwrap();
    assert!((0.8..1.0).contains(&ratio), "single losses: {ratio}");
    let delay = worst.delay_ms.unwrap();
    assert!((delay.low - 30.0).abs() < 1e-9);
}

#[test]
fn an_outage_over_the_border_of_two_seconds_is_one_run_in_the_worst_stretch() {
    let (_, summary) = analyse((0..1_000).filter(|n| !(520..580).contains(n)).map(|n| packet(n, 30_000)));
    let worst = summary.worst_stretch.unwrap();
    assert_eq!((worst.lost, worst.unplayed), (60, 60));
    assert_eq!(worst.burst_ratio, Some(60.0 * (1.0 - 60.0 / worst.expected as f64)));
    assert_eq!(summary.network.run_lengths, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn a_stream_shorter_than_ten_seconds_is_its_own_worst_stretch() {
    let (_, summary) = analyse((0..150).filter(|n| *n != 70).map(|n| packet(n, 30_000)));
    let worst = summary.worst_stretch.unwrap();
    assert_eq!((worst.start_s, worst.length_s, worst.expected, worst.lost), (0.0, 3.0, 150, 1));
    assert_eq!(analyse([]).1.worst_stretch, None);
}

#[test]
fn what_the_watcher_dropped_is_no_loss_of_the_network() {
    let mut analyser = Analyser::new(AnalyserConfig::new(Codec::G729a));
    // The network loses two at 50; at 120 the watcher misses twenty.
    let missing = |n: &u64| (50..52).contains(n) || (100..120).contains(n);
    for n in (0..300).filter(|n| !missing(n)) {
        if n == 120 {
            analyser.expect_unseen();
        }
        analyser.handle_packet(&packet(n, 30_000));
    }
    analyser.finish();
    let summary = analyser.summary();
    assert_eq!((summary.network.expected, summary.network.lost, summary.counts.unseen), (280, 2, 20));
    assert_eq!((summary.playout.lost, summary.labelled[0].playout.expected), (2, 280));
    assert_eq!(summary.worst_stretch.unwrap().expected, 280);
}

#[test]
fn a_packet_that_was_expected_unseen_and_comes_after_all_counts() {
    let mut analyser = Analyser::new(AnalyserConfig::new(Codec::G729a));
    for n in [0, 1, 2, 5, 4, 6, 7] {
        if n == 5 {
            analyser.expect_unseen();
        }
        let arrival = packet(5, 30_000).arrival;
        analyser.handle_packet(&Packet { arrival, ..packet(n, 30_000) });
    }
    analyser.finish();
    let summary = analyser.summary();
    assert_eq!((summary.counts.received, summary.counts.unseen, summary.network.lost), (7, 1, 0));
}

#[test]
fn three_buffers_judge_one_jitter_each_in_its_way() {
    // Every tenth packet takes 100 ms longer.
    let mut packets: Vec<Packet> =
        (0..3_000).map(|n| packet(n, if n % 10 == 9 { 130_000 } else { 30_000 })).collect();
    packets.sort_by_key(|packet| packet.arrival);
    let (_, summary) = analyse(packets);
    let [short, long, adaptive] = summary.labelled;
    assert_eq!((short.playout.lost, short.playout_ms), (300, 50.0));
    assert_eq!((long.playout.lost, long.playout_ms), (0, 200.0));
    assert!(adaptive.playout.lost < 30 && adaptive.playout_ms < 150.0, "{adaptive:?}");
    assert_eq!(adaptive.buffer.label(), "adaptive 500 ms");
    let judge = Judge::paper_a(Codec::G729a);
    let measured = summary.measured(None);
    let mos = |loss: &crate::LabelledLoss| {
        loss.judgement(&judge, &summary.network, &measured).conversation.unwrap().mos.low
    };
    assert!(mos(&short) < 3.0, "a tenth is late: {}", mos(&short));
    assert!(mos(&adaptive) > mos(&short) + 0.5, "{}", mos(&adaptive));
    assert!(mos(&long) > mos(&short), "no loss, but 170 ms more");
}
