//! PGPfone 2.1: hello, commitment, Diffie-Hellman, words to compare, and counter mode.
//!
//! In: encoded sound, datagrams, the time. Out: datagrams, what to play, what has happened: a
//! [`Tool`](guestright_voice::tool::Tool), [`PgpFone`].
//!
//! A caller rings ([`Setup`]) and is accepted. Then both sides say hello (which primes and ciphers they take), commit to
//! their public values by their SHA-1, show them, and switch to encryption with what both know then. Each reads four words
//! to the other, made of SHA-1 over all that was said so far: whoever sits in between cannot make them equal, as his own
//! value was committed to before he saw the others'. ZRTP (RFC 6189) has this from here.
//!
//! Sound is encrypted in counter mode ([`CounterMode`]) and **not** authenticated: whoever can change a datagram can flip
//! any bit of it, and whoever can send one in the peer's name can push the sequence number ahead, so that what the peer
//! sends is dropped as old. SHA-1 and the two short primes are within reach of those who can pay.
//!
//! Written from the facts that the published source of 1999 shows (layouts, numbers, order of messages); none of it is
//! copied. Other than there: nothing is ever said in clear when no cipher is in common; an accept that was lost is repeated;
//! a message that is not understood is not acknowledged; sound comes only at the length that its codec has; the caller is
//! always heard while he speaks (full duplex), and half duplex is refused; files are acknowledged and thrown away.

mod agreement;
mod cipher;
mod codec;
mod control;
mod cost;
mod media;
mod packet;
mod playpoint;
mod receive;
mod reliable;
mod tool;
mod words;

#[cfg(test)]
mod tests;

pub use cipher::{Cipher, CounterMode};
pub use codec::{Codec, FRAME_SAMPLES, TIMESTAMP_LEN};
pub use control::{Control, Hello, Info, NAME_MAX};
pub use cost::work;
pub use packet::{CHECKSUM_LEN, DATA_MAX, HEADER_LEN, Kind, Packet, Setup, checksum};
pub use playpoint::Playpoint;
pub use tool::PgpFone;
pub use words::words;

use crate::diffie_hellman::Prime;
use guestright_voice::tool::Side;
use thiserror::Error;

/// The UDP port on which PGPfone waits.
pub const PORT: u16 = 17_447;

/// Why it must not be used, for [`banner`](crate::banner).
pub const INSECURE: &str = "whoever can change what goes over the network can change what you hear, and nobody would \
                            notice; the words only show that nobody listens";

/// What one side of a call is.
#[derive(Clone, Debug)]
pub struct Config {
    pub side: Side,
    /// What we call ourselves, if anything; it is sent encrypted, to whoever is there.
    pub name: Option<String>,
    /// Ciphers that we take, the favourite first. The caller's favourite among those that both have is used.
    pub ciphers: Vec<Cipher>,
    /// Primes that we take, the favourite first. Of both sides' favourites the longer is used.
    pub primes: Vec<Prime>,
    /// What both sides send: nothing else is understood.
    pub codec: Codec,
    /// Whether pauses are sent too. PGPfone leaves them out if it is told below which level they are.
    pub sends_pauses: bool,
}

impl Config {
    /// All ciphers in version 2.1's order, all its primes, that of 2048 bits first and the longer before the shorter ones,
    /// GSM at 4410 Hz, no pauses.
    #[must_use]
    pub fn new(side: Side) -> Self {
        Self {
            side,
            name: None,
            ciphers: Cipher::ALL.to_vec(),
            primes: vec![
                Prime::PgpFone2048,
                Prime::PgpFone3072,
                Prime::PgpFone4096,
                Prime::PgpFone1536,
                Prime::PgpFone1024,
                Prime::PgpFone768,
            ],
            codec: Codec::Gsm4410,
            sends_pauses: false,
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.ciphers.is_empty() || self.ciphers.len() > Cipher::ALL.len() {
            return Err(ConfigError::Ciphers(self.ciphers.len()));
        }
        if self.primes.is_empty() || self.primes.len() > Prime::ALL.len() {
            return Err(ConfigError::Primes(self.primes.len()));
        }
        match &self.name {
            Some(name) if name.len() > NAME_MAX => Err(ConfigError::Name(name.len())),
            Some(_) | None => Ok(()),
        }
    }
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// None, or more than there are.
    #[error("{0} ciphers are offered: offer one to three, each once")]
    Ciphers(usize),
    /// None, or more than there are.
    #[error("{0} primes are offered: offer one to twelve, each once")]
    Primes(usize),
    /// Too long.
    #[error("the name has {0} bytes: give it 63 or fewer")]
    Name(usize),
}
