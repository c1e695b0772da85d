//! What delay an algorithm needs for a given late loss, if its number is chosen in hindsight.

use crate::algorithm::Algorithm;
use crate::figures::Judge;
use crate::handshake::Handshakes;
use crate::player::{Rules, play};
use crate::trace::Trace;
use guestright_quality::InputError;

/// A point on an algorithm's curve of delay against late loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtLoss {
    /// Late packets in per cent: what was asked for, or less if the smallest number has less.
    pub late_percent: f64,
    /// The mean delay in ms.
    pub delay_ms: f64,
    /// The mean opinion score.
    pub mos: f64,
    /// The algorithm's number.
    pub knob: f64,
}

impl AtLoss {
    /// The point on the straight line to `next` at `late_percent`.
    fn towards(self, next: Self, late_percent: f64) -> Self {
        let share = (self.late_percent - late_percent) / (self.late_percent - next.late_percent);
        let between = |one: f64, other: f64| one + share * (other - one);
        Self {
            late_percent,
            delay_ms: between(self.delay_ms, next.delay_ms),
            mos: between(self.mos, next.mos),
            knob: between(self.knob, next.knob),
        }
    }
}

/// The means over all calls at `late_percent`, with one number for all of them: on straight lines between the values of
/// [`Knob::grid`](crate::Knob). `None` if even the largest has more late packets, or there is no call.
///
/// # Errors
///
/// If a delay has no meaning.
pub fn at_loss(
    calls: &[(Trace, Handshakes)],
    algorithm: Algorithm,
    rules: &Rules,
    judge: &Judge,
    late_percent: f64,
) -> Result<Option<AtLoss>, InputError> {
    let mut before: Option<AtLoss> = None;
    for &knob in algorithm.knob().grid {
        let Some(at) = mean(calls, algorithm, knob, (rules, judge))? else { return Ok(None) };
        if at.late_percent <= late_percent {
            return Ok(Some(before.map_or(at, |before| before.towards(at, late_percent))));
        }
        before = Some(at);
    }
    Ok(None)
}

#[expect(clippy::cast_precision_loss, reason = "nobody compares 2^52 calls")]
fn mean(
    calls: &[(Trace, Handshakes)],
    algorithm: Algorithm,
    knob: f64,
    (rules, judge): (&Rules, &Judge),
) -> Result<Option<AtLoss>, InputError> {
    let mut sum = AtLoss { late_percent: 0.0, delay_ms: 0.0, mos: 0.0, knob };
    for (trace, handshakes) in calls {
        let played = play(trace, algorithm.policy(knob).as_mut(), &handshakes.exchanges, rules);
        let figures = judge.figures(trace, &played)?;
        sum.late_percent += figures.late_percent();
        sum.delay_ms += figures.delay_mean_ms.unwrap_or(0.0);
        sum.mos += figures.mos;
    }
    let count = calls.len() as f64;
    let mean = AtLoss {
        late_percent: sum.late_percent / count,
        delay_ms: sum.delay_ms / count,
        mos: sum.mos / count,
        knob,
    };
    Ok((!calls.is_empty()).then_some(mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Call, Family};
    use guestright_engine::Streams;
    use guestright_units::{Micros, Seed};

    fn call(family: Family) -> (Trace, Handshakes) {
        let trace = Call::new(family, Micros(80_000), Micros(20_000)).trace(Seed::from_number(1));
        let handshakes =
            Handshakes::over(&trace, &mut Streams::new(Seed::from_number(1)).stream("handshake", 0));
        (trace, handshakes)
    }

    #[test]
    fn less_loss_takes_more_delay_and_what_is_found_is_what_a_run_gives() {
        let calls = [call(Family::Gamma), call(Family::Steps)];
        let judge = Judge::new(Micros(20_000)).unwrap();
        for algorithm in [Algorithm::Fixed, Algorithm::Boat] {
            let at = |percent| at_loss(&calls, algorithm, &Rules::OURS, &judge, percent).unwrap().unwrap();
            let (strict, lax) = (at(1.0), at(5.0));
            assert!(strict.delay_ms > lax.delay_ms && strict.knob > lax.knob, "{strict:?} {lax:?}");
            let run = mean(&calls, algorithm, lax.knob, (&Rules::OURS, &judge)).unwrap().unwrap();
            assert!(
                (run.late_percent - 5.0).abs() < 1.5 && (run.delay_ms - lax.delay_ms).abs() < 10.0,
                "{run:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_reached_is_nothing() {
        let judge = Judge::new(Micros(20_000)).unwrap();
        let at = |calls: &[_], percent| at_loss(calls, Algorithm::PaperA, &Rules::OURS, &judge, percent);
        assert_eq!(at(&[], 1.0), Ok(None));
        assert_eq!(at(&[call(Family::International)], 0.1), Ok(None));
    }
}
