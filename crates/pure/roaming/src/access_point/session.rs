use crate::access_point::budget::{Budget, OnHolds};
use crate::access_point::{Address, Path, Window};
use crate::message::{Code, Nonce, Reference, Volume};
use guestright_identity::{Certificate, KeyId};
use guestright_receipt::{HoldUse, Receipt, ReceiptError};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Granted; the receipt over zero bytes is awaited.
    Opening,
    /// Packets pass.
    Open,
    /// The firewall was ordered to stop its packets, and is ordered `again` then.
    Closing { code: Code, again: Time },
    /// Packets are stopped, the last receipt is awaited.
    Settling { code: Code },
}

/// A receipt that is awaited.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) weight: Bytes,
    pub(super) hold: Option<HoldUse>,
    pub(super) made: Time,
    pub(super) deadline: Time,
    pub(super) retry_at: Time,
}

#[derive(Debug)]
pub(super) struct Session {
    /// Where the last receipt that counted came from.
    pub(super) path: Path,
    /// Where somebody last said to be this visitor; it is asked there too, and the receipt shows whether it is true.
    pub(super) path_claimed: Path,
    /// Under which it began and its receipts are signed.
    pub(super) certificate: Certificate,
    /// What its visitor showed last: the same, or a renewed one. The team server is asked with it.
    pub(super) shown: Certificate,
    pub(super) started: UnixSeconds,
    pub(super) class: ServiceClass,
    pub(super) nonce: Nonce,
    pub(super) stage: Stage,
    pub(super) counted: Bytes,
    /// When that last grew.
    pub(super) counted_at: Time,
    /// When it was last counted, and how many bytes a second had come since the time before.
    pub(super) read_at: Time,
    pub(super) rate: Bytes,
    pub(super) signed: Bytes,
    pub(super) request: Option<Request>,
    pub(super) request_at: Time,
    pub(super) decided_until: Time,
    /// Until when the team server's own answer holds.
    pub(super) answered_until: Time,
    /// Whether it was last decided without the team server, which could not be asked.
    pub(super) decided_alone: bool,
    /// Whether an earlier session of this visitor ended unpaid lately.
    pub(super) owed: bool,
    /// Whether the connection to the home that signs was ever lost: it may have forgotten the session.
    pub(super) line_lost: bool,
    /// Whether it ends because somebody of a better class came.
    pub(super) gave_way: bool,
    /// Whether it ends because the household wants it to.
    pub(super) was_ended: bool,
    /// Whether it ends because the household does not serve its device.
    pub(super) was_blocked: bool,
    /// Whether it signs receipts that name holds.
    pub(super) holds: bool,
    /// How much more it may take; nothing: as much as there is.
    pub(super) budget: Option<Budget>,
    /// The debts that it is served on.
    pub(super) chain: Option<DebtChain>,
    /// Whether the team server said last that it is served because everybody is.
    pub(super) for_everybody: bool,
    /// The last receipt that counted.
    pub(super) latest: Option<Receipt>,
    /// The last receipts of holds that are used up, which the team server may not have yet.
    pub(super) finals: Vec<Receipt>,
    pub(super) more: More,
}

/// What was asked of the team server for a session, and what it said.
#[derive(Debug)]
pub(super) struct More {
    /// Its answers have this number; there may be several.
    pub(super) reference: Option<Reference>,
    /// Until when the first of them is awaited.
    pub(super) until: Option<Time>,
    /// When no more than this is left, it is asked again…
    pub(super) low: Bytes,
    /// …but not before.
    pub(super) not_before: Time,
    /// How many of the last receipts of holds went with the question.
    pub(super) finals: usize,
    /// Why there is no more.
    pub(super) reason: Option<String>,
}

/// A session, as a person wants to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// Where the visitor is.
    pub address: Address,
    pub member: KeyId,
    pub team: TeamId,
    /// How it is served.
    pub class: ServiceClass,
    /// When the session began.
    pub started: UnixSeconds,
    /// When the certificate that it showed last ends, and the session with it.
    pub until: UnixSeconds,
    /// What was carried so far, both ways.
    pub counted: Bytes,
    /// What was signed for so far.
    pub signed: Bytes,
    /// Whether its packets pass.
    pub open: bool,
    /// Whether it ends because the household does not serve its device.
    pub was_blocked: bool,
    /// What may still be carried before the team server is asked again; nothing: as much as there is.
    pub left: Option<Bytes>,
    /// The debts that it is served on, as the team server named them last; nothing: it is served on what is given away.
    pub chain: Option<DebtChain>,
    /// Whether it is served because the household serves everybody for now, as the team server said last.
    pub for_everybody: bool,
}

/// The provider owes the first of these teams, that one the next, and the last one the visitor's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebtChain {
    pub between: Vec<TeamId>,
    /// How much was reserved along it.
    pub bytes: Bytes,
}

impl Session {
    pub(super) fn new(
        path: Path,
        certificate: Certificate,
        started: UnixSeconds,
        class: ServiceClass,
        nonce: Nonce,
        decided_until: Time,
    ) -> Self {
        Self {
            path,
            path_claimed: path,
            shown: certificate.clone(),
            certificate,
            started,
            class,
            nonce,
            stage: Stage::Opening,
            counted: Bytes(0),
            counted_at: Time(0),
            read_at: Time(0),
            rate: Bytes(0),
            signed: Bytes(0),
            request: None,
            request_at: Time(0),
            decided_until,
            answered_until: Time(0),
            decided_alone: false,
            owed: false,
            line_lost: false,
            gave_way: false,
            was_ended: false,
            was_blocked: false,
            holds: false,
            budget: None,
            chain: None,
            for_everybody: false,
            latest: None,
            finals: Vec::new(),
            more: More {
                reference: None,
                until: None,
                low: Bytes(0),
                not_before: Time(0),
                finals: 0,
                reason: None,
            },
        }
    }

    /// The receipts that say all about the session: the last of each hold, and the latest.
    pub(super) fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.finals.iter().filter(|receipt| Some(*receipt) != self.latest.as_ref()).chain(&self.latest)
    }

    /// How much more may be carried before the team server has to say so.
    pub(super) fn left(&self) -> Bytes {
        let end = self.budget.as_ref().map_or(Bytes(u64::MAX), Budget::end);
        end.saturating_sub(self.counted)
    }

    /// Whether all that it may take is taken, and there is no more. What is left may be too little for a packet.
    pub(super) fn is_used_up(&self) -> bool {
        self.has_too_little()
            && self.more.reason.is_some()
            && self.more.until.is_none()
            && !self.decided_alone
    }

    /// Whether a receipt is over what was asked for, or less, and says which of its bytes are on holds.
    pub(super) fn check_claim(&self, weight: Bytes, on_holds: OnHolds) -> Result<(), ReceiptError> {
        let most = self.request.as_ref().map_or(self.signed, |request| request.weight).max(self.signed);
        if weight > most {
            return Err(ReceiptError::AboveClaim { got: weight, most });
        }
        let none = || on_holds == OnHolds::default();
        let is_right = self.budget.as_ref().map_or_else(none, |budget| budget.may_say(weight, on_holds));
        // One that was sent again is about holds that may be used up since.
        if is_right || weight <= self.signed { Ok(()) } else { Err(ReceiptError::WrongHold) }
    }

    /// Whether what is left may be too little for a packet.
    pub(super) fn has_too_little(&self) -> bool {
        self.left() < Volume::MIN
    }

    /// Whether the team server is to be asked for more now.
    pub(super) fn wants_more(&self, now: Time) -> bool {
        self.stage == Stage::Open && self.asks_from().is_some_and(|from| now >= from)
    }

    /// From when on it is to be asked, unless more is carried before; nothing as long as enough is left, or an answer awaited.
    fn asks_from(&self) -> Option<Time> {
        let is_low = self.left() <= self.more.low || self.has_too_little();
        (self.budget.is_some() && self.more.until.is_none() && is_low).then_some(self.more.not_before)
    }

    pub(super) fn is_own(&self, team: TeamId) -> bool {
        self.certificate.team_id() == team
    }

    pub(super) fn is_closing(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. } | Stage::Settling { .. })
    }

    /// From now on a receipt over what was counted is awaited.
    pub(super) fn await_receipt(&mut self, made: Time, deadline: Time, retry_at: Time) {
        let (weight, hold) = self.claim();
        self.request = Some(Request { weight, hold, made, deadline, retry_at });
    }

    /// What is signed for next.
    fn claim(&self) -> (Bytes, Option<HoldUse>) {
        self.budget.as_ref().map_or((self.counted, None), |budget| budget.claim(self.counted))
    }

    /// What was carried and not signed for.
    pub(super) fn unpaid(&self) -> Bytes {
        self.counted.saturating_sub(self.signed)
    }

    /// How many bytes it may leave unsigned. A team owes itself nothing.
    pub(super) fn window(&self, window: Window, own: TeamId) -> Bytes {
        if self.is_own(own) { Bytes(u64::MAX) } else { window.of(self.signed, self.owed) }
    }

    /// It was counted now; what has come since the time before.
    pub(super) fn count(&mut self, counted: Bytes, now: Time) -> Bytes {
        let carried = counted.saturating_sub(self.counted);
        let passed = (now - self.read_at).0.max(1);
        let rate = u128::from(carried.0) * 1_000_000 / u128::from(passed);
        self.rate = Bytes(u64::try_from(rate).unwrap_or(u64::MAX));
        self.read_at = now;
        if carried > Bytes(0) {
            (self.counted, self.counted_at) = (counted, now);
        }
        carried
    }

    /// After how long half of what is left is used up, if it goes on as it did.
    pub(super) fn half_of(&self, left: Bytes) -> Micros {
        let wait = u128::from(left.0 / 2) * 1_000_000 / u128::from(self.rate.0.max(1));
        Micros(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    pub(super) fn end_code(&self) -> Code {
        match self.stage {
            Stage::Closing { code, .. } => code,
            Stage::Settling { .. } if self.counted > self.signed => Code::Unpaid,
            Stage::Settling { code } => code,
            Stage::Opening | Stage::Open => Code::Closed,
        }
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        let request = self.request.as_ref();
        let request = request.map(|request| request.deadline.min(request.retry_at));
        match self.stage {
            Stage::Closing { again, .. } => Some(again),
            Stage::Open => {
                let decided = if self.budget.is_some() { None } else { Some(self.decided_until) };
                let receipts = request.or(Some(self.request_at));
                [receipts, decided.filter(|_| request.is_none()), self.more.until, self.asks_from()]
                    .into_iter()
                    .flatten()
                    .min()
            }
            Stage::Opening | Stage::Settling { .. } => request,
        }
    }

    pub(super) fn status(&self, address: Address) -> SessionStatus {
        SessionStatus {
            address,
            member: self.certificate.subject_id(),
            team: self.certificate.team_id(),
            class: self.class,
            started: self.started,
            until: self.shown.not_after(),
            counted: self.counted,
            signed: self.signed,
            open: self.stage == Stage::Open,
            was_blocked: self.was_blocked,
            left: self.budget.as_ref().map(|_| self.left()),
            chain: self.chain.clone(),
            for_everybody: self.for_everybody,
        }
    }
}
