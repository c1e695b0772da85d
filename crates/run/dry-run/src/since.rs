//! How far back: `30d`, `12h`, `2w`.

use guestright_units::UnixSeconds;
use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// A span of time before now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    seconds: u64,
}

/// What is no span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinceError {
    pub got: String,
}

impl Since {
    /// When it began.
    pub fn before(self, now: UnixSeconds) -> UnixSeconds {
        now.minus(self.seconds)
    }
}

impl fmt::Display for SinceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no span of time: write a number with h, d or w, for example 30d", self.got)
    }
}

impl Error for SinceError {}

impl FromStr for Since {
    type Err = SinceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || SinceError { got: text.to_owned() };
        let split = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(split);
        let each = match unit {
            "h" => 3_600,
            "d" => 86_400,
            "w" => 7 * 86_400,
            _ => return Err(wrong()),
        };
        let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(each));
        seconds.filter(|seconds| *seconds > 0).map(|seconds| Self { seconds }).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hours_days_and_weeks_and_nothing_else() {
        let before = |text: &str| text.parse::<Since>().map(|since| since.before(UnixSeconds(10_000_000)).0);
        assert_eq!(before("12h"), Ok(10_000_000 - 43_200));
        assert_eq!(before("30d"), Ok(10_000_000 - 2_592_000));
        assert_eq!(before("2w"), Ok(10_000_000 - 1_209_600));
        for wrong in ["", "d", "30", "0d", "-1d", "30 d", "30days", "99999999999999999999d"] {
            before(wrong).unwrap_err();
        }
    }
}
