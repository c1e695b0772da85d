//! The household's access points.

use crate::{Count, Key, Moment, Name, Sentence, Sum, list};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many kinds of refusals are counted apart.
pub const COUNTERS_MAX: usize = 64;

/// One of the household's access points, as it answered last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct AccessPoint {
    /// The key of its certificate.
    pub key: Key,
    /// What the household calls it; `null` where it has no name.
    pub name: Option<Name>,
    /// Whether it answered when it was asked last. If not, all that is shown of it is from `answered`.
    pub up: bool,
    /// When it answered last; `null` if it has not yet.
    pub answered: Option<Moment>,
    /// Whether it reaches its home; `null` where it has not answered.
    pub home_up: Option<bool>,
    /// Receipts that wait to be delivered to the home.
    pub undelivered: Count,
    /// Bytes that it may still give away while its home does not answer.
    pub left_while_away: Sum,
    /// Messages that it has refused since it started, by its counters' names: at most 64 of them.
    #[serde(deserialize_with = "list::table_at_most::<COUNTERS_MAX, _, _, _>")]
    pub refused: BTreeMap<Name, Count>,
    /// What is wrong with it, in a sentence; `null` where nothing is.
    pub trouble: Option<Sentence>,
    /// Calls through it; `null` where it does not know its radio.
    pub calls: Option<CallRoom>,
}

/// How many members of the household an access point names.
pub const CALLERS_MAX: usize = 64;

/// Calls through an access point, by its reckoning (design note 0018).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct CallRoom {
    /// How many there are.
    pub now: Count,
    /// How many more may begin before calls fall below a mean opinion score of 3.6.
    pub more: Count,
    /// The household's members who have a session there: at most 64 keys.
    #[serde(deserialize_with = "list::at_most::<CALLERS_MAX, _, _>")]
    pub members: Vec<Key>,
}
