//! The languages of the page, each a table of all its texts.

mod arabic;
mod english;
mod french;
mod german;

/// In `Accept-Language`, so many are looked at.
const WISHES_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    English,
    German,
    French,
    Arabic,
}

/// A sentence around something that is put into it.
pub(crate) type Around = [&'static str; 2];

/// All texts of the page in one language. A language that lacks one does not compile.
pub(crate) struct Texts {
    pub(crate) title: &'static str,
    pub(crate) shares: Around,
    pub(crate) no_company: &'static str,

    pub(crate) stranger_heading: &'static str,
    pub(crate) stranger: &'static str,
    pub(crate) welcome_heading: &'static str,
    pub(crate) welcome: &'static str,
    pub(crate) served_heading: &'static str,
    pub(crate) refused_heading: &'static str,
    pub(crate) home_away_heading: &'static str,
    pub(crate) home_away: &'static str,
    pub(crate) undecided_heading: &'static str,
    pub(crate) undecided: &'static str,
    pub(crate) closed_heading: &'static str,
    pub(crate) closed: &'static str,

    pub(crate) class_lowest: &'static str,
    pub(crate) class_low: &'static str,
    pub(crate) class_middle: &'static str,
    pub(crate) class_high: &'static str,
    pub(crate) class_own: &'static str,
    pub(crate) volume_left: Around,

    pub(crate) why: &'static str,
    pub(crate) why_own: &'static str,
    pub(crate) why_owed: &'static str,
    pub(crate) why_chain: &'static str,
    pub(crate) why_sponsored: &'static str,
    pub(crate) why_allowance: &'static str,
    pub(crate) why_everybody: &'static str,
    pub(crate) not_allowance: &'static str,
    pub(crate) not_unpaid: &'static str,
    pub(crate) not_busy: &'static str,
    pub(crate) not_certificate: &'static str,
    pub(crate) not_revoked: &'static str,
    pub(crate) not_other: &'static str,
    pub(crate) chain: &'static str,
    pub(crate) no_chain: &'static str,
    /// Around a debtor, a creditor and a volume.
    pub(crate) debt: [&'static str; 4],
    pub(crate) no_debts: &'static str,

    pub(crate) trial: &'static str,
    pub(crate) trial_button: Around,
    pub(crate) trial_heading: &'static str,
    pub(crate) trial_running: &'static str,
    pub(crate) minutes_left: Around,
    pub(crate) trial_used_up: &'static str,
    pub(crate) again: &'static str,

    pub(crate) member_heading: &'static str,
    pub(crate) member_steps: [&'static str; 3],
    pub(crate) member_page: Around,
    pub(crate) terms_heading: &'static str,
    pub(crate) contact_heading: &'static str,
    pub(crate) privacy_heading: &'static str,
    pub(crate) privacy: &'static str,
    /// The link to the page of terms, and its heading.
    pub(crate) terms_page: &'static str,
    /// For a household that has written none.
    pub(crate) terms_usual: [&'static str; 2],
    pub(crate) kept_heading: &'static str,
    pub(crate) kept_receipts: &'static str,
    pub(crate) kept_no_addresses: &'static str,
    pub(crate) kept_addresses: &'static str,
    pub(crate) kept_hours: Around,
    pub(crate) back: &'static str,
    pub(crate) languages: &'static str,

    pub(crate) decimal_mark: &'static str,
    /// kB, MB, GB, TB.
    pub(crate) units: [&'static str; 4],
}

impl Language {
    pub const ALL: [Self; 4] = [Self::English, Self::German, Self::French, Self::Arabic];

    /// Its tag (RFC 5646), which is also its route.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Arabic => "ar",
        }
    }

    pub fn of_tag(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.tag() == tag)
    }

    /// What those who read it call it.
    pub(crate) fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
            Self::French => "Français",
            Self::Arabic => "العربية",
        }
    }

    /// `ltr` or `rtl`.
    pub(crate) fn direction(self) -> &'static str {
        match self {
            Self::English | Self::German | Self::French => "ltr",
            Self::Arabic => "rtl",
        }
    }

    pub(crate) fn texts(self) -> &'static Texts {
        match self {
            Self::English => &english::TEXTS,
            Self::German => &german::TEXTS,
            Self::French => &french::TEXTS,
            Self::Arabic => &arabic::TEXTS,
        }
    }

    /// The best of `offered` for an `Accept-Language` (RFC 9110 section 12.5.4), by the first part of each tag. Of equal
    /// wishes the first one counts. Nothing if none is there.
    pub(crate) fn wished(accept: &str, offered: &[Self]) -> Option<Self> {
        let mut best: Option<(u32, Self)> = None;
        for wish in accept.split(',').take(WISHES_MAX) {
            let mut parts = wish.split(';').map(str::trim);
            let tag = parts.next().unwrap_or("").split('-').next().unwrap_or("").to_ascii_lowercase();
            let weight = parts.next().map_or(Some(1_000), thousandths).unwrap_or(0);
            let Some(language) = Self::of_tag(&tag).filter(|it| offered.contains(it)) else { continue };
            if weight > best.map_or(0, |(weight, _)| weight) {
                best = Some((weight, language));
            }
        }
        best.map(|(_, language)| language)
    }
}

/// The number behind `q=`, from 0 to 1000 (RFC 9110 section 12.4.2).
fn thousandths(text: &str) -> Option<u32> {
    let (whole, rest) = text.strip_prefix("q=")?.split_once('.').unwrap_or((&text[2..], ""));
    let digits = format!("{rest:0<3}");
    let is_good = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    match whole {
        "1" if is_good => Some(1_000),
        "0" if is_good => digits.parse().ok(),
        _ => None,
    }
}

impl Texts {
    /// A volume as people of that language write it, without the exact bytes.
    pub(crate) fn volume(&self, bytes: u64) -> String {
        // Tenths of the unit, rounded down: nobody gets less than what stands here.
        let (mut tenths, mut unit) = (bytes / 100, 0);
        while tenths >= 10_000 && unit + 1 < self.units.len() {
            (tenths, unit) = (tenths / 1_000, unit + 1);
        }
        let digits = match (tenths / 10, tenths % 10) {
            (whole, 0) => whole.to_string(),
            (whole, _) if whole >= 100 => whole.to_string(),
            (whole, tenth) => format!("{whole}{}{tenth}", self.decimal_mark),
        };
        // No line breaks between a number and its unit.
        format!("{digits}\u{a0}{}", self.units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Language::{Arabic, English, French, German};

    #[test]
    fn the_language_that_is_wished_most_is_chosen() {
        #[rustfmt::skip]
        let cases = [
            ("", None), ("*", None), ("nl", None), ("de", Some(German)), ("ar-EG,ar;q=0.9,en;q=0.8", Some(Arabic)),
            ("en;q=0.5, fr;q=0.500, de;q=0.51", Some(German)), ("en;q=0", None), ("DE-at", Some(German)),
            ("fr;q=2,de;q=0.1", Some(German)), ("fr;q=0.1234,de;q=0.001", Some(German)), ("fr;q=,de", Some(German)),
            ("de;q=1.000,en", Some(German)), (";;,,;q=1,fr", Some(French)), ("nl;q=1,en;q=0.1", Some(English)),
        ];
        for (accept, want) in cases {
            assert_eq!(Language::wished(accept, &Language::ALL), want, "{accept:?}");
        }
        assert_eq!(Language::wished("de,fr;q=0.1", &[English, French]), Some(French));
        let many = format!("{}de", "nl,".repeat(WISHES_MAX));
        assert_eq!(Language::wished(&many, &Language::ALL), None);
    }

    #[test]
    fn volumes_are_written_as_people_write_them() {
        let cases = [
            (0, "0\u{a0}kB"),
            (128_000, "128\u{a0}kB"),
            (5_000_000, "5\u{a0}MB"),
            (12_750_000, "12.7\u{a0}MB"),
            (999_999, "999\u{a0}kB"),
            (1_000_000, "1\u{a0}MB"),
            (u64::MAX, "18446744\u{a0}TB"),
        ];
        for (bytes, want) in cases {
            assert_eq!(English.texts().volume(bytes), want);
        }
        assert_eq!(German.texts().volume(1_500_000), "1,5\u{a0}MB");
        assert_eq!(French.texts().volume(1_500_000), "1,5\u{a0}Mo");
    }
}
