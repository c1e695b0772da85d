//! Answers, and the headers that each of them has.

use crate::body::Answer;
use crate::{Exposition, File, Refusal, Refused};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::response::Builder;
use hyper::{Response, StatusCode};

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";
/// Where the page has no script, its form sends a link's code to us.
const POLICY_WITH_FORM: &str =
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

/// A request that is not done, and what is said about it.
#[derive(Debug)]
pub(crate) struct Denied {
    pub(crate) why: Refused,
    status: StatusCode,
    says: String,
}

impl From<Refused> for Denied {
    fn from(why: Refused) -> Self {
        Self { why, status: why.status(), says: why.sentence().to_owned() }
    }
}

impl From<Refusal> for Denied {
    fn from(refusal: Refusal) -> Self {
        let (status, says) = match refusal {
            Refusal::Unknown => return Refused::Unknown.into(),
            Refusal::Invalid(says) => (StatusCode::BAD_REQUEST, says),
            Refusal::Conflict(says) => (StatusCode::CONFLICT, says),
            Refusal::Away(says) => (StatusCode::SERVICE_UNAVAILABLE, says),
        };
        Self { why: Refused::Provider, status, says }
    }
}

impl Denied {
    pub(crate) fn response(self) -> Response<Answer> {
        let mut builder = Response::builder().status(self.status);
        builder = builder.header(header::CONTENT_TYPE, "application/json");
        if matches!(self.why, Refused::Rate | Refused::Guessed) {
            builder = builder.header(header::RETRY_AFTER, "1");
        }
        if self.why == Refused::Method {
            builder = builder.header(header::ALLOW, "GET, HEAD, POST");
        }
        // Whoever sends too much is to begin anew; what was not read of a body is no next request.
        if matches!(self.why, Refused::Rate | Refused::Length | Refused::Slow | Refused::Body) {
            builder = builder.header(header::CONNECTION, "close");
        }
        full(builder, says(&self.says))
    }
}

/// An error as the page reads it.
fn says(sentence: &str) -> Bytes {
    serde_json::json!({ "says": sentence }).to_string().into()
}

/// What a connection is sent that is closed at once. Whether it arrives is not waited for.
pub(crate) fn refused_connection(why: Refused) -> String {
    let says = says(why.sentence());
    let status = why.status();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", says.len());
    let policy = format!(
        "content-security-policy: {POLICY}\r\nx-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\n"
    );
    format!(
        "{head}{policy}cache-control: no-store\r\nconnection: close\r\n\r\n{}",
        String::from_utf8_lossy(&says)
    )
}

pub(crate) fn json(content: Bytes) -> Response<Answer> {
    if content.is_empty() {
        return full(Response::builder().status(StatusCode::NO_CONTENT), content);
    }
    full(Response::builder().header(header::CONTENT_TYPE, "application/json"), content)
}

pub(crate) fn exposition(metrics: Exposition) -> Response<Answer> {
    full(Response::builder().header(header::CONTENT_TYPE, metrics.content_type), metrics.content)
}

pub(crate) fn html(content: Bytes) -> Response<Answer> {
    full(Response::builder().header(header::CONTENT_TYPE, "text/html; charset=utf-8"), content)
}

pub(crate) fn file(file: File, known: Option<&str>) -> Response<Answer> {
    let mut builder = Response::builder()
        .header(header::ETAG, &file.etag)
        .header(header::VARY, "accept-encoding")
        .header(header::CACHE_CONTROL, "no-cache");
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == file.etag)) {
        return full(builder.status(StatusCode::NOT_MODIFIED), Bytes::new());
    }
    if let Some(encoding) = file.encoding.name() {
        builder = builder.header(header::CONTENT_ENCODING, encoding);
    }
    full(builder.header(header::CONTENT_TYPE, file.content_type), file.content)
}

/// A new session: its cookie, and for a form the way back to the page.
pub(crate) fn signed_in(cookie: &str, is_form: bool) -> Response<Answer> {
    let builder = Response::builder().header(header::SET_COOKIE, cookie);
    let builder = if is_form {
        builder.status(StatusCode::SEE_OTHER).header(header::LOCATION, "/")
    } else {
        builder.status(StatusCode::NO_CONTENT)
    };
    full(builder, Bytes::new())
}

pub(crate) fn events(events: Answer) -> Response<Answer> {
    let builder = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
    builder.body(events).expect("its headers are constants")
}

/// Puts on each answer what it has to have.
pub(crate) fn secure(headers: &mut HeaderMap, has_form: bool) {
    // A form that is sent under `no-referrer` has `Origin: null` (Fetch Standard, "append a request Origin header").
    let (policy, referrer) =
        if has_form { (POLICY_WITH_FORM, "same-origin") } else { (POLICY, "no-referrer") };
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(referrer));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

fn full(builder: Builder, content: Bytes) -> Response<Answer> {
    // The only texts that are not constants are a cookie's hexadecimal digits and what the provider calls its files.
    builder.body(Answer::Full(Full::new(content))).expect("headers are visible characters")
}
