//! From settings to a path with its flows.

use super::arrivals;
use super::carriers::Carriers;
use super::settings::{ErrorModel, QueueKind, Speech, Stream, Transport, TransportsSettings};
use crate::whole::{millionfold, nanos};
use guestright_congestion::AnyController;
use guestright_congestion::model::AimdModel;
use guestright_engine::{Instant, Nanos, Streams};
use guestright_experiment::SettingError;
use guestright_transport::path::{Access, Bottleneck, Call, Path, PathConfig, Transfer, Watch};
use guestright_transport::{
    CoDelSettings, Discipline, Errors, FqCoDelSettings, RedSettings, Source, SourceKind, SourceSettings,
};
use rand::RngExt;
use std::sync::Arc;

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
    pub(super) warmup: Nanos,
    /// When each call speaks, where a file says so.
    pub(super) spoken: Option<Arc<Vec<Vec<Instant>>>>,
    pub(super) spread: Nanos,
}

impl Config {
    pub(super) fn new(settings: &TransportsSettings) -> Result<Self, SettingError> {
        let config = Self {
            path: path(settings)?,
            carriers: Carriers::new(settings)?,
            source: source(settings),
            flows: settings.flows,
            bulk: settings.bulk_flows,
            duration: nanos(settings.duration_s * 1e9),
            warmup: nanos(settings.warmup_s * 1e9),
            spoken: arrivals::of_file(settings)?.map(Arc::new),
            spread: nanos(settings.start_spread_s * 1e9),
        };
        if config.warmup >= config.duration {
            let reason = "nothing is left to be measured; make it shorter than `duration_s`";
            return Err(SettingError::unfit("warmup_s", reason));
        }
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
        let end = Instant::START + self.duration;
        if let Some(spoken) = &self.spoken {
            let times = spoken.get(flow as usize).into_iter().flatten().copied();
            return Ok(times.take_while(|at| *at < end).collect());
        }
        let from = self.start("call starts", flow, streams);
        let mut speech = streams.stream("speech", flow.into());
        let source = Source::new(self.source, from, end, &mut speech);
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

fn path(settings: &TransportsSettings) -> Result<PathConfig, SettingError> {
    let (ecn, queue) = (settings.ecn, settings.queue);
    if ecn && queue == QueueKind::DropTail {
        let reason = "a drop-tail queue marks nothing; choose another `queue`, or set it to false";
        return Err(SettingError::unfit("ecn", reason));
    }
    let link = |rate: f64, delay_ms: f64, buffer: u32| {
        let buffer = if buffer == 0 { settings.first_buffer } else { buffer };
        if buffer < 2 {
            return Err(SettingError::unfit(
                "second.buffer",
                "one packet is no queue; make it 2 or more, or 0",
            ));
        }
        Ok(Bottleneck {
            rate: millionfold(rate),
            delay: nanos(delay_ms * 1e6),
            buffer,
            discipline: discipline(queue, buffer, ecn),
        })
    };
    let rate = settings.first_rate_mbps;
    let [errors, reverse_errors] = errors(settings)?;
    Ok(PathConfig {
        first: link(rate, settings.first_delay_ms, settings.first_buffer)?,
        second: link(rate * settings.second_ratio, settings.second_delay_ms, settings.second_buffer)?,
        access: Access {
            rate: millionfold(settings.access_rate_mbps),
            delay: nanos(settings.access_delay_ms * 1e6),
            spread: nanos(settings.access_delay_spread_ms * 1e6),
            buffer: None,
        },
        errors,
        reverse_errors,
        ecn,
        jitter: Nanos(settings.tie_jitter_ns.into()),
    })
}

fn discipline(queue: QueueKind, buffer: u32, ecn: bool) -> Discipline {
    match queue {
        QueueKind::Red => Discipline::Red(RedSettings { setbit: ecn, ..RedSettings::for_buffer(buffer) }),
        QueueKind::CoDel => Discipline::CoDel(CoDelSettings { ecn, ..CoDelSettings::rfc8289() }),
        QueueKind::FqCoDel => {
            let rfc = FqCoDelSettings::rfc8290();
            Discipline::FqCoDel(FqCoDelSettings { codel: CoDelSettings { ecn, ..rfc.codel }, ..rfc })
        }
        QueueKind::DropTail => Discipline::DropTail,
    }
}

/// There, and back.
fn errors(settings: &TransportsSettings) -> Result<[Errors; 2], SettingError> {
    let share = settings.errors_per;
    let per_million = u32::try_from(millionfold(share)).expect("the setting has limits");
    let errors = match settings.errors_model {
        ErrorModel::Bernoulli => Errors::Bernoulli { per_million },
        ErrorModel::Gilbert if per_million > 0 => {
            let burst = settings.errors_burst;
            if burst < share / (1.0 - share) {
                let reason = format!("a share of {share} cannot come in bursts that short; make it longer");
                return Err(SettingError::unfit("errors.burst", reason));
            }
            let burst_thousandths =
                u32::try_from(millionfold(burst) / 1_000).expect("the setting has limits");
            Errors::Gilbert { per_million, burst_thousandths }
        }
        ErrorModel::Gilbert | ErrorModel::None => Errors::None,
    };
    let reverse = if settings.errors_reverse { errors.clone() } else { Errors::None };
    Ok([errors, reverse])
}

fn source(settings: &TransportsSettings) -> SourceSettings {
    let off = nanos(settings.source_off_s * 1e9);
    let kind = match settings.source_kind {
        // Without silence it speaks without end.
        _ if off.0 == 0 => SourceKind::Constant,
        Speech::Pareto => SourceKind::Pareto { shape: settings.source_shape },
        Speech::Exponential => SourceKind::Exponential,
        Speech::Constant => SourceKind::Constant,
    };
    SourceSettings {
        kind,
        rate: millionfold(settings.source_rate_kbps) / 1_000,
        reading: settings.source_reading,
        packet_bytes: settings.packet_bytes,
        on: nanos(settings.source_on_s * 1e9),
        off,
    }
}

/// Equation (1) knows streams with congestion control only: alpha and beta of one.
pub(super) fn model_of(settings: &TransportsSettings) -> Option<AimdModel> {
    match settings.transport {
        Transport::Tcp(Stream::Aimd) => {
            Some(AimdModel { alpha: settings.aimd_alpha, beta: settings.aimd_beta })
        }
        // Those that keep the standard's alpha and beta, whatever else they do; the others are held against them.
        Transport::Tcp(
            Stream::Reno
            | Stream::NewReno
            | Stream::Vegas
            | Stream::Westwood
            | Stream::WestwoodPlus
            | Stream::Real
            | Stream::Cubic
            | Stream::Bbr,
        ) => Some(AimdModel::STANDARD),
        Transport::Udp | Transport::Tfrc | Transport::QuicDatagram | Transport::QuicStream => None,
    }
}
