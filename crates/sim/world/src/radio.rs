//! Cells as the testbeds have them: an access point each, and laptops.

use crate::whole::nanos;
use guestright_engine::{Nanos, Streams};
use guestright_experiment::{SettingError, settings};
use guestright_wlan::{
    Beacons, Cell, Config, ConfigError, Eifs, IdleAccess, Mac, Phy, Preamble, Protection, Rate, Station,
    StationId, Wlan,
};

/// Which amendment of IEEE 802.11 the cells follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amendment {
    A,
    B,
    G,
    GBesideB,
}

const STANDARDS: [(&str, Amendment); 4] =
    [("a", Amendment::A), ("b", Amendment::B), ("g", Amendment::G), ("g-beside-b", Amendment::GBesideB)];

const PREAMBLES: [(&str, Preamble); 2] = [("long", Preamble::Long), ("short", Preamble::Short)];

const EIFS: [(&str, Eifs); 3] = [
    ("off", Eifs::Off),
    ("errors", Eifs::AfterErrors),
    ("errors-and-collisions", Eifs::AfterErrorsAndCollisions),
];

const IDLE_ACCESS: [(&str, IdleAccess); 2] =
    [("after-difs", IdleAccess::AfterDifs), ("at-once", IdleAccess::AtOnce)];

settings! {
    /// The settings of the radios.
    pub(crate) struct RadioSettings {
        /// IEEE 802.11a, b or g; the last is g with long slots and CTS to oneself, because 802.11b stations are
        /// near. With `a`, and with OFDM rates of `g`, set `radio.ack_rate_mbps` too.
        standard: Amendment = choice("radio.standard", "b", STANDARDS),
        /// Rate of data frames.
        rate_mbps: f64 = float("radio.rate_mbps", "Mb/s", 11.0, (1.0, 54.0)),
        /// Rate of acknowledgements; 0 is the highest basic rate of the same kind that is not above the data frame's.
        /// Frames of OFDM (6, 9, and from 12) are not answered at a rate of 802.11b.
        ack_rate_mbps: f64 = float("radio.ack_rate_mbps", "Mb/s", 11.0, (0.0, 54.0)),
        /// Preamble of 802.11b: 192 or 96 µs.
        preamble: Preamble = choice("radio.preamble", "long", PREAMBLES),
        /// What a data frame has beside the IP packet: header 24, check sequence 4, and LLC and SNAP 8, which
        /// printed bounds leave out.
        overhead_bytes: u32 = integer("radio.overhead_bytes", "bytes", 28, (28, 64)),
        /// What a station keeps, the packet in service included.
        queue_max: usize = integer("radio.queue_max", "packets", 100, (1, 100_000)),
        /// The same of an access point; 0 is as the stations.
        access_point_queue_max: usize =
            integer("radio.access_point_queue_max", "packets", 0, (0, 100_000)),
        /// How often a frame is sent at most.
        attempts_max: u8 = integer("radio.attempts_max", "", 7, (1, 255)),
        /// The same of a frame behind RTS and CTS; 0 is as the others.
        long_attempts_max: u8 = integer("radio.long_attempts_max", "", 0, (0, 255)),
        /// The first contention window: backoffs are drawn from 0 to it; 0 is the standard's, 31 or 15.
        cw_min: u32 = integer("radio.cw_min", "slots", 0, (0, 65_535)),
        /// The largest contention window; 0 is the standard's, 1023.
        cw_max: u32 = integer("radio.cw_max", "slots", 0, (0, 65_535)),
        /// A slot; 0 is the standard's, 20 or 9 µs.
        slot_us: f64 = float("radio.slot_us", "µs", 0.0, (0.0, 1_000.0)),
        /// How long a frame has been on the air when others notice it; shorter than a slot.
        sense_us: f64 = float("radio.sense_us", "µs", 0.0, (0.0, 1_000.0)),
        /// Rate of the CTS to oneself of `g-beside-b`; 0 is the highest basic rate of 802.11b, 2 Mb/s.
        protection_mbps: f64 = float("radio.protection_mbps", "Mb/s", 0.0, (0.0, 11.0)),
        /// Frames longer than this are announced by RTS and CTS; 0 is off, as in the papers.
        rts_threshold: u32 = integer("radio.rts_threshold", "bytes", 0, (0, 4_096)),
        /// Frames longer than this are sent in pieces, of 256 bytes at least; 0 is off, as in the papers.
        fragmentation_threshold: u32 = integer("radio.fragmentation_threshold", "bytes", 0, (0, 4_096)),
        /// After which frames those wait an EIFS who could not read them.
        eifs: Eifs = choice("radio.eifs", "off", EIFS),
        /// When a packet that finds the medium idle is sent.
        idle_access: IdleAccess = choice("radio.idle_access", "after-difs", IDLE_ACCESS),
        /// What a sender does after each frame before it contends again.
        gap_us: f64 = float("radio.gap_us", "µs", 0.0, (0.0, 10_000.0)),
        /// From one beacon to the next, at least 1; 0 is none.
        beacon_ms: f64 = float("radio.beacon_ms", "ms", 0.0, (0.0, 10_000.0)),
        /// Length of a beacon on the air, with header and check sequence.
        beacon_bytes: u32 = integer("radio.beacon_bytes", "bytes", 80, (28, 2_304)),
        /// Share of wrong bits.
        bit_error_rate: f64 = float("radio.bit_error_rate", "", 0.0, (0.0, 0.01)),
        /// Share of data frames that are lost on the air, whatever their length; what answers them is not.
        frame_loss: f64 = float("radio.frame_loss", "", 0.0, (0.0, 0.99)),
    }
}

/// Radios, without the stations.
#[derive(Clone, Debug)]
pub(crate) struct Radio {
    phy: Phy,
    mac: Mac,
    queue_max: usize,
    access_point_queue_max: usize,
    bit_error_rate: f64,
    frame_loss: f64,
}

/// Cells with their stations.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    config: Config,
    cells: Vec<RadioCell>,
}

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct RadioCell {
    /// Its channel.
    channel: u8,
    /// Its access point.
    pub(crate) access_point: StationId,
    /// Its other stations.
    pub(crate) laptops: Vec<StationId>,
}

/// What the channels carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Time for which the busier channel was occupied.
    pub(crate) busy: Nanos,
    /// Times that a station began to send.
    pub(crate) attempts: u64,
    /// Those that began together with another.
    pub(crate) collided: u64,
}

impl Radio {
    /// What the settings say.
    pub(crate) fn from_settings(settings: &RadioSettings) -> Result<Self, SettingError> {
        let threshold = |bytes: u32| (bytes > 0).then_some(bytes);
        let or = |given: u8, other: u8| if given > 0 { given } else { other };
        let &RadioSettings { queue_max, bit_error_rate, frame_loss, beacon_bytes, .. } = settings;
        let beacon = settings.beacon_ms;
        let beacons = Beacons { interval: nanos(beacon * 1e6), bytes: beacon_bytes };
        let mac = Mac {
            overhead_bytes: settings.overhead_bytes,
            retry_limit_short: settings.attempts_max,
            retry_limit_long: or(settings.long_attempts_max, settings.attempts_max),
            rts_threshold: threshold(settings.rts_threshold),
            fragmentation_threshold: threshold(settings.fragmentation_threshold),
            eifs: settings.eifs,
            idle_access: settings.idle_access,
            driver_gap: nanos(settings.gap_us * 1e3),
            sense_time: nanos(settings.sense_us * 1e3),
            beacons: (beacon > 0.0).then_some(beacons),
            ..Mac::default()
        };
        let given = settings.access_point_queue_max;
        let access_point_queue_max = if given > 0 { given } else { queue_max };
        let phy = phy(settings)?;
        Ok(Self { phy, mac, queue_max, access_point_queue_max, bit_error_rate, frame_loss })
    }

    /// Rates and times, and the rules of access.
    pub(crate) const fn rules(&self) -> (&Phy, &Mac) {
        (&self.phy, &self.mac)
    }

    /// A rate of the standard that is set; `setting` is where it was given.
    pub(crate) fn rate(&self, setting: &str, mbps: f64) -> Result<Rate, SettingError> {
        rate_of(&self.phy, setting, mbps)
    }

    /// One cell or two, on one channel or on two, with so many laptops in each.
    pub(crate) fn layout(&self, cells: u8, own_channels: bool, laptops: u16) -> Layout {
        // 1 and 6 do not overlap.
        let channel = |cell: u8| if own_channels { 1 + 5 * cell } else { 1 };
        let mut stations = Vec::new();
        let mut made = Vec::new();
        let mut add = |station: Station| {
            let id = StationId(u16::try_from(stations.len()).expect("testbeds limit calls to a few hundred"));
            let queue_max =
                if station.is_access_point { self.access_point_queue_max } else { self.queue_max };
            let &Self { bit_error_rate, frame_loss, .. } = self;
            stations.push(Station { queue_max, bit_error_rate, frame_loss, ..station });
            id
        };
        for number in 0..cells {
            let cell = usize::from(number);
            let access_point = add(Station::access_point(cell));
            let laptops = (0..laptops).map(|_| add(Station::new(cell))).collect();
            made.push(RadioCell { channel: channel(number), access_point, laptops });
        }
        let cells = (0..cells).map(|cell| Cell { channel: channel(cell) }).collect();
        Layout { config: Config { phy: self.phy, mac: self.mac, cells, stations }, cells: made }
    }
}

impl Layout {
    /// The radios.
    pub(crate) fn wlan(&self, streams: &Streams) -> Result<Wlan, SettingError> {
        Wlan::new(&self.config, streams)
            .map_err(|error| SettingError::unfit(setting_of(&error), error.to_string()))
    }

    /// With these rates of the laptops of the first cell, in their order.
    pub(crate) fn at_rates(mut self, rates: &[Rate]) -> Self {
        for (station, rate) in self.cells[0].laptops.iter().zip(rates) {
            self.config.stations[usize::from(station.0)].rate = Some(*rate);
        }
        self
    }

    /// The cells.
    pub(crate) fn cells(&self) -> &[RadioCell] {
        &self.cells
    }
}

/// What the channels of these cells carried so far.
pub(crate) fn usage<'a>(wlan: &Wlan, cells: impl Iterator<Item = &'a RadioCell>) -> Usage {
    let mut usage = Usage::default();
    for cell in cells {
        usage.busy = usage.busy.max(wlan.channel_stats(cell.channel).map_or(Nanos(0), |stats| stats.busy));
        for station in cell.laptops.iter().chain([&cell.access_point]) {
            let stats = wlan.stats(*station);
            usage.attempts += stats.accesses;
            usage.collided += stats.collisions;
        }
    }
    usage
}

/// The setting that the model refuses.
const fn setting_of(error: &ConfigError) -> &'static str {
    match error {
        ConfigError::NoQueue { .. } => "radio.queue_max",
        ConfigError::BitErrorRate { .. } => "radio.bit_error_rate",
        ConfigError::FrameLoss { .. } => "radio.frame_loss",
        ConfigError::ContentionWindow { .. } => "radio.cw_min",
        ConfigError::Times { .. } => "radio.slot_us",
        ConfigError::RetryLimit { .. } => "radio.attempts_max",
        ConfigError::Overhead { .. } => "radio.overhead_bytes",
        ConfigError::FragmentationThreshold { .. } => "radio.fragmentation_threshold",
        ConfigError::Beacons { .. } => "radio.beacon_ms",
        ConfigError::SenseTime { .. } => "radio.sense_us",
        ConfigError::DriverGap { .. } => "radio.gap_us",
        ConfigError::Rate { .. } => "radio.rate_mbps",
        ConfigError::Stations { .. } | ConfigError::NoSuchCell { .. } => "radio.standard",
    }
}

fn phy(settings: &RadioSettings) -> Result<Phy, SettingError> {
    let base = match settings.standard {
        Amendment::A => Phy::a(),
        Amendment::B => Phy::b(),
        Amendment::G => Phy::g(),
        Amendment::GBesideB => Phy::g_beside_b(),
    };
    let rate = |name: &str, mbps: f64| rate_of(&base, name, mbps);
    let given = |name: &str, mbps: f64| if mbps > 0.0 { rate(name, mbps).map(Some) } else { Ok(None) };
    let data_rate = rate("radio.rate_mbps", settings.rate_mbps)?;
    let ack_rate = given("radio.ack_rate_mbps", settings.ack_rate_mbps)?;
    if let Some(ack_rate) = ack_rate.filter(|ack_rate| ack_rate.is_ofdm() != data_rate.is_ofdm()) {
        let reason = format!(
            "frames at {data_rate} are not acknowledged at {ack_rate}, which is of another modulation; 0 takes the rate \
             of the standard's rule"
        );
        return Err(SettingError::unfit("radio.ack_rate_mbps", reason));
    }
    let protection = match (given("radio.protection_mbps", settings.protection_mbps)?, base.protection) {
        (Some(rate), Protection::CtsToSelf(_)) if !rate.is_ofdm() => Protection::CtsToSelf(rate),
        (Some(rate), Protection::CtsToSelf(_)) => {
            let reason = format!("{rate} is no rate of 802.11b, so that its stations do not understand it");
            return Err(SettingError::unfit("radio.protection_mbps", reason));
        }
        (Some(_), Protection::Off) => {
            let reason = "only with the standard `g-beside-b` there is a CTS to oneself; leave it out";
            return Err(SettingError::unfit("radio.protection_mbps", reason));
        }
        (None, protection) => protection,
    };
    let or = |given: u32, other: u32| if given > 0 { given } else { other };
    let slot = if settings.slot_us > 0.0 { nanos(settings.slot_us * 1e3) } else { base.slot };
    let (cw_min, cw_max) = (or(settings.cw_min, base.cw_min), or(settings.cw_max, base.cw_max));
    Ok(Phy { preamble: settings.preamble, data_rate, ack_rate, protection, slot, cw_min, cw_max, ..base })
}

fn rate_of(phy: &Phy, setting: &str, mbps: f64) -> Result<Rate, SettingError> {
    let unknown = || SettingError::unfit(setting, format!("IEEE 802.11 has no rate of {mbps} Mb/s"));
    let rate = Rate::from_kbps(kbps(mbps)).ok_or_else(unknown)?;
    let other =
        || SettingError::unfit(setting, format!("the standard that is set has no rate of {mbps} Mb/s"));
    if phy.has(rate) { Ok(rate) } else { Err(other()) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the setting has limits")]
fn kbps(mbps: f64) -> u32 {
    (mbps * 1e3 + 0.5) as u32
}
