//! Requests that mean no good. The answer is always one of ours, and moves nothing.

use crate::states::{
    HOST, NAME, ORIGIN, TRIAL, ask, ask_plain, get, good_form, good_headers, guest, press, read, splash,
    token,
};
use guestright_splash::{Action, HEAD_BYTES_MAX, PROBES, Received, Standing, Transport};
use proptest::prelude::*;

/// Stands in everything that a hostile request brings, and in nothing of ours.
const MARK: &str = "zQ9xv";

fn stranger() -> guestright_splash::Guest {
    guest(Standing::Stranger, TRIAL)
}

#[test]
fn a_name_that_is_not_ours_gets_no_page_and_no_token() {
    let names = [
        "evil.example",
        "10.73.0.1.evil.example",
        "evil.example:80",
        "10.73.0.1:8080",
        "10.73.0.1:",
        "10.73.0.1.",
        "10.73.0.2",
        "user@10.73.0.1",
        "10.73.0.1@evil.example",
        "0x0a490001",
        "172752897",
        "10.73.1",
        "[::1]",
        "[::ffff:10.73.0.1]",
        "localhost",
        NAME,
        "captive.apple.com.evil.example",
        "evil.captive.apple.com",
        "captive.apple.com:8080",
        "captive.apple.com..",
        "",
        "10.73.0.1, 10.73.0.1",
    ];
    for name in names {
        let read = ask_plain(&get("/en", name, ""), &stranger());
        assert_eq!((read.status, read.action), (421, None), "{name}");
        assert!(!read.body.contains("Rivers") && !read.body.contains(&token().text()), "{name}");
        let read = ask_plain(&press(name, &good_headers(), &good_form()), &stranger());
        assert_eq!((read.status, read.action, read.body.as_str()), (421, None, ""), "{name}");
    }
    for probe in PROBES {
        let read = ask_plain(&press(probe.host, &good_headers(), &good_form()), &stranger());
        assert_eq!((read.status, read.action), (421, None));
    }
}

#[test]
fn nothing_but_our_own_page_presses_the_button() {
    let form = good_form();
    let other = format!("token={}&language=de", "1f".repeat(16));
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    let from = |origin: &str| format!("Origin: {origin}\r\n{kind}");
    #[rustfmt::skip]
    let cases = [
        (good_headers(), other.as_str()), (good_headers(), ""), (good_headers(), "token="), (good_headers(), "language=de"),
        (good_headers(), &form[..form.len() - 1]), (good_headers(), "token=5a&token=5a"),
        (from("http://evil.example"), &form), (from("null"), &form), (from("https://10.73.0.1"), &form),
        (from("http://10.73.0.1:8080"), &form), (from("http://10.73.0.1.evil.example"), &form),
        (from("http://10.73.0.1/"), &form), (from("HTTP://10.73.0.1"), &form), (from(""), &form),
        (format!("{kind}Sec-Fetch-Site: cross-site\r\n"), &form), (format!("{kind}Sec-Fetch-Site: none\r\n"), &form),
        (format!("{kind}Sec-Fetch-Site: same-site\r\n"), &form),
        // What a page of somebody else may send without being asked first (Fetch, "CORS-safelisted request-header").
        ("Content-Type: text/plain\r\n".to_owned(), &form), (String::new(), &form),
        ("Content-Type: multipart/form-data; boundary=x\r\n".to_owned(), &form),
    ];
    for (headers, form) in cases {
        let read = ask_plain(&press(HOST, &headers, form), &stranger());
        assert_eq!((read.status, read.action), (403, None), "{headers}{form}");
        assert!(!read.body.contains(&token().text()));
    }
    let doubled = format!("{form}&token={}", token().text());
    assert_eq!(ask_plain(&press(HOST, &good_headers(), &doubled), &stranger()).action, None);
    // Browsers without Fetch Metadata, and old ones without an origin on forms.
    assert_eq!(ask_plain(&press(HOST, kind, &form), &stranger()).action, Some(Action::StartTrial));
    let path =
        [("/en", 405), ("/", 405), ("/trial/", 405), ("/%74rial", 405), ("/trial%00", 405), ("/api", 405)];
    for (path, status) in path {
        let request = String::from_utf8(press(HOST, &good_headers(), &form)).unwrap().replace("/trial", path);
        let read = ask_plain(request.as_bytes(), &stranger());
        assert_eq!((read.status, read.action), (status, None), "{path}");
    }
    let asked = format!("/trial?{form}");
    assert_eq!(ask_plain(&get(&asked, HOST, ""), &stranger()).action, None);
}

#[test]
fn two_lengths_and_what_comes_second_move_nothing() {
    let form = good_form();
    let length = format!("Content-Length: {}\r\n", form.len());
    let good = String::from_utf8(press(HOST, &good_headers(), &form)).unwrap();
    let chunked = "Transfer-Encoding: chunked\r\n";
    let cases = [
        good.replace(&length, &format!("{length}{chunked}")),
        good.replace(&length, &format!("{chunked}{length}")),
        good.replace(&length, "Transfer-Encoding: xchunked\r\n"),
        good.replace(&length, &format!("Transfer-Encoding : chunked\r\n{length}")),
        good.replace(&length, &format!("X: y\r\n {chunked}{length}")),
        good.replace(&length, &format!("{length}{length}")),
        good.replace(&length, &format!("Content-Length: 0\r\n{length}")),
        good.replace(&length, &format!("Content-Length: 00{}\n", form.len())),
        good.replace(&length, ""),
        format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n{good}"),
        format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {}\r\n\r\n{good}", good.len()),
        format!("{good}{good}"),
    ];
    for request in cases {
        let read = ask_plain(request.as_bytes(), &stranger());
        assert!((400..=417).contains(&read.status), "{request}: {}", read.status);
        assert_eq!(read.action, None, "{request}");
    }
    assert_eq!(ask_plain(good.as_bytes(), &stranger()).action, Some(Action::StartTrial));
}

#[test]
fn no_path_leads_anywhere_else() {
    let paths = [
        "//evil.example",
        "///evil.example/",
        "/\\evil.example",
        "/.//evil.example",
        "/%2f%2fevil.example",
        "/en/../..",
        "/?url=http://evil.example",
        "/en?next=//evil.example",
        "/%0d%0aLocation:%20http://evil.example",
        "/en%0d%0aSet-Cookie:%20a=b",
        "/redirect?to=evil.example",
        "http://evil.example/",
        "/%e0%80%af",
        "/\u{0}",
    ];
    for path in paths {
        for host in [HOST, "captive.apple.com", "evil.example"] {
            let Received::Whole(answer) =
                splash().handle_request(&get(path, host, ""), Transport::Plain, &stranger())
            else {
                panic!("{path}")
            };
            let read = read(&answer, false);
            assert!(read.header("Location").is_none_or(|it| it == "http://10.73.0.1/"), "{path}: {read:?}");
            assert!(!String::from_utf8_lossy(&answer.response).contains("evil"), "{path}");
        }
    }
}

#[test]
fn what_never_ends_is_refused_before_it_is_long() {
    let mut request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nCookie: ").into_bytes();
    let splash = splash();
    while splash.handle_request(&request, Transport::Plain, &stranger()) == Received::Partial {
        request.push(b'a');
        assert!(request.len() <= HEAD_BYTES_MAX, "it is still waited for");
    }
    assert_eq!(ask_plain(&request, &stranger()).status, 431);
}

/// Good requests to begin with, each with the mark somewhere.
fn good() -> Vec<Vec<u8>> {
    let marked =
        format!("X-Mark: {MARK}\r\nCookie: {MARK}\r\nReferer: http://{MARK}/\r\nUser-Agent: {MARK}\r\n");
    vec![
        get(&format!("/en?{MARK}"), HOST, &marked),
        get(&format!("/{MARK}"), HOST, &format!("{marked}Accept-Language: de,{MARK};q=1\r\n")),
        get(&format!("/hotspot-detect.html?{MARK}"), "captive.apple.com", &marked),
        get("/", &format!("{MARK}.example"), &marked),
        get("/api", NAME, &marked),
        press(HOST, &format!("{}{marked}", good_headers()), &good_form()),
        press(HOST, &format!("Origin: http://{MARK}\r\n{marked}"), &format!("token={MARK}")),
        format!("{MARK} / HTTP/1.1\r\nHost: {HOST}\r\n{marked}\r\n").into_bytes(),
    ]
}

#[derive(Clone, Debug)]
enum Change {
    Set(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Cut(usize),
    Double(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let pieces = prop::sample::select(vec![
        b"\r\n".to_vec(),
        b"\n".to_vec(),
        b"\r".to_vec(),
        b"\0".to_vec(),
        b"\r\n\r\n".to_vec(),
        b": ".to_vec(),
        b"Content-Length: 5\r\n".to_vec(),
        b"Transfer-Encoding: chunked\r\n".to_vec(),
        b"Host: 10.73.0.1\r\n".to_vec(),
        b"%0d%0a".to_vec(),
        b"<script>".to_vec(),
        b"\xff\xfe".to_vec(),
        b"HTTP/1.1 200 OK\r\n".to_vec(),
        b"//".to_vec(),
    ]);
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (any::<usize>(), pieces).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (any::<usize>(), 1..40_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        any::<usize>().prop_map(Change::Cut),
        (any::<usize>(), 1..200_usize).prop_map(|(at, length)| Change::Double(at, length)),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let length = bytes.len().max(1);
        match change {
            Change::Set(at, byte) if !bytes.is_empty() => bytes[at % length] = *byte,
            Change::Set(..) => {}
            Change::Insert(at, piece) => {
                let at = at % (bytes.len() + 1);
                bytes.splice(at..at, piece.iter().copied());
            }
            Change::Remove(at, many) => {
                let at = (at % length).min(bytes.len());
                let end = (at + many).min(bytes.len());
                bytes.drain(at..end);
            }
            Change::Cut(at) => bytes.truncate(at % length),
            Change::Double(at, many) => {
                let at = (at % length).min(bytes.len());
                let part = bytes[at..(at + many).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}

/// What holds for the answer to any bytes. An action needs the token in them, and our address.
fn check_any(bytes: &[u8], transport: Transport) {
    let Received::Whole(answer) = splash().handle_request(bytes, transport, &stranger()) else { return };
    let read = read(&answer, bytes.starts_with(b"HEAD "));
    assert!(!String::from_utf8_lossy(&answer.response).contains(MARK), "something of the request came back");
    let own = [format!("{ORIGIN}/"), format!("https://{NAME}/")];
    if let Some(location) = read.header("Location") {
        assert!(own.iter().any(|it| location.starts_with(it)), "{location}");
    }
    if read.action.is_some() {
        let text = String::from_utf8_lossy(bytes);
        assert!(
            text.starts_with("POST /trial") && text.contains(&token().text()) && text.contains(HOST),
            "{text:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_changed_request_gets_an_answer_of_ours(
        index in 0..8_usize,
        changes in prop::collection::vec(change(), 0..6),
        is_secured: bool,
    ) {
        let transport = if is_secured { Transport::Secured } else { Transport::Plain };
        check_any(&changed(good().swap_remove(index), &changes), transport);
    }

    #[test]
    fn any_bytes_get_an_answer_of_ours(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check_any(&bytes, Transport::Plain);
    }

    #[test]
    fn bytes_that_come_one_by_one_get_the_same_answer(index in 0..8_usize, at: usize) {
        let request = good().swap_remove(index);
        let whole = splash().handle_request(&request, Transport::Plain, &stranger());
        let part = splash().handle_request(&request[..at % request.len()], Transport::Plain, &stranger());
        // A part is waited for, or is refused for what the whole is refused for too.
        prop_assert!(part == Received::Partial || part == whole);
    }
}

#[test]
fn the_checks_see_a_good_press() {
    let read = ask(&splash(), &good()[5], Transport::Plain, &stranger());
    assert_eq!(read.action, Some(Action::StartTrial));
}
