//! Secret keys as text for a file: readable, or encrypted with a passphrase.
//!
//! Armour of base64 around deterministic CBOR. Plain: `[1, suite, secret]`. Encrypted: `[2, memory, passes, salt,
//! ciphertext]`, where ChaCha20-Poly1305 (RFC 8439) encrypts the plain form under a key that Argon2id (RFC 9106)
//! makes of the passphrase; each file has its own salt, so the nonce can be zero.

use crate::{SecretKey, Suite, cose};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use ciborium::Value;
use rand::CryptoRng;
use thiserror::Error;
use zeroize::Zeroizing;

const BEGIN: &str = "-----BEGIN GUESTRIGHT SECRET KEY-----";
const END: &str = "-----END GUESTRIGHT SECRET KEY-----";
/// RFC 9106 §4, second recommended option: 64 MiB, three passes.
pub(crate) const MEMORY_KIB: u32 = 64 * 1_024;
pub(crate) const PASSES: u32 = 3;
/// What a file may ask of the reader's memory and time.
const MEMORY_KIB_MAX: u64 = 256 * 1_024;
const PASSES_MAX: u64 = 16;
const LEN_MAX: usize = 16 * 1_024;

/// The text of a key file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFile;

/// Why a key file cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KeyFileError {
    /// It is not a key file.
    #[error("it is not a guestright key file: {0}")]
    Malformed(String),
    /// It is encrypted and no passphrase was given.
    #[error("it is encrypted: a passphrase is needed")]
    PassphraseNeeded,
    /// The passphrase does not open it.
    #[error("the passphrase does not open it")]
    WrongPassphrase,
}

impl KeyFile {
    /// The text of a file that anybody who reads it can use.
    pub fn plain(key: &SecretKey) -> Zeroizing<String> {
        armour(&plain_bytes(key))
    }

    /// The text of a file that needs `passphrase`; `rng` gives the salt.
    pub fn encrypted(key: &SecretKey, passphrase: &str, rng: &mut impl CryptoRng) -> Zeroizing<String> {
        let mut salt = [0; 16];
        rng.fill_bytes(&mut salt);
        let cipher = cipher(passphrase, &salt, MEMORY_KIB, PASSES).expect("our own parameters are valid");
        let plain = plain_bytes(key);
        let sealed =
            cipher.encrypt(&Nonce::default(), plain.as_slice()).expect("a short text can be encrypted");
        let items = vec![
            Value::from(2),
            Value::from(MEMORY_KIB),
            Value::from(PASSES),
            Value::Bytes(salt.to_vec()),
            Value::Bytes(sealed),
        ];
        armour(&cose::encode(items))
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// [`KeyFileError`].
    pub fn parse(text: &str, passphrase: Option<&str>) -> Result<SecretKey, KeyFileError> {
        let malformed = |why: &str| KeyFileError::Malformed(why.to_owned());
        if text.len() > LEN_MAX {
            return Err(malformed("it is longer than 16 KiB"));
        }
        let body = text.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
        let body = body.ok_or_else(|| malformed("its first or last line is missing"))?;
        let digits: Zeroizing<String> = Zeroizing::new(body.split_whitespace().collect());
        let bytes = STANDARD.decode(digits.as_bytes()).map_err(|error| malformed(&error.to_string()))?;
        let items = decode(&Zeroizing::new(bytes))?;
        match items.as_slice() {
            [version, suite, secret] if *version == Value::from(1) => read_plain(suite, secret),
            [version, memory, passes, salt, sealed] if *version == Value::from(2) => {
                let passphrase = passphrase.ok_or(KeyFileError::PassphraseNeeded)?;
                let plain = decrypt(passphrase, memory, passes, salt, sealed)?;
                match decode(&plain)?.as_slice() {
                    [version, suite, secret] if *version == Value::from(1) => read_plain(suite, secret),
                    _ => Err(malformed("what was encrypted is not a key")),
                }
            }
            _ => Err(malformed("it is of a version that this program does not know")),
        }
    }
}

fn plain_bytes(key: &SecretKey) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(cose::encode(vec![
        Value::from(1),
        Value::from(key.public().suite().algorithm()),
        Value::Bytes(key.to_bytes().to_vec()),
    ]))
}

fn armour(bytes: &[u8]) -> Zeroizing<String> {
    let digits = Zeroizing::new(STANDARD.encode(bytes));
    let mut text = Zeroizing::new(format!("{BEGIN}\n"));
    for line in digits.as_bytes().chunks(64) {
        text.push_str(std::str::from_utf8(line).expect("base64 is ASCII"));
        text.push('\n');
    }
    text.push_str(END);
    text.push('\n');
    text
}

fn decode(bytes: &[u8]) -> Result<Vec<Value>, KeyFileError> {
    cose::decode(bytes).map_err(|error| KeyFileError::Malformed(error.to_string()))
}

fn read_plain(suite: &Value, secret: &Value) -> Result<SecretKey, KeyFileError> {
    let read = || {
        let suite = Suite::from_algorithm(cose::integer(suite, "suite is not a number")?)?;
        SecretKey::from_bytes(suite, cose::bytes(secret, "secret is not bytes")?)
    };
    read().map_err(|error| KeyFileError::Malformed(error.to_string()))
}

fn decrypt(
    passphrase: &str,
    memory: &Value,
    passes: &Value,
    salt: &Value,
    sealed: &Value,
) -> Result<Zeroizing<Vec<u8>>, KeyFileError> {
    let malformed = |why: String| KeyFileError::Malformed(why);
    let (memory, passes) = read_cost(memory, passes)?;
    let text = |error: crate::IdentityError| malformed(error.to_string());
    let salt: [u8; 16] = cose::array(salt, "salt has not 16 bytes").map_err(text)?;
    let sealed = cose::bytes(sealed, "ciphertext is not bytes").map_err(text)?;
    let cipher = cipher(passphrase, &salt, memory, passes)?;
    let plain = cipher.decrypt(&Nonce::default(), sealed).map_err(|_| KeyFileError::WrongPassphrase)?;
    Ok(Zeroizing::new(plain))
}

/// What the derivation of a key costs, within what a file may ask for.
pub(crate) fn read_cost(memory: &Value, passes: &Value) -> Result<(u32, u32), KeyFileError> {
    let bounded = |value: &Value, max: u64, what: &'static str| {
        let number = cose::number(value, what).ok().filter(|number| (1..=max).contains(number));
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| KeyFileError::Malformed(format!("its {what} is not between 1 and {max}")))
    };
    let memory = bounded(memory, MEMORY_KIB_MAX, "memory cost in KiB")?;
    Ok((memory, bounded(passes, PASSES_MAX, "number of passes")?))
}

pub(crate) fn cipher(
    passphrase: &str,
    salt: &[u8; 16],
    memory_kib: u32,
    passes: u32,
) -> Result<ChaCha20Poly1305, KeyFileError> {
    let malformed = |error: argon2::Error| KeyFileError::Malformed(error.to_string());
    let params = Params::new(memory_kib, passes, 1, Some(32)).map_err(malformed)?;
    let mut key = Zeroizing::new([0; 32]);
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into(passphrase.as_bytes(), salt, key.as_mut()).map_err(malformed)?;
    Ok(ChaCha20Poly1305::new((&*key).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn plain_and_encrypted_files_give_the_key_back() {
        let mut rng = rand::rngs::StdRng::seed_from_u64(3);
        for &suite in Suite::ALL {
            let key = SecretKey::generate(suite, &mut rng);
            let plain = KeyFile::plain(&key);
            assert_eq!(KeyFile::parse(&plain, None).unwrap().public(), key.public());
            let encrypted = KeyFile::encrypted(&key, "correct horse", &mut rng);
            assert_eq!(KeyFile::parse(&encrypted, Some("correct horse")).unwrap().public(), key.public());
            assert_eq!(KeyFile::parse(&encrypted, Some("horse")).unwrap_err(), KeyFileError::WrongPassphrase);
            assert_eq!(KeyFile::parse(&encrypted, None).unwrap_err(), KeyFileError::PassphraseNeeded);
        }
    }

    #[test]
    fn a_file_cannot_ask_for_all_memory() {
        let items = vec![
            Value::from(2),
            Value::from(u32::MAX),
            Value::from(3),
            Value::Bytes(vec![0; 16]),
            Value::Bytes(vec![0; 50]),
        ];
        let text = armour(&cose::encode(items));
        let refused = "its memory cost in KiB is not between 1 and 262144";
        assert_eq!(KeyFile::parse(&text, Some("x")).unwrap_err(), KeyFileError::Malformed(refused.into()));
    }

    #[test]
    fn rubbish_is_refused_with_a_reason() {
        for text in ["", "hello", &format!("{BEGIN}\n????\n{END}"), &format!("{BEGIN}\n{END}")] {
            assert!(matches!(KeyFile::parse(text, None), Err(KeyFileError::Malformed(_))), "{text:?}");
        }
    }
}
