use super::*;
use rand::SeedableRng as _;

const OWN: TeamId = TeamId([1; 24]);
const OTHER: TeamId = TeamId([2; 24]);
const THIRD: TeamId = TeamId([3; 24]);
const NOW: Time = Time(1_800_000_000_000_000);

fn phones() -> (Phones, StdRng) {
    (Phones::new(OWN, None), StdRng::seed_from_u64(1))
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
    phones.handle_unreachable(OTHER);
    assert!(is_away(phones.poll_answer(), OTHER, 7) && is_away(phones.poll_answer(), OTHER, 8));
    assert_eq!(phones.poll_answer(), None, "the third is waited for");
}

#[test]
fn one_home_that_is_silent_leaves_room_for_others() {
    let (mut phones, mut rng) = phones();
    let numbered = |number: usize| {
        let mut conversation = [0; 16];
        conversation[..8].copy_from_slice(&number.to_be_bytes());
        Question { conversation: Conversation(conversation), ..question(0) }
    };
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
