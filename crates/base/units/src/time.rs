use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

/// A point in time, in microseconds since the start of the run.
///
/// On the network a run starts at the Unix epoch; in a simulation it starts at zero. `Time + Time` does not
/// compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A span of time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

/// A point in time in whole seconds since the Unix epoch, as receipts and certificates carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixSeconds(pub u64);

impl Micros {
    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// A span of `seconds` seconds.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    /// The span in seconds, for people and for statistics.
    #[expect(clippy::cast_precision_loss, reason = "spans are far below 2^52 µs")]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Time {
    /// The second that this point lies in.
    pub const fn unix_seconds(self) -> UnixSeconds {
        UnixSeconds(self.0 / 1_000_000)
    }

    /// The span since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }
}

impl UnixSeconds {
    /// The start of this second.
    pub const fn time(self) -> Time {
        Time(self.0.saturating_mul(1_000_000))
    }

    /// This point, `seconds` later.
    pub const fn plus(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// This point, `seconds` earlier.
    pub const fn minus(self, seconds: u64) -> Self {
        Self(self.0.saturating_sub(seconds))
    }
}

impl Add<Micros> for Time {
    type Output = Time;
    fn add(self, span: Micros) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Sub for Time {
    type Output = Micros;
    fn sub(self, earlier: Time) -> Micros {
        self.since(earlier)
    }
}

impl fmt::Display for UnixSeconds {
    /// RFC 3339 in UTC, for example `2026-11-20T10:00:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.0 / 86_400, self.0 % 86_400);
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Text that is no point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseUnixSecondsError;

impl fmt::Display for ParseUnixSecondsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write the time as in 2026-11-20T10:00:00Z or 2026-11-20T11:00:00+01:00, or in seconds since 1970")
    }
}

impl std::error::Error for ParseUnixSecondsError {}

impl FromStr for UnixSeconds {
    type Err = ParseUnixSecondsError;

    /// RFC 3339 with an offset of whole minutes and without fractions of a second, or whole seconds since the Unix epoch.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map(Self).map_err(|_| ParseUnixSecondsError);
        }
        parse_rfc_3339(text).ok_or(ParseUnixSecondsError)
    }
}

fn parse_rfc_3339(text: &str) -> Option<UnixSeconds> {
    let (local, zone) = text.split_at_checked(19)?;
    let digits = |range: std::ops::Range<usize>| {
        let digits = local.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok())?
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if marks.iter().any(|(at, mark)| local.as_bytes().get(*at) != Some(mark)) {
        return None;
    }
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    let days = days_from_civil(year, month, day)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    let Some(offset) = zone.strip_prefix(['+', '-']) else {
        return (zone == "Z").then_some(UnixSeconds(seconds));
    };
    let (hours, minutes) =
        offset.split_once(':').filter(|(hours, minutes)| hours.len() == 2 && minutes.len() == 2)?;
    let (hours, minutes) = (hours.parse::<u64>().ok()?, minutes.parse::<u64>().ok()?);
    let offset = (hours <= 23 && minutes <= 59).then_some(hours * 3_600 + minutes * 60)?;
    // Local time is ahead of UTC by the offset.
    if zone.starts_with('+') { seconds.checked_sub(offset) } else { Some(seconds + offset) }.map(UnixSeconds)
}

/// The day of a Gregorian date, counted from 1970-01-01; nothing if there is no such date since then.
fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year_from_march = if month > 2 { year } else { year - 1 };
    let (era, year_of_era) = (year_from_march / 400, year_from_march % 400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    // A 31st of February is another day when it is read back.
    days.checked_sub(719_468).filter(|days| civil_from_days(*days) == (year, month, day))
}

/// The Gregorian date of a day counted from 1970-01-01, by eras of 400 years that begin in March.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468; // 0000-03-01 is day 0.
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_rfc_3339() {
        #[rustfmt::skip]
        let cases = [
            (0,             "1970-01-01T00:00:00Z"),
            (951_782_400,   "2000-02-29T00:00:00Z"),
            (1_795_176_123, "2026-11-20T12:02:03Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
        ];
        for (seconds, want) in cases {
            assert_eq!(UnixSeconds(seconds).to_string(), want);
        }
    }

    #[test]
    fn reads_what_it_prints_and_other_zones() {
        for seconds in [0, 951_782_400, 951_868_799, 1_795_176_123, 4_102_444_799, 1_709_164_800] {
            let time = UnixSeconds(seconds);
            assert_eq!(time.to_string().parse(), Ok(time));
            assert_eq!(seconds.to_string().parse(), Ok(time));
        }
        assert_eq!("2026-11-20T13:02:03+01:00".parse(), Ok(UnixSeconds(1_795_176_123)));
        assert_eq!("2026-11-20T06:32:03-05:30".parse(), Ok(UnixSeconds(1_795_176_123)));
        for wrong in [
            "",
            "now",
            "-1",
            "2026-11-20",
            "2026-11-20T12:02:03",
            "2026-11-20 12:02:03Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-11-20T24:00:00Z",
            "2026-11-20T12:02:03.5Z",
            "1970-01-01T00:00:00+01:00",
            "2026-11-20T12:02:03+1:00",
            "2026-11-20T12:02:03Zé",
            "1969-12-31T23:59:59Z",
            "99999999999999999999",
            "+026-11-20T12:02:03Z",
            "2026-11-20T12:02:03+0+:00",
        ] {
            assert_eq!(wrong.parse::<UnixSeconds>(), Err(ParseUnixSecondsError), "{wrong}");
        }
    }

    #[test]
    fn spans_do_not_wrap() {
        assert_eq!(Time(5) - Time(9), Micros(0));
        assert_eq!(Time(u64::MAX) + Micros(1), Time(u64::MAX));
    }
}
