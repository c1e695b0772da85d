use super::*;
use rand::SeedableRng as _;
use std::io::{Read as _, Write as _};

fn offer(member: &str) -> Offer {
    Offer {
        team: "The Millers".to_owned(),
        member: member.to_owned(),
        label: "k7f2".to_owned(),
        ends: UnixSeconds(1_900_000_000),
        password: Secret::new("sesame"),
        files: [
            (Download::Apple, Zeroizing::new(b"an apple".to_vec())),
            (Download::Android, Zeroizing::new(b"a robot".to_vec())),
        ]
        .into(),
    }
}

fn pages() -> (Pages, StdRng) {
    (Pages::new(Some("127.0.0.1:0".parse().unwrap()), 900), StdRng::seed_from_u64(1))
}

async fn exchange(address: SocketAddr, request: String) -> String {
    tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    })
    .await
    .unwrap()
}

async fn get(address: SocketAddr, path: &str) -> String {
    exchange(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")).await
}

fn path(link: &Link) -> String {
    let (_, rest) = link.address.split_once("//").unwrap();
    rest[rest.find('/').unwrap()..].to_owned()
}

#[tokio::test]
async fn a_page_leads_to_each_file_and_another_does_not() {
    let (mut pages, mut rng) = pages();
    assert_eq!(pages.serving(), None, "nothing is open before");
    let link = pages.offer(offer("alice"), &mut rng).unwrap();
    let address = pages.serving().unwrap();
    assert!(link.address.starts_with(&format!("http://{address}/p/")));
    let page = get(address, &path(&link)).await;
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("Content-Security-Policy: "), "{page}");
    assert!(page.contains("<bdi>alice</bdi>") && page.contains("The Millers"), "{page}");
    let links: Vec<_> =
        page.match_indices("href=\"/f/").map(|(at, _)| page[at + 6..].split('"').next().unwrap()).collect();
    assert_eq!(links.len(), 2);
    for (file, want) in links.iter().zip(["an apple", "a robot"]) {
        let answer = get(address, file).await;
        assert!(answer.ends_with(&format!("\r\n\r\n{want}")), "{answer}");
    }
    let apple = get(address, links[0]).await;
    assert!(
        apple.contains("Content-Type: application/x-apple-aspen-config\r\n"),
        "for a while again: {apple}"
    );
    let other = pages.offer(offer("bob"), &mut rng).unwrap();
    assert_eq!(pages.serving(), Some(address), "there is one page");
    pages.remove("alice");
    let over = get(address, &path(&link)).await;
    assert!(over.starts_with("HTTP/1.1 404 ") && over.ends_with(OVER), "{over}");
    assert!(get(address, &path(&other)).await.contains("<bdi>bob</bdi>"));
    for path in ["/", "/p/", "/f/", "/p/../f/", "//x", "/p/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        assert_eq!(get(address, path).await, over, "{path}");
    }
}

#[tokio::test]
async fn what_is_no_request_for_the_page_gets_no_page() {
    let (mut pages, mut rng) = pages();
    let link = pages.offer(offer("alice"), &mut rng).unwrap();
    let (address, path) = (pages.serving().unwrap(), path(&link));
    for (request, status) in [
        (format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "421"),
        (format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nHost: {address}\r\n\r\n"), "421"),
        (format!("GET {path} HTTP/1.1\r\n\r\n"), "421"),
        (format!("POST {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"), "405"),
        (format!("HEAD {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"), "405"),
        ("\u{16}\u{3}\u{1}".to_owned(), "400"),
        (format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nX: {}\r\n\r\n", "x".repeat(9_000)), "431"),
    ] {
        // What is too long may be answered by a reset, too.
        let shown: String = request.chars().take(60).collect();
        let answer =
            tokio::time::timeout(Duration::from_secs(5), exchange_lossy(address, request)).await.unwrap();
        assert!(
            answer.is_empty() && status == "431" || answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{shown}: {answer}"
        );
    }
    // Nothing of that has used it up.
    assert!(get(address, &path).await.contains("<bdi>alice</bdi>"));
}

async fn exchange_lossy(address: SocketAddr, request: String) -> String {
    tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    })
    .await
    .unwrap()
}

#[test]
fn pages_are_at_home_and_nowhere_else() {
    for (address, want) in [
        ("192.168.1.2:7276", true),
        ("10.0.0.1:80", true),
        ("127.0.0.1:0", true),
        ("[fd00::1]:7276", true),
        ("[fe80::1]:7276", true),
        ("0.0.0.0:7276", false),
        ("[::]:7276", false),
        ("203.0.113.5:7276", false),
        ("100.64.1.1:7276", false),
        ("[2001:db8::1]:7276", false),
        ("[::ffff:203.0.113.5]:7276", false),
        ("[::ffff:192.168.1.2]:7276", true),
    ] {
        assert_eq!(check(address.parse().unwrap()).is_ok(), want, "{address}");
    }
}

#[tokio::test]
async fn there_are_so_many_and_no_more() {
    let (mut pages, mut rng) = pages();
    let made: Vec<_> = (0..OFFERS_MAX + 1).map(|_| pages.offer(offer("alice"), &mut rng).is_ok()).collect();
    assert!(made[..OFFERS_MAX].iter().all(|made| *made) && !made[OFFERS_MAX]);
}

/// Its port is closed a moment after the last link has ended.
#[tokio::test]
async fn the_port_is_open_only_while_there_are_links() {
    let (mut pages, mut rng) = pages();
    pages.offer(offer("alice"), &mut rng).unwrap();
    let address = pages.serving().unwrap();
    if let Some((_, until)) = &mut lock(&pages.shared).serving {
        *until = UnixSeconds(0);
    }
    tokio::time::timeout(Duration::from_secs(10), async {
        while pages.serving().is_some() || std::net::TcpStream::connect(address).is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
}
