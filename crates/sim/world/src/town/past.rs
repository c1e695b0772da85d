//! What one home of the town keeps of what happened, and what it really decided: for the tests of `replay`.

use super::home::{number, team};
use guestright_credit::Terms;
use guestright_engine::Instant;
use guestright_receipt::SessionKey;
use guestright_reciprocity::ServiceClass;
use guestright_replay::{Receipt, SettledHold};
use guestright_units::Bytes;

/// How a visit at the home's access point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) guest: u32,
    pub(super) wants: u64,
    pub(super) got: u64,
    pub(super) class: Option<ServiceClass>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    /// Whose past it is; nobody's, unless a test says so.
    pub(super) home: Option<u32>,
    pub(super) receipts: Vec<Receipt>,
    pub(super) holds: Vec<SettledHold>,
    pub(super) decided: Vec<Decided>,
}

impl Past {
    /// Somebody signed for a session, or the home was shown that somebody had.
    pub(super) fn signed(&mut self, guest: u32, provider: u32, weight: u64, now: Instant) {
        let member = u32::try_from(self.receipts.len()).expect("a test has few receipts");
        let session = super::visit::session(provider, member, now);
        self.push(session, guest, weight, 0);
    }

    /// A visit of the policy `credit` is over.
    pub(super) fn visited(&mut self, session: SessionKey, guest: u32, weight: u64, on_holds: u64) {
        if self.home == Some(guest) || self.home == Some(number(session.provider)) {
            self.push(session, guest, weight, on_holds);
        }
    }

    fn push(&mut self, session: SessionKey, guest: u32, weight: u64, on_holds: u64) {
        if self.home.is_some() && weight > 0 {
            let (weight, on_holds) = (Bytes(weight), Bytes(on_holds));
            // A home learns of a session when it begins.
            let at = session.started;
            self.receipts.push(Receipt { at, session, consumer: team(guest), weight, on_holds });
        }
    }

    /// Something of a hold was used and paid.
    pub(super) fn paid(&mut self, session: SessionKey, terms: &Terms, used: u64) {
        let Some(home) = self.home.map(team) else { return };
        let path: Vec<_> = terms.path().collect();
        let Some(index) = path.iter().position(|other| *other == home) else { return };
        let (previous, next) =
            (index.checked_sub(1).map(|before| path[before]), path.get(index + 1).copied());
        let (end, amount, used) = (terms.end, terms.amount, Bytes(used));
        self.holds.push(SettledHold { session, end, previous, next, amount, used });
    }

    pub(super) fn decided(&mut self, provider: u32, decided: Decided) {
        if self.home == Some(provider) {
            self.decided.push(decided);
        }
    }
}
