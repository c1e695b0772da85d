//! One stream on its way through the analyser, in parts: a new one where the codec changes.

use super::SurveyConfig;
use super::clock::Seeming;
use super::codec::{Sound, nearest_clock_rate, sound};
use super::report::{Part, RowLine};
use crate::finder::{StreamInfo, StreamPacket};
use crate::loudness::Sounding;
use crate::sdp::Mapping;
use crate::stamp::Stamp;
use guestright_quality::{Analyser, AnalyserConfig, BufferConfig, Interval, Packet, Row};
use guestright_units::Micros;

/// Packets of a type that must come in a row before it is the stream's new codec.
const CHANGE_MIN: usize = 25;
/// More parts are not made: whoever changes codecs so often is not heard anyway.
const PARTS_MAX: usize = 32;
/// Packets by which the clock rate is told where nothing says it.
const LEARN_MIN: usize = 50;

/// How many seconds may still be kept.
#[derive(Clone, Debug)]
pub(super) struct RowBudget {
    left: usize,
    /// Seconds that were not kept.
    pub(super) dropped: u64,
}

impl RowBudget {
    pub(super) fn new(max: usize) -> Self {
        Self { left: max, dropped: 0 }
    }

    fn try_acquire(&mut self) -> bool {
        let some = self.left > 0;
        self.left -= usize::from(some);
        self.dropped += u64::from(!some);
        some
    }
}

/// A packet of the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) packet: StreamPacket,
    /// When it left, if another capture tells.
    pub(super) sent: Option<Stamp>,
    /// Whether whoever captured dropped packets since the one before.
    pub(super) unseen: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    parts: Vec<OpenPart>,
    /// Packets that wait until it is clear what they are.
    waiting: Vec<Arrival>,
    pub(super) seeming: Seeming,
    /// Packets that the other capture did not have.
    pub(super) unmatched: u64,
    /// When its first and its last packet were captured.
    span: Option<(Stamp, Stamp)>,
    pub(super) sounding: Sounding,
}

#[derive(Clone, Debug)]
struct OpenPart {
    payload_type: u8,
    start: Stamp,
    sound: Sound,
    clock_rate: Option<u32>,
    clock_rate_guessed: bool,
    analyser: Analyser,
    /// Arrival and timestamp of the last packet with speech.
    last: Option<(Stamp, u32)>,
    highest: Option<u16>,
    /// Packets missing between the part before and this one.
    missing_before: u16,
    rows: Vec<RowLine>,
}

impl Track {
    /// When its last packet was captured.
    pub(super) fn last(&self) -> Option<Stamp> {
        self.span.map(|span| span.1)
    }

    pub(super) fn handle(
        &mut self,
        arrival: Arrival,
        info: &StreamInfo,
        config: &SurveyConfig,
        rows: &mut RowBudget,
    ) {
        let packet = &arrival.packet;
        self.listen(packet, info);
        match arrival.sent {
            Some(sent) => self.seeming.add(millis(packet.at.nanos_since(sent))),
            None => self.unmatched += 1,
        }
        match self.parts.last_mut() {
            None => {
                self.waiting.push(arrival);
                if self.ready(info, config) {
                    self.open(info, config, rows);
                }
            }
            Some(part) if part.payload_type == packet.payload_type || !changes(packet, info, config) => {
                // What waited were only a few packets of another type.
                for earlier in self.waiting.drain(..) {
                    part.handle(&earlier, info, config);
                }
                part.handle(&arrival, info, config);
                part.collect(rows);
            }
            Some(part) => {
                let other = self
                    .waiting
                    .first()
                    .is_some_and(|first| first.packet.payload_type != packet.payload_type);
                if other {
                    for earlier in self.waiting.drain(..) {
                        part.handle(&earlier, info, config);
                    }
                }
                self.waiting.push(arrival);
                if self.waiting.len() >= CHANGE_MIN && self.parts.len() < PARTS_MAX {
                    self.open(info, config, rows);
                }
                if self.waiting.len() >= LEARN_MIN {
                    self.flush(info, config, rows);
                }
            }
        }
    }

    /// How loud it is.
    fn listen(&mut self, packet: &StreamPacket, info: &StreamInfo) {
        let (first, last) = *self.span.get_or_insert((packet.at, packet.at));
        self.span = Some((first.min(packet.at), last.max(packet.at)));
        let named = |mapping: &Mapping| mapping.name.eq_ignore_ascii_case("cn");
        let name = info.names.get(&packet.payload_type);
        let is_noise = name.map_or(packet.payload_type == 13, named);
        // What is ciphered has a level that says nothing.
        let level = packet.level_dbov.filter(|_| info.protected != Some(true));
        if is_noise || level.is_some() {
            self.sounding.add(packet.at.since(first).as_seconds(), level, is_noise);
        }
    }

    /// The stream is over.
    pub(super) fn finish(
        mut self,
        info: &StreamInfo,
        config: &SurveyConfig,
        rows: &mut RowBudget,
    ) -> (Vec<Part>, Seeming, u64) {
        if self.parts.is_empty() && !self.waiting.is_empty() {
            self.open(info, config, rows);
        }
        self.flush(info, config, rows);
        let parts = self.parts.into_iter().map(|part| part.finish(info, config, rows)).collect();
        (parts, self.seeming, self.unmatched)
    }

    /// Whether the first packets tell enough: the clock rate is known, or will not become clearer.
    fn ready(&self, info: &StreamInfo, config: &SurveyConfig) -> bool {
        let main = main_type(&self.waiting, info, config);
        let known = |payload_type| match sound(info, payload_type, config.codec) {
            Sound::Speech { clock_rate, .. } => clock_rate.is_some(),
            Sound::NoVoice { .. } => info.mapping(payload_type).is_some(),
            // Tones and noise come before the speech whose clock they share.
            Sound::ComfortNoise | Sound::Tones => false,
        };
        self.waiting.len() >= LEARN_MIN || main.is_some_and(known)
    }

    /// Makes a part of what waits.
    fn open(&mut self, info: &StreamInfo, config: &SurveyConfig, rows: &mut RowBudget) {
        let Some(first) = self.waiting.first().map(|packed| packed.packet) else { return };
        let payload_type = main_type(&self.waiting, info, config).unwrap_or(first.payload_type);
        let highest = self.parts.last().and_then(|part| part.highest);
        // The first to come may have overtaken others.
        let behind = |highest: u16| {
            let steps = self.waiting.iter().map(|packed| packed.packet.sequence.wrapping_sub(highest));
            steps.filter(|steps| (1..1 << 15).contains(steps)).min()
        };
        let mut part = OpenPart::new(payload_type, first.at, &self.waiting, info, config);
        part.missing_before = highest.and_then(behind).map_or(0, |steps| steps - 1);
        for earlier in self.waiting.drain(..) {
            part.handle(&earlier, info, config);
        }
        part.collect(rows);
        self.parts.push(part);
    }

    /// Gives what waits to the part that is open.
    fn flush(&mut self, info: &StreamInfo, config: &SurveyConfig, rows: &mut RowBudget) {
        if let Some(part) = self.parts.last_mut() {
            for earlier in self.waiting.drain(..) {
                part.handle(&earlier, info, config);
            }
            part.collect(rows);
        }
    }
}

/// Whether a packet is of a type that could be a new codec.
fn changes(packet: &StreamPacket, info: &StreamInfo, config: &SurveyConfig) -> bool {
    matches!(sound(info, packet.payload_type, config.codec), Sound::Speech { .. } | Sound::NoVoice { .. })
}

/// The type of most packets, of those that could be a codec.
fn main_type(packets: &[Arrival], info: &StreamInfo, config: &SurveyConfig) -> Option<u8> {
    let mut counts = [0_u32; 128];
    for Arrival { packet, .. } in packets {
        if changes(packet, info, config) {
            counts[usize::from(packet.payload_type & 0x7f)] += 1;
        }
    }
    let best = (0_u8..128).max_by_key(|number| counts[usize::from(*number)])?;
    (counts[usize::from(best)] > 0).then_some(best)
}

impl OpenPart {
    fn new(
        payload_type: u8,
        start: Stamp,
        packets: &[Arrival],
        info: &StreamInfo,
        config: &SurveyConfig,
    ) -> Self {
        let sound = sound(info, payload_type, config.codec);
        let mut own = packets
            .iter()
            .filter(|packed| packed.packet.payload_type == payload_type)
            .map(|packed| packed.packet);
        let mut guess = || {
            let (first, last) = (own.next()?, own.next_back()?);
            let nanos = last.at.0.checked_sub(first.at.0).filter(|nanos| *nanos > 200_000_000)?;
            nearest_clock_rate(last.timestamp.wrapping_sub(first.timestamp), nanos)
        };
        let (codec, stated) = match &sound {
            Sound::Speech { codec, clock_rate, .. } => (*codec, *clock_rate),
            Sound::ComfortNoise | Sound::NoVoice { .. } => {
                (None, info.mapping(payload_type).map(|mapping| mapping.clock_rate))
            }
            // The timestamp of a tone stands still: nothing is told by it.
            Sound::Tones => (None, None),
        };
        // What the packets show counts more than what a codec's name would mean.
        let guessed = if stated.is_none() && sound != Sound::Tones { guess() } else { None };
        let clock_rate = stated.or(guessed).or_else(|| codec.map(|codec| codec.facts().clock_rate_hz));
        let analyser = Analyser::new(AnalyserConfig {
            codec,
            packet: info.ptime_ms.map(|ms| Micros::from_millis(u64::from(ms))),
            buffer: BufferConfig { follows: config.follow_drift, ..config.buffer },
            delay_ms: config.delay_ms,
            ..AnalyserConfig::unknown(clock_rate.unwrap_or(8_000))
        });
        Self {
            payload_type,
            start,
            sound,
            clock_rate,
            clock_rate_guessed: guessed.is_some(),
            analyser,
            last: None,
            highest: None,
            missing_before: 0,
            rows: Vec::new(),
        }
    }

    fn handle(&mut self, arrival: &Arrival, info: &StreamInfo, config: &SurveyConfig) {
        let Arrival { packet, sent, unseen } = arrival;
        if *unseen {
            self.analyser.expect_unseen();
        }
        let same_clock = packet.payload_type == self.payload_type
            || sound(info, packet.payload_type, config.codec) == Sound::ComfortNoise;
        let clock_rate = u64::from(self.clock_rate.unwrap_or(8_000));
        let timestamp = match self.last {
            // Tones keep the timestamp of their beginning, and other codecs have a clock of their own: such a packet
            // counts by its number, and as one that came when it should.
            Some((at, timestamp)) if !same_clock => {
                let ticks = packet.at.since(at).0.saturating_mul(clock_rate) / 1_000_000;
                timestamp.wrapping_add(u32::try_from(ticks & 0xffff_ffff).unwrap_or(0))
            }
            Some(_) | None => packet.timestamp,
        };
        if same_clock {
            self.last = Some((packet.at, packet.timestamp));
        }
        let ahead = self.highest.is_none_or(|highest| packet.sequence.wrapping_sub(highest) < 1 << 15);
        if ahead {
            self.highest = Some(packet.sequence);
        }
        self.analyser.handle_packet(&Packet {
            sequence: packet.sequence,
            timestamp,
            marker: packet.marker && same_clock,
            payload_bytes: packet.payload as usize,
            arrival: packet.at.time(),
            delay_ms: sent.map(|sent| Interval::exact(millis(packet.at.nanos_since(sent)))),
        });
    }

    fn collect(&mut self, rows: &mut RowBudget) {
        while let Some(row) = self.analyser.poll_row() {
            if rows.try_acquire() {
                self.rows.push(line(&row));
            }
        }
    }

    fn finish(mut self, info: &StreamInfo, config: &SurveyConfig, rows: &mut RowBudget) -> Part {
        self.analyser.finish();
        self.collect(rows);
        // A name that SIP messages told only later.
        let later = sound(info, self.payload_type, config.codec);
        let same_clock = matches!(&later, Sound::Speech { clock_rate, .. } if *clock_rate == self.clock_rate);
        if matches!(&self.sound, Sound::Speech { codec: None, .. }) && same_clock {
            self.sound = later;
        }
        let mut judge = self.analyser.judge();
        if let Sound::Speech { codec, .. } = &self.sound {
            judge.codec = *codec;
        }
        Part {
            payload_type: self.payload_type,
            start: self.start,
            clock_rate: self.clock_rate,
            clock_rate_guessed: self.clock_rate_guessed,
            missing_before: u64::from(self.missing_before),
            buffer_restarts: self.analyser.buffer_moves(),
            sound: self.sound,
            summary: self.analyser.summary(),
            judge,
            rows: self.rows,
        }
    }
}

fn line(row: &Row) -> RowLine {
    RowLine {
        start_s: row.start_s,
        length_s: row.length_s,
        received: row.received,
        late: row.late,
        overflow: row.overflow,
        expected: row.network.expected,
        lost: row.network.lost,
        unplayed: row.playout.lost,
        burst_ratio: row.playout.burst_ratio,
        jitter_ms: row.jitter.rfc3550_ms,
        delay_ms: row.delay_ms,
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a delay, to a fraction of a microsecond")]
fn millis(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}
