use crate::access_point::{Address, Path};
use crate::message::{Nonce, Reference};
use guestright_identity::Certificate;
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, Time};

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
    asked_at: OrderedMap<Station, Time>,
}

/// Who may ask every so often: a computer for itself, and for its tunnel. Addresses are free, so they do not count.
type Station = ([u8; 6], bool);

fn station(address: Address) -> Station {
    (address.mac, address.home.is_some())
}

impl Questions {
    /// Notes a question that is asked `now`. It replaces one about the same visitor, but what a visitor only wants to know
    /// replaces nothing else; of more than `max`, the oldest gives
    /// way. For `gap` the same visitor's next question is too soon.
    pub(super) fn add(
        &mut self,
        reference: Reference,
        question: Question,
        max: usize,
        gap: Micros,
        now: Time,
    ) {
        let (address, only_asks) = (question.address, question.asks.is_some());
        self.under_way.retain(|_, other| other.address != address || other.asks.is_some() != only_asks);
        while self.under_way.len() >= max.max(1) {
            self.under_way.pop_first(); // References rise, so the first is the oldest.
        }
        self.asked_at.retain(|_, asked| now - *asked < gap);
        while self.asked_at.len() >= max.max(1) {
            self.asked_at.pop_first();
        }
        self.asked_at.insert(station(address), now);
        self.under_way.insert(reference, question);
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

    /// Whether a case of this visitor's computer was put to the team server less than `gap` ago.
    pub(super) fn is_too_soon(&self, address: Address, gap: Micros, now: Time) -> bool {
        self.asked_at.get(&station(address)).is_some_and(|&asked| now - asked < gap)
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
        assert!(questions.is_too_soon(other_address, GAP, asked), "addresses are free");
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
        assert_eq!(remembered, [2, 3].map(|number| station(address(number))), "the first gap is over");
    }
}
