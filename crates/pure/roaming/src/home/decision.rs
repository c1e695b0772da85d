//! How a question is answered: check the receipts that came along, have them stored, weigh.

use super::admission::Quota;
use super::credit::EVERYBODY;
use super::{Event, InStore, TeamServer, Token, Waiting};
use crate::message::{Code, Message, Reference, TeamDecision, Update, Volume};
use guestright_identity::{Certificate, IdentityError, Role};
use guestright_radius::relay::{Answer, Question as EapQuestion, Sentence, What};
use guestright_receipt::{Bundle, Receipt, ReceiptError, Verified};
use guestright_reciprocity::{Basis, Decision, Edge, Request, ServiceClass, Verdict};
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};
use rand::CryptoRng;

/// What a device that joins the Wi-Fi is assumed to consume, where a policy asks: as a visitor that has just come.
const JOIN_REQUEST: Bytes = Bytes(1_000_000);

/// What somebody learns who only asks may change as soon as somebody else is served.
const ASKED_SECONDS: u32 = 60;

/// For how many seconds it holds that a team is blocked: the household may change its mind.
const BLOCKED_SECONDS: u32 = 60;
/// The same of a grant that only holds because everybody is served.
const EVERYBODY_SECONDS: u32 = 60;
/// What its members learn.
pub(super) const BLOCKED: &str = "this household does not serve your team";

/// A question, as it waits for the store.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) peer: super::Peer,
    pub(super) reference: Reference,
    pub(super) consumer: TeamId,
    pub(super) request: Bytes,
    /// Whether the visitor signs receipts that name holds.
    pub(super) holds: bool,
}

/// How a request was decided, and for how many seconds that holds.
#[derive(Debug)]
pub(super) struct Weighed {
    pub(super) decision: Decision,
    pub(super) reason: String,
    pub(super) grant: Option<ServiceClass>,
    pub(super) valid_for: u32,
}

impl TeamServer {
    pub(super) fn handle_query(
        &mut self,
        question: Question,
        certificate: &Certificate,
        bundle: &Bundle,
        rng: &mut impl CryptoRng,
        now: Time,
    ) {
        let seconds = now.unix_seconds();
        let holds = certificate.check(Role::Member, seconds);
        if let Err(error) = holds.and_then(|()| self.check_revoked(certificate, seconds)) {
            let denied = Message::Qrsp {
                reference: question.reference,
                grant: None,
                ind: None,
                valid_for: 60,
                reason: error.to_string(),
                volume: None,
                home: None,
            };
            *self.refusals.entry("certificate").or_default() += 1;
            return self.send(question.peer, &denied);
        }
        if question.request == Bytes(0) {
            return self.foretell(&question, rng, now);
        }
        if self.credit.is_some() {
            return self.begin(&question, certificate, bundle, now);
        }
        let verified = self.verify(bundle, Some(certificate), rng, now);
        self.store(verified, Waiting::Decide(question), rng, now);
    }

    /// The household serves this team no more. What it was granted in a session is withdrawn.
    pub(super) fn turn_away(&mut self, question: &Question, in_session: bool) {
        *self.refusals.entry("blocked").or_default() += 1;
        let reason = BLOCKED.to_owned();
        if question.request > Bytes(0) && !in_session {
            let consumer = question.consumer;
            self.push_event(Event::Begun { consumer, is_let_in: false, reason: reason.clone() });
        }
        let no = Message::Qrsp {
            reference: question.reference,
            grant: None,
            ind: None,
            valid_for: BLOCKED_SECONDS,
            reason,
            volume: in_session.then(Volume::default),
            home: None,
        };
        self.send(question.peer, &no);
    }

    pub(super) fn check_revoked(
        &self,
        certificate: &Certificate,
        now: UnixSeconds,
    ) -> Result<(), IdentityError> {
        let list = self.revocations.get(&certificate.team_id());
        list.map_or(Ok(()), |list| list.check_certificate(certificate, now))
    }

    /// Checks a bundle. Receipts that a visitor shows must concern this team and stay within its sponsor's quota.
    pub(super) fn verify(
        &mut self,
        bundle: &Bundle,
        sponsor: Option<&Certificate>,
        rng: &mut impl CryptoRng,
        now: Time,
    ) -> Verified {
        let mut verified = bundle.verify(|_| None, &self.config.rules, now.unix_seconds(), rng);
        for list in std::mem::take(&mut verified.revocations) {
            self.handle_revocations(list);
        }
        let (revocations, refused) = (&self.revocations, &mut verified.refused);
        let certificates = &verified.certificates;
        verified.receipts.retain(|receipt| {
            let list = revocations.get(&receipt.consumer()).zip(certificates.get(&receipt.certificate()));
            let holds = list
                .map_or(Ok(()), |(list, certificate)| list.check_certificate(certificate, receipt.started()));
            holds.map_err(|error| refused.push(ReceiptError::NotEntitled(error))).is_ok()
        });
        for error in &verified.refused {
            *self.refusals.entry(error.kind()).or_default() += 1;
            self.push_event(Event::Refused { kind: error.kind(), reason: error.to_string() });
        }
        if let Some(sponsor) = sponsor.map(Certificate::team_id) {
            self.admission.fade(now);
            let quota = match &self.credit {
                Some(credit) => Quota::Given(credit.account(sponsor).given),
                None => Quota::Owed(self.graph.capacity(self.team, sponsor)),
            };
            let receipts = &mut verified.receipts;
            let (graph, credit) = (&self.graph, &self.credit);
            let knows = |team| graph.knows(team) || credit.as_ref().is_some_and(|credit| credit.knows(team));
            let left_out = self.admission.filter(receipts, sponsor, self.team, knows, quota);
            for (kind, count) in [("irrelevant", left_out.irrelevant), ("quota", left_out.over_quota)] {
                if count > 0 {
                    *self.refusals.entry(kind).or_default() += count;
                }
            }
        }
        verified
    }

    pub(super) fn store(
        &mut self,
        verified: Verified,
        waiting: Waiting,
        rng: &mut impl CryptoRng,
        now: Time,
    ) {
        let Verified { receipts, certificates, .. } = verified;
        if receipts.is_empty() {
            return self.answer_stored(waiting, 0, 0, rng, now);
        }
        if self.waiting.len() >= self.config.waiting_max {
            return self.answer_unstored(waiting, rng, now);
        }
        let first_hand = self.first_hand(&receipts, &certificates);
        let with_certificate = |receipt: Receipt| {
            let certificate = certificates.get(&receipt.certificate()).cloned();
            certificate.map(|certificate| (receipt, certificate))
        };
        let receipts = receipts.into_iter().filter_map(with_certificate).collect();
        let token = self.wait(InStore { waiting, first_hand });
        self.push_event(Event::Store { token, receipts });
    }

    /// Asks the store for receipts.
    pub(super) fn fetch(
        &mut self,
        waiting: Waiting,
        since: UnixSeconds,
        max: usize,
        rng: &mut impl CryptoRng,
        now: Time,
    ) {
        if self.waiting.len() >= self.config.waiting_max {
            return self.answer_unstored(waiting, rng, now);
        }
        let token = self.wait(InStore { waiting, first_hand: Vec::new() });
        self.push_event(Event::Fetch { token, since, max });
    }

    fn wait(&mut self, in_store: InStore) -> Token {
        self.next_token += 1;
        self.waiting.insert(self.next_token, in_store);
        self.next_token
    }

    pub(super) fn answer_stored(
        &mut self,
        waiting: Waiting,
        taken: usize,
        lower: usize,
        rng: &mut impl CryptoRng,
        now: Time,
    ) {
        match waiting {
            Waiting::Decide(question) => self.decide(&question, rng, now),
            Waiting::Acknowledge { peer, reference: Some(reference), refused } => {
                let short = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
                let what = Update::Taken { stored: short(taken - lower), refused: short(refused + lower) };
                self.send_when_kept(peer, Message::Updt { reference, what });
            }
            Waiting::Continue(question) => self.ask_credit(*question, rng, now),
            Waiting::Acknowledge { reference: None, .. } | Waiting::Fetch { .. } => {}
        }
    }

    /// Nothing may be acknowledged that was not stored; a question is decided by what is known.
    fn answer_unstored(&mut self, waiting: Waiting, rng: &mut impl CryptoRng, now: Time) {
        let reason = || "too much waits for the store; try later".to_owned();
        match waiting {
            Waiting::Decide(question) => self.decide(&question, rng, now),
            Waiting::Acknowledge { peer, reference, .. } => {
                self.refuse(peer, reference, "busy", Code::Busy, reason());
            }
            Waiting::Continue(question) => {
                self.refuse(question.peer, Some(question.reference), "busy", Code::Busy, reason());
            }
            Waiting::Fetch { peer, reference } => {
                self.refuse(peer, Some(reference), "busy", Code::Busy, reason());
            }
        }
    }

    /// Somebody wants to know whether it would be served: nothing is taken, reserved or remembered.
    fn foretell(&mut self, question: &Question, rng: &mut impl CryptoRng, now: Time) {
        let Question { peer, reference, consumer, .. } = *question;
        let mut answer = Message::Qrsp {
            reference,
            grant: None,
            ind: None,
            valid_for: ASKED_SECONDS,
            reason: String::new(),
            volume: None,
            home: None,
        };
        let Message::Qrsp { grant, ind, reason, volume, .. } = &mut answer else { return };
        if consumer == self.team {
            *grant = Some(ServiceClass::Own);
            "a member of the own team".clone_into(reason);
        } else if let Some(credit) = &mut self.credit {
            match credit.foretell(consumer, now) {
                Ok(would) => {
                    (*grant, *volume, *reason) = (Some(would.class), Some(would.volume), would.reason)
                }
                Err(no) => *reason = no,
            }
        } else {
            let request = Request { provider: self.team, consumer, bytes: JOIN_REQUEST };
            let decision = self.judge.decide(&self.graph, &mut self.scratch, request, rng);
            *ind = decision.ind.map(|ind| ind.per_mille().0);
            (*grant, *reason) = match decision.verdict {
                Verdict::Granted(class) => (Some(class), decision.reason()),
                Verdict::Refused if self.everybody_until(now).is_some() => {
                    (Some(ServiceClass::Lowest), EVERYBODY.to_owned())
                }
                Verdict::Refused => (None, decision.reason()),
            };
        }
        self.send(peer, &answer);
    }

    fn decide(&mut self, question: &Question, rng: &mut impl CryptoRng, now: Time) {
        // It may have been blocked while the store was at work.
        if self.blocked.contains(&question.consumer) {
            return self.turn_away(question, false);
        }
        let Question { peer, reference, consumer, request, .. } = *question;
        let request = Request { provider: self.team, consumer, bytes: request };
        let Weighed { decision, reason, grant, valid_for } = self.weigh(request, rng, now);
        let ind = decision.ind.map(|ind| ind.per_mille().0);
        self.send(
            peer,
            &Message::Qrsp {
                reference,
                grant,
                ind,
                valid_for,
                reason: reason.clone(),
                volume: None,
                home: None,
            },
        );
        self.push_event(Event::Decided { consumer, decision, reason });
    }

    /// Decides by the graph, as the papers have it.
    pub(super) fn weigh(&mut self, request: Request, rng: &mut impl CryptoRng, now: Time) -> Weighed {
        if now - self.faded >= self.config.fade_after {
            self.faded = now;
            self.judge.decay_strangers();
            let (graph, team) = (&self.graph, self.team);
            self.strangers.retain(|&stranger| graph.capacity(stranger, team) > Bytes(0));
        }
        let decision = self.judge.decide(&self.graph, &mut self.scratch, request, rng);
        if decision.verdict == Verdict::Refused && self.everybody_until(now).is_some() {
            let class = ServiceClass::Lowest;
            let decision = Decision { verdict: Verdict::Granted(class), ..decision };
            let reason = format!("Served in the {class} class: {EVERYBODY}.");
            return Weighed { decision, reason, grant: Some(class), valid_for: EVERYBODY_SECONDS };
        }
        let stranger = matches!(decision.basis, Basis::Stranger { .. });
        let grant = match decision.verdict {
            Verdict::Granted(class) => Some(class),
            Verdict::Refused => None,
        };
        if stranger && grant.is_some() && self.strangers.len() < self.config.strangers_max {
            self.strangers.insert(request.consumer);
        }
        let valid_for = if stranger { self.config.stranger_seconds } else { self.config.decision_seconds };
        Weighed { reason: decision.reason(), decision, grant, valid_for }
    }

    /// An access point asks: the program around has the team's home asked.
    pub(super) fn handle_eapq(
        &mut self,
        peer: super::Peer,
        reference: Reference,
        team: TeamId,
        question: Box<EapQuestion>,
        now: Time,
    ) {
        let (whose, max) = ((team, team == self.team), self.config.joining_max);
        if self.joining.ask(whose, &question, (peer, reference), max, now) {
            return self.push_event(Event::AskHome(team, question));
        }
        *self.refusals.entry("joining").or_default() += 1;
        let what = What::Away {
            reason: Sentence::new("Too many devices are trying to join at the moment. Try again."),
        };
        let answer = Box::new(Answer { conversation: question.conversation, what });
        self.send(peer, &Message::Eapr { reference, decision: None, answer });
    }

    /// Takes in what the home of a team, which has proved that it is that team's, answers to an [`Event::AskHome`]. An
    /// answer that nobody waits for does nothing.
    pub fn handle_home_answer(&mut self, team: TeamId, answer: Answer, rng: &mut impl CryptoRng, now: Time) {
        let Some((peer, reference)) = self.joining.answered((team, answer.conversation), now) else {
            *self.refusals.entry("joining-late").or_default() += 1;
            return;
        };
        let is_accepted = matches!(answer.what, What::Accept { .. });
        let decision = is_accepted.then(|| self.decide_on_team(team, rng, now));
        self.send(peer, &Message::Eapr { reference, decision, answer: Box::new(answer) });
    }

    /// Whether a session of the team may begin, as for a visitor that shows nothing.
    fn decide_on_team(&mut self, consumer: TeamId, rng: &mut impl CryptoRng, now: Time) -> TeamDecision {
        let (granted, reason) = if consumer == self.team {
            (true, "a member of the own team".to_owned())
        } else if self.blocked.contains(&consumer) {
            *self.refusals.entry("blocked").or_default() += 1;
            (false, BLOCKED.to_owned())
        } else if let Some(credit) = &mut self.credit {
            match credit.begin(consumer, false, now) {
                Ok(grant) => (true, grant.reason),
                Err(reason) => (false, reason),
            }
        } else {
            let request = Request { provider: self.team, consumer, bytes: JOIN_REQUEST };
            let weighed = self.weigh(request, rng, now);
            (weighed.grant.is_some(), weighed.reason)
        };
        self.push_event(Event::Begun { consumer, is_let_in: granted, reason: reason.clone() });
        TeamDecision { granted, reason }
    }

    /// Enters a stored receipt into the graph and into the memory of strangers.
    pub(super) fn count(&mut self, edge: Edge) {
        let Edge { consumer, provider, bytes } = edge;
        self.graph.add(consumer, provider, bytes);
        if provider == self.team && self.strangers.contains(&consumer) {
            self.judge.stranger_served(bytes);
        }
        if consumer == self.team && self.strangers.contains(&provider) {
            self.judge.stranger_returned(bytes);
        }
    }
}
