//! All of it together.

use crate::{
    AccessPoint, Balance, Call, Count, Credit, DEVICES_MAX, Finding, Guest, Hour, Member, Moment, Name,
    Refusal, Standing, Team, Why, list,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// How many of the household's access points are shown.
pub const ACCESS_POINTS_MAX: usize = 16;
/// How many guests are shown.
pub const GUESTS_MAX: usize = 256;
/// How many calls are shown.
pub const CALLS_MAX: usize = 64;
/// How many accounts are shown.
pub const BALANCES_MAX: usize = 256;
/// How many hours are shown: 31 days.
pub const HOURS_MAX: usize = 744;
/// How many refusals are shown.
pub const REFUSALS_MAX: usize = 128;
/// How many members are shown.
pub const MEMBERS_MAX: usize = 256;
/// How many findings are shown.
pub const FINDINGS_MAX: usize = 128;
/// How many teams are named.
pub const NAMES_MAX: usize = 1_024;
/// How long an overview in JSON may be: 10 MiB. No overview within its limits is longer as it is written here.
pub const JSON_BYTES_MAX: usize = 10 << 20;

/// What a household sees of its home at one moment.
///
/// Whoever makes one fills the fields and calls [`Overview::shortened`]; then [`Overview::to_json`] gives what
/// [`Overview::from_json`] reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Overview {
    /// The version of the program that gathered this.
    pub version: Name,
    /// When it was gathered, by the home's clock.
    pub at: Moment,
    /// The household's team.
    pub team: Team,
    /// What whoever reads this may do.
    pub may: May,
    /// Until when everybody is served in the lowest class; `null` where that is not switched on.
    pub everybody_until: Option<Moment>,
    /// How the household stands.
    pub standing: Standing,
    /// The household's access points.
    #[serde(deserialize_with = "list::at_most::<ACCESS_POINTS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 16))]
    pub access_points: Vec<AccessPoint>,
    /// Who is there, the longest first.
    #[serde(deserialize_with = "list::at_most::<GUESTS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 256))]
    pub guests: Vec<Guest>,
    /// Calls that are going on.
    #[serde(deserialize_with = "list::at_most::<CALLS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 64))]
    pub calls: Vec<Call>,
    /// All accounts together; `null` while the store cannot be read.
    pub credit: Option<Credit>,
    /// Accounts, those with the largest sums first.
    #[serde(deserialize_with = "list::at_most::<BALANCES_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 256))]
    pub balances: Vec<Balance>,
    /// Why the team that was asked about would be served; `null` if none was.
    pub why: Option<Why>,
    /// The last 30 days by the hour, the oldest first. Hours in which nothing happened may be missing.
    #[serde(deserialize_with = "list::at_most::<HOURS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 744))]
    pub hours: Vec<Hour>,
    /// Who was not served, the latest first.
    #[serde(deserialize_with = "list::at_most::<REFUSALS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 128))]
    pub refusals: Vec<Refusal>,
    /// The household's members, by name.
    #[serde(deserialize_with = "list::at_most::<MEMBERS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 256))]
    pub members: Vec<Member>,
    /// What `guestright doctor` says.
    #[serde(deserialize_with = "list::at_most::<FINDINGS_MAX, _, _>")]
    #[cfg_attr(feature = "describe", schema(max_items = 128))]
    pub findings: Vec<Finding>,
    /// What the household calls teams, its own among them. Others are shown by the first eight digits of their id. At most 1024.
    #[serde(deserialize_with = "list::table_at_most::<NAMES_MAX, _, _, _>")]
    #[cfg_attr(feature = "describe", schema(value_type = BTreeMap<String, Name>))]
    pub names: BTreeMap<Team, Name>,
    /// How many there are that are not shown here.
    pub left_out: LeftOut,
}

/// What the reader of an overview may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub enum May {
    /// Look only, as members do inside the tunnel.
    Look,
    /// Also change things.
    Change,
}

/// How many of each list are not in an overview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct LeftOut {
    /// Of the guests.
    pub guests: Count,
    /// Of the calls.
    pub calls: Count,
    /// Of the accounts.
    pub balances: Count,
    /// Of the refusals that are remembered.
    pub refusals: Count,
    /// Of the members.
    pub members: Count,
}

/// Bytes that are no overview.
#[derive(Debug, Error)]
pub enum OverviewError {
    /// There are more than any overview has.
    #[error("{got} bytes are more than an overview has; at most {JSON_BYTES_MAX} are read")]
    Length {
        /// How many there are.
        got: usize,
    },
    /// They do not fit the schema, or its limits.
    #[error("this is no overview: {0}")]
    Json(#[from] serde_json::Error),
}

impl Overview {
    /// Reads an overview, within the limits.
    ///
    /// # Errors
    ///
    /// It is too long, it is no JSON, a field is missing, or a value is not within its limits.
    pub fn from_json(json: &[u8]) -> Result<Self, OverviewError> {
        if json.len() > JSON_BYTES_MAX {
            return Err(OverviewError::Length { got: json.len() });
        }
        Ok(serde_json::from_slice(json)?)
    }

    /// The overview as one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, texts, and keys that are texts can be written")
    }

    /// The same within the limits: what is too much is left out, from the end of each list and from the beginning of the hours,
    /// and counted in `left_out` where that has a field for it.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        let LeftOut { guests, calls, balances, refusals, members } = &mut self.left_out;
        cut(&mut self.guests, GUESTS_MAX, guests);
        cut(&mut self.calls, CALLS_MAX, calls);
        cut(&mut self.balances, BALANCES_MAX, balances);
        cut(&mut self.refusals, REFUSALS_MAX, refusals);
        cut(&mut self.members, MEMBERS_MAX, members);
        self.access_points.truncate(ACCESS_POINTS_MAX);
        self.findings.truncate(FINDINGS_MAX);
        self.hours.drain(..self.hours.len().saturating_sub(HOURS_MAX));
        cut_table(&mut self.names, NAMES_MAX);
        for access_point in &mut self.access_points {
            cut_table(&mut access_point.refused, crate::COUNTERS_MAX);
        }
        for guest in &mut self.guests {
            guest.chain.truncate(crate::PATH_TEAMS_MAX);
        }
        for hour in &mut self.hours {
            cut_table(&mut hour.refused, crate::REASONS_MAX);
        }
        for member in &mut self.members {
            member.devices.truncate(DEVICES_MAX);
        }
        if let Some(why) = &mut self.why {
            why.shorten();
        }
        self
    }
}

fn cut<T>(list: &mut Vec<T>, max: usize, left_out: &mut Count) {
    let beyond = list.len().saturating_sub(max);
    *left_out = Count::at_most_max(left_out.get().saturating_add(Count::from(beyond).get()));
    list.truncate(max);
}

fn cut_table<K: Ord, V>(table: &mut BTreeMap<K, V>, max: usize) {
    while table.len() > max {
        table.pop_last();
    }
}
