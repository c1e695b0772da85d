//! Decisions: whether a guest is served, by a policy of the papers and by credit.

use crate::{Path, Round};
use guestright_reciprocity::{
    ChainLimits, ChainQuery, Graph, Judge, JudgeConfig, Policy, Request, Scratch, StrangerCounters,
};
use guestright_units::{Bytes, TeamId};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;

pub(crate) const PATHS: &[Path] = &[("decide-srm", decide), ("decide-credit", chains)];

const TEAMS: usize = 2_000;
const RECEIPTS: usize = 20_000;
const REQUEST: Bytes = Bytes(10_000_000);

/// A community without a shape, in which everybody has been everybody's guest alike; and questions, provider first.
fn community() -> (Graph, impl Iterator<Item = (TeamId, TeamId)>) {
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
    let questions: Vec<_> = receipts.iter().map(|(consumer, provider, _)| (*provider, *consumer)).collect();
    (Graph::from_edges(receipts), questions.into_iter())
}

fn decide() -> Round {
    let (graph, mut questions) = community();
    let config = JudgeConfig { policy: Policy::Srm, ..JudgeConfig::default() };
    let judge = Judge::new(config, StrangerCounters::default());
    let (mut scratch, mut rng) = (Scratch::new(), ChaCha8Rng::seed_from_u64(1));
    Box::new(move || {
        let (provider, consumer) = questions.next().unwrap();
        let request = Request { provider, consumer, bytes: REQUEST };
        black_box(judge.decide(&graph, &mut scratch, request, &mut rng));
    })
}

fn chains() -> Round {
    let (graph, mut questions) = community();
    Box::new(move || {
        let (provider, consumer) = questions.next().unwrap();
        let query = ChainQuery { provider, consumer, bytes: REQUEST, bytes_min: Bytes(128 * 1_024) };
        black_box(graph.chains(query, ChainLimits::default(), |team| graph.capacity(provider, team)));
    })
}
