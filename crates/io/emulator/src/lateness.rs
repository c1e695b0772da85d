use std::time::Duration;

/// The width of a class.
const WIDTH: Duration = Duration::from_micros(10);
/// How many classes there are; what is later than all of them is in the last.
const CLASSES: usize = 2_000;

/// How much later than it should have been something happened, many times: in classes of 10 µs up to 20 ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    classes: Vec<u64>,
    count: u64,
    sum: Duration,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { classes: vec![0; CLASSES], count: 0, sum: Duration::ZERO, max: Duration::ZERO }
    }
}

impl Lateness {
    pub fn note(&mut self, late: Duration) {
        let class = usize::try_from(late.as_nanos() / WIDTH.as_nanos()).unwrap_or(CLASSES);
        self.classes[class.min(CLASSES - 1)] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(late);
        self.max = self.max.max(late);
    }

    /// How many were noted.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; nothing if there is none.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let nanos = self.sum.as_nanos().checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    #[must_use]
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// What so many of a thousand did not surpass, rounded up to a class; nothing if there is none.
    #[must_use]
    pub fn quantile(&self, per_mille: u16) -> Option<Duration> {
        let rank = (self.count * u64::from(per_mille.min(1_000))).div_ceil(1_000).max(1);
        let mut seen = 0;
        for (class, count) in (1..).zip(&self.classes) {
            seen += count;
            if seen >= rank {
                return Some(if class as usize == CLASSES {
                    self.max
                } else {
                    (WIDTH * class).min(self.max)
                });
            }
        }
        None
    }

    /// These and those.
    pub fn add(&mut self, other: &Self) {
        self.classes.iter_mut().zip(&other.classes).for_each(|(mine, theirs)| *mine += theirs);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_upper_bounds_of_their_classes() {
        let mut lateness = Lateness::default();
        assert_eq!((lateness.mean(), lateness.quantile(500)), (None, None));
        for micros in 0..1_000 {
            lateness.note(Duration::from_micros(micros));
        }
        assert_eq!(lateness.count(), 1_000);
        assert_eq!(lateness.mean(), Some(Duration::from_nanos(499_500)));
        assert_eq!(lateness.quantile(500), Some(Duration::from_micros(500)));
        assert_eq!(lateness.quantile(990), Some(Duration::from_micros(990)));
        assert_eq!(lateness.quantile(1_000), Some(Duration::from_micros(999)), "never above the longest");
        lateness.note(Duration::from_secs(7));
        assert_eq!(
            (lateness.max(), lateness.quantile(1_000)),
            (Duration::from_secs(7), Some(Duration::from_secs(7)))
        );
    }

    #[test]
    fn two_accounts_are_added() {
        let (mut one, mut two) = (Lateness::default(), Lateness::default());
        one.note(Duration::from_micros(5));
        two.note(Duration::from_micros(95));
        one.add(&two);
        assert_eq!(
            (one.count(), one.mean(), one.max()),
            (2, Some(Duration::from_micros(50)), Duration::from_micros(95))
        );
    }
}
