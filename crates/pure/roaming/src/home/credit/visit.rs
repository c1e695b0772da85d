use super::SessionQuestion;
use crate::home::Peer;
use crate::message::Reference;
use guestright_credit::{HoldId, Proof, Signed};
use guestright_ordered::{OrderedMap, OrderedSet};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, TeamId, Time};

/// A session that an access point has asked about.
#[derive(Debug)]
pub(super) struct Visit {
    /// Who asked last, and by which number.
    pub(super) peer: Peer,
    pub(super) reference: Reference,
    /// Its latest receipt.
    pub(super) signed: Signed,
    pub(super) proof: Proof,
    /// Whether it signs receipts that name holds.
    pub(super) holds: bool,
    /// Slices of the allowance that it got, and how much of them was given away.
    pub(super) slices: Bytes,
    /// Slices of what the household has for its team.
    pub(super) sponsored: Bytes,
    /// Slices of nothing that the household has to count, while it serves everybody.
    pub(super) uncounted: Bytes,
    /// What was given away before the first of them.
    pub(super) given_before: Bytes,
    pub(super) given_away: Bytes,
    /// What was reserved for it so far.
    pub(super) reserved: Bytes,
    /// What its access point had left when it asked last, and what it was granted since. Answers get lost, so it is not what
    /// was granted less what was signed for.
    pub(super) left: Bytes,
    /// Holds that were asked for and not answered.
    pub(super) pending: OrderedSet<HoldId>,
    /// How much the chains that were tried since the last question may carry: nothing as long as there is no answer.
    pub(super) ceilings: OrderedMap<Vec<TeamId>, Bytes>,
    pub(super) rounds: u32,
    /// How it is served.
    pub(super) class: ServiceClass,
    /// Whether the last question was answered in any way.
    pub(super) is_answered: bool,
    /// Until when the question waits for other homes.
    pub(super) wait_until: Option<Time>,
    pub(super) seen: Time,
}

/// Part of what a visit may carry without a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) bytes: Bytes,
    pub(super) of: Of,
}

/// What it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// What the household has for the visitor's team.
    Team,
    Allowance,
    /// What the household gives while it serves everybody: as much as is wanted.
    Everybody,
}

impl Visit {
    pub(super) fn new(question: SessionQuestion, now: Time) -> Self {
        let SessionQuestion { peer, reference, signed, proof, holds, left, .. } = question;
        Self {
            peer,
            reference,
            signed,
            proof,
            holds,
            slices: Bytes(0),
            sponsored: Bytes(0),
            uncounted: Bytes(0),
            given_before: Bytes(0),
            given_away: Bytes(0),
            reserved: Bytes(0),
            left,
            pending: OrderedSet::new(),
            ceilings: OrderedMap::new(),
            rounds: 0,
            class: ServiceClass::Lowest,
            is_answered: false,
            wait_until: None,
            seen: now,
        }
    }

    pub(super) fn ask(&mut self, question: SessionQuestion, now: Time) {
        (self.peer, self.reference, self.holds) = (question.peer, question.reference, question.holds);
        (self.left, self.rounds, self.is_answered, self.wait_until) = (question.left, 0, false, None);
        self.ceilings.clear();
        self.latest(question.signed, question.proof, now);
    }

    /// It may carry so much more.
    pub(super) fn add(&mut self, slice: Slice) {
        let Slice { bytes, of } = slice;
        if of == Of::Everybody && self.uncounted == Bytes(0) {
            self.given_before = self.given_away;
        }
        let had = match of {
            Of::Team => &mut self.sponsored,
            Of::Allowance => &mut self.slices,
            Of::Everybody => &mut self.uncounted,
        };
        *had = had.saturating_add(bytes);
    }

    pub(super) fn latest(&mut self, signed: Signed, proof: Proof, now: Time) {
        if signed.weight >= self.signed.weight {
            (self.signed, self.proof) = (signed, proof);
        }
        self.seen = now;
    }
}
