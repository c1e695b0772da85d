//! In a build without a core of its own: an end that nobody can have.

use crate::{Peer, Status, WireGuardError};
use guestright_tunnel::Counters;
use guestright_tunnel::wireguard::PublicKey;
use guestright_units::Bytes;

/// There is none.
#[derive(Clone, Copy, Debug)]
pub enum Userspace {}

impl Userspace {
    pub(crate) fn set_peer(&self, _: &Peer) -> Result<(), WireGuardError> {
        match *self {}
    }

    pub(crate) fn remove_peer(&self, _: &PublicKey) -> Result<(), WireGuardError> {
        match *self {}
    }

    pub(crate) fn initiate(&self, _: &PublicKey) -> Result<(), WireGuardError> {
        match *self {}
    }

    pub(crate) fn carried(&self) -> Bytes {
        match *self {}
    }

    pub(crate) fn carried_for(&self, _: &PublicKey) -> Option<Bytes> {
        match *self {}
    }

    pub(crate) fn counters(&self) -> Counters {
        match *self {}
    }

    pub(crate) fn status(&self) -> Vec<Status> {
        match *self {}
    }
}
