//! The end that others measure the way to.

use super::leg::Way;
use super::protocol::{Answer, Ask, CarrierName, Leg, PATIENCE, Talk, VERSION};
use crate::error::{BenchError, Doing};
use guestright_emulator::tcp;
use rand::Rng;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The first line of a connection has to come within this.
const FIRST_LINE: Duration = Duration::from_secs(2);
/// A caller measures no longer than this, and then others may.
const SESSION_MAX: Duration = Duration::from_secs(1_800);

/// Whom it listens to, and how often.
#[derive(Clone, Copy, Debug)]
pub struct ListenerConfig {
    pub bind: SocketAddr,
    pub from: Option<IpAddr>,
    pub runs: Option<u32>,
}

/// A connection that carries voice, with its token.
type Joined = (u64, TcpStream);

/// What a listener does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerEvent {
    /// It waits for callers at this address, TCP and UDP.
    Listening(SocketAddr),
    /// Somebody there has begun to measure.
    Measured(IpAddr),
}

/// Lets others measure until so many have; `on_event` is called for each event, and its error ends the listener.
///
/// # Errors
/// If the address cannot be listened at, or connections cannot be accepted.
pub fn listen(
    config: &ListenerConfig,
    mut on_event: impl FnMut(ListenerEvent) -> io::Result<()>,
) -> Result<(), BenchError> {
    let listener = TcpListener::bind(config.bind)
        .map_err(|source| BenchError::Listen { address: format!("TCP {}", config.bind), source })?;
    let local = listener.local_addr().doing("read the own address")?;
    on_event(ListenerEvent::Listening(local))?;
    let (mut left, mut session) = (config.runs, None::<Session>);
    loop {
        let (stream, peer) = listener.accept().doing("accept a connection")?;
        let Some(first) = first_line(stream, peer, config.from) else { continue };
        let is_busy = session.as_ref().is_some_and(|session| !session.thread.is_finished());
        match first {
            (Ask::Join { token }, talk) => {
                if let Some(session) = session.as_ref().filter(|session| session.peer == peer.ip()) {
                    // If it waits for nobody, the connection ends here.
                    let _ = session.joined.try_send((token, talk.into_stream()));
                }
            }
            (Ask::Hello { .. }, mut talk) if is_busy => {
                let _ = talk.send(&Answer::Busy);
            }
            (Ask::Hello { version }, talk) => {
                let (joined, coming) = sync_channel(1);
                let thread = thread::spawn(move || serve(talk, version, local, peer.ip(), &coming));
                on_event(ListenerEvent::Measured(peer.ip()))?;
                if left == Some(1) {
                    return last(&listener, thread, &joined, (peer.ip(), config.from));
                }
                left = left.map(|runs| runs - 1);
                session = Some(Session { peer: peer.ip(), joined, thread });
            }
            (Ask::Ping | Ask::Try(_) | Ask::Begin { .. }, _) => {}
        }
    }
}

struct Session {
    peer: IpAddr,
    joined: SyncSender<Joined>,
    thread: thread::JoinHandle<()>,
}

/// Carries on until the last session is over: only its own connections are taken.
fn last(
    listener: &TcpListener,
    thread: thread::JoinHandle<()>,
    joined: &SyncSender<Joined>,
    (peer, from): (IpAddr, Option<IpAddr>),
) -> Result<(), BenchError> {
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let own = listener.local_addr().doing("read the own address")?;
        scope.spawn(move || {
            let _ = thread.join();
            // Before the connection: whoever accepts that has to know.
            is_over.store(true, Ordering::Release);
            // Somebody has to come for `accept` to return.
            let _ = TcpStream::connect_timeout(&reachable(own), FIRST_LINE);
        });
        while !is_over.load(Ordering::Acquire) {
            let (stream, other) = listener.accept().doing("accept a connection")?;
            match first_line(stream, other, from) {
                Some((Ask::Join { token }, talk)) if other.ip() == peer => {
                    let _ = joined.try_send((token, talk.into_stream()));
                }
                Some((_, mut talk)) => {
                    let _ = talk.send(&Answer::Busy);
                }
                // The waker says nothing.
                None => {}
            }
        }
        Ok(())
    })
}

/// An address of this computer for a listener's.
fn reachable(own: SocketAddr) -> SocketAddr {
    let ip = match own.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        IpAddr::V4(_) | IpAddr::V6(_) => own.ip(),
    };
    SocketAddr::new(ip, own.port())
}

/// What a connection is for; nothing if it may not, or says something else, or nothing.
fn first_line(stream: TcpStream, peer: SocketAddr, from: Option<IpAddr>) -> Option<(Ask, Talk)> {
    if from.is_some_and(|from| from != peer.ip().to_canonical()) {
        tracing::debug!(%peer, "may not measure");
        return None;
    }
    let mut talk = Talk::new(stream).ok()?;
    let first = talk.first(FIRST_LINE);
    first
        .inspect_err(|error| tracing::debug!(%peer, %error, "a connection said nothing that is known"))
        .ok()
        .map(|ask| (ask, talk))
}

/// Leads one measurement to its end.
fn serve(talk: Talk, version: u32, own: SocketAddr, peer: IpAddr, joined: &Receiver<Joined>) {
    if let Err(error) = lead(talk, version, own, peer, joined) {
        tracing::debug!(%peer, %error, "a measurement has ended");
    }
}

fn lead(
    mut talk: Talk,
    version: u32,
    own: SocketAddr,
    peer: IpAddr,
    joined: &Receiver<Joined>,
) -> io::Result<()> {
    let clock = Instant::now();
    let congestion = tcp::offered().unwrap_or_default();
    talk.send(&Answer::Welcome { version: VERSION, congestion })?;
    if version != VERSION {
        return Ok(());
    }
    while clock.elapsed() < SESSION_MAX {
        match talk.hear(Duration::ZERO)? {
            Ask::Ping => talk.send(&Answer::Pong)?,
            Ask::Try(leg) if !leg.is_modest() => {
                talk.send(&Answer::Refused { why: "that is more than a call".to_owned() })?;
            }
            Ask::Try(leg) => one(&mut talk, &leg, (own, peer), joined, clock)?,
            // Out of turn: the caller waits for something else, and gives up.
            Ask::Hello { .. } | Ask::Join { .. } | Ask::Begin { .. } => {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }
    Ok(())
}

fn one(
    talk: &mut Talk,
    leg: &Leg,
    (own, peer): (SocketAddr, IpAddr),
    joined: &Receiver<Joined>,
    clock: Instant,
) -> io::Result<()> {
    let token = rand::rng().next_u64();
    let way = match open(talk, leg, (own, peer), joined, (token, clock)) {
        Ok(way) => way,
        Err(why) => return talk.send(&Answer::Refused { why }),
    };
    talk.send(&Answer::Open { key: way.key() })?;
    let key = match talk.hear(Duration::ZERO)? {
        Ask::Begin { key } => key,
        Ask::Hello { .. } | Ask::Join { .. } | Ask::Ping | Ask::Try(_) => {
            return Err(io::ErrorKind::InvalidData.into());
        }
    };
    talk.send(&Answer::Begun)?;
    match way.run(leg, leg.back, clock, key.as_deref()) {
        Ok(report) => talk.send(&Answer::Report(report)),
        Err(why) => talk.send(&Answer::Refused { why }),
    }
}

/// The way for voice: says that it is ready, and waits for the caller to come. Or why it did not.
fn open(
    talk: &mut Talk,
    leg: &Leg,
    (own, peer): (SocketAddr, IpAddr),
    joined: &Receiver<Joined>,
    (token, clock): (u64, Instant),
) -> Result<Way, String> {
    let words = |error: io::Error| error.to_string();
    match leg.carrier {
        CarrierName::Udp | CarrierName::QuicDatagrams | CarrierName::QuicStream => {
            let socket = UdpSocket::bind(own).map_err(words)?;
            talk.send(&Answer::Ready { token }).map_err(words)?;
            let from = greeted(&socket, peer, token).map_err(words)?;
            Way::datagrams(leg, (socket, from), leg.back, clock)
        }
        CarrierName::Tcp => {
            // Of an earlier leg that nobody waits for any more.
            while joined.try_recv().is_ok() {}
            talk.send(&Answer::Ready { token }).map_err(words)?;
            let (theirs, stream) =
                joined.recv_timeout(PATIENCE).map_err(|_| "no connection came".to_owned())?;
            if theirs != token {
                return Err("a connection came with another token".to_owned());
            }
            Way::stream(leg, stream)
        }
    }
}

/// Waits for a datagram with the token: where the caller is.
fn greeted(socket: &UdpSocket, peer: IpAddr, token: u64) -> io::Result<SocketAddr> {
    let until = Instant::now() + PATIENCE / 2;
    let mut buffer = [0; 64];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no datagram came"));
        }
        socket.set_read_timeout(Some(left))?;
        match socket.recv_from(&mut buffer) {
            Ok((8, from)) if from.ip() == peer && buffer[..8] == token.to_be_bytes() => {
                return Ok(from);
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
}
