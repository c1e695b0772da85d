//! A visitor that stays: on or off as was said last, whatever ends its program.

use crate::control::{self, Question};
use crate::visit::{Ended, Settings, stay_on};
use crate::{Stop, notify, private};
use guestright_channel::Credentials;
use guestright_error::{OrFail as _, RunError};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Questions that may wait.
const QUESTIONS_MAX: usize = 16;
/// Root and the group may ask; nobody else.
const SOCKET_MODE: u32 = 0o660;
/// Entered by all, so that who may not ask is told so; what is made in it belongs to its group.
const DIRECTORY_MODE: u32 = 0o2755;

/// What is read from the settings file, and again at a reload.
#[derive(Debug)]
pub struct Loaded {
    pub settings: Settings,
    pub credentials: Credentials,
}

/// Runs until it is asked to stop; with `until_down`, until it is switched off. Questions are answered at `control`, and
/// `load` reads the settings again. The first line on `out` comes when the kill switch is closed, and not before.
///
/// # Errors
/// It cannot answer questions, or staying on fails.
pub async fn run(
    control: &Path,
    first: Loaded,
    load: impl Fn() -> Result<Loaded, RunError>,
    until_down: bool,
    stop: Stop,
    out: &mut impl Write,
) -> Result<(), RunError> {
    let (asked, questions) = mpsc::channel(QUESTIONS_MAX);
    control::serve(control, asked.clone())?;
    let _ = std::fs::set_permissions(control, std::fs::Permissions::from_mode(SOCKET_MODE));
    reload_at_hangup(asked.clone()).map_err(RunError::network)?;
    notify::keep_watchdog(move || answers(asked.clone()));
    let mut daemon = Daemon { load, until_down, read: first, questions, stop };
    let outcome = daemon.run(out).await;
    // It is only a door; the next start replaces it.
    let _ = std::fs::remove_file(control);
    outcome
}

/// Whether whoever runs now goes round: it answers questions.
async fn answers(asked: mpsc::Sender<Question>) -> bool {
    let (reply, answer) = tokio::sync::oneshot::channel();
    asked.send(("status".to_owned(), reply)).await.is_ok() && answer.await.is_ok()
}

/// The directory of the control socket, for root and the group.
///
/// # Errors
/// It cannot be made.
pub fn make_door(control: &Path, group: &str) -> Result<(), RunError> {
    let directory = control.parent().unwrap_or(Path::new("/"));
    let make = || {
        std::fs::create_dir_all(directory)?;
        let own = rustix::process::getegid().as_raw();
        let mode = match group_id(group) {
            // As under the unit, which may not give anything away.
            Some(id) if id == own && std::fs::metadata(directory)?.gid() == id => 0o755,
            Some(id) => {
                std::os::unix::fs::chown(directory, None, Some(id))?;
                DIRECTORY_MODE
            }
            None => {
                tracing::info!(group, "there is no such group: only root may ask and switch");
                0o755
            }
        };
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(mode))
    };
    make().or_config(|| format!("make {}", directory.display()))
}

/// From group(5).
pub fn group_id(name: &str) -> Option<u32> {
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten()
    })
}

/// SIGHUP reads the settings again.
fn reload_at_hangup(asked: mpsc::Sender<Question>) -> std::io::Result<()> {
    let mut hangups = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            let (reply, _) = tokio::sync::oneshot::channel();
            if asked.send(("reload".to_owned(), reply)).await.is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// The file that says that it was switched off; without it, it is on.
fn off_file(state: &Path) -> PathBuf {
    state.join("off")
}

/// Keeps whether it is wanted, also over restarts.
///
/// # Errors
/// The state directory cannot be written to.
pub fn want(state: &Path, on: bool) -> Result<(), RunError> {
    private::make_private_directory(state)?;
    let file = off_file(state);
    let done = match (on, std::fs::remove_file(&file)) {
        (false, _) => std::fs::write(&file, ""),
        (true, Err(error)) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        (true, _) => Ok(()),
    };
    done.or_config(|| format!("change {}", file.display()))
}

struct Daemon<L> {
    load: L,
    until_down: bool,
    read: Loaded,
    questions: mpsc::Receiver<Question>,
    stop: Stop,
}

impl<L: Fn() -> Result<Loaded, RunError>> Daemon<L> {
    async fn run(&mut self, out: &mut impl Write) -> Result<(), RunError> {
        loop {
            let is_off = off_file(&self.read.settings.state).exists();
            if is_off && self.until_down {
                return Ok(());
            }
            if is_off {
                if !self.until_up().await? {
                    return Ok(());
                }
                continue;
            }
            let Self { read: Loaded { settings, credentials }, questions, stop, .. } = self;
            let ended = stay_on(settings, credentials.clone(), questions, stop, out).await?;
            match ended {
                Ended::Stopped => return Ok(()),
                Ended::SwitchedOff => self.want(false)?,
                Ended::Reload => self.reload(),
            }
        }
    }

    fn want(&self, on: bool) -> Result<(), RunError> {
        want(&self.read.settings.state, on)
    }

    /// Takes in the settings; what is wrong with them is said, and the old ones hold.
    fn reload(&mut self) {
        notify::reloading();
        match (self.load)() {
            Ok(read) => self.read = read,
            Err(error) => {
                tracing::error!(name: "settings_as_before", "the settings are as before: {}", error.sentence())
            }
        }
        notify::notify(notify::READY);
    }

    /// Switched off: nothing is held back. True when it is switched on, false if it is to stop.
    async fn until_up(&mut self) -> Result<bool, RunError> {
        notify::serving("switched off");
        loop {
            tokio::select! {
                Some((question, reply)) = self.questions.recv() => {
                    let answer = match question.as_str() {
                        "up" => {
                            self.want(true)?;
                            json!({ "up": true })
                        }
                        "reload" => {
                            self.reload();
                            json!({ "reloaded": true })
                        }
                        _ => off(),
                    };
                    let _ = reply.send(answer); // The asker may have gone.
                    if question == "up" {
                        return Ok(true);
                    }
                    if question == "stop" {
                        return Ok(false);
                    }
                }
                () = self.stop.requested() => return Ok(false),
            }
        }
    }
}

fn off() -> Value {
    let off = guestright_roaming::standing::Standing::Off;
    json!({ "standing": { "state": off.word(), "online": false, "sentence": off.to_string() } })
}
