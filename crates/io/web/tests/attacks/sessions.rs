//! Links and sessions that are stolen, used twice, guessed, too old or too many.

use crate::house::{Answer, House, MEMBER, ask, bare_post, connect, get, post, read_any};
use guestright_web::{Config, Refused};
use tokio::io::AsyncWriteExt as _;

#[tokio::test]
async fn a_link_opens_one_session_whoever_has_it_too() {
    let house = House::open(Config::default()).await;
    let link = (house.server_link)();
    assert_eq!(house.redeem(1, &link).await.status, 204);
    for from in [1, 2] {
        assert_eq!(house.redeem(from, &link).await.status, 403, "used up");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_use_a_link_at_once_one_gets_in() {
    let house = House::open(Config::default()).await;
    for _ in 0..20 {
        let link = (house.server_link)();
        let (one, other) = tokio::join!(house.redeem(1, &link), house.redeem(2, &link));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 403]);
        house.pass(60); // Or the loser has guessed too often.
    }
}

#[tokio::test]
async fn a_link_ends_after_ten_minutes() {
    let house = House::open(Config::default()).await;
    let link = (house.server_link)();
    house.pass(600);
    assert_eq!(house.redeem(1, &link).await.status, 403);
    let link = (house.server_link)();
    house.pass(599);
    assert_eq!(house.redeem(1, &link).await.status, 204);
}

#[tokio::test]
async fn who_guesses_links_is_stopped_and_the_household_is_not() {
    let house = House::open(Config::default()).await;
    let link = (house.server_link)();
    for number in 0..5 {
        assert_eq!(house.redeem(2, &format!("{number:f>32}")).await.status, 403);
    }
    assert_eq!(house.redeem(2, &link).await.status, 429, "not even if it is right at last");
    assert_eq!((house.refused)(Refused::Guessed), 1);
    assert_eq!(house.redeem(1, &link).await.status, 204);
}

#[tokio::test]
async fn a_cookie_is_good_at_one_door_from_one_address() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    let other = house.other_link_door;
    assert_eq!(ask(1, door, &get(door, "/v1/overview", &cookie)).await.status, 200);
    assert_eq!(ask(1, other, &get(other, "/v1/overview", &cookie)).await.status, 401, "another door");
    assert_eq!(ask(2, door, &get(door, "/v1/overview", &cookie)).await.status, 401, "another address");
    assert_eq!(ask(2, door, &post(door, "/v1/block", &cookie, "{}")).await.status, 401);
    let none = ask(1, door, &get(door, "/v1/overview", "")).await;
    assert_eq!(none.status, 401);
    assert!(none.body.contains("guestright home web --enable"), "{}", none.body);
    let set_by_another = format!("Cookie: guestright={}; a=b\r\n{cookie}", "0".repeat(32));
    assert_eq!(
        ask(1, door, &get(door, "/v1/overview", &set_by_another)).await.status,
        200,
        "nor is anybody locked out"
    );
    assert_eq!(house.acts(), 0);
    let look = house.look_door;
    assert_eq!(
        ask(MEMBER, look, &post(look, "/v1/block", &cookie, "{}")).await.status,
        403,
        "nor does it open more"
    );
}

#[tokio::test]
async fn the_seventeenth_session_ends_the_one_that_was_used_longest_ago() {
    let house = House::open(Config::default()).await;
    let door = house.link_door;
    let mut cookies = Vec::new();
    for _ in 0..16 {
        house.pass(1);
        cookies.push(house.sign_in(1).await);
    }
    house.pass(1);
    assert_eq!(ask(1, door, &get(door, "/v1/overview", &cookies[0])).await.status, 200);
    house.sign_in(1).await;
    let mut statuses = Vec::new();
    for cookie in &cookies {
        statuses.push(ask(1, door, &get(door, "/v1/overview", cookie)).await.status);
    }
    let mut want = [200; 16];
    want[1] = 401;
    assert_eq!(statuses, want);
}

#[tokio::test]
async fn a_session_ends_half_an_hour_after_it_was_used() {
    let house = House::open(Config::default()).await;
    let cookie = house.sign_in(1).await;
    let door = house.link_door;
    for _ in 0..3 {
        house.pass(1_799);
        assert_eq!(ask(1, door, &get(door, "/v1/overview", &cookie)).await.status, 200);
    }
    house.pass(1_800);
    assert_eq!(ask(1, door, &get(door, "/v1/overview", &cookie)).await.status, 401);
}

#[tokio::test]
async fn a_page_without_a_script_has_one_form_and_no_other_page_has_it() {
    let house = House::open(Config { has_sign_in_form: true, ..Config::default() }).await;
    let door = house.link_door;
    let send = async |request: String| -> Answer {
        let mut stream = connect(1, door).await;
        stream.write_all(request.as_bytes()).await.unwrap();
        read_any(&mut stream).await.unwrap()
    };
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let link = (house.server_link)();
    let sign_in = |origin: &str| {
        bare_post(door, "/v1/session", &format!("Origin: {origin}\r\n{form}"), &format!("link={link}"))
    };
    let before = send(get(door, "/", "")).await;
    assert_eq!(before.body, "the page", "without a session there is nothing of the household");
    assert!(before.head.contains("; form-action 'self'; frame-ancestors 'none'"), "{before:?}");
    assert!(
        before.head.contains("referrer-policy: same-origin"),
        "or the form would have no origin: {before:?}"
    );
    for origin in ["http://evil.example", "null"] {
        assert_eq!(send(sign_in(origin)).await.status, 403, "{origin}");
    }
    let signed_in = send(sign_in(&format!("http://{door}"))).await;
    assert_eq!(signed_in.status, 303);
    assert!(signed_in.head.contains("location: /\r\n"), "{signed_in:?}");
    let cookie = signed_in.cookie();
    assert_eq!(send(get(door, "/", &cookie)).await.body, "the household's page: Change");
    let other =
        bare_post(door, "/v1/block", &format!("Origin: http://{door}\r\n{form}{cookie}"), "blocked=1");
    assert_eq!((send(other).await.status, house.acts()), (415, 0), "no other form is taken");
}
