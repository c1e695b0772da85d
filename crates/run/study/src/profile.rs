//! Calls straight from computer to computer, with a tool that has a wire format of its own (design note 0007).
//!
//! Invariants: a call is made with the profile that was asked for, or not at all; whatever is insecure is run only when
//! that was asked for by name, and says so before anything is sent; no secret is on the command line.

mod choice;
mod engine;
mod rating;
mod talk;
mod tools;

use super::phone::{Task, commands};
use super::report::Report;
use super::{Answer, LineArgs, contacts};
use anyhow::{Context, anyhow};
use choice::Choice;
pub(super) use choice::Name;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::signals::Signals;
use guestright_directory::Contacts;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What only calls with a profile want to know.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ProfileArgs {
    /// Call straight, by this tool's own wire format, without homes and SIP. All but boat are insecure
    #[arg(long, value_enum, value_name = "NAME")]
    #[arg(conflicts_with_all = ["home", "tunnel", "transport", "user", "protection", "dtx", "clock_error_ms"])]
    profile: Option<Name>,
    /// Run a tool whose protection is broken; say nothing that others may not hear
    #[arg(long, requires = "profile")]
    insecure_for_study: bool,
    /// File with the phrase that both sides know, on its first line
    #[arg(long, value_name = "FILE", requires = "profile")]
    pass_phrase_file: Option<PathBuf>,
    /// One of the tool's ciphers; otherwise its first
    #[arg(long, value_name = "NAME", requires = "profile")]
    cipher: Option<String>,
    /// Where the contact that is called is at present
    #[arg(long, value_name = "HOST[:PORT]", requires = "profile")]
    at: Option<String>,
    /// Speak to nobody but this one: a contact, or the name of a key (48 hexadecimal digits). Only with boat
    #[arg(long, value_name = "CONTACT", requires = "profile")]
    expect: Option<String>,
}

impl ProfileArgs {
    pub(super) fn name(&self) -> Option<Name> {
        self.profile
    }
}

/// Everything that outlives a single call.
struct Straight<'a, W> {
    line: &'a LineArgs,
    choice: Choice,
    contacts: Contacts,
    socket: Arc<UdpSocket>,
    signals: Signals,
    commands: mpsc::Receiver<String>,
    report: Report<'a, W>,
}

/// Calls, or waits for calls, with a profile.
pub(super) async fn run<W: Write>(name: Name, line: &LineArgs, task: Task, out: &mut W) -> Outcome {
    let signals = Signals::take()?;
    let contacts = contacts::load(line.contacts.as_deref())?;
    let whom = match &task {
        Task::Dial(whom) => Some(whom.as_str()),
        Task::Listen(_) => None,
    };
    let choice = Choice::make(name, line, whom, &contacts)?;
    let waits = matches!(&task, Task::Listen(waiting) if waiting.answer == Answer::Ask);
    let mut report = Report::new(line, out)?;
    if let Some(why) = name.insecure() {
        warn(name, why, line, &mut report)?;
    }
    let peer = choice.peer;
    let socket = open(name, line, peer)?;
    let commands = commands(line.control || waits || std::io::stdin().is_terminal());
    let straight = Straight { line, choice, contacts, socket: Arc::new(socket), signals, commands, report };
    match (task, peer) {
        (Task::Dial(whom), Some(peer)) => straight.dial(&whom, peer).await,
        (Task::Dial(_), None) => Err(Failure::user(anyhow!("nobody was named to call"))),
        (Task::Listen(waiting), _) => straight.listen(&waiting).await,
    }
}

/// Says that nobody should rely on what follows, before anything is sent.
fn warn<W: Write>(name: Name, why: &str, line: &LineArgs, report: &mut Report<'_, W>) -> anyhow::Result<()> {
    let banner = guestright_legacy::banner(name.text(), why);
    // Where it is seen even if nobody reads what the program prints.
    writeln!(std::io::stderr(), "{banner}")?;
    if line.json {
        report.say("insecure", &banner, json!({ "profile": name.text(), "said": banner }))?;
    }
    Ok(())
}

/// The socket. It is bound to one address only if that was asked for: either side may move.
fn open(name: Name, line: &LineArgs, peer: Option<SocketAddr>) -> Result<UdpSocket, Failure> {
    let any = match peer {
        Some(SocketAddr::V6(_)) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        Some(SocketAddr::V4(_)) | None => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    };
    let port = match (line.port, peer) {
        (0, None) => name.port(),
        (port, _) => port,
    };
    let own = SocketAddr::new(line.address.unwrap_or(any), port);
    let opened = || {
        let socket = UdpSocket::bind(own)?;
        socket.set_nonblocking(true)?;
        Ok::<_, std::io::Error>(socket)
    };
    opened().with_context(|| format!("open {own} for {}", name.text())).map_err(|error| {
        Failure::network(error).hint(
            "another program may have the port, or the address is none of this computer's: --port and --address \
             name others",
        )
    })
}
