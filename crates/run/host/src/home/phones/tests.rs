use super::*;
use guestright_directory::{HomeMessage, HomeRecord};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use rand::SeedableRng as _;

const OWN: TeamId = TeamId([1; 24]);
const OTHER: TeamId = TeamId([2; 24]);
const THIRD: TeamId = TeamId([3; 24]);
const NOW: Time = Time(1_800_000_000_000_000);

fn phones() -> (Phones, StdRng) {
    (Phones::new(OWN, None, None), StdRng::seed_from_u64(1))
}

fn question(number: u8) -> Question {
    Question { conversation: Conversation([number; 16]), framed_mtu: None, eap: vec![2, 1, 0, 5, 1] }
}

fn challenge(number: u8) -> Answer {
    let what = What::Challenge { eap: vec![1, 2, 0, 6, 13, 0x20] };
    Answer { conversation: Conversation([number; 16]), what }
}

fn is_away(answer: Option<(TeamId, Answer)>, team: TeamId, number: u8) -> bool {
    answer.is_some_and(|(from, Answer { conversation, what })| {
        (from, conversation) == (team, Conversation([number; 16])) && matches!(what, What::Away { .. })
    })
}

#[test]
fn a_question_goes_to_its_team_and_the_answer_of_that_team_alone_comes_back() {
    let (mut phones, mut rng) = phones();
    phones.ask(OTHER, &question(7), &mut rng, NOW);
    assert_eq!(phones.poll_frame(), Some((OTHER, question(7).emit())));
    for (team, number) in [(THIRD, 7), (OTHER, 8)] {
        phones.handle_frame(team, &challenge(number).emit(), &mut rng, NOW);
        assert_eq!(phones.poll_answer(), None, "nobody asked");
    }
    phones.handle_frame(OTHER, &challenge(7).emit(), &mut rng, NOW);
    assert_eq!(phones.poll_answer(), Some((OTHER, challenge(7))));
    phones.handle_frame(OTHER, &challenge(7).emit(), &mut rng, NOW);
    assert_eq!((phones.poll_answer(), phones.poll_timeout()), (None, None));
    phones.handle_frame(OTHER, b"\xfe\x01\x09", &mut rng, NOW);
    assert_eq!(phones.status(NOW)["not_carried"], json!({ "unasked": 3, "unreadable": 1 }));
}

#[test]
fn a_home_without_phones_says_so_to_its_own_access_point_and_to_others() {
    let (mut phones, mut rng) = phones();
    phones.ask(OWN, &question(7), &mut rng, NOW);
    assert!(is_away(phones.poll_answer(), OWN, 7) && phones.poll_frame().is_none());
    phones.handle_frame(OTHER, &question(8).emit(), &mut rng, NOW);
    let (team, frame) = phones.poll_frame().unwrap();
    assert!(is_away(Some((team, Answer::parse(&frame).unwrap())), OTHER, 8));
    assert!(phones.poll_answer().is_none());
}

#[test]
fn a_question_is_sent_twice_and_given_up_in_time() {
    let (mut phones, mut rng) = phones();
    phones.ask(OTHER, &question(7), &mut rng, NOW);
    assert!(phones.poll_frame().is_some());
    let mut sent = 0;
    let mut now = NOW;
    while let Some(due) = phones.poll_timeout() {
        assert!(due > now, "time goes on");
        now = due;
        phones.handle_timeout(&mut rng, now);
        sent += usize::from(phones.poll_frame().is_some());
    }
    assert_eq!((sent, now - NOW), (1, WAIT_MAX));
    assert!(is_away(phones.poll_answer(), OTHER, 7));
    // A link that ended may have lost it: again at once, and no more after that.
    phones.ask(OTHER, &question(8), &mut rng, now);
    phones.poll_frame();
    phones.handle_down(THIRD, now);
    assert_eq!(phones.poll_timeout(), Some(now + ASK_AGAIN));
    phones.handle_down(OTHER, now);
    assert_eq!(phones.poll_timeout(), Some(now));
    phones.handle_timeout(&mut rng, now);
    assert!(phones.poll_frame().is_some());
    phones.handle_down(OTHER, now);
    assert_eq!(phones.poll_timeout(), Some(now + WAIT_MAX));
}

#[test]
fn a_home_that_cannot_be_reached_is_away_for_all_that_wait_for_it() {
    let (mut phones, mut rng) = phones();
    for (team, number) in [(OTHER, 7), (OTHER, 8), (THIRD, 9)] {
        phones.ask(team, &question(number), &mut rng, NOW);
    }
    phones.handle_unreachable(OTHER, NOW);
    assert!(is_away(phones.poll_answer(), OTHER, 7) && is_away(phones.poll_answer(), OTHER, 8));
    assert_eq!(phones.poll_answer(), None, "the third is waited for");
}

fn numbered(number: usize) -> Question {
    let mut conversation = [0; 16];
    conversation[..8].copy_from_slice(&number.to_be_bytes());
    Question { conversation: Conversation(conversation), ..question(0) }
}

#[test]
fn one_home_that_is_silent_leaves_room_for_others() {
    let (mut phones, mut rng) = phones();
    for number in 0..ASKED_EACH_MAX {
        phones.ask(OTHER, &numbered(number), &mut rng, NOW);
    }
    assert_eq!(phones.poll_answer(), None);
    phones.ask(OTHER, &numbered(ASKED_EACH_MAX), &mut rng, NOW);
    assert!(matches!(phones.poll_answer(), Some((OTHER, Answer { what: What::Away { .. }, .. }))));
    // The same again is no more than one.
    phones.ask(OTHER, &numbered(0), &mut rng, NOW);
    phones.ask(THIRD, &numbered(0), &mut rng, NOW);
    assert_eq!(phones.poll_answer(), None);
}

/// A team whose home says that it is there.
fn far(from: u64) -> (TeamId, Address, HomeRecord) {
    let mut rng = StdRng::seed_from_u64(9);
    let [team, home] = [(); 2].map(|()| SecretKey::generate(Suite::Ed25519, &mut rng));
    let (now, address) = (NOW.unix_seconds(), "192.0.2.7:7275".parse::<Address>().unwrap());
    let certificate = Certificate::issue(&team, home.public(), Role::Home, now, now.plus(30 * 86_400));
    let life = (now.plus(from), now.plus(from + 86_400));
    let record = HomeRecord::sign(&home, &certificate, vec![address.clone()], life).unwrap();
    (certificate.team_id(), address, record)
}

/// The next frame, as one about where homes are.
fn home_message(phones: &mut Phones) -> (TeamId, HomeMessage) {
    let (team, frame) = phones.poll_frame().unwrap();
    (team, HomeMessage::parse(&frame).unwrap())
}

fn reason(answer: Option<(TeamId, Answer)>) -> String {
    match answer {
        Some((_, Answer { what: What::Away { reason }, .. })) => reason.as_str().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_team_that_nobody_here_has_met_is_looked_for_and_then_asked() {
    let (mut phones, mut rng) = phones();
    let (team, address, record) = far(0);
    phones.handle_up(THIRD, NOW);
    phones.ask(team, &question(7), &mut rng, NOW);
    assert_eq!(phones.poll_frame(), Some((team, question(7).emit())));
    phones.handle_unreachable(team, NOW);
    let (whom, HomeMessage::Ask { reference, team: wanted, .. }) = home_message(&mut phones) else {
        panic!("a question")
    };
    assert_eq!((whom, wanted), (THIRD, team));
    // Another phone of it costs no other look-up, and is not sent to nowhere.
    phones.ask(team, &question(8), &mut rng, NOW);
    assert_eq!((phones.poll_frame(), phones.poll_answer()), (None, None));
    let later = NOW + SECOND;
    phones.handle_frame(THIRD, &HomeMessage::Answer { reference, record }.emit(), &mut rng, later);
    assert_eq!(phones.poll_found(), Some((team, vec![address])));
    for number in [7, 8] {
        assert_eq!(phones.poll_frame(), Some((team, question(number).emit())));
    }
    assert_eq!(phones.poll_frame(), None);
    assert_eq!(phones.poll_timeout(), Some(later + ASK_AGAIN));
    phones.handle_frame(team, &challenge(7).emit(), &mut rng, later);
    assert_eq!(phones.poll_answer(), Some((team, challenge(7))));
    // Where it has said that it is it is not.
    phones.handle_known(team);
    phones.handle_unreachable(team, later);
    assert!(matches!(home_message(&mut phones), (THIRD, HomeMessage::Ask { .. })));
    let (_, _, moved) = far(60);
    phones.handle_frame(THIRD, &HomeMessage::Unknown { reference: 2 }.emit(), &mut rng, later);
    assert_eq!(reason(phones.poll_answer()), AWAY, "it is known, and away");
    let until = later + Micros::from_seconds(90);
    phones.handle_frame(team, &HomeMessage::Here { record: moved }.emit(), &mut rng, until);
    phones.ask(team, &question(9), &mut rng, until);
    assert!(phones.poll_frame().is_some());
    phones.handle_unreachable(team, until);
    assert!(phones.poll_found().is_some(), "it has moved, and said so");
    assert_eq!(phones.poll_frame(), Some((team, question(9).emit())));
}

#[test]
fn a_team_that_is_nowhere_is_refused_with_a_sentence_before_anybody_stops_waiting() {
    let (mut phones, mut rng) = phones();
    for team in [THIRD, TeamId([4; 24])] {
        phones.handle_up(team, NOW);
    }
    phones.ask(OTHER, &question(7), &mut rng, NOW);
    phones.poll_frame();
    phones.handle_unreachable(OTHER, NOW);
    let (whom, HomeMessage::Ask { reference, .. }) = home_message(&mut phones) else { panic!("a question") };
    phones.handle_frame(whom, &HomeMessage::Unknown { reference }.emit(), &mut rng, NOW);
    assert_eq!(phones.poll_answer(), None, "the other one may know");
    let mut now = NOW;
    while let Some(due) = phones.poll_timeout() {
        now = due;
        phones.handle_timeout(&mut rng, now);
    }
    assert!(now - NOW < WAIT_MAX, "it is not merely slow");
    assert_eq!(reason(phones.poll_answer()), NOWHERE);
    assert!(NOWHERE.len() <= Sentence::BYTES_MAX && NOWHERE.starts_with("Your home cannot be reached"));
    // For a while nobody is asked again.
    while phones.poll_frame().is_some() {}
    phones.ask(OTHER, &question(8), &mut rng, now);
    assert_eq!(phones.poll_frame(), Some((OTHER, question(8).emit())));
    phones.handle_unreachable(OTHER, now);
    assert_eq!((phones.poll_frame(), reason(phones.poll_answer())), (None, NOWHERE.to_owned()));
}

/// Names that somebody makes up, a thousand a second, and many phones of one team that nobody has met.
#[test]
fn names_that_somebody_makes_up_leave_room_for_those_that_are_known() {
    let (mut phones, mut rng) = phones();
    phones.handle_up(THIRD, NOW);
    let made_up = |number: usize| {
        let mut id = [7; 24];
        id[..8].copy_from_slice(&number.to_be_bytes());
        TeamId(id)
    };
    let (mut asked, mut crowded) = (0, 0);
    let mut now = NOW;
    for number in 0..5_000 {
        now = NOW + Micros(number as u64 * 1_000);
        for phone in 0..20 {
            phones.ask(made_up(number), &numbered(phone), &mut rng, now);
            while let Some((team, frame)) = phones.poll_frame() {
                asked += usize::from(is_home_message(&frame));
                if team != THIRD {
                    phones.handle_unreachable(team, now);
                }
            }
        }
        while let Some(answer) = phones.poll_answer() {
            crowded += usize::from(reason(Some(answer)) == CROWDED);
        }
        assert!(phones.asked.len() <= 16 * SOUGHT_EACH_MAX, "{}", phones.asked.len());
        phones.handle_timeout(&mut rng, now);
    }
    assert!((16..=16 + 2).contains(&asked), "{asked} questions to another home in five seconds");
    assert!(crowded > 90_000, "{crowded}");
    phones.ask(OTHER, &question(7), &mut rng, now);
    assert_eq!(phones.poll_frame(), Some((OTHER, question(7).emit())));
    phones.handle_frame(OTHER, &challenge(7).emit(), &mut rng, now);
    assert_eq!(phones.poll_answer(), Some((OTHER, challenge(7))));
}

#[test]
fn others_cost_a_bounded_amount_of_work() {
    let (mut phones, mut rng) = phones();
    for _ in 0..FOREIGN_PER_SECOND + 100 {
        phones.handle_frame(OTHER, &question(7).emit(), &mut rng, NOW);
    }
    let mut answered = 0;
    while phones.poll_frame().is_some() {
        answered += 1;
    }
    assert_eq!(answered, FOREIGN_PER_SECOND);
    phones.handle_frame(OTHER, &question(7).emit(), &mut rng, NOW + SECOND);
    assert!(phones.poll_frame().is_some());
    phones.ask(OWN, &question(7), &mut rng, NOW);
    assert!(phones.poll_answer().is_some(), "our own are never refused for that");
}

#[test]
fn a_wish_that_cannot_be_read_is_not_repeated() {
    let wish =
        r#"{"member":"alice","key":"KEY","ike":{"gateway":"g","gateway_identity":"i","secret":"sesame"}}"#;
    let good = wish.replace("KEY", &"ab".repeat(24));
    let request = parse_request(&good).unwrap();
    assert_eq!((request.member.as_str(), request.page, request.anew), ("alice", false, false));
    assert_eq!(request.ike.unwrap().secret.as_str(), "sesame");
    for bad in [wish, &good.replace("\"i\"", "1"), &good.replace("member", "membre"), ""] {
        let error = parse_request(bad).unwrap_err();
        assert!(!error.sentence().contains("sesame"), "{}", error.sentence());
    }
}
