//! What is known of a stream besides its packets.

use super::{Flow, RoundTrip};
use crate::loudness::level_dbov;
use crate::rtcp::{Reception, VoiceMetrics};
use crate::rtp::{RtpHeader, static_payload_type};
use crate::sdp::{Agreements, Mapping};
use crate::stamp::Stamp;
use guestright_units::Micros;
use guestright_wire::rtp::Header;
use std::collections::{BTreeMap, BTreeSet};

/// One packet of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamPacket {
    /// When it was captured.
    pub at: Stamp,
    /// What the payload is, 0 to 127.
    pub payload_type: u8,
    /// The first of a talkspurt.
    pub marker: bool,
    /// Its number, modulo 2^16.
    pub sequence: u16,
    /// Its time, in ticks of the codec's clock, modulo 2^32.
    pub timestamp: u32,
    /// Bytes behind the header, as they were on the wire; with a tag, if it is SRTP.
    pub payload: u32,
    /// How loud it is in dBov, if it is G.711 in the clear and was captured whole.
    pub level_dbov: Option<f64>,
}

impl StreamPacket {
    pub(super) fn new(at: Stamp, header: &RtpHeader, captured: &[u8], missing: usize) -> Self {
        let length = captured.len() + missing;
        let Header { payload_type, marker, sequence, timestamp, .. } = header.fields;
        let payload = u32::try_from(length.saturating_sub(header.length)).unwrap_or(u32::MAX);
        let whole = captured.get(header.length..).filter(|_| missing == 0);
        let level_dbov = whole.and_then(|speech| level_dbov(payload_type, speech));
        Self { at, payload_type, marker, sequence, timestamp, payload, level_dbov }
    }
}

/// What the other end of a stream says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// Packets it has lost since the beginning.
    pub lost: i32,
    /// The highest sequence number it has, with turns.
    pub highest: u32,
    /// Its jitter, in ticks of the codec's clock.
    pub jitter: u32,
    /// How many reports there were.
    pub reports: u64,
}

/// What is known of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInfo {
    /// What makes it one stream. If more than one interface saw parts of it, the one that saw it first.
    pub flow: Flow,
    /// The interfaces whose packets are counted.
    pub interfaces: BTreeSet<u32>,
    /// When its first packet was captured.
    pub first: Stamp,
    /// When its last packet was captured.
    pub last: Stamp,
    pub packets: u64,
    /// Bytes behind the headers of RTP.
    pub payload: u64,
    /// How many packets had each payload type.
    pub types: BTreeMap<u8, u64>,
    /// What dynamic types mean, as far as SIP messages said so.
    pub names: BTreeMap<u8, Mapping>,
    /// How much speech a packet holds, in ms, if SIP messages said so.
    pub ptime_ms: Option<u32>,
    /// Whether SIP messages said that it is SRTP; `None` if they said nothing.
    pub protected: Option<bool>,
    /// `audio`, `video`, as SIP messages said.
    pub kind: Option<String>,
    /// The last report of its receiver.
    pub other: Option<Other>,
    /// The last extended report of its receiver.
    pub voice: Option<VoiceMetrics>,
    /// The way from the place of the capture to its receiver and back.
    pub beyond: Option<RoundTrip>,
}

impl StreamInfo {
    pub(super) fn new(flow: Flow) -> Self {
        Self {
            flow,
            interfaces: BTreeSet::from([flow.interface]),
            first: Stamp(u64::MAX),
            last: Stamp(0),
            packets: 0,
            payload: 0,
            types: BTreeMap::new(),
            names: BTreeMap::new(),
            ptime_ms: None,
            protected: None,
            kind: None,
            other: None,
            voice: None,
            beyond: None,
        }
    }

    /// What a payload type of this stream means: what SIP messages said, or else RFC 3551.
    pub fn mapping(&self, payload_type: u8) -> Option<Mapping> {
        let fixed = || {
            let (name, clock_rate) = static_payload_type(payload_type)?;
            Some(Mapping { name: name.to_owned(), clock_rate })
        };
        self.names.get(&payload_type).cloned().or_else(fixed)
    }

    /// The payload type of most packets, other than comfort noise and keypad tones.
    pub fn main_type(&self) -> Option<u8> {
        let speech = |number: &u8| {
            let name = self.mapping(*number).map(|mapping| mapping.name.to_ascii_lowercase());
            !matches!(name.as_deref(), Some("cn" | "telephone-event"))
        };
        let best = self.types.iter().filter(|(number, _)| speech(number)).max_by_key(|(_, count)| **count);
        best.or_else(|| self.types.iter().max_by_key(|(_, count)| **count)).map(|(number, _)| *number)
    }

    /// Whether both ran at the same time.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    pub(super) fn count(&mut self, packet: &StreamPacket, agreements: &Agreements) {
        self.first = self.first.min(packet.at);
        self.last = self.last.max(packet.at);
        self.packets += 1;
        self.payload += u64::from(packet.payload);
        let count = self.types.entry(packet.payload_type).or_default();
        *count += 1;
        // What was agreed on may become known later than the first packet.
        if *count == 1 || self.packets.is_power_of_two() {
            self.learn(packet.payload_type, agreements);
        }
    }

    fn learn(&mut self, payload_type: u8, agreements: &Agreements) {
        let Flow { from, to, .. } = self.flow;
        if let Some(mapping) = agreements.mapping(from, to, payload_type) {
            self.names.insert(payload_type, mapping.clone());
        }
        if let Some(media) = agreements.media(from, to) {
            self.ptime_ms = media.ptime_ms.or(self.ptime_ms);
            self.protected = Some(media.protected);
            self.kind = Some(media.kind.clone());
        }
    }

    pub(super) fn reported(&mut self, reception: &Reception, round_trip: Option<Micros>) {
        let reports = self.other.map_or(0, |other| other.reports) + 1;
        let Reception { lost, highest, jitter, .. } = *reception;
        self.other = Some(Other { lost, highest, jitter, reports });
        if let Some(span) = round_trip {
            self.beyond = Some(RoundTrip::with(self.beyond, span));
        }
    }
}
