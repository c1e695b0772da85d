//! An access point at one moment.

use crate::{Buckets, OwnCertificate, PerClass, Process};
use guestright_overview::RefusedBy;
use std::collections::BTreeMap;

/// What an access point has counted since it started, and how it is.
#[derive(Clone, Debug, Default)]
pub struct AccessPointFigures {
    pub version: &'static str,
    pub process: Process,
    pub certificate: OwnCertificate,
    /// Whether it reaches its home.
    pub home_up: bool,
    /// Guests with a session.
    pub guests: PerClass,
    /// Those of them who are served because the household serves everybody for now.
    pub for_everybody: u64,
    /// Strangers who try the Wi-Fi.
    pub trials: u64,
    pub sessions_max: u64,
    /// Sessions that were opened, by the class that they began in.
    pub opened: PerClass,
    pub ended: SessionEnds,
    pub carried: PerClass,
    /// What passed from guests to the Internet, and what to them; that of trials and of tunnels among it.
    pub uploaded: PerClass,
    pub downloaded: PerClass,
    pub signed: PerClass,
    pub refused: BTreeMap<RefusedBy, u64>,
    /// Messages that were refused, by the machine's names.
    pub messages_refused: BTreeMap<&'static str, u64>,
    /// How long guests waited until their packets passed; nothing before the first.
    pub setups: Option<Buckets>,
    pub receipts: u64,
    /// Calls of guests, and how many more fit; nothing where nobody reckons that.
    pub calls: Option<(u64, u64)>,
    /// Receipts that wait for the home.
    pub undelivered: u64,
    pub layers: LayersInForce,
    /// How often something else had changed a part of the firewall, by the part.
    pub mended: BTreeMap<&'static str, u64>,
    /// Whether something is wrong with the firewall now.
    pub has_trouble: bool,
    /// Dropped packets, by the firewall's names.
    pub dropped: BTreeMap<String, u64>,
    /// What may still be given away while the home does not answer, and how much that is in a day.
    pub away_left: u64,
    pub away_max: u64,
    /// What tunnels without a session have had since the firewall was set up, where any may.
    pub tunnels_used: Option<u64>,
}

/// The layers of the firewall that may be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayersInForce {
    pub routing: bool,
    pub static_filter: bool,
    pub owned_table: bool,
}

/// Sessions that are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionEnds {
    /// The guest left.
    pub left: u64,
    /// It did not sign in time.
    pub unpaid: u64,
    /// The decision was no, or what may be given was used up.
    pub refused: u64,
    /// The certificate ended or was revoked.
    pub certificate: u64,
    pub other: u64,
}
