//! One call: its two legs, the telephones that ring for it, and what it has agreed on.

use super::event::{CallId, CallStatus, Link, Phase, Sides};
use super::legs::{Legs, Side};
use super::media::Media;
use crate::peer::{Party, Peer};
use crate::sdp::Network;
use crate::transaction::ServerKey;
use crate::{NameAddress, Uri};
use guestright_identity::KeyId;
use guestright_units::Time;
use std::collections::BTreeMap;

/// No callee has more dialogs that may become the call (RFC 3261 section 12: one for each telephone that rings).
const DIALOGS_MAX: usize = 16;

/// Where a request goes.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) peer: Peer,
    /// Its request URI.
    pub(super) target: Uri,
}

/// One side of a call.
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) party: Party,
    pub(super) call_id: String,
    /// Who is on this side, and who on the other, as written on this side.
    pub(super) local: NameAddress,
    pub(super) remote: NameAddress,
    /// Where requests to this side go.
    pub(super) route: Route,
    /// The largest CSeq sent to this side.
    pub(super) sequence: u32,
}

impl Leg {
    pub(super) fn network(&self) -> Network {
        match self.party {
            Party::Member(_) => Network::Tunnel,
            Party::Home(_) => Network::Between,
        }
    }
}

/// What a telephone of the callee has answered from.
#[derive(Clone, Debug)]
pub(super) struct Dialog {
    pub(super) tag: String,
    pub(super) route: Route,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) legs: Legs<Leg>,
    pub(super) phase: Phase,
    pub(super) since: Time,
    /// When media or signalling of it came last.
    pub(super) alive: Time,
    pub(super) caller_tag: String,
    /// The callee's; the call is with the one that is confirmed.
    pub(super) dialogs: Vec<Dialog>,
    pub(super) confirmed: Option<String>,
    /// The INVITE that it began with.
    pub(super) server: ServerKey,
    /// Who another home says that calls, until that is known to be so.
    pub(super) claimed: Option<KeyId>,
    /// Telephones to ring.
    pub(super) targets: Vec<Route>,
    pub(super) media: Media,
}

impl Call {
    /// Who of the two are members.
    pub(super) fn members(&self) -> impl Iterator<Item = &str> {
        self.legs.iter().filter_map(|leg| match &leg.party {
            Party::Member(name) => Some(name.as_str()),
            Party::Home(_) => None,
        })
    }

    /// The callee is there. Several telephones may ring; the first one stands for them until one accepts.
    pub(super) fn set_callee(&mut self, peer: Peer, party: Party, local: NameAddress) {
        let route = Route { peer, target: local.uri.clone() };
        self.targets = vec![route.clone()];
        let callee = &mut self.legs.callee;
        (callee.party, callee.local, callee.route) = (party, local, route);
    }

    /// The tag of who is on this side.
    pub(super) fn tag(&self, side: Side) -> Option<&str> {
        match side {
            Side::Caller => Some(&self.caller_tag),
            Side::Callee => self.confirmed.as_deref(),
        }
    }

    /// Whether a request from `side` with these tags in From and To belongs to this call.
    pub(super) fn is_dialog(&self, side: Side, from_tag: &str, to_tag: Option<&str>) -> bool {
        let is_callee = |tag: &str| match &self.confirmed {
            Some(confirmed) => confirmed == tag,
            None => self.dialogs.iter().any(|dialog| dialog.tag == tag),
        };
        match (side, to_tag) {
            (Side::Caller, Some(to)) => from_tag == self.caller_tag && is_callee(to),
            (Side::Callee, Some(to)) => to == self.caller_tag && is_callee(from_tag),
            (_, None) => false,
        }
    }

    /// A telephone of the callee speaks: from now on requests for it go there.
    pub(super) fn note_dialog(&mut self, tag: &str, peer: Peer, target: Option<Uri>) {
        if let Some(dialog) = self.dialogs.iter_mut().find(|dialog| dialog.tag == tag) {
            dialog.route.target = target.unwrap_or_else(|| dialog.route.target.clone());
        } else if self.dialogs.len() < DIALOGS_MAX {
            let target = target.unwrap_or_else(|| self.legs.callee.route.target.clone());
            self.dialogs.push(Dialog { tag: tag.to_owned(), route: Route { peer, target } });
        }
    }

    /// One of the callee's telephones was taken off the hook.
    pub(super) fn confirm(&mut self, tag: &str) {
        if let Some(dialog) = self.dialogs.iter().find(|dialog| dialog.tag == tag) {
            self.legs.callee.route = dialog.route.clone();
            self.confirmed = Some(tag.to_owned());
            self.phase = Phase::Up;
        }
    }

    /// Where a request for `tag` on this side goes.
    pub(super) fn route(&self, side: Side, tag: Option<&str>) -> Route {
        // Before the call is confirmed, each telephone of the callee has a dialog of its own.
        let is_it = |dialog: &&Dialog| side == Side::Callee && Some(dialog.tag.as_str()) == tag;
        let early = self.dialogs.iter().find(is_it).filter(|_| self.confirmed.as_deref() != tag);
        early.map_or_else(|| self.legs[side].route.clone(), |dialog| dialog.route.clone())
    }

    /// Where ports are wanted for its two sides. `None` as long as a side has no link.
    pub(super) fn sides(&self, links: &BTreeMap<KeyId, Link>) -> Option<Legs<Sides>> {
        let side = |leg: &Leg| match leg.party {
            Party::Member(_) => Some(Sides::Tunnel),
            Party::Home(home) => links.get(&home).map(|link| Sides::Between(link.local)),
        };
        self.legs.as_ref().map(side).transpose()
    }

    pub(super) fn status(&self, id: CallId) -> CallStatus {
        let name = |side: Side| match &self.legs[side].party {
            Party::Member(name) => name.clone(),
            // As the member on the other side sees it.
            Party::Home(_) => self.legs[side.other()].remote.uri.user.clone().unwrap_or_default(),
        };
        CallStatus {
            id,
            who: Legs { caller: name(Side::Caller), callee: name(Side::Callee) },
            is_between: self.legs.iter().any(|leg| leg.network() == Network::Between),
            since: self.since,
            phase: self.phase,
            mode: self.media.mode,
        }
    }
}
