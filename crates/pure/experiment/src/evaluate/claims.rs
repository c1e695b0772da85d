//! Some claims of a plan alone: which runs they need, and how far each is from holding.

use super::judge::Verdict;
use super::moved::judge_moved;
use super::sample::Curves;
use crate::near::nearest;
use crate::plan::{Claim, Plan, Test};
use crate::results::Results;
use std::collections::BTreeSet;
use thiserror::Error;

/// A claim as the plan has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimInfo {
    pub id: String,
    /// What the paper says.
    pub text: String,
    pub source: String,
    /// Whether nothing is published to judge by.
    pub is_prediction: bool,
    /// Whether it was used to choose a setting.
    pub is_fitted: bool,
}

/// A verdict, and how far the claim is from holding.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    pub verdict: Verdict,
    /// The share of the claim's numbers (of an order: of its steps) that are outside of what is wanted, or not known: 0
    /// where it reproduces, above 0 and at most 1 where it does not.
    pub outside: f64,
}

/// Why claims cannot be judged with what was asked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClaimError {
    #[error("the plan {plan} has no claim `{id}`{}", meant.as_ref().map_or_else(String::new, |id| format!("; did you mean `{id}`?")))]
    Unknown { plan: String, id: String, meant: Option<String> },
    #[error(
        "the claim `{id}` of {plan} compares several values of `{setting}`, which cannot be given another value then; leave \
         out the claim or the setting"
    )]
    Compared { plan: String, id: String, setting: String },
}

/// The claims of a plan, in its order.
pub fn claim_infos(plan: &Plan) -> Vec<ClaimInfo> {
    let info = |claim: &Claim| ClaimInfo {
        id: claim.id.clone(),
        text: claim.text.clone(),
        source: claim.source.clone(),
        is_prediction: claim.test == Test::Prediction,
        is_fitted: claim.fitted,
    };
    plan.claims.iter().map(info).collect()
}

/// The runs that claims need, by their indices among the plan's runs: no other row changes their verdicts.
///
/// # Errors
///
/// There is no such claim, or one compares several values of an axis that [`Plan::with_settings`] gave another value.
pub fn runs_of_claims(plan: &Plan, ids: &[String]) -> Result<Vec<usize>, ClaimError> {
    let nothing = Results::new(plan);
    let curves = Curves::new(plan, &nothing).noting();
    let over: Vec<usize> =
        (0..plan.axes.len()).filter(|axis| plan.over.get(plan.axes[*axis].info.name).is_some()).collect();
    // Only where an axis is overridden the points are looked at.
    let runs = if over.is_empty() { Vec::new() } else { plan.runs() };
    let mut all = BTreeSet::new();
    for id in ids {
        judge_moved(&curves, find(plan, id)?, &[]);
        let asked = curves.take_asked();
        for axis in &over {
            let mut values = asked.iter().map(|run| &runs[*run].point[*axis]);
            let first = values.next();
            if values.any(|value| Some(value) != first) {
                return Err(ClaimError::Compared {
                    plan: plan.name.clone(),
                    id: id.clone(),
                    setting: plan.axes[*axis].info.name.to_owned(),
                });
            }
        }
        all.extend(asked);
    }
    Ok(all.into_iter().collect())
}

/// A verdict for each of these claims, in their order; the rows of [`runs_of_claims`] are enough.
///
/// # Errors
///
/// There is no such claim.
pub fn judge_claims(plan: &Plan, results: &Results, ids: &[String]) -> Result<Vec<Scored>, ClaimError> {
    let curves = Curves::new(plan, results);
    let judge = |id: &String| {
        let moved = judge_moved(&curves, find(plan, id)?, &[]);
        Ok(Scored { outside: moved.share_outside(), verdict: moved.verdict })
    };
    ids.iter().map(judge).collect()
}

fn find<'p>(plan: &'p Plan, id: &str) -> Result<&'p Claim, ClaimError> {
    plan.claims.iter().find(|claim| claim.id == id).ok_or_else(|| ClaimError::Unknown {
        plan: plan.name.clone(),
        id: id.to_owned(),
        meant: nearest(id, plan.claims.iter().map(|claim| claim.id.as_str())).map(str::to_owned),
    })
}
