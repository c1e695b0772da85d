//! Cells as the testbeds have them: an access point each, and laptops.

use crate::whole::nanos;
use guestright_engine::{Nanos, Streams};
use guestright_experiment::{SettingError, SettingInfo, Settings};
use guestright_wlan::{
    Beacons, Cell, Config, Eifs, IdleAccess, Mac, Phy, Preamble, Rate, Station, StationId, Wlan,
};

/// The settings of the radios.
pub(crate) const RADIO: [SettingInfo; 14] = [
    SettingInfo::choice(
        "radio.standard",
        "b",
        &["a", "b", "g", "g-beside-b"],
        "IEEE 802.11a, b or g; the last is g with long slots and CTS to oneself, because 802.11b stations are near.",
    ),
    SettingInfo::float("radio.rate_mbps", "Mb/s", 11.0, (1.0, 54.0), "Rate of data frames."),
    SettingInfo::float(
        "radio.ack_rate_mbps",
        "Mb/s",
        11.0,
        (0.0, 54.0),
        "Rate of acknowledgements; 0 is the highest basic rate that is not above the data frame's.",
    ),
    SettingInfo::choice("radio.preamble", "long", &["long", "short"], "Preamble of 802.11b: 192 or 96 µs."),
    SettingInfo::integer(
        "radio.overhead_bytes",
        "bytes",
        28,
        (0, 256),
        "What a data frame has beside the IP packet: header 24, check sequence 4, and LLC and SNAP 8, which printed bounds \
         leave out.",
    ),
    SettingInfo::integer(
        "radio.queue_max",
        "packets",
        100,
        (1, 100_000),
        "What a station keeps, the packet in service included.",
    ),
    SettingInfo::integer("radio.attempts_max", "", 7, (1, 255), "How often a frame is sent at most."),
    SettingInfo::integer(
        "radio.rts_threshold",
        "bytes",
        0,
        (0, 4_096),
        "Frames longer than this are announced by RTS and CTS; 0 is off, as in the papers.",
    ),
    SettingInfo::integer(
        "radio.fragmentation_threshold",
        "bytes",
        0,
        (0, 4_096),
        "Frames longer than this are sent in pieces; 0 is off, as in the papers.",
    ),
    SettingInfo::choice(
        "radio.eifs",
        "off",
        &["off", "errors", "errors-and-collisions"],
        "After which frames bystanders wait an EIFS.",
    ),
    SettingInfo::choice(
        "radio.idle_access",
        "after-difs",
        &["after-difs", "at-once"],
        "When a packet that finds the medium idle is sent.",
    ),
    SettingInfo::float(
        "radio.gap_us",
        "µs",
        0.0,
        (0.0, 10_000.0),
        "What a sender does after each frame before it contends again.",
    ),
    SettingInfo::float(
        "radio.beacon_ms",
        "ms",
        0.0,
        (0.0, 10_000.0),
        "From one beacon to the next; 0 is none.",
    ),
    SettingInfo::float("radio.bit_error_rate", "", 0.0, (0.0, 0.01), "Share of wrong bits."),
];

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
    pub(crate) fn from_settings(settings: &Settings) -> Result<Self, SettingError> {
        let threshold = |name| settings.whole::<u32>(name).map(|bytes| (bytes > 0).then_some(bytes));
        let attempts = settings.whole("radio.attempts_max")?;
        let beacon = settings.float("radio.beacon_ms")?;
        let at_once = settings.text("radio.idle_access")? == "at-once";
        let mac = Mac {
            overhead_bytes: settings.whole("radio.overhead_bytes")?,
            retry_limit_short: attempts,
            retry_limit_long: attempts,
            rts_threshold: threshold("radio.rts_threshold")?,
            fragmentation_threshold: threshold("radio.fragmentation_threshold")?,
            eifs: match settings.text("radio.eifs")? {
                "errors" => Eifs::AfterErrors,
                "errors-and-collisions" => Eifs::AfterErrorsAndCollisions,
                _ => Eifs::Off,
            },
            idle_access: if at_once { IdleAccess::AtOnce } else { IdleAccess::AfterDifs },
            driver_gap: nanos(settings.float("radio.gap_us")? * 1e3),
            beacons: (beacon > 0.0).then(|| Beacons { interval: nanos(beacon * 1e6), ..Beacons::default() }),
            ..Mac::default()
        };
        let (queue_max, bit_error_rate) =
            (settings.whole("radio.queue_max")?, settings.float("radio.bit_error_rate")?);
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

fn phy(settings: &Settings) -> Result<Phy, SettingError> {
    let base = match settings.text("radio.standard")? {
        "a" => Phy::a(),
        "g" => Phy::g(),
        "g-beside-b" => Phy::g_beside_b(),
        _ => Phy::b(),
    };
    let rate = |name: &str| {
        let mbps = settings.float(name)?;
        let unknown = || SettingError::unfit(name, format!("IEEE 802.11 has no rate of {mbps} Mb/s"));
        Rate::from_kbps(kbps(mbps)).ok_or_else(unknown)
    };
    let ack_rate =
        if settings.float("radio.ack_rate_mbps")? > 0.0 { Some(rate("radio.ack_rate_mbps")?) } else { None };
    let short = settings.text("radio.preamble")? == "short";
    let preamble = if short { Preamble::Short } else { Preamble::Long };
    Ok(Phy { preamble, data_rate: rate("radio.rate_mbps")?, ack_rate, ..base })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the setting has limits")]
fn kbps(mbps: f64) -> u32 {
    (mbps * 1e3 + 0.5) as u32
}
