//! A histogram that costs an addition.

/// How often something took how long, in seconds, or how good it was: Prometheus' classic histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    /// Upper bounds in seconds, or scores, which a value may reach; what is beyond the last one has a count of its own.
    bounds: &'static [f64],
    counts: Vec<u64>,
    beyond: u64,
    sum: f64,
}

impl Buckets {
    /// The time in which a home decides: a machine's answer is there at once, a store or a chain of homes is asked first.
    pub fn decisions() -> Self {
        Self::new(&[0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0])
    }

    /// The time from a guest's first message until its packets pass.
    pub fn setups() -> Self {
        Self::new(&[0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
    }

    /// Mean opinion scores of calls: the limits of ITU-T G.107, annex B, where most are satisfied, some, and hardly anybody.
    pub fn scores() -> Self {
        Self::new(&[1.0, 2.0, 2.6, 3.1, 3.6, 4.0, 4.3, 4.5])
    }

    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len()], beyond: 0, sum: 0.0 }
    }

    pub fn observe(&mut self, took: guestright_units::Micros) {
        // 2^53 microseconds are 285 years.
        #[expect(clippy::cast_precision_loss, reason = "a wait is shorter than centuries")]
        let seconds = took.0 as f64 / 1e6;
        self.add(seconds, 1);
    }

    /// So many calls had this score, in hundredths.
    pub fn observe_scores(&mut self, hundredths: u16, calls: u64) {
        self.add(f64::from(hundredths) / 100.0, calls);
    }

    fn add(&mut self, value: f64, times: u64) {
        #[expect(clippy::cast_precision_loss, reason = "nobody makes 2^53 calls")]
        let all = value * times as f64;
        self.sum += all;
        let bucket = self.bounds.iter().zip(&mut self.counts).find(|(bound, _)| value <= **bound);
        *bucket.map_or(&mut self.beyond, |(_, count)| count) += times;
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }

    /// All together, in seconds or scores.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Each bound with how many were within it and beyond the one before; the last bound is infinite.
    pub fn each(&self) -> impl Iterator<Item = (f64, u64)> {
        let counts = self.counts.iter().chain([&self.beyond]).copied();
        self.bounds.iter().copied().chain([f64::INFINITY]).zip(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::Micros;

    #[test]
    fn a_wait_is_in_the_first_bucket_that_is_wide_enough() {
        let mut buckets = Buckets::setups();
        for millis in [0, 50, 51, 10_000, 10_001, 3_600_000] {
            buckets.observe(Micros::from_millis(millis));
        }
        let counts: Vec<_> = buckets.each().map(|(_, count)| count).collect();
        assert_eq!(counts, [2, 1, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(buckets.count(), 6);
        assert!((buckets.sum() - 3_620.102).abs() < 1e-9, "{}", buckets.sum());
    }

    #[test]
    fn a_score_is_in_the_bucket_of_its_satisfaction() {
        let mut buckets = Buckets::scores();
        for (hundredths, calls) in [(100, 1), (360, 2), (361, 3), (450, 4)] {
            buckets.observe_scores(hundredths, calls);
        }
        let counts: Vec<_> = buckets.each().map(|(_, count)| count).collect();
        assert_eq!(counts, [1, 0, 0, 0, 2, 3, 0, 4, 0]);
        assert!((buckets.sum() - 37.03).abs() < 1e-9, "{}", buckets.sum());
    }
}
