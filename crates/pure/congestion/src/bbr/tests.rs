use super::*;
use std::collections::VecDeque;

const SEGMENT: u64 = 1_000;

fn bbr(seed: u64) -> Bbr {
    let settings =
        BbrSettings { initial_window: InitialWindow::Segments(10), ..BbrSettings::linux(1_000, seed) };
    Bbr::new(settings).expect("settings that can be")
}

/// A path with one bottleneck and an unbounded queue, and a sender that always has something to send, paced.
struct Bottleneck {
    bbr: Bbr,
    now: u64,
    /// Microseconds of a segment at the bottleneck, and of the way there and back.
    service: u64,
    way: u64,
    /// When the bottleneck is free, when the next segment may leave.
    free: u64,
    release: u64,
    /// When it arrives back, when it was sent, what had been delivered then, when the last of that had arrived.
    flying: VecDeque<(u64, u64, u64, u64)>,
    delivered: u64,
    delivered_at: u64,
    /// Segments in the queue at most, since it was last asked.
    queue_max: u64,
}

impl Bottleneck {
    fn new(seed: u64, service: u64, way: u64) -> Self {
        Self {
            bbr: bbr(seed),
            now: 0,
            service,
            way,
            free: 0,
            release: 0,
            flying: VecDeque::new(),
            delivered: 0,
            delivered_at: 0,
            queue_max: 0,
        }
    }

    fn on_its_way(&self) -> u64 {
        self.flying.len() as u64 * SEGMENT
    }

    /// The next thing that happens: a segment leaves, or an acknowledgement comes.
    fn step(&mut self) {
        let may_send = self.on_its_way() + SEGMENT <= self.bbr.window();
        let back = self.flying.front().map(|flying| flying.0);
        let send_at = self.release.max(self.now);
        if may_send && back.is_none_or(|back| send_at < back) {
            self.now = send_at;
            if self.flying.is_empty() {
                self.delivered_at = self.now;
            }
            self.free = self.free.max(self.now) + self.service;
            self.queue_max = self.queue_max.max((self.free - self.now) / self.service);
            self.flying.push_back((self.free + self.way, self.now, self.delivered, self.delivered_at));
            let rate = self.bbr.pacing().expect("it paces").0.get();
            self.release = self.now + (SEGMENT + 40) * 8_000_000 / rate;
            return;
        }
        let (back, sent, prior_delivered, prior_at) = self.flying.pop_front().expect("something flies");
        self.now = back;
        self.delivered += SEGMENT;
        self.delivered_at = back;
        let rate = RateSample {
            bytes: self.delivered - prior_delivered,
            interval: Micros(back - prior_at),
            prior_delivered,
            delivered: self.delivered,
            application_limited: false,
        };
        self.bbr.on_ack(&Ack {
            now: Time(back),
            bytes: SEGMENT,
            acknowledged: self.delivered,
            next: self.delivered + self.on_its_way(),
            in_flight: self.on_its_way(),
            round_trip: Some(Micros(back - sent)),
            window_limited: true,
            segments: 1,
            rate: Some(rate),
            ..Ack::default()
        });
    }

    fn run(&mut self, until_ms: u64) {
        while self.now < until_ms * 1_000 {
            self.step();
        }
    }
}

fn sample(bytes: u64, interval_ms: u64, prior: u64, delivered: u64) -> RateSample {
    RateSample {
        bytes,
        interval: Micros(1_000 * interval_ms),
        prior_delivered: prior,
        delivered,
        application_limited: false,
    }
}

/// An acknowledgement of a segment after 100 ms, at so many ms, with 10 segments on their way.
fn ack(now_ms: u64, rate: RateSample) -> Ack {
    Ack {
        now: Time(1_000 * now_ms),
        bytes: SEGMENT,
        acknowledged: rate.delivered,
        in_flight: 10 * SEGMENT,
        round_trip: Some(Micros(100_000)),
        rate: Some(rate),
        ..Ack::default()
    }
}

#[test]
fn the_first_rates_by_hand() {
    let mut bbr = bbr(0);
    assert_eq!((bbr.window(), bbr.phase()), (10_000, BbrPhase::Startup));
    // 10 segments in a millisecond: 80 Mbit/s; times 739/256, less 1 %, 1040 bytes of packet for 1000 of payload.
    assert_eq!(bbr.pacing().unwrap().0.get(), 80_000_000 * 739 * 99 * 1_040 / (25_600 * 1_000));
    // The first round trip was 100 ms, 10 segments in it: 800 kbit/s. The sample says the same.
    bbr.on_ack(&ack(100, sample(10_000, 100, 0, 10_000)));
    assert_eq!((bbr.bandwidth(), bbr.least_round_trip()), (800_000, Some(Micros(100_000))));
    assert_eq!(bbr.pacing().unwrap().0.get(), 800_000 * 739 * 99 * 1_040 / (25_600 * 1_000));
    assert_eq!(bbr.window(), 11_000);
}

#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut bbr = bbr(0);
    let mut delivered = 0;
    let mut round = |bbr: &mut Bbr, bytes: u64| {
        let prior = delivered;
        delivered += 10_000;
        bbr.on_ack(&ack(100 + delivered / 100, sample(bytes, 100, prior, delivered)));
        bbr.phase()
    };
    // Twice as fast, then less than 25 % more: three times.
    assert_eq!(round(&mut bbr, 10_000), BbrPhase::Startup);
    assert_eq!(round(&mut bbr, 20_000), BbrPhase::Startup);
    assert_eq!(round(&mut bbr, 24_000), BbrPhase::Startup);
    assert_eq!(round(&mut bbr, 24_900), BbrPhase::Startup);
    // 10 segments are on their way; the pipe holds 24.9 and more: Drain is over at once.
    assert!(matches!(round(&mut bbr, 24_000), BbrPhase::ProbeBw { .. }));
    assert_eq!(bbr.bandwidth(), 24_900 * 80);
}

#[test]
fn a_slow_application_neither_ends_startup_nor_lowers_the_bandwidth() {
    let mut bbr = bbr(0);
    bbr.on_ack(&ack(100, sample(10_000, 100, 0, 10_000)));
    for round in 1..100 {
        let limited = RateSample {
            application_limited: true,
            ..sample(500, 100, 10_000 * round, 10_000 * (round + 1))
        };
        bbr.on_ack(&ack(100 + 10 * round, limited));
    }
    assert_eq!((bbr.bandwidth(), bbr.phase()), (800_000, BbrPhase::Startup));
    // Ten rounds with samples of their own, and the old one is gone.
    for round in 100..110 {
        bbr.on_ack(&ack(1_100 + 10 * round, sample(500, 100, 10_000 * round, 10_000 * (round + 1))));
    }
    assert_eq!(bbr.bandwidth(), 40_000);
}

#[test]
fn it_finds_the_bandwidth_and_the_round_trip_of_a_bottleneck() {
    // 8 Mbit/s, 40 ms and a millisecond of service: the pipe holds 41 segments.
    let mut path = Bottleneck::new(3, 1_000, 40_000);
    path.run(2_000);
    assert!(matches!(path.bbr.phase(), BbrPhase::ProbeBw { .. }), "{:?}", path.bbr.phase());
    assert!((7_900_000..=8_100_000).contains(&path.bbr.bandwidth()), "{}", path.bbr.bandwidth());
    assert_eq!(path.bbr.least_round_trip(), Some(Micros(41_000)));
    // Twice what the pipe holds, and a few segments.
    assert!((82_000..=92_000).contains(&path.bbr.window()), "{}", path.bbr.window());
    // Startup's queue is gone; a quarter more for a round trip makes ten segments of queue or so.
    path.queue_max = 0;
    let delivered = path.delivered;
    path.run(8_000);
    assert!((4..=25).contains(&path.queue_max), "{}", path.queue_max);
    // 6 s of 8 Mbit/s, nearly.
    let share = (path.delivered - delivered) * 100 / 6_000_000;
    assert!((95..=100).contains(&share), "{share} %");
}

#[test]
fn it_looks_for_the_round_trip_every_ten_seconds() {
    let mut path = Bottleneck::new(1, 1_000, 40_000);
    let mut quiet = Vec::new();
    let mut was = false;
    while path.now < 35_000_000 {
        path.step();
        let is = path.bbr.phase() == BbrPhase::ProbeRtt;
        if is && was {
            assert!(path.bbr.window() <= 4 * SEGMENT);
        }
        if is != was {
            quiet.push(path.now / 1_000);
        }
        was = is;
    }
    // Three times, each 200 ms, what it takes until four segments are left, and a round trip.
    assert_eq!(quiet.len(), 6, "{quiet:?}");
    for times in quiet.chunks(2) {
        assert!((240..=400).contains(&(times[1] - times[0])), "{quiet:?}");
    }
    assert!(quiet[0] >= 10_000 && quiet[2] >= quiet[1] + 9_900, "{quiet:?}");
    // Rounds of quiet are no measure of the bandwidth.
    assert!((7_900_000..=8_100_000).contains(&path.bbr.bandwidth()), "{}", path.bbr.bandwidth());
    assert_eq!(path.bbr.least_round_trip(), Some(Micros(41_000)));
}

#[test]
fn the_gains_come_in_their_order() {
    let mut path = Bottleneck::new(5, 1_000, 40_000);
    path.run(2_000);
    let mut gains = Vec::new();
    while path.now < 6_000_000 {
        if let BbrPhase::ProbeBw { gain } = path.bbr.phase()
            && gains.last() != Some(&gain)
        {
            gains.push(gain);
        }
        path.step();
    }
    assert!(gains.len() > 30, "{gains:?}");
    for pair in gains.windows(2) {
        assert_eq!(pair[1], (pair[0] + 1) % 8, "{gains:?}");
    }
}

#[test]
fn the_seed_says_which_gain_comes_first_but_never_the_low_one() {
    let mut first = [0; 8];
    for seed in 0..700 {
        let mut bbr = bbr(seed);
        bbr.probe_bandwidth(Time(0));
        if let BbrPhase::ProbeBw { gain } = bbr.phase() {
            first[usize::from(gain)] += 1;
        }
    }
    assert_eq!((first[1], first.iter().sum::<u32>()), (0, 700));
    assert!(
        first.iter().enumerate().all(|(gain, count)| gain == 1 || (50..=150).contains(count)),
        "{first:?}"
    );
}

#[test]
fn a_loss_conserves_packets_for_a_round_trip_and_gives_the_window_back() {
    let mut path = Bottleneck::new(3, 1_000, 40_000);
    path.run(3_000);
    let before = path.bbr.window();
    let flight = Flight { in_flight: 30_000, now: Time(path.now), ..Flight::default() };
    path.bbr.on_loss(&flight);
    assert_eq!(path.bbr.window(), 31_000);
    path.bbr.on_recovered(&ack(3_000, sample(40_000, 40, 0, path.delivered)));
    assert!(path.bbr.window() >= before.min(82_000), "{}", path.bbr.window());
}

#[test]
fn a_timeout_leaves_one_segment_until_all_is_made_good() {
    let mut path = Bottleneck::new(3, 1_000, 40_000);
    path.run(3_000);
    let (before, delivered) = (path.bbr.window(), path.delivered);
    path.bbr.on_timeout(&Flight { in_flight: 30_000, next: delivered + 30_000, ..Flight::default() });
    assert_eq!(path.bbr.window(), 1_000);
    path.bbr.on_timeout(&Flight {
        in_flight: 1_000,
        next: delivered + 1_000,
        repeated: true,
        ..Flight::default()
    });
    assert_eq!(path.bbr.window(), 1_000);
    let made_good =
        |upto: u64| Ack { acknowledged: upto, ..ack(3_100, sample(1_000, 40, 0, delivered + 1_000)) };
    path.bbr.on_ack(&made_good(delivered + 1_000));
    assert_eq!(path.bbr.window(), 4_000);
    path.bbr.on_ack(&made_good(delivered + 30_000));
    assert!(path.bbr.window() >= before.min(82_000), "{} of {before}", path.bbr.window());
}

#[test]
fn without_samples_it_stays_where_it_began() {
    let mut bbr = bbr(0);
    for now in 1..100 {
        bbr.on_ack(&Ack { rate: None, ..ack(10 * now, sample(0, 0, 0, 0)) });
    }
    assert_eq!((bbr.window(), bbr.phase(), bbr.bandwidth()), (10_000, BbrPhase::Startup, 0));
}
