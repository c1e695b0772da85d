//! The reduction of the E-model by Cole and Rosenbluth, as paper A prints it for G.729A.
//!
//! `R = 94.2 − 0.024 (d + 85) − 0.11 (d − 92.3) H(d − 92.3) − 11 − 40 ln(1 + 10 (e_n + (1 − e_n) e_d))`
//!
//! - `d`: network delay in ms. The 85 ms are 20 for a packet, 5 of look-ahead, and 60 in the dejitter buffer.
//! - `e_n`: loss in the network, `e_d`: loss in the dejitter buffer, both from 0 to 1.
//! - 94.2 is the default R of the 1998 edition of G.107; the 2015 edition has 93.2.
//! - 92.3 is 177.3 − 85: from 177.3 ms on, delay is felt.
//!
//! Sources: paper A (Efstathiou, Elefant, Frangoudis and others, on VoIP over P2PWNC), section 4.2; R. G. Cole and
//! J. H. Rosenbluth, "Voice over IP performance monitoring", CCR 31(2), 2001.

use serde::Serialize;
use thiserror::Error;

use crate::opinion::{MosCurve, Satisfaction};

/// Delay in ms that is not the network's: 20 packet, 5 look-ahead, 60 dejitter buffer.
pub const FIXED_DELAY_MS: f64 = 85.0;
/// Delay in ms from which on it is felt, in the reduction: the knee of the approximation of `Id`.
pub const KNEE_MS: f64 = 177.3;

/// What went into a [`Reduced`] rating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReducedInputs {
    /// One-way delay of the network, ms.
    pub network_delay_ms: f64,
    /// Loss in the network, 0 to 1.
    pub network_loss: f64,
    /// Loss in the dejitter buffer of what the network delivered, 0 to 1.
    pub dejitter_loss: f64,
}

/// A rating by paper A's formula, with its parts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reduced {
    /// What went in.
    pub inputs: ReducedInputs,
    /// `0.024 (d + 85) + 0.11 (d − 92.3) H(d − 92.3)`.
    pub id: f64,
    /// `11 + 40 ln(1 + 10 e)`.
    pub ie: f64,
    /// Total loss, `e_n + (1 − e_n) e_d`.
    pub loss: f64,
    /// R as the formula gives it.
    pub r_unbounded: f64,
    /// R within 0 to 100.
    pub r: f64,
    /// The score with the cubic term corrected to 7e-6 ([`MosCurve::Itu`]).
    pub mos: f64,
    /// The score with the misprint 7e6 ([`MosCurve::PaperAPrinted`]).
    pub mos_printed: f64,
}

/// An input that is none.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("{name} is {got}, expected {low} to {high}")]
pub struct ReducedError {
    /// Which input.
    pub name: &'static str,
    /// What was given.
    pub got: f64,
    /// The least value with a meaning.
    pub low: f64,
    /// The largest value with a meaning.
    pub high: f64,
}

/// Rates a call by paper A's formula.
///
/// # Errors
///
/// If a loss is not within 0 to 1, or the delay is negative or not a number.
pub fn rate_reduced(inputs: ReducedInputs) -> Result<Reduced, ReducedError> {
    let ReducedInputs { network_delay_ms: d, network_loss, dejitter_loss } = inputs;
    let checks = [
        ("network delay in ms", d, 1e7),
        ("network loss", network_loss, 1.0),
        ("dejitter loss", dejitter_loss, 1.0),
    ];
    for (name, got, high) in checks {
        if !(0.0..=high).contains(&got) {
            return Err(ReducedError { name, got, low: 0.0, high });
        }
    }
    let loss = network_loss + (1.0 - network_loss) * dejitter_loss;
    let id = reduced_delay(d + FIXED_DELAY_MS);
    let ie = 11.0 + 40.0 * libm::log1p(10.0 * loss);
    let r_unbounded = 94.2 - id - ie;
    let r = r_unbounded.clamp(0.0, 100.0);
    let (mos, mos_printed) = (MosCurve::Itu.mos(r), MosCurve::PaperAPrinted.mos(r));
    Ok(Reduced { inputs, id, ie, loss, r_unbounded, r, mos, mos_printed })
}

/// `Id` of Cole and Rosenbluth for a delay from mouth to ear in ms. The second term is linear; tools that raise it
/// to the power 1.5 are wrong.
pub fn reduced_delay(mouth_to_ear_ms: f64) -> f64 {
    0.024 * mouth_to_ear_ms + 0.11 * (mouth_to_ear_ms - KNEE_MS).max(0.0)
}

impl Reduced {
    /// How users would like it.
    pub fn satisfaction(&self) -> Satisfaction {
        Satisfaction::of_r(self.r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(network_delay_ms: f64, network_loss: f64, dejitter_loss: f64) -> f64 {
        rate_reduced(ReducedInputs { network_delay_ms, network_loss, dejitter_loss }).unwrap().r_unbounded
    }

    /// By hand from the printed formula, to 0.001.
    #[test]
    fn agrees_with_the_printed_formula() {
        #[rustfmt::skip]
        let cases = [
            (0.0,   0.0,  0.0,  81.160),  // 94.2 − 2.04 − 11
            (92.3,  0.0,  0.0,  78.9448), // the knee: 94.2 − 0.024 · 177.3 − 11
            (100.0, 0.0,  0.0,  77.913),  // − 0.024 · 185 − 0.11 · 7.7
            (0.0,   0.01, 0.0,  77.3476), // − 40 ln 1.1
            (0.0,   0.0,  0.01, 77.3476),
            (50.0,  0.02, 0.03, 72.668 - 40.0 * (1.494_f64.ln() - 1.2_f64.ln()) + 7.292 - 40.0 * 1.2_f64.ln()),
        ];
        for (delay, network, dejitter, want) in cases {
            assert!(
                (r(delay, network, dejitter) - want).abs() < 0.001,
                "{delay} {network} {dejitter}: {}",
                r(delay, network, dejitter)
            );
        }
    }

    #[test]
    fn zero_impairment_is_r_81_16_and_mos_4_067() {
        let best =
            rate_reduced(ReducedInputs { network_delay_ms: 0.0, network_loss: 0.0, dejitter_loss: 0.0 })
                .unwrap();
        assert!((best.r - 81.16).abs() < 1e-9);
        assert!((best.mos - 4.067).abs() < 0.0005);
    }

    #[test]
    fn the_line_of_70_is_where_the_paper_has_it() {
        assert!((r(5.0, 0.0318, 0.0) - 70.0).abs() < 0.02);
        assert!((r(159.05, 0.0, 0.0) - 70.0).abs() < 0.02);
    }

    #[test]
    fn delay_beyond_the_knee_is_linear_not_to_the_power_1_5() {
        assert!((reduced_delay(277.3) - (0.024 * 277.3 + 11.0)).abs() < 1e-9);
        assert!(
            (reduced_delay(400.0) - 34.097).abs() < 1e-9,
            "to the power 1.5 it would be {}",
            0.024 * 400.0 + 0.11 * 222.7_f64.powf(1.5)
        );
    }

    #[test]
    fn refuses_what_is_no_loss_and_no_delay() {
        for (d, n, e) in [(-1.0, 0.0, 0.0), (0.0, 1.1, 0.0), (0.0, 0.0, -0.1), (f64::NAN, 0.0, 0.0)] {
            let inputs = ReducedInputs { network_delay_ms: d, network_loss: n, dejitter_loss: e };
            assert!(rate_reduced(inputs).is_err(), "{inputs:?}");
        }
    }
}
