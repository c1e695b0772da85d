//! Why a team would be served.

use crate::{Class, Name, Sentence, Sum, Team, list};
use guestright_reciprocity::{Basis, Explanation, FlowPath, Verdict};
use guestright_units::Bytes;
use serde::{Deserialize, Serialize};

/// How many chains of debts are shown each way.
pub const PATHS_MAX: usize = 32;
/// How many teams a chain of debts has at most, both ends with it.
pub const PATH_TEAMS_MAX: usize = 16;
/// How many lines an explanation has at most.
pub const LINES_MAX: usize = 64;

/// Whether a team would be served now, and the chains of debts that were weighed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Why {
    /// Which team this is about.
    pub team: Team,
    /// How it would be served; `null`: not at all.
    pub class: Option<Class>,
    /// The decision in a sentence, in English.
    pub reason: Sentence,
    /// The ratio, `0.000` to `1.000`; `null` where none was reckoned.
    pub ind: Option<Name>,
    /// How much was asked for.
    pub request: Sum,
    /// Whether no limit cut a sum short.
    pub exact: bool,
    /// How this household owes the team, the largest part first.
    #[serde(deserialize_with = "list::at_most::<PATHS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 32))]
    pub owed_to_consumer: Vec<DebtPath>,
    /// How the team owes this household, the largest part first.
    #[serde(deserialize_with = "list::at_most::<PATHS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 32))]
    pub owed_by_consumer: Vec<DebtPath>,
    /// What is reserved and what the account says, in sentences, in English.
    #[serde(deserialize_with = "list::at_most::<LINES_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 64))]
    pub lines: Vec<Sentence>,
}

/// A chain of debts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct DebtPath {
    /// How much runs along it.
    pub bytes: Sum,
    /// Each of these teams owes the next one; the first and the last are the household and the team, or the other way round.
    #[serde(deserialize_with = "list::at_most::<PATH_TEAMS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 16))]
    pub teams: Vec<Team>,
}

impl Why {
    /// What a decision rests on, within the limits; `lines` is what the home says besides.
    pub fn of<'a>(
        explanation: &Explanation,
        request: Bytes,
        lines: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let Explanation { consumer, decision, owed_to_consumer, owed_by_consumer, .. } = explanation;
        let mut why = Self {
            team: Team(*consumer),
            class: match decision.verdict {
                Verdict::Granted(class) => Some(class.into()),
                Verdict::Refused => None,
            },
            reason: Sentence::shortened(&decision.reason()),
            ind: decision.ind.map(|ind| Name::shortened(&ind.to_string())),
            request: request.into(),
            exact: match decision.basis {
                Basis::Flow { exact, .. } => exact,
                Basis::OwnMember
                | Basis::Stranger { .. }
                | Basis::GaveNothing { .. }
                | Basis::Quota { .. } => true,
            },
            owed_to_consumer: debt_paths(owed_to_consumer),
            owed_by_consumer: debt_paths(owed_by_consumer),
            lines: lines.into_iter().map(Sentence::shortened).collect(),
        };
        why.shorten();
        why
    }

    /// Leaves out paths that are too long to be shown, and what is beyond the limits.
    pub(crate) fn shorten(&mut self) {
        for paths in [&mut self.owed_to_consumer, &mut self.owed_by_consumer] {
            paths.retain(|path| path.teams.len() <= PATH_TEAMS_MAX);
            paths.truncate(PATHS_MAX);
        }
        self.lines.truncate(LINES_MAX);
    }
}

fn debt_paths(paths: &[FlowPath]) -> Vec<DebtPath> {
    let one = |path: &FlowPath| DebtPath {
        bytes: path.bytes.into(),
        teams: path.teams.iter().copied().map(Team).collect(),
    };
    paths.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_reciprocity::{Decision, Ind, PerMille, ServiceClass};
    use guestright_units::TeamId;

    const OURS: TeamId = TeamId([1; 24]);
    const THEIRS: TeamId = TeamId([2; 24]);

    fn path(teams: usize, bytes: u64) -> FlowPath {
        FlowPath { teams: vec![OURS; teams], bytes: Bytes(bytes) }
    }

    fn explanation(verdict: Verdict, basis: Basis, owed_to_consumer: Vec<FlowPath>) -> Explanation {
        let decision = Decision { verdict, ind: Some(Ind::ratio(694, 1_000)), basis };
        let owed_by_consumer = vec![FlowPath { teams: vec![THEIRS, OURS], bytes: Bytes(15) }];
        Explanation { provider: OURS, consumer: THEIRS, decision, owed_to_consumer, owed_by_consumer }
    }

    fn flow(exact: bool) -> Basis {
        Basis::Flow {
            owed_to_consumer: Bytes(286),
            owed_by_consumer: Bytes(15),
            request: Bytes(1),
            gave: Bytes(700),
            took: Bytes(412),
            exact,
        }
    }

    #[test]
    fn an_explanation_is_shown_with_its_paths() {
        let granted = Verdict::Granted(ServiceClass::Middle);
        let explanation = explanation(granted, flow(false), vec![path(2, 180), path(3, 74)]);
        let why = Why::of(&explanation, Bytes(1), ["40 of 180 MB are reserved."]);
        assert_eq!((why.team, why.class, why.exact), (Team(THEIRS), Some(Class::Middle), false));
        assert_eq!(why.reason.as_str(), explanation.decision.reason());
        assert_eq!(why.ind.unwrap().as_str(), "0.694");
        assert_eq!(why.owed_to_consumer.iter().map(|path| path.bytes.get()).collect::<Vec<_>>(), [180, 74]);
        assert_eq!(why.owed_by_consumer[0].teams, [Team(THEIRS), Team(OURS)]);
        assert_eq!(why.lines[0].as_str(), "40 of 180 MB are reserved.");
    }

    #[test]
    fn a_refusal_has_no_class() {
        let stranger =
            Basis::Stranger { owed_to_consumer: Bytes(0), probability: PerMille(100), bootstrap: false };
        let why = Why::of(&explanation(Verdict::Refused, stranger, Vec::new()), Bytes(1), []);
        assert_eq!((why.class, why.exact), (None, true));
        assert!(why.reason.as_str().starts_with("Refused: "), "{}", why.reason);
    }

    #[test]
    fn what_is_too_much_is_left_out() {
        let mut paths = vec![path(PATH_TEAMS_MAX + 1, 9), path(PATH_TEAMS_MAX, 8)];
        paths.resize(PATHS_MAX + 5, path(2, 7));
        let lines = vec!["a line"; LINES_MAX + 1];
        let why = Why::of(&explanation(Verdict::Refused, flow(true), paths), Bytes(1), lines);
        assert_eq!((why.owed_to_consumer.len(), why.lines.len()), (PATHS_MAX, LINES_MAX));
        assert_eq!(why.owed_to_consumer[0].bytes.get(), 8, "a path that cannot be shown whole is not shown");
    }
}
