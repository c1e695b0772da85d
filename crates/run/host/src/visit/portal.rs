//! Other people's portals: whether one stands in the way, and a door for the person who has to see it.
//!
//! While the tunnel does not carry, a page of the network's may be why: airports and hotels answer whatever is asked for
//! with their own. That is found by asking for a page at an address that is nobody's (RFC 5737), and for a name that
//! nobody has (RFC 6761): whoever answers is the portal. Nobody else hears of it, and nothing is said of this computer
//! but that it asks.
//!
//! The person gets to the page through a proxy on this computer's loopback ([`Proxy`]), whose connections are marked and
//! pass the kill switch; what other programs send is held back as before. So a browser that is told of the proxy sees the
//! portal, and nothing else leaves.

use super::AccessNetwork;
use crate::resolver;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// An address that is nobody's (RFC 5737: TEST-NET-1).
const NOBODY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 80);
/// A name that nobody has (RFC 6761 section 6.4).
const NO_NAME: &str = "guestright.invalid";
const HTTP: u16 = 80;
/// A portal answers at once.
const ANSWER_MAX: Duration = Duration::from_secs(4);
/// What is read of an answer or a request: its head.
const HEAD_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;
/// A link longer than this is none.
const URL_MAX: usize = 1_000;
/// Connections through the proxy at a time: what a browser opens for a page.
const CONNECTIONS_MAX: usize = 64;
/// A browser says what it wants within this.
const REQUEST_MAX: Duration = Duration::from_secs(30);
/// No connection through the proxy lasts longer.
const CONNECTION_MAX: Duration = Duration::from_secs(600);

/// How to leave by a network beside the tunnel.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    pub(super) network: AccessNetwork,
    /// What the kill switch lets pass.
    pub(super) mark: u32,
}

impl Outside {
    /// The IPv4 addresses of a name, as this network says.
    pub(super) async fn look_up(&self, name: &str) -> Vec<Ipv4Addr> {
        let own = [resolver::upstream(), Some(self.network.access_point)];
        for server in own.into_iter().flatten() {
            let found = self.ask(server, name).await;
            if !found.is_empty() {
                return found;
            }
        }
        vec![]
    }

    #[cfg(feature = "dns")]
    async fn ask(&self, server: Ipv4Addr, name: &str) -> Vec<Ipv4Addr> {
        let aside = guestright_dns::Aside { mark: Some(self.mark), interface: Some(&self.network.interface) };
        let found = guestright_dns::addresses((server, 53).into(), name, aside, ANSWER_MAX).await;
        found
            .inspect_err(|error| tracing::debug!(%error, "the network does not say a name"))
            .unwrap_or_default()
    }

    /// Without a resolver of our own no name is asked for beside the tunnel.
    #[cfg(not(feature = "dns"))]
    async fn ask(&self, _: Ipv4Addr, _: &str) -> Vec<Ipv4Addr> {
        vec![]
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket2::SockRef::from(&socket).set_mark(self.mark)?;
        socket.bind_device(Some(self.network.interface.as_bytes()))?;
        tokio::time::timeout(ANSWER_MAX, socket.connect(address)).await?
    }

    /// A connection to a host by name or address.
    async fn reach(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses = match bare.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => self.look_up(host).await.into_iter().map(IpAddr::from).collect(),
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("this network knows no {host}"));
        for address in addresses {
            match self.connect((address, port).into()).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The portal's page, if one stands in the way.
    pub(super) async fn find_portal(&self) -> Option<String> {
        if let Some(url) = self.ask_for_a_page(NOBODY).await {
            return Some(url);
        }
        let liar = *self.look_up(NO_NAME).await.first()?;
        Some(self.ask_for_a_page(liar).await.unwrap_or_else(|| format!("http://{liar}/")))
    }

    /// Where an answer to a question for a page at this address leads, if there is one.
    async fn ask_for_a_page(&self, address: Ipv4Addr) -> Option<String> {
        let asking = async {
            let mut stream = self.connect((address, HTTP).into()).await?;
            let question = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            stream.write_all(question.as_bytes()).await?;
            read_head(&mut stream).await
        };
        let head = tokio::time::timeout(ANSWER_MAX, asking).await.ok()?.ok()?;
        portal_of(&head, address)
    }
}

/// Where the head of an answer leads: its `Location`, if that is a link, else the address that answered. Nothing if it is no
/// answer of HTTP.
fn portal_of(head: &[u8], address: Ipv4Addr) -> Option<String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut answer = httparse::Response::new(&mut headers);
    answer.parse(head).ok()?;
    let code = answer.code?;
    let location = answer.headers.iter().find(|it| it.name.eq_ignore_ascii_case("location"));
    let link = location.and_then(|it| std::str::from_utf8(it.value).ok()).filter(|it| is_link(it));
    match (code, link) {
        (300..=399, Some(link)) => Some(link.to_owned()),
        // 511 is for portals (RFC 6585 section 6); others say 200, or what they like.
        _ => Some(format!("http://{address}/")),
    }
}

/// A link that can be shown and opened: of HTTP, without a blank, a quote or a control character in it.
fn is_link(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'`<>\\".contains(&byte);
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '['))
        && text.len() <= URL_MAX
        && text.bytes().all(is_plain)
}

/// What is read until an empty line ends a head; what has been read beyond it is at its end.
async fn read_head(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut part = [0; 2_048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = from.read(&mut part).await?;
        if length == 0 || head.len() + length > HEAD_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no head of HTTP"));
        }
        head.extend_from_slice(&part[..length]);
    }
    Ok(head)
}

/// A proxy of HTTP (RFC 9110 sections 7.6 and 9.3.6) on this computer's loopback, to the network beside the tunnel. It
/// ends when this is dropped.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Begins to listen at a port that is free.
    pub(super) async fn start(outside: Outside) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // Whatever ends this task ends its connections.
            let mut connections = tokio::task::JoinSet::new();
            let room = std::sync::Arc::new(Semaphore::new(CONNECTIONS_MAX));
            loop {
                while connections.try_join_next().is_some() {}
                let Ok(permit) = std::sync::Arc::clone(&room).acquire_owned().await else { return };
                let Ok((browser, _)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                let outside = outside.clone();
                connections.spawn(async move {
                    let passed = tokio::time::timeout(CONNECTION_MAX, pass(browser, &outside)).await;
                    if let Ok(Err(error)) = passed {
                        tracing::debug!(%error, "a connection to the portal has ended");
                    }
                    drop(permit);
                });
            }
        });
        Ok(Self { address, task })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a browser asks of a proxy.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    host: String,
    port: u16,
    /// What is sent on; nothing for a tunnel.
    head: Option<Vec<u8>>,
}

async fn pass(mut browser: TcpStream, outside: &Outside) -> io::Result<()> {
    let head = tokio::time::timeout(REQUEST_MAX, read_head(&mut browser)).await??;
    let Some(request) = read_request(&head) else {
        let no = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        return browser.write_all(no).await;
    };
    let mut portal = match outside.reach(&request.host, request.port).await {
        Ok(stream) => stream,
        Err(error) => {
            let words = format!("{} cannot be reached in this network: {error}\n", request.host);
            let no = format!(
                "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{words}",
                words.len()
            );
            return browser.write_all(no.as_bytes()).await;
        }
    };
    match request.head {
        Some(head) => portal.write_all(&head).await?,
        None => browser.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await?,
    }
    copy_bidirectional(&mut browser, &mut portal).await.map(|_| ())
}

/// Reads the head of a request to a proxy, and what came behind it. Of a page it makes the request to its host itself, for
/// one answer: the next one may be for another host. Nothing if it is none, as what a page makes a browser send here without
/// the person's doing.
fn read_request(head: &[u8]) -> Option<Request> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = request.parse(head).ok()? else { return None };
    let (method, target) = (request.method?, request.path?);
    if method == "CONNECT" {
        let (host, port) = target.rsplit_once(':')?;
        return Some(Request { host: host.to_owned(), port: port.parse().ok()?, head: None })
            .filter(|it| is_host(&it.host));
    }
    let rest = target.strip_prefix("http://")?;
    let (authority, path) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, HTTP),
    };
    if !is_host(host) {
        return None;
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut on = format!("{method} {slash}{path} HTTP/1.1\r\nConnection: close\r\n").into_bytes();
    for header in request.headers.iter() {
        let dropped = ["connection", "proxy-connection", "keep-alive", "proxy-authorization", "upgrade"];
        if !dropped.iter().any(|name| header.name.eq_ignore_ascii_case(name)) {
            on.extend_from_slice(header.name.as_bytes());
            on.extend_from_slice(b": ");
            on.extend_from_slice(header.value);
            on.extend_from_slice(b"\r\n");
        }
    }
    on.extend_from_slice(b"\r\n");
    on.extend_from_slice(&head[length..]);
    Some(Request { host: host.to_owned(), port, head: Some(on) })
}

fn is_host(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portal_is_whoever_answers_and_leads_where_it_can_be_shown() {
        let at = Ipv4Addr::new(10, 0, 0, 1);
        let own = Some("http://10.0.0.1/");
        let long = format!("HTTP/1.1 302 Found\r\nLocation: http://a/{}\r\n\r\n", "x".repeat(URL_MAX));
        let cases: [(&[u8], Option<&str>); 10] = [
            (
                b"HTTP/1.1 302 Found\r\nLocation: https://portal.example/in?x=1\r\n\r\n",
                Some("https://portal.example/in?x=1"),
            ),
            (
                b"HTTP/1.0 307 Temporary Redirect\r\nlocation: http://10.0.0.1:2050/\r\n\r\n",
                Some("http://10.0.0.1:2050/"),
            ),
            (b"HTTP/1.1 511 Network Authentication Required\r\n\r\n<html>", own),
            (b"HTTP/1.1 200 OK\r\n\r\nwelcome", own),
            (b"HTTP/1.1 302 Found\r\nLocation: javascript:alert(1)\r\n\r\n", own),
            (b"HTTP/1.1 302 Found\r\nLocation: http://a/`reboot`\r\n\r\n", own),
            (b"HTTP/1.1 302 Found\r\nLocation: /relative\r\n\r\n", own),
            (long.as_bytes(), own),
            (b"SSH-2.0-x\r\n\r\n", None),
            (b"", None),
        ];
        for (head, want) in cases {
            assert_eq!(portal_of(head, at).as_deref(), want, "{}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn requests_of_a_browser_are_read_and_what_a_page_can_send_is_none() {
        let read = |text: &str| {
            let request = read_request(text.as_bytes())?;
            let head = request.head.map(|head| String::from_utf8(head).unwrap());
            Some((format!("{}:{}", request.host, request.port), head))
        };
        let some = |host: &str, head: Option<&str>| Some((host.to_owned(), head.map(str::to_owned)));
        assert_eq!(read("CONNECT portal.example:443 HTTP/1.1\r\n\r\n"), some("portal.example:443", None));
        let sent = "POST http://10.0.0.1:2050?a=b HTTP/1.1\r\nHost: 10.0.0.1:2050\r\nProxy-Connection: keep-alive\r\n\
                    Content-Length: 2\r\n\r\nok";
        let on =
            "POST /?a=b HTTP/1.1\r\nConnection: close\r\nHost: 10.0.0.1:2050\r\nContent-Length: 2\r\n\r\nok";
        assert_eq!(read(sent), some("10.0.0.1:2050", Some(on)));
        assert_eq!(
            read("GET http://portal.example HTTP/1.1\r\n\r\n"),
            some("portal.example:80", Some("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"))
        );
        for refused in [
            "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "CONNECT portal.example HTTP/1.1\r\n\r\n",
            "CONNECT portal.example:99999 HTTP/1.1\r\n\r\n",
            "GET http://a\u{7f}/ HTTP/1.1\r\n\r\n",
            "GET http:/// HTTP/1.1\r\n\r\n",
            "hello",
        ] {
            assert_eq!(read(refused), None, "{refused}");
        }
    }
}
