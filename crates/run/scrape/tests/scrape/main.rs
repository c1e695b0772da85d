//! The metrics' doors, through which hostile clients come too.

#![allow(clippy::unwrap_used, reason = "a test says what broke by panicking")]

use guestright_metrics::{HomeFigures, text};
use guestright_scrape::{BindError, Doors, Format, Metrics, Settings, Source, process};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::task::JoinSet;

/// Whoever is at this address of loopback may not enter.
const GUEST: u8 = 66;

#[derive(Clone, Debug, Default)]
struct Loop {
    asked: Arc<AtomicU64>,
}

impl Source for Loop {
    type Figures = HomeFigures;

    async fn figures(&self) -> Option<HomeFigures> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Some(HomeFigures { process: process(), ..HomeFigures::default() })
    }

    fn text(figures: &HomeFigures, format: Format) -> String {
        text::home(figures, format)
    }
}

struct House {
    doors: Doors,
    port: SocketAddr,
    source: Loop,
    folder: TempDir,
}

fn settings(folder: &TempDir, listen: &str) -> Settings {
    Settings {
        socket: folder.path().join("metrics.sock"),
        listen: Some(listen.parse().unwrap()),
        may_enter: Arc::new(|from| from != address(GUEST)),
    }
}

fn open() -> House {
    let (folder, source) = (TempDir::new().unwrap(), Loop::default());
    let doors =
        Doors::open(settings(&folder, "127.0.0.1:0"), Arc::new(Metrics::new(source.clone()))).unwrap();
    let port = doors.listen().unwrap();
    House { doors, port, source, folder }
}

fn address(number: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, number).into()
}

async fn connect(from: u8, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((address(from), 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

fn get(host: impl ToString, path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", host.to_string())
}

/// Status, head and body; a status of nothing if the connection ended without an answer.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> (u16, String, String) {
    let _: std::io::Result<()> = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _: std::io::Result<usize> = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return (0, answer, String::new()) };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase(), body.to_owned())
}

#[tokio::test]
async fn the_metrics_are_at_the_port_and_at_the_socket_and_nothing_else_is() {
    let house = open();
    let (status, head, body) = ask(connect(1, house.port).await, &get(house.port, "/metrics", "")).await;
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert!(!head.contains("access-control-"), "{head}");
    assert!(body.contains("guestright_access_points 0\n"), "{body}");
    let socket = UnixStream::connect(house.folder.path().join("metrics.sock")).await.unwrap();
    let accept = "Accept: application/openmetrics-text;version=1.0.0\r\n";
    let (status, head, body) = ask(socket, &get("localhost", "/metrics", accept)).await;
    assert!(status == 200 && head.contains("content-type: application/openmetrics-text"), "{head}");
    assert!(body.ends_with("# EOF\n"), "{body}");
    let others =
        ["/", "/v1/overview", "/v1/settings", "/v1/events", "/metrics/", "/metrics?x=1", "/plain.css"];
    for path in others {
        let (status, _, body) = ask(connect(2, house.port).await, &get(house.port, path, "")).await;
        assert_eq!(status, 404, "{path}: {body}");
    }
    let ours =
        format!("Origin: http://{}\r\nX-Guestright: 1\r\nContent-Type: application/json\r\n", house.port);
    for method in ["POST", "PUT", "OPTIONS", "HEAD"] {
        let request = get(house.port, "/metrics", &ours).replacen("GET", method, 1);
        let (status, _, body) = ask(connect(3, house.port).await, &request).await;
        assert!(status == 404 || status == 405, "{method}: {status} {body}");
    }
}

#[tokio::test]
async fn a_hostile_page_reads_nothing() {
    let house = open();
    let port = house.port.port();
    // A page that a member looks at fetches this: the browser says so, and nothing lets it read an answer.
    for site in ["cross-site", "same-site"] {
        let headers =
            format!("Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: no-cors\r\nOrigin: http://evil.example\r\n");
        let (status, head, body) =
            ask(connect(1, house.port).await, &get(house.port, "/metrics", &headers)).await;
        assert!(status == 403 && !body.contains("guestright_"), "{site}: {status} {body}");
        assert!(head.contains("cross-origin-resource-policy: same-origin"), "{head}");
    }
    // Its name is made to lead here (DNS rebinding): then it is the host.
    for host in [format!("evil.example:{port}"), format!("127.0.0.1.nip.io:{port}"), "localhost:1".to_owned()]
    {
        let (status, _, body) = ask(connect(1, house.port).await, &get(&host, "/metrics", "")).await;
        assert!(status == 421 && !body.contains("guestright_"), "{host}: {status} {body}");
    }
    assert_eq!(house.source.asked.load(Ordering::SeqCst), 0, "the loop was not asked for any of it");
}

#[tokio::test]
async fn whoever_may_not_enter_is_refused_before_it_has_said_anything() {
    let house = open();
    let (status, _, body) = ask(connect(GUEST, house.port).await, &get(house.port, "/metrics", "")).await;
    assert!(matches!(status, 0 | 403) && !body.contains("guestright_"), "{status} {body}");
    assert_eq!(house.source.asked.load(Ordering::SeqCst), 0);
}

/// Sends so many requests that the limit is reached, again and again.
async fn flood(port: SocketAddr) {
    let requests = get(port, "/metrics", "").replace("Connection: close\r\n", "").repeat(200);
    for _ in 0..5 {
        let mut stream = connect(2, port).await;
        let _: std::io::Result<()> = stream.write_all(requests.as_bytes()).await;
        let mut rest = Vec::new();
        let _: std::io::Result<usize> = stream.read_to_end(&mut rest).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_asks_the_loop_once_a_second_and_costs_nobody_else_an_answer() {
    let house = open();
    let port = house.port;
    let began = std::time::Instant::now();
    let mut flooding: JoinSet<()> = (0..8).map(|_| flood(port)).collect();
    for _ in 0..20 {
        let (status, _, body) = ask(connect(1, port).await, &get(port, "/metrics", "")).await;
        assert_eq!(status, 200, "{body}");
    }
    while flooding.join_next().await.is_some() {}
    let asked = house.source.asked.load(Ordering::SeqCst);
    let most = began.elapsed().as_secs() + 1;
    assert!((1..=most).contains(&asked), "asked {asked} times in {:?}", began.elapsed());
}

#[tokio::test]
async fn no_door_opens_where_the_internet_is_or_another_has_one() {
    let house = open();
    let metrics = || Arc::new(Metrics::new(Loop::default()));
    let other = TempDir::new().unwrap();
    for public in ["0.0.0.0:0", "203.0.113.1:7278", "[::]:0"] {
        let refused = Doors::open(settings(&other, public), metrics()).unwrap_err();
        assert!(matches!(refused.0, BindError::Public { .. }), "{refused}");
    }
    let taken = Doors::open(settings(&other, &house.port.to_string()), metrics()).unwrap_err();
    assert!(matches!(taken.0, BindError::Listen { .. }), "{taken}");
    let same = Doors::open(settings(&house.folder, "127.0.0.1:0"), metrics()).unwrap_err();
    assert!(matches!(same.0, BindError::InUse { .. }), "{same}");
    house.doors.close().await;
    assert!(!house.folder.path().join("metrics.sock").exists());
    let again = Doors::open(settings(&house.folder, &house.port.to_string()), metrics()).unwrap();
    assert_eq!(again.listen(), Some(house.port), "the port is free at once");
}
