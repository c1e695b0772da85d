//! Without a capture: from numbers that somebody says.

use super::Mos;
use super::words::{range, reason, round};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_quality::{Codec, Interval, Judge, Judgement, Measured, PARAMETERS, Parts};
use serde_json::json;

pub(super) fn run(mos: &Mos, out: &mut Output) -> Outcome {
    let codec = mos.codec.ok_or_else(|| {
        let known = Codec::ALL.map(|codec| codec.facts().name).join(", ");
        Failure::user(anyhow!("without a capture a codec is needed"))
            .hint(format!("give FILE, or --codec with one of {known}"))
    })?;
    let delay = mos.delay_ms.ok_or_else(|| {
        Failure::user(anyhow!("without a capture a delay is needed"))
            .hint("give FILE, or --delay-ms with the network's one-way delay; 0 for none")
    })?;
    let without = &mos.without;
    let judge = Judge {
        codec: Some(codec),
        packet_ms: without.packet_ms.unwrap_or(20.0),
        playout_ms: without.playout_ms.unwrap_or_else(|| mos.buffer().delay().as_seconds() * 1e3),
        sensitivity: without.sensitivity.unwrap_or_default(),
        advantage: without.advantage.unwrap_or(0.0),
    };
    let measured = Measured {
        network_loss: Some(without.loss.unwrap_or(0.0)),
        dejitter_loss: without.dejitter_loss.unwrap_or(0.0),
        burst_ratio: without.burst_ratio,
        network_delay_ms: Some(delay),
        delay_assumed: false,
    };
    let judgement = judge.judge(&measured);
    if mos.json {
        writeln!(out, "{:#}", as_json(codec, &judge, &measured, delay, &judgement))?;
    } else {
        write!(out, "{}", as_text(codec, &judge, &measured, delay, &judgement))?;
    }
    match judgement.conversation {
        Ok(_) => Ok(()),
        Err(unknown) => Err(Failure::user(anyhow!("no rating: {unknown}")).hint(format!(
            "choose another codec than {}, or say what was really measured",
            codec.facts().name
        ))),
    }
}

fn as_json(
    codec: Codec,
    judge: &Judge,
    measured: &Measured,
    delay: Interval,
    judgement: &Judgement,
) -> serde_json::Value {
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
        "conversation": super::json::opinion(&judgement.conversation),
        "listening": super::json::opinion(&judgement.listening),
        "paper_a": super::json::paper(&judgement.paper_a),
    })
}

fn as_text(
    codec: Codec,
    judge: &Judge,
    measured: &Measured,
    delay: Interval,
    judgement: &Judgement,
) -> String {
    let facts = codec.facts();
    let mut lines = vec![format!("{} ({}), as stated:", facts.title, facts.name)];
    let mut line = |name: &str, value: String| lines.push(format!("  {name:<34} {value}"));
    let cited = |factor: Option<guestright_quality::Cited>| {
        factor.map_or_else(
            || "not published".to_owned(),
            |cited| format!("{}  ({})", round(cited.value), cited.source),
        )
    };
    line("Ie, impairment of the codec", cited(facts.ie));
    line("Bpl, robustness against loss", cited(facts.bpl));
    line("network's one-way delay", format!("{} ms", range(delay)));
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
        Err(unknown) => line("R and MOS", reason(unknown)),
    }
    if let Ok(paper) = &judgement.paper_a {
        line("by Cole and Rosenbluth's reduction", format!("R {}, MOS {}", range(paper.r), range(paper.mos)));
    }
    lines.push(String::new());
    lines.join("\n")
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
