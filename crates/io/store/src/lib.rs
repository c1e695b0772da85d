//! The receipt repository in SQLite: acknowledged means durable.
//!
//! In: receipts that were checked, with their certificates, and the current second. Out: what each of them changed
//! ([`Outcome`]), the edges of the receipt graph ([`Edge`]), receipts to show, receipts still to be passed on. Beside them,
//! the credit of a home: each [`guestright_credit::Write`] in, [`KeptCredit`] out.
//!
//! Invariants: the store holds what [`guestright_receipt::Registers`] would hold, less what was evicted; when
//! [`Store::put`] returns, or the writer calls a reply, the receipts survive the end of the process and of the
//! power; there are never more than [`Limits::receipts_max`], and no
//! account goes to make room for them; a write of accounts is kept as a whole or not at all; one process at a time has a store open.
//!
//! Beside the store, in a file of its own: who had which address when ([`addresses`]).
//!
//! [`Store`] is for one thread. [`Writer`] gives it a thread of its own and commits what many callers hand in
//! together.

pub mod addresses;
mod credit;
mod error;
mod hints;
mod history;
mod hours;
mod marker;
mod numbers;
mod overlay;
mod own;
mod put;
mod read;
mod recent;
mod revocation;
#[cfg(test)]
mod sample;
mod schema;
mod store;
mod writer;

pub use credit::KeptCredit;
pub use error::StoreError;
pub use hints::HintQuery;
pub use history::{Arrival, ClosedStore};
pub use hours::HourSums;
pub use put::{Outcome, PutReport};
pub use read::{Encoded, Outgoing};
pub use store::{Edge, Limits, Store};
pub use writer::{Writer, WriterHandle, WriterLimits};
