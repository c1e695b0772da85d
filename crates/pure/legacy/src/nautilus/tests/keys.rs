use super::{PHRASE, connected, phrase, tool};
use crate::diffie_hellman::Prime;
use crate::nautilus::config::{Cipher, Config, ConfigError, KeyAgreement};
use crate::nautilus::key::{CallKey, Direction};
use crate::nautilus::message::{Message, Offer};
use crate::nautilus::{ATTEMPTS_MAX, CODEC_BYTES, Nautilus};
use crate::testing::address;
use guestright_units::{Seed, Time};
use guestright_voice::tool::{Connected, Ending, Event, Side, Tool, ToolError};

const DH: KeyAgreement = KeyAgreement::DiffieHellman(Prime::Oakley768);

fn offer(nonce: u8, cipher: Cipher) -> Offer {
    Offer { cipher: cipher.code(), agreement: 0, nonce: [nonce; 16], public: Vec::new() }
}

fn who(tool: &mut Nautilus) -> Connected {
    match tool.poll_event() {
        Some(Event::Connected(connected)) => connected,
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_see_the_same_digits_and_two_calls_other_ones() {
    let digits = |agreement: &KeyAgreement| {
        let [mut caller, mut callee] = connected(agreement, Cipher::Blowfish);
        let (one, other) = (who(&mut caller), who(&mut callee));
        assert_eq!(one.words, other.words);
        assert_eq!((one.peer, other.peer), (address(1), address(0)));
        assert!(one.words.len() == 2 && one.words.iter().all(|word| word.len() == 4), "{:?}", one.words);
        assert!(!one.is_verified);
        one.words
    };
    assert_ne!(digits(&DH), digits(&phrase(PHRASE)));
    assert_ne!(digits(&phrase("one")), digits(&phrase("two")));
}

#[test]
fn every_part_of_what_was_said_goes_into_the_key() {
    let sealed = |cipher, secret: &[u8], hello: &Offer, answer: &Offer, direction, number| {
        let mut sound = [0; CODEC_BYTES];
        CallKey::new(cipher, secret, hello, answer).encrypt(direction, number, &mut sound);
        sound
    };
    for cipher in Cipher::ALL {
        let (hello, answer) = (offer(1, cipher), offer(2, cipher));
        let all = [
            sealed(cipher, b"secret", &hello, &answer, Direction::FromCaller, 0),
            sealed(cipher, b"Secret", &hello, &answer, Direction::FromCaller, 0),
            sealed(cipher, b"secret", &offer(3, cipher), &answer, Direction::FromCaller, 0),
            sealed(cipher, b"secret", &hello, &offer(3, cipher), Direction::FromCaller, 0),
            sealed(cipher, b"secret", &hello, &answer, Direction::FromCallee, 0),
            sealed(cipher, b"secret", &hello, &answer, Direction::FromCaller, 1),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(all[index + 1..].iter().all(|other| one[..8] != other[..8]), "{cipher:?} {index}");
        }
    }
}

#[test]
fn equal_sound_is_encrypted_differently_and_a_flipped_bit_comes_through() {
    for cipher in Cipher::ALL {
        let key = CallKey::new(cipher, b"secret", &offer(1, cipher), &offer(2, cipher));
        let (mut first, mut second) = ([7; CODEC_BYTES], [7; CODEC_BYTES]);
        key.encrypt(Direction::FromCaller, 0, &mut first);
        key.encrypt(Direction::FromCaller, 1, &mut second);
        assert_ne!(first, second, "{cipher:?}");
        first[20] ^= 0x40;
        key.decrypt(Direction::FromCaller, 0, &mut first);
        let differ: Vec<usize> = (0..CODEC_BYTES).filter(|index| first[*index] != 7).collect();
        assert_eq!((differ[0], first[20]), (20, 7 ^ 0x40), "{cipher:?}");
        assert!(differ[1..].iter().all(|index| (24..32).contains(index)), "{cipher:?} {differ:?}");
    }
}

#[test]
fn a_wrong_phrase_is_told_after_all_attempts() {
    let mut caller = tool(0, phrase(PHRASE), Cipher::Idea);
    let mut callee = tool(1, phrase("another"), Cipher::Idea);
    let mut hellos = 0;
    let why = loop {
        while let Some(transmit) = caller.poll_transmit() {
            hellos += 1;
            callee.handle_datagram(&transmit.bytes, address(0), Time(0)).unwrap();
        }
        while let Some(transmit) = callee.poll_transmit() {
            let refused = caller.handle_datagram(&transmit.bytes, address(1), Time(0));
            assert_eq!(refused, Err(ToolError::Forged));
        }
        match caller.poll_event() {
            Some(Event::Ended(Ending::Failed(why))) => break why,
            Some(other) => panic!("{other:?}"),
            None => caller.handle_timeout(caller.poll_timeout().expect("it goes on or ends")),
        }
    };
    assert!(why.contains("pass phrase"), "{why}");
    assert_eq!(hellos, ATTEMPTS_MAX);
    assert!(!caller.is_ready() && !callee.is_ready());
    assert_eq!(caller.summary().refused, u64::from(ATTEMPTS_MAX));
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let refused = |caller: KeyAgreement, callee: KeyAgreement, other: Cipher| {
        let mut caller = tool(0, caller, Cipher::Blowfish);
        let mut callee = tool(1, callee, other);
        let hello = caller.poll_transmit().unwrap();
        let error = callee.handle_datagram(&hello.bytes, address(0), Time(0)).unwrap_err();
        assert_eq!((callee.poll_transmit(), callee.poll_timeout(), callee.poll_event()), (None, None, None));
        error
    };
    let unlike = ToolError::Malformed("another cipher or another kind of key than ours");
    assert_eq!(refused(phrase(PHRASE), phrase(PHRASE), Cipher::Idea), unlike);
    assert_eq!(refused(phrase(PHRASE), DH, Cipher::Blowfish), unlike);
    let other = KeyAgreement::DiffieHellman(Prime::Oakley1024);
    assert_eq!(refused(DH, other, Cipher::Blowfish), unlike);
}

#[test]
fn a_public_value_that_gives_the_key_away_is_refused() {
    let mut callee = tool(1, DH, Cipher::Blowfish);
    for value in [0, 1] {
        let mut public = vec![0; 96];
        public[95] = value;
        let hello = Offer { cipher: 0, agreement: DH.code(), nonce: [1; 16], public };
        let error = callee.handle_datagram(&Message::Hello(hello).emit(), address(0), Time(0));
        assert_eq!(error, Err(ToolError::Malformed("a public value that would give the key away")));
    }
    let hello = Offer { cipher: 0, agreement: DH.code(), nonce: [1; 16], public: vec![2; 95] };
    let error = callee.handle_datagram(&Message::Hello(hello).emit(), address(0), Time(0));
    assert_eq!(error, Err(ToolError::Malformed("a public value of another length")));
}

#[test]
fn a_callee_does_not_work_for_a_flood_of_hellos() {
    let mut callee = tool(1, phrase(PHRASE), Cipher::Blowfish);
    let hello = |number: u8| Message::Hello(offer(number, Cipher::Blowfish)).emit();
    let mut answered = 0;
    for number in 0..100 {
        let now = Time(u64::from(number) * 10_000);
        answered += u64::from(callee.handle_datagram(&hello(number), address(2), now).is_ok());
    }
    assert_eq!(answered, 5, "one in 200 ms");
    // The right one comes, and again, and is answered each time with the same words.
    let now = Time(2_000_000);
    while callee.poll_transmit().is_some() {}
    callee.handle_datagram(&hello(200), address(0), now).unwrap();
    let first = callee.poll_transmit();
    callee.handle_datagram(&hello(200), address(0), now).unwrap();
    assert_eq!((first.is_some(), callee.poll_transmit()), (true, first));
}

#[test]
fn an_empty_phrase_and_a_shown_secret_are_not_had() {
    let config = Config::new(Side::Callee, phrase(""));
    assert_eq!(Nautilus::new(config, &Seed::from_number(1), Time(0)).unwrap_err(), ConfigError::NoPhrase);
    let [caller, _] = connected(&phrase(PHRASE), Cipher::TripleDes);
    assert!(!format!("{caller:?}").contains(PHRASE));
}
