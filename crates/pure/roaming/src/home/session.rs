//! Questions in a session, and what a team server has to do with other homes: what is reserved, and what is given away.

use super::credit::{Credit, Grant, KeptCredit, Neighbour, Output, SessionQuestion, TrialQuestion};
use super::decision::{BLOCKED, Question};
use super::{Event, HeldBack, TeamServer, Waiting};
use crate::message::{InSession, Message, Volume};
use guestright_credit::{Account, Accounts, Hold, HoldId, Proof, Signed, unframe};
use guestright_directory::Address;
use guestright_identity::{Certificate, CertificateRef, Role};
use guestright_receipt::{Bundle, Receipt, ReceiptError, SessionKey, UncheckedReceipt, Verified};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, TeamId, Time};
use rand::CryptoRng;
use std::collections::BTreeMap;

/// How many bundles of visitors that did not prove their keys yet are remembered.
const SHOWN_MAX: usize = 64;
/// For how many seconds a "no" holds: some of the allowance comes back meanwhile.
const NO_SECONDS: u32 = 60;

impl TeamServer {
    /// Takes up what was kept of credit and allowance. Before anything else goes in.
    pub fn restore_credit(&mut self, kept: KeptCredit, now: Time) {
        if let Some(config) = self.config.credit {
            let mut credit = Credit::new(config, self.team, kept, now);
            credit.serve_everybody(self.everybody_until);
            self.credit = Some(credit);
        }
    }

    /// Takes in a receipt of our people or access points that is durable already: at the start, or from a delegate.
    pub fn handle_first_hand(
        &mut self,
        receipt: &Receipt,
        certificate: &Certificate,
        rng: &mut impl CryptoRng,
        now: Time,
    ) {
        if let Some(credit) = &mut self.credit {
            credit.handle_receipt(Signed::of(receipt), proof(receipt, certificate), now);
            self.drain_credit(rng, now);
        }
    }

    /// Takes in a receipt that was signed in a member's place: it is stored, and then it counts.
    pub fn handle_signed(
        &mut self,
        receipt: Receipt,
        certificate: Certificate,
        rng: &mut impl CryptoRng,
        now: Time,
    ) {
        let certificates = BTreeMap::from([(certificate.reference(), certificate)]);
        let verified = Verified { receipts: vec![receipt], certificates, ..Verified::default() };
        self.store(verified, Waiting::Acknowledge { peer: 0, reference: None, refused: 0 }, rng, now);
        self.drain_credit(rng, now);
    }

    /// An [`Event::Keep`] is durable, and with it all before it.
    pub fn handle_kept(&mut self, token: guestright_credit::Token, rng: &mut impl CryptoRng, now: Time) {
        if let Some(credit) = &mut self.credit {
            credit.handle_kept(token, now);
        }
        self.drain_credit(rng, now);
    }

    /// Takes in a frame about a hold of another home, which has proved that it is `from`'s.
    pub fn handle_home_message(&mut self, from: TeamId, bytes: &[u8], rng: &mut impl CryptoRng, now: Time) {
        let message = match unframe(bytes) {
            Ok(message) => message,
            Err(error) => {
                *self.refusals.entry("hold").or_default() += 1;
                return self.push_event(Event::Refused { kind: "hold", reason: error.to_string() });
            }
        };
        let signed = message.proof().and_then(|proof| self.check_proof(proof, now));
        if let Some(credit) = &mut self.credit {
            credit.handle_message(from, message, signed, now);
        }
        self.drain_credit(rng, now);
    }

    /// How the home of a team can be reached has changed.
    pub fn handle_neighbour(&mut self, team: TeamId, state: Neighbour, rng: &mut impl CryptoRng, now: Time) {
        if let Some(credit) = &mut self.credit {
            credit.handle_neighbour(team, state, now);
        }
        self.drain_credit(rng, now);
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.credit.as_ref().and_then(Credit::poll_timeout)
    }

    /// Takes in that the time is now.
    pub fn handle_timeout(&mut self, rng: &mut impl CryptoRng, now: Time) {
        if let Some(credit) = &mut self.credit {
            credit.handle_timeout(now);
        }
        self.drain_credit(rng, now);
    }

    /// What is owed between the own team and others; nothing without credit.
    pub fn accounts(&self) -> Option<&Accounts> {
        self.credit.as_ref().map(|credit| credit.holds().accounts())
    }

    /// What is owed between the own team and another.
    pub fn account(&self, team: TeamId) -> Account {
        self.credit.as_ref().map(|credit| credit.account(team)).unwrap_or_default()
    }

    /// The holds that are remembered.
    pub fn holds(&self) -> impl Iterator<Item = (HoldId, &Hold)> {
        self.credit.iter().flat_map(|credit| credit.holds().holds())
    }

    /// Why homes were refused what they asked for, and how often.
    pub fn hold_refusals(&self) -> BTreeMap<&'static str, u64> {
        self.credit.as_ref().map(|credit| credit.holds().refusals().clone()).unwrap_or_default()
    }

    /// What is left of the allowance, and how much there is in a day; nothing without credit.
    pub fn allowance(&mut self, now: Time) -> Option<(Bytes, Bytes)> {
        let credit = self.credit.as_mut()?;
        let per_day = credit.config().allowance.per_day;
        Some((credit.allowance_left(now), per_day))
    }

    /// In which class a visitor of the team that shows nothing would begin now, or that it would not, and why; nothing without
    /// credit. Nothing is set aside for it.
    pub fn would_begin(&mut self, consumer: TeamId, now: Time) -> Option<(Option<ServiceClass>, String)> {
        let credit = self.credit.as_mut()?;
        if consumer == self.team {
            return Some((Some(ServiceClass::Own), "a member of the own team".to_owned()));
        }
        if self.blocked.contains(&consumer) {
            return Some((None, BLOCKED.to_owned()));
        }
        Some(match credit.begin(consumer, false, now) {
            Ok(grant) => (Some(grant.class), grant.reason),
            Err(reason) => (None, reason),
        })
    }

    /// The household has so much for a team from now on, beyond what it gives away to everybody. Says whether it can:
    /// not without credit, and not for too many teams.
    pub fn sponsor(&mut self, team: TeamId, left: Bytes, rng: &mut impl CryptoRng, now: Time) -> bool {
        let is_possible = self.credit.as_mut().is_some_and(|credit| credit.sponsor(team, left, now));
        self.drain_credit(rng, now);
        is_possible
    }

    /// What the household has left for single teams.
    pub fn sponsored(&self) -> impl Iterator<Item = (TeamId, Bytes)> {
        self.credit.iter().flat_map(|credit| credit.sponsored().iter().map(|(team, left)| (*team, *left)))
    }

    /// A visitor asks for service. It gets nothing yet: anybody can send a certificate. What it shows is remembered until
    /// it has proved its key.
    pub(super) fn begin(
        &mut self,
        question: &Question,
        certificate: &Certificate,
        bundle: &Bundle,
        now: Time,
    ) {
        let Question { peer, reference, consumer, .. } = *question;
        let Some(credit) = &mut self.credit else { return };
        let shows = !bundle.receipts.is_empty();
        let (grant, volume, valid_for, reason) = if consumer == self.team {
            (
                Some(ServiceClass::Own),
                None,
                self.config.decision_seconds,
                "a member of the own team".to_owned(),
            )
        } else {
            match credit.begin(consumer, shows, now) {
                Ok(Grant { class, volume, reason }) => {
                    (Some(class), Some(volume), credit.config().grant_seconds, reason)
                }
                Err(reason) => (None, None, NO_SECONDS, reason),
            }
        };
        if shows && volume.is_some() {
            while self.shown.len() >= SHOWN_MAX {
                self.shown.pop_first();
            }
            self.shown.insert((peer, certificate.reference()), bundle.clone());
        }
        let home = self.config.home_address.clone();
        self.push_event(Event::Begun { consumer, is_let_in: grant.is_some(), reason: reason.clone() });
        self.send(peer, &Message::Qrsp { reference, grant, volume, home, ind: None, valid_for, reason });
    }

    /// An access point asks how much more a session may take, or says that it is over.
    pub(super) fn handle_session_query(
        &mut self,
        question: &Question,
        InSession { started, left, unpaid }: InSession,
        certificate: &Certificate,
        bundle: &Bundle,
        rng: &mut impl CryptoRng,
        now: Time,
    ) {
        let Question { peer, reference, consumer, request, holds } = *question;
        let session = SessionKey { provider: self.team, member: certificate.member_id(), started };
        if consumer == self.team {
            return self.begin(question, certificate, &Bundle::default(), now);
        }
        let mut verified = self.verify(bundle, None, rng, now);
        verified.receipts.retain(|receipt| receipt.session() == session && receipt.consumer() == consumer);
        verified.receipts.sort_by_key(Receipt::weight);
        let Some(receipt) = verified.receipts.last() else {
            let reason = "the latest receipt of the session is not there".to_owned();
            return self.answer_no(question, reason);
        };
        let (signed, proof) = (Signed::of(receipt), proof(receipt, certificate));
        if let Some(shown) = self.shown.remove(&(peer, certificate.reference())) {
            let shown = self.verify(&shown, Some(certificate), rng, now);
            verified.receipts.extend(shown.receipts);
            verified.certificates.extend(shown.certificates);
        }
        let is_over = request == Bytes(0);
        let question = SessionQuestion { peer, reference, signed, proof, holds, left, unpaid, is_over };
        self.store(verified, Waiting::Continue(Box::new(question)), rng, now);
    }

    /// The session's receipt is durable.
    pub(super) fn ask_credit(&mut self, question: SessionQuestion, rng: &mut impl CryptoRng, now: Time) {
        let Some(credit) = &mut self.credit else { return };
        if question.is_over {
            let Signed { session, consumer, weight: signed, .. } = question.signed;
            let class = credit.class_of(session);
            credit.finish(session, question.unpaid, now);
            let (started, unpaid) = (session.started, question.unpaid);
            self.push_event(Event::Finished { consumer, started, class, signed, unpaid });
        } else {
            credit.ask(question, &self.graph, rng, now);
        }
        self.drain_credit(rng, now);
    }

    /// An access point asks for bytes that nobody will sign for; for nothing, where a trial is over.
    pub(super) fn handle_trial(&mut self, question: TrialQuestion, rng: &mut impl CryptoRng, now: Time) {
        let TrialQuestion { peer, reference, .. } = question;
        let Some(asker) = self.peers.get(&peer).map(Certificate::subject_id) else { return };
        let answer = Credit::handle_trial(self.credit.as_mut(), asker, question, now);
        self.drain_credit(rng, now);
        if let Some((granted, reason)) = answer {
            self.send_when_kept(peer, Message::Tryr { reference, granted, reason });
        }
    }

    fn answer_no(&mut self, question: &Question, reason: String) {
        let Question { peer, reference, .. } = *question;
        let no = Message::Qrsp {
            reference,
            grant: None,
            volume: None,
            ind: None,
            valid_for: NO_SECONDS,
            reason,
            home: None,
        };
        self.send(peer, &no);
    }

    /// Those of the receipts that are about what our people took or our access points gave.
    pub(super) fn first_hand(
        &self,
        receipts: &[Receipt],
        certificates: &BTreeMap<CertificateRef, Certificate>,
    ) -> Vec<(Signed, Proof)> {
        let Some(_) = &self.credit else { return Vec::new() };
        let ours = receipts.iter().filter(|receipt| self.is_ours(receipt));
        ours.filter_map(|receipt| {
            let certificate = certificates.get(&receipt.certificate())?;
            Some((Signed::of(receipt), proof(receipt, certificate)))
        })
        .collect()
    }

    fn is_ours(&self, receipt: &Receipt) -> bool {
        receipt.provider() == self.team || receipt.consumer() == self.team
    }

    /// Access points say what they gave, and members what they took. Neither says more that changes an account.
    pub(super) fn keep_to_own(&mut self, role: Role, verified: &mut Verified) {
        if self.credit.is_none() {
            return;
        }
        let (team, refused) = (self.team, &mut verified.refused);
        verified.receipts.retain(|receipt| {
            let says = if role == Role::AccessPoint { receipt.provider() } else { receipt.consumer() };
            if says != team {
                refused.push(ReceiptError::WrongTeam { got: says, want: team });
            }
            says == team
        });
    }

    /// A member says where the home of the team is that served it.
    pub(super) fn learn(&mut self, role: Role, home: Option<Address>, verified: &Verified) {
        let (Some(home), Some(first)) = (home, verified.receipts.first()) else { return };
        let provider = first.provider();
        if role == Role::Member && verified.receipts.iter().all(|receipt| receipt.provider() == provider) {
            self.push_event(Event::HomeLearned(provider, home));
        }
    }

    /// Answers once everything that the accounts say by now is durable.
    pub(super) fn send_when_kept(&mut self, peer: super::Peer, message: Message) {
        let writes = self.credit.as_ref().map(Credit::writes);
        match writes.filter(|(made, written)| made > written) {
            Some((write, _)) => self.held_back.push_back(HeldBack { write, peer, message }),
            None => self.send(peer, &message),
        }
    }

    /// What a receipt of another home's message says, if it is genuine.
    fn check_proof(&self, proof: &Proof, now: Time) -> Option<Signed> {
        let certificate = Certificate::parse(&proof.certificate).ok()?;
        let receipt = UncheckedReceipt::parse(&proof.receipt).ok()?;
        let seconds = now.unix_seconds();
        let receipt = self.config.rules.verify(receipt, &certificate, seconds).ok()?;
        let revoked = self.revocations.get(&certificate.team_id());
        let holds =
            revoked.is_none_or(|list| list.check_certificate(&certificate, receipt.started()).is_ok());
        holds.then(|| Signed::of(&receipt))
    }

    /// Carries outward what became of visits and holds.
    pub(super) fn drain_credit(&mut self, rng: &mut impl CryptoRng, now: Time) {
        let Some(credit) = &mut self.credit else { return };
        credit.try_again(&self.graph, rng, now);
        while let Some(output) = self.credit.as_mut().and_then(Credit::poll_output) {
            self.carry_out(output);
        }
        let (_, written) = self.credit.as_ref().map(Credit::writes).unwrap_or_default();
        while let Some(ready) = self.held_back.pop_front_if(|held| held.write <= written) {
            self.send(ready.peer, &ready.message);
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Answer { peer, reference, grant } => {
                let (grant, volume, valid_for, reason) = match grant {
                    Ok(Grant { class, volume, reason }) => {
                        let seconds = self.config.credit.map_or(NO_SECONDS, |credit| credit.grant_seconds);
                        (Some(class), Some(volume), seconds, reason)
                    }
                    Err(reason) => (None, Some(Volume::default()), NO_SECONDS, reason),
                };
                let home = None;
                self.send_when_kept(
                    peer,
                    Message::Qrsp { reference, grant, volume, home, ind: None, valid_for, reason },
                );
            }
            Output::Keep(write) => self.push_event(Event::Keep(Box::new(write))),
            Output::Send(team, message) => self.push_event(Event::SendHome(team, Box::new(message))),
            Output::Reserved { consumer, amount, between } => {
                self.push_event(Event::Reserved { consumer, amount, between });
            }
        }
    }
}

fn proof(receipt: &Receipt, certificate: &Certificate) -> Proof {
    Proof { receipt: receipt.as_bytes().to_vec(), certificate: certificate.as_bytes().to_vec() }
}
