//! What was carried and what was refused.

use crate::{Count, Moment, Name, Sentence, Sum, Team, list};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many reasons an hour counts apart.
pub const REASONS_MAX: usize = 16;

/// What happened in one hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Hour {
    /// When it began: a whole hour of UTC.
    pub start: Moment,
    /// What the household carried for others.
    pub served: Sum,
    /// What others carried for the household's members.
    pub consumed: Sum,
    /// How much of `served` was given away.
    pub allowance_used: Sum,
    /// How many were refused, by reason: the names of `RefusedBy`, and those that a newer program knows. At most 16.
    #[serde(deserialize_with = "list::table_at_most::<REASONS_MAX, _, _, _>")]
    pub refused: BTreeMap<Name, Count>,
}

/// Somebody who was not served, or was no longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Refusal {
    /// When.
    pub at: Moment,
    /// Whose member; `null` where no team was shown.
    pub team: Option<Team>,
    /// Why, for programs.
    pub refused_by: RefusedBy,
    /// Why, in a sentence, in English.
    pub reason: Sentence,
    /// What this household can do about it, in English; `null` where that is nothing.
    pub to_do: Option<Sentence>,
}

/// Why somebody was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub enum RefusedBy {
    /// Nothing is owed, and what is given away is used up for now.
    AllowanceUsedUp,
    /// By a policy of the papers: the team gave too little for what it took.
    GaveTooLittle,
    /// No receipt came for what was carried.
    Unpaid,
    /// There was no room for another session.
    Busy,
    /// The certificate does not hold any more, or not yet.
    CertificateEnded,
    /// The member's key is revoked.
    Revoked,
    /// The guest's home did not answer.
    HomeAway,
    /// This household's home did not answer the access point.
    Undecided,
    /// The household has closed the access point for guests.
    Closed,
    /// Something else, or what a newer program knows; the sentence beside it says what.
    #[serde(other)]
    Other,
}

impl RefusedBy {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::AllowanceUsedUp,
        Self::GaveTooLittle,
        Self::Unpaid,
        Self::Busy,
        Self::CertificateEnded,
        Self::Revoked,
        Self::HomeAway,
        Self::Undecided,
        Self::Closed,
        Self::Other,
    ];

    /// The name in JSON, and in [`Hour::refused`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllowanceUsedUp => "allowance-used-up",
            Self::GaveTooLittle => "gave-too-little",
            Self::Unpaid => "unpaid",
            Self::Busy => "busy",
            Self::CertificateEnded => "certificate-ended",
            Self::Revoked => "revoked",
            Self::HomeAway => "home-away",
            Self::Undecided => "undecided",
            Self::Closed => "closed",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_one_name() {
        for reason in RefusedBy::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }

    #[test]
    fn a_reason_of_a_newer_program_is_another_one() {
        assert_eq!(serde_json::from_str::<RefusedBy>("\"moon-phase\"").unwrap(), RefusedBy::Other);
    }
}
