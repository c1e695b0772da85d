//! Connections with limits, each for many packets in both directions.
//!
//! Who connects is a stranger until the handshake is over, and anybody in the household's network can begin one. So strangers are
//! few, of one address fewer, quick, and have a pace; they never displace whoever has shown a certificate.

use super::Settings;
use crate::access_point::inbox::{Pace, Turns};
use crate::access_point::splash::secured;
use crate::listen::Acceptor;
use guestright_error::{OrFail as _, RunError};
use guestright_radius::PACKET_BYTES_MAX;
use rustls::pki_types::CertificateDer;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};
use socket2::{SockRef, TcpKeepalive};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;

/// Whoever has shown a certificate: a household has a few radios, or one controller.
const CONNECTIONS_MAX: usize = 16;
/// Strangers: in all, and of one address.
const STRANGERS_MAX: usize = 16;
const STRANGERS_EACH_MAX: usize = 4;
/// How long a handshake may take, with the wait for its turn.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
/// Handshakes of all strangers together. One takes a fifth of a millisecond, so this is a hundredth of a core.
const HANDSHAKES: Pace = Pace { per_second: 50, burst: 50 };
/// How long a packet may take that has begun, in either direction.
const PACKET_MAX: Duration = Duration::from_secs(10);
/// A packet has at least its header (RFC 2865, section 3).
const PACKET_BYTES_MIN: usize = 20;
/// Answers that wait for one connection. More mean that nobody reads them.
const ANSWERS_MAX: usize = 64;
/// After so long a silence the kernel asks whether there is still somebody, so often and so many times.
const SILENCE: Duration = Duration::from_secs(60);
const PROBES: (Duration, u32) = (Duration::from_secs(15), 4);
const BACKLOG: u32 = 64;

/// While it is there connections are taken.
#[derive(Debug)]
pub(in crate::access_point) struct Door {
    settings: Settings,
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    tls: Mutex<Arc<ServerConfig>>,
    connections: Mutex<Connections>,
    turns: Turns,
    deliver: Box<dyn Fn(SocketAddr, Vec<u8>) + Send + Sync>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("connections", &self.connections).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Connections {
    next: u64,
    open: BTreeMap<u64, Connection>,
    /// Not taken, or ended by us.
    refused: u64,
    last_refusal: Option<String>,
}

#[derive(Debug)]
struct Connection {
    from: SocketAddr,
    task: Option<AbortHandle>,
    /// Once it has shown a certificate.
    answers: Option<mpsc::Sender<Vec<u8>>>,
    /// When it last sent a packet.
    last: Instant,
}

impl Door {
    /// Listens. What arrives is handed to `deliver`, which does not wait.
    ///
    /// # Errors
    /// The address cannot be had, or the files cannot be used.
    pub(in crate::access_point) fn open(
        settings: &Settings,
        deliver: impl Fn(SocketAddr, Vec<u8>) + Send + Sync + 'static,
    ) -> Result<Self, RunError> {
        settings.check()?;
        let shared = Arc::new(Shared {
            tls: Mutex::new(config(settings)?),
            connections: Mutex::default(),
            turns: Turns::new(HANDSHAKES),
            deliver: Box::new(deliver),
        });
        let acceptor = Acceptor::new(listen(settings.address)?);
        let taking = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            loop {
                let (stream, from) = acceptor.accept().await;
                taking.admit(stream, from);
            }
        });
        Ok(Self { settings: settings.clone(), shared, task: task.abort_handle() })
    }

    /// Whether there is somebody to send it to.
    pub(in crate::access_point) fn send(&self, to: SocketAddr, bytes: Vec<u8>) -> bool {
        let mut connections = self.shared.connections();
        let Some(number) = connections.proven_at(to) else { return false };
        let answers = connections.open.get(&number).and_then(|connection| connection.answers.as_ref());
        if answers.is_some_and(|answers| answers.try_send(bytes).is_ok()) {
            return true;
        }
        connections.end(number, "it does not read what it is answered");
        false
    }

    /// Ends a connection whose packets are no RADIUS, or changed on the way: nothing that follows could be believed
    /// (RFC 6613, section 2.6.4).
    pub(in crate::access_point) fn close(&self, from: SocketAddr, why: &str) {
        let mut connections = self.shared.connections();
        if let Some(number) = connections.proven_at(from) {
            connections.end(number, why);
        }
    }

    /// The files may have been renewed; what cannot be read leaves everything as it is.
    pub(in crate::access_point) fn read_again(&self) {
        match config(&self.settings) {
            Ok(config) => *self.shared.tls.lock().unwrap_or_else(PoisonError::into_inner) = config,
            Err(error) => tracing::error!(%error, "RadSec keeps the certificates that it has"),
        }
    }

    /// For people and for programs.
    pub(in crate::access_point) fn status(&self) -> Value {
        let connections = self.shared.connections();
        let proven: Vec<_> = connections.open.values().filter(|it| it.answers.is_some()).collect();
        json!({
            "address": self.settings.address.to_string(),
            "connections": proven.iter().map(|it| it.from.to_string()).collect::<Vec<_>>(),
            "handshakes": connections.open.len() - proven.len(),
            "refused": connections.refused,
            "last_refusal": connections.last_refusal,
        })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
        let open = std::mem::take(&mut self.shared.connections().open);
        open.values().filter_map(|it| it.task.as_ref()).for_each(AbortHandle::abort);
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, RunError> {
    let bind = || {
        let socket = match address {
            SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4(),
            SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6(),
        }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    bind().or_network(|| format!("await RadSec at {address}"))
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(self: &Arc<Self>, stream: TcpStream, from: SocketAddr) {
        let mut connections = self.connections();
        let Some(number) = connections.admit(from) else { return };
        let shared = Arc::clone(self);
        let task = tokio::spawn(async move {
            let ended = shared.serve(number, stream).await;
            shared.connections().end(number, ended.err().as_deref().unwrap_or_default());
        });
        if let Some(connection) = connections.open.get_mut(&number) {
            connection.task = Some(task.abort_handle());
        }
    }

    /// Carries packets until one side has enough; an error is why we have.
    async fn serve(&self, number: u64, stream: TcpStream) -> Result<(), String> {
        let (interval, retries) = PROBES;
        let keepalive = TcpKeepalive::new().with_time(SILENCE).with_interval(interval).with_retries(retries);
        let set =
            SockRef::from(&stream).set_tcp_keepalive(&keepalive).and_then(|()| stream.set_nodelay(true));
        set.map_err(|error| error.to_string())?;
        let handshake = async {
            self.turns.wait().await;
            let tls = Arc::clone(&self.tls.lock().unwrap_or_else(PoisonError::into_inner));
            TlsAcceptor::from(tls).accept(stream).await
        };
        let stream = match timeout(HANDSHAKE_MAX, handshake).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err("its handshake took too long".to_owned()),
        };
        let (answers, waiting) = mpsc::channel(ANSWERS_MAX);
        let Some(from) = self.connections().prove(number, answers) else { return Ok(()) };
        tracing::debug!(%from, "a RadSec client has connected");
        let (reader, writer) = tokio::io::split(stream);
        tokio::select! {
            ended = self.read(number, from, reader) => ended,
            ended = write(waiting, writer) => ended,
        }
    }

    async fn read(
        &self,
        number: u64,
        from: SocketAddr,
        mut stream: impl AsyncRead + Unpin,
    ) -> Result<(), String> {
        while let Some(packet) = read_packet(&mut stream).await? {
            if let Some(connection) = self.connections().open.get_mut(&number) {
                connection.last = Instant::now();
            }
            (self.deliver)(from, packet);
        }
        Ok(())
    }
}

/// The next packet, or nothing when the other side has closed.
async fn read_packet(stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<Vec<u8>>, String> {
    let mut packet = vec![0; 4];
    // It may be silent for as long as it likes, between packets.
    match stream.read(&mut packet[..1]).await {
        Ok(0) | Err(_) => return Ok(None),
        Ok(_) => {}
    }
    let rest = async {
        stream.read_exact(&mut packet[1..]).await.map_err(|error| error.to_string())?;
        let length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        if !(PACKET_BYTES_MIN..=PACKET_BYTES_MAX).contains(&length) {
            return Err(format!("it sent a packet of {length} bytes"));
        }
        packet.resize(length, 0);
        stream.read_exact(&mut packet[4..]).await.map_err(|error| error.to_string())
    };
    match timeout(PACKET_MAX, rest).await {
        Ok(Ok(_)) => Ok(Some(packet)),
        Ok(Err(error)) => Err(error),
        Err(_) => Err("it did not end a packet that it had begun".to_owned()),
    }
}

async fn write(
    mut waiting: mpsc::Receiver<Vec<u8>>,
    mut stream: impl AsyncWrite + Unpin,
) -> Result<(), String> {
    while let Some(packet) = waiting.recv().await {
        let written = async {
            stream.write_all(&packet).await?;
            stream.flush().await
        };
        match timeout(PACKET_MAX, written).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Ok(()),
            Err(_) => return Err("it does not read what it is answered".to_owned()),
        }
    }
    Ok(())
}

impl Connections {
    /// The oldest first.
    fn strangers(&self) -> Vec<(u64, IpAddr)> {
        let strangers = self.open.iter().filter(|(_, it)| it.answers.is_none());
        strangers.map(|(number, it)| (*number, it.from.ip())).collect()
    }

    /// A number for a stranger, unless its address has enough. When there are as many as may be, the oldest gives way.
    fn admit(&mut self, from: SocketAddr) -> Option<u64> {
        let strangers = self.strangers();
        if strangers.iter().filter(|(_, ip)| *ip == from.ip()).count() >= STRANGERS_EACH_MAX {
            self.refuse(from, "too many connections from there have not shown a certificate yet");
            return None;
        }
        if let Some((oldest, _)) = strangers.first()
            && strangers.len() >= STRANGERS_MAX
        {
            self.end(*oldest, "too many others were connecting");
        }
        let number = self.next;
        self.next += 1;
        self.open.insert(number, Connection { from, task: None, answers: None, last: Instant::now() });
        Some(number)
    }

    /// It is no stranger any more. When there are as many as may be, the one that has been silent longest gives way.
    fn prove(&mut self, number: u64, answers: mpsc::Sender<Vec<u8>>) -> Option<SocketAddr> {
        if !self.open.contains_key(&number) {
            return None; // It has given way to others.
        }
        let proven = self.open.iter().filter(|(_, it)| it.answers.is_some());
        let mut proven: Vec<_> = proven.map(|(number, it)| (it.last, *number)).collect();
        proven.sort_unstable();
        if let Some((_, silent)) = proven.first()
            && proven.len() >= CONNECTIONS_MAX
        {
            self.end(*silent, "others connected, and it had been silent longest");
        }
        let connection = self.open.get_mut(&number)?;
        (connection.answers, connection.last) = (Some(answers), Instant::now());
        Some(connection.from)
    }

    fn proven_at(&self, address: SocketAddr) -> Option<u64> {
        let is_it = |it: &Connection| it.answers.is_some() && it.from == address;
        self.open.iter().find(|(_, it)| is_it(it)).map(|(number, _)| *number)
    }

    /// Ends it; `why` is empty where the other side did.
    fn end(&mut self, number: u64, why: &str) {
        let Some(connection) = self.open.remove(&number) else { return };
        if !why.is_empty() {
            self.refuse(connection.from, why);
        }
        connection.task.iter().for_each(AbortHandle::abort);
    }

    fn refuse(&mut self, from: SocketAddr, why: &str) {
        self.refused += 1;
        tracing::debug!(%from, why, "a RadSec connection was refused");
        self.last_refusal = Some(format!("{}: {why}", from.ip()));
    }
}

/// What TLS goes by: certificates on both sides, nothing resumed.
pub(super) fn config(settings: &Settings) -> Result<Arc<ServerConfig>, RunError> {
    let Settings { certificate, key, authority, .. } = settings;
    let mut roots = RootCertStore::empty();
    for root in certificates(authority)? {
        roots.add(root).or_config(|| format!("use the authority in {}", authority.display()))?;
    }
    let metadata = std::fs::metadata(key).or_config(|| format!("read {}", key.display()))?;
    if metadata.permissions().mode() & 0o007 != 0 {
        let sentence = format!("everybody may read {}", key.display());
        return Err(RunError::config(sentence).with_hint(format!("run: chmod 600 {}", key.display())));
    }
    let chain = certificates(certificate)?;
    let own_key = secured::key(key)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let verifier = verifier.or_config(|| format!("use the authority in {}", authority.display()))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_client_cert_verifier(verifier).with_single_cert(chain, own_key))
        .or_config(|| format!("use the certificate in {}", certificate.display()))?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, RunError> {
    let certificates = secured::certificates(file)?;
    if certificates.is_empty() {
        return Err(RunError::config(format!("there is no certificate in {}", file.display())));
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests;
