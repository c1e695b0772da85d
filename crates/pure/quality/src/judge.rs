//! From what was measured to a rating, or to the reason why there is none.

use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::codec::{Band, Codec};
use crate::emodel::{DelaySensitivity, InputError, Inputs, OutOfRange, Rating, rate};
use crate::interval::Interval;
use crate::opinion::Satisfaction;
use crate::reduction::{Reduced, ReducedInputs, rate_reduced};
use crate::wideband::{WideInputs, WideRating, rate_wide};

/// What does not change during a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judge {
    /// The codec, if it is known.
    pub codec: Option<Codec>,
    /// Sound in one packet, ms.
    pub packet_ms: f64,
    /// What the receiver's buffer adds, ms.
    pub playout_ms: f64,
    /// How sensitive the users are to delay.
    pub sensitivity: DelaySensitivity,
    /// `A`, the advantage factor.
    pub advantage: f64,
}

impl Judge {
    /// Paper A's settings for a codec: packets of 20 ms, 60 ms in the dejitter buffer.
    pub const fn paper_a(codec: Codec) -> Self {
        Self {
            codec: Some(codec),
            packet_ms: 20.0,
            playout_ms: 60.0,
            sensitivity: DelaySensitivity::Default,
            advantage: 0.0,
        }
    }
}

/// What was measured over some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Share lost in the network, 0 to 1; `None` if no packet was expected.
    pub network_loss: Option<f64>,
    /// Share of what arrived that the dejitter buffer discards, 0 to 1.
    pub dejitter_loss: f64,
    /// `BurstR` of both together, if there was enough loss to tell; otherwise 1 is taken.
    pub burst_ratio: Option<f64>,
    /// One-way delay of the network, ms.
    pub network_delay_ms: Option<Interval>,
    /// Whether that delay was somebody's word and not a measurement.
    pub delay_assumed: bool,
}

impl Measured {
    /// `e_network + (1 − e_network) e_dejitter`: what is missing at the ear.
    pub fn playout_loss(&self) -> Option<f64> {
        self.network_loss.map(|network| network + (1.0 - network) * self.dejitter_loss)
    }
}

/// Why there is no figure.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Unknown {
    /// Nothing was expected in this time.
    #[error("no packet was expected in this time: silence, or the stream had ended")]
    NoPackets,
    /// The codec is not known.
    #[error("the codec is not known: say which one it is")]
    NoCodec,
    /// Nobody has published an impairment factor.
    #[error("no body has published an impairment factor (Ie) for {0}: a rating would be a guess")]
    NoIe(Codec),
    /// Nobody has published a robustness factor, and there is loss.
    #[error(
        "no body has published a packet-loss robustness factor (Bpl) for {0}: under loss a rating would be a guess"
    )]
    NoBpl(Codec),
    /// The one-way delay is not known.
    #[error(
        "the one-way delay is not known: one side's packets do not tell it. Measure it with both clocks, or state it"
    )]
    NoDelay,
    /// The formula is for another codec.
    #[error("paper A's formula is for G.729A in packets of 20 ms and a buffer of 60 ms only")]
    NotPaperA,
    /// An input has no meaning.
    #[error("an input makes no sense: {0}")]
    Input(#[from] InputError),
}

impl Unknown {
    /// A short word for it, for programs that read the output.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NoPackets => "no-packets",
            Self::NoCodec => "no-codec",
            Self::NoIe(_) => "no-ie",
            Self::NoBpl(_) => "no-bpl",
            Self::NoDelay => "no-delay",
            Self::NotPaperA => "not-paper-a",
            Self::Input(_) => "input",
        }
    }
}

impl Serialize for Unknown {
    /// `{"unknown": "no-delay", "why": "the one-way delay …"}`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("unknown", self.word())?;
        map.serialize_entry("why", &self.to_string())?;
        map.end()
    }
}

/// What a reader of a figure must know.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum Caveat {
    /// The delay was not measured.
    #[error("the delay was stated, not measured")]
    DelayAssumed,
    /// The clocks' error is larger than the delay.
    #[error("the error of the clocks is larger than the delay; delays below zero were taken as zero")]
    DelayBelowZero,
    /// Fewer clusters than chance would make.
    #[error("losses are spread more evenly than by chance (burst ratio {0:.2}); 1 was taken")]
    BurstRatioBelowOne(f64),
    /// An input outside its permitted range.
    #[error("{0}")]
    Outside(OutOfRange),
    /// The wideband scale.
    #[error("the codec is wideband: R runs to 129 (ITU-T G.107.1), without echo")]
    Wideband,
}

impl Serialize for Caveat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A rating of either scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "scale")]
pub enum Parts {
    /// G.107, R from 0 to 100.
    Narrow(Box<Rating>),
    /// G.107.1, R from 0 to 129.
    Wide(WideRating),
}

impl Parts {
    /// R on its scale.
    pub const fn r(&self) -> f64 {
        match self {
            Self::Narrow(rating) => rating.r,
            Self::Wide(rating) => rating.r,
        }
    }

    /// The mean opinion score that belongs to R.
    pub const fn mos(&self) -> f64 {
        match self {
            Self::Narrow(rating) => rating.mos,
            Self::Wide(rating) => rating.mos,
        }
    }

    /// How users would like it.
    pub fn satisfaction(&self) -> Satisfaction {
        match self {
            Self::Narrow(rating) => rating.satisfaction(),
            Self::Wide(rating) => rating.satisfaction(),
        }
    }
}

/// A rating by the E-model, as an interval where the delay is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Opinion {
    /// R. Its width comes from the clocks.
    pub r: Interval,
    /// The mean opinion score.
    pub mos: Interval,
    /// The class at the lower bound.
    pub satisfaction: Satisfaction,
    /// The parts with the largest possible delay.
    pub worst: Parts,
    /// The parts with the least possible delay.
    pub best: Parts,
    /// What to know when reading it.
    pub caveats: Vec<Caveat>,
}

/// A rating by paper A's formula.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaperOpinion {
    /// R by the reduced formula.
    pub r: Interval,
    /// The score, with the corrected cubic term.
    pub mos: Interval,
    /// The parts with the largest possible delay.
    pub worst: Reduced,
    /// The parts with the least possible delay.
    pub best: Reduced,
}

/// All that can be said on one stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// For two who talk: with delay (`MOS-CQ` of RFC 3611).
    #[serde(serialize_with = "value_or_reason")]
    pub conversation: Result<Opinion, Unknown>,
    /// For one who listens: as if there were no delay (`MOS-LQ` of RFC 3611). An upper bound for the conversation.
    #[serde(serialize_with = "value_or_reason")]
    pub listening: Result<Opinion, Unknown>,
    /// By paper A's formula.
    #[serde(serialize_with = "value_or_reason")]
    pub paper_a: Result<PaperOpinion, Unknown>,
}

/// Writes the value, or [`Unknown`] in its place.
///
/// # Errors
///
/// Those of the serializer.
pub fn value_or_reason<T: Serialize, S: Serializer>(
    outcome: &Result<T, Unknown>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match outcome {
        Ok(value) => value.serialize(serializer),
        Err(reason) => reason.serialize(serializer),
    }
}

/// What the codec's table and the measurement give, without delay.
struct Equipment {
    codec: Codec,
    ie: f64,
    bpl: f64,
    ppl_percent: f64,
    burst_r: f64,
    caveats: Vec<Caveat>,
}

impl Judge {
    /// Delay in ms from mouth to ear that is not the network's: packet, look-ahead, buffer.
    pub fn terminal_delay_ms(&self) -> Option<f64> {
        Some(self.codec?.facts().coding_delay_ms(self.packet_ms) + self.playout_ms)
    }

    /// Rates what was measured, in all three ways.
    pub fn judge(&self, measured: &Measured) -> Judgement {
        Judgement {
            conversation: self.conversation(measured),
            listening: self.equipment(measured).and_then(|equipment| self.opinion(equipment, Interval::ZERO)),
            paper_a: self.paper_opinion(measured),
        }
    }

    fn conversation(&self, measured: &Measured) -> Result<Opinion, Unknown> {
        let mut equipment = self.equipment(measured)?;
        let network = network_delay(measured)?;
        let terminal = self.terminal_delay_ms().ok_or(Unknown::NoCodec)?;
        if measured.delay_assumed {
            equipment.caveats.push(Caveat::DelayAssumed);
        }
        if network.low < 0.0 {
            equipment.caveats.push(Caveat::DelayBelowZero);
        }
        self.opinion(equipment, network.at_least(0.0).plus(terminal))
    }

    fn equipment(&self, measured: &Measured) -> Result<Equipment, Unknown> {
        let codec = self.codec.ok_or(Unknown::NoCodec)?;
        let loss = measured.playout_loss().ok_or(Unknown::NoPackets)?;
        let facts = codec.facts();
        let ie = facts.ie.ok_or(Unknown::NoIe(codec))?.value;
        let bpl = match facts.bpl {
            Some(bpl) => bpl.value,
            None if loss > 0.0 => return Err(Unknown::NoBpl(codec)),
            None => Inputs::default().bpl, // Without loss it has no effect.
        };
        let mut caveats = Vec::new();
        if facts.band == Band::Wide {
            caveats.push(Caveat::Wideband);
        }
        let measured_ratio = measured.burst_ratio.unwrap_or(1.0);
        if measured_ratio < 1.0 {
            caveats.push(Caveat::BurstRatioBelowOne(measured_ratio));
        }
        Ok(Equipment { codec, ie, bpl, ppl_percent: loss * 100.0, burst_r: measured_ratio.max(1.0), caveats })
    }

    fn opinion(&self, equipment: Equipment, mouth_to_ear_ms: Interval) -> Result<Opinion, Unknown> {
        let best = self.parts(&equipment, mouth_to_ear_ms.low)?;
        let worst = self.parts(&equipment, mouth_to_ear_ms.high)?;
        let mut caveats = equipment.caveats;
        if let Parts::Narrow(rating) = &worst {
            caveats.extend(rating.outside.iter().copied().map(Caveat::Outside));
        }
        Ok(Opinion {
            r: Interval::new(worst.r(), best.r()),
            mos: Interval::new(worst.mos(), best.mos()),
            satisfaction: worst.satisfaction(),
            worst,
            best,
            caveats,
        })
    }

    fn parts(&self, equipment: &Equipment, ta_ms: f64) -> Result<Parts, Unknown> {
        let Equipment { codec, ie, bpl, ppl_percent, burst_r, .. } = *equipment;
        Ok(match codec.facts().band {
            Band::Wide => Parts::Wide(rate_wide(WideInputs { ta_ms, ie, bpl, ppl_percent, burst_r })?),
            Band::Narrow => {
                let inputs = Inputs { ie, bpl, ppl_percent, burst_r, a: self.advantage, ..Inputs::default() };
                Parts::Narrow(Box::new(rate(inputs.with_delay(ta_ms).with_sensitivity(self.sensitivity))?))
            }
        })
    }

    fn paper_opinion(&self, measured: &Measured) -> Result<PaperOpinion, Unknown> {
        let theirs = Self::paper_a(Codec::G729a);
        if (self.codec, self.packet_ms, self.playout_ms)
            != (theirs.codec, theirs.packet_ms, theirs.playout_ms)
        {
            return Err(if self.codec.is_none() { Unknown::NoCodec } else { Unknown::NotPaperA });
        }
        let network_loss = measured.network_loss.ok_or(Unknown::NoPackets)?;
        let delay = network_delay(measured)?.at_least(0.0);
        let reduced = |network_delay_ms| {
            let inputs =
                ReducedInputs { network_delay_ms, network_loss, dejitter_loss: measured.dejitter_loss };
            rate_reduced(inputs).map_err(|e| {
                Unknown::Input(InputError::Meaningless { name: e.name, got: e.got, low: e.low, high: e.high })
            })
        };
        let (best, worst) = (reduced(delay.low)?, reduced(delay.high)?);
        Ok(PaperOpinion {
            r: Interval::new(worst.r, best.r),
            mos: Interval::new(worst.mos, best.mos),
            worst,
            best,
        })
    }
}

fn network_delay(measured: &Measured) -> Result<Interval, Unknown> {
    let delay = measured.network_delay_ms.ok_or(Unknown::NoDelay)?;
    if delay.is_finite() {
        Ok(delay)
    } else {
        Err(Unknown::Input(InputError::NotFinite { name: "network delay", got: delay.high }))
    }
}

#[cfg(test)]
mod tests;
