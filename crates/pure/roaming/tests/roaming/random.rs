//! The machines under random bytes: proptest chooses some of them here (`PROPTEST_CASES=20000` more), libFuzzer many in
//! `fuzz/`.

use crate::sequences::{Tally, access_point, delegate, team_server, visitor};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_access_point_keeps_its_promises(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        access_point(&bytes);
    }

    #[test]
    fn a_home_keeps_its_promises(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        team_server(&bytes);
    }

    #[test]
    fn a_visitor_keeps_its_promises(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        visitor(&bytes);
    }

    #[test]
    fn a_delegate_keeps_its_promises(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        delegate(&bytes);
    }
}

/// How often what happened in some sequences that are always the same.
fn sum(machine: fn(&[u8]) -> Tally) -> Tally {
    let mut sum = Tally::new();
    for seed in 0..40 {
        let mut bytes = [0; 600];
        StdRng::seed_from_u64(seed).fill(&mut bytes[..]);
        for (what, times) in machine(&bytes) {
            *sum.entry(what).or_default() += times;
        }
    }
    sum
}

fn happened(machine: fn(&[u8]) -> Tally, wanted: &[&str]) {
    let sum = sum(machine);
    for what in wanted {
        assert!(sum.get(what).is_some_and(|times| *times >= 10), "{what} hardly ever happens: {sum:?}");
    }
}

#[test]
fn random_bytes_get_far_enough_to_mean_something() {
    happened(access_point, &["opened", "closing", "closed", "received", "connect", "refused", "blocked"]);
    happened(team_server, &["stored", "decided", "acknowledged", "revoked", "listed"]);
    happened(visitor, &["granted", "signed", "signed on a hold", "hold refused", "disputed", "ended"]);
    happened(delegate, &["granted", "signed", "ended", "refused"]);
}
