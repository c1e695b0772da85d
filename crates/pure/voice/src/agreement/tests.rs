use super::message::{Body, Message};
use super::*;
use crate::srtp::{MasterKey, Profile};
use guestright_identity::{Certificate, Role as CertifiedRole, SecretKey, Suite};
use guestright_units::{Micros, Seed, Time, UnixSeconds};
use guestright_wire::rtp::Kind;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

const START: Time = Time(1_000_000_000_000);
const END: UnixSeconds = UnixSeconds(2_000_000);

fn member(number: u64, suite: Suite) -> (SecretKey, Certificate) {
    let mut rng = ChaCha8Rng::seed_from_u64(number);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let key = SecretKey::generate(suite, &mut rng);
    let certificate = Certificate::issue(&team, key.public(), CertifiedRole::Member, UnixSeconds(0), END);
    (key, certificate)
}

fn prepared(number: u64) -> Prepared {
    let (key, certificate) = member(number, Suite::Ed25519);
    Prepared::new(key, certificate, &Seed::from_number(number)).unwrap()
}

fn call(role: Role, peer: &Prepared, expected: Option<&Prepared>) -> Call {
    let expected = expected.map(|peer| peer.key.public().id());
    Call { role, profile: Profile::AeadAes128Gcm, peer: peer.fingerprint(), expected }
}

fn pair(seed: u64) -> [Agreement; 2] {
    let (caller, callee) = (prepared(2 * seed), prepared(2 * seed + 1));
    let calling = call(Role::Caller, &callee, Some(&callee));
    let called = call(Role::Callee, &caller, Some(&caller));
    [Agreement::new(caller, calling, START), Agreement::new(callee, called, START)]
}

/// What a link does to datagrams: chances of loss and repetition, and the longest delay.
#[derive(Clone, Copy)]
struct Link {
    loss: f64,
    repeat: f64,
    delay_max: u64,
}

struct Run {
    sides: [Agreement; 2],
    events: [Vec<Event>; 2],
    datagrams: usize,
    finished: Time,
}

/// Runs both until nobody wants anything. `meddle` sees each datagram and its direction, and may change it.
fn run(sides: [Agreement; 2], link: Link, seed: u64, mut meddle: impl FnMut(usize, &mut Vec<u8>)) -> Run {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut flying: BTreeMap<(Time, usize), (usize, Vec<u8>)> = BTreeMap::new();
    let mut run = Run { sides, events: [vec![], vec![]], datagrams: 0, finished: START };
    let mut now = START;
    loop {
        for side in 0..2 {
            while let Some(mut datagram) = run.sides[side].poll_transmit() {
                assert!(datagram.len() <= DATAGRAM_MAX && Kind::of(&datagram) == Kind::Agreement);
                assert!(parses(&datagram));
                meddle(side, &mut datagram);
                let copies = if rng.random_bool(link.repeat) { 2 } else { 1 };
                for _ in 0..copies {
                    run.datagrams += 1;
                    assert!(run.datagrams < 500, "seed {seed}: it goes round in circles");
                    if !rng.random_bool(link.loss) {
                        let at = now + Micros(rng.random_range(1..=link.delay_max));
                        flying.insert((at, run.datagrams), (1 - side, datagram.clone()));
                    }
                }
            }
            while let Some(event) = run.sides[side].poll_event() {
                run.finished = now;
                run.events[side].push(event);
            }
        }
        let timeouts = run.sides.iter().filter_map(Agreement::poll_timeout);
        let arrival = flying.keys().next().map(|(at, _)| *at);
        let Some(next) = timeouts.chain(arrival).min() else { return run };
        now = now.max(next);
        if arrival.is_some_and(|at| at <= now) {
            let (_, (to, datagram)) = flying.pop_first().unwrap();
            let _ = run.sides[to].handle_input(&datagram, now);
        }
        run.sides.iter_mut().for_each(|side| side.handle_timeout(now));
    }
}

fn agreed(events: &[Event]) -> &Agreed {
    match events {
        [Event::Agreed(agreed)] => agreed,
        other => panic!("expected one agreement, got {other:?}"),
    }
}

const PERFECT: Link = Link { loss: 0.0, repeat: 0.0, delay_max: 50_000 };

#[test]
fn both_sides_have_the_same_keys_words_and_each_others_names() {
    let run = run(pair(1), PERFECT, 1, |_, _| {});
    let (caller, callee) = (agreed(&run.events[0]), agreed(&run.events[1]));
    assert_eq!((&caller.send, &caller.receive), (&callee.receive, &callee.send));
    assert_ne!(caller.send, caller.receive);
    assert_eq!(caller.words, callee.words);
    assert_eq!(caller.peer.subject_id(), prepared(3).key.public().id());
    assert_eq!(callee.peer.subject_id(), prepared(2).key.public().id());
    assert!(run.datagrams <= 8, "{} datagrams", run.datagrams);
}

#[test]
fn the_same_seeds_give_the_same_keys_and_others_give_others() {
    let send = |seed| agreed(&run(pair(seed), PERFECT, 1, |_, _| {}).events[0]).send.clone();
    assert_eq!(send(1), send(1));
    assert_ne!(send(1), send(2));
}

#[test]
fn a_bad_link_costs_time_and_nothing_else() {
    let link = Link { loss: 0.3, repeat: 0.3, delay_max: 400_000 };
    let mut spans: Vec<u64> = Vec::new();
    for seed in 0..200 {
        let run = run(pair(seed), link, seed, |_, _| {});
        let (caller, callee) = (agreed(&run.events[0]), agreed(&run.events[1]));
        assert_eq!((&caller.send, &caller.receive), (&callee.receive, &callee.send), "seed {seed}");
        assert_eq!(caller.words, callee.words, "seed {seed}");
        spans.push(run.finished.since(START).0);
    }
    spans.sort_unstable();
    assert!(spans[189] < 6_000_000, "95 % within 6 s, got {} µs", spans[189]);
}

#[test]
fn gives_up_when_nobody_answers() {
    let link = Link { loss: 1.0, repeat: 0.0, delay_max: 1 };
    let run = run(pair(1), link, 1, |_, _| {});
    let want = [Event::Failed(AgreementError::Timeout { seconds: 20 })];
    assert_eq!((&run.events[0][..], &run.events[1][..]), (&want[..], &want[..]));
    assert!(run.datagrams < 60, "{} datagrams", run.datagrams);
}

#[test]
fn media_of_the_callee_stands_for_its_confirmation() {
    let [mut caller, mut callee] = pair(1);
    for _ in 0..4 {
        while let Some(datagram) = caller.poll_transmit() {
            let _ = callee.handle_input(&datagram, START);
        }
        while let Some(datagram) = callee.poll_transmit() {
            if datagram[2] != 6 {
                let _ = caller.handle_input(&datagram, START);
            }
        }
    }
    assert!(matches!(caller.poll_event(), Some(Event::Agreed(_))));
    assert!(caller.poll_timeout().is_some());
    caller.handle_peer_media();
    assert_eq!((caller.poll_timeout(), caller.poll_transmit()), (None, None));
}

/// Whatever is done to the datagrams: nobody agrees with two keys, and what comes unharmed still works.
#[test]
fn a_changed_datagram_is_refused_and_forgotten() {
    for index in 0..420 {
        let mut changed = [false; 7];
        let run = run(pair(7), PERFECT, 7, |_, datagram| {
            let kind = usize::from(datagram[2]);
            // FIRST and COMMIT are not authenticated until later: a change there ends the call (tested below).
            let is_sealed = !matches!(kind, 2 | 3) || index < 12;
            if is_sealed && !changed[kind] && index < datagram.len() {
                changed[kind] = true;
                datagram[index] ^= 0x10;
            }
        });
        let (caller, callee) = (agreed(&run.events[0]), agreed(&run.events[1]));
        assert_eq!((&caller.send, caller.words), (&callee.receive, callee.words), "byte {index}");
    }
}

#[test]
fn a_changed_key_or_commitment_ends_the_call_without_keys() {
    for kind in [2, 3] {
        for index in [12, 20, 43] {
            let mut is_changed = false;
            let run = run(pair(7), PERFECT, 7, |_, datagram| {
                if !is_changed && datagram[2] == kind {
                    is_changed = true;
                    datagram[index] ^= 0x10;
                }
            });
            for events in run.events {
                assert!(
                    matches!(events[..], [Event::Failed(AgreementError::Timeout { .. })]),
                    "kind {kind}, byte {index}: {events:?}"
                );
            }
        }
    }
}

/// Somebody in the middle who could also change the signalling, and who is a member of some team.
fn man_in_the_middle(seed: u64, expected: bool) -> ([Run; 2], [Prepared; 2]) {
    let (caller, callee) = (prepared(4 * seed), prepared(4 * seed + 1));
    let towards_caller = prepared(4 * seed + 2);
    let (key, certificate) = (towards_caller.key.clone(), towards_caller.certificate.clone());
    let towards_callee = Prepared::new(key, certificate, &Seed::from_number(4 * seed + 3)).unwrap();
    let ends = [caller.clone(), callee.clone()];
    let left = [
        Agreement::new(
            caller.clone(),
            call(Role::Caller, &towards_caller, expected.then_some(&callee)),
            START,
        ),
        Agreement::new(towards_caller.clone(), call(Role::Callee, &caller, None), START),
    ];
    let right = [
        Agreement::new(towards_callee.clone(), call(Role::Caller, &callee, None), START),
        Agreement::new(
            callee.clone(),
            call(Role::Callee, &towards_callee, expected.then_some(&caller)),
            START,
        ),
    ];
    ([run(left, PERFECT, seed, |_, _| {}), run(right, PERFECT, seed + 1_000, |_, _| {})], ends)
}

#[test]
fn with_somebody_in_the_middle_the_words_differ() {
    for seed in 0..50 {
        let ([left, right], _) = man_in_the_middle(seed, false);
        let (caller, callee) = (agreed(&left.events[0]), agreed(&right.events[1]));
        assert_ne!(caller.words, callee.words, "seed {seed}");
    }
}

#[test]
fn with_somebody_in_the_middle_a_contact_is_refused() {
    let ([left, right], [caller, callee]) = man_in_the_middle(1, true);
    let got = prepared(6).key.public().id();
    let refused = |want: &Prepared| {
        vec![Event::Failed(AgreementError::OtherPeer { got, want: want.key.public().id() })]
    };
    assert_eq!(left.events[0], refused(&callee));
    assert_eq!(right.events[1], refused(&caller));
}

#[test]
fn datagrams_of_another_call_are_another_calls() {
    let [mut caller, _] = pair(1);
    let [_, mut callee] = pair(2);
    let hello = caller.poll_transmit().unwrap();
    assert_eq!(callee.handle_input(&hello, START), Err(AgreementError::OtherCall));
    // So are those of a call whose signalling told one side something else: another profile is a downgrade.
    let (one, other) = (prepared(1), prepared(2));
    let weak = Call { profile: Profile::AesCm128HmacSha1_32, ..call(Role::Callee, &one, None) };
    let mut callee = Agreement::new(other.clone(), weak, START);
    let mut caller = Agreement::new(one, call(Role::Caller, &other, None), START);
    let hello = caller.poll_transmit().unwrap();
    assert_eq!(callee.handle_input(&hello, START), Err(AgreementError::OtherCall));
}

/// The callee shows its key to one FIRST. Another would come from somebody who has seen it and chooses the words.
#[test]
fn nobody_may_choose_after_having_seen() {
    let [mut caller, mut callee] = pair(1);
    let commit = callee.poll_transmit().unwrap();
    caller.handle_input(&commit, START).unwrap();
    let first = std::iter::from_fn(|| caller.poll_transmit()).last().unwrap();
    callee.handle_input(&first, START).unwrap();
    assert_eq!(callee.poll_transmit().unwrap()[2], 4);
    let mut chosen = first.clone();
    chosen[30] ^= 1;
    assert_eq!(callee.handle_input(&chosen, START), Err(AgreementError::Commitment));
    assert_eq!(callee.poll_transmit(), None);
    callee.handle_input(&first, START).unwrap();
    assert_eq!(callee.poll_transmit().unwrap()[2], 4, "the same FIRST has the same answer");
    // And the caller takes no other key than the one that was committed to.
    let mut second = Message { tag: [0; 8], body: Body::Second(&[9; 200]) }.emit();
    second[4..12].copy_from_slice(&first[4..12]);
    assert_eq!(caller.handle_input(&second, START), Err(AgreementError::Commitment));
}

#[test]
fn rubbish_costs_a_bounded_number_of_checks() {
    let [mut caller, mut callee] = pair(1);
    let commit = callee.poll_transmit().unwrap();
    caller.handle_input(&commit, START).unwrap();
    let first = std::iter::from_fn(|| caller.poll_transmit()).last().unwrap();
    callee.handle_input(&first, START).unwrap();
    let second = callee.poll_transmit().unwrap();
    let mut forged = second.clone();
    *forged.last_mut().unwrap() ^= 1;
    let mut outcomes: Vec<_> = (0..100).map(|_| caller.handle_input(&forged, START)).collect();
    outcomes.dedup();
    assert_eq!(outcomes, [Err(AgreementError::Forged), Err(AgreementError::TooMany)]);
    let later = caller.poll_timeout().unwrap();
    caller.handle_timeout(later);
    assert_eq!(caller.handle_input(&second, later), Ok(()), "after the next repetition it looks again");
}

/// Runs a callee with this certificate against a caller, and gives what the caller thinks of it.
fn judged(key: SecretKey, certificate: Certificate, now: Time) -> Event {
    let callee = Prepared::new(key, certificate, &Seed::from_number(9)).unwrap();
    let caller = prepared(8);
    let mut sides = [
        Agreement::new(caller.clone(), call(Role::Caller, &callee, None), now),
        Agreement::new(callee, call(Role::Callee, &caller, None), now),
    ];
    for _ in 0..4 {
        for side in 0..2 {
            while let Some(datagram) = sides[side].poll_transmit() {
                let _ = sides[1 - side].handle_input(&datagram, now);
            }
        }
    }
    sides[0].poll_event().unwrap()
}

#[test]
fn certificates_must_hold() {
    let (key, certificate) = member(5, Suite::EcdsaP256);
    assert!(
        matches!(judged(key.clone(), certificate.clone(), START), Event::Agreed(_)),
        "another suite will do"
    );
    let late = END.plus(1).time();
    let Event::Failed(AgreementError::Identity(error)) = judged(key, certificate, late) else {
        panic!("an expired certificate was taken");
    };
    assert!(matches!(error, IdentityError::Expired { .. }), "{error}");

    let team = member(5, Suite::Ed25519).0;
    let key = member(6, Suite::Ed25519).0;
    let home = Certificate::issue(&team, key.public(), CertifiedRole::Home, UnixSeconds(0), END);
    let Event::Failed(AgreementError::Identity(error)) = judged(key, home, START) else {
        panic!("a home's certificate was taken");
    };
    assert!(matches!(error, IdentityError::WrongRole { .. }), "{error}");

    // A certificate that is somebody else's.
    let (other, _) = member(10, Suite::Ed25519);
    let (_, certificate) = member(11, Suite::Ed25519);
    let event = judged(other, certificate, START);
    assert_eq!(event, Event::Failed(AgreementError::Identity(IdentityError::BadSignature)));
}

#[test]
fn fingerprints_are_read_as_they_are_written() {
    let fingerprint = prepared(1).fingerprint();
    let text = fingerprint.to_string();
    assert_eq!(text.parse(), Ok(fingerprint));
    assert_eq!(format!("a=guestright-agreement:{text}\r\n").parse(), Ok(fingerprint));
    let cut = &text[..65];
    for bad in
        ["", "1", cut, &text.replacen('1', "2", 1), &text[2..], &format!("{text}0"), &format!("{cut}g")]
    {
        assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
    }
}

#[test]
fn refuses_what_is_no_datagram_of_an_agreement() {
    let [mut caller, _] = pair(1);
    let hello = caller.poll_transmit().unwrap();
    for length in 0..hello.len() {
        assert!(Message::parse(&hello[..length]).is_err(), "{length}");
    }
    #[rustfmt::skip]
    let cases: [(usize, u8, &str); 5] = [
        (0, 9, "another kind of datagram"), (3, 1, "another kind of datagram"), (1, 2, "another version"),
        (2, 7, "an unknown kind of message"), (20, 1, "HELLO is not 32 zero bytes"),
    ];
    for (index, value, want) in cases {
        let mut bytes = hello.clone();
        bytes[index] = value;
        assert_eq!(Message::parse(&bytes), Err(AgreementError::Malformed(want)));
    }
    let long = [&hello[..], &[0; 1_200]].concat();
    assert_eq!(Message::parse(&long), Err(AgreementError::Malformed("longer than 1200 bytes")));
}

#[test]
fn debug_shows_no_secret() {
    let prepared = prepared(1);
    let run = run(pair(1), PERFECT, 1, |_, _| {});
    let shown = format!("{prepared:?} {:?} {:?}", run.sides[0], run.events[0]);
    let keys = [prepared.fixed.as_slice(), prepared.ephemeral.as_slice(), agreed(&run.events[0]).send.key()];
    for key in keys {
        let list = format!("{:?}", &key[..4]);
        let hex: String = key[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!shown.contains(list.trim_matches(['[', ']'])) && !shown.contains(&hex), "{shown}");
    }
    assert!(shown.len() < 700, "{shown}");
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, kind in 0_u8..8, side in 0_usize..2) {
        let mut sides = pair(1);
        let tag: [u8; 8] = sides[0].poll_transmit().unwrap()[4..12].try_into().unwrap();
        let side = &mut sides[side];
        let _ = side.handle_input(&bytes, START);
        let datagram = [&[8, 1, kind, 0][..], &tag, &bytes].concat();
        let _ = side.handle_input(&datagram, START);
        proptest::prop_assert_eq!(Message::parse(&datagram).map(|message| message.emit()).ok(),
            parses(&datagram).then_some(datagram));
    }
}

/// Both directions of every profile get keys of the right length that protect and open.
#[test]
fn the_keys_are_keys() {
    for profile in Profile::ALL {
        let (one, other) = (prepared(1), prepared(2));
        let calling = Call { profile, ..call(Role::Caller, &other, None) };
        let called = Call { profile, ..call(Role::Callee, &one, None) };
        let sides = [Agreement::new(one, calling, START), Agreement::new(other, called, START)];
        let run = run(sides, PERFECT, 1, |_, _| {});
        let (caller, callee) = (agreed(&run.events[0]), agreed(&run.events[1]));
        let key: &MasterKey = &caller.send;
        assert_eq!((key.profile(), key.key().len()), (profile, profile.key_len()));
        let packet = [0x80, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 1, 2, 3];
        let (mut sealed, mut opened) = (Vec::new(), Vec::new());
        crate::srtp::Protect::new(key).rtp(&packet, &mut sealed).unwrap();
        crate::srtp::Unprotect::new(&callee.receive).rtp(&sealed, &mut opened).unwrap();
        assert_eq!(opened, packet);
    }
}
