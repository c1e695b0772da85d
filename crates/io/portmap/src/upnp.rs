//! UPnP's texts: the search for a router (SSDP), HTTP, and the calls of an Internet Gateway Device (SOAP).
//!
//! Only what mapping a port takes, and only over IPv4. Texts have a limited size, and XML with a document type
//! declaration (entities) is refused. What a hostile device can gain is a call to itself.
//!
//! Sources: UPnP Device Architecture 1.1 §1.3 (search) and §3.1 (control); WANIPConnection:1 §2.4.

use roxmltree::{Document, Node};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use thiserror::Error;

use crate::wire::Protocol;

/// No answer over HTTP is longer.
pub const ANSWER_MAX: usize = 256 * 1_024;
/// No path in a description is longer.
const PATH_MAX: usize = 512;

/// What is searched for: gateways of either version.
pub const SEARCH_TARGETS: [&str; 2] = [
    "urn:schemas-upnp-org:device:InternetGatewayDevice:1",
    "urn:schemas-upnp-org:device:InternetGatewayDevice:2",
];

/// The services that map ports, the best first.
const SERVICES: [&str; 3] = [
    "urn:schemas-upnp-org:service:WANIPConnection:2",
    "urn:schemas-upnp-org:service:WANIPConnection:1",
    "urn:schemas-upnp-org:service:WANPPPConnection:1",
];

/// Something to ask over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl {
    pub address: SocketAddrV4,
    /// The path, beginning with a slash.
    pub path: String,
}

/// The service of a router that maps ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its type, with its version.
    pub kind: &'static str,
    /// Where it is called.
    pub control: HttpUrl,
}

/// What is wrong with a device's text, or its reason to refuse.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UpnpError {
    /// More than anybody needs.
    #[error("more than {max} bytes")]
    TooLong { max: usize },
    /// Not the text that it should be.
    #[error("no {0} in it")]
    Missing(
        /// What was looked for.
        &'static str,
    ),
    /// The router says no, and why.
    #[error("{}", reason(*.0))]
    Refused(
        /// UPnP's error code, or HTTP's status.
        u16,
    ),
}

/// The meanings of error codes (UPnP Device Architecture 1.1 §3.2.2, WANIPConnection:1 §2.4.16, :2 §2.5.16).
fn reason(code: u16) -> String {
    let message = match code {
        401 | 501 | 602 => "it cannot do this",
        402 => "it does not take these arguments",
        606 => "it lets nobody map ports, or not this computer: look for UPnP in its settings",
        714 => "it has no such mapping",
        718 => "the port is mapped to another computer already",
        725 => "it only maps for good",
        728 => "it has no room for more mappings",
        _ => return format!("error {code}"),
    };
    message.to_owned()
}

/// A search for devices of this kind.
#[must_use]
pub fn search_request(target: &str) -> String {
    format!(
        "M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\nMX: 1\r\nST: {target}\r\n\r\n"
    )
}

/// Where the answer to a search says that the device is described.
///
/// # Errors
/// It is no answer, or no place of IPv4.
pub fn parse_search_answer(text: &str) -> Result<HttpUrl, UpnpError> {
    let mut lines = text.lines();
    if !lines.next().is_some_and(|first| first.starts_with("HTTP/1.") && first.contains(" 200")) {
        return Err(UpnpError::Missing("answer to a search"));
    }
    let location = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("location").then(|| value.trim())
    });
    location.and_then(parse_url).ok_or(UpnpError::Missing("location"))
}

/// `http://192.168.1.1:5000/root.xml`, with an address for a name and nothing but plain letters in its path.
fn parse_url(url: &str) -> Option<HttpUrl> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let address = match host.split_once(':') {
        Some((host, port)) => SocketAddrV4::new(host.parse().ok()?, port.parse().ok()?),
        None => SocketAddrV4::new(host.parse().ok()?, 80),
    };
    is_path(path).then(|| HttpUrl { address, path: path.to_owned() })
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.len() <= PATH_MAX && path.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The request for a description.
#[must_use]
pub fn get(url: &HttpUrl) -> String {
    let HttpUrl { address, path } = url;
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAccept: text/xml\r\n\r\n")
}

/// Whether an answer over HTTP has come to the end that it says; one that says none ends with its connection.
#[must_use]
pub fn is_complete(answer: &[u8]) -> bool {
    let Some((head, body)) = split_head(answer) else { return false };
    match header(&head, "content-length").and_then(|length| length.parse::<usize>().ok()) {
        Some(length) => body.len() >= length,
        None => is_chunked(&head) && join_chunks(body).is_some(),
    }
}

/// Status and body of an answer over HTTP (RFC 9112; a body in chunks is joined).
///
/// # Errors
/// It is no answer.
pub fn parse_http(answer: &[u8]) -> Result<(u16, String), UpnpError> {
    let (head, body) = split_head(answer).ok_or(UpnpError::Missing("end of HTTP's headers"))?;
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|word| word.parse().ok()).filter(|_| version.starts_with("HTTP/1."));
    let status = status.ok_or(UpnpError::Missing("HTTP status"))?;
    let body = if is_chunked(&head) {
        join_chunks(body).ok_or(UpnpError::Missing("last chunk"))?
    } else {
        body.to_vec()
    };
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

fn split_head(answer: &[u8]) -> Option<(String, &[u8])> {
    let at = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((String::from_utf8_lossy(&answer[..at]).into_owned(), &answer[at + 4..]))
}

fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim())
    })
}

fn is_chunked(head: &str) -> bool {
    header(head, "transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
}

/// A body out of its chunks; nothing if the last one is missing.
fn join_chunks(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n")?;
        let line = std::str::from_utf8(&body[..end]).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        body = &body[end + 2..];
        if size == 0 {
            return Some(joined);
        }
        joined.extend_from_slice(body.get(..size)?);
        body = body.get(size.checked_add(2)?..)?;
    }
}

/// The service that maps ports, out of the description found at `place`.
///
/// # Errors
/// There is none, or it is called elsewhere than on the router.
pub fn parse_description(text: &str, base: &HttpUrl) -> Result<Service, UpnpError> {
    let missing = UpnpError::Missing("service that maps ports");
    let Some(document) = parse_xml(text) else { return Err(missing) };
    let found = SERVICES.iter().find_map(|kind| {
        let mut services = document.descendants().filter(|node| node.tag_name().name() == "service");
        let service = services.find(|service| element(*service, "serviceType") == Some(kind))?;
        Some((*kind, element(service, "controlURL")?))
    });
    let (kind, url) = found.ok_or(missing)?;
    let control = if url.starts_with("http://") {
        parse_url(url).filter(|control| control.address.ip() == base.address.ip())
    } else {
        let path = if url.starts_with('/') { url.to_owned() } else { format!("/{url}") };
        is_path(&path).then_some(HttpUrl { address: base.address, path })
    };
    Ok(Service { kind, control: control.ok_or(UpnpError::Missing("control URL on the router"))? })
}

fn parse_xml(text: &str) -> Option<Document<'_>> {
    // Some routers send a line feed in front of the declaration, or a zero byte behind the end.
    Document::parse(text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0')).ok()
}

/// The text of the first element of this name, in whatever namespace.
fn element<'a>(within: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let found = within.descendants().find(|node| node.tag_name().name() == name)?;
    Some(found.text().unwrap_or_default().trim())
}

/// A call of the service.
#[must_use]
pub fn call(service: &Service, action: &str, arguments: &[(&str, String)]) -> String {
    let Service { kind, control: HttpUrl { address, path } } = service;
    let mut inner = String::new();
    for (name, value) in arguments {
        write!(inner, "<{name}>{value}</{name}>").expect("a String takes everything");
    }
    let body = format!(
        "<?xml version=\"1.0\"?>\r\n<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" \
         s:encodingStyle=\"http://schemas.xmlsoap.org/soap/encoding/\"><s:Body><u:{action} xmlns:u=\"{kind}\">{inner}\
         </u:{action}></s:Body></s:Envelope>\r\n"
    );
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: text/xml; charset=\"utf-8\"\r\n\
         SOAPAction: \"{kind}#{action}\"\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Adds a mapping from `port` outside to `port` of `own`, for so many seconds; 0 is for good.
#[must_use]
pub fn add(service: &Service, protocol: Protocol, port: u16, own: Ipv4Addr, seconds: u32) -> String {
    let arguments = [
        ("NewRemoteHost", String::new()),
        ("NewExternalPort", port.to_string()),
        ("NewProtocol", protocol.to_string()),
        ("NewInternalPort", port.to_string()),
        ("NewInternalClient", own.to_string()),
        ("NewEnabled", "1".to_owned()),
        ("NewPortMappingDescription", "guestright".to_owned()),
        ("NewLeaseDuration", seconds.to_string()),
    ];
    call(service, "AddPortMapping", &arguments)
}

#[must_use]
pub fn remove(service: &Service, protocol: Protocol, port: u16) -> String {
    let arguments = [
        ("NewRemoteHost", String::new()),
        ("NewExternalPort", port.to_string()),
        ("NewProtocol", protocol.to_string()),
    ];
    call(service, "DeletePortMapping", &arguments)
}

/// Checks the answer to a call.
///
/// # Errors
/// The router's reason to refuse.
pub fn check_answer(status: u16, body: &str) -> Result<(), UpnpError> {
    if status == 200 {
        return Ok(());
    }
    let document = parse_xml(body);
    let code = document.as_ref().and_then(|document| element(document.root(), "errorCode"));
    let code = code.and_then(|code| code.parse().ok());
    Err(UpnpError::Refused(code.unwrap_or(status)))
}

/// Reads the answer to `GetExternalIPAddress`.
///
/// # Errors
/// The router's reason to refuse, or no address in its answer.
pub fn parse_address(status: u16, body: &str) -> Result<Ipv4Addr, UpnpError> {
    check_answer(status, body)?;
    let document = parse_xml(body);
    let address = document.as_ref().and_then(|document| element(document.root(), "NewExternalIPAddress"));
    address.and_then(|address| address.parse().ok()).ok_or(UpnpError::Missing("address"))
}

#[cfg(test)]
mod tests;
