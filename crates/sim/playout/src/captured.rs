//! A trace from two captures of one call: one at the sender, one at the receiver, by one clock.

use crate::trace::{PACKETS_MAX, Packet, Trace, TraceError};
use guestright_capture::{CaptureError, Decoded, Reader, RtpHeader, decode, is_rtcp};
use guestright_units::{Micros, Time};
use guestright_wire::rtp::{COMFORT_NOISE, Header, WidenTimestamp};
use std::collections::BTreeMap;
use thiserror::Error;

/// Captures that give no trace.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CapturedError {
    /// A file cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Nothing was sent here and came there.
    #[error(
        "no stream of RTP leaves in the first capture and comes in the second; give the sender's first, of the same call"
    )]
    NoStream,
    /// What was found is no trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A clock of no ticks.
    #[error("a clock of 0 ticks a second says nothing; 8000 is that of G.711")]
    Clock,
}

/// A packet of RTP in a capture.
#[derive(Clone, Copy)]
struct Seen {
    at: Time,
    header: Header,
}

/// Packets of each source, in the order of the file.
type Sources = BTreeMap<u32, Vec<Seen>>;

/// A packet is known by its sequence number and timestamp.
type Key = (u16, u32);

/// The packets of the source that left the sender and came to the receiver most often. A packet was made when its
/// timestamp says, with the one that left soonest after that as the origin. Comfort noise is no packet of sound.
///
/// # Errors
///
/// If a file cannot be read, or there is no such stream.
pub fn from_captures(
    sender: &[u8],
    receiver: &[u8],
    clock_rate: u32,
    interval: Micros,
) -> Result<Trace, CapturedError> {
    if clock_rate == 0 {
        return Err(CapturedError::Clock);
    }
    let (left, came) = (sources(sender)?, sources(receiver)?);
    let mut best: Option<(usize, &Vec<Seen>, BTreeMap<Key, Time>)> = None;
    for (ssrc, sent) in &left {
        let Some(there) = came.get(ssrc) else { continue };
        let mut arrivals = BTreeMap::new();
        for seen in there {
            arrivals.entry(key(seen)).or_insert(seen.at);
        }
        // The other side's packets come here after they left there.
        let came_later = |seen: &&Seen| arrivals.get(&key(seen)).is_some_and(|at| *at > seen.at);
        let count = sent.iter().filter(came_later).count();
        if 2 * count > sent.len() && best.as_ref().is_none_or(|(most, ..)| count > *most) {
            best = Some((count, sent, arrivals));
        }
    }
    let (_, sent, arrivals) = best.ok_or(CapturedError::NoStream)?;
    Ok(trace(sent, &arrivals, clock_rate, interval)?)
}

fn key(seen: &Seen) -> Key {
    (seen.header.sequence, seen.header.timestamp)
}

fn sources(file: &[u8]) -> Result<Sources, CaptureError> {
    let mut sources = Sources::new();
    let mut reader = Reader::new();
    reader.feed(file);
    reader.finish();
    let mut count = 0;
    while let Some(frame) = reader.next()? {
        let (Decoded::Udp(datagram) | Decoded::FirstFragment(datagram)) = decode(&frame) else { continue };
        if is_rtcp(datagram.payload) || count == PACKETS_MAX {
            continue;
        }
        if let (Some(header), Some(at)) = (RtpHeader::parse(datagram.payload, datagram.missing), datagram.at)
        {
            let header = header.fields;
            sources.entry(header.ssrc).or_default().push(Seen { at: at.time(), header });
            count += 1;
        }
    }
    Ok(sources)
}

fn trace(
    sent: &[Seen],
    arrivals: &BTreeMap<Key, Time>,
    clock_rate: u32,
    interval: Micros,
) -> Result<Trace, TraceError> {
    let mut widen = WidenTimestamp::default();
    let made = |seen: &Seen| {
        let ticks = u128::from(widen.widen(seen.header.timestamp.into()));
        let micros = ticks * 1_000_000 / u128::from(clock_rate);
        (u64::try_from(micros).unwrap_or(u64::MAX), *seen)
    };
    let sound: Vec<(u64, Seen)> =
        sent.iter().filter(|seen| seen.header.payload_type != COMFORT_NOISE).map(made).collect();
    // What is in a timestamp of 0 by the clock of the captures; signed, for it may lie before their epoch.
    let origin = sound.iter().map(|(media, seen)| signed(seen.at.0) - signed(*media)).min().unwrap_or(0);
    let first = sound.iter().map(|(media, _)| *media).min().unwrap_or(0);
    let mut packets: Vec<Packet> = Vec::with_capacity(sound.len());
    for (media, seen) in sound {
        let sent = media - first;
        let came = arrivals.get(&key(&seen)).map(|at| signed(at.0) - origin - signed(first));
        let before = packets.last();
        if before.is_some_and(|before| before.sent.0 >= sent) {
            continue;
        }
        let is_new = before.is_some_and(|before| sent - before.sent.0 > interval.0 * 3 / 2);
        packets.push(Packet {
            sequence: packets.len() as u64,
            talkspurt: before.map_or(0, |before| before.talkspurt) + usize::from(is_new),
            media: sent,
            sent: Time(sent),
            arrived: came.and_then(|came| u64::try_from(came).ok()).filter(|came| *came >= sent).map(Time),
        });
    }
    Trace::from_packets(packets, interval)
}

fn signed(micros: u64) -> i128 {
    i128::from(micros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_capture::Writer;
    use std::net::SocketAddr;

    const CLOCK: u32 = 8_000;
    const PACKET: Micros = Micros::from_millis(20);

    /// What is in each row: when it passed, sequence, timestamp, payload type, source.
    fn capture(rows: &[(u64, u16, u32, u8, u32)]) -> Vec<u8> {
        let (from, to): (SocketAddr, SocketAddr) =
            ("192.0.2.1:4000".parse().unwrap(), "192.0.2.2:4000".parse().unwrap());
        let mut file = Vec::new();
        let mut writer = Writer::new("test", "wire", &mut file);
        for (at, sequence, timestamp, payload_type, ssrc) in rows {
            let mut bytes = vec![0x80, *payload_type];
            bytes.extend(sequence.to_be_bytes());
            bytes.extend(timestamp.to_be_bytes());
            bytes.extend(ssrc.to_be_bytes());
            bytes.extend([0xd5; 160]);
            writer.packet(Time(*at), from, to, &bytes, &mut file).unwrap();
        }
        file
    }

    #[test]
    fn two_captures_make_a_trace() {
        let wrap = u32::MAX - 159;
        let sender = capture(&[
            (1_000_500, 65_535, wrap, 0, 7),
            (1_010_000, 9, 0, 0, 8), // the other side's
            (1_020_100, 0, 0, 0, 7),
            (1_041_000, 1, 160, 13, 7),
            (1_500_000, 2, 4_000, 0, 7),
            (1_520_000, 3, 4_160, 0, 7),
        ]);
        let receiver = capture(&[
            (1_005_000, 9, 0, 0, 8),
            (1_040_500, 65_535, wrap, 0, 7),
            (1_091_000, 1, 160, 13, 7),
            (1_600_000, 3, 4_160, 0, 7),
            (1_600_100, 2, 4_000, 0, 7),
        ]);
        let trace = from_captures(&sender, &receiver, CLOCK, PACKET).unwrap();
        let text = "sequence,sent_us,arrived_us\n0,0,60500\n1,20000,\n2,520000,620100\n3,540000,620000\n";
        // The last two left soonest after they were made: the first was made at 980 ms by the clock of the captures.
        let want = Trace::from_csv(text, PACKET).unwrap();
        assert_eq!(trace.to_csv(), want.to_csv());
        assert_eq!(trace, want);
    }

    #[test]
    fn captures_in_the_wrong_order_or_of_other_calls_are_refused() {
        let one = capture(&[(1_000, 1, 160, 0, 7), (21_000, 2, 320, 0, 7)]);
        let later = capture(&[(41_000, 1, 160, 0, 7), (61_000, 2, 320, 0, 7)]);
        let other = capture(&[(41_000, 1, 160, 0, 8)]);
        assert!(from_captures(&one, &later, CLOCK, PACKET).is_ok());
        for (sender, receiver) in [(&later, &one), (&one, &other)] {
            assert_eq!(from_captures(sender, receiver, CLOCK, PACKET), Err(CapturedError::NoStream));
        }
        assert!(matches!(
            from_captures(&one[..40], &later, CLOCK, PACKET),
            Err(CapturedError::Capture(_) | CapturedError::NoStream)
        ));
        assert_eq!(from_captures(&one, &later, 0, PACKET), Err(CapturedError::Clock));
    }
}
