//! What a step changes.

use std::net::Ipv4Addr;
use std::path::PathBuf;

/// One step: what it says before it is done, how it is taken back, and what it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub says: String,
    pub back: String,
    pub change: Change,
}

/// Who owns a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Root,
    /// The user that the programs run as.
    Guestright,
}

/// A change that can be looked at, made, and taken back. Directories above a file that are not there are made too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The system's user that the programs run as.
    User,
    Directory {
        path: PathBuf,
        mode: u32,
        owner: Owner,
    },
    File {
        path: PathBuf,
        mode: u32,
        owner: Owner,
        text: String,
    },
    Symlink {
        path: PathBuf,
        target: PathBuf,
    },
    /// Keys and certificates, in a directory that is there with all of them or not at all.
    Team {
        path: PathBuf,
        work: TeamWork,
    },
    /// A bridge, up.
    Bridge {
        name: String,
    },
    /// A VLAN on a wire, up.
    Vlan {
        name: String,
        parent: String,
        id: u16,
    },
    /// An interface becomes a port of a bridge.
    Port(Port),
    Address {
        interface: String,
        address: Ipv4Addr,
        prefix: u8,
    },
    /// A program of the system reads its files again.
    Reload(Reload),
    Service(Service),
}

/// A port of the guests' bridge, up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub interface: String,
    pub bridge: String,
}

/// Who reads its files again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reload {
    Systemd,
    Networkd,
    NetworkManager,
    Resolved,
}

/// A program that runs from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its unit, without `.service`.
    pub unit: String,
    /// systemd starts it; otherwise we do.
    pub by_systemd: bool,
    /// What it is started by, where there is no systemd.
    pub command: Vec<String>,
    /// What puts back what it has changed, when it has ended or was killed.
    pub clean_up: Option<Vec<String>>,
    /// The line it prints once it is ready, or nothing for one that goes into the background by itself.
    pub says_when_ready: bool,
    /// Interfaces that it makes ports of the bridge and that have to be isolated from other ports: until they are it does
    /// not count as running.
    pub isolated_ports: Vec<String>,
}

/// What is made in the team's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeamWork {
    Found { members: Vec<String>, has_home: bool, gateway: Option<GatewayWork> },
    Join { code: String, has_home: bool },
}

/// The way home of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayWork {
    /// `name:port`, where members find it.
    pub endpoint: String,
    pub network: String,
}
