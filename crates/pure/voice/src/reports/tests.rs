#![expect(clippy::cast_possible_truncation, reason = "spans of seconds")]

use super::*;
use guestright_units::{BitsPerSecond, Micros, Seed, Time};
use guestright_wire::rtcp::{Ntp, ReportBlock};

/// RFC 3550, section 6.4.1, figure 2: the worked example, 6.125 s.
#[test]
fn the_round_trip_of_the_rfc() {
    let now = Ntp(0xb710_8000 << 16);
    let block = ReportBlock { last_report: 0xb705_2000, delay_since: 0x0005_4000, ..Default::default() };
    assert_eq!(round_trip(&block, now), Some(Micros(6_125_000)));
    assert_eq!(round_trip(&ReportBlock::default(), now), None);
    let later = ReportBlock { last_report: 0xb712_8000, ..block };
    assert_eq!(round_trip(&later, now), None);
}

#[test]
fn counts_loss_of_each_interval_and_of_all() {
    let mut reception = Reception::new(8_000, 65_531);
    let send = |reception: &mut Reception, numbers: std::ops::Range<u64>, lose: u64| {
        for n in numbers.filter(|n| n % lose != 0) {
            reception.packet(65_530 + n, n * 160, Time(n * 20_000));
        }
    };
    send(&mut reception, 1..101, 10);
    let first = reception.report(7, Time(2_000_000));
    assert_eq!((first.fraction_lost, first.cumulative_lost), (23, 9)); // 9 of 99 expected: the last is not missed yet.
    assert_eq!(first.highest_sequence, 1 << 16 | (65_530 + 99 - 65_536));
    send(&mut reception, 101..201, 1_000);
    let second = reception.report(7, Time(4_000_000));
    assert_eq!((second.fraction_lost, second.cumulative_lost), (2, 10)); // Number 100 was lost.
    reception.packet(65_530 + 200, 200 * 160, Time(4_000_000));
    assert_eq!(reception.report(7, Time(5_000_000)).cumulative_lost, 9, "a duplicate makes it smaller");
    assert_eq!(second.jitter, 0);
}

#[test]
fn jitter_follows_the_recursion_of_the_rfc() {
    let mut reception = Reception::new(8_000, 0);
    let mut want = 0.0_f64;
    let delays = [0_u64, 5_000, 0, 20_000, 1_000, 1_000, 40_000, 0];
    for (n, pair) in (0..).zip(delays.windows(2).chain([&[0, 0][..]]).cycle().take(400)) {
        reception.packet(n, n * 160, Time(1_000_000 + n * 20_000 + pair[0]));
        let change = pair[0].abs_diff(pair[1]) as f64;
        if n + 1 < 400 {
            want += (change - want) / 16.0;
        }
    }
    let got = reception.jitter().0 as f64;
    assert!((got - want).abs() < 400.0, "{got} µs, want {want:.0} µs");
}

#[test]
fn reports_are_due_as_often_as_the_rfc_wants() {
    let rate = BitsPerSecond::new(80_000).unwrap();
    let mut schedule = Schedule::new(&Seed::from_number(1), rate, Schedule::MINIMUM, Time(0));
    let first = schedule.due();
    let bound =
        |seconds: f64| (seconds * 0.5 / 1.218_28 * 1e6) as u64..=(seconds * 1.5 / 1.218_29 * 1e6) as u64 + 1;
    assert!(bound(2.5).contains(&first.0), "{first:?}");
    let mut now = first;
    let mut spans = Vec::new();
    for _ in 0..1_000 {
        schedule.sent(120, now);
        spans.push(schedule.due().since(now).0);
        now = schedule.due();
    }
    assert!(spans.iter().all(|span| bound(5.0).contains(span)));
    let mean = spans.iter().sum::<u64>() / 1_000;
    assert!((3_900_000..4_300_000).contains(&mean), "5 s / 1.218 is 4.1 s, got {mean} µs");
    // At 8 kbit/s the share of RTCP is 50 bytes in a second.
    let slow = BitsPerSecond::new(8_000).unwrap();
    let mut schedule = Schedule::new(&Seed::from_number(1), slow, Schedule::MINIMUM, Time(0));
    for _ in 0..100 {
        schedule.sent(172, now);
    }
    assert!(schedule.due().since(now).0 > 8_000_000 * 5 / 12, "{:?}", schedule.due().since(now));
}
