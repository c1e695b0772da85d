use crate::meter::StreamShape;
use crate::whole::nanos;
use guestright_engine::Nanos;
use guestright_experiment::{SettingError, settings};
use guestright_quality::{Anchor, BufferConfig, Codec};
use guestright_units::Micros;
use guestright_wlan::edca::{self, Aggregation, Air, ConfigError, RateChoice, Station, WINDOW_MAX};
use guestright_wlan::{
    Access, AccessCategory, Band, Format, Guard, Ht, MinstrelConfig, Mode, Rate, Width, ampdu_bytes_max,
};

const STANDARDS: [(&str, Format); 3] = [("n", Format::Ht), ("ac", Format::Vht), ("ax", Format::He)];
const BANDS: [(&str, Band); 2] = [("2.4", Band::Ghz2), ("5", Band::Ghz5)];
const WIDTHS: [(&str, Width); 4] =
    [("20", Width::Mhz20), ("40", Width::Mhz40), ("80", Width::Mhz80), ("160", Width::Mhz160)];
const GUARDS: [(&str, Guard); 4] =
    [("0.4", Guard::Ns400), ("0.8", Guard::Ns800), ("1.6", Guard::Ns1600), ("3.2", Guard::Ns3200)];
const CONTROLS: [(&str, Rate); 3] = [("6", Rate::Ofdm6), ("12", Rate::Ofdm12), ("24", Rate::Ofdm24)];
/// Whether modes adapt.
const CHOICES: [(&str, bool); 2] = [("fixed", false), ("minstrel", true)];
const CATEGORIES: [(&str, AccessCategory); 4] = [
    ("bk", AccessCategory::Background),
    ("be", AccessCategory::BestEffort),
    ("vi", AccessCategory::Video),
    ("vo", AccessCategory::Voice),
];
const CODECS: [(&str, Codec, u32); 2] = [("g711u-plc", Codec::G711uPlc, 8), ("g729a", Codec::G729a, 1)];
const CODEC_NAMES: [(&str, usize); 2] = [(CODECS[0].0, 0), (CODECS[1].0, 1)];

settings! {
    /// The radio of all stations.
    pub(super) struct ModernRadioSettings {
        /// IEEE 802.11n, ac or ax (to one station at a time).
        standard: Format = choice("radio.standard", "ac", STANDARDS),
        /// Band in GHz: with 2.4 SIFS is 10 µs and OFDM frames have 6 µs of silence behind them.
        band: Band = choice("radio.band_ghz", "5", BANDS),
        /// Width of the channel in MHz; 802.11n has 20 and 40.
        width: Width = choice("radio.width_mhz", "20", WIDTHS),
        /// Guard interval in µs: 0.4 and 0.8 with n and ac, 0.8 to 3.2 with ax.
        guard: Guard = choice("radio.guard_us", "0.8", GUARDS),
        /// Spatial streams; 802.11n has up to four.
        streams: u8 = integer("radio.streams", "", 1, (1, 8)),
        /// Modulation and code: to 7 with n, 9 with ac, 11 with ax.
        mcs: u8 = integer("radio.mcs", "", 7, (0, 11)),
        /// All data with `radio.mcs`, or by what arrived before.
        adapts: bool = choice("radio.rate_choice", "fixed", CHOICES),
        /// Rate in Mb/s of acknowledgements, RTS and CTS at most.
        control_rate: Rate = choice("radio.control_mbps", "24", CONTROLS),
        /// The longest A-MPDU; 0 is none, and more than the standard has is the standard's.
        ampdu_bytes_max: u32 = integer("radio.ampdu_bytes_max", "bytes", 6_500_631, (0, 6_500_631)),
        /// Over so many MPDUs a block acknowledgement reaches; ax has up to 256.
        window: u16 = integer("radio.block_ack_window", "", 64, (1, WINDOW_MAX as i64)),
        /// The longest A-MSDU; 0 is none.
        amsdu_bytes_max: u32 = integer("radio.amsdu_bytes_max", "bytes", 0, (0, 11_424)),
        /// What a data frame has beside the IP packet: header 26, LLC and SNAP 8, check sequence 4; with CCMP 54.
        overhead_bytes: u32 = integer("radio.overhead_bytes", "bytes", 38, (38, 64)),
        /// How often an MPDU is sent at most.
        attempts_max: u8 = integer("radio.attempts_max", "", 7, (1, 255)),
        /// Frames longer than this are announced by RTS and CTS; 0 is off.
        rts_threshold: u32 = integer("radio.rts_threshold", "bytes", 0, (0, 6_500_631)),
        /// Whether those wait an EIFS who could not read a frame.
        has_eifs: bool = bool("radio.eifs", true),
        /// What a category of a station keeps, packets on the air included.
        queue_max: usize = integer("radio.queue_max", "packets", 4_096, (1, 100_000)),
        /// Share of MPDUs that are lost on the air, whatever else happens.
        mpdu_loss: f64 = float("radio.mpdu_loss", "", 0.0, (0.0, 0.99)),
        /// What stations send with.
        power_dbm: f64 = float("air.power_dbm", "dBm", 20.0, (-50.0, 40.0)),
        /// How fast loudness falls with the distance: 2 in free space, 3 to 4 in houses.
        exponent: f64 = float("air.exponent", "", 3.0, (1.0, 6.0)),
        /// What a receiver adds to thermal noise.
        noise_figure_db: f64 = float("air.noise_figure_db", "dB", 7.0, (0.0, 30.0)),
        /// From which loudness on a station hears a frame.
        carrier_sense_dbm: f64 = float("air.carrier_sense_dbm", "dBm", -82.0, (-110.0, 20.0)),
    }
}

settings! {
    /// How categories contend, at the access point and at stations.
    pub(super) struct EdcaSettings {
        /// The category of calls: `vo` as it should be, `be` where nobody marks them.
        calls: AccessCategory = choice("edca.calls", "vo", CATEGORIES),
        /// The category of downloads and uploads.
        bulk: AccessCategory = choice("edca.bulk", "be", CATEGORIES),
        /// AIFSN of background traffic.
        bk_aifsn: u8 = integer("edca.bk_aifsn", "slots", 7, (1, 15)),
        /// Its first contention window.
        bk_cw_min: u32 = integer("edca.bk_cw_min", "slots", 15, (0, 65_535)),
        /// Its largest.
        bk_cw_max: u32 = integer("edca.bk_cw_max", "slots", 1_023, (0, 65_535)),
        /// Its TXOP limit; 0 is one frame and its answer.
        bk_txop_us: f64 = float("edca.bk_txop_us", "µs", 2_528.0, (0.0, 8_384.0)),
        /// AIFSN of best effort.
        be_aifsn: u8 = integer("edca.be_aifsn", "slots", 3, (1, 15)),
        /// Its first contention window.
        be_cw_min: u32 = integer("edca.be_cw_min", "slots", 15, (0, 65_535)),
        /// Its largest.
        be_cw_max: u32 = integer("edca.be_cw_max", "slots", 1_023, (0, 65_535)),
        /// Its TXOP limit; 0 is one frame and its answer, as before IEEE 802.11-2016.
        be_txop_us: f64 = float("edca.be_txop_us", "µs", 2_528.0, (0.0, 8_384.0)),
        /// AIFSN of video.
        vi_aifsn: u8 = integer("edca.vi_aifsn", "slots", 2, (1, 15)),
        /// Its first contention window.
        vi_cw_min: u32 = integer("edca.vi_cw_min", "slots", 7, (0, 65_535)),
        /// Its largest.
        vi_cw_max: u32 = integer("edca.vi_cw_max", "slots", 15, (0, 65_535)),
        /// Its TXOP limit.
        vi_txop_us: f64 = float("edca.vi_txop_us", "µs", 4_096.0, (0.0, 8_384.0)),
        /// AIFSN of voice.
        vo_aifsn: u8 = integer("edca.vo_aifsn", "slots", 2, (1, 15)),
        /// Its first contention window.
        vo_cw_min: u32 = integer("edca.vo_cw_min", "slots", 3, (0, 65_535)),
        /// Its largest.
        vo_cw_max: u32 = integer("edca.vo_cw_max", "slots", 7, (0, 65_535)),
        /// Its TXOP limit.
        vo_txop_us: f64 = float("edca.vo_txop_us", "µs", 2_080.0, (0.0, 8_384.0)),
    }
}

settings! {
    /// The settings of the testbed.
    pub(super) struct MixedSettings {
        /// Calls, each of a station of its own, with somebody beyond the access point.
        calls: u16 = integer("calls", "", 5, (0, 200)),
        /// Stations that download.
        downloads: u16 = integer("downloads", "", 1, (0, 50)),
        /// Stations that upload.
        uploads: u16 = integer("uploads", "", 0, (0, 50)),
        /// How long is measured.
        duration_s: f64 = float("duration_s", "s", 10.0, (0.1, 3_600.0)),
        /// How long before that downloads and uploads go on already.
        warmup_s: f64 = float("warmup_s", "s", 1.0, (0.0, 60.0)),
        /// How far stations are from the access point, evenly on a circle around it.
        distance_m: f64 = float("distance_m", "m", 5.0, (0.0, 1_000.0)),
        /// The codec of the calls.
        codec: usize = choice("codec", "g711u-plc", CODEC_NAMES),
        /// Sound in one packet, and time between packets.
        codec_interval_ms: f64 = float("codec.interval_ms", "ms", 20.0, (10.0, 100.0)),
        /// What a tunnel adds to each packet of a call; 68 with WireGuard and G.711 of 20 ms.
        tunnel_bytes: u32 = integer("tunnel.bytes", "bytes", 0, (0, 400)),
        /// The dejitter buffer; playing begins at half of it.
        buffer_ms: f64 = float("buffer_ms", "ms", 120.0, (1.0, 10_000.0)),
        /// Delay of the way beyond the access point, one way.
        wire_delay_ms: f64 = float("wire.delay_ms", "ms", 20.0, (0.0, 10_000.0)),
        /// Length of a packet of downloads and uploads.
        bulk_bytes: u32 = integer("bulk.packet_bytes", "bytes", 1_500, (40, 2_000)),
        /// Packets that a download or upload has on its way at most, as TCP with such a window.
        bulk_window: u32 = integer("bulk.window", "packets", 512, (1, 20_000)),
        /// A receiver acknowledges each so manieth packet with one of 52 bytes, as TCP does; 0 is never, and the sender knows at once.
        bulk_ack_every: u32 = integer("bulk.ack_every", "packets", 2, (0, 64)),
        radio: ModernRadioSettings,
        edca: EdcaSettings,
    }
}

/// What the settings say.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) radio: edca::Config,
    pub(super) calls: u16,
    pub(super) downloads: u16,
    pub(super) uploads: u16,
    pub(super) duration: Nanos,
    pub(super) warmup: Nanos,
    pub(super) shape: StreamShape,
    /// Of a call's packet on the air.
    pub(super) call_bytes: u32,
    pub(super) wire_delay: Nanos,
    pub(super) bulk_bytes: u32,
    pub(super) bulk_window: u32,
    pub(super) bulk_ack_every: u32,
    pub(super) call_category: AccessCategory,
    pub(super) bulk_category: AccessCategory,
}

impl Config {
    pub(super) fn from_settings(settings: &MixedSettings) -> Result<Self, SettingError> {
        let &MixedSettings { calls, downloads, uploads, bulk_window, bulk_ack_every, .. } = settings;
        let shape = shape(settings);
        let config = Self {
            radio: radio(settings)?,
            calls,
            downloads,
            uploads,
            duration: nanos(settings.duration_s * 1e9),
            warmup: nanos(settings.warmup_s * 1e9),
            shape,
            call_bytes: shape.packet_bytes() + settings.tunnel_bytes,
            wire_delay: nanos(settings.wire_delay_ms * 1e6),
            bulk_bytes: settings.bulk_bytes,
            bulk_window,
            bulk_ack_every,
            call_category: settings.edca.calls,
            bulk_category: settings.edca.bulk,
        };
        if config.stations() == 0 {
            return Err(SettingError::unfit(
                "calls",
                "there is nobody; take a call, a download or an upload",
            ));
        }
        let wanted = usize::from(downloads.max(1)) * bulk_window as usize;
        if wanted > settings.radio.queue_max {
            let reason = format!(
                "the windows of all downloads have {wanted} packets, which must fit into radio.queue_max"
            );
            return Err(SettingError::unfit("bulk.window", reason));
        }
        if bulk_ack_every > bulk_window {
            let reason = "a window that is shorter than what is acknowledged together stands still";
            return Err(SettingError::unfit("bulk.ack_every", reason));
        }
        Ok(config)
    }

    pub(super) fn stations(&self) -> u16 {
        self.calls + self.downloads + self.uploads
    }
}

fn shape(settings: &MixedSettings) -> StreamShape {
    let (_, codec, bytes_per_ms) = CODECS[settings.codec];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "up to 100 ms")]
    let payload_bytes = (settings.codec_interval_ms * f64::from(bytes_per_ms) + 0.5) as u32;
    let capacity = Micros(nanos(settings.buffer_ms * 1e6).0 / 1_000);
    let buffer = BufferConfig { capacity, anchor: Anchor::HalfTime, follows: true };
    StreamShape { codec, payload_bytes, interval: nanos(settings.codec_interval_ms * 1e6), buffer }
}

fn radio(settings: &MixedSettings) -> Result<edca::Config, SettingError> {
    let radio = &settings.radio;
    let &ModernRadioSettings { standard, width, guard, streams, mcs, band, .. } = radio;
    let Some(mode) = Mode::new(standard, width, guard, streams, mcs) else {
        let reason = format!(
            "the standard has no MCS {mcs} with {} MHz, {streams} streams and a guard interval of {} ns",
            width.mhz(),
            guard.nanos().0
        );
        return Err(SettingError::unfit("radio.mcs", reason));
    };
    let access = access(&settings.edca);
    let adaptive = RateChoice::Adaptive(MinstrelConfig::default());
    let rate = if radio.adapts { adaptive } else { RateChoice::Standard };
    let station = |x_m: f64, y_m: f64| Station {
        queue_max: radio.queue_max,
        mpdu_loss: radio.mpdu_loss,
        rate,
        ..Station::at(x_m, y_m)
    };
    let count = settings.calls + settings.downloads + settings.uploads;
    let around = (0..count).map(|number| {
        let angle = std::f64::consts::TAU * f64::from(number) / f64::from(count);
        station(settings.distance_m * libm::cos(angle), settings.distance_m * libm::sin(angle))
    });
    let access_point = Station { is_access_point: true, ..station(0.0, 0.0) };
    Ok(edca::Config {
        phy: Ht { control_rate: radio.control_rate, ..Ht::new(mode, band) },
        access,
        access_point: access,
        aggregation: Aggregation {
            ampdu_bytes_max: radio.ampdu_bytes_max.min(ampdu_bytes_max(standard)),
            window: radio.window,
            amsdu_bytes_max: radio.amsdu_bytes_max,
        },
        overhead_bytes: radio.overhead_bytes,
        attempts_max: radio.attempts_max,
        rts_threshold: (radio.rts_threshold > 0).then_some(radio.rts_threshold),
        has_eifs: radio.has_eifs,
        air: Air {
            power_dbm: radio.power_dbm,
            exponent: radio.exponent,
            noise_figure_db: radio.noise_figure_db,
            carrier_sense_dbm: radio.carrier_sense_dbm,
            ..Air::new(band)
        },
        stations: std::iter::once(access_point).chain(around).collect(),
    })
}

fn access(settings: &EdcaSettings) -> [Access; 4] {
    let access = |aifsn, cw_min, cw_max, micros: f64| Access {
        aifsn,
        cw_min,
        cw_max,
        txop_limit: nanos(micros * 1e3),
    };
    let &EdcaSettings { bk_aifsn, bk_cw_min, bk_cw_max, bk_txop_us, .. } = settings;
    let &EdcaSettings { be_aifsn, be_cw_min, be_cw_max, be_txop_us, .. } = settings;
    let &EdcaSettings { vi_aifsn, vi_cw_min, vi_cw_max, vi_txop_us, .. } = settings;
    let &EdcaSettings { vo_aifsn, vo_cw_min, vo_cw_max, vo_txop_us, .. } = settings;
    [
        access(bk_aifsn, bk_cw_min, bk_cw_max, bk_txop_us),
        access(be_aifsn, be_cw_min, be_cw_max, be_txop_us),
        access(vi_aifsn, vi_cw_min, vi_cw_max, vi_txop_us),
        access(vo_aifsn, vo_cw_min, vo_cw_max, vo_txop_us),
    ]
}

/// The setting that the model refuses.
pub(super) const fn setting_of(error: &ConfigError) -> &'static str {
    match error {
        ConfigError::Stations { .. } => "calls",
        ConfigError::NoQueue { .. } => "radio.queue_max",
        ConfigError::MpduLoss { .. } => "radio.mpdu_loss",
        ConfigError::Point { .. } => "distance_m",
        ConfigError::ContentionWindow { .. } | ConfigError::Aifsn { .. } | ConfigError::TxopLimit { .. } => {
            "edca.be_cw_min"
        }
        ConfigError::Attempts => "radio.attempts_max",
        ConfigError::Overhead { .. } => "radio.overhead_bytes",
        ConfigError::Ampdu { .. } => "radio.ampdu_bytes_max",
        ConfigError::Window { .. } => "radio.block_ack_window",
        ConfigError::Amsdu { .. } => "radio.amsdu_bytes_max",
        ConfigError::Air { .. } => "air.exponent",
        ConfigError::ControlRate { .. } => "radio.control_mbps",
    }
}
