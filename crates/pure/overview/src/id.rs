//! Names of teams and of keys.

use guestright_units::TeamId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Text that is no id.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("an id is 48 lower-case hexadecimal digits; this text has {got} characters")]
pub struct IdError {
    /// How many characters the text has.
    pub got: usize,
}

/// A team's id, as 48 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(
    feature = "describe",
    derive(utoipa::ToSchema),
    schema(value_type = String, min_length = 48, max_length = 48, pattern = "^[0-9a-f]{48}$")
)]
pub struct Team(pub TeamId);

/// A key's id, as 48 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(
    feature = "describe",
    derive(utoipa::ToSchema),
    schema(value_type = String, min_length = 48, max_length = 48, pattern = "^[0-9a-f]{48}$")
)]
pub struct Key(pub [u8; 24]);

/// A key's id is written as a team's: [`TeamId`] reads both. Upper-case digits would be another way to write the same.
fn parse(text: &str) -> Result<TeamId, IdError> {
    let refused = IdError { got: text.chars().count() };
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(refused);
    }
    text.parse().map_err(|_| refused)
}

impl From<TeamId> for Team {
    fn from(team: TeamId) -> Self {
        Self(team)
    }
}

impl TryFrom<String> for Team {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        parse(&text).map(Self)
    }
}

impl From<Team> for String {
    fn from(team: Team) -> Self {
        team.0.to_string()
    }
}

impl TryFrom<String> for Key {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        parse(&text).map(|id| Self(id.0))
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        TeamId(key.0).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_way_to_write_an_id() {
        let text = "0123456789abcdef".repeat(3);
        let key = Key::try_from(text.clone()).unwrap();
        assert_eq!((key.0[0], key.0[23]), (0x01, 0xef));
        assert_eq!(String::from(key), text);
        assert_eq!(String::from(Team::try_from(text.clone()).unwrap()), text);
        for (wrong, got) in [(text.to_uppercase(), 48), (text[1..].to_owned(), 47), ("é".repeat(24), 24)] {
            assert_eq!(Team::try_from(wrong.clone()), Err(IdError { got }), "{wrong}");
            assert_eq!(Key::try_from(wrong.clone()), Err(IdError { got }), "{wrong}");
        }
    }
}
