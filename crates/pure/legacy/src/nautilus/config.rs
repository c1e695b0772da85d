use crate::diffie_hellman::Prime;
use guestright_units::Micros;
use guestright_voice::tool::Side;
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// What encrypts the sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cipher {
    /// Nautilus's default, with 128 bits of key.
    #[default]
    Blowfish,
    Idea,
    /// DES three times, with three keys.
    TripleDes,
}

impl Cipher {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Blowfish, Self::Idea, Self::TripleDes];

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blowfish => "Blowfish",
            Self::Idea => "IDEA",
            Self::TripleDes => "triple DES",
        }
    }

    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Blowfish => 0,
            Self::Idea => 1,
            Self::TripleDes => 2,
        }
    }

    pub(super) const fn key_len(self) -> usize {
        match self {
            Self::Blowfish | Self::Idea => 16,
            Self::TripleDes => 24,
        }
    }
}

/// Where the call's key comes from.
#[derive(Clone)]
pub enum KeyAgreement {
    /// What both have agreed on before.
    PassPhrase(Zeroizing<String>),
    /// Under this prime; then both read digits to each other.
    DiffieHellman(Prime),
}

impl KeyAgreement {
    /// 0 is a pass phrase, the others are primes.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::PassPhrase(_) => 0,
            Self::DiffieHellman(prime) => {
                let position = Prime::ALL.iter().position(|other| other == prime);
                position.and_then(|index| u8::try_from(index + 1).ok()).unwrap_or(u8::MAX)
            }
        }
    }

    /// Bytes of a public value.
    pub(super) fn public_len(&self) -> usize {
        match self {
            Self::PassPhrase(_) => 0,
            Self::DiffieHellman(prime) => prime.byte_len(),
        }
    }

    /// Who could hear the call, in a sentence.
    pub(super) const fn protection(&self) -> &'static str {
        match self {
            Self::PassPhrase(_) => {
                "whoever guesses the pass phrase, now or later, hears it; anybody on the way can change it: Nautilus"
            }
            Self::DiffieHellman(_) => {
                "nobody who is not in the middle, if both see the same digits; anybody on the way can change it: Nautilus"
            }
        }
    }
}

impl fmt::Debug for KeyAgreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PassPhrase(_) => f.write_str("PassPhrase(..)"),
            Self::DiffieHellman(prime) => write!(f, "DiffieHellman({prime:?})"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Config {
    pub side: Side,
    /// What encrypts; the other side has to have the same.
    pub cipher: Cipher,
    /// Where the key comes from; the other side has to have the same.
    pub agreement: KeyAgreement,
    /// How long sound is held before it is played, to take out jitter.
    pub hold: Micros,
    /// The call is over when nothing has come for so long.
    pub silence_max: Micros,
}

impl Config {
    /// With Blowfish, held for 200 ms, given up after 10 s: whoever is there sends all the time.
    #[must_use]
    pub fn new(side: Side, agreement: KeyAgreement) -> Self {
        Self {
            side,
            cipher: Cipher::Blowfish,
            agreement,
            hold: Micros::from_millis(200),
            silence_max: Micros::from_seconds(10),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match &self.agreement {
            KeyAgreement::PassPhrase(phrase) if phrase.is_empty() => Err(ConfigError::NoPhrase),
            KeyAgreement::PassPhrase(_) | KeyAgreement::DiffieHellman(_) => Ok(()),
        }
    }
}

/// Why a call cannot be made like that.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// A key of nothing.
    #[error("the pass phrase is empty: say one that the other side knows, or take Diffie-Hellman")]
    NoPhrase,
}
