//! What the person, a program that reads our lines, and a table get to know.

use crate::{ReportSettings, TelephoneError};
use guestright_clock::Clock;
use guestright_quality::{Interval, Judgement, Row, Summary};
use serde_json::{Value, json};
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

/// The table's columns. A field stays empty where there is no figure.
const COLUMNS: &str = "start_s,received,expected,lost,loss,heard_loss,late,overflow,jitter_ms,delay_low_ms,\
    delay_high_ms,round_trip_ms,playout_ms,r_low,r_high,mos_low,mos_high,mos_listening,protection";

/// What is said, and where.
pub struct Report<'a, W> {
    out: &'a mut W,
    json: bool,
    /// Somebody watches: one line changes in place.
    live: bool,
    is_live_shown: bool,
    csv: Option<BufWriter<File>>,
    clock: Clock,
}

/// A second of a call, as it is shown.
#[derive(Clone, Debug)]
pub struct Second {
    /// What arrived; nothing while nothing came yet.
    pub row: Row,
    /// The way there and back, as RTCP tells.
    pub round_trip: Option<Duration>,
    /// How long what arrived waits before it is played.
    pub playout: Option<Duration>,
    /// Who can hear it.
    pub protection: &'static str,
}

impl<W> fmt::Debug for Report<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").field("json", &self.json).finish_non_exhaustive()
    }
}

impl<'a, W: Write> Report<'a, W> {
    pub fn new(settings: &ReportSettings, out: &'a mut W) -> Result<Self, TelephoneError> {
        let csv = settings.csv.as_ref().map(|path| {
            let create = || {
                let mut csv = BufWriter::new(File::create(path)?);
                writeln!(csv, "{COLUMNS}")?;
                Ok::<_, std::io::Error>(csv)
            };
            create().map_err(|source| TelephoneError::Unwritable { path: path.clone(), source })
        });
        Ok(Self {
            out,
            json: settings.json,
            live: settings.live && !settings.json,
            is_live_shown: false,
            csv: csv.transpose()?,
            clock: Clock::start(),
        })
    }

    /// Says something: a sentence for a person, facts for a program.
    pub fn print(&mut self, event: &str, message: &str, mut facts: Value) -> Result<(), TelephoneError> {
        if self.json {
            facts["event"] = json!(event);
            facts["time_us"] = json!(self.clock.now().0);
            writeln!(self.out, "{facts}")?;
        } else {
            self.end_live()?;
            writeln!(self.out, "{message}")?;
        }
        Ok(self.out.flush()?)
    }

    fn end_live(&mut self) -> std::io::Result<()> {
        if std::mem::take(&mut self.is_live_shown) {
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// A second has passed.
    pub fn second(&mut self, second: &Second) -> Result<(), TelephoneError> {
        if let Some(csv) = &mut self.csv {
            writeln!(csv, "{}", columns(second))?;
            csv.flush()?;
        }
        if self.live {
            // To the beginning of the line, and away with what is there (ECMA-48, "erase in line").
            write!(self.out, "\r\x1b[K{}", live(second))?;
            self.is_live_shown = true;
            self.out.flush()?;
        }
        Ok(())
    }

    /// The same second for a program.
    pub fn second_in_json(&mut self, second: &Second) -> Result<(), TelephoneError> {
        if !self.json {
            return Ok(());
        }
        let mut facts = serde_json::to_value(&second.row)?;
        let ms = |value: Option<Duration>| value.map(|value| value.as_secs_f64() * 1e3);
        facts["round_trip_ms"] = json!(ms(second.round_trip));
        facts["playout_ms"] = json!(ms(second.playout));
        self.print("second", "", facts)
    }

    /// The end of a call: what it was like.
    pub fn summary(&mut self, facts: Value, summary: Option<&Summary>) -> Result<(), TelephoneError> {
        self.end(facts, &summary.map(in_words).unwrap_or_default())
    }

    /// The end of a call: facts for a program, sentences for a person.
    pub fn end(&mut self, facts: Value, lines: &[String]) -> Result<(), TelephoneError> {
        if let Some(csv) = &mut self.csv {
            csv.flush()?;
        }
        if self.json {
            return self.print("summary", "", facts);
        }
        self.end_live()?;
        for line in lines {
            writeln!(self.out, "  {line}")?;
        }
        Ok(self.out.flush()?)
    }
}

/// What can be said about a rating: the conversation's, or the listener's where the delay is not known.
fn opinion(judgement: &Judgement) -> String {
    match (&judgement.conversation, &judgement.listening) {
        (Ok(opinion), _) => format!("R {:.1}, MOS {}", opinion.r, opinion.mos),
        (Err(_), Ok(opinion)) => format!("R at most {:.1}, MOS at most {}", opinion.r, opinion.mos),
        (Err(_), Err(unknown)) => format!("no rating ({})", unknown.word()),
    }
}

fn live(second: &Second) -> String {
    let row = &second.row;
    let ms = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.1} ms"));
    let delay = match (row.delay_ms, second.round_trip) {
        (Some(delay), _) => format!("delay {delay:.0} ms"),
        (None, Some(there_and_back)) => format!("there and back {} ms", there_and_back.as_millis()),
        (None, None) => "delay ?".to_owned(),
    };
    let loss = row.network.rate.map_or_else(|| "?".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
    format!(
        "{:>4.0} s  {delay}  loss {loss}  jitter {}  {}  {}",
        row.start_s + row.length_s,
        ms(row.jitter.rfc3550_ms),
        opinion(&row.judgement),
        second.protection
    )
}

fn columns(second: &Second) -> String {
    let row = &second.row;
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    let low = |value: Option<Interval>| number(value.map(|value| value.low));
    let high = |value: Option<Interval>| number(value.map(|value| value.high));
    let ms = |value: Option<Duration>| number(value.map(|value| value.as_secs_f64() * 1e3));
    let conversation = row.judgement.conversation.as_ref().ok();
    let listening = row.judgement.listening.as_ref().ok();
    [
        number(Some(row.start_s)),
        row.received.to_string(),
        row.network.expected.to_string(),
        row.network.lost.to_string(),
        number(row.network.rate),
        number(row.playout.rate),
        row.late.to_string(),
        row.overflow.to_string(),
        number(row.jitter.rfc3550_ms),
        low(row.delay_ms),
        high(row.delay_ms),
        ms(second.round_trip),
        ms(second.playout),
        low(conversation.map(|opinion| opinion.r)),
        high(conversation.map(|opinion| opinion.r)),
        low(conversation.map(|opinion| opinion.mos)),
        high(conversation.map(|opinion| opinion.mos)),
        number(listening.map(|opinion| opinion.mos.low)),
        second.protection.to_owned(),
    ]
    .join(",")
}

/// A stream in sentences.
fn in_words(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    let loss = summary.network.rate.map_or_else(|| "?".to_owned(), |rate| format!("{:.2} %", rate * 100.0));
    let jitter = summary.jitter.rfc3550_ms.map_or_else(|| "?".to_owned(), |ms| format!("{ms:.1} ms"));
    lines.push(format!(
        "heard {:.1} s: {} packets, {} lost ({loss}), jitter {jitter}",
        summary.duration_s, summary.counts.received, summary.network.lost
    ));
    match &summary.delay {
        Some(delay) => lines.push(format!("one-way delay {:.1} ms (95 %: {:.1} ms)", delay.mean_ms, delay.p95_ms)),
        None => lines.push(
            "the one-way delay cannot be computed: say how far the clocks may differ, --clock-error-ms, on both sides"
                .to_owned(),
        ),
    }
    lines.push(opinion(&summary.judgement));
    if let Ok(opinion) = summary.judgement.conversation.as_ref().or(summary.judgement.listening.as_ref()) {
        lines.extend(opinion.caveats.iter().map(ToString::to_string));
    }
    if let Some(worst) = &summary.worst_row {
        lines.push(format!("worst second at {:.0} s: MOS {}", worst.start_s, worst.mos));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_quality::{Analyser, AnalyserConfig, Codec, Packet};
    use guestright_units::Time;

    fn stream(delay_ms: Option<Interval>) -> (Row, Summary) {
        let mut analyser = Analyser::new(AnalyserConfig::new(Codec::G711uPlc));
        for number in 0..150_u16 {
            if number % 10 == 7 {
                continue;
            }
            analyser.handle_packet(&Packet {
                sequence: number,
                timestamp: u32::from(number) * 160,
                marker: number == 0,
                payload_bytes: 160,
                arrival: Time(1_000_000 + u64::from(number) * 20_000),
                delay_ms,
            });
        }
        analyser.finish();
        (analyser.poll_row().unwrap(), analyser.summary())
    }

    fn second(row: Row) -> Second {
        Second { row, round_trip: None, playout: Some(Duration::from_millis(60)), protection: "end-to-end" }
    }

    #[test]
    fn what_cannot_be_computed_is_said() {
        let (row, summary) = stream(None);
        let lines = in_words(&summary).join("\n");
        assert!(lines.contains("15 lost (10.00 %)"), "{lines}");
        assert!(lines.contains("the one-way delay cannot be computed"), "{lines}");
        assert!(lines.contains("MOS at most"), "{lines}");
        let columns: Vec<_> = columns(&second(row.clone())).split(',').map(str::to_owned).collect();
        assert_eq!(columns.len(), COLUMNS.split(',').count());
        assert_eq!(columns[9], "", "there is no delay");
        assert_eq!(columns[13], "", "and so no conversation");
        assert!(live(&second(row)).contains("delay ?"));
    }

    #[test]
    fn a_delay_between_two_clocks_is_an_interval() {
        let (row, summary) = stream(Some(Interval::around(40.0, 5.0)));
        let lines = in_words(&summary).join("\n");
        assert!(lines.contains("one-way delay 35.0 to 45.0 ms"), "{lines}");
        let live = live(&second(row));
        assert!(live.contains("delay 35 to 45 ms") && live.contains("loss 10.0 %"), "{live}");
    }
}
