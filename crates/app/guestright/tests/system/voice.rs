//! Members of two homes call each other with stock softphones, through strangers' access points.
//!
//! ```text
//!   w1 ── v1 (NAT) ── net ── router (H1: home of the team house)
//!                      ├──── other (H2: home of the team other)
//!   w2 ── v2 (NAT) ────┘
//! ```

pub(crate) mod exchange;
mod lasting;
mod softphone;
pub(crate) mod telephone;
mod ways;

use super::town::{inside, succeeded, until};
use crate::town::baresip::{TONE_HZ, share_of_tone};
use exchange::{BETWEEN_HOMES, BOB_HOME, Exchange, HOME, Trace};
use serde_json::{Value, json};
use softphone::{Baresip, Sipp};
use std::time::Instant;

/// The one call that a home knows of; null if it is not one.
fn call(status: &Value) -> Value {
    match status["voice"]["calls"].as_array().map(Vec::as_slice) {
        Some([one]) => one.clone(),
        _ => Value::Null,
    }
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "small"
    )]
    let index = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[index]
}

#[test]
fn two_stock_softphones_talk_through_both_homes_and_nobody_between_hears_them() {
    if !inside("voice::two_stock_softphones_talk_through_both_homes_and_nobody_between_hears_them") {
        return;
    }
    let exchange = Exchange::build("");
    let _homes = exchange.open();
    exchange.connect();
    let traces = ["v1", "v2"].map(|host| exchange.trace(host, "lan"));
    let between = exchange.trace("net", "to-other");
    let control = exchange.trace("router", "gr-home");
    let (w1, w2) = (Baresip::start(&exchange, "w1", "alice", ""), Baresip::start(&exchange, "w2", "bob", ""));
    exchange.until_registered();

    let began = Instant::now();
    w1.command("dial", "sip:bobby@10.73.5.1");
    w1.event("CALL_ESTABLISHED");
    println!("set up in {:?}", began.elapsed());
    w2.event("CALL_ESTABLISHED");
    exchange.until_received(100);
    let (at_one, at_two) = (call(&exchange.status(HOME)), call(&exchange.status(BOB_HOME)));
    assert_eq!((&at_one["caller"], &at_one["callee"]), (&json!("alice"), &json!("bobby")));
    // Bob sees alice by the name that he has given her, because her own signature names her home.
    assert_eq!((&at_two["caller"], &at_two["callee"]), (&json!("ally"), &json!("bob")));
    assert_eq!(
        (&at_one["protection"], &at_two["protection"]),
        (&json!("home-to-home"), &json!("home-to-home"))
    );

    // On hold nobody talks; then they talk again. Both are re-INVITEs.
    for (command, talks) in [("hold", false), ("resume", true)] {
        w1.command(command, "");
        exchange.until_talking(talks);
    }
    exchange.until_received(300);
    w2.command("hangup", "");
    w1.event("CALL_CLOSED");
    until("the call to be over", || exchange.calls(HOME) == 0 && exchange.calls(BOB_HOME) == 0);
    for phone in [w1, w2] {
        let samples = phone.into_recording();
        let share = share_of_tone(&samples, TONE_HZ);
        assert!(share > 0.5, "{} samples, {share} of them the tone", samples.len());
    }
    let payload = softphone::tone_payload();
    assert!(
        control.stop().has(&payload),
        "the tone is in the clear inside the tunnel, or this test proves nothing"
    );
    for trace in traces {
        let trace = trace.stop();
        assert!(trace.count("udp port 51820") > 300);
        assert_eq!(trace.show("ip and not udp port 51820"), "", "only tunnel packets");
        assert!(!trace.has(&payload));
    }
    only_sealed(&between.stop(), &payload);
}

/// Between the homes there are the link and SRTP, and neither voice nor SIP.
fn only_sealed(between: &Trace, payload: &[u8]) {
    let homes = BETWEEN_HOMES;
    assert!(between.count(&format!("{homes} and tcp port 7275")) > 4);
    assert!(between.count(&format!("{homes} and udp portrange 20000-29999")) > 300);
    assert_eq!(between.neither_link_nor_voice(), "", "nothing else");
    assert!(!between.has(payload), "voice in the clear between homes");
    // Long enough not to be there by chance: of three bytes, one call in fifty has them in its ciphertext.
    for word in [&b"INVITE"[..], b"SIP/2.0", b"alice", b"sip:bob"] {
        assert!(!between.has(word), "{} between homes", String::from_utf8_lossy(word));
    }
    // Each packet is RTP with 160 bytes of voice and a tag of 16: AEAD_AES_128_GCM.
    let voice = format!("{homes} and udp portrange 20000-29999 and greater 200");
    let lengths = between.lengths(&voice);
    assert!(lengths.iter().all(|length| *length == 14 + 20 + 8 + 12 + 160 + 16), "{lengths:?}");
}

#[test]
fn calls_are_set_up_one_after_the_other() {
    if !inside("voice::calls_are_set_up_one_after_the_other") {
        return;
    }
    let exchange = Exchange::build("");
    let _homes = exchange.open();
    exchange.connect();
    let (w1, w2) = (Baresip::start(&exchange, "w1", "alice", ""), Baresip::start(&exchange, "w2", "bob", ""));
    exchange.until_registered();
    let mut took = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        w1.command("dial", "sip:bobby@10.73.5.1");
        w1.event("CALL_ESTABLISHED");
        took.push(began.elapsed().as_secs_f64());
        w1.command("hangup", "");
        w2.event("CALL_CLOSED");
        until("the call to be over", || exchange.calls(HOME) == 0 && exchange.calls(BOB_HOME) == 0);
    }
    took.sort_by(f64::total_cmp);
    let (p50, p95) = (percentile(&took, 0.5), percentile(&took, 0.95));
    println!("{}", json!({ "call_set_up_seconds": { "p50": p50, "p95": p95, "calls": took.len() } }));
}

#[test]
fn a_hundred_calls_at_a_time() {
    if !inside("voice::a_hundred_calls_at_a_time") {
        return;
    }
    let exchange = Exchange::build("calls_each_max = 128\n");
    let _homes = exchange.open();
    exchange.connect();
    exchange.register("w2", "bob");
    let _callee = Sipp::answer(&exchange, "w2");
    let mut caller = Sipp::call(&exchange, "w1", "bobby", 100);
    until("a hundred calls at a time", || exchange.calls(HOME) == 100 && exchange.calls(BOB_HOME) == 100);
    until("voice in both directions of each call", || {
        let status = exchange.status(BOB_HOME);
        let speaks = |call: &&Value| (0..2).all(|side| call["from"][side]["packets"].as_u64() > Some(10));
        status["voice"]["calls"].as_array().into_iter().flatten().filter(speaks).count() == 100
    });
    Sipp::hang_up(&exchange, "w1");
    let counts = caller.finish();
    println!(
        "{}",
        json!({ "sipp": { "calls": 100, "failed": counts.failed, "successful": counts.successful } })
    );
    assert_eq!((counts.successful, counts.failed), (100, 0));
    until("all calls to be over", || exchange.calls(HOME) == 0 && exchange.calls(BOB_HOME) == 0);
}

#[test]
fn nobody_calls_in_the_name_of_another_and_unknown_names_are_said_so() {
    if !inside("voice::nobody_calls_in_the_name_of_another_and_unknown_names_are_said_so") {
        return;
    }
    let exchange = Exchange::build("");
    let _homes = exchange.open();
    exchange.connect();
    // Alice's tunnel, bob's name; then names that mean nobody.
    assert_eq!(exchange.ask("w1", "REGISTER", "bob"), 403);
    assert_eq!(exchange.ask("w1", "OPTIONS", "home"), 200);
    assert_eq!(exchange.ask("w1", "INVITE", "nobody"), 404);
    assert_eq!(exchange.ask("w1", "INVITE", &"ab".repeat(24)), 404);
    // Bob has no telephone yet.
    assert_eq!(exchange.ask("w1", "INVITE", "bobby"), 480);
    let status = exchange.status(HOME);
    assert_eq!(status["voice"]["refused"]["registers as somebody else"], 1, "{status}");
    let off = exchange.town.run(&["home", "status", "--config", "house/home.toml"]);
    assert!(succeeded(&off).contains("calls"), "people are told too");
}
