//! The papers' rules: a ratio of flows or a quota over the receipts that a home knows, and then all that is wanted.

use crate::chance::Draw;
use crate::{Outcome, Receipt};
use guestright_reciprocity::{
    Basis, Decision, Graph, Judge, JudgeConfig, PerMille, Request, Scratch, ServiceClass, StrangerCounters,
    Verdict,
};
use guestright_units::{Bytes, TeamId};
use rand::Rng;
use std::collections::BTreeSet;

/// One home that decides by receipts: what it knows, how it judges, and whom it met as strangers.
///
/// ```
/// use guestright_reciprocity::{JudgeConfig, Scratch, Verdict};
/// use guestright_replay::ByReceipts;
/// use guestright_units::{Bytes, TeamId};
/// use rand::SeedableRng as _;
///
/// let [home, guest] = [1, 2].map(|number| TeamId([number; 24]));
/// let mut decides = ByReceipts::new(JudgeConfig::default(), home);
/// let mut rng = rand::rngs::StdRng::seed_from_u64(1);
/// let decision = decides.decide(guest, Bytes(1_000_000), &mut Scratch::new(), &mut rng);
/// assert!(matches!(decision.verdict, Verdict::Granted(_)), "a home that is owed nothing serves strangers");
/// decides.served(guest, Bytes(5_000_000), &decision);
/// ```
#[derive(Clone, Debug)]
pub struct ByReceipts {
    team: TeamId,
    graph: Graph,
    judge: Judge,
    /// Teams that it served as strangers.
    strangers: BTreeSet<TeamId>,
}

impl ByReceipts {
    /// A home that knows nothing yet.
    pub fn new(config: JudgeConfig, team: TeamId) -> Self {
        let judge = Judge::new(config, StrangerCounters::default());
        Self { team, graph: Graph::new(), judge, strangers: BTreeSet::new() }
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Goes on with another memory of who owes whom.
    pub fn set_graph(&mut self, graph: Graph) {
        self.graph = graph;
    }

    /// Whether it would serve a guest that asks for so much.
    pub fn decide(
        &self,
        consumer: TeamId,
        request: Bytes,
        scratch: &mut Scratch,
        rng: &mut impl Rng,
    ) -> Decision {
        let request = Request { provider: self.team, consumer, bytes: request };
        self.judge.decide(&self.graph, scratch, request, rng)
    }

    /// It served so much after this decision.
    pub fn served(&mut self, consumer: TeamId, bytes: Bytes, decision: &Decision) {
        if matches!(decision.basis, Basis::Stranger { .. }) && bytes > Bytes(0) {
            self.judge.stranger_served(bytes);
            self.strangers.insert(consumer);
        }
        self.graph.add(consumer, self.team, bytes);
    }

    /// A member of ours took so much from another home.
    pub fn consumed(&mut self, provider: TeamId, bytes: Bytes) {
        if self.strangers.contains(&provider) {
            self.judge.stranger_returned(bytes);
        }
        self.graph.add(self.team, provider, bytes);
    }

    /// Others' dealings, which it was shown.
    pub fn learned(&mut self, consumer: TeamId, provider: TeamId, bytes: Bytes) {
        self.graph.add(consumer, provider, bytes);
    }

    /// Another day begins.
    pub fn begin_day(&mut self) {
        self.judge.decay_strangers();
    }
}

/// Decides a home's receipts again.
#[derive(Debug)]
pub(crate) struct Receipts {
    home: ByReceipts,
    scratch: Scratch,
    request: Bytes,
    day: u64,
}

const DAY: u64 = 86_400;

impl Receipts {
    pub(crate) fn new(config: JudgeConfig, team: TeamId, request: Bytes) -> Self {
        Self { home: ByReceipts::new(config, team), scratch: Scratch::new(), request, day: u64::MAX }
    }

    pub(crate) fn asking(self, request: Bytes) -> Self {
        Self { request, ..self }
    }

    /// What becomes of a session at our own access points; of others' only the memory remains.
    pub(crate) fn handle(&mut self, receipt: &Receipt, draw: &mut Draw) -> Option<Outcome> {
        self.pass_time(receipt.at.0 / DAY);
        let (own, provider) = (self.home.team, receipt.session.provider);
        if provider != own {
            if receipt.consumer == own {
                self.home.consumed(provider, receipt.weight);
            } else {
                self.home.learned(receipt.consumer, provider, receipt.weight);
            }
            return None;
        }
        let decision = self.home.decide(receipt.consumer, self.request, &mut self.scratch, draw);
        let probability = probability(&decision, self.home.judge.config());
        let Verdict::Granted(class) = decision.verdict else {
            return Some(Outcome { probability, ..Outcome::REFUSED });
        };
        if class != ServiceClass::Own {
            self.home.served(receipt.consumer, receipt.weight, &decision);
        }
        Some(Outcome { class: Some(class), bytes: receipt.weight, probability })
    }

    /// The memory of strangers fades with each day, at most a year of them.
    fn pass_time(&mut self, day: u64) {
        if self.day != u64::MAX {
            for _ in 0..day.saturating_sub(self.day).min(366) {
                self.home.begin_day();
            }
        }
        self.day = if self.day == u64::MAX { day } else { self.day.max(day) };
    }
}

/// With what probability a decision came out as it did, if the number that was drawn is the lowest.
fn probability(decision: &Decision, config: &JudgeConfig) -> PerMille {
    match decision.basis {
        Basis::Stranger { bootstrap: true, .. } | Basis::OwnMember => PerMille::WHOLE,
        Basis::Stranger { probability, .. } => probability,
        Basis::GaveNothing { .. } => PerMille(0),
        Basis::Flow { .. } | Basis::Quota { .. } => match config.rule {
            guestright_reciprocity::GrantRule::ByClass => PerMille::WHOLE,
            guestright_reciprocity::GrantRule::ByProbability => {
                decision.ind.map_or(PerMille(0), |ind| ind.per_mille())
            }
        },
    }
}
