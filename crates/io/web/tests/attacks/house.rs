//! A server with all its doors on loopback, what it serves, and clients that write what they like.

use bytes::Bytes;
use guestright_units::Time;
use guestright_web::{
    Accepts, Access, Config, Encoding, Environment, File, Provider, Refusal, Server, Watch,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;

/// Who may look: in the tests' tunnel, this one has an address.
pub(crate) const MEMBER: u8 = 77;

/// What the server asked for.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) overviews: AtomicU64,
    pub(crate) acts: Mutex<Vec<String>>,
    /// How long an overview is.
    pub(crate) length: AtomicU64,
}

struct Recorder(Arc<Record>);

impl Provider for Recorder {
    fn file(&self, path: &str, accepts: Accepts) -> Option<File> {
        let encoding = if accepts.gzip { Encoding::Gzip } else { Encoding::Plain };
        (path == "/").then(|| File {
            content_type: "text/html; charset=utf-8",
            etag: "\"1\"".to_owned(),
            encoding,
            content: Bytes::from_static(b"the page"),
        })
    }

    async fn page(&self, access: Access, _why: Option<&str>) -> Option<Result<Bytes, Refusal>> {
        Some(Ok(format!("the household's page: {access:?}").into()))
    }

    async fn overview(&self, access: Access, why: Option<&str>) -> Result<Bytes, Refusal> {
        self.0.overviews.fetch_add(1, Ordering::SeqCst);
        let filler = "x".repeat(usize::try_from(self.0.length.load(Ordering::SeqCst)).unwrap());
        Ok(format!("{access:?} {} {filler}", why.unwrap_or("-")).into())
    }

    async fn settings(&self) -> Result<Bytes, Refusal> {
        Ok(Bytes::from_static(b"{}"))
    }

    async fn code(&self, name: &str) -> Option<File> {
        (name == "1.svg").then(|| File {
            content_type: "image/svg+xml",
            etag: "\"2\"".to_owned(),
            encoding: Encoding::Plain,
            content: Bytes::from_static(b"<svg/>"),
        })
    }

    async fn act(&self, path: &str, body: Bytes) -> Result<Bytes, Refusal> {
        if path == "/v1/nothing" {
            return Err(Refusal::Unknown);
        }
        self.0.acts.lock().unwrap().push(format!("{path} {}", String::from_utf8_lossy(&body)));
        Ok(Bytes::new())
    }
}

/// All doors of a home. The clock stands still but for [`House::pass`].
pub(crate) struct House {
    pub(crate) server_link: Box<dyn Fn() -> String>,
    pub(crate) refused: Box<dyn Fn(guestright_web::Refused) -> u64>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) record: Arc<Record>,
    pub(crate) link_door: SocketAddr,
    pub(crate) other_link_door: SocketAddr,
    pub(crate) look_door: SocketAddr,
    pub(crate) socket: PathBuf,
    clock: Arc<AtomicU64>,
    _folder: TempDir,
    _doors: JoinSet<()>,
}

impl House {
    pub(crate) async fn open(config: Config) -> Self {
        let clock = Arc::new(AtomicU64::new(1_000_000_000));
        let now = Arc::clone(&clock);
        let chance = AtomicU64::new(1);
        let environment = Environment {
            now: Box::new(move || Time(now.load(Ordering::SeqCst))),
            chance: Box::new(move || u128::from(chance.fetch_add(1, Ordering::SeqCst)).to_be_bytes()),
        };
        let record = Arc::new(Record::default());
        let watch = Arc::new(Watch::default());
        let server = Server::new(Recorder(Arc::clone(&record)), Arc::clone(&watch), config, environment);
        let folder = TempDir::new().unwrap();
        let socket = folder.path().join("web.sock");
        let mut doors = JoinSet::new();
        let (link, link_door) = listen().await;
        let (other, other_link_door) = listen().await;
        let (look, look_door) = listen().await;
        let unix = UnixListener::bind(&socket).unwrap();
        for listener in [link, other] {
            let server = server.clone();
            doors.spawn(async move { server.serve_link(listener).await });
        }
        let looking = server.clone();
        doors.spawn(async move { looking.serve_look(look, |from| from == address(MEMBER)).await });
        let local = server.clone();
        doors.spawn(async move { local.serve_socket(unix).await });
        let counting = server.clone();
        Self {
            server_link: Box::new(move || server.link()),
            refused: Box::new(move |why| counting.counts().refused(why)),
            watch,
            record,
            link_door,
            other_link_door,
            look_door,
            socket,
            clock,
            _folder: folder,
            _doors: doors,
        }
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub(crate) fn acts(&self) -> usize {
        self.record.acts.lock().unwrap().len()
    }

    pub(crate) fn overviews(&self) -> u64 {
        self.record.overviews.load(Ordering::SeqCst)
    }

    /// A session of a client: the value of its cookie header.
    pub(crate) async fn sign_in(&self, from: u8) -> String {
        let answer = self.redeem(from, &(self.server_link)()).await;
        assert_eq!(answer.status, 204, "{answer:?}");
        answer.cookie()
    }

    pub(crate) async fn redeem(&self, from: u8, link: &str) -> Answer {
        ask(
            from,
            self.link_door,
            &post(self.link_door, "/v1/session", "", &format!(r#"{{"link":"{link}"}}"#)),
        )
        .await
    }
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub(crate) fn address(number: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, number).into()
}

/// A connection from one of the addresses of loopback.
pub(crate) async fn connect(from: u8, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((address(from), 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

pub(crate) fn get(host: impl ToString, path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", host.to_string())
}

/// As the page posts.
pub(crate) fn post(door: SocketAddr, path: &str, headers: &str, body: &str) -> String {
    let ours =
        format!("Origin: http://{door}\r\nX-Guestright: 1\r\nContent-Type: application/json\r\n{headers}");
    bare_post(door, path, &ours, body)
}

pub(crate) fn bare_post(host: impl ToString, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {length}\r\n{headers}\r\n{body}",
        host.to_string()
    )
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn cookie(&self) -> String {
        let line = self.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        assert!(line.ends_with("; path=/; httponly; samesite=strict"), "{line}");
        format!("Cookie: {}\r\n", line.split(';').next().unwrap())
    }

    /// What every answer of ours has, and what none has.
    fn check(&self) {
        assert!(!self.head.contains("access-control-"), "{self:?}");
        // hyper itself answers what is no HTTP at all, with nothing in it.
        if matches!(self.status, 400 | 431) && self.body.is_empty() {
            return;
        }
        for header in [
            "content-security-policy: default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-",
        ] {
            assert!(self.head.contains(header), "{header} in {self:?}");
        }
        if self.status >= 400 {
            let error: serde_json::Value = serde_json::from_str(&self.body).unwrap();
            assert!(error["says"].is_string(), "{self:?}");
        }
    }
}

/// Reads one answer. `None`: the connection ended before there was one.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Answer> {
    let answer = read_any(stream).await?;
    answer.check();
    Some(answer)
}

/// The same, whatever headers it has.
pub(crate) async fn read_any(stream: &mut (impl AsyncRead + Unpin)) -> Option<Answer> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map(|length| length.parse().unwrap());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Answer { status, head, body: String::from_utf8(body).unwrap() })
}

/// Sends a request on a connection of its own, and gives its answer.
pub(crate) async fn ask(from: u8, to: SocketAddr, request: &str) -> Answer {
    ask_on(&mut connect(from, to).await, request).await
}

pub(crate) async fn ask_socket(house: &House, request: &str) -> Answer {
    ask_on(&mut UnixStream::connect(&house.socket).await.unwrap(), request).await
}

pub(crate) async fn ask_on(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), request: &str) -> Answer {
    // Whoever is refused at once may close before it has read all.
    let _: std::io::Result<()> = stream.write_all(request.as_bytes()).await;
    read(stream).await.expect("an answer")
}

/// Whether the server closes a connection, whatever it sends before.
pub(crate) async fn closed(stream: &mut (impl AsyncRead + Unpin)) {
    let mut rest = Vec::new();
    let _: std::io::Result<usize> = stream.read_to_end(&mut rest).await;
}
