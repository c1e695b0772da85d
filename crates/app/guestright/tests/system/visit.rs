//! A visitor's program: what it leaves on the visitor's own computer.

use crate::town::services::AccessLog;
use crate::town::{Rules, Town, inside, until};
use rustix::process::Signal;

fn rules(town: &Town) -> String {
    town.world.run("member", "nft", &["list", "ruleset"]).unwrap()
}

#[test]
fn a_visit_leaves_no_rules_on_the_visitors_computer() {
    if !inside("visit::a_visit_leaves_no_rules_on_the_visitors_computer") {
        return;
    }
    // A visitor that was killed and comes back is served once its earlier session is over, at most one and a half intervals
    // later.
    let town = Town::build(Rules::with_interval(5_000));
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    let (_home, _ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    assert!(rules(&town).contains("table inet guestright_visit"), "it counts with the packet filter");
    town.leave(visit);
    assert_eq!(rules(&town), "");

    let (mut visit, _) = town.arrive("member", "guests", "second");
    visit.kill();
    assert!(rules(&town).contains("guestright_visit"), "a killed program cannot clean up");
    let (visit, _) = town.arrive("member", "guests", "second");
    town.leave(visit);
    assert_eq!(rules(&town), "", "the next one cleans up after it");
}

#[test]
fn a_visit_that_is_interrupted_while_it_connects_leaves_no_rules() {
    if !inside("visit::a_visit_that_is_interrupted_while_it_connects_leaves_no_rules") {
        return;
    }
    let town = Town::build(Rules::default());
    // Nobody has this address, so the connection neither comes about nor is refused.
    let mut visit = town.visit("member", "guests", "member", &["--access-point", "10.11.0.99"]);
    until("it to begin to count", || !rules(&town).is_empty());
    visit.signal(Signal::INT);
    let status = visit.wait();
    assert_eq!(rules(&town), "", "{status}");
}
