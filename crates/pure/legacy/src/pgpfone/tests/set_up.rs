//! How calls come about, and how they do not.

use super::world::{Path, Tamper, World, address, config};
use crate::diffie_hellman::{Prime, Secret};
use crate::pgpfone::tool::Stage;
use crate::pgpfone::*;
use guestright_units::{Micros, Seed, Time};
use guestright_voice::tool::{Ending, Event, Side, Tool as _, ToolError};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha20Rng;
use sha1::{Digest as _, Sha1};

/// Changes the messages in clear that go through, with a good checksum.
fn rewriting(mut change: impl FnMut(usize, &mut Control) + 'static) -> Tamper {
    Box::new(move |side, bytes| {
        let Ok(packet) = Packet::parse(bytes) else { return true };
        if packet.kind == Kind::Control {
            let mut message = Control::parse(packet.data).unwrap();
            change(side, &mut message);
            *bytes = Packet { data: &message.emit(), ..packet }.emit();
        }
        true
    })
}

/// A public value in place of the real one, and its commitment.
fn put_in(message: &mut Control, value: &[u8]) {
    if let Control::Commitment(hash) = message {
        *hash = Sha1::digest(value).into();
    } else if let Control::Public(public) = message {
        *public = value.to_vec();
    }
}

fn ending(world: &World, side: usize) -> Option<&Ending> {
    world.events[side].iter().find_map(|event| match event {
        Event::Ended(ending) => Some(ending),
        Event::Connected(_) | Event::Trouble(_) => None,
    })
}

fn failure(world: &World, side: usize) -> String {
    world.events[side]
        .iter()
        .find_map(|event| match event {
            Event::Ended(Ending::Failed(reason)) | Event::Trouble(reason) => Some(reason.clone()),
            Event::Ended(_) | Event::Connected(_) => None,
        })
        .unwrap_or_default()
}

fn has_sound(world: &World) -> bool {
    world.sent.iter().flatten().any(|bytes| bytes[0] == Kind::Voice as u8)
}

#[test]
fn both_sides_read_the_same_words_and_know_each_other_by_name() {
    let world = World::connected(Path::GOOD, 1);
    let (caller, callee) = (world.connection(0).unwrap(), world.connection(1).unwrap());
    assert_eq!(caller.words, callee.words);
    assert_eq!(caller.words.len(), 4);
    assert_eq!((caller.name.as_deref(), callee.name.as_deref()), (Some("Bob"), Some("Alice")));
    assert!(!caller.is_verified && !callee.is_verified);
    assert_eq!((caller.peer, callee.peer), (address(1), address(0)));
    assert!(world.errors.is_empty(), "{:?}", world.errors);
    // Names are only said when nobody else can hear them.
    for bytes in world.sent.iter().flatten() {
        assert!(
            !bytes.windows(3).any(|three| three == b"Bob") && !bytes.windows(5).any(|five| five == b"Alice")
        );
    }
    // Ring, accept, hello, commitment, public value, what each would like, its codec; all but the first two acknowledged.
    let kinds: Vec<u8> = world.sent[0].iter().map(|bytes| bytes[0]).collect();
    assert_eq!(kinds, [0, 128, 1, 128, 1, 128, 1, 129, 1, 129, 1]);
    // The acknowledgement of the hello: our first number that is not resent, then its type and number.
    assert_eq!(world.sent[0][2], [1, 0, 0, 128, 0, 0]);
    // Another call has other words.
    assert_ne!(World::connected(Path::GOOD, 2).sides[0].words(), world.sides[0].words());
}

#[test]
fn the_same_seed_sends_the_same_bytes() {
    assert_eq!(World::connected(Path::GOOD, 5).sent, World::connected(Path::GOOD, 5).sent);
}

#[test]
fn the_callers_favourite_cipher_that_both_have_is_used() {
    use Cipher::{Blowfish, Cast5, TripleDes};
    let cases = [
        (vec![Blowfish, Cast5], vec![Cast5, TripleDes, Blowfish], Blowfish),
        (vec![TripleDes, Cast5], vec![Blowfish, Cast5], Cast5),
        (Cipher::ALL.to_vec(), vec![Blowfish], Blowfish),
        (vec![TripleDes], Cipher::ALL.to_vec(), TripleDes),
    ];
    for (ours, theirs, used) in cases {
        let configs = [Config { ciphers: ours, ..config(0) }, Config { ciphers: theirs, ..config(1) }];
        let mut world = World::with(configs, Path::GOOD, 3);
        world.run(1_000);
        for side in &world.sides {
            let keys = side.keys.as_ref().unwrap();
            assert_eq!(format!("{:?}", keys.sending), format!("CounterMode({used:?}, ..)"));
            assert_eq!(format!("{:?}", keys.receiving), format!("CounterMode({used:?}, ..)"));
        }
    }
}

#[test]
fn of_both_favourite_primes_the_longer_is_used() {
    let len = |ours: &[Prime], theirs: &[Prime]| {
        let configs =
            [Config { primes: ours.to_vec(), ..config(0) }, Config { primes: theirs.to_vec(), ..config(1) }];
        let mut world = World::with(configs, Path::GOOD, 3);
        world.run(1_000);
        assert!(world.sides.iter().all(PgpFone::is_ready), "{:?}", world.events);
        // The public values are in the fourth message of each side.
        let lens = world.sent.each_ref().map(|sent| {
            let public = sent.iter().find(|bytes| bytes[0] == 128 && bytes[3] == 2).unwrap();
            public.len() - 10
        });
        assert_eq!(lens[0], lens[1]);
        lens[0]
    };
    use Prime::{Oakley768, PgpFone768, PgpFone1024};
    assert_eq!(len(&[PgpFone768, PgpFone1024], &[PgpFone1024, PgpFone768]), 128);
    assert_eq!(len(&[PgpFone768, PgpFone1024], &[PgpFone768, PgpFone1024]), 96);
    assert_eq!(len(&[PgpFone1024, PgpFone768, Oakley768], &[Oakley768]), 96);
}

#[test]
fn without_a_cipher_in_common_nothing_is_said_in_clear() {
    let configs = [
        Config { ciphers: vec![Cipher::Cast5], ..config(0) },
        Config { ciphers: vec![Cipher::Blowfish], ..config(1) },
    ];
    let mut world = World::with(configs, Path::GOOD, 3);
    world.is_talking = [true; 2];
    world.run(60_000);
    assert!(failure(&world, 0).contains("no cipher in common"), "{:?}", world.events);
    assert!(failure(&world, 1).contains("no cipher in common"), "{:?}", world.events);
    assert!(!has_sound(&world));
    // The callee waits for the next.
    assert_eq!(world.sides[1].stage, Stage::Listening);
    assert!(world.sides[0].summary().withheld > 100);
}

#[test]
fn who_strips_the_ciphers_gets_no_call_in_clear() {
    let mut world = World::new(Path::GOOD, 3);
    world.tamper = rewriting(|_, message| {
        if let Control::Hello(hello) = message {
            hello.ciphers = vec![*b"NONE"];
        }
    });
    world.is_talking = [true; 2];
    world.run(60_000);
    assert!(failure(&world, 0).contains("no cipher in common"));
    assert!(!has_sound(&world));
}

#[test]
fn without_a_prime_or_a_codec_in_common_there_is_no_call() {
    let other = Config { primes: vec![Prime::Oakley768], ..config(1) };
    let mut world = World::with([config(0), other], Path::GOOD, 3);
    world.run(60_000);
    assert!(failure(&world, 0).contains("no prime in common") && failure(&world, 1).contains("no prime"));
    let other = Config { codec: Codec::Adpcm, ..config(1) };
    let mut world = World::with([config(0), other], Path::GOOD, 3);
    world.run(60_000);
    assert!(failure(&world, 0).contains("does not know our codec GSM4"), "{:?}", world.events);
    assert!(failure(&world, 1).contains("does not know our codec ADP8"), "{:?}", world.events);
}

#[test]
fn who_changes_a_hello_changes_the_words() {
    let mut world = World::new(Path::GOOD, 3);
    // Both favourites are taken away, so that a weaker cipher is used.
    world.tamper = rewriting(|_, message| {
        if let Control::Hello(hello) = message {
            hello.ciphers.retain(|code| *code == Cipher::Blowfish.code());
        }
    });
    world.run(2_000);
    assert!(world.sides.iter().all(PgpFone::is_ready));
    assert_ne!(world.connection(0).unwrap().words, world.connection(1).unwrap().words);
}

/// Somebody in between who puts in a value of his own, and its commitment in time.
#[test]
fn who_sits_in_between_changes_the_words() {
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let own = Secret::generate(Prime::PgpFone768, &mut rng).public().as_bytes().to_vec();
    let mut world = World::new(Path::GOOD, 3);
    world.tamper = rewriting(move |_, message| put_in(message, &own));
    world.run(1_000);
    let words = world.sides.each_ref().map(|side| side.words().unwrap());
    assert_ne!(words[0], words[1]);
    // He has not spoken on with both keys, so neither understands the other: no call.
    world.run(60_000);
    assert!(world.has_ended(0) && world.sides[1].stage == Stage::Listening, "{:?}", world.events);
    assert!(world.connection(0).is_none() && world.connection(1).is_none());
}

/// Without a commitment he could try values until the words are equal; with one it is too late when he sees the others'.
#[test]
fn nobody_chooses_his_value_after_he_saw_the_others() {
    for victim in 0..2 {
        let mut world = World::new(Path::GOOD, 3);
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let late = Secret::generate(Prime::PgpFone768, &mut rng).public().as_bytes().to_vec();
        world.tamper = rewriting(move |side, message| {
            if let (Control::Public(value), true) = (message, side != victim) {
                value.clone_from(&late);
            }
        });
        world.run(2_000);
        assert!(failure(&world, victim).contains("not the one that it committed to"), "{:?}", world.events);
        assert!(world.sides[victim].words().is_none() && !world.sides[victim].is_ready());
    }
}

#[test]
fn a_value_that_gives_a_known_secret_is_refused_although_it_was_committed_to() {
    let p = Prime::PgpFone768.to_bytes();
    let mut one = vec![0; p.len()];
    *one.last_mut().unwrap() = 1;
    let mut less = p.clone();
    *less.last_mut().unwrap() -= 1;
    for value in [vec![0; p.len()], one, less, p.clone()] {
        let mut world = World::new(Path::GOOD, 3);
        world.tamper = rewriting(move |_, message| put_in(message, &value));
        world.run(2_000);
        assert!(failure(&world, 0).contains("a secret that everybody knows"), "{:?}", world.events);
        assert!(world.connection(0).is_none() && world.connection(1).is_none());
    }
}

/// Whoever sends our own value back would have us speak to ourselves.
#[test]
fn our_own_value_does_not_come_back() {
    let mut world = World::new(Path::GOOD, 3);
    let mut recorded: Vec<Control> = Vec::new();
    world.tamper = Box::new(move |side, bytes| {
        let Some(packet) = Packet::parse(bytes).ok().filter(|packet| packet.kind == Kind::Control) else {
            return true;
        };
        let message = Control::parse(packet.data).unwrap();
        if !matches!(message, Control::Commitment(_) | Control::Public(_)) {
            return true;
        }
        if side == 0 {
            recorded.push(message);
            return true;
        }
        // What comes too early to be replaced is lost, and said again.
        let Some(own) = recorded.iter().find(|own| own.number() == message.number()) else { return false };
        *bytes = Packet { data: &own.emit(), ..packet }.emit();
        true
    });
    world.run(10_000);
    assert!(failure(&world, 0).contains("reflects"), "{:?}", world.events);
}

#[test]
fn an_accept_that_is_lost_is_repeated() {
    let mut world = World::new(Path::GOOD, 3);
    let mut lost = 0;
    world.tamper = Box::new(move |_, bytes| {
        let is_accept = *bytes == Setup::Accept.emit();
        lost += u32::from(is_accept);
        !is_accept || lost > 2
    });
    world.run(12_000);
    assert!(world.sides.iter().all(PgpFone::is_ready), "{:?}", world.events);
    assert_eq!(world.connection(0).unwrap().words, world.connection(1).unwrap().words);
}

#[test]
fn nobody_answers() {
    let mut caller = PgpFone::new(config(0), &Seed::from_number(1), Time(0)).unwrap();
    let mut rings = 0;
    while let Some(at) = caller.poll_timeout() {
        caller.handle_timeout(at);
        while let Some(transmit) = caller.poll_transmit() {
            assert_eq!(transmit.bytes, [0, 1]);
            rings += 1;
        }
        assert!(at <= Time(60_000_000));
    }
    assert_eq!(rings, 17);
    assert!(matches!(caller.poll_event(), Some(Event::Ended(Ending::Failed(_)))));
}

#[test]
fn a_third_is_told_that_it_is_busy() {
    let mut world = World::connected(Path::GOOD, 3);
    let third = ([192, 0, 2, 77], 9).into();
    let before = world.sides[1].summary();
    assert_eq!(world.sides[1].handle_datagram(&[0, 1], third, world.now), Err(ToolError::Stranger));
    let answer = world.sides[1].poll_transmit().unwrap();
    assert_eq!((answer.to, answer.bytes), (third, vec![0, 2]));
    assert_eq!(
        world.sides[1].handle_datagram(&[2, 0, 9, 1, 2, 3, 4, 5], third, world.now),
        Err(ToolError::Stranger)
    );
    assert_eq!(world.sides[1].summary().refused, before.refused + 2);
    // A caller who gets that hangs up.
    let mut caller = PgpFone::new(config(0), &Seed::from_number(1), Time(0)).unwrap();
    caller.handle_datagram(&[0, 2], address(1), Time(5)).unwrap();
    assert_eq!(caller.poll_event(), Some(Event::Ended(Ending::Failed("the other side is busy".to_owned()))));
}

#[test]
fn a_callee_whose_caller_is_gone_waits_for_the_next() {
    let mut callee = PgpFone::new(config(1), &Seed::from_number(1), Time(0)).unwrap();
    callee.handle_datagram(&[0, 1], address(0), Time(0)).unwrap();
    assert_eq!(callee.stage, Stage::Agreeing);
    let mut last = Time(0);
    while let Some(at) = callee.poll_timeout() {
        callee.handle_timeout(at);
        last = at;
    }
    assert_eq!(callee.stage, Stage::Listening);
    assert!((Time(30_000_000)..Time(41_000_000)).contains(&last), "{last:?}");
    assert!(matches!(callee.poll_event(), Some(Event::Trouble(_))));
    callee.handle_datagram(&[0, 1], ([192, 0, 2, 9], 5).into(), last).unwrap();
    assert_eq!(callee.stage, Stage::Agreeing);
}

#[test]
fn a_config_that_offers_nothing_is_refused() {
    let bad = |config: Config| PgpFone::new(config, &Seed::from_number(1), Time(0)).err();
    assert_eq!(bad(Config { ciphers: vec![], ..config(0) }), Some(ConfigError::Ciphers(0)));
    assert_eq!(bad(Config { primes: vec![], ..config(0) }), Some(ConfigError::Primes(0)));
    assert_eq!(bad(Config { name: Some("a".repeat(64)), ..config(0) }), Some(ConfigError::Name(64)));
    assert_eq!(bad(Config::new(Side::Callee)), None);
}

#[test]
fn at_30_percent_loss_calls_come_about() {
    for seed in 0..40 {
        let (delay, jitter) = (Micros::from_millis(100), Micros::from_millis(200));
        let mut world = World::new(Path { delay, jitter, loss: 300, doubled: 0 }, seed);
        world.run(180_000);
        let connections = [0, 1].map(|side| world.connection(side));
        assert!(
            connections.iter().all(Option::is_some),
            "{seed}: {:?} {:?}",
            world.events,
            ending(&world, 0)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 40 } else { 400 }))]

    /// A call comes about with the same words on both sides, or is given up by both.
    #[test]
    fn set_up_ends_whatever_the_network_does(
        seed: u32,
        loss in 0_u32..600,
        doubled in 0_u32..300,
        delay in 1_u64..400,
        jitter in 0_u64..1_500,
    ) {
        let path = Path { delay: Micros::from_millis(delay), jitter: Micros::from_millis(jitter), loss, doubled };
        let mut world = World::new(path, seed.into());
        world.run(180_000);
        let connections = [0, 1].map(|side| world.connection(side).cloned());
        if let [Some(caller), Some(callee)] = &connections {
            prop_assert_eq!(&caller.words, &callee.words);
        }
        for (side, connection) in connections.iter().enumerate() {
            let is_waiting = world.sides[side].stage == Stage::Listening;
            let has_given_up = world.has_ended(side) || is_waiting;
            let is_on = world.sides[side].is_ready();
            prop_assert!(connection.is_some() && is_on || has_given_up, "{:?}", world.sides[side].stage);
        }
        // Each message has ten tries and more, which fail if it or its acknowledgement is lost: at 10 % loss that does not
        // happen to all of them.
        if loss < 100 && jitter < 500 {
            prop_assert!(connections.iter().all(Option::is_some), "{:?} {:?}", world.events, ending(&world, 0));
        }
    }
}
