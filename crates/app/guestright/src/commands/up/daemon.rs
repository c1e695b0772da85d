//! The program that stays: on or off as was said last, whatever ends it.

use crate::control;
use crate::loops;
use crate::settings::{VisitSettings, beside, read};
use anyhow::Context;
use guestright_channel::Credentials;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_error::RunError;
use guestright_host::control::Question;
use guestright_host::{Stop, notify, visit};
use guestright_privileges::Needs;
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
struct Loaded {
    settings: visit::Settings,
    credentials: Credentials,
}

impl Loaded {
    fn from_file(config: &Path, json: bool) -> Result<Self, Failure> {
        let file: VisitSettings = read(config)?;
        let settings = file.for_loop(config, json)?;
        let passphrase = PassphraseArgs::of_file(file.passphrase_file.as_ref().map(|it| beside(config, it)));
        let credentials =
            passphrase.credentials(&beside(config, &file.key), &beside(config, &file.certificate))?;
        Ok(Self { settings, credentials })
    }
}

/// Runs until it is asked to stop; with `until_down`, until it is switched off.
pub(super) fn run(config: &Path, until_down: bool, json: bool, out: &mut Output) -> Outcome {
    let config = std::path::absolute(config).map_err(Failure::network)?;
    let file: VisitSettings = read(&config)?;
    let control = beside(&config, &file.control);
    let first = Loaded::from_file(&config, json)?;
    make_door(&control, &file.group)?;
    guestright_cli::files::state_directory(&first.settings.state)?;
    let tunnel = first.settings.tunnel.clone();
    let files =
        [Some(&first.settings.state), Some(&first.settings.certificate), tunnel.as_ref(), Some(&control)]
            .map(|it| it.map(PathBuf::as_path));
    let files: Vec<_> = files.into_iter().flatten().collect();
    let needs = Needs { network: true, ..Needs::default() }.with_files(&files);
    loops::run_in_background(needs, async |stop| {
        let (asked, questions) = mpsc::channel(QUESTIONS_MAX);
        control::serve(&control, asked.clone())?;
        let _ = std::fs::set_permissions(&control, std::fs::Permissions::from_mode(SOCKET_MODE));
        reload_at_hangup(asked.clone()).map_err(RunError::network)?;
        notify::keep_watchdog(move || answers(asked.clone()));
        let mut daemon = Daemon { config, until_down, json, read: first, questions, stop };
        let outcome = daemon.run(&mut Announcing { out, line: Vec::new() }).await;
        // It is only a door; the next start replaces it.
        let _ = std::fs::remove_file(&control);
        outcome
    })
}

/// Whether whoever runs now goes round: it answers questions.
async fn answers(asked: mpsc::Sender<Question>) -> bool {
    let (reply, answer) = tokio::sync::oneshot::channel();
    asked.send(("status".to_owned(), reply)).await.is_ok() && answer.await.is_ok()
}

/// Notifies systemd of how it stands. The first line comes when the kill switch is closed, and not before: units of the
/// network wait for that.
struct Announcing<'a, 'b> {
    out: &'a mut Output<'b>,
    line: Vec<u8>,
}

impl Write for Announcing<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = Write::write(self.out, bytes)?;
        self.line.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        notify::serving(&String::from_utf8_lossy(&std::mem::take(&mut self.line)));
        Write::flush(self.out)
    }
}

/// The directory of the control socket, for root and the group.
fn make_door(control: &Path, group: &str) -> Outcome {
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
    make().with_context(|| format!("make {}", directory.display())).map_err(Failure::config)
}

/// From group(5).
pub(super) fn group_id(name: &str) -> Option<u32> {
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
pub(super) fn want(state: &Path, on: bool) -> Outcome {
    guestright_cli::files::state_directory(state)?;
    let file = off_file(state);
    let done = match (on, std::fs::remove_file(&file)) {
        (false, _) => std::fs::write(&file, ""),
        (true, Err(error)) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        (true, _) => Ok(()),
    };
    done.with_context(|| format!("change {}", file.display())).map_err(Failure::config)
}

struct Daemon {
    config: PathBuf,
    until_down: bool,
    json: bool,
    read: Loaded,
    questions: mpsc::Receiver<Question>,
    stop: Stop,
}

impl Daemon {
    async fn run(&mut self, out: &mut Announcing<'_, '_>) -> Result<(), RunError> {
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
            let ended = visit::stay_on(settings, credentials.clone(), questions, stop, out).await?;
            match ended {
                visit::Ended::Stopped => return Ok(()),
                visit::Ended::SwitchedOff => self.want(false)?,
                visit::Ended::Reload => self.reload(),
            }
        }
    }

    fn want(&self, on: bool) -> Result<(), RunError> {
        want(&self.read.settings.state, on).map_err(|failure| RunError::config(failure.what()))
    }

    /// Takes in the settings; what is wrong with them is said, and the old ones hold.
    fn reload(&mut self) {
        notify::reloading();
        match Loaded::from_file(&self.config, self.json) {
            Ok(read) => self.read = read,
            Err(failure) => tracing::error!("the settings are as before: {}", failure.what()),
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
