//! What coalitions take, named after the review's findings: each ends at its stated bound.

use super::region::{Region, Terms, guest_of};
use super::{MEGABYTE, SILENCE};
use crate::town::client::{Client, Member, certify, now, rcpt, secret};
use crate::town::inside;
use guestright_identity::Role;
use guestright_receipt::{Bundle, Receipt};
use guestright_roaming::Message;
use guestright_roaming::message::Code;
use guestright_store::{Limits, Store};
use guestright_units::{TeamId, UnixSeconds};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

/// A visitor's meter is never exact: it signs for at most so many hundredths of what it counted.
const TOLERANCE: i64 = 105;
/// What a visit needs besides what is downloaded: connections, acknowledgements, the protocol.
const BESIDES: i64 = 300_000;

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap()
}

fn bundle(certificates: &[&Member], receipts: Vec<Vec<u8>>) -> Bundle {
    let certificates = certificates.iter().map(|member| member.certificate.as_bytes().to_vec()).collect();
    Bundle { certificates, receipts, revocations: Vec::new() }
}

/// What the team of `creditor` took on credit, by the accounts of the one household that owed it.
fn spent(region: &Region, debtor: &str, creditor: &str, before: i64) -> i64 {
    before - region.agree(debtor, creditor)
}

/// A2 and A4: who refuses nobody that has a creditor behind it must not be told of the same credit by ever new names.
#[test]
fn any_number_of_fresh_names_share_one_megabyte_of_credit() {
    if !inside("credit::attacks::any_number_of_fresh_names_share_one_megabyte_of_credit") {
        return;
    }
    const ALLOWANCE: usize = 2 * MEGABYTE;
    let region = Region::build(&[Terms::new("p", ALLOWANCE as u64), Terms::new("a", 50 * MEGABYTE as u64)]);
    let _all = ["p", "a"].map(|name| region.open(name));
    assert_eq!(region.visits("a", "p", "one", MEGABYTE), MEGABYTE);
    let given = region.agree("p", "a");
    assert!(given >= signed(MEGABYTE), "{given}");
    let mut took = Vec::new();
    for number in 0..6 {
        // Team a says of each new name that it owes it a gigabyte, and its home believes its own member.
        let name = format!("s{number}");
        region.found(&name, &[("one", "member")]);
        let liar = region.member("a", "two");
        let receipt = liar.sign(region.team(&name), now().minus(100 + number), 1_000_000_000);
        let lie = bundle(&[&liar], vec![receipt]);
        let taken = region.hand_in(
            "a",
            "two",
            &Message::Rcpt { reference: Some(1), bundle: lie.clone(), home: None },
        );
        assert_eq!(taken, (1, 0));
        region.show(&name, "one", &lie);
        took.push(region.visits_within("p", &name, "one", 2 * MEGABYTE, SILENCE));
    }
    let on_credit = spent(&region, "p", "a", given);
    let all = signed(took.iter().sum());
    println!("given {given}; taken {took:?}, {all} in all, {on_credit} on credit");
    assert!(
        on_credit >= given / 2,
        "the credit can be used at all: {on_credit}\n{}",
        region.log("p", "home")
    );
    assert!(on_credit * 100 <= 2 * given * TOLERANCE, "{on_credit} on credit, {given} given");
    assert!(all <= on_credit + signed(ALLOWANCE) + BESIDES, "{all} taken, {on_credit} on credit");
}

#[test]
fn the_same_credit_is_not_spent_at_four_homes_at_once() {
    if !inside("credit::attacks::the_same_credit_is_not_spent_at_four_homes_at_once") {
        return;
    }
    const ALLOWANCE: usize = MEGABYTE;
    const PROVIDERS: [&str; 4] = ["p", "q", "r", "s"];
    let mut terms = PROVIDERS.map(|name| Terms::new(name, ALLOWANCE as u64)).to_vec();
    // It serves the others' members first.
    terms[0].allowance = 12 * MEGABYTE as u64;
    terms.push(Terms::new("a", 50 * MEGABYTE as u64));
    let region = Region::build(&terms);
    let members = PROVIDERS.map(|at| (at, "member"));
    region.found_more("a", &members);
    let _all: Vec<_> = terms.iter().map(|terms| region.open(terms.name)).collect();
    for debtor in ["q", "r", "s"] {
        assert_eq!(region.visits("p", debtor, "one", 3 * MEGABYTE), 3 * MEGABYTE);
        region.agree(debtor, "p");
    }
    assert_eq!(region.visits("a", "p", "one", MEGABYTE), MEGABYTE);
    let given = region.agree("p", "a");
    let left = region.ask("p", "home", &["status"])["credit"]["allowance"]["left"].as_u64().unwrap();
    let left = usize::try_from(left).unwrap();
    let took: Vec<_> = thread::scope(|scope| {
        let visit = |at| {
            let region = &region;
            scope.spawn(move || {
                let visit = region.arrive(at, "a", at);
                let came = region.download(at, 4 * MEGABYTE, SILENCE);
                region.leave(visit);
                came
            })
        };
        let running = PROVIDERS.map(visit);
        running.into_iter().map(|visit| visit.join().unwrap()).collect()
    });
    PROVIDERS.iter().for_each(|name| region.come_home("a", name));
    let all: i64 = took.iter().map(|bytes| signed(*bytes)).sum();
    // What is on the allowance is a debt to the provider itself.
    PROVIDERS[1..].iter().for_each(|at| assert!(region.agree(at, "a") <= 0));
    let on_credit = given - region.agree("p", "a");
    println!("given {given}; taken {took:?}, {all} in all, {on_credit} less owed by the first");
    let given_away = 3 * signed(ALLOWANCE) + signed(left);
    assert!(all * 100 <= (2 * given + given_away) * TOLERANCE + 100 * BESIDES, "{all} taken, {given} given");
    assert!(all > given_away / 2 + given / 2, "credit can be used at all: {took:?}");
}

/// A5: patience, and ever new names.
#[test]
fn strangers_share_one_allowance_however_many_names_they_have() {
    if !inside("credit::attacks::strangers_share_one_allowance_however_many_names_they_have") {
        return;
    }
    const ALLOWANCE: usize = 4 * MEGABYTE;
    let region = Region::build(&[Terms::new("p", ALLOWANCE as u64)]);
    let _p = region.open("p");
    let mut took = Vec::new();
    for number in 0..8 {
        let name = format!("s{number}");
        region.found(&name, &[("one", "member")]);
        took.push(region.tries("p", &name, "one", 2 * MEGABYTE));
    }
    let all = signed(took.iter().sum());
    println!("taken {took:?}, {all} in all");
    assert!(took.ends_with(&[0]), "at last everybody is refused: {took:?}");
    assert!(all <= signed(ALLOWANCE) + BESIDES, "{all}");
    assert!(all >= signed(ALLOWANCE) / 2, "{all}");
}

/// A12, and A2's store: who floods a home with receipts that are valid and say nothing costs it nothing that it needs.
#[test]
fn a_flood_of_valid_receipts_leaves_accounts_and_first_hand_receipts_alone() {
    if !inside("credit::attacks::a_flood_of_valid_receipts_leaves_accounts_and_first_hand_receipts_alone") {
        return;
    }
    const RECEIPTS_MAX: u64 = 500;
    const NAMES: u64 = 60;
    let p = Terms { receipts_max: RECEIPTS_MAX, ..Terms::new("p", 50 * MEGABYTE as u64) };
    let region = Region::build(&[p, Terms::new("k", 50 * MEGABYTE as u64)]);
    let mut p = region.open("p");
    let _k = region.open("k");
    assert_eq!(region.visits("k", "p", "one", 2 * MEGABYTE), 2 * MEGABYTE);
    assert_eq!(region.visits("p", "k", "one", MEGABYTE), MEGABYTE);
    let owed = region.agree("p", "k");
    let accounts = region.ask("p", "home", &["accounts"])["accounts"].clone();
    let before = region.ask("p", "home", &["status"]);

    for number in 0..NAMES {
        flood(&region, number);
    }
    let after = region.ask("p", "home", &["status"]);
    let receipts = after["receipts"].as_u64().unwrap();
    println!("{} receipts before, {receipts} after {NAMES} names with 16 each", before["receipts"]);
    println!("refused {}", after["refused"]);
    assert!(receipts <= RECEIPTS_MAX, "{receipts}");
    assert!(receipts > before["receipts"].as_u64().unwrap(), "some are kept: it was a flood");
    let now = region.ask("p", "home", &["accounts"])["accounts"].clone();
    assert_eq!(find(&now, region.team("k")), find(&accounts, region.team("k")));
    p.home.kill();
    let p_team = region.team("p");
    let store = Store::open(
        &region.path("p", "home-state/receipts.sqlite"),
        Limits { receipts_max: RECEIPTS_MAX, own_team: Some(p_team) },
    );
    let mut first_hand = 0;
    store.unwrap().first_hand(p_team, UnixSeconds(0), |receipt, _| first_hand += receipt.weight().0).unwrap();
    assert!(first_hand >= 3_000_000, "{first_hand} bytes are in receipts of our own");
    p.home = region.start_home("p");
    assert_eq!(region.agree("p", "k"), owed, "and after a restart");
}

fn find(accounts: &serde_json::Value, team: TeamId) -> Option<serde_json::Value> {
    accounts.as_array()?.iter().find(|account| account["team"] == team.to_string()).cloned()
}

/// A fresh name shows sixteen debts to a household that is known, each larger than any that is true.
fn flood(region: &Region, number: u64) {
    let known = region.team("k");
    let debtors: Vec<_> = (0..16)
        .map(|debtor| Member::new(1_000 + 16 * number + debtor, 100_000 + 16 * number + debtor))
        .collect();
    let receipts = debtors.iter().map(|debtor| debtor.sign(known, now(), 1 << 40)).collect();
    let shown = bundle(&debtors.iter().collect::<Vec<_>>(), receipts);
    let guest = guest_of("p");
    let address = Ipv4Addr::new(10, 11, 0, u8::try_from(100 + number).unwrap());
    region.world.address(&guest, "wlan0", &format!("{address}/24")).unwrap();
    let open = || {
        let made = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&made, &SocketAddr::from((address, 0))).unwrap();
        connect(&made, &crate::town::ACCESS_POINT).unwrap();
        let stream = TcpStream::from(made);
        stream.set_read_timeout(Some(crate::town::PATIENCE)).unwrap();
        Client::Tcp(stream)
    };
    let mut client = region.world.within(&guest, open).unwrap();
    let name = Member {
        key: secret(number + 10),
        certificate: certify(&secret(number + 200_000), &secret(number + 10), Role::Member),
    };
    // Over one station's air no more questions are put to the home than a few a second.
    let terms = client.ask_again(&name.certificate, 1, shown.clone()).unwrap();
    client.send(&rcpt(&name.sign(terms.provider, terms.started, 0)).emit());
    client.send(&Message::error(Code::Closed, "that was all").emit());
    client.receive().unwrap();
}

/// A14: what members show is what is useful to them, not what came last.
#[test]
fn seventy_tiny_debts_do_not_push_the_useful_one_out_of_members_hands() {
    if !inside("credit::attacks::seventy_tiny_debts_do_not_push_the_useful_one_out_of_members_hands") {
        return;
    }
    let region =
        Region::build(&[Terms::new("c", 50 * MEGABYTE as u64), Terms::new("k", 50 * MEGABYTE as u64)]);
    let _all = ["c", "k"].map(|name| region.open(name));
    assert_eq!(region.visits("c", "k", "one", 3 * MEGABYTE), 3 * MEGABYTE);
    region.agree("k", "c");
    let c = region.team("c");
    for part in 0..6 {
        let strangers: Vec<_> =
            (0..50).map(|number| Member::new(9_000 + 50 * part + number, 19_000 + number)).collect();
        let receipts = strangers.iter().map(|stranger| stranger.sign(c, now(), 30)).collect();
        let tiny = bundle(&strangers.iter().collect::<Vec<_>>(), receipts);
        let taken =
            region.hand_in("c", "router", &Message::Rcpt { reference: Some(1), bundle: tiny, home: None });
        assert_eq!(taken, (50, 0));
    }
    let visit = region.arrive("k", "c", "one");
    visit.hear("to be given receipts to show", |event| event["event"] == "showing");
    region.leave(visit);
    let shown =
        Bundle::parse(&std::fs::read(region.state("c", "one").join("shown.bundle")).unwrap()).unwrap();
    let debtor = region.member("k", "one");
    let useful =
        shown.receipts.iter().filter_map(|bytes| Receipt::from_kept(bytes, &debtor.certificate).ok());
    let useful: Vec<_> = useful.map(|receipt| receipt.weight().0).collect();
    println!("{} are shown, of the debtor {useful:?}", shown.receipts.len());
    assert!(useful.len() == 1 && useful[0] >= 3_000_000, "{useful:?}");
}

/// Ten homes, nine of them honest. The tenth gives a little to three of them, and says of ever new names that it owes them
/// a gigabyte; they are at all of the nine at once.
#[test]
fn a_fan_of_fresh_names_in_a_town_takes_no_more_than_was_given_and_lent() {
    let test = "credit::attacks::a_fan_of_fresh_names_in_a_town_takes_no_more_than_was_given_and_lent";
    if !guestright_testbed::inside_within(test, Duration::from_secs(400)) {
        return;
    }
    const HONEST: [&str; 9] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"];
    const LENT_BY_EACH: i64 = 25_000_000;
    const ALLOWANCE: usize = 3 * MEGABYTE;
    let terms: Vec<_> =
        HONEST.into_iter().chain(["a"]).map(|name| Terms::new(name, ALLOWANCE as u64)).collect();
    let region = Region::build(&terms);
    let _all: Vec<_> = terms.iter().map(|terms| region.open(terms.name)).collect();
    // Each owes the one before it, and the first three owe the tenth.
    for pair in HONEST.windows(2) {
        region.visits(pair[0], pair[1], "one", MEGABYTE);
    }
    for debtor in &HONEST[..3] {
        region.visits("a", debtor, "one", MEGABYTE / 2);
    }
    let owed = |region: &Region| HONEST.iter().map(|debtor| region.agree(debtor, "a")).sum::<i64>();
    let given = owed(&region);
    let liar = region.member("a", "two");
    let took: Vec<usize> = (0..2)
        .flat_map(|round| {
            let names = HONEST.map(|at| format!("s{round}{at}"));
            for (name, number) in names.iter().zip(0..) {
                region.found(name, &[("one", "member")]);
                let receipt =
                    liar.sign(region.team(name), now().minus(100 * (round + 1) + number), 1_000_000_000);
                let lie = bundle(&[&liar], vec![receipt]);
                region.hand_in(
                    "a",
                    "two",
                    &Message::Rcpt { reference: Some(1), bundle: lie.clone(), home: None },
                );
                region.show(name, "one", &lie);
            }
            thread::scope(|scope| {
                let region = &region;
                let running = HONEST
                    .iter()
                    .zip(&names)
                    .map(|(at, name)| scope.spawn(move || region.tries(at, name, "one", 3 * MEGABYTE)));
                let running: Vec<_> = running.collect();
                running.into_iter().map(|visit| visit.join().unwrap()).collect::<Vec<_>>()
            })
        })
        .collect();
    let on_credit = given - owed(&region);
    let all = signed(took.iter().sum());
    println!("given {given}; taken {took:?}, {all} in all, {on_credit} on credit");
    let homes = i64::try_from(HONEST.len()).unwrap();
    let most = given * TOLERANCE + (given * TOLERANCE).min(100 * LENT_BY_EACH * homes);
    assert!(on_credit * 100 <= most, "{on_credit} on credit, {given} given");
    assert!(on_credit > 0, "credit can be used at all");
    let given_away = homes * signed(ALLOWANCE);
    assert!(all <= on_credit + given_away + homes * BESIDES, "{all} taken, {on_credit} on credit");
}
