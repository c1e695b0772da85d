//! A backup's encryption: any number of bytes under a passphrase, in pieces, so that none has to be in memory whole.
//!
//! `guestright backup 1`, a line; length (16 bits) and a header in deterministic CBOR: `[1, memory, passes, salt, check]`, or `[0,
//! check]` where nobody is to be asked for a passphrase; then pieces. ChaCha20-Poly1305 (RFC 8439) seals each under a key that
//! Argon2id (RFC 9106) makes of the passphrase, as for key files; without one the key is zero, which keeps nothing secret and
//! still finds damage. A piece is a head of 32 bits, its length with the highest bit set in the last one, which is
//! authenticated with it, and what is sealed. Its nonce is its number, so that none can be left out, moved or added (the
//! construction STREAM: Hoang, Reyhanitabar, Rogaway, Vizár, CRYPTO 2015). `check` is the tag over nothing under the
//! highest number: it tells a wrong passphrase from a damaged file.

use crate::cose;
use crate::keyfile::{MEMORY_KIB, PASSES, cipher, read_cost};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use ciborium::Value;
use rand::CryptoRng;
use thiserror::Error;
use zeroize::Zeroizing;

const MAGIC: &[u8] = b"guestright backup 1\n";
const LAST: u32 = 1 << 31;
const TAG: usize = 16;

/// Why a backup cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum VaultError {
    /// It does not begin as a backup does, or is of a version that this one does not know.
    #[error("it is not a guestright backup: {0}")]
    NotABackup(String),
    /// It is encrypted, and no passphrase was given.
    #[error("it is encrypted: a passphrase is needed")]
    PassphraseNeeded,
    /// The passphrase is another one, or the beginning was changed.
    #[error("the passphrase does not open it")]
    WrongPassphrase,
    /// A piece is not what was sealed at its place.
    #[error("it is damaged: piece {piece} is not what was written")]
    Damaged {
        /// Counted from 0.
        piece: u64,
    },
}

/// Encrypts a backup, piece by piece.
pub struct Sealer(Pieces);

/// Decrypts one.
pub struct Opener(Pieces);

struct Pieces {
    cipher: ChaCha20Poly1305,
    number: u64,
}

impl Pieces {
    fn next(&mut self) -> Nonce {
        let nonce = nonce(self.number);
        self.number += 1;
        nonce
    }
}

fn nonce(number: u64) -> Nonce {
    let mut nonce = Nonce::default();
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    nonce
}

/// The tag over nothing, under a number that no piece has.
fn check(cipher: &ChaCha20Poly1305) -> Vec<u8> {
    cipher.encrypt(&nonce(u64::MAX), [].as_slice()).expect("nothing can be encrypted")
}

impl Sealer {
    /// No piece has more bytes.
    pub const PIECE_MAX: usize = 64 * 1_024;

    /// A new backup, and what is at its beginning; `rng` gives the salt.
    pub fn new(passphrase: Option<&str>, rng: &mut impl CryptoRng) -> (Self, Vec<u8>) {
        let mut salt = [0; 16];
        rng.fill_bytes(&mut salt);
        let cipher = key(passphrase, &salt, MEMORY_KIB, PASSES).expect("our own parameters are valid");
        let check = Value::Bytes(check(&cipher));
        let items = match passphrase {
            Some(_) => {
                let salt = Value::Bytes(salt.to_vec());
                vec![Value::from(1), Value::from(MEMORY_KIB), Value::from(PASSES), salt, check]
            }
            None => vec![Value::from(0), check],
        };
        let header = cose::encode(items);
        let length = u16::try_from(header.len()).expect("a header is short").to_be_bytes();
        (Self(Pieces { cipher, number: 0 }), [MAGIC, &length, &header].concat())
    }

    /// The next piece, of at most [`Sealer::PIECE_MAX`] bytes, as it is written.
    pub fn seal(&mut self, plain: &[u8], is_last: bool) -> Vec<u8> {
        assert!(plain.len() <= Self::PIECE_MAX, "a piece is not longer");
        let length = u32::try_from(plain.len()).expect("a piece is short");
        let head = (length | if is_last { LAST } else { 0 }).to_be_bytes();
        let nonce = self.0.next();
        let sealed = self.0.cipher.encrypt(&nonce, Payload { msg: plain, aad: &head });
        [head.as_slice(), &sealed.expect("a short text can be encrypted")].concat()
    }
}

impl Opener {
    /// How many bytes tell the length of the header.
    pub const BEGINNING: usize = MAGIC.len() + 2;

    /// The length of the header, of a file that begins with these.
    ///
    /// # Errors
    /// [`VaultError::NotABackup`].
    pub fn header_len(beginning: &[u8]) -> Result<usize, VaultError> {
        let not = |why: &str| VaultError::NotABackup(why.to_owned());
        let length = beginning.strip_prefix(MAGIC).ok_or_else(|| not("its first line is another one"))?;
        let length: [u8; 2] = length.try_into().map_err(|_| not("it ends too early"))?;
        match usize::from(u16::from_be_bytes(length)) {
            length @ 1..=256 => Ok(length),
            _ => Err(not("its header is too long")),
        }
    }

    /// Whether a passphrase has to be asked for.
    ///
    /// # Errors
    /// [`VaultError::NotABackup`].
    pub fn is_encrypted(header: &[u8]) -> Result<bool, VaultError> {
        let items = cose::decode(header).map_err(|error| VaultError::NotABackup(error.to_string()))?;
        Ok(items.first() != Some(&Value::from(0)))
    }

    /// Reads the header. Takes as long as the passphrase's derivation.
    ///
    /// # Errors
    /// [`VaultError`].
    pub fn new(header: &[u8], passphrase: Option<&str>) -> Result<Self, VaultError> {
        let not = |error: &dyn std::fmt::Display| VaultError::NotABackup(error.to_string());
        let items = cose::decode(header).map_err(|error| not(&error))?;
        let (cipher, want) = match items.as_slice() {
            [kind, check] if *kind == Value::from(0) => {
                (key(None, &[0; 16], MEMORY_KIB, PASSES).map_err(|error| not(&error))?, check)
            }
            [kind, memory, passes, salt, check] if *kind == Value::from(1) => {
                let passphrase = passphrase.ok_or(VaultError::PassphraseNeeded)?;
                let (memory, passes) = read_cost(memory, passes).map_err(|error| not(&error))?;
                let salt: [u8; 16] =
                    cose::array(salt, "salt has not 16 bytes").map_err(|error| not(&error))?;
                (key(Some(passphrase), &salt, memory, passes).map_err(|error| not(&error))?, check)
            }
            _ => return Err(not(&"it is of a version that this program does not know")),
        };
        if Value::Bytes(check(&cipher)) != *want {
            return Err(VaultError::WrongPassphrase);
        }
        Ok(Self(Pieces { cipher, number: 0 }))
    }

    /// How many sealed bytes follow this head.
    ///
    /// # Errors
    /// [`VaultError::Damaged`] if no piece is so long.
    pub fn piece_len(&self, head: [u8; 4]) -> Result<usize, VaultError> {
        let length = usize::try_from(u32::from_be_bytes(head) & !LAST).unwrap_or(usize::MAX);
        if length > Sealer::PIECE_MAX {
            return Err(VaultError::Damaged { piece: self.0.number });
        }
        Ok(length + TAG)
    }

    /// What is in the next piece, and whether it is the last.
    ///
    /// # Errors
    /// [`VaultError::Damaged`].
    pub fn open(&mut self, head: [u8; 4], sealed: &[u8]) -> Result<(Zeroizing<Vec<u8>>, bool), VaultError> {
        let piece = self.0.number;
        let nonce = self.0.next();
        let opened = self.0.cipher.decrypt(&nonce, Payload { msg: sealed, aad: &head });
        let plain = opened.map_err(|_| VaultError::Damaged { piece })?;
        Ok((Zeroizing::new(plain), u32::from_be_bytes(head) & LAST != 0))
    }
}

fn key(
    passphrase: Option<&str>,
    salt: &[u8; 16],
    memory_kib: u32,
    passes: u32,
) -> Result<ChaCha20Poly1305, crate::KeyFileError> {
    use chacha20poly1305::aead::KeyInit;
    match passphrase {
        Some(passphrase) => cipher(passphrase, salt, memory_kib, passes),
        None => Ok(ChaCha20Poly1305::new((&[0; 32]).into())),
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealer({} pieces)", self.0.number)
    }
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Opener({} pieces)", self.0.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn seal(passphrase: Option<&str>, pieces: &[&[u8]]) -> Vec<u8> {
        let mut rng = rand::rngs::StdRng::seed_from_u64(4);
        let (mut sealer, mut file) = Sealer::new(passphrase, &mut rng);
        for (number, piece) in pieces.iter().enumerate() {
            file.extend(sealer.seal(piece, number + 1 == pieces.len()));
        }
        file
    }

    /// All pieces, and whether the last one came.
    fn open(file: &[u8], passphrase: Option<&str>) -> Result<(Vec<Vec<u8>>, bool), VaultError> {
        let cut = || VaultError::NotABackup("it ends too early".to_owned());
        let (beginning, rest) = file.split_at_checked(Opener::BEGINNING).ok_or_else(cut)?;
        let (header, mut rest) = rest.split_at_checked(Opener::header_len(beginning)?).ok_or_else(cut)?;
        let mut opener = Opener::new(header, passphrase)?;
        let mut pieces = Vec::new();
        while let Some((head, after)) = rest.split_first_chunk::<4>() {
            let Some((sealed, after)) = after.split_at_checked(opener.piece_len(*head)?) else { break };
            let (piece, is_last) = opener.open(*head, sealed)?;
            pieces.push(piece.to_vec());
            if is_last {
                return Ok((pieces, true));
            }
            rest = after;
        }
        Ok((pieces, false))
    }

    #[test]
    fn what_was_sealed_is_opened_with_its_passphrase_alone() {
        let pieces: [&[u8]; 3] = [b"one", &[7; Sealer::PIECE_MAX], b""];
        let want = pieces.map(<[u8]>::to_vec).to_vec();
        let file = seal(Some("correct horse"), &pieces);
        assert_eq!(open(&file, Some("correct horse")), Ok((want.clone(), true)));
        assert_eq!(open(&file, Some("horse")), Err(VaultError::WrongPassphrase));
        assert_eq!(open(&file, None), Err(VaultError::PassphraseNeeded));
        let plain = seal(None, &pieces);
        assert_eq!(open(&plain, None), Ok((want.clone(), true)));
        assert_eq!(open(&plain, Some("whatever")), Ok((want, true)));
        assert_ne!(seal(Some("a"), &[b"secret"]), seal(Some("b"), &[b"secret"]));
    }

    #[test]
    fn every_changed_byte_every_cut_and_every_other_order_is_noticed() {
        let file = seal(None, &[b"first piece", b"other piece"]);
        for index in 0..file.len() {
            let mut changed = file.clone();
            changed[index] ^= 1;
            assert!(open(&changed, None).map_or(true, |(_, whole)| !whole), "byte {index}");
            assert!(open(&file[..index], None).map_or(true, |(_, whole)| !whole), "cut at {index}");
        }
        let body = Opener::BEGINNING + Opener::header_len(&file[..Opener::BEGINNING]).unwrap();
        let piece = (file.len() - body) / 2;
        let exchanged = [&file[..body], &file[body + piece..], &file[body..body + piece]].concat();
        assert_eq!(open(&exchanged, None), Err(VaultError::Damaged { piece: 0 }));
        let left_out = [&file[..body], &file[body + piece..]].concat();
        assert_eq!(open(&left_out, None), Err(VaultError::Damaged { piece: 0 }));
    }

    #[test]
    fn a_header_cannot_ask_for_all_memory() {
        let salt = Value::Bytes(vec![0; 16]);
        let items = vec![Value::from(1), Value::from(u32::MAX), Value::from(3), salt.clone(), salt];
        assert!(matches!(Opener::new(&cose::encode(items), Some("x")), Err(VaultError::NotABackup(_))));
    }
}
