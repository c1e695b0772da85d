//! Ciphers in counter mode, which makes a stream of them that can be read from any place.

use blowfish::Blowfish;
use blowfish::cipher::array::Array;
use blowfish::cipher::{BlockCipherEncrypt, KeyInit as _};
use cast5::Cast5;
use des::TdesEde3;
use std::fmt;

/// What encrypts a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cipher {
    /// CAST5 (RFC 2144) with 16 bytes of key.
    Cast5,
    /// DES three times, with 24 bytes of key.
    TripleDes,
    /// Blowfish with 24 bytes of key.
    Blowfish,
}

impl Cipher {
    /// All, in the order in which version 2.1 prefers them.
    pub const ALL: [Self; 3] = [Self::Cast5, Self::TripleDes, Self::Blowfish];

    /// Its name on the wire.
    #[must_use]
    pub const fn code(self) -> [u8; 4] {
        match self {
            Self::Cast5 => *b"CAST",
            Self::TripleDes => *b"TDEA",
            Self::Blowfish => *b"BLOW",
        }
    }

    /// Its name for people and in configuration: `cast5`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cast5 => "cast5",
            Self::TripleDes => "3des",
            Self::Blowfish => "blowfish",
        }
    }

    /// Bytes of its key.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::Cast5 => 16,
            Self::TripleDes | Self::Blowfish => 24,
        }
    }
}

/// One direction's key.
pub struct CounterMode(Schedule);

enum Schedule {
    Cast5(Box<Cast5>),
    TripleDes(Box<TdesEde3>),
    Blowfish(Box<Blowfish>),
}

impl CounterMode {
    /// Takes [`Cipher::key_len`] bytes; gives nothing for any other number.
    #[must_use]
    pub fn new(cipher: Cipher, key: &[u8]) -> Option<Self> {
        if key.len() != cipher.key_len() {
            return None;
        }
        let schedule = match cipher {
            Cipher::Cast5 => Schedule::Cast5(Box::new(Cast5::new_from_slice(key).ok()?)),
            Cipher::TripleDes => Schedule::TripleDes(Box::new(TdesEde3::new_from_slice(key).ok()?)),
            Cipher::Blowfish => Schedule::Blowfish(Box::new(Blowfish::new_from_slice(key).ok()?)),
        };
        Some(Self(schedule))
    }

    /// Encrypts or decrypts the data of a datagram: both are the same.
    ///
    /// The counter is its type, 0, its whole number, and the number of the block: no two blocks of one direction share one.
    pub fn apply(&self, kind: u8, sequence: u32, data: &mut [u8]) {
        match &self.0 {
            Schedule::Cast5(cipher) => apply(cipher.as_ref(), kind, sequence, data),
            Schedule::TripleDes(cipher) => apply(cipher.as_ref(), kind, sequence, data),
            Schedule::Blowfish(cipher) => apply(cipher.as_ref(), kind, sequence, data),
        }
    }
}

fn apply<C>(cipher: &C, kind: u8, sequence: u32, data: &mut [u8])
where
    C: BlockCipherEncrypt<BlockSize = blowfish::cipher::consts::U8>,
{
    for (block, bytes) in (0..=u16::MAX).zip(data.chunks_mut(8)) {
        let mut stream = Array::from(counter(kind, sequence, block));
        cipher.encrypt_block(&mut stream);
        bytes.iter_mut().zip(stream).for_each(|(byte, key)| *byte ^= key);
    }
}

/// What is encrypted to get eight bytes of the stream.
pub(super) fn counter(kind: u8, sequence: u32, block: u16) -> [u8; 8] {
    let [s0, s1, s2, s3] = sequence.to_be_bytes();
    let [b0, b1] = block.to_be_bytes();
    [kind, 0, s0, s1, s2, s3, b0, b1]
}

impl fmt::Debug for CounterMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cipher = match &self.0 {
            Schedule::Cast5(_) => Cipher::Cast5,
            Schedule::TripleDes(_) => Cipher::TripleDes,
            Schedule::Blowfish(_) => Cipher::Blowfish,
        };
        write!(f, "CounterMode({cipher:?}, ..)")
    }
}
