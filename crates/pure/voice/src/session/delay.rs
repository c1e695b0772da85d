use guestright_units::Micros;

/// The one-way delay from the peer to us, as an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// At least so much.
    pub low: Micros,
    /// At most so much.
    pub high: Micros,
    /// Where the bounds come from.
    pub source: DelaySource,
}

/// Where the bounds of a [`Delay`] come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DelaySource {
    /// Both wall clocks with their stated errors, within 0 and the round trip.
    Clocks,
    /// 0 and the round trip: a clock's error is not known.
    RoundTrip,
    /// 0 and the round trip, because what the clocks say lies outside: one of them is worse than it states.
    Contradiction,
}

impl Delay {
    #[must_use]
    pub fn middle(&self) -> Micros {
        Micros(u64::midpoint(self.low.0, self.high.0))
    }

    /// Puts together what is known; nothing if neither clocks nor round trip are.
    ///
    /// - `measured`: by both clocks, in µs; below zero if they are apart.
    /// - `error`: both clocks' errors together, if both are stated.
    pub(super) fn new(
        measured: Option<i64>,
        error: Option<Micros>,
        round_trip: Option<Micros>,
    ) -> Option<Self> {
        let by_clocks = measured.zip(error).map(|(measured, error)| {
            let error = error.0.cast_signed();
            (measured.saturating_sub(error), measured.saturating_add(error))
        });
        let zero = Micros(0);
        match (by_clocks, round_trip) {
            (None, None) => None,
            (None, Some(high)) => Some(Self { low: zero, high, source: DelaySource::RoundTrip }),
            (Some((low, high)), round_trip) => {
                let bound = round_trip.map_or(i64::MAX, |round_trip| round_trip.0.cast_signed());
                if high < 0 || low > bound {
                    // Without a round trip there is nothing to fall back on.
                    let high = round_trip?;
                    return Some(Self { low: zero, high, source: DelaySource::Contradiction });
                }
                let (low, high) = (low.max(0).unsigned_abs(), high.min(bound).unsigned_abs());
                Some(Self { low: Micros(low), high: Micros(high), source: DelaySource::Clocks })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_put_together() {
        use DelaySource::{Clocks, Contradiction, RoundTrip};
        let millis = |value: u64| Some(Micros::from_millis(value));
        let want = |low, high, source| {
            Some(Delay { low: Micros::from_millis(low), high: Micros::from_millis(high), source })
        };
        #[rustfmt::skip]
        let cases = [
            ("nothing",              None,           None,       None,        None),
            ("round trip",           None,           millis(5),  millis(80),  want(0, 80, RoundTrip)),
            ("no error stated",      Some(30_000),   None,       millis(80),  want(0, 80, RoundTrip)),
            ("clocks",               Some(30_000),   millis(5),  millis(80),  want(25, 35, Clocks)),
            ("clocks alone",         Some(30_000),   millis(5),  None,        want(25, 35, Clocks)),
            ("cut at zero",          Some(3_000),    millis(5),  millis(80),  want(0, 8, Clocks)),
            ("cut at round trip",    Some(78_000),   millis(5),  millis(80),  want(73, 80, Clocks)),
            ("before it was sent",   Some(-30_000),  millis(5),  millis(80),  want(0, 80, Contradiction)),
            ("longer than the way",  Some(100_000),  millis(5),  millis(80),  want(0, 80, Contradiction)),
            ("nothing to fall to",   Some(-30_000),  millis(5),  None,        None),
        ];
        for (name, measured, error, round_trip, want) in cases {
            assert_eq!(Delay::new(measured, error, round_trip), want, "{name}");
        }
    }
}
