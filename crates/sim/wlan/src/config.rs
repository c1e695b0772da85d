use guestright_airtime::Rate;
use guestright_airtime::{Phy, Protection};
use guestright_engine::Nanos;
use thiserror::Error;

/// Which station: its place in [`Config::stations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u16);

impl StationId {
    /// All stations of the sender's cell: a broadcast, which nobody acknowledges.
    pub const EVERYBODY: Self = Self(u16::MAX);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Networks that may hear each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Rates and times, the same for all.
    pub phy: Phy,
    /// Rules of access, the same for all.
    pub mac: Mac,
    /// The cells. Those with the same channel share it: all their stations hear each other. Different channels do not
    /// disturb each other, however near their numbers are.
    pub cells: Vec<Cell>,
    /// The stations, access points among them.
    pub stations: Vec<Station>,
}

/// A network of stations that talk to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its channel's number.
    pub channel: u8,
}

/// A station. An access point is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// Its cell: the place in [`Config::cells`].
    pub cell: usize,
    /// Whether it is the cell's access point, which sends the beacons.
    pub is_access_point: bool,
    /// MSDUs that it keeps at most, the one in service counted. What comes after is dropped.
    pub queue_max: usize,
    /// The rate of its data frames; [`Phy::data_rate`] if `None`.
    pub rate: Option<Rate>,
    /// The share of wrong bits in frames that it sends or receives. Those of both ends add up; of broadcasts and beacons
    /// only the sender's count. They hit data, ACK, RTS and CTS, not preambles, and not a CTS to oneself. Who hears a frame
    /// by the way reads it well or not by a chance of its own, which matters only with [`Mac::eifs`].
    pub bit_error_rate: f64,
    /// The share of its data frames to one station that are lost on the air, whatever their length.
    pub frame_loss: f64,
    /// How loud it is at every receiver, in dBm; matters only with [`Mac::capture_db`].
    pub signal_dbm: i16,
}

impl Station {
    /// A station of cell number `cell`, with a queue of 100 and no bit errors.
    #[must_use]
    pub const fn new(cell: usize) -> Self {
        Self {
            cell,
            is_access_point: false,
            queue_max: 100,
            rate: None,
            bit_error_rate: 0.0,
            frame_loss: 0.0,
            signal_dbm: -50,
        }
    }

    /// The access point of cell number `cell`, with a queue of 100 and no bit errors.
    #[must_use]
    pub const fn access_point(cell: usize) -> Self {
        Self { is_access_point: true, ..Self::new(cell) }
    }
}

/// When a station whose backoff is over may send a frame that it gets while the medium is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleAccess {
    /// A full DIFS after it got the frame: the letter of 10.3.4.2, and ns-3.
    AfterDifs,
    /// At once, if the medium has been idle for a DIFS already: most hardware.
    AtOnce,
}

/// After which frames stations wait for EIFS instead of DIFS (10.3.2.3.7): each that could not read the last one. The sender
/// of the frame never does. Who could read it waits for what it reserves (10.3.2.4), also if nothing follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eifs {
    /// None: stations count from a DIFS after the last frame, whether they could read it or not, and whatever it reserved.
    Off,
    /// Frames with bit errors. A collision destroys the preambles too, so that nobody sees that there were frames;
    /// ns-3 has it so when frames are equally loud.
    AfterErrors,
    /// Frames with bit errors and collisions.
    AfterErrorsAndCollisions,
}

/// Beacons of access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacons {
    /// Between two of a cell; 102.4 ms as a rule. The first is due within the first interval, at random.
    pub interval: Nanos,
    /// Length of the MPDU, with header and FCS.
    pub bytes: u32,
}

impl Default for Beacons {
    fn default() -> Self {
        Self { interval: Nanos::from_micros(102_400), bytes: 80 }
    }
}

/// Rules of access to the medium: the distributed coordination function (IEEE 802.11-2020, 10.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac {
    /// What an IP packet has more as an MPDU, in bytes: 28 is header (24) and FCS (4), without LLC and SNAP; 30 is a
    /// header with QoS (26) and FCS; 34 is a header with four addresses (30) and FCS; 36 is header (24), LLC and SNAP (8)
    /// and FCS (4), what an access point really carries. From 36 on, 8 of them are LLC and SNAP, and not repeated in
    /// fragments.
    pub overhead_bytes: u32,
    /// How often a frame that needs no RTS, or an RTS, is sent at most (dot11ShortRetryLimit).
    pub retry_limit_short: u8,
    /// How often a frame behind an RTS is sent at most (dot11LongRetryLimit).
    pub retry_limit_long: u8,
    /// MPDUs longer than this, in bytes, go behind RTS and CTS (dot11RTSThreshold); `None`: never.
    pub rts_threshold: Option<u32>,
    /// MSDUs whose MPDU would be longer than this, in bytes, go in pieces of this length (dot11FragmentationThreshold);
    /// `None`: never. Each fragment has retry counts of its own.
    pub fragmentation_threshold: Option<u32>,
    /// When stations wait for EIFS.
    pub eifs: Eifs,
    /// The louder of frames that collide is received if it is louder than all others together by at least so many dB;
    /// `None`: none is.
    pub capture_db: Option<u8>,
    /// When a frame may go that comes to an idle medium.
    pub idle_access: IdleAccess,
    /// How long a frame has been on the air when others notice it: who begins sooner than that after another, collides
    /// with it. Backoffs are on one grid of slots, so that it matters only to what [`Mac::idle_access`] lets go between
    /// them. ns-3 takes 4 µs; table 16-4 allows an aCCATime of up to 15 µs.
    pub sense_time: Nanos,
    /// Whether a station draws a backoff when the medium becomes busy while it waits as [`Mac::idle_access`] says. The
    /// standard says so; ns-3 lets it send a DIFS after the medium is idle again.
    pub backoff_when_deferred: bool,
    /// Whether a station waits for a DIFS when its ACK has not come in time, before its backoff counts (ns-3), or
    /// counts at once (10.3.2.11: the medium was idle meanwhile).
    pub difs_after_timeout: bool,
    /// What a station's driver needs after each frame: so much later than others the station begins with DIFS and
    /// backoff.
    pub driver_gap: Nanos,
    /// How long an MSDU may wait in the queue before it is sent for the first or next time (ns-3: 500 ms); `None`: for
    /// ever.
    pub lifetime: Option<Nanos>,
    /// Beacons of every access point. They need [`crate::Wlan::start`].
    pub beacons: Option<Beacons>,
}

impl Default for Mac {
    /// Overhead 36 bytes, limits 7 and 4, no RTS, no fragments, no EIFS, no capture, no beacons, no gap; frames are noticed
    /// at once.
    fn default() -> Self {
        Self {
            overhead_bytes: 36,
            retry_limit_short: 7,
            retry_limit_long: 4,
            rts_threshold: None,
            fragmentation_threshold: None,
            eifs: Eifs::Off,
            capture_db: None,
            idle_access: IdleAccess::AfterDifs,
            sense_time: Nanos(0),
            backoff_when_deferred: true,
            difs_after_timeout: true,
            driver_gap: Nanos(0),
            lifetime: None,
            beacons: None,
        }
    }
}

impl Mac {
    /// Bytes of LLC and SNAP: once in each MSDU.
    #[must_use]
    pub const fn snap_bytes(&self) -> u32 {
        if self.overhead_bytes >= 36 { 8 } else { 0 }
    }

    /// Bytes of header and FCS: in each MPDU.
    #[must_use]
    pub const fn header_bytes(&self) -> u32 {
        self.overhead_bytes - self.snap_bytes()
    }
}

/// An MSDU has at most 2,304 bytes, LLC and SNAP with it (9.2.4.7.1).
pub const MSDU_BYTES_MAX: u32 = 2_304;

/// A fragment must have at least 256 bytes (dot11FragmentationThreshold, annex C).
const FRAGMENTATION_THRESHOLD_MIN: u32 = 256;

/// What cannot be simulated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ConfigError {
    /// More than can be told apart.
    #[error("there are {got} stations; up to {max} can be simulated")]
    Stations {
        /// Stations in the configuration.
        got: usize,
        max: usize,
    },
    /// A station's cell is not there.
    #[error("station {station} is in cell {cell}, but there are only {cells}, counted from 0")]
    NoSuchCell {
        station: usize,
        cell: usize,
        /// How many cells there are.
        cells: usize,
    },
    /// A station that keeps no MSDU cannot send any.
    #[error("station {station} has a queue of 0; give it at least 1")]
    NoQueue { station: usize },
    /// Not a share.
    #[error("station {station} has a bit error rate of {got}; it must be from 0 to below 1")]
    BitErrorRate { station: usize, got: f64 },
    /// Not a share.
    #[error("station {station} loses a share of {got} of its frames; it must be from 0 to below 1")]
    FrameLoss { station: usize, got: f64 },
    /// A rate that the standard does not have.
    #[error("{what} is {rate}, which {standard} does not have")]
    Rate {
        /// Whose rate.
        what: &'static str,
        rate: Rate,
        standard: &'static str,
    },
    /// A contention window out of bounds.
    #[error("the contention window is from {min} to {max}; take 0 <= cw_min <= cw_max <= 65535")]
    ContentionWindow { min: u32, max: u32 },
    /// Times that make no sense.
    #[error("slot is {slot} ns and SIFS {sifs} ns; both must be from 1 to 1000000")]
    Times { slot: u64, sifs: u64 },
    /// Too many or too few attempts.
    #[error("retry limits are {short} (short) and {long} (long); a frame must be sent at least once")]
    RetryLimit {
        /// Of frames without RTS.
        short: u8,
        /// Of frames behind RTS.
        long: u8,
    },
    /// Too much or too little around a packet.
    #[error("a packet has {got} bytes around it; 28 to 64 make sense")]
    Overhead {
        /// [`Mac::overhead_bytes`].
        got: u32,
    },
    /// Fragments too short.
    #[error("the fragmentation threshold is {got} bytes; the standard's least is {min}")]
    FragmentationThreshold {
        /// [`Mac::fragmentation_threshold`].
        got: u32,
        min: u32,
    },
    /// Beacons without pause.
    #[error("a beacon every {interval} ns with {bytes} bytes; take at least 1 ms and at most 2304 bytes")]
    Beacons {
        /// [`Beacons::interval`].
        interval: u64,
        /// [`Beacons::bytes`].
        bytes: u32,
    },
    /// So late that slots mean nothing.
    #[error("frames are noticed after {got} ns; take less than a slot, {slot} ns")]
    SenseTime {
        /// [`Mac::sense_time`].
        got: u64,
        slot: u64,
    },
    /// A pause longer than anything waits.
    #[error("the driver gap is {got} ns; take at most 1 s")]
    DriverGap {
        /// [`Mac::driver_gap`].
        got: u64,
    },
}

impl Config {
    /// Cells on these channels, each with an access point and `stations` stations, with 802.11b and default rules. The
    /// access point of a cell comes before its stations.
    #[must_use]
    pub fn new(channels: &[u8], stations: usize) -> Self {
        let mut all = Vec::new();
        for cell in 0..channels.len() {
            all.push(Station::access_point(cell));
            all.extend(std::iter::repeat_n(Station::new(cell), stations));
        }
        let cells = channels.iter().map(|&channel| Cell { channel }).collect();
        Self { phy: Phy::b(), mac: Mac::default(), cells, stations: all }
    }

    /// Says what is wrong with it.
    ///
    /// # Errors
    ///
    /// The first thing found.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (got, max) = (self.stations.len(), usize::from(u16::MAX));
        if got > max {
            return Err(ConfigError::Stations { got, max });
        }
        for (number, station) in self.stations.iter().enumerate() {
            self.check_station(number, station)?;
        }
        self.check_phy()?;
        self.check_mac()
    }

    fn check_station(&self, number: usize, station: &Station) -> Result<(), ConfigError> {
        let cells = self.cells.len();
        if station.cell >= cells {
            return Err(ConfigError::NoSuchCell { station: number, cell: station.cell, cells });
        }
        if station.queue_max == 0 {
            return Err(ConfigError::NoQueue { station: number });
        }
        if !(0.0..1.0).contains(&station.bit_error_rate) {
            return Err(ConfigError::BitErrorRate { station: number, got: station.bit_error_rate });
        }
        if !(0.0..1.0).contains(&station.frame_loss) {
            return Err(ConfigError::FrameLoss { station: number, got: station.frame_loss });
        }
        station.rate.map_or(Ok(()), |rate| self.check_rate("a station's data rate", rate))
    }

    fn check_rate(&self, what: &'static str, rate: Rate) -> Result<(), ConfigError> {
        if self.phy.has(rate) {
            return Ok(());
        }
        let standard = match self.phy.standard {
            crate::Standard::B => "802.11b",
            crate::Standard::A => "802.11a",
            crate::Standard::G => "802.11g",
        };
        Err(ConfigError::Rate { what, rate, standard })
    }

    fn check_phy(&self) -> Result<(), ConfigError> {
        let Phy { slot, sifs, cw_min, cw_max, .. } = self.phy;
        if cw_min > cw_max || cw_max > 65_535 {
            return Err(ConfigError::ContentionWindow { min: cw_min, max: cw_max });
        }
        if [slot, sifs].iter().any(|time| !(1..=1_000_000).contains(&time.0)) {
            return Err(ConfigError::Times { slot: slot.0, sifs: sifs.0 });
        }
        self.check_rate("the data rate", self.phy.data_rate)?;
        if let Some(rate) = self.phy.ack_rate {
            self.check_rate("the rate of ACKs", rate)?;
        }
        for rate in self.phy.basic_rates.rates() {
            self.check_rate("a basic rate", rate)?;
        }
        match self.phy.protection {
            Protection::CtsToSelf(rate) if rate.is_ofdm() => {
                Err(ConfigError::Rate { what: "the rate of protection", rate, standard: "802.11b" })
            }
            Protection::CtsToSelf(rate) => self.check_rate("the rate of protection", rate),
            Protection::Off => Ok(()),
        }
    }

    fn check_mac(&self) -> Result<(), ConfigError> {
        let mac = &self.mac;
        if mac.retry_limit_short == 0 || mac.retry_limit_long == 0 {
            return Err(ConfigError::RetryLimit { short: mac.retry_limit_short, long: mac.retry_limit_long });
        }
        if !(28..=64).contains(&mac.overhead_bytes) {
            return Err(ConfigError::Overhead { got: mac.overhead_bytes });
        }
        let min = FRAGMENTATION_THRESHOLD_MIN;
        if let Some(got) = mac.fragmentation_threshold.filter(|got| *got < min) {
            return Err(ConfigError::FragmentationThreshold { got, min });
        }
        if let Some(Beacons { interval, bytes }) = mac.beacons
            && (interval.0 < 1_000_000 || bytes > MSDU_BYTES_MAX)
        {
            return Err(ConfigError::Beacons { interval: interval.0, bytes });
        }
        let (got, slot) = (mac.sense_time.0, self.phy.slot.0);
        if got >= slot {
            return Err(ConfigError::SenseTime { got, slot });
        }
        let got = mac.driver_gap.0;
        if got > 1_000_000_000 { Err(ConfigError::DriverGap { got }) } else { Ok(()) }
    }
}
