//! When whoever captures had no room for packets.

use crate::stamp::Stamp;
use std::collections::VecDeque;

/// More spans are not remembered: the two oldest become one.
const SPANS_MAX: usize = 64;
/// A packet gets its time a little before there is no room for it, ns.
const EARLIER_NS: u64 = 10_000_000;

/// Spans of time, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Drops(VecDeque<(Stamp, Stamp)>);

impl Drops {
    pub(super) fn add(&mut self, from: Stamp, to: Stamp) {
        let from = Stamp(from.0.saturating_sub(EARLIER_NS));
        if let Some(last) = self.0.back_mut().filter(|last| from <= last.1) {
            *last = (last.0.min(from), last.1.max(to));
            return;
        }
        self.0.push_back((from, to));
        if self.0.len() > SPANS_MAX
            && let Some(first) = self.0.pop_front()
            && let Some(second) = self.0.front_mut()
        {
            second.0 = first.0;
        }
    }

    /// Whether packets may be missing for our own fault between two that came at these times.
    pub(super) fn touch(&self, from: Stamp, to: Stamp) -> bool {
        self.0.iter().rev().any(|span| span.0 <= to && from <= span.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Stamp {
        Stamp(seconds * SECOND)
    }

    #[test]
    fn touch_what_lies_across_them() {
        let mut drops = Drops::default();
        assert!(!drops.touch(at(0), at(99)));
        drops.add(at(10), at(11));
        drops.add(at(20), at(21));
        for (from, to, want) in
            [(1, 9, false), (9, 10, true), (10, 10, true), (12, 19, false), (12, 30, true), (22, 30, false)]
        {
            assert_eq!(drops.touch(at(from), at(to)), want, "{from} {to}");
        }
    }

    #[test]
    fn no_span_is_forgotten_and_memory_is_bounded() {
        let mut drops = Drops::default();
        (0..1_000).for_each(|span| drops.add(at(span * 10), at(span * 10 + 1)));
        assert_eq!(drops.0.len(), SPANS_MAX);
        assert!((0..1_000).all(|span| drops.touch(at(span * 10), at(span * 10 + 1))));
        assert!(!drops.touch(at(9_985), at(9_986)), "those of late are known apart");
    }
}
