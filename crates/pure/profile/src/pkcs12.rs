//! A certificate and its key in one file: PKCS#12 (RFC 7292).
//!
//! Encrypted by triple DES with keys of SHA-1 (`pbeWithSHAAnd3-KeyTripleDES-CBC`), under an HMAC-SHA-1: old, and the one
//! way that everybody reads. AES by PBES2 under SHA-256, which OpenSSL 3 makes by default, is "wrong password" to Android up
//! to 13 (strongswan/strongswan-docs#5, `clip_share_server`#48), to macOS (xca#474, pyca/cryptography#7293) and to iOS 17
//! (VaulTLS#176). RC2, which used to be made for certificates, is not in Android (dotnet/runtime-assets#128), nor in OpenSSL 3
//! without its legacy provider; triple DES is in its default one.
//!
//! What keeps the key secret is therefore not this file's password. Android takes the file only without one (AOSP,
//! `ConfigParser.parsePkcs12` loads with an empty array), and a profile of Apple's holds the password beside it. Both are as
//! secret as the link that leads to them ([`Links`](crate::Links)). Where there is a password it has 120 bits.
//!
//! In it is one certificate and its key under one name: Android counts names, and wants one (`keyStore.size() != 1`).

use cbc::cipher::{Array, BlockModeEncrypt as _, InnerIvInit as _, KeyInit as _};
use des::TdesEde3;
use guestright_units::Seed;
use hmac::{Hmac, Mac as _};
use sha1::{Digest as _, Sha1};
use zeroize::Zeroizing;

use crate::der::{
    BMP_STRING, EXPLICIT_0, Element, IMPLICIT_0, NULL, OBJECT, OCTETS, SEQUENCE, element, integer, nested,
    set,
};
use crate::secret::expand;
use crate::{PrivateKey, Secret};

/// The default of OpenSSL, which all readers are used to. More would not help: see above.
const ITERATIONS: u32 = 2_048;
/// Bytes of a block that SHA-1 works on, and of what it returns.
const HASH_BLOCK: usize = 64;
const HASH: usize = 20;
const BLOCK: usize = 8;

/// 1.2.840.113549, RSA Laboratories.
const RSA: [u8; 6] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d];
/// PKCS#7: data, encrypted data.
const DATA: [u8; 3] = [1, 7, 1];
const ENCRYPTED_DATA: [u8; 3] = [1, 7, 6];
/// PKCS#9: a name for people, the number that belongs to a key, a certificate of X.509.
const FRIENDLY_NAME: [u8; 3] = [1, 9, 20];
const LOCAL_KEY_ID: [u8; 3] = [1, 9, 21];
const X509_CERTIFICATE: [u8; 4] = [1, 9, 22, 1];
/// PKCS#12: triple DES with three keys, a bag with an encrypted key, a bag with a certificate.
const TRIPLE_DES: [u8; 4] = [1, 12, 1, 3];
const SHROUDED_KEY_BAG: [u8; 5] = [1, 12, 10, 1, 2];
const CERTIFICATE_BAG: [u8; 5] = [1, 12, 10, 1, 3];
/// 1.3.14.3.2.26.
const SHA1: [u8; 5] = [0x2b, 0x0e, 3, 2, 0x1a];

/// What a key is derived for (RFC 7292, appendix B.3).
#[derive(Clone, Copy)]
enum Purpose {
    Key = 1,
    Vector = 2,
    Mac = 3,
}

/// A file with one certificate and its key. Without a password it is encrypted all the same, by the empty one.
#[must_use]
pub fn encode(
    label: &str,
    certificate: &[u8],
    key: &PrivateKey,
    password: Option<&Secret>,
    seed: &Seed,
) -> Zeroizing<Vec<u8>> {
    let password = bmp(password.map_or("", Secret::expose), true);
    let salts = expand(seed, "pkcs12");
    let salt = |index: usize| &salts[8 * index..][..8];
    let attributes = || {
        let name = element(BMP_STRING, &bmp(label, false));
        let id = element(OCTETS, &Sha1::digest(certificate));
        let attribute = |kind: &[u8], value| nested(SEQUENCE, &[rsa(kind), set(vec![value])]);
        set(vec![attribute(&FRIENDLY_NAME, name), attribute(&LOCAL_KEY_ID, id)])
    };

    let certificate_bag =
        nested(SEQUENCE, &[rsa(&X509_CERTIFICATE), nested(EXPLICIT_0, &[element(OCTETS, certificate)])]);
    let certificates = bag(&CERTIFICATE_BAG, certificate_bag, attributes());
    let (algorithm, encrypted) = encrypt(&certificates, &password, salt(0));
    let content = nested(SEQUENCE, &[rsa(&DATA), algorithm, element(IMPLICIT_0, &encrypted)]);
    let certificates = content_info(&ENCRYPTED_DATA, nested(SEQUENCE, &[integer(0), content]));

    let (algorithm, encrypted) = encrypt(key.expose(), &password, salt(1));
    let shrouded = nested(SEQUENCE, &[algorithm, element(OCTETS, &encrypted)]);
    let keys = content_info(&DATA, element(OCTETS, &bag(&SHROUDED_KEY_BAG, shrouded, attributes())));

    let safe = nested(SEQUENCE, &[certificates, keys]);
    let mac = mac(&safe, &password, salt(2));
    nested(SEQUENCE, &[integer(3), content_info(&DATA, element(OCTETS, &safe)), mac])
}

fn rsa(rest: &[u8]) -> Element {
    element(OBJECT, &[&RSA, rest].concat())
}

/// ContentInfo (RFC 5652, section 3).
fn content_info(kind: &[u8], content: Element) -> Element {
    nested(SEQUENCE, &[rsa(kind), nested(EXPLICIT_0, &[content])])
}

/// SafeContents of one SafeBag (RFC 7292, section 4.2).
fn bag(kind: &[u8], value: Element, attributes: Element) -> Element {
    nested(SEQUENCE, &[nested(SEQUENCE, &[rsa(kind), nested(EXPLICIT_0, &[value]), attributes])])
}

/// The algorithm with its parameters, and what is encrypted by it (RFC 7292, appendix C).
fn encrypt(plain: &[u8], password: &[u8], salt: &[u8]) -> (Element, Vec<u8>) {
    let parameters = nested(SEQUENCE, &[element(OCTETS, salt), integer(ITERATIONS)]);
    let algorithm = nested(SEQUENCE, &[rsa(&TRIPLE_DES), parameters]);
    let key = derive(Purpose::Key, password, salt, 24);
    let vector = derive(Purpose::Vector, password, salt, BLOCK);
    let cipher = TdesEde3::new_from_slice(&key).expect("24 bytes");
    let vector: [u8; BLOCK] = vector.as_slice().try_into().expect("8 bytes");
    // Padded by the number of bytes that are missing, a whole block where none is (RFC 8018, section 6.1.1).
    let missing = BLOCK - plain.len() % BLOCK;
    let filler = u8::try_from(missing).expect("at most 8");
    let padded = Zeroizing::new([plain, &[filler; BLOCK][..missing]].concat());
    let mut blocks: Vec<[u8; BLOCK]> =
        padded.chunks_exact(BLOCK).map(|block| block.try_into().expect("8 bytes")).collect();
    cbc::Encryptor::inner_iv_init(&cipher, &Array(vector))
        .encrypt_blocks(Array::cast_slice_from_core_mut(&mut blocks));
    (algorithm, blocks.concat())
}

/// MacData (RFC 7292, section 4).
fn mac(safe: &[u8], password: &[u8], salt: &[u8]) -> Element {
    let key = derive(Purpose::Mac, password, salt, HASH);
    let mut mac = <Hmac<Sha1> as hmac::KeyInit>::new_from_slice(&key).expect("any length will do");
    mac.update(safe);
    let algorithm = nested(SEQUENCE, &[element(OBJECT, &SHA1), element(NULL, &[])]);
    let digest = nested(SEQUENCE, &[algorithm, element(OCTETS, &mac.finalize().into_bytes())]);
    nested(SEQUENCE, &[digest, element(OCTETS, salt), integer(ITERATIONS)])
}

/// A text as BMPString: UTF-16, most significant byte first; a password with a zero at its end (appendix B.1).
fn bmp(text: &str, ends: bool) -> Element {
    let mut bytes = Zeroizing::new(Vec::with_capacity(2 * text.len() + 2));
    for unit in text.encode_utf16() {
        bytes.extend_from_slice(&unit.to_be_bytes());
    }
    if ends {
        bytes.extend_from_slice(&[0, 0]);
    }
    bytes
}

/// A key of a password (RFC 7292, appendix B.2).
fn derive(purpose: Purpose, password: &[u8], salt: &[u8], length: usize) -> Zeroizing<Vec<u8>> {
    derive_by(ITERATIONS, purpose, password, salt, length)
}

fn derive_by(
    iterations: u32,
    purpose: Purpose,
    password: &[u8],
    salt: &[u8],
    length: usize,
) -> Zeroizing<Vec<u8>> {
    let purpose = [purpose as u8; HASH_BLOCK];
    let mut input = Zeroizing::new(Vec::with_capacity(4 * HASH_BLOCK + password.len()));
    repeat(&mut input, salt);
    repeat(&mut input, password);
    let mut out = Zeroizing::new(Vec::with_capacity(length + HASH));
    while out.len() < length {
        let mut hash: Zeroizing<[u8; HASH]> =
            Zeroizing::new(Sha1::new().chain_update(purpose).chain_update(&*input).finalize().into());
        for _ in 1..iterations {
            *hash = Sha1::digest(*hash).into();
        }
        out.extend_from_slice(&*hash);
        let mut addend = Zeroizing::new(Vec::with_capacity(HASH_BLOCK + HASH));
        repeat(&mut addend, &*hash);
        for block in input.chunks_exact_mut(HASH_BLOCK) {
            add_and_one(block, &addend);
        }
    }
    out.truncate(length);
    out
}

/// Repeats `part` until it fills whole blocks; the last time, as much of it as fits.
fn repeat(out: &mut Vec<u8>, part: &[u8]) {
    let length = part.len().div_ceil(HASH_BLOCK) * HASH_BLOCK;
    out.extend(part.iter().cycle().take(length));
}

/// `block + addend + 1`, as numbers of 64 bytes.
fn add_and_one(block: &mut [u8], addend: &[u8]) {
    let mut carry = 1_u16;
    for (byte, more) in block.iter_mut().zip(addend).rev() {
        carry += u16::from(*byte) + u16::from(*more);
        *byte = carry.to_be_bytes()[1];
        carry >>= 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        data_encoding::HEXUPPER.decode(text.as_bytes()).unwrap()
    }

    /// Vectors that other implementations print too (Bouncy Castle's and RustCrypto's tests of the same function).
    #[test]
    fn derives_keys_as_others_do() {
        let derive =
            |purpose, length| derive_by(1, purpose, &bmp("smeg", true), &hex("0A58CF64530D823F"), length);
        let key = derive(Purpose::Key, 24);
        assert_eq!(*key, hex("8AAAE6297B6CB04642AB5B077851284EB7128F1A2A7FBCA3"));
        let vector = derive(Purpose::Vector, 8);
        assert_eq!(*vector, hex("79993DFE048D3B76"));
    }

    #[test]
    fn adds_with_carry() {
        let mut block = [0, 0xff, 0xff];
        add_and_one(&mut block, &[0, 0, 1]);
        assert_eq!(block, [1, 0, 1]);
    }
}
