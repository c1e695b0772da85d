#![expect(clippy::cast_possible_truncation, reason = "numbers of traces are small")]

use super::*;
use guestright_units::{Micros, Time};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

const PACKET: u64 = 20_000;
const START: u64 = 5_000_000;

/// A packet of a trace: its number, when it was made and when it comes, in µs.
#[derive(Clone, Copy, Debug)]
struct Sent {
    sequence: u64,
    media: u64,
    marker: bool,
    arrives: Option<u64>,
}

fn policies() -> Vec<Box<dyn Policy>> {
    vec![
        Box::new(Fixed::new(Micros::from_millis(60))),
        Box::new(PaperA),
        Box::new(Ramjee1::default()),
        Box::new(Ramjee4::default()),
        Box::new(Moon::default()),
        Box::new(Histogram::new()),
    ]
}

/// Talkspurts and pauses of some 1 s each, and what `delay` says of the packet made at that time.
fn trace(seed: u64, seconds: u64, mut delay: impl FnMut(&mut ChaCha8Rng, u64) -> Option<u64>) -> Vec<Sent> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut trace, mut at, mut sequence) = (Vec::new(), 0, 1_000);
    while at < seconds * 1_000_000 {
        let packets = rng.random_range(10..100);
        for n in 0..packets {
            let arrives = delay(&mut rng, at).map(|delay| START + at + PACKET + delay);
            trace.push(Sent { sequence, media: at, marker: n == 0, arrives });
            (at, sequence) = (at + PACKET, sequence + 1);
        }
        at += rng.random_range(10..100) * PACKET;
    }
    trace
}

/// What was played, and when.
#[derive(Debug, Default)]
struct Playback {
    played: Vec<(u64, u64)>,
    counts: Counts,
    added_max: u64,
    added_sum: u64,
    silent: u64,
}

impl Playback {
    /// Late and overflowing packets, in per cent of those that came.
    fn dejitter_loss(&self) -> f64 {
        100.0 * (self.counts.late + self.counts.overflow) as f64 / self.counts.received as f64
    }

    /// From the end of recording to playing, in ms, on average.
    fn delay_ms(&self, trace: &[Sent]) -> f64 {
        let made: BTreeMap<u64, u64> = trace.iter().map(|sent| (sent.sequence, sent.media)).collect();
        let sum: u64 = self.played.iter().map(|(sequence, at)| at - START - made[sequence] - PACKET).sum();
        sum as f64 / self.played.len() as f64 / 1e3
    }
}

fn play(trace: &[Sent], policy: Box<dyn Policy>, config: Config) -> Playback {
    let mut playout = Playout::new(config, policy);
    let mut playback = Playback::default();
    let mut arrivals: Vec<(u64, &Sent)> =
        trace.iter().filter_map(|sent| sent.arrives.map(|at| (at, sent))).collect();
    arrivals.sort_by_key(|(at, sent)| (*at, sent.sequence));
    let end = arrivals.last().map_or(0, |(at, _)| *at) + 3_000_000;
    let mut arrivals = arrivals.into_iter().peekable();
    // The sound card's clock has its own phase.
    let mut now = START + 7_000;
    while now < end {
        while let Some((at, sent)) = arrivals.next_if(|(at, _)| *at <= now) {
            let incoming = Incoming {
                sequence: sent.sequence,
                timestamp: sent.media * 8 / 1_000,
                marker: sent.marker,
                payload_type: 8,
                is_noise: false,
                payload: &[0xd5; 160],
                arrived: Time(at),
            };
            playout.insert(&incoming);
        }
        let output = playout.poll(Time(now));
        assert_eq!(output.duration, Micros(PACKET));
        match output.sound {
            Sound::Play { sequence, timestamp, .. } => {
                if let Some((before, _)) = playback.played.last() {
                    assert!(sequence > *before, "{sequence} after {before}");
                }
                assert_eq!(timestamp * 1_000 / 8, trace[(sequence - 1_000) as usize].media);
                playback.played.push((sequence, now));
                let added = playout.added().unwrap().0;
                playback.added_max = playback.added_max.max(added);
                playback.added_sum += added;
            }
            Sound::Silence => playback.silent += 1,
            Sound::Conceal { .. } | Sound::ComfortNoise { .. } => {}
        }
        now += PACKET;
    }
    assert_eq!(playout.held(), 0, "everything is played in the end");
    playback.counts = playout.counts();
    playback
}

fn check(trace: &[Sent], playback: &Playback, config: &Config, name: &str) {
    let Counts { received, duplicates, played, late, overflow, skipped, lost, .. } = playback.counts;
    assert_eq!(received, played + late + duplicates + overflow + skipped, "{name}: {:?}", playback.counts);
    assert_eq!(played, playback.played.len() as u64, "{name}");
    let came = trace.iter().filter(|sent| sent.arrives.is_some()).count() as u64;
    assert_eq!(received - duplicates, came, "{name}");
    // What was lost before the first and after the last packet played is not known.
    let never = trace.len() as u64 - came;
    assert!(lost <= never, "{name}: {lost} of {never}");
    assert!(playback.added_max <= config.delay_max.0 + 2 * PACKET, "{name}: {} µs", playback.added_max);
    // Within a talkspurt sound goes on without a break: as much time passes as sound does.
    for pair in playback.played.windows(2) {
        let [(one, at), (next, then)] = [pair[0], pair[1]];
        let (one, next) = (&trace[(one - 1_000) as usize], &trace[(next - 1_000) as usize]);
        let same_talkspurt = next.sequence - one.sequence == 1 && !next.marker;
        assert!(!same_talkspurt || then - at >= PACKET, "{name}");
    }
}

fn run(trace: &[Sent], name: &str) -> Vec<(f64, f64)> {
    let mut figures = Vec::new();
    for policy in policies() {
        let is_paper = policy.name() == "paper-a";
        let delay_max = if is_paper { PaperA::LENGTH } else { Config::G711.delay_max };
        let config = Config { delay_max, ..Config::G711 };
        let label = format!("{name}, {}", policy.name());
        let playback = play(trace, policy, config);
        check(trace, &playback, &config, &label);
        let (loss, delay) = (playback.dejitter_loss(), playback.delay_ms(trace));
        println!("{label:30} late {loss:6.2} %   delay {delay:6.1} ms   {:?}", playback.counts);
        figures.push((loss, delay));
    }
    figures
}

/// Sums of exponential shares: a queue.
fn gamma(rng: &mut ChaCha8Rng, mean: f64) -> u64 {
    let share = |rng: &mut ChaCha8Rng| -rng.random_range(1e-9_f64..1.0).ln() * mean / 2.0;
    (share(rng) + share(rng)) as u64
}

const FIXED: usize = 0;
const PAPER: usize = 1;
const RAMJEE_1: usize = 2;
const RAMJEE_4: usize = 3;
const MOON: usize = 4;
const HISTOGRAM: usize = 5;

#[test]
fn on_a_clean_way_all_are_quick_and_lose_little() {
    let trace = trace(1, 120, |rng, _| Some(40_000 + rng.random_range(0..3_000)));
    let figures = run(&trace, "clean");
    for (index, (loss, delay)) in figures.iter().enumerate() {
        assert!(*loss < 6.0, "{index}: {loss} %");
        assert!(*delay < 125.0, "{index}: {delay} ms");
    }
    assert!(figures[FIXED].0 == 0.0 && figures[PAPER].0 == 0.0);
    assert!(figures[RAMJEE_4].1 < 60.0 && figures[MOON].1 < 60.0, "the quick ones add less than a packet");
}

#[test]
fn with_jitter_the_adaptive_ones_trade_delay_for_loss() {
    let trace = trace(2, 180, |rng, _| Some(40_000 + gamma(rng, 20_000.0)));
    let figures = run(&trace, "jitter");
    for (index, (loss, delay)) in figures.iter().enumerate() {
        assert!(*loss < 8.0, "{index}: {loss} %");
        assert!(*delay < 190.0, "{index}: {delay} ms");
    }
    // Four mean deviations of a queue like this leave about a per cent; a quantile of 99 % leaves what its name says.
    assert!(figures[MOON].0 < 3.0, "{figures:?}");
    assert!(figures[HISTOGRAM].0 < 2.0, "{figures:?}");
}

/// Now and then everything comes 200 ms later, and the queue drains over 400 ms.
#[test]
fn after_a_spike_the_adaptive_ones_recover() {
    let spike = |at: u64| {
        let since = at % 7_000_000;
        if since < 400_000 { 200_000 - since / 2 } else { 0 }
    };
    let trace = trace(3, 180, |rng, at| Some(40_000 + rng.random_range(0..5_000) + spike(at)));
    let figures = run(&trace, "spikes");
    for (index, (loss, delay)) in figures.iter().enumerate() {
        assert!(*loss < 2.0 && *delay < 260.0, "{index}: {figures:?}");
    }
    assert!(figures[RAMJEE_4].1 < 100.0, "its spike mode ends with the spike: {figures:?}");
    assert!(
        figures[RAMJEE_4].1 + 50.0 < figures[RAMJEE_1].1,
        "the slow averages keep what they learnt: {figures:?}"
    );
}

/// The way becomes 150 ms longer after a minute, and the sender's clock runs slow by 200 millionths all the time.
#[test]
fn a_step_and_a_drift_are_followed() {
    let trace = trace(4, 180, |rng, at| {
        let step = if at > 60_000_000 { 150_000 } else { 0 };
        Some(40_000 + rng.random_range(0..5_000) + step + at / 5_000)
    });
    let figures = run(&trace, "step and drift");
    for (index, (loss, delay)) in figures.iter().enumerate() {
        assert!(*loss < 8.0, "{index}: {figures:?}");
        assert!(*delay < 350.0, "{index}: {figures:?}");
    }
}

/// Half of all packets are held back on their way by a packet and a half: they come after their followers.
#[test]
fn overtaken_packets_are_put_back_into_order() {
    let trace = trace(5, 60, |rng, _| Some(40_000 + if rng.random_bool(0.1) { 50_000 } else { 0 }));
    let playback = play(&trace, Box::new(Fixed::new(Micros::from_millis(60))), Config::G711);
    check(&trace, &playback, &Config::G711, "overtaken");
    assert!(playback.counts.reordered > 50 && playback.counts.late == 0, "{:?}", playback.counts);
}

#[test]
fn lost_late_duplicate_and_overflow_are_told_apart() {
    let mut playout = Playout::new(Config::G711, Box::new(Fixed::new(Micros::from_millis(40))));
    let insert = |playout: &mut Playout, sequence: u64, arrived: u64| {
        let incoming = Incoming {
            sequence,
            timestamp: sequence * 160,
            marker: sequence == 100,
            payload_type: 8,
            is_noise: false,
            payload: &[0; 160],
            arrived: Time(arrived),
        };
        playout.insert(&incoming)
    };
    let media = |sequence: u64| START + sequence * PACKET;
    for sequence in [100, 101, 103, 104] {
        assert_eq!(insert(&mut playout, sequence, media(sequence)), Fate::Kept);
    }
    assert_eq!(insert(&mut playout, 103, media(104)), Fate::Duplicate);
    let mut sounds = Vec::new();
    for slot in 0..9 {
        let now = media(100) + slot * PACKET;
        if slot == 6 {
            assert_eq!(insert(&mut playout, 102, now), Fate::Late);
        }
        sounds.push(match playout.poll(Time(now)).sound {
            Sound::Play { sequence, .. } => sequence,
            Sound::Conceal { next } => u64::from(next.is_some()),
            Sound::Silence => 9,
            Sound::ComfortNoise { .. } => 8,
        });
    }
    assert_eq!(sounds, [9, 9, 100, 101, 1, 103, 104, 0, 0]);
    let counts = playout.counts();
    assert_eq!((counts.received, counts.duplicates, counts.late, counts.lost), (6, 1, 1, 0), "{counts:?}");
    // A burst of two seconds at once: only what fits is kept, and the rest is counted.
    for sequence in 110..210 {
        insert(&mut playout, sequence, media(110));
    }
    assert_eq!(playout.held(), 22);
    assert_eq!(playout.counts().overflow, 78);
    let lost_before = playout.counts().lost;
    assert_eq!(lost_before, 5, "105 to 109 never came");
}

#[test]
fn comfort_noise_fills_pauses_and_silence_ends_what_does_not_come() {
    let mut playout = Playout::new(Config::G711, Box::new(Fixed::new(Micros::from_millis(20))));
    let insert = |playout: &mut Playout, sequence: u64, media: u64, is_noise: bool, payload: &[u8]| {
        playout.insert(&Incoming {
            sequence,
            timestamp: media * 8 / 1_000,
            marker: false,
            payload_type: if is_noise { 13 } else { 8 },
            is_noise,
            payload,
            arrived: Time(START + media),
        });
    };
    let mut names = String::new();
    for slot in 0..40_u64 {
        let media = slot * PACKET;
        match slot {
            0..3 => insert(&mut playout, slot, media, false, &[0; 160]),
            3 => insert(&mut playout, slot, media, true, &[60]),
            20..22 => insert(&mut playout, slot - 16, media, false, &[0; 160]),
            _ => {}
        }
        names.push(match playout.poll(Time(START + media)).sound {
            Sound::Play { starts_talkspurt: true, .. } => 'P',
            Sound::Play { .. } => 'p',
            Sound::Conceal { .. } => 'c',
            Sound::ComfortNoise { payload } => {
                assert_eq!(payload, [60]);
                'n'
            }
            Sound::Silence => 's',
        });
    }
    // The second talkspurt has no mark, and no noise after it: 100 ms are concealed, then the last noise goes on.
    assert_eq!(names, "sPppnnnnnnnnnnnnnnnnnPpcccccnnnnnnnnnnnn");
    assert_eq!(playout.counts().talkspurts, 2);
}

/// A sender that never pauses, whose clock is fast by 1 %: delay must not grow without end (Mumble #6354,
/// FreeSWITCH #949).
#[test]
fn delay_stays_bounded_under_a_sender_that_never_pauses() {
    for is_pause_detected in [false, true] {
        let config = Config { delay_max: Micros::from_millis(200), ..Config::G711 };
        let mut playout = Playout::new(config, Box::new(Fixed::new(Micros::from_millis(60))));
        let mut added_max = 0;
        let (mut sequence, mut arrives) = (0_u64, START);
        for slot in 0..15_000_u64 {
            let now = START + slot * PACKET;
            while arrives <= now {
                playout.insert(&Incoming {
                    sequence,
                    timestamp: sequence * 160,
                    marker: sequence == 0,
                    payload_type: 8,
                    is_noise: false,
                    payload: &[0; 160],
                    arrived: Time(arrives),
                });
                sequence += 1;
                arrives += PACKET * 99 / 100;
            }
            playout.poll(Time(now));
            // Speech and pauses, all of them sent.
            playout.hear(!is_pause_detected || slot % 100 < 60);
            added_max = added_max.max(playout.added().map_or(0, |added| added.0));
        }
        let counts = playout.counts();
        let bound = if is_pause_detected { 130_000 } else { 200_000 + 2 * PACKET };
        assert!(added_max <= bound, "{added_max} µs, {counts:?}");
        assert!(counts.restarts == 0 && counts.played > 14_900, "{counts:?}");
        let dropped = if is_pause_detected { counts.skipped } else { counts.overflow };
        assert!((100..200).contains(&dropped), "{counts:?}");
    }
}

#[test]
fn a_clock_that_jumps_back_is_followed_and_stale_bursts_are_not() {
    let mut playout = Playout::new(Config::G711, Box::new(Fixed::new(Micros::from_millis(20))));
    let insert = |playout: &mut Playout, sequence: u64, timestamp: u64, arrived: u64| {
        playout.insert(&Incoming {
            sequence,
            timestamp,
            marker: false,
            payload_type: 8,
            is_noise: false,
            payload: &[0; 160],
            arrived: Time(START + arrived),
        })
    };
    let mut played = 0;
    for slot in 0..400_u64 {
        // After 200 packets timestamps begin again from 0, with the same source and rising numbers.
        let timestamp = if slot < 200 { (100_000 + slot) * 160 } else { (slot - 200) * 160 };
        insert(&mut playout, slot, timestamp, slot * PACKET);
        if slot == 150 {
            // A burst of old packets after a change of the way.
            (100..140).for_each(|old| {
                assert_ne!(insert(&mut playout, old, (100_000 + old) * 160, slot * PACKET), Fate::Kept)
            });
        }
        played += u64::from(matches!(playout.poll(Time(START + slot * PACKET)).sound, Sound::Play { .. }));
    }
    let counts = playout.counts();
    assert_eq!(counts.restarts, 1, "{counts:?}");
    assert!(played > 360, "{played} played, {counts:?}");
}

#[test]
fn key_presses_are_no_loss() {
    let mut playout = Playout::new(Config::G711, Box::new(Fixed::new(Micros::from_millis(20))));
    for slot in 0..30_u64 {
        if (10..15).contains(&slot) {
            playout.note_other(slot);
        } else {
            playout.insert(&Incoming {
                sequence: slot,
                timestamp: slot * 160,
                marker: false,
                payload_type: 8,
                is_noise: false,
                payload: &[0; 160],
                arrived: Time(START + slot * PACKET),
            });
        }
        playout.poll(Time(START + slot * PACKET));
    }
    assert_eq!(playout.counts().lost, 0);
}

/// A sender that changes the length of its packets within a call (FreeSWITCH #3150): each is played for its own length.
#[test]
fn another_packet_length_is_followed() {
    let mut playout = Playout::new(Config::G711, Box::new(Fixed::new(Micros::from_millis(60))));
    let lengths = (0..50).map(|_| 160).chain((0..50).map(|_| 320)).chain((0..50).map(|_| 80));
    let (mut timestamp, mut arrivals) = (0, Vec::new());
    for (sequence, length) in (0..).zip(lengths) {
        timestamp += length;
        arrivals.push((sequence, timestamp - length, length, START + timestamp * 125));
    }
    let (mut now, mut played, mut next) = (START, Vec::new(), 0);
    while now < START + timestamp * 125 + 60_000 {
        while let Some((sequence, timestamp, length, at)) =
            arrivals.get(next).filter(|arrival| arrival.3 <= now)
        {
            playout.insert(&Incoming {
                sequence: *sequence,
                timestamp: *timestamp,
                marker: false,
                payload_type: 8,
                is_noise: false,
                payload: &vec![0; *length as usize],
                arrived: Time(*at),
            });
            next += 1;
        }
        let output = playout.poll(Time(now));
        match output.sound {
            Sound::Play { payload, .. } => {
                assert_eq!(output.duration.0, payload.len() as u64 * 125);
                played.push(payload.len());
            }
            other @ (Sound::Conceal { .. } | Sound::ComfortNoise { .. } | Sound::Silence) => {
                assert!(played.is_empty() || played.len() > 145, "{other:?} after {} packets", played.len())
            }
        }
        now += output.duration.0;
    }
    assert!(played.len() > 145, "{}", played.len());
    assert_eq!((playout.counts().late, playout.counts().lost), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Loss, jitter, repetition and any order: no packet twice, order rising, everything counted once, delay bounded.
    #[test]
    fn holds_its_promises_on_any_way(
        seed: u64,
        loss in 0.0_f64..0.4,
        jitter in 1_u64..400_000,
        repeat in 0.0_f64..0.3,
        delay_max_ms in 60_u64..500,
    ) {
        let mut sent = trace(seed, 20, |rng, _| (!rng.random_bool(loss)).then(|| rng.random_range(0..jitter)));
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 1);
        let repeated: Vec<Sent> = sent
            .iter()
            .filter(|sent| sent.arrives.is_some() && rng.random_bool(repeat))
            .map(|sent| Sent { arrives: sent.arrives.map(|at| at + 10_000), ..*sent })
            .collect();
        let count = repeated.len() as u64;
        let whole = sent.clone();
        sent.extend(repeated);
        for policy in policies() {
            let config = Config { delay_max: Micros::from_millis(delay_max_ms), ..Config::G711 };
            let name = policy.name();
            let playback = play(&sent, policy, config);
            prop_assert_eq!(playback.counts.duplicates, count, "{}", name);
            check(&whole, &playback, &config, name);
        }
    }
}
