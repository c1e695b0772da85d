//! What encrypts a packet's sound, each packet by itself and from zero.

use super::Protocol;
use crate::ciphers::{self, BLOCK, UnpermutedDes, ZERO_IV, phrase};
use blowfish::Blowfish;
use cbc::cipher::KeyInit as _;
use des::Des;
use idea::Idea;
use std::fmt;
use zeroize::Zeroizing;

/// Which cipher, as the flags of a packet name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// Nothing is encrypted.
    None,
    /// DES: without permutations in its own protocol, as it should be in RTP mode; the key is set for each packet.
    Des,
    /// IDEA in cipher feedback; the key is set for each packet.
    Idea,
    /// Blowfish, chained; the key is set once.
    Blowfish,
}

impl Cipher {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Des, Self::Idea, Self::Blowfish];

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "no cipher",
            Self::Des => "DES",
            Self::Idea => "IDEA",
            Self::Blowfish => "Blowfish",
        }
    }

    /// Who could hear the call, in a sentence.
    #[must_use]
    pub const fn protection(self) -> &'static str {
        match self {
            Self::None => "anybody on the way hears it, and can change it",
            Self::Des => {
                "whoever tries 2^48 keys hears it, and anybody on the way can change it: DES under a folded MD5 of the \
                 pass phrase, unauthenticated"
            }
            Self::Idea | Self::Blowfish => {
                "whoever guesses the pass phrase hears it, anybody on the way sees which packets are equal, and can \
                 change it: unauthenticated, from zero for each packet"
            }
        }
    }
}

/// A cipher with its key, as the tool keeps it between packets.
pub struct Key(Kept);

enum Kept {
    None,
    Des(Zeroizing<[u8; BLOCK]>),
    /// DES as it should be, over the whole packet (RFC 1889, section 9.1).
    RtpDes(Zeroizing<[u8; BLOCK]>),
    Idea(Zeroizing<[u8; 16]>),
    Blowfish(Box<Blowfish>),
}

impl Key {
    /// Makes the key of a phrase. In RTP mode every cipher but none is DES.
    #[must_use]
    pub fn new(cipher: Cipher, protocol: Protocol, phrase: &str) -> Self {
        Self(match (cipher, protocol) {
            (Cipher::None, _) => Kept::None,
            (_, Protocol::Rtp) => Kept::RtpDes(phrase::rtp(phrase)),
            (Cipher::Des, Protocol::Own) => Kept::Des(phrase::folded(phrase)),
            (Cipher::Idea, Protocol::Own) => Kept::Idea(phrase::digest(phrase)),
            (Cipher::Blowfish, Protocol::Own) => {
                let key = phrase::digest(phrase);
                Kept::Blowfish(Box::new(
                    Blowfish::new_from_slice(&*key).expect("Blowfish takes 4 to 56 bytes"),
                ))
            }
        })
    }

    /// Whether it encrypts, and packets have whole blocks.
    #[must_use]
    pub fn is_set(&self) -> bool {
        !matches!(self.0, Kept::None)
    }

    /// Encrypts whole blocks. Bytes after them are left as they are.
    pub fn encrypt(&self, data: &mut [u8]) {
        let (blocks, _) = data.as_chunks_mut();
        match &self.0 {
            Kept::None => {}
            Kept::Des(key) => UnpermutedDes::new(key).encrypt(blocks),
            Kept::RtpDes(key) => ciphers::cbc_encrypt(&Des::new(&(**key).into()), ZERO_IV, blocks),
            Kept::Idea(key) => ciphers::cfb_encrypt(&Idea::new(&(**key).into()), ZERO_IV, blocks),
            Kept::Blowfish(cipher) => ciphers::cbc_encrypt::<Blowfish>(cipher, ZERO_IV, blocks),
        }
    }

    /// Decrypts whole blocks. Bytes after them are left as they are.
    pub fn decrypt(&self, data: &mut [u8]) {
        let (blocks, _) = data.as_chunks_mut();
        match &self.0 {
            Kept::None => {}
            Kept::Des(key) => UnpermutedDes::new(key).decrypt(blocks),
            Kept::RtpDes(key) => ciphers::cbc_decrypt(&Des::new(&(**key).into()), ZERO_IV, blocks),
            Kept::Idea(key) => ciphers::cfb_decrypt(&Idea::new(&(**key).into()), ZERO_IV, blocks),
            Kept::Blowfish(cipher) => ciphers::cbc_decrypt::<Blowfish>(cipher, ZERO_IV, blocks),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kept::None => "Key(none)",
            Kept::Des(_) | Kept::RtpDes(_) => "Key(DES, ..)",
            Kept::Idea(_) => "Key(IDEA, ..)",
            Kept::Blowfish(_) => "Key(Blowfish, ..)",
        })
    }
}
