//! One stream in one line: of many files, of a watch that goes on, and for who only wants to know whether all is well.

use crate::words::{codec_name, range_with_two, rated};
use guestright_capture::{Direction, Part, StreamReport};
use guestright_quality::Interval;
use serde_json::{Value, json};

/// What is kept of a part of a stream when the rest is forgotten.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The file, or the interface.
    pub source: String,
    /// `2`, or `2b` where the codec changed.
    pub label: String,
    pub ssrc: u32,
    pub from: std::net::SocketAddr,
    pub to: std::net::SocketAddr,
    pub codec: String,
    pub first: String,
    pub duration_s: f64,
    pub packets: u64,
    pub expected: u64,
    pub lost: u64,
    /// Packets that are missing where whoever captured had no room.
    pub unseen: u64,
    pub jitter_ms: Option<f64>,
    /// MOS, or why there is none.
    pub mos: Result<Interval, Why>,
    /// Whether MOS is an upper bound only.
    pub at_most: bool,
    pub direction: Direction,
    /// Whether nobody was heard in it.
    pub is_silence: bool,
}

/// Why there is no figure: a word, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    pub word: &'static str,
    pub sentence: String,
}

/// The lines of a stream, one for each of its parts.
pub fn lines<'a>(
    source: &'a str,
    number: usize,
    stream: &'a StreamReport,
) -> impl Iterator<Item = Line> + use<'a> {
    let parts = stream.parts.len();
    stream.parts.iter().enumerate().map(move |(part_number, part)| {
        line(source, crate::table::label(number, part_number, parts), stream, part)
    })
}

fn line(source: &str, label: String, stream: &StreamReport, part: &Part) -> Line {
    let judgement = stream.judgement(part);
    let (mos, at_most) = match rated(stream, &judgement) {
        Ok(rated) => (Ok(rated.opinion.mos), rated.at_most),
        Err(unknown) => (Err(Why { word: unknown.word(), sentence: unknown.to_string() }), false),
    };
    let (flow, summary) = (&stream.info.flow, &part.summary);
    Line {
        source: source.to_owned(),
        label,
        ssrc: flow.ssrc,
        from: flow.from,
        to: flow.to,
        codec: codec_name(part),
        first: part.start.to_string(),
        duration_s: summary.duration_s,
        packets: summary.counts.packets,
        expected: summary.network.expected,
        lost: summary.network.lost,
        unseen: summary.counts.unseen,
        jitter_ms: summary.jitter.rfc3550_ms.filter(|_| part.clock_rate.is_some()),
        mos,
        at_most,
        direction: stream.direction,
        is_silence: stream.sounding.is_silence(),
    }
}

impl Line {
    /// The score to compare: the lower bound, or, of an upper bound, that bound. `None` without a rating.
    pub fn score(&self) -> Option<f64> {
        self.mos.as_ref().ok().map(|mos| if self.at_most { mos.high } else { mos.low })
    }

    /// Share lost in the network.
    #[expect(clippy::cast_precision_loss, reason = "packets of a call")]
    pub fn loss(&self) -> Option<f64> {
        (self.expected > 0).then(|| self.lost as f64 / self.expected as f64)
    }

    /// `≤ 4.41`, `3.2..3.6`, or `?`.
    pub fn mos_text(&self) -> String {
        match &self.mos {
            Ok(mos) if self.at_most => format!("≤ {:.2}", mos.high),
            Ok(mos) => range_with_two(*mos),
            Err(_) => "?".to_owned(),
        }
    }

    /// What is to be known besides, in words: why there is no figure, and what no figure shows.
    pub fn remark(&self) -> String {
        let mut remarks: Vec<&str> = self.mos.as_ref().err().map(|why| why.word).into_iter().collect();
        match self.direction {
            Direction::OneWay => remarks.push("one-way"),
            Direction::SilentReturn => remarks.push("silent return"),
            Direction::Both | Direction::TooShort => {}
        }
        if self.is_silence {
            remarks.push("silence");
        }
        if self.unseen > 0 {
            remarks.push("not all seen");
        }
        remarks.join(", ")
    }

    pub fn to_json(&self) -> Value {
        json!({
            "source": self.source,
            "stream": self.label,
            "ssrc": format!("{:08x}", self.ssrc),
            "from": self.from.to_string(),
            "to": self.to.to_string(),
            "codec": self.codec,
            "first": self.first,
            "duration_s": self.duration_s,
            "packets": self.packets,
            "expected": self.expected,
            "lost": self.lost,
            "unseen": self.unseen,
            "jitter_ms": self.jitter_ms,
            "mos": self.mos.as_ref().ok(),
            "at_most": self.at_most,
            "why": self.mos.as_ref().err().map(|why| why.sentence.as_str()),
            "direction": direction(self.direction),
            "silence": self.is_silence,
        })
    }
}

pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Both => "both",
        Direction::OneWay => "one-way",
        Direction::SilentReturn => "silent-return",
        Direction::TooShort => "too-short",
    }
}

/// Worst first: what has no rating stands behind, in the order in which it came.
pub fn sort_worst_first(lines: &mut [Line]) {
    lines.sort_by(|a, b| {
        let score = |line: &Line| line.score().unwrap_or(f64::INFINITY);
        score(a).total_cmp(&score(b))
    });
}

/// A table of lines, with their source in front.
pub fn table(lines: &[Line]) -> String {
    let mut rows = vec![
        ["MOS", "source", "#", "from -> to", "codec", "time", "lost", "jitter", "remarks"].map(str::to_owned),
    ];
    rows.extend(lines.iter().map(|line| {
        let known = |value: Option<String>| value.unwrap_or_else(|| "?".to_owned());
        [
            line.mos_text(),
            line.source.clone(),
            line.label.clone(),
            format!("{} -> {}", line.from, line.to),
            line.codec.clone(),
            format!("{:.1} s", line.duration_s),
            known(line.loss().map(|loss| format!("{:.2} %", loss * 100.0))),
            known(line.jitter_ms.map(|ms| format!("{ms:.2} ms"))),
            line.remark(),
        ]
    }));
    let mut out = String::new();
    crate::table::write_columns(&rows, &[1, 3, 4, 8], &mut out);
    out
}

/// The streams that are below a score, worst first.
pub fn below(lines: &[Line], least: f64) -> Vec<&Line> {
    let mut below: Vec<&Line> =
        lines.iter().filter(|line| line.score().is_some_and(|score| score < least)).collect();
    below.sort_by(|a, b| a.score().unwrap_or(0.0).total_cmp(&b.score().unwrap_or(0.0)));
    below
}
