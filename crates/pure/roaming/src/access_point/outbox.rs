use crate::message::Reference;
use guestright_identity::Certificate;
use guestright_ordered::OrderedMap;
use guestright_receipt::{Bundle, Receipt, SessionKey};
use guestright_units::{Bytes, Time};

/// How many receipts wait for the team server at most; beyond that the oldest sessions give way. They stay in the
/// access point's own store.
const WAITING_MAX: usize = 10_000;

/// Receipts on their way to the team server: of each session the latest, and the last of each hold. The smaller go first, or
/// the home would not know what was on which hold.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: OrderedMap<(SessionKey, Bytes), (Receipt, Certificate)>,
    due: Option<Time>,
    sent: Option<Sent>,
}

/// The bundle that the team server has not acknowledged yet.
#[derive(Debug)]
struct Sent {
    reference: Reference,
    receipts: Vec<(SessionKey, Bytes)>,
}

impl Outbox {
    /// What the lists of a full bundle and the lengths of their items take at most.
    const ROOM: usize = 1_024;

    pub(super) fn push(&mut self, receipt: Receipt, certificate: Certificate, due: Time) {
        let (session, hold) = (receipt.session(), receipt.hold().map(|hold| hold.id));
        let of_session = self.waiting.range((session, Bytes(0))..=(session, Bytes(u64::MAX)));
        let same = |(_, (other, _)): &(_, &(Receipt, Certificate))| other.hold().map(|hold| hold.id) == hold;
        let replaced: Vec<_> = of_session.filter(same).map(|(key, _)| *key).collect();
        replaced.iter().for_each(|key| drop(self.waiting.remove(key)));
        self.waiting.insert((session, receipt.weight()), (receipt, certificate));
        if self.waiting.len() > WAITING_MAX {
            let oldest = self.waiting.keys().min_by_key(|(session, _)| session.started).copied();
            oldest.and_then(|key| self.waiting.remove(&key));
        }
        self.due.get_or_insert(due);
    }

    pub(super) fn hurry(&mut self, now: Time) {
        if !self.waiting.is_empty() && self.sent.is_none() {
            self.due = Some(now);
        }
    }

    pub(super) fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| now >= due) && !self.waiting.is_empty()
    }

    /// The receipts to send now; if they are not acknowledged by `again`, they are sent again.
    pub(super) fn next_bundle(&mut self, reference: Reference, again: Time) -> Bundle {
        let mut bundle = Bundle::default();
        let mut sent = Vec::new();
        let mut left = Bundle::LEN_MAX - Self::ROOM;
        for ((session, _), (receipt, certificate)) in self.waiting.iter().take(Bundle::RECEIPTS_MAX) {
            let certificate = certificate.as_bytes().to_vec();
            let len = receipt.as_bytes().len() + certificate.len();
            if len > left {
                break; // Only the long keys of the laboratory fill a bundle.
            }
            left -= len;
            if !bundle.certificates.contains(&certificate) {
                bundle.certificates.push(certificate);
            }
            bundle.receipts.push(receipt.as_bytes().to_vec());
            sent.push((*session, receipt.weight()));
        }
        self.sent = Some(Sent { reference, receipts: sent });
        self.due = Some(again);
        bundle
    }

    /// What the team server has taken in.
    pub(super) fn delivered(&mut self, reference: Reference, now: Time) -> Vec<(SessionKey, Bytes)> {
        let Some(Sent { receipts: sent, .. }) = self.sent.take_if(|sent| sent.reference == reference) else {
            return Vec::new();
        };
        sent.iter().for_each(|key| drop(self.waiting.remove(key)));
        self.due = (!self.waiting.is_empty()).then_some(now);
        sent
    }

    /// The connection is gone: what was sent is sent again.
    pub(super) fn lost(&mut self, due: Time) {
        self.sent = None;
        self.due = (!self.waiting.is_empty()).then_some(due);
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        self.due
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_identity::{Role, SecretKey, Suite};
    use guestright_units::{Micros, TeamId, UnixSeconds};
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    const NOW: Time = UnixSeconds(1_800_000_000).time();

    struct Member {
        key: SecretKey,
        certificate: Certificate,
    }

    impl Member {
        fn new(seed: u64) -> Self {
            let key = SecretKey::generate(Suite::Ed25519, &mut StdRng::seed_from_u64(seed));
            let now = NOW.unix_seconds();
            let certificate = Certificate::issue(&key, key.public(), Role::Member, now, now.plus(20_000));
            Self { key, certificate }
        }

        fn push(&self, outbox: &mut Outbox, session: u64, weight: u64, due: Time) {
            let started = NOW.unix_seconds().plus(session);
            let provider = TeamId([9; 24]);
            let receipt = Receipt::sign(&self.key, &self.certificate, provider, started, Bytes(weight));
            outbox.push(receipt, self.certificate.clone(), due);
        }
    }

    #[test]
    fn a_bundle_has_sixty_four_receipts_and_each_certificate_once() {
        let (first, second) = (Member::new(1), Member::new(2));
        let mut outbox = Outbox::default();
        for session in 0..40 {
            first.push(&mut outbox, session, 1, NOW);
            second.push(&mut outbox, session, 1, NOW);
        }
        let again = NOW + Micros(5);
        let bundle = outbox.next_bundle(7, again);
        assert_eq!((bundle.receipts.len(), bundle.certificates.len()), (64, 2));
        assert!(bundle.emit().len() <= Bundle::LEN_MAX);
        assert_eq!((outbox.len(), outbox.timeout()), (80, Some(again)));
        assert_eq!(outbox.delivered(8, NOW), [], "another bundle's");
        assert_eq!(outbox.delivered(7, NOW).len(), 64);
        assert_eq!((outbox.len(), outbox.timeout()), (16, Some(NOW)), "the rest at once");
        assert_eq!(outbox.delivered(7, NOW), [], "said twice");
        assert_eq!(outbox.next_bundle(9, again).receipts.len(), 16);
        assert_eq!((outbox.delivered(9, NOW).len(), outbox.timeout()), (16, None));
    }

    #[test]
    fn receipts_leave_when_the_first_of_them_is_due() {
        let member = Member::new(1);
        let mut outbox = Outbox::default();
        assert!(!outbox.is_due(NOW) && outbox.timeout().is_none());
        outbox.hurry(NOW);
        assert_eq!(outbox.timeout(), None, "there is nothing to send");
        let due = NOW + Micros(100);
        member.push(&mut outbox, 1, 1, due);
        member.push(&mut outbox, 2, 1, due + Micros(1));
        assert_eq!(outbox.timeout(), Some(due));
        assert!(!outbox.is_due(NOW + Micros(99)) && outbox.is_due(due));
        outbox.hurry(NOW);
        assert!(outbox.is_due(NOW));
        let again = NOW + Micros(500);
        outbox.next_bundle(1, again);
        outbox.hurry(NOW);
        assert_eq!(outbox.timeout(), Some(again), "who has sent waits for the answer");
        outbox.lost(NOW + Micros(7));
        assert_eq!(outbox.timeout(), Some(NOW + Micros(7)));
        assert_eq!(outbox.delivered(1, NOW), [], "the connection is another one");
    }

    #[test]
    fn what_has_grown_since_it_was_sent_is_sent_again() {
        let member = Member::new(1);
        let mut outbox = Outbox::default();
        member.push(&mut outbox, 1, 10, NOW);
        outbox.next_bundle(1, NOW);
        member.push(&mut outbox, 1, 20, NOW);
        assert_eq!(outbox.delivered(1, NOW).len(), 1);
        assert_eq!((outbox.len(), outbox.is_due(NOW)), (1, true));
        outbox.next_bundle(2, NOW);
        outbox.delivered(2, NOW);
        assert_eq!((outbox.len(), outbox.is_due(NOW)), (0, false));
        outbox.lost(NOW);
        assert_eq!(outbox.timeout(), None, "nothing is left to send");
    }
}
