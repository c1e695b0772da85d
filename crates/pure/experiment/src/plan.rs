//! What an experiment is, and how its text becomes one.

mod assumption;
pub(crate) mod attachment;
mod claim;
mod error;
mod figure;
mod grid;
mod map;
mod measure;
mod note;
mod paper;
mod read;
mod runs;
mod scope;
mod table;

pub use attachment::{files_wanted, with_files};
pub use error::{Mistake, PlanError, Problem};
pub use runs::{Run, RunKey};

pub(crate) use assumption::{Assumption, Varied};
pub(crate) use claim::{Along, Band, By, Claim, End, Order, Term, Test};
pub(crate) use figure::{Figure, Shown};
pub(crate) use grid::{Axis, Case, Grid};
pub(crate) use map::{Map, Mapped};
pub(crate) use measure::{Condition, Curve, Measure, MeasureKind, Pick, Relation};
pub(crate) use note::{Fit, Note, Piece};
pub(crate) use paper::Paper;
pub(crate) use scope::{Coordinates, Quantity};
pub(crate) use table::{Column, Dimension, Show, TableLayout, What};

use crate::settings::Settings;
use crate::testbed::{MetricInfo, Testbed};
use read::{Reader, Table};
use scope::Scope;
use serde::{Deserialize, Serialize};
use toml::de::DeTable;

/// Where a plan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// In virtual time.
    Sim,
    /// In network namespaces of one computer.
    Netns,
    /// On a network.
    Real,
}

impl Platform {
    /// Its name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Netns => "netns",
            Self::Real => "real",
        }
    }
}

/// An experiment: what is run, what is made of it, and what it is compared with.
///
/// A plan that could be read is sensible: every name in it exists, every setting is allowed at every point, and every
/// number that a claim asks for is at a point of the sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) question: String,
    pub(crate) source: String,
    pub(crate) paper: Option<Paper>,
    pub(crate) testbed: &'static dyn Testbed,
    pub(crate) on: Vec<Platform>,
    pub(crate) chance: u64,
    /// What lies over everything else; see [`Plan::with_settings`].
    pub(crate) over: Settings,
    pub(crate) axes: Vec<Axis>,
    pub(crate) grid: Grid,
    pub(crate) quick_grid: Grid,
    pub(crate) is_quick: bool,
    pub(crate) measures: Vec<Measure>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) tables: Vec<TableLayout>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) maps: Vec<Map>,
    pub(crate) assumptions: Vec<Assumption>,
    pub(crate) fits: Vec<Fit>,
    pub(crate) notes: Vec<Note>,
}

impl Plan {
    /// The most bytes of a plan.
    pub const TEXT_MAX: usize = Self::OWN_TEXT_MAX + (4 << 20);
    /// The most bytes of a plan without its files.
    pub const OWN_TEXT_MAX: usize = 1 << 18;
    /// The most files that go with a plan.
    pub const FILES_MAX: usize = 16;
    /// The most bytes of all of them together.
    pub const FILES_BYTES_MAX: usize = 3 << 20;
    /// The most runs of a plan.
    pub const RUNS_MAX: usize = 200_000;
    /// The most runs of every point.
    pub const SEEDS_MAX: u32 = 1_000;
    /// The most axes of a sweep.
    pub const AXES_MAX: usize = 6;
    /// The most values of an axis.
    pub const VALUES_MAX: usize = 1_000;
    /// The most cases.
    pub const CASES_MAX: usize = 100;

    /// Reads a plan and checks it against its testbed, point by point.
    ///
    /// # Errors
    ///
    /// Every mistake that was found, with its line and column.
    pub fn parse(text: &str, testbeds: &[&'static dyn Testbed]) -> Result<Self, PlanError> {
        let reader = Reader::new(text);
        let plan = Self::read(text, testbeds, &reader);
        reader.finish()?;
        // Whatever makes `read` give up has been told to the reader.
        plan.ok_or_else(|| PlanError { mistakes: Vec::new() })
    }

    fn read(text: &str, testbeds: &[&'static dyn Testbed], reader: &Reader<'_>) -> Option<Self> {
        if text.len() > Self::TEXT_MAX {
            let problem = Problem::TooMany { what: "bytes", got: text.len(), max: Self::TEXT_MAX };
            reader.mistake(0, problem);
            return None;
        }
        let tree = match DeTable::parse(text) {
            Ok(tree) => tree,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                let message = error.message().lines().collect::<Vec<_>>().join("; ")
                    + &quotes(text, at, error.message());
                reader.mistake(at, Problem::Syntax { message });
                return None;
            }
        };
        let got = text.len().saturating_sub(attachment::written_bytes(tree.get_ref()));
        if got > Self::OWN_TEXT_MAX {
            let what = "bytes without the texts of files";
            reader.mistake(0, Problem::TooMany { what, got, max: Self::OWN_TEXT_MAX });
            return None;
        }
        let mut head = Table::new(reader, tree.get_ref(), 0, "the plan");
        let plan = Self::read_head(&mut head, testbeds);
        head.close();
        plan
    }

    fn read_head(head: &mut Table<'_>, testbeds: &[&'static dyn Testbed]) -> Option<Self> {
        let name = head.want_name("name");
        let title = head.want_text("title", 200);
        let question = head.want_text("question", 4_000);
        let source = head.text("source", 1_000);
        let paper = paper::read(head);
        let chance = head.whole("chance", (0, i64::from(u32::MAX)));
        let on = read_on(head);
        let testbed = head.want_text("testbed", 100);
        let found = testbed.and_then(|name| {
            head.reader.find("testbed", &name, testbeds.iter().map(|testbed| testbed.name()))
        });
        let Some(testbed) = found.map(|index| testbeds[index]) else {
            // Nothing else can be checked; that it is there is all that is asked.
            for key in ["seeds", "settings", "sweep", "case", "quick", "measure", "figure", "table", "claim"]
            {
                head.node(key);
            }
            for key in ["base", "file", "map", "assumption", "fit", "note"] {
                head.node(key);
            }
            return None;
        };
        let files = attachment::read(head);
        let grids = grid::read(head, testbed, &files);
        let Some(grids) = grids else {
            for key in ["base", "measure", "figure", "table", "claim", "map", "assumption", "fit", "note"] {
                head.node(key);
            }
            return None;
        };
        let mut scope = Scope::new(testbed, &grids, head.reader);
        measure::read(head, &mut scope);
        scope.base = scope.read_base(head);
        let figures = figure::read(head, &scope);
        let tables = table::read(head, &scope);
        let mut claims = claim::read(head, &scope);
        let maps = map::read(head, &scope, &claims, &figures);
        let assumptions = assumption::read(head, &scope, &claims);
        let fits = note::read_fits(head, &scope, &mut claims);
        let notes = note::read_notes(head, &scope);
        let measures = scope.measures;
        let grid::Grids { axes, full, quick } = grids;
        Some(Self {
            name: name?.value,
            title: title?.value,
            question: question?.value.trim().to_owned(),
            source: source.map(|source| source.value).unwrap_or_default(),
            paper,
            testbed,
            on,
            chance: chance.map_or(0, |chance| chance.value.unsigned_abs()),
            over: Settings::new(),
            axes,
            grid: full,
            quick_grid: quick,
            is_quick: false,
            measures,
            figures,
            tables,
            claims,
            maps,
            assumptions,
            fits,
            notes,
        })
    }

    /// The same plan with what `[quick]` says.
    #[must_use]
    pub fn quick(&self) -> Self {
        Self { is_quick: true, grid: self.quick_grid.clone(), ..self.clone() }
    }

    /// The same plan with another number of runs of every point, from 1 to [`Plan::SEEDS_MAX`]; nothing if it would have
    /// more runs than [`Plan::RUNS_MAX`].
    #[must_use]
    pub fn with_seeds(&self, seeds: u32) -> Option<Self> {
        let mut plan = self.clone();
        for grid in [&mut plan.grid, &mut plan.quick_grid] {
            grid.seeds = seeds.clamp(1, Self::SEEDS_MAX);
        }
        (plan.run_count() <= Self::RUNS_MAX).then_some(plan)
    }

    /// Whether this is the quick one.
    pub const fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// Its name, fit to be a file's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A line about it.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What is asked.
    pub fn question(&self) -> &str {
        &self.question
    }

    /// Where the published figures are from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What makes its runs.
    pub const fn testbed(&self) -> &'static dyn Testbed {
        self.testbed
    }

    /// Where it runs.
    pub fn on(&self) -> &[Platform] {
        &self.on
    }

    /// How often each point is run.
    pub const fn seeds(&self) -> u32 {
        self.grid.seeds
    }

    /// What is measured, in the order of the columns of its rows.
    pub fn metrics(&self) -> &'static [MetricInfo] {
        self.testbed.metrics()
    }

    /// The names of what is varied, in the order of the columns of its rows.
    pub fn axes(&self) -> impl Iterator<Item = &'static str> {
        self.axes.iter().map(|axis| axis.info.name)
    }

    /// The names of its cases.
    pub fn cases(&self) -> impl Iterator<Item = &str> {
        self.grid.cases.iter().map(|case| case.name.as_str())
    }

    /// The number of its claims.
    pub fn claims(&self) -> usize {
        self.claims.len()
    }

    /// The ids and titles of its maps.
    pub fn maps(&self) -> impl Iterator<Item = (&str, &str)> {
        self.maps.iter().map(|map| (map.id.as_str(), map.title.as_str()))
    }

    /// The ids and titles of its figures.
    pub fn figures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.figures.iter().map(|figure| (figure.id.as_str(), figure.title.as_str()))
    }
}

fn read_on(head: &mut Table<'_>) -> Vec<Platform> {
    let all = [Platform::Sim, Platform::Netns, Platform::Real];
    let names = head.names("on", all.len()).unwrap_or_default();
    let find =
        |name| head.reader.find("platform", &name, all.iter().map(|on| on.name())).map(|index| all[index]);
    let mut on: Vec<Platform> = names.into_iter().filter_map(find).collect();
    on.sort();
    on.dedup();
    if on.is_empty() { vec![Platform::Sim] } else { on }
}

/// What to write where a name is the beginning of another one, which TOML takes for a table within a value.
fn quotes(text: &str, at: usize, message: &str) -> String {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || "_-.".contains(*c);
    let name: String = text.get(at..).unwrap_or_default().chars().take_while(is_part).collect();
    let longer = format!("{name}.");
    let other = || text.find(&longer).map(|at| text[at..].chars().take_while(is_part).collect::<String>());
    let dotted = if message.contains("with a dotted key") {
        Some(name.clone()).filter(|name| name.contains('.')).or_else(other)
    } else if message.contains("duplicate key") && !name.is_empty() {
        other()
    } else {
        None
    };
    dotted.map_or_else(String::new, |name| {
        format!("; `{name}` begins with the name of another setting and has to be in quotes: \"{name}\" = …")
    })
}
