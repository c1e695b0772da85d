//! From settings to a path with its flows.

use super::carriers::{Carriers, stream_of};
use crate::whole::{millionfold, nanos};
use guestright_congestion::AnyController;
use guestright_engine::{Instant, Nanos, Streams};
use guestright_experiment::{SettingError, Settings};
use guestright_transport::path::{Access, Bottleneck, Call, Path, PathConfig, Transfer, Watch};
use guestright_transport::{
    CoDelSettings, Discipline, Errors, FqCoDelSettings, Reading, RedSettings, Source, SourceKind,
    SourceSettings,
};
use rand::RngExt;

/// The most packets of speech that a run may make.
const PACKETS_MAX: f64 = 2e8;

/// Settings, read.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) path: PathConfig,
    pub(super) carriers: Carriers,
    pub(super) source: SourceSettings,
    pub(super) flows: u32,
    pub(super) bulk: u32,
    pub(super) duration: Nanos,
    pub(super) spread: Nanos,
}

impl Config {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingError> {
        let config = Self {
            path: path(settings)?,
            carriers: Carriers::new(settings)?,
            source: source(settings)?,
            flows: settings.whole("flows")?,
            bulk: settings.whole("bulk.flows")?,
            duration: nanos(settings.float("duration_s")? * 1e9),
            spread: nanos(settings.float("start.spread_s")? * 1e9),
        };
        let packet = config.source.packets_last(1).as_seconds();
        if f64::from(config.flows) * config.duration.as_seconds() / packet > PACKETS_MAX {
            let reason =
                "the calls could make more than 200 million packets; make it shorter, or have fewer `flows`";
            return Err(SettingError::unfit("duration_s", reason));
        }
        Ok(config)
    }

    /// The path with all flows, ready to run.
    pub(super) fn build<W: Watch>(
        &self,
        streams: &Streams,
        watch: W,
    ) -> Result<Path<AnyController, W>, SettingError> {
        let mut path = Path::watched(self.path.clone(), streams, watch).map_err(|error| misfit(&error))?;
        for flow in 0..self.flows {
            let call = Call {
                arrivals: self.arrivals(flow, streams)?,
                packet_bytes: self.source.packet_bytes,
                carrier: self.carriers.call(flow, streams)?,
                errors: None,
            };
            path.add_call(call).map_err(|error| misfit(&error))?;
        }
        for number in 0..self.bulk {
            let start = self.transfer_start(number, streams);
            let tcp = self.carriers.transfer(self.flows + number, streams)?;
            path.add_transfer(Transfer { start, bytes: None, tcp }).map_err(|error| misfit(&error))?;
        }
        Ok(path)
    }

    /// When a file transfer starts.
    pub(super) fn transfer_start(&self, number: u32, streams: &Streams) -> Instant {
        self.start("file transfer starts", number, streams)
    }

    /// When a call speaks: the same for every transport.
    pub(super) fn arrivals(&self, flow: u32, streams: &Streams) -> Result<Vec<Instant>, SettingError> {
        let from = self.start("call starts", flow, streams);
        let mut speech = streams.stream("speech", flow.into());
        let source = Source::new(self.source, from, Instant::START + self.duration, &mut speech);
        Ok(source.map_err(|error| SettingError::unfit("source.kind", error.to_string()))?.collect())
    }

    fn start(&self, what: &str, number: u32, streams: &Streams) -> Instant {
        Instant(streams.stream(what, number.into()).random_range(0..=self.spread.0))
    }
}

/// What the network finds wrong with the settings. What one setting says of itself was checked before.
pub(super) fn misfit(error: &guestright_transport::SettingsError) -> SettingError {
    SettingError::unfit("transport", error.to_string())
}

fn path(settings: &Settings) -> Result<PathConfig, SettingError> {
    let ecn = settings.bool("ecn")?;
    let queue = settings.text("queue")?;
    if ecn && queue == "droptail" {
        let reason = "a drop-tail queue marks nothing; choose another `queue`, or set it to false";
        return Err(SettingError::unfit("ecn", reason));
    }
    let link = |rate: f64, delay: &str, buffer: &str| {
        let buffer = match settings.whole(buffer)? {
            0 => settings.whole("first.buffer")?,
            packets => packets,
        };
        if buffer < 2 {
            return Err(SettingError::unfit(
                "second.buffer",
                "one packet is no queue; make it 2 or more, or 0",
            ));
        }
        Ok(Bottleneck {
            rate: millionfold(rate),
            delay: nanos(settings.float(delay)? * 1e6),
            buffer,
            discipline: discipline(queue, buffer, ecn),
        })
    };
    let rate = settings.float("first.rate_mbps")?;
    let [errors, reverse_errors] = errors(settings)?;
    Ok(PathConfig {
        first: link(rate, "first.delay_ms", "first.buffer")?,
        second: link(rate * settings.float("second.ratio")?, "second.delay_ms", "second.buffer")?,
        access: Access {
            rate: millionfold(settings.float("access.rate_mbps")?),
            delay: nanos(settings.float("access.delay_ms")? * 1e6),
            buffer: None,
        },
        errors,
        reverse_errors,
        ecn,
        jitter: PathConfig::JITTER,
    })
}

fn discipline(queue: &str, buffer: u32, ecn: bool) -> Discipline {
    match queue {
        "red" => Discipline::Red(RedSettings { setbit: ecn, ..RedSettings::for_buffer(buffer) }),
        "codel" => Discipline::CoDel(CoDelSettings { ecn, ..CoDelSettings::rfc8289() }),
        "fq_codel" => {
            let rfc = FqCoDelSettings::rfc8290();
            Discipline::FqCoDel(FqCoDelSettings { codel: CoDelSettings { ecn, ..rfc.codel }, ..rfc })
        }
        _ => Discipline::DropTail,
    }
}

/// There, and back.
fn errors(settings: &Settings) -> Result<[Errors; 2], SettingError> {
    let share = settings.float("errors.per")?;
    let per_million = u32::try_from(millionfold(share)).expect("the setting has limits");
    let errors = match settings.text("errors.model")? {
        "bernoulli" => Errors::Bernoulli { per_million },
        "gilbert" if per_million > 0 => {
            let burst = settings.float("errors.burst")?;
            if burst < share / (1.0 - share) {
                let reason = format!("a share of {share} cannot come in bursts that short; make it longer");
                return Err(SettingError::unfit("errors.burst", reason));
            }
            let burst_thousandths =
                u32::try_from(millionfold(burst) / 1_000).expect("the setting has limits");
            Errors::Gilbert { per_million, burst_thousandths }
        }
        _ => Errors::None,
    };
    let reverse = if settings.bool("errors.reverse")? { errors.clone() } else { Errors::None };
    Ok([errors, reverse])
}

fn source(settings: &Settings) -> Result<SourceSettings, SettingError> {
    let off = nanos(settings.float("source.off_s")? * 1e9);
    let kind = match settings.text("source.kind")? {
        // Without silence it speaks without end.
        _ if off.0 == 0 => SourceKind::Constant,
        "pareto" => SourceKind::Pareto { shape: settings.float("source.shape")? },
        "exponential" => SourceKind::Exponential,
        _ => SourceKind::Constant,
    };
    let reading =
        if settings.text("source.reading")? == "average" { Reading::Average } else { Reading::OnRate };
    Ok(SourceSettings {
        kind,
        rate: millionfold(settings.float("source.rate_kbps")?) / 1_000,
        reading,
        packet_bytes: settings.whole("packet_bytes")?,
        on: nanos(settings.float("source.on_s")? * 1e9),
        off,
    })
}

/// Equation (1) knows streams with congestion control only: alpha and beta of one.
pub(super) fn model_of(
    settings: &Settings,
) -> Result<Option<guestright_congestion::model::AimdModel>, SettingError> {
    use guestright_congestion::model::AimdModel;
    let transport = settings.text("transport")?;
    if stream_of(transport).is_none() {
        return Ok(None);
    }
    Ok(Some(if transport == "aimd" {
        AimdModel { alpha: settings.float("aimd.alpha")?, beta: settings.float("aimd.beta")? }
    } else {
        AimdModel::STANDARD
    }))
}
