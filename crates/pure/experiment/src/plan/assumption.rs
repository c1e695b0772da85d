//! What was assumed about something that the source does not give, and how it is varied.

use super::claim::Claim;
use super::read::{At, Table};
use super::scope::Scope;

const ASSUMPTIONS_MAX: usize = 60;
const TEXT_MAX: usize = 1_000;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assumption {
    pub(crate) text: String,
    pub(crate) why: String,
    pub(crate) settings: Vec<String>,
    pub(crate) varied: Varied,
    /// The claims that are judged again, by their places; all that can be, if nothing is said.
    pub(crate) claims: Option<Vec<usize>>,
}

/// What takes the place of what was assumed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Varied {
    /// Nothing: it is only said.
    Not,
    /// The other values of an axis.
    Axis(usize),
    /// Other cases than the first.
    Cases(Vec<usize>),
}

pub(super) fn read(head: &mut Table<'_>, scope: &Scope<'_>, claims: &[Claim]) -> Vec<Assumption> {
    let mut assumptions = Vec::new();
    for mut table in head.tables("assumption", ("assumptions", ASSUMPTIONS_MAX)) {
        assumptions.extend(read_one(&mut table, scope, claims));
        table.close();
    }
    assumptions
}

fn read_one(table: &mut Table<'_>, scope: &Scope<'_>, claims: &[Claim]) -> Option<Assumption> {
    let text = table.want_text("text", TEXT_MAX);
    let why = table.want_text("why", TEXT_MAX);
    let settings = table.names("settings", 60).unwrap_or_default();
    for name in &settings {
        scope.reader.find("setting", name, scope.testbed.settings().iter().map(|info| info.name));
    }
    let before = scope.reader.count();
    let varied = read_varied(table, scope);
    let named = table.names("claims", 300);
    let find =
        |name: &At<String>| scope.reader.find("claim", name, claims.iter().map(|claim| claim.id.as_str()));
    let named: Option<Vec<(usize, usize)>> =
        named.map(|names| names.iter().filter_map(|name| Some((find(name)?, name.at))).collect());
    let varied = varied?;
    for (index, at) in named.iter().flatten() {
        if let Err(reason) = can_vary(&claims[*index], &varied, scope) {
            scope.reader.unfit(*at, reason);
        }
    }
    if before < scope.reader.count() {
        return None;
    }
    if varied != Varied::Not
        && named.is_none()
        && !claims.is_empty()
        && claims.iter().all(|claim| can_vary(claim, &varied, scope).is_err())
    {
        scope.reader.unfit(table.at, "it changes nothing that any claim is about");
        return None;
    }
    Some(Assumption {
        text: text?.value,
        why: why?.value,
        settings: settings.into_iter().map(|name| name.value).collect(),
        varied,
        claims: named.map(|claims| claims.into_iter().map(|(index, _)| index).collect()),
    })
}

/// An axis, or a list of cases whose first is the assumed one.
fn read_varied(table: &mut Table<'_>, scope: &Scope<'_>) -> Option<Varied> {
    let Some(node) = table.node("varied") else { return Some(Varied::Not) };
    let names = table.names("varied", super::Plan::CASES_MAX)?;
    if let toml::de::DeValue::String(_) = node.get_ref() {
        let axis = scope.axis(names.first()?)?;
        if let Some(sweep) = scope.absent(|grid| grid.cases.iter().any(|case| case.values[axis].len() > 1)) {
            scope
                .reader
                .unfit(node.span().start, format!("{sweep} has only one value of it; give it others"));
            return None;
        }
        return Some(Varied::Axis(axis));
    }
    let cases: Option<Vec<usize>> = names.iter().map(|name| scope.case(name)).collect();
    let cases = cases?;
    let twice = cases.iter().enumerate().find(|(index, case)| cases[..*index].contains(case));
    if let Some((index, _)) = twice {
        scope.reader.unfit(names[index].at, format!("the case `{}` is named twice", names[index].value));
        return None;
    }
    if cases.len() < 2 {
        scope.reader.unfit(
            node.span().start,
            "`varied` is an axis, or a list of cases: the assumed one, then others",
        );
        return None;
    }
    Some(Varied::Cases(cases))
}

/// Whether a claim can be judged again with this varied, or why not.
pub(super) fn can_vary(claim: &Claim, varied: &Varied, scope: &Scope<'_>) -> Result<(), String> {
    match varied {
        Varied::Not => Err("the assumption is not varied; say how with `varied`".to_owned()),
        Varied::Axis(axis) => claim.can_move(*axis, scope),
        Varied::Cases(cases) => {
            let is_base = |case: usize| cases.first() == Some(&case);
            if !claim.terms.iter().all(|term| is_base(term.case)) {
                let base = cases.first().map_or("", |case| scope.cases()[*case].name.as_str());
                return Err(format!("the claim `{}` is not about the case `{base}`", claim.id));
            }
            Ok(())
        }
    }
}
