//! One call through neteq, as long as it lasts.

use anyhow::{Result, anyhow};
use guestright_playout::Trace;
use guestright_units::Time;
use neteq::codec::AudioDecoder;
use neteq::{AudioPacket, NetEq, NetEqConfig, RtpHeader};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// What came out.
#[derive(Debug)]
pub(crate) struct Playback {
    /// For each packet, when it was decoded to be played, in the trace's time; never, if it was thrown away.
    pub(crate) played: Vec<Option<Time>>,
    /// Pieces of 10 ms that were concealed, of all: pauses too, for the peer takes a pause without packets for loss.
    pub(crate) expanded_percent: f64,
    /// How much later than wanted the clock woke us up, at most.
    pub(crate) clock_late_ms: f64,
}

const RATE: u32 = 8_000;
const PAYLOAD_TYPE: u8 = 0;
/// neteq gives sound in pieces of that length.
const PIECE: Duration = Duration::from_millis(10);

/// Takes payloads that are numbers of packets, and says which it was given.
struct Spy {
    decoded: Sender<u64>,
    samples: usize,
}

impl AudioDecoder for Spy {
    fn sample_rate(&self) -> u32 {
        RATE
    }

    fn channels(&self) -> u8 {
        1
    }

    fn decode(&mut self, encoded: &[u8]) -> neteq::Result<Vec<f32>> {
        if let Some(number) = encoded.first_chunk() {
            // Nobody listens any more only when the call is over.
            let _ = self.decoded.send(u64::from_le_bytes(*number));
        }
        // A tone, so that time can be stretched.
        Ok((0_u8..40).cycle().take(self.samples).map(|phase| f32::from(phase) / 80.0 - 0.25).collect())
    }
}

/// Plays a trace.
pub(crate) fn listen(trace: &Trace) -> Result<Playback> {
    let mut call = Listening::new(trace)?;
    let began = Instant::now();
    let mut arrivals: Vec<(u64, usize)> = trace
        .packets
        .iter()
        .enumerate()
        .filter_map(|(index, packet)| packet.arrived.map(|at| (at.0, index)))
        .collect();
    arrivals.sort_unstable();
    let end = arrivals.last().map_or(0, |(at, _)| *at) + 1_000_000;
    let mut arrivals = arrivals.into_iter().peekable();
    let (mut piece, step) = (0_u64, u64::try_from(PIECE.as_micros())?);
    while piece * step < end {
        let next_piece = piece * step;
        match arrivals.next_if(|(at, _)| *at <= next_piece) {
            Some((at, index)) => {
                call.wait_until(began, at);
                call.insert(index)?;
            }
            None => {
                call.wait_until(began, next_piece);
                call.pull_audio(began)?;
                piece += 1;
            }
        }
    }
    Ok(call.into_playback())
}

struct Listening<'a> {
    trace: &'a Trace,
    peer: NetEq,
    decoded: Receiver<u64>,
    played: Vec<Option<Time>>,
    pieces: u64,
    expanded: u64,
    clock_late: Duration,
}

impl<'a> Listening<'a> {
    fn new(trace: &'a Trace) -> Result<Self> {
        let config = NetEqConfig { sample_rate: RATE, channels: 1, ..NetEqConfig::default() };
        let mut peer = NetEq::new(config).map_err(|error| anyhow!("neteq: {error}"))?;
        let (sender, decoded) = channel();
        let samples = usize::try_from(trace.interval.0 * u64::from(RATE) / 1_000_000)?;
        peer.register_decoder(PAYLOAD_TYPE, Box::new(Spy { decoded: sender, samples }));
        let played = vec![None; trace.packets.len()];
        Ok(Self { trace, peer, decoded, played, pieces: 0, expanded: 0, clock_late: Duration::ZERO })
    }

    fn wait_until(&mut self, began: Instant, micros: u64) {
        let wanted = began + Duration::from_micros(micros);
        let now = Instant::now();
        if let Some(rest) = wanted.checked_duration_since(now) {
            std::thread::sleep(rest);
        }
        self.clock_late = self.clock_late.max(wanted.elapsed());
    }

    #[expect(clippy::cast_possible_truncation, reason = "sequence numbers and timestamps of RTP wrap")]
    fn insert(&mut self, index: usize) -> Result<()> {
        let packet = &self.trace.packets[index];
        let timestamp = (packet.media * u64::from(RATE) / 1_000_000) as u32;
        let header = RtpHeader::new(packet.sequence as u16, timestamp, 1, PAYLOAD_TYPE, false);
        let number = (index as u64).to_le_bytes().to_vec();
        let milliseconds = u32::try_from(self.trace.interval.0 / 1_000)?;
        let packet = AudioPacket::new(header, number, RATE, 1, milliseconds);
        self.peer.insert_packet(packet).map_err(|error| anyhow!("neteq: {error}"))
    }

    fn pull_audio(&mut self, began: Instant) -> Result<()> {
        let frame = self.peer.get_audio().map_err(|error| anyhow!("neteq: {error}"))?;
        self.pieces += 1;
        self.expanded += u64::from(frame.speech_type == neteq::neteq::SpeechType::Expand);
        let now = Time(u64::try_from(began.elapsed().as_micros())?);
        for number in self.decoded.try_iter() {
            if let Some(played) = usize::try_from(number).ok().and_then(|index| self.played.get_mut(index)) {
                played.get_or_insert(now);
            }
        }
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "pieces of one call")]
    fn into_playback(self) -> Playback {
        Playback {
            played: self.played,
            expanded_percent: 100.0 * self.expanded as f64 / self.pieces.max(1) as f64,
            clock_late_ms: self.clock_late.as_secs_f64() * 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::Micros;

    /// Four seconds without loss: what is played is played in order, and not before it came. The peer aims at 2 s from the
    /// first packet on, so nothing of a shorter call would be played.
    #[test]
    fn what_comes_is_played_and_not_before() {
        let lines: String = (0..200)
            .map(|number| format!("{number},{},{}\n", number * 20_000, number * 20_000 + 30_000))
            .collect();
        let trace = Trace::from_csv(&lines, Micros::from_millis(20)).unwrap();
        let playback = listen(&trace).unwrap();
        let played = playback.played.iter().flatten().count();
        assert!(played > 0, "{playback:?}");
        for (packet, at) in trace.packets.iter().zip(&playback.played) {
            if let Some(at) = at {
                assert!(Some(*at) >= packet.arrived, "{packet:?} at {at:?}");
            }
        }
        assert!(playback.played.iter().flatten().is_sorted());
    }
}
