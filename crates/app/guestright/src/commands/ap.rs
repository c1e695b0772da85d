//! `guestright ap`: the access point.

#[cfg(feature = "splash")]
mod announce;
#[cfg(feature = "hostapd")]
mod hostapd;
#[cfg(feature = "retention")]
mod who;

use crate::commands::validity;
use crate::loops::ServingLine;
use crate::settings::{self, ApSettings, SettingsFile, Source};
use crate::{control, loops, reloaded};
#[cfg(feature = "splash")]
use announce::Announce;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_firewall as firewall;
use guestright_host::access_point::{self, firewall_state, socket};
use guestright_privileges::Needs;
use guestright_units::Bytes;
#[cfg(feature = "hostapd")]
use hostapd::Hostapd;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Run an access point: closed to visitors by default, open to those who sign receipts
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE, after_long_help = long_help())]
pub(crate) struct Ap {
    /// The settings file; where there is none here, the one in /etc/guestright
    #[arg(long, default_value = "ap.toml", global = true)]
    config: PathBuf,
    /// OpenWrt's settings file in the place of --config: sections ap, ap_shaping, …; relative paths are below /etc/guestright
    #[arg(long, value_name = "FILE", conflicts_with = "config", global = true)]
    uci: Option<PathBuf>,
    /// Print the settings with all defaults and stop
    #[arg(long)]
    show_config: bool,
    /// Print the firewall's rules, change nothing and stop
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(subcommand)]
    command: Option<ApCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum ApCommand {
    Status(Status),
    End(End),
    Reload(Reload),
    #[cfg(feature = "hostapd")]
    Hostapd(Hostapd),
    #[cfg(feature = "splash")]
    Announce(Announce),
    #[cfg(feature = "retention")]
    Who(who::Who),
    #[cfg(feature = "retention")]
    ExportAddresses(who::ExportAddresses),
    #[cfg(feature = "retention")]
    Forget(who::Forget),
    Off(Off),
}

/// End a guest's session; it may ask for another at once
///
/// It is told so, and signs for what it had. To keep a team or a device out, see `guestright home block`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ap end 10.77.0.12 --config ap.toml")]
struct End {
    /// The guest's address, as `guestright ap status` shows it
    address: Ipv4Addr,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show who is served, how well, and what was signed for
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ap status --config ap.toml --json")]
struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Take changed settings; nobody who is served is cut off
///
/// Intervals, volumes, limits, rates and the radio count at once, and so does another certificate in the place of the old one. What counts from the next start on is named. Settings that are wrong
/// change nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ap reload --config ap.toml")]
struct Reload {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Stop the access point and put the firewall back as it was, also after a crash
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ap off --config ap.toml")]
struct Off {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLE: &str = "Example:
  guestright ap --config ap.toml
  guestright ap status --config ap.toml --json
  guestright ap reload --config ap.toml
  guestright ap hostapd --interface wlan0 --channel 6
  guestright ap off --config ap.toml";

const SETTINGS: &str = r#"A settings file:

  key = "router.key"
  certificate = "router.cert"
  state = "ap-state"
  home = "127.0.0.1:7274"           # the team's home
  visitor_interface = "br-guest"    # nothing but visitors on it
  uplink_interface = "wan"
  interval_ms = 5000                # how often receipts are asked for
  volume_bytes = 25000000           # …or after so many bytes
  unsigned_bytes_max = 4000000      # what a visitor of another team may owe before it has to sign
  sessions_max = 256                # visitors at a time; members and friends take strangers' places
  when_home_is_away = "lowest"      # or "refuse"; never better than the home's last answer
  away_bytes_per_day = 25000000     # … and so many bytes in all
  household_networks = []           # private networks are closed to visitors anyway
  [shaping]                         # what visitors may have, all together
  down_bits_per_second = 20000000
  up_bits_per_second = 5000000
  [tunnels]                         # visitors with a stock WireGuard app; their homes sign
  enabled = true
  ports = [51820]                   # UDP ports of homes
  allowance_bytes = 131072          # without a signature: an hour, for one visitor,
  per_home_bytes = 1048576          # … to and from one home,
  per_hour_bytes = 8388608          # … and in all
  [splash]                          # a page for guests without a program of ours; left out: none
  household = "The Rivers"          # the name that they read
  contact = "the blue door"
  terms = "Be kind."                # a paragraph in each line, short
  terms_file = "terms.txt"          # all of them, on a page of their own: UTF-8, at most 32 KiB; left out: a usual text
  member_page = "rivers.example"    # where to read how one becomes a member
  languages = ["en", "de", "fr", "ar"]
  port = 7280
  trial = "20 MB"                   # for each station in a day, out of the home's allowance; left out: none
  trials_per_day = "100 MB"         # … and for all of them together
  trial_seconds = 600

  [phones]                          # phones that join by 802.1X, asked by hostapd; left out: none. What stands here is usual
  radius = "127.0.0.1:1812"         # where hostapd asks; it reports at the port after this one
  disconnect = "127.0.0.1:3799"     # where hostapd awaits orders to let a phone go
  secret_file = "radius.secret"     # shared with hostapd; usually in the state directory, and made if it is not there
  reply_message = true              # tell hostapd in a sentence why a phone is refused
  radsec = "192.168.1.1:2083"       # where radios elsewhere in the household ask inside TLS; left out, with the next three: nowhere
  radsec_certificate = "radsec.pem" # what they are shown, with its chain,
  radsec_key = "radsec.key"         # … and its key
  radsec_authority = "radios.pem"   # whoever has a certificate of this authority may ask: make one for this alone

  [radio]                           # to say how many calls fit (docs/design/0018-meter.md); left out: nobody says
  standard = "g"                    # or a, b, g-beside-b; n, ac, ax with width_mhz = 20 and streams = 1 or what there is
  rate_mbps = 24                    # of the stations that are far away
  measure = true                    # whether the kernel is asked for each guest's rate; others count with rate_mbps
  [retention]                       # what is kept of guests (docs/retention.md)
  addresses = "off"                 # or for how long it is kept who had which address: from "1h" to "30d"

  [metrics]                         # figures for Prometheus (docs/metrics.md); left out: at the socket metrics.sock of the state alone
  listen = "127.0.0.1:7279"         # this one unless another is named

`guestright ap hostapd` prints what hostapd needs. With [phones] the ports of IKE, 500 and 4500, are among those in [tunnels].

With name = "ap.rivers.example", certificate = "chain.pem" and certificate_key = "key.pem" in [splash] the page and the API
of RFC 8908 are at port 7281 of that name too (secured_port). DHCP option 114 may then have https://ap.rivers.example:7281/api.

A home whose tunnel answers a visitor is asked for receipts at TCP port 7273: at most 6 times a minute for one visitor,
12 times for one home, 60 times in all, and after a refusal not again for 5, 10, … 320 seconds.
"#;

impl Ap {
    /// Whether this is the access point itself.
    pub(crate) fn serves(&self) -> bool {
        self.command.is_none() && !self.show_config && !self.dry_run
    }

    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let serves = self.serves();
        let source = Source::new(self.config, self.uci, "ap");
        if serves && !source.is_enabled()? {
            return source.print_not_enabled("the access point", self.json, out);
        }
        let (settings, origin) = (source.read::<ApSettings>()?, source.origin());
        if self.show_config {
            return settings::show(&settings, self.json, out);
        }
        if self.dry_run {
            let rules = firewall::render(&settings.for_loop(&origin)?.rules()?).map_err(Failure::config)?;
            if self.json {
                return Ok(writeln!(out, "{}", serde_json::json!({ "ruleset": rules }))?);
            }
            return Ok(write!(out, "{rules}")?);
        }
        let state = settings::beside(&origin, &settings.state);
        match self.command {
            None => run(&settings, &source, &self.passphrase, &mut ServingLine::new(self.json, out)),
            Some(ApCommand::Off(Off { json })) => off(&state, json, out),
            Some(ApCommand::Status(Status { json })) => {
                let status = ask(source.file(), &state, "status")?;
                if json { Ok(writeln!(out, "{status}")?) } else { print_status(&status, out) }
            }
            Some(ApCommand::End(End { address, json })) => {
                let answer = ask(source.file(), &state, &format!("end {address}"))?;
                reloaded::accepted(&answer)?;
                if json {
                    return Ok(writeln!(out, "{answer}")?);
                }
                let sessions = if answer["ended"] == 1 { "the session" } else { "all sessions" };
                Ok(writeln!(out, "ended {sessions} at {address}")?)
            }
            Some(ApCommand::Reload(Reload { json })) => {
                let answer = ask(source.file(), &state, "reload")?;
                if json && answer["error"].is_null() {
                    return Ok(writeln!(out, "{answer}")?);
                }
                reloaded::print(&answer, out)
            }
            #[cfg(feature = "hostapd")]
            Some(ApCommand::Hostapd(hostapd)) => hostapd.run(&settings, &origin, out),
            #[cfg(feature = "splash")]
            Some(ApCommand::Announce(announce)) => announce.run(&settings, &origin, out),
            #[cfg(feature = "retention")]
            Some(ApCommand::Who(who)) => who.run(&state, settings.retention.for_loop()?, out),
            #[cfg(feature = "retention")]
            Some(ApCommand::ExportAddresses(export)) => {
                export.run(&state, settings.retention.for_loop()?, out)
            }
            #[cfg(feature = "retention")]
            Some(ApCommand::Forget(forget)) => forget.run(&state, settings.retention.for_loop()?, out),
        }
    }
}

fn ask(config: &Path, state: &Path, question: &str) -> Result<serde_json::Value, Failure> {
    let nobody = || Failure::network(anyhow!("no access point runs with {}", config.display()));
    control::ask_for_answer(&socket(state), question)?.ok_or_else(nobody)
}

/// How long an access point may take to stop: its visitors sign for the last bytes first.
const STOP_MAX: Duration = Duration::from_secs(10);

fn run(
    settings: &ApSettings,
    source: &Source,
    passphrase: &PassphraseArgs,
    out: &mut ServingLine<'_, '_>,
) -> Outcome {
    let origin = source.origin();
    let [key, certificate] =
        [&settings.key, &settings.certificate].map(|file| settings::beside(&origin, file));
    let credentials = passphrase.credentials(&key, &certificate)?;
    let reread = SettingsFile::new(source, settings)?;
    let settings = settings.for_loop(&origin)?;
    let radius = settings.phones.as_ref().map(|phones| phones.radius.port());
    let low_ports = std::iter::once(settings.port)
        .chain(radius)
        .chain(settings.splash.iter().flat_map(access_point::splash::Settings::ports))
        .any(|port| port < loops::FIRST_FREE_PORT);
    let needs = Needs { network: true, low_ports, ..Needs::default() }.with_files(&[
        source.file(),
        &settings.state,
        &settings.certificate,
    ]);
    loops::run_daemon(needs, reread, async |requests| {
        access_point::run(&settings, credentials, requests, out).await
    })
}

fn off(state: &Path, json: bool, out: &mut Output) -> Outcome {
    if control::ask(&socket(state), "stop")?.is_some() {
        if !control::wait_until_gone(&socket(state), STOP_MAX) {
            return Err(Failure::network(anyhow!("the access point was asked to stop and still runs")));
        }
        return reloaded::done(
            json,
            "stopped",
            "the access point has stopped, and the firewall is as it was before",
            out,
        );
    }
    let file = firewall_state(state);
    if file.exists() {
        firewall::clean_up(&file).map_err(Failure::network)?;
        reloaded::done(json, "cleaned up", "the firewall is as it was before", out)
    } else {
        let sentence = "nothing to do: the access point is not running and has left nothing behind";
        reloaded::done(json, "nothing", sentence, out)
    }
}

fn print_status(status: &serde_json::Value, out: &mut Output) -> Outcome {
    let bytes = |value: &serde_json::Value| Bytes(value.as_u64().unwrap_or_default()).to_string();
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    writeln!(out, "team      {}", text(&status["team"]))?;
    validity::print(&status["certificate"], "certified", 10, out)?;
    match (status["home_up"] == true, status["home_reason"].as_str()) {
        (true, _) => writeln!(out, "home      connected")?,
        (false, None) => writeln!(out, "home      not reachable")?,
        (false, Some(reason)) => writeln!(out, "home      not reachable: {reason}")?,
    }
    if let Some(reason) = status["certificate_refused"].as_str() {
        writeln!(out, "refused   last for its certificate: {reason}")?;
    }
    writeln!(
        out,
        "{:<16} {:<10} {:<8} {:>14} {:>14}  state",
        "visitor", "team", "class", "carried", "signed"
    )?;
    for (list, open) in [("sessions", "open"), ("closed", "closed")] {
        for session in status[list].as_array().into_iter().flatten() {
            let team = text(&session["team"]);
            let tunnel =
                session["tunnel"].as_str().map_or_else(String::new, |home| format!(", tunnel to {home}"));
            writeln!(
                out,
                "{:<16} {:<10} {:<8} {:>14} {:>14}  {}{tunnel}",
                text(&session["ip"]),
                team.get(..8).unwrap_or(&team),
                text(&session["class"]),
                bytes(&session["counted"]),
                bytes(&session["signed"]),
                session["end"].as_str().unwrap_or(open),
            )?;
        }
    }
    if status["allowance"].is_object() {
        let used = bytes(&status["allowance"]["used"]);
        writeln!(
            out,
            "tunnels   {used} passed without a session, {} connections to homes",
            status["allowance"]["home_contacts"]
        )?;
    }
    if let Some(count @ 1..) = status["blocked_devices"].as_u64() {
        writeln!(out, "blocked   {count} devices get nothing here; the household's home has the list")?;
    }
    print_parts(status, out)?;
    for (name, at) in [("calls", "/calls/says"), ("radio", "/calls/rates"), ("trouble", "/trouble")] {
        if let Some(says) = status.pointer(at).and_then(serde_json::Value::as_str) {
            writeln!(out, "{name:<9} {says}")?;
        }
    }
    for (kind, count) in status["refused"].as_object().into_iter().flatten() {
        writeln!(out, "refused   {count} × {kind}")?;
    }
    for (layer, _) in status["layers"].as_object().into_iter().flatten().filter(|(_, is_up)| **is_up != true)
    {
        writeln!(out, "layer     {layer} is not in force; the access point's log says why")?;
    }
    for (what, count) in status["mended"].as_object().into_iter().flatten() {
        writeln!(out, "mended    {count} × {what}, which something else had changed")?;
    }
    let dropped = status["dropped"].as_object().into_iter().flatten();
    for (kind, count) in dropped.filter(|(_, count)| **count != 0) {
        writeln!(out, "dropped   {count} packets × {kind}")?;
    }
    Ok(())
}

/// What a program for routers may lack.
fn print_parts(status: &serde_json::Value, out: &mut Output) -> Outcome {
    #[cfg(feature = "splash")]
    print_splash(&status["splash"], out)?;
    #[cfg(feature = "hostapd")]
    print_phones(&status["phones"], out)?;
    print_retention(&status["retention"], out)
}

#[cfg(feature = "hostapd")]
fn print_phones(phones: &serde_json::Value, out: &mut Output) -> Outcome {
    if !phones.is_object() {
        return Ok(());
    }
    let count = |name: &str| phones["counters"][name].as_u64().unwrap_or_default();
    let joined = phones["joined"].as_array().map_or(0, Vec::len);
    writeln!(
        out,
        "phones    {joined} on the Wi-Fi, {} joining; {} let in and {} refused since the start",
        phones["joining"],
        count("opened"),
        count("refused")
    )?;
    if let Some(sentence) = phones["last_refusal"].as_str() {
        writeln!(out, "phones    last refused: {sentence}")?;
    }
    let radsec = &phones["radsec"];
    if radsec.is_object() {
        let connections = radsec["connections"].as_array().map_or(0, Vec::len);
        writeln!(
            out,
            "phones    RadSec: {connections} connected, {} not taken or ended since the start",
            radsec["refused"]
        )?;
        if let Some(sentence) = radsec["last_refusal"].as_str() {
            writeln!(out, "phones    RadSec: last ended: {sentence}")?;
        }
    }
    for (counter, in_words) in [
        ("dismissed", "phones had to leave the Wi-Fi"),
        ("not-dismissed", "phones were to leave the Wi-Fi, and hostapd did not let them go"),
        ("home-away", "times the own home could not be asked about a phone"),
        ("unanswered", "times there was no answer from a phone's home"),
        ("home-slow", "times there was none at all from the own home"),
        ("crowded", "times too many phones were joining"),
        ("overflow", "messages of hostapd's were lost, because there were too many"),
        (
            "authenticator",
            "messages of hostapd's had another secret: compare its file with `guestright ap hostapd`",
        ),
    ] {
        let count = count(counter);
        if count > 0 {
            writeln!(out, "phones    {count} {in_words}")?;
        }
    }
    Ok(())
}

#[cfg(feature = "splash")]
fn print_splash(splash: &serde_json::Value, out: &mut Output) -> Outcome {
    if !splash.is_object() {
        return Ok(());
    }
    writeln!(
        out,
        "splash    at port {}: {} requests answered, {} connections refused",
        splash["port"], splash["answered"], splash["refused"]
    )?;
    let trials = &splash["trials"];
    let bytes = |name: &str| Bytes(trials[name].as_u64().unwrap_or_default());
    if trials["running"] != 0 || trials["begun"] != 0 || bytes("left_today") > Bytes(0) {
        let (carried, left) = (bytes("carried"), bytes("left_today"));
        writeln!(
            out,
            "trials    {} running, {} since the start, {carried} carried, {left} left for today",
            trials["running"], trials["begun"]
        )?;
    }
    Ok(())
}

fn print_retention(retention: &serde_json::Value, out: &mut Output) -> Outcome {
    if let Some(seconds) = retention["keep_seconds"].as_u64() {
        let (hours, records) = (seconds / 3_600, &retention["records"]);
        writeln!(out, "addresses {records} records of who had which; each is kept for {hours} h")?;
    }
    if let Some(trouble) = retention["trouble"].as_str() {
        writeln!(out, "addresses {trouble}")?;
    }
    Ok(())
}

/// What `--help` shows below the options.
fn long_help() -> String {
    format!("{SETTINGS}\n{EXAMPLE}")
}
