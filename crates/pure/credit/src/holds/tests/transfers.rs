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

/// The same short run again and again, and each time one home is killed, before or after another write.
#[test]
fn a_kill_at_any_single_write_loses_nothing() {
    let setup = Setup { honest: 4, hostile: 0, kill_percent: 0, ..Setup::default() };
    let (mut at, mut writes) = (0, 1);
    while at < writes {
        let mut world = World::new(Setup { kill_at: Some(at), ..setup }, 3);
        assert_eq!(world.run_transfers(12), Ok(()), "killed at {at}");
        assert_eq!(world.sums.kills, 1, "killed at {at}");
        writes = writes.max(world.sums.writes.min(150));
        at += 1;
    }
    println!("{at} kills");
    assert!(at >= 100, "{at} kills");
}
