//! From a file to the quality of every call in it.
//!
//! In: the bytes of a capture, in pieces. Out: a [`Report`]: each stream of RTP, what it lost, how it was jittered and
//! delayed, and how good it was, second by second.
//!
//! One capture tells when packets passed one place, so it tells no one-way delay. A delay comes from somebody's word,
//! from a second capture at the sender ([`Departures`]), or, as an interval from nothing to the round trip, from RTCP.
//! Where none of these is there, the rating for two who talk is left open and the one for who listens is an upper
//! bound.

mod clock;
mod codec;
mod departures;
mod drops;
mod report;
mod track;

pub use clock::Clocks;
pub use codec::{Sound, sound};
pub use departures::{Departures, DeparturesError};
pub use report::{DelaySource, Direction, FileCounts, Part, Report, RowLine, StreamReport};

use crate::error::CaptureError;
use crate::finder::{Finder, Limits};
use crate::link::{Decoded, decode};
use crate::reader::{Frame, LinkType, Reader};
use crate::stamp::Stamp;
use clock::Seeming;
use drops::Drops;
use guestright_quality::{BufferConfig, Codec, Interval};
use track::{Arrival, RowBudget, Track};

/// How to look at a file.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyConfig {
    /// How much the search for streams remembers.
    pub limits: Limits,
    /// The codec, if somebody says which: for all speech in the file.
    pub codec: Option<Codec>,
    /// The dejitter buffer whose losses are counted.
    pub buffer: BufferConfig,
    /// Whether the buffer is begun anew when the least delay has moved: clocks drift, paths change, and a receiver
    /// follows. Otherwise it is anchored once, as paper A's.
    pub follow_drift: bool,
    /// A one-way delay of the network in ms that somebody states.
    pub delay_ms: Option<Interval>,
    /// How well the clocks of both captures agree, in ms, if somebody says so.
    pub clock_error_ms: Option<f64>,
    /// Seconds that are kept, over all streams; later ones are counted only.
    pub rows_max: usize,
}

impl Default for SurveyConfig {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            codec: None,
            buffer: BufferConfig::PAPER_A,
            follow_drift: true,
            delay_ms: None,
            clock_error_ms: None,
            rows_max: 1_000_000,
        }
    }
}

/// See the module.
///
/// Files come as bytes: [`Survey::feed`], then [`Survey::end`]. What is captured now comes as frames:
/// [`Survey::handle_frame`], with [`Survey::handle_drops`] before what was received after the drops, and
/// [`Survey::retire`] from time to time, so that a watch of days remembers calls and not days.
#[derive(Clone, Debug)]
pub struct Survey {
    reader: Reader,
    watched: Watched,
}

/// Everything but the file.
#[derive(Clone, Debug)]
struct Watched {
    config: SurveyConfig,
    /// The name of the interface, if this is no file.
    interface: Option<String>,
    finder: Finder,
    tracks: Vec<Track>,
    departures: Option<Departures>,
    counts: FileCounts,
    rows: RowBudget,
    drops: Drops,
}

impl Survey {
    /// A survey of one capture, or with what was sent as another saw it.
    pub fn new(config: SurveyConfig, departures: Option<Departures>) -> Self {
        let watched = Watched {
            finder: Finder::new(config.limits),
            rows: RowBudget::new(config.rows_max),
            config,
            interface: None,
            tracks: Vec::new(),
            departures,
            counts: FileCounts::default(),
            drops: Drops::default(),
        };
        Self { reader: Reader::new(), watched }
    }

    /// A survey of what passes an interface now.
    pub fn live(config: SurveyConfig, interface: &str) -> Self {
        let mut survey = Self::new(config, None);
        survey.watched.interface = Some(interface.to_owned());
        survey
    }

    /// Takes the next bytes of the file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read any further; [`Survey::finish`] still tells what came before.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        self.reader.feed(bytes);
        self.read()
    }

    /// Says that the file is over.
    ///
    /// # Errors
    ///
    /// When it ends within a packet; [`Survey::finish`] still tells what came before.
    pub fn end(&mut self) -> Result<(), CaptureError> {
        self.reader.finish();
        self.read()
    }

    /// Takes a frame that was captured just now.
    pub fn handle_frame(&mut self, frame: &Frame<'_>) {
        self.watched.handle_frame(frame);
    }

    /// Whoever captures dropped so many packets between these times. What streams miss around then is nobody's loss: it is
    /// counted as unseen.
    pub fn handle_drops(&mut self, count: u64, from: Stamp, to: Stamp) {
        self.watched.counts.own_drops += count;
        self.watched.drops.add(from, to);
    }

    /// Takes out the streams that had no packet since `before`, nor had the one in the opposite direction.
    pub fn retire(&mut self, before: Stamp) -> Vec<StreamReport> {
        report::retire(self, before)
    }

    /// All that can be said so far, of the streams that were not taken out.
    pub fn report(&self) -> Report {
        report::finish(self.clone())
    }

    /// All that can be said.
    pub fn finish(self) -> Report {
        report::finish(self)
    }

    fn read(&mut self) -> Result<(), CaptureError> {
        while let Some(frame) = self.reader.next()? {
            self.watched.handle_frame(&frame);
        }
        Ok(())
    }
}

impl Watched {
    fn handle_frame(&mut self, frame: &Frame<'_>) {
        count(&mut self.counts, frame.at);
        match decode(frame) {
            Decoded::Udp(datagram) => self.finder.handle_datagram(&datagram),
            Decoded::FirstFragment(datagram) => {
                self.counts.first_fragments += 1;
                self.finder.handle_datagram(&datagram);
            }
            Decoded::Tcp(segment) => self.finder.handle_segment(&segment),
            Decoded::Fragment => self.counts.fragments += 1,
            Decoded::Ciphered => self.counts.ciphered += 1,
            Decoded::Other => self.counts.other += 1,
            Decoded::Damaged => self.counts.damaged += 1,
            Decoded::UnknownLink(LinkType(link)) => {
                self.counts.unknown_link += 1;
                self.counts.unknown_link_type = Some(link);
            }
        }
        while let Some((index, packet)) = self.finder.poll_packet() {
            if index == self.tracks.len() {
                self.tracks.push(Track::default());
            }
            let info = &self.finder.streams()[index];
            let sent = self.departures.as_ref().and_then(|table| table.find(info.flow.ssrc, &packet));
            let track = &mut self.tracks[index];
            let unseen = track.last().is_some_and(|last| self.drops.touch(last, packet.at));
            track.handle(Arrival { packet, sent, unseen }, info, &self.config, &mut self.rows);
        }
    }
}

fn count(counts: &mut FileCounts, at: Option<Stamp>) {
    counts.packets += 1;
    if let Some(at) = at {
        counts.first = Some(counts.first.map_or(at, |first| first.min(at)));
        counts.last = Some(counts.last.map_or(at, |last| last.max(at)));
    }
}

#[cfg(test)]
mod tests;
