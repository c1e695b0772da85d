mod replayed;

use super::*;
use guestright_credit::HoldState;
use guestright_units::Bytes;
use std::collections::BTreeSet;

/// All that is not "none" and has no case of its own below.
const CHEATS: [&str; 10] = [
    "whitewash",
    "fan",
    "ring",
    "over-claims",
    "junk",
    "flood",
    "dice",
    "spoofed-debts",
    "early-release",
    "double-cashing",
];

/// A small town with a large coalition: 40 homes over 10 days.
fn small() -> Settings {
    Settings::new()
        .with("homes", 40)
        .with("days", 10)
        .with("people.newcomers", 4)
        .with("people.newcomers_day", 3)
        .with("people.visits_per_day", 3.0)
        .with("coalition.flood_day", 5)
        .with("coalition.junk_names", 16)
}

fn run(settings: Settings, seed: u64) -> Outcome {
    let settings = settings.complete(TownSettings::SETTINGS).unwrap();
    Town.check(&settings).unwrap();
    Town.run(&settings, Seed::from_number(seed)).unwrap()
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics[name].unwrap_or_else(|| panic!("{name} was not measured"))
}

#[track_caller]
fn assert_invariants(outcome: &Outcome, what: &str) {
    for slack in
        ["slack_mb", "slack_signed_mb", "overdraft_slack_mb", "household_slack_mb", "allowance_slack_mb"]
    {
        // Without a coalition there is no bound.
        let slack_mb = outcome.metrics[slack].unwrap_or(0.0);
        assert!(slack_mb >= 0.0, "{what}: {slack} is {slack_mb}: {outcome:#?}");
    }
}

#[test]
fn no_cheat_takes_more_on_credit_than_the_bound_in_any_prefix() {
    for cheat in CHEATS {
        for (people, seed) in [(5, 1), (40, 2)] {
            let settings = small().with("cheat", cheat).with("coalition.people", people);
            let outcome = run(settings, seed);
            assert_invariants(&outcome, cheat);
            assert!(metric(&outcome, "books_apart_mb") < 1e-6, "{cheat}: homes disagree");
            let is_vouched = !["whitewash", "dice"].contains(&cheat);
            let taken = metric(&outcome, "taken_mb");
            assert_eq!(taken > 0.0, is_vouched, "{cheat} took {taken} MB on credit");
        }
    }
}

#[test]
fn the_bound_holds_where_homes_are_silent_and_crash_and_messages_are_lost() {
    for (cheat, loss) in [("silent", 0.0), ("crashes", 0.0), ("fan", 0.05), ("crashes", 0.05)] {
        let settings =
            small().with("cheat", cheat).with("network.loss", loss).with("coalition.crash_days", 2.0);
        let outcome = run(settings, 3);
        assert_invariants(&outcome, cheat);
        assert!(metric(&outcome, "taken_mb") > 0.0);
    }
}

#[test]
fn the_bound_is_tight_without_an_overdraft_and_with_one() {
    for overdraft in [false, true] {
        let settings =
            small().with("cheat", "fan").with("coalition.people", 40).with("credit.overdraft", overdraft);
        let outcome = run(settings.with("credit.overdraft_mb", 1_000.0), 4);
        assert_invariants(&outcome, "fan");
        let ratio = metric(&outcome, "taken_over_given");
        let most = if overdraft { 2.0 } else { 1.0 };
        assert!((most - 0.5..=most).contains(&ratio), "{ratio} with overdraft {overdraft}");
    }
}

/// The homes' machines at the end of a small town.
fn homes_after(cheat: &str, look: impl Fn(&World)) {
    let settings = small().with("cheat", cheat).complete(TownSettings::SETTINGS).unwrap();
    let settings = TownSettings::read(&settings).unwrap();
    let mut world = World::new(&settings, &Streams::new(Seed::from_number(11)));
    world.run();
    look(&world);
}

/// Both are cheats of the protocol that the machines have to see, not only of the accounts.
#[test]
fn receipts_are_cashed_where_they_do_not_belong_and_refused() {
    let refusals = |world: &World, kind: &str| -> u64 {
        world.homes.iter().filter_map(|home| home.holds.refusals().get(kind)).sum()
    };
    homes_after("double-cashing", |world| {
        assert!(refusals(world, "payment") > 10, "{}", refusals(world, "payment"))
    });
    homes_after("fan", |world| assert_eq!(refusals(world, "payment"), 0));
}

#[test]
fn holds_are_released_early_by_a_home_in_the_middle() {
    homes_after("early-release", |world| {
        let middle = home::team(world.coalition.homes[1]);
        let released = world.homes.iter().flat_map(|home| home.holds.holds()).filter(|(_, hold)| {
            let is_behind = hold.terms.between.first() == Some(&middle) && hold.terms.provider != middle;
            is_behind && matches!(hold.state, HoldState::Settled { used: Bytes(0), .. })
        });
        assert!(released.count() > 0);
    });
}

/// The papers' rules serve as often as somebody asks: the check above is one that can fail.
#[test]
fn the_papers_rules_exceed_the_bound() {
    for policy in ["srm", "netflow", "gmf", "quota"] {
        let outcome = run(small().with("policy", policy).with("cheat", "fan"), 5);
        let (slack, of_bound) = (metric(&outcome, "slack_mb"), metric(&outcome, "of_bound"));
        assert!(slack < -1_000.0 && of_bound > 2.0, "{policy}: {slack} MB, {of_bound} times the bound");
    }
}

#[test]
fn without_a_coalition_everybody_is_served_and_the_books_agree() {
    let outcome = run(small(), 6);
    assert_invariants(&outcome, "none");
    assert!(metric(&outcome, "served_pct") > 99.0, "{outcome:#?}");
    assert!(metric(&outcome, "credit_pct") > 0.0);
    assert_eq!(metric(&outcome, "newcomer_day_pct"), 100.0);
    assert_eq!(metric(&outcome, "books_apart_mb"), 0.0);
    assert_eq!(metric(&outcome, "uncommitted_mb"), 0.0);
}

#[test]
fn holds_wait_for_the_network_and_never_longer_than_is_set() {
    let fast = run(small().with("network.delay_ms", 5.0), 7);
    let slow = run(small().with("network.delay_ms", 80.0), 7);
    let p50 = |outcome: &Outcome| metric(outcome, "hold_p50_ms");
    assert!(p50(&fast) * 3.0 < p50(&slow), "{} and {}", p50(&fast), p50(&slow));
    let short = run(small().with("network.delay_ms", 80.0).with("credit.wait_ms", 150), 7);
    assert!(metric(&short, "hold_p99_ms") <= 150.0);
}

#[test]
fn the_same_settings_and_seed_are_the_same_town() {
    let settings = small().with("cheat", "ring");
    assert_eq!(run(settings.clone(), 8), run(settings.clone(), 8));
    assert_ne!(run(settings.clone(), 8), run(settings, 9));
}

/// About one of three homes has no access point, so about one of three attempts finds none.
#[test]
fn who_does_not_know_the_homes_goes_to_some_in_vain() {
    let [knows, blind] = [true, false].map(|knows| {
        let settings = small().with("cheat", "whitewash").with("people.homeless", 1.0 / 3.0);
        run(settings.with("coalition.people", 100).with("coalition.knows_homes", knows), 11)
    });
    let attempts = |outcome| metric(outcome, "attempts");
    let found = attempts(&blind) / attempts(&knows);
    assert!((0.4..0.9).contains(&found), "{found} of the attempts");
    assert!(metric(&blind, "strangers_mb") < metric(&knows, "strangers_mb"));
    assert!(metric(&blind, "volume_pct") > metric(&knows, "volume_pct"));
}

#[test]
fn every_metric_is_there() {
    for policy in ["credit", "srm"] {
        let outcome = run(small().with("policy", policy).with("cheat", "fan"), 10);
        let there: BTreeSet<_> = outcome.metrics.into_keys().collect();
        let wanted: BTreeSet<_> = tally::METRICS.iter().map(|info| info.name).collect();
        assert_eq!(there, wanted, "{policy}");
    }
}
