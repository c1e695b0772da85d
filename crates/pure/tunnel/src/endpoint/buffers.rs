use std::net::SocketAddr;
use std::ops::Range;

/// Datagrams on their way out, back to back in one buffer.
///
/// Datagrams to one address that are equally long are one [`Run`]: UDP segmentation (udp(7), `UDP_SEGMENT`) sends a run
/// with one call. The last of a run may be shorter.
#[derive(Debug, Default)]
pub struct Datagrams {
    bytes: Vec<u8>,
    filled: usize,
    runs: Vec<Span>,
}

/// Datagrams to one address, all `segment` bytes long but for the last, which may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// Where they go.
    pub to: SocketAddr,
    /// The datagrams, back to back.
    pub bytes: &'a [u8],
    /// How long each is; never 0.
    pub segment: usize,
}

#[derive(Debug)]
struct Span {
    to: SocketAddr,
    bytes: Range<usize>,
    segment: usize,
    /// A shorter datagram has ended it.
    ended: bool,
}

/// Inner packets on their way in, one after the other in one buffer.
#[derive(Debug, Default)]
pub struct Opened {
    bytes: Vec<u8>,
    filled: usize,
    packets: Vec<Range<usize>>,
}

impl Datagrams {
    /// The most datagrams in a run; what Linux allows (`UDP_MAX_SEGMENTS` before 6.8).
    pub const RUN_MAX: usize = 64;
    /// The most bytes in a run: the largest UDP payload over IPv4.
    pub const RUN_BYTES_MAX: usize = 65_507;

    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Room for a datagram of up to `length` bytes. What was written before into the room is in it: it is not zeroed.
    pub fn room(&mut self, length: usize) -> &mut [u8] {
        room(&mut self.bytes, self.filled, length)
    }

    /// The first `length` bytes of the room are a datagram for `to`. An empty one is not kept.
    pub fn push(&mut self, to: SocketAddr, length: usize) {
        let bytes = self.filled..(self.filled + length).min(self.bytes.len());
        if bytes.is_empty() {
            return;
        }
        self.filled = bytes.end;
        match self.runs.last_mut() {
            Some(run) if run.takes(to, bytes.len()) => {
                run.ended = bytes.len() < run.segment;
                run.bytes.end = bytes.end;
            }
            Some(_) | None => self.runs.push(Span { to, segment: bytes.len(), bytes, ended: false }),
        }
    }

    /// The datagrams, in the order in which they were pushed.
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.runs.iter().map(|run| Run {
            to: run.to,
            bytes: &self.bytes[run.bytes.clone()],
            segment: run.segment,
        })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How many bytes they have together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Forgets them and keeps the buffer.
    pub fn clear(&mut self) {
        self.filled = 0;
        self.runs.clear();
    }
}

impl Span {
    fn takes(&self, to: SocketAddr, length: usize) -> bool {
        self.to == to
            && !self.ended
            && length <= self.segment
            && self.bytes.len() + length <= Datagrams::RUN_BYTES_MAX
            && self.bytes.len() / self.segment < Datagrams::RUN_MAX
    }
}

impl Run<'_> {
    /// The single datagrams.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(self.segment)
    }
}

impl Opened {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Room to open a datagram of up to `length` bytes into. It is not zeroed.
    pub fn room(&mut self, length: usize) -> &mut [u8] {
        room(&mut self.bytes, self.filled, length)
    }

    /// `packet`, counted from the beginning of the room, is a whole inner packet. An empty one is not kept.
    pub fn push(&mut self, packet: Range<usize>) {
        let (start, end) = (self.filled + packet.start, self.filled + packet.end);
        if start < end && end <= self.bytes.len() {
            self.packets.push(start..end);
            self.filled = end;
        }
    }

    /// The packets, in the order in which they were pushed.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.packets.iter().map(|packet| &self.bytes[packet.clone()])
    }

    /// Where the packets lie in [`Opened::bytes_mut`].
    #[must_use]
    pub fn spans(&self) -> &[Range<usize>] {
        &self.packets
    }

    /// The buffer with all packets, for who changes them in place, and where they lie in it.
    pub fn bytes_mut(&mut self) -> (&mut [u8], &[Range<usize>]) {
        (&mut self.bytes, &self.packets)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Forgets them and keeps the buffer.
    pub fn clear(&mut self) {
        self.filled = 0;
        self.packets.clear();
    }
}

/// `length` bytes from `filled` on. The buffer grows to the largest batch ever and is then used again.
fn room(bytes: &mut Vec<u8>, filled: usize, length: usize) -> &mut [u8] {
    let end = filled + length;
    if bytes.len() < end {
        bytes.resize(end.next_power_of_two(), 0);
    }
    &mut bytes[filled..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_run_holds_what_one_call_can_send() {
        let (here, there) = (address(1), address(2));
        #[rustfmt::skip]
        type Sent = (SocketAddr, usize);
        type Runs = (usize, usize);
        let cases: [(&str, &[Sent], &[Runs]); 7] = [
            ("equal", &[(here, 9), (here, 9), (here, 9)], &[(27, 9)]),
            ("shorter at end", &[(here, 9), (here, 9), (here, 4)], &[(22, 9)]),
            ("after a shorter", &[(here, 9), (here, 4), (here, 4)], &[(13, 9), (4, 4)]),
            ("longer", &[(here, 9), (here, 10)], &[(9, 9), (10, 10)]),
            ("another peer", &[(here, 9), (there, 9), (here, 9)], &[(9, 9), (9, 9), (9, 9)]),
            ("empty", &[(here, 0), (here, 9), (here, 0), (here, 9)], &[(18, 9)]),
            ("none", &[], &[]),
        ];
        let mut datagrams = Datagrams::new();
        for (name, pushed, want) in cases {
            datagrams.clear();
            for (to, length) in pushed {
                datagrams.room(*length).fill(1);
                datagrams.push(*to, *length);
            }
            let got: Vec<_> = datagrams.runs().map(|run| (run.bytes.len(), run.segment)).collect();
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn a_run_ends_at_the_limits_of_the_kernel() {
        let mut datagrams = Datagrams::new();
        for (length, count, in_first) in [(60, 100, 64), (1_452, 100, 45), (65_507, 2, 1)] {
            datagrams.clear();
            for _ in 0..count {
                datagrams.room(length);
                datagrams.push(address(1), length);
            }
            let first = datagrams.runs().next().expect("something was pushed");
            assert_eq!(first.datagrams().count(), in_first, "{length}");
            assert_eq!(
                datagrams.runs().flat_map(|run| run.datagrams().map(<[u8]>::len).collect::<Vec<_>>()).count(),
                count
            );
        }
    }

    #[test]
    fn what_is_pushed_is_what_comes_out_and_the_buffer_stays() {
        let mut opened = Opened::new();
        for round in 0..3_u8 {
            opened.clear();
            for (packet, shift) in [(1_u8, 0_usize), (2, 16), (3, 5)] {
                opened.room(100)[shift..shift + 20].fill(packet + round);
                opened.push(shift..shift + 20);
            }
            opened.push(7..7);
            opened.push(0..1_000_000);
            let got: Vec<_> = opened.packets().map(|packet| (packet[0], packet[19], packet.len())).collect();
            assert_eq!(got, [1, 2, 3].map(|packet| (packet + round, packet + round, 20)));
        }
    }

    fn address(last: u8) -> SocketAddr {
        (Ipv4Addr::new(192, 0, 2, last), 51_820).into()
    }
}
