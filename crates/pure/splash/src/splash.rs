//! The machine.

use crate::announcement::{Uri, UriTooLong};
use crate::api;
use crate::guest::{Guest, LeaseToken};
use crate::language::Language;
use crate::page::{STYLE, page, terms_page};
use crate::probe::{self, Online, Probe};
use crate::request::{Method, Parsed, Request, RequestError, parse};
use crate::response::{Response, Status};
use crate::settings::{Settings, SettingsError};
use data_encoding::BASE64;
use sha2::{Digest as _, Sha256};

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const FORM: &str = "application/x-www-form-urlencoded";

/// Serves the page, and answers probes, from what the access point knows of each guest.
///
/// A connection is served so: its bytes are gathered, and after each read all of them are given to
/// [`Splash::handle_request`]. While that is [`Received::Partial`] more is read; the machine refuses what becomes too long.
/// With [`Received::Whole`] the action is done first, then the response is sent, then the connection is closed: a phone looks
/// for the Internet as soon as it has the response.
///
/// ```
/// use guestright_splash::{Action, Guest, Language, LeaseToken, Received, Settings, Splash, Standing, Transport, Trial};
/// use guestright_units::Bytes;
///
/// let splash = Splash::new(Settings {
///     household: "The Rivers".to_owned(),
///     contact: None,
///     terms: None,
///     terms_text: None,
///     addresses_kept_hours: None,
///     member_page: None,
///     languages: Language::ALL.to_vec(),
///     address: "10.73.0.1:80".parse().unwrap(),
///     secured: None,
/// })
/// .unwrap();
/// let token = LeaseToken::new([7; 16]);
/// let guest = Guest { standing: Standing::Stranger, trial: Trial::Offered(Bytes(5_000_000)), token: token.clone() };
///
/// let probe = b"GET /hotspot-detect.html HTTP/1.1\r\nHost: captive.apple.com\r\n\r\n";
/// let Received::Whole(answer) = splash.handle_request(probe, Transport::Plain, &guest) else { panic!() };
/// assert!(answer.response.starts_with(b"HTTP/1.1 302 Found\r\n") && answer.action.is_none());
///
/// let form = format!("token={}&language=en", token.text());
/// let length = form.len();
/// let press = format!("POST /trial HTTP/1.1\r\nHost: 10.73.0.1\r\nOrigin: http://10.73.0.1\r\n\
///     Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}");
/// let Received::Whole(answer) = splash.handle_request(press.as_bytes(), Transport::Plain, &guest) else { panic!() };
/// assert_eq!(answer.action, Some(Action::StartTrial));
/// ```
#[derive(Debug)]
pub struct Splash {
    settings: Settings,
    /// Content-Security-Policy. The style is named by its digest.
    policy: String,
}

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Plain,
    /// Over TLS, with the certificate of [`Settings::secured`].
    Secured,
}

/// What the bytes of a connection are so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A part of a request.
    Partial,
    Whole(Answer),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub response: Vec<u8>,
    pub action: Option<Action>,
}

/// What the access point is asked to do for this guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Let through what [`crate::Trial::Offered`] offered.
    StartTrial,
}

/// Whom a request is for.
enum Target {
    /// Us, as this origin.
    Own(String),
    Probed(String),
    /// Somebody else.
    Foreign,
}

impl Splash {
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        let digest = BASE64.encode(&Sha256::digest(STYLE));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self'; base-uri 'none'; \
             frame-ancestors 'none'"
        );
        Ok(Self { settings, policy })
    }

    /// Whether the bytes of a connection are a whole request, or can become none, so that it is worth finding out who asks.
    pub fn is_whole(bytes: &[u8]) -> bool {
        !matches!(parse(bytes), Ok(Parsed::Partial))
    }

    /// Everything that a connection has brought so far, from the guest at its other end.
    pub fn handle_request(&self, bytes: &[u8], transport: Transport, guest: &Guest) -> Received {
        let (response, has_body, action) = match parse(bytes) {
            Ok(Parsed::Partial) => return Received::Partial,
            Ok(Parsed::Whole(request)) => {
                let (response, action) = self.respond(&request, transport, guest);
                (response, request.method != Method::Head, action)
            }
            Err(error) => (refusal(error), true, None),
        };
        Received::Whole(Answer { response: response.emit(has_body), action })
    }

    /// The address to announce by DHCP and router advertisements, if there is a certificate.
    pub fn announcement(&self, token: Option<&LeaseToken>) -> Result<Option<Uri>, UriTooLong> {
        self.settings.secured.as_ref().map(|secured| Uri::of_api(secured, token)).transpose()
    }

    fn respond(
        &self,
        request: &Request<'_>,
        transport: Transport,
        guest: &Guest,
    ) -> (Response, Option<Action>) {
        match (self.target(&request.host, transport), request.method) {
            (Target::Own(origin), Method::Post) => self.submit(request, &origin, guest),
            (Target::Own(_), Method::Get | Method::Head) => (self.show(request, transport, guest), None),
            (Target::Probed(host), Method::Get | Method::Head) => {
                (self.probed(&host, request.path, guest), None)
            }
            // A name that somebody made point at us (DNS rebinding), or a page that somebody wanted to see. Neither gets
            // anything about the guest.
            (Target::Foreign, Method::Get | Method::Head) => (self.pointer(Status::MisdirectedRequest), None),
            (Target::Probed(_) | Target::Foreign, Method::Post) => {
                (Response::empty(Status::MisdirectedRequest), None)
            }
        }
    }

    fn target(&self, host: &str, transport: Transport) -> Target {
        match (transport, &self.settings.secured) {
            (Transport::Secured, Some(secured)) => {
                let usual = format!("{}:443", secured.name);
                let origin = secured.origin();
                let is_own =
                    origin.strip_prefix("https://") == Some(host) || (secured.port == 443 && host == usual);
                if is_own { Target::Own(origin) } else { Target::Foreign }
            }
            // Without a certificate nothing comes over TLS.
            (Transport::Secured, None) => Target::Foreign,
            (Transport::Plain, _) => {
                let origin = self.origin();
                let is_usual = self.settings.address.port() == 80;
                if origin.strip_prefix("http://") == Some(host)
                    || (is_usual && host == self.settings.address.to_string())
                {
                    return Target::Own(origin);
                }
                let name = host.strip_suffix(":80").unwrap_or(host);
                // Ubuntu asks with a dot at the end of the name.
                let name = name.strip_suffix('.').unwrap_or(name);
                if probe::is_host(name) { Target::Probed(name.to_owned()) } else { Target::Foreign }
            }
        }
    }

    /// `http://` with our address, and the port unless it is the usual one.
    fn origin(&self) -> String {
        let address = self.settings.address;
        match (address.port(), address.is_ipv6()) {
            (80, false) => format!("http://{}", address.ip()),
            (80, true) => format!("http://[{}]", address.ip()),
            (_, _) => format!("http://{address}"),
        }
    }

    /// A page of ours.
    fn show(&self, request: &Request<'_>, transport: Transport, guest: &Guest) -> Response {
        if let Some(response) = self.api(request.path, transport, guest) {
            return response;
        }
        let path = request.path.strip_prefix('/').unwrap_or("");
        let terms = if path == "terms" { Some("") } else { path.strip_prefix("terms/") };
        let language = match terms.unwrap_or(path) {
            "" => Some(self.wished(request)),
            tag => Language::of_tag(tag).filter(|it| self.settings.languages.contains(it)),
        };
        let write = |language| match terms {
            Some(_) => terms_page(&self.settings, language),
            None => page(&self.settings, guest, language),
        };
        match language {
            Some(language) => Response::new(Status::Ok, HTML, write(language))
                .with("Content-Security-Policy", &self.policy)
                .with("Content-Language", language.tag())
                .with("Vary", "Accept-Language"),
            None => Response::new(Status::NotFound, TEXT, "There is no such page here.\n".to_owned()),
        }
    }

    /// The API's answer, if the path is its. It is for TLS alone (RFC 8908 section 4), and a token for its own lease.
    fn api(&self, path: &str, transport: Transport, guest: &Guest) -> Option<Response> {
        let rest = path.strip_prefix(api::PATH)?;
        let secured = self.settings.secured.as_ref().filter(|_| transport == Transport::Secured)?;
        let is_own = |text: &str| LeaseToken::parse(text).is_ok_and(|token| token.is(&guest.token));
        let is_right = rest.is_empty() || rest.strip_prefix('/').is_some_and(is_own);
        is_right.then(|| Response::new(Status::Ok, api::CONTENT_TYPE, api::state(guest, secured)))
    }

    fn wished(&self, request: &Request<'_>) -> Language {
        let languages = &self.settings.languages;
        request.accept_language.and_then(|it| Language::wished(it, languages)).unwrap_or(languages[0])
    }

    /// The button. Only our own page, shown to this guest, knows the token.
    fn submit(&self, request: &Request<'_>, origin: &str, guest: &Guest) -> (Response, Option<Action>) {
        if request.path != "/trial" {
            let response = Response::empty(Status::MethodNotAllowed).with("Allow", "GET, HEAD");
            return (response, None);
        }
        let is_ours = request.origin.is_none_or(|it| it == origin)
            && request.fetch_site.is_none_or(|it| it == "same-origin");
        let form = Form::parse(request).filter(|form| is_ours && form.token.is(&guest.token));
        let Some(form) = form else {
            return (self.pointer(Status::Forbidden), None);
        };
        let language = form.language.filter(|it| self.settings.languages.contains(it));
        let tag = language.unwrap_or(self.settings.languages[0]).tag();
        // A whole page is loaded anew: only then iOS looks again for the Internet.
        let response = Response::empty(Status::SeeOther).with("Location", &format!("{origin}/{tag}"));
        // Pressed twice it starts once.
        (response, guest.trial_offered().map(|_| Action::StartTrial))
    }

    fn probed(&self, host: &str, path: &str, guest: &Guest) -> Response {
        if !guest.is_online() {
            return Response::empty(Status::Found).with("Location", &format!("{}/", self.origin()));
        }
        match probe::find(host, path) {
            Some(probe) => online(probe),
            // A new connection does not come to us.
            None => Response::empty(Status::MisdirectedRequest),
        }
    }

    /// A page that leads to ours, and says nothing else.
    fn pointer(&self, status: Status) -> Response {
        let origin = self.origin();
        let body = format!(
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width,initial-scale=1\"><title>Guest Wi-Fi</title></head><body><main><h1>Guest \
             Wi-Fi</h1><p><a href=\"{origin}/\">{origin}/</a></p></main></body></html>\n"
        );
        Response::new(status, HTML, body)
            .with("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    }
}

/// What a probe wants to see.
fn online(probe: &Probe) -> Response {
    const NETWORK_MANAGER: (&str, &str) = ("X-NetworkManager-Status", "online");
    match probe.online {
        Online::NoContent => Response::empty(Status::NoContent),
        Online::Html(text) => Response::new(Status::Ok, "text/html", text.to_owned()),
        Online::Text(text) => Response::new(Status::Ok, "text/plain", text.to_owned()),
        Online::NetworkManager(text) => Response::new(Status::Ok, "text/plain", text.to_owned())
            .with(NETWORK_MANAGER.0, NETWORK_MANAGER.1),
        Online::NetworkManagerNoContent => {
            Response::empty(Status::NoContent).with(NETWORK_MANAGER.0, NETWORK_MANAGER.1)
        }
        Online::Page => Response::empty(Status::MisdirectedRequest),
    }
}

fn refusal(error: RequestError) -> Response {
    let status = match error {
        RequestError::Malformed | RequestError::NoHost | RequestError::Framing => Status::BadRequest,
        RequestError::HeadTooLong => Status::HeadersTooLarge,
        RequestError::BodyTooLong => Status::ContentTooLarge,
        RequestError::Expectation => Status::ExpectationFailed,
        RequestError::Method => {
            return Response::empty(Status::MethodNotAllowed).with("Allow", "GET, HEAD, POST");
        }
    };
    Response::new(status, TEXT, format!("{error}\n"))
}

struct Form {
    token: LeaseToken,
    language: Option<Language>,
}

impl Form {
    /// What our own page sends, in whichever order. It has nothing that would be encoded.
    fn parse(request: &Request<'_>) -> Option<Self> {
        let kind = request.content_type?.split(';').next().unwrap_or("").trim();
        let body = std::str::from_utf8(request.body).ok().filter(|_| kind.eq_ignore_ascii_case(FORM))?;
        let (mut token, mut language) = (None, None);
        for (name, value) in body.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))) {
            match name {
                "token" if token.is_none() => token = Some(LeaseToken::parse(value).ok()?),
                "language" if language.is_none() => language = Some(Language::of_tag(value)?),
                _ => return None,
            }
        }
        Some(Self { token: token?, language })
    }
}
