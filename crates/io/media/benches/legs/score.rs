//! From each packet's delay to a mean opinion score.

use guestright_quality::{Codec, Interval, Judge, LossPattern, Measured};

/// How long after the first packet's way the buffer waits for others.
const PLAYOUT_MS: f64 = 60.0;

/// One direction of one leg: each packet's delay in µs, `None` for those that did not come.
pub(crate) struct Track<'a>(pub(crate) &'a [Option<u32>]);

/// What became of all directions of all legs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    pub(crate) worst_mos: f64,
    pub(crate) mean_mos: f64,
    pub(crate) lost: f64,
    pub(crate) late: f64,
    pub(crate) delay_mean_ms: f64,
    pub(crate) delay_p99_ms: f64,
    pub(crate) jitter_ms: f64,
}

pub(crate) fn score<'a>(tracks: impl Iterator<Item = Track<'a>>) -> Score {
    let mut delays: Vec<f64> = Vec::new();
    let (mut worst_mos, mut sum_mos, mut count) = (f64::INFINITY, 0.0, 0.0);
    let (mut lost, mut late, mut expected, mut jitter) = (0.0, 0.0, 0.0, 0.0);
    for track in tracks {
        let judged = track.judge(&mut delays);
        worst_mos = worst_mos.min(judged.mos);
        sum_mos += judged.mos;
        count += 1.0;
        lost += judged.lost;
        late += judged.late;
        jitter += judged.jitter_ms;
        expected += float(track.0.len());
    }
    delays.sort_unstable_by(f64::total_cmp);
    let p99 = delays.get(delays.len() * 99 / 100).copied().unwrap_or(f64::NAN);
    Score {
        worst_mos,
        mean_mos: sum_mos / count,
        lost: lost / expected,
        late: late / expected,
        delay_mean_ms: delays.iter().sum::<f64>() / float(delays.len()),
        delay_p99_ms: p99,
        jitter_ms: jitter / count,
    }
}

struct Judged {
    mos: f64,
    lost: f64,
    late: f64,
    jitter_ms: f64,
}

impl Track<'_> {
    fn judge(&self, delays: &mut Vec<f64>) -> Judged {
        let came: Vec<f64> = self.0.iter().flatten().map(|delay| f64::from(*delay) / 1_000.0).collect();
        let expected = float(self.0.len());
        let lost = expected - float(came.len());
        let Some(first) = came.first() else { return Judged { mos: 1.0, lost, late: 0.0, jitter_ms: 0.0 } };
        let late = float(came.iter().filter(|delay| **delay > first + PLAYOUT_MS).count());
        let mut missing = LossPattern::default();
        for delay in self.0 {
            missing.push(delay.is_none_or(|delay| f64::from(delay) / 1_000.0 > first + PLAYOUT_MS));
        }
        // RFC 3550, section 6.4.1.
        let changes = came.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let jitter_ms = changes.fold(0.0, |jitter, change| jitter + (change - jitter) / 16.0);
        let measured = Measured {
            network_loss: Some(lost / expected),
            dejitter_loss: late / float(came.len()),
            burst_ratio: missing.loss().burst_ratio,
            network_delay_ms: Some(Interval::exact(came.iter().sum::<f64>() / float(came.len()))),
            delay_assumed: false,
        };
        let judgement = Judge { playout_ms: PLAYOUT_MS, ..Judge::paper_a(Codec::G711uPlc) }.judge(&measured);
        let mos = judgement.conversation.expect("all inputs are there").mos.low;
        delays.extend(came);
        Judged { mos, lost, late, jitter_ms }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of packets are far below 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}
