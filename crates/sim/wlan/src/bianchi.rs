//! What a saturated cell carries, by Bianchi's model.
//!
//! Each of `n` stations always has a frame. A station begins to send in a slot with probability `τ`, and its frame
//! collides with probability `p`, whatever happened before:
//!
//! - `τ = 2 / (1 + W + p · W · Σ_{i<m} (2p)^i)`, with `W = CWmin + 1` and `m` doublings up to `CWmax`;
//! - `p = 1 − (1 − τ)^(n−1)`;
//! - throughput: `P_s / E[slot]`, where a slot is idle (`σ`), has a success (`T_s`), or a collision (`T_c`).
//!
//! The model is near, not exact. It lets stations repeat for ever; it takes a collision to be over for its senders when it
//! is over for the others, while they wait for an ACK first; and it counts a slot for each busy period, while in truth
//! nobody but the last sender can use the first slot behind one (Bianchi and Tinnirello, "Remarks on IEEE 802.11 DCF
//! performance analysis", IEEE Communications Letters 9(8), 2005).
//!
//! Source: G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE Journal on
//! Selected Areas in Communications 18(3), 2000, equations 7, 9 and 13.

use crate::config::Mac;
use guestright_airtime::{ACK_BYTES, Phy};
use guestright_engine::Nanos;

/// A saturated cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// Stations that always have a frame; at least 1.
    pub stations: u32,
    pub cw_min: u32,
    /// How often the contention window is doubled at most (`m`).
    pub doublings: u32,
    /// `σ`.
    pub slot: Nanos,
    /// `T_s`: data, SIFS, ACK, DIFS.
    pub success: Nanos,
    /// `T_c`: data, DIFS.
    pub collision: Nanos,
}

/// What the model says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The probability that a station begins to send in a slot.
    pub tau: f64,
    /// The probability that a frame collides.
    pub collision: f64,
    /// Frames delivered in a second, of all stations together.
    pub frames_per_second: f64,
}

impl Saturation {
    /// `stations` stations that send IP packets of `bytes` with basic access.
    #[must_use]
    pub fn new(phy: &Phy, mac: &Mac, stations: u32, bytes: u32) -> Self {
        let data = phy.frame_time(bytes + mac.overhead_bytes, phy.data_rate);
        let ack = phy.frame_time(ACK_BYTES, phy.response_rate(phy.data_rate));
        Self {
            stations,
            cw_min: phy.cw_min,
            doublings: ((phy.cw_max + 1) / (phy.cw_min + 1)).max(1).ilog2(),
            slot: phy.slot,
            success: data + phy.sifs + ack + phy.difs(),
            collision: data + phy.difs(),
        }
    }

    /// Solves the model: `τ` by halving an interval, since the two equations cross once.
    #[must_use]
    pub fn predict(&self) -> Prediction {
        let others = self.stations.saturating_sub(1);
        let collision_at = |tau: f64| 1.0 - power(1.0 - tau, others);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.tau_at(collision_at(middle)) > middle { low = middle } else { high = middle }
        }
        let tau = f64::midpoint(low, high);
        let collision = collision_at(tau);
        let idle = power(1.0 - tau, self.stations.max(1));
        let success = f64::from(self.stations.max(1)) * tau * (1.0 - collision);
        let slot = idle * self.slot.as_seconds()
            + success * self.success.as_seconds()
            + (1.0 - idle - success) * self.collision.as_seconds();
        Prediction { tau, collision, frames_per_second: success / slot }
    }

    fn tau_at(&self, collision: f64) -> f64 {
        let window = f64::from(self.cw_min + 1);
        let sum: f64 = (0..self.doublings).map(|stage| power(2.0 * collision, stage)).sum();
        2.0 / (1.0 + window + collision * window * sum)
    }
}

/// By multiplication alone, so that it is the same on every computer.
fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_airtime::Rate;

    fn voice(stations: u32) -> Saturation {
        let phy = Phy { ack_rate: Some(Rate::Cck11), ..Phy::b() };
        Saturation::new(&phy, &Mac::default(), stations, 60)
    }

    #[test]
    fn solves_the_two_equations() {
        #[rustfmt::skip]
        let cases = [
            // stations, tau, p, frames/s
            (1, 2.0 / 33.0, 0.0,  1_197.6),
            (2, 0.057_04, 0.057_0, 1_429.0),
            (4, 0.050_65, 0.144_4, 1_551.0),
        ];
        for (stations, tau, collision, frames) in cases {
            let got = voice(stations).predict();
            assert!((got.tau - tau).abs() < 1e-5, "{stations}: {got:?}");
            assert!((got.collision - collision).abs() < 1e-4, "{stations}: {got:?}");
            assert!((got.frames_per_second / frames - 1.0).abs() < 1.5e-3, "{stations}: {got:?}");
        }
    }

    #[test]
    fn one_station_waits_for_half_its_window() {
        let one = voice(1);
        let micros = 31.0 / 2.0 * 20.0 + one.success.as_seconds() * 1e6;
        assert!((one.predict().frames_per_second - 1e6 / micros).abs() < 1e-6);
    }

    #[test]
    fn each_fixed_point_is_one() {
        for stations in 1..=200 {
            let cell = voice(stations);
            let got = cell.predict();
            assert!((cell.tau_at(got.collision) - got.tau).abs() < 1e-12, "{stations}: {got:?}");
        }
    }
}
