//! Files, in pieces.

use guestright_capture::{CaptureError, Departures, DeparturesError, Report, Survey, SurveyConfig};
use guestright_error::{OrFail as _, RunError};
use std::fs::File;
use std::io::Read;
use std::path::Path;

const PIECE: usize = 1 << 20;

/// How far a file was read.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub read: u64,
    /// Of the whole file; 0 for standard input, whose length nobody knows.
    pub length: u64,
}

/// What was found, and what to say about the file.
#[derive(Debug)]
pub struct Surveyed {
    pub report: Report,
    pub notes: Vec<String>,
}

/// Reads a capture taken at the sender.
///
/// # Errors
/// The file cannot be read, or has no stream of RTP.
pub fn departures(
    path: &Path,
    config: &SurveyConfig,
    watch: &mut dyn FnMut(Progress),
) -> Result<Departures, RunError> {
    let mut departures = Departures::new(config.limits, Departures::PACKETS_MAX);
    let outcome = each_piece(path, |piece| departures.feed(piece), watch);
    match outcome?.and_then(|()| departures.end()) {
        Ok(()) => {}
        // What is there counts; the report says how many packets matched.
        Err(DeparturesError::Capture(error)) if error.is_cut_off() => {}
        Err(error) => {
            return Err(error).or_config(|| reading(path)).map_err(|error| error.with_hint(OTHER_FILE));
        }
    }
    if departures.packets() == 0 {
        let sentence = format!("no stream of RTP in {}", path.display());
        let hint = "give the capture that was taken where the stream was sent";
        return Err(RunError::user(sentence).with_hint(hint));
    }
    Ok(departures)
}

/// Reads the capture.
///
/// # Errors
/// The file cannot be read.
pub fn survey(
    path: &Path,
    config: SurveyConfig,
    departures: Option<Departures>,
    watch: &mut dyn FnMut(Progress),
) -> Result<Surveyed, RunError> {
    let mut survey = Survey::new(config, departures);
    let outcome = each_piece(path, |piece| survey.feed(piece), watch)?.and_then(|()| survey.end());
    let report = survey.finish();
    let notes = match outcome {
        Ok(()) => vec![],
        // A damaged end does not take away what was good before it.
        Err(error) if report.counts.packets > 0 || error.is_cut_off() && !is_empty(&error) => {
            vec![format!("only the first {} packets were read: {error}", report.counts.packets)]
        }
        Err(error) => {
            let hint =
                if is_empty(&error) { "the file is empty: was anything captured?" } else { OTHER_FILE };
            return Err(error).or_config(|| reading(path)).map_err(|error| error.with_hint(hint));
        }
    };
    Ok(Surveyed { report, notes })
}

/// What to do about a file that is no capture.
const OTHER_FILE: &str = "give a pcap or pcapng file, as tcpdump, tshark and Wireshark write them";

fn is_empty(error: &CaptureError) -> bool {
    matches!(error, CaptureError::CutOff { got: 0, offset: 0, .. })
}

fn reading(path: &Path) -> String {
    format!("read {}", path.display())
}

/// Hands a file over piece by piece, until somebody has had enough.
fn each_piece<E>(
    path: &Path,
    mut consume: impl FnMut(&[u8]) -> Result<(), E>,
    watch: &mut dyn FnMut(Progress),
) -> Result<Result<(), E>, RunError> {
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
        let hint = "give a pcap or pcapng file, or \"-\" to read standard input";
        let (file, length) = open().or_config(|| reading(path)).map_err(|error| error.with_hint(hint))?;
        (Box::new(file), length)
    };
    let mut progress = Progress { read: 0, length };
    watch(progress);
    let mut piece = vec![0; PIECE];
    loop {
        let count = match from.read(&mut piece) {
            Ok(0) => return Ok(Ok(())),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(RunError::config(error).with_hint("the file could not be read to its end"));
            }
        };
        if let Err(error) = consume(&piece[..count]) {
            return Ok(Err(error));
        }
        progress.read += count as u64;
        watch(progress);
    }
}
