//! The protocol's machines, driven by bytes: what happens to them next, and next, and next.
//!
//! The drivers and the promises are those of `crates/pure/roaming/tests/roaming/sequences.rs`, where proptest chooses the
//! bytes.

#[path = "../../crates/pure/roaming/tests/roaming/sequences.rs"]
mod sequences;

use crate::seeds::Seed;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// An access point among visitors, homes and a firewall.
pub fn machine_access_point(bytes: &[u8]) {
    sequences::access_point(bytes);
}

/// A home that signs for its members.
pub fn machine_delegate(bytes: &[u8]) {
    sequences::delegate(bytes);
}

/// A home and its store.
pub fn machine_home(bytes: &[u8]) {
    sequences::team_server(bytes);
}

/// A visitor and an access point.
pub fn machine_visitor(bytes: &[u8]) {
    sequences::visitor(bytes);
}

/// Any bytes are a sequence: these are some that get far.
pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    for target in ["machine_access_point", "machine_delegate", "machine_home", "machine_visitor"] {
        for number in 0..3 {
            let mut bytes = vec![0; 400];
            StdRng::seed_from_u64(number).fill(&mut bytes[..]);
            seeds.push((target, format!("random-{number}"), bytes));
        }
    }
}
