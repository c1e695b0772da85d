use guestright_receipt::SessionKey;
use guestright_units::{Bytes, TeamId, UnixSeconds};

/// The receipt that counts for a session, as a home's store has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// When the home first learned of the session, by its own clock.
    pub at: UnixSeconds,
    pub session: SessionKey,
    /// The team of the member that signed.
    pub consumer: TeamId,
    /// What was served in all.
    pub weight: Bytes,
    /// How much of it on holds.
    pub on_holds: Bytes,
}

/// A hold that was good and is settled, at one home of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettledHold {
    pub session: SessionKey,
    /// The end of the grant that it was for.
    pub end: UnixSeconds,
    /// Who owes us on the path; nobody, if we served.
    pub previous: Option<TeamId>,
    /// Whom we owe on the path; nobody, if our own member was served.
    pub next: Option<TeamId>,
    /// What was reserved.
    pub amount: Bytes,
    /// What was used of it; perhaps nothing.
    pub used: Bytes,
}
