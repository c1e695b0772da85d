//! AES-GCM and ChaCha20-Poly1305: from AWS-LC where the feature `aws-lc` is on, else from RustCrypto.
//!
//! Both give the same bytes, which a test below holds them to.

use super::suite::Suite;

// A key, made ready for many packets. Both kinds have the same functions:
// - `new(suite, key)` takes a key without its salt; nothing if the suite is none of this kind, or the key has another
//   length.
// - `seal(nonce, aad, text)` encrypts in place; out comes the check value.
// - `open(nonce, aad, text, tag)` checks in constant time, and decrypts in place what passed. What did not pass is not to
//   be used.
#[cfg(feature = "aws-lc")]
pub(crate) use aws_lc::Key as AeadKey;
#[cfg(not(feature = "aws-lc"))]
pub(crate) use rust_crypto::Key as AeadKey;

pub(crate) const NONCE_LEN: usize = 12;
pub(crate) const TAG_LEN: usize = 16;
type Nonce = [u8; NONCE_LEN];
type Tag = [u8; TAG_LEN];

/// Somebody wrote or changed the packet who does not have the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forged;

#[cfg(feature = "aws-lc")]
mod aws_lc {
    use aws_lc_rs::aead::{self, AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, UnboundKey};

    use super::{Forged, Nonce, Suite, Tag};

    pub(crate) struct Key(LessSafeKey);

    impl Key {
        pub(crate) fn new(suite: Suite, key: &[u8]) -> Option<Self> {
            let algorithm = match suite {
                Suite::Aes128Gcm => &AES_128_GCM,
                Suite::Aes256Gcm => &AES_256_GCM,
                Suite::ChaCha20Poly1305 => &CHACHA20_POLY1305,
                Suite::TripleDesCbcHmacSha1 | Suite::Aes128CbcHmacMd5 | Suite::Aes128CbcHmacSha1 => {
                    return None;
                }
            };
            UnboundKey::new(algorithm, key).ok().map(|key| Self(LessSafeKey::new(key)))
        }

        #[inline]
        pub(crate) fn seal(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Tag {
            let nonce = aead::Nonce::assume_unique_for_key(nonce);
            let tag = self.0.seal_in_place_separate_tag(nonce, Aad::from(aad), text);
            let tag = tag.expect("a packet is far shorter than the cipher's limit");
            tag.as_ref().try_into().expect("a tag has 16 bytes")
        }

        #[inline]
        pub(crate) fn open(
            &self,
            nonce: Nonce,
            aad: &[u8],
            text: &mut [u8],
            tag: &Tag,
        ) -> Result<(), Forged> {
            let nonce = aead::Nonce::assume_unique_for_key(nonce);
            let opened = self.0.open_in_place_separate_tag(nonce, Aad::from(aad), tag, text);
            opened.map(|_| ()).map_err(|_| Forged)
        }
    }
}

#[cfg(any(test, not(feature = "aws-lc")))]
mod rust_crypto {
    use aes_gcm::aead::{AeadInOut as _, KeyInit as _};
    use aes_gcm::{Aes128Gcm, Aes256Gcm};
    use chacha20poly1305::ChaCha20Poly1305;

    use super::{Forged, Nonce, Suite, Tag};

    /// In boxes, because prepared keys differ much in size, and are made once.
    pub(crate) enum Key {
        Aes128Gcm(Box<Aes128Gcm>),
        Aes256Gcm(Box<Aes256Gcm>),
        ChaCha20Poly1305(Box<ChaCha20Poly1305>),
    }

    impl Key {
        pub(crate) fn new(suite: Suite, key: &[u8]) -> Option<Self> {
            match suite {
                Suite::Aes128Gcm => {
                    Aes128Gcm::new_from_slice(key).ok().map(|key| Self::Aes128Gcm(Box::new(key)))
                }
                Suite::Aes256Gcm => {
                    Aes256Gcm::new_from_slice(key).ok().map(|key| Self::Aes256Gcm(Box::new(key)))
                }
                Suite::ChaCha20Poly1305 => ChaCha20Poly1305::new_from_slice(key)
                    .ok()
                    .map(|key| Self::ChaCha20Poly1305(Box::new(key))),
                Suite::TripleDesCbcHmacSha1 | Suite::Aes128CbcHmacMd5 | Suite::Aes128CbcHmacSha1 => None,
            }
        }

        pub(crate) fn seal(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Tag {
            let (nonce, text) = (nonce.into(), text.into());
            let tag = match self {
                Self::Aes128Gcm(key) => key.encrypt_inout_detached(&nonce, aad, text),
                Self::Aes256Gcm(key) => key.encrypt_inout_detached(&nonce, aad, text),
                Self::ChaCha20Poly1305(key) => key.encrypt_inout_detached(&nonce, aad, text),
            };
            tag.expect("a packet is far shorter than the cipher's limit").into()
        }

        pub(crate) fn open(
            &self,
            nonce: Nonce,
            aad: &[u8],
            text: &mut [u8],
            tag: &Tag,
        ) -> Result<(), Forged> {
            let (nonce, tag, text) = (nonce.into(), (*tag).into(), text.into());
            let opened = match self {
                Self::Aes128Gcm(key) => key.decrypt_inout_detached(&nonce, aad, text, &tag),
                Self::Aes256Gcm(key) => key.decrypt_inout_detached(&nonce, aad, text, &tag),
                Self::ChaCha20Poly1305(key) => key.decrypt_inout_detached(&nonce, aad, text, &tag),
            };
            opened.map_err(|_| Forged)
        }
    }
}

#[cfg(all(test, feature = "aws-lc"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SUITES: [Suite; 3] = [Suite::Aes128Gcm, Suite::Aes256Gcm, Suite::ChaCha20Poly1305];

    proptest! {
        #[test]
        fn both_libraries_give_the_same_bytes(
            suite in proptest::sample::select(&SUITES),
            key: [u8; 32],
            nonce: Nonce,
            aad in proptest::collection::vec(any::<u8>(), 0..13),
            text in proptest::collection::vec(any::<u8>(), 0..1_600),
        ) {
            let key = &key[..suite.encryption_key_len() - super::super::suite::SALT_LEN];
            let ours = AeadKey::new(suite, key).unwrap();
            let other = rust_crypto::Key::new(suite, key).unwrap();
            let (mut one, mut two) = (text.clone(), text.clone());
            let tag = ours.seal(nonce, &aad, &mut one);
            prop_assert_eq!(tag, other.seal(nonce, &aad, &mut two));
            prop_assert_eq!(&one, &two);
            prop_assert_eq!(other.open(nonce, &aad, &mut one, &tag), Ok(()));
            prop_assert_eq!(ours.open(nonce, &aad, &mut two, &tag), Ok(()));
            prop_assert_eq!(&one, &text);
            prop_assert_eq!(&two, &text);
            let mut wrong = tag;
            wrong[15] ^= 1;
            prop_assert_eq!(other.open(nonce, &aad, &mut one, &wrong), Err(Forged));
            prop_assert_eq!(ours.open(nonce, &aad, &mut two, &wrong), Err(Forged));
        }
    }
}
