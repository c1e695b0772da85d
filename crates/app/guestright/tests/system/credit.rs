//! A town of real households that serve each other's people on what others owe them: homes, access points and visitors.

mod attacks;
mod region;

use crate::town::inside;
use region::{Region, Terms};
use std::time::Duration;

const MEGABYTE: usize = 1_000_000;
/// Nothing comes for so long: then nothing more will.
const PATIENCE: Duration = Duration::from_secs(5);

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

    let visit = region.arrive("p", "c", "one");
    let came = region.download("p", 3 * MEGABYTE, PATIENCE);
    println!("{came} bytes came");
    let why = region.ask("p", "home", &["why", &region.team("c").to_string()]);
    println!("{why:#}");
    println!("{}", region.leave(visit));
    assert_eq!(came, 3 * MEGABYTE, "{}", region.log("p", "home"));
    region.come_home("c", "one");
    let after = [("k", "c"), ("p", "k"), ("p", "c")].map(|(debtor, creditor)| region.agree(debtor, creditor));
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
