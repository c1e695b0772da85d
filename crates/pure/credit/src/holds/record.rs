//! One hold, as it is kept.

use super::{KEEP, LATE, STEP};
use crate::message::Proof;
use crate::sessions::AGE_MAX;
use crate::terms::{Position, Terms};
use guestright_receipt::SessionKey;
use guestright_units::{Bytes, Time};

/// A hold as a home keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub terms: Terms,
    /// The session that it was asked for.
    pub session: SessionKey,
    pub state: HoldState,
}

/// What is known of a hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldState {
    /// It is reserved here, and the next home was asked. Nobody was told that it is good.
    Asked,
    /// It is reserved here and all along the rest of the path. It is kept before anybody is told.
    Good,
    /// It ended without a commit.
    Ended,
    /// It was settled.
    Settled {
        /// What was used.
        used: Bytes,
        /// The commit that the next home has not acknowledged: a receipt, or that nothing was used.
        owed: Option<Option<Proof>>,
    },
}

impl HoldState {
    /// Whether the bytes are reserved.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Asked | Self::Good)
    }

    /// Whether somebody still waits for something.
    pub(super) fn is_open(&self) -> bool {
        self.is_held() || matches!(self, Self::Settled { owed: Some(_), .. })
    }
}

impl Hold {
    /// When it ends at a home.
    pub(super) fn until(&self, at: Position) -> Time {
        self.terms.end.plus(KEEP).plus(at.index * STEP).time()
    }

    /// When nothing has to be known of it any more. What was paid is known as long as its session, or a home whose clock
    /// was set back would pay it again.
    pub(super) fn forgotten(&self) -> Time {
        let late = forgotten(&self.terms);
        if self.is_paid() { late.max(self.session.started.plus(AGE_MAX).time()) } else { late }
    }

    pub(super) fn is_paid(&self) -> bool {
        matches!(self.state, HoldState::Settled { used, .. } if used > Bytes(0))
    }
}

/// When nobody looks at its commit any more.
pub(super) fn forgotten(terms: &Terms) -> Time {
    terms.end.plus(KEEP).plus(LATE).time()
}
