//! The team server: what it takes in, what it lets out, and when it says that it has it.

use crate::world::{AP, Link, MEMBER, START, World, certify, started};
use guestright_identity::{Certificate, RevocationList, Role, SecretKey, Suite};
use guestright_radius::Msk;
use guestright_radius::relay::{Answer, Conversation, Question, What};
use guestright_receipt::{Bundle, Receipt};
use guestright_roaming::TeamServer;
use guestright_roaming::home::{Config, Event, StoreReport, Stored};
use guestright_roaming::message::{Code, Message, Update};
use guestright_units::{Bytes, Micros, TeamId, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;

/// Receipts of one member over `count` sessions with `provider`.
fn sessions(key: &SecretKey, certificate: &Certificate, provider: TeamId, count: u64) -> Bundle {
    let sign = |number| Receipt::sign(key, certificate, provider, started().minus(number), Bytes(1_000));
    Bundle {
        certificates: vec![certificate.as_bytes().to_vec()],
        receipts: (0..count).map(|number| sign(number).as_bytes().to_vec()).collect(),
        revocations: vec![],
    }
}

fn quer(reference: u64, certificate: &Certificate, bundle: Bundle) -> Message {
    Message::Quer {
        reference,
        certificate: Box::new(certificate.clone()),
        request: Bytes(1_000_000),
        bundle,
        holds: false,
        session: None,
    }
}

fn send(world: &mut World, peer: u64, message: &Message) {
    let now = world.now;
    world.houses[0].home.handle_input(peer, &message.emit(), &mut world.rng, now);
    world.run_for(Micros::from_millis(300));
}

fn admit_member(world: &mut World) -> Certificate {
    let (_, certificate) = world.houses[0].member(&mut world.rng);
    let now = world.now;
    world.houses[0].home.handle_connected(MEMBER, certificate.clone(), now).unwrap();
    certificate
}

#[test]
fn a_sponsor_introduces_no_more_than_its_quota() {
    let config = Config { sponsored_max: 100, ..Config::default() };
    let mut world = World::with(40, 2, Link::GOOD, &Default::default(), &config);
    let (_, sponsor) = world.houses[1].member(&mut world.rng);
    let own = world.houses[0].id();
    for number in 0..4 {
        // Each time another member of ours has consumed from somebody: new and relevant.
        let (key, certificate) = world.houses[0].member(&mut world.rng);
        let provider = TeamId([number; 24]);
        assert_ne!(provider, own);
        send(&mut world, AP, &quer(number.into(), &sponsor, sessions(&key, &certificate, provider, 40)));
    }
    assert_eq!(world.houses[0].store.len(), 100);
    assert_eq!(world.houses[0].home_refused("quota"), 60);
    let (_, another) = world.houses[1].member(&mut world.rng);
    let (key, certificate) = world.houses[0].member(&mut world.rng);
    let more = sessions(&key, &certificate, TeamId([9; 24]), 1);
    send(&mut world, AP, &quer(9, &another, more.clone()));
    assert_eq!(world.houses[0].store.len(), 100, "a team's members share its quota");
    world.run_for(Micros::from_seconds(86_400));
    send(&mut world, AP, &quer(10, &another, more));
    assert_eq!(world.houses[0].store.len(), 101, "the next day it may go on");
}

#[test]
fn receipts_that_do_not_hang_together_with_the_household_are_ignored() {
    let mut world = World::new(41, 4, Link::GOOD);
    let (key, certificate) = world.houses[2].member(&mut world.rng);
    let apart = sessions(&key, &certificate, world.houses[3].id(), 3);
    let (_, sponsor) = world.houses[1].member(&mut world.rng);
    send(&mut world, AP, &quer(1, &sponsor, apart.clone()));
    assert_eq!((world.houses[0].store.len(), world.houses[0].home_refused("irrelevant")), (0, 3));
    // The same with a chain to the household: own -> team 2 -> team 3.
    let (key, certificate) = world.houses[0].member(&mut world.rng);
    let chain = sessions(&key, &certificate, world.houses[2].id(), 1);
    let together = Bundle {
        certificates: [chain.certificates, apart.certificates].concat(),
        receipts: [apart.receipts, chain.receipts].concat(),
        revocations: vec![],
    };
    send(&mut world, AP, &quer(2, &sponsor, together));
    assert_eq!(world.houses[0].store.len(), 4);
}

#[test]
fn replayed_and_refused_receipts_are_counted_and_the_answer_says_so() {
    let mut world = World::new(42, 2, Link::GOOD);
    admit_member(&mut world);
    let (key, certificate) = world.houses[1].member(&mut world.rng);
    let own = world.houses[0].id();
    let bundle = |weight| {
        let receipt = Receipt::sign(&key, &certificate, own, started(), Bytes(weight));
        let (certificates, receipts) =
            (vec![certificate.as_bytes().to_vec()], vec![receipt.as_bytes().to_vec()]);
        Bundle { certificates, receipts, revocations: vec![] }
    };
    let mut answers = Vec::new();
    let mut forged = bundle(900);
    *forged.receipts[0].last_mut().unwrap() ^= 1;
    for (reference, bundle) in
        [(1, bundle(500)), (2, bundle(500)), (3, bundle(400)), (4, forged), (5, bundle(700))]
    {
        send(&mut world, MEMBER, &Message::Rcpt { reference: Some(reference), bundle, home: None });
        let Some(Message::Updt { reference, what: Update::Taken { stored, refused } }) =
            world.houses[0].to_members.pop()
        else {
            panic!("no answer to {reference}");
        };
        answers.push((reference, stored, refused));
    }
    assert_eq!(answers, [(1, 1, 0), (2, 1, 0), (3, 0, 1), (4, 0, 1), (5, 1, 0)]);
    assert_eq!((world.houses[0].home_refused("replayed"), world.houses[0].home_refused("forged")), (1, 1));
    assert_eq!(world.houses[0].home.graph().capacity(world.houses[1].id(), own), Bytes(700));
}

#[test]
fn what_the_store_did_not_take_is_not_acknowledged() {
    let config = Config { waiting_max: 1, ..Config::default() };
    let mut world = World::with(43, 2, Link::GOOD, &Default::default(), &config);
    admit_member(&mut world);
    let bundle = world.houses[1].owes(world.houses[0].id(), 1_000, &mut world.rng);
    let rcpt = |reference| Message::Rcpt { reference: Some(reference), bundle: bundle.clone(), home: None };
    world.houses[0].store_fails = true;
    send(&mut world, MEMBER, &rcpt(1));
    let [Message::Erro { reference: Some(1), code: Code::Busy, reason }] = &world.houses[0].to_members[..]
    else {
        panic!("{:?}", world.houses[0].to_members);
    };
    assert_eq!(reason, "the disk is full");
    // One waits for the store, the second finds the queue full; the first is answered only when it is stored.
    world.houses[0].store_fails = false;
    world.houses[0].to_members.clear();
    let (now, mut rng) = (world.now, StdRng::seed_from_u64(1));
    for reference in [2, 3] {
        world.houses[0].send(MEMBER, &rcpt(reference), &mut rng, now);
    }
    let (peer, first) = world.houses[0].home.poll_transmit().expect("one answer");
    let busy =
        matches!(Message::parse(&first), Ok(Message::Erro { reference: Some(3), code: Code::Busy, .. }));
    assert!(peer == MEMBER && busy);
    assert_eq!(world.houses[0].home.poll_transmit(), None, "nothing is stored yet");
    let fetch = Message::Updt { reference: 4, what: Update::Fetch { since: UnixSeconds(0), max: 9 } };
    world.houses[0].send(MEMBER, &fetch, &mut rng, now);
    world.drain();
    world.run_for(Micros::from_millis(100));
    let answers: Vec<_> = world.houses[0].to_members.iter().map(Message::method).collect();
    assert_eq!(answers, ["ERRO", "UPDT"], "a fetch waits for its turn, too");
    assert_eq!(world.houses[0].store.len(), 1);
}

#[test]
fn an_update_shows_what_others_owe_and_the_revocation_list() {
    let mut world = World::new(44, 3, Link::GOOD);
    admit_member(&mut world);
    for team in [1, 2] {
        let guest = world.visit(team, 0, Bundle::default());
        world.leave_at(guest, world.now + Micros::from_seconds(6));
        world.run_for(Micros::from_seconds(10));
    }
    let revoked = BTreeMap::from([(world.houses[0].certificate.subject_id(), UnixSeconds(u64::MAX))]);
    let list = RevocationList::issue(&world.houses[0].team, 1, START.unix_seconds(), revoked).unwrap();
    world.houses[0].home.handle_revocations(list.clone());
    let fetch = |since, max| Message::Updt { reference: 8, what: Update::Fetch { since, max } };
    send(&mut world, MEMBER, &fetch(UnixSeconds(0), 500));
    let Some(Message::Rcpt { reference: Some(8), bundle, .. }) = world.houses[0].to_members.pop() else {
        panic!("a RCPT answers");
    };
    assert_eq!((bundle.receipts.len(), bundle.certificates.len()), (2, 2));
    assert_eq!(bundle.revocations, [list.as_bytes().to_vec()]);
    let verified = bundle.verify(|_| None, &Default::default(), world.now.unix_seconds(), &mut world.rng);
    let own = world.houses[0].id();
    assert!(verified.receipts.iter().all(|receipt| receipt.provider() == own) && verified.refused.is_empty());
    send(&mut world, MEMBER, &fetch(UnixSeconds(0), 1));
    let now = world.now.unix_seconds();
    send(&mut world, MEMBER, &fetch(now, 500));
    let count = |message: &Message| match message {
        Message::Rcpt { bundle, .. } => bundle.receipts.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(world.houses[0].to_members.iter().map(count).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn a_revoked_member_is_refused_and_a_revoked_program_is_put_out() {
    let mut world = World::new(45, 2, Link::GOOD);
    let now = START.unix_seconds();
    let (key, certificate) = world.houses[0].member(&mut world.rng);
    let connected = admit_member(&mut world);
    let revoked = BTreeMap::from([(certificate.subject_id(), now), (connected.subject_id(), now)]);
    let list = RevocationList::issue(&world.houses[0].team, 1, now, revoked).unwrap();
    world.houses[0].home.handle_revocations(list.clone());
    let older = RevocationList::issue(&world.houses[0].team, 0, now, BTreeMap::new()).unwrap();
    world.houses[0].home.handle_revocations(older);
    let guest = world.visit_as(key, certificate.clone(), 0, Bundle::default());
    world.run_for(Micros::from_seconds(1));
    let (code, reason) = world.guests[guest].ended().expect("it is refused");
    assert_eq!(code, Code::Refused);
    assert!(reason.contains("revoked"), "{reason}");
    assert_eq!(world.houses[0].opened(), 0);
    assert!(world.houses[0].home.handle_connected(7, certificate, world.now).is_err());
    // The one that was connected before is heard no more.
    let fetch = Message::Updt { reference: 8, what: Update::Fetch { since: UnixSeconds(0), max: 5 } };
    send(&mut world, MEMBER, &fetch);
    assert!(matches!(world.houses[0].to_members[..], [Message::Erro { code: Code::Certificate, .. }]));
    assert_eq!(world.houses[0].home.peers().count(), 1);
    let revoked = world.houses[0].home_events.iter().filter(|event| matches!(event, Event::Revoked(_)));
    assert_eq!(revoked.count(), 1, "an older list changes nothing");
}

#[test]
fn lists_of_teams_that_nobody_knows_are_not_kept() {
    let config = Config { revocations_max: 2, ..Config::default() };
    let mut world = World::with(46, 2, Link::GOOD, &Default::default(), &config);
    let list = |team: &SecretKey| RevocationList::issue(team, 1, started(), BTreeMap::new()).unwrap();
    let kept = |world: &mut World| {
        world.drain();
        let revoked = |event: &&Event| matches!(event, Event::Revoked(_));
        world.houses[0].home_events.iter().filter(revoked).count()
    };
    let stranger = SecretKey::generate(Suite::Ed25519, &mut world.rng);
    world.houses[0].home.handle_revocations(list(&stranger));
    assert_eq!(kept(&mut world), 0);
    let (_, sponsor) = world.houses[1].member(&mut world.rng);
    let teams: Vec<_> = (0..5).map(|_| SecretKey::generate(Suite::Ed25519, &mut world.rng)).collect();
    for team in &teams {
        let (key, certificate) = world.houses[0].member(&mut world.rng);
        let known = sessions(&key, &certificate, team.public().team_id(), 1);
        send(&mut world, AP, &quer(1, &sponsor, known));
        world.houses[0].home.handle_revocations(list(team));
    }
    assert_eq!(kept(&mut world), 2);
    assert_eq!(world.houses[0].home_refused("revocations"), 3);
}

#[test]
fn only_programs_of_the_own_team_are_heard_and_only_in_their_role() {
    let mut world = World::new(47, 2, Link::GOOD);
    let foreign = world.houses[1].certificate.clone();
    let now = world.now;
    assert!(world.houses[0].home.handle_connected(7, foreign, now).is_err());
    let (_, consumer) = world.houses[1].member(&mut world.rng);
    let question = quer(1, &consumer, Bundle::default());
    send(&mut world, 7, &question);
    assert_eq!(world.houses[0].home.refusals().len(), 0, "an unknown peer is not even answered");
    admit_member(&mut world);
    send(&mut world, MEMBER, &question);
    send(&mut world, MEMBER, &Message::error(Code::Busy, "x"));
    world.houses[0].home.handle_input(MEMBER, b"rubbish", &mut world.rng, now);
    assert_eq!(
        (world.houses[0].home_refused("unexpected"), world.houses[0].home_refused("truncated")),
        (2, 1)
    );
    world.houses[0].home.handle_disconnected(MEMBER);
    send(&mut world, MEMBER, &question);
    assert_eq!(world.houses[0].home_refused("unexpected"), 2);
    let key = SecretKey::generate(Suite::Ed25519, &mut world.rng);
    let as_home = certify(&world.houses[0].team, &key, Role::Home);
    world.houses[0].home.handle_connected(8, as_home, now).unwrap();
    send(
        &mut world,
        8,
        &Message::Updt { reference: 1, what: Update::Fetch { since: UnixSeconds(0), max: 1 } },
    );
    assert!(matches!(world.houses[0].to_members.last(), Some(Message::Rcpt { .. })));
}

#[test]
fn a_late_answer_of_the_store_is_ignored_when_nobody_waits() {
    let mut world = World::new(48, 1, Link::GOOD);
    let now = world.now;
    let home = &mut world.houses[0].home;
    let report = StoreReport { outcomes: vec![Stored::Added; 3], ..StoreReport::default() };
    home.handle_stored(99, &report, &mut world.rng, now);
    home.handle_store_failed(99, "no");
    home.handle_fetched(99, vec![]);
    assert_eq!((home.poll_transmit(), home.poll_event()), (None, None));
}

#[test]
fn a_fetch_is_answered_with_as_much_as_a_bundle_holds() {
    // As if receipts and certificates had so many bytes together; the list of revoked keys goes last, if it fits.
    let revoked = (0..1_000).map(|number: u64| {
        let mut id = [0; 24];
        id[16..].copy_from_slice(&number.to_be_bytes());
        (guestright_identity::KeyId(id), started())
    });
    let revoked: BTreeMap<_, _> = revoked.collect();
    for (len, receipts, lists) in [(200, 64, 1), (944, 64, 0), (945, 63, 0), (1_000, 60, 0)] {
        let mut world = World::new(49, 1, Link::GOOD);
        admit_member(&mut world);
        let team = &world.houses[0].team;
        let list = RevocationList::issue(team, 1, started(), revoked.clone()).unwrap();
        let fetch = Message::Updt { reference: 5, what: Update::Fetch { since: UnixSeconds(0), max: 500 } };
        let (now, home) = (world.now, &mut world.houses[0].home);
        home.handle_revocations(list);
        home.handle_input(MEMBER, &fetch.emit(), &mut world.rng, now);
        let token = std::iter::from_fn(|| home.poll_event()).find_map(|event| match event {
            Event::Fetch { token, max, .. } => Some((token, max)),
            _ => None,
        });
        let (token, max) = token.expect("the store is asked");
        assert_eq!(max, Bundle::RECEIPTS_MAX);
        let pair = |number: u8| (vec![number; 128], vec![number; len - 128]);
        home.handle_fetched(token, (0..100).map(pair).collect());
        // The list goes to the access point as well.
        let mut transmits = std::iter::from_fn(|| home.poll_transmit());
        let (_, answer) = transmits.find(|(peer, _)| *peer == MEMBER).expect("an answer");
        let Ok(Message::Rcpt { bundle, .. }) = Message::parse(&answer) else { panic!("it can be read") };
        assert_eq!((bundle.receipts.len(), bundle.certificates.len()), (receipts, receipts), "{len}");
        assert_eq!(bundle.revocations.len(), lists, "{len}");
    }
}

#[test]
fn only_what_strangers_took_and_gave_back_counts_as_theirs_and_it_fades_daily() {
    let mut world = World::new(50, 4, Link::GOOD);
    let teams: Vec<_> = world.houses.iter().map(|house| house.id()).collect();
    let members: Vec<_> = (0..4).map(|team| world.houses[team].member(&mut world.rng).1).collect();
    let ask = |world: &mut World, team: usize, now| {
        let question = quer(1, &members[team], Bundle::default()).emit();
        world.houses[0].home.handle_input(AP, &question, &mut world.rng, now);
        let (_, answer) = world.houses[0].home.poll_transmit().expect("an answer");
        match Message::parse(&answer) {
            Ok(Message::Qrsp { valid_for, .. }) => valid_for,
            other => panic!("{other:?}"),
        }
    };
    let store = |world: &mut World, added: &[(usize, usize, u64)]| {
        let bundle = world.houses[1].owes(teams[0], 1, &mut world.rng);
        let receipts = Message::Rcpt { reference: None, bundle, home: None }.emit();
        let (now, home) = (world.now, &mut world.houses[0].home);
        home.handle_input(AP, &receipts, &mut world.rng, now);
        let mut events = std::iter::from_fn(|| home.poll_event());
        let token = events.find_map(|event| match event {
            Event::Store { token, .. } => Some(token),
            _ => None,
        });
        let edge = |&(consumer, provider, bytes): &(usize, usize, u64)| {
            let (consumer, provider) = (teams[consumer], teams[provider]);
            guestright_reciprocity::Edge { consumer, provider, bytes: Bytes(bytes) }
        };
        let report = StoreReport { added: added.iter().map(edge).collect(), ..StoreReport::default() };
        home.handle_stored(token.expect("they are stored"), &report, &mut world.rng, now);
        while home.poll_transmit().is_some() {}
        let counters = home.stranger_counters();
        (counters.given.0, counters.returned.0)
    };
    let now = world.now;
    assert_eq!(ask(&mut world, 1, now), 3_600, "a stranger, for a whole visit");
    assert_eq!(ask(&mut world, 2, now), 3_600);
    // Team 3 never asked, and what passes among others is theirs.
    let added = [(1, 0, 1_000), (3, 0, 50), (0, 1, 300), (0, 3, 70), (1, 3, 9), (3, 1, 9)];
    assert_eq!(store(&mut world, &added), (1_000, 300));
    let day = Micros::from_seconds(86_400);
    assert_eq!(ask(&mut world, 1, now + Micros(day.0 - 1)), 300, "one whose debts are known");
    assert_eq!(store(&mut world, &[]), (1_000, 300));
    ask(&mut world, 1, now + day);
    assert_eq!(store(&mut world, &[]), (900, 270), "a tenth is forgotten");
    // Team 2 took nothing: it is no longer remembered as a stranger that was served. Team 1 is.
    assert_eq!(store(&mut world, &[(1, 0, 10), (2, 0, 10)]), (910, 270));
}

#[test]
fn so_many_strangers_are_remembered_and_no_more() {
    let config = Config { strangers_max: 1, ..Config::default() };
    let mut world = World::with(51, 3, Link::GOOD, &Default::default(), &config);
    for team in [1, 2] {
        let guest = world.visit(team, 0, Bundle::default());
        world.leave_at(guest, world.now + Micros::from_seconds(3));
        world.run_for(Micros::from_seconds(10));
    }
    assert!(world.guests[1].carried > Bytes(0));
    assert_eq!(world.houses[0].home.stranger_counters().given, world.guests[0].carried);
}

#[test]
fn under_a_policy_of_the_papers_a_blocked_team_is_refused_as_well() {
    let mut world = World::new(47, 2, Link::GOOD);
    let team = world.houses[1].id();
    world.houses[0].home.block([team]);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(1));
    let (code, reason) = world.guests[guest].ended().expect("it is refused");
    assert_eq!((code, reason), (Code::Refused, "this household does not serve your team"));
    assert_eq!((world.houses[0].opened(), world.houses[0].home_refused("blocked")), (0, 1));
}

#[test]
fn a_phone_of_a_blocked_team_does_not_join_whatever_its_home_says() {
    let mut rng = StdRng::seed_from_u64(48);
    let [team, key, other] = [(); 3].map(|()| SecretKey::generate(Suite::Ed25519, &mut rng));
    let (team_id, blocked) = (team.public().team_id(), other.public().team_id());
    let mut server = TeamServer::new(Config::default(), team_id, [], vec![], Default::default(), START);
    server.handle_connected(1, certify(&team, &key, Role::AccessPoint), START).unwrap();
    server.block([blocked]);
    for (reference, team, granted) in [(1, blocked, false), (2, team_id, true)] {
        let conversation = Conversation([3; 16]);
        let question = Box::new(Question { conversation, framed_mtu: None, eap: vec![2, 1, 0, 5, 1] });
        let ask = Message::Eapq { reference, team, question };
        server.handle_input(1, &ask.emit(), &mut rng, START);
        let what =
            What::Accept { eap: vec![3, 1, 0, 4], msk: Msk::new([7; 64]), valid_for_seconds: 60, home: None };
        server.handle_home_answer(team, Answer { conversation, what }, &mut rng, START);
        let (_, answer) = server.poll_transmit().unwrap();
        let Ok(Message::Eapr { decision: Some(decision), .. }) = Message::parse(&answer) else { panic!() };
        assert_eq!(decision.granted, granted, "{}", decision.reason);
        assert_eq!(decision.reason.contains("does not serve your team"), !granted, "{}", decision.reason);
    }
}

#[test]
fn a_guest_that_is_blocked_does_not_stay_by_asking_again_and_again() {
    let config = Config { stranger_seconds: 300, ..Config::default() };
    let mut world = World::with(49, 3, Link::GOOD, &Default::default(), &config);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(1));
    assert_eq!(world.houses[0].opened(), 1);
    let team = world.houses[1].id();
    world.houses[0].home.block([team]);
    for _ in 0..16 {
        let something_new = world.took(2, 1, 1_000);
        world.show(guest, something_new);
        world.run_for(Micros::from_seconds(20));
    }
    let (code, _) = world.guests[guest].ended().expect("a no makes no decision last longer");
    assert_eq!(code, Code::Refused);
}
