//! Cells as the testbeds have them: an access point each, and laptops.

use crate::whole::nanos;
use guestright_engine::{Nanos, Streams};
use guestright_experiment::{SettingError, settings};
use guestright_wlan::{
    Beacons, Cell, Config, Eifs, IdleAccess, Mac, Phy, Preamble, Rate, Station, StationId, Wlan,
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
        /// near.
        standard: Amendment = choice("radio.standard", "b", STANDARDS),
        /// Rate of data frames.
        rate_mbps: f64 = float("radio.rate_mbps", "Mb/s", 11.0, (1.0, 54.0)),
        /// Rate of acknowledgements; 0 is the highest basic rate that is not above the data frame's.
        ack_rate_mbps: f64 = float("radio.ack_rate_mbps", "Mb/s", 11.0, (0.0, 54.0)),
        /// Preamble of 802.11b: 192 or 96 µs.
        preamble: Preamble = choice("radio.preamble", "long", PREAMBLES),
        /// What a data frame has beside the IP packet: header 24, check sequence 4, and LLC and SNAP 8, which
        /// printed bounds leave out.
        overhead_bytes: u32 = integer("radio.overhead_bytes", "bytes", 28, (0, 256)),
        /// What a station keeps, the packet in service included.
        queue_max: usize = integer("radio.queue_max", "packets", 100, (1, 100_000)),
        /// How often a frame is sent at most.
        attempts_max: u8 = integer("radio.attempts_max", "", 7, (1, 255)),
        /// Frames longer than this are announced by RTS and CTS; 0 is off, as in the papers.
        rts_threshold: u32 = integer("radio.rts_threshold", "bytes", 0, (0, 4_096)),
        /// Frames longer than this are sent in pieces; 0 is off, as in the papers.
        fragmentation_threshold: u32 = integer("radio.fragmentation_threshold", "bytes", 0, (0, 4_096)),
        /// After which frames bystanders wait an EIFS.
        eifs: Eifs = choice("radio.eifs", "off", EIFS),
        /// When a packet that finds the medium idle is sent.
        idle_access: IdleAccess = choice("radio.idle_access", "after-difs", IDLE_ACCESS),
        /// What a sender does after each frame before it contends again.
        gap_us: f64 = float("radio.gap_us", "µs", 0.0, (0.0, 10_000.0)),
        /// From one beacon to the next; 0 is none.
        beacon_ms: f64 = float("radio.beacon_ms", "ms", 0.0, (0.0, 10_000.0)),
        /// Share of wrong bits.
        bit_error_rate: f64 = float("radio.bit_error_rate", "", 0.0, (0.0, 0.01)),
    }
}

/// Radios, without the stations.
#[derive(Clone, Debug)]
pub(crate) struct Radio {
    phy: Phy,
    mac: Mac,
    queue_max: usize,
    bit_error_rate: f64,
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
        let beacon = settings.beacon_ms;
        let mac = Mac {
            overhead_bytes: settings.overhead_bytes,
            retry_limit_short: settings.attempts_max,
            retry_limit_long: settings.attempts_max,
            rts_threshold: threshold(settings.rts_threshold),
            fragmentation_threshold: threshold(settings.fragmentation_threshold),
            eifs: settings.eifs,
            idle_access: settings.idle_access,
            driver_gap: nanos(settings.gap_us * 1e3),
            beacons: (beacon > 0.0).then(|| Beacons { interval: nanos(beacon * 1e6), ..Beacons::default() }),
            ..Mac::default()
        };
        let &RadioSettings { queue_max, bit_error_rate, .. } = settings;
        Ok(Self { phy: phy(settings)?, mac, queue_max, bit_error_rate })
    }

    /// Rates and times, and the rules of access.
    pub(crate) const fn rules(&self) -> (&Phy, &Mac) {
        (&self.phy, &self.mac)
    }

    /// One cell or two, on one channel or on two, with so many laptops in each.
    pub(crate) fn layout(&self, cells: u8, own_channels: bool, laptops: u16) -> Layout {
        // 1 and 6 do not overlap.
        let channel = |cell: u8| if own_channels { 1 + 5 * cell } else { 1 };
        let mut stations = Vec::new();
        let mut made = Vec::new();
        let mut add = |station: Station| {
            let id = StationId(u16::try_from(stations.len()).expect("testbeds limit calls to a few hundred"));
            stations.push(Station {
                queue_max: self.queue_max,
                bit_error_rate: self.bit_error_rate,
                ..station
            });
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
            .map_err(|error| SettingError::unfit("radio.standard", error.to_string()))
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

fn phy(settings: &RadioSettings) -> Result<Phy, SettingError> {
    let base = match settings.standard {
        Amendment::A => Phy::a(),
        Amendment::B => Phy::b(),
        Amendment::G => Phy::g(),
        Amendment::GBesideB => Phy::g_beside_b(),
    };
    let rate = |name: &str, mbps: f64| {
        let unknown = || SettingError::unfit(name, format!("IEEE 802.11 has no rate of {mbps} Mb/s"));
        Rate::from_kbps(kbps(mbps)).ok_or_else(unknown)
    };
    let ack_rate = if settings.ack_rate_mbps > 0.0 {
        Some(rate("radio.ack_rate_mbps", settings.ack_rate_mbps)?)
    } else {
        None
    };
    let data_rate = rate("radio.rate_mbps", settings.rate_mbps)?;
    Ok(Phy { preamble: settings.preamble, data_rate, ack_rate, ..base })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the setting has limits")]
fn kbps(mbps: f64) -> u32 {
    (mbps * 1e3 + 0.5) as u32
}
