//! Two policies side by side over one past.

use crate::by_receipts::Receipts;
use crate::chance::Draw;
use crate::{ByCredit, Receipt, SettledHold};
use guestright_receipt::SessionKey;
use guestright_reciprocity::{PerMille, ServiceClass};
use guestright_roaming::home::Config;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a visitor is assumed to ask for, where a policy looks at that: what access points ask with.
const REQUEST: Bytes = Bytes(1_000_000);
/// A grant ends so many seconds after it began, if its home has the usual settings.
const GRANT: u64 = 300;

/// How a session would be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Nothing: not at all.
    pub class: Option<ServiceClass>,
    pub bytes: Bytes,
    /// With what probability it would be, where that is left to chance.
    pub(crate) probability: PerMille,
}

impl Outcome {
    pub(crate) const REFUSED: Self = Self { class: None, bytes: Bytes(0), probability: PerMille(0) };
}

#[derive(Debug)]
enum Home {
    Credit(Box<ByCredit>),
    Receipts(Box<Receipts>),
}

impl Home {
    fn new(config: &Config, team: TeamId) -> Self {
        match config.credit {
            Some(credit) => Self::Credit(Box::new(ByCredit::new(credit, team))),
            None => Self::Receipts(Box::new(Receipts::new(config.judge, team, REQUEST))),
        }
    }

    fn asking(self, request: Bytes, first: Bytes) -> Self {
        match self {
            Self::Credit(home) => Self::Credit(Box::new(home.asking(first))),
            Self::Receipts(home) => Self::Receipts(Box::new(home.asking(request))),
        }
    }

    fn handle(&mut self, receipt: &Receipt, holds: &[SettledHold], draw: &mut Draw) -> Option<Outcome> {
        match self {
            Self::Credit(home) => home.handle(receipt, holds),
            Self::Receipts(home) => home.handle(receipt, draw),
        }
    }

    fn pass_on(&mut self, hold: &SettledHold) {
        match self {
            Self::Credit(home) => home.pass_on(hold),
            Self::Receipts(_) => {}
        }
    }
}

/// Sessions, and what was served in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub sessions: u64,
    pub bytes: Bytes,
}

impl Sum {
    fn add(&mut self, sessions: u64, bytes: Bytes) {
        self.sessions += sessions;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What one class would have got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Nothing: what would not have been served. A session of which a part would have been counts in its class.
    pub class: Option<ServiceClass>,
    pub before: Sum,
    pub after: Sum,
}

/// A team that would have been served otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub team: TeamId,
    /// In the last session that differs.
    pub before: Option<ServiceClass>,
    pub after: Option<ServiceClass>,
    /// How many sessions differ, and in them: how much would have been served in another class, or by one policy alone.
    pub differ: Sum,
}

/// What came of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// One for each class, refusals first.
    pub rows: Vec<Row>,
    /// The teams with the largest differences, the largest first.
    pub changed: Vec<Change>,
    /// How many teams there are besides.
    pub changed_left_out: u64,
    /// Sessions that were served in fact, and would not be so under the policy in force by what is kept.
    pub unexplained: Sum,
}

/// Decides a home's past again, under the policy in force and under another.
///
/// Receipts go in with [`handle`](Self::handle), in the order in which the home learned of them, from the first that is kept on:
/// what came before the span in question is not counted, but is what the home knew.
#[derive(Debug)]
pub struct DryRun {
    since: UnixSeconds,
    now: UnixSeconds,
    before: Home,
    after: Home,
    /// Holds of sessions in which we served or were served.
    own: BTreeMap<SessionKey, Vec<SettledHold>>,
    /// Holds of others' sessions, the last first.
    between: Vec<SettledHold>,
    rows: BTreeMap<Option<ServiceClass>, (Sum, Sum)>,
    changed: BTreeMap<TeamId, Change>,
    unexplained: Sum,
}

impl DryRun {
    /// Of the teams that would be served otherwise, so many are named.
    pub const CHANGED_MAX: usize = 1_000;

    /// Sessions from `since` on are counted.
    pub fn new(
        team: TeamId,
        [in_force, other]: [&Config; 2],
        holds: impl IntoIterator<Item = SettledHold>,
        since: UnixSeconds,
    ) -> Self {
        let mut own = BTreeMap::<_, Vec<_>>::new();
        let mut between = Vec::new();
        for hold in holds {
            match (hold.previous, hold.next) {
                (Some(_), Some(_)) => between.push(hold),
                _ => own.entry(hold.session).or_default().push(hold),
            }
        }
        between.sort_by_key(|hold| Reverse(hold.end));
        let classes = ServiceClass::ALL.into_iter().map(Some);
        Self {
            since,
            now: UnixSeconds(0),
            before: Home::new(in_force, team),
            after: Home::new(other, team),
            own,
            between,
            rows: [None].into_iter().chain(classes).map(|class| (class, <(Sum, Sum)>::default())).collect(),
            changed: BTreeMap::new(),
            unexplained: Sum::default(),
        }
    }

    /// Assumes that a visitor asks for `request` where a policy by receipts looks at that, and for `first` where credit makes
    /// a class of it, as the simulated town does. Before anything goes in.
    #[must_use]
    pub fn asking(mut self, request: Bytes, first: Bytes) -> Self {
        (self.before, self.after) = (self.before.asking(request, first), self.after.asking(request, first));
        self
    }

    /// Takes the next receipt in. For a session at our own access points it gives both outcomes.
    pub fn handle(&mut self, receipt: Receipt) -> Option<[Outcome; 2]> {
        self.now = self.now.max(receipt.at);
        let receipt = Receipt { at: self.now, ..receipt }; // Clocks are set back.
        while let Some(hold) = self.between.pop_if(|hold| hold.end.minus(GRANT) <= receipt.at) {
            self.before.pass_on(&hold);
            self.after.pass_on(&hold);
        }
        let holds = self.own.remove(&receipt.session).unwrap_or_default();
        let before = self.before.handle(&receipt, &holds, &mut Draw::lucky());
        let mut draw =
            Draw::of_served(&receipt.session, before.map_or(PerMille::WHOLE, |outcome| outcome.probability));
        let after = self.after.handle(&receipt, &holds, &mut draw);
        let outcomes = [before?, after?];
        if receipt.at >= self.since && receipt.weight > Bytes(0) {
            self.count(&receipt, outcomes);
        }
        Some(outcomes)
    }

    fn count(&mut self, receipt: &Receipt, [before, after]: [Outcome; 2]) {
        for (outcome, is_after) in [(before, false), (after, true)] {
            let mut add = |class, sessions, bytes| {
                let (of_before, of_after) = self.rows.entry(class).or_default();
                let sum = if is_after { of_after } else { of_before };
                sum.add(sessions, bytes);
            };
            add(outcome.class, 1, outcome.bytes);
            add(None, 0, receipt.weight.saturating_sub(outcome.bytes));
        }
        let missing = receipt.weight.saturating_sub(before.bytes);
        if missing > Bytes(0) {
            self.unexplained.add(1, missing);
        }
        if (before.class, before.bytes) != (after.class, after.bytes) {
            let bytes = if before.class == after.class {
                Bytes(before.bytes.0.abs_diff(after.bytes.0))
            } else {
                before.bytes.max(after.bytes)
            };
            let (team, differ) = (receipt.consumer, Sum::default());
            let new = Change { team, before: None, after: None, differ };
            let change = self.changed.entry(team).or_insert(new);
            (change.before, change.after) = (before.class, after.class);
            change.differ.add(1, bytes);
        }
    }

    /// What has come of it so far.
    pub fn summary(&self) -> Summary {
        let row = |(&class, &(before, after)): (&_, &_)| Row { class, before, after };
        let mut changed: Vec<_> = self.changed.values().copied().collect();
        changed.sort_by_key(|change| (Reverse(change.differ.bytes), change.team));
        let left_out = changed.len().saturating_sub(Self::CHANGED_MAX);
        changed.truncate(Self::CHANGED_MAX);
        Summary {
            rows: self.rows.iter().map(row).collect(),
            changed,
            changed_left_out: left_out as u64,
            unexplained: self.unexplained,
        }
    }
}
