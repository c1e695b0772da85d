//! What goes in and out of the proxy besides messages: calls as others see them, and events.

use super::legs::Legs;
use crate::sdp::{Keys, MediaPorts, Mode};
use guestright_identity::KeyId;
use guestright_units::Time;
use std::fmt;
use std::net::IpAddr;

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
    pub id: CallId,
    /// Who calls, and who is called: members by name, others as contacts or by key.
    pub who: Legs<String>,
    /// Whether it goes to or comes from another home.
    pub is_between: bool,
    pub since: Time,
    /// How far it is.
    pub phase: Phase,
    /// How it is protected, once that is agreed on.
    pub mode: Option<Mode>,
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
    /// Its ports; `None` if it takes nothing now.
    pub ports: Option<MediaPorts>,
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
        call: CallId,
        key: KeyId,
        /// For which member, by key.
        caller: KeyId,
        /// The contact's card, if the caller's telephone has sent it along: hints on where to ask.
        card: Option<Box<guestright_directory::Contact>>,
    },
    /// Another home says that this person calls: find out whether the person has named that home as its own; answer
    /// with `handle_verified`.
    Verify {
        call: CallId,
        /// Who is said to call.
        key: KeyId,
        /// Who says so.
        home: KeyId,
    },
    /// Open ports; answer with `handle_allocated`.
    Allocate { call: CallId, sides: Legs<Sides> },
    /// Both sides have agreed on something.
    Update { call: CallId, sides: Box<Legs<MediaSide>> },
    /// The ports of a call are not needed any more.
    Release { call: CallId },
    /// A member's telephone has said how well it heard in a call that is over: a mean opinion score, in hundredths from 100 to 450.
    Reported { mos_hundredths: u16 },
    /// The telephones of a member have changed.
    Registered {
        member: String,
        /// How many there are now.
        telephones: usize,
    },
}
