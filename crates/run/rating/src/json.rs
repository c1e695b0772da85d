//! What a program reads.

use crate::line::direction;
use crate::words::{codec_name, part_notes};
use guestright_capture::{DelaySource, Part, Report, RoundTrip, Sound, StreamReport};
use guestright_quality::{Opinion, PaperOpinion, Unknown};
use serde_json::{Value, json};

pub fn report(name: &str, report: &Report, notes: &[String]) -> Value {
    let counts = &report.counts;
    let streams: Vec<Value> =
        report.streams.iter().enumerate().map(|(index, stream)| one(index, report, stream)).collect();
    json!({
        "file": name,
        "notes": notes,
        "first": counts.first.map(|at| at.to_string()),
        "last": counts.last.map(|at| at.to_string()),
        "packets": counts.packets,
        "fragments": counts.fragments,
        "datagrams_by_first_fragment": counts.first_fragments,
        "ciphered_frames": counts.ciphered,
        "other_packets": counts.other,
        "damaged_packets": counts.damaged,
        "own_drops": counts.own_drops,
        "udp_datagrams": report.search.datagrams,
        "ciphered_rtcp_datagrams": report.search.rtcp_ciphered,
        "rtcp_datagrams": report.search.rtcp,
        "sip_messages": report.sip_messages,
        "clock_offset_ms": report.clocks.map(|clocks| json!({
            "low": clocks.offset_ms.low,
            "high": clocks.offset_ms.high,
            "told_by_packets": clocks.measured,
            "contradicted": clocks.contradicted,
        })),
        "streams": streams,
    })
}

fn one(index: usize, report: &Report, stream: &StreamReport) -> Value {
    let info = &stream.info;
    let parts: Vec<Value> = stream.parts.iter().map(|part| part_json(stream, part)).collect();
    json!({
        "stream": index + 1,
        "opposite": stream.opposite.filter(|other| *other < report.streams.len()).map(|other| other + 1),
        "ssrc": format!("{:08x}", info.flow.ssrc),
        "from": info.flow.from.to_string(),
        "to": info.flow.to.to_string(),
        "interface": stream.interface,
        "merged_interfaces": stream.merged,
        "copies": stream.copies.iter().map(|copy| copy + 1).collect::<Vec<_>>(),
        "first": info.first.to_string(),
        "last": info.last.to_string(),
        "packets": info.packets,
        "payload_types": info.types,
        "srtp": info.protected,
        "round_trip_ms": stream.round_trip.map(round_trip),
        "round_trip_to_receiver_ms": info.beyond.map(round_trip),
        "delay_source": delay_source(&stream.delay),
        "receiver_reports": info.other.map(|other| json!({
            "lost": other.lost, "jitter_ticks": other.jitter, "reports": other.reports,
        })),
        "receiver_metrics": info.voice.map(|voice| json!({
            "round_trip_ms": voice.round_trip_ms, "end_system_ms": voice.end_system_ms, "r": voice.r,
        })),
        "direction": direction(stream.direction),
        "sounding": {
            "measured": stream.sounding.measured,
            "silent": stream.sounding.silent,
            "comfort_noise": stream.sounding.comfort_noise,
            "silent_share": stream.sounding.silent_share(),
            "longest_silence_s": stream.sounding.longest_silence_s,
            "silence": stream.sounding.is_silence(),
        },
        "parts": parts,
    })
}

/// Behind each of three usual buffers, under its label.
fn buffers(stream: &StreamReport, part: &Part) -> Value {
    let each = stream.labelled(part).into_iter().map(|(buffer, loss, judgement)| {
        let value = json!({
            "heard": loss.playout,
            "playout_ms": loss.playout_ms,
            "conversation": short(&judgement.conversation),
            "listening": short(&judgement.listening),
        });
        (buffer.label().to_owned(), value)
    });
    Value::Object(each.collect())
}

fn worst_stretch(stream: &StreamReport, part: &Part) -> Value {
    stream.worst_stretch(part).map_or(Value::Null, |(stretch, judgement)| {
        json!({
            "measured": stretch,
            "conversation": short(&judgement.conversation),
            "listening": short(&judgement.listening),
        })
    })
}

/// R and MOS without their parts, or why there are none.
fn short(outcome: &Result<Opinion, Unknown>) -> Value {
    match outcome {
        Ok(opinion) => json!({ "r": opinion.r, "mos": opinion.mos }),
        Err(unknown) => json!(unknown),
    }
}

fn part_json(stream: &StreamReport, part: &Part) -> Value {
    let judgement = stream.judgement(part);
    let summary = &part.summary;
    let clock = part.clock_rate.is_some();
    json!({
        "codec": codec_name(part),
        "rated_as": match &part.sound {
            Sound::Speech { codec, .. } => codec.map(|codec| codec.facts().name),
            Sound::ComfortNoise | Sound::Tones | Sound::NoVoice { .. } => None,
        },
        "payload_type": part.payload_type,
        "clock_rate_hz": part.clock_rate,
        "clock_rate_guessed": part.clock_rate_guessed,
        "missing_before": part.missing_before,
        "buffer_restarts": part.buffer_restarts,
        "start": part.start.to_string(),
        "duration_s": summary.duration_s,
        "packet_ms": summary.packet_ms,
        "playout_ms": part.judge.playout_ms,
        "counts": summary.counts,
        "network": summary.network,
        "dejitter_loss": summary.dejitter_loss.filter(|_| clock),
        "heard": clock.then_some(summary.playout),
        "talkspurts": summary.talkspurts,
        "jitter": clock.then_some(summary.jitter),
        "delay": summary.delay,
        "conversation": opinion(&judgement.conversation),
        "listening": opinion(&judgement.listening),
        "paper_a": paper(&judgement.paper_a),
        "worst_ten_seconds": worst_stretch(stream, part),
        "buffers": buffers(stream, part),
        "notes": part_notes(stream, part, &judgement),
    })
}

/// A rating, or `{"unknown": …, "why": …}`.
pub(crate) fn opinion(outcome: &Result<Opinion, Unknown>) -> Value {
    match outcome {
        Ok(opinion) => json!(opinion),
        Err(unknown) => json!(unknown),
    }
}

pub(crate) fn paper(outcome: &Result<PaperOpinion, Unknown>) -> Value {
    match outcome {
        Ok(opinion) => json!(opinion),
        Err(unknown) => json!(unknown),
    }
}

fn round_trip(trip: RoundTrip) -> Value {
    let ms = |span: guestright_units::Micros| span.as_seconds() * 1e3;
    json!({ "count": trip.count, "least": ms(trip.least), "mean": ms(trip.mean), "most": ms(trip.most) })
}

fn delay_source(source: &DelaySource) -> Value {
    match source {
        DelaySource::Unknown => json!({ "kind": "unknown" }),
        DelaySource::Stated(delay) => json!({ "kind": "stated", "ms": delay }),
        DelaySource::RoundTrip(delay) => json!({ "kind": "round-trip", "ms": delay }),
        DelaySource::Captures { matched, unmatched } => {
            json!({ "kind": "two-captures", "matched": matched, "unmatched": unmatched })
        }
        DelaySource::SentHere => json!({ "kind": "sent-here" }),
        DelaySource::NoClocks => json!({ "kind": "no-clocks" }),
    }
}
