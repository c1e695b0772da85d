//! How the household stands.

use crate::{Moment, Sentence};
use serde::{Deserialize, Serialize};

/// How the household stands, for a person who looks once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Standing {
    /// Which of the page's designs fits.
    pub state: State,
    /// Whether a guest who comes now can be served.
    pub on: bool,
    /// The state in a sentence, in English.
    pub says: Sentence,
    /// What to do about it, in English; `null` where nothing has to be done.
    pub to_do: Option<Sentence>,
    /// Since when it is so; `null` where that is not known, as with a wrong clock.
    pub since: Option<Moment>,
}

/// The states of a household. If several hold, the worst one is shown: the later in this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub enum State {
    /// All is well, and somebody is served.
    Serving,
    /// All is well, and nobody is served at the moment.
    Nobody,
    /// No access point reaches the home: they decide alone, within what may be given away so.
    HomeAway,
    /// Something else is wrong, and `says` has it.
    Trouble,
    /// Another program has the store open, so nothing can be kept and nobody is let in.
    StoreLocked,
    /// The computer's clock is so wrong that no certificate holds.
    ClockWrong,
}
