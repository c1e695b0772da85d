use guestright_units::{BitsPerSecond, Micros, Seed, Time};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// When the next report is due (RFC 3550, section 6.3 and appendix A.7), in a call of two.
#[derive(Clone, Debug)]
pub struct Schedule {
    rng: ChaCha8Rng,
    /// Bytes of RTCP in a second: a twentieth of the session's.
    bytes_per_second: f64,
    /// Mean size of a compound packet with UDP and IP headers.
    size_mean: f64,
    minimum: f64,
    is_first: bool,
    due: Time,
}

/// UDP and IPv4 headers, which RFC 3550, section 6.2, counts in.
const LOWER_HEADERS: f64 = 28.0;

impl Schedule {
    /// Section 6.2: no report more often than every five seconds, on average.
    pub const MINIMUM: Micros = Micros::from_seconds(5);

    /// - `session`: what the media of the call takes, one direction.
    /// - `minimum`: [`Schedule::MINIMUM`], or less by the rule for unicast in section 6.2.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "rates of calls are far below 2^52")]
    pub fn new(seed: &Seed, session: BitsPerSecond, minimum: Micros, now: Time) -> Self {
        let mut schedule = Self {
            rng: ChaCha8Rng::from_seed(seed.0),
            bytes_per_second: session.0.get() as f64 / 8.0 * 0.05,
            size_mean: 100.0 + LOWER_HEADERS,
            minimum: minimum.as_seconds(),
            is_first: true,
            due: now,
        };
        schedule.plan(now);
        schedule
    }

    /// When the next report is due.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// A report of so many bytes went out; plans the next.
    pub fn sent(&mut self, bytes: usize, now: Time) {
        self.saw(bytes);
        self.is_first = false;
        self.plan(now);
    }

    /// A report of so many bytes came in: the mean size is over both directions.
    #[expect(clippy::cast_precision_loss, reason = "a packet is small")]
    pub fn saw(&mut self, bytes: usize) {
        self.size_mean += (bytes as f64 + LOWER_HEADERS - self.size_mean) / 16.0;
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and brought below a day"
    )]
    fn plan(&mut self, now: Time) {
        // Two members, both of whom may send: each gets half of the share.
        let by_rate = 2.0 * self.size_mean / self.bytes_per_second.max(1.0);
        let minimum = if self.is_first { self.minimum / 2.0 } else { self.minimum };
        let seconds = by_rate.max(minimum) * self.rng.random_range(0.5..1.5) / (std::f64::consts::E - 1.5);
        self.due = now + Micros((seconds.min(86_400.0) * 1e6) as u64);
    }
}
