//! What the household has its access points do: end a guest's session, and serve some devices no longer (design note 0015).
//!
//! The list of devices is state, and a queue that is full would lose it. So it stands here until it is fetched, and goes before
//! everything else to a peer: an access point has it before any decision of this home.

use super::Peer;
use crate::message::{BlockedDevices, Inquiry, Message, Reference};
use guestright_ordered::OrderedSet;

/// The newest form of an outcome that this program reads.
pub(super) const OUTCOME_VERSION: u8 = 1;

/// The household's list of devices, and who has yet to be sent it.
#[derive(Debug)]
struct DeviceList {
    reference: Reference,
    devices: BlockedDevices,
    unsent: OrderedSet<Peer>,
}

/// The list for access points, once there is one.
#[derive(Debug, Default)]
pub(super) struct Devices(Option<DeviceList>);

impl Devices {
    /// From now on this is the list, and these access points have yet to be sent it.
    pub(super) fn set(&mut self, devices: BlockedDevices, reference: Reference, unsent: OrderedSet<Peer>) {
        self.0 = Some(DeviceList { reference, devices, unsent });
    }

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
