use guestright_units::Nanos;
use std::fmt;

/// How a PPDU of a standard since 2009 is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// IEEE 802.11n, HT-mixed (clause 19).
    Ht,
    /// IEEE 802.11ac, to one station (clause 21).
    Vht,
    /// IEEE 802.11ax, to one station over the whole channel: HE SU (IEEE 802.11ax-2021, clause 27).
    He,
}

/// The width of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    Mhz20,
    Mhz40,
    Mhz80,
    /// Contiguous or 80 + 80: the rates are the same.
    Mhz160,
}

/// The guard interval in front of each symbol of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// 0.4 µs: HT and VHT.
    Ns400,
    /// 0.8 µs: all.
    Ns800,
    /// 1.6 µs: HE.
    Ns1600,
    /// 3.2 µs: HE.
    Ns3200,
}

impl Width {
    #[must_use]
    pub const fn mhz(self) -> u32 {
        match self {
            Self::Mhz20 => 20,
            Self::Mhz40 => 40,
            Self::Mhz80 => 80,
            Self::Mhz160 => 160,
        }
    }
}

impl Guard {
    #[must_use]
    pub const fn nanos(self) -> Nanos {
        Nanos(match self {
            Self::Ns400 => 400,
            Self::Ns800 => 800,
            Self::Ns1600 => 1_600,
            Self::Ns3200 => 3_200,
        })
    }
}

/// Coded bits in a subcarrier and stream (N_BPSCS), and the code rate as a fraction, by MCS (tables 19-27, 21-30 and 27-111).
const MODULATIONS: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// One way of putting data on the air: what a rate table has a row for.
///
/// [`Mode::new`] makes only those that the standard has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode {
    format: Format,
    width: Width,
    guard: Guard,
    streams: u8,
    mcs: u8,
}

impl Mode {
    /// The mode with these properties, if the standard has it.
    ///
    /// `mcs` is modulation and code alone, 0 to 7 (HT), 9 (VHT) or 11 (HE), as VHT and HE count; what HT calls MCS 15 is 7 with
    /// two streams. HT has up to four streams, the others eight.
    #[must_use]
    pub const fn new(format: Format, width: Width, guard: Guard, streams: u8, mcs: u8) -> Option<Self> {
        let (mcs_max, streams_max) = match format {
            Format::Ht => (7, 4),
            Format::Vht => (9, 8),
            Format::He => (11, 8),
        };
        let is_wide = matches!(width, Width::Mhz80 | Width::Mhz160);
        let fits = match format {
            Format::Ht => !is_wide && matches!(guard, Guard::Ns400 | Guard::Ns800),
            Format::Vht => {
                matches!(guard, Guard::Ns400 | Guard::Ns800) && has_whole_bits(width, streams, mcs)
            }
            Format::He => !matches!(guard, Guard::Ns400),
        };
        if streams == 0 || streams > streams_max || mcs > mcs_max || !fits {
            return None;
        }
        Some(Self { format, width, guard, streams, mcs })
    }

    #[must_use]
    pub const fn format(self) -> Format {
        self.format
    }

    #[must_use]
    pub const fn width(self) -> Width {
        self.width
    }

    #[must_use]
    pub const fn guard(self) -> Guard {
        self.guard
    }

    /// Spatial streams.
    #[must_use]
    pub const fn streams(self) -> u8 {
        self.streams
    }

    /// Modulation and code, from 0.
    #[must_use]
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// Subcarriers that carry data (N_SD: tables 19-6, 21-5; of HE those of the RU that fills the channel, table 27-12).
    #[must_use]
    pub const fn subcarriers(self) -> u32 {
        match (self.format, self.width) {
            (Format::Ht | Format::Vht, Width::Mhz20) => 52,
            (Format::Ht | Format::Vht, Width::Mhz40) => 108,
            (Format::Ht | Format::Vht, Width::Mhz80) => 234,
            (Format::Ht | Format::Vht, Width::Mhz160) => 468,
            (Format::He, Width::Mhz20) => 234,
            (Format::He, Width::Mhz40) => 468,
            (Format::He, Width::Mhz80) => 980,
            (Format::He, Width::Mhz160) => 1_960,
        }
    }

    /// Data bits in a symbol: `N_DBPS = ⌊N_SD · N_BPSCS · N_SS · R⌋`. Rounding matters to HE alone.
    #[must_use]
    pub const fn bits_per_symbol(self) -> u32 {
        let (coded, numerator, denominator) = MODULATIONS[self.mcs as usize];
        self.subcarriers() * coded * self.streams as u32 * numerator / denominator
    }

    /// A symbol of data: 3.2 µs (HT, VHT) or 12.8 µs (HE), and the guard interval.
    #[must_use]
    pub const fn symbol(self) -> Nanos {
        let useful = if matches!(self.format, Format::He) { 12_800 } else { 3_200 };
        Nanos(useful + self.guard.nanos().0)
    }

    /// The rate, in kb/s, cut to whole ones: of the bits before [`Mode::bits_per_symbol`] rounds them, as tables have it.
    #[must_use]
    pub const fn kbps(self) -> u32 {
        let (coded, numerator, denominator) = MODULATIONS[self.mcs as usize];
        let bits = self.subcarriers() as u64 * coded as u64 * self.streams as u64 * numerator as u64;
        let kbps = bits * 1_000_000 / (denominator as u64 * self.symbol().0);
        #[expect(clippy::cast_possible_truncation, reason = "the fastest has 9.6 Gb/s")]
        let kbps = kbps as u32;
        kbps
    }

    /// The same with another modulation and code, if the standard has it.
    #[must_use]
    pub const fn with_mcs(self, mcs: u8) -> Option<Self> {
        Self::new(self.format, self.width, self.guard, self.streams, mcs)
    }

    /// All modulations and codes with this width, guard interval and streams, the slowest first.
    pub fn siblings(self) -> impl Iterator<Item = Self> {
        (0..12).filter_map(move |mcs| self.with_mcs(mcs))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.format {
            Format::Ht => "HT",
            Format::Vht => "VHT",
            Format::He => "HE",
        };
        let (mhz, guard) = (self.width.mhz(), self.guard.nanos().0);
        let rate = f64::from(self.kbps()) / 1e3;
        write!(f, "{name} MCS {}, {mhz} MHz, {} streams, {guard} ns: {rate} Mb/s", self.mcs, self.streams)
    }
}

/// Whether coded and data bits of a symbol divide evenly among VHT's encoders; the tables of 21.5 leave out where they do not.
const fn has_whole_bits(width: Width, streams: u8, mcs: u8) -> bool {
    !matches!(
        (width, mcs, streams),
        (Width::Mhz20, 9, 1 | 2 | 4 | 5 | 7 | 8)
            | (Width::Mhz80, 6, 3 | 7)
            | (Width::Mhz80, 9, 6)
            | (Width::Mhz160, 9, 3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use Format::{He, Ht, Vht};
    use Guard::{Ns400, Ns800, Ns1600, Ns3200};
    use Width::{Mhz20, Mhz40, Mhz80, Mhz160};

    /// Rates as the standard prints them, in tenths of Mb/s: IEEE 802.11-2020, tables 19-27 to 19-34 (HT) and 21-30 to 21-61 (VHT),
    /// IEEE 802.11ax-2021, clause 27.5 (HE).
    #[rustfmt::skip]
    const PRINTED: [(Format, Width, Guard, u8, &[u32]); 20] = [
        (Ht,  Mhz20,  Ns800,  1, &[65, 130, 195, 260, 390, 520, 585, 650]),
        (Ht,  Mhz20,  Ns400,  1, &[72, 144, 217, 289, 433, 578, 650, 722]),
        (Ht,  Mhz40,  Ns800,  1, &[135, 270, 405, 540, 810, 1_080, 1_215, 1_350]),
        (Ht,  Mhz40,  Ns400,  1, &[150, 300, 450, 600, 900, 1_200, 1_350, 1_500]),
        (Ht,  Mhz20,  Ns400,  2, &[144, 289, 433, 578, 867, 1_156, 1_300, 1_444]),
        (Ht,  Mhz40,  Ns400,  4, &[600, 1_200, 1_800, 2_400, 3_600, 4_800, 5_400, 6_000]),
        (Vht, Mhz20,  Ns800,  1, &[65, 130, 195, 260, 390, 520, 585, 650, 780]),
        (Vht, Mhz20,  Ns400,  3, &[217, 433, 650, 867, 1_300, 1_733, 1_950, 2_167, 2_600, 2_889]),
        (Vht, Mhz40,  Ns800,  1, &[135, 270, 405, 540, 810, 1_080, 1_215, 1_350, 1_620, 1_800]),
        (Vht, Mhz80,  Ns800,  1, &[293, 585, 878, 1_170, 1_755, 2_340, 2_633, 2_925, 3_510, 3_900]),
        (Vht, Mhz80,  Ns400,  1, &[325, 650, 975, 1_300, 1_950, 2_600, 2_925, 3_250, 3_900, 4_333]),
        (Vht, Mhz80,  Ns400,  2, &[650, 1_300, 1_950, 2_600, 3_900, 5_200, 5_850, 6_500, 7_800, 8_667]),
        (Vht, Mhz160, Ns400,  1, &[650, 1_300, 1_950, 2_600, 3_900, 5_200, 5_850, 6_500, 7_800, 8_667]),
        (He,  Mhz20,  Ns800,  1, &[86, 172, 258, 344, 516, 688, 774, 860, 1_032, 1_147, 1_290, 1_434]),
        (He,  Mhz20,  Ns1600, 1, &[81, 163, 244, 325, 488, 650, 731, 813, 975, 1_083, 1_219, 1_354]),
        (He,  Mhz20,  Ns3200, 1, &[73, 146, 219, 293, 439, 585, 658, 731, 878, 975, 1_097, 1_219]),
        (He,  Mhz40,  Ns800,  1, &[172, 344, 516, 688, 1_032, 1_376, 1_549, 1_721, 2_065, 2_294, 2_581, 2_868]),
        (He,  Mhz80,  Ns800,  1, &[360, 721, 1_081, 1_441, 2_162, 2_882, 3_243, 3_603, 4_324, 4_804, 5_404, 6_005]),
        (He,  Mhz80,  Ns3200, 1, &[306, 613, 919, 1_225, 1_838, 2_450, 2_756, 3_063, 3_675, 4_083, 4_594, 5_104]),
        (He,  Mhz160, Ns800,  2, &[1_441, 2_882, 4_324, 5_765, 8_647, 11_529, 12_971, 14_412, 17_294, 19_216, 21_618, 24_020]),
    ];

    #[test]
    fn rates_are_those_of_the_tables_of_the_standard() {
        for (format, width, guard, streams, rates) in PRINTED {
            for (mcs, want) in (0..).zip(rates) {
                let mode = Mode::new(format, width, guard, streams, mcs).expect("the standard has it");
                // Tables are rounded to a tenth; where the next digit is a five, printed ones go either way.
                let over = (f64::from(mode.kbps()) / 100.0 - f64::from(*want)).abs();
                assert!(over <= 0.51, "{mode}, not {want} tenths of Mb/s");
            }
        }
    }

    #[test]
    fn what_the_tables_leave_out_does_not_exist() {
        let vht = |width, streams, mcs| Mode::new(Vht, width, Ns800, streams, mcs).is_some();
        let nine: Vec<u8> = (1..=8).filter(|streams| vht(Mhz20, *streams, 9)).collect();
        assert_eq!(nine, [3, 6]);
        assert!(!vht(Mhz80, 3, 6) && !vht(Mhz80, 7, 6) && !vht(Mhz80, 6, 9) && !vht(Mhz160, 3, 9));
        assert!(vht(Mhz80, 2, 6) && vht(Mhz160, 4, 9) && vht(Mhz40, 1, 9));
        let others = [
            Mode::new(Ht, Mhz80, Ns800, 1, 0),
            Mode::new(Ht, Mhz20, Ns1600, 1, 0),
            Mode::new(Ht, Mhz20, Ns800, 5, 0),
            Mode::new(Ht, Mhz20, Ns800, 1, 8),
            Mode::new(Vht, Mhz20, Ns800, 1, 10),
            Mode::new(He, Mhz20, Ns400, 1, 0),
            Mode::new(He, Mhz20, Ns800, 9, 0),
            Mode::new(He, Mhz20, Ns800, 1, 12),
            Mode::new(He, Mhz20, Ns800, 0, 0),
        ];
        assert_eq!(others, [None; 9]);
    }

    #[test]
    fn siblings_are_in_the_order_of_their_rates() {
        let mode = Mode::new(He, Mhz80, Ns800, 2, 0).unwrap();
        let rates: Vec<u32> = mode.siblings().map(Mode::kbps).collect();
        assert_eq!(rates.len(), 12);
        assert!(rates.is_sorted());
        assert_eq!(Mode::new(Vht, Mhz20, Ns800, 1, 0).unwrap().siblings().count(), 9);
    }
}
