//! Whether a request is for us, and from a page of ours.
//!
//! A page of somebody else's can make a browser send requests to us. Its name can be made to lead to our address (DNS rebinding):
//! so a name is never ours, but `localhost`, and that on loopback alone. Otherwise the browser says where the page is from, in
//! `Origin` (RFC 6454, section 7) and in `Sec-Fetch-Site` (W3C Fetch Metadata).

use crate::Refused;
use std::net::{IpAddr, SocketAddr};

/// What a request without a port means (RFC 9110, section 4.2.1).
const HTTP_PORT: u16 = 80;

/// Where a request arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// At the socket in the file system, which no browser reaches.
    Socket,
    /// At this address of ours.
    At(SocketAddr),
}

/// Whether `Host` is an address of ours: the one at which the request arrived, or `localhost` where that is loopback.
///
/// # Errors
///
/// It is another name or address, or not written as an address.
pub fn check_host(host: &str, arrival: Arrival) -> Result<(), Refused> {
    let (name, port) = split_port(host).ok_or(Refused::Host)?;
    let is_ours = match arrival {
        Arrival::Socket => name.eq_ignore_ascii_case("localhost"),
        Arrival::At(local) => {
            let ip = local.ip().to_canonical();
            port.unwrap_or(HTTP_PORT) == local.port()
                && (parse_address(name) == Some(ip)
                    || (ip.is_loopback() && name.eq_ignore_ascii_case("localhost")))
        }
    };
    if is_ours { Ok(()) } else { Err(Refused::Host) }
}

/// Whether `Origin` says the same as `Host`. Every browser sends it with a `POST`; programs at the socket need not.
///
/// # Errors
///
/// It says something else, or is missing where it must not be.
pub fn check_origin(origin: Option<&str>, host: &str, arrival: Arrival) -> Result<(), Refused> {
    match (origin, arrival) {
        (None, Arrival::Socket) => Ok(()),
        (Some(origin), _)
            if origin.strip_prefix("http://").is_some_and(|of| of.eq_ignore_ascii_case(host)) =>
        {
            Ok(())
        }
        (None | Some(_), _) => Err(Refused::Origin),
    }
}

/// Whether the browser says that a page of ours asks, or the person itself. Browsers say it on loopback, and not to other
/// addresses without TLS.
///
/// # Errors
///
/// It says that another page asks, also one from another port of the same host.
pub fn check_fetch_site(fetch_site: Option<&str>) -> Result<(), Refused> {
    match fetch_site {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(Refused::Origin),
    }
}

/// `192.0.2.1:80`, `[2001:db8::1]:80`, `localhost`.
fn split_port(host: &str) -> Option<(&str, Option<u16>)> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        Some(_) | None => (host, None),
    };
    match port {
        Some(port) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((name, Some(port.parse().ok()?)))
        }
        Some(_) => None,
        None => Some((name, None)),
    }
}

fn parse_address(name: &str) -> Option<IpAddr> {
    match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(inside) => inside.parse().ok().map(IpAddr::V6),
        None => name.parse().ok().map(IpAddr::V4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(local: &str) -> Arrival {
        Arrival::At(local.parse().unwrap())
    }

    #[test]
    fn only_the_address_that_was_reached_is_ours() {
        #[rustfmt::skip]
        let cases = [
            ("192.168.1.2:8080",       "192.168.1.2:8080", true),
            ("192.168.1.2",            "192.168.1.2:80",   true),
            ("192.168.1.2",            "192.168.1.2:8080", false),
            ("192.168.1.2:8081",       "192.168.1.2:8080", false),
            ("192.168.1.3:8080",       "192.168.1.2:8080", false),
            ("localhost:8080",         "192.168.1.2:8080", false),
            ("localhost:8080",         "127.0.0.1:8080",   true),
            ("LocalHost:8080",         "127.0.0.1:8080",   true),
            ("localhost.:8080",        "127.0.0.1:8080",   false),
            ("evil.example:8080",      "127.0.0.1:8080",   false),
            ("127.0.0.1.nip.io:8080",  "127.0.0.1:8080",   false),
            ("127.1:8080",             "127.0.0.1:8080",   false),
            ("0:8080",                 "127.0.0.1:8080",   false),
            ("0.0.0.0:8080",           "127.0.0.1:8080",   false),
            ("2130706433:8080",        "127.0.0.1:8080",   false),
            ("0177.0.0.1:8080",        "127.0.0.1:8080",   false),
            ("127.0.0.1:08080",        "127.0.0.1:8080",   true),
            ("127.0.0.1:+8080",        "127.0.0.1:8080",   false),
            ("127.0.0.1:",             "127.0.0.1:80",     false),
            ("user@127.0.0.1:8080",    "127.0.0.1:8080",   false),
            ("[fd00::1]:8080",         "[fd00::1]:8080",   true),
            ("[FD00:0::1]:8080",       "[fd00::1]:8080",   true),
            ("[fd00::1]",              "[fd00::1]:80",     true),
            ("fd00::1",                "[fd00::1]:80",     false),
            ("[fd00::2]:8080",         "[fd00::1]:8080",   false),
            ("192.0.2.1:80",           "[::ffff:192.0.2.1]:80", true),
            ("",                       "127.0.0.1:80",     false),
        ];
        for (host, local, want) in cases {
            assert_eq!(check_host(host, at(local)).is_ok(), want, "{host} at {local}");
        }
        assert_eq!(check_host("localhost", Arrival::Socket), Ok(()));
        assert_eq!(check_host("evil.example", Arrival::Socket), Err(Refused::Host));
    }

    #[test]
    fn an_origin_says_the_same_as_the_host() {
        let host = "127.0.0.1:8080";
        #[rustfmt::skip]
        let cases = [
            (Some("http://127.0.0.1:8080"),  true),
            (Some("http://127.0.0.1:8081"),  false),
            (Some("https://127.0.0.1:8080"), false),
            (Some("http://127.0.0.1:8080/"), false),
            (Some("http://localhost:8080"),  false),
            (Some("http://evil.example"),    false),
            (Some("null"),                   false),
            (Some(""),                       false),
            (None,                           false),
        ];
        for (origin, want) in cases {
            assert_eq!(check_origin(origin, host, at(host)).is_ok(), want, "{origin:?}");
        }
        assert_eq!(check_origin(None, "localhost", Arrival::Socket), Ok(()));
        assert_eq!(
            check_origin(Some("http://evil.example"), "localhost", Arrival::Socket),
            Err(Refused::Origin)
        );
    }

    #[test]
    fn another_page_of_the_same_host_is_another_page() {
        for (says, want) in
            [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false), ("", false)]
        {
            assert_eq!(check_fetch_site(Some(says)).is_ok(), want, "{says}");
        }
        assert_eq!(check_fetch_site(None), Ok(()));
    }

    proptest! {
        #[test]
        fn no_name_is_ever_ours(name in "[a-z]([a-z0-9.-]{0,30}[a-z0-9])?", port in 1_u16..) {
            prop_assume!(name != "localhost");
            for ip in ["127.0.0.1", "192.168.1.2", "[fd00::1]"] {
                let local = at(&format!("{ip}:{port}"));
                prop_assert_eq!(check_host(&format!("{name}:{port}"), local), Err(Refused::Host));
            }
        }

        #[test]
        fn no_header_is_too_odd_to_be_checked(host in ".{0,60}", origin in ".{0,60}") {
            let _: Result<(), Refused> = check_host(&host, at("127.0.0.1:8080"));
            let _: Result<(), Refused> = check_origin(Some(&origin), &host, at("127.0.0.1:8080"));
        }
    }
}
