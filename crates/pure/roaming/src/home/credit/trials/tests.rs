use crate::home::{Config, CreditConfig, Event};
use crate::home::{Peer, TeamServer};
use crate::message::{Message, Reference};
use guestright_credit::AllowanceConfig;
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_reciprocity::StrangerCounters;
use guestright_units::{Bytes, UnixSeconds};
use rand::SeedableRng as _;
use rand::rngs::StdRng;

const START: UnixSeconds = UnixSeconds(1_800_000_000);
const MB: u64 = 1_000_000;
const AP: Peer = 1;
const MEMBER: Peer = 2;

struct Household {
    server: TeamServer,
    rng: StdRng,
}

impl Household {
    fn new(per_day: Option<u64>) -> Self {
        let mut rng = StdRng::seed_from_u64(1);
        let team = SecretKey::generate(Suite::Ed25519, &mut rng);
        let allowance = |per_day| AllowanceConfig { per_day: Bytes(per_day), founding: Bytes(0) };
        let credit = per_day.map(|it| CreditConfig { allowance: allowance(it), ..CreditConfig::default() });
        let config = Config { credit, ..Config::default() };
        let id = team.public().team_id();
        let mut server = TeamServer::new(config, id, [], vec![], StrangerCounters::default(), START.time());
        for (peer, role) in [(AP, Role::AccessPoint), (MEMBER, Role::Member)] {
            let key = SecretKey::generate(Suite::Ed25519, &mut rng);
            let certificate =
                Certificate::issue(&team, key.public(), role, START.minus(1), START.plus(9_000));
            server.handle_connected(peer, certificate, START.time()).unwrap();
        }
        Self { server, rng }
    }

    fn say(&mut self, peer: Peer, reference: Reference, request: u64, unused: u64) {
        let message = Message::Tryq { reference, request: Bytes(request), unused: Bytes(unused) };
        self.server.handle_input(peer, &message.emit(), &mut self.rng, START.time());
    }

    /// Makes durable what is to be, and what is sent before and after that.
    fn sent(&mut self) -> [Vec<Message>; 2] {
        let before = self.transmitted();
        while let Some(event) = self.server.poll_event() {
            if let Event::Keep(write) = event {
                self.server.handle_kept(write.token, &mut self.rng, START.time());
            }
        }
        [before, self.transmitted()]
    }

    fn transmitted(&mut self) -> Vec<Message> {
        std::iter::from_fn(|| self.server.poll_transmit())
            .map(|(_, it)| Message::parse(&it).unwrap())
            .collect()
    }

    /// What is granted of so much.
    fn granted(&mut self, reference: Reference, request: u64) -> u64 {
        self.say(AP, reference, request, 0);
        let sent = self.sent().concat();
        let [Message::Tryr { reference: of, granted, .. }] = sent.as_slice() else { panic!("{sent:?}") };
        assert_eq!(*of, reference);
        granted.0
    }

    fn left(&mut self) -> u64 {
        self.server.allowance(START.time()).unwrap().0.0
    }
}

#[test]
fn trials_come_out_of_the_upper_half_and_what_is_not_carried_goes_back() {
    let mut household = Household::new(Some(100 * MB));
    assert_eq!(household.granted(1, 20 * MB), 20 * MB);
    assert_eq!(household.granted(2, 20 * MB), 20 * MB);
    assert_eq!(household.granted(3, 20 * MB), 10 * MB, "half of a day's is for those who sign");
    assert_eq!(household.granted(4, 20 * MB), 0);
    assert_eq!(household.left(), 50 * MB);
    household.say(AP, 1, 0, 15 * MB);
    assert_eq!((household.left(), household.sent().concat()), (65 * MB, vec![]));
    assert_eq!(household.granted(5, 20 * MB), 15 * MB);
}

#[test]
fn an_access_point_gets_back_no_more_than_it_got_and_only_once() {
    let mut household = Household::new(Some(100 * MB));
    assert_eq!(household.granted(1, 5 * MB), 5 * MB);
    for (reference, unused) in [(1, u64::MAX), (1, 5 * MB), (7, 5 * MB)] {
        household.say(AP, reference, 0, unused);
    }
    assert_eq!(household.left(), 100 * MB);
    assert_eq!(household.granted(2, 5 * MB), 5 * MB);
    assert_eq!(household.granted(2, 5 * MB), 0, "the same trial again");
    assert_eq!(household.left(), 95 * MB);
}

#[test]
fn nothing_is_granted_before_it_is_durable_nor_to_members_nor_without_an_allowance() {
    let mut household = Household::new(Some(100 * MB));
    household.say(AP, 1, 20 * MB, 0);
    let [before, after] = household.sent();
    assert!(before.is_empty() && after.len() == 1, "{before:?} {after:?}");
    household.say(MEMBER, 2, 20 * MB, 0);
    assert!(matches!(household.sent().concat().as_slice(), [Message::Erro { .. }]));
    assert_eq!(household.left(), 80 * MB);
    assert_eq!(Household::new(None).granted(1, 20 * MB), 0);
    assert_eq!(Household::new(Some(MB)).granted(1, 20 * MB), 0);
}

#[test]
fn while_everybody_is_served_a_trial_takes_nothing_from_the_allowance_and_puts_nothing_back() {
    let mut household = Household::new(Some(MB));
    household.server.serve_everybody(Some(START.plus(1)));
    assert_eq!(household.granted(1, 20 * MB), 20 * MB);
    assert_eq!(household.left(), MB);
    household.say(AP, 1, 0, 20 * MB);
    assert_eq!(household.left(), MB);
    household.server.serve_everybody(Some(START));
    assert_eq!(household.granted(2, 20 * MB), 0, "it is over");
}
