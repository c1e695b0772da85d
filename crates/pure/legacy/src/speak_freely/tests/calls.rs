//! Whole calls in virtual time.

use super::{all, config, feed, pair, tool};
use crate::speak_freely::{Cipher, Config, Form, Protocol};
use crate::testing::{Link, address, call, frame};
use guestright_units::{Micros, Time};
use guestright_voice::session::Frame;
use guestright_voice::tool::{Ending, Event, Tool as _, ToolError};
use proptest::prelude::*;

fn link(delay_ms: u64, jitter_ms: u64, loss: u32, doubled: u32, seed: u64) -> Link {
    Link { delay: Micros::from_millis(delay_ms), jitter: Micros::from_millis(jitter_ms), loss, doubled, seed }
}

fn copies(copies: u8) -> impl Fn(Config) -> Config {
    move |config| Config { copies, ..config }
}

#[test]
fn every_kind_of_call_brings_all_sound_in_both_directions() {
    for (form, protocol, cipher) in all() {
        let mut tools = pair(form, protocol, cipher, |config| config);
        let ends = call(&mut tools, Link::PERFECT, feed(form, protocol, 20));
        let what = format!("{form:?} {protocol:?} {cipher:?}");
        // The callee knows its peer after the caller's first word, which is before the first frame.
        assert_eq!(ends[0].played, (0..20).collect::<Vec<_>>(), "{what}");
        assert_eq!(ends[1].played, (0..20).collect::<Vec<_>>(), "{what}");
        assert_eq!((ends[0].noise, ends[1].noise), (0, 0), "{what}");
        assert!(ends.iter().all(|end| end.errors.is_empty()), "{what}: {:?}", ends[0].errors);
        let Some(Event::Connected(connected)) = ends[1].events.first() else { panic!("{what}") };
        assert_eq!((connected.name.as_deref(), connected.is_verified), (Some("alice"), false), "{what}");
        assert_eq!(connected.peer, address(0));
        let summary = tools[0].summary();
        assert_eq!((summary.sent, summary.withheld, summary.refused), (20, 0, 0), "{what}");
        let codec = 20 * form.codec_bytes(form.packet_samples(protocol));
        assert_eq!(summary.sent_codec_bytes, codec as u64, "{what}");
        assert_eq!(summary.sent_wire_bytes, ends[0].sent.iter().map(|sent| sent.len() as u64).sum::<u64>());
    }
}

#[test]
fn robust_mode_fills_gaps_that_one_copy_leaves() {
    let feed = feed(Form::Gsm, Protocol::Own, 100);
    let lossy = link(30, 0, 200, 0, 5);
    let played = |copies_sent| {
        let ends = call(&mut pair(Form::Gsm, Protocol::Own, Cipher::Idea, copies(copies_sent)), lossy, feed);
        assert!(ends.iter().all(crate::testing::End::is_in_order));
        ends[1].played.len()
    };
    let (one, four) = (played(1), played(4));
    assert!(one < 92 && four > 97, "{one} and {four} of 100, where each datagram is lost with 0.2");
}

#[test]
fn robust_mode_says_what_is_missing_by_its_numbers() {
    let mut tools = pair(Form::Gsm, Protocol::Own, Cipher::None, copies(2));
    let ends = call(&mut tools, link(30, 0, 400, 0, 3), feed(Form::Gsm, Protocol::Own, 300));
    let missing = (0..300).filter(|number| !ends[1].played.contains(number));
    // What is missing before the first and after the last has no neighbours that tell.
    let known = missing.filter(|number| {
        ends[1].played.first().is_some_and(|first| first < number)
            && ends[1].played.last().is_some_and(|last| number < last)
    });
    let others = tools[1].summary().others;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let known = known.count() as f64;
    assert_eq!(others[1], ("missing by their numbers", known));
    assert!(known > 20.0);
}

#[test]
fn without_numbers_what_overtakes_is_played_first() {
    // Jitter of more than a packet, and no loss.
    let mut disorder = 0;
    for seed in 0..20 {
        let mut tools = pair(Form::Adpcm, Protocol::Own, Cipher::Blowfish, |config| config);
        let ends = call(&mut tools, link(30, 200, 0, 0, seed), feed(Form::Adpcm, Protocol::Own, 50));
        assert!(ends[1].is_once_each());
        disorder += usize::from(!ends[1].is_in_order());
    }
    assert!(disorder > 10, "the order is that of arrival: {disorder} of 20 calls");
}

#[test]
fn digital_silence_is_played_once_and_then_left_out() {
    let (mut caller, mut callee) = (
        tool(config(0, Form::Gsm, Protocol::Own, Cipher::None), 1),
        tool(config(1, Form::Gsm, Protocol::Own, Cipher::None), 2),
    );
    for step in 1..=10 {
        let silence =
            Frame { payload: &[0; 330], duration: Micros(200_000), is_speech: false, noise_level: 127 };
        caller.handle_frame(&silence, Time(step * 200_000));
        while let Some(sent) = caller.poll_transmit() {
            callee.handle_datagram(&sent.bytes, address(0), Time(step * 200_000)).unwrap();
        }
    }
    let counts = callee.summary().playout;
    assert_eq!((counts.received, counts.duplicates), (10, 9));
    assert_eq!(callee.summary().refused, 0, "it is no fault of anybody's");
}

#[test]
fn the_peer_says_goodbye_and_the_call_is_over() {
    for protocol in [Protocol::Own, Protocol::Rtp] {
        let (mut caller, mut callee) = (
            tool(config(0, Form::Gsm, protocol, Cipher::Des), 1),
            tool(config(1, Form::Gsm, protocol, Cipher::Des), 2),
        );
        let first = caller.poll_transmit().unwrap();
        callee.handle_datagram(&first.bytes, address(0), Time(0)).unwrap();
        caller.leave(Time(10));
        let last = caller.poll_transmit().unwrap();
        assert_eq!(
            callee.handle_datagram(&last.bytes, address(2), Time(10)),
            Err(ToolError::Stranger),
            "not everybody can end it"
        );
        callee.handle_datagram(&last.bytes, address(0), Time(10)).unwrap();
        let events: Vec<Event> = std::iter::from_fn(|| callee.poll_event()).collect();
        assert!(matches!(events[..], [Event::Connected(_), Event::Ended(Ending::PeerLeft)]), "{events:?}");
        assert!(!callee.is_ready() && !caller.is_ready());
        assert_eq!((callee.poll_timeout(), caller.poll_timeout()), (None, None));
        let again = callee.handle_datagram(&first.bytes, address(0), Time(20));
        assert_eq!(again, Err(ToolError::OutOfTurn("the call is over")));
    }
}

#[test]
fn a_call_in_which_nothing_comes_is_given_up() {
    let mut caller = tool(config(0, Form::Gsm, Protocol::Own, Cipher::None), 1);
    let mut now = Time(0);
    let mut controls = 0;
    while caller.poll_event().is_none() {
        now = caller.poll_timeout().unwrap();
        caller.handle_timeout(now);
        controls += std::iter::from_fn(|| caller.poll_transmit()).count();
        assert!(now <= Time(30_000_000));
    }
    assert_eq!(now, Time(30_000_000));
    assert_eq!(controls, 1 + 4, "at once, and every 7 s");
    assert_eq!(caller.poll_timeout(), None);
}

#[test]
fn frames_that_nobody_can_get_are_withheld() {
    let mut callee = tool(config(1, Form::Gsm, Protocol::Own, Cipher::None), 1);
    let offer = |payload: &[u8], callee: &mut super::SpeakFreely| {
        let duration = Micros(200_000);
        callee.handle_frame(&Frame { payload, duration, is_speech: true, noise_level: 60 }, Time(0));
    };
    offer(&frame(1, 330), &mut callee);
    assert_eq!((callee.summary().withheld, callee.poll_transmit()), (1, None), "it does not know where to");
    let mut caller = tool(config(0, Form::Gsm, Protocol::Own, Cipher::None), 1);
    offer(&frame(1, 331), &mut caller);
    offer(&frame(1, 363), &mut caller);
    assert_eq!((caller.summary().withheld, caller.summary().sent), (2, 0), "no frames, and too many");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn with_numbers_nothing_is_played_twice_or_out_of_order(
        jitter in 0_u64..400, loss in 0_u32..400, doubled in 0_u32..500, seed: u64,
    ) {
        let link = link(20, jitter, loss, doubled, seed);
        let robust = call(
            &mut pair(Form::Adpcm, Protocol::Own, Cipher::Blowfish, copies(3)),
            link,
            feed(Form::Adpcm, Protocol::Own, 60),
        );
        let rtp = call(
            &mut pair(Form::Gsm, Protocol::Rtp, Cipher::Des, |config| config),
            link,
            feed(Form::Gsm, Protocol::Rtp, 60),
        );
        for end in robust.iter().chain(&rtp) {
            prop_assert!(end.is_in_order(), "{:?}", end.played);
            prop_assert_eq!(end.noise, 0);
        }
    }

    #[test]
    fn without_numbers_nothing_is_played_twice_either(
        jitter in 0_u64..400, loss in 0_u32..400, doubled in 0_u32..500, seed: u64,
    ) {
        let ends = call(
            &mut pair(Form::Gsm, Protocol::Own, Cipher::Des, |config| config),
            link(20, jitter, loss, doubled, seed),
            feed(Form::Gsm, Protocol::Own, 60),
        );
        for end in &ends {
            prop_assert!(end.is_once_each(), "{:?}", end.played);
            prop_assert_eq!(end.noise, 0);
            // A jitter below the time of a packet does not reorder.
            prop_assert!(jitter > 199 || end.is_in_order());
        }
    }
}
