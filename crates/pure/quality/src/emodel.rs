//! The E-model: ITU-T G.107 (06/2015), whole.
//!
//! `R = Ro − Is − Id − Ie,eff + A`. Each function below names its equation. Levels are in dB, delays in ms, the
//! impairments on the scale of R, which runs from 0 to 100.
//!
//! What this is not: a measurement of sound. It predicts how a planned connection is liked on average.

mod inputs;
#[cfg(test)]
mod tests;

pub use inputs::{DelaySensitivity, InputError, Inputs, OutOfRange, PARAMETERS, Parameter};

use libm::{exp, hypot, log2, log10, pow};
use serde::Serialize;

use crate::opinion::{MosCurve, Satisfaction};

/// Impairments that occur together with the voice: `Is = Iolr + Ist + Iq`, equation 7-8.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Simultaneous {
    /// `Iolr`: too low an overall loudness rating, equation 7-9.
    pub iolr: f64,
    /// `Ist`: sidetone that is not optimal, equation 7-11.
    pub ist: f64,
    /// `Iq`: quantizing distortion, equation 7-13.
    pub iq: f64,
    /// `Is`, the sum.
    pub sum: f64,
}

/// Impairments by delay: `Id = Idte + Idle + Idd`, equation 7-18.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Delay {
    /// `Idte` (or `Idtes` above an STMR of 20 dB): talker echo, equations 7-19 to 7-24.
    pub idte: f64,
    /// `Idle`: listener echo, equations 7-25 and 7-26.
    pub idle: f64,
    /// `Idd`: too long a delay, whatever the echo, equations 7-27 and 7-28.
    pub idd: f64,
    /// `Id`, the sum.
    pub sum: f64,
}

/// A rating with all its parts and the inputs that it came from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rating {
    /// What went in.
    pub inputs: Inputs,
    /// `No`: power of all noise sources at the 0 dBr point, dBm0p, equation 7-3.
    pub no_dbm0p: f64,
    /// `Ro`: basic signal-to-noise ratio, equation 7-2.
    pub ro: f64,
    /// `Is` and its parts.
    #[serde(rename = "is")]
    pub simultaneous: Simultaneous,
    /// `Id` and its parts.
    #[serde(rename = "id")]
    pub delay: Delay,
    /// `Ie,eff`: the codec under this loss, equation 7-29.
    pub ie_eff: f64,
    /// `R` as the formula gives it, equation 7-1. It may lie below 0 (then the connection is useless).
    pub r_unbounded: f64,
    /// `R` within 0 to 100, which is the scale of G.107.
    pub r: f64,
    /// The mean opinion score for `r`, estimated for a conversation (`MOS-CQE`), 1 to 4.5.
    pub mos: f64,
    /// Inputs outside their permitted ranges.
    pub outside: Vec<OutOfRange>,
}

impl Rating {
    /// How users would like it: paper C, Table IV; G.109.
    pub fn satisfaction(&self) -> Satisfaction {
        Satisfaction::of_r(self.r)
    }
}

/// Rates a connection.
///
/// # Errors
///
/// If an input has no meaning (see [`Inputs::check`]), or several together have none (loudness far from any
/// telephone, so that a root has no value). An input outside its permitted range is no error; it is in
/// [`Rating::outside`].
pub fn rate(inputs: Inputs) -> Result<Rating, InputError> {
    inputs.check()?;
    let no_dbm0p = noise(&inputs);
    let ro = 15.0 - 1.5 * (inputs.slr_db + no_dbm0p); // (7-2)
    let simultaneous = simultaneous(&inputs, ro, no_dbm0p);
    let delay = delay(&inputs, ro, no_dbm0p, simultaneous.ist);
    let ie_eff = effective_equipment(inputs.ie, inputs.bpl, inputs.ppl_percent, inputs.burst_r);
    let r_unbounded = ro - simultaneous.sum - delay.sum - ie_eff + inputs.a; // (7-1)
    if !r_unbounded.is_finite() {
        return Err(InputError::NotFinite { name: "R", got: r_unbounded });
    }
    let r = r_unbounded.clamp(0.0, 100.0);
    let mos = MosCurve::Itu.mos(r);
    let outside = inputs.outside();
    Ok(Rating { inputs, no_dbm0p, ro, simultaneous, delay, ie_eff, r_unbounded, r, mos, outside })
}

/// `Ie,eff` (7-29): the impairment of a codec under loss. `ppl_percent` is 0 to 100.
///
/// Only the loss in the denominator is divided by `BurstR`, so the same loss in bursts weighs more.
pub fn effective_equipment(ie: f64, bpl: f64, ppl_percent: f64, burst_r: f64) -> f64 {
    ie + (95.0 - ie) * ppl_percent / (ppl_percent / burst_r + bpl)
}

/// `No` (7-3): circuit noise, room noise of both sides and noise floor, added as powers.
fn noise(i: &Inputs) -> f64 {
    let olr = i.slr_db + i.rlr_db;
    let nos = i.ps_dba - i.slr_db - i.ds_db - 100.0 + 0.004 * squared(i.ps_dba - olr - i.ds_db - 14.0); // (7-4)
    let pre = i.pr_dba + 10.0 * log10(1.0 + pow(10.0, (10.0 - i.lstr()) / 10.0)); // (7-6)
    let nor = i.rlr_db - 121.0 + pre + 0.008 * squared(pre - 35.0); // (7-5)
    let nfo = i.nfor_dbmp + i.rlr_db; // (7-7)
    let power: f64 = [i.nc_dbm0p, nos, nor, nfo].iter().map(|level| pow(10.0, level / 10.0)).sum();
    10.0 * log10(power)
}

/// `Is` (7-8).
fn simultaneous(i: &Inputs, ro: f64, no: f64) -> Simultaneous {
    let olr = i.slr_db + i.rlr_db;
    let xolr = olr + 0.2 * (64.0 + no - i.rlr_db); // (7-10)
    let iolr = 20.0 * (root(xolr / 8.0, 8.0) - xolr / 8.0); // (7-9)

    let echo = exp(-i.t_ms / 4.0) * pow(10.0, -i.telr_db / 10.0);
    let stmro = -10.0 * log10(pow(10.0, -i.stmr_db / 10.0) + echo); // (7-12)
    let ist = 12.0 * root((stmro - 13.0) / 6.0, 8.0) // (7-11)
        - 28.0 * root((stmro + 1.0) / 19.4, 35.0)
        - 13.0 * root((stmro - 3.0) / 33.0, 13.0)
        + 29.0;

    let q = 37.0 - 15.0 * log10(i.qdu); // (7-17)
    let g = 1.07 + 0.258 * q + 0.0602 * q * q; // (7-16)
    let z = 46.0 / 30.0 - g / 40.0; // (7-15)
    let y = (ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0; // (7-14)
    let iq = 15.0 * log10(1.0 + pow(10.0, y) + pow(10.0, z)); // (7-13)
    Simultaneous { iolr, ist, iq, sum: iolr + ist + iq }
}

fn squared(x: f64) -> f64 {
    x * x
}

/// `(1 + x^n)^(1/n)`, which G.107 uses for a soft "the larger of 1 and x".
fn root(x: f64, n: f64) -> f64 {
    pow(1.0 + pow(x, n), 1.0 / n)
}

/// `Id` (7-18).
fn delay(i: &Inputs, ro: f64, no: f64, ist: f64) -> Delay {
    let idte = talker_echo(i, no, ist);
    let rle = 10.5 * (i.wepl_db + 7.0) * pow(i.tr_ms + 1.0, -0.25); // (7-26)
    let half = (ro - rle) / 2.0;
    let idle = half + (half * half + 169.0).sqrt(); // (7-25)
    let idd = absolute_delay(i.ta_ms, i.st, i.mt_ms);
    Delay { idte, idle, idd, sum: idte + idle + idd }
}

/// `Idte` (7-19), with `TERVs` below an STMR of 9 dB (7-23) and `Idtes` above 20 dB (7-24).
fn talker_echo(i: &Inputs, no: f64, ist: f64) -> f64 {
    let t = i.t_ms;
    let mut terv = i.telr_db - 40.0 * log10((1.0 + t / 10.0) / (1.0 + t / 150.0)) + 6.0 * exp(-0.3 * t * t); // (7-22)
    if i.stmr_db < 9.0 {
        terv += ist / 2.0; // (7-23)
    }
    // Echo of less than 1 ms is sidetone.
    let idte = if t < 1.0 {
        0.0
    } else {
        let re = 80.0 + 2.5 * (terv - 14.0); // (7-21)
        let roe = -1.5 * (no - i.rlr_db); // (7-20)
        let half = (roe - re) / 2.0;
        (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - exp(-t))
    };
    if i.stmr_db > 20.0 { hypot(idte, ist) } else { idte }
}

/// `Idd` (7-27, 7-28): zero up to `mT`, then rising with the logarithm of the delay.
pub fn absolute_delay(ta_ms: f64, st: f64, mt_ms: f64) -> f64 {
    if ta_ms <= mt_ms {
        return 0.0;
    }
    let x = log2(ta_ms / mt_ms);
    let n = 6.0 * st;
    25.0 * (root(x, n) - 3.0 * root(x / 3.0, n) + 2.0)
}
