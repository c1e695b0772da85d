//! What the household owes, and is owed.

use crate::{Count, Sum, Team};
use serde::{Deserialize, Serialize};

/// All accounts together, and the limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Credit {
    /// What this household owes others.
    pub owed_by_us: Sum,
    /// What others owe this household.
    pub owed_to_us: Sum,
    /// What is given away; `null` where the home decides by a policy of the papers.
    pub allowance: Option<Allowance>,
    /// What others took beyond what they are owed.
    pub overdrawn: Sum,
    /// How much all others together may be overdrawn.
    pub overdraft_max: Sum,
    /// Reservations that are open.
    pub holds_open: Count,
}

/// What the household gives away to those whom it owes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Allowance {
    /// What is left of it now.
    pub left: Sum,
    /// What is added to it in 24 hours, and also the most that it holds.
    pub per_day: Sum,
}

/// One team's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Balance {
    /// Whose account it is.
    pub team: Team,
    /// What we owe the team, net.
    pub we_owe: Sum,
    /// What the team owes us, net; one of the two is zero.
    pub they_owe: Sum,
    /// All that the team ever gave us.
    pub given_to_us_ever: Sum,
    /// What is reserved of it for visitors who are being served.
    pub reserved: Sum,
    /// What may still be reserved, with what we lend the team.
    pub can_be_used: Sum,
    /// What is left of what the household has set aside for the team.
    pub sponsored: Sum,
}
