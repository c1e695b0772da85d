//! `guestright home`: the team's home, and the gateway of its roaming members.

mod about;
mod block;
#[cfg(feature = "computer")]
mod everybody;
#[cfg(feature = "computer")]
mod simulate;
#[cfg(feature = "page")]
mod web;

use crate::commands::validity;
use crate::gateway_files::GatewayFiles;
use crate::loops::ServingLine;
use crate::settings::{self, HomeSettings, SettingsFile, Source};
use crate::{control, loops, reloaded};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_host::home::{self, socket};
use guestright_privileges::Needs;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Run the team's home: keeps its receipts, decides for its access points, serves its roaming members
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE, after_long_help = long_help())]
pub(crate) struct Home {
    /// The settings file; where there is none here, the one in /etc/guestright
    #[arg(long, default_value = "home.toml", global = true)]
    config: PathBuf,
    /// OpenWrt's settings file in the place of --config: sections home, home_credit, …; relative paths are below
    /// /etc/guestright
    #[arg(long, value_name = "FILE", conflicts_with = "config", global = true)]
    uci: Option<PathBuf>,
    /// Print the settings with all defaults and stop
    #[arg(long)]
    show_config: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(subcommand)]
    command: Option<HomeCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum HomeCommand {
    Status(Status),
    Why(Why),
    Accounts(Accounts),
    Sponsor(Sponsor),
    Block(block::Block),
    Unblock(block::Unblock),
    Export(about::Export),
    Forget(about::Forget),
    #[cfg(feature = "computer")]
    Everybody(everybody::Everybody),
    #[cfg(feature = "computer")]
    Simulate(simulate::Simulate),
    #[cfg(feature = "page")]
    Web(web::Web),
    Reload(Reload),
    Off(Off),
}

/// Read settings, revocation list and the gateway's directory again; nobody who is served is cut off
///
/// Members that were added come in, revoked ones do not, here and at the team's access points. Settings of `[credit]` and
/// `[policy]`, `admit` in `[voice]`, the renewing key, and another certificate in the place of the old one count at once. What counts from the
/// next start on is named. If anything is wrong, nothing changes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home reload --config home.toml")]
struct Reload {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Stop the home and put firewall and network back as they were, also after a crash
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home off --config home.toml")]
struct Off {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How long a home may take to stop.
const STOP_MAX: Duration = Duration::from_secs(10);

/// Show what the running home knows
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home status --config home.toml --json")]
struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show who owes whom: what the household owes other teams, and they owe it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home accounts --config home.toml")]
struct Accounts {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Give a team more than what the household gives away to everybody
///
/// It is owed back as what is given away is. The amount replaces what was left of an earlier one; 0 ends it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home sponsor 3f1c08aa4b8f0dbd2ad1b5c6f1f5a20c6d9a5bb7d0e0c1f2 --megabytes 500 --config home.toml")]
struct Sponsor {
    /// The team's id, all of its 48 hexadecimal digits: `guestright team member list` shows it to its founder
    team: TeamId,
    /// How much it may be served here
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    megabytes: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show how a team would be served now, and the chains of debts behind it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright home why 3f1c08aa --config home.toml")]
struct Why {
    /// The team: its 48 hexadecimal digits, or the first few as the tables show them
    team: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLE: &str = "Example:
  guestright home --config home.toml
  guestright home status --config home.toml --json
  guestright home simulate --policy other.toml --since 30d --config home.toml
  guestright home reload --config home.toml
  guestright home off --config home.toml";

const SETTINGS: &str = r#"A settings file:

  key = "home.key"
  certificate = "home.cert"
  state = "home-state"         # the receipts are in here
  listen = "0.0.0.0:7274"
  revocations = "revocations"  # optional
  renewal = "renewal"          # optional: what `guestright team renewal init` has made; certificates renew themselves
  receipts_max = 1000000
  protocol_listen = "0.0.0.0:7273"  # with a gateway: where access points ask for receipts of members
                               # that have nothing but a stock WireGuard app
  [policy]
  kind = "credit"              # reserved between homes; or for study srm (the paper's rule), netflow, quota, gmf
  [credit]                     # what everybody else costs at most
  allowance_bytes_per_day = 200000000  # given away in a day: to strangers, to debtors, and what nobody signed for
  founding_bytes = 100000000   # once more than that, in the beginning
  lend_bytes_max = 25000000    # lent to all other households together
  hold = true                  # reserve for others what is owed to them; they learn where their people are served
  [gateway]                    # roaming members come home here; needs root, or NET_ADMIN
  directory = "gateway"        # what `guestright team gateway init` has made
  uplink_interface = "wan"     # the way to the Internet
  home_networks = ["192.168.1.0/24"]  # what members reach besides; nothing else that is private
  interface = "gr-home"        # what the tunnel's device is to be called
  backend = "auto"             # the kernel's WireGuard if it has one; or "kernel", "userspace"
  dns_upstream = "192.168.1.1" # optional; else the first resolver in /etc/resolv.conf
  port_mapping = true          # ask the household's router to let the home's ports through; default: no
  [dynamic_dns]                # optional: a name of this home's that follows its address (RFC 2136)
  name = "home.example.org"
  server = "198.51.100.53:53"  # the primary server of the zone, by default of example.org
  key_file = "update.key"      # what `tsig-keygen -a hmac-sha256 home` has written; mode 600
  ttl_seconds = 60
  address = "203.0.113.7"      # optional; else this computer's, or its router's with port_mapping
  [links]                      # to homes of other teams, for credit and for calls
  listen = "0.0.0.0:7275"      # where they come in; or enabled = false to do without
  announce = "home.example:7275"  # optional: where they are to find this home
  [voice]                      # optional: members call each other, at this home and at others, with any softphone
  sip_port = 5060              # of SIP at the gateway's address; name@that address is who is called
  strangers = true             # whether people who are no contacts may call
  admit = false                # whether a call is refused that would break others, as access points with [radio] reckon
  peers = ["KEY@home.example:7275"]  # homes that are asked where people are, and told where members are
  [voice.contacts]             # people at other homes, by a card, or written out
  bob = "guestright:contact?…" # or { member = "KEY", homes = ["KEY@home.example:7275"] }
  [voice.dns]                  # optional: people whose card names them in the DNS are looked up there
  resolver = "192.168.1.1:53"  # optional; else /etc/resolv.conf
  server = "198.51.100.53:53"  # optional, with zone, key_file and name: where members' homes are made known
  zone = "members.example"
  key_file = "update.key"      # what `tsig-keygen -a hmac-sha256 home` has written; mode 600
  name = "{member}.members.example"  # or names = { alice = "alice.members.example" }
  [voice.sms]                  # optional: people are asked by short message, last of all; each costs money
  modem = "/dev/ttyUSB2"       # with pin_file, if its SIM wants one; or an operator's message centre:
  # smpp = { server = "smsc.example:2775", system_id = "us", password_file = "smpp.password", number = "+12025550142" }
  who_may_ask = "contacts"     # those of [voice.contacts] with a telephone number; or "anyone", "nobody"
  messages_per_day = 120
  [phones]                     # members' phones without an app; enabled = false to do without
  household = "The Millers"    # optional: what stands on them
  page = "192.168.1.2:7276"    # optional: where a phone fetches its files, at home; else at this computer's address
  page_seconds = 900           # how long a link there works
  wifi_at_home = ["Millers"]   # where an iPhone makes no tunnel
  tunnel_elsewhere = false     # whether it tunnels home from other Wi-Fi than participating too
  [web]                        # the household's page; `guestright home web --enable` opens it for half an hour
  listen = ["127.0.0.1:7277"]  # optional: where it is open always, for whoever has a link of `guestright home web`
  team = "family"              # optional: members are changed on the page too; whoever takes over this computer has the team then
  [metrics]                    # figures for Prometheus (docs/metrics.md); left out: at the socket metrics.sock of the state alone
  listen = "127.0.0.1:7278"    # optional: this one unless another is named
  [gateway.ikev2]              # optional: built-in IKEv2 clients come in through strongSwan
  profile = "modern"           # or "legacy-paper": IKEv1 and the papers' broken suites besides
  certificate = "gateway.crt"  # optional, with certificate_key: for clients that log in by name and password
  certificate_key = "gateway.pem"
  team_secret = "team.secret"  # optional: for L2TP and legacy-paper
  data_plane = "auto"          # the kernel's ESP if it has it; or "kernel", "userspace"
  [gateway.l2tp]               # optional: needs ESP, L2TP and PPP in the kernel
  listen = "198.51.100.2"      # optional; else the first address of the uplink

Members reach the gateway at the UDP port in gateway.toml: let it through on the household's router.
"#;

impl Home {
    /// Whether this is the home itself.
    pub(crate) fn serves(&self) -> bool {
        self.command.is_none() && !self.show_config
    }

    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let serves = self.serves();
        let source = Source::new(self.config, self.uci, "home");
        if serves && !source.is_enabled()? {
            return source.print_not_enabled("the home", self.json, out);
        }
        let (settings, origin) = (source.read::<HomeSettings>()?, source.origin());
        if self.show_config {
            return settings::show(&settings.filled_in()?, self.json, out);
        }
        let state = settings::beside(&origin, &settings.state);
        let ask = |question: &str| {
            let nobody = || Failure::network(anyhow!("no home runs with {}", source.file().display()));
            control::ask_for_answer(&socket(&state), question)?.ok_or_else(nobody)
        };
        match self.command {
            None => run(&settings, &source, &self.passphrase, &mut ServingLine::new(self.json, out)),
            Some(HomeCommand::Status(Status { json: true })) => Ok(writeln!(out, "{}", ask("status")?)?),
            Some(HomeCommand::Status(Status { json: false })) => print_status(&ask("status")?, out),
            Some(HomeCommand::Why(Why { team, json })) => {
                let answer = ask(&format!("why {team}"))?;
                if json {
                    return Ok(writeln!(out, "{answer}")?);
                }
                reloaded::accepted(&answer)?;
                for line in answer["lines"].as_array().into_iter().flatten() {
                    writeln!(out, "{}", line.as_str().unwrap_or_default())?;
                }
                Ok(())
            }
            Some(HomeCommand::Accounts(Accounts { json })) => print_accounts(&ask("accounts")?, json, out),
            Some(HomeCommand::Sponsor(Sponsor { team, megabytes, json })) => {
                let answer = ask(&format!("sponsor {team} {}", megabytes * 1_000_000))?;
                print_sponsored(&answer, json, out)
            }
            Some(HomeCommand::Block(block)) => block.print(&ask(&block.question())?, out),
            Some(HomeCommand::Unblock(unblock)) => unblock.print(&ask(&unblock.question())?, out),
            Some(HomeCommand::Export(export)) => export.run(&state, source.file(), out),
            Some(HomeCommand::Forget(forget)) => forget.print(&ask(&forget.question())?, out),
            #[cfg(feature = "computer")]
            Some(HomeCommand::Everybody(everybody)) => everybody.print(&ask(&everybody.question())?, out),
            #[cfg(feature = "computer")]
            Some(HomeCommand::Simulate(command)) => command.run(&settings, &source, out),
            #[cfg(feature = "page")]
            Some(HomeCommand::Web(web)) => web.print(&ask(&web.question())?, out),
            Some(HomeCommand::Reload(Reload { json })) => print_reload(&ask("reload")?, json, out),
            Some(HomeCommand::Off(Off { json })) => {
                let (what, sentence) = off(&settings, &origin, &state)?;
                reloaded::done(json, what, sentence, out)
            }
        }
    }
}

fn run(
    settings: &HomeSettings,
    source: &Source,
    passphrase: &PassphraseArgs,
    out: &mut ServingLine<'_, '_>,
) -> Outcome {
    let origin = source.origin();
    let [key, certificate] =
        [&settings.key, &settings.certificate].map(|file| settings::beside(&origin, file));
    let credentials = passphrase.credentials(&key, &certificate)?;
    let reread = SettingsFile::new(source, settings)?;
    let loop_settings = settings.for_loop(&origin)?;
    #[cfg(feature = "page")]
    let loop_settings = web::with_tools(loop_settings, settings, source, &credentials);
    loops::run_daemon(needs(&loop_settings, source.file()), reread, async |requests| {
        home::run(&loop_settings, credentials, requests, out).await
    })
}

/// What a home with these settings has to be able to do; `path` is the settings file's. Without a gateway: nothing that
/// not every user may.
fn needs(settings: &home::Settings, path: &Path) -> Needs {
    let gateway = settings.gateway.as_ref();
    let exchange = settings.exchange.as_ref();
    let voice = exchange.map(|it| [it.sip_port, it.media_port_first]);
    let links = settings.links.as_ref().map(|it| it.listen.port());
    // One that cannot be read is reported when the gateway starts.
    let tunnel = gateway.and_then(|it| GatewayFiles::open(&it.directory).ok()).map(|files| files.file.port);
    let ports = [settings.listen.port(), settings.protocol_listen.port()];
    let mut ports = ports.into_iter().chain(links).chain(voice.into_iter().flatten()).chain(tunnel);
    let mut files = vec![path, settings.state.as_path(), settings.certificate.as_path()];
    files.extend(settings.renewal.as_deref());
    files.extend(gateway.map(|gateway| gateway.directory.as_path()));
    let needs = Needs {
        network: gateway.is_some(),
        low_ports: ports.any(|port| port < loops::FIRST_FREE_PORT),
        strongswan: gateway.is_some_and(|gateway| gateway.ikev2.is_some()),
        l2tp: gateway.is_some_and(|gateway| gateway.l2tp.is_some()),
        ..Needs::default()
    };
    needs.with_files(&files)
}

fn print_reload(answer: &Value, json: bool, out: &mut Output) -> Outcome {
    if json && answer["error"].is_null() {
        return Ok(writeln!(out, "{answer}")?);
    }
    reloaded::print(answer, out)?;
    let gateway = &answer["gateway"];
    if gateway.is_null() {
        writeln!(out, "this home has no gateway")?;
    } else {
        let (members, added, removed) = (&gateway["members"], &gateway["added"], &gateway["removed"]);
        writeln!(out, "read again: {members} members, {added} new, {removed} gone")?;
    }
    Ok(())
}

/// What was done, in a word and in a sentence.
fn off(
    settings: &HomeSettings,
    origin: &Path,
    state: &Path,
) -> Result<(&'static str, &'static str), Failure> {
    let door = socket(state);
    if control::ask(&door, "stop")?.is_some() {
        if !control::wait_until_gone(&door, STOP_MAX) {
            return Err(Failure::network(anyhow!("the home was asked to stop and still runs")));
        }
        return Ok(("stopped", "the home has stopped, and the network is as it was before"));
    }
    if home::clean_up(state, settings.gateway_for_loop(origin)?.as_ref())? {
        Ok(("cleaned up", "the network is as it was before"))
    } else {
        Ok(("nothing", "nothing to do: the home is not running and has left nothing behind"))
    }
}

fn print_status(status: &Value, out: &mut Output) -> Outcome {
    writeln!(out, "team         {}", status["team"].as_str().unwrap_or_default())?;
    validity::print(&status["certificate"], "certificate", 13, out)?;
    validity::print(&status["renewing_key"], "renewing key", 13, out)?;
    if let Some(reason) = status["certificate_refused"].as_str() {
        writeln!(out, "refused last {reason}")?;
    }
    for (name, key) in [("receipts", "receipts"), ("teams", "teams"), ("debts", "edges")] {
        writeln!(out, "{name:<12} {}", status[key])?;
    }
    for (name, key) in [("owed to us", "owed_to_us"), ("owed by us", "owed_by_us")] {
        writeln!(out, "{name:<12} {}", Bytes(status[key].as_u64().unwrap_or_default()))?;
    }
    print_credit(&status["credit"], out)?;
    if let Some(count @ 1..) = status["blocked_devices"].as_u64() {
        writeln!(out, "blocked      {count} devices; guestright home block lists them")?;
    }
    for peer in status["peers"].as_array().into_iter().flatten() {
        writeln!(out, "connected    {}", peer.as_str().unwrap_or_default())?;
    }
    for (kind, count) in status["refused"].as_object().into_iter().flatten() {
        writeln!(out, "refused      {count} × {kind}")?;
    }
    print_own_name(&status["own_name"], out)?;
    print_receipt_requests(&status["receipt_requests"], out)?;
    if status["gateway"].is_object() {
        print_gateway(&status["gateway"], out)?;
    }
    #[cfg(feature = "ikev2")]
    if status["ikev2"].is_object() {
        print_ikev2(&status["ikev2"], out)?;
    }
    if status["voice"].is_object() {
        print_voice(&status["voice"], out)?;
    }
    print_phones(&status["phones"], out)
}

/// Members' phones, and what a person has to do about them.
fn print_phones(phones: &Value, out: &mut Output) -> Outcome {
    for phone in phones["phones"].as_array().into_iter().flatten() {
        let text = |key: &str| phone[key].as_str().unwrap_or("-");
        let state = if phone["revoked"] == true {
            "revoked".to_owned()
        } else {
            format!("until {}", text("not_after"))
        };
        writeln!(out, "phone        {} as {}, {state}", text("member"), text("label"))?;
    }
    for warning in phones["warnings"].as_array().into_iter().flatten() {
        writeln!(out, "phones       WARNING: {}", warning.as_str().unwrap_or_default())?;
    }
    if let Some(address) = phones["page"].as_str() {
        writeln!(out, "phones       the page for a new one is open at {address}")?;
    }
    for (kind, count) in phones["counts"].as_object().into_iter().flatten() {
        writeln!(out, "phones       {count} × {kind}")?;
    }
    for (kind, count) in phones["not_carried"].as_object().into_iter().flatten() {
        writeln!(out, "phones       {count} questions to other homes × {kind}")?;
    }
    Ok(())
}

/// What is given away, and what is lent.
fn print_own_name(name: &Value, out: &mut Output) -> Outcome {
    let Some(own) = name["name"].as_str() else { return Ok(()) };
    match name["address"].as_str() {
        Some(address) => writeln!(out, "own name     {own} is at {address}")?,
        None => writeln!(out, "own name     {own} is not in the DNS")?,
    }
    match name["problem"].as_str() {
        Some(problem) => Ok(writeln!(out, "             {problem}")?),
        None => Ok(()),
    }
}

fn print_credit(credit: &Value, out: &mut Output) -> Outcome {
    let bytes = |value: &Value| Bytes(value.as_u64().unwrap_or_default());
    if credit.is_object() {
        let allowance = &credit["allowance"];
        let (left, per_day) = (bytes(&allowance["left"]), bytes(&allowance["per_day"]));
        writeln!(out, "to give away {left} left, of {per_day} a day")?;
        for sponsored in credit["sponsored"].as_array().into_iter().flatten() {
            let team = sponsored["team"].as_str().and_then(|team| team.get(..8)).unwrap_or("-");
            writeln!(out, "sponsored    {} left for {team}", bytes(&sponsored["left"]))?;
        }
        let (accounts, holds) = (&credit["accounts"], &credit["holds_open"]);
        writeln!(
            out,
            "credit       {accounts} accounts, {holds} reservations, {} lent",
            bytes(&credit["overdrawn"])
        )?;
    }
    Ok(())
}

fn print_sponsored(answer: &Value, json: bool, out: &mut Output) -> Outcome {
    reloaded::accepted(answer)?;
    if json {
        return Ok(writeln!(out, "{answer}")?);
    }
    let (team, left) = (answer["team"].as_str().unwrap_or("-"), answer["left"].as_u64().unwrap_or_default());
    Ok(writeln!(
        out,
        "team {} may be served {} here, beyond what is given away",
        team.get(..8).unwrap_or(team),
        Bytes(left)
    )?)
}

/// A table of who owes whom.
fn print_accounts(answer: &Value, json: bool, out: &mut Output) -> Outcome {
    if json {
        return Ok(writeln!(out, "{answer}")?);
    }
    reloaded::accepted(answer)?;
    let accounts = answer["accounts"].as_array().map(Vec::as_slice).unwrap_or_default();
    if accounts.is_empty() {
        return Ok(writeln!(out, "nobody owes anybody anything yet")?);
    }
    writeln!(
        out,
        "{:<8} {:>12} {:>12} {:>16} {:>12} {:>12}",
        "team", "we owe", "they owe", "gave us ever", "reserved", "can be used"
    )?;
    for account in accounts {
        let team = account["team"].as_str().and_then(|team| team.get(..8)).unwrap_or("-");
        let bytes = |key: &str| Bytes(account[key].as_u64().unwrap_or_default()).to_string();
        let [owe, owed, given, held, used] =
            ["we_owe", "they_owe", "given_to_us_ever", "reserved", "can_be_used"].map(bytes);
        writeln!(out, "{team:<8} {owe:>12} {owed:>12} {given:>16} {held:>12} {used:>12}")?;
    }
    Ok(())
}

/// Members' telephones, and their calls.
fn print_voice(voice: &Value, out: &mut Output) -> Outcome {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let count =
        |value: &Value| value.as_object().map_or(0, |all| all.values().filter_map(Value::as_u64).sum());
    let (telephones, links) = (count(&voice["telephones"]), &voice["links"]);
    let calls = voice["calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    writeln!(
        out,
        "calls        {} now; {telephones} telephones at {}, {links} links to other homes",
        calls.len(),
        text(&voice["sip"])
    )?;
    for call in calls {
        let side = |side: usize| {
            let from = &call["from"][side];
            format!(
                "{} packets, {} lost, jitter {:.1} ms",
                from["packets"],
                from["lost"],
                from["jitter_ms"].as_f64().unwrap_or_default()
            )
        };
        writeln!(
            out,
            "call         {} to {}: {}, {} s, protected {}; from the caller {}; from the callee {}",
            text(&call["caller"]),
            text(&call["callee"]),
            text(&call["phase"]),
            call["seconds"],
            text(&call["protection"]),
            side(0),
            side(1)
        )?;
    }
    for (kind, count) in voice["refused"].as_object().into_iter().flatten() {
        writeln!(out, "not taken    {count} SIP messages × {kind}")?;
    }
    Ok(())
}

/// Access points that carry members' tunnels, and what was signed for them.
fn print_receipt_requests(requests: &Value, out: &mut Output) -> Outcome {
    let bytes = |value: &Value| Bytes(value.as_u64().unwrap_or_default()).to_string();
    for request in requests["open"].as_array().into_iter().flatten() {
        let (from, provider) =
            (request["from"].as_str().unwrap_or("-"), request["provider"].as_str().unwrap_or("-"));
        let provider = provider.get(..8).unwrap_or(provider);
        let (counted, signed) = (bytes(&request["counted"]), bytes(&request["signed"]));
        writeln!(out, "signing      at {from}, team {provider}: {counted} counted, {signed} signed for")?;
    }
    for (kind, count) in requests["refused"].as_object().into_iter().flatten() {
        writeln!(out, "not signed   {count} × {kind}")?;
    }
    Ok(())
}

fn print_gateway(gateway: &Value, out: &mut Output) -> Outcome {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let bytes = |value: &Value| Bytes(value.as_u64().unwrap_or_default()).to_string();
    writeln!(
        out,
        "gateway      {} at {}, port {}, on {} ({})",
        text(&gateway["network"]),
        text(&gateway["endpoint"]),
        gateway["port"],
        text(&gateway["interface"]),
        text(&gateway["backend"])
    )?;
    writeln!(
        out,
        "{:<20} {:<15} {:<22} {:<21} {:>14} {:>14}",
        "member", "address", "endpoint", "handshake", "received", "sent"
    )?;
    for member in gateway["members"].as_array().into_iter().flatten() {
        let handshake =
            member["handshake"].as_u64().map_or_else(|| "-".to_owned(), |at| UnixSeconds(at).to_string());
        writeln!(
            out,
            "{:<20} {:<15} {:<22} {handshake:<21} {:>14} {:>14}",
            text(&member["name"]),
            text(&member["address"]),
            text(&member["endpoint"]),
            bytes(&member["received"]),
            bytes(&member["sent"]),
        )?;
    }
    for (kind, count) in gateway["dropped"].as_object().into_iter().flatten() {
        writeln!(out, "dropped      {count} packets × {kind}")?;
    }
    Ok(())
}

/// Members that came in by IKEv2 or L2TP.
#[cfg(feature = "ikev2")]
fn print_ikev2(ikev2: &Value, out: &mut Output) -> Outcome {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    if let Some(error) = ikev2["error"].as_str() {
        return Ok(writeln!(out, "IKEv2        {error}")?);
    }
    let l2tp = if ikev2["l2tp"] == true { " and L2TP" } else { "" };
    let state = if ikev2["charon"].is_null() { ", being started again" } else { "" };
    let (plane, restarts) = (text(&ikev2["data_plane"]), &ikev2["restarts"]);
    writeln!(out, "IKEv2{l2tp}        packets by {plane}, {restarts} restarts{state}")?;
    for peer in ikev2["peers"].as_array().into_iter().flatten() {
        let (name, address, from) = (text(&peer["name"]), text(&peer["address"]), text(&peer["from"]));
        let (suite, seconds) = (text(&peer["suite"]), &peer["seconds"]);
        writeln!(out, "{name:<20} {address:<15} {from:<22} {suite}, for {seconds} s")?;
    }
    Ok(())
}

/// What `--help` shows below the options.
fn long_help() -> String {
    format!("{SETTINGS}\n{EXAMPLE}")
}
