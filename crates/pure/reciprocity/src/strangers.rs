use crate::PerMille;
use guestright_units::Bytes;

/// How strangers are met: teams with which neither credit nor debt connects the provider.
///
/// The idea, to answer strangers as strangers answered before, is the adaptive stranger policy of Feldman, Lai, Stoica
/// and Chuang, EC 2004, <https://doi.org/10.1145/988772.988788>. The start and the two bounds are ours: the papers'
/// rule alone would let a new provider, which owes nobody, refuse everybody and so never earn a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrangerConfig {
    /// As long as others owe the provider less than this, it serves every stranger.
    pub bootstrap_target: Bytes,
    /// Added to what strangers returned, so that a fresh count does not refuse all.
    pub returned_prior: Bytes,
    /// Added to what strangers were given, so that a fresh count does not divide by zero.
    pub given_prior: Bytes,
    /// Strangers are never served with a larger probability, once the provider has its credit.
    pub probability_max: PerMille,
    /// Nor with a smaller one, so that groups of teams that never met can come together.
    pub probability_min: PerMille,
    /// What the counters keep at each [`Strangers::decay`].
    pub decay: PerMille,
}

impl Default for StrangerConfig {
    fn default() -> Self {
        Self {
            bootstrap_target: Bytes(100_000_000),
            returned_prior: Bytes(10_000_000),
            given_prior: Bytes(10_000_000),
            probability_max: PerMille(500),
            probability_min: PerMille(20),
            decay: PerMille(900),
        }
    }
}

/// What passed between the provider and strangers, fading with time. Plain numbers, to be stored as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrangerCounters {
    /// What strangers were given.
    pub given: Bytes,
    /// What teams that had been strangers gave back.
    pub returned: Bytes,
}

/// The stranger policy and its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strangers {
    config: StrangerConfig,
    counters: StrangerCounters,
}

impl Strangers {
    /// Goes on from stored counters, or from the default ones.
    pub const fn new(config: StrangerConfig, counters: StrangerCounters) -> Self {
        Self { config, counters }
    }

    /// The counters, to be stored.
    pub const fn counters(&self) -> StrangerCounters {
        self.counters
    }

    /// A stranger was given that much.
    pub fn served(&mut self, bytes: Bytes) {
        self.counters.given = self.counters.given.saturating_add(bytes);
    }

    /// A team that had been served as a stranger gave that much back.
    pub fn returned(&mut self, bytes: Bytes) {
        self.counters.returned = self.counters.returned.saturating_add(bytes);
    }

    /// Lets the past fade; the caller decides how often, for example once a day.
    pub fn decay(&mut self) {
        let share = u128::from(self.config.decay.0.min(1_000));
        for counter in [&mut self.counters.given, &mut self.counters.returned] {
            let kept = u128::from(counter.0) * share / 1_000;
            counter.0 = u64::try_from(kept).expect("a share of a number is no larger");
        }
    }

    /// Whether a provider to which others owe `credit` still serves every stranger.
    pub fn bootstraps(&self, credit: Bytes) -> bool {
        credit < self.config.bootstrap_target
    }

    /// How likely a stranger is served otherwise: `(returned + a) / (given + b)` within its bounds.
    pub fn probability(&self) -> PerMille {
        let sum = |count: Bytes, prior: Bytes| u128::from(count.0) + u128::from(prior.0);
        let returned = sum(self.counters.returned, self.config.returned_prior);
        let given = sum(self.counters.given, self.config.given_prior).max(1);
        let share = u16::try_from((returned * 1_000 / given).min(1_000)).expect("at most 1000");
        let share = PerMille(share);
        share.min(self.config.probability_max).max(self.config.probability_min).min(PerMille::WHOLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_strangers_as_strangers_answered() {
        let mut strangers = Strangers::default();
        assert_eq!(strangers.probability(), PerMille(500), "nothing known: the largest");
        strangers.served(Bytes(90_000_000));
        assert_eq!(strangers.probability(), PerMille(100));
        strangers.returned(Bytes(20_000_000));
        assert_eq!(strangers.probability(), PerMille(300));
        strangers.served(Bytes(u64::MAX));
        assert_eq!(strangers.probability(), PerMille(20), "never none");
        assert_eq!(Strangers::new(StrangerConfig::default(), strangers.counters()), strangers);
    }

    #[test]
    fn the_past_fades() {
        let mut strangers = Strangers::default();
        strangers.served(Bytes(1_000));
        strangers.decay();
        assert_eq!(strangers.counters().given, Bytes(900));
        for _ in 0..100 {
            strangers.decay();
        }
        assert!(strangers.counters().given < Bytes(10));
    }

    #[test]
    fn bootstraps_until_others_owe_enough() {
        let strangers = Strangers::default();
        assert!(strangers.bootstraps(Bytes(99_999_999)));
        assert!(!strangers.bootstraps(Bytes(100_000_000)));
    }
}
