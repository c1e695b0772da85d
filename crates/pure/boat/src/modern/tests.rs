use super::*;
use crate::{Audio, Message, PAYLOAD_MAX, Report, Step};
use guestright_voice::rtp::Kind;
use proptest::prelude::*;

mod network;

fn config(healing_interval: u32) -> Config {
    Config { cipher: Cipher::Aes128Gcm, healing_interval }
}

fn shared() -> Zeroizing<[u8; 32]> {
    Zeroizing::new(std::array::from_fn(|index| u8::try_from(index).unwrap()))
}

/// The caller and the callee.
fn pair(config: Config) -> [Modern; 2] {
    [(Role::Caller, 1), (Role::Callee, 2)]
        .map(|(role, number)| Modern::new(role, &shared(), config, &Seed::from_number(number)))
}

fn sound(payload: &[u8]) -> Content {
    Content::Audio(Audio { timestamp: 1_000, starts_talkspurt: true, silence: 7, payload: payload.to_vec() })
}

fn seal(modern: &mut Modern, content: &Content, now: Time) -> Vec<u8> {
    let mut datagram = vec![0xaa; 5];
    modern.seal(content, 34, now, &mut datagram).unwrap();
    datagram
}

fn seconds(seconds: u64) -> Time {
    Time(seconds * 1_000_000)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A whole phase in which `talker` talks, without a network; whether it brought a generation.
fn phase(number: u32, talker: &mut Modern, listener: &mut Modern) -> bool {
    let before = talker.generations()[0];
    let probe = talker.probe(number);
    let response = listener.response(number, &probe).unwrap();
    let install = talker.install(number, &response).unwrap();
    let ack = listener.ack(number, &install).unwrap();
    talker.complete(number, &ack).unwrap();
    talker.generations()[0] > before
}

/// Computed with Python's `hmac` and OpenSSL's ciphers (pyca/cryptography 48): HKDF-Expand of K_0 = 00 01 .. 1f to the
/// chain, five times to the next, to key and salt, and the AEAD over the content.
#[test]
fn the_datagrams_are_those_of_an_independent_computation() {
    #[rustfmt::skip]
    let vectors = [
        (Cipher::Aes128Gcm, 0, 0, 0, "e00000bf45f5ef837b995374244119717708e3ae146ad434f73e4b704e1adf"),
        (Cipher::Aes128Gcm, 0, 5, 65_541, "e10005129eadb8c9c2ea53950d0a8f0e76f6dae86f58a267b33d0d14bf0e29"),
        (Cipher::Aes128Gcm, 1, 0, 0, "f00000118fd7db67c0649fc9e5aafb864f19787cd6e84550e1bbb4646ca212"),
        (Cipher::Aes128Gcm, 1, 5, 65_541, "f10005b7ff0ab5258391cf2f9d63fee49e2406d0e1d66b4017b9882f0fb285"),
        (Cipher::ChaCha20Poly1305, 0, 0, 0, "e0000026397e5fdf755fa547cb406fa480da1c00f69efdf2d3c78563319791"),
        (Cipher::ChaCha20Poly1305, 0, 5, 65_541, "e10005fc212b52613f97b5ac8c7d3525d4640125835ad4aeacc041e150f2bf"),
        (Cipher::ChaCha20Poly1305, 1, 0, 0, "f00000818078405683af585cbd3d84df7a21c34ec377a264c99164451216a9"),
        (Cipher::ChaCha20Poly1305, 1, 5, 65_541, "f100056338e8b24534e454468d4a6abfbf42326f8b30f05cd83163b83be4b0"),
    ];
    for (cipher, side, epoch, counter, want) in vectors {
        let mut sides = pair(Config { cipher, healing_interval: 1 });
        for second in 0..epoch {
            seal(&mut sides[side], &Content::Cover, seconds(second));
        }
        sides[side].talking.set_counter(counter);
        let datagram = seal(&mut sides[side], &sound(b"hello"), seconds(epoch));
        assert_eq!(hex(&datagram), want, "{cipher} {side} {epoch}");
    }
}

/// From the same computation: X25519 of two secrets drawn by HKDF, Extract with the root, Expand with the transcript.
#[test]
fn a_generation_is_that_of_an_independent_computation() {
    let [mut caller, mut callee] = pair(config(1));
    let probe = caller.probe(9);
    assert_eq!(hex(&probe), "4b96a2f22c266220ca5d42baf50376f7eb387b20760938d1597cd177142c2818");
    let response = callee.response(9, &probe).unwrap();
    assert_eq!(hex(&response), "4e404a5ea84f57cc0814250afe98ebd0b4f29fe778b64070dee6e70cb3f93156");
    let install = caller.install(9, &response).unwrap();
    assert_eq!(hex(&install), "c9ab38048199f0303ab10872149aab2e");
    let ack = callee.ack(9, &install).unwrap();
    assert_eq!(hex(&ack), "8b879fb557a02aabf0c3bf653eb14b19");
    caller.complete(9, &ack).unwrap();
    let datagram = seal(&mut caller, &sound(b"hello"), seconds(0));
    assert_eq!(hex(&datagram), "e40000de866084837bfbd5fa3f8fd6fd23809bc1d0b7e7d0f7352c724cbc26");
}

#[test]
fn what_one_seals_the_other_opens_once_and_nobody_else_does() {
    for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
        let mut sides = pair(Config { cipher, ..Config::default() });
        for (from, to) in [(0, 1), (1, 0)] {
            for number in 0..5 {
                let datagram = seal(&mut sides[from], &sound(&[number; 34]), seconds(0));
                assert_eq!(datagram.len(), 34 + OVERHEAD);
                assert!((224..=255).contains(&datagram[0]) && Kind::of(&datagram) == Kind::Quic);
                let reflected = sides[from].open(&datagram, seconds(0));
                assert_eq!(reflected, Err(SealError::Forged), "it came back to its sender");
                let opened = Opened { content: sound(&[number; 34]), sequence: u64::from(number) };
                assert_eq!(sides[to].open(&datagram, seconds(0)), Ok(opened));
                assert_eq!(sides[to].open(&datagram, seconds(0)), Err(SealError::Replayed));
            }
        }
    }
}

#[test]
fn any_changed_bit_is_noticed_and_forgotten() {
    for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
        let [mut caller, mut callee] = pair(Config { cipher, ..Config::default() });
        let datagram = seal(&mut caller, &sound(&[5; 34]), seconds(0));
        for bit in 0..datagram.len() * 8 {
            let mut changed = datagram.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(callee.open(&changed, seconds(0)).is_err(), "bit {bit}");
        }
        for length in 0..datagram.len() {
            assert!(callee.open(&datagram[..length], seconds(0)).is_err(), "{length} bytes");
        }
        assert!(callee.open(&[&datagram[..], &[0]].concat(), seconds(0)).is_err());
        assert!(callee.open(&datagram, seconds(0)).is_ok());
    }
}

#[test]
fn everything_looks_like_sound() {
    let report = Report { number: 1, expected: 2, received: 2, late: 0, jitter_us: 5 };
    let [mut caller, _] = pair(config(1));
    let key = caller.probe(0);
    let message = Content::Message(Message { phase: 0, step: Step::Probe { time: 5 }, key });
    let silent =
        Content::Audio(Audio { timestamp: 9, starts_talkspurt: false, silence: 0, payload: vec![1; 34] });
    for content in [sound(&[0; 34]), silent, message, Content::Report(report), Content::Cover, Content::Bye] {
        assert_eq!(seal(&mut caller, &content, seconds(0)).len(), 34 + OVERHEAD, "{content:?}");
    }
    assert_eq!(OVERHEAD, 26);
}

#[test]
fn a_listener_catches_up_with_32_epochs_and_not_with_33() {
    for (lost, is_open) in [(0, true), (31, true), (32, false)] {
        let [mut caller, mut callee] = pair(config(1));
        let first = seal(&mut caller, &Content::Cover, seconds(0));
        callee.open(&first, seconds(0)).unwrap();
        for second in 1..=lost {
            seal(&mut caller, &Content::Cover, seconds(second));
        }
        let datagram = seal(&mut caller, &Content::Cover, seconds(lost + 1));
        assert_eq!(callee.open(&datagram, seconds(lost + 1)).is_ok(), is_open, "{lost} epochs lost");
        assert_eq!(callee.listening.step(), if is_open { lost + 1 } else { 0 });
    }
}

/// A talker that is silent for a minute has not used the keys of that minute.
#[test]
fn a_long_pause_is_one_step() {
    let [mut caller, mut callee] = pair(config(1));
    for now in [0, 60, 200, 10_000] {
        let datagram = seal(&mut caller, &Content::Cover, seconds(now));
        assert!(callee.open(&datagram, seconds(now)).is_ok(), "{now}");
    }
    assert_eq!(callee.listening.step(), 3);
}

#[test]
fn datagrams_pass_each_other_at_the_end_of_an_epoch() {
    let [mut caller, mut callee] = pair(config(1));
    let sealed: Vec<_> = (0..4).map(|second| seal(&mut caller, &Content::Cover, seconds(second))).collect();
    let opens = |callee: &mut Modern, number: usize, now| callee.open(&sealed[number], Time(now)).is_ok();
    assert!(opens(&mut callee, 2, 2_000_000), "two epochs ahead");
    assert!(opens(&mut callee, 1, 2_100_000), "one that nothing had come of yet");
    assert!(opens(&mut callee, 0, 3_999_999), "two back, within the grace");
    assert!(opens(&mut callee, 3, 4_000_000));
    // Late: its key is gone.
    let [mut caller, mut callee] = pair(config(1));
    let [old, new] = [0, 1].map(|second| seal(&mut caller, &Content::Cover, seconds(second)));
    callee.open(&new, seconds(1)).unwrap();
    assert_eq!(callee.open(&old, seconds(3)), Err(SealError::Forged));
}

#[test]
fn datagrams_pass_each_other_at_the_end_of_a_generation() {
    let [mut caller, mut callee] = pair(config(1));
    let before: Vec<_> = [0, 0, 1].map(|second| seal(&mut caller, &Content::Cover, seconds(second))).to_vec();
    callee.open(&before[0], seconds(1)).unwrap();
    assert!(phase(1, &mut caller, &mut callee));
    let after = [1, 2].map(|second| seal(&mut caller, &Content::Cover, seconds(second)));
    assert_eq!(callee.generations(), [0, 0]);
    assert!(callee.open(&after[1], seconds(2)).is_ok());
    assert_eq!(callee.generations(), [0, 1]);
    assert!(callee.open(&after[0], seconds(2)).is_ok());
    assert!(callee.open(&before[2], seconds(3)).is_ok(), "of an epoch that nothing had come of");
    assert_eq!(callee.open(&before[1], seconds(4)), Err(SealError::Forged), "its grace is over");
}

#[test]
fn the_window_has_1024_places() {
    let [mut caller, mut callee] = pair(config(1));
    // Within a few epochs: 960 datagrams make one.
    let sealed: Vec<_> = (0..1_100).map(|_| seal(&mut caller, &Content::Cover, seconds(0))).collect();
    callee.open(&sealed[1_030], seconds(0)).unwrap();
    assert_eq!(callee.open(&sealed[6], seconds(0)), Err(SealError::Replayed), "1024 behind");
    assert!(callee.open(&sealed[7], seconds(0)).is_ok(), "1023 behind");
    assert_eq!(callee.open(&sealed[7], seconds(0)), Err(SealError::Replayed));
    assert!(callee.open(&sealed[1_031], seconds(0)).is_ok());
    assert_eq!(callee.open(&sealed[1_030], seconds(0)), Err(SealError::Replayed));
}

#[test]
fn the_sequence_number_wraps_and_the_counter_does_not() {
    let [mut caller, mut callee] = pair(config(1));
    let mut opened = Vec::new();
    for number in 0..70_000_u64 {
        // 500 datagrams a second, of which every 97th comes.
        let now = Time(number * 2_000);
        let datagram = seal(&mut caller, &Content::Cover, now);
        if number.is_multiple_of(97) {
            opened.push(callee.open(&datagram, now).unwrap().sequence);
        }
    }
    assert!(opened.iter().copied().eq((0..70_000).step_by(97)));
}

#[test]
fn a_key_that_has_protected_enough_is_left_early() {
    let [mut caller, mut callee] = pair(config(1));
    let open = |caller: &mut Modern, callee: &mut Modern, room| {
        let mut datagram = Vec::new();
        caller.seal(&Content::Cover, room, seconds(0), &mut datagram).unwrap();
        callee.open(&datagram, seconds(0)).unwrap();
        callee.listening.step()
    };
    let steps: Vec<u64> = (0..1_921).map(|_| open(&mut caller, &mut callee, 10)).collect();
    assert_eq!((steps[959], steps[960], steps[1_919], steps[1_920]), (0, 1, 1, 2));
    // The longest datagrams stay below 2^20 bytes in 960: the limit in bytes is the second line.
    const { assert!((PAYLOAD_MAX + OVERHEAD) * 960 < EPOCH_BYTES_MAX) };
    caller.talking.set_counter(talking::COUNTER_MAX);
    seal(&mut caller, &Content::Cover, seconds(0));
    let mut datagram = Vec::new();
    let worn = caller.seal(&sound(b"secret"), 10, seconds(0), &mut datagram);
    assert_eq!((worn, datagram), (Err(SealError::WornOut), vec![]));
}

#[test]
fn every_nth_phase_brings_keys_and_a_failed_one_is_made_up_for_at_once() {
    let [mut caller, mut callee] = pair(config(4));
    let brings = (0..8).map(|number| {
        let brings = phase(number, &mut caller, &mut callee);
        // The next PROBE comes in a datagram like this.
        let datagram = seal(&mut caller, &Content::Cover, seconds(0));
        callee.open(&datagram, seconds(0)).unwrap();
        brings
    });
    let brings: Vec<bool> = brings.collect();
    assert_eq!(brings, [false, false, false, true, false, false, false, true]);
    (8..11).for_each(|number| assert!(caller.probe(number).is_empty()));
    assert_eq!(caller.probe(11).len(), 32);
    caller.abandon(11);
    assert_eq!(caller.probe(12).len(), 32);
}

#[test]
fn the_four_messages_can_be_lost_at_any_place() {
    for lost in 0..4 {
        let [mut caller, mut callee] = pair(config(1));
        let probe = caller.probe(1);
        if lost > 0 {
            let response = callee.response(1, &probe).unwrap();
            if lost > 1 {
                let install = caller.install(1, &response).unwrap();
                if lost > 2 {
                    callee.ack(1, &install).unwrap();
                }
            }
        }
        caller.abandon(1);
        let datagram = seal(&mut caller, &sound(&[1; 34]), seconds(1));
        assert!(callee.open(&datagram, seconds(1)).is_ok(), "message {lost} lost: the old key holds");
        assert!(phase(2, &mut caller, &mut callee));
        let datagram = seal(&mut caller, &sound(&[1; 34]), seconds(2));
        assert!(callee.open(&datagram, seconds(2)).is_ok(), "message {lost} lost: the next phase works");
        assert_eq!(callee.generations(), [0, 1]);
    }
}

#[test]
fn what_does_not_fit_a_phase_is_refused_and_changes_nothing() {
    let [mut caller, mut callee] = pair(config(1));
    let is_refused = |result: Result<Vec<u8>, SealError>| matches!(result, Err(SealError::KeyPart(_)));
    let probe = caller.probe(5);
    assert!(is_refused(callee.ack(5, &[])), "no phase was answered");
    assert!(is_refused(callee.response(5, &probe[1..])));
    // Points of low order: 0, 1 and p - 1 (RFC 7748, section 6.1, and the small subgroups of the curve).
    let mut minus_one = [0xff; 32];
    (minus_one[0], minus_one[31]) = (0xec, 0x7f);
    let mut one = [0; 32];
    one[0] = 1;
    for low in [[0; 32], one, minus_one] {
        assert!(is_refused(callee.response(5, &low)));
        assert!(is_refused(caller.install(5, &low)));
    }
    let response = callee.response(5, &probe).unwrap();
    assert!(is_refused(callee.response(5, &probe)), "answered before");
    assert!(is_refused(callee.response(4, &probe)), "an older phase");
    assert!(is_refused(caller.install(4, &response)), "another phase");
    assert!(is_refused(caller.install(5, &[])));
    assert!(caller.complete(5, &[0; 16]).is_err(), "nothing was installed");
    let install = caller.install(5, &response).unwrap();
    assert!(is_refused(caller.install(5, &response)), "a second answer");
    assert!(is_refused(callee.ack(5, &[0; 16])));
    assert!(is_refused(callee.ack(5, &[])), "no key instead of the one that was announced");
    assert!(is_refused(callee.ack(4, &install)));
    let ack = callee.ack(5, &install).unwrap();
    assert_eq!(callee.ack(5, &install), Ok(ack.clone()), "asked again, answered again");
    for bad in [&install[..], &[], &ack[1..]] {
        assert!(caller.complete(5, bad).is_err());
    }
    assert!(caller.complete(4, &ack).is_err());
    caller.complete(5, &ack).unwrap();
    assert!(caller.complete(5, &ack).is_err(), "it is over");
    let datagram = seal(&mut caller, &Content::Cover, seconds(0));
    assert!(callee.open(&datagram, seconds(0)).is_ok());
    // A phase without keys takes none.
    let [mut caller, mut callee] = pair(config(9));
    let probe = caller.probe(1);
    assert!(probe.is_empty() && is_refused(caller.install(1, &response)));
    assert_eq!(callee.response(1, &probe), Ok(vec![]));
    assert!(is_refused(callee.ack(1, &install)));
    assert!(caller.complete(1, &ack).is_err());
}

/// Whoever has all keys of one generation reads that one, and no other.
#[test]
fn stolen_keys_do_not_open_the_next_generation() {
    let [mut caller, mut callee] = pair(config(1));
    phase(1, &mut caller, &mut callee);
    // The thief has what the callee began with, and sees everything that goes over the line.
    let mut thief = Modern::new(Role::Callee, &shared(), config(1), &Seed::from_number(3));
    let mut line = Modern::new(Role::Caller, &shared(), config(1), &Seed::from_number(4));
    let probe = line.probe(1);
    let response = thief.response(1, &probe).unwrap();
    let install = line.install(1, &response).unwrap();
    thief.ack(1, &install).unwrap();
    let datagram = seal(&mut caller, &Content::Cover, seconds(0));
    assert_eq!(thief.open(&datagram, seconds(0)), Err(SealError::Forged));
    assert!(callee.open(&datagram, seconds(0)).is_ok());
}

#[test]
fn fresh_chance_changes_what_is_drawn() {
    let [[mut one, _], [mut other, _]] = [pair(config(1)), pair(config(1))];
    assert_eq!(one.probe(1), other.probe(1));
    one.stir(&Seed::from_number(7));
    assert_ne!(one.probe(2), other.probe(2));
}

#[test]
fn debug_shows_no_secret() {
    let [mut caller, mut callee] = pair(config(1));
    let probe = caller.probe(1);
    let response = callee.response(1, &probe).unwrap();
    let before = format!("{caller:?}");
    caller.install(1, &response).unwrap();
    let shown = format!("{before} {caller:?} {callee:?}");
    let chain = Start::new(&Secret::new(*shared()), Role::Caller).chain;
    for secret in [*shared(), *chain.as_bytes()] {
        let list = format!("{:?}", &secret[..4]);
        assert!(
            !shown.contains(list.trim_matches(['[', ']'])) && !shown.contains(&hex(&secret[..4])),
            "{shown}"
        );
    }
    assert!(shown.contains("Secret(..)") && shown.contains("EpochKey(..)") && shown.contains("KeyPair(..)"));
}

proptest! {
    /// Rubbish, and what was sealed and then changed, neither opens nor changes what opens afterwards.
    #[test]
    fn garbage_changes_nothing(
        rubbish in proptest::collection::vec(
            (any::<u8>(), any::<u16>(), proptest::collection::vec(any::<u8>(), 0..80)), 0..60),
        healing in any::<bool>(),
    ) {
        let [mut caller, mut callee] = pair(config(1));
        let honest: Vec<_> = (0..3).map(|second| seal(&mut caller, &Content::Cover, seconds(second))).collect();
        callee.open(&honest[0], seconds(0)).unwrap();
        let mut last = seal(&mut caller, &Content::Cover, seconds(2));
        if healing {
            phase(1, &mut caller, &mut callee);
            last = seal(&mut caller, &Content::Cover, seconds(2));
        }
        for (first, sequence, bytes) in rubbish {
            let [high, low] = sequence.to_be_bytes();
            let datagram = [&[VERSION | first, high, low][..], &bytes].concat();
            prop_assert!(callee.open(&datagram, seconds(2)).is_err());
            prop_assert!(callee.open(&bytes, seconds(2)).is_err());
        }
        prop_assert_eq!(callee.open(&honest[0], seconds(2)), Err(SealError::Replayed));
        prop_assert!(callee.open(&honest[1], seconds(2)).is_ok());
        prop_assert!(callee.open(&last, seconds(2)).is_ok());
        prop_assert!(callee.open(&honest[2], seconds(2)).is_ok());
    }
}
