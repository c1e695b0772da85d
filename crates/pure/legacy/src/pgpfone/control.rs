//! The messages of the call set-up: a type, and for most a list of items of type, length and value.

use guestright_voice::tool::ToolError;
use std::fmt;

/// Bytes of a name at most.
pub const NAME_MAX: usize = 63;
/// Codecs that are read of a list.
const CODECS_MAX: usize = 32;
/// Primes and ciphers that are read of a list.
const OFFERS_MAX: usize = 30;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// What a side can do.
    Hello(Hello),
    /// SHA-1 of the public value that is to come: nobody can choose it by what the other side shows.
    Commitment([u8; 20]),
    /// The public value.
    Public(Vec<u8>),
    /// What a side would like, encrypted.
    Info(Info),
    Hangup,
    /// What is sent from now on is of this codec.
    OpenVoice([u8; 4]),
    /// Please send this codec.
    SwitchVoice([u8; 4]),
    /// Half duplex: I speak now.
    Talk,
    /// Half duplex: I listen now.
    Listen,
}

const HELLO: u8 = 0;
const COMMITMENT: u8 = 1;
const PUBLIC: u8 = 2;
const INFO: u8 = 3;
const HANGUP: u8 = 4;
const OPEN_VOICE: u8 = 5;
const SWITCH_VOICE: u8 = 6;
const TALK: u8 = 7;
const LISTEN: u8 = 8;

const VERSION: u8 = 0;
const NAME: u8 = 1;
const HASH: u8 = 2;
const PRIMES: u8 = 3;
const CIPHERS: u8 = 4;
const ENCODERS: u8 = 5;
const DECODERS: u8 = 6;
const DUPLEX: u8 = 7;
const AUTHENTICATION_BYTES: u8 = 9;
const WORD_LIST: u8 = 10;
const SYSTEM: u8 = 12;

/// The only hash there is.
pub(super) const SHA1: [u8; 4] = *b"SHA1";
/// The protocol's version, of which the first number must not be greater than ours.
pub(super) const VERSION_NUMBER: [u8; 2] = [0, 0];

/// What a side can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    pub version: [u8; 2],
    /// What it calls itself, in clear.
    pub name: Option<String>,
    pub hash: Option<[u8; 4]>,
    /// What goes before each prime into the hash of its offer, so that a list of primes cannot be told from afar.
    pub salt: [u8; 8],
    /// The first bytes of the hashes of the primes that it takes, its favourite first.
    pub primes: Vec<[u8; 8]>,
    /// Ciphers that it takes, its favourite first.
    pub ciphers: Vec<[u8; 4]>,
}

/// What a side would like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// What it calls itself.
    pub name: Option<String>,
    /// What it can send.
    pub encoders: Vec<[u8; 4]>,
    /// What it can play, its favourite first.
    pub decoders: Vec<[u8; 4]>,
    /// Whether both may speak at once.
    pub is_duplex: bool,
    /// Whether it shows words rather than digits.
    pub has_words: bool,
    /// How many bytes it shows.
    pub authentication_bytes: Option<u8>,
}

impl Control {
    /// The type, which is the first byte.
    #[must_use]
    pub const fn number(&self) -> u8 {
        match self {
            Self::Hello(_) => HELLO,
            Self::Commitment(_) => COMMITMENT,
            Self::Public(_) => PUBLIC,
            Self::Info(_) => INFO,
            Self::Hangup => HANGUP,
            Self::OpenVoice(_) => OPEN_VOICE,
            Self::SwitchVoice(_) => SWITCH_VOICE,
            Self::Talk => TALK,
            Self::Listen => LISTEN,
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`ToolError::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ToolError> {
        let (number, body) = bytes.split_first().ok_or(ToolError::Malformed("an empty message"))?;
        let code = || {
            let code = body.first_chunk().copied();
            code.ok_or(ToolError::Malformed("a codec without a name"))
        };
        match *number {
            HELLO => Hello::parse(body).map(Self::Hello),
            COMMITMENT => {
                let hash = body.first_chunk().copied();
                hash.map(Self::Commitment).ok_or(ToolError::Malformed("a short commitment"))
            }
            PUBLIC => {
                let (len, value) = body
                    .split_first_chunk()
                    .ok_or(ToolError::Malformed("a public value without a length"))?;
                if usize::from(u16::from_be_bytes(*len)) == value.len() {
                    Ok(Self::Public(value.to_vec()))
                } else {
                    Err(ToolError::Malformed("a public value of another length than it says"))
                }
            }
            INFO => Info::parse(body).map(Self::Info),
            HANGUP => Ok(Self::Hangup),
            OPEN_VOICE => code().map(Self::OpenVoice),
            SWITCH_VOICE => code().map(Self::SwitchVoice),
            TALK => Ok(Self::Talk),
            LISTEN => Ok(Self::Listen),
            _ => Err(ToolError::Malformed("an unknown message")),
        }
    }

    /// Writes it.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut bytes = vec![self.number()];
        match self {
            Self::Hello(hello) => hello.emit(&mut bytes),
            Self::Commitment(hash) => bytes.extend(hash),
            Self::Public(value) => {
                bytes.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
                bytes.extend(value);
            }
            Self::Info(info) => info.emit(&mut bytes),
            Self::OpenVoice(code) | Self::SwitchVoice(code) => bytes.extend(code),
            Self::Hangup | Self::Talk | Self::Listen => {}
        }
        bytes
    }
}

impl Hello {
    fn parse(bytes: &[u8]) -> Result<Self, ToolError> {
        let mut hello = Self::default();
        for item in items(bytes) {
            let (kind, value) = item?;
            match kind {
                VERSION => hello.version = first(value)?,
                NAME => hello.name = name(value),
                HASH => hello.hash = Some(first(value)?),
                PRIMES => {
                    hello.salt = first(value)?;
                    hello.primes = chunks(&value[8..], OFFERS_MAX);
                }
                CIPHERS => hello.ciphers = chunks(value, OFFERS_MAX),
                _ => {}
            }
        }
        Ok(hello)
    }

    fn emit(&self, out: &mut Vec<u8>) {
        item(out, VERSION, &self.version);
        if let Some(name) = &self.name {
            item(out, NAME, cut(name));
        }
        if let Some(hash) = &self.hash {
            item(out, HASH, hash);
        }
        let primes = &self.primes[..self.primes.len().min(OFFERS_MAX)];
        item(out, PRIMES, &[&self.salt[..], primes.as_flattened()].concat());
        let ciphers = &self.ciphers[..self.ciphers.len().min(OFFERS_MAX)];
        item(out, CIPHERS, ciphers.as_flattened());
    }
}

impl Info {
    fn parse(bytes: &[u8]) -> Result<Self, ToolError> {
        let mut info = Self::default();
        for item in items(bytes) {
            let (kind, value) = item?;
            match kind {
                NAME => info.name = name(value),
                ENCODERS => info.encoders = chunks(value, CODECS_MAX),
                DECODERS => info.decoders = chunks(value, CODECS_MAX),
                DUPLEX => info.is_duplex = first(value)? != [0],
                AUTHENTICATION_BYTES => {
                    let [count] = first(value)?;
                    info.authentication_bytes = Some(count);
                }
                WORD_LIST => info.has_words = first(value)? != [0],
                _ => {}
            }
        }
        Ok(info)
    }

    fn emit(&self, out: &mut Vec<u8>) {
        if let Some(name) = &self.name {
            item(out, NAME, cut(name));
        }
        item(out, SYSTEM, &[0]);
        item(out, DUPLEX, &[u8::from(self.is_duplex)]);
        item(out, WORD_LIST, &[u8::from(self.has_words)]);
        if let Some(count) = self.authentication_bytes {
            item(out, AUTHENTICATION_BYTES, &[count]);
        }
        let encoders = &self.encoders[..self.encoders.len().min(CODECS_MAX)];
        item(out, ENCODERS, encoders.as_flattened());
        let decoders = &self.decoders[..self.decoders.len().min(CODECS_MAX)];
        item(out, DECODERS, decoders.as_flattened());
    }
}

/// The items of a list: type, length, value.
fn items(mut rest: &[u8]) -> impl Iterator<Item = Result<(u8, &[u8]), ToolError>> {
    std::iter::from_fn(move || {
        let [kind, after @ ..] = rest else { return None };
        let Some((value, left)) =
            after.split_first().and_then(|(len, body)| body.split_at_checked(usize::from(*len)))
        else {
            rest = &[];
            return Some(Err(ToolError::Malformed("an item longer than its message")));
        };
        rest = left;
        Some(Ok((*kind, value)))
    })
}

fn item(out: &mut Vec<u8>, kind: u8, value: &[u8]) {
    // Names are cut and lists are bounded, so that every value fits.
    let len = u8::try_from(value.len()).unwrap_or(u8::MAX);
    out.extend([kind, len]);
    out.extend(&value[..usize::from(len)]);
}

fn first<const N: usize>(value: &[u8]) -> Result<[u8; N], ToolError> {
    value.first_chunk().copied().ok_or(ToolError::Malformed("an item that is too short"))
}

fn chunks<const N: usize>(value: &[u8], max: usize) -> Vec<[u8; N]> {
    value.as_chunks().0.iter().take(max).copied().collect()
}

/// What somebody calls himself, without what a terminal would obey.
fn name(value: &[u8]) -> Option<String> {
    let value = &value[..value.len().min(NAME_MAX)];
    let name: String =
        String::from_utf8_lossy(value).chars().filter(|letter| !letter.is_control()).take(NAME_MAX).collect();
    (!name.is_empty()).then_some(name)
}

/// The bytes of a name that are sent: never half a letter.
fn cut(name: &str) -> &[u8] {
    let end = (0..=NAME_MAX.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    &name.as_bytes()[..end.unwrap_or(0)]
}

/// Shows a code of four letters, whatever is in it.
pub(super) struct Code(pub [u8; 4]);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}
