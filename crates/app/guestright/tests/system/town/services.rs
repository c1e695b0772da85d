//! Servers of the town and whom they heard, and clients that probe and download.

use super::{PATIENCE, Town, until_within};
use guestright_netns::World;
use rustix::net::{AddressFamily, SocketType, ipproto, socket};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long a probe waits for an answer. Many are sent where nobody is to answer, so it cannot be [`PATIENCE`].
const PROBE_PATIENCE: Duration = Duration::from_secs(3);

/// Who reached a service, and with which bytes.
type Visit = (IpAddr, Vec<u8>);

/// Everybody who reached a service.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessLog {
    visits: Arc<Mutex<Vec<Visit>>>,
    cut: Arc<AtomicU32>,
}

impl AccessLog {
    pub(crate) fn add(&self, from: SocketAddr, bytes: &[u8]) {
        self.visits.lock().unwrap().push((from.ip().to_canonical(), bytes.to_vec()));
    }

    pub(crate) fn all(&self) -> Vec<Visit> {
        self.visits.lock().unwrap().clone()
    }

    /// How many connections were ended from outside.
    pub(crate) fn cut(&self) -> u32 {
        self.cut.load(Ordering::Acquire)
    }

    pub(crate) fn clear(&self) {
        self.visits.lock().unwrap().clear();
    }
}

/// How a probe goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Tcp,
    Udp,
    Ping,
}

impl Town {
    /// Serves TCP connections on a host: says hello, and sends as many bytes as the line asks for.
    pub(crate) fn serve_tcp(&self, host: &str, address: &str, access_log: &AccessLog) {
        serve_tcp(&self.world, host, address, access_log);
    }

    /// Answers every datagram on a host with itself.
    pub(crate) fn serve_udp(&self, host: &str, address: &str, access_log: &AccessLog) {
        let socket = self.world.within(host, || UdpSocket::bind(address)).unwrap().unwrap();
        let access_log = access_log.clone();
        thread::spawn(move || {
            let mut buffer = [0; 2_000];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                access_log.add(from, &buffer[..length]);
                let _ = socket.send_to(&buffer[..length], from);
            }
        });
    }

    /// Downloads from the Internet.
    pub(crate) fn download(&self, host: &str, bytes: usize) -> std::io::Result<usize> {
        self.world.within(host, || download(bytes, PATIENCE)).unwrap()
    }

    /// The same, given up when nothing comes for so long.
    pub(crate) fn download_within(
        &self,
        host: &str,
        bytes: usize,
        patience: Duration,
    ) -> std::io::Result<usize> {
        self.world.within(host, || download(bytes, patience)).unwrap()
    }

    /// Whether a host can open a connection to the Internet.
    pub(crate) fn is_online(&self, host: &str) -> bool {
        self.world.within(host, || download(1, PROBE_PATIENCE).is_ok()).unwrap()
    }

    /// Tries all of these at once from a host; returns which were answered.
    pub(crate) fn probe(&self, host: &str, probes: &[(Way, SocketAddr)]) -> Vec<(Way, SocketAddr)> {
        let answered = self.world.within(host, || {
            thread::scope(|scope| {
                let running: Vec<_> =
                    probes.iter().map(|&(way, to)| scope.spawn(move || is_answered(way, to))).collect();
                running.into_iter().map(|probe| probe.join().unwrap()).collect::<Vec<_>>()
            })
        });
        let answered = answered.unwrap();
        probes.iter().zip(answered).filter(|(_, answered)| *answered).map(|(probe, _)| *probe).collect()
    }

    /// Waits until each of these was answered: a probe that a crowded computer answers too late is tried again.
    pub(crate) fn until_all_answered(&self, host: &str, probes: &[(Way, SocketAddr)], when: &str) {
        let mut left = probes.to_vec();
        until_within(2 * PATIENCE, &format!("{host}'s probes, {when}"), || {
            let answered = self.probe(host, &left);
            left.retain(|probe| !answered.contains(probe));
            left.is_empty()
        });
    }

    /// The number by which a host's link-local addresses name an interface.
    pub(crate) fn scope_id(&self, host: &str, interface: &str) -> u32 {
        let text = self.world.run(host, "ip", &["-o", "link", "show", "dev", interface]).unwrap();
        text.split(':').next().unwrap().trim().parse().unwrap()
    }

    /// The link-local address of a host's interface.
    pub(crate) fn link_local(&self, host: &str, interface: &str) -> std::net::Ipv6Addr {
        let arguments = ["-o", "-6", "address", "show", "dev", interface, "scope", "link"];
        let text = self.world.run(host, "ip", &arguments).unwrap();
        let address = text.split_whitespace().nth(3).unwrap();
        address.split('/').next().unwrap().parse().unwrap()
    }
}

/// Serves TCP connections on a host of any world: says hello, and sends as many bytes as the line asks for.
pub(crate) fn serve_tcp(world: &World, host: &str, address: &str, access_log: &AccessLog) {
    let listener = world.within(host, || TcpListener::bind(address)).unwrap().unwrap();
    let access_log = access_log.clone();
    thread::spawn(move || {
        while let Ok((stream, from)) = listener.accept() {
            access_log.add(from, b"");
            let cut = access_log.cut.clone();
            thread::spawn(move || {
                if send_what_is_asked_for(stream).is_err() {
                    cut.fetch_add(1, Ordering::AcqRel);
                }
            });
        }
    });
}

/// Downloads from the Internet as much as comes before nothing comes for so long.
pub(crate) fn download_some(bytes: usize, patience: Duration) -> usize {
    // Whoever was granted service a moment ago may have to wait for the gate.
    let deadline = Instant::now() + patience;
    let mut stream = loop {
        match begin_download(bytes, patience) {
            Ok(stream) => break stream,
            Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(50)),
            Err(_) => return 0,
        }
    };
    let (mut came, mut buffer) = (0, vec![0; 65_536]);
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        came += length;
    }
    came
}

/// # Errors
/// The client was cut off: before it had asked, while it was sent something, or before all of that was there.
fn send_what_is_asked_for(mut stream: TcpStream) -> std::io::Result<()> {
    let is_cut = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
    let mut asked = [0; 8];
    stream.set_read_timeout(Some(PATIENCE))?;
    match stream.read_exact(&mut asked) {
        Err(error) if is_cut(&error) => return Err(error),
        Err(_asked_for_nothing) => return Ok(()),
        Ok(()) => {}
    }
    let count = usize::try_from(u64::from_be_bytes(asked)).unwrap_or(usize::MAX).min(100_000_000);
    stream.write_all(&vec![7; count])?;
    // What was written may wait in the kernel still, which says nothing of it to who has closed.
    stream.shutdown(Shutdown::Write)?;
    stream.read(&mut asked).map(drop).or_else(|error| if is_cut(&error) { Err(error) } else { Ok(()) })
}

/// Connects to the Internet's web server and asks for so many bytes, of which it sends a hundred million at most.
pub(crate) fn begin_download(bytes: usize, patience: Duration) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&super::WEB.parse().unwrap(), patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(&(bytes as u64).to_be_bytes())?;
    Ok(stream)
}

fn download(bytes: usize, patience: Duration) -> std::io::Result<usize> {
    let mut stream = begin_download(bytes, patience)?;
    let mut got = Vec::new();
    stream.read_to_end(&mut got)?;
    if got.len() == bytes { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

fn is_answered(way: Way, to: SocketAddr) -> bool {
    match way {
        Way::Tcp => TcpStream::connect_timeout(&to, PROBE_PATIENCE).is_ok(),
        Way::Udp => {
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let client = UdpSocket::bind(any).unwrap();
            client.set_read_timeout(Some(PROBE_PATIENCE)).unwrap();
            client.send_to(b"probe", to).is_ok() && client.recv_from(&mut [0; 100]).is_ok()
        }
        Way::Ping => ping(to),
    }
}

/// Sends an echo request and waits for its reply.
///
/// RFC 792 (type 8, reply 0) and RFC 4443 section 4.1 (type 128, reply 129, its checksum made by the kernel).
fn ping(to: SocketAddr) -> bool {
    const TAG: &[u8] = b"guestright ping";
    let family = if to.is_ipv4() {
        (AddressFamily::INET, ipproto::ICMP)
    } else {
        (AddressFamily::INET6, ipproto::ICMPV6)
    };
    let raw = socket(family.0, SocketType::RAW, Some(family.1)).unwrap();
    let socket = UdpSocket::from(raw); // The same calls; the port means nothing.
    let (request, reply) = if to.is_ipv4() { (8, 0) } else { (128, 129) };
    let tag = [TAG, to.to_string().as_bytes()].concat();
    let mut packet = [&[request, 0, 0, 0, 0x67, 0x72, 0, 1], tag.as_slice()].concat();
    let sum = checksum(&packet).to_be_bytes();
    packet[2..4].copy_from_slice(&sum);
    let mut target = to;
    target.set_port(0);
    if socket.send_to(&packet, target).is_err() {
        return false;
    }
    let deadline = Instant::now() + PROBE_PATIENCE;
    let mut buffer = [0; 2_000];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || socket.set_read_timeout(Some(left)).is_err() {
            return false;
        }
        let Ok((length, _)) = socket.recv_from(&mut buffer) else { return false };
        // A raw IPv4 socket shows the IPv4 header, of 20 bytes without options.
        let message = &buffer[if to.is_ipv4() { 20 } else { 0 }..length];
        if message.first() == Some(&reply) && message.ends_with(&tag) {
            return true;
        }
    }
}

/// RFC 1071: the ones' complement of the ones' complement sum of 16-bit words.
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}
