//! The doors of a home, and the page behind them, over loopback.

#![expect(clippy::unwrap_used, reason = "tests fail where they are wrong")]

use guestright_overview::{May, Moment, Overview, Sum, Team};
use guestright_page::{
    Action, Answer, BindError, Code, Doors, DoorsError, Home, Limits, Refusal, Settings, SettingsAnswer,
    Watch,
};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

#[derive(Default)]
struct Record {
    actions: Mutex<Vec<Action>>,
    asked: Mutex<Vec<(May, Option<Team>)>>,
}

struct Recorded(Arc<Record>);

impl Home for Recorded {
    async fn overview(&self, may: May, why: Option<Team>) -> Result<Overview, Refusal> {
        self.0.asked.lock().unwrap().push((may, why));
        let json = include_bytes!("../../../../pure/overview/tests/fixtures/serving.json");
        Ok(Overview { may, ..Overview::from_json(json).unwrap() })
    }

    async fn settings(&self) -> Result<SettingsAnswer, Refusal> {
        let sum = Sum::at_most_max(1);
        let settings =
            Limits { allowance_bytes_per_day: sum, founding_bytes: sum, lend_bytes_max: sum, hold: true };
        Ok(SettingsAnswer { settings, blocked: Vec::new() })
    }

    async fn code(&self, name: &str) -> Option<String> {
        (name == "1").then(|| "<svg/>".to_owned())
    }

    async fn act(&self, action: Action) -> Result<Answer, Refusal> {
        self.0.actions.lock().unwrap().push(action.clone());
        match action {
            Action::AddMember(_) => {
                let image = "/v1/codes/1".to_owned();
                Ok(Answer::Code(Code { image, link: None, until: Moment::at_most_max(9) }))
            }
            Action::Everybody(_) => Err(Refusal::Conflict("Not now.".to_owned())),
            Action::EndGuest(_)
            | Action::Block(_)
            | Action::MemberCode(_)
            | Action::RenewMember(_)
            | Action::RevokeMember(_)
            | Action::DryRun(_)
            | Action::Set(_) => Ok(Answer::Done),
        }
    }
}

struct House {
    doors: Doors<Recorded>,
    record: Arc<Record>,
    folder: TempDir,
}

const LOOPBACK: &str = "127.0.0.1:0";

fn open(settings: impl FnOnce(&Path) -> Settings) -> Result<House, DoorsError> {
    let folder = TempDir::new().unwrap();
    let record = Arc::new(Record::default());
    let doors =
        Doors::open(settings(folder.path()), Recorded(Arc::clone(&record)), Arc::new(Watch::default()))?;
    Ok(House { doors, record, folder })
}

fn socket(folder: &Path) -> Settings {
    Settings { socket: Some(folder.join("page.sock")), ..Settings::default() }
}

/// Status and headers, and the body.
async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), request: String) -> (String, String) {
    let request = request.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

async fn ask_at(door: SocketAddr, request: String) -> (String, String) {
    ask(&mut TcpStream::connect(door).await.unwrap(), request).await
}

async fn ask_socket(house: &House, request: String) -> (String, String) {
    let path = house.folder.path().join("page.sock");
    ask(&mut UnixStream::connect(path).await.unwrap(), request).await
}

fn get(host: impl ToString, path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", host.to_string())
}

fn post(host: impl ToString, path: &str, content_type: &str, body: &str) -> String {
    let (host, length) = (host.to_string(), body.len());
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nX-Guestright: 1\r\nContent-Type: {content_type}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_link_leads_to_the_page_and_to_the_overview() {
    let mut house = open(|_| Settings::default()).unwrap();
    let link = house.doors.enable(LOOPBACK.parse().unwrap()).unwrap();
    let (address, code) = link.strip_prefix("http://").unwrap().split_once("/#").unwrap();
    let door: SocketAddr = address.parse().unwrap();
    assert_eq!(code.len(), 32);
    assert_eq!(house.doors.with_link().collect::<Vec<_>>(), [door]);
    let (head, page) = ask_at(door, get(door, "/", "")).await;
    assert!(
        head.starts_with("http/1.1 200") && page.to_lowercase().starts_with("<!doctype html>"),
        "{head} {page}"
    );
    assert!(!page.contains("Ida") && !page.contains("10.77."), "nothing of the household without a session");
    let (head, _) = ask_at(door, get(door, "/v1/overview", "")).await;
    assert!(head.starts_with("http/1.1 401"), "{head}");
    let (head, _) =
        ask_at(door, post(door, "/v1/session", "application/json", &format!(r#"{{"link":"{code}"}}"#))).await;
    assert!(head.starts_with("http/1.1 204"), "{head}");
    let cookie =
        head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap().split(';').next().unwrap();
    let (_, json) = ask_at(door, get(door, "/v1/overview", &format!("Cookie: {cookie}\r\n"))).await;
    assert_eq!(Overview::from_json(json.as_bytes()).unwrap().may, May::Change);
    assert!(house.doors.disable(door) && !house.doors.disable(door));
}

#[tokio::test]
async fn the_socket_does_what_the_page_can_ask_for() {
    let house = open(socket).unwrap();
    let json = |path, body: &str| post("localhost", path, "application/json", body);
    let (head, code) = ask_socket(&house, json("/v1/members/add", r#"{"name":"Ida","kind":"phone"}"#)).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(code, r#"{"image":"/v1/codes/1","link":null,"until":9}"#);
    assert_eq!(ask_socket(&house, get("localhost", "/v1/codes/1", "")).await.1, "<svg/>");
    let (head, says) = ask_socket(&house, json("/v1/everybody", r#"{"until":null}"#)).await;
    assert!(head.starts_with("http/1.1 409"), "{head}");
    assert_eq!(says, r#"{"says":"Not now."}"#);
    let (head, _) = ask_socket(&house, json("/v1/members/add", r#"{"name":"a\nb","kind":"phone"}"#)).await;
    assert!(head.starts_with("http/1.1 400"), "{head}");
    let (head, _) = ask_socket(&house, get("localhost", "/v1/overview?why=nobody", "")).await;
    assert!(head.starts_with("http/1.1 400"), "{head}");
    assert_eq!(house.record.actions.lock().unwrap().len(), 2, "what makes no sense does not reach the home");
    let (_, document) = ask_socket(&house, get("localhost", "/v1/openapi.json", "")).await;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert!(document["paths"]["/v1/overview"].is_object());
}

#[tokio::test]
async fn members_look_by_their_address() {
    let may_look = |_: &Path| {
        let members: Arc<dyn Fn(IpAddr) -> bool + Send + Sync> = Arc::new(|from| from.is_loopback());
        Settings { look: Some((LOOPBACK.parse().unwrap(), members)), ..Settings::default() }
    };
    let house = open(may_look).unwrap();
    let door = house.doors.look().unwrap();
    let (_, json) = ask_at(door, get(door, "/v1/overview", "")).await;
    assert_eq!(Overview::from_json(json.as_bytes()).unwrap().may, May::Look);
    assert_eq!(*house.record.asked.lock().unwrap(), [(May::Look, None)]);
    let (head, _) = ask_at(door, post(door, "/v1/settings", "application/json", "{}")).await;
    assert!(head.starts_with("http/1.1 403"), "{head}");
}

#[tokio::test]
async fn a_door_that_cannot_be_opened_says_why() {
    let mut house = open(socket).unwrap();
    let public = house.doors.enable("203.0.113.1:80".parse().unwrap());
    assert!(matches!(public, Err(DoorsError::Bind(BindError::Public { .. }))), "{public:?}");
    let everywhere = house.doors.enable("0.0.0.0:0".parse().unwrap());
    assert!(matches!(everywhere, Err(DoorsError::Bind(BindError::Public { .. }))), "{everywhere:?}");
    let foreign = house.doors.enable("10.255.255.1:0".parse().unwrap());
    assert!(matches!(foreign, Err(DoorsError::Bind(BindError::Listen { .. }))), "{foreign:?}");
    let path = house.folder.path().join("page.sock");
    let settings = Settings { socket: Some(path.clone()), ..Settings::default() };
    let again = Doors::open(settings.clone(), Recorded(Arc::default()), Arc::default());
    assert!(matches!(again, Err(DoorsError::Bind(BindError::InUse { .. }))), "{again:?}");
    drop(std::os::unix::net::UnixListener::bind(house.folder.path().join("left")).unwrap());
    let left = Settings { socket: Some(house.folder.path().join("left")), ..Settings::default() };
    let reopened = Doors::open(left, Recorded(Arc::default()), Arc::default()).unwrap();
    drop(reopened);
    assert!(!house.folder.path().join("left").exists() && path.exists(), "each takes its own away");
    for _ in 0..8 {
        house.doors.enable(LOOPBACK.parse().unwrap()).unwrap();
    }
    let ninth = house.doors.enable(LOOPBACK.parse().unwrap());
    assert!(matches!(ninth, Err(DoorsError::Full { .. })), "{ninth:?}");
    assert_eq!(house.doors.with_link().count(), 8);
}
