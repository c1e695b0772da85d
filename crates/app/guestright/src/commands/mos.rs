//! `guestright mos`: how good a call was, from a capture, or how good one would be.

mod live;

use anyhow::anyhow;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use guestright_capture::{Report, SurveyConfig};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_error::OrFail as _;
use guestright_quality::{BufferConfig, Codec, DelaySensitivity, Interval, Judge, Measured};
use guestright_rating::batch::{Batch, Shown};
use guestright_rating::line::{self, Line};
use guestright_rating::read::{self, Progress, Surveyed};
use guestright_rating::stated::Stated;
use guestright_rating::tally::{self, Now, Tally};
use guestright_rating::{csv, page, words};
use guestright_units::Micros;
use indicatif::{ProgressBar, ProgressStyle};
use live::LiveArgs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// Shorter files are read before anybody could look at a bar.
const BAR_FROM: u64 = 16 << 20;

/// Say how good the calls in a capture were, or how good a call would be
///
/// With a FILE (pcap or pcapng, "-" for standard input) it finds streams of RTP, SRTP too: only headers are read, and the
/// level of G.711 in the clear. It prints R of ITU-T G.107 and MOS with their parts, as intervals where the delay is one.
/// Of several files it prints a line for each stream, the worst first.
///
/// One capture tells no one-way delay. It comes from --delay-ms, from --other-end (a capture taken at the sender), or
/// from RTCP in the capture, which tells the round trip. Without any of these what is printed is "at most".
///
/// With --live it does the same for what passes an interface, until Ctrl-C. That needs root, or CAP_NET_RAW, and is given
/// up once the interface is open.
///
/// Without a FILE it computes from --codec, --delay-ms and --loss, and prints every input. Jitter is no input of the
/// formula: it turns into delay and into loss in the receiver's buffer, so say --playout-ms and --dejitter-loss.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Example:
  guestright mos call.pcapng
  guestright mos call.pcapng --delay-ms 40..60 --html call.html --csv call.csv
  guestright mos at-bob.pcapng --other-end at-alice.pcapng --clock-error-ms 2
  guestright mos trunk.pcap --codec g711u-plc --json
  guestright mos calls/*.pcap --fail-under-mos 3.6
  guestright mos --live eth0 --prometheus /var/lib/node_exporter/mos.prom
  guestright mos --delay-ms 150 --loss 0.01 --codec g729a --json"
)]
pub(crate) struct Mos {
    /// Captures; "-" is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A capture taken at the sender: one-way delay packet by packet
    #[arg(long, value_name = "FILE", requires = "files")]
    other_end: Option<PathBuf>,
    /// How well the clocks of both captures agree. Packets in both directions bound it too
    #[arg(long, value_name = "MS", requires = "other_end", value_parser = not_negative)]
    clock_error_ms: Option<f64>,
    /// One-way delay of the network, or between which two numbers it lies
    #[arg(long, value_name = "N[..M]", value_parser = delay)]
    delay_ms: Option<Interval>,
    /// The codec: for all speech in the capture, whatever its payload type says
    #[arg(long, value_name = "NAME", value_parser = codec())]
    codec: Option<Codec>,
    /// How much sound the receiver's dejitter buffer holds; it plays at half of that
    #[arg(long, value_name = "MS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(2..=10_000))]
    buffer_ms: u64,
    /// Anchor that buffer once, as paper A does, even where clocks drift
    #[arg(long)]
    fixed_buffer: bool,
    #[command(flatten)]
    without: Without,
    #[command(flatten)]
    live: LiveArgs,
    /// End with exit code 3 if a stream's MOS is lower
    #[arg(long, value_name = "MOS", value_parser = mos)]
    fail_under_mos: Option<f64>,
    /// Write what all streams amount to, for the textfile collector of Prometheus
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a table with a line for each second
    #[arg(long, value_name = "FILE", requires = "files")]
    csv: Option<PathBuf>,
    /// Write a page with figures: one file, without scripts
    #[arg(long, value_name = "FILE", requires = "files")]
    html: Option<PathBuf>,
}

/// What is said instead of a capture.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Without a capture")]
struct Without {
    /// Share of packets lost in the network, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with_all = ["files", "live"])]
    loss: Option<f64>,
    /// Share of what arrives that the dejitter buffer discards, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with_all = ["files", "live"])]
    dejitter_loss: Option<f64>,
    /// How much longer runs of losses are than by chance: 1 is chance
    #[arg(long, value_name = "N", value_parser = burst_ratio, conflicts_with_all = ["files", "live"])]
    burst_ratio: Option<f64>,
    /// Sound in one packet [default: 20]
    #[arg(long, value_name = "MS", value_parser = not_negative, conflicts_with_all = ["files", "live"])]
    packet_ms: Option<f64>,
    /// Delay in the receiver's buffer [default: half of --buffer-ms]
    #[arg(long, value_name = "MS", value_parser = not_negative, conflicts_with_all = ["files", "live"])]
    playout_ms: Option<f64>,
    /// How much people forgive because they can move: A of G.107, 0 to 20
    #[arg(long, value_name = "A", value_parser = advantage, conflicts_with_all = ["files", "live"])]
    advantage: Option<f64>,
    /// How much delay disturbs these people: default, low, very-low
    #[arg(long, value_name = "CLASS", value_parser = sensitivity, conflicts_with_all = ["files", "live"])]
    sensitivity: Option<DelaySensitivity>,
}

impl Mos {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        match &self.live.interface {
            Some(interface) => self.watch(interface, out),
            None if self.files.is_empty() => self.compute(out),
            None => self.survey(out),
        }
    }

    /// Without a capture.
    fn compute(&self, out: &mut Output) -> Outcome {
        let stated = self.stated()?;
        let judgement = stated.judge();
        if self.json {
            writeln!(out, "{:#}", stated.to_json(&judgement))?;
        } else {
            write!(out, "{}", stated.to_text(&judgement))?;
        }
        match judgement.conversation {
            Ok(opinion) => match self.fail_under_mos.filter(|least| opinion.mos.low < *least) {
                Some(least) => Err(Failure::below(anyhow!("MOS {:.2} is below {least}", opinion.mos.low))),
                None => Ok(()),
            },
            Err(unknown) => Err(Failure::user(anyhow!("no rating: {unknown}")).hint(format!(
                "choose another codec than {}, or say what was really measured",
                stated.codec.facts().name
            ))),
        }
    }

    fn stated(&self) -> Result<Stated, Failure> {
        let codec = self.codec.ok_or_else(|| {
            let known = Codec::ALL.map(|codec| codec.facts().name).join(", ");
            Failure::user(anyhow!("without a capture a codec is needed"))
                .hint(format!("give FILE, or --codec with one of {known}"))
        })?;
        let delay = self.delay_ms.ok_or_else(|| {
            Failure::user(anyhow!("without a capture a delay is needed"))
                .hint("give FILE, or --delay-ms with the network's one-way delay; 0 for none")
        })?;
        let without = &self.without;
        let judge = Judge {
            codec: Some(codec),
            packet_ms: without.packet_ms.unwrap_or(20.0),
            playout_ms: without.playout_ms.unwrap_or_else(|| self.buffer().delay().as_seconds() * 1e3),
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
        Ok(Stated { codec, judge, measured, delay })
    }

    fn survey(&self, out: &mut Output) -> Outcome {
        if self.files.len() > 1 {
            let of_one = [("--other-end", &self.other_end), ("--csv", &self.csv), ("--html", &self.html)];
            if let Some((option, _)) = of_one.into_iter().find(|(_, value)| value.is_some()) {
                return Err(Failure::user(anyhow!(
                    "{option} goes with one FILE, not with {}",
                    self.files.len()
                ))
                .hint("run it once for each"));
            }
        }
        let shown = match self.files.as_slice() {
            _ if self.json => Shown::Json,
            [_] => Shown::One,
            _ => Shown::Many,
        };
        let mut batch = Batch::new(shown);
        let mut failures = Vec::new();
        for file in &self.files {
            if let Err(failure) = self.survey_file(file, &mut batch, out) {
                failures.push(failure);
            }
        }
        batch.finish(out)?;
        let now = Now { files_failed: failures.len() as u64, ..Now::default() };
        self.export(batch.tally(), &now)?;
        let count = failures.len();
        match failures.into_iter().next() {
            Some(failure) if self.files.len() == 1 || failure.is_broken_pipe() => Err(failure),
            Some(failure) => {
                Err(failure
                    .within(format!("{count} of {} files were not rated; the first", self.files.len())))
            }
            None => self.threshold(batch.lines()),
        }
    }

    /// What is wrong with one file keeps nobody from reading the others.
    fn survey_file(&self, file: &Path, batch: &mut Batch, out: &mut Output) -> Outcome {
        let is_input = file.as_os_str() == "-";
        let name = if is_input { "standard input".to_owned() } else { file.display().to_string() };
        match self.read(file) {
            Ok(Surveyed { report, notes }) if report.streams.is_empty() => {
                let failure = nothing_found(&name, &report, &notes);
                batch.fail(&name, &failure.object(), Some((&report, &notes)), out)?;
                Err(failure)
            }
            Ok(Surveyed { report, notes }) => {
                if let Some(path) = &self.csv {
                    save(path, &csv::table(&report))?;
                }
                if let Some(path) = &self.html {
                    save(path, &page::page(&name, &report, &notes)?)?;
                }
                Ok(batch.add(&name, &report, &notes, out)?)
            }
            Err(failure) => {
                batch.fail(&name, &failure.object(), None, out)?;
                Err(failure)
            }
        }
    }

    fn read(&self, file: &Path) -> Result<Surveyed, Failure> {
        let config = self.survey_config();
        let sender = self.other_end.as_deref();
        let departures =
            sender.map(|other| with_bar(|watch| read::departures(other, &config, watch))).transpose()?;
        let mut surveyed = with_bar(|watch| read::survey(file, config, departures, watch))?;
        surveyed.notes.extend(words::file_notes(&surveyed.report, self.other_end.is_some()));
        Ok(surveyed)
    }

    fn survey_config(&self) -> SurveyConfig {
        SurveyConfig {
            codec: self.codec,
            buffer: self.buffer(),
            follow_drift: !self.fixed_buffer,
            delay_ms: self.delay_ms,
            clock_error_ms: self.clock_error_ms,
            ..SurveyConfig::default()
        }
    }

    fn buffer(&self) -> BufferConfig {
        BufferConfig { capacity: Micros::from_millis(self.buffer_ms), ..BufferConfig::PAPER_A }
    }

    /// Whether all streams are as good as they should be.
    fn threshold(&self, lines: &[Line]) -> Outcome {
        let Some(least) = self.fail_under_mos else { return Ok(()) };
        if lines.iter().all(|line| line.score().is_none()) {
            return Err(Failure::user(anyhow!(
                "no stream could be rated, so none is known to have MOS {least}"
            ))
            .hint("say the codec with --codec NAME, if it is not known"));
        }
        let below = line::below(lines, least);
        let Some(Line { source, label, from, to, .. }) = below.first() else { return Ok(()) };
        let mos = below[0].mos_text();
        let others = match below.len() - 1 {
            0 => String::new(),
            others => format!("; so are {others} more"),
        };
        Err(Failure::below(anyhow!(
            "stream {label} in {source}, {from} -> {to}, has MOS {mos}, below {least}{others}"
        )))
    }

    fn export(&self, tally: &Tally, now: &Now) -> Outcome {
        let Some(path) = &self.prometheus else { return Ok(()) };
        let write = || save_at_once(path, &tally::prometheus(tally, now));
        Ok(write().or_config(|| format!("write {}", path.display()))?)
    }
}

/// A capture without a stream is a failure that says what was there instead.
fn nothing_found(name: &str, report: &Report, notes: &[String]) -> Failure {
    let (what, hint) = words::nothing_found(report);
    let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
    Failure::user(anyhow!("no stream of RTP in {name}: {what}{notes}")).hint(hint)
}

/// Shows how far a file was read to whoever waits.
fn with_bar<T>(read: impl FnOnce(&mut dyn FnMut(Progress)) -> T) -> T {
    let mut shown: Option<ProgressBar> = None;
    let result = read(&mut |progress| {
        shown.get_or_insert_with(|| bar(progress.length)).set_position(progress.read);
    });
    if let Some(bar) = shown {
        bar.finish_and_clear();
    }
    result
}

fn bar(length: u64) -> ProgressBar {
    if length < BAR_FROM || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("reading {bar:40} {bytes} of {total_bytes}, {eta} left");
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn save(path: &Path, text: &str) -> Outcome {
    std::fs::write(path, text).or_config(|| format!("write {}", path.display()))?;
    Ok(())
}

/// Whoever reads the file meanwhile reads the old one or the new one, and never a part. The collector reads only names that
/// end in `.prom`, so not the one beside it.
fn save_at_once(path: &Path, text: &str) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut file = std::fs::File::create(&new)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all())?;
    std::fs::rename(&new, path)
}

/// A codec by its name, all of which the help lists.
fn codec() -> impl TypedValueParser<Value = Codec> {
    PossibleValuesParser::new(Codec::ALL.map(|codec| codec.facts().name))
        .try_map(|name| name.parse::<Codec>())
}

fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim().parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    if number.is_finite() { Ok(number) } else { Err(format!("\"{text}\" is not a number to compute with")) }
}

fn not_negative(text: &str) -> Result<f64, String> {
    number(text).and_then(|number| within(number, 0.0, 1e6, "milliseconds"))
}

fn share(text: &str) -> Result<f64, String> {
    let hint = "a share, so 0.01 for one per cent";
    number(text).and_then(|number| within(number, 0.0, 1.0, hint))
}

fn burst_ratio(text: &str) -> Result<f64, String> {
    number(text).and_then(|number| within(number, 1.0, 1e6, "a ratio, 1 for losses by chance"))
}

fn mos(text: &str) -> Result<f64, String> {
    number(text).and_then(|number| within(number, 1.0, 5.0, "a mean opinion score"))
}

fn advantage(text: &str) -> Result<f64, String> {
    number(text).and_then(|number| within(number, 0.0, 20.0, "ITU-T G.107 permits no more"))
}

fn within(number: f64, from: f64, to: f64, what: &str) -> Result<f64, String> {
    if (from..=to).contains(&number) { Ok(number) } else { Err(format!("give {from} to {to}: {what}")) }
}

/// `40` or `40..60`.
fn delay(text: &str) -> Result<Interval, String> {
    match text.split_once("..") {
        None => not_negative(text).map(Interval::exact),
        Some((from, to)) => {
            let (from, to) = (not_negative(from)?, not_negative(to)?);
            if from <= to {
                Ok(Interval::new(from, to))
            } else {
                Err(format!("{from} is more than {to}; give the smaller one first"))
            }
        }
    }
}

fn sensitivity(text: &str) -> Result<DelaySensitivity, String> {
    match text {
        "default" => Ok(DelaySensitivity::Default),
        "low" => Ok(DelaySensitivity::Low),
        "very-low" => Ok(DelaySensitivity::VeryLow),
        _ => Err("give default, low or very-low (ITU-T G.107, Table 1)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_a_number_or_two() {
        assert_eq!(delay("40"), Ok(Interval::exact(40.0)));
        assert_eq!(delay("40..60.5"), Ok(Interval::new(40.0, 60.5)));
        for wrong in ["", "x", "60..40", "-1", "1..", "..2", "NaN", "1e99", "inf"] {
            assert!(delay(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn per_cent_are_not_taken_for_a_share() {
        assert!(share("1.5").unwrap_err().contains("0.01 for one per cent"));
    }
}
