use super::{PHRASE, connected, feed, pair, phrase};
use crate::diffie_hellman::Prime;
use crate::nautilus::{CODEC_BYTES, Cipher, KeyAgreement, PACKET_SAMPLES};
use crate::testing::{End, Link, address, call, frame};
use guestright_units::{Micros, Time};
use guestright_voice::session::Frame;
use guestright_voice::tool::{Ending, Event, Tool as _, ToolError};
use proptest::prelude::*;

#[test]
fn every_cipher_and_kind_of_key_brings_all_sound_in_both_directions() {
    for agreement in [phrase(PHRASE), KeyAgreement::DiffieHellman(Prime::Oakley768)] {
        for cipher in Cipher::ALL {
            let mut tools = pair(&agreement, cipher);
            let ends = call(&mut tools, Link::PERFECT, feed(20));
            for end in &ends {
                assert_eq!(end.played, (0..20).collect::<Vec<_>>(), "{agreement:?} {cipher:?}");
                assert_eq!((end.noise, end.errors.len()), (0, 0), "{:?}", end.errors);
                assert!(matches!(end.events[..], [Event::Connected(_)]), "{:?}", end.events);
            }
        }
    }
}

#[test]
fn packets_are_as_long_and_as_many_as_in_table_5() {
    let [mut caller, _] = connected(&phrase(PHRASE), Cipher::Blowfish);
    let payload = frame(1, CODEC_BYTES);
    caller.handle_frame(
        &Frame { payload: &payload, duration: Micros(180_000), is_speech: true, noise_level: 60 },
        Time(0),
    );
    let sent = caller.poll_transmit().unwrap();
    assert_eq!(sent.bytes.len(), 4 + 56, "56 encrypted bytes behind a kind and a number");
    assert_eq!(sent.bytes[..4], [4, 0, 0, 0]);
    assert_ne!(sent.bytes[4..], payload);
    assert_eq!(8_000 * 100 / PACKET_SAMPLES, 555, "5.55 a second");
}

#[test]
fn one_hangs_up_and_nobody_else_can() {
    let [mut caller, mut callee] = connected(&phrase(PHRASE), Cipher::Idea);
    while callee.poll_event().is_some() {}
    let mut forged = vec![5, 0, 0, 0];
    forged.extend_from_slice(b"HANG UP.");
    assert_eq!(callee.handle_datagram(&forged, address(0), Time(1)), Err(ToolError::Forged));
    callee.leave(Time(1));
    let own = callee.poll_transmit().unwrap();
    let [_, mut other] = connected(&phrase(PHRASE), Cipher::Idea);
    let reflected = other.handle_datagram(&own.bytes, address(0), Time(1));
    assert_eq!(reflected, Err(ToolError::Forged), "one's own farewell is not the other's");
    caller.handle_datagram(&own.bytes, address(1), Time(1)).unwrap();
    while let Some(event) = caller.poll_event() {
        assert!(matches!(event, Event::Connected(_) | Event::Ended(Ending::PeerLeft)), "{event:?}");
    }
    assert!(!caller.is_ready());
    assert_eq!((caller.poll_timeout(), callee.poll_timeout()), (None, None));
}

#[test]
fn silence_ends_a_call() {
    let [mut caller, _] = connected(&phrase(PHRASE), Cipher::Idea);
    let at = caller.poll_timeout().unwrap();
    assert_eq!(at, Time(10_000_000));
    caller.handle_timeout(Time(9_999_999));
    assert!(caller.is_ready());
    caller.handle_timeout(at);
    let events: Vec<Event> = std::iter::from_fn(|| caller.poll_event()).collect();
    assert!(matches!(events[..], [Event::Connected(_), Event::Ended(Ending::Silence)]), "{events:?}");
}

/// The words of an end that has come into a call and is still in it.
fn words(end: &End) -> Option<&Vec<String>> {
    match &end.events[..] {
        [Event::Connected(connected)] => Some(&connected.words),
        _ => None,
    }
}

/// Runs a call of 27 seconds and five more: a side that is alone notices by then. The caller gives up after ten seconds, the
/// callee ten seconds after the last greeting, and whoever has a key after ten more without sound.
fn on_link(link: Link) -> [End; 2] {
    call(&mut pair(&phrase(PHRASE), Cipher::Blowfish), link, feed(150))
}

#[test]
fn at_40_percent_loss_calls_come_about() {
    for seed in 0..100 {
        let (delay, jitter) = (Micros::from_millis(20), Micros::from_millis(100));
        let ends = on_link(Link { delay, jitter, loss: 400, doubled: 0, seed });
        assert!(
            ends.iter().all(|end| words(end).is_some()),
            "{seed}: {:?} {:?}",
            ends[0].events,
            ends[1].events
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn on_any_way_both_agree_or_end_and_nothing_is_played_twice(
        jitter in 0_u64..500, loss in 0_u32..400, doubled in 0_u32..500, seed: u64,
    ) {
        let ends = on_link(Link {
            delay: Micros::from_millis(20),
            jitter: Micros::from_millis(jitter),
            loss,
            doubled,
            seed,
        });
        for end in &ends {
            prop_assert!(end.is_in_order(), "{:?}", end.played);
            prop_assert_eq!(end.noise, 0);
        }
        if let [Some(ours), Some(theirs)] = ends.each_ref().map(words) {
            prop_assert_eq!(ours, theirs);
        } else {
            // Each attempt fails if it or its answer is lost: at 20 % loss all 20 do in one of 10^9 calls.
            prop_assert!(loss >= 200, "{:?} {:?}", ends[0].events, ends[1].events);
            // The caller has given up or found nobody speaking; so has the callee, or it waits for somebody else.
            prop_assert!(matches!(ends[0].events[..], [.., Event::Ended(_)]), "{:?}", ends[0].events);
            prop_assert!(matches!(ends[1].events[..], [] | [.., Event::Ended(_)]), "{:?}", ends[1].events);
        }
        let played = ends[0].played.len() + ends[1].played.len();
        prop_assert!(loss > 100 || jitter > 200 || played > 190, "{} of 300", played);
    }
}
