//! Every state of a guest, a household, and what is read out of responses.

use guestright_reciprocity::ServiceClass;
use guestright_splash::{
    Action, Answer, Debt, Guest, Language, LeaseToken, RESPONSE_BYTES_MAX, Received, Secured, Settings,
    Splash, Standing, Transport, Trial, WhyRefused, WhyServed,
};
use guestright_units::{Bytes, TeamId};
use std::collections::BTreeMap;

pub(crate) const ORIGIN: &str = "http://10.73.0.1";
pub(crate) const HOST: &str = "10.73.0.1";
pub(crate) const NAME: &str = "ap.rivers.example";
pub(crate) const TRIAL: Trial = Trial::Offered(Bytes(5_000_000));

pub(crate) fn token() -> LeaseToken {
    LeaseToken::new([0x5a; 16])
}

pub(crate) fn settings() -> Settings {
    Settings {
        household: "The Rivers & Sons".to_owned(),
        contact: Some("Ring at no. 12, or write to rivers@example.org".to_owned()),
        terms: Some("Please be kind to our line after ten at night.\nNo mail servers.".to_owned()),
        terms_text: None,
        addresses_kept_hours: Some(168),
        member_page: Some("guestright.example/join".to_owned()),
        languages: Language::ALL.to_vec(),
        address: "10.73.0.1:80".parse().unwrap(),
        secured: Some(Secured { name: NAME.to_owned(), port: 443 }),
    }
}

pub(crate) fn splash() -> Splash {
    Splash::new(settings()).unwrap()
}

pub(crate) fn guest(standing: Standing, trial: Trial) -> Guest {
    Guest { standing, trial, token: token() }
}

pub(crate) fn chain() -> Vec<Debt> {
    let debt = |debtor, creditor, left| Debt {
        debtor: TeamId([debtor; 24]),
        creditor: TeamId([creditor; 24]),
        left,
    };
    vec![debt(0x5c, 0x83, Bytes(12_700_000)), debt(0x83, 0x1e, Bytes(8_000_000))]
}

pub(crate) fn served(class: ServiceClass, why: WhyServed, chain: Vec<Debt>) -> Standing {
    Standing::Served { class, left: Some(Bytes(32_500_000)), why, chain }
}

/// All kinds of states, each under a name.
pub(crate) fn all() -> Vec<(&'static str, Guest)> {
    use ServiceClass::{High, Low, Lowest, Middle, Own};
    let refused = |why, chain| guest(Standing::Refused { why, chain }, Trial::Closed);
    let other = WhyRefused::Other("its home asks for <b>more</b> than is left".to_owned());
    let running = Trial::Running { left: Bytes(4_200_000), seconds_left: 541 };
    let welcome = |why, chain| guest(Standing::Welcome { why, chain }, Trial::Closed);
    vec![
        ("stranger", guest(Standing::Stranger, Trial::Closed)),
        ("stranger-trial", guest(Standing::Stranger, TRIAL)),
        ("stranger-running", guest(Standing::Stranger, running)),
        ("stranger-used-up", guest(Standing::Stranger, Trial::UsedUp)),
        ("welcome-owed", welcome(WhyServed::Owed, chain()[..1].to_vec())),
        ("welcome-sponsored", welcome(WhyServed::Sponsored, vec![])),
        ("served-allowance", guest(served(Lowest, WhyServed::Allowance, vec![]), Trial::UsedUp)),
        ("served-everybody", guest(served(Lowest, WhyServed::Everybody, vec![]), Trial::Closed)),
        ("served-low", guest(served(Low, WhyServed::Sponsored, vec![]), Trial::Closed)),
        ("served-middle", guest(served(Middle, WhyServed::Owed, vec![]), Trial::Closed)),
        ("served-chain", guest(served(High, WhyServed::Chain, chain()), Trial::Closed)),
        ("served-own", guest(served(Own, WhyServed::Own, vec![]), Trial::Closed)),
        (
            "refused-allowance",
            guest(Standing::Refused { why: WhyRefused::AllowanceUsedUp, chain: vec![] }, TRIAL),
        ),
        ("refused-unpaid", refused(WhyRefused::Unpaid, vec![])),
        ("refused-busy", refused(WhyRefused::Busy, vec![])),
        ("refused-certificate", refused(WhyRefused::CertificateEnded, vec![])),
        ("refused-revoked", refused(WhyRefused::Revoked, vec![])),
        ("refused-other", refused(other, chain())),
        ("home-away", guest(Standing::HomeAway, Trial::Closed)),
        ("undecided", guest(Standing::Undecided, Trial::Closed)),
        ("closed", guest(Standing::Closed, TRIAL)),
    ]
}

pub(crate) fn get(path: &str, host: &str, more: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n").into_bytes()
}

/// The press of the button, with `headers` in place of those that a browser sends.
pub(crate) fn press(host: &str, headers: &str, form: &str) -> Vec<u8> {
    let length = form.len();
    format!("POST /trial HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n\r\n{form}")
        .into_bytes()
}

pub(crate) fn good_form() -> String {
    format!("token={}&language=de", token().text())
}

pub(crate) fn good_headers() -> String {
    format!(
        "Origin: {ORIGIN}\r\nContent-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n"
    )
}

/// A response, taken apart. Taking it apart fails unless it is one that we could have meant.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    pub(crate) action: Option<Action>,
}

impl Read {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// The answer to one request.
pub(crate) fn ask(splash: &Splash, request: &[u8], transport: Transport, guest: &Guest) -> Read {
    match splash.handle_request(request, transport, guest) {
        Received::Whole(answer) => read(&answer, request.starts_with(b"HEAD ")),
        Received::Partial => panic!("it is whole: {:?}", String::from_utf8_lossy(request)),
    }
}

pub(crate) fn ask_plain(request: &[u8], guest: &Guest) -> Read {
    ask(&splash(), request, Transport::Plain, guest)
}

pub(crate) fn read(answer: &Answer, is_head: bool) -> Read {
    assert!(answer.response.len() <= RESPONSE_BYTES_MAX, "{} bytes", answer.response.len());
    read_long(answer, is_head)
}

/// The same for the page of terms.
pub(crate) fn read_long(answer: &Answer, is_head: bool) -> Read {
    const KNOWN: [&str; 15] = [
        "Allow",
        "Cache-Control",
        "Connection",
        "Content-Language",
        "Content-Length",
        "Content-Security-Policy",
        "Content-Type",
        "Cross-Origin-Resource-Policy",
        "Location",
        "Referrer-Policy",
        "Vary",
        "X-Content-Type-Options",
        "X-Frame-Options",
        "X-NetworkManager-Status",
        "Status",
    ];
    let text = std::str::from_utf8(&answer.response).expect("all that we send is UTF-8");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head ends");
    let mut lines = head.split("\r\n");
    let status =
        lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).expect("a response of HTTP/1.1");
    let mut headers = BTreeMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a header");
        assert!(KNOWN.contains(&name), "{line}");
        assert!(!value.contains(['\r', '\n']) && value.is_ascii(), "{line:?}");
        assert!(headers.insert(name.to_owned(), value.to_owned()).is_none(), "{name} twice");
    }
    assert_eq!(headers["Cache-Control"], "no-store");
    assert_eq!(headers["Connection"], "close");
    let status = status[..3].parse().expect("a number");
    match headers.get("Content-Length") {
        Some(_) if is_head => assert_eq!(body, ""),
        Some(length) => assert_eq!(body.len().to_string(), *length),
        None => assert_eq!((status, body), (204, "")),
    }
    Read { status, headers, body: body.to_owned(), action: answer.action }
}
