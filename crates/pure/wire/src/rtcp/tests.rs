use super::*;
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
