//! Everything that outlives a single call: the socket, the choice, and the person at the telephone.

use crate::choice::Choice;
use crate::{StudyError, StudySettings, Terminal};
use guestright_telephone::report::Report;
use guestright_telephone::{Controls, Task};
use serde_json::json;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

/// Everything that outlives a single call.
pub(crate) struct Straight<'a, W> {
    pub(crate) settings: StudySettings,
    pub(crate) choice: Choice,
    pub(crate) socket: Arc<UdpSocket>,
    pub(crate) controls: Controls,
    pub(crate) report: Report<'a, W>,
}

/// Calls, or waits for calls, with a profile.
///
/// # Errors
/// The call came to nothing, or nobody could call. What goes wrong in one of the calls that are waited for is only
/// written.
pub async fn run<W: Write>(
    settings: StudySettings,
    choice: Choice,
    task: Task,
    terminal: Terminal<'_, W>,
) -> Result<(), StudyError> {
    let Terminal { controls, out, warnings } = terminal;
    let mut report = Report::new(&settings.line.report, out)?;
    if let Some(why) = settings.profile.insecure() {
        // Before anything is sent, and where it is seen even if nobody reads what the program prints.
        let name = settings.profile.text();
        let banner = guestright_legacy::banner(name, why);
        writeln!(warnings, "{banner}")?;
        if settings.line.report.json {
            report.print("insecure", &banner, json!({ "profile": name, "said": banner }))?;
        }
    }
    let peer = choice.peer;
    let socket = open(&settings, peer)?;
    let straight = Straight { settings, choice, socket: Arc::new(socket), controls, report };
    match (task, peer) {
        (Task::Dial(whom), Some(peer)) => straight.dial(&whom, peer).await,
        (Task::Dial(_), None) => Err(StudyError::NobodyNamed),
        (Task::Listen(waiting), _) => straight.listen(&waiting).await,
    }
}

/// The socket. It is bound to one address only if that was asked for: either side may move.
fn open(settings: &StudySettings, peer: Option<SocketAddr>) -> Result<UdpSocket, StudyError> {
    let any = match peer {
        Some(SocketAddr::V6(_)) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        Some(SocketAddr::V4(_)) | None => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    };
    let port = match (settings.port, peer) {
        (0, None) => settings.profile.port(),
        (port, _) => port,
    };
    let own = SocketAddr::new(settings.address.unwrap_or(any), port);
    let opened = || {
        let socket = UdpSocket::bind(own)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    opened().map_err(|source| StudyError::Port { own, tool: settings.profile.text(), source })
}
