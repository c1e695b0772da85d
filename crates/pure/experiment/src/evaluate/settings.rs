//! Where every setting has its value from.

use super::FitText;
use crate::plan::{Case, Fit, Plan};
use crate::settings::SettingInfo;
use crate::value::Value;
use serde::{Deserialize, Serialize};

/// A setting and where its value is from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingLine {
    pub name: String,
    pub unit: String,
    pub about: String,
    /// Who gave it.
    pub standing: Standing,
    /// Its value; for each case with its title if they differ; the values of an axis.
    pub value: String,
    /// Its value in each case, in their order, if they differ.
    pub by_case: Vec<String>,
    pub fitted: bool,
}

/// Who gave a setting its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It is varied.
    Swept,
    /// The plan sets it, differently for some cases.
    Case,
    /// The plan sets it.
    Set,
    /// Nobody: the testbed's default.
    Default,
}

pub(super) fn lines(plan: &Plan) -> Vec<SettingLine> {
    let mut lines: Vec<SettingLine> = plan.testbed.settings().iter().map(|info| line(plan, info)).collect();
    lines.sort_by_key(|line| match line.standing {
        Standing::Swept => 0,
        Standing::Case => 1,
        Standing::Set => 2,
        Standing::Default => 3,
    });
    lines
}

fn line(plan: &Plan, info: &SettingInfo) -> SettingLine {
    let (standing, value, by_case) = standing(plan, info, &plan.grid.cases.iter().collect::<Vec<_>>());
    SettingLine {
        by_case,
        name: info.name.to_owned(),
        unit: info.unit.to_owned(),
        about: info.about.to_owned(),
        standing,
        value,
        fitted: plan.fits.iter().any(|fit| fit.settings.iter().any(|name| name == info.name)),
    }
}

/// Where a setting has its value from in some cases, and which.
fn standing(plan: &Plan, info: &SettingInfo, cases: &[&Case]) -> (Standing, String, Vec<String>) {
    if let Some(axis) = plan.axes.iter().position(|axis| axis.info.name == info.name) {
        let all: Vec<_> = cases.iter().map(|case| (case.title.as_str(), list(&case.values[axis]))).collect();
        let (value, by_case) = joined(&all);
        return (Standing::Swept, value, by_case);
    }
    if cases.iter().all(|case| case.settings.get(info.name).is_none()) {
        return (Standing::Default, info.default().to_string(), Vec::new());
    }
    let value =
        |case: &&Case| case.settings.get(info.name).map_or_else(|| info.default(), Clone::clone).to_string();
    let all: Vec<_> = cases.iter().map(|case| (case.title.as_str(), value(case))).collect();
    let (text, by_case) = joined(&all);
    (if by_case.is_empty() { Standing::Set } else { Standing::Case }, text, by_case)
}

/// One value if all cases have the same, or each case's; and these one by one if they differ.
fn joined(cases: &[(&str, String)]) -> (String, Vec<String>) {
    let same = cases.windows(2).all(|two| two[0].1 == two[1].1);
    if let (true, Some((_, value))) = (same, cases.first()) {
        return (value.clone(), Vec::new());
    }
    let each: Vec<String> = cases.iter().map(|(title, value)| format!("{title}: {value}")).collect();
    (each.join("; "), cases.iter().map(|(_, value)| value.clone()).collect())
}

/// `1, 2, 3`, or `1 … 30 (30 values)` if there are many.
fn list(values: &[Value]) -> String {
    if let ([first, .., last], true) = (values, values.len() > 12) {
        return format!("{first} … {last} ({} values)", values.len());
    }
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Settings with their values, in words: of these cases, or of all.
pub(super) fn values(plan: &Plan, names: &[String], of: Option<&[usize]>) -> Vec<(String, String)> {
    let all = || plan.grid.cases.iter().collect();
    let cases: Vec<&Case> =
        of.map_or_else(all, |of| of.iter().filter_map(|case| plan.grid.cases.get(*case)).collect());
    let info = |name: &String| plan.testbed.settings().iter().find(|info| info.name == name);
    let value = |name: &String| {
        let value = info(name).map(|info| standing(plan, info, &cases).1).unwrap_or_default();
        let unit = info(name).map_or("", |info| info.unit);
        (name.clone(), format!("{value} {unit}").trim().to_owned())
    };
    names.iter().map(value).collect()
}

pub(super) fn fit(plan: &Plan, fit: &Fit) -> FitText {
    FitText { settings: values(plan, &fit.settings, None), how: fit.how.clone(), on: fit.on.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_its_ends_and_its_length() {
        let numbers = |count: i64| (1..=count).map(Value::from).collect::<Vec<_>>();
        assert_eq!(list(&numbers(0)), "");
        assert_eq!(list(&numbers(1)), "1");
        assert_eq!(list(&numbers(12)), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12");
        assert_eq!(list(&numbers(13)), "1 … 13 (13 values)");
    }

    #[test]
    fn cases_are_told_apart_only_if_they_differ() {
        let of = |cases: &[(&str, &str)]| {
            let cases: Vec<_> = cases.iter().map(|(title, value)| (*title, (*value).to_owned())).collect();
            joined(&cases)
        };
        let none: Vec<String> = Vec::new();
        assert_eq!(of(&[]), (String::new(), none.clone()));
        assert_eq!(of(&[("a", "1")]), ("1".to_owned(), none.clone()));
        assert_eq!(of(&[("a", "1"), ("b", "1")]), ("1".to_owned(), none));
        let differ = of(&[("a", "1"), ("b", "1"), ("c", "2")]);
        assert_eq!(differ, ("a: 1; b: 1; c: 2".to_owned(), ["1", "1", "2"].map(str::to_owned).to_vec()));
    }
}
