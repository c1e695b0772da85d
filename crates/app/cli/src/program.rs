//! What stands around the commands of a program: the log before them, and the exit code after them.

use crate::failure::{Failure, Outcome};
use clap::error::ErrorKind;
use guestright_journal::Journal;
use std::ffi::OsStr;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// What clap ends with, as getopt's programs do: wrong usage.
const USAGE: u8 = 2;

/// Logs from now on: to systemd's journal, with a field for each fact, where standard error goes there; otherwise to standard
/// error.
pub fn start_log(level: LevelFilter) {
    // The WireGuard library calls a member that has gone away an error; we say what matters ourselves.
    let all = level == LevelFilter::TRACE;
    // The SIP library logs messages as they are, and keys are in some (RFC 4568): never.
    let ours = filter_fn(move |about| {
        let target = about.target();
        (all || !target.starts_with("boringtun")) && !target.starts_with("rsipstack")
    });
    if let Some(journal) = journal() {
        return tracing_subscriber::registry().with(level).with(ours).with(journal).init();
    }
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .finish()
        .with(ours)
        .init();
}

/// The journal, if standard error goes there: systemd says which file that is (systemd.exec(5), `JOURNAL_STREAM`).
fn journal() -> Option<Journal> {
    let stream = std::env::var("JOURNAL_STREAM").ok()?;
    let error = rustix::fs::fstat(rustix::stdio::stderr()).ok()?;
    if !is_file(&stream, error.st_dev, error.st_ino) {
        return None;
    }
    // Without its socket the journal still has what standard error says.
    let program = std::env::args_os().next()?;
    let program = Path::new(&program).file_name()?.to_string_lossy().into_owned();
    Journal::open(Path::new(guestright_journal::SOCKET), &program).ok()
}

/// Whether `DEVICE:INODE` is this file.
fn is_file(stream: &str, device: u64, inode: u64) -> bool {
    let parts = stream.split_once(':');
    parts.is_some_and(|(dev, ino)| dev.parse() == Ok(device) && ino.parse() == Ok(inode))
}

/// Whether the command line of this program asks for JSON. Then errors are said in JSON as well, those of the command line
/// itself too.
#[must_use]
pub fn wants_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != OsStr::new("--")).any(|word| word == *"--json")
}

/// Options with a number take `-5` for one, so that it is refused for being below what may be, and not as an option that is
/// not there.
#[must_use]
pub fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let takes = !argument.is_positional() && argument.get_action().takes_values();
        if takes { argument.allow_negative_numbers(true) } else { argument }
    });
    command.mut_subcommands(with_negative_numbers)
}

/// Ends with what clap has to say: help, or what is wrong with the command line.
#[must_use]
pub fn usage(program: &str, error: &clap::Error) -> ExitCode {
    let is_help = !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help || !wants_json() {
        // If nobody reads it there is nobody left to tell.
        let _ = error.print();
        return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
    }
    let text = error.render().to_string();
    let sentence =
        text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect::<Vec<_>>().join(" ");
    let sentence = sentence.trim_start_matches("error: ");
    let hint = format!("`{program} --help` shows what there is");
    let _ = writeln!(std::io::stderr(), "{}", json(sentence, Some(&hint), USAGE));
    ExitCode::from(USAGE)
}

/// Says on standard error what went wrong, if anything did, and with which code the program of this name ends.
#[must_use]
pub fn exit_code(program: &str, outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is gone there is nobody left to tell.
            let _ = write!(std::io::stderr(), "{}", error_text(program, &failure, wants_json()));
            failure.exit_code()
        }
    }
}

fn error_text(program: &str, failure: &Failure, as_json: bool) -> String {
    if as_json {
        format!("{}\n", json(&failure.what(), failure.what_to_do(), failure.code()))
    } else {
        failure.message(program)
    }
}

fn json(sentence: &str, hint: Option<&str>, code: u8) -> serde_json::Value {
    serde_json::json!({ "error": { "sentence": sentence, "hint": hint, "code": code } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;
    use clap::{Arg, Command};

    #[test]
    fn an_error_is_a_sentence_or_an_object() {
        let failure = Failure::config(anyhow!("read a.toml: gone")).hint("make one");
        assert_eq!(error_text("p", &failure, false), "p: read a.toml: gone\n  what to do: make one\n");
        assert_eq!(
            error_text("p", &failure, true),
            "{\"error\":{\"code\":78,\"hint\":\"make one\",\"sentence\":\"read a.toml: gone\"}}\n"
        );
    }

    #[test]
    fn the_journal_is_told_by_device_and_file() {
        assert!(is_file("12:345", 12, 345));
        for other in ["12:346", "13:345", "12", "", "x:y", "12:345:6"] {
            assert!(!is_file(other, 12, 345), "{other}");
        }
    }

    #[test]
    fn a_negative_number_is_a_number() {
        let number = |name: &'static str| Arg::new(name).long(name).value_parser(clap::value_parser!(u64));
        let command = Command::new("p").subcommand(Command::new("s").arg(number("ms")));
        let error =
            with_negative_numbers(command).try_get_matches_from(["p", "s", "--ms", "-5"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ValueValidation, "{error}");
    }
}
