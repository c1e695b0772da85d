use super::*;
use crate::home::{Config, CreditConfig, Event, TeamServer};
use crate::message::{Code, Message, TeamDecision};
use guestright_credit::AllowanceConfig;
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_radius::Msk;
use guestright_radius::relay::{Answer, What};
use guestright_reciprocity::StrangerCounters;
use guestright_units::{Bytes, UnixSeconds};
use rand::SeedableRng as _;
use rand::rngs::StdRng;

const START: UnixSeconds = UnixSeconds(1_800_000_000);
const THEIRS: TeamId = TeamId([9; 24]);
const AP: Peer = 1;
const MEMBER: Peer = 2;

struct Household {
    server: TeamServer,
    team: TeamId,
    rng: StdRng,
    now: Time,
}

impl Household {
    /// One that gives away so much a day, or decides as the papers have it.
    fn new(per_day: Option<u64>, joining_max: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(1);
        let team_key = SecretKey::generate(Suite::Ed25519, &mut rng);
        let team = team_key.public().team_id();
        let allowance = |per_day| AllowanceConfig { per_day: Bytes(per_day), founding: Bytes(0) };
        let credit =
            per_day.map(|per_day| CreditConfig { allowance: allowance(per_day), ..CreditConfig::default() });
        let config = Config { credit, joining_max, ..Config::default() };
        let now = START.time();
        let mut server = TeamServer::new(config, team, [], vec![], StrangerCounters::default(), now);
        for (peer, role) in [(AP, Role::AccessPoint), (MEMBER, Role::Member)] {
            let key = SecretKey::generate(Suite::Ed25519, &mut rng);
            let certificate =
                Certificate::issue(&team_key, key.public(), role, START.minus(1), START.plus(9_000));
            server.handle_connected(peer, certificate, now).unwrap();
        }
        Self { server, team, rng, now }
    }

    fn ask(&mut self, peer: Peer, reference: Reference, team: TeamId, conversation: u8) {
        let question = question(conversation);
        let message = Message::Eapq { reference, team, question: Box::new(question) };
        self.server.handle_input(peer, &message.emit(), &mut self.rng, self.now);
    }

    fn answer(&mut self, team: TeamId, conversation: u8, what: What) {
        let answer = Answer { conversation: Conversation([conversation; 16]), what };
        self.server.handle_home_answer(team, answer, &mut self.rng, self.now);
    }

    /// Whose homes are to be asked.
    fn asked(&mut self) -> Vec<TeamId> {
        std::iter::from_fn(|| self.server.poll_event())
            .filter_map(|event| if let Event::AskHome(team, _) = event { Some(team) } else { None })
            .collect()
    }

    fn sent(&mut self) -> Vec<(Peer, Message)> {
        std::iter::from_fn(|| self.server.poll_transmit())
            .map(|(peer, bytes)| (peer, Message::parse(&bytes).unwrap()))
            .collect()
    }

    /// What becomes of a device of the team that its home accepts.
    fn decision(&mut self, team: TeamId) -> TeamDecision {
        self.ask(AP, 5, team, 1);
        self.answer(team, 1, accept());
        let sent = self.sent();
        let [(AP, Message::Eapr { reference: 5, decision: Some(decision), .. })] = sent.as_slice() else {
            panic!("{sent:?}");
        };
        decision.clone()
    }
}

fn question(conversation: u8) -> Question {
    let conversation = Conversation([conversation; 16]);
    Question { conversation, framed_mtu: Some(1_400), eap: vec![2, 1, 0, 5, 1] }
}

fn accept() -> What {
    What::Accept { eap: vec![3, 1, 0, 4], msk: Msk::new([1; 64]), valid_for_seconds: 60, home: None }
}

fn challenge() -> What {
    What::Challenge { eap: vec![1, 2, 0, 6, 13, 32] }
}

#[test]
fn a_question_goes_to_the_teams_home_and_the_answer_back_to_who_asked() {
    let mut household = Household::new(Some(0), 8);
    household.ask(AP, 5, THEIRS, 1);
    let events: Vec<_> = std::iter::from_fn(|| household.server.poll_event()).collect();
    assert_eq!(events, [Event::AskHome(THEIRS, Box::new(question(1)))]);
    household.answer(THEIRS, 1, challenge());
    let answer = Box::new(Answer { conversation: Conversation([1; 16]), what: challenge() });
    let want = Message::Eapr { reference: 5, decision: None, answer };
    assert_eq!(household.sent(), [(AP, want)], "and no decision before the home's yes");
    household.answer(THEIRS, 1, challenge());
    assert_eq!(household.sent(), [], "once");
}

#[test]
fn the_word_about_a_team_is_that_of_a_visit_which_shows_nothing() {
    let mut generous = Household::new(Some(1_000_000_000), 8);
    assert!(generous.decision(THEIRS).granted);
    let mut poor = Household::new(Some(0), 8);
    let no = poor.decision(THEIRS);
    assert!(!no.granted && no.reason.contains("given away"), "{no:?}");
    let own = poor.team;
    assert!(poor.decision(own).granted, "the own people need no credit");
    // As the papers have it: strangers are served in the beginning.
    let mut papers = Household::new(None, 8);
    let yes = papers.decision(THEIRS);
    assert!(yes.granted && !yes.reason.is_empty(), "{yes:?}");
}

#[test]
fn a_home_answers_for_its_own_team_and_its_own_conversations() {
    let mut household = Household::new(Some(1_000_000_000), 8);
    household.ask(AP, 5, THEIRS, 1);
    household.answer(TeamId([8; 24]), 1, accept());
    household.answer(THEIRS, 2, accept());
    let own = household.team;
    household.answer(own, 1, accept());
    assert_eq!(household.sent(), []);
    assert_eq!(household.server.refusals()["joining-late"], 3);
    household.answer(THEIRS, 1, accept());
    assert_eq!(household.sent().len(), 1);
}

#[test]
fn who_is_gone_or_has_waited_too_long_gets_no_answer() {
    let mut household = Household::new(Some(1_000_000_000), 8);
    household.ask(AP, 5, THEIRS, 1);
    household.now = household.now + WAIT;
    household.answer(THEIRS, 1, accept());
    household.ask(AP, 6, THEIRS, 1);
    household.server.handle_disconnected(AP);
    household.answer(THEIRS, 1, accept());
    assert_eq!(household.sent(), []);
}

#[test]
fn of_too_many_the_last_are_turned_away_until_others_have_waited_too_long() {
    let mut household = Household::new(Some(1_000_000_000), 3);
    for conversation in 1..=4 {
        household.ask(AP, conversation.into(), THEIRS, conversation);
    }
    assert_eq!(household.asked(), [THEIRS; 3]);
    let sent = household.sent();
    let [(AP, Message::Eapr { reference: 4, decision: None, answer })] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    assert!(matches!(answer.what, What::Away { .. }), "{answer:?}");
    household.ask(AP, 5, THEIRS, 2);
    assert_eq!(household.asked(), [THEIRS], "the next round of one that is there");
    household.answer(THEIRS, 2, challenge());
    assert!(matches!(household.sent().as_slice(), [(AP, Message::Eapr { reference: 5, .. })]));
    household.ask(AP, 6, THEIRS, 6);
    household.now = household.now + WAIT;
    household.ask(AP, 7, THEIRS, 7);
    assert_eq!(household.asked(), [THEIRS; 2]);
}

#[test]
fn first_questions_leave_room_on_the_link_for_what_follows_them() {
    let mut household = Household::new(Some(1_000_000_000), 1_000);
    let mut ask_within_a_second = |team: TeamId, eap: &[u8]| {
        let mut asked = 0;
        for number in 0..200_u8 {
            let conversation = Conversation([number; 16]);
            let question = Question { conversation, framed_mtu: None, eap: eap.to_vec() };
            let message = Message::Eapq { reference: 1, team, question: Box::new(question) };
            household.server.handle_input(AP, &message.emit(), &mut household.rng, household.now);
            household.now = household.now + Micros(5_000);
            asked += household.asked().len();
            household.server.handle_home_answer(
                team,
                Answer { conversation, what: challenge() },
                &mut household.rng,
                household.now,
            );
            household.sent();
        }
        asked
    };
    let (identity, later) = ([2, 1, 0, 5, 1], [2, 2, 0, 6, 13, 0]);
    assert!((15..=30).contains(&ask_within_a_second(THEIRS, &identity)), "a second's worth, and a second's");
    assert!((14..=16).contains(&ask_within_a_second(THEIRS, &identity)), "and then a second's alone");
    assert_eq!(ask_within_a_second(THEIRS, &later), 200);
    assert!(ask_within_a_second(TeamId([8; 24]), &identity) >= 15, "each team has its own");
}

#[test]
fn only_an_access_point_asks() {
    let mut household = Household::new(Some(1_000_000_000), 8);
    household.ask(MEMBER, 5, THEIRS, 1);
    assert_eq!(household.asked(), []);
    assert!(matches!(household.sent().as_slice(), [(MEMBER, Message::Erro { code: Code::Malformed, .. })]));
}
