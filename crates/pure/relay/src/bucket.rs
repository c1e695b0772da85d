use guestright_units::{Micros, Time};

/// Lets a rate pass, and a burst on top of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// The time one datagram takes at the full rate.
    each: Micros,
    /// How far `due` may lie ahead.
    depth: Micros,
    /// When the bucket will be full again. (The generic cell rate algorithm, ITU-T I.371 annex A.)
    due: Time,
}

impl Bucket {
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let each = 1_000_000 / u64::from(per_second.max(1));
        Self { each: Micros(each), depth: Micros(each * u64::from(burst)), due: Time(0) }
    }

    /// Whether one more may pass now.
    pub(crate) fn admit(&mut self, now: Time) -> bool {
        let due = self.due.max(now);
        if due.since(now) > self.depth {
            return false;
        }
        self.due = due + self.each;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lets_the_rate_and_one_burst_pass() {
        let mut bucket = Bucket::new(100, 20);
        let at_once = (0..1_000).filter(|_| bucket.admit(Time(5_000_000))).count();
        assert_eq!(at_once, 21);
        let over_a_second = (0..10_000).filter(|step| bucket.admit(Time(5_000_000 + step * 100))).count();
        assert!((99..=101).contains(&over_a_second), "{over_a_second}");
    }

    #[test]
    fn is_full_again_after_a_pause_and_no_fuller() {
        let mut bucket = Bucket::new(100, 20);
        while bucket.admit(Time(0)) {}
        let later = Time(3_600_000_000);
        assert_eq!((0..1_000).filter(|_| bucket.admit(later)).count(), 21);
    }
}
