//! A histogram that costs an addition.

/// How often something took how long, in seconds: Prometheus' classic histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    /// Upper bounds in seconds, which a value may reach; what is beyond the last one has a count of its own.
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

    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len()], beyond: 0, sum: 0.0 }
    }

    pub fn observe(&mut self, took: guestright_units::Micros) {
        // 2^53 microseconds are 285 years.
        #[expect(clippy::cast_precision_loss, reason = "a wait is shorter than centuries")]
        let seconds = took.0 as f64 / 1e6;
        self.sum += seconds;
        let bucket = self.bounds.iter().zip(&mut self.counts).find(|(bound, _)| seconds <= **bound);
        *bucket.map_or(&mut self.beyond, |(_, count)| count) += 1;
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }

    /// All together, in seconds.
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
}
