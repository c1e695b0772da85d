use crate::mode::{Format, Guard, Mode};
use crate::{ACK_BYTES, CTS_BYTES, Phy, RTS_BYTES, Rate};
use guestright_units::Nanos;

/// Where a channel lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz: SIFS is 10 µs, and each OFDM frame has 6 µs of silence behind it (signal extension, 10.3.8).
    Ghz2,
    /// 5 or 6 GHz: SIFS is 16 µs.
    Ghz5,
}

/// No PPDU takes longer (aPPDUMaxTime: tables 19-25, 21-28 and 27-54).
pub const PPDU_TIME_MAX: Nanos = Nanos(5_484_000);

/// Times of 802.11n, ac and ax frames: what [`Phy`] is for a, b and g.
///
/// Slots are 9 µs. What answers data, and RTS, goes at a rate of OFDM that stations since 802.11a understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ht {
    /// Of data frames, where a station has none of its own.
    pub mode: Mode,
    pub band: Band,
    /// The rate of RTS, CTS, ACK and block ACK: of OFDM, and at the most what [`Ht::response_rate`] allows.
    pub control_rate: Rate,
}

impl Ht {
    /// With answers at up to 24 Mb/s, the fastest mandatory rate.
    #[must_use]
    pub const fn new(mode: Mode, band: Band) -> Self {
        Self { mode, band, control_rate: Rate::Ofdm24 }
    }

    /// Rates and times of the frames that are sent as stations since 802.11a and g understand them.
    #[must_use]
    pub const fn legacy(&self) -> Phy {
        match self.band {
            Band::Ghz2 => Phy::g(),
            Band::Ghz5 => Phy::a(),
        }
    }

    #[must_use]
    pub const fn slot(&self) -> Nanos {
        self.legacy().slot
    }

    #[must_use]
    pub const fn sifs(&self) -> Nanos {
        self.legacy().sifs
    }

    /// AIFS: SIFS and `aifsn` slots (10.23.2.4).
    #[must_use]
    pub const fn aifs(&self, aifsn: u8) -> Nanos {
        Nanos(self.sifs().0 + aifsn as u64 * self.slot().0)
    }

    /// How long a PSDU of `bytes` is on the air in `mode`, with what is in front of it (19.4.3, 21.4.3; 802.11ax-2021, 27.4.3).
    ///
    /// `N_SYM = ⌈(16 + 8 · bytes + 6) / N_DBPS⌉`: service bits, and the tail of one convolutional encoder. With the short guard
    /// interval HT and VHT fill up to whole symbols of 4 µs. HE has no packet extension here, which is up to 16 µs.
    #[must_use]
    pub const fn psdu_time(&self, bytes: u32, mode: Mode) -> Nanos {
        let symbols = (bytes as u64 * 8 + 22).div_ceil(mode.bits_per_symbol() as u64);
        let data = symbols * mode.symbol().0;
        let data = if matches!(mode.guard(), Guard::Ns400) { data.next_multiple_of(4_000) } else { data };
        let extension = if matches!(self.band, Band::Ghz2) { 6_000 } else { 0 };
        Nanos(preamble_time(mode).0 + data + extension)
    }

    /// The longest PSDU that takes no longer than `time` in `mode`, in bytes; 0 if none does.
    #[must_use]
    pub const fn psdu_bytes_within(&self, time: Nanos, mode: Mode) -> u32 {
        let extension = if matches!(self.band, Band::Ghz2) { 6_000 } else { 0 };
        let Some(data) = time.0.checked_sub(preamble_time(mode).0 + extension) else { return 0 };
        let data = if matches!(mode.guard(), Guard::Ns400) { data / 4_000 * 4_000 } else { data };
        let bits = data / mode.symbol().0 * mode.bits_per_symbol() as u64;
        #[expect(clippy::cast_possible_truncation, reason = "5.5 ms at 9.6 Gb/s are 7 MB")]
        let bytes = (bits.saturating_sub(22) / 8) as u32;
        bytes
    }

    /// The rate of what answers a frame in `mode`: the fastest of 6, 12 and 24 Mb/s with no more bits to a subcarrier and no
    /// higher code rate, and no faster than [`Ht::control_rate`] (10.6.6.5.2, 10.6.11).
    #[must_use]
    pub fn response_rate(&self, mode: Mode) -> Rate {
        let by_mode = match mode.mcs() {
            0 => Rate::Ofdm6,
            1 | 2 => Rate::Ofdm12,
            _ => Rate::Ofdm24,
        };
        by_mode.min(self.control_rate)
    }

    /// An ACK or CTS at `rate`.
    #[must_use]
    pub const fn ack_time(&self, rate: Rate) -> Nanos {
        const { assert!(ACK_BYTES == CTS_BYTES, "one time for both") };
        self.legacy().frame_time(ACK_BYTES, rate)
    }

    #[must_use]
    pub const fn rts_time(&self, rate: Rate) -> Nanos {
        self.legacy().frame_time(RTS_BYTES, rate)
    }

    /// A compressed block ACK for a window of so many MPDUs, at `rate` (9.3.1.8.2).
    #[must_use]
    pub const fn block_ack_time(&self, window: u16, rate: Rate) -> Nanos {
        self.legacy().frame_time(block_ack_bytes(window), rate)
    }

    /// How long a sender waits for the beginning of an answer: SIFS, a slot, and the preamble of 20 µs (10.3.2.11).
    #[must_use]
    pub const fn response_timeout(&self) -> Nanos {
        self.legacy().response_timeout(Rate::Ofdm6)
    }

    /// What EIFS has more than the AIFS or DIFS that it stands for: SIFS and an ACK at 6 Mb/s (10.3.7).
    #[must_use]
    pub const fn eifs_addition(&self) -> Nanos {
        Nanos(self.sifs().0 + self.ack_time(Rate::Ofdm6).0)
    }
}

/// Everything in front of the data of a PPDU to one station.
///
/// HT-mixed: 20 µs that older stations understand, HT-SIG 8, HT-STF 4, and an HT-LTF of 4 for each stream, for three streams four
/// (19.3.2, table 19-13). VHT: the same with VHT-SIG-A 8 and VHT-SIG-B 4, and LTFs by table 21-13. HE SU: 20, RL-SIG 4, HE-SIG-A 8,
/// HE-STF 4, and as many HE-LTFs, each 6.4 µs and the guard interval, with 3.2 µs of that 12.8 µs (27.3.4, table 27-12).
#[must_use]
pub const fn preamble_time(mode: Mode) -> Nanos {
    let fields = match mode.streams() {
        1 => 1,
        2 => 2,
        3 | 4 => 4,
        5 | 6 => 6,
        _ => 8,
    };
    Nanos(match (mode.format(), mode.guard()) {
        (Format::Ht, _) => 32_000 + 4_000 * fields,
        (Format::Vht, _) => 36_000 + 4_000 * fields,
        (Format::He, Guard::Ns3200) => 36_000 + 16_000 * fields,
        (Format::He, guard) => 36_000 + (6_400 + guard.nanos().0) * fields,
    })
}

/// Length of a compressed block ACK: 24 bytes and a bitmap of 8, or 32 where the window is longer than 64 (table 9-34).
#[must_use]
pub const fn block_ack_bytes(window: u16) -> u32 {
    if window <= 64 { 24 + 8 } else { 24 + 32 }
}

/// What an MPDU takes in an A-MPDU in front of others: a delimiter of 4 bytes, the MPDU, and up to a multiple of 4 (9.7.1).
#[must_use]
pub const fn subframe_bytes(mpdu: u32) -> u32 {
    4 + mpdu.next_multiple_of(4)
}

/// The longest A-MPDU of a format, in bytes (9.4.2.55.3, 9.4.2.157.2; of HE the longest PSDU, 802.11ax-2021, table 27-54).
#[must_use]
pub const fn ampdu_bytes_max(format: Format) -> u32 {
    match format {
        Format::Ht => 65_535,
        Format::Vht => 1_048_575,
        Format::He => 6_500_631,
    }
}

/// The longest A-MSDU of a format, in bytes: 7,935 in HT, elsewhere what an MPDU of 11,454 bytes holds (table 9-25).
#[must_use]
pub const fn amsdu_bytes_max(format: Format) -> u32 {
    match format {
        Format::Ht => 7_935,
        Format::Vht | Format::He => 11_454 - 30,
    }
}

/// What an MSDU takes in an A-MSDU in front of others: 14 bytes of addresses and length, the MSDU, and up to a multiple of 4
/// (9.3.2.2.2).
#[must_use]
pub const fn amsdu_subframe_bytes(msdu: u32) -> u32 {
    (14 + msdu).next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::Width;
    use Format::{He, Ht as N, Vht};
    use Guard::{Ns400, Ns800, Ns1600, Ns3200};
    use Width::{Mhz20, Mhz40, Mhz80, Mhz160};

    fn time(format: Format, mcs: u8, width: Width, guard: Guard, bytes: u32) -> u64 {
        let mode = Mode::new(format, width, guard, 1, mcs).expect("the standard has it");
        Ht::new(mode, Band::Ghz5).psdu_time(bytes, mode).0
    }

    /// Frames of 1,536, 76 and 14 bytes with one stream, in ns, as ns-3 has them in `src/wifi/test/tx-duration-test.cc` (revision
    /// 1999f310).
    #[rustfmt::skip]
    const NS3: [(Format, u8, Width, Guard, [u64; 3]); 29] = [
        (N,   7,  Mhz20,  Ns800,  [228_000, 48_000, 40_000]),
        (N,   0,  Mhz20,  Ns400,  [1_742_400, 126_000, 57_600]),
        (N,   6,  Mhz20,  Ns400,  [226_800, 46_800, 39_600]),
        (N,   7,  Mhz40,  Ns800,  [128_000, 44_000, 40_000]),
        (N,   7,  Mhz40,  Ns400,  [118_800, 43_200, 39_600]),
        (Vht, 8,  Mhz20,  Ns800,  [196_000, 48_000, 40_000]),
        (Vht, 8,  Mhz20,  Ns400,  [180_000, 46_800, 39_600]),
        (Vht, 9,  Mhz40,  Ns800,  [108_000, 40_000, 40_000]),
        (Vht, 9,  Mhz40,  Ns400,  [100_800, 39_600, 39_600]),
        (Vht, 0,  Mhz80,  Ns800,  [460_000, 60_000, 44_000]),
        (Vht, 0,  Mhz80,  Ns400,  [417_600, 57_600, 43_200]),
        (Vht, 9,  Mhz80,  Ns800,  [68_000, 40_000, 40_000]),
        (Vht, 9,  Mhz80,  Ns400,  [64_800, 39_600, 39_600]),
        (Vht, 8,  Mhz160, Ns800,  [56_000, 40_000, 40_000]),
        (Vht, 8,  Mhz160, Ns400,  [54_000, 39_600, 39_600]),
        (He,  0,  Mhz20,  Ns800,  [1_485_600, 125_600, 71_200]),
        (He,  0,  Mhz40,  Ns800,  [764_800, 84_800, 57_600]),
        (He,  0,  Mhz80,  Ns800,  [397_600, 71_200, 57_600]),
        (He,  0,  Mhz160, Ns800,  [220_800, 57_600, 57_600]),
        (He,  0,  Mhz20,  Ns1600, [1_570_400, 130_400, 72_800]),
        (He,  0,  Mhz80,  Ns1600, [418_400, 72_800, 58_400]),
        (He,  0,  Mhz20,  Ns3200, [1_740_000, 140_000, 76_000]),
        (He,  0,  Mhz160, Ns3200, [252_000, 60_000, 60_000]),
        (He,  11, Mhz20,  Ns800,  [139_200, 57_600, 57_600]),
        (He,  11, Mhz40,  Ns800,  [98_400, 57_600, 57_600]),
        (He,  11, Mhz80,  Ns800,  [71_200, 57_600, 57_600]),
        (He,  11, Mhz20,  Ns1600, [144_800, 58_400, 58_400]),
        (He,  11, Mhz40,  Ns3200, [108_000, 60_000, 60_000]),
        (He,  11, Mhz160, Ns3200, [60_000, 60_000, 60_000]),
    ];

    /// ns-3 differs from the standard in three things, and in nothing else: it fills up no symbols with the short guard interval
    /// (equations 19-90 and 21-109), has no VHT-SIG-B in a PPDU to one station (figure 21-4 has it), and takes 8 µs for an HE-LTF
    /// whatever the guard interval is.
    #[test]
    fn frames_take_as_long_as_in_ns3_but_for_three_things() {
        for (format, mcs, width, guard, times) in NS3 {
            for (bytes, ns3) in [1_536, 76, 14].into_iter().zip(times) {
                let got = time(format, mcs, width, guard, bytes);
                let want = match (format, guard) {
                    (N, _) => ns3.next_multiple_of(4_000),
                    (Vht, _) => ns3.next_multiple_of(4_000) + 4_000,
                    (He, Ns800) => ns3 - 800,
                    (He, Ns3200) => ns3 + 8_000,
                    (He, _) => ns3,
                };
                assert_eq!(got, want, "{format:?} MCS {mcs}, {width:?}, {guard:?}, {bytes} bytes");
            }
        }
    }

    #[test]
    fn preambles_grow_with_streams() {
        let preambles = |format, guard| {
            [1, 2, 3, 4].map(|streams| preamble_time(Mode::new(format, Mhz20, guard, streams, 0).unwrap()).0)
        };
        assert_eq!(preambles(N, Ns800), [36_000, 40_000, 48_000, 48_000]);
        assert_eq!(preambles(Vht, Ns800), [40_000, 44_000, 52_000, 52_000]);
        assert_eq!(preambles(He, Ns1600), [44_000, 52_000, 68_000, 68_000]);
        let extended = Mode::new(N, Mhz20, Ns800, 1, 7).unwrap();
        let at = |band| Ht::new(extended, band).psdu_time(14, extended).0;
        assert_eq!(at(Band::Ghz2) - at(Band::Ghz5), 6_000);
    }

    /// Reckoned by hand from 9.3.1 and 17.4.3: 20 µs and symbols of 4 µs with 96 bits at 24 Mb/s.
    #[test]
    fn control_frames_are_those_of_ofdm() {
        let mode = Mode::new(N, Mhz20, Ns800, 1, 7).unwrap();
        let phy = Ht::new(mode, Band::Ghz5);
        let rate = phy.response_rate(mode);
        assert_eq!(rate, Rate::Ofdm24);
        let times = [
            phy.ack_time(rate),
            phy.rts_time(rate),
            phy.block_ack_time(64, rate),
            phy.block_ack_time(256, rate),
        ];
        assert_eq!(times, [28_000, 28_000, 32_000, 40_000].map(Nanos));
        assert_eq!(
            [0, 1, 2, 3].map(|mcs| phy.response_rate(mode.with_mcs(mcs).unwrap()).kbps()),
            [6_000, 12_000, 12_000, 24_000]
        );
        assert_eq!([phy.aifs(2), phy.aifs(3), phy.eifs_addition()], [34_000, 43_000, 60_000].map(Nanos));
    }

    #[test]
    fn what_fits_into_a_time_is_the_longest_that_does() {
        for (format, mcs, width, guard, _) in NS3 {
            let mode = Mode::new(format, width, guard, 1, mcs).unwrap();
            for band in [Band::Ghz2, Band::Ghz5] {
                let phy = Ht::new(mode, band);
                for time in [PPDU_TIME_MAX, Nanos(2_528_000), Nanos(100_000)] {
                    let bytes = phy.psdu_bytes_within(time, mode);
                    assert!(
                        phy.psdu_time(bytes, mode) <= time && phy.psdu_time(bytes + 1, mode) > time,
                        "{mode}"
                    );
                }
                assert_eq!(phy.psdu_bytes_within(Nanos(30_000), mode), 0);
            }
        }
    }

    #[test]
    fn subframes_are_padded() {
        assert_eq!([1_530, 1_532, 1_533].map(subframe_bytes), [1_536, 1_536, 1_540]);
        assert_eq!([1_508, 40].map(amsdu_subframe_bytes), [1_524, 56]);
    }
}
