//! The splash page, beside the loop: connections with limits, each for one request.
//!
//! Whoever has no grant can open connections here, so they are few, short and slow: a station has so many at a time, all
//! together have so many, and so many requests a second are answered. What the page says of a guest, and a trial that it
//! asks for, is the loop's business, which is asked over a queue with a limit and never waits for a connection.

mod guests;
#[cfg(feature = "phones")]
pub(in crate::access_point) mod secured;
mod terms;

use super::inbox::{Pace, Turns};
use crate::listen::{self, Acceptor};
use guestright_error::{OrFail as _, RunError};
use guestright_firewall as firewall;
use guestright_roaming::access_point::Address;
use guestright_roaming::trials::TrialConfig;
use guestright_splash::{Action, Answer, Guest, Language, Received, Secured, Splash, Transport};
use portable_atomic::AtomicU64;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

pub use terms::read_terms;

pub(super) use guests::{
    Guests, change_page, drain_trials, handle_page, handle_trial_answer, open_session, session_is_over,
    trial_closed,
};

/// Where the page is served, unless the household says otherwise: beside the protocol's ports.
pub const SPLASH_PORT: u16 = 7_280;
pub const SECURED_PORT: u16 = 7_281;
/// Connections at a time: in all, and of one station. A browser opens six.
const CONNECTIONS_MAX: usize = 96;
const CONNECTIONS_EACH_MAX: usize = 8;
/// How long a request may take to arrive, and a connection all in all.
const REQUEST_MAX: Duration = Duration::from_secs(5);
const CONNECTION_MAX: Duration = Duration::from_secs(15);
/// How long the loop has for an answer: it waits for a home and the firewall when a trial begins.
const LOOP_MAX: Duration = Duration::from_secs(6);
/// After the response, so much is read and thrown away and for so long: to close with something unread would take back what
/// is on its way.
const REST_BYTES_MAX: usize = 16_384;
const REST_MAX: Duration = Duration::from_secs(2);
/// Requests of all stations together. Parsing and writing a page take a tenth of a millisecond, so this is a hundredth of a
/// core, or a tenth of one for a router's that is ten times as slow.
const REQUESTS: Pace = Pace { per_second: 100, burst: 100 };
/// How many questions may wait for the loop.
pub(super) const QUESTIONS_MAX: usize = 64;

/// What the household has set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The page's TCP port, at the access point's address.
    pub port: u16,
    /// What the household says of itself.
    pub texts: Texts,
    /// What strangers may try.
    pub trial: TrialConfig,
    /// The same page and the API of RFC 8908 under a name with a certificate.
    pub certificate: Option<CertificateFiles>,
    #[cfg(not(feature = "splash"))]
    pub absent: crate::absent::Absent,
}

#[derive(Clone, Debug)]
pub struct Texts {
    pub household: String,
    pub contact: Option<String>,
    pub terms: Option<String>,
    /// All of them, for the page of terms; nothing: the usual ones.
    pub terms_text: Option<String>,
    /// What guests are told there of how long their addresses are kept.
    pub addresses_kept: Option<super::retention::Keep>,
    pub member_page: Option<String>,
    pub languages: Vec<Language>,
}

/// A certificate that phones trust, in files that somebody else renews.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    pub name: String,
    pub port: u16,
    /// PEM: the certificate and its chain, and its key.
    pub chain: PathBuf,
    pub key: PathBuf,
}

impl Settings {
    /// The page as a machine.
    ///
    /// # Errors
    /// A text that cannot be shown, or does not fit.
    pub fn machine(&self, address: Ipv4Addr) -> Result<Splash, RunError> {
        let Texts { household, contact, terms, terms_text, addresses_kept, member_page, languages } =
            self.texts.clone();
        let secured = self.certificate.as_ref();
        let settings = guestright_splash::Settings {
            household,
            contact,
            terms,
            terms_text,
            addresses_kept_hours: addresses_kept.map(super::retention::Keep::hours),
            member_page,
            languages,
            address: (address, self.port).into(),
            secured: secured.map(|it| Secured { name: it.name.clone(), port: it.port }),
        };
        Splash::new(settings).map_err(|error| RunError::config(format!("[splash] {error}")))
    }

    /// Where it is served.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        [Some(self.port), self.certificate.as_ref().map(|it| it.port)].into_iter().flatten()
    }

    /// What the firewall is told.
    pub(super) fn page(&self) -> firewall::Page {
        firewall::Page { port: self.port, secured_port: self.certificate.as_ref().map(|it| it.port) }
    }
}

/// What a connection asks the loop.
#[derive(Debug)]
pub(super) enum Question {
    /// How a guest stands.
    Guest(Address, oneshot::Sender<Guest>),
    /// Its trial is to begin. Answered when it has begun or is refused.
    StartTrial(Address, oneshot::Sender<()>),
}

/// The page while it is served. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Page {
    splash: watch::Sender<Arc<Splash>>,
    shared: Arc<Shared>,
    tasks: Vec<AbortHandle>,
    address: SocketAddrV4,
    #[cfg(feature = "phones")]
    certificate: Option<secured::Certificate>,
    #[cfg(not(feature = "splash"))]
    _absent: crate::absent::Absent,
}

#[derive(Debug)]
struct Shared {
    interface: String,
    connections: Mutex<Connections>,
    turns: Turns,
    questions: mpsc::Sender<Question>,
    answered: AtomicU64,
    /// Connections that were not taken, or gave way to others.
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Connections {
    next: u64,
    open: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    station: [u8; 6],
    task: Option<AbortHandle>,
    /// Whether its request is there.
    is_whole: bool,
}

impl Page {
    /// Listens at the access point's address.
    ///
    /// # Errors
    /// The port is taken, or a text cannot be shown.
    pub(super) fn open(
        settings: &Settings,
        address: Ipv4Addr,
        interface: &str,
        questions: mpsc::Sender<Question>,
    ) -> Result<Self, RunError> {
        let (splash, _) = watch::channel(Arc::new(settings.machine(address)?));
        let shared = Arc::new(Shared {
            interface: interface.to_owned(),
            connections: Mutex::default(),
            turns: Turns::new(REQUESTS),
            questions,
            answered: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let ip = address;
        let address = SocketAddrV4::new(ip, settings.port);
        let mut page = Self {
            splash,
            shared,
            tasks: Vec::new(),
            address,
            #[cfg(feature = "phones")]
            certificate: None,
            #[cfg(not(feature = "splash"))]
            _absent: settings.absent,
        };
        page.listen(address.into(), Security::Plain)?;
        if let Some(files) = &settings.certificate {
            page.listen_secured((ip, files.port).into(), files)?;
        }
        Ok(page)
    }

    fn listen(&mut self, address: SocketAddr, security: Security) -> Result<(), RunError> {
        let listener = listen::beside_others(address)
            .or_network(|| format!("listen at {address} for the splash page"))?;
        let (acceptor, shared, splash) =
            (Acceptor::new(listener), Arc::clone(&self.shared), self.splash.subscribe());
        let task = tokio::spawn(async move {
            loop {
                let (stream, from) = acceptor.accept().await;
                let splash = Arc::clone(&splash.borrow());
                shared.admit(stream, from, splash, security.clone());
            }
        });
        self.tasks.push(task.abort_handle());
        Ok(())
    }

    #[cfg(feature = "phones")]
    fn listen_secured(&mut self, address: SocketAddr, files: &CertificateFiles) -> Result<(), RunError> {
        let certificate = secured::Certificate::read(files.clone())?;
        self.certificate = Some(certificate.clone());
        self.listen(address, Security::Secured(certificate))
    }

    #[cfg(not(feature = "phones"))]
    fn listen_secured(&mut self, _: SocketAddr, _: &CertificateFiles) -> Result<(), RunError> {
        Err(RunError::config("[splash] this program is built without TLS: leave certificate out"))
    }

    /// From now on the page says this, under the certificate that is in its files now.
    pub(super) fn change(&self, splash: Splash) {
        self.splash.send_replace(Arc::new(splash));
        #[cfg(feature = "phones")]
        self.certificate.iter().for_each(secured::Certificate::read_again);
    }

    /// The access point's.
    pub(super) fn address(&self) -> Ipv4Addr {
        *self.address.ip()
    }

    pub(super) fn status(&self) -> Value {
        let connections = self.shared.connections().open.len();
        json!({
            "port": self.address.port(),
            "connections": connections,
            "answered": self.shared.answered.load(Ordering::Relaxed),
            "refused": self.shared.refused.load(Ordering::Relaxed),
        })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
        let connections = std::mem::take(&mut self.shared.connections().open);
        connections.values().filter_map(|it| it.task.as_ref()).for_each(AbortHandle::abort);
    }
}

/// How a connection is protected.
#[derive(Clone, Debug)]
enum Security {
    Plain,
    #[cfg(feature = "phones")]
    Secured(secured::Certificate),
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a connection, unless its station has enough. When there are as many as may be, the oldest one whose request is
    /// not there yet gives way.
    fn admit(self: &Arc<Self>, stream: TcpStream, from: SocketAddr, splash: Arc<Splash>, security: Security) {
        let IpAddr::V4(ip) = from.ip() else { return };
        let Ok(Some(mac)) = firewall::neighbour(ip, &self.interface) else { return };
        let mac = mac.bytes();
        let mut connections = self.connections();
        if !connections.make_room(mac) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let number = connections.next;
        connections.next += 1;
        connections.open.insert(number, Connection { station: mac, task: None, is_whole: false });
        let shared = Arc::clone(self);
        let task = tokio::spawn(async move {
            let address = Address::new(mac, ip);
            let served = serve(&shared, number, stream, address, &splash, security);
            if tokio::time::timeout(CONNECTION_MAX, served).await.is_err() {
                tracing::trace!("a connection to the splash page took too long");
            }
            shared.connections().open.remove(&number);
        });
        if let Some(connection) = connections.open.get_mut(&number) {
            connection.task = Some(task.abort_handle());
        }
    }

    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Question) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        let asking = async {
            self.questions.send(question(reply)).await.ok()?;
            answer.await.ok()
        };
        tokio::time::timeout(LOOP_MAX, asking).await.ok()?
    }
}

impl Connections {
    fn make_room(&mut self, station: [u8; 6]) -> bool {
        let of_station = self.open.values().filter(|it| it.station == station).count();
        if of_station >= CONNECTIONS_EACH_MAX {
            return false;
        }
        if self.open.len() < CONNECTIONS_MAX {
            return true;
        }
        let oldest = self.open.iter().find(|(_, it)| !it.is_whole).map(|(number, _)| *number);
        let Some(given_up) = oldest.and_then(|number| self.open.remove(&number)) else { return false };
        given_up.task.iter().for_each(AbortHandle::abort);
        true
    }
}

async fn serve(
    shared: &Shared,
    number: u64,
    stream: TcpStream,
    address: Address,
    splash: &Splash,
    security: Security,
) {
    match security {
        Security::Plain => serve_one(shared, number, stream, address, splash, Transport::Plain).await,
        #[cfg(feature = "phones")]
        Security::Secured(certificate) => {
            // A handshake costs more than a page.
            shared.turns.wait().await;
            let accepted = tokio::time::timeout(REQUEST_MAX, certificate.accept(stream)).await;
            if let Ok(Ok(stream)) = accepted {
                serve_one(shared, number, stream, address, splash, Transport::Secured).await;
            }
        }
    }
}

/// Reads one request, answers it, and closes.
async fn serve_one(
    shared: &Shared,
    number: u64,
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    address: Address,
    splash: &Splash,
    transport: Transport,
) {
    let Ok(Some(request)) = tokio::time::timeout(REQUEST_MAX, read_request(&mut stream)).await else {
        return;
    };
    if let Some(connection) = shared.connections().open.get_mut(&number) {
        connection.is_whole = true;
    }
    shared.turns.wait().await;
    let Some(guest) = shared.ask(|reply| Question::Guest(address, reply)).await else { return };
    let Received::Whole(Answer { response, action }) = splash.handle_request(&request, transport, &guest)
    else {
        return;
    };
    if action == Some(Action::StartTrial) {
        // Whether it has begun is what the next page says.
        let _ = shared.ask(|reply| Question::StartTrial(address, reply)).await;
    }
    shared.answered.fetch_add(1, Ordering::Relaxed);
    if stream.write_all(&response).await.is_ok() && stream.shutdown().await.is_ok() {
        let _ = tokio::time::timeout(REST_MAX, discard(&mut stream)).await;
    }
}

/// The bytes of one whole request, or of what is none; nothing if its sender has gone before.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    let mut buffer = [0; 2_048];
    loop {
        let length = stream.read(&mut buffer).await.ok().filter(|length| *length > 0)?;
        request.extend_from_slice(&buffer[..length]);
        // The machine refuses what becomes too long.
        if Splash::is_whole(&request) {
            return Some(request);
        }
    }
}

async fn discard(stream: &mut (impl AsyncRead + Unpin)) {
    let mut buffer = [0; 2_048];
    let mut rest = 0;
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        rest += length;
        if rest > REST_BYTES_MAX {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Connections {
        fn add(&mut self, station: u8, is_whole: bool) -> bool {
            let station = [2, 0, 0, 0, 0, station];
            let has_room = self.make_room(station);
            if has_room {
                self.open.insert(self.next, Connection { station, task: None, is_whole });
                self.next += 1;
            }
            has_room
        }
    }

    #[test]
    fn a_station_has_few_and_the_oldest_without_a_request_gives_way() {
        let mut connections = Connections::default();
        assert!((0..CONNECTIONS_EACH_MAX).all(|_| connections.add(0, false)));
        assert!(!connections.add(0, false), "it has enough");
        let others = CONNECTIONS_MAX / CONNECTIONS_EACH_MAX;
        for station in 1..others {
            let station = u8::try_from(station).unwrap();
            assert!((0..CONNECTIONS_EACH_MAX).all(|_| connections.add(station, true)));
        }
        assert_eq!(connections.open.len(), CONNECTIONS_MAX);
        for gone in 0..CONNECTIONS_EACH_MAX {
            assert!(connections.add(200, true));
            assert!(!connections.open.contains_key(&(gone as u64)), "the oldest that has said nothing");
        }
        assert!(!connections.add(201, true), "nobody who has asked gives way");
        assert_eq!(connections.open.len(), CONNECTIONS_MAX);
    }
}
