//! What people who cheat can try, and what comes of it.

use crate::world::{AP, Household, Link, START, World, address, certify, started};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Bundle, Receipt};
use guestright_reciprocity::{ServiceClass, Verdict};
use guestright_roaming::access_point::{Config, Event, Path, Transmit};
use guestright_roaming::message::{Acknowledgement, BODY_MAX, Code, Message};
use guestright_roaming::{home, visitor};
use guestright_units::{Bytes, Micros, TeamId, UnixSeconds};
use rand::RngExt;

/// Nobody is behind this path.
const NOBODY: Path = 1_000_000;

fn rcpt(receipts: Vec<Vec<u8>>) -> Vec<u8> {
    let bundle = Bundle { receipts, ..Bundle::default() };
    Message::Rcpt { reference: None, bundle, home: None }.emit()
}

fn conn(certificate: &Certificate, nonce: u8, bundle: Bundle) -> Vec<u8> {
    Message::Conn { certificate: Box::new(certificate.clone()), nonce: [nonce; 16], bundle, holds: false }
        .emit()
}

fn copy(key: &SecretKey) -> SecretKey {
    SecretKey::from_bytes(key.public().suite(), &key.to_bytes()).unwrap()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn every_bad_message_has_its_own_kind_is_counted_and_changes_nothing() {
    let mut world = World::new(20, 3, Link::GOOD);
    let (key, certificate) = world.houses[1].member(&mut world.rng);
    let (other_key, other_certificate) = world.houses[1].member(&mut world.rng);
    let guest = world.visit_as(copy(&key), certificate.clone(), 0, Bundle::default());
    world.run_for(Micros::from_millis(12_100));
    let own = world.houses[0].id();
    let begun = world.houses[0].ap.status()[0].started;
    let sign = |provider: TeamId, started: UnixSeconds, weight: u64| {
        Receipt::sign(&key, &certificate, provider, started, Bytes(weight)).as_bytes().to_vec()
    };
    let signed = world.guests[guest].signed().0;
    let old = world.guests[guest].receipts().next().unwrap().as_bytes().to_vec();
    let others = Receipt::sign(&other_key, &other_certificate, own, begun, Bytes(signed + 1));
    let mut forged = sign(own, begun, signed + 1);
    *forged.last_mut().unwrap() ^= 1;
    let cut = sign(own, begun, signed + 1)[..60].to_vec();
    let longer = [sign(own, begun, signed + 1), vec![0]].concat();
    let whole = rcpt(vec![sign(own, begun, signed + 1)]);
    let mut bad_certificate = certificate.as_bytes().to_vec();
    *bad_certificate.last_mut().unwrap() ^= 1;
    let text = String::from_utf8(conn(&certificate, 9, Bundle::default())).unwrap();
    let base64 = |bytes: &[u8]| {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.encode(bytes)
    };
    let bad_conn = text.replace(&base64(certificate.as_bytes()), &base64(&bad_certificate));
    let oversized = format!("RCPT P2PWNC/3.0\r\nContent-Length: {}\r\n\r\n", BODY_MAX + 1);
    let home = Message::error(Code::Busy, "x").emit();
    let updt = b"UPDT P2PWNC/3.0\r\nReference: 1\r\nSince: 0\r\nMax: 3\r\n\r\n".to_vec();
    #[rustfmt::skip]
    let cases = [
        ("an older receipt again",    rcpt(vec![old]),                                     "replayed"),
        ("another session",           rcpt(vec![sign(own, begun.plus(1), signed + 1)]),    "other-session"),
        ("another member",            rcpt(vec![others.as_bytes().to_vec()]),              "other-session"),
        ("two receipts",              rcpt(vec![sign(own, begun, signed); 2]),             "other-session"),
        ("no receipt",                rcpt(vec![]),                                        "other-session"),
        ("another provider",          rcpt(vec![sign(world.houses[2].id(), begun, signed + 1)]), "wrong-team"),
        ("a forged receipt",          rcpt(vec![forged]),                                  "forged"),
        ("a receipt cut off",         rcpt(vec![cut]),                                     "truncated"),
        ("a receipt too long",        rcpt(vec![vec![0x84; 600]]),                         "oversized"),
        ("rubbish for a receipt",     rcpt(vec![vec![0x60; 60]]),                          "malformed"),
        ("a receipt and a byte more", rcpt(vec![longer]),                                  "not-canonical"),
        ("a certificate for a receipt", rcpt(vec![certificate.as_bytes().to_vec()]),       "malformed"),
        ("a message cut off",         whole[..whole.len() - 1].to_vec(),                   "truncated"),
        ("a message too long",        oversized.into_bytes(),                              "oversized"),
        ("a body that is no bundle",  b"RCPT P2PWNC/3.0\r\nContent-Length: 2\r\n\r\nab".to_vec(), "body"),
        ("no message",                b"GET / HTTP/1.1\r\n\r\n".to_vec(),                  "malformed"),
        ("bytes that are no text",    [[0xff; 20].as_slice(), b"\r\n"].concat(),                                     "malformed"),
        ("a forged certificate",      bad_conn.into_bytes(),                               "certificate"),
        ("an access point's certificate", conn(&world.houses[1].certificate, 1, Bundle::default()), "certificate"),
        ("another member's CONN",     conn(&other_certificate, 1, Bundle::default()),      "busy"),
        ("a message for others",      updt,                                                "unexpected"),
    ];
    let here = world.guests[guest].address;
    let before = world.houses[0].ap.status();
    let timeout = world.houses[0].ap.poll_timeout();
    for (name, message, kind) in cases {
        let count = world.houses[0].refused(kind);
        let total: u64 = world.houses[0].ap.refusals().values().sum();
        world.inject(0, here, NOBODY, &message);
        assert_eq!(world.houses[0].refused(kind), count + 1, "{name}: {:?}", world.houses[0].ap.refusals());
        assert_eq!(world.houses[0].ap.refusals().values().sum::<u64>(), total + 1, "{name}");
        assert_eq!(world.houses[0].ap.status(), before, "{name}");
        assert_eq!(world.houses[0].ap.poll_timeout(), timeout, "{name}");
        let (_, event) = world.houses[0].events.last().unwrap();
        assert!(
            matches!(event, Event::Refused { kind: reported, .. } if *reported == kind),
            "{name}: {event:?}"
        );
    }
    world.inject(0, here, NOBODY, &home);
    assert_eq!(world.houses[0].ap.status(), before, "an ERRO asks nothing");
    world.inject(0, address(77), NOBODY, &whole);
    assert_eq!(world.houses[0].refused("no-session"), 1);
    world.leave_at(guest, world.now + Micros::from_millis(100));
    world.run_for(Micros::from_seconds(3));
    let visitor = &world.guests[guest];
    assert_eq!(
        world.houses[0].closed(),
        [(Code::Closed, visitor.carried, visitor.carried)],
        "nothing was disturbed"
    );
}

#[test]
fn sending_the_last_receipt_again_does_not_put_the_next_request_off() {
    let mut world = World::new(21, 2, Link::GOOD);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_millis(5_300));
    world.guests[guest].silent_from = Some(world.now);
    let last = world.guests[guest].sent.last().unwrap().clone();
    let here = world.guests[guest].address;
    for _ in 0..20 {
        world.inject(0, here, 0, &last);
        world.run_for(Micros::from_millis(400));
    }
    assert_eq!(world.houses[0].closed().first().map(|(code, ..)| *code), Some(Code::Unpaid));
}

#[test]
fn a_stranger_at_the_same_address_cannot_close_a_session_or_draw_its_requests_away() {
    let mut world = World::new(22, 3, Link::GOOD);
    let (key, certificate) = world.houses[1].member(&mut world.rng);
    let guest = world.visit_as(key, certificate.clone(), 0, Bundle::default());
    let (_, strange) = world.houses[2].member(&mut world.rng);
    let here = world.guests[guest].address;
    for second in 0..20 {
        world.run_for(Micros::from_seconds(1));
        world.inject(0, here, NOBODY, &conn(&strange, second, Bundle::default()));
        world.inject(0, here, NOBODY, &conn(&certificate, second, Bundle::default()));
        world.inject(0, here, NOBODY, &rcpt(vec![vec![1, 2, 3]]));
    }
    assert_eq!(world.houses[0].closed(), []);
    world.leave_at(guest, world.now);
    world.run_for(Micros::from_seconds(3));
    assert_eq!(world.guests[guest].signed(), world.guests[guest].carried);
}

#[test]
fn asking_in_somebody_elses_name_cannot_end_a_visit_that_was_granted() {
    let mut world = World::new(30, 2, Link::GOOD);
    let (key, certificate) = world.houses[1].member(&mut world.rng);
    let guest = world.visit_as(key, certificate.clone(), 0, Bundle::default());
    world.run_for(Micros::from_seconds(70)); // Its first receipts are stored: asked now, it would be refused.
    let here = world.guests[guest].address;
    world.inject(0, here, NOBODY, &conn(&certificate, 1, Bundle::default()));
    world.run_for(Micros::from_seconds(20));
    let asked = |event: &&home::Event| matches!(event, home::Event::Decided { .. });
    let verdicts: Vec<_> = world.houses[0].home_events.iter().filter(asked).collect();
    let [_, home::Event::Decided { decision, .. }] = verdicts[..] else {
        panic!("decided twice: {verdicts:?}")
    };
    assert_eq!(decision.verdict, Verdict::Refused);
    assert_eq!(world.houses[0].ap.status().len(), 1);
    assert_eq!(world.guests[guest].ended(), None);
}

#[test]
fn rubbish_made_of_real_messages_panics_no_machine() {
    let mut world = World::new(31, 2, Link::GOOD);
    let shown = world.houses[0].owes(world.houses[1].id(), 1_000, &mut world.rng);
    let guest = world.visit(1, 0, shown.clone());
    world.run_for(Micros::from_seconds(6));
    let (_, member) = world.houses[1].member(&mut world.rng);
    let mut messages = world.guests[guest].sent.clone();
    messages.push(quer(&member, shown));
    messages.push(cack(
        &terms(&world.houses[0], &member, [0; 16]),
        &world.houses[0].key,
        &world.houses[0].certificate,
    ));
    messages
        .push(Message::Rreq { started: started(), weight: Bytes(u64::MAX), last: true, hold: None }.emit());
    let here = world.guests[guest].address;
    for _ in 0..20_000 {
        let mut bytes = messages[world.rng.random_range(0..messages.len())].clone();
        for _ in 0..world.rng.random_range(1..4) {
            let at = world.rng.random_range(0..bytes.len());
            bytes[at] = world.rng.random();
        }
        bytes.truncate(world.rng.random_range(bytes.len() / 2..bytes.len() * 2));
        let now = world.now;
        world.houses[0].home.handle_input(AP, &bytes, &mut world.rng, now);
        world.houses[0].ap.handle_home(&bytes, now);
        world.inject_visitor(guest, &bytes);
        world.inject(0, here, NOBODY, &bytes);
    }
    assert!(world.houses[0].ap.refusals().values().sum::<u64>() > 20_000);
    assert_eq!(world.guests[guest].ended(), None);
}

fn quer(certificate: &Certificate, bundle: Bundle) -> Vec<u8> {
    let certificate = Box::new(certificate.clone());
    Message::Quer { reference: 1, certificate, request: Bytes(1), bundle, holds: false, session: None }.emit()
}

/// A visitor that has asked and not been answered, and what its CONN said.
fn asking(world: &mut World) -> (usize, SecretKey, Certificate, [u8; 16]) {
    world.link.loss = 1.0;
    let (key, certificate) = world.houses[1].member(&mut world.rng);
    let guest = world.visit_as(copy(&key), certificate.clone(), 0, Bundle::default());
    let Ok(Message::Conn { nonce, .. }) = Message::parse(&world.guests[guest].sent[0]) else {
        panic!("a visitor asks first");
    };
    (guest, key, certificate, nonce)
}

fn terms(house: &Household, member: &Certificate, nonce: [u8; 16]) -> Acknowledgement {
    Acknowledgement {
        nonce,
        member: member.subject_id(),
        provider: house.id(),
        started: START.unix_seconds(),
        interval: Micros::from_seconds(5),
        volume: Bytes(1_000_000),
        class: ServiceClass::High,
    }
}

fn cack(terms: &Acknowledgement, key: &SecretKey, certificate: &Certificate) -> Vec<u8> {
    let acknowledgement = terms.seal(key, certificate);
    Message::Cack { certificate: Box::new(certificate.clone()), acknowledgement, home: None }.emit()
}

#[test]
fn terms_that_do_not_answer_this_visitor_are_dropped() {
    let mut world = World::new(23, 3, Link::GOOD);
    let (guest, _, member, nonce) = asking(&mut world);
    let (_, other) = world.houses[1].member(&mut world.rng);
    let (house, rogue) = (&world.houses[0], &world.houses[2]);
    let good = terms(house, &member, nonce);
    let sealed = |terms: &Acknowledgement| cack(terms, &house.key, &house.certificate);
    let as_member = certify(&house.team, &house.key, Role::Member);
    let now = START.unix_seconds();
    let expired =
        Certificate::issue(&house.team, house.key.public(), Role::AccessPoint, now.minus(100), now.minus(1));
    let mut forged = sealed(&good);
    let at = forged.len() - 8; // Within the signature's text.
    forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
    #[rustfmt::skip]
    let cases = [
        ("a wrong nonce",                 sealed(&Acknowledgement { nonce: [0; 16], ..good.clone() })),
        ("another member's",              sealed(&terms(house, &other, nonce))),
        ("a session of yesterday",        sealed(&Acknowledgement { started: now.minus(86_400), ..good.clone() })),
        ("a session of tomorrow",         sealed(&Acknowledgement { started: now.plus(86_400), ..good.clone() })),
        ("another access point's key",    cack(&good, &rogue.key, &house.certificate)),
        ("another team's certificate",    cack(&good, &rogue.key, &rogue.certificate)),
        ("no access point's certificate", cack(&good, &house.key, &as_member)),
        ("an expired certificate",        cack(&good, &house.key, &expired)),
        ("a forged signature",            forged),
    ];
    let good = sealed(&good);
    for (name, message) in cases {
        let dropped = world.guests[guest].events.len();
        world.inject_visitor(guest, &message);
        let events = &world.guests[guest].events[dropped..];
        assert!(matches!(events, [visitor::Event::Dropped { .. }]), "{name}: {events:?}");
    }
    assert_eq!(world.guests[guest].granted(), []);
    world.inject_visitor(guest, &good);
    assert_eq!(world.guests[guest].granted().len(), 1);
    let opened = world.guests[guest].events.len();
    world.inject_visitor(guest, &good);
    assert!(matches!(world.guests[guest].events[opened..], [visitor::Event::Dropped { .. }]), "shown again");
    // The same terms in a later visit: its nonce is another.
    let (later, ..) = asking(&mut world);
    world.inject_visitor(later, &good);
    assert_eq!(world.guests[later].granted(), []);
}

#[test]
fn another_access_point_cannot_take_an_open_session_over() {
    let mut world = World::new(24, 3, Link::GOOD);
    let (guest, _, member, nonce) = asking(&mut world);
    let good =
        cack(&terms(&world.houses[0], &member, nonce), &world.houses[0].key, &world.houses[0].certificate);
    world.inject_visitor(guest, &good);
    let shown = world.houses[0].owes(world.houses[1].id(), 1, &mut world.rng);
    world.show(guest, shown);
    let Ok(Message::Conn { nonce, .. }) = Message::parse(world.guests[guest].sent.last().unwrap()) else {
        panic!("it asks again");
    };
    let (first, rogue) = (&world.houses[0], &world.houses[2]);
    let taken = cack(&terms(rogue, &member, nonce), &rogue.key, &rogue.certificate);
    let moved = Acknowledgement { started: START.unix_seconds().plus(1), ..terms(first, &member, nonce) };
    let moved = cack(&moved, &first.key, &first.certificate);
    for message in [taken, moved] {
        world.inject_visitor(guest, &message);
        assert!(matches!(world.guests[guest].events.last(), Some(visitor::Event::Dropped { .. })));
    }
    assert_eq!(world.guests[guest].granted().len(), 1);
}

/// A rogue access point R stands between the visitor and an honest access point A and relays CONN, CACK and RREQ.
///
/// The visitor cannot see that. What the signed terms achieve is that it signs for A, whose team the terms name and
/// whose bytes they are: R is paid for nothing, neither for its own team nor for a third one. R can carry the
/// visitor's bytes through A, which is what A is paid for, and beyond them only what the tolerance lets pass.
#[test]
fn a_rogue_access_point_that_relays_terms_is_paid_for_nothing() {
    let mut world = World::new(25, 3, Link::GOOD);
    let (guest, _, member, nonce) = asking(&mut world);
    let (a, rogue) = (world.houses[0].id(), world.houses[2].id());
    let relayed = world.guests[guest].sent[0].clone();
    let at = address(500); // R's own address at A.
    world.inject(0, at, NOBODY, &relayed);
    world.run_for(Micros::from_millis(100));
    let started = world.houses[0].ap.status()[0].started;
    let genuine =
        Acknowledgement { started, class: ServiceClass::Lowest, ..terms(&world.houses[0], &member, nonce) };
    // R cannot put its own team into the terms.
    let (key, certificate) = (&world.houses[2].key, &world.houses[2].certificate);
    let swapped = cack(&genuine, key, certificate);
    let relay = cack(&genuine, &world.houses[0].key, &world.houses[0].certificate);
    world.inject_visitor(guest, &swapped);
    assert_eq!(world.guests[guest].granted(), []);
    world.inject_visitor(guest, &relay);
    assert_eq!(world.guests[guest].granted(), [(a, ServiceClass::Lowest)]);
    world.guests[guest].carried = Bytes(1_000_000);
    for weight in [1_000_000, 1_115_000, 1_116_000, 9_000_000] {
        let rreq = Message::Rreq { started, weight: Bytes(weight), last: false, hold: None }.emit();
        world.inject_visitor(guest, &rreq);
    }
    let visitor = &world.guests[guest];
    assert!(visitor.receipts().all(|receipt| receipt.provider() == a && receipt.provider() != rogue));
    assert_eq!(visitor.signed(), Bytes(1_115_000), "5 % and 64 KiB beyond the meter, no more");
}

fn flood(world: &mut World, seconds: u64, per_second: u32, valid: bool) {
    let mut number = 10_000;
    for _ in 0..seconds * 10 {
        for _ in 0..per_second / 10 {
            number += 1;
            let team = SecretKey::generate(Suite::Ed25519, &mut world.rng);
            let certificate = certify(&team, &team, Role::Member);
            let mut bytes = conn(&certificate, 7, Bundle::default());
            if !valid {
                let at = bytes.iter().position(|byte| *byte == b':').unwrap() + 20;
                bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            }
            world.inject(0, address(number), NOBODY, &bytes);
        }
        world.run_for(Micros::from_millis(100));
        assert!(world.houses[0].ap.status().len() <= Config::default().sessions_max);
    }
}

#[test]
fn ten_thousand_forged_questions_do_not_keep_a_member_out() {
    for valid in [true, false] {
        let mut world = World::new(26, 2, Link::GOOD);
        flood(&mut world, 5, 1_000, valid);
        let guest = world.visit(1, 0, Bundle::default());
        flood(&mut world, 5, 1_000, valid);
        let visitor = &world.guests[guest];
        assert_eq!(visitor.granted().len(), 1, "valid {valid}");
        assert!(visitor.carried > Bytes(0), "valid {valid}");
        let begun = visitor.receipts().next().unwrap().started();
        let now = world.now.unix_seconds();
        assert!(begun <= now && begun.plus(10) >= now, "the clock was not pushed away");
        world.leave_at(guest, world.now + Micros::from_millis(1));
        world.run_for(Micros::from_seconds(20));
        assert_eq!(world.guests[guest].ended().map(|(code, _)| code), Some(Code::Closed), "valid {valid}");
        let [(Code::Closed, counted, signed)] = world.houses[0].closed()[..] else { panic!("closed once") };
        assert_eq!((world.houses[0].opened(), signed), (1, counted));
        assert!(world.houses[0].ap.status().is_empty() && world.houses[0].ap.poll_timeout().is_none());
    }
}

#[test]
fn a_full_house_says_so_and_a_visitor_that_waits_gets_the_next_place() {
    let config = Config { sessions_max: 1, ..Config::default() };
    let mut world = World::with(27, 2, Link::GOOD, &config, &home::Config::default());
    let first = world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(1));
    let second = world.visit(1, 0, Bundle::default());
    world.leave_at(first, world.now + Micros::from_seconds(3));
    world.run_for(Micros::from_seconds(2));
    assert_eq!((world.guests[second].ended(), world.guests[second].granted().len()), (None, 0));
    world.run_for(Micros::from_seconds(10));
    assert_eq!(world.guests[first].signed(), world.guests[first].carried);
    // The first visit left a debt, so that this is a verdict, not a lack of room.
    assert_eq!(world.guests[second].ended().map(|(code, _)| code), Some(Code::Refused));

    let third = world.visit(0, 0, Bundle::default());
    world.run_for(Micros::from_seconds(1));
    let fourth = world.visit(0, 0, Bundle::default());
    world.run_for(Micros::from_seconds(40));
    assert_eq!(world.guests[third].ended(), None);
    assert_eq!(world.guests[fourth].ended(), Some((Code::Busy, "all places are taken")));
}

#[test]
fn a_stranger_gives_its_place_to_a_member_who_proves_its_key_and_to_nobody_else() {
    let config = Config { sessions_max: 2, ..Config::default() };
    let mut world = World::with(28, 3, Link::GOOD, &config, &home::Config::default());
    let strangers = [1, 2].map(|team| {
        let stranger = world.visit(team, 0, Bundle::default());
        world.run_for(Micros::from_seconds(2));
        stranger
    });
    assert_eq!(world.houses[0].opened(), 2);

    // Anybody can send a member's CONN. Without the key nobody goes for it.
    let (key, certificate) = world.houses[0].member(&mut world.rng);
    let conn = conn(&certificate, 7, Bundle::default());
    world.inject(0, address(77), 900, &conn);
    world.run_for(Micros::from_seconds(8));
    assert!(strangers.iter().all(|&stranger| world.guests[stranger].ended().is_none()));
    assert_eq!(world.houses[0].opened(), 2);

    let member = world.visit_as(key, certificate, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    assert_eq!(world.guests[member].granted().len(), 1, "{:?}", world.guests[member].events);
    assert_eq!(world.guests[strangers[0]].ended(), None, "who came last goes first");
    assert_eq!(world.guests[strangers[1]].ended().map(|(code, _)| code), Some(Code::Closed));
    assert_eq!(world.guests[strangers[1]].signed(), world.guests[strangers[1]].carried, "and signs before");
    assert_eq!((world.houses[0].ap.status().len(), world.houses[0].refused("gave-way")), (2, 1));

    // Members do not displace each other.
    let second = world.visit(0, 0, Bundle::default());
    world.run_for(Micros::from_seconds(5));
    assert_eq!(world.guests[second].granted().len(), 1);
    let third = world.visit(0, 0, Bundle::default());
    world.run_for(Micros::from_seconds(40));
    assert_eq!(world.guests[third].ended(), Some((Code::Busy, "all places are taken")));
}

#[test]
fn messages_of_the_home_that_nobody_asked_for_change_nothing() {
    let mut world = World::new(28, 2, Link::GOOD);
    world.visit(1, 0, Bundle::default());
    world.run_for(Micros::from_seconds(7));
    let before = world.houses[0].ap.status();
    let reference = 999;
    let reason = "x".to_owned();
    let messages = [
        Message::Qrsp {
            reference,
            grant: None,
            ind: None,
            valid_for: 0,
            reason: reason.clone(),
            volume: None,
            home: None,
        },
        Message::Erro { reference: Some(reference), code: Code::Busy, reason },
        Message::error(Code::Closed, "bye"),
    ];
    let now = world.now;
    let ap = &mut world.houses[0].ap;
    for message in messages {
        ap.handle_home(&message.emit(), now);
    }
    ap.handle_home(b"rubbish", now);
    assert_eq!(ap.status(), before);
    assert!(!matches!(ap.poll_transmit(), Some(Transmit::Visitor(..))));
    assert_eq!(ap.refusals().get("home"), Some(&3));
}

#[test]
fn made_up_debts_to_the_household_are_not_believed() {
    let mut world = World::new(29, 2, Link::GOOD);
    let (key, certificate) = world.houses[1].member(&mut world.rng);
    let made_up = Receipt::sign(&key, &certificate, world.houses[0].id(), started(), Bytes(u64::MAX));
    let bundle = Bundle {
        certificates: vec![certificate.as_bytes().to_vec()],
        receipts: vec![made_up.as_bytes().to_vec()],
        revocations: vec![],
    };
    let guest = world.visit_as(key, certificate, 0, bundle);
    world.run_for(Micros::from_seconds(1));
    assert_eq!(world.houses[0].home_refused("irrelevant"), 1);
    assert_eq!(world.houses[0].home.graph().team_count(), 0, "else strangers would no longer be served");
    assert_eq!(world.guests[guest].granted().len(), 1);
}
