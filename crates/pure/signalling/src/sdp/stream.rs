//! What a description says of the one stream that is carried, and how a home says it again on its own behalf.

use super::{SdpError, connection, named_addresses};
use crate::message::decimal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guestright_wire::sdp::{
    Attribute, Crypto, Description, Direction, Family, Media, Origin, OwnedField, RtpMap,
};
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

/// Where the other end of a side wants its media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaPorts {
    /// The port for RTP.
    pub media: u16,
    /// The port for RTCP, which may be the same.
    pub control: u16,
}

/// What the other end of a side has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteMedia {
    /// Which of the streams it is.
    pub index: usize,
    /// Its ports; `None` if it takes nothing.
    pub ports: Option<MediaPorts>,
    /// Whether RTCP comes on the port of RTP (RFC 5761).
    pub mux: bool,
    /// How it is protected.
    pub mode: Mode,
    /// The other home's keys, between homes that protect.
    pub key: Option<Secret>,
    pub direction: Direction,
    /// The clock of the first format in hertz (RFC 3551 table 4, or `a=rtpmap`).
    pub clock_hz: u32,
}

/// What a home says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalMedia {
    /// Where it says so.
    pub network: Network,
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
    pub direction: Direction,
}

/// Understands a description that came in on `network`. Of an answer the stream is known; of an offer it is the first
/// one that can be carried.
///
/// # Errors
/// [`SdpError`].
pub fn read_media(
    description: &Description,
    network: Network,
    index: Option<usize>,
) -> Result<RemoteMedia, SdpError> {
    let carried = |stream: &Media| stream.kind == "audio" && protection(&stream.protocol).is_some();
    let index = match index {
        Some(index) => index,
        None => {
            let mut offered = description.media.iter();
            offered.position(|stream| carried(stream) && stream.port != 0).ok_or(SdpError::NoAudio)?
        }
    };
    let stream = description.media.get(index).ok_or(SdpError::Malformed("the answer lacks a stream"))?;
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
    let ports = control
        .filter(|_| stream.port != 0 && !is_deaf)
        .map(|control| MediaPorts { media: stream.port, control });
    let direction = read_direction(description, stream);
    let direction = if is_deaf { Direction::new(direction.sends(), false) } else { direction };
    Ok(RemoteMedia { index, ports, mux, mode, key, direction, clock_hz: clock(stream) })
}

/// The same description with the home in the place of who wrote it. Streams that are not carried are refused.
#[must_use]
pub fn rewrite_description(description: &Description, local: &LocalMedia) -> Vec<u8> {
    let secrets = named_addresses(description);
    let keep = |field: &&OwnedField| {
        let names_address =
            secrets.iter().any(|address| !address.is_empty() && field.value.contains(address));
        !names_address && is_kept(field, local.mode) && Direction::parse(&field.value).is_none()
    };
    let media = description.media.iter().enumerate().map(|(index, stream)| {
        if index != local.index {
            return refuse_stream(stream);
        }
        let protocol = protocol(stream, local);
        if !local.open {
            // Whoever reads this still has to know who protects the stream.
            let mark = local.network == Network::Between && local.mode == Mode::Homes;
            let mark = mark.then(|| OwnedField::attribute(format!("{MARK}:home")));
            return Media { protocol, lines: mark.into_iter().collect(), ..refuse_stream(stream) };
        }
        let lines = stream.lines.iter().filter(keep).cloned().chain(own_lines(local)).collect();
        Media { port: local.ports.media, protocol, lines, ..stream.clone() }
    });
    let host = local.ports.address;
    let origin = Origin {
        username: "-".to_owned(),
        session: description.origin.session,
        family: Family::of_address(host),
        address: host.to_string(),
    };
    let mut rewritten = Description { media: media.collect(), lines: Vec::new(), origin };
    let connection = format!("IN {} {host}", rewritten.origin.family);
    rewritten.lines.push(OwnedField { kind: 's', value: "-".to_owned() });
    rewritten.lines.push(OwnedField { kind: 'c', value: connection });
    rewritten.lines.extend(description.lines.iter().filter(keep).cloned());
    if rewritten.lines.iter().all(|field| field.kind != 't') {
        // RFC 8866 section 5.9: there is at least one, and calls have no end that is known.
        rewritten.lines.push(OwnedField { kind: 't', value: "0 0".to_owned() });
    }
    rewritten.emit().into_bytes()
}

/// A stream on port 0, with one format because there has to be one (RFC 3264 section 6).
fn refuse_stream(stream: &Media) -> Media {
    Media {
        kind: stream.kind.clone(),
        port: 0,
        protocol: stream.protocol.clone(),
        formats: stream.formats.iter().take(1).cloned().collect(),
        lines: Vec::new(),
    }
}

/// What the home adds.
fn own_lines(local: &LocalMedia) -> Vec<OwnedField> {
    let mut lines = Vec::new();
    if local.mux {
        lines.push("rtcp-mux".to_owned());
    }
    if local.network == Network::Tunnel && !(local.mux && local.is_answer) {
        let family = Family::of_address(local.ports.address);
        lines.push(format!("rtcp:{} IN {family} {}", local.ports.control, local.ports.address));
    }
    if local.network == Network::Between && local.mode == Mode::Homes {
        lines.push(format!("{MARK}:home"));
        lines.extend(
            local.key.as_ref().map(|key| format!("crypto:1 {SUITE} inline:{}", STANDARD.encode(key.0))),
        );
    }
    lines.push(local.direction.name().to_owned());
    lines.into_iter().map(OwnedField::attribute).collect()
}

/// Whether a line means the same on the other side of a home.
fn is_kept(field: &OwnedField, mode: Mode) -> bool {
    match field.kind {
        'b' | 't' | 'r' => true,
        'a' => {
            let name = Attribute::parse(&field.value).name;
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

fn protocol(stream: &Media, local: &LocalMedia) -> String {
    let same = &stream.protocol;
    match (local.network, local.mode) {
        (_, Mode::EndToEnd) => same.clone(),
        (Network::Tunnel, Mode::Homes) => same.replace("RTP/SAVP", "RTP/AVP"),
        (Network::Between, Mode::Homes) => same.replace("RTP/AVP", "RTP/SAVP"),
    }
}

fn attribute<'a>(stream: &'a Media, name: &str) -> Option<&'a str> {
    values(stream, name).next()
}

/// The values of all attributes of this name.
fn values<'a>(stream: &'a Media, name: &str) -> impl Iterator<Item = &'a str> {
    stream
        .attributes()
        .map(Attribute::parse)
        .filter(move |each| each.name == name)
        .filter_map(|each| each.value)
}

fn has_attribute(stream: &Media, name: &str) -> bool {
    stream.attributes().any(|value| value == name)
}

fn read_direction(description: &Description, stream: &Media) -> Direction {
    stream.attributes().chain(description.attributes()).find_map(Direction::parse).unwrap_or_default()
}

/// The address 0.0.0.0 is the old way to put somebody on hold (RFC 3264 section 8.4).
fn is_nowhere(description: &Description, stream: &Media) -> bool {
    let address = |lines: &[OwnedField]| lines.iter().find_map(|field| connection(field)?.ip());
    address(&stream.lines)
        .or_else(|| address(&description.lines))
        .is_some_and(|address| address.is_unspecified())
}

/// The key of [`SUITE`] (RFC 4568 section 9.2), without a lifetime or an index: homes write none.
fn read_key(stream: &Media) -> Option<Secret> {
    values(stream, "crypto").filter_map(Crypto::parse).filter(|crypto| crypto.suite == SUITE).find_map(
        |crypto| {
            let mut bytes = STANDARD.decode(crypto.key).ok()?;
            let secret = bytes.as_slice().try_into().ok().map(Secret);
            bytes.zeroize();
            secret
        },
    )
}

fn clock(stream: &Media) -> u32 {
    let format = stream.formats.first().map(String::as_str).unwrap_or_default();
    let maps = values(stream, "rtpmap").filter_map(RtpMap::parse).filter(|map| map.payload == format);
    let mut clocks = maps.filter_map(|map| decimal(map.clock));
    // Without a map it is one of RFC 3551's table 4, whose audio formats have this clock, but for a few.
    clocks.next().filter(|hertz| (1..=192_000).contains(hertz)).unwrap_or(8_000)
}
