//! What the machine is told and what it tells.

use super::call::CallId;
use crate::sdp::Keys;
use crate::{NameAddress, Uri};
use guestright_identity::KeyId;
use guestright_units::{Micros, Time};
use std::net::{IpAddr, SocketAddr};

/// Who sends a message, or gets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// A member's telephone, by datagrams.
    Udp(SocketAddr),
    /// A member's telephone, on the connection from or to this address.
    Tcp(SocketAddr),
    /// Another home, by the key that it has shown on its link.
    Home(KeyId),
}

impl Peer {
    /// Whether nothing gets lost on the way without notice.
    pub(crate) const fn is_reliable(self) -> bool {
        match self {
            Self::Udp(_) => false,
            Self::Tcp(_) | Self::Home(_) => true,
        }
    }
}

/// Whose telephone or home it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Party {
    Member(String),
    Home(KeyId),
}

/// Limits and addresses.
#[derive(Clone, Debug)]
pub struct Config {
    /// The home's address in its members' network.
    pub gateway: IpAddr,
    /// The port of SIP there.
    pub port: u16,
    /// Names that members may write for it.
    pub domains: Vec<String>,
    /// The home's own key, by which other homes know it.
    pub home: KeyId,
    /// Whether people who are no contacts may call.
    pub strangers: bool,
    /// Calls in all.
    pub calls_max: usize,
    /// Calls of one member, or with one other home, at a time.
    pub calls_each_max: usize,
    /// Telephones of one member that ring at a time.
    pub forks_max: usize,
    /// Messages a second of one member or home…
    pub rate_max: u32,
    /// …and at once.
    pub burst_max: u32,
    /// Transactions at a time.
    pub transactions_max: usize,
    /// For how long a telephone may ring (timer C, RFC 3261 section 16.6: more than three minutes).
    pub ring_max: Micros,
    /// A call without media and signalling for so long is over.
    pub dead_after: Micros,
}

impl Config {
    /// The usual limits.
    #[must_use]
    pub fn new(gateway: IpAddr, home: KeyId) -> Self {
        Self {
            gateway,
            port: 5_060,
            domains: vec!["home".to_owned()],
            home,
            strangers: true,
            calls_max: 256,
            calls_each_max: 8,
            forks_max: 4,
            rate_max: 200,
            burst_max: 400,
            transactions_max: 8_192,
            ring_max: Micros::from_seconds(185),
            dead_after: Micros::from_seconds(600),
        }
    }
}

/// A link to another home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it is, as seen from here. Media go there and nowhere else.
    pub address: IpAddr,
    /// Where we are, as it is to know.
    pub local: IpAddr,
}

/// Where somebody's home is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The home's key; there is a link to it.
    pub home: KeyId,
    /// The key of who was looked for.
    pub key: KeyId,
}

/// What has come of looking for somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// There is a link to its home.
    Home(Found),
    /// Its home is known and cannot be reached.
    Away,
    /// Nobody knows where its home is.
    Unknown,
}

/// Where each of a call's two sides is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// In the members' network.
    Tunnel,
    /// At another home, which reaches us at this address.
    Between(IpAddr),
}

/// Whose media are taken on a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A member's, from its address in the tunnel.
    Tunnel(IpAddr),
    /// Another home's.
    Between(IpAddr),
}

/// What was agreed on for one side's media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSide {
    /// Whose they are.
    pub source: Source,
    /// Its ports for RTP and RTCP; `None` if it takes nothing now.
    pub ports: Option<(u16, u16)>,
    /// Whether RTCP comes on the port of RTP.
    pub mux: bool,
    /// Whether the two ends protect what passes between themselves.
    pub is_opaque: bool,
    /// The keys, between homes that protect.
    pub keys: Option<Keys>,
    /// The clock of the stream in hertz.
    pub clock_hz: u32,
}

/// Something to do or to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Find the home of somebody and open a link to it; answer with `handle_found`.
    Find {
        /// For this call.
        call: CallId,
        /// Whom, by key.
        key: KeyId,
        /// For which member, by key.
        caller: KeyId,
        /// The contact's card, if the caller's telephone has sent it along: hints on where to ask.
        card: Option<Box<guestright_directory::Contact>>,
    },
    /// Another home says that this person calls: find out whether the person has named that home as its own; answer
    /// with `handle_verified`.
    Verify {
        /// For this call.
        call: CallId,
        /// Who is said to call.
        key: KeyId,
        /// Who says so.
        home: KeyId,
    },
    /// Open ports; answer with `handle_allocated`.
    Allocate {
        /// For this call.
        call: CallId,
        /// Where its sides are.
        sides: [Sides; 2],
    },
    /// Both sides have agreed on something.
    Update {
        /// In this call.
        call: CallId,
        /// What.
        sides: Box<[MediaSide; 2]>,
    },
    /// The ports of a call are not needed any more.
    Release {
        /// The call.
        call: CallId,
    },
    /// The telephones of a member have changed.
    Registered {
        /// Whose.
        member: String,
        /// How many there are now.
        telephones: usize,
    },
}

/// An allowance of messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// In millionths of a message.
    level: u64,
    filled: Time,
}

impl Bucket {
    pub(crate) fn new(burst: u32, now: Time) -> Self {
        Self { level: u64::from(burst) * 1_000_000, filled: now }
    }

    /// Takes one message's worth, if there is that much.
    pub(crate) fn take(&mut self, rate: u32, burst: u32, now: Time) -> bool {
        self.level = self.level_at(rate, burst, now);
        self.filled = now;
        let enough = self.level >= 1_000_000;
        self.level -= if enough { 1_000_000 } else { 0 };
        enough
    }

    pub(crate) fn is_full(&self, rate: u32, burst: u32, now: Time) -> bool {
        self.level_at(rate, burst, now) == u64::from(burst) * 1_000_000
    }

    fn level_at(&self, rate: u32, burst: u32, now: Time) -> u64 {
        let more = now.since(self.filled).0.saturating_mul(u64::from(rate));
        self.level.saturating_add(more).min(u64::from(burst) * 1_000_000)
    }
}

/// The host in URIs between homes; no name in the DNS can be it (RFC 6761 section 6.4).
pub(crate) const OUTSIDE: &str = "home.invalid";

/// How somebody is written between homes: by its key.
pub(crate) fn outside(key: KeyId) -> NameAddress {
    NameAddress::new(None, Uri::new(&key.to_string(), OUTSIDE))
}
