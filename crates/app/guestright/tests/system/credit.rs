//! A town of real households that serve each other's people on what others owe them: homes, access points and visitors.

mod attacks;
mod crashes;
mod delay;
pub(crate) mod meter;
mod region;

use crate::town::{PATIENCE, inside};
use region::{Region, Terms};
use std::time::Duration;

const MEGABYTE: usize = 1_000_000;
/// Nothing comes for so long: then nothing more will. Where all is to come, [`PATIENCE`] is waited.
const SILENCE: Duration = Duration::from_secs(5);

#[test]
fn a_guest_is_served_on_a_third_households_debt() {
    if !inside("credit::a_guest_is_served_on_a_third_households_debt") {
        return;
    }
    // The provider, one that it owes, and the guest's.
    let region = Region::build(&[
        Terms::new("p", MEGABYTE as u64),
        Terms::new("k", 50 * MEGABYTE as u64),
        Terms::new("c", 50 * MEGABYTE as u64),
    ]);
    let _all = ["p", "k", "c"].map(|name| region.open(name));
    assert_eq!(region.visits("c", "k", "one", 5 * MEGABYTE), 5 * MEGABYTE);
    assert_eq!(region.visits("k", "p", "one", 4 * MEGABYTE), 4 * MEGABYTE);
    let (k_owes, p_owes) = (region.agree("k", "c"), region.agree("p", "k"));
    assert!(k_owes >= 5_000_000 && p_owes >= 4_000_000, "{k_owes} {p_owes}");

    let visit = region.arrive_on_credit("p", "c", "one");
    let came = region.download("p", 3 * MEGABYTE, PATIENCE);
    println!("{came} bytes came");
    let why = region.ask("p", "home", &["why", &region.team("c").to_string()]);
    println!("{why:#}");
    println!("{}", region.leave(visit));
    assert_eq!(came, 3 * MEGABYTE, "{}", region.log("p", "home"));
    region.come_home("c", "one");
    let after = region.settled("p", "k", "c");
    let [k_owes_now, p_owes_now, c_owed] = after;
    println!("k owes c {k_owes_now}, p owes k {p_owes_now}, p owes c {c_owed}");
    let on_credit = p_owes - p_owes_now;
    assert_eq!(k_owes - k_owes_now, on_credit, "the debt has moved along the chain");
    // What is not on the chain is on the allowance, of which there is a megabyte.
    assert!((2_000_000..=3_500_000).contains(&on_credit), "{on_credit}");
    assert!((-1_000_000..=0).contains(&c_owed), "{c_owed}");
    let words = why["lines"].as_array().unwrap().iter().filter_map(|line| line.as_str());
    let chain = format!("on what our team owes {}, which owes it: ", region.team("k").short());
    assert!(words.clone().any(|line| line.starts_with(&chain)), "{why}");
}

#[test]
fn a_visit_on_several_holds_leaves_accounts_that_agree() {
    if !inside("credit::a_visit_on_several_holds_leaves_accounts_that_agree") {
        return;
    }
    let region = Region::build(&[
        Terms::new("p", MEGABYTE as u64),
        Terms::new("k", 60 * MEGABYTE as u64),
        Terms::new("c", 60 * MEGABYTE as u64),
    ]);
    let _all = ["p", "k", "c"].map(|name| region.open(name));
    region.visits("c", "k", "one", 14 * MEGABYTE);
    region.visits("k", "p", "one", 14 * MEGABYTE);
    let (k_owes, p_owes) = (region.agree("k", "c"), region.agree("p", "k"));
    // No hold is for more than 8 MB in the beginning, so this takes two or more.
    let visit = region.arrive_on_credit("p", "c", "one");
    let came = region.download("p", 12 * MEGABYTE, PATIENCE);
    println!("{}", region.leave(visit));
    region.come_home("c", "one");
    let after = region.settled("p", "k", "c");
    println!("{came} bytes came; k owed c {k_owes}, p owed k {p_owes}; now {after:?}");
    assert_eq!(came, 12 * MEGABYTE, "{}", region.log("p", "home"));
    assert_eq!(k_owes - after[0], p_owes - after[1], "the debt has moved along the chain");
    assert!((-1_000_000..=0).contains(&after[2]), "{after:?}");
}

/// How long after it was granted service the guest was told of a better class.
fn time_to_rise(region: &Region, at: &str, team: &str) -> Duration {
    let visit = region.visit(at, team, "one");
    let granted = visit.hear("to be granted service", |event| event["event"] == "granted");
    let risen = if granted["class"] == "lowest" {
        visit.hear("to rise", |event| event["event"] == "granted" && event["class"] != "lowest")
    } else {
        granted.clone()
    };
    let time = |event: &serde_json::Value| event["time_us"].as_u64().unwrap();
    region.download(at, 100_000, PATIENCE);
    region.leave(visit);
    region.come_home(team, "one");
    Duration::from_micros(time(&risen) - time(&granted))
}

/// The time is printed and not judged: that is what measurements are for. Between any two homes it is 50 ms, one way.
#[test]
fn the_class_rises_while_the_guest_is_online_already() {
    if !inside("credit::the_class_rises_while_the_guest_is_online_already") {
        return;
    }
    let terms = ["p", "k", "l", "c"].map(|name| Terms::new(name, 60 * MEGABYTE as u64));
    let region = Region::build_with_delay(&terms, Some(Duration::from_millis(25)));
    let _all = terms.map(|terms| region.open(terms.name));
    // p owes k, k owes l, l owes c.
    for (creditor, debtor) in [("c", "l"), ("l", "k"), ("k", "p")] {
        assert_eq!(region.visits(creditor, debtor, "two", 2 * MEGABYTE), 2 * MEGABYTE);
        region.agree(debtor, creditor);
    }
    for (guest, between) in [("l", "one home"), ("c", "two homes")] {
        // Elsewhere it gets what it is to show.
        let visit = region.arrive("k", guest, "one");
        visit.hear("to be given receipts to show", |event| event["event"] == "showing");
        region.leave(visit);
        let times = [(); 4].map(|()| time_to_rise(&region, "p", guest).as_millis());
        println!("{between} between: {times:?} ms, the first where no links are up yet");
    }
}
