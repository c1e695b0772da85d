use crate::access_point::{Address, Path};
use crate::message::{Nonce, Reference};
use guestright_identity::Certificate;
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, Time};

/// What a visitor reads whose question comes too soon on account of others. Its program asks again by itself.
pub(super) const CROWDED: &str = "many devices with one hardware address, as behind a repeater, ask at once, and five of them a second \
                                  have their turn";
/// What a visitor reads whose address somebody else is served at. Its program asks again by itself.
pub(super) const ADDRESS_TAKEN: &str = "another session at this address is not over yet; of devices that share an address, as behind a \
                                        router or a phone that shares its connection, one is served at a time: end the other visit, \
                                        or let each device join this network itself";

/// A question to the team server that was not answered yet.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) address: Address,
    pub(super) path: Path,
    pub(super) certificate: Certificate,
    /// Nothing: the access point asks by itself, in an open session.
    pub(super) nonce: Option<Nonce>,
    /// Whether the visitor signs receipts that name holds.
    pub(super) holds: bool,
    /// The visitor only wants to know: its own number for the question.
    pub(super) asks: Option<Reference>,
    /// Then it is decided without the team server.
    pub(super) until: Time,
}

/// Questions to the team server that are under way, and who was asked about a moment ago.
#[derive(Debug, Default)]
pub(super) struct Questions {
    under_way: OrderedMap<Reference, Question>,
    asked_at: OrderedMap<Address, Time>,
    /// When each station's questions would be over if they had come a gap apart.
    stations: OrderedMap<Station, Time>,
}

/// Who may ask every so often: a computer for itself, and for its tunnel. Addresses are free, so all of a hardware address's share
/// one pace.
type Station = ([u8; 6], bool);

/// So many questions of one station may come at once. Behind a repeater is a family that comes back together, with one hardware
/// address for all.
const BURST: u64 = 16;

fn station(address: Address) -> Station {
    (address.mac, address.home.is_some())
}

impl Questions {
    /// Notes a question that is asked `now`. It replaces one about the same visitor, but what a visitor only wants to know
    /// replaces nothing else; of more than `max`, the oldest gives
    /// way. For `gap` the same visitor's next question is too soon. What an access point asks by itself, in an open session, makes
    /// nobody's question come too soon.
    pub(super) fn add(
        &mut self,
        reference: Reference,
        question: Question,
        max: usize,
        gap: Micros,
        now: Time,
    ) {
        let (address, only_asks) = (question.address, question.asks.is_some());
        if question.nonce.is_some() || only_asks {
            self.note_asked(address, max, gap, now);
        }
        self.under_way.retain(|_, other| other.address != address || other.asks.is_some() != only_asks);
        while self.under_way.len() >= max.max(1) {
            self.under_way.pop_first(); // References rise, so the first is the oldest.
        }
        self.under_way.insert(reference, question);
    }

    fn note_asked(&mut self, address: Address, max: usize, gap: Micros, now: Time) {
        self.asked_at.retain(|_, asked| now - *asked < gap);
        self.stations.retain(|_, until| *until > now);
        while self.asked_at.len() >= max.max(1) {
            self.asked_at.pop_first();
        }
        while self.stations.len() >= max.max(1) {
            self.stations.pop_first();
        }
        self.asked_at.insert(address, now);
        let until = self.stations.entry(station(address)).or_insert(now);
        *until = (*until).max(now) + gap;
    }

    pub(super) fn get(&self, reference: Reference) -> Option<&Question> {
        self.under_way.get(&reference)
    }

    pub(super) fn remove(&mut self, reference: Reference) -> Option<Question> {
        self.under_way.remove(&reference)
    }

    /// Whether this very CONN is being decided.
    pub(super) fn is_under_way(&self, address: Address, nonce: Nonce) -> bool {
        self.under_way.values().any(|question| question.address == address && question.nonce == Some(nonce))
    }

    /// Whether this very question is being put to the team server.
    pub(super) fn is_asked(&self, address: Address, asks: Reference) -> bool {
        self.under_way.values().any(|question| question.address == address && question.asks == Some(asks))
    }

    /// Whether a case of this visitor was put to the team server less than `gap` ago, or too many were of its station.
    pub(super) fn is_too_soon(&self, address: Address, gap: Micros, now: Time) -> bool {
        self.asked_at.get(&address).is_some_and(|&asked| now - asked < gap)
            || self.is_crowded(address, gap, now)
    }

    /// Whether so many cases of this visitor's station were put to the team server that the next has to wait, whoever's it is.
    pub(super) fn is_crowded(&self, address: Address, gap: Micros, now: Time) -> bool {
        let latest = now + Micros(gap.0.saturating_mul(BURST - 1));
        self.stations.get(&station(address)).is_some_and(|&until| until > latest)
    }

    /// The ways on which their visitors wait for an answer.
    pub(super) fn paths(&self) -> impl Iterator<Item = Path> {
        self.under_way.values().map(|question| question.path)
    }

    /// Nobody is going to answer: all of them are overdue.
    pub(super) fn expire(&mut self, now: Time) {
        for question in self.under_way.values_mut() {
            question.until = now;
        }
    }

    pub(super) fn overdue(&self, now: Time) -> Vec<Reference> {
        let overdue = self.under_way.iter().filter(|(_, question)| now >= question.until);
        overdue.map(|(&reference, _)| reference).collect()
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        self.under_way.values().map(|question| question.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_identity::{Role, SecretKey, Suite};
    use guestright_units::UnixSeconds;
    use rand::SeedableRng;
    use std::net::Ipv4Addr;

    const NOW: Time = Time(1_000_000_000);
    const GAP: Micros = Micros::from_millis(200);

    fn address(number: u8) -> Address {
        Address::new([2, 0, 0, 0, 0, number], [10, 0, 0, number].into())
    }

    fn certificate() -> Certificate {
        let mut rng = rand::rngs::StdRng::seed_from_u64(1);
        let team = SecretKey::generate(Suite::Ed25519, &mut rng);
        Certificate::issue(&team, team.public(), Role::Member, UnixSeconds(0), UnixSeconds(9))
    }

    /// Asks about these visitors, one microsecond after the other, by the reference and the path of their number.
    fn ask(questions: &mut Questions, numbers: &[u8], max: usize) {
        for &number in numbers {
            let (now, until) = (NOW + Micros(number.into()), NOW + Micros::from_seconds(u64::from(number)));
            let (path, nonce) = (number.into(), Some([number; 16]));
            let question = Question {
                address: address(number),
                path,
                certificate: certificate(),
                nonce,
                holds: true,
                asks: None,
                until,
            };
            questions.add(number.into(), question, max, GAP, now);
        }
    }

    #[test]
    fn of_too_many_questions_the_oldest_gives_way() {
        let mut questions = Questions::default();
        ask(&mut questions, &[1, 2, 3, 4], 3);
        assert_eq!(questions.paths().collect::<Vec<_>>(), [2, 3, 4]);
        assert!(questions.get(1).is_none() && questions.get(2).is_some());
        ask(&mut questions, &[5], 0);
        assert_eq!(questions.paths().collect::<Vec<_>>(), [5], "the newest is always asked");
    }

    #[test]
    fn a_visitor_has_one_question_and_waits_before_the_next() {
        let mut questions = Questions::default();
        ask(&mut questions, &[1, 2], 9);
        let again = Question { path: 77, ..questions.remove(1).unwrap() };
        let until = again.until;
        questions.add(3, again, 9, GAP, NOW + Micros(3));
        assert_eq!(questions.paths().collect::<Vec<_>>(), [2, 77]);
        assert!(questions.is_under_way(address(1), [1; 16]) && !questions.is_under_way(address(1), [2; 16]));
        assert!(!questions.is_under_way(address(2), [1; 16]));
        let asked = NOW + Micros(3);
        assert!(questions.is_too_soon(address(1), GAP, asked + Micros(GAP.0 - 1)));
        assert!(!questions.is_too_soon(address(1), GAP, asked + GAP));
        assert!(!questions.is_too_soon(address(9), GAP, asked));
        let other_address = Address { ip: [10, 0, 9, 9].into(), ..address(1) };
        assert!(!questions.is_too_soon(other_address, GAP, asked), "somebody else behind the same repeater");
        let tunnel = Address { home: Some([192, 0, 2, 1].into()), ..address(1) };
        assert!(!questions.is_too_soon(tunnel, GAP, asked));
        assert_eq!((questions.timeout(), questions.overdue(until)), (Some(until), vec![3]));
        assert_eq!(questions.overdue(Time(until.0 - 1)), []);
        questions.expire(NOW);
        assert_eq!((questions.timeout(), questions.overdue(NOW)), (Some(NOW), vec![2, 3]));
    }

    #[test]
    fn who_asked_long_ago_makes_room_for_who_asks_now() {
        let mut questions = Questions::default();
        ask(&mut questions, &[1, 2], 3);
        let late = Question { address: address(3), ..questions.remove(1).unwrap() };
        questions.add(9, late, 3, GAP, NOW + GAP + Micros(1));
        let remembered: Vec<_> = questions.asked_at.keys().copied().collect();
        assert_eq!(remembered, [2, 3].map(address), "the first gap is over");
        let remembered: Vec<_> = questions.stations.keys().copied().collect();
        assert_eq!(remembered, [2, 3].map(|number| station(address(number))), "the first gap is over");
    }

    /// Puts a question of somebody behind station 1 at each of these times, if it is not too soon; returns how many were put.
    fn behind_one_station(questions: &mut Questions, times: impl Iterator<Item = Time>) -> usize {
        let asked = times.enumerate().filter(|(number, now)| {
            let ip = Ipv4Addr::from_bits(0x0a01_0000 + u32::try_from(*number).unwrap());
            let visitor = Address { ip, ..address(1) };
            if questions.is_too_soon(visitor, GAP, *now) {
                assert!(questions.is_crowded(visitor, GAP, *now), "each of them asks once");
                return false;
            }
            let (path, nonce) = (u64::from(ip.to_bits()), Some([1; 16]));
            let (certificate, until) = (certificate(), *now + Micros::from_seconds(60));
            let question =
                Question { address: visitor, path, certificate, nonce, holds: true, asks: None, until };
            questions.add(path, question, 9_999, GAP, *now);
            true
        });
        asked.count()
    }

    #[test]
    fn a_family_behind_one_hardware_address_asks_at_once_and_a_flood_at_a_pace() {
        let mut questions = Questions::default();
        let burst = usize::try_from(BURST).unwrap();
        assert_eq!(behind_one_station(&mut questions, std::iter::repeat_n(NOW, burst)), burst);
        assert!(!questions.is_too_soon(address(2), GAP, NOW), "another station");
        // A thousand a second for ten seconds, of which there is an answer for five a second.
        let flood = (1..=10_000).map(|millisecond| NOW + Micros::from_millis(millisecond));
        assert_eq!(behind_one_station(&mut questions, flood), 50);
    }

    #[test]
    fn what_is_asked_in_open_sessions_keeps_nobody_waiting() {
        let mut questions = Questions::default();
        for number in 0..200 {
            let own = Question {
                address: address(1),
                path: 1,
                certificate: certificate(),
                nonce: None,
                holds: true,
                asks: None,
                until: NOW + GAP,
            };
            questions.add(number, own, 9, GAP, NOW);
        }
        assert!(!questions.is_too_soon(address(1), GAP, NOW));
    }
}
