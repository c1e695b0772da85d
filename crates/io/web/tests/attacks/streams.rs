//! Streams of changes: what they cost, and when they end.

use crate::house::{House, MEMBER, ask_on, ask_socket, closed, connect, get};
use guestright_web::Config;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::TcpStream;

/// A stream that has answered.
async fn follow(
    from: u8,
    door: std::net::SocketAddr,
    path: &str,
    cookie: &str,
) -> Lines<BufReader<TcpStream>> {
    let mut stream = connect(from, door).await;
    // So that the connection ends with the stream.
    let headers = format!("Connection: close\r\n{cookie}");
    let answer = ask_on(&mut stream, &get(door, path, &headers)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("content-type: text/event-stream"));
    BufReader::new(stream).lines()
}

async fn next(lines: &mut Lines<BufReader<TcpStream>>) -> Option<String> {
    loop {
        let line = lines.next_line().await.ok()??;
        if let Some(event) = line.strip_prefix("data: ") {
            return Some(event.to_owned());
        }
    }
}

fn quick() -> Config {
    Config { event_gap_min: Duration::ZERO, heartbeat: Duration::from_millis(20), ..Config::default() }
}

#[tokio::test]
async fn nothing_is_made_while_nobody_looks_and_once_however_many_do() {
    let house = House::open(quick()).await;
    let cookie = house.sign_in(1).await;
    for _ in 0..100 {
        house.watch.changed();
    }
    assert_eq!((house.overviews(), house.watch.watchers()), (0, 0));
    let door = house.link_door;
    let mut one = follow(1, door, "/v1/events", &cookie).await;
    let mut two = follow(1, door, "/v1/events", &cookie).await;
    house.watch.looked_at().await;
    for made in 1..=5 {
        assert_eq!(next(&mut one).await.unwrap(), "Change - ");
        assert_eq!(next(&mut two).await.unwrap(), "Change - ");
        assert_eq!((house.overviews(), house.watch.watchers()), (made, 2));
        house.watch.changed();
    }
    let look = house.look_door;
    let mut member = follow(MEMBER, look, "/v1/events?why=00", "").await;
    assert_eq!(next(&mut member).await.unwrap(), "Look 00 ", "each sees what it may");
    drop((one, two, member));
    house.watch.looked_away().await;
    let before = house.overviews();
    house.watch.changed();
    assert_eq!(ask_socket(&house, &get("localhost", "/v1/overview", "")).await.status, 200);
    assert_eq!(house.overviews(), before + 1, "that one, and none for those who have gone");
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let house = House::open(quick()).await;
    let cookie = house.sign_in(1).await;
    let mut lines = follow(1, house.link_door, "/v1/events", &cookie).await;
    assert!(next(&mut lines).await.is_some());
    house.pass(1_800);
    assert_eq!(next(&mut lines).await, None, "to look at a stream is no use of a session");
    house.watch.looked_away().await;
}

#[tokio::test]
async fn who_does_not_read_holds_up_nobody_and_is_left() {
    let config = Config { idle_max: Duration::from_millis(300), ..quick() };
    let house = House::open(config).await;
    let cookie = house.sign_in(1).await;
    house.record.length.store(1 << 20, Ordering::SeqCst);
    let door = house.link_door;
    let mut stuck = connect(1, door).await;
    assert_eq!(ask_on(&mut stuck, &get(door, "/v1/events", &cookie)).await.status, 200);
    let mut reading = follow(1, door, "/v1/events", &cookie).await;
    house.watch.looked_at().await;
    // Far more than the kernel keeps for a connection.
    for _ in 0..50 {
        assert!(next(&mut reading).await.is_some());
        house.watch.changed();
    }
    while house.watch.watchers() > 1 {
        assert!(next(&mut reading).await.is_some());
        house.watch.changed();
    }
    closed(&mut stuck).await;
}
