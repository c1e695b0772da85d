//! Many conversations at one home.

use crate::phone::{Phone, TLS13};
use crate::world::{Household, NOW, realm};
use guestright_eap::{Config, ConversationId, Dropped, Ended, Limits, Outcome, Servers, TableLimits};
use guestright_units::{Micros, Time};

const LIMITS: TableLimits =
    TableLimits { conversations_max: 16, per_asker_max: 8, linger: Micros::from_seconds(10) };

struct Crowd {
    household: Household,
    servers: Servers<u8>,
    now: Time,
}

impl Crowd {
    fn new() -> Self {
        let household = Household::new(1);
        let servers = Servers::new(household.config(), LIMITS);
        Self { household, servers, now: NOW.time() }
    }

    fn begin(&mut self, asker: u8) -> Option<ConversationId> {
        self.now = self.now + Micros(1);
        let id = self.servers.begin(asker, None, self.now, &mut self.household.rng)?;
        let identity = self.phone().identify();
        self.servers.handle(id, &asker, &identity, self.now).unwrap();
        Some(id)
    }

    fn phone(&mut self) -> Phone {
        let (_, own) = self.household.phone();
        Phone::new(&TLS13, self.household.authority.certificate(), Some(&own))
    }

    fn transmit(&mut self, id: ConversationId) -> Option<Vec<u8>> {
        let mut found = None;
        while let Some((whose, packet)) = self.servers.poll_transmit() {
            found = (whose == id).then_some(packet).or(found);
        }
        found
    }

    /// A phone that has sent so many responses after its identity.
    fn talk(&mut self, asker: u8, rounds: usize) -> Option<(ConversationId, Phone, Vec<u8>)> {
        let id = self.begin(asker)?;
        let mut phone = self.phone();
        let mut request = self.transmit(id)?;
        for _ in 0..rounds {
            request = self.step(id, asker, &mut phone, &request)?;
        }
        Some((id, phone, request))
    }

    fn step(&mut self, id: ConversationId, asker: u8, phone: &mut Phone, request: &[u8]) -> Option<Vec<u8>> {
        let response = phone.handle(request)?;
        self.servers.handle(id, &asker, &response, self.now).ok()?;
        self.transmit(id)
    }

    fn is_accepted(
        &mut self,
        (id, mut phone, mut request): (ConversationId, Phone, Vec<u8>),
        asker: u8,
    ) -> bool {
        while let Some(next) = self.step(id, asker, &mut phone, &request) {
            request = next;
        }
        phone.handle(&request);
        matches!(self.servers.outcome(id), Some(Outcome::Accepted { .. })) && phone.succeeded
    }
}

#[test]
fn a_flood_of_beginnings_displaces_beginnings() {
    let mut crowd = Crowd::new();
    let honest = crowd.talk(1, 1).unwrap();
    let proven = crowd.talk(2, 2).unwrap();
    for number in 0..2_000_u32 {
        crowd.begin(u8::try_from(100 + number % 50).unwrap()).unwrap();
        crowd.transmit(honest.0);
        assert!(crowd.servers.len() <= LIMITS.conversations_max);
    }
    assert!(crowd.is_accepted(honest, 1) && crowd.is_accepted(proven, 2));
    let displaced =
        std::iter::from_fn(|| crowd.servers.poll_event()).filter(|(_, ended)| *ended == Ended::Displaced);
    assert!(displaced.count() > 1_000);
}

#[test]
fn a_flood_of_handshakes_by_one_displaces_its_own() {
    let mut crowd = Crowd::new();
    let honest = crowd.talk(1, 1).unwrap();
    for _ in 0..40 {
        crowd.talk(66, 1).unwrap();
        assert!(crowd.servers.len() <= 1 + LIMITS.per_asker_max);
    }
    assert!(crowd.is_accepted(honest, 1));
}

#[test]
fn who_has_many_handshakes_makes_room_for_who_has_none() {
    let mut crowd = Crowd::new();
    for asker in [66, 67] {
        for _ in 0..8 {
            crowd.talk(asker, 1).unwrap();
        }
    }
    assert_eq!(crowd.servers.len(), LIMITS.conversations_max);
    let honest = crowd.talk(1, 1).unwrap();
    assert_eq!(crowd.servers.len(), LIMITS.conversations_max);
    assert!(crowd.is_accepted(honest, 1));
}

#[test]
fn there_is_no_room_if_everybody_has_one_handshake() {
    let mut crowd = Crowd::new();
    for asker in 0..16 {
        crowd.talk(asker, 1).unwrap();
    }
    assert!(crowd.begin(99).is_none());
    crowd.now = crowd.now + Micros::from_seconds(61);
    assert!(crowd.begin(99).is_some(), "they were too slow");
}

#[test]
fn a_proven_phone_keeps_its_room() {
    let mut crowd = Crowd::new();
    let mut proven = Vec::new();
    for number in 0..16 {
        let asker = number / 8;
        proven.push((asker, crowd.talk(asker, 2).unwrap()));
    }
    assert!(crowd.begin(0).is_none(), "its own are in the way");
    assert!(crowd.begin(99).is_none());
    for (asker, phone) in proven {
        assert!(crowd.is_accepted(phone, asker));
    }
    assert!(crowd.begin(99).is_some(), "what is over makes room");
}

#[test]
fn a_conversation_belongs_to_who_began_it() {
    let mut crowd = Crowd::new();
    let (id, mut phone, request) = crowd.talk(1, 0).unwrap();
    let response = phone.handle(&request).unwrap();
    assert_eq!(crowd.servers.handle(id, &2, &response, crowd.now), Err(Dropped::Unknown));
    let nobody = ConversationId([0; 16]);
    assert_eq!(crowd.servers.handle(nobody, &1, &response, crowd.now), Err(Dropped::Unknown));
    assert_eq!(crowd.servers.handle(id, &1, &response, crowd.now), Ok(()));
}

#[test]
fn what_is_over_is_forgotten_in_time() {
    let mut crowd = Crowd::new();
    let slow = crowd.begin(1).unwrap();
    let done = crowd.talk(2, 0).unwrap();
    let id = done.0;
    assert!(crowd.is_accepted(done, 2));
    let forgotten = crowd.servers.poll_timeout().unwrap();
    assert_eq!(forgotten, crowd.now + LIMITS.linger);
    crowd.servers.handle_timeout(Time(forgotten.0 - 1));
    assert!(crowd.servers.outcome(id).is_some());
    crowd.servers.handle_timeout(forgotten);
    assert_eq!(crowd.servers.outcome(id), None);
    assert_eq!(crowd.servers.poll_event(), Some((id, Ended::Finished)));
    crowd.servers.handle_timeout(crowd.servers.poll_timeout().unwrap());
    assert_eq!(crowd.servers.poll_event(), Some((slow, Ended::TooSlow)));
    assert!(crowd.servers.is_empty() && crowd.servers.poll_timeout().is_none());
}

#[test]
fn a_conversation_goes_on_with_what_it_began_with() {
    let mut crowd = Crowd::new();
    let (old, mut old_phone, mut old_request) = crowd.talk(1, 1).unwrap();
    let Household { authority, rng, .. } = &mut crowd.household;
    let home = authority.issue_server(NOW, rng);
    let config = Config::new(authority.certificate(), realm(), &home, [].into(), Limits::default()).unwrap();
    crowd.servers.replace_config(config);
    let (new, mut new_phone, mut new_request) = crowd.talk(1, 1).unwrap();
    let both = [(old, &mut old_phone, &mut old_request), (new, &mut new_phone, &mut new_request)];
    for (id, phone, request) in both {
        while let Some(next) = crowd.step(id, 1, phone, request) {
            *request = next;
        }
        assert!(matches!(crowd.servers.outcome(id), Some(Outcome::Accepted { .. })), "{id:?}");
    }
}
