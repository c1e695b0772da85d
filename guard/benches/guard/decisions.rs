//! Decisions: whether a guest is served, by a policy of the papers and by credit.

use crate::{Path, Round};
use guestright_reciprocity::{
    ChainLimits, ChainQuery, Graph, Judge, JudgeConfig, Policy, Request, Scratch, StrangerCounters,
};
use guestright_units::{Bytes, TeamId};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;

pub(crate) const PATHS: &[Path] = &[("decide-5-srm", decide), ("decide-5-credit", chains)];

const TEAMS: usize = 2_000;
const RECEIPTS: usize = 20_000;
/// In each round the same are asked, so that all rounds cost the same.
const QUESTIONS: usize = 5;
const REQUEST: Bytes = Bytes(10_000_000);

/// A community without a shape, in which everybody has been everybody's guest alike; and questions, provider first.
fn community() -> (Graph, Vec<(TeamId, TeamId)>) {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut team = || {
        let mut id = [0; 24];
        rng.fill_bytes(&mut id);
        TeamId(id)
    };
    let teams: Vec<_> = (0..TEAMS).map(|_| team()).collect();
    let mut receipt = || {
        let [consumer, provider] = [(); 2].map(|()| teams[rng.next_u32() as usize % TEAMS]);
        (consumer, provider, Bytes(u64::from(rng.next_u32() % 20_000_000)))
    };
    let receipts: Vec<_> = (0..RECEIPTS).map(|_| receipt()).filter(|(one, other, _)| one != other).collect();
    let questions = receipts.iter().map(|(consumer, provider, _)| (*provider, *consumer));
    let questions = questions.take(QUESTIONS).collect();
    (Graph::from_edges(receipts), questions)
}

fn decide() -> Round {
    let (graph, questions) = community();
    let config = JudgeConfig { policy: Policy::Srm, ..JudgeConfig::default() };
    let judge = Judge::new(config, StrangerCounters::default());
    let (mut scratch, mut rng) = (Scratch::new(), ChaCha8Rng::seed_from_u64(1));
    Box::new(move || {
        for &(provider, consumer) in &questions {
            let request = Request { provider, consumer, bytes: REQUEST };
            black_box(judge.decide(&graph, &mut scratch, request, &mut rng));
        }
    })
}

fn chains() -> Round {
    let (graph, questions) = community();
    Box::new(move || {
        for &(provider, consumer) in &questions {
            let query = ChainQuery { provider, consumer, bytes: REQUEST, bytes_min: Bytes(128 * 1_024) };
            black_box(graph.chains(query, ChainLimits::default(), |team| graph.capacity(provider, team)));
        }
    })
}
