//! What a request's head must be, before anything is done for it.

use crate::Refused;
use crate::origin::{self, Arrival};
use hyper::Method;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::http::request::Parts;

/// No form and no page of another origin can send this header without asking first, and that is never granted.
const OUR_HEADER: HeaderName = HeaderName::from_static("x-guestright");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const COOKIE: &str = "guestright";
const WHY_BYTES_MAX: usize = 64;
/// The path at which a link becomes a session.
pub(crate) const SESSION_PATH: &str = "/v1/session";

/// What monitoring programs fetch.
pub(crate) const METRICS_PATH: &str = "/metrics";

/// How what is posted is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    /// A page without a script can send its one form so.
    SignIn,
}

/// Whether a request is for us, and from a page of ours.
pub(crate) fn check(head: &Parts, arrival: Arrival) -> Result<(), Refused> {
    // The absolute form is for a proxy, and would name the host a second time (RFC 9112, section 3.2.2).
    if head.uri.authority().is_some() || head.uri.scheme().is_some() {
        return Err(Refused::Host);
    }
    let host = only(&head.headers, &header::HOST).map_err(|_| Refused::Host)?.ok_or(Refused::Host)?;
    origin::check_host(host, arrival)?;
    let fetch_site = only(&head.headers, &FETCH_SITE).map_err(|_| Refused::Origin)?;
    let is_household = head.uri.path().starts_with("/v1/") || head.uri.path() == METRICS_PATH;
    if is_household {
        origin::check_fetch_site(fetch_site)?;
    }
    match head.method {
        Method::GET => Ok(()),
        Method::HEAD if !is_household => Ok(()),
        Method::POST => {
            let value = only(&head.headers, &header::ORIGIN).map_err(|_| Refused::Origin)?;
            origin::check_origin(value, host, arrival)
        }
        _ => Err(Refused::Method),
    }
}

/// How a `POST` is written: with our header and as JSON, or as the one form.
pub(crate) fn form(head: &Parts, has_sign_in: bool) -> Result<Form, Refused> {
    let content_type =
        only(&head.headers, &header::CONTENT_TYPE).map_err(|_| Refused::Header)?.unwrap_or_default();
    let media = content_type.split(';').next().unwrap_or_default().trim();
    let ours = only(&head.headers, &OUR_HEADER).map_err(|_| Refused::Header)?;
    if ours == Some("1") && media.eq_ignore_ascii_case("application/json") {
        return Ok(Form::Json);
    }
    let is_form = media.eq_ignore_ascii_case("application/x-www-form-urlencoded");
    if has_sign_in && is_form && head.uri.path() == SESSION_PATH {
        return Ok(Form::SignIn);
    }
    Err(Refused::Header)
}

/// What `?why=` asks about: letters, digits and dashes, as ids are.
pub(crate) fn why(head: &Parts) -> Result<Option<String>, Refused> {
    let Some(query) = head.uri.query().filter(|query| !query.is_empty()) else {
        return Ok(None);
    };
    let why = query.strip_prefix("why=").ok_or(Refused::Unknown)?;
    let is_id = why.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_id && (1..=WHY_BYTES_MAX).contains(&why.len()) {
        Ok(Some(why.to_owned()))
    } else {
        Err(Refused::Unknown)
    }
}

/// The values of our cookie. There can be more than one: other ports of the same host can set it too.
pub(crate) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value).take(4)
}

/// `Strict`: no other page's request has it. `HttpOnly`: no script reads it. Without `Domain` it is for this host alone.
pub(crate) fn set_cookie(value: &str) -> String {
    format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict")
}

/// How many bytes a head has, about.
pub(crate) fn head_bytes(head: &Parts) -> usize {
    let line =
        head.method.as_str().len() + head.uri.path_and_query().map_or(0, |path| path.as_str().len()) + 12;
    head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>() + line
}

/// A header that may be there once. Twice, and two readers could read two things.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn head(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:8080");

    fn check(method: &str, uri: &str, headers: &[(&str, &str)]) -> Result<(), Refused> {
        super::check(&head(method, uri, headers), Arrival::At("127.0.0.1:8080".parse().unwrap()))
    }

    #[test]
    fn a_request_names_its_host_once_and_no_other() {
        assert_eq!(check("GET", "/", &[HOST]), Ok(()));
        assert_eq!(check("GET", "/", &[]), Err(Refused::Host));
        assert_eq!(check("GET", "/", &[HOST, HOST]), Err(Refused::Host));
        assert_eq!(check("GET", "http://127.0.0.1:8080/", &[HOST]), Err(Refused::Host));
        assert_eq!(check("GET", "/", &[("host", "evil.example")]), Err(Refused::Host));
        for method in ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "QUERY"] {
            assert_eq!(check(method, "/", &[HOST]), Err(Refused::Method), "{method}");
        }
        assert_eq!(check("HEAD", "/", &[HOST]), Ok(()));
        assert_eq!(check("HEAD", "/v1/overview", &[HOST]), Err(Refused::Method));
    }

    #[test]
    fn another_page_may_lead_here_and_read_nothing() {
        let cross = ("sec-fetch-site", "cross-site");
        assert_eq!(check("GET", "/", &[HOST, cross]), Ok(()));
        assert_eq!(check("GET", "/v1/events", &[HOST, cross]), Err(Refused::Origin));
        assert_eq!(check("GET", "/metrics", &[HOST, cross]), Err(Refused::Origin));
        assert_eq!(check("HEAD", "/metrics", &[HOST]), Err(Refused::Method));
        assert_eq!(check("POST", "/v1/block", &[HOST]), Err(Refused::Origin));
        let origin = ("origin", "http://127.0.0.1:8080");
        assert_eq!(check("POST", "/v1/block", &[HOST, origin]), Ok(()));
        assert_eq!(check("POST", "/v1/block", &[HOST, origin, origin]), Err(Refused::Origin));
    }

    #[test]
    fn what_changes_something_has_our_header_and_is_json() {
        let json = ("content-type", "application/json; charset=utf-8");
        let ours = ("x-guestright", "1");
        let encoded = ("content-type", "application/x-www-form-urlencoded");
        let form = |uri, headers: &[_], has_sign_in| form(&head("POST", uri, headers), has_sign_in);
        assert_eq!(form("/v1/block", &[ours, json], false), Ok(Form::Json));
        for headers in
            [&[ours][..], &[json], &[ours, encoded], &[ours, json, json], &[("x-guestright", "0"), json]]
        {
            assert_eq!(form("/v1/block", headers, true), Err(Refused::Header), "{headers:?}");
        }
        assert_eq!(form("/v1/session", &[encoded], true), Ok(Form::SignIn));
        assert_eq!(form("/v1/session", &[encoded], false), Err(Refused::Header));
    }

    #[test]
    fn a_question_about_a_team_is_an_id() {
        let why = |uri| why(&head("GET", uri, &[]));
        assert_eq!(why("/v1/overview"), Ok(None));
        assert_eq!(why("/v1/overview?why=00ff"), Ok(Some("00ff".to_owned())));
        for wrong in ["/?why=", "/?why=%00", "/?x=1", "/?why=a&why=b"] {
            assert_eq!(why(wrong), Err(Refused::Unknown), "{wrong}");
        }
    }

    #[test]
    fn our_cookie_is_found_among_others() {
        let head = head(
            "GET",
            "/",
            &[("cookie", "a=b; guestright=one; guestright2=x"), ("cookie", "guestright=two")],
        );
        assert_eq!(cookies(&head.headers).collect::<Vec<_>>(), ["one", "two"]);
    }
}
