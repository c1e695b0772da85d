//! How good a call was, by the E-model, from what its own buffer did.
//!
//! `heard` in the summary is what a buffer of the analyser's would have made of the same packets, as for every call. Here
//! it is the tool's buffer: what was missing when it was to be played, and how long sound was on its way in all.

use guestright_quality::{Codec, DelaySensitivity, Interval, Judge, Judgement, LossPattern, Measured};
use guestright_units::Micros;
use guestright_voice::playout::Counts;
use serde_json::{Value, json};

/// A mean over the call of what is known only at times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    sum_us: u64,
    count: u64,
}

impl Mean {
    pub(crate) fn add(&mut self, span: Option<Micros>) {
        if let Some(span) = span {
            self.sum_us = self.sum_us.saturating_add(span.0);
            self.count += 1;
        }
    }

    pub(crate) fn ms(&self) -> Option<f64> {
        (self.count > 0).then(|| Micros(self.sum_us / self.count).as_seconds() * 1e3)
    }
}

/// What a call was like at the ear.
#[derive(Debug)]
pub(crate) struct Ear<'a> {
    /// The codec, where somebody has published what it does to speech.
    pub(crate) codec: Option<Codec>,
    pub(crate) packet: Micros,
    pub(crate) counts: &'a Counts,
    /// In the order in which it was played: whether each packet was missing.
    pub(crate) pattern: &'a LossPattern,
    /// What the buffer added.
    pub(crate) buffered: Mean,
    pub(crate) round_trip: Mean,
}

impl Ear<'_> {
    pub(crate) fn judge(&self) -> Judgement {
        let counts = self.counts;
        let useless = counts.late + counts.overflow;
        let arrived = counts.played + useless + counts.skipped;
        let judge = Judge {
            codec: self.codec,
            packet_ms: self.packet.as_seconds() * 1e3,
            playout_ms: self.buffered.ms().unwrap_or_default(),
            sensitivity: DelaySensitivity::Default,
            advantage: 0.0,
        };
        judge.judge(&Measured {
            network_loss: share(counts.lost, arrived + counts.lost),
            dejitter_loss: share(useless, arrived).unwrap_or_default(),
            burst_ratio: self.pattern.loss().burst_ratio,
            // Nobody's clocks are compared: half of the way there and back.
            network_delay_ms: self
                .round_trip
                .ms()
                .map(|there_and_back| Interval::exact(there_and_back / 2.0)),
            delay_assumed: true,
        })
    }

    pub(crate) fn facts(&self) -> Value {
        let judgement = self.judge();
        let mos = judgement.conversation.as_ref().map(|opinion| opinion.mos.middle());
        let listening = judgement.listening.as_ref().map(|opinion| opinion.mos.middle());
        let counts = self.counts;
        let missing = counts.lost + counts.late + counts.overflow;
        json!({
            "r": judgement.conversation.as_ref().ok().map(|opinion| opinion.r.middle()),
            "mos": mos.as_ref().ok(),
            "mos_listening": listening.as_ref().ok(),
            "mos_unknown": mos.err().map(ToString::to_string),
            "missing": share(missing, missing + counts.played + counts.skipped),
            "burst_ratio": self.pattern.loss().burst_ratio,
            "buffered_ms": self.buffered.ms(),
            "round_trip_mean_ms": self.round_trip.ms(),
            "packet_ms": self.packet.as_seconds() * 1e3,
        })
    }

    /// For a person.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let judgement = self.judge();
        let ms = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.0} ms"));
        let counts = self.counts;
        let rating = match &judgement.conversation {
            Ok(opinion) => format!("R {:.1}, MOS {} by the E-model", opinion.r, opinion.mos),
            Err(unknown) => format!("no MOS: {unknown}"),
        };
        vec![
            format!(
                "played {} packets; {} late, {} lost, {} came twice",
                counts.played, counts.late, counts.lost, counts.duplicates
            ),
            format!("there and back {}, held for {}", ms(self.round_trip.ms()), ms(self.buffered.ms())),
            rating,
        ]
    }
}

#[expect(clippy::cast_precision_loss, reason = "packets of a call are far below 2^53")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(ms: u64) -> Mean {
        let mut mean = Mean::default();
        mean.add(Some(Micros::from_millis(ms)));
        mean
    }

    /// R = 93.2 - 0.024 Ta - 95 Ppl / (Ppl + Bpl), G.711 with concealment: Bpl 25.1.
    #[test]
    fn a_rating_is_the_e_models_for_what_was_missing_and_how_late_it_was() {
        let counts = Counts { played: 95, late: 2, lost: 3, ..Counts::default() };
        let mut pattern = LossPattern::default();
        for number in 0..100 {
            pattern.push(number % 20 == 7);
        }
        let ear = Ear {
            codec: Some(Codec::G711uPlc),
            packet: Micros::from_millis(20),
            counts: &counts,
            pattern: &pattern,
            buffered: mean(60),
            round_trip: mean(80),
        };
        let r = 93.2 - 0.024 * (20.0 + 40.0 + 60.0) - 95.0 * 5.0 / (5.0 + 25.1);
        let mos = 1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6;
        let facts = ear.facts();
        let got = facts["mos"].as_f64().unwrap();
        assert!((got - mos).abs() < 0.05, "{got} and {mos}");
        assert_eq!(facts["missing"], 0.05);
        assert_eq!((&facts["buffered_ms"], &facts["round_trip_mean_ms"]), (&json!(60.0), &json!(80.0)));
        let unknown = Ear { codec: None, ..ear }.facts();
        assert_eq!(unknown["mos"], Value::Null);
        assert!(unknown["mos_unknown"].as_str().unwrap().contains("codec"), "{unknown}");
    }
}
