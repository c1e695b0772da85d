//! Experiments as data: plans, results, verdicts and reports. Pure: no files, no threads, no clock.
//!
//! In goes the text of a plan and the testbeds; out come runs. In go their rows; out come measures with confidence
//! intervals, a verdict for each claim, and a report.
//!
//! ```text
//! let plan = Plan::parse(&text, testbeds)?;             // Or every mistake, with line and column.
//! let plan = if quick { plan.quick() } else { plan };
//! let mut results = Results::new(&plan);                // Or Results::from_csv(&plan, &rows)?.results, to go on.
//! for run in plan.runs() {                              // In any order, on any number of threads:
//!     if results.get(run.index).is_some() { continue }
//!     let outcome = plan.testbed().run(&run.settings, run.seed.clone())?;
//!     let row = Row::new(&plan, &outcome)?;             // Results::csv_row(&plan, &run, &row): a line to append.
//!     results.insert(run.index, row)?;
//! }
//! let csv = results.csv(&plan);                         // In the order of the runs: the same bytes every time.
//! let evaluation = evaluate(&plan, &results, Platform::Sim);   // .json(), Evaluation::from_json()
//! let text = evaluation.text();                         // For the terminal.
//! let svg = evaluation.figures[0].svg()?;               // A file for each figure.
//! let html = report_html(&[evaluation], &Provenance { head, facts, files, title });  // One file, no network, no script.
//! let comparison = compare(&before, &after);            // .text(), .json()
//! let well = evaluation.is_complete();                  // Every verdict could be computed.
//! ```
//!
//! - A run is a pure function of the testbed, its settings and its seed; [`Plan::key`] names what it depends on.
//! - Replication `k` has the same seed at every point and in every case, so that cases are compared on the same chance.
//! - The order of runs and rows depends on the plan's text alone.
//! - Every text that comes from outside has a limit, and is escaped in the report.

mod beside;
mod compare;
mod evaluate;
mod near;
mod plan;
mod report;
mod results;
mod settings;
mod statistics;
mod testbed;
mod tolerance;
mod value;

pub use beside::beside;
pub use compare::{ClaimChange, Comparison, NumberChange, compare};
pub use evaluate::{
    AssumptionNumbers, CaseText, Cell, ClaimError, ClaimInfo, Effect, Evaluation, FigureNumbers, FigurePoint,
    FigureSeries, FitText, Held, Judged, MapCell, MapNumbers, MapPanel, MeasureNumbers, NoteText, PaperText,
    Part, PlacedNumber, PublishedSeries, Scored, SettingLine, Standing, TableNumbers, Tally, Verdict,
    WhereHeld, claim_infos, evaluate, judge_claims, runs_of_claims,
};
pub use plan::{Mistake, Plan, PlanError, Platform, Problem, Run, RunKey, files_wanted, with_files};
pub use report::{Files, Provenance, report_html};
pub use results::{Adopted, Cells, Column, Results, ResultsError, Row};
#[doc(hidden)]
pub use settings::declared;
pub use settings::{Attached, Kind, SettingError, SettingInfo, Settings};
pub use statistics::{Bound, Estimate, student_95};
pub use testbed::{MetricInfo, Outcome, Testbed};
pub use tolerance::{Tolerance, tolerances};
pub use value::Value;
