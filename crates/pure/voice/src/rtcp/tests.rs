#![expect(clippy::cast_possible_truncation, reason = "spans of seconds")]

use super::*;
use guestright_units::{BitsPerSecond, Seed};
use proptest::prelude::*;

fn block() -> impl Strategy<Value = ReportBlock> {
    let lost = -(1_i32 << 23)..1 << 23;
    let fields = (any::<u32>(), any::<u8>(), lost, any::<u32>(), any::<u32>(), any::<(u32, u32)>());
    fields.prop_map(|(ssrc, fraction_lost, cumulative_lost, highest_sequence, jitter, last)| {
        let (last_report, delay_since) = last;
        ReportBlock {
            ssrc,
            fraction_lost,
            cumulative_lost,
            highest_sequence,
            jitter,
            last_report,
            delay_since,
        }
    })
}

fn part() -> impl Strategy<Value = Part> {
    let blocks = || proptest::collection::vec(block(), 0..BLOCKS_MAX);
    let info = any::<(u64, u32, u32, u32)>().prop_map(|(ntp, timestamp, packets, octets)| SenderInfo {
        ntp: Ntp(ntp),
        timestamp,
        packets,
        octets,
    });
    let name = proptest::option::of("[ -~äö]{0,100}");
    let metrics = any::<([u8; 4], [u16; 4], [u8; 3], [u16; 3], u32)>().prop_map(
        |(rates, spans, marks, buffer, ssrc)| {
            let [loss_rate, discard_rate, burst_density, gap_density] = rates;
            let [burst_ms, gap_ms, round_trip_ms, end_system_ms] = spans;
            let [r_factor, mos_lq, mos_cq] = marks;
            let [buffer_nominal_ms, buffer_maximum_ms, buffer_absolute_ms] = buffer;
            VoipMetrics {
                ssrc,
                loss_rate,
                discard_rate,
                burst_density,
                gap_density,
                burst_ms,
                gap_ms,
                round_trip_ms,
                end_system_ms,
                r_factor,
                mos_lq,
                mos_cq,
                buffer_nominal_ms,
                buffer_maximum_ms,
                buffer_absolute_ms,
            }
        },
    );
    prop_oneof![
        (any::<u32>(), info, blocks()).prop_map(|(ssrc, info, blocks)| Part::SenderReport {
            ssrc,
            info,
            blocks
        }),
        (any::<u32>(), blocks()).prop_map(|(ssrc, blocks)| Part::ReceiverReport { ssrc, blocks }),
        proptest::collection::vec((any::<u32>(), name), 0..5).prop_map(Part::Description),
        proptest::collection::vec(any::<u32>(), 0..BLOCKS_MAX).prop_map(Part::Goodbye),
        (any::<u32>(), proptest::collection::vec(metrics, 0..3))
            .prop_map(|(ssrc, voip)| Part::Extended { ssrc, voip }),
        any::<(u32, u32)>()
            .prop_map(|(ssrc, error)| Part::ClockError { ssrc, error: Micros(u64::from(error)) }),
    ]
}

proptest! {
    #[test]
    fn parse_inverts_emit(parts in proptest::collection::vec(part(), 1..6)) {
        let mut bytes = Vec::new();
        emit(&parts, &mut bytes);
        prop_assert_eq!(parse(&bytes), Ok(parts));
        prop_assert_eq!(crate::rtp::Kind::of(&bytes), crate::rtp::Kind::Rtcp);
    }

    #[test]
    fn no_bytes_make_it_panic(mut bytes: Vec<u8>, first: u8, packet_type in 192_u8..224, words in 0_u8..40) {
        let _ = parse(&bytes);
        bytes.splice(0..0, [0x80 | first & 0x3f, packet_type, 0, words]);
        let _ = parse(&bytes);
        bytes.resize(4 + 4 * usize::from(words), first);
        let _ = parse(&bytes);
    }

    #[test]
    fn a_wall_clock_survives_ntp(near: u32, apart in -1_000_000_000_i64..1_000_000_000, micros in 0_u64..1_000_000) {
        let near = Time(u64::from(near) * 1_000_000 + micros + 2_000_000_000);
        let time = Time(near.0.saturating_add_signed(apart));
        let back = Ntp::from_unix(time).to_unix(near);
        prop_assert!(back.0.abs_diff(time.0) <= 1, "{} became {}", time.0, back.0);
    }
}

#[test]
fn refuses_what_is_malformed() {
    let part = |count: u8, packet_type: u8, words: u8, body: &[u8]| {
        [&[0x80 | count, packet_type, 0, words], body].concat()
    };
    let bye = part(1, 203, 1, &[0, 0, 0, 7]);
    let padded_then = [part(0x20 | 1, 203, 2, &[0, 0, 0, 7, 0, 0, 0, 4]), bye.clone()].concat();
    #[rustfmt::skip]
    let cases = [
        ("empty",                vec![],                                    RtcpError::Truncated { got: 0, want: 4 }),
        ("version",              vec![0x40, 203, 0, 0],                     RtcpError::Version(1)),
        ("type",                 vec![0x80, 96, 0, 0],                      RtcpError::PacketType(96)),
        ("length",               part(1, 203, 2, &[0, 0, 0, 7]),            RtcpError::Truncated { got: 8, want: 12 }),
        ("count",                part(2, 203, 1, &[0, 0, 0, 7]),            RtcpError::Truncated { got: 0, want: 4 }),
        ("sender report",        part(0, 200, 1, &[0, 0, 0, 7]),            RtcpError::Truncated { got: 0, want: 4 }),
        ("padding of zero",      part(0x20, 203, 1, &[0, 0, 0, 0]),         RtcpError::Padding),
        ("padding of nothing",   part(0x20, 203, 0, &[]),                   RtcpError::Padding),
        ("padding of half",      part(0x20, 203, 1, &[0, 0, 0, 2]),         RtcpError::Padding),
        ("too much padding",     part(0x20, 203, 1, &[0, 0, 0, 8]),         RtcpError::Padding),
        ("padding in between",   padded_then,                               RtcpError::Padding),
        ("endless text",         part(1, 202, 2, &[0, 0, 0, 7, 1, 9, b'x', 0]), RtcpError::Text),
        ("text without end",     part(1, 202, 2, &[0, 0, 0, 7, 1, 2, b'x', b'y']), RtcpError::Text),
        ("too many",             bye.repeat(33),                            RtcpError::TooManyParts),
    ];
    for (name, bytes, want) in cases {
        assert_eq!(parse(&bytes), Err(want), "{name}");
    }
    assert_eq!(parse(&part(0x20 | 1, 203, 2, &[0, 0, 0, 7, 0, 0, 0, 4])), Ok(vec![Part::Goodbye(vec![7])]));
}

#[test]
fn skips_what_it_does_not_know_by_its_length() {
    let mut bytes = vec![0x80, 205, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8];
    bytes.extend([0x80, 204, 0, 3, 0, 0, 0, 7, b'a', b'b', b'c', b'd', 1, 2, 3, 4]);
    bytes.extend([0x80, 207, 0, 4, 0, 0, 0, 7, 1, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]);
    let parts = parse(&bytes).unwrap();
    let other = |packet_type| Part::Other { packet_type };
    assert_eq!(parts, [other(205), other(204), Part::Extended { ssrc: 7, voip: vec![] }]);
}

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
