//! The verdict on one request, cheapest question first.

use crate::decision::{Basis, Decision, Verdict};
use crate::explanation::Explanation;
use crate::flow::{Ended, FlowPath, Limits, Query, Scratch};
use crate::policy::{Assessment, Side, Sides};
use crate::strangers::{StrangerConfig, StrangerCounters, Strangers};
use crate::{ClassBounds, Graph, Ind, PerMille, Policy, ServiceClass};
use guestright_units::{Bytes, TeamId};
use rand::Rng;

/// Whether the request itself counts as a debt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestWeight {
    /// `min(credit / (debt + request), 1)`: the default. A name without debts pays for its first session too, so a
    /// contributor cannot have one free session per fresh name.
    #[default]
    Added,
    /// `min(credit / debt, 1)`, as in the papers.
    Ignored,
}

/// How a ratio becomes a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrantRule {
    /// Everyone with a ratio above 0.000 is served, in the class of the ratio.
    #[default]
    ByClass,
    /// The ratio is the probability of being served, as in the papers; whoever is served gets the ratio's class. Who owes
    /// nothing is served with the probability of a stranger at least.
    ByProbability,
}

/// How a household decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgeConfig {
    /// How the ratio is reckoned.
    pub policy: Policy,
    /// Whether the request counts in it.
    pub request_weight: RequestWeight,
    /// For the whole decision: the debt may use half of the arcs, the credit what is left.
    ///
    /// The hop limit is part of what is measured: it applies to credit and debt alike. Leave it open where a short
    /// view of the debts must not help the requester.
    pub limits: Limits,
    /// How the ratio becomes a verdict.
    pub rule: GrantRule,
    /// How the ratio becomes a class.
    pub bounds: ClassBounds,
    /// How strangers are met.
    pub strangers: StrangerConfig,
}

impl Default for JudgeConfig {
    fn default() -> Self {
        Self {
            policy: Policy::Srm,
            request_weight: RequestWeight::default(),
            limits: Limits::default(),
            rule: GrantRule::default(),
            bounds: ClassBounds::default(),
            strangers: StrangerConfig::default(),
        }
    }
}

/// Decides for one household. Holds its settings and its memory of strangers.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    config: JudgeConfig,
    strangers: Strangers,
}

/// Who asks whom for how much.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Who is asked, and decides.
    pub provider: TeamId,
    /// Who asks.
    pub consumer: TeamId,
    /// About so much.
    pub bytes: Bytes,
}

/// What a request weighs, with the paths of credit and debt as far as they were asked for.
#[derive(Debug)]
struct Weighed {
    basis: Basis,
    ind: Option<Ind>,
    /// With what probability the consumer is served if the ratio has nothing better: a stranger's, for who owes nothing.
    chance_min: PerMille,
    owed_to_consumer: Vec<FlowPath>,
    owed_by_consumer: Vec<FlowPath>,
}

impl Weighed {
    fn without_flow(basis: Basis, ind: Option<Ind>) -> Self {
        let (owed_to_consumer, owed_by_consumer) = (Vec::new(), Vec::new());
        Self { basis, ind, chance_min: PerMille(0), owed_to_consumer, owed_by_consumer }
    }
}

impl Judge {
    /// Decides by `config` and goes on from stored stranger counters, or from the default ones.
    pub const fn new(config: JudgeConfig, counters: StrangerCounters) -> Self {
        Self { config, strangers: Strangers::new(config.strangers, counters) }
    }

    /// Decides by `config` from now on, with the same memory of strangers.
    pub const fn reconfigure(&mut self, config: JudgeConfig) {
        *self = Self::new(config, self.strangers.counters());
    }

    /// The settings by which it decides.
    pub const fn config(&self) -> &JudgeConfig {
        &self.config
    }

    /// The stranger counters, to be stored.
    pub const fn stranger_counters(&self) -> StrangerCounters {
        self.strangers.counters()
    }

    /// A stranger was given that much.
    pub fn stranger_served(&mut self, bytes: Bytes) {
        self.strangers.served(bytes);
    }

    /// A team that had been served as a stranger gave that much back.
    pub fn stranger_returned(&mut self, bytes: Bytes) {
        self.strangers.returned(bytes);
    }

    /// Lets the memory of strangers fade; the caller decides how often, for example once a day.
    pub fn decay_strangers(&mut self) {
        self.strangers.decay();
    }

    /// Whether the provider serves the consumer.
    ///
    /// A limit on arcs never helps the consumer: with the same number drawn, the verdict under the limit is the same or
    /// worse. (Not so for a [`Policy::NetFlow`] that had to be trimmed, whose figure depends on the flow that was found.)
    ///
    /// `rng` is drawn from once if the consumer is met as a stranger and the provider has its credit, or if the rule is
    /// [`GrantRule::ByProbability`] and a ratio was reckoned; otherwise not at all.
    pub fn decide(
        &self,
        graph: &Graph,
        scratch: &mut Scratch,
        request: Request,
        rng: &mut impl Rng,
    ) -> Decision {
        let weighed = self.weigh(graph, scratch, request, false);
        self.decision(&weighed, rng)
    }

    /// Decides alike and shows the chains of debts behind it.
    pub fn explain(
        &self,
        graph: &Graph,
        scratch: &mut Scratch,
        request: Request,
        rng: &mut impl Rng,
    ) -> Explanation {
        let Request { provider, consumer, .. } = request;
        let weighed = self.weigh(graph, scratch, request, true);
        let decision = self.decision(&weighed, rng);
        let Weighed { owed_to_consumer, owed_by_consumer, .. } = weighed;
        Explanation { provider, consumer, decision, owed_to_consumer, owed_by_consumer }
    }

    /// The cascade. Also gives the paths of credit and debt if asked to.
    fn weigh(&self, graph: &Graph, scratch: &mut Scratch, request: Request, with_paths: bool) -> Weighed {
        let Request { provider, consumer, .. } = request;
        if provider == consumer {
            return Weighed::without_flow(Basis::OwnMember, None);
        }
        let (gave, took) = (graph.in_capacity(consumer), graph.out_capacity(consumer));
        if !graph.knows(consumer) {
            return Weighed::without_flow(self.stranger(graph, provider, Bytes(0)), None);
        }
        if let Policy::Quota { bytes } = self.config.policy {
            let basis = Basis::Quota { gave, quota: bytes };
            return Weighed::without_flow(basis, Some(Ind::ratio(gave.0, bytes.0)));
        }
        let weight = match self.config.request_weight {
            RequestWeight::Added => request.bytes,
            RequestWeight::Ignored => Bytes(0),
        };
        let Limits { hops_max, arcs_max: arcs_left } = self.config.limits;
        let mut assessment =
            Assessment { graph, scratch, provider, consumer, weight, hops_max, arcs_left, with_paths };
        if gave == Bytes(0) {
            return match assessment.owes_anything() {
                None => Weighed::without_flow(self.stranger(graph, provider, Bytes(0)), None),
                Some(owed_by_consumer) => Weighed {
                    owed_by_consumer,
                    ..Weighed::without_flow(Basis::GaveNothing { took }, Some(Ind::ZERO))
                },
            };
        }
        let Sides { credit, debt } = assessment.run(self.config.policy);
        let (owes_nothing, ind) =
            (debt.bytes == Bytes(0), Ind::ratio(credit.bytes.0, debt.bytes.0.saturating_add(weight.0)));
        // Whoever owes nothing is met as a stranger at least: to be owed too little is not worse than to be unknown.
        if owes_nothing && (credit.bytes == Bytes(0) || ind == Ind::ZERO) {
            let ratio = (credit.bytes > Bytes(0)).then_some(ind);
            return Weighed {
                owed_to_consumer: credit.paths,
                ..Weighed::without_flow(self.stranger(graph, provider, credit.bytes), ratio)
            };
        }
        let chance_min = if owes_nothing { self.stranger_chance(graph, provider) } else { PerMille(0) };
        let basis = Basis::Flow {
            owed_to_consumer: credit.bytes,
            owed_by_consumer: debt.bytes,
            request: weight,
            gave,
            took,
            exact: credit.exact && debt.exact,
        };
        let (owed_to_consumer, owed_by_consumer) = (credit.paths, debt.paths);
        Weighed { basis, ind: Some(ind), chance_min, owed_to_consumer, owed_by_consumer }
    }

    fn stranger(&self, graph: &Graph, provider: TeamId, owed_to_consumer: Bytes) -> Basis {
        let probability = self.stranger_chance(graph, provider);
        let bootstrap = self.strangers.bootstraps(graph.in_capacity(provider));
        Basis::Stranger { owed_to_consumer, probability, bootstrap }
    }

    fn stranger_chance(&self, graph: &Graph, provider: TeamId) -> PerMille {
        let bootstrap = self.strangers.bootstraps(graph.in_capacity(provider));
        if bootstrap { PerMille::WHOLE } else { self.strangers.probability() }
    }

    fn decision(&self, weighed: &Weighed, rng: &mut impl Rng) -> Decision {
        let &Weighed { basis, ind, chance_min, .. } = weighed;
        let class = match (basis, ind) {
            (Basis::OwnMember, _) => Some(ServiceClass::Own),
            (Basis::Stranger { probability, bootstrap, .. }, _) => {
                (bootstrap || probability.happens(rng)).then_some(ServiceClass::Lowest)
            }
            (Basis::GaveNothing { .. }, _) | (_, None) => None,
            (Basis::Flow { .. } | Basis::Quota { .. }, Some(ind)) => {
                let served = match self.config.rule {
                    GrantRule::ByClass => true,
                    GrantRule::ByProbability => ind.per_mille().max(chance_min).happens(rng),
                };
                if served { self.config.bounds.class(ind) } else { None }
            }
        };
        Decision { verdict: class.map_or(Verdict::Refused, Verdict::Granted), ind, basis }
    }
}

impl Assessment<'_> {
    /// For a consumer that gave nothing: whether it owes the provider a byte, and along which paths if asked to.
    ///
    /// A search that the budget ends counts as a debt.
    fn owes_anything(&mut self) -> Option<Vec<FlowPath>> {
        if self.with_paths {
            let Side { bytes, paths, .. } = self.debt();
            return (bytes > Bytes(0)).then_some(paths);
        }
        // Nothing to search for, however little may be spent on it.
        if self.debt_bound() == Bytes(0) {
            return None;
        }
        let limits = Limits { hops_max: self.hops_max, arcs_max: self.arcs_left / 2 };
        let query = Query { cutoff: Bytes(1), limits, ..Query::new(self.consumer, self.provider) };
        let flow = query.run(self.graph, self.scratch);
        (flow.value > Bytes(0) || flow.ended == Ended::ArcBudget).then(Vec::new)
    }
}

#[cfg(test)]
mod tests;
