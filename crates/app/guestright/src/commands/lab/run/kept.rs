//! What finished runs gave, kept on the disk while others are being made.
//!
//! A row is known by its run's key: everything that the run depends on, except the program. So rows survive an
//! interruption, and a change of the plan's texts, claims and sweep too. They do not survive another program, since it
//! may simulate differently; a program is known by the digest of its file.

use super::super::record::Program;
use crate::failure::Failure;
use guestright_experiment::{Plan, Results, Row, Run};
use guestright_results::Journal;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The first line of a journal. The others are rows as comma-separated values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    version: String,
    program_sha256: String,
    columns: String,
}

/// The rows of a plan's finished runs.
#[derive(Debug)]
pub(super) struct KeptRows {
    journal: Journal,
}

/// What was kept before.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) kept: KeptRows,
    pub(super) results: Results,
    /// Why what was there is of no use, if so.
    pub(super) afresh: Option<String>,
}

impl KeptRows {
    /// Opens the journal of a plan.
    pub(super) fn open(
        path: &Path,
        plan: &Plan,
        program: &Program,
        is_fresh: bool,
    ) -> Result<Opened, Failure> {
        let (mut journal, found) = Journal::open(path).map_err(Failure::config)?;
        let head = Head {
            version: program.version.clone(),
            program_sha256: program.sha256.clone(),
            columns: Results::csv_header(plan).trim_end().to_owned(),
        };
        let usable = match &found.head {
            None => None,
            Some(_) if is_fresh => Some(Err("--fresh was given".to_owned())),
            Some(text) => Some(differs(text, &head).map_or_else(|| read(plan, &found.lines), Err)),
        };
        let (results, afresh) = match usable {
            Some(Ok(results)) => {
                journal.go_on(found.lines.len()).map_err(Failure::config)?;
                (results, None)
            }
            other => {
                journal.begin(&serde_json::to_string(&head)?).map_err(Failure::config)?;
                (Results::new(plan), other.and_then(Result::err))
            }
        };
        Ok(Opened { kept: Self { journal }, results, afresh })
    }

    /// Keeps a row.
    pub(super) fn add(&mut self, plan: &Plan, run: &Run, row: &Row) -> Result<(), Failure> {
        self.journal.add(Results::csv_row(plan, run, row).trim_end()).map_err(Failure::config)
    }

    /// The plan is done, and nothing has to be kept any more.
    pub(super) fn remove(self) -> Result<(), Failure> {
        self.journal.remove().map_err(Failure::config)
    }
}

/// Why a journal with this head is of no use, if so.
fn differs(found: &str, want: &Head) -> Option<String> {
    let Ok(found) = serde_json::from_str::<Head>(found) else {
        return Some("what is there was not written by this program".to_owned());
    };
    if found.version != want.version {
        return Some(format!("what is there was made by guestright {}", found.version));
    }
    if found.program_sha256 != want.program_sha256 {
        return Some("what is there was made by another build of this program".to_owned());
    }
    (found.columns != want.columns).then(|| "the plan has other columns now".to_owned())
}

fn read(plan: &Plan, lines: &[String]) -> Result<Results, String> {
    let text = format!("{}{}\n", Results::csv_header(plan), lines.join("\n"));
    let text = if lines.is_empty() { Results::csv_header(plan) } else { text };
    Results::from_csv(plan, &text).map(|adopted| adopted.results).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::lab::fake;

    fn program(version: &str, sha256: &str) -> Program {
        Program { version: version.to_owned(), commit: None, sha256: sha256.to_owned() }
    }

    fn row(loss: f64) -> Row {
        Row { numbers: vec![Some(loss), None], packets: 7, events: u64::MAX }
    }

    const NUMBERS: [f64; 6] = [0.1 + 0.2, -0.0, 5e-324, f64::MAX, 1.0 / 3.0, 1e300];

    /// A journal with a row for each of the first runs.
    fn filled(path: &Path) -> Plan {
        let plan = fake::plan("");
        let Opened { mut kept, .. } = KeptRows::open(path, &plan, &program("1", "aa"), true).unwrap();
        for (run, loss) in plan.runs().iter().zip(NUMBERS) {
            kept.add(&plan, run, &row(loss)).unwrap();
        }
        plan
    }

    fn rows(opened: &Opened) -> Vec<bool> {
        (0..NUMBERS.len()).map(|index| opened.results.get(index).is_some()).collect()
    }

    #[test]
    fn what_was_kept_is_there_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.csv");
        let plan = filled(&path);
        let opened = KeptRows::open(&path, &plan, &program("1", "aa"), false).unwrap();
        assert_eq!(opened.afresh, None);
        for (index, loss) in NUMBERS.into_iter().enumerate() {
            let found = opened.results.get(index).unwrap();
            assert_eq!((found.numbers[1], found.packets, found.events), (None, 7, u64::MAX));
            assert_eq!(found.numbers[0].unwrap().to_bits(), loss.to_bits());
        }
        assert_eq!(opened.results.missing(), plan.run_count() - NUMBERS.len());
    }

    #[test]
    fn another_program_or_a_wish_begins_afresh_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.csv");
        let cases = [
            (program("1", "aa"), true, "--fresh"),
            (program("2", "aa"), false, "made by guestright 1"),
            (program("1", "bb"), false, "another build"),
        ];
        for (program, is_fresh, words) in cases {
            let plan = filled(&path);
            let opened = KeptRows::open(&path, &plan, &program, is_fresh).unwrap();
            let afresh = opened.afresh.as_ref().unwrap();
            assert!(afresh.contains(words), "{afresh}");
            assert_eq!(rows(&opened), [false; 6]);
        }
        std::fs::write(&path, "something else\n").unwrap();
        let opened = KeptRows::open(&path, &fake::plan(""), &program("1", "aa"), false).unwrap();
        assert!(opened.afresh.unwrap().contains("not written by this program"));
    }

    /// Texts of the plan may change, and its sweep: runs that are the same keep their rows.
    #[test]
    fn a_longer_sweep_keeps_what_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.csv");
        filled(&path);
        let longer = fake::plan("").with_seeds(9).unwrap();
        let opened = KeptRows::open(&path, &longer, &program("1", "aa"), false).unwrap();
        assert_eq!((opened.afresh, opened.results.missing()), (None, longer.run_count() - NUMBERS.len()));
    }

    #[test]
    fn a_torn_line_is_not_a_row_and_is_gone_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.csv");
        let plan = filled(&path);
        let length = std::fs::metadata(&path).unwrap().len();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 3).unwrap();
        for _ in 0..2 {
            let opened = KeptRows::open(&path, &plan, &program("1", "aa"), false).unwrap();
            assert_eq!(rows(&opened), [true, true, true, true, true, false]);
        }
        assert!(std::fs::read_to_string(&path).unwrap().ends_with('\n'));
    }
}
