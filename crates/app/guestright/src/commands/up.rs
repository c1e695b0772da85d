//! `guestright up`, `down`, `status` and `portal`: a visitor that stays on, in the background.

mod begin;
mod daemon;

use crate::commands::visit::status::print;
use crate::settings::{VisitSettings, beside, read, visit::FILE};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::visit::resident::{
    LOOK_EVERY, Resident, SwitchedOff, differs_in_numbers_only, notify_desktop, sentence,
};
use guestright_host::visit::{background, browser};
use serde_json::Value;
use std::path::PathBuf;
use tracing::level_filters::LevelFilter;

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

/// How the visitor stands: `guestright status` where no home is.
#[derive(Debug)]
pub(crate) struct Status {
    config: ConfigArgs,
    follow: bool,
    notify: bool,
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
    /// The program with these settings. Who may not read them asks where it usually answers.
    fn resident(&self) -> Resident {
        match read::<VisitSettings>(&self.config) {
            Ok(settings) => Resident {
                control: beside(&self.config, &settings.control),
                state: Some(beside(&self.config, &settings.state)),
            },
            Err(_) => Resident { control: crate::settings::visit::default_control(), state: None },
        }
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
        let resident = self.config.resident();
        match resident.ask("up")? {
            Some(_) if self.files.are_given() => drop(resident.ask("reload")?),
            Some(_) => {}
            None => begin::start(&self.config.config, log, out)?,
        }
        let status = resident.wait_until_settled()?;
        let shown = if self.json { status.to_string() } else { sentence(&status).to_owned() };
        Ok(writeln!(out, "{shown}")?)
    }
}

impl Down {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        if self.config.resident().switch_off()? == SwitchedOff::ByItself {
            return self.print_off("switched off: the tunnel is gone, and the kill switch is open", out);
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

impl Status {
    /// Of the visitor with this settings file, or the usual one.
    pub(crate) fn of(args: super::status::VisitorArgs, json: bool) -> Self {
        let config = ConfigArgs { config: args.config.unwrap_or_else(|| FILE.into()) };
        Self { config, follow: args.follow, notify: args.notify, json }
    }

    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let resident = self.config.resident();
        let status = resident.status()?;
        if !self.follow {
            return self.show(&status, out);
        }
        let mut shown = String::new();
        loop {
            let sentence = match resident.ask("status")? {
                Some(status) => status["standing"]["sentence"].as_str().unwrap_or_default().to_owned(),
                None => resident.nobody().sentence(),
            };
            if !differs_in_numbers_only(&sentence, &shown) {
                if self.json {
                    writeln!(out, "{}", serde_json::json!({ "event": "standing", "sentence": sentence }))?;
                } else {
                    writeln!(out, "{sentence}")?;
                }
                out.flush()?;
                if self.notify {
                    notify_desktop(&sentence);
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
        writeln!(out, "{}", sentence(status))?;
        if let Some(url) = status["standing"]["portal"]["url"].as_str() {
            writeln!(out, "portal        {url}")?;
        }
        if status["access_point"].is_string() { print(status, out) } else { Ok(()) }
    }
}

impl Portal {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let status = self.config.resident().status()?;
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
        let mut command = profile.command(url)?;
        writeln!(out, "opening {url} in a browser of its own; close it when you are online")?;
        let status = command.status().map_err(Failure::network)?;
        tracing::debug!(%status, "the browser has ended");
        Ok(())
    }
}
