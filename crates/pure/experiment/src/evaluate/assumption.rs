//! How much each claim moves when what was assumed is varied.

use super::judge::Judged;
use super::moved::{Move, Moved, Subject, judge_moved};
use super::sample::Curves;
use super::settings;
use crate::plan::{Assumption, Claim, Plan, Test, Varied};
use crate::value::Value;
use serde::{Deserialize, Serialize};

/// What was assumed about something that the source does not give.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssumptionNumbers {
    /// What was assumed.
    pub text: String,
    pub why: String,
    /// The settings that say it, with their values.
    pub settings: Vec<(String, String)>,
    /// The axis that is varied, or `case`; empty if nothing is.
    pub varied: String,
    /// What was tried, in words.
    pub values: Vec<String>,
    /// What became of each claim that it bears on.
    pub effects: Vec<Effect>,
    /// The ids of the claims that it does not bear on, or that say themselves which values they are about.
    pub untouched: Vec<String>,
}

/// What became of one claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The claim's id.
    pub claim: String,
    /// What it says.
    pub text: String,
    /// Which of the values is the assumed one.
    pub base: usize,
    /// Where the number is that is printed, for each value. Where the claim has several numbers it is the one that decides:
    /// least inside of what is wanted, or farthest outside. Of a prediction, the one that moves most.
    pub of: Vec<String>,
    pub unit: String,
    /// The number, for each value that was tried.
    pub numbers: Vec<Option<f64>>,
    /// The verdict, for each.
    pub judged: Vec<Judged>,
    /// Whether the verdict is not sure at 95 %, for each.
    pub unclear: Vec<bool>,
    /// The least and the most of the numbers.
    pub range: Option<(f64, f64)>,
    /// Whether any verdict is another than with what was assumed.
    pub changes: bool,
}

impl AssumptionNumbers {
    /// How many claims reproduce with what was assumed; and how many of these do with each value that was tried.
    pub fn surviving(&self) -> (usize, Vec<usize>) {
        let well: Vec<&Effect> =
            self.effects.iter().filter(|effect| effect.judged[effect.base] == Judged::Reproduces).collect();
        let with = |index: usize| {
            well.iter().filter(|effect| effect.judged.get(index) == Some(&Judged::Reproduces)).count()
        };
        (well.len(), (0..self.values.len()).map(with).collect())
    }

    /// The claims whose verdict is another with some value.
    pub fn changing(&self) -> impl Iterator<Item = &Effect> {
        self.effects.iter().filter(|effect| effect.changes)
    }
}

pub(super) fn numbers(curves: &Curves<'_>, assumption: &Assumption) -> AssumptionNumbers {
    let plan = curves.plan;
    let tried = tried(plan, &assumption.varied);
    let mut effects = Vec::new();
    let mut untouched = Vec::new();
    for (index, claim) in plan.claims.iter().enumerate() {
        let named = assumption.claims.as_ref().is_none_or(|claims| claims.contains(&index));
        let base = base(curves, claim, &assumption.varied);
        match base.filter(|_| named) {
            Some(base) => effects.push(effect(curves, claim, &tried, base)),
            None => untouched.push(claim.id.clone()),
        }
    }
    AssumptionNumbers {
        text: assumption.text.clone(),
        why: assumption.why.clone(),
        settings: settings::values(plan, &assumption.settings, varied_cases(&assumption.varied)),
        varied: match assumption.varied {
            Varied::Not => String::new(),
            Varied::Axis(axis) => plan.axes[axis].info.name.to_owned(),
            Varied::Cases(_) => "case".to_owned(),
        },
        values: tried.into_iter().map(|(name, _)| name).collect(),
        effects,
        untouched,
    }
}

/// The cases that an assumption is about, if it is not about all.
const fn varied_cases(varied: &Varied) -> Option<&[usize]> {
    match varied {
        Varied::Cases(cases) => Some(cases.as_slice()),
        Varied::Axis(_) | Varied::Not => None,
    }
}

/// What is put in the place of what was assumed; with its name.
fn tried(plan: &Plan, varied: &Varied) -> Vec<(String, Move)> {
    match varied {
        Varied::Not => Vec::new(),
        Varied::Cases(cases) => {
            let case = |case: &usize| (plan.grid.cases[*case].title.clone(), Move::Case(*case));
            cases.iter().map(case).collect()
        }
        Varied::Axis(axis) => {
            let mut values: Vec<Value> = Vec::new();
            for value in plan.grid.cases.iter().flat_map(|case| &case.values[*axis]) {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            values.into_iter().map(|value| (value.to_string(), Move::Axis(*axis, value))).collect()
        }
    }
}

/// Which of the values a claim assumes; nothing if it does not assume one.
fn base(curves: &Curves<'_>, claim: &Claim, varied: &Varied) -> Option<usize> {
    match varied {
        Varied::Not => None,
        Varied::Cases(cases) => {
            let first = cases.first()?;
            claim.terms.iter().all(|term| term.case == *first).then_some(0)
        }
        Varied::Axis(axis) => {
            if claim.along.is_some_and(|along| along.axis == *axis) {
                return None;
            }
            let terms = claim.terms.iter().filter(|term| curves.dimensions(term.of)[*axis]);
            let values: Vec<&Option<Value>> = terms.map(|term| &term.at[*axis]).collect();
            let first = values.first()?.as_ref()?;
            if values.iter().any(|value| value.as_ref() != Some(first)) {
                return None;
            }
            let all = tried(curves.plan, varied);
            all.iter().position(|(_, other)| *other == Move::Axis(*axis, first.clone()))
        }
    }
}

fn effect(curves: &Curves<'_>, claim: &Claim, tried: &[(String, Move)], base: usize) -> Effect {
    let all: Vec<Moved> =
        tried.iter().map(|(_, to)| judge_moved(curves, claim, std::slice::from_ref(to))).collect();
    let mover = mover(&all, base);
    let subject = |moved: &Moved| {
        let wanted = claim.test != Test::Prediction;
        let own = if wanted { moved.deciding() } else { mover.and_then(|index| moved.subjects.get(index)) };
        own.cloned()
    };
    let subjects: Vec<Option<Subject>> = all.iter().map(subject).collect();
    let name =
        |subject: &Option<Subject>| subject.as_ref().map(|subject| subject.name.clone()).unwrap_or_default();
    let numbers: Vec<Option<f64>> = subjects.iter().map(|subject| subject.as_ref()?.number).collect();
    let judged: Vec<Judged> = all.iter().map(|moved| moved.verdict.judged).collect();
    Effect {
        claim: claim.id.clone(),
        text: claim.text.clone(),
        base,
        of: subjects.iter().map(name).collect(),
        unit: subjects.iter().flatten().next().map(|subject| subject.unit.clone()).unwrap_or_default(),
        range: ends(numbers.iter().copied().flatten()),
        changes: judged.iter().any(|other| *other != judged[base]),
        unclear: all.iter().map(|moved| moved.verdict.unclear).collect(),
        numbers,
        judged,
    }
}

/// Which number of a prediction moves most.
fn mover(all: &[Moved], base: usize) -> Option<usize> {
    let distance = |index: usize| {
        let numbers = all.iter().filter_map(|moved| moved.subjects.get(index)?.number);
        ends(numbers).map_or(-1.0, |(least, most)| most - least)
    };
    // The first of several: `max_by` takes the last.
    (0..all[base].subjects.len()).rev().max_by(|a, b| distance(*a).total_cmp(&distance(*b)))
}

fn ends(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |ends: Option<(f64, f64)>, number| {
        let (least, most) = ends.unwrap_or((number, number));
        Some((least.min(number), most.max(number)))
    })
}
