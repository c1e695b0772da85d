//! `guestright setup`: this computer shares its Wi-Fi, and stops doing so again.

mod questions;
mod show;

use anyhow::anyhow;
use clap::Parser as _;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_household::{Earlier, answers_file, is_root};
use guestright_setup::{Answers, Facts, HomeAnswer, Subnet, TeamAnswer, WifiAnswer};
use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use tracing::level_filters::LevelFilter;

/// Make this computer share its Wi-Fi: links, addresses, names, keys, settings, services. Or take all of it back
///
/// Finds the way to the Internet and what guests can arrive at, asks what it cannot know, shows what it will do, and does
/// it. It touches no interface that has an address, and no file that is there. What was there before is noted on the disk
/// first: a setup that was ended in the middle goes on when it is run again, and --undo leaves the computer as it was.
/// Run again when all is done, it changes nothing but what has gone since.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE, after_long_help = long_help())]
pub(crate) struct Setup {
    /// Take everything back: also the team's keys and the receipts
    #[arg(long, conflicts_with_all = ["answers", "start", "dry_run"])]
    undo: bool,
    /// Start again what does not survive a restart where there is no systemd
    #[arg(long, conflicts_with_all = ["answers", "dry_run"])]
    start: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wanted: Wanted,
}

/// The answers: from a file, and from flags that come before it.
#[derive(Debug, clap::Args)]
struct Wanted {
    /// File with answers, in TOML; what it leaves open is chosen and not asked
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// The interface to the Internet; otherwise that of the default route
    #[arg(long, value_name = "INTERFACE")]
    uplink: Option<String>,
    /// A wire that guests arrive at; otherwise all that are free. May be given again
    #[arg(long, value_name = "INTERFACE")]
    port: Vec<String>,
    /// Guests arrive with this VLAN tag at the wires of --port
    #[arg(long, value_name = "NUMBER")]
    vlan: Option<u16>,
    /// The name of the guests' bridge
    #[arg(long, value_name = "NAME")]
    bridge: Option<String>,
    /// The guests' network; otherwise one that collides with nothing
    #[arg(long, value_name = "ADDRESS/LENGTH")]
    network: Option<Subnet>,
    /// The name of the guests' Wi-Fi
    #[arg(long, conflicts_with = "no_wifi")]
    ssid: Option<String>,
    /// Where the radio is, by ISO 3166-1: two letters
    #[arg(long, conflicts_with = "no_wifi")]
    country: Option<String>,
    /// No Wi-Fi from this computer
    #[arg(long)]
    no_wifi: bool,
    /// A member of the new team. May be given again
    #[arg(long, value_name = "NAME", conflicts_with = "join")]
    member: Vec<String>,
    /// The team's key is to stay on this computer
    #[arg(long, conflicts_with = "join")]
    keep_team_key: bool,
    /// Join the team whose founder's `guestright team invite` printed this code
    #[arg(long, value_name = "CODE")]
    join: Option<String>,
    /// Under which name or address members find this household from elsewhere
    #[arg(long, value_name = "HOST[:PORT]")]
    endpoint: Option<String>,
    /// Do not ask the household's router to let the home's ports through
    #[arg(long)]
    no_port_mapping: bool,
    /// The team's home is on another computer, at this address
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "endpoint")]
    home: Option<String>,
}

const EXAMPLE: &str = "Example:
  guestright setup
  guestright setup --answers answers.toml --yes
  guestright setup --dry-run
  guestright setup --undo";

const ANSWERS: &str = r#"A file of answers; all of it is optional:

  uplink = "eth0"                  # otherwise the interface of the default route
  ports = ["eth1"]                 # wires that guests arrive at; otherwise all that have no address
  vlan = 73                        # guests have this tag on these wires
  bridge = "br-guest"
  network = "10.73.0.0/24"         # the guests'; otherwise the first that collides with nothing
  [wifi]
  enabled = true                   # otherwise if there is a radio that can be an access point
  interface = "wlan0"
  ssid = "guestright"
  country = "DE"
  channel = 6
  [team]
  members = ["alice"]              # people who get keys at once
  keep_key = false                 # whether the team's key is to stay here
  join = "192.168.1.5:7279/…"      # or join an existing team, by its code
  [home]
  endpoint = "home.example.org"    # where members find this household; without it they have no way home
  port_mapping = true
  networks = ["192.168.1.0/24"]    # what roaming members reach besides the Internet
  allowance_bytes_per_day = 200000000
  at = "192.168.1.5:7274"          # or the home is on another computer
  [guests]
  down_bits_per_second = 20000000  # for all guests together
  up_bits_per_second = 5000000
  household_networks = []          # public addresses of the household
  [splash]                         # a page for guests without a program of ours; left out: none
  household = "The Rivers"         # the name that they read
  trial = "20 MB"                  # what a station may try in a day, out of what is given away; left out: nothing
  name = "ap.rivers.example"       # a name with a certificate that phones trust, and its files (PEM): DHCP announces it
  certificate = "/etc/ssl/ap.rivers.example/chain.pem"
  certificate_key = "/etc/ssl/ap.rivers.example/key.pem"
"#;

/// What `--help` shows below the options.
fn long_help() -> String {
    format!("{ANSWERS}\n{EXAMPLE}")
}

impl Setup {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        if self.undo {
            return self.undo(out);
        }
        let facts = guestright_household::survey_computer()?;
        match guestright_household::earlier_setup()? {
            Some(earlier) => self.go_on(facts, earlier, out),
            None if self.start => {
                Err(Failure::user(anyhow!("nothing has been set up here")).hint("guestright setup"))
            }
            None => self.begin(&facts, out),
        }
    }

    /// A first setup.
    fn begin(&self, facts: &Facts, out: &mut Output) -> Outcome {
        let mut answers = self.wanted.answers()?;
        if self.asks() && self.wanted.answers.is_none() {
            let stdin = std::io::stdin();
            questions::ask(facts, &mut answers, &mut stdin.lock(), out)?;
        }
        let setup = guestright_household::Setup::begin(facts, &answers)?;
        if self.dry_run {
            return show::plan(&setup, self.json, out);
        }
        require_root()?;
        if !self.json {
            show::plan(&setup, false, out)?;
        }
        self.agree("do this?", out)?;
        self.apply(setup, out)
    }

    /// A setup that was begun, or finished, earlier.
    fn go_on(&self, facts: Facts, earlier: Earlier, out: &mut Output) -> Outcome {
        let wanted = self.wanted.is_given().then(|| self.wanted.answers()).transpose()?;
        let setup = guestright_household::Setup::go_on(facts, earlier, wanted)?;
        if self.dry_run {
            return show::plan(&setup, self.json, out);
        }
        require_root()?;
        if setup.is_unfinished() && !self.json {
            writeln!(out, "going on with a setup that did not come to its end")?;
        }
        self.apply(setup, out)
    }

    fn apply(&self, mut setup: guestright_household::Setup, out: &mut Output) -> Outcome {
        let outcome = setup.apply()?;
        show::done(&setup, &outcome, self.json, out)?;
        if self.start || self.json {
            return Ok(());
        }
        if outcome.changed() > 0 {
            writeln!(out, "\nwhat works on this computer:\n")?;
            let doctor = crate::Cli::try_parse_from(["guestright", "doctor"]).map_err(Failure::bug)?;
            // Its verdict is about this computer, and not about what was done.
            let _ = doctor.command.run(LevelFilter::WARN, out);
        }
        Ok(())
    }

    fn undo(&self, out: &mut Output) -> Outcome {
        require_root()?;
        let Some(executor) = guestright_household::open_journal()? else {
            return show::nothing_to_undo(self.json, out);
        };
        if !self.json {
            writeln!(
                out,
                "this takes back everything that setup has done. It removes /etc/guestright and /var/lib/guestright: the \
                 team's keys, and the receipts. Without a backup (`guestright team backup`) the team is gone."
            )?;
        }
        self.agree("take everything back?", out)?;
        show::undone(&guestright_household::undo_setup(executor)?, self.json, out)
    }

    /// Whether there is somebody to ask.
    fn asks(&self) -> bool {
        !self.yes && !self.json && !self.dry_run && std::io::stdin().is_terminal()
    }

    fn agree(&self, question: &str, out: &mut Output) -> Outcome {
        if self.yes {
            return Ok(());
        }
        if !self.asks() {
            return Err(
                Failure::user(anyhow!("there is nobody to ask: {question}")).hint("say --yes to agree")
            );
        }
        write!(out, "\n{question} [y/N] ")?;
        out.flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer).map_err(Failure::user)?;
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            return Ok(());
        }
        Err(Failure::user(anyhow!("nothing was changed")))
    }
}

impl Wanted {
    fn is_given(&self) -> bool {
        let Self { answers, uplink, port, vlan, bridge, network, ssid, country, no_wifi, member, .. } = self;
        let Self { keep_team_key, join, endpoint, no_port_mapping, home, .. } = self;
        let texts = [uplink, bridge, ssid, country, join, endpoint, home];
        answers.is_some()
            || texts.into_iter().any(Option::is_some)
            || [port, member].into_iter().any(|list| !list.is_empty())
            || vlan.is_some()
            || network.is_some()
            || *no_wifi
            || *keep_team_key
            || *no_port_mapping
    }

    /// The file's answers with those of the flags in their place.
    fn answers(&self) -> Result<Answers, Failure> {
        let file = self.answers.as_deref().map(answers_file::read).transpose()?;
        let mut answers = file.unwrap_or_default();
        let replace = |old: &mut Option<String>, new: &Option<String>| {
            if new.is_some() {
                old.clone_from(new);
            }
        };
        replace(&mut answers.uplink, &self.uplink);
        replace(&mut answers.bridge, &self.bridge);
        answers.vlan = self.vlan.or(answers.vlan);
        answers.network = self.network.or(answers.network);
        if !self.port.is_empty() {
            answers.ports = Some(self.port.clone());
        }
        self.wifi(&mut answers.wifi);
        self.team(&mut answers.team);
        self.home(&mut answers.home);
        Ok(answers)
    }

    fn wifi(&self, answer: &mut WifiAnswer) {
        if self.no_wifi {
            *answer = WifiAnswer::Off;
        }
        if self.ssid.is_none() && self.country.is_none() {
            return;
        }
        let (interface, ssid, country, channel) = match answer.clone() {
            WifiAnswer::On { interface, ssid, country, channel } => (interface, ssid, country, channel),
            WifiAnswer::Off | WifiAnswer::IfPossible => (None, None, None, None),
        };
        let (ssid, country) = (self.ssid.clone().or(ssid), self.country.clone().or(country));
        *answer = WifiAnswer::On { interface, ssid, country, channel };
    }

    fn team(&self, answer: &mut TeamAnswer) {
        if let Some(code) = &self.join {
            *answer = TeamAnswer::Join { code: code.clone() };
        } else if let TeamAnswer::New { members, keep_key } = answer {
            members.extend(self.member.iter().cloned());
            *keep_key |= self.keep_team_key;
        }
    }

    fn home(&self, answer: &mut HomeAnswer) {
        if let Some(address) = &self.home {
            *answer = HomeAnswer::At(address.clone());
        } else if let HomeAnswer::Here { endpoint, port_mapping } = answer {
            *endpoint = self.endpoint.clone().or(endpoint.take());
            *port_mapping &= !self.no_port_mapping;
        }
    }
}

fn require_root() -> Outcome {
    if is_root() {
        return Ok(());
    }
    Err(Failure::user(anyhow!("setup changes the system, and needs root")).hint("sudo guestright setup"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_in_the_help_is_understood_and_comes_back() {
        // Without the two that contradict others in it.
        let file: String = ANSWERS
            .lines()
            .skip(2)
            .filter(|line| !line.contains("join =") && !line.contains("at ="))
            .map(|line| format!("{}\n", line.trim()))
            .collect();
        let answers = answers_file::parse(&file).unwrap();
        assert_eq!(answers.vlan, Some(73));
        let again = answers_file::parse(&answers_file::text(&answers).unwrap()).unwrap();
        assert_eq!(again, answers);
        assert_eq!(answers_file::parse("").unwrap(), Answers::default());
    }
}
