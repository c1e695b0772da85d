//! Phones of a team that nobody at the household has met, and of one that is nowhere.

use super::air::{Air, Joined};
use crate::credit::region::Terms;
use crate::town::{inside, until};
use guestright_radius::Realm;
use guestright_units::TeamId;

const ALLOWANCE: u64 = 1_000_000_000;

/// The household where one joins has met `k`, and `k` has met `a`.
#[test]
fn a_phone_of_a_team_that_the_household_has_never_met_is_found_by_its_realm() {
    if !inside("phones::far::a_phone_of_a_team_that_the_household_has_never_met_is_found_by_its_realm") {
        return;
    }
    let air = Air::build_chain(&["p", "k", "a"].map(|name| Terms::new(name, ALLOWANCE)));
    let [k, a] = ["k", "a"].map(|name| air.team(name).to_string());
    assert_eq!(air.met("p"), [k.clone()].into(), "nothing is known of the other one");
    let profile = air.phone("a", "phone");
    let mut attempts = 0;
    // Where everything is slow, the first attempt may be over before the home was found.
    until("the phone to join", || {
        attempts += 1;
        let Joined { is_in, round_trips, reply, took, .. } = air.join(&profile);
        println!("attempt {attempts}: {is_in} after {took:?}, {round_trips} round trips {reply}");
        is_in
    });
    assert_eq!(air.met("p"), [k, a].into(), "where it is was learned");
    let homes = air.home_status("p")["homes"].clone();
    assert!(homes["records"].as_u64() >= Some(1) && homes["looked_for"] == 0, "{homes:#}");
    // Whom nobody knows: a sentence of its own, while hostapd still waits, and the others are served as before.
    let stranger = profile.replace(&Realm(air.team("a")).to_string(), &Realm(TeamId([9; 24])).to_string());
    let Joined { is_in, reply, took, log, .. } = air.join(&stranger);
    println!("{took:?}: {reply}");
    let words =
        "Your home cannot be reached from here: nobody whom this household knows can say where it is.";
    assert!(!is_in && reply.contains(words), "{reply:?}\n{log}");
    assert!(air.join(&profile).is_in);
}

#[test]
fn a_home_that_has_met_nobody_says_so() {
    if !inside("phones::far::a_home_that_has_met_nobody_says_so") {
        return;
    }
    let air = Air::build_chain(&[Terms::new("p", ALLOWANCE)]);
    let profile = air.phone("p", "phone");
    let stranger = profile.replace(&Realm(air.team("p")).to_string(), &Realm(TeamId([9; 24])).to_string());
    let Joined { is_in, reply, log, .. } = air.join(&stranger);
    assert!(!is_in && reply.contains("nobody whom this household knows"), "{reply:?}\n{log}");
    assert!(air.join(&profile).is_in);
}
