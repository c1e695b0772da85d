use crate::cpu::{CPU, Costs, CpuConfig, config_from_settings};
use crate::joined::joined;
use crate::meter::StreamShape;
use crate::overhead::{WRAPPING, Wrapping};
use crate::radio::{RADIO, Radio};
use crate::receipts::{RECEIPTS, Receipts};
use crate::whole::{millionfold, nanos};
use guestright_engine::Nanos;
use guestright_experiment::{SettingError, SettingInfo, Settings};
use guestright_quality::{Anchor, BufferConfig, Codec};
use guestright_transport::{LinkSettings, QueueLimit};
use guestright_units::Micros;

const OWN: [SettingInfo; 15] = [
    SettingInfo::integer("calls", "", 7, (1, 200), "Parallel calls, each with two streams; Figure 4's axis."),
    SettingInfo::float(
        "duration_s",
        "s",
        90.0,
        (0.1, 100_000.0),
        "How long each call lasts; 90 s in the paper.",
    ),
    SettingInfo::float(
        "warmup_s",
        "s",
        0.0,
        (0.0, 60.0),
        "The first packets are sent after this; with receipts in mode `protocol` sessions are opened before.",
    ),
    SettingInfo::choice(
        "cells",
        "one-channel",
        &["one-channel", "two-channels", "wired"],
        "Both cells on one channel, each on its own, or one cell and a wired host (footnote 3). The paper does not say \
         which of the first two it had.",
    ),
    SettingInfo::choice(
        "stations",
        "shared",
        &["shared", "per-call"],
        "One laptop on each side has all calls, as in the paper, or each call has a station of its own.",
    ),
    SettingInfo::choice(
        "codec",
        "g729a",
        &["g711u", "g711u-plc", "g711a", "g711a-plc", "g729a", "gsm-efr", "g723.1-6.3"],
        "The codec: its bit rate, and what the E-model makes of losses.",
    ),
    SettingInfo::float(
        "codec.interval_ms",
        "ms",
        20.0,
        (2.5, 200.0),
        "Sound in one packet, and time between packets; a whole number of the codec's frames.",
    ),
    SettingInfo::integer(
        "codec.payload_bytes",
        "bytes",
        0,
        (0, 1_400),
        "Bytes of sound in one packet; 0 is what the codec makes in the interval.",
    ),
    SettingInfo::choice(
        "phases",
        "random",
        &["random", "even"],
        "When each stream sends its first packet: at random within an interval, or evenly spread over it.",
    ),
    SettingInfo::float(
        "buffer_ms",
        "ms",
        120.0,
        (1.0, 10_000.0),
        "The dejitter buffer; playing begins at half of it.",
    ),
    SettingInfo::choice(
        "buffer.anchor",
        "half-time",
        &["half-time", "half-packets", "follows"],
        "Playing begins half of the buffer's length after the first packet, when packets for so long are there, or as the \
         first but anew when the delay has moved.",
    ),
    SettingInfo::choice(
        "tunnel.end",
        "access-point",
        &["access-point", "home"],
        "Where a tunnel ends: in the access point, as in the paper, or behind it, so that it only forwards.",
    ),
    SettingInfo::float(
        "wire.rate_mbps",
        "Mb/s",
        100.0,
        (0.01, 100_000.0),
        "The wire between the access points.",
    ),
    SettingInfo::float("wire.delay_ms", "ms", 0.0, (0.0, 10_000.0), "Its delay, one way."),
    SettingInfo::integer(
        "wire.queue_max",
        "packets",
        1_000,
        (1, 1_000_000),
        "What waits for it; more is dropped.",
    ),
];

const COUNT: usize = OWN.len() + RADIO.len() + CPU.len() + RECEIPTS.len() + WRAPPING.len();

/// All settings of the testbed.
pub(super) const SETTINGS: [SettingInfo; COUNT] = joined(&[&OWN, &RADIO, &CPU, &RECEIPTS, &WRAPPING]);

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
    pub(super) fn from_settings(settings: &Settings) -> Result<Self, SettingError> {
        let shape = shape(settings)?;
        let cells = match settings.text("cells")? {
            "two-channels" => Cells::TwoChannels,
            "wired" => Cells::Wired,
            _ => Cells::OneChannel,
        };
        Ok(Self {
            calls: settings.whole("calls")?,
            duration: nanos(settings.float("duration_s")? * 1e9),
            warmup: nanos(settings.float("warmup_s")? * 1e9),
            cells,
            stations_per_call: settings.text("stations")? == "per-call",
            tunnel: tunnel(settings, &shape)?,
            shape,
            phases: if settings.text("phases")? == "even" { Phases::Even } else { Phases::Random },
            wire: LinkSettings {
                delay: nanos(settings.float("wire.delay_ms")? * 1e6),
                queue_max: QueueLimit::Packets(settings.whole("wire.queue_max")?),
                ..LinkSettings::ethernet(millionfold(settings.float("wire.rate_mbps")?))
            },
            cpu: config_from_settings(settings)?,
            receipts: Receipts::from_settings(settings)?,
            radio: Radio::from_settings(settings)?,
        })
    }

    /// How many packets each stream has.
    pub(super) fn packets(&self) -> u32 {
        u32::try_from(self.duration.0 / self.shape.interval.0.max(1)).unwrap_or(u32::MAX)
    }
}

fn shape(settings: &Settings) -> Result<StreamShape, SettingError> {
    let name = settings.text("codec")?;
    let codec: Codec = name.parse().map_err(|error| SettingError::unfit("codec", format!("{error}")))?;
    let interval_ms = settings.float("codec.interval_ms")?;
    let facts = codec.facts();
    // G.711 works sample by sample; the table's frame is a usual packet.
    let frame_ms = if name.starts_with("g711") { 0.125 } else { facts.frame_ms };
    let frames = interval_ms / frame_ms;
    if frames < 1.0 || (frames - (frames + 0.5).floor()).abs() > 1e-9 {
        let reason = format!("{} has frames of {frame_ms} ms; take a whole number of them", facts.title);
        return Err(SettingError::unfit("codec.interval_ms", reason));
    }
    let given: u32 = settings.whole("codec.payload_bytes")?;
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
    Ok(StreamShape { codec, payload_bytes, interval: nanos(interval_ms * 1e6), buffer: buffer(settings)? })
}

fn buffer(settings: &Settings) -> Result<BufferConfig, SettingError> {
    let capacity = Micros(nanos(settings.float("buffer_ms")? * 1e6).0 / 1_000);
    let (anchor, follows) = match settings.text("buffer.anchor")? {
        "half-packets" => (Anchor::HalfPackets, false),
        "follows" => (Anchor::HalfTime, true),
        _ => (Anchor::HalfTime, false),
    };
    Ok(BufferConfig { capacity, anchor, follows })
}

fn tunnel(settings: &Settings, shape: &StreamShape) -> Result<Tunnel, SettingError> {
    let wrapping = Wrapping::from_settings(settings)?;
    let plain = shape.packet_bytes();
    let radio_bytes = u32::try_from(wrapping.wire_len(plain as usize)).unwrap_or(u32::MAX);
    let ends_here = wrapping != Wrapping::None && settings.text("tunnel.end")? == "access-point";
    Ok(Tunnel { radio_bytes, wire_bytes: if ends_here { plain } else { radio_bytes }, ends_here })
}
