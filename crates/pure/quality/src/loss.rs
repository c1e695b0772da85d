//! Which packets were lost: how many, and how they cluster.

use serde::Serialize;

/// Received packets in a row that end a burst (`Gmin`, RFC 3611, section 4.7.2; 16 is the recommended value).
pub const GMIN: u32 = 16;

/// How many runs of lost packets had 1 packet, 2, and so on up to 10, and how many had more: the last one.
///
/// Listeners bear twenty single losses better than one run of twenty, which a mean does not show.
pub type RunLengths = [u64; 11];

/// The class of runs that are longer than all others.
const RUN_CLASS_MAX: usize = 10;

/// Counts losses in the order of sequence numbers.
#[derive(Clone, Debug, Default)]
pub struct LossPattern {
    expected: u64,
    lost: u64,
    runs: u64,
    run_lengths: RunLengths,
    in_run: bool,
    run: u64,
    run_max: u64,
    episode: Option<Episode>,
    closed: Episodes,
}

/// Losses that lie fewer than [`GMIN`] received packets apart.
#[derive(Clone, Copy, Debug)]
struct Episode {
    losses: u64,
    /// From the first to the last loss, both counted.
    length: u64,
    received_since: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Episodes {
    bursts: u64,
    burst_packets: u64,
    burst_losses: u64,
}

impl Episodes {
    /// A single loss with room on both sides belongs to the gap around it.
    fn close(&mut self, episode: Episode) {
        if episode.losses > 1 {
            self.bursts += 1;
            self.burst_packets += episode.length;
            self.burst_losses += episode.losses;
        }
    }
}

/// What a [`LossPattern`] amounts to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Loss {
    /// Packets that were sent, by their sequence numbers.
    pub expected: u64,
    /// How many of them are missing.
    pub lost: u64,
    /// `lost / expected`, 0 to 1. `None`: nothing was expected.
    pub rate: Option<f64>,
    /// Mean length of a run of lost packets.
    pub mean_run: Option<f64>,
    /// The longest run of lost packets.
    pub longest_run: u64,
    /// How long the runs of lost packets were.
    pub run_lengths: RunLengths,
    /// `BurstR` of G.107: the mean run over the one that random loss of this rate would have, `1 / (1 − rate)`.
    /// `None`: nothing lost, or everything.
    pub burst_ratio: Option<f64>,
    /// Bursts and gaps of RFC 3611, section 4.7.2.
    pub bursts: Bursts,
}

/// Bursts, in which losses lie close together, and the gaps between them: RFC 3611, section 4.7.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bursts {
    /// How many bursts there were.
    pub count: u64,
    /// Share of packets lost within bursts. `None`: no burst.
    pub burst_density: Option<f64>,
    /// Share of packets lost within gaps. `None`: no gap.
    pub gap_density: Option<f64>,
    /// Mean length of a burst in packets.
    pub burst_packets: Option<f64>,
    /// Mean length of a gap in packets.
    pub gap_packets: Option<f64>,
}

impl LossPattern {
    /// Takes the next packet in the order of sequence numbers.
    pub fn push(&mut self, lost: bool) {
        self.expected += 1;
        if lost {
            self.lost += 1;
            self.run = if self.in_run { self.run + 1 } else { 1 };
            self.runs += u64::from(!self.in_run);
            self.run_max = self.run_max.max(self.run);
            self.lengthen_run();
        }
        self.in_run = lost;
        self.follow_episode(lost);
    }

    /// The run that is open counts as what it is so far: in one class more, and in the class before no more.
    fn lengthen_run(&mut self) {
        let class = |length: u64| usize::try_from(length - 1).unwrap_or(usize::MAX).min(RUN_CLASS_MAX);
        if self.run > 1 {
            self.run_lengths[class(self.run - 1)] -= 1;
        }
        self.run_lengths[class(self.run)] += 1;
    }

    /// Whether the last packet was lost.
    pub(crate) const fn is_in_run(&self) -> bool {
        self.in_run
    }

    fn follow_episode(&mut self, lost: bool) {
        match (&mut self.episode, lost) {
            (Some(episode), true) => {
                episode.losses += 1;
                episode.length += u64::from(episode.received_since) + 1;
                episode.received_since = 0;
            }
            (none @ None, true) => *none = Some(Episode { losses: 1, length: 1, received_since: 0 }),
            (Some(episode), false) => {
                episode.received_since += 1;
                if episode.received_since >= GMIN {
                    self.closed.close(*episode);
                    self.episode = None;
                }
            }
            (None, false) => {}
        }
    }

    /// Packets so far.
    pub const fn expected(&self) -> u64 {
        self.expected
    }

    /// Losses so far.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// The figures so far.
    pub fn loss(&self) -> Loss {
        let rate = ratio(self.lost, self.expected);
        let mean_run = ratio(self.lost, self.runs);
        let burst_ratio = match (rate, mean_run) {
            (Some(rate), Some(run)) if rate < 1.0 => Some(run * (1.0 - rate)),
            _ => None,
        };
        Loss {
            expected: self.expected,
            lost: self.lost,
            rate,
            mean_run,
            longest_run: self.run_max,
            run_lengths: self.run_lengths,
            burst_ratio,
            bursts: self.bursts(),
        }
    }

    fn bursts(&self) -> Bursts {
        let mut all = self.closed;
        if let Some(open) = self.episode {
            all.close(open);
        }
        let gap_packets = self.expected - all.burst_packets;
        let gaps = if gap_packets > 0 { all.bursts + 1 } else { 0 };
        Bursts {
            count: all.bursts,
            burst_density: ratio(all.burst_losses, all.burst_packets),
            gap_density: ratio(self.lost - all.burst_losses, gap_packets),
            burst_packets: ratio(all.burst_packets, all.bursts),
            gap_packets: ratio(gap_packets, gaps),
        }
    }
}

/// `part / whole`, `None` for nothing of nothing.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(pattern: &str) -> Loss {
        let mut losses = LossPattern::default();
        for packet in pattern.chars() {
            losses.push(packet == 'x');
        }
        losses.loss()
    }

    #[test]
    fn nothing_is_not_zero_loss() {
        assert_eq!(of("").rate, None);
        assert_eq!(of("....").rate, Some(0.0));
        assert_eq!(of("....").burst_ratio, None);
    }

    /// G.107, clause 7.5, by hand: 4 of 16 lost in runs of 3 and 1. Mean 2, random would be 1 / 0.75.
    #[test]
    fn burst_ratio_by_hand() {
        let loss = of("..xxx....x......");
        assert_eq!((loss.lost, loss.longest_run, loss.mean_run), (4, 3, Some(2.0)));
        assert_eq!(loss.burst_ratio, Some(1.5));
    }

    #[test]
    fn everything_lost_has_no_burst_ratio() {
        let loss = of("xxxx");
        assert_eq!((loss.rate, loss.burst_ratio), (Some(1.0), None));
    }

    /// RFC 3611, section 4.7.2: a lone loss is in a gap, two within 15 packets are a burst.
    #[test]
    fn bursts_and_gaps_by_hand() {
        let far = ".".repeat(16);
        let near = ".".repeat(15);
        let alone = of(&format!("{far}x{far}x{far}"));
        assert_eq!(alone.bursts.count, 0);
        assert_eq!(alone.bursts.gap_density, Some(2.0 / 50.0));
        let together = of(&format!("{far}x{near}x{far}x{far}"));
        assert_eq!(together.bursts.count, 1);
        assert_eq!(together.bursts.burst_packets, Some(17.0));
        assert_eq!(together.bursts.burst_density, Some(2.0 / 17.0));
        assert_eq!(together.bursts.gap_density, Some(1.0 / 49.0));
        let open = of("....xx");
        assert_eq!((open.bursts.count, open.bursts.burst_density), (1, Some(1.0)));
    }

    proptest! {
        /// The machine in one pass against the definition, looked up in the whole list.
        #[test]
        fn counts_as_the_definition_does(pattern in prop::collection::vec(prop::bool::weighted(0.2), 0..400), outage in 0_usize..30) {
            // Chance makes no long runs.
            let pattern = [pattern, vec![true; outage], vec![false]].concat();
            let mut losses = LossPattern::default();
            pattern.iter().for_each(|lost| losses.push(*lost));
            let loss = losses.loss();
            let runs: Vec<usize> =
                pattern.split(|lost| !lost).map(<[bool]>::len).filter(|length| *length > 0).collect();
            prop_assert_eq!(loss.lost, runs.iter().sum::<usize>() as u64);
            prop_assert_eq!(loss.longest_run, runs.iter().copied().max().unwrap_or(0) as u64);
            for (class, count) in loss.run_lengths.iter().enumerate() {
                let of_class = |run: &&usize| **run == class + 1 || (class == 10 && **run > 10);
                prop_assert_eq!(*count, runs.iter().filter(of_class).count() as u64);
            }
            if let Some(ratio) = loss.burst_ratio {
                let mean = loss.lost as f64 / runs.len() as f64;
                prop_assert!((ratio - mean * (1.0 - loss.rate.unwrap())).abs() < 1e-9);
            }
        }

        /// Random loss has a burst ratio near 1.
        #[test]
        fn random_loss_is_not_bursty(seed: u64) {
            let mut losses = LossPattern::default();
            let mut state = seed | 1;
            for _ in 0..200_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                losses.push((state >> 40) % 10 == 0);
            }
            let ratio = losses.loss().burst_ratio.unwrap();
            prop_assert!((0.97..1.03).contains(&ratio), "{}", ratio);
        }
    }
}
