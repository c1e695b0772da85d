//! A connection, and the session that it leads to.

use super::mandate::Tunnel;
use super::meter::Meter;
use super::{ConnectionStatus, Mandate};
use crate::visitor::Visitor;
use guestright_identity::KeyId;
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};
use std::net::Ipv4Addr;
use std::num::NonZeroU16;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) ip: Ipv4Addr,
    pub(super) connected: bool,
    /// Until when its first word has to have come.
    pub(super) until: Time,
    pub(super) stage: Stage,
}

#[derive(Debug)]
pub(super) enum Stage {
    /// Nothing was said yet.
    Silent,
    /// The tunnel is looked for.
    Looking { port: NonZeroU16, started: Option<UnixSeconds>, until: Time, again: Time },
    /// A session is asked for, or open.
    Serving(Box<Serving>),
    /// Nothing more is said; the connection closes.
    Over,
}

#[derive(Debug)]
pub(super) struct Serving {
    pub(super) mandate: Mandate,
    pub(super) visitor: Visitor,
    pub(super) meter: Meter,
    pub(super) provider: Option<TeamId>,
    pub(super) started: Option<UnixSeconds>,
    pub(super) signed: Bytes,
    /// When the meter was last read.
    pub(super) metered: Option<Time>,
    /// Whether it has to be read again.
    pub(super) asked: bool,
    /// Until when the access point may connect again.
    pub(super) orphan_until: Option<Time>,
    pub(super) ended: bool,
}

impl Connection {
    pub(super) fn new(ip: Ipv4Addr, until: Time) -> Self {
        Self { ip, connected: true, until, stage: Stage::Silent }
    }

    pub(super) fn member(&self) -> Option<KeyId> {
        match &self.stage {
            Stage::Serving(serving) => Some(serving.mandate.delegation.member_id()),
            Stage::Silent | Stage::Looking { .. } | Stage::Over => None,
        }
    }

    /// Whose tunnel is served, and how it comes.
    pub(super) fn tunnel(&self) -> Option<Tunnel> {
        match &self.stage {
            Stage::Serving(serving) => Some(serving.mandate.tunnel()),
            Stage::Silent | Stage::Looking { .. } | Stage::Over => None,
        }
    }

    /// Whether it is this session, open.
    pub(super) fn is_session(&self, tunnel: Tunnel, started: UnixSeconds) -> bool {
        match &self.stage {
            Stage::Serving(serving) => {
                self.tunnel() == Some(tunnel) && serving.started == Some(started) && !serving.ended
            }
            Stage::Silent | Stage::Looking { .. } | Stage::Over => false,
        }
    }

    pub(super) fn timeout(&self, meter_gap: Micros) -> Option<Time> {
        match &self.stage {
            Stage::Silent => Some(self.until),
            Stage::Looking { until, again, .. } => Some(*until.min(again)),
            Stage::Serving(serving) => {
                let metering = if serving.asked { serving.meter_due(meter_gap) } else { None };
                let visitor = serving.visitor.poll_timeout();
                [serving.orphan_until, metering, visitor].into_iter().flatten().min()
            }
            Stage::Over => None,
        }
    }

    pub(super) fn status(&self) -> Option<ConnectionStatus> {
        let Stage::Serving(serving) = &self.stage else { return None };
        Some(ConnectionStatus {
            from: self.ip,
            member: self.member(),
            provider: serving.provider,
            counted: serving.meter.total(),
            signed: serving.signed,
        })
    }
}

impl Stage {
    pub(super) fn serving(mandate: Mandate, visitor: Visitor, meter: Meter) -> Self {
        Self::Serving(Box::new(Serving {
            mandate,
            visitor,
            meter,
            provider: None,
            started: None,
            signed: Bytes(0),
            metered: None,
            asked: false,
            orphan_until: None,
            ended: false,
        }))
    }
}

impl Serving {
    /// When the meter may be read again; nothing if it was not read yet.
    pub(super) fn meter_due(&self, gap: Micros) -> Option<Time> {
        self.metered.map(|read| read + gap)
    }
}
