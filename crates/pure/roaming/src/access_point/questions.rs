//! Who is let in: from CONN through QUER and QRSP to CACK.

use super::{AccessPoint, Address, Event, Path, Pending, Transmit};
use crate::access_point::session::{Session, Stage};
use crate::message::{Acknowledgement, Code, Message, Nonce};
use crate::message::{Reference, Update};
use guestright_identity::{Certificate, Role};
use guestright_receipt::Bundle;
use guestright_reciprocity::ServiceClass;
use guestright_units::{Micros, Time};

/// Why a question is not even passed on: kind, code, sentence.
type Refusal = (&'static str, Code, String);

/// What a visitor hands in with CONN.
pub(super) struct Knock {
    pub(super) address: Address,
    pub(super) path: Path,
    pub(super) certificate: Certificate,
    pub(super) nonce: Nonce,
    pub(super) bundle: Bundle,
}

impl AccessPoint {
    pub(super) fn handle_conn(&mut self, knock: Knock, now: Time) {
        let Knock { address, path, .. } = knock;
        if let Err((kind, code, reason)) = self.check_certificate(&knock.certificate, now) {
            return self.refuse(address, path, kind, code, reason);
        }
        let asked = |pending: &Pending| pending.address == address && pending.nonce == Some(knock.nonce);
        if self.pending.values().any(asked) {
            return; // Sent again; the answer is on its way.
        }
        if self.has_forgotten(&knock) {
            self.close(address, Code::Unpaid, now);
        }
        if let Err((kind, code, reason)) = self.check_place(&knock, now) {
            return self.refuse(address, path, kind, code, reason);
        }
        if let Some(session) = self.sessions.get_mut(&address) {
            session.path_claimed = path;
            if session.nonce == knock.nonce {
                return self.acknowledge(address, path);
            }
        }
        let gap = self.config.question_gap;
        let asked = self.asked_at.get(&address);
        if asked.is_some_and(|&asked| now - asked < gap) {
            let reason = "asked too often; wait a moment".to_owned();
            return self.refuse(address, path, "busy", Code::Busy, reason);
        }
        let Knock { certificate, nonce, bundle, .. } = knock;
        self.question(address, path, certificate, Some(nonce), bundle, now);
    }

    /// Whether a home that was called again asks for service as if for the first time: it was started anew, and nobody
    /// will sign for the session that it had.
    fn has_forgotten(&self, knock: &Knock) -> bool {
        let session = self.sessions.get(&knock.address);
        session.is_some_and(|session| {
            let same = session.path == knock.path
                && session.certificate.subject_id() == knock.certificate.subject_id();
            same && session.line_lost && session.stage == Stage::Open && session.nonce != knock.nonce
        })
    }

    fn check_certificate(&self, certificate: &Certificate, now: Time) -> Result<(), Refusal> {
        certificate
            .check(Role::Member, now.unix_seconds())
            .map_err(|error| ("certificate", Code::Certificate, error.to_string()))?;
        let legacy = certificate.subject().suite().is_legacy() || certificate.team().suite().is_legacy();
        if legacy && !self.config.rules.legacy_suites {
            let reason = "its suite is for measurements and not accepted here".to_owned();
            return Err(("legacy-suite", Code::Certificate, reason));
        }
        Ok(())
    }

    /// Whether this visitor may have or already has a place here.
    ///
    /// Anybody can send a CONN from somebody else's address, so it never ends the session that is there: that ends by
    /// itself if its visitor has gone and no longer signs.
    fn check_place(&self, knock: &Knock, now: Time) -> Result<(), Refusal> {
        let Knock { address, certificate, .. } = knock;
        match self.sessions.get(address) {
            Some(session)
                if session.is_closing() || session.certificate.subject_id() != certificate.subject_id() =>
            {
                let reason = "another session at this address is not over yet; ask again".to_owned();
                Err(("busy", Code::Busy, reason))
            }
            Some(_) => Ok(()),
            None if self.is_full() => Err(("busy", Code::Busy, "all places are taken".to_owned())),
            None => match self.debtors.check(*address, certificate.team_id(), now) {
                None => Ok(()),
                Some(wait) => {
                    let seconds = wait.0.div_ceil(1_000_000);
                    let reason = format!("an earlier session ended unpaid; ask again in {seconds} s");
                    Err(("debtor", Code::Refused, reason))
                }
            },
        }
    }

    /// Whether every place is taken by somebody who has proved a key.
    fn is_full(&self) -> bool {
        let proved = |session: &&Session| session.stage != Stage::Opening;
        self.sessions.len() >= self.config.sessions_max
            && self.sessions.values().filter(proved).count() >= self.config.sessions_max
    }

    pub(super) fn question(
        &mut self,
        address: Address,
        path: Path,
        certificate: Certificate,
        nonce: Option<Nonce>,
        bundle: Bundle,
        now: Time,
    ) {
        self.pending.retain(|_, pending| pending.address != address);
        while self.pending.len() >= self.config.pending_max.max(1) {
            self.pending.pop_first();
        }
        let gap = self.config.question_gap;
        self.asked_at.retain(|_, asked| now - *asked < gap);
        while self.asked_at.len() >= self.config.pending_max.max(1) {
            self.asked_at.pop_first();
        }
        self.asked_at.insert(address, now);
        let reference = self.next_reference();
        let until = now + self.config.decision_timeout;
        let quer = Message::Quer {
            reference,
            certificate: Box::new(certificate.clone()),
            request: self.config.request,
            bundle,
        };
        self.pending.insert(reference, Pending { address, path, certificate, nonce, until });
        self.transmits.push_back(Transmit::Home(quer.emit()));
    }

    pub(super) fn take_home(&mut self, bytes: &[u8], now: Time) {
        match Message::parse(bytes) {
            Ok(Message::Qrsp { reference, grant, valid_for, reason, .. }) => {
                self.handle_decision(reference, grant, valid_for, reason, now);
            }
            Ok(Message::Updt { reference, what: Update::Taken { .. } }) => {
                let delivered = self.outbox.delivered(reference, now);
                if !delivered.is_empty() {
                    self.events.push_back(Event::Delivered(delivered));
                }
                self.flush(now);
            }
            Ok(Message::Erro { reference: Some(reference), .. }) => {
                *self.refusals.entry("home").or_default() += 1;
                self.handle_home_away(reference, now);
            }
            Ok(_) | Err(_) => *self.refusals.entry("home").or_default() += 1,
        }
    }

    /// Decides without the team server: as the configuration says, and an open session goes on as it was.
    pub(super) fn handle_home_away(&mut self, reference: Reference, now: Time) {
        let Some(pending) = self.pending.get(&reference) else {
            return;
        };
        let (address, path) = (pending.address, pending.path);
        let session = self.sessions.get(&pending.address);
        let grant = session.map(|session| session.class).or(self.config.when_home_is_away);
        if grant.is_none() {
            self.calls.undecided(path);
        }
        let reason = "this household cannot decide now: its team server does not answer".to_owned();
        self.handle_decision(reference, grant, 60, reason, now);
        if let Some(session) = self.sessions.get_mut(&address) {
            session.decided_alone = true;
        }
    }

    fn handle_decision(
        &mut self,
        reference: Reference,
        grant: Option<ServiceClass>,
        valid_for: u32,
        reason: String,
        now: Time,
    ) {
        let Some(pending) = self.pending.remove(&reference) else {
            return;
        };
        let address = pending.address;
        if let Some(session) = self.sessions.get_mut(&address) {
            session.decided_alone = false;
        }
        let mut until = now + Micros::from_seconds(valid_for.max(1).into());
        let mut grant = grant;
        let session = self.sessions.get(&address);
        if let Some(session) =
            session.filter(|session| pending.nonce.is_some() && now < session.decided_until)
        {
            // Showing receipts can only help, as long as a decision holds: a CONN may be anybody's.
            grant = grant.max(Some(session.class));
            until = until.max(session.decided_until);
        }
        match (grant, session.map(Session::is_closing)) {
            (_, Some(true)) => {} // Too late for this session.
            (None, Some(false)) => self.close(address, Code::Refused, now),
            (None, None) => {
                self.refuse(address, pending.path, "denied", Code::Refused, reason);
                self.calls.over(pending.path, false, now);
            }
            (Some(class), Some(false)) => self.reclassify(&pending, class, until),
            (Some(class), None) => self.begin(pending, class, until, now),
        }
    }

    fn reclassify(&mut self, pending: &Pending, class: ServiceClass, until: Time) {
        let address = pending.address;
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        session.decided_until = until;
        session.nonce = pending.nonce.unwrap_or(session.nonce);
        if session.class != class {
            session.class = class;
            if session.stage == Stage::Open {
                self.events.push_back(Event::Reclassified { address, class });
            }
        }
        let asks = session.request.is_some();
        if pending.nonce.is_some() {
            self.acknowledge(address, pending.path);
            // Who went away and came back has not heard what it was asked, and has little time left to answer.
            if asks {
                self.send_request(address);
            }
        }
    }

    /// A granted visitor gets its place. Who has not proved a key by then gives way: forged questions cost nothing.
    fn begin(&mut self, pending: Pending, class: ServiceClass, until: Time, now: Time) {
        let Pending { address, path, certificate, nonce, .. } = pending;
        let Some(nonce) = nonce else { return }; // The session that it was for is over.
        if self.sessions.len() >= self.config.sessions_max {
            let opening = self.sessions.iter().filter(|(_, session)| session.stage == Stage::Opening);
            let oldest = opening.min_by_key(|(_, session)| session.timeout()).map(|(&address, _)| address);
            match oldest {
                Some(oldest) => self.turn_away(oldest, now),
                None => {
                    let reason = "all places are taken".to_owned();
                    return self.refuse(address, path, "busy", Code::Busy, reason);
                }
            }
        }
        let Some(started) = self.starts.next(certificate.subject_id(), now.unix_seconds()) else {
            let reason = "too many sessions begin at once".to_owned();
            return self.refuse(address, path, "busy", Code::Busy, reason);
        };
        let (deadline, retry_at) = (now + self.config.receipt_deadline, now + self.config.retry_after);
        let mut session = Session::new(path, certificate, started, class, nonce, until);
        session.await_receipt(now, deadline, retry_at);
        self.sessions.insert(address, session);
        self.acknowledge(address, path);
    }

    fn acknowledge(&mut self, address: Address, path: Path) {
        let Some(session) = self.sessions.get(&address) else {
            return;
        };
        let terms = Acknowledgement {
            nonce: session.nonce,
            member: session.certificate.subject_id(),
            provider: self.certificate.team_id(),
            started: session.started,
            interval: self.config.interval,
            volume: self.config.volume,
            class: session.class,
        };
        let certificate = Box::new(self.certificate.clone());
        let acknowledgement = terms.seal(&self.key, &self.certificate);
        let cack = Message::Cack { certificate, acknowledgement };
        self.answer(path, &cack);
    }
}
