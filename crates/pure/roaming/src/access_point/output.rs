//! How a visitor is served: requests and receipts, and the end of a session.

use super::{AccessPoint, Address, Event, Path, Transmit};
use crate::access_point::session::Stage;
use crate::message::{Code, Message};
use guestright_receipt::{Bundle, Receipt, ReceiptError, UncheckedReceipt};
use guestright_units::Time;

/// How often the firewall is told to stop a visitor before its last counters are taken as final.
const CLOSING_ATTEMPTS_MAX: u32 = 5;

impl AccessPoint {
    pub(super) fn handle_receipt(&mut self, address: Address, path: Path, bundle: &Bundle, now: Time) {
        if !self.sessions.contains_key(&address) {
            let reason = "a receipt without a session; ask for service first".to_owned();
            return self.refuse(address, path, "no-session", Code::NoSession, reason);
        }
        match self.check_receipt(address, bundle, now) {
            Ok(receipt) => self.accept(address, path, receipt, now),
            Err(error) => self.refuse(address, path, error.kind(), Code::Receipt, error.to_string()),
        }
    }

    fn check_receipt(&self, address: Address, bundle: &Bundle, now: Time) -> Result<Receipt, ReceiptError> {
        let session = self.sessions.get(&address).ok_or(ReceiptError::OtherSession)?;
        let [encoded] = bundle.receipts.as_slice() else {
            return Err(ReceiptError::OtherSession);
        };
        let receipt = UncheckedReceipt::parse(encoded)?;
        let own = self.certificate.team_id();
        if receipt.provider() != own {
            return Err(ReceiptError::WrongTeam { got: receipt.provider(), want: own });
        }
        if receipt.started() != session.started || receipt.certificate() != session.certificate.reference() {
            return Err(ReceiptError::OtherSession);
        }
        let known = session.request.as_ref().map_or(session.signed, |request| request.weight);
        if receipt.weight() < known {
            return Err(ReceiptError::LowerWeight { got: receipt.weight(), known });
        }
        if session.is_own(own) {
            // A team owes itself nothing: the signature proves the member, and nobody keeps the receipt.
            receipt.claim(&session.certificate)?.verify()?;
            return Receipt::from_kept(encoded, &session.certificate);
        }
        self.config.rules.verify(receipt, &session.certificate, now.unix_seconds())
    }

    fn accept(&mut self, address: Address, path: Path, receipt: Receipt, now: Time) {
        let own_team = self.certificate.team_id();
        let interval = self.config.interval;
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        let raised = receipt.weight() > session.signed;
        let answered = session.request.take();
        if !raised && answered.is_none() {
            return; // Sent twice: it must not put the next request off.
        }
        (session.path, session.path_claimed) = (path, path);
        session.signed = session.signed.max(receipt.weight());
        if let Some(request) = answered {
            // From when it was asked: a visitor that answers late gains nothing by it.
            session.request_at = request.made + interval;
        }
        if raised && !session.is_own(own_team) {
            let certificate = session.certificate.clone();
            let due = now + self.config.flush_after;
            self.outbox.push(receipt.clone(), certificate.clone(), due);
            self.events.push_back(Event::Received(receipt, Box::new(certificate)));
        }
        match session.stage {
            Stage::Opening => {
                (session.stage, session.counted_at) = (Stage::Open, now);
                let (class, member) = (session.class, session.certificate.subject_id());
                self.events.push_back(Event::Opened { address, class, member });
                self.served(address, now);
            }
            Stage::Settling { .. } => self.forget(address, now),
            Stage::Open | Stage::Closing { .. } => {}
        }
    }

    pub(super) fn session_timeout(&mut self, address: Address, now: Time) {
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        let is_idle = self.config.is_idle(address, session, now);
        match (&mut session.request, session.stage) {
            (_, Stage::Closing { code, told, again }) if now >= again => {
                self.tell_firewall(address, code, told, now);
            }
            (Some(request), stage) if now >= request.deadline => match stage {
                Stage::Opening => self.turn_away(address, now),
                Stage::Settling { .. } => self.forget(address, now),
                Stage::Open | Stage::Closing { .. } => self.close(address, Code::Unpaid, now),
            },
            (Some(request), _) if now >= request.retry_at => {
                request.retry_at = now + self.config.retry_after;
                self.send_request(address);
            }
            (None, Stage::Open) if is_idle => {
                self.close(address, Code::Closed, now);
            }
            (None, Stage::Open) if now >= session.request_at => self.request(address, now),
            (None, Stage::Open) if now >= session.decided_until => {
                session.decided_until = now + self.config.decision_timeout + self.config.decision_timeout;
                let (path, certificate) = (session.path, session.certificate.clone());
                self.question(address, path, certificate, None, Bundle::default(), now);
            }
            _ => {}
        }
    }

    pub(super) fn request(&mut self, address: Address, now: Time) {
        let (deadline, retry_at) = (now + self.config.receipt_deadline, now + self.config.retry_after);
        if let Some(session) = self.sessions.get_mut(&address) {
            session.await_receipt(now, deadline, retry_at);
            self.send_request(address);
        }
    }

    pub(super) fn send_request(&mut self, address: Address) {
        let Some(session) = self.sessions.get(&address) else {
            return;
        };
        let Some(request) = &session.request else { return };
        let last = matches!(session.stage, Stage::Settling { .. });
        let message = Message::Rreq { started: session.started, weight: request.weight, last };
        let (path, claimed) = (session.path, session.path_claimed);
        self.answer(path, &message);
        if claimed != path {
            self.answer(claimed, &message);
        }
    }

    pub(super) fn close(&mut self, address: Address, code: Code, now: Time) {
        let Some(session) = self.sessions.get_mut(&address) else {
            return;
        };
        match session.stage {
            Stage::Opening => self.turn_away(address, now),
            Stage::Open => {
                session.request = None;
                self.tell_firewall(address, code, 0, now);
            }
            Stage::Closing { .. } | Stage::Settling { .. } => {}
        }
    }

    /// A firewall that does not answer is told again, and at last what it counted before is what counts.
    fn tell_firewall(&mut self, address: Address, code: Code, told: u32, now: Time) {
        if told == CLOSING_ATTEMPTS_MAX {
            *self.refusals.entry("firewall").or_default() += 1;
            return self.forget(address, now);
        }
        if let Some(session) = self.sessions.get_mut(&address) {
            let again = now + self.config.receipt_deadline;
            session.stage = Stage::Closing { code, told: told + 1, again };
            self.events.push_back(Event::Closing { address, code });
        }
    }

    /// Ends a session in which nothing ever passed, because no receipt over zero bytes came.
    pub(super) fn turn_away(&mut self, address: Address, now: Time) {
        if let Some(session) = self.sessions.remove(&address) {
            self.calls.over(session.path, false, now);
            *self.refusals.entry("no-proof").or_default() += 1;
            let reason = "no receipt over zero bytes came: the key was not proved; ask again";
            self.answer(session.path, &Message::error(Code::NoSession, reason));
        }
    }

    pub(super) fn forget(&mut self, address: Address, now: Time) {
        let Some(session) = self.sessions.remove(&address) else {
            return;
        };
        let code = session.end_code();
        let lost = address.home.filter(|_| session.line_lost && code == Code::Unpaid);
        let pardoned = lost.is_some_and(|home| self.calls.pardon(home, &self.config.calls, now));
        if pardoned {
            self.calls.stay(session.path, &self.config.calls, now);
        } else {
            self.calls.over(session.path, code == Code::Closed, now);
        }
        let (signed, unpaid) = (session.signed, session.unpaid());
        let team = session.certificate.team_id();
        if code == Code::Unpaid && !pardoned && team != self.certificate.team_id() {
            let rate = self.config.unpaid_rate;
            self.debtors.charge(address, team, unpaid, rate, now);
        }
        let reason = match code {
            Code::Unpaid => format!("no receipt in time: {unpaid} were carried for nothing"),
            Code::Refused => "the decision changed".to_owned(),
            Code::Malformed
            | Code::Certificate
            | Code::Receipt
            | Code::Busy
            | Code::NoSession
            | Code::Closed => format!("closed; {signed} are signed for"),
        };
        let word = Message::error(code, reason);
        self.answer(session.path, &word);
        if session.path_claimed != session.path {
            self.answer(session.path_claimed, &word);
        }
        self.events.push_back(Event::Closed { session: Box::new(session.status(address)), code });
        self.outbox.hurry(now);
        self.flush(now);
    }

    pub(super) fn flush(&mut self, now: Time) {
        if self.outbox.is_due(now) {
            let reference = self.next_reference();
            let bundle = self.outbox.take(reference, now + self.config.flush_after);
            let rcpt = Message::Rcpt { reference: Some(reference), bundle };
            self.transmits.push_back(Transmit::Home(rcpt.emit()));
        }
    }
}
