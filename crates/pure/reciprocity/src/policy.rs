//! From flows to a ratio.

mod netflow;

use crate::flow::{Ended, FlowPath, Limits, Query, Scratch};
use crate::{Graph, PerMille};
use guestright_units::{Bytes, TeamId};
use std::fmt;

/// How a provider reckons what a consumer deserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The papers' rule: what the provider owes the consumer over what the consumer owes the provider, both as
    /// maximum flows: `min(mf(P→C) / mf(C→P), 1)`.
    ///
    /// The same ratio is "maxflow-based subjective reputation" in Feldman, Lai, Stoica and Chuang, EC 2004,
    /// <https://doi.org/10.1145/988772.988788>. It does not stop a contributor from spending its credit once per
    /// fresh name: see [`Policy::NetFlow`].
    Srm,
    /// The papers' rule where no team passes on more credit than it has left itself.
    ///
    /// A team `j` on the way lets at most `max(0, mf(P→j) − σ·mf(j→P)) + κ` bytes through, so that what a fresh name
    /// consumed on `j`'s word is charged to `j`. After Otte, de Vos and Pouwelse, "TrustChain", FGCS 107 (2020);
    /// σ and κ are ours. At most three rounds of flows are run; what then still breaks a limit is cut away.
    NetFlow {
        /// σ: how much of its own debt is taken off a team's credit; the whole is the strictest.
        sigma: PerMille,
        /// κ: what every team may pass on regardless.
        kappa: Bytes,
    },
    /// A fixed contribution: all that the consumer gave to anyone, over a quota.
    ///
    /// After Courcoubetis and Weber, JSAC 24 (2006). The base line to compare with, and easy to cheat: a team that
    /// signs for its own second name has contributed.
    Quota {
        /// What counts as a full contribution. Zero asks for nothing.
        bytes: Bytes,
    },
    /// OURS, in place of the authors' generalised maximum flow, whose gains are not published: credit counts less
    /// the more teams it passes through.
    ///
    /// The numerator is found as Dinitz's algorithm finds it, by path length from short to long. What the phase of
    /// length `n` (arcs, where flow already found may be rerouted) adds counts `gain^(n−1)` of its bytes; a product
    /// of gains is rounded down to nine digits, the sum to bytes. The denominator is a plain maximum flow. With a
    /// gain of 1000 this is [`Policy::Srm`]. Which of several equally short paths is filled first may depend on how
    /// the graph's teams are numbered, which [`Graph::compact`] settles.
    Gmf {
        /// What a byte keeps per team in between.
        gain: PerMille,
    },
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Srm => f.write_str("maximum flow"),
            Self::NetFlow { sigma, kappa } => write!(f, "net flow (sigma {sigma}, kappa {kappa})"),
            Self::Quota { bytes } => write!(f, "quota of {bytes}"),
            Self::Gmf { gain } => write!(f, "length-discounted flow (gain {gain})"),
        }
    }
}

/// The indirect normalised debt, in thousandths from 0 to 1000: 1.000 is a team that gave all it took or more.
///
/// Rounded down, so a debt of more than a thousand times the credit is 0.000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ind(u16);

impl Ind {
    /// No credit.
    pub const ZERO: Self = Self(0);
    /// Full credit.
    pub const ONE: Self = Self(1_000);

    /// `min(num / den, 1)`; one if both are zero.
    pub fn ratio(num: u64, den: u64) -> Self {
        if num >= den {
            return Self::ONE;
        }
        let share = u128::from(num) * 1_000 / u128::from(den);
        Self(u16::try_from(share).expect("a numerator below the denominator gives less than 1000"))
    }

    /// The ratio in thousandths.
    pub const fn per_mille(self) -> PerMille {
        PerMille(self.0)
    }
}

impl fmt::Display for Ind {
    /// `0.000` to `1.000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.per_mille().fmt(f)
    }
}

/// One side of the ratio.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) bytes: Bytes,
    /// Whether no limit cut the search short.
    pub(crate) exact: bool,
    /// Empty unless asked for.
    pub(crate) paths: Vec<FlowPath>,
}

/// Both sides of the ratio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sides {
    /// What the provider owes the consumer, as far as it can matter.
    pub(crate) credit: Side,
    /// What the consumer owes the provider, or an upper bound if the budget ran out.
    pub(crate) debt: Side,
}

/// Who asks whom for how much, and what may be spent on the answer.
#[derive(Debug)]
pub(crate) struct Assessment<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) scratch: &'a mut Scratch,
    pub(crate) provider: TeamId,
    pub(crate) consumer: TeamId,
    /// What is added to the debt before the ratio is taken.
    pub(crate) weight: Bytes,
    pub(crate) hops_max: u32,
    /// Arcs that may still be looked at.
    pub(crate) arcs_left: u64,
    pub(crate) with_paths: bool,
}

impl Assessment<'_> {
    /// Measures the debt first, with at most half of the budget, and then the credit up to where the ratio is one.
    pub(crate) fn run(&mut self, policy: Policy) -> Sides {
        let debt = self.debt();
        let cutoff = debt.bytes.saturating_add(self.weight).max(Bytes(1));
        let credit = match policy {
            Policy::Srm | Policy::Quota { .. } => self.credit(cutoff, PerMille::WHOLE),
            Policy::Gmf { gain } => self.credit(cutoff, gain.min(PerMille::WHOLE)),
            Policy::NetFlow { sigma, kappa } => self.credit_net(cutoff, sigma, kappa),
        };
        Sides { credit, debt }
    }

    pub(crate) fn debt(&mut self) -> Side {
        let limits = Limits { hops_max: self.hops_max, arcs_max: self.arcs_left / 2 };
        let query = Query { limits, ..Query::new(self.consumer, self.provider) };
        let mut side = self.side(query);
        if side.1 == Ended::ArcBudget {
            side.0.bytes = self.debt_bound();
        }
        side.0
    }

    /// What the consumer can owe the provider at most: all that it took, or all that the provider is owed.
    pub(crate) fn debt_bound(&self) -> Bytes {
        self.graph.out_capacity(self.consumer).min(self.graph.in_capacity(self.provider))
    }

    fn credit(&mut self, cutoff: Bytes, gain: PerMille) -> Side {
        self.side(Query { cutoff, gain, limits: self.limits(), ..Query::new(self.provider, self.consumer) }).0
    }

    fn side(&mut self, query: Query) -> (Side, Ended) {
        let (flow, paths) = if self.with_paths {
            query.value_with_paths(self.graph, self.scratch)
        } else {
            (query.value(self.graph, self.scratch), Vec::new())
        };
        self.arcs_left = self.arcs_left.saturating_sub(flow.arcs_scanned);
        (Side { bytes: flow.value, exact: flow.exact(), paths }, flow.ended)
    }

    fn limits(&self) -> Limits {
        Limits { hops_max: self.hops_max, arcs_max: self.arcs_left }
    }
}

#[cfg(test)]
mod tests;
