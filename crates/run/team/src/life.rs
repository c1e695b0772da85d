//! How long certificates and warrants hold.

use guestright_units::UnixSeconds;

/// Other clocks may be a little behind ours: so many seconds…
const BACKDATED_MAX: u64 = 600;
/// …and not more than such a part of the life.
const BACKDATED_PARTS: u64 = 8;
/// In seconds.
pub const DAY: u64 = 86_400;
/// How long a certificate usually holds.
pub const CERTIFICATE_DAYS: u64 = 365;
/// No longer: ten years, in seconds.
pub(crate) const LIFE_MAX: u64 = 3_650 * DAY;

/// From when to when something holds that is made now, for so many seconds.
pub(crate) fn span(now: UnixSeconds, life: u64) -> (UnixSeconds, UnixSeconds) {
    (now.minus(BACKDATED_MAX.min(life / BACKDATED_PARTS)), now.plus(life))
}

/// Reads `45s`, `20m`, `12h` or `90d`, as seconds.
///
/// # Errors
/// What it should have been.
pub fn parse_seconds(text: &str) -> Result<u64, String> {
    let want = || "it should be a number and s, m, h or d, such as 20m or 90d".to_owned();
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => DAY,
        _ => return Err(want()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| want())?;
    match number.checked_mul(unit) {
        Some(life) if (1..=LIFE_MAX).contains(&life) => Ok(life),
        _ => Err("it should be between a second and ten years".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_and_limits() {
        for (text, want) in
            [("45s", 45), ("20m", 1_200), ("12h", 43_200), ("90d", 90 * DAY), ("3650d", LIFE_MAX)]
        {
            assert_eq!(parse_seconds(text), Ok(want), "{text}");
        }
        for text in ["", "20", "m", "-1d", "0s", "3651d", "99999999999999999999d", "20 m", "1ä"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
        let now = UnixSeconds(1_000_000);
        assert_eq!(span(now, DAY), (now.minus(600), now.plus(DAY)));
        assert_eq!(span(now, 80), (now.minus(10), now.plus(80)));
    }
}
