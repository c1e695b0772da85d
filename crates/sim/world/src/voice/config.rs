use crate::cpu::{Costs, CpuConfig, CpuSettings, config_from_settings};
use crate::meter::StreamShape;
use crate::overhead::{Wrapping, WrappingSettings};
use crate::radio::{Radio, RadioSettings};
use crate::receipts::{Receipts, ReceiptsSettings};
use crate::whole::{millionfold, nanos};
use guestright_engine::Nanos;
use guestright_experiment::{SettingError, settings};
use guestright_quality::{Anchor, BufferConfig, Codec};
use guestright_transport::{LinkSettings, QueueLimit};
use guestright_units::Micros;

/// Which cells there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cells {
    OneChannel,
    TwoChannels,
    Wired,
}

/// When streams begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phases {
    Random,
    Even,
}

/// When playing begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Playing {
    anchor: Anchor,
    /// Whether it begins anew when the delay has moved.
    follows: bool,
}

const CELLS: [(&str, Cells); 3] =
    [("one-channel", Cells::OneChannel), ("two-channels", Cells::TwoChannels), ("wired", Cells::Wired)];

/// Whether each call has a station of its own.
const STATIONS: [(&str, bool); 2] = [("shared", false), ("per-call", true)];

const CODECS: [(&str, Codec); 7] = [
    ("g711u", Codec::G711u),
    ("g711u-plc", Codec::G711uPlc),
    ("g711a", Codec::G711a),
    ("g711a-plc", Codec::G711aPlc),
    ("g729a", Codec::G729a),
    ("gsm-efr", Codec::GsmEfr),
    ("g723.1-6.3", Codec::G7231High),
];

const PHASES: [(&str, Phases); 2] = [("random", Phases::Random), ("even", Phases::Even)];

const PLAYING: [(&str, Playing); 3] = [
    ("half-time", Playing { anchor: Anchor::HalfTime, follows: false }),
    ("half-packets", Playing { anchor: Anchor::HalfPackets, follows: false }),
    ("follows", Playing { anchor: Anchor::HalfTime, follows: true }),
];

/// Whether a tunnel ends in the access point.
const TUNNEL_ENDS: [(&str, bool); 2] = [("access-point", true), ("home", false)];

settings! {
    /// The settings of the testbed.
    pub(super) struct VoiceSettings {
        /// Parallel calls, each with two streams; Figure 4's axis.
        calls: u16 = integer("calls", "", 7, (1, 200)),
        /// How long each call lasts; 90 s in the paper.
        duration_s: f64 = float("duration_s", "s", 90.0, (0.1, 100_000.0)),
        /// The first packets are sent after this; with receipts in mode `protocol` sessions are opened before.
        warmup_s: f64 = float("warmup_s", "s", 0.0, (0.0, 60.0)),
        /// Both cells on one channel, each on its own, or one cell and a wired host (footnote 3). The paper does
        /// not say which of the first two it had.
        cells: Cells = choice("cells", "one-channel", CELLS),
        /// One laptop on each side has all calls, as in the paper, or each call has a station of its own.
        stations_per_call: bool = choice("stations", "shared", STATIONS),
        /// The codec: its bit rate, and what the E-model makes of losses.
        codec: Codec = choice("codec", "g729a", CODECS),
        /// Sound in one packet, and time between packets; a whole number of the codec's frames.
        codec_interval_ms: f64 = float("codec.interval_ms", "ms", 20.0, (2.5, 200.0)),
        /// Bytes of sound in one packet; 0 is what the codec makes in the interval.
        codec_payload_bytes: u32 = integer("codec.payload_bytes", "bytes", 0, (0, 1_400)),
        /// When each stream sends its first packet: at random within an interval, or evenly spread over it.
        phases: Phases = choice("phases", "random", PHASES),
        /// The dejitter buffer; playing begins at half of it.
        buffer_ms: f64 = float("buffer_ms", "ms", 120.0, (1.0, 10_000.0)),
        /// Playing begins half of the buffer's length after the first packet, when packets for so long are there,
        /// or as the first but anew when the delay has moved.
        buffer_anchor: Playing = choice("buffer.anchor", "half-time", PLAYING),
        /// Where a tunnel ends: in the access point, as in the paper, or behind it, so that it only forwards.
        tunnel_ends_here: bool = choice("tunnel.end", "access-point", TUNNEL_ENDS),
        /// The wire between the access points.
        wire_rate_mbps: f64 = float("wire.rate_mbps", "Mb/s", 100.0, (0.01, 100_000.0)),
        /// Its delay, one way.
        wire_delay_ms: f64 = float("wire.delay_ms", "ms", 0.0, (0.0, 10_000.0)),
        /// What waits for it; more is dropped.
        wire_queue_max: u32 = integer("wire.queue_max", "packets", 1_000, (1, 1_000_000)),
        radio: RadioSettings,
        cpu: CpuSettings,
        receipts: ReceiptsSettings,
        wrapping: WrappingSettings,
    }
}

/// What tunnels do to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tunnel {
    /// Bytes of a voice packet on the radio.
    pub(super) radio_bytes: u32,
    /// Bytes of a voice packet on the wire.
    pub(super) wire_bytes: u32,
    /// Whether the access point is the tunnel's end.
    pub(super) ends_here: bool,
}

/// A scenario.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) calls: u16,
    pub(super) duration: Nanos,
    pub(super) warmup: Nanos,
    pub(super) cells: Cells,
    pub(super) stations_per_call: bool,
    pub(super) shape: StreamShape,
    pub(super) phases: Phases,
    pub(super) tunnel: Tunnel,
    pub(super) wire: LinkSettings,
    pub(super) cpu: Option<(CpuConfig, Costs)>,
    pub(super) receipts: Option<Receipts>,
    pub(super) radio: Radio,
}

impl Config {
    /// What the settings say.
    pub(super) fn from_settings(settings: &VoiceSettings) -> Result<Self, SettingError> {
        let shape = shape(settings)?;
        Ok(Self {
            calls: settings.calls,
            duration: nanos(settings.duration_s * 1e9),
            warmup: nanos(settings.warmup_s * 1e9),
            cells: settings.cells,
            stations_per_call: settings.stations_per_call,
            tunnel: tunnel(settings, &shape)?,
            shape,
            phases: settings.phases,
            wire: LinkSettings {
                delay: nanos(settings.wire_delay_ms * 1e6),
                queue_max: QueueLimit::Packets(settings.wire_queue_max),
                ..LinkSettings::ethernet(millionfold(settings.wire_rate_mbps))
            },
            cpu: config_from_settings(&settings.cpu),
            receipts: Receipts::from_settings(&settings.receipts)?,
            radio: Radio::from_settings(&settings.radio)?,
        })
    }

    /// How many packets each stream has.
    pub(super) fn packets(&self) -> u32 {
        u32::try_from(self.duration.0 / self.shape.interval.0.max(1)).unwrap_or(u32::MAX)
    }
}

fn shape(settings: &VoiceSettings) -> Result<StreamShape, SettingError> {
    let (codec, interval_ms) = (settings.codec, settings.codec_interval_ms);
    let facts = codec.facts();
    // G.711 works sample by sample; the table's frame is a usual packet.
    let is_g711 = matches!(codec, Codec::G711u | Codec::G711uPlc | Codec::G711a | Codec::G711aPlc);
    let frame_ms = if is_g711 { 0.125 } else { facts.frame_ms };
    let frames = interval_ms / frame_ms;
    if frames < 1.0 || (frames - (frames + 0.5).floor()).abs() > 1e-9 {
        let reason = format!("{} has frames of {frame_ms} ms; take a whole number of them", facts.title);
        return Err(SettingError::unfit("codec.interval_ms", reason));
    }
    let given = settings.codec_payload_bytes;
    let made = f64::from(facts.bit_rate_bps) * interval_ms / 8e3;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "far below 2^32, never negative"
    )]
    let payload_bytes = if given > 0 { given } else { (made - 1e-9).ceil() as u32 };
    if payload_bytes > 1_400 {
        let reason = format!("{payload_bytes} bytes of sound do not fit into a packet; make it shorter");
        return Err(SettingError::unfit("codec.interval_ms", reason));
    }
    Ok(StreamShape { codec, payload_bytes, interval: nanos(interval_ms * 1e6), buffer: buffer(settings) })
}

fn buffer(settings: &VoiceSettings) -> BufferConfig {
    let Playing { anchor, follows } = settings.buffer_anchor;
    let capacity = Micros(nanos(settings.buffer_ms * 1e6).0 / 1_000);
    BufferConfig { capacity, anchor, follows }
}

fn tunnel(settings: &VoiceSettings, shape: &StreamShape) -> Result<Tunnel, SettingError> {
    let wrapping = Wrapping::from_settings(&settings.wrapping)?;
    let plain = shape.packet_bytes();
    let radio_bytes = u32::try_from(wrapping.wire_len(plain as usize)).unwrap_or(u32::MAX);
    let ends_here = wrapping != Wrapping::None && settings.tunnel_ends_here;
    Ok(Tunnel { radio_bytes, wire_bytes: if ends_here { plain } else { radio_bytes }, ends_here })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_has_the_name_of_its_setting() {
        for (word, codec) in CODECS {
            assert_eq!(word.parse(), Ok(codec));
            assert_eq!(codec.facts().name, word);
        }
    }
}
