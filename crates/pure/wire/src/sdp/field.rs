//! The values of a description's lines. Each one borrows from the line, and says nothing about ranges that are the
//! reader's business.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A number written in decimal digits and nothing else.
pub(super) fn decimal<T: FromStr>(text: &str) -> Option<T> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// RFC 8866 section 9, `token`, and `/`, which separates the parts of a protocol.
fn is_protocol(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.!%*_+`'~/".contains(&byte))
}

/// The next word of a line, past any number of spaces.
fn next_word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start_matches(' ');
    let (word, after) = text.split_once(' ').unwrap_or((text, ""));
    *rest = after;
    (!word.is_empty()).then_some(word)
}

/// The version of the internet protocol in `o=` and `c=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `IP4`.
    V4,
    /// `IP6`.
    V6,
}

impl Family {
    /// The family of an address.
    #[must_use]
    pub const fn of_address(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "IP4" => Some(Self::V4),
            "IP6" => Some(Self::V6),
            _ => None,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IP4",
            Self::V6 => "IP6",
        })
    }
}

/// `o=`: who has made a session (RFC 8866 section 5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A name; `-` if there is none.
    pub username: String,
    /// The session and its version.
    pub session: SessionVersion,
    /// Of the address.
    pub family: Family,
    /// An address or a name.
    pub address: String,
}

/// What tells sessions, and descriptions of one session, apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionVersion {
    /// Of the session.
    pub id: u64,
    /// Higher in each description of one session (RFC 3264 section 8).
    pub version: u64,
}

impl SessionVersion {
    /// The two numbers of an `o=` line, whatever else is on it.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let mut words = value.split(' ').skip(1);
        Some(Self { id: words.next()?.parse().ok()?, version: words.next()?.parse().ok()? })
    }
}

impl Origin {
    /// A whole `o=` line: six words with one space between them, and numbers of digits.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let mut words = value.split(' ');
        let mut next = || words.next();
        let (username, id, version) = (next()?, decimal(next()?)?, decimal(next()?)?);
        let ("IN", family, address, None) = (next()?, Family::parse(next()?)?, next()?, next()) else {
            return None;
        };
        let session = SessionVersion { id, version };
        Some(Self { username: username.to_owned(), session, family, address: address.to_owned() })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { username, session, family, address } = self;
        write!(f, "{username} {} {} IN {family} {address}", session.id, session.version)
    }
}

/// `c=`: where media are wanted (RFC 8866 section 5.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection<'a> {
    /// As written before the address, which may be of the other one.
    pub family: Family,
    /// An address or a name.
    pub address: &'a str,
    /// After a slash: a time to live, and how many addresses there are.
    pub range: Option<&'a str>,
}

impl<'a> Connection<'a> {
    /// `IN IP4 192.0.2.1`. Words after the address mean nothing.
    #[must_use]
    pub fn parse(value: &'a str) -> Option<Self> {
        let mut words = value.split(' ');
        let ("IN", family, address) = (words.next()?, Family::parse(words.next()?)?, words.next()?) else {
            return None;
        };
        let (address, range) =
            address.split_once('/').map_or((address, None), |(address, range)| (address, Some(range)));
        Some(Self { family, address, range })
    }

    /// The address, if it is no name.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.address.parse().ok()
    }
}

/// `m=`: one stream (RFC 8866 section 5.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaLine<'a> {
    /// `audio`, `video` and so on.
    pub kind: &'a str,
    /// Where it is wanted, perhaps with a number of ports after a slash.
    pub port_text: &'a str,
    /// How it is carried, such as `RTP/AVP`.
    pub protocol: &'a str,
    formats: &'a str,
}

impl<'a> MediaLine<'a> {
    /// `audio 4000 RTP/AVP 0 8 96`. The numbers and letters of each word are still to be looked at.
    #[must_use]
    pub fn parse(value: &'a str) -> Option<Self> {
        let mut rest = value;
        let (kind, port_text) = (next_word(&mut rest)?, next_word(&mut rest)?);
        let protocol = next_word(&mut rest)?;
        Some(Self { kind, port_text, protocol, formats: rest })
    }

    /// The first port; 0 for a stream that is refused.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port_text.split('/').next()?.parse().ok()
    }

    /// The formats, as written.
    pub fn formats(&self) -> impl Iterator<Item = &'a str> {
        self.formats.split(' ').filter(|word| !word.is_empty())
    }

    /// The port of a stream that is written as RFC 8866 has it, on one port: a port of digits alone, kind and protocol
    /// of the letters that may be in them, and at least one format.
    #[must_use]
    pub fn strict_port(&self) -> Option<u16> {
        let is_plain = is_protocol(self.kind) && is_protocol(self.protocol);
        decimal(self.port_text).filter(|_| is_plain && self.formats().next().is_some())
    }
}

/// `a=` (RFC 8866 section 5.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Before the colon.
    pub name: &'a str,
    /// After it, if there is one.
    pub value: Option<&'a str>,
}

impl<'a> Attribute<'a> {
    /// Splits an attribute at its first colon.
    #[must_use]
    pub fn parse(value: &'a str) -> Self {
        let (name, value) = value.split_once(':').map_or((value, None), |(name, rest)| (name, Some(rest)));
        Self { name, value }
    }
}

/// `a=rtpmap:`: what a payload type stands for (RFC 8866 section 6.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpMap<'a> {
    /// The payload type.
    pub payload: &'a str,
    /// The encoding's name.
    pub name: &'a str,
    /// Ticks of the timestamp per second.
    pub clock: &'a str,
    /// The encoding's parameter: of audio, channels.
    pub channels: Option<&'a str>,
}

impl<'a> RtpMap<'a> {
    /// `96 opus/48000/2`.
    #[must_use]
    pub fn parse(value: &'a str) -> Option<Self> {
        let (payload, encoding) = value.split_once(' ')?;
        let mut parts = encoding.trim().split('/');
        let (name, clock) = (parts.next()?, parts.next()?);
        Some(Self { payload, name, clock, channels: parts.next() })
    }
}

/// `a=crypto:`: a key, without session parameters (RFC 4568 section 9.1). `Debug` does not show the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Crypto<'a> {
    /// Which of the offered ones.
    pub tag: &'a str,
    /// Such as `AES_CM_128_HMAC_SHA1_80`.
    pub suite: &'a str,
    /// After `inline:`: the key, and perhaps a lifetime and an identifier.
    pub key: &'a str,
}

impl<'a> Crypto<'a> {
    /// `1 AES_CM_128_HMAC_SHA1_80 inline:…`. A line with session parameters is none: a parameter that is not known
    /// makes it invalid (RFC 4568 section 6.3.7), and the known ones switch protection off.
    #[must_use]
    pub fn parse(value: &'a str) -> Option<Self> {
        let mut rest = value;
        let (tag, suite) = (next_word(&mut rest)?, next_word(&mut rest)?);
        let key = next_word(&mut rest)?.strip_prefix("inline:")?;
        next_word(&mut rest).is_none().then_some(Self { tag, suite, key })
    }
}

impl fmt::Debug for Crypto<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crypto").field("tag", &self.tag).field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// Who sends, seen from whom the description is of (RFC 8866 section 6.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Both sides, which is what holds without any attribute.
    #[default]
    SendReceive,
    /// Only this side: the other one is on hold.
    SendOnly,
    /// Only the other side.
    ReceiveOnly,
    /// Neither.
    Inactive,
}

impl Direction {
    pub(super) const ALL: [Self; 4] = [Self::SendReceive, Self::SendOnly, Self::ReceiveOnly, Self::Inactive];

    /// The attribute that says so.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendReceive => "sendrecv",
            Self::SendOnly => "sendonly",
            Self::ReceiveOnly => "recvonly",
            Self::Inactive => "inactive",
        }
    }

    /// The direction that an attribute of this name says.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|direction| direction.name() == text)
    }

    /// The direction of whom sends and receives so.
    #[must_use]
    pub const fn new(sends: bool, receives: bool) -> Self {
        match (sends, receives) {
            (true, true) => Self::SendReceive,
            (true, false) => Self::SendOnly,
            (false, true) => Self::ReceiveOnly,
            (false, false) => Self::Inactive,
        }
    }

    /// Whether this side sends.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::SendReceive | Self::SendOnly)
    }

    /// Whether this side wants to receive.
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::SendReceive | Self::ReceiveOnly)
    }

    /// What is answered by whom wants `wanted` to this offer (RFC 3264 section 6.1).
    #[must_use]
    pub const fn answered(self, wanted: Self) -> Self {
        Self::new(wanted.sends() && self.receives(), wanted.receives() && self.sends())
    }
}
