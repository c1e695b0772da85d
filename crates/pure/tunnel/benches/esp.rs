//! What ESP costs beside the bare cipher: seal and open for every suite, at 60, 200 and 1,400 bytes.
//!
//! `library_*` is the library's own call on as many bytes, padding included: what our part should stay within twice of.
//! Without the feature `aws-lc`, the ciphers are RustCrypto's.

#![expect(clippy::unwrap_used, reason = "a benchmark stops when it is wrong")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use guestright_tunnel::esp::{InboundSa, Keys, Lifetime, OutboundSa, PACKET_LEN_MAX, SaParameters, Suite};
use zeroize::Zeroizing;

/// Voice in G.729, voice in G.711, and a full packet, in bytes.
const LENGTHS: [usize; 3] = [60, 200, 1_400];

fn main() {
    divan::main();
}

fn cases() -> Vec<(Suite, usize)> {
    Suite::ALL.into_iter().flat_map(|suite| LENGTHS.map(|length| (suite, length))).collect()
}

fn keys(suite: Suite) -> Keys {
    let key: Vec<u8> = (1..=64).collect();
    Keys::new(suite, &key[..suite.encryption_key_len()], &key[..suite.authentication_key_len()]).unwrap()
}

fn parameters(suite: Suite) -> SaParameters {
    SaParameters {
        spi: 0x1001,
        keys: keys(suite),
        extended_sequence: true,
        lifetime: Lifetime::default(),
        packet_len_max: PACKET_LEN_MAX,
    }
}

fn outbound(suite: Suite) -> OutboundSa {
    OutboundSa::new(&parameters(suite), 1, &Zeroizing::new([7; 32]))
}

#[divan::bench(args = cases())]
fn seal(bencher: Bencher<'_, '_>, (suite, length): (Suite, usize)) {
    let mut sa = outbound(suite);
    let mut buffer = vec![3; 2_000];
    bencher
        .counter(BytesCount::new(length))
        .bench_local(|| sa.seal_in_place(4, black_box(length), black_box(&mut buffer)).unwrap());
}

/// A packet is opened once: each iteration has its own, made beforehand and taken into the cache first, as the packet
/// that has just come in would be.
#[divan::bench(args = cases(), sample_size = 64)]
fn open(bencher: Bencher<'_, '_>, (suite, length): (Suite, usize)) {
    let mut sender = outbound(suite);
    let mut receiver = InboundSa::new(&parameters(suite), 4096);
    let mut sealed = vec![0; 2_000];
    bencher
        .counter(BytesCount::new(length))
        .with_inputs(|| {
            let length = sender.seal(4, &vec![3; length], &mut sealed).unwrap();
            sealed[..length].to_vec()
        })
        .bench_local_refs(|packet| receiver.open(black_box(packet)).unwrap());
}

#[divan::bench(args = cases())]
fn library_seal(bencher: Bencher<'_, '_>, (suite, length): (Suite, usize)) {
    let library = library::new(suite);
    let mut text = vec![3; library::text_len(suite, length)];
    bencher.counter(BytesCount::new(length)).bench_local(|| library.seal(black_box(&mut text)));
}

#[divan::bench(args = cases(), sample_size = 64)]
fn library_open(bencher: Bencher<'_, '_>, (suite, length): (Suite, usize)) {
    let library = library::new(suite);
    bencher
        .counter(BytesCount::new(length))
        .with_inputs(|| {
            let mut text = vec![3; library::text_len(suite, length)];
            let tag = library.seal(&mut text);
            (text, tag)
        })
        .bench_local_refs(|(text, tag)| library.open(black_box(text), tag));
}

/// The libraries' own calls, and nothing else.
mod library {
    use aes::cipher::inout::InOutBuf;
    use aes::cipher::{
        Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt as _, BlockModeEncrypt as _,
        InnerIvInit as _, KeyInit,
    };
    use guestright_tunnel::esp::Suite;
    use hmac::{Hmac, Mac};

    use super::keys;

    pub(super) type Tag = [u8; 16];

    pub(super) trait Library {
        fn seal(&self, text: &mut [u8]) -> Tag;
        fn open(&self, text: &mut [u8], tag: &Tag);
    }

    /// Encrypted bytes around a payload; for CBC with the header and the vector in front, as those are authenticated
    /// with them.
    pub(super) fn text_len(suite: Suite, length: usize) -> usize {
        length + suite.padding_len(length) + 2
    }

    pub(super) fn new(suite: Suite) -> Box<dyn Library> {
        let keys = keys(suite);
        match suite {
            Suite::TripleDesCbcHmacSha1 => Box::new(Legacy {
                cipher: des::TdesEde3::new_from_slice(keys.encryption()).unwrap(),
                mac: Hmac::<sha1::Sha1>::new_from_slice(keys.authentication()).unwrap(),
            }),
            Suite::Aes128CbcHmacMd5 => Box::new(Legacy {
                cipher: aes::Aes128::new_from_slice(keys.encryption()).unwrap(),
                mac: Hmac::<md5::Md5>::new_from_slice(keys.authentication()).unwrap(),
            }),
            Suite::Aes128CbcHmacSha1 => Box::new(Legacy {
                cipher: aes::Aes128::new_from_slice(keys.encryption()).unwrap(),
                mac: Hmac::<sha1::Sha1>::new_from_slice(keys.authentication()).unwrap(),
            }),
            Suite::Aes128Gcm | Suite::Aes256Gcm | Suite::ChaCha20Poly1305 => {
                let (key, _) = keys.encryption().split_at(keys.encryption().len() - 4);
                super::aead::new(suite, key)
            }
        }
    }

    struct Legacy<C, M> {
        cipher: C,
        mac: M,
    }

    impl<C: BlockCipherEncrypt + BlockCipherDecrypt, M: Mac + Clone> Legacy<C, M> {
        fn tag(&self, text: &[u8]) -> Tag {
            let mut mac = self.mac.clone();
            mac.update(&[1; 24]);
            mac.update(text);
            *mac.finalize().into_bytes().first_chunk().unwrap()
        }
    }

    impl<C: BlockCipherEncrypt + BlockCipherDecrypt, M: Mac + Clone> Library for Legacy<C, M> {
        fn seal(&self, text: &mut [u8]) -> Tag {
            let (blocks, _) = InOutBuf::from(&mut *text).into_chunks();
            cbc::Encryptor::inner_iv_init(&self.cipher, &Block::<C>::default()).encrypt_blocks_inout(blocks);
            self.tag(text)
        }

        fn open(&self, text: &mut [u8], tag: &Tag) {
            assert!(self.tag(text) == *tag);
            let (blocks, _) = InOutBuf::from(text).into_chunks();
            cbc::Decryptor::inner_iv_init(&self.cipher, &Block::<C>::default()).decrypt_blocks_inout(blocks);
        }
    }
}

const NONCE: [u8; 12] = [1; 12];
const AAD: [u8; 12] = [2; 12];

#[cfg(feature = "aws-lc")]
mod aead {
    use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
    use guestright_tunnel::esp::Suite;

    use super::library::{Library, Tag};
    use super::{AAD, NONCE};

    pub(super) fn new(suite: Suite, key: &[u8]) -> Box<dyn Library> {
        let algorithm = match suite {
            Suite::Aes128Gcm => &AES_128_GCM,
            Suite::Aes256Gcm => &AES_256_GCM,
            Suite::ChaCha20Poly1305
            | Suite::TripleDesCbcHmacSha1
            | Suite::Aes128CbcHmacMd5
            | Suite::Aes128CbcHmacSha1 => &CHACHA20_POLY1305,
        };
        Box::new(LessSafeKey::new(UnboundKey::new(algorithm, key).unwrap()))
    }

    impl Library for LessSafeKey {
        fn seal(&self, text: &mut [u8]) -> Tag {
            let nonce = Nonce::assume_unique_for_key(NONCE);
            let tag = self.seal_in_place_separate_tag(nonce, Aad::from(&AAD), text).unwrap();
            tag.as_ref().try_into().unwrap()
        }

        fn open(&self, text: &mut [u8], tag: &Tag) {
            let nonce = Nonce::assume_unique_for_key(NONCE);
            self.open_in_place_separate_tag(nonce, Aad::from(&AAD), tag, text).unwrap();
        }
    }
}

#[cfg(not(feature = "aws-lc"))]
mod aead {
    use aes_gcm::aead::{AeadInOut, KeyInit as _};
    use aes_gcm::{Aes128Gcm, Aes256Gcm};
    use chacha20poly1305::ChaCha20Poly1305;
    use guestright_tunnel::esp::Suite;

    use super::library::{Library, Tag};
    use super::{AAD, NONCE};

    struct Aead<A>(A);

    pub(super) fn new(suite: Suite, key: &[u8]) -> Box<dyn Library> {
        match suite {
            Suite::Aes128Gcm => Box::new(Aead(Aes128Gcm::new_from_slice(key).unwrap())),
            Suite::Aes256Gcm => Box::new(Aead(Aes256Gcm::new_from_slice(key).unwrap())),
            Suite::ChaCha20Poly1305
            | Suite::TripleDesCbcHmacSha1
            | Suite::Aes128CbcHmacMd5
            | Suite::Aes128CbcHmacSha1 => Box::new(Aead(ChaCha20Poly1305::new_from_slice(key).unwrap())),
        }
    }

    impl<A: AeadInOut> Library for Aead<A> {
        fn seal(&self, text: &mut [u8]) -> Tag {
            let nonce = NONCE[..].try_into().unwrap();
            let tag = self.0.encrypt_inout_detached(nonce, &AAD, text.into()).unwrap();
            tag[..].try_into().unwrap()
        }

        fn open(&self, text: &mut [u8], tag: &Tag) {
            let nonce = NONCE[..].try_into().unwrap();
            let tag = tag[..].try_into().unwrap();
            self.0.decrypt_inout_detached(nonce, &AAD, text.into(), tag).unwrap();
        }
    }
}
