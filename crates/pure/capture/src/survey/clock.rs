//! How far apart the clocks of two captures may be.
//!
//! A packet takes some time and never less than none. So what it seems to take from A to B is at least the offset of
//! B's clock, and what it seems to take back is at most minus that. Both directions together hold the offset between
//! two bounds, without anybody's word (RFC 5905 rests on the same).

use guestright_quality::Interval;

/// What is known of the offset of this capture's clock against the other's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocks {
    /// Between these, in ms.
    pub offset_ms: Interval,
    /// Whether packets in both directions told it; otherwise it is somebody's word.
    pub measured: bool,
    /// Whether the packets disagree with that word, or with each other: a clock was set or ran at another speed.
    pub contradicted: bool,
}

/// What the packets of one stream seemed to take, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seeming {
    pub(super) count: u64,
    pub(super) least: f64,
    pub(super) most: f64,
    sum: f64,
}

impl Seeming {
    pub(super) fn add(&mut self, ms: f64) {
        if self.count == 0 {
            (self.least, self.most) = (ms, ms);
        }
        self.count += 1;
        self.least = self.least.min(ms);
        self.most = self.most.max(ms);
        self.sum += ms;
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

/// The clocks' offset from somebody's word and from pairs of streams in opposite directions, of which the first came
/// here and the second left here.
pub(super) fn clocks(word_ms: Option<f64>, pairs: &[(Seeming, Seeming)]) -> Option<Clocks> {
    let word = word_ms.map(|error| Interval::around(0.0, error.abs()));
    let bounds = pairs.iter().map(|(came, left)| (left.most, came.least));
    let bounds = bounds.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
    let both = |a: Interval, b: Interval| (a.low.max(b.low), a.high.min(b.high));
    Some(match (word, bounds) {
        (None, None) => return None,
        (Some(word), None) => Clocks { offset_ms: word, measured: false, contradicted: false },
        // Crossed bounds: no one offset fits. Taking both bounds the other way round is the honest width.
        (None, Some((low, high))) => {
            Clocks { offset_ms: Interval::new(low, high), measured: true, contradicted: low > high }
        }
        (Some(word), Some((low, high))) => {
            let measured = Interval::new(low, high);
            let (from, to) = both(word, measured);
            if from <= to && low <= high {
                let offset_ms = Interval::new(from, to);
                Clocks { offset_ms, measured: true, contradicted: false }
            } else {
                let offset_ms = Interval::new(word.low.min(measured.low), word.high.max(measured.high));
                Clocks { offset_ms, measured: true, contradicted: true }
            }
        }
    })
}

/// What seemed to take so long, without the offset.
pub(super) fn true_delay(seeming: Interval, clocks: &Clocks) -> Interval {
    Interval::new(seeming.low - clocks.offset_ms.high, seeming.high - clocks.offset_ms.low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeming(numbers: &[f64]) -> Seeming {
        let mut seeming = Seeming::default();
        numbers.iter().for_each(|ms| seeming.add(*ms));
        seeming
    }

    #[test]
    fn both_directions_hold_the_offset_between_bounds() {
        // The clock here is 100 ms ahead; 20 to 30 ms one way, 5 to 40 ms back.
        let pair = (seeming(&[130.0, 120.0]), seeming(&[60.0, 95.0]));
        let clocks = clocks(None, &[pair]).unwrap();
        assert_eq!((clocks.offset_ms, clocks.contradicted), (Interval::new(95.0, 120.0), false));
        let delay = true_delay(Interval::exact(pair.0.mean()), &clocks);
        assert_eq!(delay, Interval::new(5.0, 30.0));
        assert!(delay.contains(25.0));
    }

    #[test]
    fn a_word_is_taken_as_it_is_and_narrowed_or_contradicted_by_packets() {
        assert_eq!(clocks(None, &[]), None);
        assert_eq!(clocks(Some(3.0), &[]).unwrap().offset_ms, Interval::new(-3.0, 3.0));
        let pair = (seeming(&[2.0]), seeming(&[-8.0]));
        let narrowed = clocks(Some(3.0), &[pair]).unwrap();
        assert_eq!((narrowed.offset_ms, narrowed.contradicted), (Interval::new(-3.0, 2.0), false));
        let pair = (seeming(&[60.0]), seeming(&[50.0]));
        let contradicted = clocks(Some(3.0), &[pair]).unwrap();
        assert_eq!((contradicted.offset_ms, contradicted.contradicted), (Interval::new(-3.0, 60.0), true));
    }
}
