//! Calls that are going on.

use crate::{Count, Moment, Mos};
use serde::{Deserialize, Serialize};

/// A call by this home, never with whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Call {
    /// Its number, which no other call of this run of the home has.
    pub id: Count,
    /// When it began to be set up.
    pub since: Moment,
    /// How far it is.
    pub phase: Phase,
    /// Who may hear it; `null` before that is agreed.
    pub protection: Option<Protection>,
    /// How well the caller hears so far; `null` where that is not known.
    pub mos_to_caller: Option<Mos>,
    /// How well the callee hears so far; `null` where that is not known.
    pub mos_to_callee: Option<Mos>,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub enum Phase {
    /// The callee's home is looked for.
    Finding,
    /// The media relay is asked for ports.
    Allocating,
    /// The callee is asked.
    Calling,
    /// They talk.
    Up,
}

/// Who may hear a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub enum Protection {
    /// Only the two members.
    EndToEnd,
    /// Their homes as well.
    HomeToHome,
    /// This home as well: both are its members, and their tunnels end here.
    Tunnels,
}
