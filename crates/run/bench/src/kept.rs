//! What finished runs gave, kept on the disk while others are being made.
//!
//! A row is known by its run's key: everything that the run depends on, except the program. So rows survive an
//! interruption, and a change of the plan's texts, claims and sweep too. They do not survive another program, since it
//! may simulate differently; a program is known by the digest of its file.

use crate::error::BenchError;
use guestright_experiment::{Adopted, Plan, Results, ResultsError, Row, Run};
use guestright_results::Journal;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Which program makes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramId<'a> {
    pub version: &'a str,
    /// Of its file, in hexadecimal digits.
    pub sha256: &'a str,
}

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
pub struct KeptRows {
    journal: Journal,
    strangers: usize,
}

/// What was kept before. Nothing of it is changed yet.
#[derive(Debug)]
pub struct Looked {
    journal: Journal,
    head: Head,
    /// How many lines are good; nothing if the journal has to begin afresh.
    good: Option<usize>,
    pub results: Results,
    /// Why what was there is of no use, if so.
    pub afresh: Option<String>,
    /// Rows of runs that the plan does not have as it is run now: those of the whole plan, when it is run quickly.
    pub strangers: usize,
    /// Lines that do not count, because the first of them is no row.
    pub damaged: usize,
}

impl KeptRows {
    /// Opens the journal of a plan and leaves what is in it as it is.
    ///
    /// # Errors
    /// If another program writes to it, or it cannot be read.
    pub fn look(
        path: &Path,
        plan: &Plan,
        program: ProgramId<'_>,
        is_fresh: bool,
    ) -> Result<Looked, BenchError> {
        let (journal, found) = Journal::open(path)?;
        let head = Head {
            version: program.version.to_owned(),
            program_sha256: program.sha256.to_owned(),
            columns: Results::csv_header(plan).trim_end().to_owned(),
        };
        let usable = match &found.head {
            None => None,
            Some(_) if is_fresh => Some(Err("--fresh was given".to_owned())),
            Some(text) => Some(differs(text, &head).map_or_else(|| read(plan, &found.lines), Err)),
        };
        Ok(match usable {
            Some(Ok((Adopted { results, strangers }, good))) => {
                let damaged = found.lines.len() - good;
                Looked { journal, head, good: Some(good), results, afresh: None, strangers, damaged }
            }
            other => {
                let afresh = other.and_then(Result::err);
                let results = Results::new(plan);
                Looked { journal, head, good: None, results, afresh, strangers: 0, damaged: 0 }
            }
        })
    }

    /// The rows in a journal of this version of the program, whether it is being written to or not; nothing of it is changed.
    ///
    /// # Errors
    /// If it cannot be read, or another version wrote it: the sentence says so.
    pub fn rows(path: &Path, plan: &Plan, version: &str) -> Result<Adopted, String> {
        let found = Journal::look(path).map_err(|error| error.to_string())?;
        // One that a computer has not written to its end has no rows.
        let head = found.head.and_then(|head| serde_json::from_str::<Head>(&head).ok());
        let Some(head) = head else {
            return Ok(Adopted { results: Results::new(plan), strangers: 0 });
        };
        if head.version != version {
            return Err(format!(
                "{} was made by guestright {}, this is {version}",
                path.display(),
                head.version
            ));
        }
        if head.columns != Results::csv_header(plan).trim_end() {
            return Err(format!("{} has other columns than the plan", path.display()));
        }
        read(plan, &found.lines).map(|(adopted, _)| adopted)
    }

    /// Keeps a row.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, plan: &Plan, run: &Run, row: &Row) -> Result<(), BenchError> {
        Ok(self.journal.add(Results::csv_row(plan, run, row).trim_end())?)
    }

    /// The plan is done. Unless there are rows of other runs, nothing has to be kept any more.
    ///
    /// # Errors
    /// If the journal cannot be taken away.
    pub fn finish(self) -> Result<(), BenchError> {
        if self.strangers > 0 {
            // All of them: those that were made now are of use to the whole plan too.
            return Ok(());
        }
        Ok(self.journal.remove()?)
    }
}

impl Looked {
    /// Takes away what is of no use, and is ready for rows.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn begin(self) -> Result<(KeptRows, Results), BenchError> {
        let Self { mut journal, head, good, results, strangers, .. } = self;
        match good {
            Some(good) => journal.go_on(good),
            None => journal.begin(&serde_json::to_string(&head)?),
        }?;
        Ok((KeptRows { journal, strangers }, results))
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

/// The rows of the first lines, and how many lines that is: up to the first one that is no row.
fn read(plan: &Plan, lines: &[String]) -> Result<(Adopted, usize), String> {
    // A quotation mark that does not end would take in the lines behind it.
    let is_closed = |line: &&String| line.matches('"').count().is_multiple_of(2);
    let mut good = lines.iter().take_while(is_closed).count();
    loop {
        let mut text = Results::csv_header(plan);
        lines[..good].iter().for_each(|line| text.extend([line, "\n"]));
        match Results::from_csv(plan, &text) {
            Ok(adopted) => return Ok((adopted, good)),
            // The columns are line 1, and the first row is line 2.
            Err(ResultsError::Line { line, .. }) if (2..good + 2).contains(&line) => good = line - 2,
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    fn program<'a>(version: &'a str, sha256: &'a str) -> ProgramId<'a> {
        ProgramId { version, sha256 }
    }

    fn row(loss: f64) -> Row {
        Row { numbers: vec![Some(loss), None], packets: 7, events: u64::MAX }
    }

    const NUMBERS: [f64; 6] = [0.1 + 0.2, -0.0, 5e-324, f64::MAX, 1.0 / 3.0, 1e300];

    /// A journal with a row for each of the first runs.
    fn filled(path: &Path) -> Plan {
        let plan = fake::plan("");
        let (mut kept, _) = look(path, &plan, true).begin().unwrap();
        for (run, loss) in plan.runs().iter().zip(NUMBERS) {
            kept.add(&plan, run, &row(loss)).unwrap();
        }
        plan
    }

    fn look(path: &Path, plan: &Plan, is_fresh: bool) -> Looked {
        KeptRows::look(path, plan, program("1", "aa"), is_fresh).unwrap()
    }

    fn rows(results: &Results) -> Vec<bool> {
        (0..NUMBERS.len()).map(|index| results.get(index).is_some()).collect()
    }

    #[test]
    fn what_was_kept_is_there_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.csv");
        let plan = filled(&path);
        let opened = look(&path, &plan, false);
        assert_eq!((opened.afresh, opened.strangers, opened.damaged), (None, 0, 0));
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
            let before = std::fs::read(&path).unwrap();
            let looked = KeptRows::look(&path, &plan, program, is_fresh).unwrap();
            let afresh = looked.afresh.as_ref().unwrap();
            assert!(afresh.contains(words), "{afresh}");
            assert_eq!(rows(&looked.results), [false; 6]);
            assert_eq!(std::fs::read(&path).unwrap(), before, "looking changes nothing");
            assert_eq!(rows(&looked.begin().unwrap().1), [false; 6]);
            assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
        }
        std::fs::write(&path, "something else\n").unwrap();
        let opened = look(&path, &fake::plan(""), false);
        assert!(opened.afresh.unwrap().contains("not written by this program"));
    }

    /// Texts of the plan may change, and its sweep: runs that are the same keep their rows.
    #[test]
    fn a_longer_sweep_keeps_what_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.csv");
        filled(&path);
        let longer = fake::plan("").with_seeds(9).unwrap();
        let opened = look(&path, &longer, false);
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
            let (_kept, results) = look(&path, &plan, false).begin().unwrap();
            assert_eq!(rows(&results), [true, true, true, true, true, false]);
        }
        assert!(std::fs::read_to_string(&path).unwrap().ends_with('\n'));
    }

    /// Whatever a disk does to a line, the rows before it count, and a row that is added is found again.
    #[test]
    fn a_damaged_line_costs_no_row_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.csv");
        for damage in ["", "no row", "\"", "0,good,1,0,key,x,,7,7", "0,good,1,0,\"key,0.5,,7,7"] {
            for index in 0..NUMBERS.len() {
                let plan = filled(&path);
                let text = std::fs::read_to_string(&path).unwrap();
                let mut lines: Vec<&str> = text.lines().collect();
                lines[index + 1] = damage;
                std::fs::write(&path, lines.join("\n") + "\n").unwrap();
                let looked = look(&path, &plan, false);
                assert_eq!((&looked.afresh, looked.damaged), (&None, NUMBERS.len() - index), "{damage}");
                let mut want = [false; NUMBERS.len()];
                want[..index].fill(true);
                assert_eq!(rows(&looked.results), want, "{damage} at {index}");
                let (mut kept, _) = looked.begin().unwrap();
                kept.add(&plan, &plan.runs()[index], &row(0.5)).unwrap();
                drop(kept);
                let again = look(&path, &plan, false);
                want[index] = true;
                assert_eq!((rows(&again.results), again.damaged), (want.to_vec(), 0), "{damage} at {index}");
            }
        }
    }

    /// A quick run, or one with fewer seeds, does not take the rows of the whole plan with it.
    #[test]
    fn rows_of_other_runs_outlive_a_smaller_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.csv");
        let plan = filled(&path);
        for smaller in [plan.with_seeds(1).unwrap(), plan.quick()] {
            let looked = look(&path, &smaller, false);
            assert!(looked.strangers > 0 && looked.results.missing() > 0, "{looked:?}");
            let (mut kept, results) = looked.begin().unwrap();
            for run in smaller.runs().iter().filter(|run| results.get(run.index).is_none()) {
                kept.add(&smaller, run, &row(0.5)).unwrap();
            }
            kept.finish().unwrap();
            assert_eq!(rows(&look(&path, &plan, false).results), [true; 6]);
        }
        let (kept, _) = look(&path, &plan, false).begin().unwrap();
        kept.finish().unwrap();
        assert!(!path.exists(), "the whole plan has no use for them");
    }
}
