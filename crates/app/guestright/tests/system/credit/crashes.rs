//! Homes that are killed between any two writes, while debts move.

use super::MEGABYTE;
use super::region::{Region, Terms};
use crate::town::PATIENCE;
use guestright_testbed::inside_within;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const KILLS: usize = 30;
/// As many when it takes longer before something has come.
const KILLS_MAX: usize = 120;

#[test]
fn accounts_agree_after_homes_were_killed_thirty_times() {
    let test = "credit::crashes::accounts_agree_after_homes_were_killed_thirty_times";
    if !inside_within(test, Duration::from_secs(600)) {
        return;
    }
    const NAMES: [&str; 3] = ["p", "k", "c"];
    let region = Region::build(&[
        // Each crash costs it what it had taken of its allowance ahead.
        Terms::new("p", 200 * MEGABYTE as u64),
        Terms::new("k", 60 * MEGABYTE as u64),
        Terms::new("c", 60 * MEGABYTE as u64),
    ]);
    let mut all = NAMES.map(|name| region.open(name));
    assert_eq!(region.visits("c", "k", "one", 6 * MEGABYTE), 6 * MEGABYTE);
    assert_eq!(region.visits("k", "p", "one", 6 * MEGABYTE), 6 * MEGABYTE);
    let before = [("k", "c"), ("p", "k")].map(|(debtor, creditor)| region.agree(debtor, creditor));

    let (is_over, came) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (visits, kills) = thread::scope(|scope| {
        let visitor = scope.spawn(|| {
            let mut visits = 0;
            // No more sessions than a visitor keeps receipts of.
            while !is_over.load(Ordering::Relaxed) && visits < 25 {
                let visit = region.visit("p", "c", "one");
                // It is granted, or the home was away for too long: either is well.
                let answer = visit
                    .hear("to be answered", |event| event["event"] == "granted" || event["event"] == "ended");
                visits += 1;
                if answer["event"] == "granted" {
                    came.fetch_add(region.download("p", 400_000, Duration::from_secs(3)), Ordering::Relaxed);
                    region.leave(visit);
                }
            }
            visits
        });
        let mut rng = StdRng::seed_from_u64(30);
        let mut kills = 0;
        while kills < KILLS || came.load(Ordering::Relaxed) <= MEGABYTE && kills < KILLS_MAX {
            thread::sleep(Duration::from_millis(rng.random_range(100..1_200)));
            let number = kills % NAMES.len();
            all[number].home.kill();
            all[number].home = region.start_home(NAMES[number]);
            kills += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        (visitor.join().unwrap(), kills)
    });
    let came = came.into_inner();
    println!("{kills} kills, {visits} visits, {came} bytes came");
    // What an access point still had for its home, and what homes have for each other, arrives by itself. A hold that was
    // kept before a crash and asked for no further stays open for longer than this waits.
    region.come_home("c", "one");
    let deadline = Instant::now() + 2 * PATIENCE;
    let after = loop {
        let after = region.along_the_chain("p", "k", "c");
        if before[0] - after[0] == before[1] - after[1] || Instant::now() > deadline {
            break after;
        }
        thread::sleep(Duration::from_millis(100));
    };
    let [k_owes, p_owes, c_owed] = after;
    println!(
        "before: k owes c {}, p owes k {}; after: {k_owes}, {p_owes}; c owes p {}",
        before[0], before[1], -c_owed
    );
    assert_eq!(before[0] - k_owes, before[1] - p_owes, "the debt has moved along the chain");
    assert!(came > MEGABYTE, "{came}");
}
