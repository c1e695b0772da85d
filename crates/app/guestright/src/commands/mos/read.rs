//! Files, in pieces, with a bar for whoever waits.

use anyhow::{Context, anyhow};
use guestright_capture::{CaptureError, Departures, DeparturesError, Report, Survey, SurveyConfig};
use guestright_cli::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;

/// Shorter files are read before anybody could look at a bar.
const BAR_FROM: u64 = 16 << 20;
const PIECE: usize = 1 << 20;

/// What was found, and what to say about the file.
pub(super) struct Surveyed {
    pub(super) report: Report,
    pub(super) notes: Vec<String>,
}

/// Reads a capture taken at the sender.
pub(super) fn departures(path: &Path, config: &SurveyConfig) -> Result<Departures, Failure> {
    let mut departures = Departures::new(config.limits, Departures::PACKETS_MAX);
    let outcome = each_piece(path, |piece| departures.feed(piece));
    let outcome = outcome?.and_then(|()| departures.end());
    match outcome {
        // What is there counts; the report says how many packets matched.
        Err(DeparturesError::Capture(error)) if error.is_cut_off() => {}
        other => other.map_err(|error| unreadable(path, error))?,
    }
    if departures.packets() == 0 {
        let hint = "give the capture that was taken where the stream was sent";
        return Err(Failure::user(anyhow!("no stream of RTP in {}", path.display())).hint(hint));
    }
    Ok(departures)
}

/// Reads the capture.
pub(super) fn survey(
    path: &Path,
    config: SurveyConfig,
    departures: Option<Departures>,
) -> Result<Surveyed, Failure> {
    let mut survey = Survey::new(config, departures);
    let outcome = each_piece(path, |piece| survey.feed(piece))?.and_then(|()| survey.end());
    let report = survey.finish();
    let notes = match outcome {
        Ok(()) => vec![],
        // A damaged end does not take away what was good before it.
        Err(error) if report.counts.packets > 0 || error.is_cut_off() && !is_empty(&error) => {
            vec![format!("only the first {} packets were read: {error}", report.counts.packets)]
        }
        Err(error) => return Err(unreadable(path, error)),
    };
    Ok(Surveyed { report, notes })
}

fn is_empty(error: &CaptureError) -> bool {
    matches!(error, CaptureError::CutOff { got: 0, offset: 0, .. })
}

fn unreadable(path: &Path, error: impl Into<anyhow::Error>) -> Failure {
    let error = error.into();
    let hint = match error.downcast_ref::<CaptureError>() {
        Some(error) if is_empty(error) => "the file is empty: was anything captured?",
        _ => "give a pcap or pcapng file, as tcpdump, tshark and Wireshark write them",
    };
    Failure::config(error.context(format!("read {}", path.display()))).hint(hint)
}

/// Hands a file over piece by piece, until somebody has had enough.
fn each_piece<E>(
    path: &Path,
    mut consume: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Result<(), E>, Failure> {
    let (mut from, length): (Box<dyn Read>, u64) = if path.as_os_str() == "-" {
        (Box::new(std::io::stdin().lock()), 0)
    } else {
        let open = || {
            let file = File::open(path)?;
            let about = file.metadata()?;
            if about.is_dir() {
                return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory));
            }
            Ok((file, about.len()))
        };
        let (file, length) = open().with_context(|| format!("read {}", path.display())).map_err(|error| {
            Failure::config(error).hint("give a pcap or pcapng file, or \"-\" to read standard input")
        })?;
        (Box::new(file), length)
    };
    let bar = bar(length);
    let mut piece = vec![0; PIECE];
    loop {
        let count = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::config(error).hint("the file could not be read to its end")),
        };
        if let Err(error) = consume(&piece[..count]) {
            bar.finish_and_clear();
            return Ok(Err(error));
        }
        bar.inc(count as u64);
    }
    bar.finish_and_clear();
    Ok(Ok(()))
}

fn bar(length: u64) -> ProgressBar {
    if length < BAR_FROM || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("reading {bar:40} {bytes} of {total_bytes}, {eta} left");
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
