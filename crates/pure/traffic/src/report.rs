//! What came of the calls of one direction.

use guestright_quality::{Interval, Jitter, Judge, Judgement, Measured, Summary, Unknown};
use serde::Serialize;

use crate::offset::ClockSummary;
use crate::plan::Plan;

/// Octets of [`CallFigures`] in a message.
pub(crate) const CALL_LEN: usize = 84;
/// Calls in one message, so that it fits through every tunnel.
pub(crate) const PER_MESSAGE: usize = 13;

/// What one end measured of one call, in whole numbers, as the ends exchange it.
///
/// ```text
///  0  call u16, flags u16 (1: the end is known)
///  4  expected u32, lost u32, late u32, overflow u32
/// 20  burst ratio in thousandths u32, or all ones
/// 24  delay in µs i64: mean low, mean high, 95 % low, 95 % high, largest low, largest high; or the least i64
/// 72  jitter in µs u32: RFC 3550, mean |D|, inter-arrival deviation; or all ones
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallFigures {
    /// The call, from 0.
    pub call: u16,
    /// Whether the sender has said how many packets it sent. If not, what is missing at the end is not counted.
    pub end_known: bool,
    /// Packets that were sent.
    pub expected: u32,
    /// Packets that the network lost.
    pub lost: u32,
    /// Packets too late for the dejitter buffer.
    pub late: u32,
    /// Packets too early for the dejitter buffer.
    pub overflow: u32,
    /// Burst ratio of all that was not heard, in thousandths.
    pub burst_ratio_milli: Option<u32>,
    /// One-way delay; `None` if the clocks were not known or nothing arrived.
    pub delay: Option<DelayFigures>,
    /// Jitter as RFC 3550 has it, µs.
    pub rfc3550_us: Option<u32>,
    /// Mean `|D|`, µs.
    pub mean_abs_d_us: Option<u32>,
    /// Inter-arrival deviation, µs.
    pub interarrival_deviation_us: Option<u32>,
}

/// One-way delays in µs, each as its least and largest possible value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DelayFigures {
    pub mean_us: [i64; 2],
    /// 95 % of the packets were not slower.
    pub p95_us: [i64; 2],
    pub largest_us: [i64; 2],
}

impl CallFigures {
    pub(crate) fn of(call: u16, end_known: bool, summary: &Summary) -> Self {
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let us = |ms: Option<f64>| ms.map(|ms| whole(ms * 1e3));
        let Jitter { rfc3550_ms, mean_abs_d_ms, interarrival_deviation_ms, .. } = summary.jitter;
        Self {
            call,
            end_known,
            expected: count(summary.network.expected),
            lost: count(summary.network.lost),
            late: count(summary.counts.late),
            overflow: count(summary.counts.overflow),
            burst_ratio_milli: summary.playout.burst_ratio.map(|ratio| whole(ratio * 1e3)),
            delay: summary.delay.map(|delay| DelayFigures {
                mean_us: bounds(delay.mean_ms),
                p95_us: bounds(delay.p95_ms),
                largest_us: bounds(delay.largest_ms),
            }),
            rfc3550_us: us(rfc3550_ms),
            mean_abs_d_us: us(mean_abs_d_ms),
            interarrival_deviation_us: us(interarrival_deviation_ms),
        }
    }

    /// Share of packets that the network lost; `None` if none was expected.
    pub fn network_loss(&self) -> Option<f64> {
        (self.expected > 0).then(|| f64::from(self.lost) / f64::from(self.expected))
    }

    /// Share of what arrived that the dejitter buffer would discard; 0 if nothing arrived.
    pub fn dejitter_loss(&self) -> f64 {
        let arrived = self.expected.saturating_sub(self.lost);
        let discarded = f64::from(self.late) + f64::from(self.overflow);
        if arrived == 0 { 0.0 } else { (discarded / f64::from(arrived)).min(1.0) }
    }

    /// What a rating rests on.
    pub fn measured(&self) -> Measured {
        Measured {
            network_loss: self.network_loss(),
            dejitter_loss: self.dejitter_loss(),
            burst_ratio: self.burst_ratio_milli.map(|milli| f64::from(milli) / 1e3),
            network_delay_ms: self.delay.map(|delay| interval_ms(delay.mean_us)),
            delay_assumed: false,
        }
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.call.to_be_bytes());
        out.extend_from_slice(&u16::from(self.end_known).to_be_bytes());
        let optional = |value: Option<u32>| value.unwrap_or(u32::MAX);
        for value in [self.expected, self.lost, self.late, self.overflow, optional(self.burst_ratio_milli)] {
            out.extend_from_slice(&value.to_be_bytes());
        }
        let delay = self.delay.unwrap_or(DelayFigures { mean_us: [i64::MIN; 2], ..DelayFigures::default() });
        for value in [delay.mean_us, delay.p95_us, delay.largest_us].into_iter().flatten() {
            out.extend_from_slice(&value.to_be_bytes());
        }
        for value in [self.rfc3550_us, self.mean_abs_d_us, self.interarrival_deviation_us] {
            out.extend_from_slice(&optional(value).to_be_bytes());
        }
    }

    pub(crate) fn parse(bytes: [u8; CALL_LEN]) -> Option<Self> {
        let short = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from(short(at)) << 16 | u32::from(short(at + 2));
        let long = |at: usize| (u64::from(word(at)) << 32 | u64::from(word(at + 4))).cast_signed();
        let optional = |at: usize| Some(word(at)).filter(|value| *value != u32::MAX);
        let pair = |at: usize| [long(at), long(at + 8)];
        let [mean_us, p95_us, largest_us] = [pair(24), pair(40), pair(56)];
        let none = mean_us == [i64::MIN; 2];
        let ordered = [mean_us, p95_us, largest_us].iter().all(|[low, high]| low <= high);
        let (expected, lost) = (word(4), word(8));
        if short(2) > 1 || lost > expected || !ordered || none && (p95_us, largest_us) != ([0; 2], [0; 2]) {
            return None;
        }
        Some(Self {
            call: short(0),
            end_known: short(2) == 1,
            expected,
            lost,
            late: word(12),
            overflow: word(16),
            burst_ratio_milli: optional(20),
            delay: (!none).then_some(DelayFigures { mean_us, p95_us, largest_us }),
            rfc3550_us: optional(72),
            mean_abs_d_us: optional(76),
            interarrival_deviation_us: optional(80),
        })
    }
}

/// A figure that cannot be negative, as a whole number below "none".
fn whole(value: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    let whole = value.round().clamp(0.0, f64::from(u32::MAX - 1)) as u32;
    whole
}

/// Milliseconds as whole µs, within a century.
fn bounds(ms: Interval) -> [i64; 2] {
    #[expect(clippy::cast_possible_truncation, reason = "clamped to what fits")]
    let us = |ms: f64| (ms * 1e3).round().clamp(-4e15, 4e15) as i64;
    [us(ms.low), us(ms.high)]
}

#[expect(clippy::cast_precision_loss, reason = "a reader does not care for the last µs of a century")]
fn interval_ms([low, high]: [i64; 2]) -> Interval {
    Interval::new(low as f64 / 1e3, high as f64 / 1e3)
}

/// One call with its rating.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallResult {
    /// What was measured.
    pub figures: CallFigures,
    /// Share that the network lost.
    pub network_loss: Option<f64>,
    /// Share of the rest that the dejitter buffer discards.
    pub dejitter_loss: f64,
    /// Mean one-way delay of the network, ms.
    pub delay_ms: Option<Interval>,
    /// The rating, by G.107 and by paper A's formula.
    pub judgement: Judgement,
}

/// Means over the calls of one direction, each call counting the same, as in paper A.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Average {
    /// Share that the network lost.
    pub network_loss: Option<f64>,
    /// Share of the rest that the dejitter buffer discards.
    pub dejitter_loss: Option<f64>,
    /// Mean one-way delay, ms, over calls that have one.
    pub delay_ms: Option<Interval>,
    /// Mean score by G.107, delay included; only if every call has one.
    pub mos_g107: Option<Interval>,
    /// Mean score by G.107 without delay; only if every call has one.
    pub mos_listening: Option<Interval>,
    /// Mean score by paper A's formula; only if every call has one.
    pub mos_paper_a: Option<Interval>,
}

/// All calls of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Direction {
    /// The calls, by number.
    pub calls: Vec<CallResult>,
    /// Their means.
    pub average: Average,
    /// The call with the lowest score, or with the most loss if there are no scores.
    pub worst_call: Option<u16>,
    /// What is known about the clocks, at the end that received.
    pub clock: Option<ClockSummary>,
}

impl Direction {
    /// Rates the calls of a plan.
    pub fn new(plan: &Plan, figures: &[CallFigures], clock: Option<ClockSummary>) -> Self {
        let judge = Judge::paper_a(plan.traffic.codec());
        let calls: Vec<CallResult> = figures
            .iter()
            .map(|figures| {
                let measured = figures.measured();
                CallResult {
                    figures: *figures,
                    network_loss: measured.network_loss,
                    dejitter_loss: measured.dejitter_loss,
                    delay_ms: measured.network_delay_ms,
                    judgement: judge.judge(&measured),
                }
            })
            .collect();
        let worst = calls.iter().min_by(|a, b| badness(a).total_cmp(&badness(b)));
        let worst_call = worst.map(|call| call.figures.call);
        Self { average: average(&calls), worst_call, calls, clock }
    }
}

/// Sorts calls: the lower, the worse.
fn badness(call: &CallResult) -> f64 {
    let opinion = call.judgement.conversation.as_ref().or(call.judgement.listening.as_ref());
    opinion.map_or_else(|_| -call.network_loss.unwrap_or(1.0), |opinion| opinion.mos.low)
}

fn average(calls: &[CallResult]) -> Average {
    let exact = |value: Option<f64>| value.map(Interval::exact);
    let middle = |mean: Option<Interval>| mean.map(Interval::middle);
    let mos = |value: &dyn Fn(&Judgement) -> Result<Interval, Unknown>| {
        let scores: Option<Vec<Interval>> = calls.iter().map(|call| value(&call.judgement).ok()).collect();
        mean(scores.unwrap_or_default())
    };
    Average {
        network_loss: middle(mean(calls.iter().filter_map(|call| exact(call.network_loss)))),
        dejitter_loss: middle(mean(calls.iter().map(|call| Interval::exact(call.dejitter_loss)))),
        delay_ms: mean(calls.iter().filter_map(|call| call.delay_ms)),
        mos_g107: mos(&|judged| judged.conversation.as_ref().map(|o| o.mos).map_err(Clone::clone)),
        mos_listening: mos(&|judged| judged.listening.as_ref().map(|o| o.mos).map_err(Clone::clone)),
        mos_paper_a: mos(&|judged| judged.paper_a.as_ref().map(|o| o.mos).map_err(Clone::clone)),
    }
}

fn mean(intervals: impl IntoIterator<Item = Interval>) -> Option<Interval> {
    let (mut count, mut low, mut high) = (0.0, 0.0, 0.0);
    for interval in intervals {
        count += 1.0;
        low += interval.low;
        high += interval.high;
    }
    (count > 0.0).then(|| Interval::new(low / count, high / count))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::Traffic;
    use proptest::prelude::*;

    pub(crate) fn figures() -> impl Strategy<Value = CallFigures> {
        let counts = (any::<u16>(), any::<bool>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
        let optional = || prop::option::of(0..u32::MAX);
        let pair =
            || (any::<i32>(), any::<i32>()).prop_map(|(a, b)| [i64::from(a.min(b)), i64::from(a.max(b))]);
        let delay = prop::option::of((pair(), pair(), pair()));
        (counts, [optional(), optional(), optional(), optional()], delay).prop_map(
            |(counts, optional, delay)| {
                let (call, end_known, expected, lost, late, overflow) = counts;
                let [burst_ratio_milli, rfc3550_us, mean_abs_d_us, interarrival_deviation_us] = optional;
                CallFigures {
                    call,
                    end_known,
                    expected: expected.max(lost),
                    lost: expected.min(lost),
                    late,
                    overflow,
                    burst_ratio_milli,
                    delay: delay.map(|(mean_us, p95_us, largest_us)| DelayFigures {
                        mean_us,
                        p95_us,
                        largest_us,
                    }),
                    rfc3550_us,
                    mean_abs_d_us,
                    interarrival_deviation_us,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn parse_inverts_emit(figures in figures()) {
            let mut bytes = Vec::new();
            figures.emit(&mut bytes);
            prop_assert_eq!(CallFigures::parse(bytes.try_into().unwrap()), Some(figures));
        }
    }

    fn call(number: u16, lost: u32, delay_us: i64) -> CallFigures {
        let delay = DelayFigures { mean_us: [delay_us, delay_us + 2_000], ..DelayFigures::default() };
        CallFigures { call: number, expected: 4_500, lost, delay: Some(delay), ..CallFigures::default() }
    }

    #[test]
    fn calls_are_rated_one_by_one_and_then_averaged() {
        let plan = Plan::paper_a(3);
        let direction =
            Direction::new(&plan, &[call(0, 0, 10_000), call(1, 450, 20_000), call(2, 45, 30_000)], None);
        assert_eq!(direction.worst_call, Some(1));
        let average = &direction.average;
        assert!((average.network_loss.unwrap() - 0.11 / 3.0).abs() < 1e-9);
        assert_eq!(average.delay_ms, Some(Interval::new(20.0, 22.0)));
        let scores: Vec<f64> =
            direction.calls.iter().map(|call| call.judgement.paper_a.as_ref().unwrap().mos.low).collect();
        assert!((average.mos_paper_a.unwrap().low - scores.iter().sum::<f64>() / 3.0).abs() < 1e-9);
        // The mean of scores is not the score of the mean.
        let of_mean = Direction::new(&plan, &[call(0, 165, 20_000)], None);
        assert!((of_mean.average.mos_paper_a.unwrap().low - average.mos_paper_a.unwrap().low).abs() > 0.01);
    }

    #[test]
    fn a_mean_of_some_calls_is_not_the_mean() {
        let silent = CallFigures { call: 1, ..CallFigures::default() };
        let direction = Direction::new(&Plan::paper_a(2), &[call(0, 0, 10_000), silent], None);
        assert_eq!(direction.average.mos_g107, None);
        assert_eq!(direction.worst_call, Some(1));
    }

    #[test]
    fn paper_a_s_formula_is_for_g729_only() {
        let plan = Plan { traffic: Traffic::G711, ..Plan::paper_a(1) };
        let direction = Direction::new(&plan, &[call(0, 0, 10_000)], None);
        assert!(direction.average.mos_g107.unwrap().low > 4.0);
        assert_eq!(direction.average.mos_paper_a, None);
    }
}
