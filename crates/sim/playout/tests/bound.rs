//! No algorithm that sees only the past beats the bound of hindsight.

use guestright_engine::Streams;
use guestright_playout::{Algorithm, Call, Family, Handshakes, Rules, Talk, Trace, play};
use guestright_units::{Micros, Seed};
use guestright_voice::playout::{Arrival, Policy};
use proptest::prelude::*;

/// Says anything: the bound holds for every policy, not only for good ones.
struct Whims(Vec<i64>, usize);

impl Policy for Whims {
    fn name(&self) -> &'static str {
        "whims"
    }

    fn arrived(&mut self, _: &Arrival) {}

    fn play_after(&mut self, _: &Arrival) -> i64 {
        self.1 += 1;
        self.0[self.1 % self.0.len()]
    }

    fn restart(&mut self) {}
}

fn is_not_beaten(
    trace: &Trace,
    policy: &mut dyn Policy,
    rules: &Rules,
    seed: u64,
) -> Result<(), TestCaseError> {
    let chance = &mut Streams::new(Seed::from_number(seed)).stream("handshake", 0);
    let handshakes = Handshakes::over(trace, chance);
    let played = play(trace, policy, &handshakes.exchanges, rules);
    let late = trace
        .packets
        .iter()
        .zip(&played.at)
        .filter(|(packet, at)| packet.arrived.is_some() && at.is_none())
        .count();
    let Some(mean) = played.added_mean_ms(trace) else { return Ok(()) };
    let bound = trace.bound(late).mean_us(late).expect("a choice that makes so many late was just made");
    prop_assert!(
        mean * 1e3 >= bound - 1e-3,
        "{}: {} late, {} ms, bound {} µs",
        policy.name(),
        late,
        mean,
        bound
    );
    for ((packet, at), next) in trace.packets.iter().zip(&played.at).zip(played.at.iter().skip(1)) {
        if let (Some(at), Some(arrived)) = (at, packet.arrived) {
            prop_assert!(*at >= arrived, "played before it came");
        }
        if let (Some(at), Some(next)) = (at, next) {
            prop_assert!(next.since(*at) >= trace.interval, "two at a time");
        }
    }
    Ok(())
}

fn call() -> impl Strategy<Value = Call> {
    (0..Family::ALL.len(), 0_u64..300, 0_u64..80, 40_u64..1_500, 40_u64..1_500).prop_map(
        |(family, round_trip, jitter, talkspurt, pause)| Call {
            length: Micros::from_seconds(15),
            talk: Talk { talkspurt: Micros::from_millis(talkspurt), pause: Micros::from_millis(pause) },
            ..Call::new(Family::ALL[family], Micros::from_millis(round_trip), Micros::from_millis(jitter))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_algorithm_beats_the_bound(
        call in call(),
        seed: u64,
        which in 0..Algorithm::ALL.len(),
        knob in 0_usize..64,
        waits_for_first: bool,
    ) {
        let algorithm = Algorithm::ALL[which];
        let grid = algorithm.knob().grid;
        let trace = call.trace(Seed::from_number(seed));
        let rules = Rules { waits_for_first, ..Rules::OURS };
        is_not_beaten(&trace, algorithm.policy(grid[knob % grid.len()]).as_mut(), &rules, seed)?;
    }

    #[test]
    fn nor_does_any_other_choice(
        call in call(),
        seed: u64,
        whims in prop::collection::vec(-50_000_i64..500_000, 1..20),
        waits_for_first: bool,
    ) {
        let trace = call.trace(Seed::from_number(seed));
        let rules = Rules { waits_for_first, ..Rules::OURS };
        is_not_beaten(&trace, &mut Whims(whims, 0), &rules, seed)?;
    }
}

/// A real call; how it was made stands in the file.
const NAMESPACES: &str = include_str!("traces/namespaces.csv");

#[test]
fn a_captured_call_is_played_by_all_and_nobody_beats_hindsight() {
    let trace = Trace::from_csv(NAMESPACES, Micros::from_millis(20)).expect("it was written by us");
    assert!(trace.talkspurts().count() > 20 && trace.packets.len() > 1_000);
    for algorithm in Algorithm::ALL {
        let mut policy = algorithm.policy(algorithm.knob().usual);
        is_not_beaten(&trace, policy.as_mut(), &Rules::OURS, 1).expect("the bound holds");
        let played = play(&trace, algorithm.policy(algorithm.knob().usual).as_mut(), &[], &Rules::OURS);
        let count = played.at.iter().flatten().count();
        assert!(count * 2 > trace.packets.len(), "{algorithm:?} plays {count} of {}", trace.packets.len());
    }
}
