//! Who is on the household's Wi-Fi.

use crate::why::PATH_TEAMS_MAX;
use crate::{Class, Key, Moment, Name, Rate, Sentence, Sum, Team, list};
use serde::{Deserialize, Serialize};

/// A session at one of the household's access points. It names a team and never a member of another household.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Guest {
    /// The session, by a name that nothing else at this access point has: with it the session is ended.
    pub id: Name,
    /// Where it is.
    pub access_point: Key,
    /// The guest's team; `null` for a stranger, who has shown none.
    pub team: Option<Team>,
    /// Its address in the household's network; `null` for those who may only look.
    pub ip: Option<Name>,
    /// Its hardware address; `null` for those who may only look.
    pub mac: Option<Name>,
    /// How it is served.
    pub class: Class,
    /// When the session began.
    pub started: Moment,
    /// When it ends at the latest, whatever is signed: with the certificate, or with a stranger's trial; `null` if not known.
    pub until: Option<Moment>,
    /// What was carried so far, both ways.
    pub counted: Sum,
    /// What of it was signed for. The household's own members and strangers sign nothing.
    pub signed: Sum,
    /// What may be carried before the home decides again; `null`: as much as there is.
    pub left: Option<Sum>,
    /// How much is carried now: the mean since the access point was asked before.
    pub bits_per_second: Rate,
    /// Whether its packets pass.
    pub open: bool,
    /// Whether it goes through a tunnel to its home.
    pub by_tunnel: bool,
    /// What it is served on.
    pub served_by: ServedBy,
    /// The decision's reason in a sentence, in English.
    pub reason: Sentence,
    /// The teams between the household and the guest's: the household owes the first, that one the next, and the last one the
    /// guest's team.
    #[serde(deserialize_with = "list::at_most::<PATH_TEAMS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 16))]
    pub chain: Vec<Team>,
    /// How much is reserved for it along `chain`.
    pub reserved: Sum,
}

/// What somebody is served on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub enum ServedBy {
    /// It is a member of this household.
    Own,
    /// This household owes its team.
    Owed,
    /// A chain of debts leads from this household to its team.
    Chain,
    /// The household has set something aside for its team.
    Sponsored,
    /// What the household gives away to anybody's members.
    Allowance,
    /// The household serves everybody for now, though nothing is owed to its team.
    Everybody,
    /// What the household lets anybody use once, without being a member.
    Trial,
    /// Receipts, by one of the papers' policies.
    Receipts,
    /// Something that a newer program knows; the sentence beside it says what.
    #[serde(other)]
    Other,
}
