//! A home that is killed while it takes receipts in, again and again.

use crate::town::{Program, guestright};
use guestright_channel::{Credentials, connect};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Bundle, Receipt, SessionKey};
use guestright_roaming::Message;
use guestright_roaming::message::Update;
use guestright_store::{Limits, Store};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::net::TcpStream;

const ROUNDS: u64 = 100;
/// Messages on their way in each round, and receipts in each message.
const MESSAGES: u64 = 12;
const RECEIPTS: u64 = 4;

/// The team, its access point's credentials, and a member of another team who signs.
struct Cast {
    team: TeamId,
    access_point: Credentials,
    member: SecretKey,
    certificate: Certificate,
    now: UnixSeconds,
}

fn cast(directory: &Path) -> Cast {
    let mut rng = StdRng::seed_from_u64(1);
    let mut key = || SecretKey::generate(Suite::Ed25519, &mut rng);
    let (team, home, router, other, member) = (key(), key(), key(), key(), key());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let now = UnixSeconds(now);
    let issue = |team: &SecretKey, key: &SecretKey, role| {
        Certificate::issue(team, key.public(), role, now.minus(86_400), now.plus(86_400))
    };
    let mut chance = StdRng::seed_from_u64(2);
    guestright_keys::write_secret(&directory.join("home.key"), &home, None, &mut chance)
        .expect("it is written");
    let certificate = issue(&team, &home, Role::Home);
    guestright_keys::write_certificate(&directory.join("home.cert"), &certificate).expect("it is written");
    let access_point = Credentials { certificate: issue(&team, &router, Role::AccessPoint), key: router };
    let certificate = issue(&other, &member, Role::Member);
    Cast { team: team.public().team_id(), access_point, member, certificate, now }
}

/// Starts the home at a port that is free, and returns where it says that it is.
fn start(directory: &Path) -> (Program, SocketAddr) {
    let settings = directory.join("home.toml");
    let text = "key = \"home.key\"\ncertificate = \"home.cert\"\nlisten = \"127.0.0.1:0\"\n[links]\nenabled = false\n";
    std::fs::write(&settings, text).expect("it is written");
    let mut command = guestright();
    command.arg("home").arg("--config").arg(settings);
    let home = Program::start(&mut command, &directory.join("home.log"));
    let line = home.hear_line("to be ready", |line| line.starts_with("home of team"));
    let address = line.split(" at ").nth(1).and_then(|rest| rest.split(": ").next()?.parse().ok());
    (home, address.unwrap_or_else(|| panic!("{line}")))
}

/// One round: sends everything at once, and kills the home as soon as `enough` messages are acknowledged. Returns the
/// sessions that were acknowledged.
async fn round(
    cast: &Cast,
    number: u64,
    address: SocketAddr,
    mut home: Program,
    enough: u64,
) -> Vec<(SessionKey, Bytes)> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let channel =
        connect(stream, &cast.access_point, cast.team, cast.now).await.expect("they are of one team").0;
    let (mut sender, mut receiver) = channel.split();
    let mut sent = BTreeMap::new();
    for message in 0..MESSAGES {
        let mut bundle = Bundle::default();
        bundle.certificates.push(cast.certificate.as_bytes().to_vec());
        let mut sessions = Vec::new();
        for index in 0..RECEIPTS {
            let started = cast.now.minus((number * MESSAGES + message) * RECEIPTS + index);
            let receipt =
                Receipt::sign(&cast.member, &cast.certificate, cast.team, started, Bytes(1_000 + index));
            sessions.push((receipt.session(), receipt.weight()));
            bundle.receipts.push(receipt.as_bytes().to_vec());
        }
        sent.insert(message, sessions);
        let message = Message::Rcpt { reference: Some(message), bundle, home: None };
        sender.send(&message.emit()).await.expect("it reads");
    }
    let mut acknowledged = Vec::new();
    let mut answers = 0;
    while answers < enough {
        let answer = receiver.receive().await.expect("it answers").expect("it stays until it is killed");
        match Message::parse(&answer) {
            Ok(Message::Updt { reference, what: Update::Taken { stored, refused: 0 } }) => {
                assert_eq!(u64::from(stored), RECEIPTS);
                acknowledged.extend(sent.remove(&reference).expect("it was asked"));
                answers += 1;
            }
            // Which devices it is not to serve.
            Ok(Message::Asks { .. }) => {}
            _ => panic!("an unexpected answer: {}", String::from_utf8_lossy(&answer)),
        }
    }
    home.kill();
    acknowledged
}

#[test]
fn no_acknowledged_receipt_is_lost_when_home_is_killed_a_hundred_times() {
    let directory = tempfile::tempdir().expect("there is room");
    let cast = cast(directory.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
    let mut acknowledged = Vec::new();
    for number in 0..ROUNDS {
        let (home, address) = start(directory.path());
        let enough = number * 7 % (MESSAGES + 1); // Also none, also all.
        acknowledged.extend(runtime.block_on(round(&cast, number, address, home, enough)));
    }
    let path = directory.path().join("home-state/receipts.sqlite");
    let store = Store::open(&path, Limits { receipts_max: u64::MAX, own_team: None })
        .expect("it opens after a hundred crashes");
    store.integrity_check().expect("the file is whole");
    assert!(acknowledged.len() > 1_000, "{} receipts were acknowledged", acknowledged.len());
    for (session, weight) in acknowledged {
        let kept = store.get(&session).expect("it can be read");
        assert_eq!(kept.map(|receipt| receipt.weight()), Some(weight), "{session:?}");
    }
}
