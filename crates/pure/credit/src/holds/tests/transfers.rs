//! Transfers among honest homes that are killed at any write.

use super::world::{Setup, World};

/// Each account is what the receipts come to, and what is called good or acknowledged is on the disk at that moment.
#[test]
fn a_thousand_transfers_between_five_homes_that_are_killed_lose_nothing() {
    // Nobody is hostile; the network loses a tenth and repeats a tenth.
    let setup = Setup { honest: 5, hostile: 0, kill_percent: 5, ..Setup::default() };
    let mut world = World::new(setup, 1);
    assert_eq!(world.run_transfers(1_000), Ok(()));
    println!("{} transfers, {} kills at a write", world.sums.transfers, world.sums.kills);
    assert!(world.sums.kills > 500, "{} kills", world.sums.kills);
}
