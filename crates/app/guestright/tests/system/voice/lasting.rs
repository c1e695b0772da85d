//! Calls that go on: on hold and back, through a minute of silence, and past the last number of a packet.

use super::call;
use super::exchange::{BOB_HOME, Exchange, HOME};
use super::softphone::mu_law;
use super::telephone::{Telephone, Who, file, until_over};
use crate::call::{few_refused, wav};
use crate::town::{inside, until};
use guestright_sip::agent::{
    Agent, AgentSettings, CallEvent, Crypto, Description, Direction, Format, Profile, Transport,
};
use guestright_voice::rtp::{Header, Kind};
use guestright_voice::srtp::{CryptoLine, MasterKey, Profile as Suite, Protect};
use serde_json::json;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;
use zeroize::Zeroizing;

/// Before the last number that a packet can have, so many packets are sent.
const BEFORE_WRAP: u16 = 60;
/// And in all.
const PACKETS: u32 = 250;

#[test]
fn a_call_is_put_on_hold_and_goes_on_through_both_homes() {
    if !inside("voice::lasting::a_call_is_put_on_hold_and_goes_on_through_both_homes") {
        return;
    }
    let exchange = Exchange::build("");
    let _homes = exchange.open();
    exchange.connect();
    wav::write(&exchange.town.path("speech.wav"), &wav::speech());
    let speech = file(&exchange.town, "speech.wav");
    for (protection, at_home) in [("end-to-end", "end-to-end"), ("home", "home-to-home")] {
        let sound = ["--play", &speech, "--loop", "--protection", protection];
        let mut bob = Telephone::listen(&exchange.town, Who::Bob, &[&sound[..], &["--calls", "1"]].concat());
        let mut alice = Telephone::call(&exchange.town, Who::Alice, "bobby", &sound);
        let ready = if protection == "home" { "connected" } else { "protected" };
        alice.event(ready);
        bob.event(ready);
        exchange.until_talking(true);
        // Each of them once: re-INVITEs in both directions.
        for by_alice in [true, false] {
            let (one, other) = if by_alice { (&mut alice, &mut bob) } else { (&mut bob, &mut alice) };
            for (command, held) in [("hold", true), ("resume", false)] {
                one.command(command);
                assert_eq!(other.event("hold")["held"], held);
                assert_eq!(one.event("hold")["held"], held);
                exchange.until_one_way(by_alice, held);
                let both = [HOME, BOB_HOME].map(|home| call(&exchange.status(home))["protection"].clone());
                assert_eq!(both, [json!(at_home), json!(at_home)]);
            }
        }
        exchange.until_talking(true);
        alice.command("quit");
        for (telephone, report) in [(&alice, alice.summary()), (&bob, bob.summary())] {
            assert_eq!(report["protection"], protection);
            // What was on its way when a side was put on hold comes too late to be heard.
            assert!(few_refused(&report), "{report}");
            assert!(!telephone.program.log().contains("panicked"));
        }
        alice.end();
        bob.end();
        until_over(&exchange);
    }
}

#[test]
fn a_minute_of_silence_survives_both_homes() {
    if !inside("voice::lasting::a_minute_of_silence_survives_both_homes") {
        return;
    }
    let exchange = Exchange::build("");
    let _homes = exchange.open();
    exchange.connect();
    let mut samples = vec![0; 8_000 * 60];
    samples.extend(wav::speech());
    wav::write(&exchange.town.path("late.wav"), &samples);
    let [late, record] = ["late.wav", "bob.wav"].map(|name| file(&exchange.town, name));
    // Bob says nothing at all, and has to tell his home again and again where he is.
    let for_bob = ["--record", &record, "--dtx", "--calls", "1", "--expires", "30", "--hold-ms", "400"];
    let bob = Telephone::listen(&exchange.town, Who::Bob, &for_bob);
    let mut alice = Telephone::call(&exchange.town, Who::Alice, "bobby", &["--play", &late, "--dtx"]);
    alice.event("protected");
    bob.event("protected");
    thread::sleep(Duration::from_secs(60));
    let status = exchange.status(BOB_HOME);
    assert_eq!(status["voice"]["telephones"], json!({ "bob": 1 }), "30 s were over twice");
    let packets = [0, 1].map(|side| call(&status)["from"][side]["packets"].as_u64().unwrap());
    println!("{packets:?} packets in a minute of silence");
    assert!(packets.iter().all(|packets| *packets < 1_000), "silence is next to nothing");
    // With its pauses, ten seconds of speech are some 400 packets.
    until("the speech after the silence", || {
        let now = call(&exchange.status(BOB_HOME))["from"][0]["packets"].as_u64().unwrap();
        now > packets[0] + 300
    });
    alice.command("quit");
    let report = bob.summary();
    alice.end();
    bob.end();
    until_over(&exchange);
    assert_eq!((&report["protection"], &report["refused"]), (&json!("end-to-end"), &json!(0)), "{report}");
    let (original, recorded) = (wav::speech(), wav::read(record.as_ref()));
    let (words, late) =
        (&original[8_000 * 3..8_000 * 5], &recorded[recorded.len().saturating_sub(8_000 * 13)..]);
    let share = wav::share_alike(words, late, wav::offset_of(words, late));
    println!("{share:.2} of the speech after the silence is as it was said");
    assert!(share > 0.5, "{share:.2}: {report}");
}

#[test]
fn packets_past_the_last_number_are_heard_through_both_homes() {
    if !inside("voice::lasting::packets_past_the_last_number_are_heard_through_both_homes") {
        return;
    }
    let exchange = Exchange::build("");
    let _homes = exchange.open();
    exchange.connect();
    // Once the homes protect what they carry, and have to count the wraps; once the members do.
    for (protection, at_home, is_secure) in [("home", "home-to-home", false), ("sdes", "end-to-end", true)] {
        let capture = file(&exchange.town, "bob.pcapng");
        let more = ["--protection", protection, "--calls", "1", "--pcapng", &capture];
        let bob = Telephone::listen(&exchange.town, Who::Bob, &more);
        let received_back = thread::scope(|scope| {
            let speaker =
                scope.spawn(|| exchange.town.world.within("w1", || speak_past_the_wrap(is_secure)).unwrap());
            exchange.until_received(100);
            let both = [HOME, BOB_HOME].map(|home| call(&exchange.status(home)));
            for status in both {
                assert_eq!(status["protection"], at_home, "{status}");
            }
            speaker.join().unwrap()
        });
        let report = bob.summary();
        bob.end();
        until_over(&exchange);
        println!("{protection}: {} there, {received_back} back", report["heard"]["counts"]);
        assert_eq!((&report["protection"], &report["refused"]), (&json!(protection), &json!(0)), "{report}");
        assert_eq!(report["heard"]["network"]["lost"], 0, "{report}");
        // The farewell may overtake what was said last.
        let received = report["heard"]["counts"]["received"].as_u64().unwrap();
        assert!(received > u64::from(PACKETS - 20), "{report}");
        assert!(received_back > u64::from(PACKETS / 2), "voice came back too: {received_back}");
    }
}

/// Calls bobby as alice's telephone, says something in packets whose numbers and times wrap, and hangs up. Gives how
/// many packets of voice came back.
fn speak_past_the_wrap(is_secure: bool) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let socket = UdpSocket::bind("10.73.5.2:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let fresh = Zeroizing::new([9; MasterKey::LEN_MAX]);
        let key = MasterKey::from_chance(Suite::AesCm128HmacSha1_80, &fresh);
        let settings = AgentSettings {
            user: "alice".to_owned(),
            bind: "10.73.5.2:0".parse().unwrap(),
            transport: Transport::Udp,
            home: Some("10.73.5.1:5060".parse().unwrap()),
            expires_s: 60,
        };
        let agent = Agent::start(settings).await.unwrap();
        let offer = offer(socket.local_addr().unwrap(), is_secure.then_some(&key));
        let mut call = agent.dial("sip:bobby@10.73.5.1", &offer.emit()).unwrap();
        let answer = loop {
            match call.event().await {
                CallEvent::Answered { answer } => break Description::parse(&answer.unwrap()).unwrap(),
                CallEvent::Ended(ending) => panic!("{ending:?}"),
                CallEvent::Trying
                | CallEvent::Ringing
                | CallEvent::Acknowledged { .. }
                | CallEvent::Changed(_)
                | CallEvent::Modified { .. }
                | CallEvent::Probed { .. } => {}
            }
        };
        let mut protect = is_secure.then(|| Protect::new(&key));
        let mut received = 0;
        let mut pace = tokio::time::interval(Duration::from_millis(20));
        let (mut sequence, mut timestamp) = (u16::MAX - BEFORE_WRAP + 1, u32::MAX - 3_000);
        for number in 0..PACKETS {
            pace.tick().await;
            let header = Header { marker: number == 0, payload_type: 0, sequence, timestamp, ssrc: 7 };
            let mut packet = Vec::new();
            header.emit(&mut packet);
            packet.extend(wav::speech()[..160].iter().map(|sample| mu_law(*sample)));
            let mut sealed = packet.clone();
            if let Some(protect) = &mut protect {
                protect.rtp(&packet, &mut sealed).unwrap();
            }
            socket.send_to(&sealed, answer.address).unwrap();
            (sequence, timestamp) = (sequence.wrapping_add(1), timestamp.wrapping_add(160));
            let mut datagram = [0; 2_048];
            while let Ok((length, _)) = socket.recv_from(&mut datagram) {
                received += u64::from(Kind::of(&datagram[..length]) == Kind::Rtp);
            }
        }
        call.hang_up().await;
        agent.stop().await;
        received
    })
}

/// One stream of G.711, protected by the member's own key or not at all.
fn offer(address: SocketAddr, key: Option<&MasterKey>) -> Description {
    let crypto = key.map(|key| {
        let text = CryptoLine { tag: 1, key: key.clone() }.to_text();
        let digits = text.split_once("inline:").unwrap().1.to_owned();
        Crypto { tag: 1, suite: key.profile().name().to_owned(), key: Zeroizing::new(digits) }
    });
    let format =
        Format { payload: 0, name: "PCMU".to_owned(), clock_hz: 8_000, channels: 1, parameters: None };
    Description {
        session: 1,
        version: 1,
        address,
        control_port: None,
        multiplex: true,
        profile: match key {
            Some(_) => Profile::Secure { feedback: false },
            None => Profile::Plain { feedback: false },
        },
        formats: vec![format],
        direction: Direction::SendReceive,
        ptime_ms: Some(20),
        crypto: crypto.into_iter().collect(),
        agreement: None,
        others: Vec::new(),
    }
}
