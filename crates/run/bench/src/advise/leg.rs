//! One leg: voice in one direction, and what was heard.

use super::protocol::{CarrierName, Leg, Report};
use crate::voice::{Ends, LABEL_BYTES, Pair, Span, Voice};
use guestright_emulator::tcp;
use guestright_engine::Instant as Moment;
use guestright_quality::{DirectionStats, Playout, PlayoutCounts};
use guestright_quic_io::{
    Algorithm, Carriage, Clock, ServerKey, Spoken, VoiceReceiver, VoiceSender, VoiceSettings,
};
use guestright_units::{Micros, Time};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How long after the last packet somebody still listens.
pub(super) const AFTERWARDS: Duration = Duration::from_secs(2);

/// A way for voice that is open at this end.
pub(super) enum Way {
    /// Packets of their own, or a stream of the kernel's.
    Socket(Pair),
    /// QUIC, of who will speak.
    Speaker(UdpSocket, SocketAddr),
    /// QUIC, of who listens.
    Listener(Runtime, VoiceReceiver),
}

impl Way {
    /// Over a datagram socket. `peer` is where the other end is.
    pub(super) fn datagrams(
        leg: &Leg,
        (socket, peer): (UdpSocket, SocketAddr),
        speaks: bool,
        clock: Instant,
    ) -> Result<Self, String> {
        socket.set_nonblocking(true).map_err(words)?;
        let Some(settings) = settings(leg)? else {
            socket.connect(peer).map_err(words)?;
            let near = socket.try_clone().map_err(words)?.into();
            return Ok(Self::Socket(Pair { near, far: socket.into() }));
        };
        if speaks {
            return Ok(Self::Speaker(socket, peer));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(words)?;
        let receiver = {
            // Its socket is watched by this runtime.
            let _inside = runtime.enter();
            VoiceReceiver::new(socket, &settings, ticks(clock)).map_err(words)?
        };
        Ok(Self::Listener(runtime, receiver))
    }

    /// Over a connection of TCP.
    pub(super) fn stream(leg: &Leg, stream: TcpStream) -> Result<Self, String> {
        stream.set_nonblocking(true).map_err(words)?;
        stream.set_nodelay(true).map_err(words)?;
        if let Some(name) = &leg.congestion {
            tcp::set_congestion(&stream, name).map_err(words)?;
        }
        tcp::set_unsent_max(&stream, 1).map_err(words)?;
        let near = stream.try_clone().map_err(words)?.into();
        Ok(Self::Socket(Pair { near, far: stream.into() }))
    }

    /// The key that the one who speaks has to know.
    pub(super) fn key(&self) -> Option<String> {
        match self {
            Self::Listener(_, receiver) => Some(receiver.key().to_string()),
            Self::Socket(_) | Self::Speaker(..) => None,
        }
    }

    /// Takes part in the leg, as the one who speaks or the one who listens. `clock`: when this end began to measure;
    /// `key`: what the other end said is its key.
    pub(super) fn run(
        self,
        leg: &Leg,
        speaks: bool,
        clock: Instant,
        key: Option<&str>,
    ) -> Result<Report, String> {
        match self {
            Self::Socket(pair) => over_socket(leg, pair, speaks, clock),
            Self::Listener(runtime, receiver) => {
                let until = leg.lasts() + AFTERWARDS;
                let packets = runtime.block_on(async { receiver.run(tokio::time::sleep(until)).await });
                let deliveries = packets.iter().map(|packet| (packet.number, packet.at.0)).collect();
                Ok(Report { first_us: 0, deliveries })
            }
            Self::Speaker(socket, peer) => {
                let key = key.ok_or("the other end has not told its key")?.parse().map_err(words)?;
                over_quic(leg, (socket, peer), key, clock)
            }
        }
    }
}

/// What QUIC is to be; nothing if it is not QUIC.
fn settings(leg: &Leg) -> Result<Option<VoiceSettings>, String> {
    let carriage = match leg.carrier {
        CarrierName::Udp | CarrierName::Tcp => return Ok(None),
        CarrierName::QuicDatagrams => Carriage::Datagrams,
        CarrierName::QuicStream => Carriage::Stream,
    };
    let name = leg.congestion.as_deref().unwrap_or(super::QUIC_CONGESTION);
    let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
    let algorithm = algorithm.ok_or_else(|| format!("QUIC has no congestion control {name} here"))?;
    let send_buffer = leg.send_buffer.into();
    Ok(Some(VoiceSettings { send_buffer, ..VoiceSettings::call(carriage, algorithm) }))
}

fn over_socket(leg: &Leg, pair: Pair, speaks: bool, clock: Instant) -> Result<Report, String> {
    let begin = Instant::now();
    let times = (0..leg.packets).map(|number| Moment(u64::from(number) * u64::from(leg.interval_us) * 1_000));
    let voice = Voice {
        pairs: vec![pair],
        ends: if speaks { Ends::Speaking } else { Ends::Listening },
        is_stream: leg.carrier == CarrierName::Tcp,
        packet_bytes: leg.bytes.into(),
        send_buffer: leg.send_buffer.into(),
        arrivals: vec![times.collect()],
    };
    let spoken = voice.run(Span { begin, end: begin + leg.lasts() + AFTERWARDS }).map_err(words)?;
    let first_us = micros(begin.saturating_duration_since(clock));
    let deliveries = spoken
        .deliveries
        .iter()
        .map(|delivery| (delivery.number, first_us + delivery.at.0 / 1_000))
        .collect();
    Ok(Report { first_us, deliveries })
}

fn over_quic(
    leg: &Leg,
    (socket, peer): (UdpSocket, SocketAddr),
    key: ServerKey,
    clock: Instant,
) -> Result<Report, String> {
    let settings = settings(leg)?.ok_or("this is not QUIC")?;
    let label = if leg.carrier == CarrierName::QuicDatagrams { LABEL_BYTES } else { 0 };
    let bytes = u32::try_from(usize::from(leg.bytes) + label).map_err(words)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(words)?;
    runtime.block_on(async {
        let sender =
            VoiceSender::connect(socket, peer, key, &settings, ticks(clock), 0).await.map_err(words)?;
        let first_us = micros(clock.elapsed());
        let spoken = (0..leg.packets).map(|number| Spoken {
            at: Time(first_us + u64::from(number) * u64::from(leg.interval_us)),
            number,
            bytes,
        });
        let report = sender.run(&spoken.collect::<Vec<_>>()).await;
        match report.lost {
            Some(why) => Err(why),
            None => Ok(Report { first_us, deliveries: Vec::new() }),
        }
    })
}

/// Microseconds since `clock`.
fn ticks(clock: Instant) -> Clock {
    Arc::new(move || Time(micros(clock.elapsed())))
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// How long each packet took by the two clocks, which may be any time apart.
pub(super) fn differences(leg: &Leg, first_us: u64, deliveries: &[(u32, u64)]) -> Vec<i64> {
    let made = |number: u32| first_us.saturating_add(u64::from(number) * u64::from(leg.interval_us));
    let mut seen = vec![false; leg.packets as usize];
    let mut differences = Vec::with_capacity(deliveries.len().min(seen.len()));
    for (number, at) in deliveries {
        // Each counts once, and none that was never spoken.
        if seen.get_mut(*number as usize).is_some_and(|seen| !std::mem::replace(seen, true)) {
            differences.push(at.cast_signed().saturating_sub(made(*number).cast_signed()));
        }
    }
    differences
}

/// The rating of a leg. `least` is the least difference of all legs in this direction, and that packet took `base`.
///
/// # Errors
/// In words, if nothing was spoken.
#[expect(clippy::cast_precision_loss, reason = "counts and delays of a few minutes")]
pub fn rate(leg: &Leg, differences: &[i64], least: i64, base: Micros) -> Result<DirectionStats, String> {
    let packet_ms = f64::from(leg.interval_us) / 1e3;
    let playout = Playout::g711(packet_ms).map_err(words)?;
    let mut counts = PlayoutCounts::default();
    let took = |difference: &i64| base.0.saturating_add_signed(difference.saturating_sub(least));
    differences.iter().for_each(|difference| counts.add(Micros(took(difference))));
    let made = u64::from(leg.packets);
    let best = playout.best(&counts, made, packet_ms).ok_or("nothing was spoken")?;
    let lost = 1.0 - differences.len() as f64 / made as f64;
    Ok(DirectionStats {
        made,
        lost,
        late: (best.loss - lost).max(0.0),
        playout_ms: best.wait_ms,
        longest_ms: differences.iter().map(took).max().map(|longest| longest as f64 / 1e3),
        r: best.r,
        mos: best.mos,
    })
}
