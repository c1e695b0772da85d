//! The page from which a phone fetches its files, at home.
//!
//! It is there only while somebody is to see it: the port is opened with the first link and closed with the last. It is at
//! one address of the household's own network, and answers nobody from elsewhere. There is one request on a connection.

use crate::interface::own_address;
use crate::listen::is_of_household;
use guestright_clock::Clock;
use guestright_error::{OrFail as _, RunError};
use guestright_profile::page::{self, Page};
use guestright_profile::{Download, Links, LinksConfig, Secret};
use guestright_units::UnixSeconds;
use rand::Rng as _;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

/// The port, beside those of access points, homes and links.
const PORT: u16 = 7276;
/// Some browsers hand a download to another program of the system, which asks again: so long, in seconds.
const REPEAT: u64 = 20;
/// Phones that are being set up at a time.
const OFFERS_MAX: usize = 16;
const CONNECTIONS_MAX: usize = 32;
/// How long a request, and its answer, may take.
const REQUEST_MAX: Duration = Duration::from_secs(10);
const HEAD_BYTES_MAX: usize = 8_192;
const HEADERS_MAX: usize = 64;
const LOOK_EVERY: Duration = Duration::from_secs(1);

const OVER: &str = "This link is over: each works once, and not for long. Ask for a new one.\n";

/// What a phone is offered.
pub(super) struct Offer {
    pub(super) team: String,
    pub(super) member: String,
    pub(super) label: String,
    pub(super) ends: UnixSeconds,
    pub(super) password: Secret,
    pub(super) files: BTreeMap<Download, Zeroizing<Vec<u8>>>,
}

/// An offer, and the links on its page: they lead back here, so they come second.
struct Shown {
    offer: Offer,
    minutes: u64,
    links: OnceLock<Vec<(Download, Zeroizing<String>)>>,
}

/// Links to pages, and from them to files.
pub(super) struct Pages {
    /// Where the household wants them.
    at: Option<SocketAddr>,
    /// How long a link works, in seconds.
    life: u64,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    clock: Clock,
    pages: Links<Arc<Shown>>,
    files: Links<(Arc<Shown>, Download)>,
    /// Where they are served now, and until when.
    serving: Option<(SocketAddr, UnixSeconds)>,
}

/// A link to a page.
pub(super) struct Link {
    pub(super) address: Zeroizing<String>,
    pub(super) minutes: u64,
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pages(at {:?})", self.at)
    }
}

impl Pages {
    pub(super) fn new(at: Option<SocketAddr>, life: u64) -> Self {
        // Whoever has opened the page may load it again; nobody else may.
        let pages = LinksConfig { links_max: OFFERS_MAX, life_seconds: life, repeat_seconds: life };
        let links_max = OFFERS_MAX * Download::ALL.len();
        let files = LinksConfig { links_max, life_seconds: life, repeat_seconds: REPEAT };
        let (pages, files) = (Links::new(pages), Links::new(files));
        let shared = Shared { clock: Clock::start(), pages, files, serving: None };
        Self { at, life, shared: Arc::new(Mutex::new(shared)) }
    }

    /// Opens the port, so that nothing is made in vain. Needs a tokio runtime.
    ///
    /// # Errors
    /// It cannot be opened at an address of the household's network.
    pub(super) fn open(&self) -> Result<(), RunError> {
        let mut shared = lock(&self.shared);
        let now = shared.clock.now().unix_seconds();
        match &mut shared.serving {
            Some((_, until)) => *until = now.plus(self.life),
            None => {
                self.listen(&mut shared, now)?;
            }
        }
        Ok(())
    }

    /// A page with a button for each file, and a link to it. Needs a tokio runtime.
    ///
    /// # Errors
    /// There are too many, or the port cannot be opened at an address of the household's network.
    pub(super) fn offer(&mut self, offer: Offer, rng: &mut StdRng) -> Result<Link, RunError> {
        let mut shared = lock(&self.shared);
        let now = shared.clock.now().unix_seconds();
        let address = match shared.serving {
            Some((address, _)) => address,
            None => self.listen(&mut shared, now)?,
        };
        let mut random = || {
            let mut bytes = [0; 32];
            rng.fill_bytes(&mut bytes);
            bytes
        };
        let minutes = self.life.div_ceil(60);
        let shown = Arc::new(Shown { offer, minutes, links: OnceLock::new() });
        let mut links = Vec::new();
        for kind in Download::ALL.into_iter().filter(|kind| shown.offer.files.contains_key(kind)) {
            let token = shared.files.add((Arc::clone(&shown), kind), random(), now);
            let token = token.map_err(RunError::user)?;
            links.push((kind, Zeroizing::new(format!("/f/{}", token.expose()))));
        }
        let _ = shown.links.set(links);
        let token = shared.pages.add(shown, random(), now).map_err(RunError::user)?;
        shared.serving = Some((address, now.plus(self.life)));
        let address = Zeroizing::new(format!("http://{address}/p/{}", token.expose()));
        Ok(Link { address, minutes })
    }

    /// Takes back what a member is offered.
    pub(super) fn remove(&mut self, member: &str) {
        let mut shared = lock(&self.shared);
        shared.pages.remove_all(|shown| shown.offer.member == member);
        shared.files.remove_all(|(shown, _)| shown.offer.member == member);
    }

    /// Where pages are served now, if they are.
    pub(super) fn serving(&self) -> Option<SocketAddr> {
        lock(&self.shared).serving.map(|(address, _)| address)
    }

    fn listen(&self, shared: &mut Shared, now: UnixSeconds) -> Result<SocketAddr, RunError> {
        let wanted = match self.at {
            Some(address) => address,
            None => SocketAddr::new(own_address()?, PORT),
        };
        check(wanted)?;
        let listen = || {
            let listener = std::net::TcpListener::bind(wanted)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok::<_, std::io::Error>((TcpListener::from_std(listener)?, address))
        };
        let (listener, address) = listen().or_network(|| format!("serve the phone's page at {wanted}"))?;
        shared.serving = Some((address, now.plus(self.life)));
        tokio::spawn(serve(listener, address, Arc::clone(&self.shared)));
        tracing::info!(%address, "the page for phones is open");
        Ok(address)
    }
}

/// Whether pages may be served there: at home, and nowhere else.
pub(super) fn check(address: SocketAddr) -> Result<(), RunError> {
    if is_of_household(address.ip().to_canonical()) {
        return Ok(());
    }
    let sentence = format!(
        "{} is no address of a household's own network, and the page is for that alone",
        address.ip()
    );
    Err(RunError::config(sentence)
        .with_hint("say in [phones] of home.toml where the page is to be: page = \"192.168.1.2:7276\""))
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until no link is left.
async fn serve(listener: TcpListener, address: SocketAddr, shared: Arc<Mutex<Shared>>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        match tokio::time::timeout(LOOK_EVERY, listener.accept()).await {
            Ok(Ok((stream, peer))) => {
                // Those from elsewhere learn nothing, not even that something is here.
                let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else { continue };
                if !is_of_household(peer.ip().to_canonical()) {
                    continue;
                }
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    let talk = talk(stream, peer.ip().to_canonical(), address, &shared);
                    let _ = tokio::time::timeout(REQUEST_MAX, talk).await;
                    drop(permit);
                });
            }
            Ok(Err(_)) => tokio::time::sleep(LOOK_EVERY).await,
            Err(_) => {}
        }
        let mut shared = lock(&shared);
        let now = shared.clock.now().unix_seconds();
        if shared.serving.is_none_or(|(_, until)| now >= until) {
            shared.serving = None;
            tracing::info!(%address, "the page for phones is closed");
            return;
        }
    }
}

async fn talk(
    mut stream: TcpStream,
    peer: IpAddr,
    address: SocketAddr,
    shared: &Mutex<Shared>,
) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(1_024);
    let response = loop {
        match parse(&bytes, address) {
            Parsed::Partial if bytes.len() >= HEAD_BYTES_MAX => {
                break Response::sentence(
                    "431 Request Header Fields Too Large",
                    "The request is too long.\n",
                );
            }
            Parsed::Partial => {
                let room = HEAD_BYTES_MAX - bytes.len();
                if (&mut stream).take(room as u64).read_buf(&mut bytes).await? == 0 {
                    return Ok(()); // It has gone.
                }
            }
            Parsed::Refused(response) => break response,
            Parsed::Get(path) => break find(&path, peer, shared),
        }
    };
    stream.write_all(&response.emit()).await?;
    stream.shutdown().await
}

enum Parsed {
    /// More has to come.
    Partial,
    Get(String),
    Refused(Response),
}

fn parse(bytes: &[u8], address: SocketAddr) -> Parsed {
    let bad = || Parsed::Refused(Response::sentence("400 Bad Request", "This is no request for a page.\n"));
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Parsed::Partial,
        Err(_) => return bad(),
    }
    if request.method != Some("GET") {
        let mut response = Response::sentence("405 Method Not Allowed", "Only GET.\n");
        response.headers.push(("Allow", "GET".to_owned()));
        return Parsed::Refused(response);
    }
    let hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    let hosts: Vec<_> = hosts.map(|header| header.value).collect();
    // A name that somebody makes point at this computer (DNS rebinding) is not what stands in the link.
    if hosts != [address.to_string().as_bytes()] {
        return Parsed::Refused(Response::sentence("421 Misdirected Request", "Follow the link as it is.\n"));
    }
    request.path.map_or_else(bad, |path| Parsed::Get(path.to_owned()))
}

/// A page or a file, if the link leads there.
fn find(path: &str, peer: IpAddr, shared: &Mutex<Shared>) -> Response {
    let mut shared = lock(shared);
    let now = shared.clock.now().unix_seconds();
    if let Some(token) = path.strip_prefix("/p/") {
        let shown = shared.pages.follow(token, peer, now).map(|shown| page_of(shown));
        return shown.unwrap_or_else(Response::over);
    }
    let file = path.strip_prefix("/f/").and_then(|token| shared.files.follow(token, peer, now));
    match file.and_then(|(shown, kind)| Some((&shown.offer, kind, shown.offer.files.get(kind)?))) {
        Some((offer, kind, bytes)) => {
            tracing::info!(member = %offer.member, ?kind, "a phone's file was fetched");
            Response { status: "200 OK", headers: kind.headers(&offer.label), body: bytes.clone() }
        }
        None => Response::over(),
    }
}

fn page_of(Shown { offer, minutes, links }: &Shown) -> Response {
    let links = links.get().map(Vec::as_slice).unwrap_or_default();
    let links: Vec<_> = links.iter().map(|(kind, link)| (*kind, link.as_str())).collect();
    let text = page::render(&Page {
        team: &offer.team,
        member: &offer.member,
        ends: offer.ends,
        minutes: *minutes,
        links: &links,
        password: Some(&offer.password),
    });
    Response { status: "200 OK", headers: page::headers(), body: Zeroizing::new(text.into_bytes()) }
}

struct Response {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Zeroizing<Vec<u8>>,
}

impl Response {
    fn sentence(status: &'static str, text: &str) -> Self {
        let headers = vec![
            ("Content-Type", "text/plain; charset=utf-8".to_owned()),
            ("Cache-Control", "no-store".to_owned()),
            ("X-Content-Type-Options", "nosniff".to_owned()),
        ];
        Self { status, headers, body: Zeroizing::new(text.as_bytes().to_vec()) }
    }

    /// The same whether the link was used, has ended, or never was.
    fn over() -> Self {
        Self::sentence("404 Not Found", OVER)
    }

    fn emit(&self) -> Zeroizing<Vec<u8>> {
        let mut head = format!("HTTP/1.1 {}\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", self.body.len()));
        // Of the final length at once: what grows leaves pieces behind that nobody wipes.
        let mut bytes = Zeroizing::new(Vec::with_capacity(head.len() + self.body.len()));
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

#[cfg(test)]
mod tests;
