//! What is compared, and the number that each of them has.

use guestright_legacy::pgpfone::Playpoint;
use guestright_units::Micros;
use guestright_voice::playout::{
    Arrival, Fixed, Handshake, Histogram, Moon, PaperA, Policy, Ramjee1, Ramjee4,
};

/// A policy whose one number can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// So many ms more than the fastest packet of the last 10 s.
    Fixed,
    /// Ramjee's first algorithm: mean and so many deviations.
    Ramjee1,
    /// Ramjee's fourth algorithm, with its mode for spikes: the same number.
    Ramjee4,
    /// Moon's: that quantile of the last 1000 delays.
    Moon,
    /// NetEQ's histogram: that quantile.
    Histogram,
    /// Paper A's buffer, played when it is half full. Nothing to choose.
    PaperA,
    /// BoAT (paper D): the time on the way of the last handshake's first message, and so many of its round trips; 1 in the
    /// paper.
    Boat,
    /// PGPfone's play point, in quanta of 20 ms at 8 kHz: so many times what it holds a talkspurt for.
    PgpFone,
}

/// The number that an algorithm has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knob {
    pub name: &'static str,
    /// Its unit, if it has one.
    pub unit: &'static str,
    /// As its authors have it.
    pub usual: f64,
    /// Values from the least delay to the most.
    pub grid: &'static [f64],
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Fixed,
        Self::Ramjee1,
        Self::Ramjee4,
        Self::Moon,
        Self::Histogram,
        Self::PaperA,
        Self::Boat,
        Self::PgpFone,
    ];

    /// Its name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Ramjee1 => "ramjee-1",
            Self::Ramjee4 => "ramjee-4",
            Self::Moon => "moon",
            Self::Histogram => "histogram",
            Self::PaperA => "paper-a",
            Self::Boat => "boat",
            Self::PgpFone => "pgpfone",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// What can be turned.
    #[must_use]
    pub const fn knob(self) -> Knob {
        const HOLDS: &[f64] = &[
            0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 120.0, 160.0, 200.0, 250.0,
            300.0, 400.0, 600.0, 800.0,
        ];
        const DEVIATIONS: &[f64] =
            &[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 16.0, 20.0, 30.0];
        const QUANTILES: &[f64] = &[
            0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.985, 0.99, 0.993, 0.995, 0.997, 0.999,
            1.0,
        ];
        const FACTORS: &[f64] =
            &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0];
        match self {
            Self::Fixed => Knob { name: "hold", unit: "ms", usual: 60.0, grid: HOLDS },
            Self::Ramjee1 | Self::Ramjee4 => {
                Knob { name: "deviations", unit: "", usual: 4.0, grid: DEVIATIONS }
            }
            Self::Moon => Knob { name: "quantile", unit: "", usual: 0.99, grid: QUANTILES },
            Self::Histogram => {
                Knob { name: "quantile", unit: "", usual: Histogram::QUANTILE, grid: QUANTILES }
            }
            Self::PaperA => Knob { name: "none", unit: "", usual: 0.0, grid: &[0.0] },
            Self::PgpFone => Knob { name: "holds", unit: "", usual: 1.0, grid: FACTORS },
            Self::Boat => Knob { name: "round trips", unit: "", usual: 1.0, grid: FACTORS },
        }
    }

    /// The policy with this value of its number.
    #[must_use]
    pub fn policy(self, knob: f64) -> Box<dyn Policy> {
        match self {
            Self::Fixed => Box::new(Fixed::new(micros(knob))),
            Self::Ramjee1 => Box::new(Ramjee1::with_deviations(knob)),
            Self::Ramjee4 => Box::new(Ramjee4::with_deviations(knob)),
            Self::Moon => Box::new(Moon::new(knob)),
            Self::Histogram => Box::new(Histogram::with_quantile(knob)),
            Self::PaperA => Box::new(PaperA),
            Self::PgpFone => {
                let inner = Playpoint::new(8_000, Micros::from_millis(20));
                Box::new(PgpFone { holds: knob, inner })
            }
            Self::Boat => Box::new(Boat { round_trips: knob, offset: None }),
        }
    }

    /// Whether it needs handshakes.
    #[must_use]
    pub const fn shakes_hands(self) -> bool {
        matches!(self, Self::Boat)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 0 becomes 0")]
fn micros(millis: f64) -> Micros {
    Micros((millis * 1e3) as u64)
}

/// PGPfone's play point, times a number.
struct PgpFone {
    holds: f64,
    inner: Playpoint,
}

impl Policy for PgpFone {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn arrived(&mut self, arrival: &Arrival) {
        self.inner.arrived(arrival);
    }

    fn play_after(&mut self, first: &Arrival) -> i64 {
        let hold = self.inner.play_after(first).saturating_sub(first.delay());
        first.delay().saturating_add(times(hold, self.holds))
    }

    fn restart(&mut self) {
        self.inner.restart();
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "times of a call in µs are far below 2^52"
)]
fn times(micros: i64, factor: f64) -> i64 {
    (micros as f64 * factor) as i64
}

/// BoAT's clock: `Delta = t0 + RTT` (paper D, equation 1), taken over between talkspurts. It sees no packet's delay.
struct Boat {
    round_trips: f64,
    offset: Option<i64>,
}

impl Policy for Boat {
    fn name(&self) -> &'static str {
        "boat"
    }

    fn arrived(&mut self, _: &Arrival) {}

    fn play_after(&mut self, first: &Arrival) -> i64 {
        self.offset.unwrap_or_else(|| first.delay())
    }

    fn handshake(&mut self, exchange: &Handshake) {
        let there = exchange.arrived.0.cast_signed().wrapping_sub(exchange.media.cast_signed());
        let added = times(exchange.round_trip.0.cast_signed(), self.round_trips);
        self.offset = Some(there.saturating_add(added));
    }

    fn restart(&mut self) {
        self.offset = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::Time;

    #[test]
    fn names_and_numbers_fit() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
            let knob = algorithm.knob();
            assert!(knob.grid.is_sorted() && knob.grid.contains(&knob.usual), "{algorithm:?}");
            assert_eq!(algorithm.policy(knob.usual).name(), algorithm.name());
        }
    }

    /// Equation 1: a probe made at 1 s that came at 1.03 s, and a round trip of 80 ms: 110 ms.
    #[test]
    fn boat_plays_t0_and_a_round_trip_later() {
        let mut boat = Algorithm::Boat.policy(1.0);
        let exchange = Handshake { media: 1_000_000, arrived: Time(1_030_000), round_trip: Micros(80_000) };
        boat.handshake(&exchange);
        let first = Arrival {
            sequence: 0,
            media: 2_000_000,
            arrived: Time(2_500_000),
            starts_talkspurt: true,
            duration: Micros(20_000),
        };
        boat.arrived(&first);
        assert_eq!(boat.play_after(&first), 110_000);
    }
}
