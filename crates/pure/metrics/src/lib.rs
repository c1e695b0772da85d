//! What an operator's monitoring reads of a home and of an access point (design note 0015).
//!
//! In: what their loops count ([`Buckets`], [`Waits`], [`Carried`], [`Directions`]), and what they know when somebody asks ([`HomeFigures`],
//! [`AccessPointFigures`]). Out: OpenMetrics or Prometheus' older text (module `text`, with the feature of that name).
//!
//! Invariants: no label names a team, a member, a device or an address; the values of every label are a closed list in the code. Classes,
//! verdicts and reasons stand in the text from the start on with nothing in them, so that a rate can be taken of the first event. What is
//! counted here never goes back while a program runs; what the firewall's table counts begins anew with the table. What can be read when somebody asks is not counted before.

mod access_point;
mod buckets;
mod carried;
mod directions;
mod home;
mod process;
#[cfg(feature = "text")]
mod sheet;
#[cfg(feature = "text")]
pub mod text;
mod waits;

pub use access_point::{AccessPointFigures, LayersInForce, SessionEnds};
pub use buckets::Buckets;
pub use carried::{Carried, PerClass};
pub use directions::Directions;
pub use home::{CreditFigures, Decisions, HomeFigures, Receipts, StoreFigures, TunnelBytes};
pub use process::{OwnCertificate, Process};
pub use waits::Waits;
