//! What the household has its access points do: end a guest's session, and serve some devices no longer (design note 0015).
//!
//! The list of devices is state, and a queue that is full would lose it. So it stands here until it is fetched, and goes before
//! everything else to a peer: an access point has it before any decision of this home.

use super::{Peer, TeamServer};
use crate::message::{BlockedDevices, GuestId, Inquiry, Message, Reference};
use guestright_identity::{KeyId, Role};
use std::collections::BTreeSet;

/// The newest form of an outcome that this program reads.
const OUTCOME_VERSION: u8 = 1;

/// The household's list of devices, and who has yet to be sent it.
#[derive(Debug)]
pub(super) struct DeviceList {
    reference: Reference,
    devices: BlockedDevices,
    unsent: BTreeSet<Peer>,
}

/// The list for access points, once there is one.
#[derive(Debug, Default)]
pub(super) struct Devices(Option<DeviceList>);

impl Devices {
    /// An access point has connected.
    pub(super) fn connected(&mut self, peer: Peer) {
        if let Some(list) = &mut self.0 {
            list.unsent.insert(peer);
        }
    }

    pub(super) fn disconnected(&mut self, peer: Peer) {
        if let Some(list) = &mut self.0 {
            list.unsent.remove(&peer);
        }
    }

    /// The next access point that is to have the list.
    pub(super) fn poll_transmit(&mut self) -> Option<(Peer, Vec<u8>)> {
        let DeviceList { reference, devices, unsent } = self.0.as_mut()?;
        let peer = unsent.pop_first()?;
        let what = Inquiry::BlockDevices(devices.clone());
        Some((peer, Message::Asks { reference: *reference, version: OUTCOME_VERSION, what }.emit()))
    }
}

impl TeamServer {
    /// Has an access point end a guest's session, by the name that its overview gives it. False: it is not connected, and was not
    /// asked. Otherwise it answers with an [`Event::Acted`](super::Event::Acted) with the reference, or not at all: one that is older
    /// than this question counts it among what it cannot read. What was done and the answer lost looks the same, so the program around
    /// waits for a while and then says that it does not know.
    pub fn end_guest(&mut self, access_point: KeyId, guest: GuestId, reference: Reference) -> bool {
        let connected = self.access_points();
        let here: Vec<_> = connected.into_iter().filter(|(_, key)| *key == access_point).collect();
        let what = Inquiry::EndGuest(guest);
        let question = Message::Asks { reference, version: OUTCOME_VERSION, what };
        // Of an access point that has connected anew, the channel before may not be known to be gone.
        here.iter().for_each(|(peer, _)| self.send(*peer, &question));
        !here.is_empty()
    }

    /// The household serves these devices no longer, and all others again. Every access point that is connected has the list before
    /// anything else, and each one that connects later, before it gets a decision of this home. Says which were asked. Each answers
    /// with an [`Event::Acted`](super::Event::Acted) with the reference of the latest list, now or when it connects, or not at all.
    pub fn set_blocked_devices(
        &mut self,
        devices: BlockedDevices,
        reference: Reference,
    ) -> Vec<(Peer, KeyId)> {
        let asked = self.access_points();
        let unsent = asked.iter().map(|(peer, _)| *peer).collect();
        self.devices = Devices(Some(DeviceList { reference, devices, unsent }));
        asked
    }

    /// Which access points are connected.
    pub(super) fn access_points(&self) -> Vec<(Peer, KeyId)> {
        let access_points = self.peers().filter(|(_, role, _)| *role == Role::AccessPoint);
        access_points.map(|(peer, _, key)| (peer, key)).collect()
    }
}
