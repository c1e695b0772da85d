//! Visitors that have nothing but a tunnel: their homes sign.

use crate::homes::{ALLOWANCE, mandate, router, terms};
use crate::world::{self, Link, START, World};
use guestright_identity::{AccessPoints, DelegationTerms};
use guestright_receipt::Bundle;
use guestright_reciprocity::Policy;
use guestright_roaming::access_point::{self, Address, Joined};
use guestright_roaming::delegate::{Config, Event, Mandate, Spent};
use guestright_roaming::home;
use guestright_roaming::message::{Code, Message};
use guestright_units::{Bytes, Micros};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;

const SECOND: Micros = Micros::from_seconds(1);
const MINUTE: Micros = Micros::from_seconds(60);
const PLENTY: u64 = 1 << 40;
/// What one period can carry for nothing at 200,000 bytes a second: interval, deadline, the firewall's answer.
const PERIOD: u64 = 9 * 200_000;

/// House 0 serves, the members of house 1 are away.
fn world(seed: u64, terms: &[DelegationTerms]) -> World {
    // However much members of house 1 have taken, they are served.
    let mut generous = home::Config::default();
    generous.judge.policy = Policy::Quota { bytes: Bytes(0) };
    let mut world = World::with(seed, 2, Link::GOOD, &access_point::Config::default(), &generous);
    let mandates: Vec<Mandate> =
        terms.iter().map(|terms| mandate(&world.houses[1], terms.clone(), &mut world.rng)).collect();
    world.add_home(mandates, Config::default());
    world
}

fn shown(world: &World) -> String {
    world.trace.join("\n")
}

#[test]
fn a_tunnels_home_pays_to_the_byte() {
    let mut world = world(1, &[terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(MINUTE);
    let address = world.tunnel_address(tunnel);
    assert!(world.houses[0].firewall.contains_key(&address), "{}", shown(&world));
    world.tunnels[tunnel].bytes_per_tick = 0; // Silent: three minutes later it is over.
    world.run_for(Micros::from_seconds(200));
    let (house, home, guest) = (&world.houses[0], &world.homes[0], &world.tunnels[tunnel]);
    assert!(guest.carried > 11_000_000 && guest.allowed <= ALLOWANCE, "{}", shown(&world));
    let carried = Bytes(guest.carried);
    assert_eq!(house.closed(), [(Code::Closed, carried, carried)], "{}", shown(&world));
    assert_eq!(home.signed(), guest.carried);
    let kept: Vec<_> = house.store.iter().map(|receipt| (receipt.consumer(), receipt.weight())).collect();
    assert_eq!(kept, [(world.houses[1].id(), carried)], "receipts count as a visitor's own would");
    assert_eq!(home.kept[&guest.member].bytes, carried);
    assert_eq!((house.ap.refusals().len(), home.delegate.refusals().len()), (0, 0));
    assert_eq!(world.connections_of(0), 1);
}

#[test]
fn without_a_signature_there_is_the_allowance_and_few_calls() {
    // Nobody answers; nobody says anything; it is not this port; it is another household's tunnel; it has expired;
    // it is used up; it does not hold here.
    type Spoil = fn(&mut World);
    let elsewhere = AccessPoints::Of([guestright_units::TeamId([9; 24])].into());
    let expired = DelegationTerms { not_after: START.unix_seconds().minus(1), ..terms(PLENTY) };
    #[rustfmt::skip]
    let cases: [(&str, &str, DelegationTerms, Spoil); 8] = [
        ("away",      "",          terms(PLENTY), |world| world.homes[0].answers = false),
        ("mute",      "",          terms(PLENTY), |world| world.homes[0].speaks = false),
        ("rubbish",   "",          terms(PLENTY), |world| world.homes[0].says = Some(b"HELO\r\n\r\n".to_vec())),
        ("no tunnel", "no-tunnel", terms(PLENTY), |world| world.homes[0].endpoints.clear()),
        ("elsewhere", "no-tunnel", terms(PLENTY), |world| {
            world.homes[0].endpoints.values_mut().for_each(|end| *end = SocketAddrV4::new(router(1), end.port()));
        }),
        ("expired",   "expired",   expired,       |_| {}),
        ("used up",   "used-up",   terms(65_536), |_| {}),
        ("not here",  "provider",  DelegationTerms { access_points: elsewhere, ..terms(PLENTY) }, |_| {}),
    ];
    for (name, kind, terms, spoil) in cases {
        let mut world = world(2, &[terms]);
        let tunnel = world.tunnel(0, 0, 0, 40_000);
        spoil(&mut world);
        world.run_for(Micros::from_seconds(600));
        let (guest, house) = (&world.tunnels[tunnel], &world.houses[0]);
        assert_eq!((guest.carried, guest.allowed), (0, ALLOWANCE), "{name}: {}", shown(&world));
        assert_eq!((house.opened(), world.homes[0].signed()), (0, 0), "{name}");
        assert!(house.store.iter().next().is_none(), "{name}");
        // 5, 10, 20 … 320 s apart.
        assert!(
            (5..=8).contains(&world.connections_of(0)),
            "{name}: {} connections",
            world.connections_of(0)
        );
        assert!(kind.is_empty() || world.homes[0].refused(kind) >= 5, "{name}: {}", shown(&world));
        assert!(house.ap.refusals().values().sum::<u64>() >= 5, "{name}: {:?}", house.ap.refusals());
    }
}

#[test]
fn an_access_point_cannot_have_more_signed_than_was_counted() {
    for (permille, fooled) in [(950, true), (500, false), (0, false)] {
        let mut world = world(3, &[terms(PLENTY)]);
        // What the home sees is less than what the access point claims.
        world.homes[0].meter_permille = permille;
        let tunnel = world.tunnel(0, 0, 0, 40_000);
        world.run_for(Micros::from_seconds(50));
        let home = &world.homes[0];
        let counted: u64 = home.counted.values().sum();
        // However many sessions there were.
        assert!(home.signed() <= counted + counted / 20 + 65_536, "{permille}: {}", shown(&world));
        assert_eq!(home.refused("disputed") == 0, fooled, "{permille}: {}", shown(&world));
        let unpaid = world.houses[0].closed().iter().map(|(_, counted, signed)| counted.0 - signed.0).max();
        assert!(unpaid.unwrap_or(0) <= PERIOD, "{permille}: the access point notices in time");
        assert_eq!(world.houses[0].closed().is_empty(), fooled, "{permille}");
        let is_open = world.houses[0].firewall.contains_key(&world.tunnel_address(tunnel));
        assert!(is_open || !fooled, "{permille}");
    }
}

#[test]
fn a_home_that_stops_signing_costs_one_period() {
    let mut world = world(4, &[terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(21));
    world.homes[0].speaks = false;
    world.run_for(MINUTE);
    let house = &world.houses[0];
    let [(Code::Unpaid, counted, signed)] = house.closed()[..] else { panic!("{}", shown(&world)) };
    assert!(counted.0 - signed.0 <= PERIOD, "{counted} {signed}");
    assert!(!house.firewall.contains_key(&world.tunnel_address(tunnel)));
    // Once it speaks again it is served again.
    world.homes[0].speaks = true;
    world.run_for(Micros::from_seconds(20));
    assert!(world.houses[0].firewall.contains_key(&world.tunnel_address(tunnel)), "{}", shown(&world));
}

#[test]
fn a_lost_connection_is_made_again_and_the_session_goes_on() {
    let mut world = world(5, &[terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    for _ in 0..40 {
        world.run_for(Micros::from_millis(1_700));
        world.cut_lines();
    }
    world.run_for(SECOND);
    let (house, home) = (&world.houses[0], &world.homes[0]);
    assert!(house.closed().is_empty() && house.opened() == 1, "{}", shown(&world));
    assert!(house.firewall.contains_key(&world.tunnel_address(tunnel)));
    assert_eq!(home.sessions(), 1);
    assert!(world.tunnels[tunnel].carried - home.signed() <= PERIOD, "{}", shown(&world));
    assert!(world.connections_of(0) >= 40);
    assert_eq!(home.refused("disputed"), 0);
}

#[test]
fn another_members_word_on_a_line_that_was_lost_does_not_end_the_session() {
    let mut world = world(5, &[terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(21));
    world.cut_lines();
    world.run_for(SECOND);
    let (_, certificate) = world.houses[1].member(&mut world.rng);
    let (certificate, bundle) = (Box::new(certificate), Bundle::default());
    let asks = Message::Conn { certificate, nonce: [7; 16], bundle, holds: false }.emit();
    let now = world.now;
    let paths = world.houses[0].ap.paths_in_use();
    assert!(!paths.is_empty());
    paths.iter().for_each(|&path| world.houses[0].ap.handle_contact(path, &asks, now));
    world.drain();
    world.run_for(SECOND);
    assert!(world.houses[0].firewall.contains_key(&world.tunnel_address(tunnel)), "{}", shown(&world));
    assert!(world.houses[0].closed().is_empty() && world.houses[0].refused("busy") > 0, "{}", shown(&world));
}

#[test]
fn a_home_that_was_killed_is_pardoned_once_an_hour() {
    let mut world = world(12, &[terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(21));
    world.homes[0].restart();
    world.cut_lines();
    // Called again after half a second; what it had forgotten is over at once, and it asks again after another half.
    world.run_for(Micros::from_millis(1_500));
    let address = world.tunnel_address(tunnel);
    assert!(world.houses[0].firewall.contains_key(&address), "served again: {}", shown(&world));
    assert_eq!((world.connections_of(0), world.houses[0].refused("home-away")), (2, 0), "{}", shown(&world));
    let [(Code::Unpaid, counted, signed)] = world.houses[0].closed()[..] else { panic!("{}", shown(&world)) };
    assert!(counted.0 - signed.0 <= PERIOD, "{counted} {signed}");
    // The second time it counts as unpaid, and little is carried in advance from then on.
    world.run_for(Micros::from_seconds(14));
    world.homes[0].restart();
    world.cut_lines();
    world.run_for(Micros::from_millis(1_500));
    assert_eq!(world.houses[0].closed().len(), 2, "{}", shown(&world));
    world.homes[0].speaks = false;
    world.run_for(Micros::from_seconds(10));
    let [.., (Code::Unpaid, counted, signed)] = world.houses[0].closed()[..] else {
        panic!("{}", shown(&world))
    };
    assert_eq!((world.houses[0].closed().len(), counted.0 - signed.0), (3, 65_536), "{}", shown(&world));
}

#[test]
fn a_home_that_was_killed_may_take_its_time_to_begin_again() {
    let mut world = world(17, &[terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(21));
    world.homes[0].restart();
    world.cut_lines();
    // Called again after half a second, it asks once; then nothing of it is heard for a while.
    world.run_for(Micros::from_millis(700));
    world.homes[0].speaks = false;
    world.run_for(Micros::from_seconds(2));
    world.homes[0].speaks = true;
    world.run_for(Micros::from_seconds(3));
    assert!(world.houses[0].firewall.contains_key(&world.tunnel_address(tunnel)), "{}", shown(&world));
    assert_eq!(world.connections_of(0), 2, "on the same connection");
}

#[test]
fn who_was_turned_away_for_want_of_the_households_own_home_is_called_once_it_is_there() {
    let mut world = world(14, &[terms(PLENTY)]);
    let away = access_point::Config { when_home_is_away: None, ..access_point::Config::default() };
    world.houses[0].restart(away);
    world.houses[0].home_up = false;
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(600));
    let (denied, silent) = (world.houses[0].refused("denied"), world.houses[0].refused("home-away"));
    // Every 5 s, and 3 s for the decision: the distant home has done nothing wrong, so the wait does not grow.
    assert!((60..=90).contains(&denied), "{denied}: {}", shown(&world));
    assert_eq!((silent, world.houses[0].opened()), (0, 0), "it answered each time");
    // Half a second after the refusal; four and a half more would be the wait.
    while world.houses[0].refused("denied") == denied {
        world.run_for(Micros::from_millis(100));
    }
    world.run_for(Micros::from_millis(1_200));
    world.houses[0].home_up = true;
    let now = world.now;
    world.houses[0].ap.handle_home_found(now);
    world.run_for(SECOND);
    assert!(world.houses[0].firewall.contains_key(&world.tunnel_address(tunnel)), "{}", shown(&world));
}

#[test]
fn a_home_that_is_refused_was_not_away() {
    // By the papers' policy a team that has taken and never given is refused.
    let mut world = World::new(15, 2, Link::GOOD);
    let mandates = vec![mandate(&world.houses[1], terms(PLENTY), &mut world.rng)];
    world.add_home(mandates, Config::default());
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(75)); // Its receipts are with the household's home after a minute.
    assert!(world.houses[0].firewall.contains_key(&world.tunnel_address(tunnel)), "a stranger at first");
    world.cut_lines();
    world.houses[0].restart(access_point::Config::default());
    world.run_for(Micros::from_seconds(300));
    let house = &world.houses[0];
    assert!(house.refused("denied") >= 3 && house.refused("home-away") == 0, "{}", shown(&world));
    assert!(!house.firewall.contains_key(&world.tunnel_address(tunnel)));
    assert!(world.connections_of(0) <= 9, "5, 10, 20 s apart: {}", world.connections_of(0));
}

#[test]
fn two_visitors_of_one_home_behind_one_access_point_are_two() {
    let mut world = world(6, &[terms(PLENTY), terms(PLENTY)]);
    let (one, two) = (world.tunnel(0, 0, 0, 40_000), world.tunnel(0, 0, 1, 40_001));
    world.tunnels[two].bytes_per_tick = 5_000;
    world.run_for(MINUTE);
    for tunnel in [one, two] {
        world.tunnels[tunnel].bytes_per_tick = 0;
    }
    world.run_for(Micros::from_seconds(10));
    for tunnel in [one, two] {
        let guest = &world.tunnels[tunnel];
        assert_eq!(world.homes[0].kept[&guest.member].bytes, Bytes(guest.carried), "{}", shown(&world));
    }
    assert!(world.tunnels[one].carried > 5 * world.tunnels[two].carried);
    assert_eq!(world.homes[0].sessions(), 2);
    assert_eq!(world.homes[0].delegate.status().len(), 2);
}

#[test]
fn a_tunnel_that_comes_back_through_another_port_goes_on() {
    let mut world = world(7, &[terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    for port in [40_001, 50_000, 40_000, 1_024] {
        world.run_for(Micros::from_millis(13_300));
        let guest = &mut world.tunnels[tunnel];
        guest.port = port;
        let endpoint = SocketAddrV4::new(router(0), port);
        world.homes[0].endpoints.insert(guest.member, endpoint);
    }
    world.run_for(Micros::from_seconds(20));
    let (house, home) = (&world.houses[0], &world.homes[0]);
    assert!(house.closed().is_empty() && house.opened() == 1, "{}", shown(&world));
    assert!(world.tunnels[tunnel].carried - home.signed() <= PERIOD, "{}", shown(&world));
    assert_eq!(home.refused("disputed"), 0, "{}", shown(&world));
}

#[test]
fn a_member_that_moves_on_leaves_and_is_served_there() {
    let mut world = World::new(8, 3, Link::GOOD);
    let mandates = vec![mandate(&world.houses[1], terms(PLENTY), &mut world.rng)];
    world.add_home(mandates, Config::default());
    let first = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(22));
    world.tunnels[first].bytes_per_tick = 0;
    let second = world.tunnel(2, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(15));
    assert!(world.houses[2].firewall.contains_key(&world.tunnel_address(second)), "{}", shown(&world));
    let carried = Bytes(world.tunnels[first].carried);
    assert_eq!(world.houses[0].closed(), [(Code::Closed, carried, carried)], "{}", shown(&world));
}

#[test]
fn a_days_bytes_are_a_limit_that_a_new_start_does_not_move() {
    let day = 10_000_000;
    let mut world = world(9, &[terms(day)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(120));
    let (house, home) = (&world.houses[0], &world.homes[0]);
    assert!(home.signed() > day / 2 && home.signed() <= day, "{}: {}", home.signed(), shown(&world));
    // It left while the last bytes could still be signed for, so nobody owes anybody.
    assert!(house.closed().iter().all(|(code, counted, signed)| *code == Code::Closed && counted == signed));
    let before = home.signed();
    world.homes[0].restart();
    world.cut_lines();
    world.run_for(Micros::from_seconds(600));
    assert!(world.homes[0].signed() <= day && world.homes[0].signed() >= before, "{}", shown(&world));
    // START is 08:00.
    world.run_for(Micros::from_seconds(16 * 3_600));
    let signed = world.homes[0].signed();
    assert!(signed > before + day / 2 && signed <= 2 * day, "the next day: {signed}");
    assert_eq!(world.tunnels[tunnel].allowed, ALLOWANCE);
}

#[test]
fn a_delegation_that_ends_in_a_session_ends_it_paid() {
    let terms = DelegationTerms { not_after: START.unix_seconds().plus(30), ..terms(PLENTY) };
    let mut world = world(10, &[terms]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(100));
    let [(_, counted, signed)] = world.houses[0].closed()[..] else { panic!("{}", shown(&world)) };
    assert!(counted.0 - signed.0 <= PERIOD && signed > Bytes(2_000_000), "{counted}, {signed}");
    assert!(world.tunnels[tunnel].carried < 200_000 * 40);
    assert!(world.homes[0].receipts().all(|receipt| receipt.weight() <= signed));
}

#[test]
fn a_station_whose_home_says_goodbye_leaves_the_wi_fi_and_one_that_sleeps_stays() {
    let end = START.unix_seconds().plus(60);
    for (terms, leaves) in
        [(DelegationTerms { not_after: end, ..terms(PLENTY) }, true), (terms(PLENTY), false)]
    {
        let mut world = world(11, &[terms]);
        let tunnel = world.tunnel(0, 0, 0, 40_000);
        let (station, team) = (world.tunnel_address(tunnel).mac, world.houses[1].id());
        let joined = Joined { station, team, stay: [7; 16], since: world.now, until: None };
        world.houses[0].ap.handle_joined(joined);
        world.run_for(Micros::from_seconds(30));
        assert_eq!(world.houses[0].opened(), 1, "{}", shown(&world));
        if !leaves {
            world.tunnels[tunnel].bytes_per_tick = 0;
        }
        world.run_for(Micros::from_seconds(230));
        assert_eq!(world.houses[0].closed().len(), 1, "{}", shown(&world));
        let is_dismissal = |event: &access_point::Event| matches!(event, access_point::Event::Dismiss { .. });
        let dismissed = world.houses[0].events.iter().filter(|(_, event)| is_dismissal(event)).count();
        assert_eq!(dismissed, usize::from(leaves), "{}", shown(&world));
    }
}

#[test]
fn a_session_of_the_visitors_own_goes_first() {
    let mut world = world(11, &[terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.tunnels[tunnel].address = world::address(1); // Where the first guest will be.
    world.run_for(Micros::from_seconds(12));
    let (ordinary, by_tunnel) = (world.tunnels[tunnel].address, world.tunnel_address(tunnel));
    // Anybody can say CONN from that address. As long as no key is proved, the tunnel does not notice.
    let (_, certificate) = world.houses[1].member(&mut world.rng);
    let conn = |certificate| Message::Conn {
        certificate: Box::new(certificate),
        nonce: [3; 16],
        bundle: Bundle::default(),
        holds: false,
    };
    world.inject(0, ordinary, 77, &conn(certificate).emit());
    world.inject(0, ordinary, 77, &Message::error(Code::Closed, "goodbye").emit());
    world.run_for(Micros::from_seconds(20));
    assert!(world.houses[0].closed().is_empty(), "{}", shown(&world));
    assert!(world.houses[0].firewall.contains_key(&by_tunnel));
    // The visitor itself: its own session opens, and then the tunnel's is settled.
    let guest = world.visit(1, 0, Bundle::default());
    assert_eq!(world.guests[guest].address, ordinary);
    world.guests[guest].bytes_per_tick = 1_000;
    world.run_for(Micros::from_seconds(10));
    let house = &world.houses[0];
    assert!(
        house.firewall.contains_key(&ordinary) && !house.firewall.contains_key(&by_tunnel),
        "{}",
        shown(&world)
    );
    let carried = Bytes(world.tunnels[tunnel].carried);
    assert_eq!(house.closed(), [(Code::Closed, carried, carried)]);
    let connections = world.connections_of(0);
    world.run_for(MINUTE);
    assert_eq!(world.connections_of(0), connections, "and as long as it is open there is no other");
    // Once it is over, the tunnel is served again.
    world.leave_at(guest, world.now + SECOND);
    world.run_for(Micros::from_seconds(30));
    assert!(world.houses[0].firewall.contains_key(&by_tunnel), "{}", shown(&world));
}

#[test]
fn made_up_visitors_and_homes_are_called_within_limits() {
    let mut world = world(12, &[terms(PLENTY)]);
    let limits = access_point::ContactLimits::default();
    for round in 0..240_u32 {
        for number in 0..200_u32 {
            let visitor = Address::new([2, 0, 0, 0, 1, 1], Ipv4Addr::from_bits(0x0a4d_0000 + number));
            let home = Ipv4Addr::from_bits(0xc633_6400 + round * 200 + number);
            let now = world.now;
            world.houses[0].ap.handle_flow(visitor, home, NonZeroU16::MIN, now);
        }
        world.drain();
        world.run_for(SECOND);
    }
    let connections = u32::try_from(world.connections_of(0)).unwrap();
    assert!(
        connections <= 5 * limits.per_minute_max && connections >= 3 * limits.per_minute_max,
        "{connections}"
    );
    assert!(world.houses[0].ap.paths_in_use().len() <= limits.unserved_max);
    // One home, however many visitors name it; one visitor, whatever it names.
    for (by_visitor, most) in [(false, limits.home_per_minute_max), (true, limits.visitor_per_minute_max)] {
        world.run_for(MINUTE);
        let before = world.connections_of(0);
        for number in 0..1_000_u32 {
            let (one, many) = (Ipv4Addr::new(10, 99, 0, 1), Ipv4Addr::from_bits(0x0b00_0000 + number));
            let (ip, home) = if by_visitor { (one, many) } else { (many, one) };
            let now = world.now;
            world.houses[0].ap.handle_flow(Address::new([2; 6], ip), home, NonZeroU16::MIN, now);
            world.drain();
            world.run_for(Micros::from_millis(50));
        }
        let connections = u32::try_from(world.connections_of(0) - before).unwrap();
        assert!(connections <= most && connections > 1, "{connections} of {most}");
    }
}

#[test]
fn strangers_on_the_telephone_get_nothing() {
    let mut world = world(13, &[terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 0, 40_000);
    world.run_for(Micros::from_seconds(12));
    let port = NonZeroU16::new(40_000).unwrap();
    let ask = |started| Message::RreqTunnel { port, started };
    let rreq = Message::Rreq { started: START.unix_seconds(), weight: Bytes(0), last: false, hold: None };
    let elsewhere = Ipv4Addr::new(198, 51, 100, 7);
    let now = world.now;
    let started = world.homes[0].receipts().next().map(|receipt| receipt.started());
    for (ip, messages) in [
        (elsewhere, vec![ask(None)]),          // Not where the tunnel comes from.
        (elsewhere, vec![ask(started)]),       // Nor is the session theirs.
        (elsewhere, vec![rreq.clone(), rreq]), // Out of turn.
        (elsewhere, vec![]),
    ] {
        world.homes[0].hear(ip, &messages, now);
    }
    world.drain();
    world.run_for(Micros::from_seconds(20));
    let home = &world.homes[0];
    assert_eq!(home.sessions(), 1);
    assert_eq!((home.refused("no-tunnel"), home.refused("unexpected"), home.refused("silent")), (2, 2, 2));
    assert!(world.houses[0].closed().is_empty(), "{}", shown(&world));
    assert!(world.tunnels[tunnel].carried > 5_000_000);
    // So many connections of one address, and so many in all.
    let now = world.now;
    for number in 0..200_u8 {
        world.homes[0].hear(Ipv4Addr::new(198, 51, 100, number % 20), &[], now);
    }
    world.drain();
    assert!(world.homes[0].refused("busy") >= 200 - 64);
    let ended = |event: &&Event| matches!(event, Event::Ended(..));
    assert!(world.homes[0].events.iter().filter(ended).count() >= 136);
    world.run_for(Micros::from_seconds(30));
    assert!(world.houses[0].closed().is_empty(), "members are served all the same: {}", shown(&world));
}

#[test]
fn no_home_is_called_for_who_is_served_nor_while_events_wait_nor_by_a_program_that_stops() {
    let mut world = world(21, &[terms(PLENTY)]);
    let guest = world.visit(1, 0, Bundle::default());
    world.run_for(SECOND);
    let (now, served) = (world.now, world.guests[guest].address);
    let (home, stranger) = (Ipv4Addr::new(192, 0, 2, 99), Address::new([2; 6], Ipv4Addr::new(10, 99, 0, 1)));
    let calls = |ap: &mut access_point::AccessPoint, visitor| {
        ap.handle_flow(visitor, home, NonZeroU16::MIN, now);
        std::iter::from_fn(|| ap.poll_event())
            .any(|event| matches!(event, access_point::Event::Connect { .. }))
    };
    let ap = &mut world.houses[0].ap;
    assert!(!calls(ap, served), "it has a session of its own");
    ap.shut_down(now);
    while ap.poll_event().is_some() {}
    assert!(!calls(ap, stranger), "the program stops");

    world.houses[0].restart(access_point::Config { events_max: 2, ..access_point::Config::default() });
    let ap = &mut world.houses[0].ap;
    for number in 0..3 {
        let visitor = Address::new([2; 6], Ipv4Addr::new(10, 99, 1, number));
        ap.handle_flow(visitor, Ipv4Addr::new(192, 0, 2, 100 + number), NonZeroU16::MIN, now);
    }
    assert_eq!(ap.paths_in_use().len(), 2, "nobody has fetched the first two events");
    while ap.poll_event().is_some() {}
    assert!(calls(ap, stranger), "somebody has");
}

#[test]
fn a_delegate_knows_what_each_member_has_spent_before_and_after_a_new_start() {
    let mut world = world(22, &[terms(PLENTY), terms(PLENTY)]);
    let tunnel = world.tunnel(0, 0, 1, 40_000);
    world.run_for(Micros::from_seconds(20));
    let (home, member) = (&mut world.homes[0], world.tunnels[tunnel].member);
    let day = START.unix_seconds().0 / 86_400;
    let spent = [(member, Spent { day, bytes: Bytes(home.signed()) })].into();
    assert!(home.signed() > 1_000_000);
    assert_eq!(home.delegate.spent(), &spent, "and nothing of the other member");
    home.restart();
    assert_eq!(home.delegate.spent(), &spent);
}
