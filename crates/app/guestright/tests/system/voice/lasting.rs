//! Calls that go on: on hold and back, through a minute of silence, and past the last number of a packet.

use super::call;
use super::exchange::{BOB_HOME, Exchange, HOME};
use super::softphone::mu_law;
use super::telephone::{HOLD_MS, Telephone, Who, file, until_over};
use crate::call::{few_refused, wav};
use crate::town::{inside, until};
use guestright_sip::agent::{
    Agent, AgentSettings, CallEvent, Crypto, Description, Direction, Format, Profile, Transport,
};
use guestright_voice::rtp::{Header, Kind};
use guestright_voice::srtp::{CryptoLine, MasterKey, Profile as Suite, Protect};
use serde_json::{Value, json};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use zeroize::Zeroizing;

/// Before the last number that a packet can have, so many packets are sent.
const BEFORE_WRAP: u16 = 60;
/// And in all at least, and at most.
const PACKETS_MIN: u64 = 250;
const PACKETS_MAX: u64 = 10_000;
/// Between two packets of speech.
const FRAME: Duration = Duration::from_millis(20);
/// So long nobody says anything: longer than a busy computer takes to look at it after a minute.
const SILENCE_SECONDS: usize = 80;

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
    let mut samples = vec![0; 8_000 * SILENCE_SECONDS];
    samples.extend(wav::speech());
    wav::write(&exchange.town.path("late.wav"), &samples);
    let [late, record] = ["late.wav", "bob.wav"].map(|name| file(&exchange.town, name));
    // Bob says nothing at all, and has to tell his home again and again where he is.
    let for_bob = ["--record", &record, "--dtx", "--calls", "1", "--expires", "30", "--hold-ms", HOLD_MS];
    let bob = Telephone::listen(&exchange.town, Who::Bob, &for_bob);
    let mut alice = Telephone::call(&exchange.town, Who::Alice, "bobby", &["--play", &late, "--dtx"]);
    alice.event("protected");
    bob.event("protected");
    thread::sleep(Duration::from_secs(60));
    let status = exchange.status(BOB_HOME);
    assert_eq!(status["voice"]["telephones"], json!({ "bob": 1 }), "30 s were over twice");
    let packets = [0, 1].map(|side| packets(&status, side).unwrap_or_else(|| panic!("no call: {status}")));
    println!("{packets:?} packets in a minute of silence");
    assert!(packets.iter().all(|packets| *packets < 1_000), "silence is next to nothing");
    // With its pauses, ten seconds of speech are some 400 packets.
    until("the speech after the silence", || {
        self::packets(&exchange.status(BOB_HOME), 0) > Some(packets[0] + 300)
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

/// How many packets of voice a home has had from a side of its one call.
fn packets(status: &Value, side: usize) -> Option<u64> {
    call(status)["from"][side]["packets"].as_u64()
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
        let talk = Talk::default();
        let speak = || exchange.town.world.within("w1", || speak_past_the_wrap(is_secure, &talk)).unwrap();
        let (received_back, both) = thread::scope(|scope| {
            let speaker = scope.spawn(speak);
            exchange.until_received(100);
            let both = [HOME, BOB_HOME].map(|home| call(&exchange.status(home)));
            talk.is_enough.store(true, Ordering::Relaxed);
            until("all that was said to come to bob's home", || {
                let sent = talk.sent.load(Ordering::Relaxed);
                sent > 0 && packets(&exchange.status(BOB_HOME), 0) == Some(sent)
            });
            talk.is_over.store(true, Ordering::Relaxed);
            (speaker.join().unwrap(), both)
        });
        let sent = talk.sent.into_inner();
        for status in both {
            assert_eq!(status["protection"], at_home, "{status}");
        }
        let report = bob.summary();
        bob.end();
        until_over(&exchange);
        println!("{protection}: {sent} sent, {} there, {received_back} back", report["heard"]["counts"]);
        assert_eq!((&report["protection"], &report["refused"]), (&json!(protection), &json!(0)), "{report}");
        assert_eq!(report["heard"]["network"]["lost"], 0, "{report}");
        // The farewell may overtake what was said last.
        let received = report["heard"]["counts"]["received"].as_u64().unwrap();
        assert!(received > sent - 20, "{sent} sent: {report}");
        assert!(received_back > sent / 2, "voice came back too: {received_back} for {sent}");
    }
}

/// What a speaker and who watches its call say to each other.
#[derive(Default)]
struct Talk {
    is_enough: AtomicBool,
    /// Packets of voice, once all are sent.
    sent: AtomicU64,
    is_over: AtomicBool,
}

/// Calls bobby as alice's telephone, says something in packets whose numbers and times wrap until it is enough, and hangs
/// up when the talk is over. Gives how many packets of voice came back.
fn speak_past_the_wrap(is_secure: bool, talk: &Talk) -> u64 {
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
        let payload: Vec<u8> = wav::speech()[..160].iter().map(|sample| mu_law(*sample)).collect();
        let (mut sent, mut received) = (0, 0);
        let mut pace = tokio::time::interval(FRAME);
        let (mut sequence, mut timestamp) = (u16::MAX - BEFORE_WRAP + 1, u32::MAX - 3_000);
        for _ in 0..PACKETS_MAX {
            pace.tick().await;
            if sent < PACKETS_MIN || !talk.is_enough.load(Ordering::Relaxed) {
                let header = Header { marker: sent == 0, payload_type: 0, sequence, timestamp, ssrc: 7 };
                let mut packet = Vec::new();
                header.emit(&mut packet);
                packet.extend(&payload);
                let mut sealed = packet.clone();
                if let Some(protect) = &mut protect {
                    protect.rtp(&packet, &mut sealed).unwrap();
                }
                socket.send_to(&sealed, answer.address).unwrap();
                sent += 1;
                (sequence, timestamp) = (sequence.wrapping_add(1), timestamp.wrapping_add(160));
            } else {
                talk.sent.store(sent, Ordering::Relaxed);
            }
            let mut datagram = [0; 2_048];
            while let Ok((length, _)) = socket.recv_from(&mut datagram) {
                received += u64::from(Kind::of(&datagram[..length]) == Kind::Rtp);
            }
            if talk.is_over.load(Ordering::Relaxed) {
                break;
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
