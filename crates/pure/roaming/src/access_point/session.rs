use crate::access_point::{Address, Path};
use crate::message::{Code, Nonce};
use guestright_identity::{Certificate, KeyId};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Granted; the receipt over zero bytes is awaited.
    Opening { until: Time },
    /// Packets pass.
    Open,
    /// The firewall was told to stop its packets.
    Closing { code: Code },
    /// Packets are stopped, the last receipt is awaited.
    Settling,
}

/// A receipt that is awaited.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) weight: Bytes,
    pub(super) deadline: Time,
    pub(super) retry_at: Time,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) path: Path,
    pub(super) certificate: Certificate,
    pub(super) started: UnixSeconds,
    pub(super) class: ServiceClass,
    pub(super) nonce: Nonce,
    pub(super) stage: Stage,
    pub(super) counted: Bytes,
    pub(super) signed: Bytes,
    pub(super) request: Option<Request>,
    pub(super) request_at: Time,
    pub(super) decided_until: Time,
}

/// A session, as a person wants to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// Where the visitor is.
    pub address: Address,
    /// Who it is.
    pub member: KeyId,
    /// Its team.
    pub team: TeamId,
    /// How it is served.
    pub class: ServiceClass,
    /// When the session began.
    pub started: UnixSeconds,
    /// What was carried so far, both ways.
    pub counted: Bytes,
    /// What was signed for so far.
    pub signed: Bytes,
    /// Whether its packets pass.
    pub open: bool,
}

impl Session {
    pub(super) fn new(
        path: Path,
        certificate: Certificate,
        started: UnixSeconds,
        class: ServiceClass,
        nonce: Nonce,
        decided_until: Time,
        until: Time,
    ) -> Self {
        Self {
            path,
            certificate,
            started,
            class,
            nonce,
            stage: Stage::Opening { until },
            counted: Bytes(0),
            signed: Bytes(0),
            request: None,
            request_at: Time(0),
            decided_until,
        }
    }

    pub(super) fn is_own(&self, team: TeamId) -> bool {
        self.certificate.team_id() == team
    }

    pub(super) fn is_closing(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. } | Stage::Settling)
    }

    pub(super) fn end_code(&self) -> Code {
        match self.stage {
            Stage::Closing { code } => code,
            Stage::Settling if self.counted > self.signed => Code::Unpaid,
            Stage::Opening { .. } | Stage::Open | Stage::Settling => Code::Closed,
        }
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        match (self.stage, &self.request) {
            (Stage::Opening { until }, _) => Some(until),
            (Stage::Open | Stage::Settling, Some(request)) => Some(request.deadline.min(request.retry_at)),
            (Stage::Open, None) => Some(self.request_at.min(self.decided_until)),
            (Stage::Settling, None) | (Stage::Closing { .. }, _) => None,
        }
    }

    pub(super) fn status(&self, address: Address) -> SessionStatus {
        SessionStatus {
            address,
            member: self.certificate.subject_id(),
            team: self.certificate.team_id(),
            class: self.class,
            started: self.started,
            counted: self.counted,
            signed: self.signed,
            open: self.stage == Stage::Open,
        }
    }
}
