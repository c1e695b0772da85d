//! Service classes: how much of the shaped rate a visitor gets.

use serde::{Deserialize, Serialize};

/// What a visitor's team has earned, lowest first. The household's own members come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// At most an eighth of the shaped rate.
    Lowest,
    /// At most a quarter.
    Low,
    /// At most a half.
    Middle,
    /// All of it, if nobody else wants it.
    High,
    /// A member of the household's own team: all of it, and twice the weight of `High`.
    Own,
}

impl Class {
    /// Every class, lowest first.
    pub const ALL: [Self; 5] = [Self::Lowest, Self::Low, Self::Middle, Self::High, Self::Own];

    /// Shares when visitors compete: spare rate is divided in this proportion.
    pub(crate) fn weight(self) -> u64 {
        match self {
            Self::Lowest => 1,
            Self::Low => 2,
            Self::Middle => 4,
            Self::High => 8,
            Self::Own => 16,
        }
    }

    /// The shaped rate divided by this is the most that one visitor may have.
    pub(crate) fn ceiling_divisor(self) -> u64 {
        match self {
            Self::Lowest => 8,
            Self::Low => 4,
            Self::Middle => 2,
            Self::High | Self::Own => 1,
        }
    }
}
