//! Segments on their way.

use super::slab::Slab;
use crate::tcp::{Flags, Flow, Segment};
use guestright_engine::Instant;
use std::num::NonZeroU32;

/// Segments on their way, each at a place.
///
/// Most have either payload or an acknowledgement and nothing else; they take 32 bytes, so that one is never in two cache
/// lines. The others are kept whole, elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    airborne: Slab<Airborne>,
    whole: Slab<Segment>,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
enum Airborne {
    Data { seq: u64, sent: Instant, stamp: u32, wave: Option<NonZeroU32>, len: u16, flags: Bits },
    Ack { ack: u64, window: u32, stamp: u32, echo: u32, flags: Bits },
    Whole { index: u32, sent: Instant },
}

/// Flags in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bits(u8);

impl Bits {
    fn new(flags: Flags) -> Self {
        let Flags { syn, ack, fin, again, capable, marked, echo, reduced } = flags;
        let low = u8::from(syn) | u8::from(ack) << 1 | u8::from(fin) << 2 | u8::from(again) << 3;
        let high = u8::from(capable) | u8::from(marked) << 1 | u8::from(echo) << 2 | u8::from(reduced) << 3;
        Self(low | high << 4)
    }

    const fn flags(self) -> Flags {
        let Self(bits) = self;
        Flags {
            syn: bits & 1 != 0,
            ack: bits & 2 != 0,
            fin: bits & 4 != 0,
            again: bits & 8 != 0,
            capable: bits & 16 != 0,
            marked: bits & 32 != 0,
            echo: bits & 64 != 0,
            reduced: bits & 128 != 0,
        }
    }
}

impl Segments {
    pub(super) const fn new() -> Self {
        Self { airborne: Slab::new(), whole: Slab::new() }
    }

    #[inline]
    pub(super) fn insert(&mut self, segment: &Segment, sent: Instant) -> u32 {
        let Segment { seq, ack, flow: _, window, stamp, echo, len, flags, wave, report, sack } = *segment;
        let bits = Bits::new(flags);
        let small = report.is_none() && sack.is_empty();
        let airborne = if small && (ack, window, echo) == (0, 0, 0) {
            Airborne::Data { seq, sent, stamp, wave, len, flags: bits }
        } else if small && (seq, len) == (0, 0) && wave.is_none() {
            Airborne::Ack { ack, window, stamp, echo, flags: bits }
        } else {
            Airborne::Whole { index: self.whole.insert(*segment), sent }
        };
        self.airborne.insert(airborne)
    }

    /// A segment of `flow` arrives, or is lost; when it was sent, if it has payload.
    #[inline]
    pub(super) fn remove(&mut self, key: u32, flow: u32) -> (Segment, Instant) {
        let flow = Flow(flow);
        match self.airborne.remove(key) {
            Airborne::Data { seq, sent, stamp, wave, len, flags } => {
                let flags = flags.flags();
                (Segment { seq, flow, stamp, len, flags, wave, ..Segment::default() }, sent)
            }
            Airborne::Ack { ack, window, stamp, echo, flags } => {
                let flags = flags.flags();
                (Segment { ack, flow, window, stamp, echo, flags, ..Segment::default() }, Instant::START)
            }
            Airborne::Whole { index, sent } => (self.whole.remove(index), sent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Report, Sack};
    use guestright_congestion::WaveReport;
    use proptest::prelude::*;

    /// Nothing in most places, as in what is sent.
    fn seldom<T: std::fmt::Debug + Clone + Default>(
        some: impl Strategy<Value = T> + 'static,
    ) -> impl Strategy<Value = T> {
        prop_oneof![3 => Just(T::default()), 1 => some]
    }

    fn segment() -> impl Strategy<Value = Segment> {
        let numbers = (seldom(any::<u64>()), seldom(0..u64::MAX / 2), seldom(any::<u32>()), any::<u32>());
        let others = (
            seldom(any::<u32>()),
            seldom(any::<u16>()),
            seldom(any::<u32>()),
            seldom(any::<bool>()),
            seldom(any::<bool>()),
        );
        (numbers, others, any::<u8>()).prop_map(|((seq, ack, window, stamp), others, bits)| {
            let (echo, len, wave, reports, islands) = others;
            let report =
                WaveReport { bytes: 5, interval: guestright_units::Micros(7), ..WaveReport::default() };
            let mut sack = Sack::default();
            if islands {
                sack.push(ack, ack + 10, ack + 20);
            }
            let report = reports.then(|| Report::new(report));
            let (flags, wave) = (Bits(bits).flags(), NonZeroU32::new(wave));
            Segment { seq, ack, flow: Flow(3), window, stamp, echo, len, flags, wave, report, sack }
        })
    }

    #[test]
    fn a_segment_on_its_way_takes_half_a_cache_line() {
        assert_eq!(size_of::<Airborne>(), 32);
    }

    proptest! {
        #[test]
        fn what_arrives_is_what_was_sent(sent in proptest::collection::vec(segment(), 1..20)) {
            let mut segments = Segments::new();
            for round in 0..3 {
                let keys: Vec<u32> =
                    (round..).zip(&sent).map(|(at, segment)| segments.insert(segment, Instant(at))).collect();
                for ((at, key), segment) in (round..).zip(keys).zip(&sent) {
                    let (got, sent_at) = segments.remove(key, 3);
                    prop_assert_eq!(&got, segment);
                    prop_assert!(got.len == 0 || sent_at == Instant(at));
                }
            }
        }
    }
}
