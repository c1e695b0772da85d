//! A table with a line for each second of each stream.

use crate::words::{codec_name, rated};
use guestright_capture::{Part, Report, RowLine, StreamReport};
use std::fmt::Write;

const HEAD: &str = "stream,ssrc,from,to,codec,time_s,start_s,length_s,received,expected,lost,late,overflow,unheard,\
burst_ratio,jitter_ms,delay_low_ms,delay_high_ms,r_low,r_high,mos_low,mos_high,listening_r,listening_mos,why";

/// `time_s` counts from the first packet of the file, `start_s` from that of the stream's part. What is not known is
/// empty, and `why` says why.
pub fn table(report: &Report) -> String {
    let mut out = format!("{HEAD}\n");
    for (index, stream) in report.streams.iter().enumerate() {
        for (number, part) in stream.parts.iter().enumerate() {
            let label = crate::table::label(index, number, stream.parts.len());
            let since = report.counts.first.map_or(0.0, |first| part.start.since(first).as_seconds());
            for row in &part.rows {
                line(&label, since, stream, part, row, &mut out);
            }
        }
    }
    out
}

fn line(label: &str, since: f64, stream: &StreamReport, part: &Part, row: &RowLine, out: &mut String) {
    let judgement = stream.row_judgement(part, row);
    let flow = &stream.info.flow;
    let known = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    let opinion = judgement.conversation.as_ref();
    let listening = judgement.listening.as_ref();
    let why = judgement.conversation.as_ref().err().map_or("", |unknown| unknown.word());
    let clock = part.clock_rate.is_some();
    let _ = write!(out, "{label},{:08x},{},{},{},", flow.ssrc, flow.from, flow.to, plain(&codec_name(part)));
    let _ = write!(out, "{:.3},{:.3},{:.3},", since + row.start_s, row.start_s, row.length_s);
    let _ = write!(out, "{},{},{},", row.received, row.expected, row.lost);
    let buffer = |count: u64| if clock { count.to_string() } else { String::new() };
    let _ = write!(out, "{},{},{},", buffer(row.late), buffer(row.overflow), buffer(row.unplayed));
    let _ = write!(out, "{},{},", known(row.burst_ratio), known(row.jitter_ms.filter(|_| clock)));
    let _ = write!(out, "{},{},", known(row.delay_ms.map(|d| d.low)), known(row.delay_ms.map(|d| d.high)));
    for value in [
        opinion.map(|opinion| opinion.r.low),
        opinion.map(|opinion| opinion.r.high),
        opinion.map(|opinion| opinion.mos.low),
        opinion.map(|opinion| opinion.mos.high),
        listening.map(|opinion| opinion.r.high),
        listening.map(|opinion| opinion.mos.high),
    ] {
        let _ = write!(out, "{},", known(value.ok()));
    }
    debug_assert!(rated(stream, &judgement).is_ok() || !why.is_empty(), "what is not shown has a reason");
    let _ = writeln!(out, "{why}");
}

/// A name from the network, as something that no spreadsheet takes for a formula or another column.
fn plain(name: &str) -> String {
    let plain =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ' | '/') { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    if name.starts_with('-') { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_name_is_never_a_formula() {
        assert_eq!(plain("=HYPERLINK(\"x\",1)"), "_HYPERLINK__x__1_");
        assert_eq!(plain("-1+cmd"), "_-1_cmd");
        assert_eq!(plain("G729"), "G729");
    }
}
