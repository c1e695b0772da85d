use super::{MasterKey, Profile};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use zeroize::Zeroizing;

/// A line `a=crypto` of SDP: a key in the clear, for signalling that is itself protected (RFC 4568).
///
/// [`FromStr`] takes the value with or without `a=crypto:`. [`CryptoLine::to_text`] gives the value without it;
/// there is no `Display`, so that no key is printed by mistake. A master key identifier and session parameters that
/// weaken the protection are refused. A lifetime is read and let go: our limits are the RFC's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptoLine {
    /// Which line of the offer it is, or answers; 1 to 9 digits.
    pub tag: u32,
    /// The key of the direction from whom the line is.
    pub key: MasterKey,
}

/// Why a line `a=crypto` is of no use to us. It never holds the key.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum CryptoLineError {
    /// Not of the form `TAG SUITE inline:KEY`.
    #[error("a=crypto is malformed: {0}")]
    Malformed(&'static str),
    /// A suite that we do not have.
    #[error("the suite of a=crypto is none of ours")]
    UnknownSuite,
    /// Not base64, or not as long as the suite wants.
    #[error("the key of a=crypto is not the {want} bytes in base64 that {profile} wants")]
    Key {
        profile: Profile,
        /// Bytes of key and salt.
        want: usize,
    },
    /// Several keys under identifiers, or one: we use one key without.
    #[error("a=crypto has a master key identifier, which is not supported")]
    KeyIdentifier,
    /// For example `UNENCRYPTED_SRTP`.
    #[error("a=crypto has a session parameter that would weaken the protection, or that is unknown")]
    SessionParameter,
}

/// No line of ours or of anybody we know is longer.
const LINE_MAX: usize = 512;

/// RFC 4568 does not say whether padding is written; AES-256 with 46 bytes needs two. Both are read.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl CryptoLine {
    /// The value of the line: `1 AEAD_AES_128_GCM inline:…`. Secret.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        let key = Zeroizing::new(BASE64.encode(self.key.key_and_salt()));
        Zeroizing::new(format!("{} {} inline:{}", self.tag, self.key.profile(), key.as_str()))
    }
}

impl FromStr for CryptoLine {
    type Err = CryptoLineError;

    fn from_str(line: &str) -> Result<Self, CryptoLineError> {
        use CryptoLineError::Malformed;
        if line.len() > LINE_MAX {
            return Err(Malformed("it is longer than 512 bytes"));
        }
        let line = line.trim_end_matches(['\r', '\n']);
        let line = line.strip_prefix("a=crypto:").unwrap_or(line);
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let tag = words.next().ok_or(Malformed("there is no tag"))?;
        if tag.len() > 9 || tag.is_empty() || !tag.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Malformed("the tag is not 1 to 9 digits"));
        }
        let tag = tag.parse().map_err(|_| Malformed("the tag is not 1 to 9 digits"))?;
        let profile: Profile = words
            .next()
            .ok_or(Malformed("there is no suite"))?
            .parse()
            .map_err(|()| CryptoLineError::UnknownSuite)?;
        let parameters = words.next().ok_or(Malformed("there is no key"))?;
        let key = read_key(profile, parameters)?;
        words.try_for_each(check_session_parameter)?;
        Ok(Self { tag, key })
    }
}

/// `inline:BASE64`, then perhaps `|2^31`. Several keys are separated by `;`.
fn read_key(profile: Profile, parameters: &str) -> Result<MasterKey, CryptoLineError> {
    use CryptoLineError::Malformed;
    if parameters.contains(';') {
        return Err(CryptoLineError::KeyIdentifier);
    }
    let (method, info) = parameters.split_once(':').ok_or(Malformed("the key is not after inline:"))?;
    // Key methods are compared without regard to case (RFC 4568, section 9.1, by the rules of ABNF).
    if !method.eq_ignore_ascii_case("inline") {
        return Err(Malformed("the key is not after inline:"));
    }
    let mut parts = info.split('|');
    let text = parts.next().unwrap_or("");
    for part in parts {
        if part.contains(':') {
            return Err(CryptoLineError::KeyIdentifier);
        }
        let digits = part.strip_prefix("2^").unwrap_or(part);
        if digits.is_empty() || digits.len() > 20 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Malformed("the lifetime of the key is not a number"));
        }
    }
    let want = profile.key_len() + profile.salt_len();
    let refused = CryptoLineError::Key { profile, want };
    let mut bytes = Zeroizing::new([0; 2 * MasterKey::LEN_MAX]);
    let got = BASE64.decode_slice(text, bytes.as_mut_slice()).map_err(|_| refused)?;
    if got != want {
        return Err(refused);
    }
    let (key, salt) = bytes[..want].split_at(profile.key_len());
    MasterKey::new(profile, key, salt).map_err(|_| refused)
}

/// `WSH` is a hint, and what begins with `-` may be ignored (RFC 4568, section 6.3.7). The rest changes what is sent.
fn check_session_parameter(word: &str) -> Result<(), CryptoLineError> {
    let allowed = word.starts_with('-') || word.starts_with("WSH=") || word == "KDR=0";
    if allowed { Ok(()) } else { Err(CryptoLineError::SessionParameter) }
}

impl fmt::Display for CryptoLineHidden<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} inline:…", self.0.tag, self.0.key.profile())
    }
}

/// A line with its key left out, for logs.
#[derive(Clone, Copy, Debug)]
pub struct CryptoLineHidden<'a>(&'a CryptoLine);

impl CryptoLine {
    /// Shows the line without its key.
    #[must_use]
    pub fn hidden(&self) -> CryptoLineHidden<'_> {
        CryptoLineHidden(self)
    }
}
