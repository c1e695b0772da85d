//! What a terminal shows.

use crate::words::{codec_name, part_notes, range, rated, round};
use guestright_capture::{Part, Report, StreamReport};
use guestright_quality::{Judgement, Parts};
use std::fmt::Write;

const HEAD: [&str; 11] =
    ["#", "from -> to", "codec", "time", "packets", "lost", "buffer", "burst", "jitter", "R", "MOS"];

pub fn report(name: &str, report: &Report, notes: &[String]) -> String {
    let mut out = String::new();
    let counts = &report.counts;
    let span = counts.first.zip(counts.last).map_or(0.0, |(first, last)| last.since(first).as_seconds());
    let streams = report.streams.len();
    let _ = writeln!(
        out,
        "{name}: {} s, {} packets, {streams} {} of RTP",
        round(span),
        counts.packets,
        if streams == 1 { "stream" } else { "streams" }
    );
    for note in notes {
        let _ = writeln!(out, "  {note}");
    }
    let mut rows = vec![HEAD.map(str::to_owned)];
    let mut details = String::new();
    for (index, stream) in report.streams.iter().enumerate() {
        for (number, part) in stream.parts.iter().enumerate() {
            let label = label(index, number, stream.parts.len());
            let judgement = stream.judgement(part);
            rows.push(row(&label, stream, part, &judgement));
            detail(&label, report, stream, part, &judgement, &mut details);
        }
    }
    out.push('\n');
    write_columns(&rows, &[1, 2], &mut out);
    out.push_str(&details);
    out
}

/// `2`, or `2a`, `2b` where the codec changed.
pub(crate) fn label(stream: usize, part: usize, parts: usize) -> String {
    let letter = (b'a'..=b'z').map(char::from).nth(part).filter(|_| parts > 1);
    letter.map_or_else(|| (stream + 1).to_string(), |letter| format!("{}{letter}", stream + 1))
}

pub(crate) fn row(label: &str, stream: &StreamReport, part: &Part, judgement: &Judgement) -> [String; 11] {
    let per_cent =
        |share: Option<f64>| share.map_or_else(|| "?".to_owned(), |share| format!("{:.2} %", share * 100.0));
    let summary = &part.summary;
    let (r, mos) = match rated(stream, judgement) {
        Ok(rated) => (rated.r(), rated.mos()),
        Err(_) => ("?".to_owned(), "?".to_owned()),
    };
    let clock = part.clock_rate.is_some();
    [
        label.to_owned(),
        format!("{} -> {}", stream.info.flow.from, stream.info.flow.to),
        codec_name(part),
        format!("{:.1} s", summary.duration_s),
        summary.counts.packets.to_string(),
        per_cent(summary.network.rate),
        per_cent(summary.dejitter_loss.filter(|_| clock)),
        summary.playout.burst_ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
        summary
            .jitter
            .rfc3550_ms
            .filter(|_| clock)
            .map_or_else(|| "?".to_owned(), |ms| format!("{ms:.2} ms")),
        r,
        mos,
    ]
}

/// Words to the left, in the columns `words`; numbers to the right.
pub(crate) fn write_columns<const N: usize>(rows: &[[String; N]], words: &[usize], out: &mut String) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in rows {
        let mut line = String::new();
        for (column, text) in row.iter().enumerate() {
            let fill = " ".repeat(widths[column] - text.chars().count());
            let (before, behind) =
                if words.contains(&column) { ("", fill.as_str()) } else { (fill.as_str(), "") };
            let _ = write!(line, " {before}{text}{behind} ");
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn detail(
    label: &str,
    report: &Report,
    stream: &StreamReport,
    part: &Part,
    judgement: &Judgement,
    out: &mut String,
) {
    let flow = &stream.info.flow;
    let _ = write!(out, "\n{label}: SSRC {:08x}", flow.ssrc);
    if let Some(interface) = &stream.interface {
        let _ = write!(out, " on {interface}");
    }
    if stream.info.protected == Some(true) {
        out.push_str(", SRTP");
    }
    if let Some(opposite) = stream.opposite.filter(|opposite| *opposite < report.streams.len()) {
        let _ = write!(out, ", opposite of {}", opposite + 1);
    }
    out.push('\n');
    if let Ok(rated) = rated(stream, judgement) {
        let (worst, best) = (&rated.opinion.worst, &rated.opinion.best);
        let _ = writeln!(out, "   {}; {}", parts_line(worst, best), rated.opinion.satisfaction);
        if !part.rows.is_empty() {
            let _ = writeln!(out, "   {}", seconds_line(stream, part));
        }
    }
    for line in
        [stretch_line(stream, part), runs_line(part), buffers_line(stream, part)].into_iter().flatten()
    {
        let _ = writeln!(out, "   {line}");
    }
    for note in part_notes(stream, part, judgement) {
        let _ = writeln!(out, "   {note}");
    }
}

/// `R = Ro 94.77 - Is 1.41 - Id 0.15..3.4 - Ie-eff 15.2`.
pub(crate) fn parts_line(worst: &Parts, best: &Parts) -> String {
    let between = |low: f64, high: f64| range(guestright_quality::Interval::new(low, high));
    match (worst, best) {
        (Parts::Narrow(worst), Parts::Narrow(best)) => format!(
            "R = Ro {} - Is {} - Id {} - Ie-eff {}{}",
            round(worst.ro),
            round(worst.simultaneous.sum),
            between(best.delay.sum, worst.delay.sum),
            round(worst.ie_eff),
            if worst.inputs.a > 0.0 { format!(" + A {}", round(worst.inputs.a)) } else { String::new() }
        ),
        (Parts::Wide(worst), Parts::Wide(best)) => {
            format!(
                "R = 129 - Idd {} - Ie-eff {} (wideband)",
                between(best.idd, worst.idd),
                round(worst.ie_eff)
            )
        }
        (Parts::Narrow(_), Parts::Wide(_)) | (Parts::Wide(_), Parts::Narrow(_)) => "R".to_owned(),
    }
}

/// The mean and the worst of the seconds.
fn seconds_line(stream: &StreamReport, part: &Part) -> String {
    let mut scores = Vec::new();
    for row in &part.rows {
        let judgement = stream.row_judgement(part, row);
        if let Ok(rated) = rated(stream, &judgement) {
            scores.push((row.start_s, rated.opinion.mos, rated.at_most));
        }
    }
    let Some(worst) = scores.iter().min_by(|a, b| a.1.low.total_cmp(&b.1.low)) else {
        return "no second could be rated".to_owned();
    };
    let at_most = if worst.2 { "at most " } else { "" };
    #[expect(clippy::cast_precision_loss, reason = "seconds of a call")]
    let count = scores.len() as f64;
    let mean = |end: fn(&guestright_quality::Interval) -> f64| {
        scores.iter().map(|score| end(&score.1)).sum::<f64>() / count
    };
    let mean = guestright_quality::Interval::new(mean(|mos| mos.low), mean(|mos| mos.high));
    format!(
        "second by second: MOS {at_most}{} in the mean, {at_most}{} at worst, from second {}",
        range(mean),
        range(worst.1),
        round(worst.0)
    )
}

/// The ten seconds that were worst, if anything was lost in them.
fn stretch_line(stream: &StreamReport, part: &Part) -> Option<String> {
    let (stretch, judgement) = stream.worst_stretch(part).filter(|worst| worst.0.unplayed > 0)?;
    let mos = rated(stream, &judgement).map_or_else(|_| "?".to_owned(), |rated| rated.mos());
    Some(format!(
        "worst {} s, from second {}: MOS {mos}, {} of {} packets lost, {} not played",
        round(stretch.length_s),
        round(stretch.start_s),
        stretch.lost,
        stretch.expected,
        stretch.unplayed
    ))
}

/// How long the runs of losses were: `1: 12, 3: 1, more than 10: 2`.
fn runs_line(part: &Part) -> Option<String> {
    let lengths = part.summary.network.run_lengths;
    let some = lengths.iter().enumerate().filter(|(_, count)| **count > 0);
    let classes: Vec<String> = some
        .map(|(class, count)| match class {
            0..10 => format!("{}: {count}", class + 1),
            _ => format!("more than 10: {count}"),
        })
        .collect();
    (!classes.is_empty()).then(|| format!("packets lost in a row, and how often: {}", classes.join(", ")))
}

/// How good it would be behind other buffers.
fn buffers_line(stream: &StreamReport, part: &Part) -> Option<String> {
    let mut all = Vec::new();
    for (buffer, _, judgement) in stream.labelled(part) {
        let rated = rated(stream, &judgement).ok()?;
        all.push(format!("{} MOS {}", buffer.label(), rated.mos()));
    }
    (!all.is_empty()).then(|| format!("behind other buffers: {}", all.join("; ")))
}
