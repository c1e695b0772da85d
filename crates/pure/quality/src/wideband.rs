//! Wideband ratings: a part of ITU-T G.107.1 (06/2015).
//!
//! `R = 129 − Idd − Ie,eff,WB` on a scale from 0 to 129, and the score from `R / 1.29` by the narrowband curve
//! (G.107.1, Annex A). 129 is what the whole model gives for its defaults without delay. Not in here: other noise,
//! loudness or sidetone than the defaults, and echo. `Ie,eff,WB` uses the narrowband equation 7-29 with the maximum
//! of 95, as G.107.1, equation 7-17, does.

use serde::Serialize;

use crate::emodel::{InputError, absolute_delay, effective_equipment};
use crate::opinion::{MosCurve, Satisfaction};

/// R of the default connection: the top of the wideband scale.
pub const R_MAX: f64 = 129.0;

/// What goes into a wideband rating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WideInputs {
    /// Delay from mouth to ear, ms.
    pub ta_ms: f64,
    /// `Ie,WB` of the codec.
    pub ie: f64,
    /// `Bpl,WB` of the codec. It does not matter without loss.
    pub bpl: f64,
    /// Loss in percent, 0 to 100.
    pub ppl_percent: f64,
    /// `BurstR`: 1 for losses at random, more for losses in bursts.
    pub burst_r: f64,
}

/// A wideband rating with its parts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WideRating {
    /// What went in.
    pub inputs: WideInputs,
    /// The impairment by delay.
    pub idd: f64,
    /// The codec under this loss.
    pub ie_eff: f64,
    /// R on the scale from 0 to 129.
    pub r: f64,
    /// The score, 1 to 4.5.
    pub mos: f64,
}

/// Rates a wideband connection.
///
/// # Errors
///
/// If an input has no meaning.
pub fn rate_wide(inputs: WideInputs) -> Result<WideRating, InputError> {
    let ranges = [
        ("Ta", inputs.ta_ms, 0.0, 1e7),
        ("Ie,WB", inputs.ie, 0.0, 95.0),
        ("Bpl,WB", inputs.bpl, 0.01, 1e4),
        ("Ppl", inputs.ppl_percent, 0.0, 100.0),
        ("BurstR", inputs.burst_r, 0.01, 1e6),
    ];
    for (name, got, low, high) in ranges {
        if !(low..=high).contains(&got) {
            return Err(InputError::Meaningless { name, got, low, high });
        }
    }
    let idd = absolute_delay(inputs.ta_ms, 1.0, 100.0);
    let ie_eff = effective_equipment(inputs.ie, inputs.bpl, inputs.ppl_percent, inputs.burst_r);
    let r = (R_MAX - idd - ie_eff).clamp(0.0, R_MAX);
    Ok(WideRating { inputs, idd, ie_eff, r, mos: MosCurve::Itu.mos(r / 1.29) })
}

impl WideRating {
    /// How users would like it, by `R / 1.29`.
    pub fn satisfaction(&self) -> Satisfaction {
        Satisfaction::of_r(self.r / 1.29)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mos(ie: f64, ppl_percent: f64, ta_ms: f64) -> f64 {
        rate_wide(WideInputs { ta_ms, ie, bpl: 4.3, ppl_percent, burst_r: 1.0 }).unwrap().mos
    }

    #[test]
    fn the_best_is_4_5_and_amr_wb_modes_span_a_point() {
        assert_eq!(mos(0.0, 0.0, 0.0), 4.5);
        assert!((mos(1.0, 0.0, 0.0) - 4.49).abs() < 0.01);
        assert!((mos(41.0, 0.0, 0.0) - 3.51).abs() < 0.01);
    }

    #[test]
    fn loss_and_delay_hurt() {
        assert!(mos(13.0, 2.0, 0.0) < mos(13.0, 0.0, 0.0));
        assert!(mos(13.0, 0.0, 300.0) < mos(13.0, 0.0, 100.0));
        assert!(
            rate_wide(WideInputs { ta_ms: f64::NAN, ie: 0.0, bpl: 1.0, ppl_percent: 0.0, burst_r: 1.0 })
                .is_err()
        );
    }
}
