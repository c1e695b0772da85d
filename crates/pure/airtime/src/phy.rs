use crate::rate::{RATES, Rate, RateSet};
use guestright_units::Nanos;

/// Which amendment of IEEE 802.11 a network follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// 802.11b: 1 to 11 Mb/s at 2.4 GHz (HR/DSSS, clause 16).
    B,
    /// 802.11a: 6 to 54 Mb/s at 5 GHz (OFDM, clause 17).
    A,
    /// 802.11g: all of both at 2.4 GHz (ERP, clause 18).
    G,
}

/// What is in front of a DSSS frame (16.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// 144 µs of preamble and 48 µs of header at 1 Mb/s.
    Long,
    /// 72 µs of preamble at 1 Mb/s and 24 µs of header at 2 Mb/s. Frames at 1 Mb/s have the long one all the same.
    Short,
}

/// What an 802.11g station does for 802.11b stations in reach, which do not hear OFDM frames (10.27).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    Off,
    /// A CTS to itself, at the DSSS rate named, in front of each exchange with an OFDM frame.
    CtsToSelf(Rate),
}

/// The physical layer: rates and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phy {
    /// Which rates there are, and what is around a frame.
    pub standard: Standard,
    /// The preamble of DSSS frames.
    pub preamble: Preamble,
    /// The rate of data frames, where a station has none of its own.
    pub data_rate: Rate,
    /// The rate of ACK and CTS. `None`: by [`Phy::basic_rates`], see [`Phy::response_rate`].
    pub ack_rate: Option<Rate>,
    /// The rates that every station of the network has to understand. The slowest carries broadcasts and beacons, RTS
    /// is sent like an ACK.
    pub basic_rates: RateSet,
    pub slot: Nanos,
    pub sifs: Nanos,
    /// aCWmin, in slots: the first backoff is drawn from 0 to it, with both ends.
    pub cw_min: u32,
    /// aCWmax, in slots.
    pub cw_max: u32,
    /// What is done for older stations.
    pub protection: Protection,
}

impl Phy {
    /// 802.11b at 11 Mb/s, long preamble, ACKs at 1 or 2 Mb/s by the basic rates (16.3.4, 16.4.4, table 16-4).
    #[must_use]
    pub const fn b() -> Self {
        Self {
            standard: Standard::B,
            preamble: Preamble::Long,
            data_rate: Rate::Cck11,
            ack_rate: None,
            basic_rates: RateSet::of(&[Rate::Dsss1, Rate::Dsss2]),
            slot: Nanos::from_micros(20),
            sifs: Nanos::from_micros(10),
            cw_min: 31,
            cw_max: 1_023,
            protection: Protection::Off,
        }
    }

    /// 802.11a at 54 Mb/s (17.4.4, table 17-21).
    #[must_use]
    pub const fn a() -> Self {
        Self {
            standard: Standard::A,
            data_rate: Rate::Ofdm54,
            basic_rates: RateSet::of(&[Rate::Ofdm6, Rate::Ofdm12, Rate::Ofdm24]),
            slot: Nanos::from_micros(9),
            sifs: Nanos::from_micros(16),
            cw_min: 15,
            ..Self::b()
        }
    }

    /// 802.11g at 54 Mb/s, among its own kind: short slots, no protection (18.3.3, 18.4.4, table 18-5).
    #[must_use]
    pub const fn g() -> Self {
        Self {
            standard: Standard::G,
            data_rate: Rate::Ofdm54,
            basic_rates: RateSet::of(&[Rate::Ofdm6, Rate::Ofdm12, Rate::Ofdm24]),
            slot: Nanos::from_micros(9),
            sifs: Nanos::from_micros(10),
            cw_min: 15,
            ..Self::b()
        }
    }

    /// 802.11g at 54 Mb/s beside 802.11b stations: long slots (18.4.4, table 18-5), and CTS to itself at the fastest basic rate
    /// of [`Phy::b`], which all stations in reach understand (10.27.2). aCWmin stays that of 802.11g: 31 is for
    /// stations that have no rate but those of 802.11b (18.4.4).
    #[must_use]
    pub const fn g_beside_b() -> Self {
        Self {
            basic_rates: Self::b().basic_rates,
            slot: Nanos::from_micros(20),
            protection: Protection::CtsToSelf(Rate::Dsss2),
            ..Self::g()
        }
    }

    /// DIFS: SIFS and two slots (10.3.7).
    #[must_use]
    pub const fn difs(&self) -> Nanos {
        Nanos(self.sifs.0 + 2 * self.slot.0)
    }

    /// EIFS: SIFS, an ACK at the lowest mandatory rate, DIFS (10.3.2.3.7). 364 µs with 802.11b and the long preamble.
    #[must_use]
    pub const fn eifs(&self) -> Nanos {
        let lowest = match self.standard {
            Standard::B | Standard::G => Rate::Dsss1,
            Standard::A => Rate::Ofdm6,
        };
        Nanos(self.sifs.0 + self.frame_time(ACK_BYTES, lowest).0 + self.difs().0)
    }

    /// How long a sender waits for the beginning of an ACK or CTS at `rate` (10.3.2.11): SIFS, a slot, and preamble
    /// with header, after which a receiver knows that there is a frame.
    #[must_use]
    pub const fn response_timeout(&self, rate: Rate) -> Nanos {
        Nanos(self.sifs.0 + self.slot.0 + self.preamble_time(rate).0)
    }

    /// Preamble and header of a frame at `rate`: 192, 96 or 20 µs.
    #[must_use]
    pub const fn preamble_time(&self, rate: Rate) -> Nanos {
        Nanos::from_micros(match (rate.is_ofdm(), self.preamble, rate) {
            (true, _, _) => 20,
            (false, Preamble::Long, _) | (false, Preamble::Short, Rate::Dsss1) => 192,
            (false, Preamble::Short, _) => 96,
        })
    }

    /// How long a frame of `bytes` (an MPDU: with MAC header and FCS) is on the air. An OFDM frame at 2.4 GHz has 6 µs
    /// of silence behind it (signal extension, 18.3.2.4).
    #[must_use]
    pub const fn frame_time(&self, bytes: u32, rate: Rate) -> Nanos {
        let extension = if rate.is_ofdm() && matches!(self.standard, Standard::G) { 6_000 } else { 0 };
        Nanos(self.preamble_time(rate).0 + rate.payload_time(bytes).0 + extension)
    }

    /// The rate of the ACK or CTS to a frame at `rate` (10.6.6.5.2): [`Phy::ack_rate`] if there is one; the fastest
    /// basic rate of the same modulation that is not faster than `rate`; else the fastest mandatory one.
    #[must_use]
    pub fn response_rate(&self, rate: Rate) -> Rate {
        let fits = |other: Rate| other.is_ofdm() == rate.is_ofdm() && other <= rate;
        let basic = self.basic_rates.rates().filter(|other| fits(*other)).last();
        let mandatory = || RATES.iter().rfind(|facts| facts.is_mandatory && fits(facts.rate));
        let lowest = if rate.is_ofdm() { Rate::Ofdm6 } else { Rate::Dsss1 };
        self.ack_rate.or(basic).or_else(|| mandatory().map(|facts| facts.rate)).unwrap_or(lowest)
    }

    /// The rate of broadcasts and beacons: the slowest basic one.
    #[must_use]
    pub fn broadcast_rate(&self) -> Rate {
        self.basic_rates.rates().min_by_key(|rate| rate.kbps()).unwrap_or(self.data_rate)
    }

    /// Whether the standard has this rate.
    #[must_use]
    pub const fn has(&self, rate: Rate) -> bool {
        match self.standard {
            Standard::B => !rate.is_ofdm(),
            Standard::A => rate.is_ofdm(),
            Standard::G => true,
        }
    }
}

impl Default for Phy {
    fn default() -> Self {
        Self::b()
    }
}

/// An ACK frame (9.3.1.4).
pub const ACK_BYTES: u32 = 14;
/// A CTS frame (9.3.1.3).
pub const CTS_BYTES: u32 = 14;
/// An RTS frame (9.3.1.2).
pub const RTS_BYTES: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_standard() {
        let micros = Nanos::from_micros;
        let (b, a, g) = (Phy::b(), Phy::a(), Phy::g());
        assert_eq!([b.difs(), a.difs(), g.difs(), Phy::g_beside_b().difs()], [50, 34, 28, 50].map(micros));
        assert_eq!(b.eifs(), micros(364));
        assert_eq!(b.response_timeout(Rate::Dsss2), micros(222));
        let short = Phy { preamble: Preamble::Short, ..b };
        #[rustfmt::skip]
        let cases = [
            ("b", b, 96, Rate::Cck11, 262),
            ("b, ACK", b, ACK_BYTES, Rate::Dsss1, 304),
            ("b, ACK", b, ACK_BYTES, Rate::Dsss2, 248),
            ("short preamble", short, 96, Rate::Cck11, 166),
            ("short preamble, 1 Mb/s", short, ACK_BYTES, Rate::Dsss1, 304),
            ("a", a, ACK_BYTES, Rate::Ofdm24, 28),
            ("a", a, 1_536, Rate::Ofdm54, 248),
            ("g has the signal extension", g, ACK_BYTES, Rate::Ofdm24, 34),
            ("g has none with DSSS", g, 96, Rate::Cck11, 262),
        ];
        for (name, phy, bytes, rate, want) in cases {
            assert_eq!(phy.frame_time(bytes, rate), micros(want), "{name}: {bytes} bytes at {rate}");
        }
    }

    #[test]
    fn responses_have_the_rate_of_the_standard() {
        let dsss = RateSet::of(&[Rate::Dsss1, Rate::Dsss2, Rate::Cck5_5, Rate::Cck11]);
        let all_basic = Phy { basic_rates: dsss, ..Phy::b() };
        let given = Phy { ack_rate: Some(Rate::Dsss1), ..all_basic };
        #[rustfmt::skip]
        let cases = [
            ("1 and 2 are basic", Phy::b(), Rate::Cck11, Rate::Dsss2),
            ("not faster than the frame", all_basic, Rate::Dsss2, Rate::Dsss2),
            ("all are basic", all_basic, Rate::Cck11, Rate::Cck11),
            ("given", given, Rate::Cck11, Rate::Dsss1),
            ("6, 12 and 24 are basic", Phy::g(), Rate::Ofdm54, Rate::Ofdm24),
            ("6, 12 and 24 are basic", Phy::a(), Rate::Ofdm18, Rate::Ofdm12),
            ("6, 12 and 24 are basic", Phy::a(), Rate::Ofdm9, Rate::Ofdm6),
            ("no basic rate of its kind", Phy::g_beside_b(), Rate::Ofdm54, Rate::Ofdm24),
        ];
        for (name, phy, rate, want) in cases {
            assert_eq!(phy.response_rate(rate), want, "{name}: answer to {rate}");
        }
        assert_eq!(Phy::g_beside_b().broadcast_rate(), Rate::Dsss1);
        let mixed = Phy::g_beside_b();
        assert_eq!((mixed.cw_min, mixed.cw_max, mixed.slot.0), (15, 1_023, 20_000));
        assert_eq!(mixed.protection, Protection::CtsToSelf(Phy::b().response_rate(Rate::Cck11)));
        assert_eq!(Phy::a().broadcast_rate(), Rate::Ofdm6);
    }
}
