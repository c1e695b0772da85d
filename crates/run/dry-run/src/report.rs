//! What a dry run says, in sentences and a table, or as JSON.

use crate::{Kept, figure};
use guestright_error::RunError;
use guestright_reciprocity::ServiceClass;
use guestright_replay::{Change, Row, Sum, Summary};
use guestright_units::{Bytes, UnixSeconds};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// In text, so many teams are named.
const TEAMS_SHOWN: usize = 20;

/// What a dry run has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub since: UnixSeconds,
    pub kept: Kept,
    pub summary: Summary,
}

impl Report {
    /// As the household's page reads it.
    pub fn to_json(&self) -> Value {
        let sum = |sum: Sum| json!({ "sessions": sum.sessions, "bytes": sum.bytes.0 });
        let row = |row: &Row| json!({ "class": name(row.class), "before": sum(row.before), "after": sum(row.after) });
        let change = |change: &Change| {
            json!({ "team": change.team.to_string(), "before": name(change.before), "after": name(change.after),
                "bytes": change.differ.bytes.0, "sessions": change.differ.sessions })
        };
        json!({
            "since": self.since.0,
            "complete": self.kept.is_complete(),
            "rows": self.summary.rows.iter().map(row).collect::<Vec<_>>(),
            "changed": self.summary.changed.iter().map(change).collect::<Vec<_>>(),
            "changed_left_out": self.summary.changed_left_out,
            "unexplained": sum(self.summary.unexplained),
            "kept": { "sessions": self.kept.sessions, "first": self.kept.first.map(|first| first.0),
                "missing_before": self.kept.missing_before, "missing_since": self.kept.missing_since },
            "notes": self.notes(),
        })
    }

    /// Sentences first, then the table, then the teams.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.outcome());
        self.notes().iter().for_each(|note| write_line(&mut text, note));
        write_line(&mut text, "");
        let [sessions, bytes] = ["sessions", "bytes"];
        let heading = format!("{:<8} {sessions:>10} {bytes:>12}   {sessions:>10} {bytes:>12}", "class");
        write_line(&mut text, &format!("{:<8} {:>23}   {:>23}", "", "policy in force", "the other policy"));
        write_line(&mut text, &heading);
        for row in &self.summary.rows {
            let [before, after] = [row.before, row.after]
                .map(|sum| format!("{:>10} {:>12}", sum.sessions, sum.bytes.to_string()));
            write_line(&mut text, &format!("{:<8} {before}   {after}", shown(row.class)));
        }
        self.write_teams(&mut text);
        text
    }

    /// A picture of the table, as SVG.
    ///
    /// # Errors
    /// It cannot be drawn.
    pub fn to_figure(&self) -> Result<String, RunError> {
        figure::draw(self)
    }

    fn outcome(&self) -> String {
        let [before, after] = self.served();
        if before.sessions == 0 {
            return format!("Nobody was served here since {}, as far as the store knows.", self.since);
        }
        let begins =
            format!("Since {}, {} sessions with {} were served", self.since, before.sessions, before.bytes);
        let changed = self.summary.changed.len() as u64 + self.summary.changed_left_out;
        if changed == 0 {
            return format!("{begins}. With the other policy they would have been served in the same way.");
        }
        let teams = if changed == 1 { "1 team".to_owned() } else { format!("{changed} teams") };
        format!(
            "{begins}. With the other policy it would have been {} sessions with {}; {teams} would have been served \
             otherwise.",
            after.sessions, after.bytes
        )
    }

    /// What is served in all classes, by either policy.
    fn served(&self) -> [Sum; 2] {
        let rows = self.summary.rows.iter().filter(|row| row.class.is_some());
        rows.fold([Sum::default(); 2], |[before, after], row| {
            [add(before, row.before), add(after, row.after)]
        })
    }

    /// What is not known, and what of the figures rests on it.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Guests that were refused, and what guests would have used beyond what they did, are not in the store: a more \
             generous policy cannot show more here than was served."
                .to_owned(),
        ];
        let Kept { missing_before, missing_since, .. } = self.kept;
        if missing_since > 0 {
            notes.push(format!(
                "The store no longer has {missing_since} sessions of this time, of others' dealings perhaps: all sums are \
                 too small by what they were."
            ));
        }
        if missing_before > 0 {
            notes.push(format!(
                "Of the time before, the store no longer has {missing_before} sessions: who owed whom at the beginning is \
                 reckoned without them."
            ));
        }
        let Sum { sessions, bytes } = self.summary.unexplained;
        if sessions > 0 {
            notes.push(format!(
                "In {sessions} of these sessions {bytes} were served in fact that the policy in force would not give by what \
                 the store knows: it was another one then, or something is not known, such as what was sponsored."
            ));
        }
        notes
    }

    fn write_teams(&self, text: &mut String) {
        let changed = &self.summary.changed;
        if changed.is_empty() {
            return;
        }
        write_line(text, "");
        let heading = format!("{:<8} {:>10} {:>12}   {}", "team", "sessions", "bytes", "at last");
        write_line(text, &heading);
        for change in changed.iter().take(TEAMS_SHOWN) {
            let Change { team, before, after, differ } = change;
            let at_last = if before == after {
                format!("{}, with another volume", shown(*after))
            } else {
                format!("{} instead of {}", shown(*after), shown(*before))
            };
            let (sessions, bytes) = (differ.sessions, differ.bytes.to_string());
            write_line(text, &format!("{:<8} {sessions:>10} {bytes:>12}   {at_last}", team.short()));
        }
        let more = changed.len().saturating_sub(TEAMS_SHOWN) as u64 + self.summary.changed_left_out;
        if more > 0 {
            write_line(text, &format!("and {more} more; --json names {}", changed.len()));
        }
    }
}

fn add(one: Sum, other: Sum) -> Sum {
    let bytes: Bytes = one.bytes.saturating_add(other.bytes);
    Sum { sessions: one.sessions + other.sessions, bytes }
}

fn name(class: Option<ServiceClass>) -> Option<&'static str> {
    class.map(ServiceClass::name)
}

fn shown(class: Option<ServiceClass>) -> &'static str {
    name(class).unwrap_or("refused")
}

fn write_line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes what is written to it");
}
