//! The splash page of an access point.

use crate::seeds::Seed;
use guestright_splash::{
    Action, Guest, Language, LeaseToken, RESPONSE_BYTES_MAX, Received, Secured, Settings, Splash, Standing,
    Transport, Trial,
};
use guestright_units::Bytes;

const HOST: &str = "10.73.0.1";
const NAME: &str = "ap.rivers.example";
const TOKEN: [u8; 16] = [0x5a; 16];

/// A request, over TLS if the first byte is odd: the response is short, its head ends once, it closes the connection and leads
/// nowhere else; an action needs the token.
pub fn splash(bytes: &[u8]) {
    let Some((first, request)) = bytes.split_first() else { return };
    let transport = if first % 2 == 0 { Transport::Plain } else { Transport::Secured };
    let token = LeaseToken::new(TOKEN);
    let text = token.text();
    let guest = Guest { standing: Standing::Stranger, trial: Trial::Offered(Bytes(5_000_000)), token };
    let Received::Whole(answer) = machine().handle_request(request, transport, &guest) else { return };
    assert!(answer.response.len() <= RESPONSE_BYTES_MAX);
    let response = String::from_utf8(answer.response).expect("all that is sent is UTF-8");
    let (head, _) = response.split_once("\r\n\r\n").expect("a head ends");
    let mut lines = head.split("\r\n");
    assert!(lines.next().is_some_and(|line| line.starts_with("HTTP/1.1 ")));
    let mut is_closing = false;
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a header");
        assert!(!line.contains(['\r', '\n']));
        let own = [format!("http://{HOST}/"), format!("https://{NAME}/")];
        assert!(name != "Location" || own.iter().any(|it| value.starts_with(it)), "{line}");
        is_closing |= line == "Connection: close";
    }
    assert!(is_closing);
    if answer.action == Some(Action::StartTrial) {
        let request = String::from_utf8_lossy(request);
        assert!(request.starts_with("POST /trial") && request.contains(&text));
    }
}

fn machine() -> Splash {
    Splash::new(Settings {
        household: "The Rivers & Sons".to_owned(),
        contact: None,
        terms: None,
        terms_text: None,
        addresses_kept_hours: None,
        member_page: None,
        languages: Language::ALL.to_vec(),
        address: "10.73.0.1:80".parse().expect("an address"),
        secured: Some(Secured { name: NAME.to_owned(), port: 443 }),
    })
    .expect("good settings")
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let form = format!("token={}&language=de", LeaseToken::new(TOKEN).text());
    let length = form.len();
    let press = |host: &str, origin: &str, more: &str| {
        format!(
            "POST /trial HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             {more}Content-Length: {length}\r\n\r\n{form}"
        )
    };
    let plain = "http://10.73.0.1";
    let all = [
        ("page", 0, format!("GET /?a=b HTTP/1.1\r\nHost: {HOST}\r\nAccept-Language: ar-EG,de;q=0.5\r\n\r\n")),
        ("head", 0, format!("HEAD /fr HTTP/1.1\r\nHost: {HOST}:80\r\n\r\n")),
        (
            "probe",
            0,
            "GET /hotspot-detect.html HTTP/1.0\r\nHost: captive.apple.com\r\nConnection: close\r\n\r\n"
                .to_owned(),
        ),
        ("ubuntu", 0, "GET / HTTP/1.1\r\nHost: connectivity-check.ubuntu.com.\r\n\r\n".to_owned()),
        ("press", 0, press(HOST, plain, "Sec-Fetch-Site: same-origin\r\n")),
        ("press-secured", 1, press(NAME, "https://ap.rivers.example", "")),
        ("api", 1, format!("GET /api/{} HTTP/1.1\r\nHost: {NAME}\r\n\r\n", "5a".repeat(16))),
        ("near-origin", 0, press(HOST, "http://evil.example", "")),
        ("near-smuggled", 0, press(HOST, plain, "Transfer-Encoding: chunked\r\n")),
        ("near-rebound", 0, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned()),
    ];
    let bytes = |first: u8, text: String| [&[first], text.as_bytes()].concat();
    seeds.extend(all.map(|(name, first, text)| ("splash", name.to_owned(), bytes(first, text))));
}
