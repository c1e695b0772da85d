//! Credit between homes: who owes whom, and bytes that are reserved along a chain of debts before a guest uses them.
//!
//! Each home keeps one [`Account`] for each team with which its own people or access points dealt. A guest is served on
//! credit only up to an amount that every home between the provider and the guest's own home has reserved: [`Holds`] is
//! a home's share in that, as provider, in between, and as the home of the guest. What is not backed by credit comes out
//! of the home's [`Allowance`].
//!
//! In: messages of other homes (with what their receipts say, once the signatures were checked), receipts of own members,
//! service on the allowance, and the time. Out: messages, each after what it relies on is durable, and [`Change`]s to
//! make durable.
//!
//! Invariants, for any set *S* of names and the honest homes *H*, at every moment:
//! - what S took from H on credit is at most what S gave to members of H, by their own signatures, plus all overdrafts;
//! - the overdraft of a team is at most what it ever gave, that of all teams together at most [`Overdraft::total`];
//! - a reservation ends by a receipt of the guest that names it, by a word of the home for which it was made, or at its
//!   end, and by nothing else.
//!
//! The rules and why they hold: `docs/design/0010-credit.md`.

mod account;
mod allowance;
mod frame;
mod holds;
mod message;
mod sessions;
mod terms;

pub use account::{Account, Accounts, Overdraft};
pub use allowance::{Allowance, AllowanceConfig, AllowanceState};
pub use frame::{FRAME_LEN_MAX, frame, is_frame, unframe};
pub use guestright_receipt::{HoldId, HoldUse};
pub use holds::{Change, Config, Event, Hold, HoldError, HoldState, Holds, Kept, Token, Write};
pub use message::{Message, MessageError, Proof, Signed};
pub use sessions::Accounted;
pub use terms::{Terms, TermsError};
