//! The media of calls: ports, what was agreed on, and what was carried.

use guestright_error::RunError;
use guestright_media::{Media, MediaCall, PortSpec, Settings, Wanted};
use guestright_relay::{Protection, Side, SideSettings, SideStatistics, Sources, SrtpKeys};
use guestright_signalling::sdp::{Keys, Ports, Secret};
use guestright_signalling::{CallId, Legs, MediaSide, Sides, Source};
use guestright_voice::srtp::{MasterKey, Profile};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The media of all calls.
pub(crate) struct CallMedia {
    sockets: Media,
    gateway: IpAddr,
    open: BTreeMap<CallId, OpenCall>,
}

struct OpenCall {
    call: MediaCall,
    agreed: Option<Legs<MediaSide>>,
    /// What had been carried when it was last looked at.
    carried: u64,
}

impl CallMedia {
    pub(crate) fn start(settings: Settings, gateway: IpAddr) -> Result<Self, RunError> {
        let trace = |_, event| tracing::trace!(?event, "media");
        let sockets = Media::start(settings, guestright_clock::seed(), trace).map_err(RunError::network)?;
        Ok(Self { sockets, gateway, open: BTreeMap::new() })
    }

    /// Opens a call's ports.
    pub(crate) fn open(&mut self, call: CallId, sides: Legs<Sides>) -> Option<Legs<Ports>> {
        let address = |side: Sides| match side {
            Sides::Tunnel => PortSpec { address: self.gateway, pair: true },
            Sides::Between(local) => PortSpec { address: local, pair: false },
        };
        let Legs { caller: one, callee: other } = sides.map(address);
        let closed = SideSettings::closed;
        let wanted = Wanted { ports_a: one, ports_b: other, a: closed(), b: closed() };
        let opened = self.sockets.open(wanted);
        let opened = opened.inspect_err(|error| tracing::warn!(%error, "a call gets no ports")).ok()?;
        let ports = |side: Side| {
            let own = opened.ports(side);
            let control = own.control.map_or(own.media.port(), |control| control.port());
            Ports { address: own.media.ip(), media: own.media.port(), control }
        };
        let ports = Legs { caller: ports(Side::A), callee: ports(Side::B) };
        self.open.insert(call, OpenCall { call: opened, agreed: None, carried: 0 });
        Some(ports)
    }

    /// Carries what was agreed on.
    pub(crate) fn update(&mut self, call: CallId, sides: Legs<MediaSide>) {
        let Some(open) = self.open.get_mut(&call) else { return };
        if open.agreed.as_ref() == Some(&sides) {
            return;
        }
        let Legs { caller: one, callee: other } = &sides;
        if let Err(error) = open.call.update_both(settings(one), settings(other)) {
            return tracing::warn!(%error, "what a call has agreed on cannot be carried");
        }
        open.agreed = Some(sides);
    }

    pub(crate) fn close(&mut self, call: CallId) {
        self.open.remove(&call);
    }

    /// The calls of which media came since this was last asked.
    pub(crate) fn active(&mut self) -> Vec<CallId> {
        let mut active = Vec::new();
        for (id, open) in &mut self.open {
            let counted = open.call.counters().statistics;
            let carried = counted.a.passed + counted.b.passed;
            if std::mem::replace(&mut open.carried, carried) != carried {
                active.push(*id);
            }
        }
        active
    }

    /// For `home status`: what came from each side.
    pub(crate) fn status(&self, call: CallId) -> Value {
        let Some(open) = self.open.get(&call) else { return Value::Null };
        let counters = open.call.counters();
        json!([side_status(&counters.statistics.a), side_status(&counters.statistics.b)])
    }
}

fn side_status(side: &SideStatistics) -> Value {
    json!({
        "packets": side.rtp,
        "reports": side.rtcp,
        "lost": side.rtp_expected.saturating_sub(side.rtp),
        "jitter_ms": side.jitter.as_seconds() * 1_000.0,
        "refused": side.refused_in_all(),
    })
}

/// What the relay has to know of a side.
fn settings(side: &MediaSide) -> SideSettings {
    let address = match side.source {
        Source::Tunnel(address) | Source::Between(address) => address,
    };
    let at = |port: u16| SocketAddr::new(address, port);
    let keys = side.keys.as_ref().and_then(srtp);
    let (sources, protection) = match (side.source, side.is_opaque, keys) {
        (_, true, _) => (Sources::Address(address), Protection::Opaque),
        (Source::Between(_), false, Some(keys)) => (Sources::Proven, Protection::Srtp(keys)),
        // Between homes nothing is carried without keys.
        (Source::Between(_), false, None) => (Sources::Signalled, Protection::Closed),
        (Source::Tunnel(_), false, _) => (Sources::Address(address), Protection::Plain),
    };
    SideSettings {
        media: side.ports.map(|ports| at(ports.media)),
        control: side.ports.map(|ports| at(ports.control)),
        mux: side.mux,
        sources,
        protection,
        clock_hz: side.clock_hz,
    }
}

fn srtp(keys: &Keys) -> Option<SrtpKeys> {
    let key = |secret: &Secret| MasterKey::new(Profile::AeadAes128Gcm, &secret.0[..16], &secret.0[16..]).ok();
    Some(SrtpKeys { incoming: key(&keys.theirs)?, outgoing: key(&keys.ours)? })
}
