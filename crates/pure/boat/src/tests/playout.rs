use super::direction::{Direction, PACKET_MS, Path, random_path};
use crate::{InstallRule, TalkerConfig, TickRate};
use guestright_units::Micros;
use proptest::prelude::*;

/// Phases at even times, so that a figure can be told beforehand.
const EVEN: TalkerConfig =
    TalkerConfig { period_min: Micros::from_millis(1_000), failures_max: 1_000, ..TalkerConfig::PRINTED };

#[test]
fn delta_is_the_way_there_and_a_round_trip_whatever_the_way_back() {
    for (there, back) in [(1, 1), (20, 20), (100, 5), (5, 100), (300, 300), (700, 200)] {
        let mut direction = Direction::new(EVEN, InstallRule::ReceiverExact, 0);
        direction.run(0, 6_000, &mut Path::steady(there, back, |_| false));
        let want = i64::try_from(2 * there + back).unwrap();
        let (delta, least, most) = *direction.trace.deltas.last().expect("a clock was installed");
        assert_eq!(delta, want, "{there} ms there, {back} ms back");
        assert_eq!((least, most), (want - i64::try_from(there).unwrap(), 2 * least));
    }
}

#[test]
fn a_packet_is_played_delta_after_it_was_made() {
    let mut direction = Direction::new(EVEN, InstallRule::ReceiverExact, 0);
    direction.run(0, 10_000, &mut Path::steady(30, 50, |ms| ms % 2_000 < 1_200));
    let trace = &direction.trace;
    assert!(trace.played.len() > 100, "{} were played", trace.played.len());
    assert_eq!(trace.played.len(), trace.stored.len(), "nothing was left out");
    // A card that is asked every 40 ms is up to 40 ms late.
    let first = trace.played[0];
    let made = (first.0 - 1) * PACKET_MS;
    assert!(trace.played.iter().all(|(_, _, at)| at.saturating_sub(made) >= 30 + 80));
}

/// The talker stops at 10.04 s, when the path has become faster: INSTALL comes while packets still wait.
fn improvement(rule: InstallRule) -> Direction {
    let mut path = Path {
        takes: Box::new(|_, ms| Some(if ms < 9_900 { 100 } else { 20 })),
        copies: Box::new(|| 1),
        speaks: Box::new(|ms| (5_000..10_040).contains(&ms) || (12_000..13_000).contains(&ms)),
    };
    let mut direction = Direction::new(EVEN, rule, 0);
    direction.run(0, 16_000, &mut path);
    direction
}

/// Note: the round trip falls from 200 to 40 ms, so the printed rule has the talker wait for 160 ms of silence. INSTALL
/// then takes 20 ms. The listener plays 300 ms behind the talker: 120 ms of speech wait, and are jumped over.
#[test]
fn the_printed_rule_skips_speech_when_install_travels_faster_than_the_new_delta() {
    let direction = improvement(InstallRule::Printed);
    let skipped = direction.skipped();
    assert!((2..=4).contains(&skipped.len()), "skipped {skipped:?}");
    assert_eq!(direction.buffer.counts().skipped, skipped.len() as u64);
    let delta = direction.trace.deltas.last().unwrap().0;
    assert_eq!(delta, 60, "the clock was set all the same");
}

#[test]
fn both_other_rules_skip_nothing_there() {
    for rule in [InstallRule::SenderOnly, InstallRule::ReceiverExact] {
        let direction = improvement(rule);
        assert_eq!(direction.skipped(), [] as [u64; 0], "{rule:?}");
        assert!(direction.trace.stored.len() > 120, "{rule:?}");
        assert_eq!(direction.trace.deltas.last().unwrap().0, 60, "{rule:?}: the clock was set");
    }
}

#[test]
fn a_clock_that_jumps_forward_jumps_over_silence_only_and_the_rest_at_the_next_gap() {
    // 80 ms of silence between talkspurts, and 240 ms too much delay.
    let mut path = Path {
        takes: Box::new(|_, ms| Some(if ms < 4_900 { 100 } else { 20 })),
        copies: Box::new(|| 1),
        speaks: Box::new(|ms| (3_000..11_500).contains(&ms) && ms % 400 >= 80),
    };
    let mut direction = Direction::new(EVEN, InstallRule::ReceiverExact, 0);
    direction.run(0, 12_000, &mut path);
    assert_eq!(direction.skipped(), [] as [u64; 0]);
    let counts = direction.listener.counts();
    assert!(counts.forward >= 3, "it took {} jumps", counts.forward);
    assert_eq!(direction.trace.deltas.last().unwrap().0, 60);
}

#[test]
fn a_clock_that_goes_back_plays_nothing_twice_and_opens_no_gap_within_a_talkspurt() {
    let mut path = Path {
        takes: Box::new(|_, ms| Some(if ms < 4_900 { 20 } else { 45 })),
        copies: Box::new(|| 1),
        speaks: Box::new(|ms| (3_000..11_500).contains(&ms) && ms % 2_000 >= 600),
    };
    let mut direction = Direction::new(EVEN, InstallRule::ReceiverExact, 0);
    direction.run(0, 12_000, &mut path);
    assert_eq!(direction.listener.counts().back, 1);
    assert_eq!(direction.trace.deltas.last().unwrap().0, 45 + 90);
    assert_eq!(direction.skipped(), [] as [u64; 0]);
    assert_eq!(direction.trace.played.len(), direction.trace.sent.len(), "60 ms were enough for 45");
    for pair in direction.trace.played.windows(2) {
        let (played, made) = (pair[1].2 - pair[0].2, pair[1].1 - pair[0].1);
        assert!(made > PACKET_MS || played == PACKET_MS, "{pair:?}: a gap within a talkspurt");
    }
}

#[test]
fn clocks_pass_the_wrap_while_somebody_speaks() {
    // The talker's start is known after it was made: the run begins 5 s before its clock wraps.
    let start = Direction::new(EVEN, InstallRule::ReceiverExact, 0).talker.clock(guestright_units::Time(0));
    let from = (u64::from(u32::MAX - start) + 1 - 5_000) / PACKET_MS * PACKET_MS;
    let mut direction = Direction::new(EVEN, InstallRule::ReceiverExact, from);
    direction.run(
        from,
        from + 10_000,
        &mut Path::steady(30, 30, move |ms| ms < from + 9_500 && ms % 2_000 < 1_500),
    );
    let trace = &direction.trace;
    assert!(trace.played.len() > 150);
    assert_eq!(trace.played.len(), trace.stored.len());
    assert!(trace.played.windows(2).all(|pair| pair[1].1 > pair[0].1));
    assert!(trace.deltas.iter().all(|(delta, _, _)| (30..=90).contains(delta)));
    let (first, last) = (trace.played.first().unwrap().1, trace.played.last().unwrap().1);
    assert_ne!(first >> 32, last >> 32, "it has wrapped");
}

/// Three packets' time of silence is taken for lost packets, then the clock goes back by 430 ms, because the packet behind the
/// silence came late. That packet was waited for until its own time was over, and left out.
#[test]
fn silence_that_was_taken_for_loss_delays_no_talkspurt_when_the_clock_goes_back() {
    let direction = on_a_random_path(806_261_085_790, TickRate::MILLISECONDS);
    assert_eq!(direction.skipped(), [] as [u64; 0]);
    let played = |number| direction.trace.played.iter().find(|(it, _, _)| *it == number).unwrap();
    let (before, after) = (played(30), played(31));
    assert_eq!(after.2 - before.2, PACKET_MS, "the talkspurt is played in one piece");
}

/// A call over [`random_path`], and a quiet end, so that what waits is played.
fn on_a_random_path(seed: u64, tick_rate: TickRate) -> Direction {
    let config = TalkerConfig { tick_rate, failures_max: 10_000, ..TalkerConfig::PRINTED };
    let mut direction = Direction::new(config, InstallRule::ReceiverExact, 0);
    direction.run(0, 12_000, &mut random_path(seed));
    direction.run(12_000, 15_000, &mut Path::steady(10, 10, |_| false));
    direction
}

proptest! {
    /// Loss up to four in ten, overtaking, copies, jumps of the delay.
    #[test]
    fn nothing_is_played_twice_and_nothing_that_was_in_time_is_skipped(seed in 0_u64..1 << 40, fine: bool) {
        let tick_rate = if fine { TickRate::SAMPLES } else { TickRate::MILLISECONDS };
        let direction = on_a_random_path(seed, tick_rate);
        let trace = &direction.trace;
        for pair in trace.played.windows(2) {
            prop_assert!(pair[1].0 > pair[0].0 && pair[1].1 > pair[0].1, "{pair:?}");
        }
        prop_assert_eq!(direction.skipped(), Vec::<u64>::new());
        for (delta, least, most) in &trace.deltas {
            prop_assert!((least - 1..=most + 1).contains(delta), "{delta} of {least}..={most}");
            prop_assert_eq!(*most, 2 * least, "as printed: from one round trip to two");
        }
        let counts = direction.buffer.counts();
        prop_assert_eq!(counts.played, trace.played.len() as u64);
        let fates = counts.played + counts.late + counts.duplicates + counts.overflow + counts.skipped;
        prop_assert_eq!(counts.received, fates + direction.buffer.held() as u64);
    }

    /// The sender's rule is right too, as long as nothing is lost.
    #[test]
    fn the_senders_rule_skips_nothing_over_a_path_that_only_changes(seed in 0_u64..1 << 40) {
        let config = TalkerConfig { failures_max: 10_000, ..TalkerConfig::PRINTED };
        let mut direction = Direction::new(config, InstallRule::SenderOnly, 0);
        let pace = 30 + seed % 60;
        let mut path = Path {
            takes: Box::new(move |_, ms| Some(10 + (ms / 3_000 * pace * 7) % 150)),
            copies: Box::new(|| 1),
            speaks: Box::new(move |ms| (ms + seed) % 2_500 < 1_300),
        };
        direction.run(0, 15_000, &mut path);
        direction.run(15_000, 17_000, &mut Path::steady(10, 10, |_| false));
        prop_assert_eq!(direction.skipped(), Vec::<u64>::new());
    }
}
