use super::{Config, ConfigError};
use guestright_airtime::{Band, Mode, Rate};

/// What is between the stations: how loud they are at each other, and what is received at which ratio of signal to noise.
///
/// Loudness falls with the logarithm of the distance: `P(d) = power − L₁ − 10 · exponent · log₁₀(d / 1 m)`, with the loss of free space
/// over the first metre `L₁ = 20 · log₁₀(4π · 1 m · f / c)`, 40.1 dB at 2.437 GHz and 46.7 dB at 5.18 GHz (Rappaport, Wireless
/// Communications, 4.9). Nothing fades or moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Air {
    /// What each station sends with, antennas included, in dBm.
    pub power_dbm: f64,
    /// The loss over the first metre, in dB.
    pub first_metre_db: f64,
    /// How fast loudness falls: 2 in free space, 3 to 4 in houses.
    pub exponent: f64,
    /// What a receiver adds to thermal noise, in dB.
    pub noise_figure_db: f64,
    /// From which loudness on stations hear that there is a frame, in dBm; −82 dBm (17.3.10.6).
    pub carrier_sense_dbm: f64,
}

impl Air {
    /// 20 dBm, an exponent of 3, a noise figure of 7 dB, and carrier sense from −82 dBm on.
    #[must_use]
    pub const fn new(band: Band) -> Self {
        let first_metre_db = match band {
            Band::Ghz2 => 40.1,
            Band::Ghz5 => 46.7,
        };
        Self {
            power_dbm: 20.0,
            first_metre_db,
            exponent: 3.0,
            noise_figure_db: 7.0,
            carrier_sense_dbm: -82.0,
        }
    }

    /// How loud a station is at a distance, in dBm. Closer than a metre it is as loud as there.
    #[must_use]
    pub fn signal_dbm(&self, distance_m: f64) -> f64 {
        self.power_dbm - self.first_metre_db - 10.0 * self.exponent * libm::log10(distance_m.max(1.0))
    }

    /// Thermal noise of −174 dBm in a hertz, and the receiver's, in dBm.
    #[must_use]
    pub fn noise_dbm(&self, width_mhz: u32) -> f64 {
        -174.0 + 10.0 * libm::log10(f64::from(width_mhz) * 1e6) + self.noise_figure_db
    }

    /// The chance that an MPDU of `bytes` in `mode` is received, at a ratio of signal to noise and interference in dB.
    ///
    /// One tenth of PSDUs of 4,096 bytes is lost at the minimum sensitivity (19.3.19.2, 21.3.18.1; 802.11ax-2021, 27.3.20.2), which
    /// allows for a noise figure of 10 dB and an implementation loss of 5 dB; that gives the ratio and the share of
    /// wrong bits there. That share changes tenfold with each decibel: the slope is ours, about that of the code's curves.
    #[must_use]
    pub fn mpdu_chance(mode: Mode, bytes: u32, snr_db: f64) -> f64 {
        chance(snr_of(mode.mcs()), bytes, snr_db)
    }

    /// The same of a control frame.
    #[must_use]
    pub fn control_chance(rate: Rate, bytes: u32, snr_db: f64) -> f64 {
        chance(snr_of(mcs_of(rate)), bytes, snr_db)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        #[rustfmt::skip]
        let rows = [
            ("power_dbm",         self.power_dbm,         -50.0..=40.0,  "-50 to 40"),
            ("first_metre_db",    self.first_metre_db,    0.0..=100.0,   "0 to 100"),
            ("exponent",          self.exponent,          1.0..=6.0,     "1 to 6"),
            ("noise_figure_db",   self.noise_figure_db,   0.0..=30.0,    "0 to 30"),
            ("carrier_sense_dbm", self.carrier_sense_dbm, -110.0..=20.0, "-110 to 20"),
        ];
        match rows.into_iter().find(|(_, got, range, _)| !range.contains(got)) {
            Some((what, got, _, want)) => Err(ConfigError::Air { what, got, want }),
            None => Ok(()),
        }
    }
}

/// Minimum sensitivities with 20 MHz, in dBm, by MCS (tables 19-23 and 21-25; 802.11ax-2021, table 27-51).
const SENSITIVITIES: [f64; 12] =
    [-82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0, -59.0, -57.0, -54.0, -52.0];

/// The ratio of signal to noise at which one tenth of PSDUs of 4,096 bytes is lost, in dB: the sensitivity over the noise of
/// 20 MHz (−101 dBm), a noise figure of 10 dB and an implementation loss of 5 dB.
pub(super) fn snr_of(mcs: u8) -> f64 {
    SENSITIVITIES[usize::from(mcs)] + 101.0 - 15.0
}

/// The MCS with the modulation and code of a rate of OFDM, or the next more robust.
const fn mcs_of(rate: Rate) -> u8 {
    match rate {
        Rate::Ofdm12 => 1,
        Rate::Ofdm18 => 2,
        Rate::Ofdm24 => 3,
        Rate::Ofdm36 => 4,
        Rate::Ofdm48 => 5,
        Rate::Ofdm54 => 6,
        Rate::Dsss1 | Rate::Dsss2 | Rate::Cck5_5 | Rate::Cck11 | Rate::Ofdm6 | Rate::Ofdm9 => 0,
    }
}

fn chance(snr_needed_db: f64, bytes: u32, snr_db: f64) -> f64 {
    // 1 − 0.9^(1 / 32768): wrong bits where a tenth of 4,096 bytes is lost.
    let wrong = 3.215_3e-6 * libm::pow(10.0, snr_needed_db - snr_db);
    libm::exp(f64::from(bytes) * 8.0 * libm::log1p(-wrong.min(0.5)))
}

/// How loud each station is at each other.
#[derive(Debug)]
pub(super) struct Signals {
    /// In mW, by sender and receiver.
    milliwatts: Vec<Vec<f64>>,
    sensed: f64,
    noise: f64,
}

impl Signals {
    pub(super) fn new(config: &Config) -> Self {
        let air = &config.air;
        let milliwatts = |dbm: f64| libm::pow(10.0, dbm / 10.0);
        let row = |from: &super::Station| {
            let signal = |to: &super::Station| {
                milliwatts(air.signal_dbm(libm::hypot(from.x_m - to.x_m, from.y_m - to.y_m)))
            };
            config.stations.iter().map(signal).collect()
        };
        Self {
            milliwatts: config.stations.iter().map(row).collect(),
            sensed: milliwatts(air.carrier_sense_dbm),
            noise: milliwatts(air.noise_dbm(config.phy.mode.width().mhz())),
        }
    }

    pub(super) fn is_sensed(&self, from: u16, to: u16) -> bool {
        self.at(from, to) >= self.sensed
    }

    /// In mW.
    pub(super) fn at(&self, from: u16, to: u16) -> f64 {
        self.milliwatts[usize::from(from)][usize::from(to)]
    }

    /// The ratio of a sender's signal to noise and `interference` in mW, in dB.
    pub(super) fn ratio_db(&self, from: u16, to: u16, interference: f64) -> f64 {
        10.0 * libm::log10(self.at(from, to) / (self.noise + interference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_airtime::{Format, Guard, Width};

    #[test]
    fn loudness_falls_by_the_exponent() {
        let air = Air::new(Band::Ghz5);
        assert!((air.signal_dbm(1.0) + 26.7).abs() < 1e-9);
        assert!((air.signal_dbm(10.0) + 56.7).abs() < 1e-9);
        assert!((air.noise_dbm(20) + 93.99).abs() < 0.01);
        // Free space by Friis at 100 m and 5.18 GHz: 86.7 dB.
        let free = Air { exponent: 2.0, ..air };
        assert!((free.power_dbm - free.signal_dbm(100.0) - 86.7).abs() < 0.05);
    }

    #[test]
    fn a_tenth_of_4096_bytes_is_lost_at_the_sensitivity_of_the_standard() {
        for (mcs, dbm) in (0..12).zip(SENSITIVITIES) {
            let mode = Mode::new(Format::He, Width::Mhz20, Guard::Ns800, 1, mcs).unwrap();
            let ratio = dbm - (-101.0) - 10.0 - 5.0;
            assert!((Air::mpdu_chance(mode, 4_096, ratio) - 0.9).abs() < 1e-4, "{mode}");
            assert!(Air::mpdu_chance(mode, 1_500, ratio + 3.0) > 0.999);
            assert!(Air::mpdu_chance(mode, 1_500, ratio - 3.0) < 1e-4);
        }
    }
}
