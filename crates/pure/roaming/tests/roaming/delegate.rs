//! A home's delegate at the edges of its limits: how many connections, how long it waits, on which day it signs for what.

use crate::homes::{mandate, terms};
use crate::world::{Link, START, World};
use guestright_identity::{Certificate, Delegation, DelegationTerms, Role, SecretKey, Suite};
use guestright_receipt::Bundle;
use guestright_reciprocity::ServiceClass;
use guestright_roaming::delegate::{Config, ConnectionId, Delegate, Event, Mandate, Reading, Spent, Way};
use guestright_roaming::message::{Acknowledgement, Code, Message};
use guestright_units::{Bytes, Micros, Time, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

const HERE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

fn delegate() -> Delegate {
    Delegate::new(Config::default(), BTreeMap::new(), BTreeMap::new())
}

fn connect(delegate: &mut Delegate, id: ConnectionId, now: Time) {
    delegate.handle_connected(id, HERE, now);
    let port = 40_000.try_into().unwrap();
    delegate.handle_input(id, &Message::RreqTunnel { port, started: None }.emit(), now);
}

fn events(delegate: &mut Delegate) -> Vec<Event> {
    std::iter::from_fn(|| delegate.poll_event()).collect()
}

/// Why connections were refused, in the order in which that was sent.
fn refused(delegate: &mut Delegate) -> Vec<(ConnectionId, &'static str)> {
    let kind = |event| match event {
        Event::Refused(connection, kind, _) => Some((connection, kind)),
        _ => None,
    };
    events(delegate).into_iter().filter_map(kind).collect()
}

/// What comes of a connection for this member: a question, or why there is none.
fn outcome(mandate: &Mandate, spent: Option<Spent>, now: Time) -> &'static str {
    let spent = spent.map(|spent| (mandate.delegation().member_id(), spent));
    let mut delegate = Delegate::new(Config::default(), spent, BTreeMap::new());
    connect(&mut delegate, 1, now);
    let mut rng = StdRng::seed_from_u64(2);
    delegate.handle_lookup(1, Some((mandate, Bundle::default())), &Reading::default(), &mut rng, now);
    let (_, sent) = delegate.poll_transmit().unwrap();
    match Message::parse(&sent).unwrap() {
        Message::Conn { .. } => "asks",
        Message::Erro { code: Code::Refused, .. } => refused(&mut delegate)[0].1,
        other => panic!("{other:?}"),
    }
}

/// A moment earlier.
fn before(time: Time) -> Time {
    Time(time.0 - 1)
}

#[test]
fn one_address_may_have_sixteen_connections_and_all_together_sixty_four() {
    let mut delegate = delegate();
    for id in 0..16 {
        delegate.handle_connected(id, HERE, START);
    }
    assert_eq!(refused(&mut delegate), []);
    delegate.handle_connected(16, HERE, START);
    assert_eq!(refused(&mut delegate), [(16, "busy")]);
    for id in 17_u64..64 {
        let [.., low] = id.to_be_bytes();
        delegate.handle_connected(id, Ipv4Addr::new(203, 0, 113, low), START);
    }
    assert_eq!(refused(&mut delegate), []);
    delegate.handle_connected(64, Ipv4Addr::new(192, 0, 2, 1), START);
    assert_eq!(refused(&mut delegate), [(64, "busy")]);
    for id in [3, 64] {
        delegate.handle_hung_up(id, START);
    }
    delegate.handle_hung_up(16, START);
    delegate.handle_connected(65, HERE, START);
    assert_eq!(refused(&mut delegate), [], "who has hung up makes room");
    assert_eq!(delegate.refusals(), &BTreeMap::from([("busy", 2)]));
}

#[test]
fn a_connection_has_five_seconds_for_its_first_word() {
    let mut delegate = delegate();
    delegate.handle_connected(1, HERE, START);
    let late = START + Micros::from_seconds(5);
    assert_eq!(delegate.poll_timeout(), Some(late));
    delegate.handle_timeout(before(late));
    assert_eq!(refused(&mut delegate), []);
    delegate.handle_timeout(late);
    assert_eq!(refused(&mut delegate), [(1, "silent")]);
    assert_eq!(delegate.poll_timeout(), None);
}

#[test]
fn a_tunnel_is_looked_for_four_times_a_second_for_three_seconds() {
    let mut delegate = delegate();
    connect(&mut delegate, 1, START);
    let looks = |delegate: &mut Delegate| {
        events(delegate).iter().filter(|event| matches!(event, Event::LookupNeeded(1, _))).count()
    };
    assert_eq!(looks(&mut delegate), 1);
    for quarter in 1..12 {
        let at = START + Micros::from_millis(250 * quarter);
        assert_eq!(delegate.poll_timeout(), Some(at));
        delegate.handle_timeout(before(at));
        assert_eq!(looks(&mut delegate), 0);
        delegate.handle_timeout(at);
        assert_eq!(looks(&mut delegate), 1);
    }
    let over = START + Micros::from_seconds(3);
    delegate.handle_timeout(before(over));
    assert_eq!(refused(&mut delegate), []);
    delegate.handle_timeout(over);
    assert_eq!(refused(&mut delegate), [(1, "no-tunnel")]);
}

#[test]
fn a_day_begins_at_midnight_and_the_reserve_is_not_touched() {
    let mut world = World::new(1, 1, Link::GOOD);
    let mandate = mandate(&world.houses[0], terms(1_000_000), &mut world.rng);
    let day = START.unix_seconds().0 / 86_400;
    let (midnight, reserve) = (UnixSeconds((day + 1) * 86_400), 65_536);
    let spent = |day, bytes| Some(Spent { day, bytes: Bytes(bytes) });
    #[rustfmt::skip]
    let cases = [
        (None,                                 START,                    "asks"),
        (spent(day, 1_000_000 - reserve - 1),  START,                    "asks"),
        (spent(day, 1_000_000 - reserve),      START,                    "used-up"),
        (spent(day, 2_000_000),                midnight.minus(1).time(), "used-up"),
        (spent(day, 2_000_000),                midnight.time(),          "asks"),
        (spent(day + 1, 2_000_000),            START,                    "used-up"), // A clock that went back.
    ];
    for (spent, now, want) in cases {
        assert_eq!(outcome(&mandate, spent, now), want, "{spent:?} at {}", now.unix_seconds());
    }
}

#[test]
fn a_delegate_signs_from_the_first_to_the_last_second_of_delegation_and_certificate() {
    let mut world = World::new(1, 1, Link::GOOD);
    let house = &world.houses[0];
    let (member, _) = house.member(&mut world.rng);
    let now = START.unix_seconds();
    let (wide, narrow) = ((now.minus(50), now.plus(50)), (now.minus(20), now.plus(20)));
    for (delegated, certified) in [(wide, narrow), (narrow, wide)] {
        let key = SecretKey::generate(Suite::Ed25519, &mut world.rng);
        let (not_before, not_after) = delegated;
        let terms = DelegationTerms { not_before, not_after, ..terms(1_000_000) };
        let certificate =
            Certificate::issue(&house.team, key.public(), Role::Member, certified.0, certified.1);
        let delegation = Delegation::issue(&member, key.public(), terms).unwrap();
        let mandate = Mandate::new(delegation, key, certificate, house.id()).unwrap();
        for (at, want) in [
            (now.minus(21), "expired"),
            (now.minus(20), "asks"),
            (now, "asks"),
            (now.plus(20), "asks"),
            (now.plus(21), "expired"),
        ] {
            assert_eq!(outcome(&mandate, None, at.time()), want, "at {at}");
        }
    }
}

/// A delegate with an open session on connection 1, and the household that serves.
fn serving(config: Config) -> (World, Delegate, Mandate) {
    let mut world = World::new(1, 2, Link::GOOD);
    let mandate = mandate(&world.houses[0], terms(1_000_000_000), &mut world.rng);
    let mut delegate = Delegate::new(config, BTreeMap::new(), BTreeMap::new());
    connect(&mut delegate, 1, START);
    delegate.handle_lookup(
        1,
        Some((&mandate, Bundle::default())),
        &Reading::default(),
        &mut world.rng,
        START,
    );
    let (_, sent) = delegate.poll_transmit().unwrap();
    let Ok(Message::Conn { nonce, certificate, .. }) = Message::parse(&sent) else { panic!("it asks") };
    let house = &world.houses[1];
    let terms = Acknowledgement {
        nonce,
        member: certificate.subject_id(),
        provider: house.id(),
        started: START.unix_seconds(),
        interval: Micros::from_seconds(5),
        volume: Bytes(1_000_000),
        class: ServiceClass::High,
    };
    let acknowledgement = terms.seal(&house.key, &house.certificate);
    let cack =
        Message::Cack { certificate: Box::new(house.certificate.clone()), acknowledgement, home: None };
    delegate.handle_input(1, &cack.emit(), START);
    assert!(events(&mut delegate).iter().any(|event| matches!(event, Event::Granted { connection: 1, .. })));
    while delegate.poll_transmit().is_some() {}
    (world, delegate, mandate)
}

#[test]
fn a_members_new_connection_ends_the_one_before() {
    let (mut world, mut delegate, mandate) = serving(Config::default());
    connect(&mut delegate, 2, START);
    delegate.handle_lookup(
        2,
        Some((&mandate, Bundle::default())),
        &Reading::default(),
        &mut world.rng,
        START,
    );
    let sent: Vec<_> = std::iter::from_fn(|| delegate.poll_transmit())
        .map(|(connection, bytes)| (connection, Message::parse(&bytes).unwrap()))
        .collect();
    assert!(
        matches!(&sent[..], [(1, Message::Erro { code: Code::Closed, .. }), (2, Message::Conn { .. })]),
        "{sent:?}"
    );
}

#[test]
fn a_member_may_have_a_tunnel_of_each_way_and_each_has_a_session() {
    let (mut world, mut delegate, mandate) = serving(Config::default());
    assert_eq!(delegate.way(1), Some(Way::WireGuard));
    let ipsec = mandate.by(Way::Ipsec);
    let mut look_up = |id, delegate: &mut Delegate| {
        connect(delegate, id, START);
        let found = Some((&ipsec, Bundle::default()));
        delegate.handle_lookup(id, found, &Reading::default(), &mut world.rng, START);
        let sent = std::iter::from_fn(|| delegate.poll_transmit());
        sent.map(|(connection, bytes)| (connection, Message::parse(&bytes).unwrap())).collect::<Vec<_>>()
    };
    let sent = look_up(2, &mut delegate);
    assert!(matches!(&sent[..], [(2, Message::Conn { .. })]), "the other one goes on: {sent:?}");
    assert_eq!((delegate.way(1), delegate.way(2)), (Some(Way::WireGuard), Some(Way::Ipsec)));
    assert_eq!(delegate.status().len(), 2);
    let sent = look_up(3, &mut delegate);
    assert!(matches!(&sent[..], [(3, Message::Conn { .. })]), "{sent:?}");
    assert_eq!((delegate.way(1), delegate.way(2)), (Some(Way::WireGuard), None), "there is one of each");
}

#[test]
fn the_meter_is_read_when_it_is_asked_for_and_ten_times_a_second_at_most() {
    let (_, mut delegate, mandate) = serving(Config::default());
    let member = mandate.delegation().member_id();
    let rreq =
        Message::Rreq { started: START.unix_seconds(), weight: Bytes(0), last: false, hold: None }.emit();
    let asks = |delegate: &mut Delegate| {
        let asked = Event::MeterNeeded(1, member, HERE);
        events(delegate).into_iter().filter(|event| *event == asked).count()
    };
    let endpoint = Some(std::net::SocketAddrV4::new(HERE, 40_000));
    delegate.handle_input(1, &rreq, START);
    assert_eq!(asks(&mut delegate), 1, "for the first time at once");
    delegate.handle_meter(1, endpoint, &Reading::default(), START);
    let due = START + Micros::from_millis(100);
    delegate.handle_input(1, &rreq, before(due));
    assert_eq!(asks(&mut delegate), 0);
    assert_eq!(delegate.poll_timeout(), Some(due));
    delegate.handle_timeout(before(due));
    assert_eq!(asks(&mut delegate), 0);
    delegate.handle_timeout(due);
    assert_eq!(asks(&mut delegate), 1);
    delegate.handle_meter(1, endpoint, &Reading::default(), due);
    let later = due + Micros::from_seconds(1);
    delegate.handle_timeout(later);
    assert_eq!(asks(&mut delegate), 0, "nobody has asked");
    delegate.handle_input(1, &rreq, later);
    assert_eq!(asks(&mut delegate), 1);
}

#[test]
fn a_session_without_a_connection_is_forgotten_after_a_while_and_makes_room() {
    let config = |orphan_max| Config { orphan_max, connections_max: 1, ..Config::default() };
    // It waits for its access point, or ends because that says nothing for 35 s.
    for (orphan_max, seconds) in [(15, 15), (60, 35)] {
        let (_, mut delegate, _) = serving(config(Micros::from_seconds(orphan_max)));
        delegate.handle_hung_up(1, START);
        let over = START + Micros::from_seconds(seconds);
        assert_eq!(delegate.poll_timeout(), Some(over));
        delegate.handle_timeout(before(over));
        assert_eq!(delegate.status().len(), 1);
        delegate.handle_timeout(over);
        assert_eq!((delegate.status().len(), delegate.poll_timeout()), (0, None));
        events(&mut delegate);
        delegate.handle_connected(2, HERE, over);
        assert_eq!(refused(&mut delegate), [], "there is room again");
    }
}
