//! What would have been: a home's past, decided again under two policies (design note 0016).
//!
//! In: receipts in the order in which a home learned of them ([`Receipt`]), and the holds that were paid ([`SettledHold`]). Out: for
//! each session in which the home's own access points served, how it would be served ([`Outcome`]), and all of them together
//! ([`DryRun`], [`Summary`]).
//!
//! The decisions are those of the machines that homes run: `reciprocity`'s graph and judge, and `credit`'s accounts and
//! allowance. [`ByReceipts`] is also what decides for a home in the simulated town.
//!
//! Invariants: nothing is served that was not served in fact, since nobody noted who was refused; the same receipts and
//! policies give the same summary; memory grows with teams, not with receipts.

mod by_credit;
mod by_receipts;
mod chance;
mod dry_run;
mod past;

pub use by_credit::ByCredit;
pub use by_receipts::ByReceipts;
pub use dry_run::{Change, DryRun, Outcome, Row, Sum, Summary};
pub use past::{Receipt, SettledHold};
