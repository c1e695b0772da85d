use guestright_error::RunError;
use std::fmt;

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;
const DAYS_MAX: u64 = 30;

/// How long it is kept who had which address: from an hour to 30 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep(u64);

impl Keep {
    /// `off`, or a whole number with `h` or `d`.
    ///
    /// # Errors
    /// It is none of these, or is too short or too long.
    pub fn parse(text: &str) -> Result<Option<Self>, RunError> {
        if text == "off" {
            return Ok(None);
        }
        let units = [("h", HOUR), ("d", DAY)];
        let seconds = units.iter().find_map(|(unit, seconds)| {
            let number = text.strip_suffix(unit)?;
            let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
            number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(*seconds)
        });
        let keep = seconds.filter(|seconds| (HOUR..=DAYS_MAX * DAY).contains(seconds));
        keep.map(|seconds| Some(Self(seconds))).ok_or_else(|| {
            RunError::config(format!(
                "{text:?} is neither \"off\" nor from \"1h\" to \"{DAYS_MAX}d\": write a whole number with h or d, for example \"7d\""
            ))
        })
    }

    pub fn seconds(self) -> u64 {
        self.0
    }

    /// In whole hours.
    pub fn hours(self) -> u64 {
        self.0 / HOUR
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = match (self.0 / DAY, self.0 % DAY) {
            (days, 0) => (days, "day"),
            _ => (self.hours(), "hour"),
        };
        write!(f, "{number} {unit}{}", if number == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_off_or_from_an_hour_to_thirty_days() {
        let parse = |text| Keep::parse(text).map(|keep| keep.map(|keep| (keep.seconds(), keep.to_string())));
        assert_eq!(parse("off").unwrap(), None);
        for (text, seconds, shown) in [
            ("1h", 3_600, "1 hour"),
            ("36h", 129_600, "36 hours"),
            ("24h", 86_400, "1 day"),
            ("30d", 2_592_000, "30 days"),
        ] {
            assert_eq!(parse(text).unwrap(), Some((seconds, shown.to_owned())), "{text}");
        }
        for wrong in [
            "",
            "on",
            "0h",
            "31d",
            "721h",
            "7",
            "7 d",
            "+7d",
            "-1h",
            "1.5h",
            "1w",
            "99999999999999999999d",
            "OFF",
        ] {
            let refused = parse(wrong).unwrap_err().to_string();
            assert!(refused.contains(&format!("{wrong:?}")) && refused.contains("30d"), "{refused}");
        }
    }
}
