//! Session descriptions of one voice stream: SDP (RFC 8866) in offers and answers (RFC 3264).
//!
//! Invariants: a text is looked at only up to [`TEXT_MAX`] bytes and [`MEDIA_MAX`] media; what is emitted parses to
//! the same; keys are never in `Debug` output; a key line with parameters that we do not know is not there
//! (RFC 4568 section 6.3.7), and so is one that would switch protection off.

use std::fmt::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use thiserror::Error;
use zeroize::Zeroizing;

/// A description has at most so many bytes.
const TEXT_MAX: usize = 8_192;
/// A description has at most so many media.
pub const MEDIA_MAX: usize = 8;
/// So many formats are looked at.
const FORMATS_MAX: usize = 32;
/// So many key lines are looked at.
const CRYPTO_MAX: usize = 8;
/// The longest name of a format or of a suite, and the longest parameters.
const WORD_MAX: usize = 255;

/// What is wrong with a description.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DescriptionError {
    /// Too much of it.
    #[error("the session description is {got} bytes long, at most {max} are looked at")]
    TooLong {
        /// Bytes.
        got: usize,
        /// The limit.
        max: usize,
    },
    /// A line is not as RFC 8866 has it.
    #[error("line {line} of the session description is malformed: expected {want}")]
    Line {
        /// Counted from one.
        line: usize,
        /// What is expected there.
        want: &'static str,
    },
    /// There is no voice in it.
    #[error("the session description has no audio stream that can be taken")]
    NoAudio,
    /// More than can be.
    #[error("the session description has more than {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        max: usize,
    },
}

/// How the packets of a stream are protected, as the `m=` line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Not at all: `RTP/AVP` (RFC 3551), or `RTP/AVPF` (RFC 4585).
    Plain {
        /// Whether it is the profile with feedback.
        feedback: bool,
    },
    /// SRTP: `RTP/SAVP` (RFC 3711), or `RTP/SAVPF` (RFC 5124).
    Secure {
        /// Whether it is the profile with feedback.
        feedback: bool,
    },
}

impl Profile {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "RTP/AVP" => Some(Self::Plain { feedback: false }),
            "RTP/AVPF" => Some(Self::Plain { feedback: true }),
            "RTP/SAVP" => Some(Self::Secure { feedback: false }),
            "RTP/SAVPF" => Some(Self::Secure { feedback: true }),
            _ => None,
        }
    }

    /// Whether the stream is SRTP.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::Secure { .. })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain { feedback: false } => "RTP/AVP",
            Self::Plain { feedback: true } => "RTP/AVPF",
            Self::Secure { feedback: false } => "RTP/SAVP",
            Self::Secure { feedback: true } => "RTP/SAVPF",
        })
    }
}

/// Who sends, seen from whom the description is of (RFC 8866 section 6.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Both.
    #[default]
    SendReceive,
    /// Only this side: the other one is on hold.
    SendOnly,
    /// Only the other side.
    ReceiveOnly,
    /// Nobody.
    Inactive,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::SendReceive => "sendrecv",
            Self::SendOnly => "sendonly",
            Self::ReceiveOnly => "recvonly",
            Self::Inactive => "inactive",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let all = [Self::SendReceive, Self::SendOnly, Self::ReceiveOnly, Self::Inactive];
        all.into_iter().find(|direction| direction.name() == text)
    }

    /// Whether this side sends.
    pub fn sends(self) -> bool {
        matches!(self, Self::SendReceive | Self::SendOnly)
    }

    /// Whether this side wants to receive.
    pub fn receives(self) -> bool {
        matches!(self, Self::SendReceive | Self::ReceiveOnly)
    }

    /// The direction of whom sends and receives so.
    pub fn new(sends: bool, receives: bool) -> Self {
        match (sends, receives) {
            (true, true) => Self::SendReceive,
            (true, false) => Self::SendOnly,
            (false, true) => Self::ReceiveOnly,
            (false, false) => Self::Inactive,
        }
    }

    /// What is answered by whom wants `wanted` to this offer (RFC 3264 section 6.1).
    pub fn answered(self, wanted: Self) -> Self {
        Self::new(wanted.sends() && self.receives(), wanted.receives() && self.sends())
    }
}

/// A payload type and what it stands for (RFC 8866 section 6.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// In RTP's header, 0 to 127.
    pub payload: u8,
    /// The encoding's name, for example `PCMU`; compared without regard to case.
    pub name: String,
    /// Ticks of the timestamp per second.
    pub clock_hz: u32,
    /// Channels.
    pub channels: u8,
    /// `a=fmtp`.
    pub parameters: Option<String>,
}

/// A key in SDP (RFC 4568).
#[derive(Clone, PartialEq, Eq)]
pub struct Crypto {
    /// Which of the offered ones.
    pub tag: u32,
    /// The suite's name, for example `AES_CM_128_HMAC_SHA1_80`.
    pub suite: String,
    /// The master key and salt in base64.
    pub key: Zeroizing<String>,
}

impl fmt::Debug for Crypto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crypto").field("tag", &self.tag).field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// That keys are agreed on between the two members, and what binds the agreement to the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The agreement's version.
    pub version: u32,
    /// Of what this side will show, in lower-case hexadecimal digits.
    pub digest: String,
}

/// One side's description of a session with one voice stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The session's number.
    pub session: u64,
    /// Higher in each description of this side (RFC 3264 section 8).
    pub version: u64,
    /// Where this side receives. Port 0: the stream is refused.
    pub address: SocketAddr,
    /// Where it receives RTCP, if not on the next port (RFC 3605).
    pub control_port: Option<u16>,
    /// Whether RTCP may come to RTP's port (RFC 5761).
    pub multiplex: bool,
    /// How it is protected.
    pub profile: Profile,
    /// By preference.
    pub formats: Vec<Format>,
    /// Who sends.
    pub direction: Direction,
    /// Milliseconds of voice in a packet that it wants to receive.
    pub ptime_ms: Option<u32>,
    /// Keys for what this side sends.
    pub crypto: Vec<Crypto>,
    /// Keys are agreed on instead.
    pub agreement: Option<Agreement>,
    /// Media lines of other kinds, by their place; an answer refuses them there (RFC 3264 section 6).
    pub others: Vec<(usize, String)>,
}

impl Description {
    /// Reads a description from the network.
    ///
    /// The first audio stream that is not refused and is over RTP counts. Attributes that are not known mean nothing.
    ///
    /// # Errors
    /// It is too long, malformed, or has no such stream.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        if text.len() > TEXT_MAX {
            return Err(DescriptionError::TooLong { got: text.len(), max: TEXT_MAX });
        }
        let mut reader = Reader::default();
        for (index, line) in text.lines().enumerate() {
            let wrong = |want| DescriptionError::Line { line: index + 1, want };
            let line = line.trim_end();
            if line.is_empty() {
                continue;
            }
            let (kind, value) = line.split_once('=').ok_or_else(|| wrong("a letter, `=`, and a value"))?;
            reader.line(kind, value).map_err(|problem| match problem {
                Problem::Wrong(want) => wrong(want),
                Problem::TooMany(what, max) => DescriptionError::TooMany { what, max },
            })?;
        }
        reader.finish()
    }

    /// Writes it, for the network.
    pub fn emit(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(1_024));
        // Writing into a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        let family = if self.address.is_ipv4() { "IP4" } else { "IP6" };
        let ip = self.address.ip();
        let eol = "\r\n";
        write!(text, "v=0{eol}o=- {} {} IN {family} {ip}{eol}s=-{eol}", self.session, self.version)?;
        write!(text, "c=IN {family} {ip}{eol}t=0 0{eol}")?;
        let places = self.others.len() + 1;
        let mut others = self.others.iter().peekable();
        let mut is_written = false;
        for place in 0..places {
            match others.next_if(|(at, _)| *at == place) {
                Some((_, media)) => write!(text, "{media}{eol}")?,
                None if !is_written => {
                    is_written = true;
                    self.write_audio(text, eol)?;
                }
                None => {}
            }
        }
        if !is_written {
            self.write_audio(text, eol)?;
        }
        others.try_for_each(|(_, media)| write!(text, "{media}{eol}"))
    }

    fn write_audio(&self, text: &mut String, eol: &str) -> fmt::Result {
        write!(text, "m=audio {} {}", self.address.port(), self.profile)?;
        self.formats.iter().try_for_each(|format| write!(text, " {}", format.payload))?;
        write!(text, "{eol}")?;
        for format in &self.formats {
            write!(text, "a=rtpmap:{} {}/{}", format.payload, format.name, format.clock_hz)?;
            if format.channels != 1 {
                write!(text, "/{}", format.channels)?;
            }
            write!(text, "{eol}")?;
            if let Some(parameters) = &format.parameters {
                write!(text, "a=fmtp:{} {parameters}{eol}", format.payload)?;
            }
        }
        if let Some(ms) = self.ptime_ms {
            write!(text, "a=ptime:{ms}{eol}")?;
        }
        if let Some(port) = self.control_port {
            write!(text, "a=rtcp:{port}{eol}")?;
        }
        if self.multiplex {
            write!(text, "a=rtcp-mux{eol}")?;
        }
        for crypto in &self.crypto {
            write!(text, "a=crypto:{} {} inline:{}{eol}", crypto.tag, crypto.suite, crypto.key.as_str())?;
        }
        if let Some(agreement) = &self.agreement {
            write!(text, "a=guestright-agreement:{} {}{eol}", agreement.version, agreement.digest)?;
        }
        write!(text, "a={}{eol}", self.direction.name())
    }

    /// Where this side receives RTCP from us, who can always take it on RTP's port: a port that an offer names besides
    /// is for those who cannot (RFC 5761 section 5.1.3).
    pub fn control_address(&self) -> SocketAddr {
        let port = self.address.port();
        let other = || self.control_port.unwrap_or(port.saturating_add(1));
        SocketAddr::new(self.address.ip(), if self.multiplex { port } else { other() })
    }
}

enum Problem {
    Wrong(&'static str),
    TooMany(&'static str, usize),
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    session: u64,
    version: u64,
    address: Option<IpAddr>,
    direction: Option<Direction>,
    media: usize,
    others: Vec<(usize, String)>,
    /// The lines are those of the audio stream that counts.
    in_audio: bool,
    audio: Option<Audio>,
}

struct Audio {
    port: u16,
    profile: Profile,
    payloads: Vec<u8>,
    maps: Vec<Format>,
    parameters: Vec<(u8, String)>,
    address: Option<IpAddr>,
    direction: Option<Direction>,
    ptime_ms: Option<u32>,
    control_port: Option<u16>,
    multiplex: bool,
    crypto: Vec<Crypto>,
    agreement: Option<Agreement>,
}

impl Reader {
    fn line(&mut self, kind: &str, value: &str) -> Result<(), Problem> {
        match kind {
            "o" => {
                let mut words = value.split(' ').skip(1);
                let mut number = || words.next().and_then(|word| word.parse().ok());
                let numbers = number().zip(number());
                let want = "`o=` with a session's number and version (RFC 8866 section 5.2)";
                (self.session, self.version) = numbers.ok_or(Problem::Wrong(want))?;
            }
            "c" => {
                let address = connection(value)
                    .ok_or(Problem::Wrong("`c=IN IP4` or `c=IN IP6` and an address, not a name"))?;
                match self.audio.as_mut().filter(|_| self.in_audio) {
                    Some(audio) => audio.address = Some(address),
                    None if self.media == 0 => self.address = Some(address),
                    None => {}
                }
            }
            "m" => self.media(value)?,
            "a" => self.attribute(value)?,
            _ if kind.len() == 1 => {}
            _ => return Err(Problem::Wrong("one letter before `=`")),
        }
        Ok(())
    }

    fn media(&mut self, value: &str) -> Result<(), Problem> {
        if self.media == MEDIA_MAX {
            return Err(Problem::TooMany("media", MEDIA_MAX));
        }
        let place = self.media;
        self.media += 1;
        self.in_audio = false;
        let wrong = || Problem::Wrong("`m=`, a kind, a port, a protocol and formats");
        let mut words = value.split(' ').filter(|word| !word.is_empty());
        let mut next = || words.next().ok_or_else(wrong);
        let (kind, port, protocol) = (next()?, next()?, next()?);
        let port = port.split('/').next().unwrap_or_default().parse::<u16>().map_err(|_| wrong())?;
        let payloads: Vec<_> = words.take(FORMATS_MAX).collect();
        let profile = Profile::parse(protocol);
        match (kind, profile, &self.audio) {
            ("audio", Some(profile), None) if port != 0 => {
                let payloads = payloads.iter().map(|word| word.parse().ok().filter(|payload| *payload < 128));
                let payloads = payloads.collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
                self.in_audio = true;
                self.audio = Some(Audio {
                    port,
                    profile,
                    payloads,
                    maps: Vec::new(),
                    parameters: Vec::new(),
                    address: None,
                    direction: None,
                    ptime_ms: None,
                    control_port: None,
                    multiplex: false,
                    crypto: Vec::new(),
                    agreement: None,
                });
            }
            _ => {
                let first = payloads.first().copied().unwrap_or("0");
                let is_token =
                    |word: &str| word.len() <= WORD_MAX && word.chars().all(|c| c.is_ascii_graphic());
                if ![kind, protocol, first].iter().all(|word| is_token(word)) {
                    return Err(wrong());
                }
                self.others.push((place, format!("m={kind} 0 {protocol} {first}")));
            }
        }
        Ok(())
    }

    fn attribute(&mut self, value: &str) -> Result<(), Problem> {
        let (name, value) = value.split_once(':').unwrap_or((value, ""));
        let direction = Direction::parse(name);
        let Some(audio) = self.audio.as_mut().filter(|_| self.in_audio) else {
            if let (Some(direction), 0) = (direction, self.media) {
                self.direction = Some(direction);
            }
            return Ok(());
        };
        match name {
            _ if direction.is_some() => audio.direction = direction,
            "rtpmap" if audio.maps.len() < FORMATS_MAX => {
                let map =
                    rtpmap(value).ok_or(Problem::Wrong("`a=rtpmap:`, a payload type, a name and a clock"))?;
                audio.maps.push(map);
            }
            "fmtp" if audio.parameters.len() < FORMATS_MAX => {
                let parameters = value.split_once(' ').and_then(|(payload, text)| {
                    let fits = text.len() <= WORD_MAX && text.chars().all(|c| !c.is_control());
                    Some((payload.parse().ok()?, text.to_owned())).filter(|_| fits)
                });
                audio.parameters.extend(parameters);
            }
            "ptime" => audio.ptime_ms = value.trim().parse().ok().filter(|ms| (1..=200).contains(ms)),
            "rtcp" => {
                let port = value.split(' ').next().unwrap_or_default().parse().ok();
                audio.control_port = port.filter(|port| *port != 0);
            }
            "rtcp-mux" => audio.multiplex = true,
            "crypto" => {
                if audio.crypto.len() == CRYPTO_MAX {
                    return Err(Problem::TooMany("key lines", CRYPTO_MAX));
                }
                audio.crypto.extend(crypto(value));
            }
            "guestright-agreement" => {
                let want = "`a=guestright-agreement:`, a version and hexadecimal digits";
                let found = agreement(value).ok_or(Problem::Wrong(want))?;
                if audio.agreement.replace(found).is_some() {
                    return Err(Problem::TooMany("agreements", 1));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Description, DescriptionError> {
        let audio = self.audio.ok_or(DescriptionError::NoAudio)?;
        let ip = audio.address.or(self.address).ok_or(DescriptionError::NoAudio)?;
        let mut formats = Vec::with_capacity(audio.payloads.len());
        for payload in audio.payloads {
            let map = audio.maps.iter().find(|map| map.payload == payload).cloned();
            let Some(mut format) = map.or_else(|| well_known(payload)) else { continue };
            let parameters = audio.parameters.iter().find(|(of, _)| *of == payload);
            format.parameters = parameters.map(|(_, text)| text.clone());
            if formats.iter().all(|other: &Format| other.payload != payload) {
                formats.push(format);
            }
        }
        // The old way to say hold (RFC 3264 section 8.4).
        let mut direction = audio.direction.or(self.direction).unwrap_or_default();
        if ip.is_unspecified() {
            direction = Direction::new(direction.sends(), false);
        }
        Ok(Description {
            session: self.session,
            version: self.version,
            address: SocketAddr::new(ip, audio.port),
            control_port: audio.control_port,
            multiplex: audio.multiplex,
            profile: audio.profile,
            formats,
            direction,
            ptime_ms: audio.ptime_ms,
            crypto: audio.crypto,
            agreement: audio.agreement,
            others: self.others,
        })
    }
}

/// A unicast address; names are not looked up.
fn connection(value: &str) -> Option<IpAddr> {
    let mut words = value.split(' ');
    let (net, family, address) = (words.next()?, words.next()?, words.next()?);
    let address: IpAddr = address.parse().ok()?;
    let fits = (family == "IP4" && address.is_ipv4()) || (family == "IP6" && address.is_ipv6());
    let unicast = !address.is_multicast() && address != IpAddr::V4(Ipv4Addr::BROADCAST);
    (net == "IN" && fits && unicast).then_some(address)
}

fn rtpmap(value: &str) -> Option<Format> {
    let (payload, encoding) = value.split_once(' ')?;
    let mut parts = encoding.trim().split('/');
    let (name, clock) = (parts.next()?, parts.next()?);
    let channels = parts.next().map_or(Some(1), |text| text.parse().ok())?;
    let token = !name.is_empty() && name.len() <= WORD_MAX && name.chars().all(|c| c.is_ascii_graphic());
    let clock_hz = clock.parse().ok().filter(|hz| (1_000..=192_000).contains(hz))?;
    let payload = payload.parse().ok().filter(|payload| *payload < 128)?;
    token.then(|| Format { payload, name: name.to_owned(), clock_hz, channels, parameters: None })
}

/// Payload types that need no `a=rtpmap` (RFC 3551 table 4).
fn well_known(payload: u8) -> Option<Format> {
    let name = match payload {
        0 => "PCMU",
        3 => "GSM",
        5 => "DVI4",
        7 => "LPC",
        8 => "PCMA",
        9 => "G722",
        13 => "CN",
        18 => "G729",
        _ => return None,
    };
    Some(Format { payload, name: name.to_owned(), clock_hz: 8_000, channels: 1, parameters: None })
}

/// A key line: one key, no master key identifier, no parameters (RFC 4568 section 9.2).
fn crypto(value: &str) -> Option<Crypto> {
    let mut words = value.split(' ').filter(|word| !word.is_empty());
    let (tag, suite, key) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || suite.len() > WORD_MAX {
        return None;
    }
    let tag = tag.parse().ok().filter(|tag| (1..=999_999_999).contains(tag))?;
    let key = key.strip_prefix("inline:")?;
    let mut parts = key.split('|');
    let key = parts.next()?;
    // A lifetime may follow; an identifier, which has a colon, is not for us.
    if parts.next().is_some_and(|lifetime| lifetime.contains(':')) || parts.next().is_some() {
        return None;
    }
    let base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let fits = !key.is_empty() && key.len() <= WORD_MAX && key.chars().all(base64);
    let names = suite.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (fits && names).then(|| Crypto { tag, suite: suite.to_owned(), key: Zeroizing::new(key.to_owned()) })
}

fn agreement(value: &str) -> Option<Agreement> {
    let (version, digest) = value.trim().split_once(' ')?;
    let hexadecimal =
        digest.len() <= WORD_MAX && digest.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    let version = version.parse().ok()?;
    (hexadecimal && !digest.is_empty()).then(|| Agreement { version, digest: digest.to_owned() })
}

#[cfg(test)]
mod tests;
