//! The home whose exchange it is, and who can be called there.

use guestright_directory::Record;
use guestright_identity::KeyId;
use guestright_signalling::Member;
use std::net::IpAddr;
use std::path::Path;

/// Who can be called at this home.
#[derive(Clone, Debug, Default)]
pub struct Members {
    pub all: Vec<Member>,
    /// Members' own words on where their home is, as far as they have left any.
    pub records: Vec<Record>,
}

/// The home whose exchange it is.
#[derive(Debug)]
pub struct OwnHome<'a> {
    pub home: KeyId,
    /// The gateway's, in the tunnel.
    pub address: IpAddr,
    pub state: &'a Path,
    pub members: Members,
}
