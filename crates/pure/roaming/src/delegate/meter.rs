use super::{Counted, Reading};
use guestright_units::Bytes;
use std::num::NonZeroU16;

/// What a member's tunnel has carried over one access point, from the counts of that address's ports.
///
/// A port's bytes are the member's while its tunnel ends there: between two readings, those of the port where it ended
/// before and of the one where it ends now. So a tunnel that comes back through another port of the same household
/// goes on, and a port that has become another's counts no longer. Where it is known how much of the member's tunnel was
/// authentic, wherever it ended, it is no more than that: an access point can send what it likes to the home's port.
#[derive(Debug)]
pub(super) struct Meter {
    port: Option<NonZeroU16>,
    last: Counted,
    total: Bytes,
    authentic: Option<Authentic>,
    /// Whether what is carried from now on is another session's.
    is_closed: bool,
}

#[derive(Debug)]
struct Authentic {
    last: Bytes,
    total: Bytes,
}

impl Meter {
    /// Counts from now on, for a tunnel that ends at `port`.
    pub(super) fn new(port: NonZeroU16, reading: &Reading) -> Self {
        let authentic = reading.authentic.map(|last| Authentic { last, total: Bytes(0) });
        let last = reading.counted.clone();
        Self { port: Some(port), last, total: Bytes(0), authentic, is_closed: false }
    }

    /// Takes a reading in, and where the tunnel ends now; nothing if that is at another address.
    pub(super) fn read(&mut self, port: Option<NonZeroU16>, reading: &Reading) {
        if self.is_closed {
            return;
        }
        let Reading { counted, authentic } = reading;
        if let (Some(known), Some(now)) = (&mut self.authentic, *authentic) {
            let grown = growth(known.last, now);
            known.last = now;
            // What it carried while it ended elsewhere is no ground to believe what was counted here.
            if self.port.or(port).is_some() {
                known.total = known.total.saturating_add(grown);
            }
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
    pub(super) fn close(&mut self, reading: &Reading) {
        self.read(self.port, reading);
        self.is_closed = true;
    }

    pub(super) fn total(&self) -> Bytes {
        self.authentic.as_ref().map_or(self.total, |authentic| authentic.total.min(self.total))
    }

    fn grown(&self, port: u16, counted: &Counted) -> Bytes {
        let of = |counted: &Counted| counted.get(&port).copied().unwrap_or_default();
        growth(of(&self.last), of(counted))
    }
}

/// A count that has shrunk began anew: the kernel forgets ports that are silent for long, and peers that are set again.
fn growth(before: Bytes, now: Bytes) -> Bytes {
    if now < before { now } else { now.saturating_sub(before) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_its_tunnel_and_nobody_elses() {
        let port = |number| NonZeroU16::new(number);
        let counted = |counts: &[(u16, u64)]| {
            Reading::from(counts.iter().map(|&(port, bytes)| (port, Bytes(bytes))).collect::<Counted>())
        };
        let mut meter = Meter::new(port(7).unwrap(), &counted(&[(7, 500), (8, 9_000)]));
        #[rustfmt::skip]
        let cases: [(&str, Option<NonZeroU16>, Reading, u64); 9] = [
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

    #[test]
    fn what_is_not_authentic_is_not_counted() {
        let port = NonZeroU16::new(7);
        let reading = |counted, authentic| Reading {
            counted: [(7, Bytes(counted))].into(),
            authentic: Some(Bytes(authentic)),
        };
        let mut meter = Meter::new(port.unwrap(), &reading(100, 5_000));
        #[rustfmt::skip]
        let cases = [
            ("both alike",                          reading(1_100, 6_000),   1_000),
            ("junk",                                reading(901_100, 6_000), 1_000),
            ("more of it, and a little of its own", reading(999_100, 6_300), 1_300),
            ("the peer was set again",              reading(999_200, 50),    1_350),
        ];
        for (name, reading, want) in cases {
            meter.read(port, &reading);
            assert_eq!(meter.total(), Bytes(want), "{name}");
        }
        meter.read(port, &Reading { authentic: None, ..reading(1_999_200, 0) });
        assert_eq!(meter.total(), Bytes(1_350), "nobody knows of more");
        let mut carried_elsewhere = Meter::new(port.unwrap(), &reading(100, 5_000));
        carried_elsewhere.read(port, &reading(200, 900_000));
        assert_eq!(carried_elsewhere.total(), Bytes(100));
        let mut moved = Meter::new(port.unwrap(), &reading(0, 0));
        moved.read(None, &reading(900_000, 1_000));
        moved.read(None, &reading(900_000, 800_000));
        assert_eq!(
            moved.total(),
            Bytes(1_000),
            "what another access point carried does not count for this one"
        );
    }
}
