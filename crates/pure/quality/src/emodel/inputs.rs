//! What goes into the E-model, with the defaults and permitted ranges of G.107 (06/2015), Table 3.

use serde::Serialize;
use thiserror::Error;

/// Which use of a call the delay is judged for: G.107 (06/2015), Table 1.
///
/// The two parameters are `sT`, how steeply delay hurts, and `mT`, the delay that is noticed at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelaySensitivity {
    /// `sT` 1, `mT` 100 ms. To be used whenever the users' needs are not known.
    #[default]
    Default,
    /// `sT` 0.55, `mT` 120 ms: users who interact little.
    Low,
    /// `sT` 0.4, `mT` 150 ms: users who hardly interact.
    VeryLow,
}

impl DelaySensitivity {
    /// `sT` and `mT` in milliseconds.
    pub const fn parameters(self) -> (f64, f64) {
        match self {
            Self::Default => (1.0, 100.0),
            Self::Low => (0.55, 120.0),
            Self::VeryLow => (0.4, 150.0),
        }
    }
}

/// The inputs of the E-model under the names of ITU-T G.107 (06/2015), Table 3.
///
/// [`Inputs::default`] is the table's column of defaults: R 93.2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Inputs {
    /// `SLR`: send loudness rating, dB.
    pub slr_db: f64,
    /// `RLR`: receive loudness rating, dB.
    pub rlr_db: f64,
    /// `STMR`: sidetone masking rating, dB.
    pub stmr_db: f64,
    /// `LSTR`: listener sidetone rating, dB. `None`: `STMR + Dr`, the relation that the table gives.
    pub lstr_db: Option<f64>,
    /// `Ds`: D-value of the telephone at the send side.
    pub ds_db: f64,
    /// `Dr`: D-value of the telephone at the receive side.
    pub dr_db: f64,
    /// `TELR`: talker echo loudness rating, dB.
    pub telr_db: f64,
    /// `WEPL`: weighted echo path loss, dB.
    pub wepl_db: f64,
    /// `T`: mean one-way delay of the echo path, ms.
    pub t_ms: f64,
    /// `Tr`: round-trip delay in a 4-wire loop, ms.
    pub tr_ms: f64,
    /// `Ta`: absolute delay in echo-free connections, ms: from mouth to ear.
    pub ta_ms: f64,
    /// `sT`: delay sensitivity.
    pub st: f64,
    /// `mT`: minimum perceivable delay, ms.
    pub mt_ms: f64,
    /// `qdu`: number of quantization distortion units.
    pub qdu: f64,
    /// `Ie`: equipment impairment factor of the codec without loss.
    pub ie: f64,
    /// `Bpl`: packet-loss robustness factor of the codec.
    pub bpl: f64,
    /// `Ppl`: packet-loss probability in percent, 0 to 100 (what the buffer discards included).
    pub ppl_percent: f64,
    /// `BurstR`: burst ratio; 1 is random loss.
    pub burst_r: f64,
    /// `Nc`: circuit noise referred to the 0 dBr point, dBm0p.
    pub nc_dbm0p: f64,
    /// `Nfor`: noise floor at the receive side, dBmp.
    pub nfor_dbmp: f64,
    /// `Ps`: room noise at the send side, dB(A).
    pub ps_dba: f64,
    /// `Pr`: room noise at the receive side, dB(A).
    pub pr_dba: f64,
    /// `A`: advantage factor (G.107, Table 2, has provisional examples: 0 wire, 5 mobility in a building, 10 in
    /// an area, 20 places that are hard to reach).
    pub a: f64,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            slr_db: 8.0,
            rlr_db: 2.0,
            stmr_db: 15.0,
            lstr_db: None,
            ds_db: 3.0,
            dr_db: 3.0,
            telr_db: 65.0,
            wepl_db: 110.0,
            t_ms: 0.0,
            tr_ms: 0.0,
            ta_ms: 0.0,
            st: 1.0,
            mt_ms: 100.0,
            qdu: 1.0,
            ie: 0.0,
            bpl: 4.3,
            ppl_percent: 0.0,
            burst_r: 1.0,
            nc_dbm0p: -70.0,
            nfor_dbmp: -64.0,
            ps_dba: 35.0,
            pr_dba: 35.0,
            a: 0.0,
        }
    }
}

/// An input that no telephone connection can have.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum InputError {
    /// Not a number, or infinite.
    #[error("{name} is {got}, which is not a number to compute with")]
    NotFinite {
        /// The name in G.107.
        name: &'static str,
        /// What was given.
        got: f64,
    },
    /// A number for which the formula has no meaning.
    #[error("{name} is {got}, expected {low} to {high}")]
    Meaningless {
        /// The name in G.107.
        name: &'static str,
        /// What was given.
        got: f64,
        /// The least value with a meaning.
        low: f64,
        /// The largest value with a meaning.
        high: f64,
    },
}

/// An input outside the range that G.107 permits. The formula still gives a figure, which nobody has validated.
#[derive(Clone, Copy, Debug, Error, PartialEq, Serialize)]
#[error("{name} is {got}, outside the {low} to {high} that ITU-T G.107 permits")]
pub struct OutOfRange {
    /// The name in G.107.
    pub name: &'static str,
    /// What was given.
    pub got: f64,
    /// The least permitted value.
    pub low: f64,
    /// The largest permitted value.
    pub high: f64,
}

/// One row of G.107, Table 3: name, permitted range, and how to read it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name in G.107.
    pub name: &'static str,
    /// The unit, empty for a bare number.
    pub unit: &'static str,
    /// The permitted range.
    pub permitted: (f64, f64),
    /// The range in which the formula has a meaning at all.
    meaningful: (f64, f64),
    get: fn(&Inputs) -> f64,
}

impl Parameter {
    /// The value of this parameter in some inputs.
    pub fn of(&self, inputs: &Inputs) -> f64 {
        (self.get)(inputs)
    }
}

const WIDE: (f64, f64) = (-200.0, 200.0);
const DELAY: (f64, f64) = (0.0, 1e7);

/// All parameters in the order of G.107 (06/2015), Table 3. `Nfor` has no permitted range there; only its default
/// is recommended, and the range here is the one in which the formula makes sense.
#[rustfmt::skip]
pub const PARAMETERS: [Parameter; 23] = [
    Parameter { name: "SLR",    unit: "dB",    permitted: (0.0, 18.0),    meaningful: WIDE,         get: |i| i.slr_db },
    Parameter { name: "RLR",    unit: "dB",    permitted: (-5.0, 14.0),   meaningful: WIDE,         get: |i| i.rlr_db },
    Parameter { name: "STMR",   unit: "dB",    permitted: (10.0, 20.0),   meaningful: WIDE,         get: |i| i.stmr_db },
    Parameter { name: "LSTR",   unit: "dB",    permitted: (13.0, 23.0),   meaningful: WIDE,         get: Inputs::lstr },
    Parameter { name: "Ds",     unit: "",      permitted: (-3.0, 3.0),    meaningful: WIDE,         get: |i| i.ds_db },
    Parameter { name: "Dr",     unit: "",      permitted: (-3.0, 3.0),    meaningful: WIDE,         get: |i| i.dr_db },
    Parameter { name: "TELR",   unit: "dB",    permitted: (5.0, 65.0),    meaningful: WIDE,         get: |i| i.telr_db },
    Parameter { name: "WEPL",   unit: "dB",    permitted: (5.0, 110.0),   meaningful: WIDE,         get: |i| i.wepl_db },
    Parameter { name: "T",      unit: "ms",    permitted: (0.0, 500.0),   meaningful: DELAY,        get: |i| i.t_ms },
    Parameter { name: "Tr",     unit: "ms",    permitted: (0.0, 1000.0),  meaningful: DELAY,        get: |i| i.tr_ms },
    Parameter { name: "Ta",     unit: "ms",    permitted: (0.0, 500.0),   meaningful: DELAY,        get: |i| i.ta_ms },
    Parameter { name: "sT",     unit: "",      permitted: (0.4, 1.0),     meaningful: (0.05, 10.0), get: |i| i.st },
    Parameter { name: "mT",     unit: "ms",    permitted: (20.0, 150.0),  meaningful: (1.0, 1e4),   get: |i| i.mt_ms },
    Parameter { name: "qdu",    unit: "",      permitted: (1.0, 14.0),    meaningful: (0.01, 1e3),  get: |i| i.qdu },
    Parameter { name: "Ie",     unit: "",      permitted: (0.0, 40.0),    meaningful: (0.0, 95.0),  get: |i| i.ie },
    Parameter { name: "Bpl",    unit: "",      permitted: (1.0, 40.0),    meaningful: (0.01, 1e4),  get: |i| i.bpl },
    Parameter { name: "Ppl",    unit: "%",     permitted: (0.0, 20.0),    meaningful: (0.0, 100.0), get: |i| i.ppl_percent },
    Parameter { name: "BurstR", unit: "",      permitted: (1.0, 8.0),     meaningful: (0.01, 1e6),  get: |i| i.burst_r },
    Parameter { name: "Nc",     unit: "dBm0p", permitted: (-80.0, -40.0), meaningful: WIDE,         get: |i| i.nc_dbm0p },
    Parameter { name: "Nfor",   unit: "dBmp",  permitted: (-200.0, 0.0),  meaningful: WIDE,         get: |i| i.nfor_dbmp },
    Parameter { name: "Ps",     unit: "dB(A)", permitted: (35.0, 85.0),   meaningful: WIDE,         get: |i| i.ps_dba },
    Parameter { name: "Pr",     unit: "dB(A)", permitted: (35.0, 85.0),   meaningful: WIDE,         get: |i| i.pr_dba },
    Parameter { name: "A",      unit: "",      permitted: (0.0, 20.0),    meaningful: (0.0, 100.0), get: |i| i.a },
];

impl Inputs {
    /// A voice-over-IP connection: one delay from mouth to ear in milliseconds, loss from 0 to 1, a codec's `Ie`
    /// and `Bpl`, and the burst ratio. Everything else is default.
    ///
    /// The echo path is the connection itself, so `T = Ta` and `Tr = 2 T` (G.107, clause 7.7: the three are to
    /// change together).
    pub fn voip(ta_ms: f64, loss: f64, ie: f64, bpl: f64, burst_r: f64) -> Self {
        Self { ie, bpl, ppl_percent: loss * 100.0, burst_r, ..Self::default() }.with_delay(ta_ms)
    }

    /// The same inputs with `T = Ta` and `Tr = 2 T` for a delay in milliseconds.
    #[must_use]
    pub fn with_delay(self, ta_ms: f64) -> Self {
        Self { ta_ms, t_ms: ta_ms, tr_ms: 2.0 * ta_ms, ..self }
    }

    /// The same inputs for a class of delay sensitivity.
    #[must_use]
    pub fn with_sensitivity(self, class: DelaySensitivity) -> Self {
        let (st, mt_ms) = class.parameters();
        Self { st, mt_ms, ..self }
    }

    /// `LSTR` in dB, as given or by its relation to `STMR` and `Dr`.
    pub fn lstr(&self) -> f64 {
        self.lstr_db.unwrap_or(self.stmr_db + self.dr_db)
    }

    /// What lies outside the ranges that G.107 permits, which is everything that a reader should be told.
    pub fn outside(&self) -> Vec<OutOfRange> {
        PARAMETERS
            .iter()
            .filter(|p| !(p.permitted.0..=p.permitted.1).contains(&p.of(self)))
            .map(|p| OutOfRange { name: p.name, got: p.of(self), low: p.permitted.0, high: p.permitted.1 })
            .collect()
    }

    /// Refuses what has no meaning: numbers that are none, negative delay or loss, a `Bpl` of zero.
    ///
    /// # Errors
    ///
    /// The first parameter that is wrong.
    pub fn check(&self) -> Result<(), InputError> {
        for parameter in &PARAMETERS {
            let (name, got, (low, high)) = (parameter.name, parameter.of(self), parameter.meaningful);
            if !got.is_finite() {
                return Err(InputError::NotFinite { name, got });
            }
            if !(low..=high).contains(&got) {
                return Err(InputError::Meaningless { name, got, low, high });
            }
        }
        Ok(())
    }
}
