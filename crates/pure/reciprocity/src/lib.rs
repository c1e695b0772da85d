//! Whom to serve and how well: maximum flow over the receipt graph.
//!
//! In: the provider's view of who consumed how much from whom ([`Graph`]), a provider, a consumer and the size of a
//! request. Out: a [`Decision`] with the figures behind it, and on demand an [`Explanation`] with the chains of debts.
//!
//! - [`Graph`] sums receipts to one edge per pair of teams; [`Query`] asks it for a maximum flow within [`Limits`].
//! - [`Policy`] turns flows both ways into [`Ind`], the indirect normalised debt, from 0.000 to 1.000.
//! - [`Judge`] turns that into a [`ServiceClass`], and treats own members and [`Strangers`] apart.
//!
//! Invariants. All arithmetic is in integers. Chance comes in from the caller, and only strangers and the paper's mode
//! need it. The same graph and question give the same answer, paths included. A search cut short by its budget never
//! favours the requester: what it is owed is then a lower bound, what it owes an upper bound.
//!
//! What this cannot do: no reckoning of who gave what is proof against false names (Seuken and Parkes, NetEcon 2011,
//! <https://dash.harvard.edu/handle/1/4907301>). Maximum flow stops credit that nobody honest vouches for; a fresh
//! name that inherits real credit is bounded only by [`Policy::NetFlow`].

#![warn(missing_docs)]

mod chain;
mod class;
mod decision;
mod explanation;
mod flow;
mod graph;
mod judge;
mod permille;
mod policy;
mod strangers;

pub use chain::{Chain, ChainLimits, ChainQuery};
pub use class::{ClassBounds, ParseServiceClassError, ServiceClass};
pub use decision::{Basis, Decision, Verdict};
pub use explanation::Explanation;
pub use flow::{Ended, Flow, FlowPath, Limits, Query, Scratch};
pub use graph::{Edge, Graph, GraphConfig};
pub use judge::{GrantRule, Judge, JudgeConfig, Request, RequestWeight};
pub use permille::PerMille;
pub use policy::{Ind, Policy};
pub use strangers::{StrangerConfig, StrangerCounters, Strangers};

/// The example of the README is tried as those of the documentation are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
