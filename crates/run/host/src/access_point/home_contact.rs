//! Contacts with the homes of visitors that have nothing but a tunnel.

use super::inbox::Door;
use super::link::FromLink;
use crate::PROTOCOL_PORT;
use guestright_roaming::access_point::Path;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::net::TcpStream;

/// A home that does not answer for so long is not there.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Connects to a home; says at `door` whether it answers. How many contacts there are at a time is the machine's business.
pub(super) fn connect(path: Path, home: Ipv4Addr, door: Door) {
    tokio::spawn(async move {
        let connected = tokio::time::timeout(ANSWER_MAX, TcpStream::connect((home, PROTOCOL_PORT))).await;
        let event = match connected {
            Ok(Ok(stream)) => FromLink::HomeReached { ip: home, path, stream },
            Ok(Err(_)) | Err(_) => FromLink::Ended(path),
        };
        door.connection(home, path, event).await;
    });
}
