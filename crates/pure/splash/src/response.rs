//! One response, which ends its connection.

use std::fmt::Write as _;

/// Head and body. It fits the first flight of a TCP connection: ten segments of 1,460 bytes (RFC 6928 section 1).
pub const RESPONSE_BYTES_MAX: usize = 14_600;
/// The same of the page of terms, which has a text of the household's.
pub const TERMS_RESPONSE_BYTES_MAX: usize = 80_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    NoContent,
    Found,
    SeeOther,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    ContentTooLarge,
    ExpectationFailed,
    MisdirectedRequest,
    HeadersTooLarge,
}

impl Status {
    /// Its number and phrase (RFC 9110 section 15, RFC 6585 section 5).
    pub(crate) fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::NoContent => "204 No Content",
            Self::Found => "302 Found",
            Self::SeeOther => "303 See Other",
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::ContentTooLarge => "413 Content Too Large",
            Self::ExpectationFailed => "417 Expectation Failed",
            Self::MisdirectedRequest => "421 Misdirected Request",
            Self::HeadersTooLarge => "431 Request Header Fields Too Large",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: Status,
    content_type: Option<&'static str>,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Response {
    pub(crate) fn empty(status: Status) -> Self {
        Self { status, content_type: None, headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn new(status: Status, content_type: &'static str, body: String) -> Self {
        Self { content_type: Some(content_type), body, ..Self::empty(status) }
    }

    /// `value` is ours, or from the settings.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        assert!(!value.contains(['\r', '\n']), "headers are made of checked settings");
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The bytes; to a HEAD without the body. There is no date: we have no clock (RFC 9110 section 6.6.1).
    pub(crate) fn emit(&self, has_body: bool) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {}\r\n", self.status.line());
        let fixed = [
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            // With `no-referrer` browsers would send the form with `Origin: null`.
            ("Referrer-Policy", "same-origin"),
        ];
        let own = self.headers.iter().map(|(name, value)| (*name, value.as_str()));
        let content_type = self.content_type.map(|it| ("Content-Type", it));
        for (name, value) in fixed.into_iter().chain(content_type).chain(own) {
            write!(text, "{name}: {value}\r\n").expect("a string takes everything");
        }
        // 204 has no length (RFC 9110 section 8.6).
        if self.status != Status::NoContent {
            write!(text, "Content-Length: {}\r\n", self.body.len()).expect("a string takes everything");
        }
        text.push_str("\r\n");
        if has_body {
            text.push_str(&self.body);
        }
        text.into_bytes()
    }
}
