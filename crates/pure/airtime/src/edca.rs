use guestright_units::Nanos;

/// A class of traffic that contends for the medium by itself (10.23.2.1), the most urgent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessCategory {
    Background,
    BestEffort,
    Video,
    Voice,
}

impl AccessCategory {
    /// All, the least urgent first.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// Its place in [`AccessCategory::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The category of a user priority from 0 to 7 (table 10-1).
    #[must_use]
    pub const fn of_priority(priority: u8) -> Self {
        match priority {
            1 | 2 => Self::Background,
            4 | 5 => Self::Video,
            6 | 7 => Self::Voice,
            _ => Self::BestEffort,
        }
    }
}

/// How a category contends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Slots behind SIFS for which the medium must be idle.
    pub aifsn: u8,
    /// The first backoff is drawn from 0 to it, with both ends; slots.
    pub cw_min: u32,
    pub cw_max: u32,
    /// For how long who has won may go on sending; 0 is one PPDU and its answer.
    pub txop_limit: Nanos,
}

impl Access {
    /// The default of the standard for stations with OFDM, whose aCWmin is 15 and aCWmax 1023 (table 9-155).
    #[must_use]
    pub const fn standard(category: AccessCategory) -> Self {
        match category {
            AccessCategory::Background => Self::of(7, 15, 1_023, 2_528),
            AccessCategory::BestEffort => Self::of(3, 15, 1_023, 2_528),
            AccessCategory::Video => Self::of(2, 7, 15, 4_096),
            AccessCategory::Voice => Self::of(2, 3, 7, 2_080),
        }
    }

    const fn of(aifsn: u8, cw_min: u32, cw_max: u32, txop_us: u64) -> Self {
        Self { aifsn, cw_min, cw_max, txop_limit: Nanos::from_micros(txop_us) }
    }

    /// The defaults of all categories.
    #[must_use]
    pub fn standards() -> [Self; 4] {
        AccessCategory::ALL.map(Self::standard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows as the standard has them: (aCWmin + 1) / 4 − 1 and so on.
    #[test]
    fn windows_are_parts_of_the_physical_layers() {
        let (min, max) = (15, 1_023);
        let windows = Access::standards().map(|access| (access.cw_min, access.cw_max));
        let half = (min - 1) / 2;
        assert_eq!(windows, [(min, max), (min, max), (half, min), ((min - 3) / 4, half)]);
    }

    /// Table 9-137 of IEEE 802.11-2016 as <https://netgab.net/web/2017/12/05/cisco-wlc-edca-timers/> quotes it.
    #[test]
    fn limits_and_pauses_are_those_of_the_table() {
        let rows = Access::standards().map(|access| (access.aifsn, access.txop_limit.0 / 1_000));
        assert_eq!(rows, [(7, 2_528), (3, 2_528), (2, 4_096), (2, 2_080)]);
    }

    #[test]
    fn each_priority_has_a_category() {
        let categories =
            [0, 1, 2, 3, 4, 5, 6, 7].map(|priority| AccessCategory::of_priority(priority).index());
        assert_eq!(categories, [1, 0, 0, 1, 2, 2, 3, 3]);
    }
}
