//! The receipts of one home of the town, decided again: as the home really did, and as it would have under another policy.

use crate::town::home::{Home, number, team};
use crate::town::past::{Decided, Past};
use crate::town::people::{People, bytes};
use crate::town::settings::TownSettings;
use crate::town::world::World;
use guestright_credit::Overdraft;
use guestright_engine::{Instant, Streams};
use guestright_experiment::Settings;
use guestright_reciprocity::{JudgeConfig, PerMille, Policy, ServiceClass};
use guestright_replay::{ByReceipts, DryRun};
use guestright_roaming::home::{Config, CreditConfig};
use guestright_units::{Bytes, Seed, UnixSeconds};
use std::collections::BTreeMap;

/// How a session was served, and how much of it.
type Served = (Option<ServiceClass>, u64);

/// The town's first grant is for this much.
const FIRST: Bytes = Bytes(8_000_000);

/// A town of few homes that go out much.
fn town(policy: &str) -> TownSettings {
    let settings = Settings::new()
        .with("policy", policy)
        .with("homes", 12)
        .with("days", 60)
        .with("people.popularity", 0.3)
        .with("people.newcomers", 0)
        .with("people.homeless", 0.0)
        .with("people.visits_per_day", 8.0)
        .with("people.stay", 0.0)
        .with("people.activity_spread", 0.5)
        .complete(TownSettings::SETTINGS)
        .unwrap();
    TownSettings::read(&settings).unwrap()
}

/// Runs the town and keeps the past of the home; `prepare` changes homes before.
fn run(settings: &TownSettings, home: u32, prepare: impl FnOnce(&mut World<'_>)) -> Past {
    let mut world = World::new(settings, &Streams::new(Seed::from_number(7)));
    world.past.home = Some(home);
    prepare(&mut world);
    world.run();
    std::mem::take(&mut world.past)
}

/// The home that both serves and goes out most.
fn busiest(settings: &TownSettings) -> u32 {
    let people = People::new(settings, &Streams::new(Seed::from_number(7)));
    let mut visits = BTreeMap::<u32, [u32; 2]>::new();
    for trip in &people.trips {
        visits.entry(trip.provider).or_default()[0] += 1;
        visits.entry(trip.guest).or_default()[1] += 1;
    }
    let both = |visits: &[u32; 2]| visits[0].min(visits[1]);
    visits.iter().max_by_key(|(_, visits)| both(visits)).map(|(home, _)| *home).unwrap()
}

fn by_receipts(policy: Policy) -> Config {
    Config { judge: JudgeConfig { policy, ..JudgeConfig::default() }, ..Config::default() }
}

fn by_credit(settings: &TownSettings) -> Config {
    let mut credit = CreditConfig::default();
    let total = Bytes(bytes(settings.credit.overdraft_mb));
    credit.holds.overdraft = Overdraft { per_team: settings.credit.overdraft, total };
    credit.allowance.per_day = Bytes(bytes(settings.credit.allowance_mb));
    credit.allowance.founding = Bytes(bytes(settings.credit.founding_mb));
    Config { credit: Some(credit), ..Config::default() }
}

/// Class and bytes of each session that is in the receipts, under both policies.
fn replayed(settings: &TownSettings, past: &Past, configs: [&Config; 2]) -> Vec<(u32, [Served; 2])> {
    let home = team(past.home.unwrap());
    let request = Bytes(bytes(settings.papers.request_mb));
    let holds = past.holds.iter().copied();
    let mut replay = DryRun::new(home, configs, holds, UnixSeconds(0)).asking(request, FIRST);
    let mut all = Vec::new();
    for receipt in &past.receipts {
        if let Some(outcomes) = replay.handle(*receipt) {
            all.push((number(receipt.consumer), outcomes.map(|outcome| (outcome.class, outcome.bytes.0))));
        }
    }
    all
}

/// What was really decided, of visits in which something was served.
fn served(past: &Past) -> Vec<(u32, Served)> {
    let served = past.decided.iter().filter(|decided| decided.got > 0);
    served.map(|&Decided { guest, got, class, .. }| (guest, (class, got))).collect()
}

/// The first that differs, out of hundreds.
#[track_caller]
fn assert_same<T: PartialEq + std::fmt::Debug>(got: &[T], want: &[T]) {
    assert_eq!(got.len(), want.len());
    let differs = got.iter().zip(want).position(|(got, want)| got != want);
    if let Some(index) = differs {
        panic!("of {}, number {index} is {:?}, not {:?}", got.len(), got[index], want[index]);
    }
}

#[track_caller]
fn assert_same_policy(settings: &TownSettings, past: &Past, config: &Config) {
    let replayed = replayed(settings, past, [config, config]);
    let [before, after] = [0, 1]
        .map(|side| replayed.iter().map(|(guest, outcomes)| (*guest, outcomes[side])).collect::<Vec<_>>());
    assert_same(&before, &served(past));
    assert_same(&after, &before);
}

fn classes(past: &Past) -> usize {
    past.decided.iter().map(|decided| decided.class).collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn under_the_policy_in_force_each_session_is_decided_as_the_town_did() {
    for (name, policy) in [
        ("srm", Policy::Srm),
        ("netflow", Policy::NetFlow { sigma: PerMille(750), kappa: Bytes(25_000_000) }),
        ("quota", Policy::Quota { bytes: Bytes(1_000_000_000) }),
        ("gmf", Policy::Gmf { gain: PerMille(500) }),
    ] {
        let settings = town(name);
        let past = run(&settings, busiest(&settings), |_| {});
        assert!(past.decided.len() > 80 && classes(&past) >= 2, "{name}: {} visits", past.decided.len());
        assert_same_policy(&settings, &past, &by_receipts(policy));
    }
}

#[test]
fn under_credit_each_session_is_decided_as_the_town_did() {
    let settings = town("credit");
    let past = run(&settings, busiest(&settings), |_| {});
    let between = past.holds.iter().filter(|hold| hold.previous.is_some() && hold.next.is_some()).count();
    let chains = past.holds.iter().filter(|hold| hold.previous.is_none()).count();
    assert!(past.decided.len() > 80 && chains > 20 && between > 5, "{chains} and {between} holds");
    assert!(classes(&past) >= 2);
    assert_same_policy(&settings, &past, &by_credit(&settings));
}

/// The others serve everybody, so that what the home's own people get elsewhere does not depend on what it does.
fn others_serve_everybody(world: &mut World<'_>, home: u32, own: JudgeConfig) {
    let mut generous = JudgeConfig { policy: Policy::Quota { bytes: Bytes(0) }, ..JudgeConfig::default() };
    generous.strangers.bootstrap_target = Bytes(u64::MAX);
    let papers = world.papers.as_mut().unwrap();
    for other in 0..world.settings.people.homes {
        let config = if other == home { own } else { generous };
        papers.set_home(other, ByReceipts::new(config, team(other)));
    }
}

/// What the town would decide under the other policy about exactly the sessions of `past`: visits follow each other in the
/// same order in both runs.
fn really_decided(past: &Past, other: &Past) -> Vec<(u32, (Option<ServiceClass>, u64))> {
    assert_eq!(past.decided.len(), other.decided.len());
    let both = past.decided.iter().zip(&other.decided);
    both.inspect(|(one, two)| assert_eq!((one.guest, one.wants), (two.guest, two.wants)))
        .filter(|(one, _)| one.got > 0)
        .map(|(_, two)| (two.guest, (two.class, two.got)))
        .collect()
}

#[track_caller]
fn assert_other_policy(settings: &TownSettings, pasts: [&Past; 2], configs: [&Config; 2]) {
    let want = really_decided(pasts[0], pasts[1]);
    let got: Vec<_> =
        replayed(settings, pasts[0], configs).into_iter().map(|(guest, [_, after])| (guest, after)).collect();
    let differ = want.iter().zip(served(pasts[0])).filter(|(after, before)| **after != *before).count();
    assert!(differ > 5, "only {differ} sessions are decided otherwise");
    assert_same(&got, &want);
}

#[test]
fn under_another_policy_each_session_is_decided_as_a_town_under_that_policy_does() {
    let settings = town("srm");
    let home = busiest(&settings);
    let config = |policy| {
        let mut config = by_receipts(policy);
        // Nothing is left to chance: which number would be drawn is not the same in both runs.
        config.judge.strangers.bootstrap_target = Bytes(u64::MAX);
        config
    };
    let in_force = config(Policy::Quota { bytes: Bytes(0) });
    let past = run(&settings, home, |world| others_serve_everybody(world, home, in_force.judge));
    for policy in [
        Policy::Srm,
        Policy::NetFlow { sigma: PerMille(1_000), kappa: Bytes(0) },
        Policy::Quota { bytes: Bytes(5_000_000_000) },
        Policy::Gmf { gain: PerMille(200) },
    ] {
        let other = config(policy);
        let really = run(&settings, home, |world| others_serve_everybody(world, home, other.judge));
        assert_other_policy(&settings, [&past, &really], [&in_force, &other]);
    }
}

/// The home lends and gives away so much, the others as much as anybody wants.
fn lends_and_gives(world: &mut World<'_>, home: u32, own: &TownSettings) {
    let mut generous = world.settings.clone();
    generous.credit.allowance_mb = 1e6;
    for other in 0..world.settings.people.homes {
        let settings = if other == home { own } else { &generous };
        world.homes[other as usize] = Home::new(other, settings, Instant::START);
    }
}

#[test]
fn with_less_to_lend_or_to_give_away_each_session_is_decided_as_a_town_does() {
    let mut settings = town("credit");
    // Without other homes on the path, since those would decide otherwise too. And slices without end.
    (settings.credit.arcs_max, settings.credit.slices_max) = (1, 0);
    let home = busiest(&settings);
    let own = |lent: f64, given_away: f64| {
        let mut own = settings.clone();
        (own.credit.overdraft_mb, own.credit.allowance_mb, own.credit.founding_mb) = (lent, given_away, 0.0);
        own
    };
    let in_force = own(1_000.0, 1e6);
    let past = run(&settings, home, |world| lends_and_gives(world, home, &in_force));
    for other in [own(0.0, 1e6), own(1_000.0, 0.0), own(0.0, 0.0), own(10.0, 0.0)] {
        println!("lends {} MB, gives away {} MB", other.credit.overdraft_mb, other.credit.allowance_mb);
        let really = run(&settings, home, |world| lends_and_gives(world, home, &other));
        assert_other_policy(&settings, [&past, &really], [&by_credit(&in_force), &by_credit(&other)]);
    }
}
