//! One HTTP/1.1 request, and nothing that could be read in two ways.
//!
//! There is one request on a connection, and its response closes it. A phone that kept the connection would go on asking us
//! after the grant, when its packets go to the Internet: a flow that the packet filter knows stays with us (Firefox opens a
//! new one for each probe for this reason: toolkit/components/captivedetect/test/unit/test_fresh_connection.js). And what
//! cannot come second cannot be smuggled.

use thiserror::Error;

/// Of the request's line and headers, with the empty line behind them.
pub const HEAD_BYTES_MAX: usize = 8_192;
pub const HEADERS_MAX: usize = 64;
/// Of a form.
pub const BODY_BYTES_MAX: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Post,
}

/// What of a request counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    /// Without what is behind `?`. Nothing is decoded: no route of ours needs it.
    pub(crate) path: &'a str,
    /// In lower case, with its port if one stands there.
    pub(crate) host: String,
    pub(crate) origin: Option<&'a str>,
    /// What a browser says of the page that made it ask (W3C Fetch Metadata).
    pub(crate) fetch_site: Option<&'a str>,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) accept_language: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed<'a> {
    /// More has to come.
    Partial,
    Whole(Request<'a>),
}

/// Why a request is not answered with a page. Each has a status of its own.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum RequestError {
    #[error("not a request of HTTP/1")]
    Malformed,
    #[error("its head is too long")]
    HeadTooLong,
    #[error("its body is too long")]
    BodyTooLong,
    #[error("its method is not known here")]
    Method,
    #[error("it does not say how long its body is, or in more than one way")]
    Framing,
    #[error("it expects something")]
    Expectation,
    #[error("it does not say which host it is for")]
    NoHost,
}

pub(crate) fn parse(bytes: &[u8]) -> Result<Parsed<'_>, RequestError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let seen = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    let length = match request.parse(seen) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if seen.len() == HEAD_BYTES_MAX => {
            return Err(RequestError::HeadTooLong);
        }
        Ok(httparse::Status::Partial) => return Ok(Parsed::Partial),
        Err(httparse::Error::TooManyHeaders) => return Err(RequestError::HeadTooLong),
        Err(
            httparse::Error::HeaderName
            | httparse::Error::HeaderValue
            | httparse::Error::NewLine
            | httparse::Error::Status
            | httparse::Error::Token
            | httparse::Error::Version,
        ) => return Err(RequestError::Malformed),
    };
    let (head, rest) = bytes.split_at(length);
    if !ends_lines_in_full(head) {
        return Err(RequestError::Malformed);
    }
    let method = match request.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        Some("POST") => Method::Post,
        Some(_) | None => return Err(RequestError::Method),
    };
    let headers = Headers(request.headers);
    let body = match body(method, &headers, rest)? {
        Some(body) => body,
        None => return Ok(Parsed::Partial),
    };
    let target = request.path.ok_or(RequestError::Malformed)?;
    // The forms with a host in it are for proxies (RFC 9112 section 3.2.2). `//host` is none, but a browser would take it so.
    if !target.starts_with('/') || target.starts_with("//") {
        return Err(RequestError::Malformed);
    }
    let host = headers.one("host")?.ok_or(RequestError::NoHost)?;
    Ok(Parsed::Whole(Request {
        method,
        path: target.split(['?', '#']).next().unwrap_or(target),
        host: host.to_ascii_lowercase(),
        origin: headers.one("origin")?,
        fetch_site: headers.one("sec-fetch-site")?,
        content_type: headers.one("content-type")?,
        accept_language: headers.any("accept-language"),
        body,
    }))
}

/// The body, or nothing if it is not all there.
fn body<'a>(
    method: Method,
    headers: &Headers<'_, '_>,
    rest: &'a [u8],
) -> Result<Option<&'a [u8]>, RequestError> {
    if headers.one("expect")?.is_some() {
        return Err(RequestError::Expectation);
    }
    if headers.one("transfer-encoding")?.is_some() {
        return Err(RequestError::Framing);
    }
    let length = match (headers.one("content-length")?, method) {
        (Some(text), _) => decimal(text).ok_or(RequestError::Framing)?,
        (None, Method::Post) => return Err(RequestError::Framing),
        (None, Method::Get | Method::Head) => 0,
    };
    if length > BODY_BYTES_MAX {
        return Err(RequestError::BodyTooLong);
    }
    match (rest.len(), method) {
        (got, _) if got > length => Err(RequestError::Framing),
        (_, Method::Get | Method::Head) if length > 0 => Err(RequestError::Framing),
        (got, _) if got < length => Ok(None),
        (_, _) => Ok(Some(rest)),
    }
}

/// A number as RFC 9110 section 8.6 has it: digits and nothing else.
fn decimal(text: &str) -> Option<usize> {
    let is_number = (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Whether each line ends in CR LF. A lone LF, or a lone CR, is read as an end by some and not by others.
fn ends_lines_in_full(head: &[u8]) -> bool {
    let lone = |(index, byte): (usize, &u8)| match byte {
        b'\n' => index == 0 || head[index - 1] != b'\r',
        b'\r' => head.get(index + 1) != Some(&b'\n'),
        _ => false,
    };
    !head.iter().enumerate().any(lone)
}

struct Headers<'h, 'a>(&'h [httparse::Header<'a>]);

impl<'a> Headers<'_, 'a> {
    /// The header that may be there once.
    fn one(&self, name: &str) -> Result<Option<&'a str>, RequestError> {
        let mut found = self.0.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        let Some(header) = found.next() else { return Ok(None) };
        if found.next().is_some() {
            return Err(RequestError::Framing);
        }
        let value = std::str::from_utf8(header.value).map_err(|_| RequestError::Malformed)?;
        Ok(Some(value.trim_matches([' ', '\t'])))
    }

    /// The first header of that name, if it can be read. Nothing depends on it but how something is shown.
    fn any(&self, name: &str) -> Option<&'a str> {
        let header = self.0.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(header.value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let host = "Host: a\r\n";
        #[rustfmt::skip]
        let cases = [
            (format!("POST / HTTP/1.1\r\n{host}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0"), RequestError::Framing),
            (format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), RequestError::Framing),
            (format!("POST / HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 1\r\n\r\n0"), RequestError::Framing),
            (format!("POST / HTTP/1.1\r\n{host}Content-Length: 1, 1\r\n\r\n0"), RequestError::Framing),
            (format!("POST / HTTP/1.1\r\n{host}Content-Length: +1\r\n\r\n0"), RequestError::Framing),
            (format!("POST / HTTP/1.1\r\n{host}Content-Length: 0x1\r\n\r\n0"), RequestError::Framing),
            (format!("POST / HTTP/1.1\r\n{host}\r\n"), RequestError::Framing),
            (format!("GET / HTTP/1.1\r\n{host}Content-Length: 1\r\n\r\n0"), RequestError::Framing),
            (format!("GET / HTTP/1.1\r\n{host}\r\nGET / HTTP/1.1\r\n\r\n"), RequestError::Framing),
            (format!("POST / HTTP/1.1\r\n{host}Content-Length: 513\r\n\r\n"), RequestError::BodyTooLong),
            (format!("POST / HTTP/1.1\r\n{host}Content-Length: 18446744073709551617\r\n\r\n"), RequestError::Framing),
            (format!("POST / HTTP/1.1\r\n{host}Expect: 100-continue\r\nContent-Length: 1\r\n\r\n"), RequestError::Expectation),
            (format!("GET / HTTP/1.1\r\n{host}{host}\r\n"), RequestError::Framing),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), RequestError::NoHost),
            ("GET / HTTP/1.0\r\n\r\n".to_owned(), RequestError::NoHost),
            (format!("GET / HTTP/1.1\n{host}\r\n"), RequestError::Malformed),
            (format!("GET / HTTP/1.1\r\nA: b\n{host}\r\n"), RequestError::Malformed),
            (format!("GET / HTTP/1.1\r\nHost : a\r\n{host}\r\n"), RequestError::Malformed),
            (format!("GET / HTTP/1.1\r\n{host} folded\r\n\r\n"), RequestError::Malformed),
            (format!("GET http://a/ HTTP/1.1\r\n{host}\r\n"), RequestError::Malformed),
            (format!("GET //a/ HTTP/1.1\r\n{host}\r\n"), RequestError::Malformed),
            (format!("GET * HTTP/1.1\r\n{host}\r\n"), RequestError::Malformed),
            (format!("CONNECT a:443 HTTP/1.1\r\n{host}\r\n"), RequestError::Method),
            (format!("OPTIONS / HTTP/1.1\r\n{host}\r\n"), RequestError::Method),
            (format!("GET / HTTP/2.0\r\n{host}\r\n"), RequestError::Malformed),
            (format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MAX + 1)), RequestError::HeadTooLong),
            (format!("GET / HTTP/1.1\r\nA: {}", "b".repeat(HEAD_BYTES_MAX)), RequestError::HeadTooLong),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text.as_bytes()), Err(want), "{text:?}");
        }
    }

    #[test]
    fn waits_for_all_of_a_request_and_for_no_more() {
        let text = b"POST /trial?a=b HTTP/1.1\r\nHost: A:80\r\nContent-Length: 3\r\n\r\na=b";
        for length in 0..text.len() {
            assert_eq!(parse(&text[..length]), Ok(Parsed::Partial), "{length}");
        }
        let Ok(Parsed::Whole(request)) = parse(text) else { panic!("it is whole") };
        assert_eq!((request.method, request.path, request.host.as_str()), (Method::Post, "/trial", "a:80"));
        assert_eq!(request.body, b"a=b");
    }
}
