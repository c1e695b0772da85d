//! Finds streams of RTP among datagrams, without being told where they are.
//!
//! In: datagrams in the order of the file. Out: streams, and the header of every packet of theirs, in the same order.
//!
//! A stream is one SSRC from one socket to another. Nothing says "RTP" in a datagram, so a flow is only believed after
//! several headers that fit each other: the same SSRC, the sequence going up by ones, the timestamp not going back.
//! Headers that came before that are handed out then; none is lost. Protocols that are not RTP do not keep twelve bytes so
//! in step; a test has a list of them.
//!
//! Two interfaces of a capture may see one stream. If each sees packets that the other does not, because its path was
//! changed or it takes several at once, they are one stream here too. If both see the same packets, as on the two sides of
//! a router, they are two: each is a measurement of its own, and none makes up for what is missing in the other.

mod candidate;
mod numbers;
mod round_trip;
mod stream;
mod unread;

pub use round_trip::RoundTrip;
pub use stream::{Other, StreamInfo, StreamPacket};

use crate::link::Datagram;
use crate::rtcp::{Rtcp, is_rtcp};
use crate::rtp::RtpHeader;
use crate::sdp::Agreements;
use candidate::{Candidate, Candidates, Verdict};
use numbers::Numbers;
use round_trip::Echoes;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use unread::Unread;

/// Packets of a new interface that a stream must lack before they are part of it: one may have overtaken its copy.
const LACKING_MIN: usize = 2;

/// How much a [`Finder`] remembers at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Streams; further ones are counted only.
    pub streams_max: usize,
    /// Flows that may become streams; the oldest are forgotten.
    pub candidates_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { streams_max: 10_000, candidates_max: 20_000 }
    }
}

/// What makes a stream one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The source within RTP. First, so that most comparisons end with it.
    pub ssrc: u32,
    pub from: SocketAddr,
    pub to: SocketAddr,
    /// Which interface saw it.
    pub interface: u32,
}

/// What was counted besides streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams that came.
    pub datagrams: u64,
    /// RTCP in the clear.
    pub rtcp: u64,
    /// Datagrams beside a stream that look like RTCP and cannot be read: only its ends can, or they are damaged.
    pub rtcp_ciphered: u64,
    /// Datagrams that might have been RTP but belonged to no stream.
    pub unlike: u64,
    /// Packets of streams that were one too many.
    pub too_many: u64,
    /// Packets without a time, which cannot be judged.
    pub untimed: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    limits: Limits,
    streams: Vec<StreamInfo>,
    /// Indices of streams that were retired.
    free: Vec<usize>,
    /// What has come of each stream.
    numbers: Vec<Numbers>,
    by_flow: BTreeMap<Flow, usize>,
    candidates: Candidates,
    agreements: Agreements,
    echoes: Echoes,
    unread: Unread,
    packets: VecDeque<(usize, StreamPacket)>,
    counts: Counts,
}

impl Finder {
    /// A finder that has seen nothing.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes a UDP datagram.
    pub fn handle_datagram(&mut self, datagram: &Datagram<'_>) {
        self.counts.datagrams += 1;
        if is_rtcp(datagram.payload) {
            self.rtcp(datagram);
        } else if let Some(header) = RtpHeader::parse(datagram.payload, datagram.missing) {
            self.rtp(datagram, &header);
        } else {
            self.agreements.read_payload(datagram.payload);
        }
    }

    /// Takes a segment of TCP, in which there may be SIP.
    pub fn handle_segment(&mut self, segment: &Datagram<'_>) {
        self.agreements.read_payload(segment.payload);
    }

    /// The next packet of a stream, and the stream's index in [`Finder::streams`].
    pub fn poll_packet(&mut self) -> Option<(usize, StreamPacket)> {
        self.packets.pop_front()
    }

    /// The streams so far; one keeps its index, until it is retired.
    pub fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    /// Forgets a stream that is over. Its index is that of another one later; until then it has no packets there.
    pub fn retire(&mut self, index: usize) {
        let Some(stream) = self.streams.get_mut(index) else { return };
        if stream.packets > 0 {
            *stream = StreamInfo::new(stream.flow);
            self.by_flow.retain(|_, known| *known != index);
            self.free.push(index);
        }
    }

    /// What was counted besides.
    pub fn counts(&self) -> Counts {
        let flows = self.streams.iter().map(|stream| &stream.flow);
        Counts { rtcp_ciphered: self.unread.beside(flows), ..self.counts }
    }

    /// What calls agreed on in SIP messages.
    pub fn agreements(&self) -> &Agreements {
        &self.agreements
    }

    /// The stream in the opposite direction, of the same call: between the same sockets, or else the only one
    /// between the same two computers at that time.
    pub fn opposite(&self, index: usize) -> Option<usize> {
        let own = &self.streams.get(index)?;
        let others = || {
            let back = |(other, info): &(usize, &StreamInfo)| *other != index && info.overlaps(own);
            self.streams.iter().enumerate().filter(back)
        };
        let sockets =
            others().filter(|(_, other)| other.flow.from == own.flow.to && other.flow.to == own.flow.from);
        let same_sockets =
            sockets.max_by_key(|(_, other)| (other.flow.interface == own.flow.interface, other.packets));
        if let Some((found, _)) = same_sockets {
            return Some(found);
        }
        let mut computers = others().filter(|(_, other)| {
            let back = (other.flow.from.ip(), other.flow.to.ip());
            back == (own.flow.to.ip(), own.flow.from.ip())
        });
        let only = computers.next()?.0;
        computers.next().is_none().then_some(only)
    }

    /// The other streams that are the same one as another interface saw it at that time.
    pub fn copies(&self, index: usize) -> Vec<usize> {
        let Some(own) = self.streams.get(index) else { return Vec::new() };
        let other = |copy: &usize| *copy != index && self.streams[*copy].overlaps(own);
        let mut copies: Vec<usize> = self.on_all_interfaces(own.flow).filter(other).collect();
        copies.sort_unstable();
        copies.dedup();
        copies
    }

    /// The time from the place of the capture to a stream's receiver and back, as RTCP tells it.
    pub fn round_trip_beyond(&self, index: usize) -> Option<RoundTrip> {
        self.streams.get(index)?.beyond
    }

    /// The time from one end to the other and back: both halves, if RTCP tells both.
    pub fn round_trip(&self, index: usize) -> Option<RoundTrip> {
        let beyond = self.round_trip_beyond(index)?;
        let before = self.round_trip_beyond(self.opposite(index)?)?;
        Some(beyond.and(before))
    }

    fn rtp(&mut self, datagram: &Datagram<'_>, header: &RtpHeader) {
        let Some(at) = datagram.at else {
            self.counts.untimed += 1;
            return;
        };
        let Datagram { interface, from, to, .. } = *datagram;
        let flow = Flow { ssrc: header.fields.ssrc, from, to, interface };
        let packet = StreamPacket::new(at, header, datagram.payload, datagram.missing);
        if let Some(&index) = self.by_flow.get(&flow) {
            self.hand_out(index, packet);
            return;
        }
        let agreed = self.agreements.media(from, to).is_some();
        match self.candidates.judge(flow, packet, agreed, self.limits.candidates_max) {
            Verdict::Open => {
                self.counts.unlike += 1;
                self.join(flow);
            }
            Verdict::Stream(candidate) => self.confirm(flow, &candidate),
        }
    }

    fn confirm(&mut self, flow: Flow, candidate: &Candidate) {
        let packets = candidate.packets();
        self.counts.unlike -= packets.len() as u64 - 1;
        let found = self.moved(flow, packets).or_else(|| self.lacking(flow, packets));
        let Some(index) = found.or_else(|| self.open(flow)) else {
            self.counts.too_many += packets.len() as u64;
            return;
        };
        self.by_flow.insert(flow, index);
        let mut together = packets.to_vec();
        let mut numbers = self.numbers[index].clone();
        together.iter().for_each(|packet| numbers.add(packet.sequence));
        // What waits on other interfaces is the stream's too, if it is what is lacking.
        for other in self.candidates.with_sockets_of(flow) {
            let Some(waiting) = self.candidates.take_lacking(other, &numbers, LACKING_MIN) else { continue };
            self.counts.unlike -= waiting.packets().len() as u64;
            self.by_flow.insert(other, index);
            self.streams[index].interfaces.insert(other.interface);
            waiting.packets().iter().for_each(|packet| numbers.add(packet.sequence));
            together.extend(waiting.packets());
        }
        together.sort_by_key(|packet| packet.at);
        self.streams[index].interfaces.insert(flow.interface);
        for packet in together {
            self.hand_out(index, packet);
        }
    }

    /// Gives a flow to the stream that lacks just its packets, if there is one on another interface.
    fn join(&mut self, flow: Flow) {
        let known: Vec<usize> = self.on_all_interfaces(flow).collect();
        let found = known.into_iter().find_map(|index| {
            let candidate = self.candidates.take_lacking(flow, &self.numbers[index], LACKING_MIN)?;
            Some((index, candidate))
        });
        let Some((index, candidate)) = found else { return };
        self.counts.unlike -= candidate.packets().len() as u64;
        self.by_flow.insert(flow, index);
        self.streams[index].interfaces.insert(flow.interface);
        for packet in candidate.packets() {
            self.hand_out(index, *packet);
        }
    }

    fn open(&mut self, flow: Flow) -> Option<usize> {
        if let Some(index) = self.free.pop() {
            (self.streams[index], self.numbers[index]) = (StreamInfo::new(flow), Numbers::default());
            return Some(index);
        }
        if self.streams.len() >= self.limits.streams_max {
            return None;
        }
        self.streams.push(StreamInfo::new(flow));
        self.numbers.push(Numbers::default());
        Some(self.streams.len() - 1)
    }

    /// The streams of one source between two sockets, on each interface; one may come more than once.
    fn on_all_interfaces(&self, flow: Flow) -> impl Iterator<Item = usize> {
        let ends = (Flow { interface: 0, ..flow }, Flow { interface: u32::MAX, ..flow });
        self.by_flow.range(ends.0..=ends.1).map(|(_, index)| *index)
    }

    /// The stream of the same sockets on another interface, if it fell silent before this one began: then its path
    /// moved (a radio was changed), and what was lost meanwhile counts.
    fn moved(&self, flow: Flow, packets: &[StreamPacket]) -> Option<usize> {
        let first = packets.first()?.at;
        let mut ended = self.on_all_interfaces(flow).filter(|index| self.streams[*index].last < first);
        let latest = ended.next()?;
        Some(ended.fold(latest, |a, b| if self.streams[b].last > self.streams[a].last { b } else { a }))
    }

    /// The stream of the same sockets on another interface that has none of these packets, and could have them.
    fn lacking(&self, flow: Flow, packets: &[StreamPacket]) -> Option<usize> {
        let lacks = |index: &usize| packets.iter().all(|packet| self.numbers[*index].lack(packet.sequence));
        self.on_all_interfaces(flow).find(lacks)
    }

    fn hand_out(&mut self, index: usize, packet: StreamPacket) {
        self.streams[index].count(&packet, &self.agreements);
        self.numbers[index].add(packet.sequence);
        self.packets.push_back((index, packet));
    }

    fn rtcp(&mut self, datagram: &Datagram<'_>) {
        let Some(rtcp) = Rtcp::parse(datagram.payload) else {
            self.unread.add(datagram.from, datagram.to, self.limits.candidates_max);
            return;
        };
        self.counts.rtcp += 1;
        let Some(at) = datagram.at else { return };
        let (from, to) = (datagram.from.ip(), datagram.to.ip());
        for report in &rtcp.senders {
            self.echoes.sent(report, datagram.interface, at);
        }
        for reception in &rtcp.receptions {
            let round_trip = self.echoes.returned(reception, datagram.interface, at);
            for index in self.streams_of(reception.ssrc) {
                let stream = &mut self.streams[index];
                // The receiver of the stream says it.
                if stream.interfaces.contains(&datagram.interface)
                    && stream.flow.to.ip() == from
                    && stream.flow.from.ip() == to
                {
                    stream.reported(reception, round_trip);
                }
            }
        }
        for voice in &rtcp.voice {
            for index in self.streams_of(voice.ssrc) {
                if self.streams[index].flow.to.ip() == from {
                    self.streams[index].voice = Some(*voice);
                }
            }
        }
    }

    /// The streams of a source; there is more than one where it was seen in several places.
    fn streams_of(&self, ssrc: u32) -> Vec<usize> {
        let any = SocketAddr::new(std::net::Ipv4Addr::UNSPECIFIED.into(), 0);
        let start = Flow { ssrc, from: any, to: any, interface: 0 };
        let same = self.by_flow.range(start..).take_while(|(flow, _)| flow.ssrc == ssrc).take(16);
        let mut found: Vec<usize> = same.map(|(_, index)| *index).collect();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests;
