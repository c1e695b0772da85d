//! What people ask of a visitor that stays on: how it stands, to switch it on or off; and starting it without systemd.

use super::install::UNIT_NAME;
use crate::{control, system_command};
use guestright_error::{OrFail as _, RunError};
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long to wait until it has found out how it stands.
const SETTLED_MAX: Duration = Duration::from_secs(20);
/// How often to ask it again.
pub const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long it may take to switch off: the last bytes are signed for first.
const DOWN_MAX: Duration = Duration::from_secs(15);
/// systemd runs where this is (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";

/// Whether systemd runs on this computer.
pub fn is_systemd() -> bool {
    Path::new(BOOTED).is_dir()
}

/// The visitor's program of this computer, whether it runs or not.
#[derive(Clone, Debug)]
pub struct Resident {
    /// Where it answers.
    pub control: PathBuf,
    /// Its state directory, if this user may know it.
    pub state: Option<PathBuf>,
}

/// How it was switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchedOff {
    /// It ran, and has ended everything itself.
    ByItself,
    /// It did not run, or left something behind: its state directory has to be cleaned up.
    LeftBehind,
}

impl Resident {
    /// What the program says; nothing if it does not run.
    ///
    /// # Errors
    /// This user may not ask, or it does not answer.
    pub fn ask(&self, question: &str) -> Result<Option<Value>, RunError> {
        Ok(self.ask_or_ended(question)?.filter(|answer| !answer.is_null()))
    }

    /// The same; null if it ended while it was asked.
    fn ask_or_ended(&self, question: &str) -> Result<Option<Value>, RunError> {
        if let Err(error) = UnixStream::connect(&self.control)
            && error.kind() == ErrorKind::PermissionDenied
        {
            let sentence = format!("you may not ask the visitor's program: {}", self.control.display());
            return Err(RunError::user(sentence).with_hint(
                "use sudo, or become a member of the group guestright: sudo adduser $USER guestright",
            ));
        }
        control::ask(&self.control, question)
    }

    /// How it stands.
    ///
    /// # Errors
    /// It does not run, or this user may not ask.
    pub fn status(&self) -> Result<Value, RunError> {
        self.ask("status")?.ok_or_else(|| self.nobody())
    }

    /// How it stands, as soon as that is known; after a while how it stands then.
    ///
    /// # Errors
    /// It was started and does not answer.
    pub fn wait_until_settled(&self) -> Result<Value, RunError> {
        let deadline = Instant::now() + SETTLED_MAX;
        loop {
            let status = self.ask("status")?;
            let state = status.as_ref().and_then(|status| status["standing"]["state"].as_str());
            let is_settled = state.is_some_and(|state| !["asking", "off"].contains(&state));
            let is_late = Instant::now() >= deadline;
            match status {
                Some(status) if is_settled || is_late => return Ok(status),
                None if is_late => {
                    let hint = format!("its log says why: {}", self.log());
                    return Err(RunError::network("the visitor's program was started and does not answer")
                        .with_hint(hint));
                }
                Some(_) | None => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// Switches it off, if it runs.
    ///
    /// # Errors
    /// It is still on after a while, or this user may not ask.
    pub fn switch_off(&self) -> Result<SwitchedOff, RunError> {
        // One that has no session to end is gone before it can answer.
        if self.ask_or_ended("down")?.is_none() {
            return Ok(SwitchedOff::LeftBehind);
        }
        let deadline = Instant::now() + DOWN_MAX;
        loop {
            match self.ask("status")? {
                Some(status) if status["standing"]["state"] == "off" => break,
                None => break,
                Some(_) if Instant::now() >= deadline => {
                    return Err(RunError::network("it was asked to switch off and is still on"));
                }
                Some(_) => std::thread::sleep(LOOK_EVERY),
            }
        }
        let is_left = self.is_left_closed();
        Ok(if is_left { SwitchedOff::LeftBehind } else { SwitchedOff::ByItself })
    }

    /// Whether a kill switch was left closed, as far as this user may know.
    fn is_left_closed(&self) -> bool {
        self.state.as_deref().is_some_and(|state| super::switch_file(state).exists())
    }

    /// The error that it does not run; the hint says if its kill switch was left closed.
    pub fn nobody(&self) -> RunError {
        RunError::network("the visitor's program does not run").with_hint(if self.is_left_closed() {
            "it was killed, and its kill switch is closed: `guestright up` goes on, `guestright down` opens it"
        } else {
            "`sudo guestright up` starts it; the first time it wants your files, see `guestright up --help`"
        })
    }

    /// Where its log is, for a person.
    fn log(&self) -> String {
        if is_systemd() {
            return format!("journalctl -u {UNIT_NAME}");
        }
        let file = self.state.as_deref().map(log_file);
        file.map_or_else(|| "the log".to_owned(), |file| file.display().to_string())
    }
}

/// The sentence of a status.
pub fn sentence(status: &Value) -> &str {
    status["standing"]["sentence"].as_str().unwrap_or("it is just starting")
}

/// Whether two sentences differ in numbers only, or not at all: those grow by themselves, and are no news.
pub fn differs_in_numbers_only(one: &str, other: &str) -> bool {
    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    words(one) == words(other)
}

fn log_file(state: &Path) -> PathBuf {
    state.join("log")
}

/// Starts it without systemd: a process of its own, which no terminal ends. It logs into its state directory, and stays only if
/// that says that it is wanted ([`want`](super::background::want)).
///
/// # Errors
/// Its log cannot be opened, or the program not be started.
pub fn start(config: &Path, state: &Path, log: &str) -> Result<(), RunError> {
    let path = log_file(state);
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    let file = file.or_config(|| format!("open {}", path.display()))?;
    let errors = file.try_clone().map_err(RunError::network)?;
    let mut command = Command::new(std::env::current_exe().map_err(RunError::network)?);
    command.args(["--log", log, "up", "--foreground", "--until-down", "--config"]).arg(config);
    command.stdin(Stdio::null()).stdout(file).stderr(errors).current_dir("/").process_group(0);
    command.spawn().map_err(RunError::network)?;
    Ok(())
}

/// Shows a sentence on the desktop, where there is one (Desktop Notifications Specification). Where there is none nobody
/// misses it: the sentence is printed as well.
pub fn notify_desktop(sentence: &str) {
    let mut command = system_command("notify-send");
    command.args(["--app-name=guestright", "--icon=network-wireless", "guestright", sentence]);
    if let Err(error) = command.stdin(Stdio::null()).status() {
        tracing::debug!(%error, "no notification (notify-send, of the package libnotify-bin)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_news_if_more_than_its_numbers_differ() {
        assert!(differs_in_numbers_only("online, 12 MB signed for", "online, 13 MB signed for"));
        assert!(!differs_in_numbers_only("online, 12 MB signed for", "no network"));
    }
}
