//! Calls: two legs, and what they have agreed on.

use super::config::{Party, Sides};
use super::transaction::ServerKey;
use super::{Event, Peer, Proxy};
use crate::sdp::{Heard, Keys, Mode, Network, Ports, Secret};
use crate::{NameAddress, Uri};
use guestright_identity::KeyId;
use guestright_units::Time;
use std::fmt;

/// No callee has more dialogs that may become the call (RFC 3261 section 12: one for each telephone that rings).
const DIALOGS_MAX: usize = 16;

/// A call, for as long as the home runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The callee's home is looked for, or it is found out whether the caller's home may speak for it.
    Finding,
    /// The media relay is asked for ports.
    Allocating,
    /// The callee is asked.
    Calling,
    /// They talk.
    Up,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finding => "finding",
            Self::Allocating => "allocating",
            Self::Calling => "calling",
            Self::Up => "up",
        })
    }
}

/// A call, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStatus {
    /// Which.
    pub id: CallId,
    /// Who calls, and who is called: members by name, others as contacts or by key.
    pub who: [String; 2],
    /// Whether it goes to or comes from another home.
    pub is_between: bool,
    /// Since when.
    pub since: Time,
    /// How far it is.
    pub phase: Phase,
    /// How it is protected, once that is agreed on.
    pub mode: Option<Mode>,
}

/// One side of a call.
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) party: Party,
    pub(super) call_id: String,
    /// Who is on this side, and who on the other, as written on this side.
    pub(super) near: NameAddress,
    pub(super) far: NameAddress,
    pub(super) peer: Peer,
    /// What requests to this side are for.
    pub(super) target: Uri,
    /// The largest CSeq sent to this side.
    pub(super) sequence: u32,
}

/// What a telephone of the callee has answered from.
#[derive(Clone, Debug)]
pub(super) struct Dialog {
    pub(super) tag: String,
    pub(super) peer: Peer,
    pub(super) target: Uri,
}

/// What is agreed on about media.
#[derive(Debug, Default)]
pub(super) struct Media {
    pub(super) ports: Option<[Ports; 2]>,
    pub(super) mode: Option<Mode>,
    pub(super) index: Option<usize>,
    /// An offer without an answer: from which leg, and what.
    pub(super) offer: Option<(usize, Heard)>,
    /// Whether the last offer was answered.
    pub(super) answered: bool,
    /// What both have agreed on last.
    pub(super) agreed: [Option<Heard>; 2],
    /// Our keys on each side.
    pub(super) ours: [Option<Secret>; 2],
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) legs: [Leg; 2],
    pub(super) phase: Phase,
    pub(super) since: Time,
    /// When something was last heard of it.
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
    pub(super) targets: Vec<(Peer, Uri)>,
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

    pub(super) fn network(&self, leg: usize) -> Network {
        match self.legs[leg].party {
            Party::Member(_) => Network::Tunnel,
            Party::Home(_) => Network::Between,
        }
    }

    /// The callee is there.
    pub(super) fn lead_to(&mut self, peer: Peer, party: Party, near: NameAddress) {
        self.targets = vec![(peer, near.uri.clone())];
        self.legs[1].target = near.uri.clone();
        (self.legs[1].party, self.legs[1].near, self.legs[1].peer) = (party, near, peer);
    }

    /// The tag of who is on this side.
    pub(super) fn tag(&self, leg: usize) -> Option<&str> {
        if leg == 0 { Some(&self.caller_tag) } else { self.confirmed.as_deref() }
    }

    /// A telephone of the callee speaks: from now on requests for it go there.
    pub(super) fn note_dialog(&mut self, tag: &str, peer: Peer, target: Option<Uri>) {
        if let Some(dialog) = self.dialogs.iter_mut().find(|dialog| dialog.tag == tag) {
            dialog.target = target.unwrap_or_else(|| dialog.target.clone());
        } else if self.dialogs.len() < DIALOGS_MAX {
            let target = target.unwrap_or_else(|| self.legs[1].target.clone());
            self.dialogs.push(Dialog { tag: tag.to_owned(), peer, target });
        }
    }

    /// One of the callee's telephones was taken off the hook.
    pub(super) fn confirm(&mut self, tag: &str) {
        if let Some(dialog) = self.dialogs.iter().find(|dialog| dialog.tag == tag) {
            (self.legs[1].peer, self.legs[1].target) = (dialog.peer, dialog.target.clone());
            self.confirmed = Some(tag.to_owned());
            self.phase = Phase::Up;
        }
    }

    /// Where a request for `tag` on this side goes.
    pub(super) fn route(&self, leg: usize, tag: Option<&str>) -> (Peer, Uri) {
        let early = self.dialogs.iter().find(|dialog| leg == 1 && Some(dialog.tag.as_str()) == tag);
        match early.filter(|_| self.confirmed.as_deref() != tag) {
            Some(dialog) => (dialog.peer, dialog.target.clone()),
            None => (self.legs[leg].peer, self.legs[leg].target.clone()),
        }
    }

    pub(super) fn status(&self, id: CallId) -> CallStatus {
        let name = |leg: usize| match &self.legs[leg].party {
            Party::Member(name) => name.clone(),
            // As the member on the other side sees it.
            Party::Home(_) => {
                let seen = &self.legs[1 - leg].far;
                seen.uri.user.clone().unwrap_or_default()
            }
        };
        CallStatus {
            id,
            who: [name(0), name(1)],
            is_between: self.network(0) == Network::Between || self.network(1) == Network::Between,
            since: self.since,
            phase: self.phase,
            mode: self.media.mode,
        }
    }

    /// The keys of one side, if it is one between homes that protect.
    pub(super) fn keys(&self, leg: usize, heard: &Heard) -> Option<Keys> {
        let ours = self.media.ours[leg].clone()?;
        let theirs = heard.key.clone()?;
        Some(Keys { ours, theirs })
    }
}

impl Proxy {
    /// Asks for ports.
    pub(super) fn allocate(&mut self, id: CallId) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.phase = Phase::Allocating;
        let links = &self.links;
        let side = |leg: &Leg| match leg.party {
            Party::Member(_) => Some(Sides::Tunnel),
            Party::Home(home) => links.get(&home).map(|link| Sides::Between(link.local)),
        };
        if let [Some(one), Some(other)] = [side(&call.legs[0]), side(&call.legs[1])] {
            self.events.push_back(Event::Allocate { call: id, sides: [one, other] });
        }
    }

    /// Forgets a call. Transactions that are still open go on by themselves.
    pub(super) fn end_call(&mut self, id: CallId) {
        let Some(call) = self.calls.remove(&id) else { return };
        for leg in call.legs {
            self.by_leg.remove(&(leg.party, leg.call_id));
        }
        if call.phase != Phase::Finding {
            self.events.push_back(Event::Release { call: id });
        }
    }

    /// Whether one more call of this party fits.
    pub(super) fn has_room(&self, party: &Party) -> bool {
        let same = self.calls.values().filter(|call| call.legs.iter().any(|leg| leg.party == *party));
        same.count() < self.config.calls_each_max
    }
}
