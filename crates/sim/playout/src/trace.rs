//! What was sent when, and when it came.

use guestright_units::{Micros, Time};
use thiserror::Error;

/// A packet of sound on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The sequence number.
    pub sequence: u64,
    /// Which talkspurt it is of, from 0.
    pub talkspurt: usize,
    /// When it was made, by the sender's clock, in µs.
    pub media: u64,
    /// When it was made.
    pub sent: Time,
    /// When it came; `None` if it was lost.
    pub arrived: Option<Time>,
}

/// One direction of one call: packets in the order in which they were made, and both ways for what else is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Sound in a packet.
    pub interval: Micros,
    /// Every packet of every talkspurt; pauses have none.
    pub packets: Vec<Packet>,
    /// The way that the packets went.
    pub forward: Way,
    /// The way back.
    pub backward: Way,
}

/// What happens to a datagram, by when it sets out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    from: Time,
    interval: Micros,
    /// What one that sets out in each interval takes; `None` if it is lost.
    fates: Vec<Option<Micros>>,
}

/// The most packets of a trace: a day of talking.
pub const PACKETS_MAX: usize = 4_320_000;

/// A trace that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TraceError {
    /// A line is not three numbers.
    #[error(
        "line {line} of the trace is \"{got}\", wanted `sequence,sent_us,arrived_us`; leave the last empty if it was lost"
    )]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is there.
        got: String,
    },
    /// Sequence numbers and times do not rise.
    #[error(
        "line {line} of the trace does not come after the one before: sequence numbers and times of sending rise"
    )]
    Order {
        /// Which, from 1.
        line: usize,
    },
    /// It came before it was sent.
    #[error("the packet in line {line} of the trace came before it was sent: set the clocks right first")]
    Early {
        /// Which, from 1.
        line: usize,
    },
    /// Too long.
    #[error("the trace has more than {PACKETS_MAX} packets; cut it")]
    Long,
    /// Nothing in it.
    #[error("the trace has no packets; give at least one line")]
    Empty,
}

impl Way {
    /// A way with these fates of what sets out in each interval from `from` on.
    #[must_use]
    pub fn new(from: Time, interval: Micros, fates: Vec<Option<Micros>>) -> Self {
        Self { from, interval, fates }
    }

    /// What a datagram that sets out at `sent` takes; `None` if it is lost. Before and after what is known, as at the
    /// nearest time.
    #[must_use]
    pub fn takes(&self, sent: Time) -> Option<Micros> {
        let index = usize::try_from(sent.since(self.from).0 / self.interval.0.max(1)).unwrap_or(usize::MAX);
        self.fates.get(index.min(self.fates.len().saturating_sub(1))).copied().flatten()
    }
}

impl Trace {
    /// Reads lines of `sequence,sent_us,arrived_us`: µs of one clock; nothing after the last comma if the packet was
    /// lost. Lines that begin with `#`, and a first line that begins with `sequence`, are skipped. A talkspurt begins
    /// where more time than sound has passed.
    ///
    /// Datagrams of a handshake take as long as the packet sent last before them, both ways.
    ///
    /// # Errors
    ///
    /// If a line is no packet, or packets are not in order.
    pub fn from_csv(text: &str, interval: Micros) -> Result<Self, TraceError> {
        let mut packets: Vec<Packet> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (line, number) = (line.trim(), index + 1);
            if line.is_empty() || line.starts_with('#') || (packets.is_empty() && line.starts_with("seq")) {
                continue;
            }
            if packets.len() == PACKETS_MAX {
                return Err(TraceError::Long);
            }
            packets.push(read_line(line, number, packets.last(), interval)?);
        }
        Self::from_packets(packets, interval)
    }

    /// A trace of these packets alone.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn from_packets(packets: Vec<Packet>, interval: Micros) -> Result<Self, TraceError> {
        let (Some(first), Some(last)) = (packets.first(), packets.last()) else {
            return Err(TraceError::Empty);
        };
        let (from, step) = (first.sent, interval.0.max(1));
        let slots = usize::try_from(last.sent.since(from).0 / step).unwrap_or(0).min(PACKETS_MAX) + 1;
        let mut fates = Vec::with_capacity(slots);
        let mut next = packets.iter().peekable();
        let mut fate = None;
        for slot in 0..slots as u64 {
            while let Some(packet) = next.next_if(|packet| packet.sent.since(from).0 / step <= slot) {
                fate = packet.arrived.map(|arrived| arrived.since(packet.sent));
            }
            fates.push(fate);
        }
        let way = Way::new(from, interval, fates);
        Ok(Self { interval, packets, forward: way.clone(), backward: way })
    }

    /// The same packets, with handshakes answered over the way of another trace.
    #[must_use]
    pub fn answered_over(self, other: &Self) -> Self {
        Self { backward: other.forward.clone(), ..self }
    }

    /// As [`Trace::from_csv`] reads it.
    #[must_use]
    pub fn to_csv(&self) -> String {
        use std::fmt::Write as _;
        let mut text = "sequence,sent_us,arrived_us\n".to_owned();
        for packet in &self.packets {
            let arrived = packet.arrived.map(|at| at.0.to_string()).unwrap_or_default();
            writeln!(text, "{},{},{arrived}", packet.sequence, packet.sent.0)
                .expect("a String takes everything");
        }
        text
    }

    /// The packets of each talkspurt.
    pub fn talkspurts(&self) -> impl Iterator<Item = &[Packet]> {
        self.packets.chunk_by(|one, next| one.talkspurt == next.talkspurt)
    }

    /// How long the call lasted, from the first packet to the last.
    #[must_use]
    pub fn length(&self) -> Micros {
        match (self.packets.first(), self.packets.last()) {
            (Some(first), Some(last)) => Micros(last.sent.since(first.sent).0 + self.interval.0),
            _ => Micros(0),
        }
    }
}

impl Packet {
    /// The time on the way plus the offset between both clocks, in µs, as a receiver sees it.
    #[must_use]
    pub fn delay(&self) -> Option<i64> {
        self.arrived.map(|at| at.0.cast_signed() - self.media.cast_signed())
    }
}

fn read_line(
    line: &str,
    number: usize,
    before: Option<&Packet>,
    interval: Micros,
) -> Result<Packet, TraceError> {
    let wrong = || TraceError::Line { line: number, got: line.chars().take(60).collect() };
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let &[sequence, sent, arrived] = fields.as_slice() else { return Err(wrong()) };
    let read = |text: &str| text.parse::<u64>().ok().filter(|value| *value < 1 << 61).ok_or_else(wrong);
    let (sequence, sent) = (read(sequence)?, read(sent)?);
    let arrived = if arrived.is_empty() { None } else { Some(Time(read(arrived)?)) };
    if arrived.is_some_and(|arrived| arrived.0 < sent) {
        return Err(TraceError::Early { line: number });
    }
    let mut packet = Packet { sequence, talkspurt: 0, media: sent, sent: Time(sent), arrived };
    if let Some(before) = before {
        if sequence <= before.sequence || sent <= before.sent.0 {
            return Err(TraceError::Order { line: number });
        }
        let spoken = (sequence - before.sequence).saturating_mul(interval.0);
        let is_new = sent - before.sent.0 > spoken.saturating_add(interval.0 / 2);
        packet.talkspurt = before.talkspurt + usize::from(is_new);
    }
    Ok(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Micros = Micros::from_millis(20);

    #[test]
    fn a_trace_is_read_as_it_is_written() {
        let text = "sequence,sent_us,arrived_us\n7,1000,41000\n8,21000,\n9,41000,90000\n10,500000,540000\n";
        let trace = Trace::from_csv(text, PACKET).unwrap();
        assert_eq!(trace.to_csv(), text);
        assert_eq!(trace.talkspurts().map(<[Packet]>::len).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(trace.forward.takes(Time(1_500)), Some(Micros(40_000)));
        assert_eq!(trace.forward.takes(Time(22_000)), None);
        assert_eq!(trace.backward.takes(Time(300_000)), Some(Micros(49_000)), "as the packet before");
        assert_eq!(trace.forward.takes(Time(9_000_000)), Some(Micros(40_000)), "as the last");
        assert_eq!(trace.length(), Micros(519_000));
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        let line = |line, got: &str| TraceError::Line { line, got: got.into() };
        #[rustfmt::skip]
        let cases = [
            ("", TraceError::Empty),
            ("1,2", line(1, "1,2")),
            ("1,2,3,4", line(1, "1,2,3,4")),
            ("1,20,30\n2,x,", line(2, "2,x,")),
            ("1,20,30\n1,40,50", TraceError::Order { line: 2 }),
            ("1,20,30\n2,20,50", TraceError::Order { line: 2 }),
            ("# one\n1,20,19", TraceError::Early { line: 2 }),
            ("1,99999999999999999999,", line(1, "1,99999999999999999999,")),
        ];
        for (text, want) in cases {
            assert_eq!(Trace::from_csv(text, PACKET), Err(want), "{text}");
        }
    }
}
