use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use std::fmt;
use std::str::FromStr;

/// The name of a team: the first 24 bytes of a digest of its public key (design note 0001).
///
/// 24 bytes keep a receipt at 128 bytes and leave 96 bits of strength against two keys with one name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TeamId(pub [u8; 24]);

/// Text that is not a team id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseTeamIdError {
    /// How many characters the text has.
    pub got: usize,
}

impl fmt::Display for ParseTeamIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a team id is 48 hexadecimal digits; this text has {} characters", self.got)
    }
}

impl std::error::Error for ParseTeamIdError {}

impl TeamId {
    /// The first eight digits, as people see it in tables.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for TeamId {
    /// 48 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl fmt::Debug for TeamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TeamId({})", self.short())
    }
}

impl FromStr for TeamId {
    type Err = ParseTeamIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = ParseTeamIdError { got: text.chars().count() };
        if text.len() != 48 {
            return Err(refused);
        }
        let mut id = [0; 24];
        HEXLOWER_PERMISSIVE.decode_mut(text.as_bytes(), &mut id).map_err(|_| refused)?;
        Ok(Self(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_inverts_display() {
        let id = TeamId(std::array::from_fn(|i| u8::try_from(i * 11 % 256).unwrap()));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!("zz".repeat(24).parse::<TeamId>(), Err(ParseTeamIdError { got: 48 }));
        assert_eq!("ab".parse::<TeamId>(), Err(ParseTeamIdError { got: 2 }));
    }
}
