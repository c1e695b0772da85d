//! What a description says of the one stream that is carried, and how a home says it again on its own behalf.

use super::{Description, SdpError, Stream, connection};
use crate::message::decimal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::net::IpAddr;
use zeroize::Zeroize;

/// The one suite between homes (RFC 7714 section 14.2).
const SUITE: &str = "AEAD_AES_128_GCM";
/// Says that homes protect the stream, so that the other one takes the protection off again for its member.
const MARK: &str = "guestright-protection";

/// Where a description is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Between a member and its home, in the tunnel.
    Tunnel,
    /// Between two homes.
    Between,
}

/// How a call is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the members themselves.
    EndToEnd,
    /// Not by the members: by their tunnels, and from home to home.
    Homes,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndToEnd => "from end to end",
            Self::Homes => "from home to home",
        })
    }
}

/// The keys of a protected stream: 16 bytes of master key, 12 of salt (RFC 7714 section 12). `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub [u8; 28]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The keys of both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// What this home encrypts with.
    pub ours: Secret,
    /// What the other home encrypts with.
    pub theirs: Secret,
}

/// Who sends and who does not (RFC 3264 section 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Both.
    #[default]
    Both,
    /// Who says so sends.
    Send,
    /// Who says so listens.
    Receive,
    /// Neither.
    Neither,
}

impl Direction {
    const ALL: [Self; 4] = [Self::Both, Self::Send, Self::Receive, Self::Neither];

    fn name(self) -> &'static str {
        match self {
            Self::Both => "sendrecv",
            Self::Send => "sendonly",
            Self::Receive => "recvonly",
            Self::Neither => "inactive",
        }
    }

    /// The same for who wants to hear nothing.
    fn deaf(self) -> Self {
        match self {
            Self::Both | Self::Send => Self::Send,
            Self::Receive | Self::Neither => Self::Neither,
        }
    }
}

/// A home's own ports for one side of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Its address there.
    pub address: IpAddr,
    /// The port for RTP, and for RTCP if both share one.
    pub media: u16,
    /// The port for RTCP, if it has one of its own.
    pub control: u16,
}

/// What the other end of a side has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Which of the streams it is.
    pub index: usize,
    /// The ports for RTP and RTCP; `None` if it takes nothing.
    pub ports: Option<(u16, u16)>,
    /// Whether RTCP comes on the port of RTP (RFC 5761).
    pub mux: bool,
    /// How it is protected.
    pub mode: Mode,
    /// The other home's keys, between homes that protect.
    pub key: Option<Secret>,
    /// Who sends.
    pub direction: Direction,
    /// The clock of the first format in hertz (RFC 3551 table 4, or `a=rtpmap`).
    pub clock_hz: u32,
}

/// What a home says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Where it says so.
    pub network: Network,
    /// Its ports.
    pub ports: Ports,
    /// Whether it says that RTCP may share the port.
    pub mux: bool,
    /// How the call is protected.
    pub mode: Mode,
    /// Its keys, between homes that protect.
    pub key: Option<Secret>,
    /// Which stream is carried.
    pub index: usize,
    /// Whether it answers; an offer also names the port for RTCP in case the other end knows no `rtcp-mux`.
    pub is_answer: bool,
    /// Whether the other side takes anything at all; else the port is 0.
    pub open: bool,
    /// Who sends.
    pub direction: Direction,
}

/// Understands a description that came in on `network`. Of an answer the stream is known; of an offer it is the first
/// one that can be carried.
///
/// # Errors
/// [`SdpError`].
pub fn hear(description: &Description, network: Network, index: Option<usize>) -> Result<Heard, SdpError> {
    let carried = |stream: &Stream| stream.kind == "audio" && protection(&stream.protocol).is_some();
    let index = match index {
        Some(index) => index,
        None => {
            let mut offered = description.streams.iter();
            offered.position(|stream| carried(stream) && stream.port != 0).ok_or(SdpError::NoAudio)?
        }
    };
    let stream = description.streams.get(index).ok_or(SdpError::Malformed("the answer lacks a stream"))?;
    let is_safe = protection(&stream.protocol).filter(|_| stream.kind == "audio").ok_or(SdpError::NoAudio)?;
    let marked = attribute(stream, MARK) == Some("home");
    let (mode, key) = match (network, is_safe, marked) {
        (Network::Tunnel, true, _) | (Network::Between, true, false) => (Mode::EndToEnd, None),
        (Network::Tunnel, false, _) => (Mode::Homes, None),
        (Network::Between, true, true) if stream.port == 0 => (Mode::Homes, None),
        (Network::Between, true, true) => (Mode::Homes, Some(read_key(stream).ok_or(SdpError::NoKey)?)),
        (Network::Between, false, _) => return Err(SdpError::Unprotected),
    };
    let mux = network == Network::Between || has_attribute(stream, "rtcp-mux");
    let is_deaf = is_nowhere(description, stream);
    let control = attribute(stream, "rtcp").and_then(|value| decimal(value.split(' ').next()?));
    let control = if mux { Some(stream.port) } else { control.or_else(|| stream.port.checked_add(1)) };
    let ports = control.filter(|_| stream.port != 0 && !is_deaf).map(|control| (stream.port, control));
    let direction = read_direction(description, stream);
    let direction = if is_deaf { direction.deaf() } else { direction };
    Ok(Heard { index, ports, mux, mode, key, direction, clock_hz: clock(stream) })
}

/// The same description with the home in the place of who wrote it. Streams that are not carried are refused.
#[must_use]
pub fn say(description: &Description, local: &Local) -> Vec<u8> {
    let secrets = description.addresses();
    let keep = |kind: char, value: &str| {
        !secrets.iter().any(|address| !address.is_empty() && value.contains(address))
            && kept(kind, value, local.mode)
    };
    let lines = description.lines.iter().filter(|(kind, value)| keep(*kind, value) && !is_direction(value));
    let mut said =
        Description { lines: lines.cloned().collect(), streams: Vec::new(), ..description.clone() };
    for (index, stream) in description.streams.iter().enumerate() {
        if index != local.index || !local.open {
            let formats = stream.formats.iter().take(1).cloned().collect();
            let protocol =
                if index == local.index { protocol(stream, local) } else { stream.protocol.clone() };
            let mark = index == local.index && local.network == Network::Between && local.mode == Mode::Homes;
            let lines = mark.then(|| ('a', format!("{MARK}:home"))).into_iter().collect();
            said.streams.push(Stream { port: 0, formats, protocol, lines, kind: stream.kind.clone() });
            continue;
        }
        let lines = stream.lines.iter().filter(|(kind, value)| keep(*kind, value) && !is_direction(value));
        let lines = lines.cloned().chain(own_lines(local)).collect();
        let (port, protocol) = (local.ports.media, protocol(stream, local));
        said.streams.push(Stream { port, protocol, lines, ..stream.clone() });
    }
    said.emit(local.ports.address)
}

/// What the home adds.
fn own_lines(local: &Local) -> Vec<(char, String)> {
    let mut lines = Vec::new();
    let kind = if local.ports.address.is_ipv4() { "IP4" } else { "IP6" };
    if local.mux {
        lines.push("rtcp-mux".to_owned());
    }
    if local.network == Network::Tunnel && !(local.mux && local.is_answer) {
        lines.push(format!("rtcp:{} IN {kind} {}", local.ports.control, local.ports.address));
    }
    if local.network == Network::Between && local.mode == Mode::Homes {
        lines.push(format!("{MARK}:home"));
        lines.extend(
            local.key.as_ref().map(|key| format!("crypto:1 {SUITE} inline:{}", STANDARD.encode(key.0))),
        );
    }
    lines.push(local.direction.name().to_owned());
    lines.into_iter().map(|value| ('a', value)).collect()
}

/// Whether a line means the same on the other side of a home.
fn kept(kind: char, value: &str, mode: Mode) -> bool {
    match kind {
        'b' | 't' | 'r' => true,
        'a' => {
            let name = value.split(':').next().unwrap_or_default();
            let ours =
                ["rtcp", "rtcp-mux", "rtcp-mux-only", MARK, "source-filter", "ssrc", "ssrc-group", "group"];
            let ice = ["candidate", "remote-candidates", "end-of-candidates", "rtcp-rsize"];
            let keys = mode == Mode::Homes
                && ["crypto", "fingerprint", "setup", "key-mgmt", "tls-id"].contains(&name);
            !(ours.contains(&name) || ice.contains(&name) || name.starts_with("ice-") || keys)
        }
        // Addresses, and what tells of people.
        _ => false,
    }
}

/// Whether this protocol is RTP, and protected.
fn protection(protocol: &str) -> Option<bool> {
    match protocol {
        "RTP/AVP" | "RTP/AVPF" => Some(false),
        "RTP/SAVP" | "RTP/SAVPF" | "UDP/TLS/RTP/SAVP" | "UDP/TLS/RTP/SAVPF" => Some(true),
        _ => None,
    }
}

fn protocol(stream: &Stream, local: &Local) -> String {
    let same = &stream.protocol;
    match (local.network, local.mode) {
        (_, Mode::EndToEnd) => same.clone(),
        (Network::Tunnel, Mode::Homes) => same.replace("RTP/SAVP", "RTP/AVP"),
        (Network::Between, Mode::Homes) => same.replace("RTP/AVP", "RTP/SAVP"),
    }
}

fn attribute<'a>(stream: &'a Stream, name: &str) -> Option<&'a str> {
    let mut values = stream.lines.iter().filter(|(kind, _)| *kind == 'a').map(|(_, value)| value);
    values.find_map(|value| value.strip_prefix(name)?.strip_prefix(':'))
}

fn has_attribute(stream: &Stream, name: &str) -> bool {
    stream.lines.iter().any(|(kind, value)| *kind == 'a' && value == name)
}

fn is_direction(value: &str) -> bool {
    Direction::ALL.into_iter().any(|direction| direction.name() == value)
}

fn read_direction(description: &Description, stream: &Stream) -> Direction {
    let own = stream.lines.iter().chain(&description.lines).filter(|(kind, _)| *kind == 'a');
    let mut said = own.filter_map(|(_, value)| Direction::ALL.into_iter().find(|each| each.name() == value));
    said.next().unwrap_or_default()
}

/// The address 0.0.0.0 is the old way to put somebody on hold (RFC 3264 section 8.4).
fn is_nowhere(description: &Description, stream: &Stream) -> bool {
    let of = |lines: &[(char, String)]| {
        let mut lines = lines.iter().filter(|(kind, _)| *kind == 'c');
        lines.find_map(|(_, value)| connection(value)?.parse::<IpAddr>().ok())
    };
    of(&stream.lines).or_else(|| of(&description.lines)).is_some_and(|address| address.is_unspecified())
}

/// `1 AEAD_AES_128_GCM inline:…` (RFC 4568 section 9.2), without a lifetime or an index: homes write none.
fn read_key(stream: &Stream) -> Option<Secret> {
    let lines = stream
        .lines
        .iter()
        .filter(|(kind, _)| *kind == 'a')
        .filter_map(|(_, value)| value.strip_prefix("crypto:"));
    let mut keys = lines.filter_map(|value| {
        let mut words = value.split(' ').filter(|word| !word.is_empty());
        let (Some(_), Some(SUITE), Some(key), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return None;
        };
        let mut bytes = STANDARD.decode(key.strip_prefix("inline:")?).ok()?;
        let secret = bytes.as_slice().try_into().ok().map(Secret);
        bytes.zeroize();
        secret
    });
    keys.next()
}

fn clock(stream: &Stream) -> u32 {
    let format = stream.formats.first().map(String::as_str).unwrap_or_default();
    let maps = stream
        .lines
        .iter()
        .filter(|(kind, _)| *kind == 'a')
        .filter_map(|(_, value)| value.strip_prefix("rtpmap:"));
    let mut clocks = maps.filter_map(|map| {
        let (number, codec) = map.split_once(' ')?;
        if number == format { decimal(codec.split('/').nth(1)?) } else { None }
    });
    clocks.next().filter(|hertz| (1..=192_000).contains(hertz)).unwrap_or(8_000)
}
