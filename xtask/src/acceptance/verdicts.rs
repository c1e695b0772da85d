//! What a machine says on its console, and whether that is everything it had promised.

use std::collections::BTreeMap;

/// A line of the console that is meant for us.
#[derive(Debug, PartialEq)]
pub(crate) enum Report {
    Plan(Vec<String>),
    Note(String),
    Passed(String, String),
    Failed(String, String),
    Ended,
}

impl Report {
    /// Reads a line; whatever came before the mark on it is the firmware's or the kernel's.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (_, text) = line.split_once("@@ ")?;
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let (name, detail) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(match word {
            "plan" => Self::Plan(rest.split_whitespace().map(str::to_owned).collect()),
            "note" => Self::Note(rest.to_owned()),
            "ok" => Self::Passed(name.to_owned(), detail.to_owned()),
            "FAIL" => Self::Failed(name.to_owned(), detail.to_owned()),
            "end" => Self::Ended,
            _ => return None,
        })
    }
}

/// The verdicts so far. A step without one has failed, and so has a machine that did not come to its end.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    planned: Option<Vec<String>>,
    given: BTreeMap<String, Result<(), String>>,
    unplanned: Vec<String>,
    ended: bool,
}

impl Verdicts {
    pub(crate) fn record(&mut self, report: &Report) {
        match report {
            Report::Plan(names) => self.planned = Some(names.clone()),
            Report::Note(_) => {}
            Report::Passed(name, _) => self.give(name, Ok(())),
            Report::Failed(name, reason) => self.give(name, Err(reason.clone())),
            Report::Ended => self.ended = true,
        }
    }

    fn give(&mut self, name: &str, verdict: Result<(), String>) {
        let planned = self.planned.as_ref().is_some_and(|names| names.iter().any(|one| one == name));
        if !planned || self.given.insert(name.to_owned(), verdict).is_some() {
            self.unplanned.push(name.to_owned());
        }
    }

    /// Whether the machine got as far as saying which steps it will take.
    pub(crate) fn has_plan(&self) -> bool {
        self.planned.is_some()
    }

    pub(crate) fn passed(&self) -> usize {
        self.given.values().filter(|verdict| verdict.is_ok()).count()
    }

    /// One sentence for each thing that is not as it should be.
    pub(crate) fn failures(&self) -> Vec<String> {
        let Some(planned) = &self.planned else {
            return vec!["it did not get as far as its first step".to_owned()];
        };
        let mut failures = Vec::new();
        for name in planned {
            match self.given.get(name) {
                Some(Ok(())) => {}
                Some(Err(reason)) => failures.push(format!("{name}: {reason}")),
                None => failures.push(format!("{name}: no verdict")),
            }
        }
        failures.extend(self.unplanned.iter().map(|name| format!("{name}: a verdict that was not planned")));
        if planned.is_empty() || !self.ended {
            failures.push("it did not come to its end".to_owned());
        }
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> Verdicts {
        let mut verdicts = Verdicts::default();
        for line in lines {
            if let Some(report) = Report::read(line) {
                verdicts.record(&report);
            }
        }
        verdicts
    }

    #[test]
    fn passes_when_every_planned_step_did() {
        let verdicts = after(&[
            "\u{1b}[2Jnoise@@ plan a b",
            "@@ note 3 s: up",
            "@@ ok a 0.1",
            "[  1.2] kernel",
            "@@ ok b 2",
            "@@ end",
        ]);
        assert_eq!((verdicts.passed(), verdicts.failures()), (2, vec![]));
    }

    #[test]
    fn fails_for_whatever_is_missing() {
        #[rustfmt::skip]
        let cases: [(&[&str], &[&str]); 6] = [
            (&[],                                             &["it did not get as far as its first step"]),
            (&["@@ plan", "@@ end"],                          &["it did not come to its end"]),
            (&["@@ plan a", "@@ ok a 1"],                     &["it did not come to its end"]),
            (&["@@ plan a b", "@@ ok a 1", "@@ end"],         &["b: no verdict"]),
            (&["@@ plan a", "@@ FAIL a no way", "@@ end"],    &["a: no way"]),
            (&["@@ plan a", "@@ ok a 1", "@@ ok b 1", "@@ end"], &["b: a verdict that was not planned"]),
        ];
        for (lines, want) in cases {
            assert_eq!(after(lines).failures(), want, "{lines:?}");
        }
    }

    #[test]
    fn a_second_verdict_does_not_hide_the_first() {
        let verdicts = after(&["@@ plan a", "@@ FAIL a no", "@@ ok a 1", "@@ end"]);
        assert!(!verdicts.failures().is_empty());
    }
}
