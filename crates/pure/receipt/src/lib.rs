//! Signed receipts: member M of team C consumed so many bytes from team P in the session that began at t.
//!
//! In: bytes from peers, certificates, the current second. Out: [`Receipt`]s, which are receipts whose signature,
//! certificate and date were checked, and the merge of any two sets of them.
//!
//! Invariants: a receipt is one COSE_Sign1 in one form (`docs/design/0001-protocol-and-receipts.md` of the repository);
//! of one session only the largest weight counts, so a set of receipts is a map of max-registers and merging is
//! commutative, associative and idempotent; single and batch verification agree.

#![warn(missing_docs)]

mod bundle;
mod error;
mod receipt;
mod registers;
mod rules;

pub use bundle::{Bundle, BundleError, Verified};
pub use error::ReceiptError;
pub use receipt::{HoldId, HoldUse, Receipt, Service, SessionKey, UncheckedReceipt};
pub use registers::{Admission, Registers};
pub use rules::{Rules, verify_batch};

/// The example of the README is tried as those of the documentation are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
