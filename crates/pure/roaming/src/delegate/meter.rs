use super::Counted;
use guestright_units::Bytes;
use std::num::NonZeroU16;

/// What a member's tunnel has carried over one access point, from the counts of that address's ports.
///
/// A port's bytes are the member's while its tunnel ends there: between two readings, those of the port where it ended
/// before and of the one where it ends now. So a tunnel that comes back through another port of the same household
/// goes on, and a port that has become another's counts no longer.
#[derive(Debug)]
pub(super) struct Meter {
    port: Option<NonZeroU16>,
    last: Counted,
    total: Bytes,
    /// Whether what is carried from now on is another session's.
    is_closed: bool,
}

impl Meter {
    /// Counts from now on, for a tunnel that ends at `port`.
    pub(super) fn new(port: NonZeroU16, counted: &Counted) -> Self {
        Self { port: Some(port), last: counted.clone(), total: Bytes(0), is_closed: false }
    }

    /// Takes a reading in, and where the tunnel ends now; nothing if that is at another address.
    pub(super) fn read(&mut self, port: Option<NonZeroU16>, counted: &Counted) {
        if self.is_closed {
            return;
        }
        let moved = port.filter(|port| Some(*port) != self.port);
        for port in [self.port, moved].into_iter().flatten() {
            let grown = self.grown(port.get(), counted);
            self.total = self.total.saturating_add(grown);
        }
        self.port = port;
        self.last.clone_from(counted);
    }

    /// Takes the last reading in; another session counts from it on.
    pub(super) fn close(&mut self, counted: &Counted) {
        self.read(self.port, counted);
        self.is_closed = true;
    }

    pub(super) fn total(&self) -> Bytes {
        self.total
    }

    fn grown(&self, port: u16, counted: &Counted) -> Bytes {
        let of = |counted: &Counted| counted.get(&port).copied().unwrap_or_default();
        let (before, now) = (of(&self.last), of(counted));
        // A count that has shrunk began anew: the kernel forgets ports that are silent for long.
        if now < before { now } else { now.saturating_sub(before) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_its_tunnel_and_nobody_elses() {
        let port = |number| NonZeroU16::new(number);
        let counted =
            |counts: &[(u16, u64)]| counts.iter().map(|&(port, bytes)| (port, Bytes(bytes))).collect();
        let mut meter = Meter::new(port(7).unwrap(), &counted(&[(7, 500), (8, 9_000)]));
        #[rustfmt::skip]
        let cases: [(&str, Option<NonZeroU16>, Counted, u64); 9] = [
            ("nothing yet",                port(7), counted(&[(7, 500), (8, 9_000)]),           0),
            ("its own port",               port(7), counted(&[(7, 600), (8, 9_100)]),           100),
            ("another port: both count",   port(9), counted(&[(7, 650), (9, 30), (8, 9_200)]),  180),
            ("the old one no longer does", port(9), counted(&[(7, 9_999), (9, 40), (8, 9_300)]), 190),
            ("a port with a past",         port(8), counted(&[(9, 40), (8, 9_310)]),            200),
            ("elsewhere: what was left",   None,    counted(&[(9, 99), (8, 9_320)]),            210),
            ("elsewhere: no more",         None,    counted(&[(9, 999), (8, 9_999)]),           210),
            ("back again",                 port(9), counted(&[(9, 1_000)]),                     211),
            ("the kernel forgot it",       port(9), counted(&[(9, 5)]),                         216),
        ];
        for (name, port, counted, want) in cases {
            meter.read(port, &counted);
            assert_eq!(meter.total(), Bytes(want), "{name}");
        }
        meter.close(&counted(&[(9, 9)]));
        meter.read(port(9), &counted(&[(9, 1_000)]));
        assert_eq!(meter.total(), Bytes(220), "what another session counts is not counted twice");
    }
}
