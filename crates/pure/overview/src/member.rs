//! The household's own people.

use crate::{Key, Moment, Name, Sum, list};
use serde::{Deserialize, Serialize};

/// How many devices of a member are shown.
pub const DEVICES_MAX: usize = 16;

/// A member of this household. Where it is stands nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Member {
    /// What the household calls the member.
    pub name: Name,
    /// The key of its certificate.
    pub key: Key,
    /// When its certificate ends; `null` where the home has not seen it yet.
    pub not_after: Option<Moment>,
    /// Since when its key counts no longer; `null` while it does.
    pub revoked: Option<Moment>,
    /// What it has.
    #[serde(deserialize_with = "list::at_most::<DEVICES_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 16))]
    pub devices: Vec<Device>,
}

/// One way in which a member reaches others' Wi-Fi or its home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Device {
    /// What it is.
    pub kind: DeviceKind,
    /// What it is called: a file's name, or the label of a phone's certificate.
    pub label: Name,
    /// When what it has ends; `null` where it does not.
    pub not_after: Option<Moment>,
    /// Since when it counts no longer; `null` while it does.
    pub revoked: Option<Moment>,
    /// When its tunnel was last agreed on; `null` without one, or if it never was.
    pub handshake: Option<Moment>,
    /// What came from it through the tunnel since the home started.
    pub received: Sum,
    /// What went to it.
    pub sent: Sum,
}

/// What a member uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub enum DeviceKind {
    /// A computer with this program.
    Program,
    /// A phone without an app, with a profile.
    Phone,
    /// A stock WireGuard or IKEv2 client with a tunnel home.
    Tunnel,
}
