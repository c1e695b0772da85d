use super::*;
use crate::{HostName, RecordError};
use guestright_identity::{Certificate, IdentityError, Role, SecretKey, Suite};
use guestright_units::UnixSeconds;
use rand::SeedableRng;
use rand::rngs::StdRng;

const NOW: Time = Time(1_800_000_000_000_000);
const SECOND: Micros = Micros::from_seconds(1);

fn second() -> UnixSeconds {
    NOW.unix_seconds()
}

/// A team with a home.
struct Household {
    team: SecretKey,
    home: SecretKey,
    certificate: Certificate,
}

impl Household {
    fn new(number: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(number);
        let [team, home] = [(); 2].map(|()| SecretKey::generate(Suite::Ed25519, &mut rng));
        let certificate = certify(&team, &home, Role::Home);
        Self { team, home, certificate }
    }

    fn id(&self) -> TeamId {
        self.certificate.team_id()
    }

    /// Its word from so many seconds on, for a day.
    fn record_from(&self, from: i64) -> HomeRecord {
        let from = UnixSeconds(second().0.checked_add_signed(from).unwrap());
        let life = (from, from.plus(86_400));
        HomeRecord::sign(&self.home, &self.certificate, vec![address()], life).unwrap()
    }

    fn record(&self) -> HomeRecord {
        self.record_from(0)
    }
}

fn certify(team: &SecretKey, key: &SecretKey, role: Role) -> Certificate {
    Certificate::issue(team, key.public(), role, second().minus(86_400), second().plus(300 * 86_400))
}

fn address() -> Address {
    "192.0.2.7:7275".parse().unwrap()
}

fn found(team: TeamId) -> Option<HomesEvent> {
    Some(HomesEvent::Found { team, addresses: vec![address()] })
}

fn nobody(number: u32) -> TeamId {
    let mut id = [0xee; 24];
    id[..4].copy_from_slice(&number.to_be_bytes());
    TeamId(id)
}

/// Homes with links, whose frames arrive at once and in order.
struct Net {
    households: Vec<Household>,
    homes: Vec<Homes>,
    links: Vec<(usize, usize)>,
    now: Time,
    carried: usize,
    /// Whose frames are lost.
    silent: Vec<usize>,
}

impl Net {
    fn new(count: u64, links: &[(usize, usize)]) -> Self {
        let households: Vec<_> = (1..=count).map(Household::new).collect();
        let mut homes: Vec<_> = households.iter().map(|household| Homes::new(household.id())).collect();
        for (home, household) in homes.iter_mut().zip(&households) {
            home.set_own(household.record());
        }
        let mut net =
            Self { households, homes, links: links.to_vec(), now: NOW, carried: 0, silent: Vec::new() };
        for (one, other) in links {
            let ids = [net.id(*one), net.id(*other)];
            net.homes[*one].handle_up(ids[1], NOW);
            net.homes[*other].handle_up(ids[0], NOW);
        }
        net.carry();
        net.carried = 0;
        net
    }

    fn id(&self, index: usize) -> TeamId {
        self.households[index].id()
    }

    fn index(&self, team: TeamId) -> Option<usize> {
        self.households.iter().position(|household| household.id() == team)
    }

    fn carry(&mut self) {
        loop {
            let mut is_quiet = true;
            for from in 0..self.homes.len() {
                while let Some((team, frame)) = self.homes[from].poll_transmit() {
                    is_quiet = false;
                    assert!(is_home_message(&frame) && frame.len() <= HomeMessage::LEN_MAX);
                    let linked =
                        |to: &usize| self.links.contains(&(from, *to)) || self.links.contains(&(*to, from));
                    let Some(to) = self.index(team).filter(linked) else {
                        self.homes[from].handle_unsent(team, self.now);
                        continue;
                    };
                    self.carried += 1;
                    if !self.silent.contains(&to) {
                        let from = self.id(from);
                        self.homes[to].handle_frame(from, &frame, self.now);
                    }
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    /// Lets time pass until nothing is looked for any more.
    fn settle(&mut self) {
        self.carry();
        while let Some(due) = self.homes.iter().filter_map(Homes::poll_timeout).min() {
            assert!(due >= self.now, "time goes on");
            self.now = due;
            for home in &mut self.homes {
                home.handle_timeout(self.now);
            }
            self.carry();
        }
    }

    fn find(&mut self, by: usize, team: TeamId) -> Option<HomesEvent> {
        assert_eq!(self.homes[by].find(team, self.now), Seek::UnderWay);
        self.settle();
        self.homes[by].poll_event()
    }
}

fn frame(homes: &mut Homes) -> (TeamId, HomeMessage) {
    let (team, frame) = homes.poll_transmit().unwrap();
    (team, HomeMessage::parse(&frame).unwrap())
}

fn asked(homes: &mut Homes) -> (TeamId, u64) {
    match frame(homes) {
        (team, HomeMessage::Ask { reference, .. }) => (team, reference),
        other => panic!("{other:?}"),
    }
}

fn tell(homes: &mut Homes, from: TeamId, reference: u64, record: HomeRecord, now: Time) {
    homes.handle_frame(from, &HomeMessage::Answer { reference, record }.emit(), now);
}

#[test]
fn a_record_says_one_thing_in_one_way() {
    let household = Household::new(1);
    let record = household.record();
    assert_eq!(HomeRecord::parse(record.as_bytes()), Ok(record.clone()));
    assert!((200..=300).contains(&record.as_bytes().len()), "{}", record.as_bytes().len());
    for index in 0..record.as_bytes().len() {
        let mut changed = record.as_bytes().to_vec();
        changed[index] ^= 1;
        assert!(HomeRecord::parse(&changed).is_err(), "byte {index}");
    }
    assert!(household.record_from(1).replaces(&record) && !record.replaces(&household.record_from(1)));
    assert!(!Household::new(2).record_from(1).replaces(&record), "another team's");
}

#[test]
fn nobody_signs_a_record_for_a_team_but_its_homes() {
    let (household, other) = (Household::new(1), Household::new(2));
    let life = (second(), second().plus(60));
    let sign = |key: &SecretKey, certificate: &Certificate, addresses: &[Address], life| {
        HomeRecord::sign(key, certificate, addresses.to_vec(), life)
    };
    let stolen = sign(&other.home, &household.certificate, &[address()], life);
    assert!(matches!(stolen, Err(RecordError::NotCertified { .. })), "{stolen:?}");
    for role in [Role::Member, Role::AccessPoint] {
        let certificate = certify(&household.team, &household.home, role);
        let refused = sign(&household.home, &certificate, &[address()], life);
        assert!(matches!(refused, Err(RecordError::Refused(IdentityError::WrongRole { .. }))), "{refused:?}");
    }
    let own = |addresses: &[Address], life| sign(&household.home, &household.certificate, addresses, life);
    let long = HostName::new(&format!("{}example", "abcdefg.".repeat(11))).unwrap();
    let many: Vec<Address> = (1..=5).map(|port| format!("{long}:{port}").parse().unwrap()).collect();
    for addresses in [&[][..], &[address(), address()], &many] {
        assert!(matches!(own(addresses, life), Err(RecordError::Addresses { .. })));
    }
    assert!(own(&many[..4], life).is_ok());
    for life in [(second().plus(1), second()), (second(), second().plus(HomeRecord::LIFE_MAX + 1))] {
        assert!(matches!(own(&[address()], life), Err(RecordError::Life { .. })));
    }
}

#[test]
fn a_home_is_found_by_those_who_have_met_it_however_the_question_came_to_them() {
    // 0 knows 1, who knows 2, who knows 3, who knows 4.
    let mut net = Net::new(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    for wanted in [2, 3, 4] {
        let team = net.id(wanted);
        assert_eq!(net.find(0, team), found(team), "{wanted} links away");
        assert_eq!(net.homes[0].poll_event(), None);
    }
    assert_eq!(net.now, NOW, "nobody had to wait");
    assert!((1..4).all(|index| net.homes[index].poll_event().is_none()), "it is news for who asked");
    // Farther than a question is handed on.
    let mut net = Net::new(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
    let far = net.id(5);
    assert_eq!(net.find(0, far), Some(HomesEvent::NotFound(far)));
}

#[test]
fn a_home_that_is_known_and_not_linked_is_asked_where_it_is() {
    let mut net = Net::new(3, &[(0, 1)]);
    let (asker, relay, wanted) = (net.id(0), net.id(1), net.id(2));
    net.homes[1].handle_known(wanted);
    assert_eq!(net.homes[0].find(wanted, NOW), Seek::UnderWay);
    let (whom, ask) = net.homes[0].poll_transmit().unwrap();
    assert_eq!(whom, relay);
    net.homes[1].handle_frame(asker, &ask, NOW);
    let (whom, HomeMessage::Ask { hops, .. }) = frame(&mut net.homes[1]) else { panic!("a question") };
    assert_eq!((whom, hops), (wanted, HOPS_MAX - 1));
    // There is a link now, and the first thing on it is where the other is.
    net.links.push((1, 2));
    net.homes[1].handle_up(wanted, NOW);
    net.homes[2].handle_up(relay, NOW);
    net.carry();
    assert_eq!(net.homes[0].poll_event(), found(wanted));
}

/// In a region where everybody knows everybody, and nobody what is asked.
#[test]
fn a_question_about_nobody_ends_and_costs_a_bounded_number_of_messages() {
    let count = 24;
    let links: Vec<_> = (0..count).flat_map(|one| (0..one).map(move |other| (other, one))).collect();
    let mut net = Net::new(count as u64, &links);
    assert_eq!(net.find(0, nobody(0)), Some(HomesEvent::NotFound(nobody(0))));
    let asks = ASKED_MAX * (1 + HANDED_ON_MAX * (1 + HANDED_ON_MAX));
    assert!(net.carried <= 2 * asks, "{} messages for at most {asks} questions", net.carried);
    assert!(net.homes.iter().all(|home| home.pursuit_count() == 0));
    // For a time, that is remembered, and by those who were asked too.
    net.carried = 0;
    assert_eq!(net.homes[0].find(nobody(0), net.now), Seek::Nowhere);
    assert_eq!(net.carried, 0);
    net.now = net.now + TRIED_FOR;
    assert_eq!(net.homes[0].find(nobody(0), net.now), Seek::UnderWay);
}

#[test]
fn two_who_look_for_the_same_do_not_wait_for_each_other() {
    let mut net = Net::new(2, &[(0, 1)]);
    for home in &mut net.homes {
        assert_eq!(home.find(nobody(0), NOW), Seek::UnderWay);
    }
    net.carry();
    for home in &mut net.homes {
        assert_eq!(home.poll_event(), Some(HomesEvent::NotFound(nobody(0))));
    }
}

#[test]
fn what_is_forged_counts_for_nothing_and_the_next_one_is_asked() {
    let (own, wanted, liar) = (Household::new(1), Household::new(2), Household::new(3));
    let mut homes = Homes::new(own.id());
    for number in 0..20 {
        homes.handle_up(nobody(number), NOW);
    }
    assert_eq!(homes.find(wanted.id(), NOW), Seek::UnderWay);
    let mut broken = wanted.record().as_bytes().to_vec();
    *broken.last_mut().unwrap() ^= 1;
    let answer = |record: Vec<u8>, reference| {
        let items = [6_u64.into(), u64::into(reference), ciborium::Value::Bytes(record)];
        guestright_identity::cose::encode(items.to_vec())
    };
    let lies = [
        liar.record().as_bytes().to_vec(),
        broken,
        vec![0x80],
        wanted.record_from(-90_000).as_bytes().to_vec(),
    ];
    for lie in lies {
        let (whom, reference) = asked(&mut homes);
        // Not by somebody else, and not under another number.
        homes.handle_frame(liar.id(), &answer(wanted.record().as_bytes().to_vec(), reference), NOW);
        homes.handle_frame(whom, &answer(wanted.record().as_bytes().to_vec(), reference + 99), NOW);
        homes.handle_frame(whom, &answer(lie, reference), NOW);
        assert_eq!(homes.poll_event(), None);
    }
    let counts = [("forged", 2), ("of another team", 1), ("over", 1), ("unasked", 8)];
    assert_eq!(homes.counts(), &counts.into_iter().collect());
    assert_eq!(homes.record_count(), 0);
    let (whom, reference) = asked(&mut homes);
    tell(&mut homes, whom, reference, wanted.record(), NOW);
    assert_eq!(homes.poll_event(), found(wanted.id()));
}

#[test]
fn a_home_says_where_it_is_and_not_where_others_are() {
    let (own, other, third) = (Household::new(1), Household::new(2), Household::new(3));
    let mut homes = Homes::new(own.id());
    let here = |record: HomeRecord| HomeMessage::Here { record }.emit();
    homes.handle_frame(other.id(), &here(third.record()), NOW);
    assert_eq!((homes.record_count(), homes.counts()["of another team"]), (0, 1));
    homes.handle_frame(other.id(), &here(other.record_from(10)), NOW);
    assert_eq!(homes.find(other.id(), NOW), Seek::UnderWay);
    assert_eq!(homes.poll_event(), found(other.id()), "nobody has to be asked");
    // What is older does not come back, and what has been given is no news.
    homes.handle_frame(other.id(), &here(other.record()), NOW + Micros(60 * SECOND.0));
    assert_eq!(homes.counts()["older"], 1);
    assert_eq!(homes.find(other.id(), NOW + SECOND), Seek::Nowhere);
    let later = NOW + Micros(120 * SECOND.0);
    homes.handle_frame(other.id(), &here(other.record_from(60)), later);
    assert_eq!(homes.find(other.id(), later), Seek::UnderWay);
    assert_eq!(homes.poll_event(), found(other.id()), "it has moved");
    // And not as often as it likes.
    for from in 61..71 {
        homes.handle_frame(other.id(), &here(other.record_from(from)), later);
    }
    assert!(homes.counts()["too many records"] >= 8, "{:?}", homes.counts());
}

#[test]
fn what_has_ended_is_not_given_out() {
    let mut net = Net::new(3, &[(0, 1), (1, 2)]);
    let wanted = net.id(2);
    net.now = NOW + Micros(86_401 * SECOND.0);
    assert_eq!(net.find(0, wanted), Some(HomesEvent::NotFound(wanted)));
    let fresh = net.households[2].record_from(86_400);
    net.homes[2].set_own(fresh);
    net.now = net.now + TRIED_FOR;
    assert_eq!(net.find(0, wanted), found(wanted), "who is linked is asked");
}

#[test]
fn who_is_silent_delays_a_look_up_and_does_not_end_it() {
    let count = ASKED_MAX + 2;
    let links: Vec<_> = (1..count).map(|other| (0, other)).collect();
    let mut net = Net::new(count as u64, &links);
    let wanted = Household::new(99);
    // All but the one who is asked last say nothing.
    let mut order: Vec<_> = (1..count).collect();
    order.sort_by_key(|index| (net.id(*index) <= net.id(0), net.id(*index)));
    let last = order[ASKED_MAX - 1];
    net.homes[last].handle_frame(wanted.id(), &HomeMessage::Here { record: wanted.record() }.emit(), NOW);
    net.silent = order.iter().copied().filter(|index| *index != last).collect();
    assert_eq!(net.find(0, wanted.id()), found(wanted.id()));
    assert_eq!(net.now, NOW + Micros(2 * MORE_AFTER.0));
    // Nobody answers at all: it ends before a phone's question does.
    net.silent = order;
    let begun = net.now;
    assert_eq!(net.find(0, nobody(0)), Some(HomesEvent::NotFound(nobody(0))));
    assert_eq!(net.now - begun, Micros(4 * EACH_HOP.0));
}

#[test]
fn an_answer_that_comes_too_late_is_there_for_the_next_try() {
    let (own, wanted) = (Household::new(1), Household::new(2));
    let mut homes = Homes::new(own.id());
    homes.handle_up(nobody(1), NOW);
    assert_eq!(homes.find(wanted.id(), NOW), Seek::UnderWay);
    let (whom, reference) = asked(&mut homes);
    let end = homes.poll_timeout().unwrap();
    homes.handle_timeout(end);
    assert_eq!(homes.poll_event(), Some(HomesEvent::NotFound(wanted.id())));
    tell(&mut homes, whom, reference, wanted.record(), end + SECOND);
    assert_eq!(homes.poll_event(), None);
    assert_eq!(homes.find(wanted.id(), end + SECOND), Seek::UnderWay);
    assert_eq!(homes.poll_event(), found(wanted.id()));
    tell(&mut homes, whom, reference, wanted.record(), end + SECOND);
    assert_eq!(homes.counts()["unasked"], 1);
}

/// Whoever is near an access point can name any team, as often as it likes.
#[test]
fn a_flood_of_names_costs_so_many_look_ups_and_one_name_one() {
    let own = Household::new(1);
    let mut homes = Homes::new(own.id());
    for number in 0..20 {
        homes.handle_up(nobody(number), NOW);
    }
    let known = Household::new(2);
    homes.handle_frame(known.id(), &HomeMessage::Here { record: known.record() }.emit(), NOW);
    let one: Vec<_> = (0..1_000).map(|_| homes.find(nobody(100), NOW)).collect();
    assert!(one.iter().all(|seek| *seek == Seek::UnderWay));
    assert_eq!(std::iter::from_fn(|| homes.poll_transmit()).count(), ASKED_AT_FIRST);
    let mut begun = 0;
    for number in 0..60_000 {
        let now = NOW + Micros(u64::from(number) * 1_000);
        begun += usize::from(homes.find(nobody(1_000 + number), now) == Seek::UnderWay);
        homes.handle_timeout(now);
        assert!(homes.pursuit_count() <= OWN_MAX);
    }
    assert!((OWN_MAX..=OWN_MAX + 20).contains(&begun), "{begun} in a minute");
    let sent = std::iter::from_fn(|| homes.poll_transmit()).count();
    assert!(sent <= (begun + 1) * ASKED_MAX, "{sent}");
    let mut ends = std::iter::from_fn(|| homes.poll_event());
    assert!(ends.all(|end| matches!(end, HomesEvent::NotFound(_))));
    assert_eq!(homes.find(known.id(), NOW), Seek::UnderWay, "what is known costs nothing");
    assert_eq!(homes.poll_event(), found(known.id()));
}

#[test]
fn what_others_ask_takes_nothing_of_ours_and_is_answered_once_each() {
    let own = Household::new(1);
    let mut homes = Homes::new(own.id());
    for number in 0..20 {
        homes.handle_up(nobody(number), NOW);
    }
    let ask = |number: u32| HomeMessage::Ask {
        reference: u64::from(number),
        team: nobody(1_000 + number),
        hops: u64::MAX,
    };
    let (mut answered, mut handed_on) = (0, 0);
    let mut drain = |homes: &mut Homes| {
        while let Some((_, frame)) = homes.poll_transmit() {
            match HomeMessage::parse(&frame).unwrap() {
                HomeMessage::Unknown { .. } => answered += 1,
                HomeMessage::Ask { hops, team, .. } => {
                    assert!(hops < HOPS_MAX || team == nobody(99), "{hops} of a question that was handed on");
                    handed_on += 1;
                }
                HomeMessage::Answer { .. } | HomeMessage::Here { .. } => panic!("nobody is known"),
            }
        }
    };
    for number in 0..10_000_u32 {
        let now = NOW + Micros(u64::from(number) * 1_000);
        homes.handle_frame(nobody(number % 10), &ask(number).emit(), now);
        homes.handle_timeout(now);
        drain(&mut homes);
    }
    assert_eq!(homes.find(nobody(99), NOW + Micros(10 * SECOND.0)), Seek::UnderWay);
    while let Some(due) = homes.poll_timeout() {
        homes.handle_timeout(due);
    }
    drain(&mut homes);
    assert_eq!(answered, 10_000);
    // 32 at once and 4 a second, three each; and ours.
    assert!((50..=73 * HANDED_ON_MAX + ASKED_MAX).contains(&handed_on), "{handed_on}");
}

#[test]
fn records_have_a_limit_and_those_of_linked_homes_stay() {
    let own = Household::new(1);
    let mut homes = Homes { records_max: 8, ..Homes::new(own.id()) };
    let linked = Household::new(2);
    homes.handle_up(linked.id(), NOW);
    homes.handle_frame(linked.id(), &HomeMessage::Here { record: linked.record() }.emit(), NOW);
    for number in 0..20 {
        let stranger = Household::new(10 + number);
        let now = NOW + Micros(number * 50_000);
        homes.handle_frame(stranger.id(), &HomeMessage::Here { record: stranger.record() }.emit(), now);
    }
    assert_eq!(homes.record_count(), 8);
    let team = Household::new(10).id();
    assert_eq!(homes.find(team, NOW), Seek::UnderWay);
    assert_eq!(asked(&mut homes).0, linked.id(), "what it had pushed out, somebody has to be asked");
    assert_eq!(homes.find(linked.id(), NOW), Seek::UnderWay);
    assert_eq!(homes.poll_event(), found(linked.id()));
}

#[test]
fn bytes_that_are_no_message_are_counted() {
    let own = Household::new(1);
    let mut homes = Homes::new(own.id());
    let far_too_long = [&[0x83, 6, 0][..], &[0; HomeMessage::LEN_MAX]].concat();
    for bytes in [&[][..], &[0x80], &[0x83, 5, 0, 0], &[0x82, 7, 0x18, 1], &far_too_long] {
        homes.handle_frame(nobody(1), bytes, NOW);
    }
    assert_eq!(homes.counts(), &[("malformed", 5)].into_iter().collect());
    assert!(homes.poll_transmit().is_none());
    let is_ours = |bytes: &[u8]| is_home_message(bytes);
    assert!(
        is_ours(&HomeMessage::Unknown { reference: 1 }.emit()) && !is_ours(&[0x83, 4]) && !is_ours(&[0x83])
    );
}
