//! Names and addresses in SIP headers: URIs, From and To, Via (RFC 3261 sections 19.1, 20 and 25.1).

use crate::MessageError;
use crate::message::{decimal, is_token};
use std::fmt;
use std::net::IpAddr;

/// A `sip:` URI. `sips:` is refused: there is no TLS here, tunnels and links seal instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri {
    /// The part before `@`, its escapes undone.
    pub user: Option<String>,
    /// A name, or an address without brackets, in lower case.
    pub host: String,
    /// The port, if one is named.
    pub port: Option<u16>,
    /// `;name=value`, in order.
    pub params: Vec<(String, Option<String>)>,
}

impl Uri {
    /// A URI with nothing but a user and a host.
    #[must_use]
    pub fn new(user: &str, host: &str) -> Self {
        Self { user: Some(user.to_owned()), host: host.to_owned(), port: None, params: Vec::new() }
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`MessageError::Malformed`].
    pub fn parse(text: &str) -> Result<Self, MessageError> {
        let malformed = || MessageError::Malformed("not a sip: URI");
        let scheme = text.get(..4).ok_or_else(malformed)?;
        if !scheme.eq_ignore_ascii_case("sip:")
            || text.bytes().any(|byte| byte <= b' ' || b"<>\"".contains(&byte))
        {
            return Err(malformed());
        }
        // Headers in a URI would become headers of a request: nobody gets to write those.
        let text = text[4..].split('?').next().unwrap_or_default();
        let (user, rest) = match text.rsplit_once('@') {
            Some((user, rest)) => (Some(user), rest),
            None => (None, text),
        };
        let user =
            user.map(|user| unescape(user.split(':').next().unwrap_or_default()).ok_or_else(malformed));
        let mut parts = rest.split(';');
        let (host, port) = parse_host_port(parts.next().unwrap_or_default()).ok_or_else(malformed)?;
        Ok(Self { user: user.transpose()?, host, port, params: parse_params(parts).ok_or_else(malformed)? })
    }

    /// The address that the host is, if it is one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Whether `;transport=tcp` is said.
    #[must_use]
    pub fn wants_tcp(&self) -> bool {
        let is_it = |(name, value): &(String, Option<String>)| {
            name == "transport" && value.as_deref().is_some_and(|value| value.eq_ignore_ascii_case("tcp"))
        };
        self.params.iter().any(is_it)
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sip:")?;
        if let Some(user) = &self.user {
            write!(f, "{}@", escape(user))?;
        }
        write_host(f, &self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write_params(f, &self.params)
    }
}

/// What From, To, Contact and the like hold: perhaps a name for people, a URI, and parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameAddress {
    /// The name for people.
    pub display: Option<String>,
    pub uri: Uri,
    /// `;name=value` of the header, in order.
    pub params: Vec<(String, Option<String>)>,
}

impl NameAddress {
    /// One without parameters.
    #[must_use]
    pub fn new(display: Option<&str>, uri: Uri) -> Self {
        Self { display: display.map(str::to_owned), uri, params: Vec::new() }
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`MessageError::Malformed`].
    pub fn parse(text: &str) -> Result<Self, MessageError> {
        let malformed = || MessageError::Malformed("not a name and an address");
        let text = text.trim();
        let (display, rest) = if let Some(quoted) = text.strip_prefix('"') {
            let (name, rest) = unquote(quoted).ok_or_else(malformed)?;
            (Some(name), rest.trim_start())
        } else if let Some(at) = text.find('<') {
            (Some(text[..at].trim().to_owned()).filter(|name| !name.is_empty()), &text[at..])
        } else {
            // Without angle brackets, parameters belong to the header (RFC 3261 section 20.10).
            let (uri, params) = text.split_once(';').unwrap_or((text, ""));
            let params = parse_params(params.split(';').filter(|part| !part.is_empty()));
            return Ok(Self {
                display: None,
                uri: Uri::parse(uri.trim())?,
                params: params.ok_or_else(malformed)?,
            });
        };
        let inside = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let (uri, params) = inside.ok_or_else(malformed)?;
        let params = params.trim();
        if !params.is_empty() && !params.starts_with(';') {
            return Err(malformed());
        }
        let params = parse_params(params.split(';').skip(1)).ok_or_else(malformed)?;
        Ok(Self { display, uri: Uri::parse(uri)?, params })
    }

    /// A parameter's value; empty if it has none.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().find(|(each, _)| each == name);
        found.map(|(_, value)| value.as_deref().unwrap_or_default())
    }

    /// The tag (RFC 3261 section 19.3), if there is one.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.param("tag").filter(|tag| !tag.is_empty())
    }

    /// The same with this tag and no other parameter.
    #[must_use]
    pub fn tagged(&self, tag: Option<&str>) -> Self {
        let params = tag.map(|tag| ("tag".to_owned(), Some(tag.to_owned())));
        Self { params: params.into_iter().collect(), ..self.clone() }
    }
}

impl fmt::Display for NameAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.display {
            write!(f, "\"{}\" ", name.replace('\\', "\\\\").replace('"', "\\\""))?;
        }
        write!(f, "<{}>", self.uri)?;
        write_params(f, &self.params)
    }
}

/// One step of a message's way (RFC 3261 section 20.42).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Via {
    /// `UDP` or `TCP`.
    pub transport: String,
    /// Who sent it: a name or an address, and a port.
    pub sent_by: (String, Option<u16>),
    /// `;name=value`, in order.
    pub params: Vec<(String, Option<String>)>,
}

impl Via {
    /// Reads one.
    ///
    /// # Errors
    /// [`MessageError::Header`].
    pub fn parse(text: &str) -> Result<Self, MessageError> {
        let read = || {
            let rest = text.strip_prefix("SIP/2.0/")?;
            let (transport, rest) = rest.split_once([' ', '\t'])?;
            let mut parts = rest.split(';');
            let sent_by = parse_host_port(parts.next()?.trim())?;
            let plain = !transport.is_empty() && transport.bytes().all(is_token);
            plain.then_some(())?;
            Some(Self { transport: transport.to_owned(), sent_by, params: parse_params(parts)? })
        };
        read().ok_or(MessageError::Header("Via"))
    }

    /// What tells this transaction from others, if it is as RFC 3261 section 8.1.1.7 wants it.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        let found = self.params.iter().find(|(name, _)| name == "branch");
        found.and_then(|(_, value)| value.as_deref()).filter(|value| value.starts_with("z9hG4bK"))
    }

    /// Notes where it came from (RFC 3261 section 18.2.1, RFC 3581 section 4).
    #[must_use]
    pub fn received(mut self, from: std::net::SocketAddr) -> Self {
        self.params.retain(|(name, _)| name != "received");
        for (name, value) in &mut self.params {
            if name == "rport" {
                *value = Some(from.port().to_string());
            }
        }
        if self.sent_by.0.parse() != Ok(from.ip()) || self.params.iter().any(|(name, _)| name == "rport") {
            self.params.push(("received".to_owned(), Some(from.ip().to_string())));
        }
        self
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SIP/2.0/{} ", self.transport)?;
        write_host(f, &self.sent_by.0)?;
        if let Some(port) = self.sent_by.1 {
            write!(f, ":{port}")?;
        }
        write_params(f, &self.params)
    }
}

fn parse_host_port(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
    } else {
        let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if host.is_empty() || host.len() > 253 || !host.bytes().all(plain) {
            return None;
        }
        (host, port)
    };
    let port = match port {
        Some(text) => Some(decimal(text.trim()).filter(|port| *port != 0)?),
        None => None,
    };
    Some((host.to_ascii_lowercase(), port))
}

/// Names become lower case. Nothing in a value can end a header or an angle bracket.
fn parse_params<'a>(parts: impl Iterator<Item = &'a str>) -> Option<Vec<(String, Option<String>)>> {
    let mut params = Vec::new();
    for part in parts {
        let (name, value) = part.split_once('=').map_or((part, None), |(name, value)| (name, Some(value)));
        let (name, value) = (name.trim(), value.map(str::trim));
        let plain = |byte: u8| byte > b' ' && byte < 0x7f && !b"<>,;".contains(&byte);
        let named = !name.is_empty() && name.bytes().all(|byte| is_token(byte) || b"[]/:&+$".contains(&byte));
        if !named || value.is_some_and(|value| !value.bytes().all(plain)) || params.len() == 32 {
            return None;
        }
        params.push((name.to_ascii_lowercase(), value.map(str::to_owned)));
    }
    Some(params)
}

fn write_host(f: &mut fmt::Formatter<'_>, host: &str) -> fmt::Result {
    if host.contains(':') { write!(f, "[{host}]") } else { f.write_str(host) }
}

fn write_params(f: &mut fmt::Formatter<'_>, params: &[(String, Option<String>)]) -> fmt::Result {
    for (name, value) in params {
        match value {
            Some(value) => write!(f, ";{name}={value}")?,
            None => write!(f, ";{name}")?,
        }
    }
    Ok(())
}

/// The text up to the closing quote, and what is after it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let (mut name, mut escaped) = (String::new(), false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => {
                name.push(letter);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return Some((name, &text[at + 1..])),
            _ => name.push(letter),
        }
    }
    None
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|byte| !byte.is_ascii_control())?);
        rest = after;
    }
    String::from_utf8(bytes).ok().filter(|user| !user.is_empty() && user.len() <= 128)
}

fn escape(user: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()&=+$,;?/".contains(&byte);
    let mut text = String::with_capacity(user.len());
    for byte in user.bytes() {
        if plain(byte) { text.push(char::from(byte)) } else { text.push_str(&format!("%{byte:02X}")) }
    }
    text
}

#[cfg(test)]
mod tests;
