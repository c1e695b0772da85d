//! What is run: settings, the sweep, cases; in full and quickly.

use super::Plan;
use super::attachment::Files;
use super::error::Problem;
use super::read::{At, Reader, Table};
use crate::settings::{SettingError, SettingInfo, Settings};
use crate::testbed::Testbed;
use crate::value::Value;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) info: SettingInfo,
}

/// Everything that is run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) seeds: u32,
    pub(crate) cases: Vec<Case>,
}

/// A combination of settings with a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) about: String,
    /// What is set, for all runs or for this case; neither swept nor left at its default.
    pub(crate) settings: Settings,
    /// For each axis its values.
    pub(crate) values: Vec<Vec<Value>>,
}

impl Case {
    /// How many points it has.
    pub(crate) fn points(&self) -> usize {
        self.values.iter().map(Vec::len).fold(1, usize::saturating_mul)
    }

    /// The values of the axes at a point; the first axis varies slowest.
    pub(crate) fn point(&self, mut index: usize) -> Vec<Value> {
        let mut values = Vec::new();
        for axis in self.values.iter().rev() {
            values.push(axis[index % axis.len()].clone());
            index /= axis.len();
        }
        values.reverse();
        values
    }
}

/// Both grids of a plan.
#[derive(Clone, Debug)]
pub(super) struct Grids {
    pub(super) axes: Vec<Axis>,
    pub(super) full: Grid,
    pub(super) quick: Grid,
}

/// Settings as they are written, with their places.
type Given = BTreeMap<String, At<Value>>;
/// Values of axes as they are written.
type Sweep = Vec<(At<String>, Vec<Value>)>;

struct RawCase {
    name: At<String>,
    title: String,
    about: String,
    settings: Given,
    sweep: Sweep,
}

#[derive(Default)]
struct RawQuick {
    seeds: Option<u32>,
    settings: Given,
    sweep: Sweep,
}

pub(super) fn read(head: &mut Table<'_>, testbed: &'static dyn Testbed, files: &Files) -> Option<Grids> {
    let infos = testbed.settings();
    let seeds = read_seeds(head);
    if seeds.is_none() && head.node("seeds").is_none() {
        head.missing("seeds", format!("how often each point is run, from 1 to {}", Plan::SEEDS_MAX));
    }
    let start = head.reader.count();
    let shared = read_settings(head, infos);
    let before = head.reader.count();
    let sweep = read_sweep(head, infos);
    let sweep_is_well = before == head.reader.count();
    let cases = read_cases(head, infos);
    let quick = read_quick(head, infos);
    if sweep.len() > Plan::AXES_MAX {
        let problem = Problem::TooMany { what: "axes", got: sweep.len(), max: Plan::AXES_MAX };
        head.reader.mistake(sweep[Plan::AXES_MAX].0.at, problem);
    }
    for (part, of) in cases.iter().map(|case| (&case.sweep, "a case")).chain([(&quick.sweep, "[quick]")]) {
        for (name, _) in part {
            let missing = !sweep.iter().any(|(other, _)| other.value == name.value);
            if missing && sweep_is_well {
                let reason =
                    format!("{of} sweeps `{}`, which [sweep] does not have; add it there", name.value);
                head.reader.unfit(name.at, reason);
            }
        }
    }
    refuse_both(&sweep, shared.iter().chain(quick.settings.iter()), head.reader);
    refuse_both(&sweep, cases.iter().flat_map(|case| case.settings.iter()), head.reader);
    // Mistakes further up do not hide those further down.
    if head.reader.count() > start {
        return None;
    }
    let seeds = seeds.unwrap_or(1);
    let axis = |(name, _): &(At<String>, Vec<Value>)| {
        infos.iter().find(|info| info.name == name.value).map(|info| Axis { info: *info })
    };
    let axes: Vec<Axis> = sweep.iter().filter_map(axis).collect();
    let full = Layers { shared: &shared, sweep: &sweep, cases: &cases, quick: None, files };
    let fast = Layers { quick: Some(&quick), ..full };
    let (full_grid, quick_grid) = (full.grid(seeds), fast.grid(quick.seeds.unwrap_or(seeds)));
    let fine = full.check(&full_grid, &axes, testbed, head.reader)
        && fast.check(&quick_grid, &axes, testbed, head.reader);
    fine.then_some(Grids { axes, full: full_grid, quick: quick_grid })
}

fn read_seeds(table: &mut Table<'_>) -> Option<u32> {
    let seeds = table.whole("seeds", (1, i64::from(Plan::SEEDS_MAX)))?;
    u32::try_from(seeds.value).ok()
}

fn refuse_both<'a>(
    sweep: &Sweep,
    settings: impl Iterator<Item = (&'a String, &'a At<Value>)>,
    reader: &Reader<'_>,
) {
    for (name, value) in settings {
        if sweep.iter().any(|(axis, _)| axis.value == *name) {
            reader.unfit(value.at, format!("`{name}` is swept in [sweep]; it cannot be set as well"));
        }
    }
}

/// `settings`, tables in it joined with dots.
fn read_settings(table: &mut Table<'_>, infos: &[SettingInfo]) -> Given {
    let mut given = Given::new();
    if let Some(table) = table.table("settings") {
        let mut leaves = Vec::new();
        flatten(&table, "", &mut leaves);
        for (name, node) in leaves {
            let Some(value) = table.reader.value(&name.value, node) else { continue };
            match accept(&name.value, &value.value, infos) {
                Ok(accepted) => {
                    given.insert(name.value, At { value: accepted, at: name.at });
                }
                // A wrong name is where the name is, a wrong value where the value is.
                Err(error @ SettingError::Unknown { .. }) => {
                    table.reader.mistake(name.at, Problem::Setting(error))
                }
                Err(error) => table.reader.mistake(value.at, Problem::Setting(error)),
            }
        }
    }
    given
}

pub(super) type Leaf<'a> = (At<String>, &'a toml::Spanned<DeValue<'a>>);

pub(super) fn flatten<'a>(table: &Table<'a>, before: &str, leaves: &mut Vec<Leaf<'a>>) {
    for (key, node) in table.entries() {
        let name = format!("{before}{}", key.value);
        let is_range = |table: &toml::de::DeTable<'_>| table.keys().any(|key| key.get_ref() == "from");
        if let DeValue::Table(below) = node.get_ref()
            && !is_range(below)
        {
            flatten(&Table::new(table.reader, below, key.at, ""), &format!("{name}."), leaves);
        } else {
            leaves.push((At { value: name, at: key.at }, node));
        }
    }
}

fn accept(name: &str, value: &Value, infos: &[SettingInfo]) -> Result<Value, SettingError> {
    let Some(info) = infos.iter().find(|info| info.name == name) else {
        let one = Settings::new().with(name, value.clone());
        return one.complete(infos).map(|_| value.clone());
    };
    info.accept(value)
}

fn read_sweep(table: &mut Table<'_>, infos: &[SettingInfo]) -> Sweep {
    let mut sweep = Sweep::new();
    let Some(table) = table.table("sweep") else { return sweep };
    let mut leaves = Vec::new();
    flatten(&table, "", &mut leaves);
    leaves.sort_by_key(|(name, _)| name.at);
    for (name, node) in leaves {
        let Some(values) = read_values(&name.value, node, table.reader) else { continue };
        if values.is_empty() {
            table
                .reader
                .unfit(node.span().start, format!("the sweep of `{}` is empty; give it values", name.value));
            continue;
        }
        let mut accepted: Vec<Value> = Vec::new();
        let mut fine = true;
        for value in values {
            match accept(&name.value, &value.value, infos) {
                Ok(fit) if accepted.contains(&fit) => {
                    table.reader.unfit(value.at, format!("the sweep of `{}` has {fit} twice", name.value));
                    fine = false;
                }
                Ok(fit) => accepted.push(fit),
                Err(error) => {
                    let unknown = matches!(error, SettingError::Unknown { .. });
                    table.reader.mistake(if unknown { name.at } else { value.at }, Problem::Setting(error));
                    fine = false;
                    break;
                }
            }
        }
        if fine {
            sweep.push((name, accepted));
        }
    }
    sweep
}

/// A list, or a range.
fn read_values<'a>(
    name: &str,
    node: &'a toml::Spanned<DeValue<'a>>,
    reader: &'a Reader<'a>,
) -> Option<Vec<At<Value>>> {
    if let DeValue::Table(range) = node.get_ref() {
        let at = node.span().start;
        let mut range = Table::new(reader, range, at, format!("the range of `{name}`"));
        let mut end = |key| range.node(key).map(|node| reader.value(key, node));
        let (from, to, step) = (end("from"), end("to"), end("step"));
        if to.is_none() {
            range.missing("to", "the last value");
        }
        range.close();
        let step = step.map_or(Some(Value::Integer(1)), |step| step.map(|step| step.value));
        let values = range_values(&from??.value, &to??.value, &step?);
        return match values {
            Ok(values) => Some(values.into_iter().map(|value| At { value, at }).collect()),
            Err(reason) => {
                reader.unfit(at, format!("the range of `{name}` {reason}"));
                None
            }
        };
    }
    reader.list(name, node, ("values", Plan::VALUES_MAX), |node| reader.value(name, node))
}

fn range_values(from: &Value, to: &Value, step: &Value) -> Result<Vec<Value>, String> {
    let max = Plan::VALUES_MAX;
    let many = || format!("has more than {max} values; make the step larger");
    if let (Value::Integer(from), Value::Integer(to), Value::Integer(step)) = (from, to, step) {
        if *step <= 0 || from > to {
            return Err(format!("does not go from {from} up to {to} in steps of {step}"));
        }
        let count = usize::try_from((to - from) / step).unwrap_or(usize::MAX).saturating_add(1);
        if count > max {
            return Err(many());
        }
        return Ok((0..count).zip(0_i64..).map(|(_, index)| Value::Integer(from + index * step)).collect());
    }
    let (Some(from), Some(to), Some(step)) = (from.number(), to.number(), step.number()) else {
        return Err("has ends that are not numbers".to_owned());
    };
    if step <= 0.0 || from > to {
        return Err(format!("does not go from {from} up to {to} in steps of {step}"));
    }
    // A billionth of a step for ends that are sums of steps which no double holds exactly.
    let last = ((to - from) / step + 1e-9).floor();
    let count = (0..=max).zip(0_u32..).take_while(|(_, index)| f64::from(*index) <= last);
    let values: Vec<Value> = count
        .map(|(_, index)| {
            let value = from + f64::from(index) * step;
            // 0.1 + 2 * 0.1 is to be 0.3.
            let near = (value * 1e9).round() / 1e9;
            Value::Float(if near.is_finite() { near } else { value })
        })
        .collect();
    if values.len() > max { Err(many()) } else { Ok(values) }
}

fn read_cases(head: &mut Table<'_>, infos: &[SettingInfo]) -> Vec<RawCase> {
    let mut cases: Vec<RawCase> = Vec::new();
    for mut table in head.tables("case", ("cases", Plan::CASES_MAX)) {
        let name = table.want_name("name");
        let title = table.text("title", 200).map(|title| title.value);
        let about = table.text("about", 1_000).map(|about| about.value).unwrap_or_default();
        let settings = read_settings(&mut table, infos);
        let sweep = read_sweep(&mut table, infos);
        table.close();
        let Some(name) = name else { continue };
        if let Some(first) = cases.iter().find(|case| case.name.value == name.value) {
            let line = head.reader.line_column(first.name.at).0;
            head.reader.mistake(name.at, Problem::Twice { what: "case", name: name.value.clone(), line });
        }
        let title = title.unwrap_or_else(|| name.value.clone());
        cases.push(RawCase { name, title, about, settings, sweep });
    }
    if cases.is_empty() {
        let name = At { value: "all".to_owned(), at: 0 };
        let (title, about) = ("ours".to_owned(), String::new());
        cases.push(RawCase { name, title, about, settings: Given::new(), sweep: Sweep::new() });
    }
    cases
}

fn read_quick(head: &mut Table<'_>, infos: &[SettingInfo]) -> RawQuick {
    let Some(mut table) = head.table("quick") else { return RawQuick::default() };
    let seeds = read_seeds(&mut table);
    let settings = read_settings(&mut table, infos);
    let sweep = read_sweep(&mut table, infos);
    table.close();
    RawQuick { seeds, settings, sweep }
}

/// What lies over what: shared settings, a case's, the quick ones.
#[derive(Clone, Copy)]
struct Layers<'a> {
    shared: &'a Given,
    sweep: &'a Sweep,
    cases: &'a [RawCase],
    quick: Option<&'a RawQuick>,
    files: &'a Files,
}

impl Layers<'_> {
    fn grid(&self, seeds: u32) -> Grid {
        Grid { seeds, cases: self.cases.iter().map(|case| self.case(case)).collect() }
    }

    fn case(&self, case: &RawCase) -> Case {
        let quick = self.quick.map(|quick| &quick.settings);
        let layers = [Some(self.shared), Some(&case.settings), quick];
        let all = layers.into_iter().flatten().flatten();
        let settings: Settings = all.map(|(name, value)| (name.clone(), value.value.clone())).collect();
        let values = |(name, values): &(At<String>, Vec<Value>)| {
            let of = |sweep: &Sweep| {
                sweep.iter().find(|(other, _)| other.value == name.value).map(|(_, values)| values.clone())
            };
            let quick = self.quick.and_then(|quick| of(&quick.sweep));
            quick.or_else(|| of(&case.sweep)).unwrap_or_else(|| values.clone())
        };
        Case {
            name: case.name.value.clone(),
            title: case.title.clone(),
            about: case.about.clone(),
            settings: settings.attach(self.files),
            values: self.sweep.iter().map(values).collect(),
        }
    }

    /// Where a setting of a case was given its value. One that has its default does not fit others: then one of its group, as
    /// far as the first dot.
    fn setting_offset(&self, setting: &str, case: usize) -> usize {
        let group = setting.split_once('.').map(|(group, _)| format!("{group}."));
        let related = || {
            let case = &self.cases[case];
            let of = |given: &Given, sweep: &Sweep| {
                let names = given.keys().chain(sweep.iter().map(|(name, _)| &name.value));
                names.cloned().collect::<Vec<_>>()
            };
            let names = of(&case.settings, &case.sweep).into_iter().chain(of(self.shared, self.sweep));
            let group = group?;
            names.filter(|name| name.starts_with(&group)).find_map(|name| self.given_offset(&name, case))
        };
        let case_at = self.cases[case].name.at;
        self.given_offset(setting, &self.cases[case]).or_else(related).unwrap_or(case_at)
    }

    fn given_offset(&self, setting: &str, case: &RawCase) -> Option<usize> {
        let swept =
            |sweep: &Sweep| sweep.iter().find(|(name, _)| name.value == setting).map(|(name, _)| name.at);
        let set = |given: &Given| given.get(setting).map(|value| value.at);
        let quick = self.quick.and_then(|quick| set(&quick.settings).or_else(|| swept(&quick.sweep)));
        let own = || set(&case.settings).or_else(|| swept(&case.sweep));
        let shared = || set(self.shared).or_else(|| swept(self.sweep));
        quick.or_else(own).or_else(shared)
    }

    /// Asks the testbed about every point.
    fn check(&self, grid: &Grid, axes: &[Axis], testbed: &'static dyn Testbed, reader: &Reader<'_>) -> bool {
        let points = grid.cases.iter().map(Case::points).fold(0, usize::saturating_add);
        let runs = points.saturating_mul(usize::try_from(grid.seeds).unwrap_or(usize::MAX));
        if runs > Plan::RUNS_MAX {
            let at = self.sweep.first().map_or(0, |(name, _)| name.at);
            reader.mistake(at, Problem::TooMany { what: "runs", got: runs, max: Plan::RUNS_MAX });
            return false;
        }
        let mut fine = true;
        for (index, case) in grid.cases.iter().enumerate() {
            for point in 0..case.points() {
                let values = case.point(point);
                let Err(error) = completed(case, axes, &values, testbed.settings())
                    .and_then(|settings| testbed.check(&settings))
                else {
                    continue;
                };
                let pairs = axes.iter().zip(&values);
                let parts: Vec<_> =
                    pairs.map(|(axis, value)| format!("{} = {value}", axis.info.name)).collect();
                let at = self.setting_offset(error.setting(), index);
                let (case, point) = (case.name.clone(), parts.join(", "));
                reader.mistake(at, Problem::Point { error, case, point });
                fine = false;
                // One mistake for each case: the others are mostly the same.
                break;
            }
        }
        fine
    }
}

/// All settings of a point.
pub(super) fn completed(
    case: &Case,
    axes: &[Axis],
    values: &[Value],
    infos: &[SettingInfo],
) -> Result<Settings, SettingError> {
    let mut settings = case.settings.clone();
    for (axis, value) in axes.iter().zip(values) {
        settings.set(axis.info.name, value.clone());
    }
    settings.complete(infos)
}
