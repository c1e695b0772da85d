//! The household's page, through each of its doors.

use crate::town::{Rules, Town, WEB, inside, succeeded};
use guestright_overview::{May, Overview};
use serde_json::Value;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

mod actions;
mod cost;

const DOOR: &str = "127.0.0.1:7277";
/// An answer takes no longer: an access point that does not answer is waited for for a second.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// An answer of HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn read(mut stream: impl std::io::Read) -> Self {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn cookie(&self) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix("set-cookie: "))?.split(';').next()
    }
}

pub(crate) fn request(method: &str, path: &str, host: &str, more: &[&str], body: &str) -> String {
    let more: String = more.iter().map(|line| format!("{line}\r\n")).collect();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What somebody on this host gets.
pub(crate) fn ask(town: &Town, host: &str, door: &str, request: &str) -> Answer {
    let address: SocketAddr = door.parse().unwrap();
    let connect = || TcpStream::connect_timeout(&address, ANSWER_MAX);
    let mut stream = town.world.within(host, connect).unwrap().unwrap();
    stream.set_read_timeout(Some(ANSWER_MAX)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    Answer::read(stream)
}

pub(crate) fn overview(answer: &Answer) -> Overview {
    assert_eq!(answer.status, 200, "{}", answer.body);
    Overview::from_json(answer.body.as_bytes()).unwrap()
}

/// A link to the page at this door.
fn link(town: &Town) -> String {
    let enable = ["home", "web", "--enable", "--at", DOOR, "--json", "--config", "house/home.toml"];
    let answer: Value = serde_json::from_str(&succeeded(&town.run_on("router", &enable))).unwrap();
    let link = answer["link"].as_str().unwrap();
    link.strip_prefix(&format!("http://{DOOR}/#")).unwrap().to_owned()
}

fn sign_in(town: &Town, code: &str, more: &[&str]) -> Answer {
    let more = [&["content-type: application/json"], more].concat();
    let body = format!("{{\"link\":\"{code}\"}}");
    ask(town, "router", DOOR, &request("POST", "/v1/session", DOOR, &more, &body))
}

#[test]
fn a_link_opens_the_page_once_and_what_it_opens_shows_the_household() {
    if !inside("page::a_link_opens_the_page_once_and_what_it_opens_shows_the_household") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_tcp("net", WEB, &crate::town::services::AccessLog::default());
    let (_home, _ap) = town.open();
    let (_visit, class) = town.arrive("member", "guests", "member");
    let code = link(&town);
    let own = ["x-guestright: 1", &format!("origin: http://{DOOR}")];

    let foreign = sign_in(&town, &code, &["x-guestright: 1", "origin: http://192.0.2.1"]);
    assert!(foreign.status >= 400 && foreign.cookie().is_none(), "{}", foreign.status);
    let signed_in = sign_in(&town, &code, &own);
    assert!(signed_in.status < 300, "{} {}", signed_in.status, signed_in.body);
    let cookie = format!("cookie: {}", signed_in.cookie().unwrap());
    let again = sign_in(&town, &code, &own);
    assert!(again.status >= 400 && again.cookie().is_none(), "{}", again.status);

    let seen = overview(&ask(&town, "router", DOOR, &request("GET", "/v1/overview", DOOR, &[&cookie], "")));
    assert_eq!((seen.guests.len(), seen.may), (1, May::Change));
    assert_eq!(serde_json::to_value(seen.guests[0].class).unwrap(), Value::from(class));
    let page = ask(&town, "router", DOOR, &request("GET", "/", DOOR, &[&cookie], ""));
    assert_eq!(page.status, 200);
    assert!(page.head.contains("content-security-policy: default-src 'self'"), "{}", page.head);

    let stranger = ask(&town, "router", DOOR, &request("GET", "/v1/overview", DOOR, &[], ""));
    assert_eq!(stranger.status, 401, "{}", stranger.body);
    let rebound = request("GET", "/v1/overview", "home.example:7277", &[&cookie], "");
    assert_eq!(ask(&town, "router", DOOR, &rebound).status, 421);
    // Whoever has the cookie changes things, from this page alone.
    let json = "content-type: application/json";
    let change = |more: &[&str]| {
        let text = request("POST", "/v1/everybody", DOOR, more, "{\"until\":null}");
        ask(&town, "router", DOOR, &text).status
    };
    assert_eq!(change(&[&cookie, own[0], own[1], json]), 204);
    for wrong in [[&cookie, own[0], json], [&cookie, own[1], json], [own[0], own[1], json]] {
        assert!((400..500).contains(&change(&wrong)), "{wrong:?}");
    }
}

#[test]
fn the_page_is_for_the_household_and_is_closed_again() {
    if !inside("page::the_page_is_for_the_household_and_is_closed_again") {
        return;
    }
    let town = Town::build(Rules::default());
    let (_home, _ap) = town.open();
    let mut stream = UnixStream::connect(town.path("house/home-state/page.sock")).unwrap();
    stream.set_read_timeout(Some(ANSWER_MAX)).unwrap();
    stream.write_all(request("GET", "/v1/overview", "localhost", &[], "").as_bytes()).unwrap();
    assert!(overview(&Answer::read(stream)).guests.is_empty());

    let outside = ["home", "web", "--enable", "--at", "203.0.113.9:7277", "--config", "house/home.toml"];
    let refused = town.run_on("router", &outside);
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && words.contains("no address within a household"), "{words}");

    let web = |more: &[&str]| {
        let arguments = [&["home", "web"], more, &["--config", "house/home.toml"]].concat();
        succeeded(&town.run_on("router", &arguments))
    };
    assert!(web(&[]).contains("not open"));
    link(&town);
    assert!(web(&[]).contains(&format!("http://{DOOR}/")));
    assert!(web(&["--disable"]).contains("closed"));
    let address: SocketAddr = DOOR.parse().unwrap();
    let refused = town.world.within("router", || TcpStream::connect_timeout(&address, ANSWER_MAX)).unwrap();
    assert!(refused.is_err());
}
