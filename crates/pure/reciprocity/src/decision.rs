//! A verdict and the figures that it rests on.

mod reason;

use crate::{Ind, PerMille, ServiceClass};
use guestright_units::Bytes;

/// Served or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Served in this class.
    Granted(ServiceClass),
    /// Not served at all.
    Refused,
}

/// A verdict and what it rests on. [`Decision::reason`] says it in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the consumer is served, and how well.
    pub verdict: Verdict,
    /// The ratio, where one was reckoned.
    pub ind: Option<Ind>,
    /// The figures behind it.
    pub basis: Basis,
}

/// Why a decision is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The consumer belongs to the provider's team.
    OwnMember,
    /// The consumer owes the provider nothing, and what the provider owes it, if anything, is too little for the request.
    Stranger {
        /// What the provider owes the consumer, as far as it was looked for: less than a thousandth of the request.
        owed_to_consumer: Bytes,
        /// With what probability strangers are served at present.
        probability: PerMille,
        /// Whether the provider serves all of them, because it needs receipts.
        bootstrap: bool,
    },
    /// The consumer owes the provider, and nobody ever signed that it gave anything.
    GaveNothing {
        /// All that it took from anyone.
        took: Bytes,
    },
    /// Credit was weighed against debt.
    Flow {
        /// What the provider owes the consumer; looked for only up to what a ratio of one needs.
        owed_to_consumer: Bytes,
        /// What the consumer owes the provider, or an upper bound if the budget ran out.
        owed_by_consumer: Bytes,
        /// What was added to the debt for the request.
        request: Bytes,
        /// All that the consumer gave to anyone.
        gave: Bytes,
        /// All that it took from anyone.
        took: Bytes,
        /// Whether no budget, hop limit or trimming cut a figure short.
        exact: bool,
    },
    /// What the consumer gave was weighed against a quota.
    Quota {
        /// All that the consumer gave to anyone.
        gave: Bytes,
        /// What is asked for.
        quota: Bytes,
    },
}
