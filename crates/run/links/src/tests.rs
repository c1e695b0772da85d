//! Homes that link over the loopback device.

use crate::{Config, ExchangeLinks, KnownAddress, LinkEvent, Links, NeighbourEvent, Neighbours, Started};
use guestright_channel::{Credentials, connect_home};
use guestright_credit::{HoldId, Message, frame};
use guestright_directory::{self as directory, Address, HomeHint, HomeMessage};
use guestright_identity::{Certificate, KeyId, Role, SecretKey, Suite};
use guestright_units::{Bytes, Micros, TeamId, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What does not come within this does not come.
const NEVER: Duration = Duration::from_millis(300);
/// And what comes, comes within this.
const SOON: Duration = Duration::from_secs(10);

/// A home with its links.
struct Home {
    links: Links,
    exchange: ExchangeLinks,
    neighbours: Neighbours,
    events: mpsc::Receiver<NeighbourEvent>,
    team: TeamId,
    at: SocketAddr,
}

/// The home of team `number`; it has another key with another `key`.
fn credentials(number: u64, key: u64) -> Credentials {
    let team = SecretKey::generate(Suite::Ed25519, &mut StdRng::seed_from_u64(number));
    let key = SecretKey::generate(Suite::EcdsaP256, &mut StdRng::seed_from_u64(1_000 + 10 * number + key));
    let until = UnixSeconds(u64::from(u32::MAX));
    let certificate = Certificate::issue(&team, key.public(), Role::Home, UnixSeconds(0), until);
    Credentials { key, certificate }
}

/// Tests do not wait half a minute.
fn config() -> Config {
    let soon = Micros::from_millis(100);
    Config { redial_after: soon, address_rest: soon, may_call_loopback: true, ..Config::default() }
}

impl Home {
    async fn new(number: u64) -> Self {
        Self::start(credentials(number, 0), "127.0.0.1:0".parse().unwrap(), &config(), Vec::new()).await
    }

    async fn start(
        credentials: Credentials,
        at: SocketAddr,
        config: &Config,
        known: Vec<KnownAddress>,
    ) -> Self {
        let listener = Links::listen(at).await.unwrap();
        let at = listener.local_addr().unwrap();
        let team = credentials.certificate.team_id();
        let Started { links, exchange, neighbours, events } =
            Links::start(listener, credentials, config, known);
        Self { links, exchange, neighbours, events, team, at }
    }

    fn address(&self) -> Address {
        self.at.to_string().parse().unwrap()
    }

    async fn next(&mut self) -> NeighbourEvent {
        tokio::time::timeout(SOON, self.events.recv()).await.expect("it comes soon").expect("they run")
    }

    async fn hears_nothing(&mut self) -> bool {
        tokio::time::timeout(NEVER, self.events.recv()).await.is_err()
    }

    async fn next_for_exchange(&mut self) -> LinkEvent {
        tokio::time::timeout(SOON, self.exchange.recv()).await.expect("it comes soon").expect("they run")
    }
}

/// Frame number so and so.
fn numbered(number: u64) -> Vec<u8> {
    frame(&Message::Refused { id: HoldId([7; 24]), available: Bytes(number) })
}

#[tokio::test]
async fn a_frame_that_was_kept_arrives_with_the_team_that_was_proven() {
    let (mut a, mut b) = (Home::new(1).await, Home::new(2).await);
    assert!(!a.neighbours.send(b.team, numbered(1)), "nobody knows where");
    a.neighbours.learn(b.team, b.address());
    assert!(a.neighbours.send(b.team, numbered(1)) && a.neighbours.send(b.team, numbered(2)));
    assert!(!a.neighbours.is_up(b.team));
    assert_eq!(a.next().await, NeighbourEvent::Up(b.team));
    assert_eq!(b.next().await, NeighbourEvent::Up(a.team));
    for number in [1, 2] {
        assert_eq!(b.next().await, NeighbourEvent::Frame { team: a.team, bytes: numbered(number) });
    }
    // Back over the same link, by a home that never was given an address.
    assert!(b.neighbours.is_up(a.team) && b.neighbours.send(a.team, numbered(3)));
    assert_eq!(a.next().await, NeighbourEvent::Frame { team: b.team, bytes: numbered(3) });
    let proven = KnownAddress { team: b.team, address: b.address(), is_proven: true };
    assert_eq!(a.neighbours.addresses(), [proven]);
    assert!(!a.neighbours.send(b.team, b"OPTIONS".to_vec()), "that is not about credit");
}

/// What phones' access points ask goes to the loop too, and a flood of it holds up no accounts.
#[tokio::test]
async fn phones_that_join_have_a_pace_of_their_own() {
    a_flood_of_a_kind_holds_up_no_accounts([0xfe, 1]).await;
}

/// And where homes of other teams are. What is asked about members is the exchange's.
#[tokio::test]
async fn who_looks_for_homes_has_a_pace_of_its_own() {
    a_flood_of_a_kind_holds_up_no_accounts([0x82, 7]).await;
    let (mut a, mut b) = (Home::new(1).await, Home::new(2).await);
    b.neighbours.learn(a.team, a.address());
    let unknown = HomeMessage::Unknown { reference: 7 }.emit();
    let about_a_member = directory::Message::Ask { reference: 7, member: KeyId([7; 24]) }.emit();
    assert!(!b.neighbours.send(a.team, about_a_member.clone()), "that is for the exchange to ask");
    assert!(b.neighbours.send(a.team, unknown.clone()));
    assert_eq!(a.next().await, NeighbourEvent::Up(b.team));
    assert_eq!(a.next().await, NeighbourEvent::Frame { team: b.team, bytes: unknown });
    let LinkEvent::Up(linked) = b.next_for_exchange().await else { panic!("a link") };
    assert!(b.exchange.send_on(linked.link, about_a_member.clone()));
    assert!(matches!(a.next_for_exchange().await, LinkEvent::Up(_)));
    let LinkEvent::Frame(_, bytes) = a.next_for_exchange().await else { panic!("a frame") };
    assert_eq!(bytes, about_a_member);
}

async fn a_flood_of_a_kind_holds_up_no_accounts(kind: [u8; 2]) {
    let (mut a, mut b) = (Home::new(1).await, Home::new(2).await);
    let eap = |length: usize| [kind.to_vec(), vec![0; length]].concat();
    a.neighbours.learn(b.team, b.address());
    assert!(a.neighbours.send(b.team, eap(17)));
    assert_eq!(a.next().await, NeighbourEvent::Up(b.team));
    assert_eq!(b.next().await, NeighbourEvent::Up(a.team));
    assert_eq!(b.next().await, NeighbourEvent::Frame { team: a.team, bytes: eap(17) });
    assert!(!a.neighbours.send(b.team, eap(5_000)), "no message is so long");
    let began = std::time::Instant::now();
    let mut sent = 1;
    while began.elapsed() < Duration::from_secs(5)
        && !b.neighbours.dropped().contains_key("too many of one team")
    {
        sent += u64::from(a.neighbours.send(b.team, eap(17)));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(sent > 100 && b.neighbours.dropped().contains_key("too many of one team"), "{sent}");
    assert!(a.neighbours.send(b.team, numbered(9)));
    loop {
        let event = b.next().await;
        if event == (NeighbourEvent::Frame { team: a.team, bytes: numbered(9) }) {
            break;
        }
        assert_eq!(event, NeighbourEvent::Frame { team: a.team, bytes: eap(17) });
    }
}

#[tokio::test]
async fn the_exchange_and_the_loop_share_one_link() {
    let (mut a, mut b) = (Home::new(1).await, Home::new(2).await);
    let (key_a, key_b) =
        (credentials(1, 0).certificate.subject_id(), credentials(2, 0).certificate.subject_id());
    a.neighbours.learn(b.team, b.address());
    assert!(a.neighbours.connect(b.team));
    let LinkEvent::Up(linked) = a.next_for_exchange().await else { panic!("no link") };
    assert_eq!((linked.home, linked.called), (key_b, Some(b.address())));
    assert!(matches!(b.next_for_exchange().await, LinkEvent::Up(linked) if linked.home == key_a));
    assert!(a.exchange.send(key_b, b"OPTIONS".to_vec()) && a.neighbours.send(b.team, numbered(1)));
    assert!(a.exchange.send_on(linked.link, vec![0x83, 1, 2]));
    for want in [b"OPTIONS".to_vec(), vec![0x83, 1, 2]] {
        assert!(matches!(b.next_for_exchange().await, LinkEvent::Frame(_, bytes) if bytes == want));
    }
    assert_eq!(b.next().await, NeighbourEvent::Up(a.team));
    assert_eq!(b.next().await, NeighbourEvent::Frame { team: a.team, bytes: numbered(1) });
    assert_eq!((a.exchange.count(), b.exchange.count()), (1, 1));
    // When the exchange gives the link up, the loop learns of it at both ends, and the exchange at the other.
    assert_eq!(a.exchange.remove(linked.link), Some(key_b));
    assert_eq!(a.next().await, NeighbourEvent::Up(b.team));
    assert_eq!(a.next().await, NeighbourEvent::Down(b.team));
    assert_eq!(b.next().await, NeighbourEvent::Down(a.team));
    assert!(matches!(b.next_for_exchange().await, LinkEvent::Down(_)));
    // It has the address since then.
    assert!(a.exchange.send(key_b, b"BYE".to_vec()));
}

#[tokio::test]
async fn an_exchange_that_calls_nobody_is_notified() {
    let mut a = Home::new(1).await;
    let hint = HomeHint { address: "127.0.0.1:1".parse().unwrap(), key: None };
    a.exchange.connect(hint.clone());
    assert!(matches!(a.next_for_exchange().await, LinkEvent::Failed(failed) if failed == hint));
    assert_eq!(a.exchange.failed(&hint), None);
}

#[tokio::test]
async fn a_wrong_address_costs_one_connection_and_no_frame() {
    let (mut a, mut liar, mut b) = (Home::new(1).await, Home::new(2).await, Home::new(3).await);
    a.neighbours.learn(b.team, b.address());
    a.neighbours.learn(b.team, liar.address());
    assert!(a.neighbours.send(b.team, numbered(1)));
    assert_eq!(a.next().await, NeighbourEvent::Up(b.team), "the other address was right");
    assert_eq!(b.next().await, NeighbourEvent::Up(a.team));
    assert_eq!(b.next().await, NeighbourEvent::Frame { team: a.team, bytes: numbered(1) });
    assert!(liar.hears_nothing().await && liar.exchange.count() == 0, "it does not even learn who called");
    assert_eq!(a.neighbours.addresses().len(), 1, "the lie is forgotten");

    let mut c = Home::new(4).await;
    c.neighbours.learn(b.team, liar.address());
    assert!(c.neighbours.send(b.team, numbered(2)) && c.neighbours.send(b.team, numbered(3)));
    assert_eq!(c.next().await, NeighbourEvent::Unreachable(b.team));
    assert!(!c.neighbours.send(b.team, numbered(4)) && c.neighbours.addresses().is_empty());
    assert!(liar.hears_nothing().await && b.hears_nothing().await);
}

#[tokio::test]
async fn what_is_no_home_is_called_once_and_not_at_every_frame() {
    let mut a = Home::start(
        credentials(1, 0),
        "127.0.0.1:0".parse().unwrap(),
        &Config { address_rest: Micros::from_seconds(30), ..config() },
        Vec::new(),
    )
    .await;
    let somebody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: Address = somebody.local_addr().unwrap().to_string().parse().unwrap();
    let calls = tokio::spawn(async move {
        let mut calls = 0;
        while tokio::time::timeout(Duration::from_secs(2), somebody.accept()).await.is_ok() {
            calls += 1;
        }
        calls
    });
    // The same lie about many teams, each of which is wanted.
    for number in 0..20 {
        let team = TeamId([number; 24]);
        a.neighbours.learn(team, address.clone());
        a.neighbours.send(team, numbered(1));
    }
    assert_eq!(calls.await.unwrap(), 1);
    assert!(matches!(a.next().await, NeighbourEvent::Unreachable(_)));
}

#[tokio::test]
async fn nobody_is_sent_to_this_computer_by_what_others_say() {
    let victim = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let strict = Config { may_call_loopback: false, ..config() };
    let mut a = Home::start(credentials(1, 0), "127.0.0.1:0".parse().unwrap(), &strict, Vec::new()).await;
    let team = TeamId([9; 24]);
    a.neighbours.learn(team, victim.local_addr().unwrap().to_string().parse().unwrap());
    assert!(a.neighbours.send(team, numbered(1)));
    assert_eq!(a.next().await, NeighbourEvent::Unreachable(team));
    assert!(tokio::time::timeout(NEVER, victim.accept()).await.is_err());
}

#[tokio::test]
async fn a_flood_of_frames_is_cut_to_the_pace_and_others_are_not_held_up() {
    const FLOOD: u64 = 2_000;
    let (mut a, mut c) = (Home::new(1).await, Home::new(3).await);
    // A home that keeps to no limit.
    let evil = credentials(2, 0);
    let now = guestright_clock::unix_seconds();
    let stream = TcpStream::connect(a.at).await.unwrap();
    let (channel, _) = connect_home(stream, &evil, None, now).await.unwrap();
    let (mut sender, _keep) = channel.split();
    assert_eq!(a.next().await, NeighbourEvent::Up(evil.certificate.team_id()));
    let began = std::time::Instant::now();
    let (team, address, friend) = (a.team, a.address(), c.team);
    let sending = async {
        for number in 0..FLOOD {
            sender.send(&numbered(number)).await.unwrap();
        }
        sender.send(&[vec![0xff, 1], vec![0; 60_000]].concat()).await.unwrap();
        c.neighbours.learn(team, address);
        assert!(c.neighbours.send(team, numbered(7)));
    };
    // Meanwhile: if sending takes long, more is let through than the queue has room for.
    let receiving = async {
        let (mut of_evil, mut of_c) = (0, 0);
        // The last frame of the flood was looked at, and the queue is empty.
        while of_c == 0 || !a.neighbours.dropped().contains_key("too long") || !a.events.is_empty() {
            match tokio::time::timeout(Duration::from_millis(10), a.events.recv()).await {
                Ok(Some(NeighbourEvent::Frame { team, .. })) if team == friend => of_c += 1,
                Ok(Some(NeighbourEvent::Frame { .. })) => of_evil += 1,
                Ok(Some(event)) => assert_eq!(event, NeighbourEvent::Up(friend)),
                Ok(None) => panic!("they run"),
                Err(_) => {}
            }
        }
        of_evil
    };
    let ((), of_evil) = tokio::join!(sending, receiving);
    // One hundred at once, and fifty for each second that it took.
    let most = 101 + u64::try_from(began.elapsed().as_millis()).unwrap() * 50 / 1_000;
    assert!((100..=most).contains(&of_evil), "{of_evil} of {FLOOD}");
    assert_eq!(a.neighbours.dropped()["too many of one team"], FLOOD - of_evil);
    assert_eq!(c.next().await, NeighbourEvent::Up(a.team));
}

#[tokio::test]
async fn a_loop_that_is_behind_loses_frames_and_no_links() {
    let mut a = Home::start(
        credentials(1, 0),
        "127.0.0.1:0".parse().unwrap(),
        &Config { frames_per_second_max: 10_000, ..config() },
        Vec::new(),
    )
    .await;
    let mut b = Home::new(2).await;
    b.neighbours.learn(a.team, a.address());
    assert!(b.neighbours.connect(a.team));
    assert_eq!(b.next().await, NeighbourEvent::Up(a.team));
    let mut sent = 0;
    while sent < 1_000 {
        sent += usize::from(b.neighbours.send(a.team, numbered(1)));
        tokio::task::yield_now().await;
    }
    while a.neighbours.dropped().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(a.next().await, NeighbourEvent::Up(b.team));
    assert!(a.neighbours.is_up(b.team) && a.events.len() <= 256);
}

#[tokio::test]
async fn a_home_that_comes_back_is_reached_again() {
    let patient = Config { redial_after: Micros::from_seconds(2), ..config() };
    let anywhere = "127.0.0.1:0".parse().unwrap();
    let mut a = Home::start(credentials(1, 0), anywhere, &patient, Vec::new()).await;
    let mut b = Home::new(2).await;
    a.neighbours.learn(b.team, b.address());
    assert!(a.neighbours.send(b.team, numbered(1)));
    assert_eq!(a.next().await, NeighbourEvent::Up(b.team));
    assert_eq!(b.next().await, NeighbourEvent::Up(a.team));
    let (at, team) = (b.at, b.team);
    b.links.stop();
    assert_eq!(a.next().await, NeighbourEvent::Down(team));
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(a.neighbours.send(team, numbered(2)), "it is tried");
    assert_eq!(a.next().await, NeighbourEvent::Unreachable(team));
    assert!(!a.neighbours.send(team, numbered(3)), "not so soon");

    let mut b = Home::start(credentials(2, 0), at, &config(), Vec::new()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(a.neighbours.send(team, numbered(4)));
    assert_eq!(a.next().await, NeighbourEvent::Up(team));
    assert_eq!(b.next().await, NeighbourEvent::Up(a.team));
    assert_eq!(b.next().await, NeighbourEvent::Frame { team: a.team, bytes: numbered(4) });

    // And after a new start of the caller, with what it kept.
    let known = a.neighbours.addresses();
    let Home { links, at, .. } = a;
    links.stop();
    assert_eq!(b.next().await, NeighbourEvent::Down(a.team));
    let a = Home::start(credentials(1, 0), at, &config(), known).await;
    assert!(a.neighbours.send(team, numbered(5)));
    assert_eq!(b.next().await, NeighbourEvent::Up(a.team));
    assert_eq!(b.next().await, NeighbourEvent::Frame { team: a.team, bytes: numbered(5) });
}

#[tokio::test]
async fn both_may_call_at_once() {
    let (mut a, mut b) = (Home::new(1).await, Home::new(2).await);
    a.neighbours.learn(b.team, b.address());
    b.neighbours.learn(a.team, a.address());
    assert!(a.neighbours.send(b.team, numbered(1)) && b.neighbours.send(a.team, numbered(2)));
    let (team_a, team_b) = (a.team, b.team);
    for (home, other, number) in [(&mut a, team_b, 2), (&mut b, team_a, 1)] {
        assert_eq!(home.next().await, NeighbourEvent::Up(other));
        assert_eq!(home.next().await, NeighbourEvent::Frame { team: other, bytes: numbered(number) });
        assert!(home.hears_nothing().await, "one team comes up once");
    }
    assert!(a.neighbours.send(b.team, numbered(3)) && b.neighbours.send(a.team, numbered(4)));
    assert_eq!(a.next().await, NeighbourEvent::Frame { team: b.team, bytes: numbered(4) });
    assert_eq!(b.next().await, NeighbourEvent::Frame { team: a.team, bytes: numbered(3) });
}

#[tokio::test]
async fn the_newest_link_of_a_team_counts_and_the_older_one_when_it_ends() {
    let mut a = Home::new(1).await;
    let now = guestright_clock::unix_seconds();
    let mut homes = Vec::new();
    for key in [0, 1] {
        let stream = TcpStream::connect(a.at).await.unwrap();
        homes.push(connect_home(stream, &credentials(2, key), None, now).await.unwrap().0.split());
        assert!(matches!(a.next_for_exchange().await, LinkEvent::Up(_)));
    }
    let team = credentials(2, 0).certificate.team_id();
    assert_eq!(a.next().await, NeighbourEvent::Up(team));
    assert!(a.neighbours.send(team, numbered(1)));
    let (newer, mut older) = (homes.pop().unwrap(), homes.pop().unwrap());
    let mut receive = newer.1;
    assert_eq!(receive.receive().await.unwrap(), Some(numbered(1)));
    // Either may speak for the team.
    older.0.send(&numbered(2)).await.unwrap();
    assert_eq!(a.next().await, NeighbourEvent::Frame { team, bytes: numbered(2) });
    drop((newer.0, receive));
    assert!(matches!(a.next_for_exchange().await, LinkEvent::Down(_)));
    assert!(a.neighbours.send(team, numbered(3)));
    assert_eq!(older.1.receive().await.unwrap(), Some(numbered(3)));
    assert!(a.hears_nothing().await, "the team was never down");
    drop(older);
    assert_eq!(a.next().await, NeighbourEvent::Down(team));
}

#[tokio::test]
async fn another_home_of_the_own_team_is_no_neighbour() {
    let mut a = Home::new(1).await;
    let now = guestright_clock::unix_seconds();
    let stream = TcpStream::connect(a.at).await.unwrap();
    let (channel, _) = connect_home(stream, &credentials(1, 1), None, now).await.unwrap();
    let (mut sender, _keep) = channel.split();
    assert!(matches!(a.next_for_exchange().await, LinkEvent::Up(_)), "the exchange may have it");
    sender.send(&numbered(1)).await.unwrap();
    assert!(a.hears_nothing().await && !a.neighbours.is_up(a.team));
    assert_eq!(a.neighbours.dropped()["own team"], 1);
    a.neighbours.learn(a.team, a.address());
    assert!(!a.neighbours.send(a.team, numbered(1)) && !a.neighbours.connect(a.team));
}

#[tokio::test]
async fn a_home_without_an_exchange_has_neighbours_all_the_same() {
    let (mut a, mut b) = (Home::new(1).await, Home::new(2).await);
    drop(std::mem::replace(&mut a.exchange, Home::new(3).await.exchange));
    b.neighbours.learn(a.team, a.address());
    assert!(b.neighbours.send(a.team, numbered(1)));
    assert_eq!(a.next().await, NeighbourEvent::Up(b.team));
    assert_eq!(a.next().await, NeighbourEvent::Frame { team: b.team, bytes: numbered(1) });
    assert!(b.exchange.send(credentials(1, 0).certificate.subject_id(), b"OPTIONS".to_vec()));
    while a.neighbours.dropped().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(a.neighbours.dropped()["no exchange"], 1);
    assert_eq!(b.next().await, NeighbourEvent::Up(a.team));
}
