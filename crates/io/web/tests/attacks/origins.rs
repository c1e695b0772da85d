//! Other pages, other names, and doors that only look.

use crate::house::{House, MEMBER, ask, ask_socket, bare_post, get, post};
use guestright_web::{Config, Refused};

/// All that the page can ask for (`web/src/api/actions.ts`).
const ACTIONS: [&str; 10] = [
    "/v1/session",
    "/v1/guests/end",
    "/v1/block",
    "/v1/everybody",
    "/v1/members/add",
    "/v1/members/code",
    "/v1/members/renew",
    "/v1/members/revoke",
    "/v1/settings/dry-run",
    "/v1/settings",
];

#[tokio::test]
async fn another_origins_post_changes_nothing() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    let json = format!("X-Guestright: 1\r\nContent-Type: application/json\r\n{cookie}");
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        &format!("https://{door}"),
        &format!("http://localhost:{}", door.port()),
    ] {
        let request = bare_post(door, "/v1/everybody", &format!("Origin: {origin}\r\n{json}"), "{}");
        assert_eq!(ask(1, door, &request).await.status, 403, "{origin}");
    }
    assert_eq!(
        ask(1, door, &bare_post(door, "/v1/everybody", &json, "{}")).await.status,
        403,
        "no origin at all"
    );
    assert_eq!((house.acts(), (house.refused)(Refused::Origin)), (0, 6));
    let ours = ask(1, door, &post(door, "/v1/everybody", &cookie, "{}")).await;
    assert_eq!((ours.status, house.acts()), (204, 1), "its own page may");
}

#[tokio::test]
async fn a_form_cannot_send_what_changes_something() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    let origin = format!("Origin: http://{door}\r\n{cookie}");
    for content_type in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/json",
    ] {
        for path in ["/v1/block", "/v1/session"] {
            let request = bare_post(door, path, &format!("{origin}Content-Type: {content_type}\r\n"), "{}");
            assert_eq!(ask(1, door, &request).await.status, 415, "{content_type} without our header");
        }
    }
    for content_type in ["text/plain", "application/x-www-form-urlencoded"] {
        let headers = format!("{origin}X-Guestright: 1\r\nContent-Type: {content_type}\r\n");
        assert_eq!(
            ask(1, door, &bare_post(door, "/v1/block", &headers, "{}")).await.status,
            415,
            "{content_type}"
        );
    }
    assert_eq!(house.acts(), 0);
}

#[tokio::test]
async fn another_page_is_never_allowed_to_read() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    // What a browser asks before it sends our header from another page. `Answer::check` looks for any permission.
    let preflight = format!(
        "OPTIONS /v1/block HTTP/1.1\r\nHost: {door}\r\nOrigin: http://evil.example\r\n\
         Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-guestright\r\n\r\n"
    );
    assert_eq!(ask(1, door, &preflight).await.status, 405);
    for site in ["cross-site", "same-site"] {
        for path in ["/v1/overview", "/v1/events", "/v1/settings", "/v1/codes/1.svg"] {
            let request = get(door, path, &format!("Sec-Fetch-Site: {site}\r\n{cookie}"));
            assert_eq!(ask(1, door, &request).await.status, 403, "{site} {path}");
        }
    }
    assert_eq!(ask(1, door, &get(door, "/v1/overview", &cookie)).await.status, 200);
}

#[tokio::test]
async fn a_name_that_was_made_to_lead_here_reaches_nothing() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    let port = door.port();
    let names = [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "0.0.0.0",
        "127.1",
        "[::1]",
        "127.0.0.2",
    ];
    for name in names {
        let host = format!("{name}:{port}");
        for path in ["/", "/v1/overview", "/v1/events"] {
            assert_eq!(ask(1, door, &get(&host, path, &cookie)).await.status, 421, "{host}{path}");
        }
        let headers =
            format!("Origin: http://{host}\r\nX-Guestright: 1\r\nContent-Type: application/json\r\n{cookie}");
        assert_eq!(ask(1, door, &bare_post(&host, "/v1/block", &headers, "{}")).await.status, 421, "{host}");
        house.pass(1);
    }
    for request in
        ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", &get(door, "/", &format!("Host: {door}\r\n"))]
    {
        assert_eq!(ask(1, door, request).await.status, 421, "{request}");
    }
    assert_eq!((house.acts(), house.overviews()), (0, 0));
    assert_eq!(ask(1, door, &get(format!("localhost:{port}"), "/", "")).await.status, 200);
    assert_eq!(ask_socket(&house, &get("evil.example", "/v1/overview", "")).await.status, 421);
}

#[tokio::test]
async fn nothing_is_passed_on() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    for target in
        [format!("http://{door}/v1/overview"), "http://evil.example/".to_owned(), format!("https://{door}/")]
    {
        assert_eq!(ask(1, door, &get(door, &target, &cookie)).await.status, 421, "{target}");
    }
    let connect = format!("CONNECT {door} HTTP/1.1\r\nHost: {door}\r\n\r\n");
    assert_eq!(ask(1, door, &connect).await.status, 421);
    assert_eq!(house.overviews(), 0);
}

#[tokio::test]
async fn who_may_look_changes_nothing_and_sees_no_codes() {
    let house = House::open(Config::default()).await;
    let door = house.look_door;
    let seen = ask(MEMBER, door, &get(door, "/v1/overview", "")).await;
    assert_eq!((seen.status, seen.body.as_str()), (200, "Look - "));
    let cookie = house.sign_in(MEMBER).await;
    for path in ACTIONS {
        for cookie in ["", &cookie] {
            let answer = ask(MEMBER, door, &post(door, path, cookie, "{}")).await;
            assert_eq!(answer.status, 403, "{path}");
            assert!(answer.body.contains("You may look here"), "{path}: {}", answer.body);
        }
        for method in ["PUT", "DELETE", "PATCH"] {
            let request = post(door, path, &cookie, "{}").replacen("POST", method, 1);
            assert_eq!(ask(MEMBER, door, &request).await.status, 405, "{method} {path}");
        }
        house.pass(1);
    }
    for path in ["/v1/settings", "/v1/codes/1.svg"] {
        assert_eq!(ask(MEMBER, door, &get(door, path, &cookie)).await.status, 403, "{path}");
    }
    assert_eq!(house.acts(), 0);
    let stranger = ask(1, door, &get(door, "/", "")).await;
    assert_eq!((stranger.status, (house.refused)(Refused::Peer)), (403, 1), "and nobody else even looks");
}

#[tokio::test]
async fn the_programs_user_needs_no_link() {
    let house = House::open(Config::default()).await;
    let post = |path: &str| {
        bare_post("localhost", path, "X-Guestright: 1\r\nContent-Type: application/json\r\n", "{}")
    };
    assert_eq!(ask_socket(&house, &get("localhost", "/v1/overview?why=00", "")).await.body, "Change 00 ");
    assert_eq!(ask_socket(&house, &post("/v1/block")).await.status, 204);
    assert_eq!(ask_socket(&house, &post("/v1/nothing")).await.status, 404);
    assert_eq!(ask_socket(&house, &get("localhost", "/v1/codes/1.svg", "")).await.body, "<svg/>");
    assert_eq!(*house.record.acts.lock().unwrap(), ["/v1/block {}"]);
}

#[tokio::test]
async fn a_file_is_sent_as_the_client_takes_it() {
    let house = House::open(Config::default()).await;
    let door = house.link_door;
    let packed = ask(1, door, &get(door, "/", "Accept-Encoding: gzip, br\r\n")).await;
    assert!(packed.head.contains("content-encoding: gzip") && packed.head.contains("vary: accept-encoding"));
    assert!(!ask(1, door, &get(door, "/", "")).await.head.contains("content-encoding"));
    assert_eq!(ask(1, door, &get(door, "/", "If-None-Match: \"1\"\r\n")).await.status, 304);
    for path in ["/../secret", "/v1", "/index.html", "//", "/%2e%2e/"] {
        assert_eq!(ask(1, door, &get(door, path, "")).await.status, 404, "{path}");
    }
}
