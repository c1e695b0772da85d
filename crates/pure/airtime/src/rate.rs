use guestright_units::Nanos;
use std::fmt;

/// A rate of IEEE 802.11b, 802.11a or 802.11g.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rate {
    /// 1 Mb/s.
    Dsss1,
    /// 2 Mb/s.
    Dsss2,
    /// 5.5 Mb/s.
    Cck5_5,
    /// 11 Mb/s.
    Cck11,
    /// 6 Mb/s.
    Ofdm6,
    /// 9 Mb/s.
    Ofdm9,
    /// 12 Mb/s.
    Ofdm12,
    /// 18 Mb/s.
    Ofdm18,
    /// 24 Mb/s.
    Ofdm24,
    /// 36 Mb/s.
    Ofdm36,
    /// 48 Mb/s.
    Ofdm48,
    /// 54 Mb/s.
    Ofdm54,
}

/// How a rate is put on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// One carrier, with a code over it: DSSS and HR/DSSS (CCK).
    Dsss,
    /// Many carriers, in symbols of 4 µs.
    Ofdm,
}

/// What is known of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateFacts {
    pub rate: Rate,
    /// In kb/s.
    pub kbps: u32,
    /// How it is put on the air.
    pub modulation: Modulation,
    /// Data bits in a symbol of 4 µs (N_DBPS); 0 for DSSS.
    pub bits_per_symbol: u32,
    /// Whether every station of a standard that has the rate must have it.
    pub is_mandatory: bool,
    /// Where IEEE 802.11-2020 has it.
    pub clause: &'static str,
}

const fn dsss(rate: Rate, kbps: u32, clause: &'static str) -> RateFacts {
    RateFacts { rate, kbps, modulation: Modulation::Dsss, bits_per_symbol: 0, is_mandatory: true, clause }
}

const fn ofdm(rate: Rate, kbps: u32, bits_per_symbol: u32, is_mandatory: bool) -> RateFacts {
    let clause = "17.3.2.2, table 17-4";
    RateFacts { rate, kbps, modulation: Modulation::Ofdm, bits_per_symbol, is_mandatory, clause }
}

/// All rates, in the order of [`Rate`].
pub const RATES: [RateFacts; 12] = [
    dsss(Rate::Dsss1, 1_000, "15.4.6.4"),
    dsss(Rate::Dsss2, 2_000, "15.4.6.5"),
    dsss(Rate::Cck5_5, 5_500, "16.3.6.5"),
    dsss(Rate::Cck11, 11_000, "16.3.6.6"),
    ofdm(Rate::Ofdm6, 6_000, 24, true),
    ofdm(Rate::Ofdm9, 9_000, 36, false),
    ofdm(Rate::Ofdm12, 12_000, 48, true),
    ofdm(Rate::Ofdm18, 18_000, 72, false),
    ofdm(Rate::Ofdm24, 24_000, 96, true),
    ofdm(Rate::Ofdm36, 36_000, 144, false),
    ofdm(Rate::Ofdm48, 48_000, 192, false),
    ofdm(Rate::Ofdm54, 54_000, 216, false),
];

impl Rate {
    /// What is known of it.
    #[must_use]
    pub const fn facts(self) -> &'static RateFacts {
        &RATES[self as usize]
    }

    /// In kb/s.
    #[must_use]
    pub const fn kbps(self) -> u32 {
        self.facts().kbps
    }

    /// The rate of `kbps` kb/s, if there is one.
    #[must_use]
    pub fn from_kbps(kbps: u32) -> Option<Self> {
        RATES.iter().find(|facts| facts.kbps == kbps).map(|facts| facts.rate)
    }

    /// Whether it is an OFDM rate.
    #[must_use]
    pub const fn is_ofdm(self) -> bool {
        matches!(self.facts().modulation, Modulation::Ofdm)
    }

    /// How long `bytes` of an MPDU take behind preamble and header.
    ///
    /// DSSS: `⌈8 · bytes / rate⌉` µs, because the header says the length in whole microseconds (16.4.3.4, TXTIME).
    /// OFDM: `4 µs · ⌈(16 + 8 · bytes + 6) / N_DBPS⌉`, with the service and tail bits (17.4.3).
    #[must_use]
    pub const fn payload_time(self, bytes: u32) -> Nanos {
        let facts = self.facts();
        let bits = bytes as u64 * 8;
        match facts.modulation {
            Modulation::Dsss => Nanos::from_micros((bits * 1_000).div_ceil(facts.kbps as u64)),
            Modulation::Ofdm => Nanos::from_micros(4 * (bits + 22).div_ceil(facts.bits_per_symbol as u64)),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mb/s", f64::from(self.kbps()) / 1e3)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSet(u16);

impl RateSet {
    /// The set of `rates`.
    #[must_use]
    pub const fn of(rates: &[Rate]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < rates.len() {
            bits |= 1 << rates[index] as u16;
            index += 1;
        }
        Self(bits)
    }

    /// Whether `rate` is in it.
    #[must_use]
    pub const fn contains(self, rate: Rate) -> bool {
        self.0 >> rate as u16 & 1 == 1
    }

    /// Those in it, the slowest of each modulation first.
    pub fn rates(self) -> impl Iterator<Item = Rate> {
        RATES.iter().map(|facts| facts.rate).filter(move |rate| self.contains(*rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_rates() {
        for (index, facts) in RATES.iter().enumerate() {
            assert_eq!(facts.rate as usize, index);
            assert_eq!(Rate::from_kbps(facts.kbps), Some(facts.rate));
            if facts.rate.is_ofdm() {
                assert_eq!(facts.bits_per_symbol * 250, facts.kbps, "symbols take 4 µs");
            }
        }
        assert_eq!(Rate::from_kbps(22_000), None);
    }

    #[test]
    fn payloads_take_the_time_of_the_standard() {
        #[rustfmt::skip]
        let cases = [
            (Rate::Cck11, 96, 70),      // 69.8
            (Rate::Cck11, 14, 11),      // 10.2
            (Rate::Dsss1, 14, 112),
            (Rate::Dsss2, 14, 56),
            (Rate::Cck5_5, 96, 140),    // 139.6
            (Rate::Ofdm6, 14, 24),      // 134 bits: 6 symbols of 24
            (Rate::Ofdm24, 14, 8),      // 2 symbols of 96
            (Rate::Ofdm54, 1_536, 228), // 12,310 bits: 56.99 symbols of 216
            (Rate::Ofdm54, 96, 16),     // 790 bits: 3.7 symbols
        ];
        for (rate, bytes, micros) in cases {
            assert_eq!(rate.payload_time(bytes), Nanos::from_micros(micros), "{bytes} bytes at {rate}");
        }
    }

    #[test]
    fn a_set_has_what_was_put_in() {
        let set = RateSet::of(&[Rate::Cck11, Rate::Ofdm6]);
        assert_eq!(set.rates().collect::<Vec<_>>(), [Rate::Cck11, Rate::Ofdm6]);
        assert!(!set.contains(Rate::Dsss1));
    }
}
