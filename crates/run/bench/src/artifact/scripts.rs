//! The scripts of an artifact.

use super::{Level, Wish, each, plan_texts};
use guestright_experiment::Evaluation;
use std::collections::{BTreeMap, BTreeSet};

const RUN: &str = include_str!("run.sh");
const FIGURE: &str = include_str!("figure.sh");
const VERIFY: &str = include_str!("verify.py");

/// Plans and scripts, by the names of their files.
pub(super) fn all(levels: &[Level], wish: &Wish) -> BTreeMap<String, String> {
    let plans: BTreeSet<&str> = each(levels).map(|(_, one)| one.record.plan.name.as_str()).collect();
    let plans: Vec<&str> = plans.into_iter().collect();
    let options = wish.seeds.map(|seeds| format!("--seeds {seeds}")).unwrap_or_default();
    let run = RUN.replace("@PLANS@", &plans.join(" ")).replace("@FULL_OPTIONS@", &options);
    let mut files = plan_texts(levels);
    files.insert("run.sh".to_owned(), run);
    files.insert("figure.sh".to_owned(), FIGURE.to_owned());
    files.insert("verify.py".to_owned(), VERIFY.to_owned());
    for (_, one) in each(levels) {
        for (id, title) in figures(&one.evaluation) {
            let plan = &one.evaluation.name;
            files.insert(script(plan, id), figure_script(plan, id, title));
        }
    }
    files
}

/// The figures and maps of a plan, with their titles. Ids and names of plans have no other signs than `-_.a-zA-Z0-9`.
pub(super) fn figures(evaluation: &Evaluation) -> impl Iterator<Item = (&str, &str)> {
    let figures = evaluation.figures.iter().map(|one| (one.id.as_str(), one.title.as_str()));
    figures.chain(evaluation.maps.iter().map(|one| (one.id.as_str(), one.title.as_str())))
}

/// The name of the script of a figure.
pub(super) fn script(plan: &str, id: &str) -> String {
    format!("figures/{plan}--{id}.sh")
}

fn figure_script(plan: &str, id: &str, title: &str) -> String {
    let title: String = title.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    format!(
        "#!/bin/sh\n# {title}\n# Figure {id} of {plan}: figures/{plan}--{id}.sh [quick|full]\nexec \"$(dirname \"$0\")/../figure.sh\" {plan} {id} \"$@\"\n"
    )
}
