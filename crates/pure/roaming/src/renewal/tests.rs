use super::*;
use crate::home::{Config, TeamServer};
use guestright_identity::{KeyId, Role, SecretKey, Suite, Warrant};
use guestright_reciprocity::StrangerCounters;
use rand::SeedableRng;
use rand::rngs::StdRng;

const START: UnixSeconds = UnixSeconds(1_800_000_000);
const MINUTE: u64 = 60;

struct Team {
    key: SecretKey,
    member: SecretKey,
    renewing: SecretKey,
    rng: StdRng,
}

impl Team {
    fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut key = || SecretKey::generate(Suite::Ed25519, &mut rng);
        let (team, member, renewing) = (key(), key(), key());
        Self { key: team, member, renewing, rng }
    }

    fn certificate(&self, role: Role, life: u64) -> Certificate {
        Certificate::issue(&self.key, self.member.public(), role, START, START.plus(life))
    }

    fn warrant(&self, until: u64, life_max: u64) -> Warrant {
        let renewing = self.renewing.public();
        Warrant::issue(&self.key, renewing, START, START.plus(until), life_max).unwrap()
    }

    fn renewer(&self, until: u64, life_max: u64) -> Renewer {
        let (key, warrant) = (self.renewing.clone(), self.warrant(until, life_max));
        Renewer::new(RenewerConfig { key, warrant }).unwrap()
    }

    fn server(&self, renewer: Option<Renewer>) -> TeamServer {
        let team = self.key.public().team_id();
        let strangers = StrangerCounters::default();
        let mut server = TeamServer::new(Config::default(), team, [], vec![], strangers, START.time());
        server.set_renewer(renewer);
        server
    }

    fn revoked(&self, key: KeyId, since: UnixSeconds) -> RevocationList {
        let revoked = std::collections::BTreeMap::from([(key, since)]);
        RevocationList::issue(&self.key, 1, since, revoked).unwrap()
    }
}

/// A program and its home, joined by a channel, in simulated time. The disk is full while `disk_is_full`.
struct Pair {
    renewal: Renewal,
    server: TeamServer,
    rng: StdRng,
    now: Time,
    disk_is_full: bool,
    /// What the home does not get, or the program does not get back.
    loses: bool,
    asked: u64,
    events: Vec<Event>,
}

impl Pair {
    fn new(mut team: Team, certificate: Certificate, renewer: Option<Renewer>) -> Self {
        let mut server = team.server(renewer);
        let now = START.time();
        server.handle_connected(1, certificate.clone(), now).unwrap();
        let mut renewal = Renewal::new(certificate, &mut team.rng, now);
        renewal.handle_home(true, &mut team.rng, now);
        let (disk_is_full, loses, asked, events) = (false, false, 0, Vec::new());
        Self { renewal, server, rng: team.rng, now, disk_is_full, loses, asked, events }
    }

    fn drain(&mut self) {
        loop {
            if let Some(event) = self.renewal.poll_event() {
                if let Event::Keep(_) = event {
                    let kept = if self.disk_is_full { Err("no space left".to_owned()) } else { Ok(()) };
                    self.renewal.handle_kept(kept, &mut self.rng, self.now);
                }
                self.events.push(event);
            } else if let Some(message) = self.renewal.poll_transmit() {
                self.asked += 1;
                if self.loses {
                    continue;
                }
                self.server.handle_input(1, &message, &mut self.rng, self.now);
                while self.server.poll_event().is_some() {}
                while let Some((_, answer)) = self.server.poll_transmit() {
                    self.renewal.handle_input(&answer, &mut self.rng, self.now);
                }
            } else {
                return;
            }
        }
    }

    /// Lets time pass, from one timeout to the next.
    fn run_until(&mut self, end: UnixSeconds) {
        let end = end.time();
        let mut steps = 0;
        self.drain();
        while let Some(at) = self.renewal.poll_timeout().filter(|at| *at <= end) {
            steps += 1;
            assert!(steps < 20_000, "it spins");
            self.now = self.now.max(at);
            self.renewal.handle_timeout(&mut self.rng, self.now);
            self.drain();
        }
        self.now = end;
    }

    fn notices(&self) -> Vec<(&'static str, u64)> {
        let of = |event: &Event| match event {
            Event::EndsSoon(notice) => Some(("soon", notice.not_after.0 - notice.now.0)),
            Event::Expired(_) => Some(("expired", 0)),
            Event::Keep(_) | Event::Renewed(_) | Event::Failed(_) => None,
        };
        self.events.iter().filter_map(of).collect()
    }
}

#[test]
fn ten_renewals_of_twenty_minutes_pass_unattended_for_each_role() {
    for role in [Role::Member, Role::AccessPoint, Role::Home] {
        for seed in 0..20 {
            let team = Team::new(seed);
            let renewer = team.renewer(86_400, 20 * MINUTE);
            let first = team.certificate(role, 20 * MINUTE);
            let mut pair = Pair::new(team, first.clone(), Some(renewer));
            let mut last = first;
            let mut at = START;
            while pair.renewal.renewals() < 10 {
                at = at.plus(10);
                pair.run_until(at);
                let own = pair.renewal.certificate();
                assert!(own.check(role, at).is_ok(), "never without a certificate that holds");
                let first_third = own.not_before().0 + own.life() / 3;
                if own != &last {
                    assert_eq!(own.original(), last.original());
                    assert!(at.0 >= last.not_before().0 + last.life() / 3, "not before a third of its life");
                    last = own.clone();
                } else {
                    assert!(at.0 <= first_third + own.life() / 3, "and well before its end");
                }
                assert!(at < START.plus(4 * 3_600), "ten renewals take less than ten lives");
            }
            assert_eq!(pair.notices(), [], "nobody is warned of what works");
            assert_eq!(pair.asked, 10, "and nobody asks more often than it has to");
        }
    }
}

#[test]
fn warnings_come_thirty_seven_and_one_days_before_the_end_each_once_and_then_the_end() {
    let team = Team::new(1);
    let certificate = team.certificate(Role::AccessPoint, 365 * DAY);
    let mut pair = Pair::new(team, certificate, None);
    pair.run_until(START.plus(400 * DAY));
    let want = [("soon", 30 * DAY), ("soon", 7 * DAY), ("soon", DAY), ("expired", 0)];
    assert_eq!(pair.notices(), want);
    let asked_a_day = pair.asked / 243;
    assert!(
        (4..=8).contains(&asked_a_day),
        "a home without a key is not asked all the time: {asked_a_day} a day"
    );
    let mut reasons = pair.events.iter().filter_map(|event| match event {
        Event::EndsSoon(notice) => notice.reason.clone(),
        Event::Keep(_) | Event::Renewed(_) | Event::Expired(_) | Event::Failed(_) => None,
    });
    assert!(reasons.all(|reason| reason.contains("this home has no renewing key")));
    let text = pair.renewal.notice(pair.now).to_string();
    for words in ["access point", "expired at 2028-01-15", "team member renew", "clock is wrong"] {
        assert!(text.contains(words), "{words} is missing: {text}");
    }
}

#[test]
fn a_short_life_is_warned_of_once_when_a_third_of_it_is_left() {
    let cases: [(u64, &[u64]); 4] = [
        (20 * MINUTE, &[400]),
        (10 * DAY, &[DAY]),
        (30 * DAY, &[7 * DAY, DAY]),
        (90 * DAY, &[30 * DAY, 7 * DAY, DAY]),
    ];
    for (life, want) in cases {
        let team = Team::new(2);
        let certificate = team.certificate(Role::Member, life);
        let mut pair = Pair::new(team, certificate, None);
        pair.run_until(START.plus(2 * life));
        let mut want: Vec<_> = want.iter().map(|left| ("soon", *left)).collect();
        want.push(("expired", 0));
        assert_eq!(pair.notices(), want, "{life}");
    }
}

#[test]
fn a_program_that_begins_late_says_the_nearest_warning_and_no_other() {
    let team = Team::new(3);
    let certificate = team.certificate(Role::Member, 365 * DAY);
    let mut rng = StdRng::seed_from_u64(3);
    let mut events_on = |day: u64| {
        let mut renewal = Renewal::new(certificate.clone(), &mut rng, START.plus(day * DAY).time());
        let mut events = Vec::new();
        while let Some(event) = renewal.poll_event() {
            events.push(event);
        }
        events
    };
    assert_eq!(events_on(300), []);
    assert!(matches!(events_on(360).as_slice(), [Event::EndsSoon(_)]));
    assert!(matches!(events_on(366).as_slice(), [Event::Expired(_)]));
    let early = Notice::of(&certificate, UnixSeconds(1)).to_string();
    assert!(
        early.contains("valid from 2027-01-15") && early.contains("set this computer's clock"),
        "{early}"
    );
}

#[test]
fn a_full_disk_leaves_the_old_certificate_and_is_tried_again() {
    let team = Team::new(4);
    let renewer = team.renewer(86_400, 1_200);
    let certificate = team.certificate(Role::Member, 1_200);
    let mut pair = Pair::new(team, certificate.clone(), Some(renewer));
    pair.disk_is_full = true;
    pair.run_until(START.plus(700));
    assert_eq!(pair.renewal.certificate(), &certificate);
    assert!(!pair.events.iter().any(|event| matches!(event, Event::Renewed(_))));
    let reason = pair.renewal.notice(pair.now).reason.unwrap();
    assert_eq!(reason, "the new certificate could not be kept: no space left");
    pair.disk_is_full = false;
    pair.run_until(START.plus(800));
    assert!(pair.renewal.certificate().not_after() > certificate.not_after());
    assert_eq!(pair.renewal.notice(pair.now).reason, None);
}

#[test]
fn lost_answers_are_asked_for_again_later_and_later() {
    let team = Team::new(5);
    let renewer = team.renewer(86_400, 1_200);
    let certificate = team.certificate(Role::Member, 1_200);
    let mut pair = Pair::new(team, certificate, Some(renewer));
    pair.loses = true;
    pair.run_until(START.plus(1_199));
    assert!((10..80).contains(&pair.asked), "{}", pair.asked);
    pair.loses = false;
    pair.run_until(START.plus(1_200));
    // It has less than a second left, and may be too late; with a minute it is not.
    let team = Team::new(5);
    let renewer = team.renewer(86_400, 1_200);
    let certificate = team.certificate(Role::Member, 1_200);
    let mut pair = Pair::new(team, certificate, Some(renewer));
    pair.loses = true;
    pair.run_until(START.plus(1_080));
    pair.loses = false;
    pair.run_until(START.plus(1_199));
    assert_eq!(pair.renewal.renewals(), 1);
}

#[test]
fn what_is_not_ours_is_left_alone_and_what_does_not_fit_is_not_taken() {
    let mut team = Team::new(6);
    let certificate = team.certificate(Role::Member, 1_200);
    let now = START.plus(900).time();
    let mut renewal = Renewal::new(certificate.clone(), &mut team.rng, now);
    renewal.handle_home(true, &mut team.rng, now);
    let now = now + Micros::from_seconds(60);
    renewal.handle_timeout(&mut team.rng, now);
    let Ok(Message::Rnew { reference, certificate: None }) =
        Message::parse(&renewal.poll_transmit().unwrap())
    else {
        panic!("it asks");
    };
    let foreign = Message::Erro { reference: Some(7), code: crate::message::Code::Busy, reason: "x".into() };
    assert!(!renewal.handle_input(&foreign.emit(), &mut team.rng, now));
    assert!(renewal.handle_input(b"RNEW P2PWNC/3.0\r\nReference: x\r\n\r\n", &mut team.rng, now));
    let other = Team::new(7);
    let later = |team: &Team, key: &SecretKey, role, life| {
        Certificate::issue(&team.key, key.public(), role, START, START.plus(life))
    };
    #[rustfmt::skip]
    let wrong = [
        later(&team, &other.member, Role::Member, 9_000),
        later(&other, &team.member, Role::Member, 9_000),
        later(&team, &team.member, Role::Home, 9_000),
        later(&team, &team.member, Role::Member, 1_200),
    ];
    for certificate in wrong {
        let mut asked = Renewal::new(renewal.certificate().clone(), &mut team.rng, now);
        asked.asked = Some(Asked { reference, until: now + Micros::from_seconds(9) });
        while asked.poll_event().is_some() {}
        let answer = Message::Rnew { reference, certificate: Some(Box::new(certificate)) };
        assert!(asked.handle_input(&answer.emit(), &mut team.rng, now));
        assert!(matches!(asked.poll_event(), Some(Event::Failed(_))));
    }
    let good = later(&team, &team.member, Role::Member, 9_000);
    let unasked = Message::Rnew { reference: reference + 1, certificate: Some(Box::new(good.clone())) };
    while renewal.poll_event().is_some() {}
    renewal.handle_input(&unasked.emit(), &mut team.rng, now);
    assert_eq!(renewal.poll_event(), None, "nobody gives what was not asked for");
    assert!(renewal.handle_replaced(good.clone(), &mut team.rng, now), "but a person may");
    assert_eq!(renewal.poll_event(), Some(Event::Renewed(Box::new(good))));
}

#[test]
fn the_home_renews_whoever_is_not_revoked_within_its_warrant() {
    let team = Team::new(8);
    let certificate = team.certificate(Role::Member, 1_200);
    let at = |seconds| START.plus(seconds).time();
    let mut renewer = team.renewer(3_000, 900);
    let first = renewer.renew(&certificate, None, at(600)).unwrap();
    assert_eq!(first.life(), 900, "the warrant's longest is less than the original's");
    assert_eq!(renewer.renew(&certificate, None, at(610)).as_ref(), Ok(&first), "asked again at once");
    assert_ne!(renewer.renew(&first, None, at(700)).as_ref(), Ok(&first), "later it is another");
    let would_end = START.plus(900); // Neither original nor warrant begins before.
    let early = team.renewer(3_000, 900).renew(&certificate, None, at(100));
    assert_eq!(early, Err(NotRenewed::NoLonger { would_end }));
    let expired = renewer.renew(&certificate, None, at(1_201));
    assert!(matches!(expired, Err(NotRenewed::Identity(IdentityError::Expired { .. }))));
    assert!(renewer.renew_own(&certificate, None, at(1_201)).is_ok(), "but the home renews its own");
    let last = renewer.renew_own(&certificate, None, at(2_990)).unwrap();
    assert_eq!(last.not_after(), START.plus(3_000), "never beyond the warrant");
    let over = renewer.renew_own(&certificate, None, at(3_001));
    assert!(matches!(over, Err(NotRenewed::Identity(IdentityError::WarrantExpired { .. }))));
    for (key, want) in [
        (team.member.public().id(), IdentityError::Revoked { since: START }),
        (team.renewing.public().id(), IdentityError::RenewingKeyRevoked { since: START }),
    ] {
        let list = team.revoked(key, START);
        let refused = renewer.renew(&certificate, Some(&list), at(700));
        assert_eq!(refused, Err(NotRenewed::Identity(want)));
    }
    let stranger = Team::new(9).certificate(Role::Member, 1_200);
    assert_eq!(renewer.renew(&stranger, None, at(600)), Err(NotRenewed::OtherTeam));
}

#[test]
fn a_channel_outlives_the_certificate_with_which_it_began() {
    let team = Team::new(10);
    let renewer = team.renewer(86_400, 1_200);
    let certificate = team.certificate(Role::Member, 1_200);
    let mut pair = Pair::new(team, certificate, Some(renewer));
    pair.run_until(START.plus(5_000));
    assert!(pair.renewal.renewals() >= 5, "{}", pair.renewal.renewals());
    // And ends if nobody renews it.
    pair.server.set_renewer(None);
    pair.run_until(START.plus(8_000));
    assert_eq!(pair.server.peers().count(), 0);
    assert_eq!(pair.notices().last(), Some(&("expired", 0)));
}
