//! When packets were sent, as a capture at their sender saw it.

use crate::error::CaptureError;
use crate::finder::{Finder, Limits, StreamPacket};
use crate::link::{Decoded, decode};
use crate::reader::Reader;
use crate::stamp::Stamp;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why departures cannot be told.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeparturesError {
    /// The file cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// There are too many packets to be remembered.
    #[error(
        "there are more than {max} packets of RTP in it; cut out the call with `editcap -A START -B STOP IN OUT`"
    )]
    TooMany {
        /// How many may be.
        max: usize,
    },
}

/// A packet that left: timestamp, sequence, time. Ordered so that it can be looked up.
type Departure = (u32, u16, Stamp);

/// Reads a capture and remembers when each packet of RTP passed.
#[derive(Clone, Debug)]
pub struct Departures {
    reader: Reader,
    finder: Finder,
    ssrc: Vec<u32>,
    by_ssrc: BTreeMap<u32, Vec<Departure>>,
    count: usize,
    max: usize,
}

impl Departures {
    /// As many packets as are remembered unless said otherwise: 28 hours of one stream at 50 packets a second.
    pub const PACKETS_MAX: usize = 5_000_000;

    /// Nothing is known yet.
    pub fn new(limits: Limits, packets_max: usize) -> Self {
        Self {
            reader: Reader::new(),
            finder: Finder::new(limits),
            ssrc: Vec::new(),
            by_ssrc: BTreeMap::new(),
            count: 0,
            max: packets_max,
        }
    }

    /// Takes the next bytes of the file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or has too many packets.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), DeparturesError> {
        self.reader.feed(bytes);
        self.read()
    }

    /// Says that the file is over.
    ///
    /// # Errors
    ///
    /// When it ends within a packet; what came before is kept.
    pub fn end(&mut self) -> Result<(), DeparturesError> {
        self.reader.finish();
        let outcome = self.read();
        for packets in self.by_ssrc.values_mut() {
            packets.sort_unstable();
        }
        outcome
    }

    /// How many packets are known.
    pub fn packets(&self) -> usize {
        self.count
    }

    /// When a packet passed there for the first time. Only after [`Departures::end`].
    pub(super) fn find(&self, ssrc: u32, stream_packet: &StreamPacket) -> Option<Stamp> {
        let packets = self.by_ssrc.get(&ssrc)?;
        let wanted = (stream_packet.timestamp, stream_packet.sequence, Stamp(0));
        let at = packets.partition_point(|packet| *packet < wanted);
        let (timestamp, sequence, stamp) = *packets.get(at)?;
        ((timestamp, sequence) == (stream_packet.timestamp, stream_packet.sequence)).then_some(stamp)
    }

    fn read(&mut self) -> Result<(), DeparturesError> {
        while let Some(frame) = self.reader.next()? {
            match decode(&frame) {
                Decoded::Udp(datagram) | Decoded::FirstFragment(datagram) => {
                    self.finder.handle_datagram(&datagram);
                }
                Decoded::Tcp(segment) => self.finder.handle_segment(&segment),
                Decoded::Fragment
                | Decoded::Ciphered
                | Decoded::Other
                | Decoded::Damaged
                | Decoded::UnknownLink(_) => {}
            }
            while let Some((index, packet)) = self.finder.poll_packet() {
                if self.count == self.max {
                    return Err(DeparturesError::TooMany { max: self.max });
                }
                if index == self.ssrc.len() {
                    self.ssrc.push(self.finder.streams()[index].flow.ssrc);
                }
                self.count += 1;
                let packets = self.by_ssrc.entry(self.ssrc[index]).or_default();
                packets.push((packet.timestamp, packet.sequence, packet.at));
            }
        }
        Ok(())
    }
}
