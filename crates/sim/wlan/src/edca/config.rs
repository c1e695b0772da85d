use super::Air;
use guestright_airtime::{
    Access, Band, Format, Guard, Ht, MinstrelConfig, Mode, Width, ampdu_bytes_max, amsdu_bytes_max,
};
use guestright_engine::Nanos;
use thiserror::Error;

/// LLC and SNAP, in each MSDU.
pub(crate) const SNAP_BYTES: u32 = 8;

/// The longest window of a block ACK: 802.11ax; before that it was 64 (table 9-34).
pub const WINDOW_MAX: u16 = 256;

/// Stations on one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Rates and times, the same for all.
    pub phy: Ht,
    /// How the categories of stations contend.
    pub access: [Access; 4],
    /// How those of access points do.
    pub access_point: [Access; 4],
    pub aggregation: Aggregation,
    /// What an IP packet has more as an MPDU, in bytes: 38 is header with QoS (26), LLC and SNAP (8) and FCS (4); with CCMP 54.
    pub overhead_bytes: u32,
    /// How often an MPDU is sent at most, or an RTS for it.
    pub attempts_max: u8,
    /// PSDUs longer than this, in bytes, go behind RTS and CTS; `None`: never.
    pub rts_threshold: Option<u32>,
    /// Whether those who could not read a frame wait for EIFS (10.3.2.3.7).
    pub has_eifs: bool,
    pub air: Air,
    /// The stations, access points among them.
    pub stations: Vec<Station>,
}

/// What is put into one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// The longest A-MPDU, in bytes; 0: each MPDU goes by itself, and is answered by an ACK.
    pub ampdu_bytes_max: u32,
    /// Over so many MPDUs a block ACK reaches: 64, in 802.11ax up to 256.
    pub window: u16,
    /// The longest A-MSDU, in bytes; 0: each MSDU is an MPDU.
    pub amsdu_bytes_max: u32,
}

impl Aggregation {
    /// A-MPDUs as long as `format` allows, a window of 64, no A-MSDUs.
    #[must_use]
    pub const fn standard(format: Format) -> Self {
        Self { ampdu_bytes_max: ampdu_bytes_max(format), window: 64, amsdu_bytes_max: 0 }
    }

    pub const OFF: Self = Self { ampdu_bytes_max: 0, window: 1, amsdu_bytes_max: 0 };
}

/// How a station chooses its modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateChoice {
    /// The mode of [`Config::phy`].
    Standard,
    Fixed(Mode),
    /// By what arrived before, among those with the width, guard interval and streams of [`Config::phy`].
    Adaptive(MinstrelConfig),
}

/// A station. An access point is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    pub is_access_point: bool,
    /// Where it is, in metres.
    pub x_m: f64,
    pub y_m: f64,
    /// MSDUs that each category keeps at most, those on the air counted.
    pub queue_max: usize,
    pub rate: RateChoice,
    /// The share of MPDUs from it that are lost on the air, whatever else happens.
    pub mpdu_loss: f64,
}

impl Station {
    /// A station at this point, with queues of 1,000.
    #[must_use]
    pub const fn at(x_m: f64, y_m: f64) -> Self {
        let rate = RateChoice::Standard;
        Self { is_access_point: false, x_m, y_m, queue_max: 1_000, rate, mpdu_loss: 0.0 }
    }
}

/// What cannot be simulated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ConfigError {
    #[error("there are {got} stations; 2 to {max} can be simulated")]
    Stations { got: usize, max: usize },
    /// A station that keeps no MSDU cannot send any.
    #[error("station {station} has a queue of 0; give it at least 1")]
    NoQueue { station: usize },
    #[error("station {station} loses a share of {got} of its MPDUs; it must be from 0 to below 1")]
    MpduLoss { station: usize, got: f64 },
    #[error("station {station} is at ({x_m}, {y_m}) m; take finite numbers")]
    Point { station: usize, x_m: f64, y_m: f64 },
    #[error("a contention window is from {min} to {max}; take cw_min <= cw_max <= 65535")]
    ContentionWindow { min: u32, max: u32 },
    #[error("an AIFSN is {got}; the standard has 2 to 15, for access points from 1")]
    Aifsn { got: u8 },
    #[error("a TXOP limit is {got} ns; take at most {max} ns")]
    TxopLimit { got: u64, max: u64 },
    #[error("a frame is sent 0 times; it must be sent at least once")]
    Attempts,
    #[error("a packet has {got} bytes around it; 38 to 64 make sense")]
    Overhead { got: u32 },
    #[error("an A-MPDU has up to {got} bytes; the format has at most {max}")]
    Ampdu { got: u32, max: u32 },
    #[error("the block ACK's window is {got}; it must be 1 to {max} with this format")]
    Window { got: u16, max: u16 },
    #[error("an A-MSDU has up to {got} bytes; the format has at most {max}")]
    Amsdu { got: u32, max: u32 },
    #[error("the air has {what} = {got}; take {want}")]
    Air { what: &'static str, got: f64, want: &'static str },
    #[error("the control rate is {got}, which is none of OFDM")]
    ControlRate { got: guestright_airtime::Rate },
}

impl Config {
    /// An access point, which is station 0, and `stations` stations 5 m away from it, with this mode and the standard's defaults.
    #[must_use]
    pub fn new(phy: Ht, stations: usize) -> Self {
        let access_point = Station { is_access_point: true, ..Station::at(0.0, 0.0) };
        let mut all = vec![access_point];
        all.extend(std::iter::repeat_n(Station::at(5.0, 0.0), stations));
        Self {
            phy,
            access: Access::standards(),
            access_point: Access::standards(),
            aggregation: Aggregation::standard(phy.mode.format()),
            overhead_bytes: 38,
            attempts_max: 7,
            rts_threshold: None,
            has_eifs: true,
            air: Air::new(phy.band),
            stations: all,
        }
    }

    /// 802.11n with 20 MHz and one stream at its fastest, 65 Mb/s.
    #[must_use]
    pub fn n(stations: usize) -> Self {
        let mode = Mode::new(Format::Ht, Width::Mhz20, Guard::Ns800, 1, 7).expect("the standard has it");
        Self::new(Ht::new(mode, Band::Ghz5), stations)
    }

    /// Says what is wrong with it.
    ///
    /// # Errors
    ///
    /// The first thing found.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (got, max) = (self.stations.len(), 1_000);
        if !(2..=max).contains(&got) {
            return Err(ConfigError::Stations { got, max });
        }
        for (number, station) in self.stations.iter().enumerate() {
            station.check(number)?;
        }
        for access in self.access.iter().chain(&self.access_point) {
            check_access(access)?;
        }
        if !self.phy.control_rate.is_ofdm() {
            return Err(ConfigError::ControlRate { got: self.phy.control_rate });
        }
        if self.attempts_max == 0 {
            return Err(ConfigError::Attempts);
        }
        if !(38..=64).contains(&self.overhead_bytes) {
            return Err(ConfigError::Overhead { got: self.overhead_bytes });
        }
        self.check_aggregation()?;
        self.air.check()
    }

    fn check_aggregation(&self) -> Result<(), ConfigError> {
        let Aggregation { ampdu_bytes_max: ampdu, window, amsdu_bytes_max: amsdu } = self.aggregation;
        let format = self.phy.mode.format();
        let (ampdu_max, amsdu_max) = (ampdu_bytes_max(format), amsdu_bytes_max(format));
        let window_max = if format == Format::He { WINDOW_MAX } else { 64 };
        if ampdu > ampdu_max {
            return Err(ConfigError::Ampdu { got: ampdu, max: ampdu_max });
        }
        if !(1..=window_max).contains(&window) {
            return Err(ConfigError::Window { got: window, max: window_max });
        }
        if amsdu > amsdu_max {
            return Err(ConfigError::Amsdu { got: amsdu, max: amsdu_max });
        }
        Ok(())
    }
}

impl Station {
    fn check(&self, station: usize) -> Result<(), ConfigError> {
        let &Self { x_m, y_m, mpdu_loss, .. } = self;
        if self.queue_max == 0 {
            return Err(ConfigError::NoQueue { station });
        }
        if !(0.0..1.0).contains(&mpdu_loss) {
            return Err(ConfigError::MpduLoss { station, got: mpdu_loss });
        }
        if !(x_m.is_finite() && y_m.is_finite()) {
            return Err(ConfigError::Point { station, x_m, y_m });
        }
        Ok(())
    }
}

/// Twice the longest of the standard's defaults, and a bit; nothing is known to take more.
const TXOP_LIMIT_MAX: Nanos = Nanos::from_micros(32 * 262);

fn check_access(access: &Access) -> Result<(), ConfigError> {
    let &Access { aifsn, cw_min: min, cw_max: max, txop_limit } = access;
    if min > max || max > u32::from(u16::MAX) {
        return Err(ConfigError::ContentionWindow { min, max });
    }
    if !(1..=15).contains(&aifsn) {
        return Err(ConfigError::Aifsn { got: aifsn });
    }
    if txop_limit > TXOP_LIMIT_MAX {
        return Err(ConfigError::TxopLimit { got: txop_limit.0, max: TXOP_LIMIT_MAX.0 });
    }
    Ok(())
}

/// Times that are needed all the time, in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) slot: u64,
    pub(crate) sifs: u64,
    pub(crate) timeout: u64,
    /// What EIFS adds; 0 if nobody waits for it.
    pub(crate) eifs: u64,
    /// Of what RTS reserved nothing is left after this if nothing follows.
    pub(crate) void: u64,
}

impl Times {
    pub(crate) fn new(config: &Config) -> Self {
        let phy = &config.phy;
        let (slot, sifs) = (phy.slot().0, phy.sifs().0);
        // 2 SIFS, CTS, the preamble until a receiver knows that there is a frame, 2 slots (10.3.2.4).
        let void = 2 * sifs + phy.ack_time(phy.response_rate(phy.mode)).0 + 20_000 + 2 * slot;
        let eifs = if config.has_eifs { phy.eifs_addition().0 } else { 0 };
        Self { slot, sifs, timeout: phy.response_timeout().0, eifs, void }
    }
}
