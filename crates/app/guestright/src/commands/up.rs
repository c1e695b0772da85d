//! `guestright up`, `down`, `status` and `portal`: a visitor that stays on, in the background.

mod begin;
mod daemon;

use crate::commands::visit::status::print;
use crate::control;
use crate::settings::{VisitSettings, beside, read, visit::FILE};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::visit::{background, browser};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tracing::level_filters::LevelFilter;

/// How long `up` waits for word of how it stands.
const SETTLED_MAX: Duration = Duration::from_secs(20);
/// How often it is looked whether something is news.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long it may take to switch off: the last bytes are signed for first.
const DOWN_MAX: Duration = Duration::from_secs(15);

/// Stay online as a guest: from now on, in every network, everything goes home through the tunnel
///
/// Give your files once. They are copied to /etc/guestright, and the program stays in the background: it closes the kill
/// switch, asks each network's access point for service, uses networks without one through the tunnel all the same, shows
/// other people's portals, and goes on after a restart of the computer where systemd runs. `guestright status` says how
/// it stands, `guestright down` switches it off. Members of the group `guestright` need no root for these.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  sudo guestright up --key alice.key --certificate alice.cert --tunnel alice.conf --home home.example.org
  guestright status
  guestright down
  guestright up

/etc/guestright/visit.toml, which `up` writes and SIGHUP reads again:
  key = \"visit/member.key\"
  certificate = \"visit/member.cert\"
  tunnel = \"visit/member.conf\"
  home = \"home.example.org\"
  # group = \"guestright\"              # whose members may ask and switch
  # local_interfaces = [\"docker*\"]    # networks inside this computer, left alone")]
pub(crate) struct Up {
    #[command(flatten)]
    files: begin::Files,
    #[command(flatten)]
    config: ConfigArgs,
    /// Do not go into the background: what the unit of systemd starts
    #[arg(long)]
    foreground: bool,
    /// End at `guestright down` instead of waiting for the next `up`
    #[arg(long, hide = true, requires = "foreground")]
    until_down: bool,
    /// Print what happens as lines of JSON
    #[arg(long)]
    json: bool,
}

/// Switch the visitor off: says goodbye, takes the tunnel away, and opens the kill switch
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright down")]
pub(crate) struct Down {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Say how the visitor stands: online or not, why, and what the network can see
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright status
  guestright status --follow --notify      # one line for each change, and a notification on the desktop")]
pub(crate) struct Status {
    #[command(flatten)]
    config: ConfigArgs,
    /// Go on, and say each change
    #[arg(long)]
    follow: bool,
    /// With --follow: show each change as a notification on the desktop, too
    #[arg(long, requires = "follow")]
    notify: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Open the page that the network wants you to see first
///
/// The page is opened in a browser of its own, which is the only program that gets past the kill switch, and only while the
/// tunnel does not carry. Everything else waits.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright portal
  guestright portal --print      # the page and the proxy, for a browser that you start yourself")]
pub(crate) struct Portal {
    #[command(flatten)]
    config: ConfigArgs,
    /// Start no browser; print where the page is, and through which proxy
    #[arg(long)]
    print: bool,
    /// Print JSON, and start no browser
    #[arg(long)]
    json: bool,
}

/// Which visitor of this computer.
#[derive(Clone, Debug, clap::Args)]
struct ConfigArgs {
    /// The settings file
    #[arg(long, value_name = "FILE", default_value = FILE)]
    config: PathBuf,
}

impl ConfigArgs {
    /// Where the program answers. Who may not read the settings asks where it usually does.
    fn control(&self) -> PathBuf {
        match read::<VisitSettings>(&self.config) {
            Ok(settings) => beside(&self.config, &settings.control),
            Err(_) => crate::settings::visit::default_control(),
        }
    }

    /// What the program says; nothing if it does not run.
    fn ask(&self, question: &str) -> Result<Option<Value>, Failure> {
        Ok(self.tell(question)?.filter(|answer| !answer.is_null()))
    }

    /// The same; null if it ended while it was asked.
    fn tell(&self, question: &str) -> Result<Option<Value>, Failure> {
        let control = self.control();
        if let Err(error) = std::os::unix::net::UnixStream::connect(&control)
            && error.kind() == std::io::ErrorKind::PermissionDenied
        {
            return Err(Failure::user(anyhow!(
                "you may not ask the visitor's program: {}",
                control.display()
            ))
            .hint("use sudo, or become a member of the group guestright: sudo adduser $USER guestright"));
        }
        Ok(control::ask(&control, question)?)
    }
}

impl Up {
    pub(crate) fn run(self, log: LevelFilter, out: &mut Output) -> Outcome {
        if self.foreground {
            return daemon::run(&self.config.config, self.until_down, self.json, out);
        }
        if self.files.are_given() {
            let home = self.files.put(&self.config.config, out)?;
            tracing::info!(%home, "the settings are written");
        }
        match self.config.ask("up")? {
            Some(_) if self.files.are_given() => drop(self.config.ask("reload")?),
            Some(_) => {}
            None => begin::start(&self.config.config, log, out)?,
        }
        self.until_settled(out)
    }

    /// Waits until it is known how it stands, and says it.
    fn until_settled(&self, out: &mut Output) -> Outcome {
        let deadline = Instant::now() + SETTLED_MAX;
        loop {
            let status = self.config.ask("status")?;
            let state = status.as_ref().and_then(|status| status["standing"]["state"].as_str());
            let is_settled = state.is_some_and(|state| !["asking", "off"].contains(&state));
            if let Some(status) = &status
                && (is_settled || Instant::now() >= deadline)
            {
                return if self.json { Ok(writeln!(out, "{status}")?) } else { say(status, out) };
            }
            if Instant::now() >= deadline {
                return Err(Failure::network(anyhow!(
                    "the visitor's program was started and does not answer"
                ))
                .hint(format!("its log says why: {}", begin::log_words(&self.config.config))));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// The sentence of a status.
fn say(status: &Value, out: &mut Output) -> Outcome {
    let sentence = status["standing"]["sentence"].as_str().unwrap_or("it is just starting");
    Ok(writeln!(out, "{sentence}")?)
}

impl Down {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        // One that has no session to end is gone before it can answer.
        if self.config.tell("down")?.is_some() {
            let deadline = Instant::now() + DOWN_MAX;
            loop {
                match self.config.ask("status")? {
                    Some(status) if status["standing"]["state"] == "off" => break,
                    None => break,
                    Some(_) if Instant::now() >= deadline => {
                        return Err(Failure::network(anyhow!("it was asked to switch off and is still on")));
                    }
                    Some(_) => std::thread::sleep(LOOK_EVERY),
                }
            }
            if !is_left_closed(&self.config.config) {
                return self.print_off("switched off: the tunnel is gone, and the kill switch is open", out);
            }
        }
        // Killed, or not begun: what it has left behind is in its state directory.
        let settings: VisitSettings = read(&self.config.config)?;
        let state = beside(&self.config.config, &settings.state);
        background::want(&state, false)?;
        let cleaned = guestright_host::visit::clean_up(&state)?;
        let word = if cleaned.switch {
            "the visitor's program was not running; the kill switch that it had left closed is open"
        } else {
            "nothing to do: the visitor's program is not running, and has left nothing behind"
        };
        self.print_off(word, out)
    }

    fn print_off(&self, sentence: &str, out: &mut Output) -> Outcome {
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::json!({ "state": "off", "sentence": sentence }))?);
        }
        Ok(writeln!(out, "{sentence}")?)
    }
}

/// Whether a kill switch was left closed, as far as this user may know.
fn is_left_closed(config: &Path) -> bool {
    read::<VisitSettings>(config)
        .is_ok_and(|settings| guestright_host::visit::switch_file(&beside(config, &settings.state)).exists())
}

/// Nobody runs; a closed switch is worth a word.
fn nobody(config: &Path) -> Failure {
    let failure = Failure::network(anyhow!("the visitor's program does not run"));
    if is_left_closed(config) {
        failure.hint("it was killed, and its kill switch is closed: `guestright up` goes on, `guestright down` opens it")
    } else {
        failure.hint(
            "`sudo guestright up` starts it; the first time it wants your files, see `guestright up --help`",
        )
    }
}

impl Status {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let status = self.config.ask("status")?.ok_or_else(|| nobody(&self.config.config))?;
        if !self.follow {
            return self.show(&status, out);
        }
        let mut shown = String::new();
        loop {
            let sentence = match self.config.ask("status")? {
                Some(status) => status["standing"]["sentence"].as_str().unwrap_or_default().to_owned(),
                None => nobody(&self.config.config).what(),
            };
            // Numbers in it grow by themselves.
            let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
            if words(&sentence) != words(&shown) {
                if self.json {
                    writeln!(out, "{}", serde_json::json!({ "event": "standing", "sentence": sentence }))?;
                } else {
                    writeln!(out, "{sentence}")?;
                }
                out.flush()?;
                if self.notify {
                    notify(&sentence);
                }
                shown = sentence;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn show(&self, status: &Value, out: &mut Output) -> Outcome {
        if self.json {
            return Ok(writeln!(out, "{status}")?);
        }
        say(status, out)?;
        if let Some(url) = status["standing"]["portal"]["url"].as_str() {
            writeln!(out, "portal        {url}")?;
        }
        if status["access_point"].is_string() { print(status, out) } else { Ok(()) }
    }
}

/// Shows a sentence on the desktop, where there is one (Desktop Notifications Specification). Where there is none nobody
/// misses it: the sentence is printed as well.
fn notify(sentence: &str) {
    let mut command = guestright_host::system_command("notify-send");
    command.args(["--app-name=guestright", "--icon=network-wireless", "guestright", sentence]);
    if let Err(error) = command.stdin(std::process::Stdio::null()).status() {
        tracing::debug!(%error, "no notification (notify-send, of the package libnotify-bin)");
    }
}

impl Portal {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let status = self.config.ask("status")?.ok_or_else(|| nobody(&self.config.config))?;
        let portal = &status["standing"]["portal"];
        let (Some(url), Some(proxy)) = (portal["url"].as_str(), portal["proxy"].as_str()) else {
            return Err(Failure::user(anyhow!("no portal stands in the way: {}", sentence(&status)))
                .hint("`guestright status` says how it stands; portals are looked for while the tunnel does not carry"));
        };
        if self.json {
            return Ok(writeln!(out, "{portal}")?);
        }
        if self.print {
            return Ok(writeln!(out, "page   {url}\nproxy  http://{proxy}")?);
        }
        let profile = browser::Profile::make(proxy)?;
        let mut command: Command = profile.command(url)?;
        writeln!(out, "opening {url} in a browser of its own; close it when you are online")?;
        let status = command.status().map_err(Failure::network)?;
        tracing::debug!(%status, "the browser has ended");
        Ok(())
    }
}

fn sentence(status: &Value) -> String {
    status["standing"]["sentence"].as_str().unwrap_or("it is just starting").to_owned()
}
