use super::*;
use crate::modern;
use proptest::prelude::*;

const PACKET_US: u64 = 40_000;
const PACKETS_PER_SECOND: u64 = 25;
const REPORT_EVERY: u64 = 125;
/// A packet that is older is not played: the longest playout delay.
const LATE_US: u64 = 400_000;
/// IPv4, UDP, and what `boat` adds to a packet of sound: header, timestamp, tag.
const OVERHEAD: u64 = 20 + 8 + modern::OVERHEAD as u64;
/// What that is in a second.
const OVERHEAD_RATE: u64 = OVERHEAD * PACKETS_PER_SECOND;

/// A bottleneck: a queue in front of a line of so many bytes a second, then a way with jitter.
#[derive(Clone, Copy, Debug)]
struct Way {
    bytes_per_second: u64,
    queue_us: u64,
    delay_us: u64,
    jitter_us: u64,
    loss_permille: u64,
    /// Beyond the codec's bytes, of each packet.
    overhead: u64,
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}

/// What the listener keeps.
#[derive(Default)]
struct Listener {
    highest: u64,
    reported: u64,
    jitter: i64,
    transit: Option<i64>,
}

impl Listener {
    /// A report over packets of (arrival, number, sent).
    fn report(&mut self, number: u32, packets: &[(u64, u64, u64)], way: &Way) -> Report {
        let mut late = 0;
        for (arrival, number, sent) in packets {
            self.highest = self.highest.max(*number);
            late += u32::from(arrival - sent > way.delay_us + LATE_US);
            let transit = i64::try_from(arrival - sent).unwrap();
            let change = self.transit.map_or(0, |before| (transit - before).abs());
            self.jitter += (change - self.jitter) / 16;
            self.transit = Some(transit);
        }
        let expected = u32::try_from(self.highest - self.reported).unwrap();
        self.reported = self.highest;
        let received = u32::try_from(packets.len()).unwrap();
        Report { number, expected, received, late, jitter_us: u32::try_from(self.jitter).unwrap() }
    }
}

/// The rate in each second of a call over a way that may change with time.
fn call(way: impl Fn(u64) -> Way, start: u32, seconds: u64, seed: u64) -> Vec<u32> {
    let mut control = RateControl::new(Config { rate_at_first: start, ..Config::default() }, Time(0));
    let (mut chance, mut listener) = (Chance(seed), Listener::default());
    let (mut line_free, mut on_the_way, mut rates) = (0, Vec::new(), Vec::new());
    let mut report: Option<(u64, Report)> = None;
    for number in 0..seconds * PACKETS_PER_SECOND {
        let (now, way) = (number * PACKET_US, way(number / PACKETS_PER_SECOND));
        if let Some((at, sent)) = report.take_if(|(at, _)| *at <= now) {
            control.handle_report(&sent, Time(at));
        }
        control.handle_timeout(Time(now));
        if line_free <= now + way.queue_us {
            let bytes = u64::try_from(control.packet_bytes(Micros(PACKET_US))).unwrap() + way.overhead;
            line_free = line_free.max(now) + bytes * 1_000_000 / way.bytes_per_second;
            if chance.below(1_000) >= way.loss_permille {
                on_the_way.push((line_free + way.delay_us + chance.below(way.jitter_us), number + 1, now));
            }
        }
        if number % REPORT_EVERY == REPORT_EVERY - 1 {
            on_the_way.sort_unstable();
            let until = on_the_way.partition_point(|(arrival, ..)| *arrival <= now);
            let came: Vec<_> = on_the_way.drain(..until).collect();
            let number = u32::try_from(number / REPORT_EVERY).unwrap();
            report = Some((now + way.delay_us, listener.report(number, &came, &way)));
        }
        if number % PACKETS_PER_SECOND == 0 {
            rates.push(control.rate());
        }
    }
    rates
}

fn step(rate: u32) -> usize {
    LADDER.iter().position(|step| *step == rate).expect("a step of the ladder")
}

/// Where it is most of the time, and by how many steps it leaves that.
fn settled(rates: &[u32]) -> (usize, usize) {
    let mut seconds = [0; LADDER.len()];
    rates.iter().for_each(|rate| seconds[step(*rate)] += 1);
    let most = (0..LADDER.len()).max_by_key(|step| seconds[*step]).unwrap();
    (most, rates.iter().map(|rate| step(*rate).abs_diff(most)).max().unwrap())
}

fn ways(bytes_per_second: std::ops::RangeInclusive<u64>, overhead: u64) -> impl Strategy<Value = Way> {
    (bytes_per_second, 100_000_u64..500_000, 5_000_u64..200_000, 0_u64..15_000, 0_u64..2).prop_map(
        move |(bytes_per_second, queue_us, delay_us, jitter_us, loss_permille)| Way {
            bytes_per_second,
            queue_us,
            delay_us,
            jitter_us,
            loss_permille,
            overhead,
        },
    )
}

fn settles_at_two_thousand(way: Way, start: usize, seed: u64) -> Result<(), TestCaseError> {
    let rates = call(|_| way, LADDER[start], 330, seed);
    let (most, leaves) = settled(&rates[30..]);
    prop_assert!(leaves <= 1, "{way:?}: leaves {} by {leaves} steps: {rates:?}", LADDER[most]);
    prop_assert!((1_400..=2_000).contains(&LADDER[most]), "{way:?}: settles at {}", LADDER[most]);
    Ok(())
}

proptest! {
    /// The line carries 2,000 bytes of the codec a second: what else is sent comes on top.
    #[test]
    fn settles_within_thirty_seconds_on_two_thousand_bytes_of_the_codec(
        way in ways(2_000..=2_100, 0),
        start in 1..LADDER.len(),
        seed: u64,
    ) {
        settles_at_two_thousand(way, start, seed)?;
    }

    /// The same with everything on the wire: 2,000 bytes for sound and 1,350 for 25 packets.
    #[test]
    fn settles_within_thirty_seconds_with_everything_on_the_wire(
        way in ways(2_000 + OVERHEAD_RATE..=2_100 + OVERHEAD_RATE, OVERHEAD),
        start in 1..LADDER.len(),
        seed: u64,
    ) {
        settles_at_two_thousand(way, start, seed)?;
    }

    /// 2,000 bytes a second on the wire are 1,350 for 25 packets and 650 for sound: less than the lowest step.
    #[test]
    fn two_thousand_bytes_on_the_wire_are_the_lowest_step(
        way in ways(2_000..=2_000, OVERHEAD),
        start in 0..LADDER.len(),
        seed: u64,
    ) {
        let rates = call(|_| way, LADDER[start], 330, seed);
        prop_assert_eq!(settled(&rates[30..]).0, 0);
        prop_assert!(rates[30..].iter().all(|rate| *rate <= 850), "{:?}: {:?}", way, rates);
    }

    /// A wide way is used, and a line that gets narrow is left within 30 s.
    #[test]
    fn follows_the_line(way in ways(2_000..=2_100, 0), seed: u64) {
        let at = |second| Way { bytes_per_second: if second < 90 { 20_000 } else { way.bytes_per_second }, ..way };
        let rates = call(at, 700, 180, seed);
        prop_assert!(rates[60..90].iter().all(|rate| *rate == 8_000), "{:?}: {:?}", way, rates);
        prop_assert!(rates[120..].iter().all(|rate| *rate <= 2_800), "{:?}: {:?}", way, rates);
    }

    /// Whatever is reported, and whenever.
    #[test]
    fn the_rate_is_always_a_step(
        reports in prop::collection::vec((any::<[u32; 5]>(), 0_u64..10_000_000), 0..200),
    ) {
        let (mut control, mut now) = (RateControl::new(Config::default(), Time(0)), Time(0));
        for ([number, expected, received, late, jitter_us], later) in reports {
            now = now + Micros(later);
            let before = step(control.rate());
            control.handle_report(&Report { number, expected, received, late, jitter_us }, now);
            prop_assert!(step(control.rate()) <= before + 1);
            control.handle_timeout(now);
            prop_assert!(control.poll_timeout() > now);
        }
    }
}

fn report(number: u32, expected: u32, received: u32) -> Report {
    Report { number, expected, received, late: 0, jitter_us: 0 }
}

#[test]
fn goes_down_deeper_the_more_jitter_there_is() {
    for (jitter_us, want) in [(0, 5_600), (20_001, 4_000), (50_001, 2_800)] {
        let mut control = RateControl::new(Config { rate_at_first: 8_000, ..Config::default() }, Time(0));
        control.handle_report(&Report { jitter_us, ..report(0, 100, 90) }, Time(5_000_000));
        assert_eq!(control.rate(), want, "{jitter_us} µs");
    }
}

#[test]
fn an_old_report_and_one_of_a_pause_change_nothing() {
    let mut control = RateControl::new(Config::default(), Time(0));
    control.handle_report(&report(7, 100, 97), Time(5_000_000));
    for other in [report(7, 100, 0), report(3, 100, 0), report(8, 4, 0), report(9, 0, 0)] {
        control.handle_report(&other, Time(6_000_000));
        assert_eq!(control.rate(), 2_000, "{other:?}");
    }
    assert_eq!(control.poll_timeout(), Time(13_500_000), "a pause is reported, not missing");
}

#[test]
fn missing_reports_go_down_and_the_next_ones_come_back() {
    let mut control = RateControl::new(Config::default(), Time(0));
    let mut rates = Vec::new();
    while rates.len() < 3 {
        let at = control.poll_timeout();
        control.handle_timeout(at);
        rates.push((at.0 / 100_000, control.rate()));
    }
    assert_eq!(rates, [(75, 1_400), (125, 1_000), (175, 850)]);
    let come_back: Vec<u32> = (0..5)
        .map(|number| {
            control
                .handle_report(&report(number, 125, 125), Time(20_000_000 + u64::from(number) * 5_000_000));
            control.rate()
        })
        .collect();
    assert_eq!(come_back, [1_000, 1_400, 2_000, 2_800, 4_000]);
}

#[test]
fn a_step_that_failed_is_left_alone_for_longer_each_time() {
    let mut control = RateControl::new(Config { rate_at_first: 700, ..Config::default() }, Time(0));
    let mut tried = Vec::new();
    for number in 0..400 {
        let before = control.rate();
        let lost = if before > 1_400 { 20 } else { 0 };
        control.handle_report(&report(number, 125, 125 - lost), Time(u64::from(number) * 5_000_000));
        if before == 1_400 && control.rate() == 2_000 {
            tried.push(number * 5);
        }
    }
    let waits: Vec<u32> = tried.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(waits, [65, 125, 245, 485, 485, 485]);
}
