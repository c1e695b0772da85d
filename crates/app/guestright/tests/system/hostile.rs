//! A hostile visitor in a real household: what it cannot reach, cannot fake and cannot bring down.

mod attack;

use crate::town::client::{Client, Member, Transport, certify, conn, now, rcpt, secret};
use crate::town::services::{AccessLog, Way};
use crate::town::{Rules, Town, inside, session, until};
use attack::Attack;
use guestright_identity::{Certificate, Role};
use guestright_receipt::Bundle;
use guestright_roaming::Message;
use guestright_roaming::message::{BODY_MAX, Code};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV6, UdpSocket};

/// Requests for receipts come so seldom that they disturb no conversation.
const QUIET: Rules = Rules::with_interval(60_000);

fn dropped(status: &Value, kind: &str) -> u64 {
    status["dropped"][kind].as_u64().unwrap_or_default()
}

fn refused(status: &Value, kind: &str) -> u64 {
    status["refused"][kind].as_u64().unwrap_or_default()
}

/// Everything of the household that a visitor may try, as one would write it; `scope` is the visitor's interface.
fn probes(town: &Town, scope: u32) -> Vec<(Way, SocketAddr)> {
    let link_local = SocketAddrV6::new(town.link_local("router", "guests"), 80, 0, scope);
    #[rustfmt::skip]
    let tcp = [
        "192.168.1.10:22", "192.168.1.10:80", "192.168.1.10:445", "203.0.113.10:80",           // the PC
        "192.168.1.1:22", "192.168.1.1:80", "192.168.1.1:7274", "192.168.1.1:7275",            // the router at home
        "203.0.113.1:80",
        "198.51.100.2:22", "198.51.100.2:80", "198.51.100.2:7274", "198.51.100.2:7275",        // … on the Internet
        "10.11.0.1:22", "10.11.0.1:80", "10.11.0.1:7274", "10.11.0.1:7275",                    // … among visitors
        "[fd00:11::10]:80", "[2001:db8:11::10]:80", "[fd00:11::1]:80", "[2001:db8:11::1]:80",
        "[fd00:12::1]:80", "[2001:db8:12::1]:80",
    ];
    #[rustfmt::skip]
    let udp = [
        "192.168.1.10:5000", "203.0.113.10:5000", "192.168.1.1:5000", "198.51.100.2:5000", "10.11.0.1:5000",
        "[fd00:11::10]:5000", "[2001:db8:11::10]:5000", "[fd00:11::1]:5000", "[fd00:12::1]:5000",
    ];
    let ping = ["192.168.1.10:0", "192.168.1.1:0", "198.51.100.2:0", "[fd00:11::10]:0", "[2001:db8:11::1]:0"];
    let parse = |way: Way, texts: &[&str]| -> Vec<_> {
        texts.iter().map(|text| (way, text.parse().unwrap())).collect()
    };
    let mut all = [parse(Way::Tcp, &tcp), parse(Way::Udp, &udp), parse(Way::Ping, &ping)].concat();
    for (way, port) in [(Way::Tcp, 80), (Way::Udp, 5_000), (Way::Ping, 0)] {
        let mut address = link_local;
        address.set_port(port);
        all.push((way, address.into()));
    }
    all
}

#[test]
fn no_visitor_reaches_the_household_ungranted_or_granted() {
    if !inside("hostile::no_visitor_reaches_the_household_ungranted_or_granted") {
        return;
    }
    let town = Town::build(Rules::default());
    for parameter in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
        town.world.sysctl("router", parameter, "1").unwrap();
    }
    let (access_log, web) = (AccessLog::default(), AccessLog::default());
    for host in ["pc", "router"] {
        for port in [22, 80, 445] {
            town.serve_tcp(host, &format!("[::]:{port}"), &access_log);
        }
        town.serve_udp(host, "[::]:5000", &access_log);
    }
    town.serve_tcp("net", crate::town::WEB, &web);
    let home = town.start("home");
    let visitors = ["hostile", "member"];
    let all = visitors.map(|visitor| probes(&town, town.scope_id(visitor, "wlan0")));
    assert!(all[0].len() >= 30, "{} probes", all[0].len());
    for (visitor, all) in visitors.iter().zip(&all) {
        // Without the access point everything is open, so each probe can succeed.
        town.until_all_answered(visitor, all, "before there is an access point");
    }
    let _ap = town.start("ap");
    town.until_status("the access point to reach its home", |status| status["home_up"] == true);
    let (_visit, class) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 1_000).unwrap(), 1_000, "the member is online, in class {class}");
    assert!(!town.is_online("hostile"), "who was not granted is not");
    access_log.clear();
    for (visitor, all) in visitors.iter().zip(&all) {
        let before = town.status();
        assert_eq!(town.probe(visitor, all), [], "{visitor} was answered");
        town.until_status(&format!("{visitor}'s packets to be counted"), |status| {
            let kept_out = |status: &Value| -> u64 {
                ["barred", "household4", "ipv6", "not_granted", "to_router"]
                    .map(|kind| dropped(status, kind))
                    .iter()
                    .sum()
            };
            // One packet at least for each probe, by whichever layer it met first: where bridges hand their packets to
            // nftables (br_netfilter), that is the table; else the filter before it.
            kept_out(status) >= kept_out(&before) + all.len() as u64
        });
    }
    let from_visitors = |(ip, _): &(std::net::IpAddr, Vec<u8>)| {
        let text = ip.to_string();
        text.starts_with("10.11.0.") || text.starts_with("fd00:12::") || text.starts_with("fe80::")
    };
    assert_eq!(
        access_log.all().into_iter().filter(from_visitors).collect::<Vec<_>>(),
        [],
        "a service heard a visitor"
    );
    // The same services answer the household itself while visitors are kept out.
    let own: Vec<_> = all[0].iter().copied().filter(|(_, to)| !to.to_string().contains("fe80")).collect();
    town.until_all_answered("pc", &own, "the household itself");
    drop(home);
}

/// A message that is refused: what it is, its bytes, and the code, the counter and words of the answer.
type BadMessage = (&'static str, Vec<u8>, Code, &'static str, &'static str);

/// Messages that are refused whoever sends them.
fn bad_messages() -> Vec<BadMessage> {
    let (team, key) = (secret(100), secret(101));
    let good = certify(&team, &key, Role::Member);
    let ask = |certificate: &Certificate| conn(certificate, 9, Bundle::default()).emit();
    let expired =
        Certificate::issue(&team, key.public(), Role::Member, now().minus(7_200), now().minus(3_600));
    let early = Certificate::issue(&team, key.public(), Role::Member, now().plus(3_600), now().plus(7_200));
    let whole = ask(&good);
    let cut = whole[..whole.len() / 2].to_vec();
    let large = format!("RCPT P2PWNC/3.0\r\nContent-Length: {}\r\n\r\n", BODY_MAX + 1).into_bytes();
    let long = [b"CONN P2PWNC/3.0\r\nNonce: ".as_slice(), &[b'A'; 5_000]].concat();
    let mut forged = String::from_utf8(ask(&certify(&team, &key, Role::Member))).unwrap();
    // The last base64 digits before the line's end belong to the signature.
    let at = forged.find("\r\nNonce").unwrap() - 12;
    let other = if &forged[at..=at] == "A" { "B" } else { "A" };
    forged.replace_range(at..=at, other);
    let error = Message::Updt {
        reference: 1,
        what: guestright_roaming::message::Update::Taken { stored: 1, refused: 0 },
    };
    #[rustfmt::skip]
    let cases = vec![
        ("no message at all",              b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), Code::Malformed,  "malformed",   "start line is not a P2PWNC/3.0 method"),
        ("an unknown method",              b"HELO P2PWNC/3.0\r\n\r\n".to_vec(),        Code::Malformed,   "malformed",   "start line is not a P2PWNC/3.0 method"),
        ("a message cut off",              cut,                                        Code::Malformed,   "truncated",   "the message is cut off after"),
        ("a body too large",               large,                                      Code::Malformed,   "oversized",   "the body has 65537 bytes, at most 65536 are allowed"),
        ("headers too long",               long,                                       Code::Malformed,   "oversized",   "the header block has"),
        ("a forged certificate",           forged.into_bytes(),                        Code::Malformed,   "certificate", "the signature is not valid"),
        ("an expired certificate",         ask(&expired),                              Code::Certificate, "certificate", "the certificate expired at"),
        ("a certificate not valid yet",    ask(&early),                                Code::Certificate, "certificate", "the certificate is valid from"),
        ("an access point's certificate",  ask(&certify(&team, &key, Role::AccessPoint)), Code::Certificate, "certificate", "access point, not for member"),
        ("a home's certificate",           ask(&certify(&team, &key, Role::Home)),     Code::Certificate, "certificate", "home, not for member"),
        ("a message for a home",           error.emit(),                               Code::Malformed,   "unexpected",  "a UPDT is not for an access point"),
    ];
    cases
}

/// Receipts that are refused in a session of `member` with `signed` bytes.
fn bad_receipts(
    member: &Member,
    terms: &guestright_roaming::message::Acknowledgement,
    signed: u64,
) -> Vec<BadMessage> {
    let (own, begun, more) = (terms.provider, terms.started, signed + 1_000);
    let good = member.sign(own, begun, more);
    let mut forged = good.clone();
    *forged.last_mut().unwrap() ^= 1;
    let stranger = Member::new(200, 201);
    let one = |receipt: &[u8]| rcpt(receipt).emit();
    let two = Bundle { receipts: vec![good.clone(), good.clone()], ..Bundle::default() };
    let two = Message::Rcpt { reference: None, bundle: two, home: None }.emit();
    #[rustfmt::skip]
    let cases = vec![
        ("a forged receipt",               one(&forged),                               Code::Receipt, "forged",        "the signature is not valid"),
        ("an older receipt",               one(&member.sign(own, begun, signed / 2)),  Code::Receipt, "replayed",      "a receipt over"),
        ("the very first receipt",         one(&member.sign(own, begun, 0)),           Code::Receipt, "replayed",      "a receipt over"),
        ("a receipt cut off",              one(&good[..60]),                           Code::Receipt, "truncated",     "the receipt is cut off after"),
        ("a receipt too long",             one(&[0x84; 600]),                          Code::Receipt, "oversized",     "at most 512 are allowed"),
        ("rubbish for a receipt",          one(&[0x60; 60]),                           Code::Receipt, "malformed",     "not an array"),
        ("a receipt for another team",     one(&member.sign(secret(300).public().team_id(), begun, more)), Code::Receipt, "wrong-team", "the receipt is for team"),
        ("a receipt of another session",   one(&member.sign(own, begun.minus(1), more)), Code::Receipt, "other-session", "for another session"),
        ("a receipt of the future",        one(&member.sign(own, now().plus(100_000), more)), Code::Receipt, "other-session", "for another session"),
        ("an unknown certificate",         one(&stranger.sign(own, begun, more)),      Code::Receipt, "other-session", "for another session"),
        ("two receipts",                   two,                                        Code::Receipt, "other-session", "for another session"),
    ];
    cases
}

/// Sends each message on a way of its own, and returns what was wrong with the answers and the counters.
fn wrong_answers(town: &Town, cases: Vec<BadMessage>, transport: Transport) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, bytes, code, kind, words) in cases {
        let before = town.status();
        let mut client = Client::new(town, "hostile", transport);
        client.send(&bytes);
        if kind == "truncated" {
            client.finish();
        }
        match client.receive_error() {
            Ok((got, reason)) if got == code && reason.contains(words) => {}
            answer => wrong.push(format!("{transport:?}, {name}: wanted {code}: …{words}…, got {answer:?}")),
        }
        let after = town.status();
        if refused(&after, kind) != refused(&before, kind) + 1 {
            let (before, after) = (&before["refused"], &after["refused"]);
            wrong.push(format!("{transport:?}, {name}: {kind} does not count one more: {before} {after}"));
        }
    }
    wrong
}

#[test]
fn every_bad_message_is_told_why_and_counted_over_tcp_and_udp() {
    if !inside("hostile::every_bad_message_is_told_why_and_counted_over_tcp_and_udp") {
        return;
    }
    // Its session has as long as that to sign for what it was asked for.
    let town = Town::build(Rules::with_interval(240_000));
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    let (_home, _ap) = town.open();
    let mut wrong = Vec::new();
    let member = Member::new(100, 101);
    for transport in [Transport::Udp, Transport::Tcp] {
        let early = rcpt(&member.sign(secret(300).public().team_id(), now(), 1_000)).emit();
        let early =
            ("a receipt before a session", early, Code::NoSession, "no-session", "ask for service first");
        wrong.extend(wrong_answers(&town, vec![early], transport));
        wrong.extend(wrong_answers(&town, bad_messages(), transport));
    }
    let mut client = Client::new(&town, "hostile", Transport::Tcp);
    let terms = member.open(&town, "hostile", &mut client);
    let ip = town.address_of("hostile");
    // It is asked for a receipt when half of its window is unsigned.
    assert_eq!(town.download("hostile", 150_000).unwrap(), 150_000);
    town.until_status("it to be counted", |status| session(status, &ip)["counted"].as_u64() >= Some(150_000));
    client.send(&rcpt(&member.sign(terms.provider, terms.started, 10_000)).emit());
    let before = town.until_status("the receipt to count", |status| session(status, &ip)["signed"] == 10_000);
    for transport in [Transport::Udp, Transport::Tcp] {
        wrong.extend(wrong_answers(&town, bad_messages(), transport));
        wrong.extend(wrong_answers(&town, bad_receipts(&member, &terms, 10_000), transport));
    }
    let (mut before, mut after) = (session(&before, &ip), session(&town.status(), &ip));
    // The connection of the download may still have been closing.
    let [counted_before, counted_after] = [&mut before, &mut after].map(|session| session["counted"].take());
    assert_eq!(after, before, "the session was not disturbed");
    let closing = counted_after.as_u64().unwrap() - counted_before.as_u64().unwrap();
    assert!(closing < 1_000, "{closing} bytes more");
    assert_eq!(town.download("hostile", 1_000).unwrap(), 1_000, "and is still served");
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 1_000).unwrap(), 1_000, "so is who comes after");
    town.leave(visit);
    assert!(wrong.is_empty(), "{} wrong answers:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn who_has_finished_sending_is_answered_still() {
    if !inside("hostile::who_has_finished_sending_is_answered_still") {
        return;
    }
    let town = Town::build(QUIET);
    let (_home, _ap) = town.open();
    let member = Member::new(100, 101);
    for number in 0..10 {
        let mut client = Client::new(&town, "hostile", Transport::Tcp);
        client.send(&rcpt(&member.sign(secret(300).public().team_id(), now(), number)).emit());
        client.finish();
        let answer = client.receive_error().map(|(code, _)| code);
        assert_eq!(answer, Ok(Code::NoSession), "attempt {number}");
    }
}

#[test]
fn bad_receipts_that_are_shown_are_counted_at_home_each_under_its_own_kind() {
    if !inside("hostile::bad_receipts_that_are_shown_are_counted_at_home_each_under_its_own_kind") {
        return;
    }
    // By the papers' rule what is shown is judged at once.
    let town = Town::build(Rules { policy: "srm", ..QUIET });
    let (_home, _ap) = town.open();
    let (guest, debtor) = (Member::new(100, 101), Member::new(200, 201));
    let own = guest.certificate.team_id();
    let mut forged = debtor.sign(own, now(), 5_000);
    *forged.last_mut().unwrap() ^= 1;
    let key = secret(202);
    let year = 366 * 86_400;
    let old = Certificate::issue(
        &secret(200),
        key.public(),
        Role::Member,
        now().minus(2 * year),
        now().minus(year),
    );
    let expired = Member { key, certificate: old };
    let router =
        Member { certificate: certify(&secret(200), &secret(203), Role::AccessPoint), key: secret(203) };
    let unknown = Member::new(400, 401);
    let trader = Member::new(200, 204);
    #[rustfmt::skip]
    let bad = [
        ("forged",              forged),
        ("truncated",           debtor.sign(own, now(), 5_000)[..60].to_vec()),
        ("future-dated",        debtor.sign(own, now().plus(100_000), 5_000)),
        ("expired-certificate", expired.sign(own, now(), 5_000)),
        ("not-entitled",        router.sign(own, now(), 5_000)),
        ("unknown-certificate", unknown.sign(own, now(), 5_000)),
        ("self-trade",          trader.sign(trader.certificate.team_id(), now(), 5_000)),
    ];
    let known = [&debtor, &expired, &router, &trader].map(|each| each.certificate.as_bytes().to_vec());
    let receipts = bad.iter().map(|(_, receipt)| receipt.clone()).collect();
    let bundle = Bundle { certificates: known.to_vec(), receipts, revocations: Vec::new() };
    let before = town.ask("home");
    let mut client = Client::new(&town, "hostile", Transport::Udp);
    client.ask(&guest.certificate, 1, bundle).unwrap();
    let after = town.ask("home");
    for (kind, _) in &bad {
        assert_eq!(refused(&after, kind), refused(&before, kind) + 1, "{kind}: {}", after["refused"]);
    }
    assert_eq!(after["receipts"], before["receipts"], "none of them is kept");
    assert_eq!(after["edges"], before["edges"], "and none of them counts");
}

#[test]
fn a_member_gets_online_during_ten_thousand_junk_connections() {
    if !inside("hostile::a_member_gets_online_during_ten_thousand_junk_connections") {
        return;
    }
    const GROWTH_KIB_MAX: u64 = 16 * 1_024;
    let town = Town::build(Rules::default());
    town.serve_tcp("net", crate::town::WEB, &AccessLog::default());
    let (mut home, mut ap) = town.open();
    let before = ap.memory_kib("VmRSS");
    let attack = Attack::prepare(&town);
    std::thread::scope(|scope| {
        scope.spawn(|| attack.run(&town));
        for (after, host, team) in [(2_000, "member", "guests"), (6_000, "resident", "house")] {
            until("the attack to be under way", || attack.connections() >= after);
            let (visit, class) = town.arrive(host, team, host);
            assert_eq!(town.download(host, 100_000).unwrap(), 100_000, "in class {class}");
            let ended = town.leave(visit);
            assert!(ended["signed"].as_u64().unwrap() >= 100_000, "{ended}");
            let until = attack.connections();
            println!("{host} was granted, served and gone between connections {after} and {until}");
        }
        attack.stop();
    });
    assert!(attack.connections() >= attack::CONNECTIONS, "{} connections", attack.connections());
    // Twenty a second for the one station that makes them, however many addresses it makes them from.
    assert!(attack.established() >= 100, "only {} connections came about", attack.established());
    assert!(ap.is_running() && home.is_running(), "{}\n{}", ap.log(), home.log());
    let (after, largest) = (ap.memory_kib("VmRSS"), ap.memory_kib("VmHWM"));
    let counted = town.status();
    println!("{} of {} connections were established", attack.established(), attack.connections());
    println!("resident: {before} KiB before, {after} after, {largest} at most");
    println!("refused {}, dropped {}", counted["refused"], counted["dropped"]);
    assert!(largest <= before + GROWTH_KIB_MAX, "{before} KiB before, {largest} KiB at the worst");
    let junk: u64 = ["malformed", "oversized", "truncated"].map(|kind| refused(&counted, kind)).iter().sum();
    assert!(junk > 100, "junk is counted: {}", counted["refused"]);
    assert!(dropped(&counted, "flood") > 100, "floods are dropped: {}", counted["dropped"]);
}

#[test]
fn anothers_certificate_or_address_opens_nothing() {
    if !inside("hostile::anothers_certificate_or_address_opens_nothing") {
        return;
    }
    // Who does not prove its key is turned away after half of it.
    let town = Town::build(Rules::SHORT);
    let (web, udp) = (AccessLog::default(), AccessLog::default());
    town.serve_tcp("net", crate::town::WEB, &web);
    town.serve_udp("net", "192.0.2.1:9", &udp);
    let (_home, _ap) = town.open();
    let (_visit, _) = town.arrive("member", "guests", "member");
    let thief = Member::new(500, 501);
    let stolen = guestright_keys::read_certificate(&town.path("guests/member.cert")).unwrap();
    let mut client = Client::new(&town, "hostile", Transport::Udp);
    let terms = client.ask(&stolen, 7, Bundle::default()).unwrap();
    let sign = |weight| {
        // The right certificate is named, the signature is the thief's.
        let key = &thief.key;
        forged_receipt(key, &stolen, terms.provider, terms.started, weight)
    };
    client.send(&rcpt(&sign(0)).emit());
    let (code, reason) = client.receive_error().unwrap();
    assert_eq!((code, reason.contains("signature is not valid")), (Code::Receipt, true), "{reason}");
    assert!(!town.is_online("hostile"), "a certificate without its key opens nothing");
    let (code, reason) = client.receive_error().unwrap();
    assert_eq!((code, reason.contains("the key was not proved")), (Code::NoSession, true), "{reason}");
    let ip = town.address_of("hostile");
    let status = town.status();
    assert_eq!((session(&status, &ip), refused(&status, "no-proof")), (Value::Null, 1), "{status}");
    assert_eq!(town.download("member", 1_000).unwrap(), 1_000, "the owner of the certificate is served");

    let before = dropped(&town.status(), "spoofed");
    town.world.run("hostile", "ip", &["address", "add", "10.11.0.21/24", "dev", "wlan0"]).unwrap();
    let send_from = |host: &str, words: &[u8]| {
        let send = || {
            let socket = UdpSocket::bind((Ipv4Addr::new(10, 11, 0, 21), 0)).unwrap();
            socket.send_to(words, "192.0.2.1:9").unwrap();
        };
        town.world.within(host, send).unwrap();
    };
    town.until_status("the second holder of the address to be counted", |status| {
        send_from("hostile", b"hostile");
        dropped(status, "spoofed") >= before + 5
    });
    until("the first holder to be let through", || {
        send_from("member", b"member");
        udp.all().iter().any(|(_, words)| words == b"member")
    });
    assert!(udp.all().iter().all(|(_, words)| words != b"hostile"), "the second was let through");
}

/// A receipt that names `certificate` and carries a signature of another key.
fn forged_receipt(
    key: &guestright_identity::SecretKey,
    certificate: &Certificate,
    provider: guestright_units::TeamId,
    started: guestright_units::UnixSeconds,
    weight: u64,
) -> Vec<u8> {
    let team = secret(999);
    let own = certify(&team, key, Role::Member);
    let honest =
        guestright_receipt::Receipt::sign(key, &own, provider, started, guestright_units::Bytes(weight));
    let bytes = honest.as_bytes().to_vec();
    let (from, to) = (own.reference().0, certificate.reference().0);
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    [&bytes[..at], &to, &bytes[at + to.len()..]].concat()
}
