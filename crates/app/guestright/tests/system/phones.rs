//! Phones that join the Wi-Fi by 802.1X: Debian's `eapol_test`, `wpa_supplicant` and `hostapd` before the real programs, an access
//! point at one household, the home of the phone at another.

pub(crate) mod air;
mod far;
mod flood;
mod radsec;
mod service;

use crate::credit::region::Terms;
use crate::town::{PATIENCE, desk, inside, until};
use air::{Air, Joined, STATION};
use flood::Flood;
use guestright_radius::{Code, Kind, Packet, Realm};
use guestright_units::TeamId;
use rustix::process::Signal;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const ALLOWANCE: u64 = 1_000_000_000;

/// Two households: at `p` one joins, and `a` has a phone. Who is at `p` knows where the home of `a` is.
fn two() -> Air {
    Air::build(&[Terms::new("p", ALLOWANCE), Terms::new("a", ALLOWANCE)])
}

#[test]
fn a_phone_of_another_household_and_one_of_the_own_join_within_four_round_trips() {
    if !inside("phones::a_phone_of_another_household_and_one_of_the_own_join_within_four_round_trips") {
        return;
    }
    let air = two();
    for team in ["a", "p"] {
        let profile = air.phone(team, "phone");
        for (tls, version) in [("tls_disable_tlsv1_3=0", "TLSv1.3"), ("tls_disable_tlsv1_3=1", "TLSv1.2")] {
            let joined = air.join(&profile.replace("tls_disable_tlsv1_3=0", tls));
            assert!(joined.is_in, "{}", joined.log);
            assert!(joined.log.contains("MPPE keys OK: 1  mismatch: 0"), "{}", joined.log);
            assert!(joined.log.contains(version), "{}", joined.log);
            println!("{version}, phone of {team}: {} round trips, {:?}", joined.round_trips, joined.took);
            assert!(joined.round_trips <= 4, "{} round trips\n{}", joined.round_trips, joined.log);
        }
    }
    let phones = air.status()["phones"].clone();
    assert_eq!((&phones["counters"]["opened"], &phones["joining"]), (&4.into(), &0.into()), "{phones:#}");
    let joined = phones["joined"].as_array().unwrap();
    assert_eq!(joined.len(), 1, "one station, which joined four times: {phones:#}");
    assert_eq!((&joined[0]["mac"], &joined[0]["team"]), (&STATION.into(), &air.team("p").to_string().into()));
}

#[test]
fn each_who_may_not_join_is_told_why() {
    if !inside("phones::each_who_may_not_join_is_told_why") {
        return;
    }
    let mut air = two();
    let profile = air.phone("a", "phone");
    air.phone("p", "own");
    let [own, theirs] = ["p", "a"].map(|team| Realm(air.team(team)).to_string());
    let stranger = Realm(TeamId([9; 24])).to_string();
    let refused = |air: &Air, profile: &str, words: &str| {
        let Joined { is_in, reply, took, log, .. } = air.join(profile);
        println!("{took:?}: {reply}");
        assert!(!is_in && reply.contains(words), "{words:?} is not in {reply:?}\n{log}");
    };
    // A name that is none of ours, one of a team that nobody knows, and one of a team whose phone this is not.
    refused(&air, &profile.replace(&theirs, "example.org"), "asked for another provider");
    refused(&air, &profile.replace(&theirs, &stranger), "Your home cannot be reached from here");
    refused(&air, &trusting(&profile).replace(&theirs, &own), "Your home does not let you in:");
    // One that its household has taken off the list.
    let lost = air.phone("a", "lost");
    assert!(air.join(&lost).is_in);
    air.revoke("a", "lost");
    refused(&air, &lost, "Your home does not let you in:");
    assert!(air.join(&profile).is_in, "the other one still may");
    refused(
        &air,
        &air.expired("a", &profile),
        "Your home does not let you in: This phone's certificate ended at",
    );
    // A home that is slow, and one that is away.
    air.signal_home("a", Signal::STOP);
    refused(&air, &profile, "Your home did not answer in time");
    air.signal_home("a", Signal::CONT);
    until("the home to answer again", || air.join(&profile).is_in);
    air.stop_home("a");
    refused(&air, &profile, "Your home cannot be reached from here");
    // The own home is away.
    air.stop_home("p");
    until("the access point to notice", || air.status()["home_up"] == false);
    refused(&air, &profile, "Your home cannot be reached from here");
}

/// A client that believes any server: what the home thinks of it is what comes back.
fn trusting(profile: &str) -> String {
    let is_trust =
        |line: &str| ["ca_cert=", "domain_match="].iter().any(|word| line.trim().starts_with(word));
    profile.lines().filter(|line| !is_trust(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_team_that_the_household_does_not_serve_is_told_so_after_its_home_has_said_yes() {
    if !inside("phones::a_team_that_the_household_does_not_serve_is_told_so_after_its_home_has_said_yes") {
        return;
    }
    // Nothing is given away or lent, and what it owes the other for its member's visit is less than a visit needs.
    let air = Air::build_with(&[Terms::new("p", 0), Terms::new("a", ALLOWANCE)], 1_000);
    let profile = air.phone("a", "phone");
    let refused = air.join(&profile);
    println!("{}", refused.reply);
    assert!(!refused.is_in, "{}", refused.log);
    assert!(refused.reply.starts_with("This household does not serve your team now: "), "{}", refused.log);
    let own = air.phone("p", "phone");
    assert!(air.join(&own).is_in, "the household's own people need no credit");
    let counters = air.status()["phones"]["counters"].clone();
    assert_eq!((&counters["decision"], &counters["opened"]), (&1.into(), &1.into()), "{counters}");
}

#[test]
fn what_is_repeated_is_answered_from_memory_and_what_is_replayed_is_not() {
    if !inside("phones::what_is_repeated_is_answered_from_memory_and_what_is_replayed_is_not") {
        return;
    }
    let air = two();
    air.phone("a", "phone");
    let secret = air.radius_secret();
    let (realm, before) = (Realm(air.team("a")), air.status()["phones"]["counters"].clone());
    assert_eq!(before, serde_json::json!({}));
    let talk = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.connect("127.0.0.1:1812").unwrap();
        let ask = |bytes: &[u8]| {
            let mut buffer = [0; 4_096];
            socket.send(bytes).unwrap();
            let length = socket.recv(&mut buffer).unwrap();
            buffer[..length].to_vec()
        };
        let first = flood::access_request(&secret, 1, realm, STATION, None);
        let challenge = ask(&first);
        assert_eq!(ask(&first), challenge, "the same question, the same bytes");
        let challenge = Packet::parse(&challenge).unwrap();
        assert_eq!(challenge.code(), Code::AccessChallenge);
        // Somebody else's State, of another station: what was overheard is of no use.
        let state = challenge.one(Kind::STATE).unwrap().unwrap();
        let replayed = flood::access_request(&secret, 2, realm, "02-00-00-00-00-99", Some(state));
        let answer = ask(&replayed);
        let answer = Packet::parse(&answer).unwrap();
        (answer.code(), answer.text(Kind::REPLY_MESSAGE).unwrap().unwrap().to_owned())
    };
    let answer = air.within("p", talk);
    assert_eq!(answer, (Code::AccessReject, "This attempt to join is over. Try again.".to_owned()));
    let counters = air.status()["phones"]["counters"].clone();
    assert_eq!((&counters["answered-again"], &counters["over"]), (&1.into(), &1.into()), "{counters}");
}

/// How long it takes a member to get in, with nothing else and in a flood of 1,000 attempts a second, most of them bad.
#[test]
fn a_thousand_attempts_a_second_do_not_keep_members_out() {
    if !inside("phones::a_thousand_attempts_a_second_do_not_keep_members_out") {
        return;
    }
    let air = two();
    let profile = air.phone("a", "phone");
    air.phone("p", "own");
    let arrive = || {
        let begun = Instant::now();
        let visit = air.region.arrive("p", "a", "two");
        let took = begun.elapsed();
        air.region.leave(visit);
        took
    };
    let alone = [(); 3].map(|()| arrive());
    let flood = Flood::start(&air, 1_000);
    let (mut beside, mut phones) = (Vec::new(), Vec::new());
    while beside.len() < 5 || flood.sent() < 8_000 {
        beside.push(arrive());
        let joined = air.join_within(PATIENCE, &profile);
        let homes = || ["p", "a"].map(|team| air.region.ask(team, "home", &["status"])["phones"].clone());
        assert!(joined.is_in, "{}\n{}\n{:?}", joined.log, air.status()["phones"], homes());
        phones.push(joined.took);
    }
    let (sent, lasted) = flood.stop();
    let phones_status = air.status()["phones"].clone();
    println!("members get in within {alone:?} alone, and {beside:?} beside {sent} attempts in {lasted:?}");
    println!("phones join within {phones:?}\n{phones_status:#}");
    let refused = phones_status["counters"]["refused"].as_u64().unwrap();
    assert!(refused > sent / 4, "the flood arrived");
    assert!(beside.iter().all(|took| *took < Duration::from_secs(20)), "{beside:?}");
}

#[test]
fn who_joined_as_one_of_a_team_is_no_other_and_leaves_when_it_does_not_pay() {
    if !inside("phones::who_joined_as_one_of_a_team_is_no_other_and_leaves_when_it_does_not_pay") {
        return;
    }
    let air = two();
    let profile = air.phone("a", "phone");
    let hostapd = air.start_hostapd();
    let supplicant = air.start_supplicant(&profile);
    until("the phone to have joined", || air.joined_team() == Some(air.team("a").to_string()));
    // Another team's member at the same station.
    let other = air.region.visit("p", "p", "one");
    let ended = other.hear("to be refused", |event| event["event"] == "ended" || event["event"] == "granted");
    assert_eq!(ended["event"], "ended", "{ended}");
    let words = ended.to_string();
    assert!(words.contains("this device joined the Wi-Fi as one of team"), "{words}");
    assert_eq!(air.status()["refused"]["other-team"], 1);
    // Its own team's is served, and goes without a word.
    let mut own = air.region.arrive("p", "a", "one");
    assert_eq!(air.region.download("p", 300_000, PATIENCE), 300_000);
    own.kill();
    until("hostapd to have let it go", || air.status()["phones"]["counters"]["dismissed"] == 1);
    drop((hostapd, supplicant));
}

#[test]
fn hostapds_settings_are_printed_with_one_secret_and_only_where_phones_join() {
    let desk = desk();
    desk.run("team init --dir house");
    desk.run("team member add router --role access-point --dir house");
    let settings = |more: &str| {
        let text = "key = \"router.key\"\ncertificate = \"router.cert\"\nstate = \"ap-state\"\nhome = \"127.0.0.1:7274\"\n\
                    visitor_interface = \"br-guest\"\nuplink_interface = \"wan\"\n";
        desk.write("house/ap.toml", &format!("{text}{more}"));
    };
    settings("");
    let (_, refused) = desk.fail("ap hostapd --config house/ap.toml");
    assert!(refused.contains("[phones]"), "{refused}");
    settings("[phones]\nradius = \"127.0.0.1:21812\"\n");
    let print =
        |more: &str| desk.run(&format!("ap hostapd --config house/ap.toml --passpoint Rivers {more}"));
    let text = print("--interface wlan1 --channel 36 --country DE");
    let secret = desk.read("house/ap-state/radius.secret");
    assert!(secret.len() >= 32);
    let file = desk.path("house/ap-state/radius.secret");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    for line in [
        "interface=wlan1",
        "bridge=br-guest",
        "channel=36",
        "country_code=DE",
        "auth_server_port=21812",
        "acct_server_port=21813",
        "radius_das_port=3799",
        &format!("auth_server_shared_secret={secret}"),
        &format!("radius_das_client=127.0.0.1 {secret}"),
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert_eq!(print("--interface wlan1 --channel 36 --country DE"), text, "the secret is made once");
    assert!(print("--add").contains("\nbss=wlan0\n"));
    // Phones of another team find it by Passpoint, too, if it says so.
    let other = "09".repeat(24);
    let announced = print(&format!("--team {other}"));
    let realms = announced.lines().find(|line| line.starts_with("nai_realm=")).unwrap();
    assert!(realms.contains(&format!(";{other}.guestright.alt,13")), "{realms}");
    // OpenWrt's form, read back.
    let uci = print("--openwrt --radio radio1");
    let document = guestright_uci::Document::parse(&uci).unwrap();
    let [section] = document.sections.as_slice() else { panic!("one section: {uci}") };
    assert_eq!((section.kind.as_str(), section.entries.len() > 25), ("wifi-iface", true), "{uci}");
    for option in
        ["device 'radio1'", &format!("auth_secret '{secret}'"), "auth_port '21812'", "encryption 'wpa2+ccmp'"]
    {
        assert!(uci.contains(&format!("\toption {option}\n")), "{option} is not in\n{uci}");
    }
    settings("[phones]\nradius = \"0.0.0.0:1812\"\n");
    let (_, refused) = desk.fail("ap hostapd --config house/ap.toml");
    assert!(refused.contains("is not on loopback"), "{refused}");
}

#[test]
fn a_blocked_phone_leaves_the_wi_fi_and_does_not_join_until_it_is_served_again() {
    if !inside("phones::a_blocked_phone_leaves_the_wi_fi_and_does_not_join_until_it_is_served_again") {
        return;
    }
    let air = two();
    let profile = air.phone("a", "phone");
    let hostapd = air.start_hostapd();
    let supplicant = air.start_supplicant(&profile);
    until("the phone to have joined", || air.joined_team() == Some(air.team("a").to_string()));
    let mac = air.status()["phones"]["joined"][0]["mac"].as_str().unwrap().to_owned();
    let home = |verb: &str, mac: &str| {
        air.region.run("p", &["home", verb, "--device", mac, "--config", "home.toml"])
    };
    home("block", &mac);
    until("hostapd to have let it go", || air.status()["phones"]["counters"]["dismissed"] == 1);
    assert_eq!(air.joined_team(), None);
    drop((hostapd, supplicant));

    home("block", STATION);
    let sentence = "This household does not serve this device.";
    let opened = air.status()["phones"]["counters"]["opened"].clone();
    let refused = air.join(&profile);
    assert!(!refused.is_in && refused.reply.contains(sentence), "{:?}\n{}", refused.reply, refused.log);
    assert_eq!(air.status()["phones"]["counters"]["opened"], opened);
    assert_eq!(air.status()["phones"]["last_refusal"], sentence);
    home("unblock", STATION);
    let joined = air.join(&profile);
    assert!(joined.is_in, "{}", joined.log);
}
