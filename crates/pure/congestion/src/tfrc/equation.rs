//! The throughput equation.

/// The rate in bytes per second of a TCP with segments of `segment` bytes, a round-trip time of `round_trip_s` seconds and a
/// loss event rate `p` (section 3.1, with `b = 1` and `t_RTO = 4 R`):
///
/// `X = s / (R sqrt(2 p / 3) + 4 R (3 sqrt(3 p / 8) p (1 + 32 p^2)))`.
///
/// `None` without losses (there is no bound), or if a number makes no sense.
#[must_use]
pub fn equation(segment: u32, round_trip_s: f64, p: f64) -> Option<f64> {
    if !(p > 0.0 && p <= 1.0 && round_trip_s > 0.0 && round_trip_s.is_finite()) || segment == 0 {
        return None;
    }
    Some(f64::from(segment) / (round_trip_s * round_trips(p)))
}

/// Round trips for each packet.
fn round_trips(p: f64) -> f64 {
    (2.0 * p / 3.0).sqrt() + 4.0 * (3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
}

/// The loss event rate for which [`equation`] gives `rate` bytes per second: what the first loss interval is made of
/// (section 6.3.1). From 10^-10 to 1.
#[must_use]
pub fn loss_event_rate_for(segment: u32, round_trip_s: f64, rate: f64) -> f64 {
    let (mut low, mut high) = (1e-10, 1.0);
    if !(rate > 0.0 && round_trip_s > 0.0) {
        return high;
    }
    let wanted = f64::from(segment) / (rate * round_trip_s);
    // Halving: more losses, more round trips for a packet. 60 halvings leave nothing of a double's precision.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if round_trips(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
