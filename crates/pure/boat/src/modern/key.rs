//! The key of one epoch.

use super::derive::Secret;
use super::{Cipher, TAG_LEN};
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{AeadInOut as _, KeyInit as _};
use chacha20poly1305::ChaCha20Poly1305;
use std::fmt;
use zeroize::Zeroizing;

/// K_i and its salt. It is wiped when dropped.
pub(super) struct EpochKey {
    algorithm: Algorithm,
    salt: Zeroizing<[u8; 12]>,
}

enum Algorithm {
    Aes128Gcm(Box<Aes128Gcm>),
    ChaCha20Poly1305(Box<ChaCha20Poly1305>),
}

impl EpochKey {
    /// K_i, salt_i = HKDF-Expand(chain_i, "audio").
    pub(super) fn new(cipher: Cipher, chain: &Secret) -> Self {
        let mut bytes = Zeroizing::new([0; 44]);
        let length = cipher.key_len();
        let bytes = &mut bytes[..length + 12];
        chain.expand(b"guestright/boat/1/audio", bytes);
        let (key, salt) = bytes.split_at(length);
        let expect = "the key has the cipher's length";
        let algorithm = match cipher {
            Cipher::Aes128Gcm => {
                Algorithm::Aes128Gcm(Box::new(Aes128Gcm::new_from_slice(key).expect(expect)))
            }
            Cipher::ChaCha20Poly1305 => {
                Algorithm::ChaCha20Poly1305(Box::new(ChaCha20Poly1305::new_from_slice(key).expect(expect)))
            }
        };
        let mut own = Zeroizing::new([0; 12]);
        own.copy_from_slice(salt);
        Self { algorithm, salt: own }
    }

    /// salt XOR (0^32 | counter). A counter is used once in a call, so once under a key.
    fn nonce(&self, counter: u64) -> [u8; 12] {
        let mut nonce = *self.salt;
        nonce[4..].iter_mut().zip(counter.to_be_bytes()).for_each(|(byte, other)| *byte ^= other);
        nonce
    }

    /// Encrypts `text` in place.
    pub(super) fn seal(&self, counter: u64, header: &[u8], text: &mut [u8]) -> [u8; TAG_LEN] {
        let nonce = self.nonce(counter).into();
        let tag = match &self.algorithm {
            Algorithm::Aes128Gcm(cipher) => cipher.encrypt_inout_detached(&nonce, header, text.into()),
            Algorithm::ChaCha20Poly1305(cipher) => cipher.encrypt_inout_detached(&nonce, header, text.into()),
        };
        tag.expect("a packet is far shorter than the cipher's limit").into()
    }

    /// Decrypts `text` in place, if the tag fits; otherwise leaves it as it is.
    #[must_use]
    pub(super) fn open(&self, counter: u64, header: &[u8], text: &mut [u8], tag: &[u8; TAG_LEN]) -> bool {
        let (nonce, tag) = (self.nonce(counter).into(), (*tag).into());
        let opened = match &self.algorithm {
            Algorithm::Aes128Gcm(cipher) => cipher.decrypt_inout_detached(&nonce, header, text.into(), &tag),
            Algorithm::ChaCha20Poly1305(cipher) => {
                cipher.decrypt_inout_detached(&nonce, header, text.into(), &tag)
            }
        };
        opened.is_ok()
    }
}

impl fmt::Debug for EpochKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EpochKey(..)")
    }
}

/// Where the hash ratchet of one generation stands.
#[derive(Debug)]
pub(super) struct Chain {
    cipher: Cipher,
    next: Secret,
}

impl Chain {
    pub(super) fn new(cipher: Cipher, first: Secret) -> Self {
        Self { cipher, next: first }
    }

    /// The key of the next epoch; what it came from is erased: chain_{i+1} = HKDF-Expand(chain_i, "next").
    pub(super) fn advance(&mut self) -> EpochKey {
        let key = EpochKey::new(self.cipher, &self.next);
        self.next = self.next.derive(b"guestright/boat/1/next");
        key
    }
}
