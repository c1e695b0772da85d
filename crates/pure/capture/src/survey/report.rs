//! What a survey found.

use super::clock::{Clocks, clocks, true_delay};
use super::codec::Sound;
use super::{Seeming, Survey, Watched};
use crate::finder::{Counts, RoundTrip, StreamInfo};
use crate::loudness::Sounding;
use crate::reader::Reader;
use crate::stamp::Stamp;
use guestright_quality::{
    DelaySummary, Interval, Judge, Judgement, LabelledBuffer, LabelledLoss, Measured, Stretch, Summary,
};
use guestright_units::Micros;

/// What was counted in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    pub packets: u64,
    /// The first time in it.
    pub first: Option<Stamp>,
    /// The last time in it.
    pub last: Option<Stamp>,
    /// Datagrams of which the first fragment was taken for the whole: IP fragments are not put together.
    pub first_fragments: u64,
    /// The other IP fragments.
    pub fragments: u64,
    /// Frames of the air that only their receiver can read.
    pub ciphered: u64,
    pub other: u64,
    /// Packets that were cut or damaged before their ports.
    pub damaged: u64,
    /// Packets that whoever captured had no room for. Only a live survey knows.
    pub own_drops: u64,
    /// Packets of a link type that is not read.
    pub unknown_link: u64,
    /// The last such link type.
    pub unknown_link_type: Option<u16>,
}

/// What was found in a file.
#[derive(Clone, Debug)]
pub struct Report {
    /// The streams, in the order of their first packets.
    pub streams: Vec<StreamReport>,
    pub counts: FileCounts,
    /// What was counted during the search for streams.
    pub search: Counts,
    pub sip_messages: u64,
    /// Seconds that were not kept, because there were too many.
    pub rows_dropped: u64,
    /// What is known of the clocks, if there was a second capture and streams in both.
    pub clocks: Option<Clocks>,
}

#[derive(Clone, Debug)]
pub struct StreamReport {
    /// What is known besides.
    pub info: StreamInfo,
    /// The name of its interface, if the file says it. If packets of several are counted, of the first.
    pub interface: Option<String>,
    /// The interfaces whose packets are counted, if they are several: their names, or their numbers.
    pub merged: Vec<String>,
    /// The streams that are the same one as other interfaces saw it. Each is judged by itself.
    pub copies: Vec<usize>,
    /// The stream in the opposite direction.
    pub opposite: Option<usize>,
    /// The round trip between both ends, if RTCP tells it.
    pub round_trip: Option<RoundTrip>,
    /// Where its delay comes from.
    pub delay: DelaySource,
    /// The stretches with one codec.
    pub parts: Vec<Part>,
    /// How loud it is, as far as that can be known.
    pub sounding: Sounding,
    /// Whether both ends were there.
    pub direction: Direction,
}

/// Whether a stream had another one in return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Both send.
    Both,
    /// Nothing came back while it lasted, at least where this was captured.
    OneWay,
    /// What came back was silence.
    SilentReturn,
    /// It was too short to tell.
    TooShort,
}

/// A stream that lasted less has not been answered yet.
const ONE_WAY_MIN: Micros = Micros(3_000_000);

/// Where a delay comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DelaySource {
    /// Nobody tells it.
    Unknown,
    /// Somebody's word.
    Stated(Interval),
    /// From nothing to the round trip that RTCP tells.
    RoundTrip(Interval),
    /// Two captures, packet by packet.
    Captures {
        /// Packets that were in both.
        matched: u64,
        /// Packets that were only here.
        unmatched: u64,
    },
    /// Two captures, but this one is at the sender.
    SentHere,
    /// Two captures, and nothing tells how their clocks go.
    NoClocks,
}

/// A stretch of a stream with one codec.
#[derive(Clone, Debug)]
pub struct Part {
    pub payload_type: u8,
    /// Its first packet.
    pub start: Stamp,
    pub sound: Sound,
    /// Ticks of its timestamps in a second; `None`: not known, so that there is no jitter and no loss in the buffer.
    pub clock_rate: Option<u32>,
    /// Whether that was told by the arrivals alone.
    pub clock_rate_guessed: bool,
    /// Packets missing between the part before and this one.
    pub missing_before: u64,
    /// How often the buffer was begun anew because the least delay had moved.
    pub buffer_restarts: u64,
    /// What was measured; its own judgement does not know of round trips and clocks: see [`StreamReport::judgement`].
    pub summary: Summary,
    /// The settings of the rating.
    pub judge: Judge,
    /// Second by second.
    pub rows: Vec<RowLine>,
}

/// One second of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowLine {
    /// Its start, in seconds since the part's first packet.
    pub start_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that came too late for the buffer.
    pub late: u64,
    /// Packets that came when the buffer was full.
    pub overflow: u64,
    /// Packets that were due.
    pub expected: u64,
    /// Of those, how many are missing.
    pub lost: u64,
    /// Of those due, how many were not heard: missing, or discarded by the buffer.
    pub unplayed: u64,
    /// The burst ratio of those.
    pub burst_ratio: Option<f64>,
    /// Jitter at its end, RFC 3550, in ms.
    pub jitter_ms: Option<f64>,
    /// Mean one-way delay in ms, if two captures tell it.
    pub delay_ms: Option<Interval>,
}

impl StreamReport {
    /// The delay for the rating of a part where packets do not carry one, and whether it is somebody's word.
    fn assumed(&self) -> (Option<Interval>, bool) {
        match self.delay {
            DelaySource::Stated(delay) => (Some(delay), true),
            DelaySource::RoundTrip(delay) => (Some(delay), false),
            DelaySource::Unknown
            | DelaySource::Captures { .. }
            | DelaySource::SentHere
            | DelaySource::NoClocks => (None, false),
        }
    }

    /// What was measured over a part.
    pub fn measured(&self, part: &Part) -> Measured {
        let (assumed, stated) = self.assumed();
        let measured = part.summary.measured(assumed);
        let has_clock = part.clock_rate.is_some();
        Measured {
            dejitter_loss: if has_clock { measured.dejitter_loss } else { 0.0 },
            delay_assumed: stated && measured.delay_assumed,
            ..measured
        }
    }

    /// How good a part was.
    pub fn judgement(&self, part: &Part) -> Judgement {
        part.judge.judge(&self.measured(part))
    }

    /// How good a part was in its worst ten seconds, if anything was expected in it.
    pub fn worst_stretch(&self, part: &Part) -> Option<(Stretch, Judgement)> {
        let stretch = part.summary.worst_stretch?;
        let (assumed, stated) = self.assumed();
        let measured = stretch.measured(assumed);
        let has_clock = part.clock_rate.is_some();
        let judgement = part.judge.judge(&Measured {
            dejitter_loss: if has_clock { measured.dejitter_loss } else { 0.0 },
            delay_assumed: stated && measured.delay_assumed,
            ..measured
        });
        Some((stretch, judgement))
    }

    /// How good a part was behind each of three usual buffers. Nothing without a clock rate.
    pub fn labelled(&self, part: &Part) -> Vec<(LabelledBuffer, LabelledLoss, Judgement)> {
        if part.clock_rate.is_none() {
            return Vec::new();
        }
        let (network, measured) = (&part.summary.network, self.measured(part));
        let each = part.summary.labelled.iter();
        each.map(|loss| (loss.buffer, *loss, loss.judgement(&part.judge, network, &measured))).collect()
    }

    /// How good one second was.
    pub fn row_judgement(&self, part: &Part, row: &RowLine) -> Judgement {
        let (assumed, stated) = self.assumed();
        let share = |some: u64, of: u64| {
            #[expect(clippy::cast_precision_loss, reason = "packets of a second")]
            let share = some as f64 / of as f64;
            (of > 0).then_some(share)
        };
        let discarded =
            share(row.unplayed - row.lost.min(row.unplayed), row.expected - row.lost.min(row.expected));
        part.judge.judge(&Measured {
            network_loss: share(row.lost, row.expected),
            dejitter_loss: if part.clock_rate.is_some() { discarded.unwrap_or(0.0) } else { 0.0 },
            burst_ratio: row.burst_ratio,
            network_delay_ms: row.delay_ms.or(assumed),
            delay_assumed: stated && row.delay_ms.is_none(),
        })
    }
}

pub(super) fn finish(survey: Survey) -> Report {
    let Survey { reader, mut watched } = survey;
    // Streams that were taken out leave a gap in the numbers.
    let alive: Vec<usize> =
        (0..watched.tracks.len()).filter(|index| watched.finder.streams()[*index].packets > 0).collect();
    let (mut streams, mut seemings) = (Vec::new(), Vec::new());
    for index in &alive {
        let (mut stream, seeming) = watched.close(*index, Some(&reader));
        let renumber = |old: usize| alive.binary_search(&old).ok();
        stream.opposite = stream.opposite.and_then(renumber);
        stream.copies = stream.copies.iter().copied().filter_map(renumber).collect();
        streams.push(stream);
        seemings.push(seeming);
    }
    let silent: Vec<bool> = streams.iter().map(|stream| stream.sounding.is_silence()).collect();
    for stream in &mut streams {
        stream.direction = stream.direction(stream.opposite.map(|opposite| silent[opposite]));
    }
    let clocks = correct(&mut streams, &seemings, watched.config.clock_error_ms);
    Report {
        streams,
        counts: watched.counts,
        search: watched.finder.counts(),
        sip_messages: watched.finder.agreements().messages(),
        rows_dropped: watched.rows.dropped,
        clocks,
    }
}

pub(super) fn retire(survey: &mut Survey, before: Stamp) -> Vec<StreamReport> {
    let watched = &mut survey.watched;
    let finder = &watched.finder;
    let over = |index: &usize| {
        let info = &finder.streams()[*index];
        info.packets > 0 && info.last < before
    };
    let is_over = |index: &usize| over(index) && finder.opposite(*index).is_none_or(|other| over(&other));
    let ended: Vec<usize> = (0..watched.tracks.len()).filter(is_over).collect();
    let mut streams: Vec<StreamReport> = Vec::new();
    for index in &ended {
        streams.push(watched.close(*index, None).0);
    }
    let silent = |index: usize| {
        let number = ended.binary_search(&index).ok()?;
        Some(streams[number].sounding.is_silence())
    };
    let directions: Vec<Direction> =
        streams.iter().map(|stream| stream.direction(stream.opposite.and_then(silent))).collect();
    for (stream, direction) in streams.iter_mut().zip(directions) {
        stream.direction = direction;
    }
    ended.iter().for_each(|index| watched.finder.retire(*index));
    streams
}

impl Watched {
    /// What is to be said of a stream. The direction is not known yet.
    fn close(&mut self, index: usize, reader: Option<&Reader>) -> (StreamReport, Seeming) {
        let Self { config, finder, tracks, departures, rows, .. } = self;
        let info = finder.streams()[index].clone();
        let track = std::mem::take(&mut tracks[index]);
        let sounding = track.sounding;
        let (parts, seeming, unmatched) = track.finish(&info, config, rows);
        let round_trip = finder.round_trip(index);
        let delay = match (config.delay_ms, round_trip) {
            _ if departures.is_some() && seeming.count > 0 => {
                DelaySource::Captures { matched: seeming.count, unmatched }
            }
            (Some(delay), _) => DelaySource::Stated(delay),
            (None, Some(trip)) => DelaySource::RoundTrip(Interval::new(0.0, trip.mean.as_seconds() * 1e3)),
            (None, None) => DelaySource::Unknown,
        };
        let named = |number: u32| reader.and_then(|reader| reader.interface_name(number)).map(str::to_owned);
        let interface = named(info.flow.interface).or_else(|| self.interface.clone());
        let name = |number: &u32| named(*number).unwrap_or_else(|| number.to_string());
        let merged =
            if info.interfaces.len() > 1 { info.interfaces.iter().map(name).collect() } else { Vec::new() };
        let (opposite, copies) = (finder.opposite(index), finder.copies(index));
        let direction = Direction::TooShort;
        let stream = StreamReport {
            info,
            interface,
            merged,
            copies,
            opposite,
            round_trip,
            delay,
            parts,
            sounding,
            direction,
        };
        (stream, seeming)
    }
}

impl StreamReport {
    /// `opposite`: whether the stream in the opposite direction is silent, if there is one.
    fn direction(&self, opposite: Option<bool>) -> Direction {
        match opposite {
            _ if self.info.last.since(self.info.first) < ONE_WAY_MIN => Direction::TooShort,
            None => Direction::OneWay,
            Some(true) => Direction::SilentReturn,
            Some(false) => Direction::Both,
        }
    }
}

/// Takes the clocks' offset out of delays between two captures.
fn correct(streams: &mut [StreamReport], seemings: &[Seeming], word_ms: Option<f64>) -> Option<Clocks> {
    if seemings.iter().all(|seeming| seeming.count == 0) {
        return None;
    }
    let mut pairs = Vec::new();
    let mut came = vec![None; streams.len()];
    for (index, stream) in streams.iter().enumerate() {
        let Some(back) = stream.opposite.filter(|back| *back > index) else { continue };
        let (one, other) = (seemings[index], seemings[back]);
        if one.count == 0 || other.count == 0 {
            continue;
        }
        // Whatever the offset is: what came here seems to take longer than what left here.
        let here = one.mean() >= other.mean();
        (came[index], came[back]) = (Some(here), Some(!here));
        pairs.push(if here { (one, other) } else { (other, one) });
    }
    let clocks = clocks(word_ms, &pairs);
    for (index, stream) in streams.iter_mut().enumerate() {
        if seemings[index].count == 0 {
            continue;
        }
        let Some(clocks) = &clocks else {
            stream.delay = DelaySource::NoClocks;
            stream.each_delay(|_| None);
            continue;
        };
        let left = came[index] == Some(false)
            || (came[index].is_none() && seemings[index].most < clocks.offset_ms.low);
        if left {
            stream.delay = DelaySource::SentHere;
            stream.each_delay(|_| None);
        } else {
            stream.each_delay(|seeming| Some(true_delay(seeming, clocks)));
        }
    }
    clocks
}

impl StreamReport {
    fn each_delay(&mut self, change: impl Fn(Interval) -> Option<Interval>) {
        for part in &mut self.parts {
            for row in &mut part.rows {
                row.delay_ms = row.delay_ms.and_then(&change);
            }
            part.summary.delay = part.summary.delay.take().and_then(|delay| {
                Some(DelaySummary {
                    count: delay.count,
                    mean_ms: change(delay.mean_ms)?,
                    least_ms: change(delay.least_ms)?,
                    median_ms: change(delay.median_ms)?,
                    p95_ms: change(delay.p95_ms)?,
                    p99_ms: change(delay.p99_ms)?,
                    largest_ms: change(delay.largest_ms)?,
                })
            });
            if let Some(stretch) = &mut part.summary.worst_stretch {
                stretch.delay_ms = stretch.delay_ms.and_then(&change);
            }
        }
    }
}
