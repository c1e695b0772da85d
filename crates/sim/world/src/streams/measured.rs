use crate::sums::mean;
use guestright_engine::{Instant, Nanos};
use guestright_experiment::{MetricInfo, Outcome};
use guestright_quality::JitterMeter;

/// Ticks per second of the RTP timestamps of G.711 and G.729 (RFC 3551, section 4.5).
const CLOCK_HZ: u32 = 8_000;

/// What is measured of the streams.
pub(super) const METRICS: [MetricInfo; 22] = [
    MetricInfo::new("loss", "", "Packets that never arrived, over packets sent."),
    MetricInfo::new("sent_pps", "1/s", "Packets that the generator sent a second."),
    MetricInfo::new(
        "delivered_pps",
        "1/s",
        "Packets that came back to the generator, over the length of the test. Those that were still on their way when \
         it stopped sending count too, so that a full queue makes it a little more than the channel carries.",
    ),
    MetricInfo::new(
        "throughput_kbps",
        "kb/s",
        "The same in bits of the original IP packets (paper B, Figure 2b), late ones included.",
    ),
    MetricInfo::new("latency_ms", "ms", "Mean time from the generator and back to it (Figure 3a)."),
    MetricInfo::new("latency_p50_ms", "ms", "Half of the packets took no longer."),
    MetricInfo::new("latency_p95_ms", "ms", "95 of 100 packets took no longer."),
    MetricInfo::new("latency_p99_ms", "ms", "99 of 100 packets took no longer."),
    MetricInfo::new("latency_max_ms", "ms", "The longest time."),
    MetricInfo::new("saturated_latency_ms", "ms", "Mean over packets sent in the last tenth of the test."),
    MetricInfo::new(
        "delay_variation_ms",
        "ms",
        "Jitter as variation of delay: mean |D| of RFC 3550, section 6.4.1, over neighbouring received packets.",
    ),
    MetricInfo::new(
        "jitter_rfc3550_ms",
        "ms",
        "RFC 3550's running estimate J at the end, mean over streams.",
    ),
    MetricInfo::new(
        "interarrival_deviation_by_stream_ms",
        "ms",
        "Jitter as variation of inter-arrival time: mean |gap − interval| over the received packets of each stream, and then \
         over streams; a lost packet counts as a gap.",
    ),
    MetricInfo::new(
        "interarrival_deviation_by_packet_ms",
        "ms",
        "The same over the gaps of all streams alike, so that a stream counts by what of it arrives.",
    ),
    MetricInfo::new("worst_loss", "", "The loss of the stream that lost most."),
    MetricInfo::new("queue_drops", "", "Packets that the station's full queue refused."),
    MetricInfo::new("retry_drops", "", "Packets that the station gave up after its last attempt."),
    MetricInfo::new(
        "queue_max",
        "",
        "The most packets that waited in the station, the one on the air included.",
    ),
    MetricInfo::new("first_drop_s", "s", "When the first packet was lost; not measured if none was."),
    MetricInfo::new(
        "air_share",
        "",
        "Time for which the channel was busy, pauses within exchanges included, over the test's.",
    ),
    MetricInfo::new("lossless", "", "1 if no packet was lost, 0 otherwise."),
    MetricInfo::new(
        "loss_steady",
        "",
        "Loss over the second half of the test, when a queue that will fill has had time to do so.",
    ),
];

/// Counts packets as they are sent and come back.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    streams: Vec<Stream>,
    latencies_ns: Vec<u64>,
    late: Mean,
    half: (u64, u64),
    interval: Nanos,
    /// What is sent before this does not count.
    warmup: Nanos,
    length: Nanos,
    first_drop: Option<Instant>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    sent: u64,
    delivered: u64,
    jitter: JitterMeter,
    last: Option<Instant>,
    deviation: Mean,
}

/// A mean of whole nanoseconds; exact until it is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum_ns: u128,
    count: u64,
}

impl Mean {
    fn add(&mut self, span: Nanos) {
        self.sum_ns += u128::from(span.0);
        self.count += 1;
    }

    #[expect(clippy::cast_precision_loss, reason = "sums are far below 2^52 µs")]
    fn millis(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e6)
    }
}

impl Measured {
    /// For so many streams with a packet every `interval`, from `warmup` to `length` after the start.
    pub(super) fn new(streams: usize, interval: Nanos, warmup: Nanos, length: Nanos) -> Self {
        Self {
            streams: vec![Stream::default(); streams],
            latencies_ns: Vec::new(),
            late: Mean::default(),
            half: (0, 0),
            interval,
            warmup,
            length,
            first_drop: None,
        }
    }

    /// A packet was sent.
    pub(super) fn sent(&mut self, stream: usize, at: Instant) {
        if at.0 < self.warmup.0 {
            return;
        }
        self.streams[stream].sent += 1;
        self.half.0 += u64::from(self.is_second_half(at));
    }

    /// A packet was lost.
    pub(super) fn lost(&mut self, at: Instant) {
        self.first_drop.get_or_insert(at);
    }

    /// The packet `sequence` of a stream, sent at `sent`, is back.
    pub(super) fn delivered(&mut self, stream: usize, sequence: u32, sent: Instant, now: Instant) {
        if sent.0 < self.warmup.0 {
            return;
        }
        let latency = now.since(sent);
        self.latencies_ns.push(latency.0);
        if sent.0 >= self.warmup.0 + (self.length.0 - self.warmup.0) / 10 * 9 {
            self.late.add(latency);
        }
        self.half.1 += u64::from(self.is_second_half(sent));
        let interval = self.interval;
        let stream = &mut self.streams[stream];
        stream.delivered += 1;
        let ticks = u128::from(sequence) * u128::from(interval.0) * u128::from(CLOCK_HZ) / 1_000_000_000;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "RTP timestamps wrap at 2^32 (RFC 3550, section 5.1)"
        )]
        stream.jitter.add(now.time(), ticks as u32, CLOCK_HZ);
        if let Some(last) = stream.last.replace(now) {
            stream.deviation.add(Nanos(now.since(last).0.abs_diff(interval.0)));
        }
    }

    fn is_second_half(&self, sent: Instant) -> bool {
        sent.0 >= self.warmup.0 + (self.length.0 - self.warmup.0) / 2
    }

    /// The figures, of packets that have `packet_bytes` at the generator.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn note(mut self, packet_bytes: u32, outcome: &mut Outcome) {
        let sent: u64 = self.streams.iter().map(|stream| stream.sent).sum();
        let delivered: u64 = self.streams.iter().map(|stream| stream.delivered).sum();
        let length_s = Nanos(self.length.0 - self.warmup.0).as_seconds();
        let delivered_pps = delivered as f64 / length_s;
        let share = |lost: u64, of: u64| (of > 0).then(|| lost as f64 / of as f64);
        outcome.set("loss", share(sent - delivered, sent));
        outcome.set("loss_steady", share(self.half.0 - self.half.1, self.half.0));
        outcome.set("lossless", f64::from(u8::from(sent == delivered)));
        outcome.set("sent_pps", sent as f64 / length_s);
        outcome.set("delivered_pps", delivered_pps);
        outcome.set("throughput_kbps", delivered_pps * f64::from(packet_bytes) * 8.0 / 1e3);
        outcome.set("first_drop_s", self.first_drop.map(|at| at.since(Instant::START).as_seconds()));
        let worst =
            self.streams.iter().filter_map(|stream| share(stream.sent - stream.delivered, stream.sent));
        outcome.set("worst_loss", worst.max_by(f64::total_cmp));
        outcome.set("saturated_latency_ms", self.late.millis());
        self.note_latency(outcome);
        self.note_jitter(outcome);
    }

    fn note_latency(&mut self, outcome: &mut Outcome) {
        let mut all = Mean::default();
        self.latencies_ns.iter().for_each(|latency| all.add(Nanos(*latency)));
        outcome.set("latency_ms", all.millis());
        self.latencies_ns.sort_unstable();
        for (metric, percent) in
            [("latency_p50_ms", 50), ("latency_p95_ms", 95), ("latency_p99_ms", 99), ("latency_max_ms", 100)]
        {
            // The least latency that so many percent of all do not exceed.
            let rank = (self.latencies_ns.len() * percent).div_ceil(100).saturating_sub(1);
            outcome.set(metric, self.latencies_ns.get(rank).map(|latency| Nanos(*latency).as_millis()));
        }
    }

    fn note_jitter(&self, outcome: &mut Outcome) {
        let jitters = || self.streams.iter().map(|stream| stream.jitter.jitter());
        outcome.set("delay_variation_ms", mean(jitters().filter_map(|jitter| jitter.mean_abs_d_ms)));
        outcome.set("jitter_rfc3550_ms", mean(jitters().filter_map(|jitter| jitter.rfc3550_ms)));
        let deviations = self.streams.iter().filter_map(|stream| stream.deviation.millis());
        outcome.set("interarrival_deviation_by_stream_ms", mean(deviations));
        let mut all = Mean::default();
        for stream in &self.streams {
            all.sum_ns += stream.deviation.sum_ns;
            all.count += stream.deviation.count;
        }
        outcome.set("interarrival_deviation_by_packet_ms", all.millis());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::START + Nanos::from_millis(ms)
    }

    /// One stream of a packet every 20 ms; `None` is a loss.
    fn measure(latencies_ms: &[Option<u64>]) -> Outcome {
        let length = Nanos::from_millis(20 * latencies_ms.len() as u64);
        let mut measured = Measured::new(1, Nanos::from_millis(20), Nanos(0), length);
        for (sequence, latency) in (0_u32..).zip(latencies_ms) {
            let sent = at(20 * u64::from(sequence));
            measured.sent(0, sent);
            match latency {
                Some(latency) => measured.delivered(0, sequence, sent, sent + Nanos::from_millis(*latency)),
                None => measured.lost(sent),
            }
        }
        let mut outcome = Outcome::default();
        measured.note(60, &mut outcome);
        outcome
    }

    /// Of five packets the first two, one of them lost, are of the warm-up.
    #[test]
    fn what_is_sent_in_the_warm_up_does_not_count() {
        let (interval, length) = (Nanos::from_millis(20), Nanos::from_millis(100));
        let mut measured = Measured::new(1, interval, Nanos::from_millis(40), length);
        for (sequence, latency) in [(0, 90), (2, 1), (3, 1), (4, 4)] {
            let sent = at(20 * u64::from(sequence));
            measured.sent(0, sent);
            measured.delivered(0, sequence, sent, sent + Nanos::from_millis(latency));
        }
        measured.sent(0, at(20));
        measured.lost(at(20));
        let mut outcome = Outcome::default();
        measured.note(60, &mut outcome);
        let want = [("loss", 0.0), ("latency_ms", 2.0), ("latency_max_ms", 4.0), ("sent_pps", 50.0)];
        want.into_iter().for_each(|(metric, want)| close(&outcome, metric, want));
    }

    fn close(outcome: &Outcome, metric: &str, want: f64) {
        let got = outcome.metrics[metric].expect(metric);
        assert!((got - want).abs() < 1e-9, "{metric}: {got}, not {want}");
    }

    #[test]
    fn a_steady_stream_has_no_jitter_and_loses_nothing() {
        let outcome = measure(&[Some(3); 50]);
        for metric in
            ["loss", "delay_variation_ms", "jitter_rfc3550_ms", "interarrival_deviation_by_stream_ms"]
        {
            close(&outcome, metric, 0.0);
        }
        close(&outcome, "latency_ms", 3.0);
        close(&outcome, "delivered_pps", 50.0);
        close(&outcome, "throughput_kbps", 24.0);
        close(&outcome, "lossless", 1.0);
        assert_eq!(outcome.metrics["first_drop_s"], None);
    }

    #[test]
    fn an_interval_of_half_milliseconds_has_no_jitter_either() {
        let interval = Nanos(2_500_000);
        let mut measured = Measured::new(1, interval, Nanos(0), Nanos(interval.0 * 100));
        for sequence in 0..100_u32 {
            let sent = Instant::START + Nanos(interval.0 * u64::from(sequence));
            measured.sent(0, sent);
            measured.delivered(0, sequence, sent, sent + Nanos::from_millis(3));
        }
        let mut outcome = Outcome::default();
        measured.note(60, &mut outcome);
        for metric in ["delay_variation_ms", "jitter_rfc3550_ms", "interarrival_deviation_by_stream_ms"] {
            close(&outcome, metric, 0.0);
        }
        close(&outcome, "delivered_pps", 400.0);
    }

    #[test]
    fn a_lost_packet_is_a_gap_in_one_meaning_of_jitter_and_nothing_in_the_other() {
        // Arrivals at 1, 21, 61, 81: gaps 20, 40, 20.
        let outcome = measure(&[Some(1), Some(1), None, Some(1), Some(1)]);
        close(&outcome, "delay_variation_ms", 0.0);
        close(&outcome, "jitter_rfc3550_ms", 0.0);
        close(&outcome, "interarrival_deviation_by_stream_ms", 20.0 / 3.0);
        close(&outcome, "loss", 0.2);
        close(&outcome, "first_drop_s", 0.04);
        // The second half is what was sent at 50 ms and later.
        close(&outcome, "loss_steady", 0.0);
    }

    #[test]
    fn delays_that_vary_are_jitter_in_both() {
        // Delays 1, 5, 2: D is 4 and 3.
        let outcome = measure(&[Some(1), Some(5), Some(2)]);
        close(&outcome, "delay_variation_ms", 3.5);
        close(&outcome, "interarrival_deviation_by_stream_ms", 3.5);
        close(&outcome, "jitter_rfc3550_ms", 4.0 / 16.0 + (3.0 - 4.0 / 16.0) / 16.0);
    }

    #[test]
    fn a_stream_that_hardly_arrives_counts_as_a_stream_or_by_its_packets() {
        let mut measured = Measured::new(2, Nanos::from_millis(20), Nanos(0), Nanos::from_millis(200));
        for sequence in 0..10_u32 {
            let sent = at(20 * u64::from(sequence));
            measured.sent(0, sent);
            measured.delivered(0, sequence, sent, sent);
            measured.sent(1, sent);
            if sequence % 9 == 0 {
                measured.delivered(1, sequence, sent, sent);
            }
        }
        let mut outcome = Outcome::default();
        measured.note(60, &mut outcome);
        // One stream without deviation in nine gaps, one with 160 ms in its only gap.
        close(&outcome, "interarrival_deviation_by_stream_ms", 80.0);
        close(&outcome, "interarrival_deviation_by_packet_ms", 16.0);
        close(&outcome, "worst_loss", 0.8);
    }

    #[test]
    fn quantiles_are_latencies_that_occurred() {
        let latencies: Vec<_> = (1..=100).map(Some).collect();
        let outcome = measure(&latencies);
        close(&outcome, "latency_p50_ms", 50.0);
        close(&outcome, "latency_p95_ms", 95.0);
        close(&outcome, "latency_p99_ms", 99.0);
        close(&outcome, "latency_max_ms", 100.0);
        close(&outcome, "latency_ms", 50.5);
        // Sent in the last tenth of 2 s: the last ten.
        close(&outcome, "saturated_latency_ms", 95.5);
    }

    #[test]
    fn nothing_sent_is_nothing_measured() {
        let outcome = measure(&[]);
        for metric in [
            "loss",
            "latency_ms",
            "latency_p99_ms",
            "delay_variation_ms",
            "interarrival_deviation_by_stream_ms",
        ] {
            assert_eq!(outcome.metrics[metric], None, "{metric}");
        }
    }
}
