//! Whether all is well.

use crate::{Name, Sentence};
use serde::{Deserialize, Serialize};

/// One thing that was looked at, as `guestright doctor` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Finding {
    /// What was looked at.
    pub what: Name,
    /// Whether it is well.
    pub good: bool,
    /// Whether the home needs it.
    pub needed: bool,
    /// What was found, in a sentence, in English.
    pub says: Sentence,
    /// What to do, in English; `null` where it is well.
    pub to_do: Option<Sentence>,
}
