//! How many claims came out how.

use super::{Evaluation, Judged};
use serde::Serialize;

/// The verdicts of one evaluation or of several, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub reproduce: usize,
    pub do_not: usize,
    pub cannot_be_judged: usize,
    pub predictions: usize,
}

impl Tally {
    pub fn of<'a>(evaluations: impl IntoIterator<Item = &'a Evaluation>) -> Self {
        evaluations.into_iter().fold(Self::default(), |tally, one| Self {
            reproduce: tally.reproduce + one.count(Judged::Reproduces),
            do_not: tally.do_not + one.count(Judged::DoesNotReproduce),
            cannot_be_judged: tally.cannot_be_judged + one.count(Judged::CannotBeComputed),
            predictions: tally.predictions + one.count(Judged::Prediction),
        })
    }

    /// `12 claims: 9 reproduce, 1 does not, 2 cannot be judged; 4 predictions`.
    pub fn words(self) -> String {
        let Self { reproduce, do_not, cannot_be_judged, predictions } = self;
        let choose = |count: usize, one: &str, several: &str| {
            format!("{count} {}", if count == 1 { one } else { several })
        };
        let judged = reproduce + do_not + cannot_be_judged;
        let verdicts = format!(
            "{}: {}, {}, {cannot_be_judged} cannot be judged",
            choose(judged, "claim", "claims"),
            choose(reproduce, "reproduces", "reproduce"),
            choose(do_not, "does not", "do not"),
        );
        let predictions = Some(predictions)
            .filter(|count| *count > 0)
            .map(|count| choose(count, "prediction", "predictions"));
        let verdicts = Some(verdicts).filter(|_| judged > 0);
        let words: Vec<String> = verdicts.into_iter().chain(predictions).collect();
        if words.is_empty() { "no claims".to_owned() } else { words.join("; ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_is_a_sentence() {
        let words = |reproduce, do_not, cannot_be_judged, predictions| {
            Tally { reproduce, do_not, cannot_be_judged, predictions }.words()
        };
        assert_eq!(words(0, 0, 0, 0), "no claims");
        assert_eq!(words(1, 0, 0, 0), "1 claim: 1 reproduces, 0 do not, 0 cannot be judged");
        assert_eq!(
            words(9, 1, 2, 4),
            "12 claims: 9 reproduce, 1 does not, 2 cannot be judged; 4 predictions"
        );
        assert_eq!(words(0, 0, 0, 1), "1 prediction");
    }
}
