//! Session descriptions of one voice stream: SDP (RFC 8866) in offers and answers (RFC 3264). The text is split by
//! [`guestright_wire::sdp`]; here is what a telephone makes of it.
//!
//! Invariants: a text is looked at only up to [`TEXT_MAX`] bytes and [`MEDIA_MAX`] media; what is emitted parses to
//! the same; keys are never in `Debug` output; a key line with parameters that we do not know is not there
//! (RFC 4568 section 6.3.7), and so is one that would switch protection off.

pub use guestright_wire::sdp::Direction;

use guestright_wire::sdp::{
    Attribute, Connection, Family, Field, Limits, LineError, Lines, MediaLine, RtpMap, SessionVersion,
    TooLong,
};
use std::fmt::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use thiserror::Error;
use zeroize::Zeroizing;

/// A description has at most so many bytes. Lines are not counted: there cannot be more of them than bytes.
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
    TooMany { what: &'static str, max: usize },
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

/// A payload type and what it stands for (RFC 8866 section 6.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// In RTP's header, 0 to 127.
    pub payload: u8,
    /// The encoding's name, for example `PCMU`; compared without regard to case.
    pub name: String,
    /// Ticks of the timestamp per second.
    pub clock_hz: u32,
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

/// A stream that is not the voice of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherMedia {
    /// Which of all streams it is, counted from zero.
    pub index: usize,
    /// Its `m=` line, refused: on port 0, with one format.
    pub line: String,
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
    pub formats: Vec<Format>,
    pub direction: Direction,
    /// Milliseconds of voice in a packet that it wants to receive.
    pub ptime_ms: Option<u32>,
    /// Keys for what this side sends.
    pub crypto: Vec<Crypto>,
    /// Keys are agreed on instead.
    pub agreement: Option<Agreement>,
    /// Streams of other kinds, in order; an answer refuses them where they are (RFC 3264 section 6).
    pub others: Vec<OtherMedia>,
}

impl Description {
    /// Reads a description from the network.
    ///
    /// The first audio stream that is not refused and is over RTP counts. Attributes that are not known mean nothing.
    ///
    /// # Errors
    /// It is too long, malformed, or has no such stream.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        let limits = Limits { bytes_max: TEXT_MAX, lines_max: TEXT_MAX, media_max: MEDIA_MAX };
        let lines = Lines::new(text, &limits)
            .map_err(|TooLong { got, max }| DescriptionError::TooLong { got, max })?;
        let mut reader = Reader::default();
        // Lines of white space are none to a telephone, and what is at a line's end means nothing.
        for line in lines.filter(|line| !line.is_blank()) {
            let wrong = |want| DescriptionError::Line { line: line.number, want };
            let field = line.field().map_err(|error| match error {
                LineError::NoEquals => wrong("a letter, `=`, and a value"),
                LineError::NoLetter => wrong("one letter before `=`"),
            })?;
            reader.read_field(field).map_err(|problem| match problem {
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
        let ip = self.address.ip();
        let family = Family::of_address(ip);
        let eol = "\r\n";
        write!(text, "v=0{eol}o=- {} {} IN {family} {ip}{eol}s=-{eol}", self.session, self.version)?;
        write!(text, "c=IN {family} {ip}{eol}t=0 0{eol}")?;
        let count = self.others.len() + 1;
        let mut others = self.others.iter().peekable();
        let mut is_written = false;
        for index in 0..count {
            match others.next_if(|other| other.index == index) {
                Some(other) => write!(text, "{}{eol}", other.line)?,
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
        others.try_for_each(|other| write!(text, "{}{eol}", other.line))
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
    session: SessionVersion,
    address: Option<IpAddr>,
    direction: Option<Direction>,
    media: usize,
    others: Vec<OtherMedia>,
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

impl Audio {
    fn new(port: u16, profile: Profile, payloads: Vec<u8>) -> Self {
        Self {
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
        }
    }
}

impl Reader {
    fn read_field(&mut self, field: Field<'_>) -> Result<(), Problem> {
        let value = field.value.trim_end();
        match field.kind {
            'o' => {
                let want = "`o=` with a session's number and version (RFC 8866 section 5.2)";
                self.session = SessionVersion::parse(value).ok_or(Problem::Wrong(want))?;
            }
            'c' => {
                let address = unicast(value)
                    .ok_or(Problem::Wrong("`c=IN IP4` or `c=IN IP6` and an address, not a name"))?;
                match self.audio.as_mut().filter(|_| self.in_audio) {
                    Some(audio) => audio.address = Some(address),
                    None if self.media == 0 => self.address = Some(address),
                    None => {}
                }
            }
            'm' => self.read_media(value)?,
            'a' => self.read_attribute(Attribute::parse(value))?,
            _ => {}
        }
        Ok(())
    }

    fn read_media(&mut self, value: &str) -> Result<(), Problem> {
        if self.media == MEDIA_MAX {
            return Err(Problem::TooMany("media", MEDIA_MAX));
        }
        let index = self.media;
        self.media += 1;
        self.in_audio = false;
        let wrong = || Problem::Wrong("`m=`, a kind, a port, a protocol and formats");
        let line = MediaLine::parse(value).ok_or_else(wrong)?;
        let port = line.port().ok_or_else(wrong)?;
        let (kind, protocol) = (line.kind, line.protocol);
        let payloads: Vec<_> = line.formats().take(FORMATS_MAX).collect();
        match (kind, Profile::parse(protocol), &self.audio) {
            ("audio", Some(profile), None) if port != 0 => {
                let payloads = payloads.iter().map(|word| word.parse().ok().filter(|payload| *payload < 128));
                let payloads = payloads.collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
                self.in_audio = true;
                self.audio = Some(Audio::new(port, profile, payloads));
            }
            _ => {
                let first = payloads.first().copied().unwrap_or("0");
                let is_token =
                    |word: &str| word.len() <= WORD_MAX && word.chars().all(|c| c.is_ascii_graphic());
                if ![kind, protocol, first].iter().all(|word| is_token(word)) {
                    return Err(wrong());
                }
                self.others.push(OtherMedia { index, line: format!("m={kind} 0 {protocol} {first}") });
            }
        }
        Ok(())
    }

    fn read_attribute(&mut self, attribute: Attribute<'_>) -> Result<(), Problem> {
        let (name, value) = (attribute.name, attribute.value.unwrap_or_default());
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
            session: self.session.id,
            version: self.session.version,
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
fn unicast(value: &str) -> Option<IpAddr> {
    let connection = Connection::parse(value).filter(|connection| connection.range.is_none())?;
    let address = connection.ip()?;
    let fits = connection.family == Family::of_address(address);
    let unicast = !address.is_multicast() && address != IpAddr::V4(Ipv4Addr::BROADCAST);
    (fits && unicast).then_some(address)
}

fn rtpmap(value: &str) -> Option<Format> {
    let RtpMap { payload, name, clock, channels } = RtpMap::parse(value)?;
    let channels = channels.map_or(Some(1), |text| text.parse().ok())?;
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
    let guestright_wire::sdp::Crypto { tag, suite, key } = guestright_wire::sdp::Crypto::parse(value)?;
    let tag = tag.parse().ok().filter(|tag| (1..=999_999_999).contains(tag))?;
    let mut parts = key.split('|');
    let key = parts.next()?;
    // A lifetime may follow; an identifier, which has a colon, is not for us.
    if parts.next().is_some_and(|lifetime| lifetime.contains(':')) || parts.next().is_some() {
        return None;
    }
    let base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let fits = !key.is_empty() && key.len() <= WORD_MAX && key.chars().all(base64) && suite.len() <= WORD_MAX;
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
