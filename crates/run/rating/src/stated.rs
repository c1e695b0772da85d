//! Without a capture: from numbers that somebody says.

use crate::json::{opinion, paper};
use crate::words::{range, round};
use guestright_quality::{Cited, Codec, Interval, Judge, Judgement, Measured, PARAMETERS, Parts};
use serde_json::json;

/// What somebody says of a call.
#[derive(Debug)]
pub struct Stated {
    pub codec: Codec,
    /// With the same codec.
    pub judge: Judge,
    /// With the same delay.
    pub measured: Measured,
    /// One way, in the network.
    pub delay: Interval,
}

impl Stated {
    pub fn judge(&self) -> Judgement {
        self.judge.judge(&self.measured)
    }

    /// What a program reads.
    pub fn to_json(&self, judgement: &Judgement) -> serde_json::Value {
        let Self { codec, judge, measured, delay } = self;
        let facts = codec.facts();
        json!({
            "stated": {
                "codec": facts,
                "packet_ms": judge.packet_ms,
                "playout_ms": judge.playout_ms,
                "delay_sensitivity": judge.sensitivity,
                "advantage": judge.advantage,
                "network_loss": measured.network_loss,
                "dejitter_loss": measured.dejitter_loss,
                "burst_ratio": measured.burst_ratio.unwrap_or(1.0),
                "network_delay_ms": delay,
                "mouth_to_ear_ms": judge.terminal_delay_ms().map(|terminal| delay.plus(terminal)),
            },
            "conversation": opinion(&judgement.conversation),
            "listening": opinion(&judgement.listening),
            "paper_a": paper(&judgement.paper_a),
        })
    }

    /// What a person reads.
    pub fn to_text(&self, judgement: &Judgement) -> String {
        let Self { codec, judge, measured, delay } = self;
        let facts = codec.facts();
        let mut lines = vec![format!("{} ({}), as stated:", facts.title, facts.name)];
        let mut line = |name: &str, value: String| lines.push(format!("  {name:<34} {value}"));
        let cited = |factor: Option<Cited>| {
            factor.map_or_else(
                || "not published".to_owned(),
                |cited| format!("{}  ({})", round(cited.value), cited.source),
            )
        };
        line("Ie, impairment of the codec", cited(facts.ie));
        line("Bpl, robustness against loss", cited(facts.bpl));
        line("network's one-way delay", format!("{} ms", range(*delay)));
        line("packet and look-ahead", format!("{} ms", round(facts.coding_delay_ms(judge.packet_ms))));
        line("receiver's buffer", format!("{} ms", round(judge.playout_ms)));
        if let Some(terminal) = judge.terminal_delay_ms() {
            line("mouth to ear", format!("{} ms", range(delay.plus(terminal))));
        }
        line("lost in the network", format!("{} %", round(measured.network_loss.unwrap_or(0.0) * 100.0)));
        line("discarded by the buffer", format!("{} %", round(measured.dejitter_loss * 100.0)));
        line("burst ratio", round(measured.burst_ratio.unwrap_or(1.0)));
        match &judgement.conversation {
            Ok(opinion) => {
                line("R", range(opinion.r));
                line("MOS", format!("{}  ({})", range(opinion.mos), opinion.satisfaction));
                for caveat in &opinion.caveats {
                    line("", caveat.to_string());
                }
                parts(&opinion.worst, &mut line);
            }
            Err(unknown) => line("R and MOS", unknown.to_string()),
        }
        if let Ok(paper) = &judgement.paper_a {
            line(
                "by Cole and Rosenbluth's reduction",
                format!("R {}, MOS {}", range(paper.r), range(paper.mos)),
            );
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// The parts of R, and every input of the formula.
fn parts(parts: &Parts, line: &mut impl FnMut(&str, String)) {
    match parts {
        Parts::Narrow(rating) => {
            line("Ro, signal to noise", round(rating.ro));
            line("- Is, at the same time as speech", round(rating.simultaneous.sum));
            line("- Id, delay and echo", round(rating.delay.sum));
            line("- Ie-eff, codec and loss", round(rating.ie_eff));
            line("+ A, advantage", round(rating.inputs.a));
            let inputs = PARAMETERS.iter().map(|parameter| {
                let (value, unit) = (round(parameter.of(&rating.inputs)), parameter.unit);
                if unit.is_empty() {
                    format!("{} {value}", parameter.name)
                } else {
                    format!("{} {value} {unit}", parameter.name)
                }
            });
            let inputs: Vec<String> = inputs.collect();
            for (index, some) in inputs.chunks(6).enumerate() {
                line(if index == 0 { "inputs of ITU-T G.107" } else { "" }, some.join(", "));
            }
        }
        Parts::Wide(rating) => {
            line("- Idd, delay", round(rating.idd));
            line("- Ie-eff, codec and loss", round(rating.ie_eff));
            let i = rating.inputs;
            let inputs = [
                ("Ta", i.ta_ms),
                ("Ie", i.ie),
                ("Bpl", i.bpl),
                ("Ppl", i.ppl_percent),
                ("BurstR", i.burst_r),
            ];
            let inputs = inputs.map(|(name, value)| format!("{name} {}", round(value)));
            line("inputs of ITU-T G.107.1", inputs.join(", "));
        }
    }
}
