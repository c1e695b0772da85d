//! Questions to the router over UDP and HTTP, each with a limit of time and of size.

use crate::upnp::{self, HttpUrl, UpnpError};
use crate::wire;
use crate::{PortmapError, Uplink};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// The first wait for an answer; it doubles (RFC 6886 §3.1).
const WAIT_FIRST: Duration = Duration::from_millis(250);
/// Where UPnP devices listen for searches (UPnP Device Architecture 1.1 §1.3.2).
const SEARCH: (Ipv4Addr, u16) = (Ipv4Addr::new(239, 255, 255, 250), 1900);
/// A device's answer to a search has at most so many bytes.
const SEARCH_ANSWER_MAX: usize = 2_048;

/// Sends `question` to the router's port for mappings until `read` makes something of an answer, or `within` is over.
///
/// What `read` takes for an answer to something else is passed over; the socket takes the router's datagrams only.
pub(crate) fn ask<T>(
    router: Ipv4Addr,
    question: &[u8],
    within: Duration,
    read: impl Fn(&[u8]) -> Result<T, wire::WireError>,
) -> Result<Option<T>, PortmapError> {
    let socket =
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(PortmapError::system("open a socket"))?;
    socket.connect((router, wire::PORT)).map_err(PortmapError::system("reach the router"))?;
    let deadline = Instant::now() + within;
    let mut wait = WAIT_FIRST;
    let mut buffer = [0; wire::LEN_MAX + 1];
    loop {
        // An earlier "port unreachable" comes out of the next call: nobody listens now, but may in a moment.
        let _ = socket.send(question);
        let until = deadline.min(Instant::now() + wait);
        while let Some(length) = receive(&socket, &mut buffer, until)? {
            match read(&buffer[..length]) {
                Err(wire::WireError::NotOurs | wire::WireError::Length { .. }) => {}
                read => return Ok(Some(read?)),
            }
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        wait *= 2;
    }
}

/// The next datagram before `until`. A "port unreachable" ends the wait at once: asking again is cheap.
fn receive(socket: &UdpSocket, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, PortmapError> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Ok(None);
    }
    socket.set_read_timeout(Some(left)).map_err(PortmapError::system("wait for the router"))?;
    match socket.recv(buffer) {
        Ok(length) => Ok(Some(length)),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            Ok(None)
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
        Err(error) => Err(PortmapError::system("wait for the router")(error)),
    }
}

/// Searches for the router's UPnP description; nothing if it does not answer in time. Other devices' answers are passed
/// over.
pub(crate) fn search(
    Uplink { router, own }: Uplink,
    within: Duration,
) -> Result<Option<HttpUrl>, PortmapError> {
    let socket = UdpSocket::bind((own, 0)).map_err(PortmapError::system("open a socket"))?;
    let deadline = Instant::now() + within;
    let mut buffer = [0; SEARCH_ANSWER_MAX];
    for target in upnp::SEARCH_TARGETS {
        // To the group, as the standard says, and to the router itself, which does where multicast is filtered.
        for to in [SocketAddr::from(SEARCH), SocketAddr::from((router, SEARCH.1))] {
            let _ = socket.send_to(upnp::search_request(target).as_bytes(), to);
        }
    }
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        socket.set_read_timeout(Some(left)).map_err(PortmapError::system("wait for the router"))?;
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        let text = String::from_utf8_lossy(&buffer[..length]);
        if from.ip() == IpAddr::V4(router)
            && let Ok(url) = upnp::parse_search_answer(&text)
            && *url.address.ip() == router
        {
            return Ok(Some(url));
        }
    }
}

/// One request over HTTP and its answer: status and body.
pub(crate) fn http(url: &HttpUrl, request: &str, within: Duration) -> Result<(u16, String), PortmapError> {
    let deadline = Instant::now() + within;
    let broken = PortmapError::system("ask the router over HTTP");
    let mut stream = TcpStream::connect_timeout(&url.address.into(), within).map_err(&broken)?;
    stream.set_write_timeout(Some(within)).map_err(&broken)?;
    stream.write_all(request.as_bytes()).map_err(&broken)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(broken(ErrorKind::TimedOut.into()));
        }
        stream.set_read_timeout(Some(left)).map_err(&broken)?;
        match stream.read(&mut buffer).map_err(&broken)? {
            0 => break,
            length => answer.extend_from_slice(&buffer[..length]),
        }
        if answer.len() > upnp::ANSWER_MAX {
            return Err(UpnpError::TooLong { max: upnp::ANSWER_MAX }.into());
        }
        if upnp::is_complete(&answer) {
            break;
        }
    }
    Ok(upnp::parse_http(&answer)?)
}
