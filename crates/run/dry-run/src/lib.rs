//! A home's past under another policy (design note 0016): from its store to sentences, a table, a figure and JSON.
//!
//! In: where the home keeps its store, the two policies, and since when. Out: a [`Report`]. The store is only read, and a home
//! that runs goes on; memory grows with teams and remembered holds, not with receipts.

mod figure;
mod report;
mod since;

pub use report::Report;
pub use since::{Since, SinceError};

use guestright_error::RunError;
use guestright_host::history::{self, History};
use guestright_replay::{DryRun, Receipt, SettledHold};
use guestright_roaming::home::Config;
use guestright_store::Arrival;
use guestright_units::{TeamId, UnixSeconds};
use std::path::Path;

/// Whose past is replayed, and under what.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The home's state directory.
    pub state: &'a Path,
    pub team: TeamId,
    pub in_force: &'a Config,
    pub other: &'a Config,
    /// Sessions that became known before are not counted, but are part of what the home knew.
    pub since: UnixSeconds,
}

/// Replays everything that the store still has. `progress` is called now and then with how many of how many sessions are
/// done; when it says no, the dry run ends.
///
/// # Errors
/// The home does not answer, the store cannot be read, or `progress` says no.
pub fn run(
    settings: Settings<'_>,
    mut progress: impl FnMut(u64, u64) -> Result<(), RunError>,
) -> Result<Report, RunError> {
    let Settings { state, team, in_force, other, since } = settings;
    let history = History::of_home(state, team);
    let last = history.last_arrival()?;
    let holds = history.settled_holds()?.into_iter().map(hold);
    let mut replay = DryRun::new(team, [in_force, other], holds, since);
    let mut kept = Kept::default();
    history.for_each_session(|arrival| {
        if arrival.number > last {
            return Ok(()); // It came after we had begun.
        }
        kept.note(&arrival, since);
        replay.handle(receipt(arrival));
        if arrival.number.cast_unsigned().is_multiple_of(4_096) {
            progress(arrival.number.cast_unsigned(), last.cast_unsigned())?;
        }
        Ok(())
    })?;
    Ok(Report { since, kept, summary: replay.summary() })
}

/// What the store still has of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Sessions, ours and others'.
    pub sessions: u64,
    /// When the first of them became known.
    pub first: Option<UnixSeconds>,
    /// Sessions of which the receipt is kept no more: from before the span, and within it.
    pub missing_before: u64,
    pub missing_since: u64,
    /// The number of the session before.
    number: i64,
}

impl Kept {
    /// Sessions have numbers in the order in which they came. Those that are missing had to make room.
    fn note(&mut self, arrival: &Arrival, since: UnixSeconds) {
        let missing = (arrival.number - self.number - 1).max(0).cast_unsigned();
        // Of what is missing just before the span nobody can say on which side it was.
        let missing_of = if arrival.at >= since { &mut self.missing_since } else { &mut self.missing_before };
        *missing_of += missing;
        self.number = arrival.number;
        self.sessions += 1;
        self.first.get_or_insert(arrival.at);
    }

    /// Whether everything of the span is there.
    pub fn is_complete(&self) -> bool {
        self.missing_since == 0
    }
}

fn receipt(arrival: Arrival) -> Receipt {
    let Arrival { at, session, consumer, weight, on_holds, .. } = arrival;
    Receipt { at, session, consumer, weight, on_holds }
}

fn hold(hold: history::SettledHold) -> SettledHold {
    let history::SettledHold { session, end, previous, next, amount, used } = hold;
    SettledHold { session, end, previous, next, amount, used }
}

#[cfg(test)]
mod tests;
