//! From rows to numbers, pictures, tables and verdicts.

mod assumption;
mod claims;
mod figure;
mod judge;
mod map;
mod moved;
mod sample;
mod settings;
mod table;
mod tally;

use crate::plan::{Coordinates, Piece, Plan, Platform, Quantity};
use crate::results::{Results, ResultsError};
use crate::statistics::Estimate;
use crate::value::Value;
use guestright_figure::short;
use sample::Curves;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use assumption::{AssumptionNumbers, Effect};
pub use claims::{ClaimError, ClaimInfo, Scored, claim_infos, judge_claims, runs_of_claims};
pub use figure::{FigureNumbers, FigurePoint, FigureSeries, PublishedSeries};
pub use judge::{Judged, Part, Verdict};
pub use map::{Held, MapCell, MapNumbers, MapPanel, WhereHeld};
pub use settings::{SettingLine, Standing};
pub use table::{Cell, TableNumbers};
pub use tally::Tally;

/// Everything that the rows of a plan say. A report is made from it alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The plan's name.
    pub name: String,
    pub title: String,
    /// What is asked.
    pub question: String,
    /// Where the published figures are from.
    pub source: String,
    /// The paper whose figures are tried; nothing for a question of our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<PaperText>,
    pub testbed: String,
    /// What the testbed is.
    pub about: String,
    /// Where it ran.
    pub platform: Platform,
    /// Whether it was the quick version.
    pub quick: bool,
    /// How often each point was run.
    pub seeds: u32,
    /// What its runs depend on.
    pub digest: String,
    /// What the chance of its runs depends on: evaluations with the same have the same seeds.
    pub chance: String,
    /// How many runs the plan has.
    pub runs: usize,
    /// How many of them have no row.
    pub missing: usize,
    /// How many packets were simulated.
    pub packets: u64,
    /// How many events were handled.
    pub events: u64,
    pub cases: Vec<CaseText>,
    pub settings: Vec<SettingLine>,
    /// The numbers made from curves.
    pub measures: Vec<MeasureNumbers>,
    pub figures: Vec<FigureNumbers>,
    pub tables: Vec<TableNumbers>,
    /// A verdict for each claim.
    pub claims: Vec<Verdict>,
    /// Numbers and claims over two axes.
    #[serde(default)]
    pub maps: Vec<MapNumbers>,
    /// What was assumed, and how much each claim moves when it is varied.
    #[serde(default)]
    pub assumptions: Vec<AssumptionNumbers>,
    /// What was fitted, and how.
    pub fits: Vec<FitText>,
    /// What is said in words.
    pub notes: Vec<NoteText>,
}

/// A paper as a heading names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperText {
    /// Its short name: `Paper B`.
    pub name: String,
    pub title: String,
    /// Empty if they are not known.
    pub authors: String,
    /// Where and when; empty if that is not known.
    pub published: String,
}

/// A case in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseText {
    pub name: String,
    pub title: String,
    pub about: String,
}

/// A measure with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureNumbers {
    pub id: String,
    pub title: String,
    pub unit: String,
    pub about: String,
    /// One for each place where it has one.
    pub numbers: Vec<PlacedNumber>,
}

/// A number and where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacedNumber {
    pub case: String,
    /// The values of the axes that it has.
    pub at: BTreeMap<String, Value>,
    /// What the seeds say.
    pub estimate: Estimate,
}

/// Settings that were chosen so that claims come out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitText {
    /// Their names with their values.
    pub settings: Vec<(String, String)>,
    /// How they were chosen.
    pub how: String,
    /// The ids of the claims that were used.
    pub on: Vec<String>,
}

/// Something that is said, with its numbers filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteText {
    pub title: String,
    /// Paragraphs, with an empty line between them.
    pub text: String,
}

impl Evaluation {
    /// How many claims have this verdict.
    pub fn count(&self, judged: Judged) -> usize {
        self.claims.iter().filter(|claim| claim.judged == judged).count()
    }

    /// As JSON; every number has the digits that it needs to be read as the same one.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("names are texts and numbers are finite")
    }

    /// Reads [`Evaluation::json`] again.
    ///
    /// # Errors
    ///
    /// When it is not that; the words say where.
    pub fn from_json(text: &str) -> Result<Self, ResultsError> {
        serde_json::from_str(text).map_err(|error| ResultsError::Json(error.to_string()))
    }

    /// Whether every verdict could be computed and no run is missing.
    pub fn is_complete(&self) -> bool {
        self.missing == 0 && self.count(Judged::CannotBeComputed) == 0
    }
}

/// Makes of a plan's rows everything that the plan asks for.
pub fn evaluate(plan: &Plan, results: &Results, platform: Platform) -> Evaluation {
    let curves = Curves::new(plan, results);
    let case = |case: &crate::plan::Case| CaseText {
        name: case.name.clone(),
        title: case.title.clone(),
        about: case.about.clone(),
    };
    Evaluation {
        name: plan.name.clone(),
        title: plan.title.clone(),
        question: plan.question.clone(),
        source: plan.source.clone(),
        paper: plan.paper.as_ref().map(paper),
        testbed: plan.testbed.name().to_owned(),
        about: plan.testbed.describe().to_owned(),
        platform,
        quick: plan.is_quick,
        seeds: plan.grid.seeds,
        digest: plan.digest(),
        chance: format!("{} {}", plan.name, plan.chance),
        runs: plan.run_count(),
        missing: results.missing(),
        packets: results.packets(),
        events: results.events(),
        cases: plan.grid.cases.iter().map(case).collect(),
        settings: settings::lines(plan),
        measures: (0..plan.measures.len()).map(|index| measure(&curves, index)).collect(),
        figures: plan.figures.iter().map(|figure| figure::numbers(&curves, figure)).collect(),
        tables: plan.tables.iter().map(|table| table::numbers(&curves, table)).collect(),
        claims: plan.claims.iter().map(|claim| judge::judge(&curves, claim)).collect(),
        maps: plan.maps.iter().map(|map| map::numbers(&curves, map)).collect(),
        assumptions: plan.assumptions.iter().map(|one| assumption::numbers(&curves, one)).collect(),
        fits: plan.fits.iter().map(|fit| settings::fit(plan, fit)).collect(),
        notes: plan.notes.iter().map(|note| fill_in(&curves, note)).collect(),
    }
}

fn paper(paper: &crate::plan::Paper) -> PaperText {
    PaperText {
        name: paper.name.clone(),
        title: paper.title.clone(),
        authors: paper.authors.clone(),
        published: paper.published.clone(),
    }
}

fn measure(curves: &Curves<'_>, index: usize) -> MeasureNumbers {
    let plan = curves.plan;
    let measure = &plan.measures[index];
    let mut numbers = Vec::new();
    for case in &measure.cases {
        for at in curves.combinations(*case, &measure.dimensions, &vec![None; plan.axes.len()]) {
            let estimate = curves.estimate(Quantity::Measure(index), *case, &at);
            numbers.push(PlacedNumber {
                case: plan.grid.cases[*case].name.clone(),
                at: named(plan, &at),
                estimate,
            });
        }
    }
    MeasureNumbers {
        id: measure.id.clone(),
        title: measure.title.clone(),
        unit: measure.unit.clone(),
        about: measure.about.clone(),
        numbers,
    }
}

/// The axes that are fixed, with their values.
fn named(plan: &Plan, at: &Coordinates) -> BTreeMap<String, Value> {
    let fixed = plan.axes.iter().zip(at);
    fixed.filter_map(|(axis, value)| Some((axis.info.name.to_owned(), value.clone()?))).collect()
}

fn fill_in(curves: &Curves<'_>, note: &crate::plan::Note) -> NoteText {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Number { of, case, at } => {
            let estimate = curves.estimate(*of, *case, at);
            let (number, bound) = if curves.is_axis_position(*of) {
                (estimate.curve, estimate.curve_bound)
            } else {
                (estimate.mean, estimate.bound)
            };
            let bound = bound.map(|bound| format!("{} ", bound.words())).unwrap_or_default();
            number.map_or_else(|| "(not computed)".to_owned(), |number| format!("{bound}{}", short(number)))
        }
    };
    NoteText { title: note.title.clone(), text: note.pieces.iter().map(piece).collect() }
}
