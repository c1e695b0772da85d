//! Too much, too long, too slow, too often.

use crate::house::{Answer, House, ask, ask_on, closed, connect, get, post, read};
use guestright_web::{Config, Refused};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

#[tokio::test]
async fn a_request_has_sixteen_kibibytes() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    let filler = |length: usize| "x".repeat(length);
    assert_eq!(ask(1, door, &post(door, "/v1/block", &cookie, &filler(15_000))).await.status, 204);
    assert_eq!(ask(1, door, &post(door, "/v1/block", &cookie, &filler(16_384))).await.status, 413);
    let long = format!("X-Long: {}\r\n{cookie}", filler(10_000));
    assert_eq!(
        ask(1, door, &post(door, "/v1/block", &long, &filler(8_000))).await.status,
        413,
        "both count together"
    );
    let head = format!("X-Long: {}\r\n", filler(20_000));
    assert_eq!(ask(1, door, &get(door, "/", &head)).await.status, 431);
    assert_eq!(ask(1, door, &get(door, &format!("/{}", filler(20_000)), "")).await.status, 431);
    let many = "a: b\r\n".repeat(200);
    assert_eq!(ask(1, door, &get(door, "/", &many)).await.status, 431);
    // A length that is a lie: the body is not waited for, and not kept.
    let lie =
        post(door, "/v1/block", &cookie, "").replace("Content-Length: 0", "Content-Length: 99999999999");
    assert_eq!(ask(1, door, &lie).await.status, 413);
    assert_eq!(house.acts(), 1);
}

#[tokio::test]
async fn garbage_is_no_request() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    let chunked = |body: &str| {
        post(door, "/v1/block", &cookie, body)
            .replace("Content-Length:", "Transfer-Encoding: chunked\r\nX-Was:")
    };
    assert_eq!(ask(1, door, &chunked("2\r\n{}\r\n0\r\n\r\n")).await.status, 204);
    for garbage in ["zz\r\n{}\r\n0\r\n\r\n", "-1\r\n{}\r\n", "ffffffffffffffffff\r\n{}", "2\r\n{}xx0\r\n\r\n"]
    {
        let mut stream = connect(1, door).await;
        assert_eq!(ask_on(&mut stream, &chunked(garbage)).await.status, 400, "{garbage:?}");
        closed(&mut stream).await; // What follows is no next request.
    }
    let endless = format!("4001\r\n{}", "x".repeat(0x4001));
    assert_eq!(ask(1, door, &chunked(&endless)).await.status, 413);
    for garbage in [
        "\0\0\0\0\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02\x00\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = connect(1, door).await;
        stream.write_all(garbage.as_bytes()).await.unwrap();
        if let Some(Answer { status, .. }) = read(&mut stream).await {
            assert!((400..506).contains(&status), "{garbage:?}: {status}");
        }
        closed(&mut stream).await;
    }
    assert_eq!(house.acts(), 1);
    assert_eq!(ask(1, door, &get(door, "/", "")).await.status, 200);
}

#[tokio::test]
async fn who_is_slow_is_not_waited_for() {
    let short = Duration::from_millis(200);
    let config = Config { head_max: short, body_max: short, idle_max: short * 2, ..Config::default() };
    let house = House::open(config).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    let mut silent = connect(2, door).await;
    let mut slow = connect(3, door).await;
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").await.unwrap();
    let mut once = connect(4, door).await;
    assert_eq!(ask_on(&mut once, &get(door, "/", "")).await.status, 200);
    let mut half = connect(5, door).await;
    assert_eq!(ask_on(&mut half, &get(door, "/", "")).await.status, 200);
    half.write_all(b"GET / HT").await.unwrap();
    // Each of these ends, or this test does not.
    for stream in [&mut silent, &mut slow, &mut once, &mut half] {
        closed(stream).await;
    }
    // A byte now and then is no silence, but it is no request either.
    let (mut reading, mut dripping) = connect(6, door).await.into_split();
    dripping.write_all(b"GET / HTTP/1.1\r\nX: ").await.unwrap();
    let drip = async {
        while dripping.write_all(b"x").await.is_ok() {
            tokio::time::sleep(short / 4).await;
        }
    };
    tokio::select! {
        () = closed(&mut reading) => {}
        () = drip => {}
    }
    let request = post(door, "/v1/block", &cookie, "{}").replace("Content-Length: 2", "Content-Length: 3");
    assert_eq!(ask(1, door, &request).await.status, 408);
    assert_eq!((house.acts(), (house.refused)(Refused::Slow)), (0, 1));
}

#[tokio::test]
async fn a_door_has_thirty_two_connections_and_nobody_takes_all() {
    let house = House::open(Config::default()).await;
    let door = house.link_door;
    let mut open = Vec::new();
    for from in 1..=4 {
        for _ in 0..8 {
            let mut stream = connect(from, door).await;
            assert_eq!(ask_on(&mut stream, &get(door, "/", "")).await.status, 200);
            open.push(stream);
        }
        let mut ninth = connect(from, door).await;
        assert_eq!(read(&mut ninth).await.unwrap().status, 503, "one address has eight");
    }
    let mut thirty_third = connect(5, door).await;
    assert_eq!(read(&mut thirty_third).await.unwrap().status, 503);
    assert_eq!((house.refused)(Refused::Connection), 5);
    let other = house.other_link_door;
    assert_eq!(ask(5, other, &get(other, "/", "")).await.status, 200, "another door has room");
    drop(open.pop());
    loop {
        let mut next = connect(5, door).await;
        let _: std::io::Result<()> = next.write_all(get(door, "/", "").as_bytes()).await;
        match read(&mut next).await {
            Some(answer) if answer.status == 200 => break,
            Some(_) | None => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn requests_behind_each_other_are_answered_in_order_and_counted_one_by_one() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    let mut stream = connect(1, door).await;
    // The second one is inside the first one's body, and no request.
    let inside = get(door, "/v1/overview?why=inside", &cookie);
    let requests = post(door, "/v1/block", &cookie, &inside) + &get(door, "/v1/overview?why=after", &cookie);
    stream.write_all(requests.as_bytes()).await.unwrap();
    assert_eq!(read(&mut stream).await.unwrap().status, 204);
    assert_eq!(read(&mut stream).await.unwrap().body, "Change after ");
    assert_eq!(*house.record.acts.lock().unwrap(), [format!("/v1/block {inside}")]);
    let mut stream = connect(2, door).await;
    stream.write_all(get(door, "/", "").repeat(60).as_bytes()).await.unwrap();
    let mut statuses = Vec::new();
    while let Some(answer) = read(&mut stream).await {
        statuses.push(answer.status);
    }
    let mut want = vec![200; 50];
    want.push(429);
    assert_eq!(statuses, want, "fifty, a refusal, and the end of the connection");
}

#[derive(Debug, Default)]
struct Flood {
    answered: u32,
    refused: u32,
    closed: u32,
}

/// Sends so many requests in one connection after the other, 100 in each, and counts what comes.
async fn flood(door: std::net::SocketAddr, connections: u32) -> Flood {
    let requests = get(door, "/v1/overview", "").repeat(100);
    let mut flood = Flood::default();
    for _ in 0..connections {
        let mut stream = connect(2, door).await;
        let _: std::io::Result<()> = stream.write_all(requests.as_bytes()).await;
        let before = flood.answered + flood.refused;
        while let Some(answer) = read(&mut stream).await {
            match answer.status {
                401 => flood.answered += 1,
                429 | 503 => flood.refused += 1,
                other => panic!("{other}"),
            }
        }
        flood.closed += 100 - (flood.answered + flood.refused - before);
    }
    flood
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_requests_of_one_address_cost_nobody_else_an_answer() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    let began = Instant::now();
    let mut attackers: JoinSet<Flood> = (0..8).map(|_| flood(door, 13)).collect();
    let mut stream = connect(1, door).await;
    let mut seen = 0;
    for _ in 0..40 {
        let answer = ask_on(&mut stream, &get(door, "/v1/overview", &cookie)).await;
        seen += u32::from(answer.status == 200);
    }
    let mut all = Flood::default();
    while let Some(flood) = attackers.join_next().await {
        let flood = flood.unwrap();
        all.answered += flood.answered;
        all.refused += flood.refused;
        all.closed += flood.closed;
    }
    println!("{} requests in {:?}: {all:?}", 8 * 13 * 100, began.elapsed());
    // By a clock that stands still, there are fifty and no more.
    assert_eq!((seen, all.answered), (40, 50));
    assert_eq!(all.answered + all.refused + all.closed, 10_400);
    house.pass(1);
    assert_eq!(ask(2, door, &get(door, "/", "")).await.status, 200, "a second later it may ask again");
    let mut rest = String::new();
    drop(stream.shutdown().await);
    stream.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "");
}
