//! A call with the playout delay that suits it best.
//!
//! A receiver that plays each packet a fixed time after it was made loses the later ones. A longer wait loses fewer and
//! makes conversation harder; the E-model says which wait is best. This is the best that any receiver with a fixed delay
//! could do, chosen in hindsight: no jitter buffer is part of what is measured.
//!
//! Waits are multiples of 5 ms up to 2 s. Losses count as random (`BurstR` 1), whatever their pattern.

use crate::codec::Codec;
use crate::emodel::{InputError, Inputs, effective_equipment, rate};
use crate::opinion::MosCurve;
use guestright_units::Micros;
use serde::Serialize;

/// Waits that are tried lie so far apart.
const STEP_US: u64 = 5_000;

/// The longest wait that is tried, in steps: 2 s.
const STEPS: usize = 400;

/// What every wait costs, without loss.
#[derive(Clone, Debug)]
pub struct Playout {
    /// R at each wait, `Ie,eff` left out.
    without_equipment: Vec<f64>,
    ie: f64,
    bpl: f64,
}

/// How many packets of a call would be there after each wait.
#[derive(Clone, Debug)]
pub struct PlayoutCounts {
    in_steps: Box<[u32]>,
}

/// A call at its best wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BestPlayout {
    /// From making to playing, in ms.
    pub wait_ms: f64,
    /// From mouth to ear, in ms: with the time that the packet took to be spoken.
    pub mouth_to_ear_ms: f64,
    /// Share of packets that are not there in time, 0 to 1.
    pub loss: f64,
    /// The rating, 0 to 100.
    pub r: f64,
    /// Its mean opinion score.
    pub mos: f64,
}

impl Playout {
    /// For calls whose packets are spoken in `packet_ms`, in G.711 with concealment (Appendix I).
    ///
    /// # Errors
    ///
    /// If `packet_ms` is no length of time.
    pub fn g711(packet_ms: f64) -> Result<Self, InputError> {
        let facts = Codec::G711aPlc.facts();
        let number = |cited: Option<crate::codec::Cited>| cited.map_or(0.0, |cited| cited.value);
        let (ie, bpl) = (number(facts.ie), number(facts.bpl));
        let at = |step: usize| {
            let inputs = Inputs::voip(packet_ms + wait_ms(step), 0.0, ie, bpl, 1.0);
            rate(inputs).map(|rating| rating.r_unbounded + rating.ie_eff)
        };
        Ok(Self { without_equipment: (0..=STEPS).map(at).collect::<Result<_, _>>()?, ie, bpl })
    }

    /// The best wait for a call of `made` packets; the shortest, if several are as good. `None` if nothing was made.
    ///
    /// Where nothing arrives in any time, the rating is that of a wait of nothing with all packets lost.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn best(&self, counts: &PlayoutCounts, made: u64, packet_ms: f64) -> Option<BestPlayout> {
        let mut best: Option<(usize, f64, f64)> = None;
        let mut there = 0_u64;
        for (step, (base, count)) in self.without_equipment.iter().zip(&counts.in_steps).enumerate() {
            there += u64::from(*count);
            // Waiting longer for nobody is never better.
            if *count == 0 && best.is_some() {
                continue;
            }
            let loss = 1.0 - there as f64 / made as f64;
            let r = base - effective_equipment(self.ie, self.bpl, loss.max(0.0) * 100.0, 1.0);
            if best.is_none_or(|(_, _, than)| r > than) {
                best = Some((step, loss.max(0.0), r));
            }
        }
        let (step, loss, r) = best.filter(|_| made > 0)?;
        let r = r.clamp(0.0, 100.0);
        let wait_ms = wait_ms(step);
        Some(BestPlayout {
            wait_ms,
            mouth_to_ear_ms: wait_ms + packet_ms,
            loss,
            r,
            mos: MosCurve::Itu.mos(r),
        })
    }
}

impl Default for PlayoutCounts {
    fn default() -> Self {
        Self { in_steps: vec![0; STEPS + 1].into() }
    }
}

impl PlayoutCounts {
    /// A packet was there `delay` after it was made.
    #[inline]
    pub fn add(&mut self, delay: Micros) {
        let step = usize::try_from(delay.0.div_ceil(STEP_US)).unwrap_or(usize::MAX);
        if let Some(count) = self.in_steps.get_mut(step) {
            *count = count.saturating_add(1);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are 400 steps")]
const fn wait_ms(step: usize) -> f64 {
    (step as u64 * STEP_US) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(delays_ms: &[u64]) -> PlayoutCounts {
        let mut counts = PlayoutCounts::default();
        delays_ms.iter().for_each(|delay| counts.add(Micros(delay * 1_000)));
        counts
    }

    #[test]
    fn a_steady_call_waits_as_long_as_its_packets_take() {
        let playout = Playout::g711(20.0).unwrap();
        let best = playout.best(&counts(&[43; 100]), 100, 20.0).unwrap();
        assert_eq!((best.wait_ms, best.mouth_to_ear_ms, best.loss), (45.0, 65.0, 0.0));
        let want = rate(Inputs::voip(65.0, 0.0, 0.0, 25.1, 1.0)).unwrap();
        assert!((best.r - want.r).abs() < 1e-9 && (best.mos - want.mos).abs() < 1e-9);
    }

    #[test]
    fn one_late_packet_is_not_waited_for_and_many_are() {
        let playout = Playout::g711(20.0).unwrap();
        let mut delays = vec![40; 999];
        delays.push(1_500);
        let best = playout.best(&counts(&delays), 1_000, 20.0).unwrap();
        assert_eq!((best.wait_ms, (best.loss * 1e6).round()), (40.0, 1_000.0));
        let mut delays = vec![40; 500];
        delays.extend([120; 500]);
        let best = playout.best(&counts(&delays), 1_000, 20.0).unwrap();
        assert_eq!((best.wait_ms, best.loss), (120.0, 0.0));
    }

    #[test]
    fn what_comes_after_two_seconds_never_came() {
        let playout = Playout::g711(20.0).unwrap();
        let best = playout.best(&counts(&[2_001; 10]), 10, 20.0).unwrap();
        assert_eq!((best.wait_ms, best.loss), (0.0, 1.0));
        assert!(best.r < 20.0, "{best:?}");
        assert_eq!(playout.best(&PlayoutCounts::default(), 0, 20.0), None);
    }

    proptest! {
        /// Against the E-model at each wait, as slowly as can be.
        #[test]
        fn no_other_wait_is_better(delays in prop::collection::vec(0_u64..600, 1..40), lost in 0_u64..10) {
            let playout = Playout::g711(20.0).unwrap();
            let made = delays.len() as u64 + lost;
            let best = playout.best(&counts(&delays), made, 20.0).unwrap();
            for step in 0..=STEPS {
                let wait = wait_ms(step);
                let there = delays.iter().filter(|delay| **delay as f64 <= wait).count();
                let loss = 1.0 - there as f64 / made as f64;
                let rating = rate(Inputs::voip(20.0 + wait, loss, 0.0, 25.1, 1.0)).unwrap();
                prop_assert!(rating.r <= best.r + 1e-9, "{} ms: {} > {:?}", wait, rating.r, best);
            }
        }
    }
}
