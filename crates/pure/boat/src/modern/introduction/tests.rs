use super::*;
use crate::Content;
use guestright_identity::{Role as CertifiedRole, Suite};
use guestright_units::UnixSeconds;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

const START: Time = Time(1_000_000_000_000);

fn address(number: u8) -> SocketAddr {
    ([192, 0, 2, number], 4_000 + u16::from(number)).into()
}

fn member(number: u64, expected: Option<&Member>) -> Member {
    let mut rng = ChaCha8Rng::seed_from_u64(number);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let key = SecretKey::generate(Suite::Ed25519, &mut rng);
    let until = UnixSeconds(2_000_000);
    let certificate = Certificate::issue(&team, key.public(), CertifiedRole::Member, UnixSeconds(0), until);
    Member { key, certificate, expected: expected.map(|peer| peer.key.public().id()) }
}

fn side(side: Side, member: &Member, cipher: Cipher, seed: u64) -> Introduction {
    let config = Config { cipher, healing_interval: 1 };
    Introduction::new(side, member.clone(), config, &Seed::from_number(seed)).unwrap()
}

/// A caller at address 1 and a callee at address 2.
fn pair(seed: u64) -> [Introduction; 2] {
    let [caller, callee] = [member(2 * seed, None), member(2 * seed + 1, None)];
    let [caller, callee] = [member(2 * seed, Some(&callee)), member(2 * seed + 1, Some(&caller))];
    [
        side(Side::Caller { to: address(2) }, &caller, Cipher::Aes128Gcm, 2 * seed),
        side(Side::Callee, &callee, Cipher::Aes128Gcm, 2 * seed + 1),
    ]
}

#[derive(Clone, Copy)]
struct Link {
    loss: f64,
    repeat: f64,
    delay_max: u64,
}

const PERFECT: Link = Link { loss: 0.0, repeat: 0.0, delay_max: 50_000 };

struct Run {
    sides: Vec<Introduction>,
    outcomes: Vec<Option<Result<Introduced, String>>>,
    datagrams: usize,
    finished: Time,
}

/// Runs all, at addresses 1, 2 and so on, until nobody wants anything or all is said for a minute. `meddle` sees each
/// datagram with its sender and receiver, may change it, and says where it goes.
fn run(
    sides: Vec<Introduction>,
    link: Link,
    seed: u64,
    mut meddle: impl FnMut(usize, usize, &mut Vec<u8>) -> usize,
) -> Run {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut flying: BTreeMap<(Time, usize), (usize, usize, Vec<u8>)> = BTreeMap::new();
    let outcomes = sides.iter().map(|_| None).collect();
    let mut run = Run { sides, outcomes, datagrams: 0, finished: START };
    let mut now = START;
    loop {
        for from in 0..run.sides.len() {
            while let Some(Transmit { to, mut bytes }) = run.sides[from].poll_transmit() {
                let to = usize::from(to.port()) - 4_001;
                assert!(parses(&bytes) || Kind::of(&bytes) == Kind::Agreement);
                let to = meddle(from, to, &mut bytes);
                let copies = if rng.random_bool(link.repeat) { 2 } else { 1 };
                for _ in 0..copies {
                    run.datagrams += 1;
                    assert!(run.datagrams < 1_000, "seed {seed}: it goes round in circles");
                    if !rng.random_bool(link.loss) {
                        let at = now + Micros(rng.random_range(1..=link.delay_max));
                        flying.insert((at, run.datagrams), (from, to, bytes.clone()));
                    }
                }
            }
            if let Some(outcome) = run.sides[from].poll_outcome() {
                run.finished = now;
                assert!(run.outcomes[from].replace(outcome).is_none(), "one outcome");
            }
        }
        let timeouts = run.sides.iter().filter_map(Opening::poll_timeout);
        let arrival = flying.keys().next().map(|(at, _)| *at);
        let Some(next) = timeouts.chain(arrival).min() else { return run };
        now = now.max(next);
        if arrival.is_some_and(|at| at <= now) {
            let (_, (from, to, datagram)) = flying.pop_first().unwrap();
            if let Some(side) = run.sides.get_mut(to) {
                let from = address(u8::try_from(from + 1).unwrap());
                let _ = side.handle_datagram(&datagram, from, now);
            }
        }
        run.sides.iter_mut().for_each(|side| side.handle_timeout(now));
    }
}

fn straight(_: usize, to: usize, _: &mut Vec<u8>) -> usize {
    to
}

/// Both have found each other, and understand each other.
fn assert_introduced(run: &mut Run) -> Vec<String> {
    let [caller, callee] = &mut run.outcomes[..] else { panic!("two sides") };
    let caller = caller.as_mut().expect("the caller has an outcome").as_mut().expect("a good one");
    let callee = callee.as_mut().expect("the callee has an outcome").as_mut().expect("a good one");
    assert_eq!((caller.peer, callee.peer), (address(2), address(1)));
    assert_eq!(caller.words, callee.words);
    assert_eq!(caller.words.len(), 4);
    let words = caller.words.clone();
    let mut datagram = Vec::new();
    caller.seal.seal(&Content::Cover, 34, START, &mut datagram).unwrap();
    assert_eq!(callee.seal.open(&datagram, START).unwrap().content, Content::Cover);
    callee.seal.seal(&Content::Bye, 34, START, &mut datagram).unwrap();
    assert_eq!(caller.seal.open(&datagram, START).unwrap().content, Content::Bye);
    words
}

#[test]
fn two_strangers_come_to_keys() {
    let [caller, callee] = pair(1);
    let names = [&callee, &caller].map(|side| Some(side.member.key.public().id().to_string()));
    let mut run = run(vec![caller, callee], PERFECT, 1, straight);
    assert_introduced(&mut run);
    for (outcome, name) in run.outcomes.iter().zip(names) {
        let introduced = outcome.as_ref().unwrap().as_ref().unwrap();
        assert_eq!((&introduced.name, introduced.is_verified), (&name, true));
        assert!(introduced.protection.contains("expected"), "{}", introduced.protection);
    }
    assert!(run.datagrams <= 14, "{} datagrams", run.datagrams);
}

#[test]
fn a_bad_link_costs_time_and_nothing_else() {
    let link = Link { loss: 0.3, repeat: 0.2, delay_max: 300_000 };
    let mut spans: Vec<u64> = Vec::new();
    for seed in 0..60 {
        let mut run = run(pair(seed).into(), link, seed, straight);
        assert_introduced(&mut run);
        spans.push(run.finished.since(START).0);
    }
    spans.sort_unstable();
    assert!(spans[56] < 10_000_000, "95 % within 10 s, got {} µs", spans[56]);
}

#[test]
fn a_caller_gives_up_when_nobody_answers() {
    let [caller, _] = pair(1);
    let run = run(vec![caller], PERFECT, 1, straight);
    let [Some(Err(why))] = &run.outcomes[..] else { panic!("{:?}", run.outcomes) };
    assert_eq!(why, "nobody at 192.0.2.2:4002 has answered within 20 s");
    assert!(run.datagrams < 30, "{} datagrams", run.datagrams);
}

#[test]
fn chacha_is_taken_if_one_prefers_it() {
    use Cipher::{Aes128Gcm, ChaCha20Poly1305};
    let mut words = Vec::new();
    for (caller, callee) in
        [(Aes128Gcm, ChaCha20Poly1305), (ChaCha20Poly1305, Aes128Gcm), (Aes128Gcm, Aes128Gcm)]
    {
        let sides = vec![
            side(Side::Caller { to: address(2) }, &member(1, None), caller, 1),
            side(Side::Callee, &member(2, None), callee, 2),
        ];
        let mut run = run(sides, PERFECT, 1, straight);
        words.push(assert_introduced(&mut run));
        let seal = &run.outcomes[0].as_ref().unwrap().as_ref().unwrap().seal;
        let is_aes = (caller, callee) == (Aes128Gcm, Aes128Gcm);
        let want = if is_aes { "cipher: Aes128Gcm" } else { "cipher: ChaCha20Poly1305" };
        assert!(format!("{seal:?}").contains(want));
        let protection = run.outcomes[0].as_ref().unwrap().as_ref().unwrap().protection;
        assert!(protection.contains("compare the four words"), "{protection}");
    }
    words.dedup();
    assert_eq!(words.len(), 3, "what was preferred is in the words");
}

/// Whatever is changed in ASK, AGAIN and ANSWER: it comes to the same as if it had been lost, or to nothing at all; never
/// to keys on terms that one side did not name.
#[test]
fn a_changed_introduction_ends_in_nothing() {
    let mut failures = 0;
    for kind in 1..=3 {
        for offset in (0..113).step_by(3) {
            let mut changed = 0;
            let mut run = run(pair(7).into(), PERFECT, 7, |_, to, datagram| {
                if datagram[0] == INTRODUCTION && datagram[2] == kind && offset < datagram.len() {
                    datagram[offset] ^= 3;
                    changed += 1;
                }
                to
            });
            if changed == 0 {
                assert_introduced(&mut run);
                continue;
            }
            failures += 1;
            assert!(matches!(run.outcomes[0], Some(Err(_))), "kind {kind}, byte {offset}");
            assert!(run.outcomes[1].is_none(), "kind {kind}, byte {offset}");
        }
    }
    assert!(failures > 60, "{failures}");
}

/// Somebody to whom both think they speak: a callee for the caller, a caller for the callee. What became of the caller,
/// of both halves of the one in the middle, and of the callee.
fn man_in_the_middle(seed: u64, are_expected: bool) -> Vec<Option<Result<Introduced, String>>> {
    let [one, other] = [member(3 * seed, None), member(3 * seed + 1, None)];
    let expect = |number, peer| member(number, are_expected.then_some(peer));
    let middle = member(3 * seed + 2, None);
    let (to, cipher) = (Side::Caller { to: address(2) }, Cipher::Aes128Gcm);
    let left = vec![
        side(to, &expect(3 * seed, &other), cipher, 4 * seed),
        side(Side::Callee, &middle, cipher, 4 * seed + 2),
    ];
    let right = vec![
        side(to, &middle, cipher, 4 * seed + 3),
        side(Side::Callee, &expect(3 * seed + 1, &one), cipher, 4 * seed + 1),
    ];
    let mut outcomes = run(left, PERFECT, seed, straight).outcomes;
    outcomes.extend(run(right, PERFECT, seed + 1, straight).outcomes);
    outcomes
}

#[test]
fn with_somebody_in_the_middle_the_words_differ() {
    for seed in 0..20 {
        let outcomes = man_in_the_middle(seed, false);
        let words = |index: usize| outcomes[index].as_ref().unwrap().as_ref().unwrap().words.clone();
        assert_ne!(words(0), words(3), "seed {seed}");
    }
}

#[test]
fn with_somebody_in_the_middle_a_contact_is_refused() {
    let outcomes = man_in_the_middle(1, true);
    let Some(Err(why)) = &outcomes[0] else { panic!("the caller was deceived") };
    assert!(why.contains("expected"), "{why}");
    assert!(outcomes[3].is_none(), "the callee goes on waiting");
}

#[test]
fn a_callee_keeps_nothing_of_those_who_cannot_be_reached_and_sends_less_than_it_got() {
    let [mut caller, mut callee] = pair(1);
    caller.handle_timeout(START);
    let ask = caller.poll_transmit().unwrap().bytes;
    for host in 1..=200 {
        callee.handle_datagram(&ask, address(host), START).unwrap();
        let again = callee.poll_transmit().unwrap();
        assert!(again.to == address(host) && again.bytes.len() < ask.len());
        assert_eq!(callee.poll_transmit(), None);
    }
    assert_eq!(callee.poll_timeout(), None, "it has nothing to do");
    // Answers that nobody takes are not piled up either.
    (0..1_000).for_each(|_| drop(callee.handle_datagram(&ask, address(1), START)));
    assert_eq!(std::iter::from_fn(|| callee.poll_transmit()).count(), TRANSMITS_MAX);
    // With the cookie there is an answer and a commitment, and still no more than was asked.
    callee.handle_datagram(&ask, address(1), START).unwrap();
    let again = callee.poll_transmit().unwrap().bytes;
    caller.handle_datagram(&again, address(2), START).unwrap();
    let asked = caller.poll_transmit().unwrap().bytes;
    callee.handle_datagram(&asked, address(9), START).unwrap();
    assert_eq!(callee.poll_transmit().unwrap().bytes[2], 2, "a cookie is good for one address");
    callee.handle_datagram(&asked, address(1), START).unwrap();
    let answers: usize = std::iter::from_fn(|| callee.poll_transmit()).map(|it| it.bytes.len()).sum();
    assert!(answers <= asked.len(), "{answers}");
}

/// Asks with a key of its own until it is answered; the first byte and kind of what came.
fn attempt(callee: &mut Introduction, number: u64, host: u8, now: Time) -> Result<(), ToolError> {
    let mut caller = side(Side::Caller { to: address(2) }, &member(1, None), Cipher::Aes128Gcm, number);
    caller.handle_timeout(now);
    let ask = caller.poll_transmit().unwrap().bytes;
    callee.handle_datagram(&ask, address(host), now).unwrap();
    let again = std::iter::from_fn(|| callee.poll_transmit()).last().unwrap().bytes;
    caller.handle_datagram(&again, address(2), now).unwrap();
    let ask = std::iter::from_fn(|| caller.poll_transmit()).last().unwrap().bytes;
    let done = callee.handle_datagram(&ask, address(host), now);
    while callee.poll_transmit().is_some() {}
    done
}

#[test]
fn attempts_are_limited_and_give_up() {
    let full = Err(ToolError::OutOfTurn("too many callers at a time"));
    let [_, mut callee] = pair(1);
    for host in 1..=4 {
        for number in 0..2 {
            assert_eq!(attempt(&mut callee, u64::from(host) * 2 + number, host, START), Ok(()));
        }
        assert_eq!(attempt(&mut callee, 99, host, START), full);
    }
    assert_eq!(attempt(&mut callee, 100, 7, START), full);
    while let Some(at) = callee.poll_timeout() {
        callee.handle_timeout(at);
        while callee.poll_transmit().is_some() {}
        assert!(at.since(START) < Micros::from_seconds(22), "they go on for ever");
    }
    assert_eq!(attempt(&mut callee, 101, 7, START + Micros::from_seconds(25)), Ok(()));
}

#[test]
fn others_who_begin_do_not_stand_in_the_way() {
    let [caller, mut callee] = pair(3);
    for host in 5..9 {
        assert_eq!(attempt(&mut callee, u64::from(host), host, START), Ok(()));
    }
    let mut run = run(vec![caller, callee], PERFECT, 3, straight);
    assert_introduced(&mut run);
}

#[test]
fn a_cookie_ages() {
    for (seconds, kind) in [(0, 3), (19, 3), (39, 3), (61, 2)] {
        let [mut caller, mut callee] = pair(1);
        caller.handle_timeout(START);
        let ask = caller.poll_transmit().unwrap().bytes;
        callee.handle_datagram(&ask, address(1), START).unwrap();
        let again = callee.poll_transmit().unwrap().bytes;
        caller.handle_datagram(&again, address(2), START).unwrap();
        let ask = caller.poll_transmit().unwrap().bytes;
        let later = START + Micros::from_seconds(seconds);
        callee.handle_datagram(&ask, address(1), later).unwrap();
        assert_eq!(callee.poll_transmit().unwrap().bytes[2], kind, "after {seconds} s");
    }
}

#[test]
fn a_caller_takes_answers_only_to_its_question_and_from_where_it_asked() {
    let [mut caller, mut callee] = pair(1);
    caller.handle_timeout(START);
    let ask = caller.poll_transmit().unwrap().bytes;
    callee.handle_datagram(&ask, address(1), START).unwrap();
    let again = callee.poll_transmit().unwrap().bytes;
    assert_eq!(caller.handle_datagram(&again, address(3), START), Err(ToolError::Stranger));
    let mut other = again.clone();
    other[4] ^= 1;
    assert_eq!(caller.handle_datagram(&other, address(2), START), Err(ToolError::Forged));
    assert_eq!(
        callee.handle_datagram(&again, address(1), START),
        Err(ToolError::OutOfTurn("an answer that was not asked for"))
    );
    assert_eq!(
        caller.handle_datagram(&ask, address(2), START),
        Err(ToolError::OutOfTurn("nobody is waited for"))
    );
    assert_eq!(caller.poll_transmit(), None, "nothing of that was answered");
    assert_eq!(caller.handle_datagram(&again, address(2), START), Ok(()));
    assert_eq!(caller.handle_datagram(&again, address(2), START), Err(ToolError::Replayed));
    let hello = [&[8, 1, 1, 0][..], &[0; 40]].concat();
    assert!(matches!(caller.handle_datagram(&hello, address(2), START), Err(ToolError::OutOfTurn(_))));
}

#[test]
fn debug_shows_no_secret() {
    let [caller, callee] = pair(1);
    let secrets = [&caller, &callee].map(|side| side.member.key.to_bytes());
    let run = run(vec![caller, callee], PERFECT, 1, straight);
    let shown = format!("{:?} {:?}", run.sides, run.outcomes);
    for secret in secrets {
        let list = format!("{:?}", &secret[..4]);
        let hex: String = secret[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!shown.contains(list.trim_matches(['[', ']'])) && !shown.contains(&hex), "{shown}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, kind in 0_u8..5, length in 0_usize..120, side in 0_usize..2) {
        let mut sides = pair(1);
        let side = &mut sides[side];
        let mut body = bytes.clone();
        body.resize(length, 0);
        for first in [8, INTRODUCTION] {
            let datagram = [&[first, 1, kind, 0][..], &body].concat();
            let _ = side.handle_datagram(&datagram, address(2), START);
            proptest::prop_assert_eq!(Datagram::parse(&datagram).map(|it| it.emit()).ok(),
                parses(&datagram).then_some(datagram));
        }
        let _ = side.handle_datagram(&bytes, address(2), START);
        proptest::prop_assert!(side.poll_outcome().is_none());
    }
}
