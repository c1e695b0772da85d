use super::CODEC_BYTES;
use super::config::Cipher;
use super::message::{CHECK_LEN, HANG_UP, Offer, VOICE};
use crate::ciphers::{BLOCK, cfb_decrypt, cfb_encrypt};
use blowfish::Blowfish;
use cbc::cipher::consts::U8;
use cbc::cipher::{Array, BlockCipherEncrypt, KeyInit as _};
use des::TdesEde3;
use idea::Idea;
use sha1::{Digest as _, Sha1};
use std::fmt;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// What a farewell says.
const FAREWELL: [u8; CHECK_LEN] = *b"HANG UP.";

/// Whose packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the callee.
    FromCaller,
    /// To the caller.
    FromCallee,
}

/// The key of one call, with what was made of the same secret.
pub(super) struct CallKey {
    cipher: Keyed,
    caller_check: [u8; CHECK_LEN],
    callee_check: [u8; CHECK_LEN],
    digits: [u8; 4],
}

enum Keyed {
    Blowfish(Box<Blowfish>),
    Idea(Box<Idea>),
    TripleDes(Box<TdesEde3>),
}

impl CallKey {
    /// Hashes the secret with what both have said.
    pub(super) fn new(cipher: Cipher, secret: &[u8], hello: &Offer, answer: &Offer) -> Self {
        let transcript =
            Sha1::new().chain_update(hello.transcript()).chain_update(answer.transcript()).finalize();
        let made = |what: u8| -> Zeroizing<[u8; 20]> {
            let hash =
                Sha1::new().chain_update([what]).chain_update(transcript).chain_update(secret).finalize();
            Zeroizing::new(hash.into())
        };
        let mut key = Zeroizing::new([0; 40]);
        key[..20].copy_from_slice(&*made(0));
        key[20..].copy_from_slice(&*made(1));
        Self {
            cipher: Keyed::new(cipher, &key[..cipher.key_len()]),
            caller_check: first(&made(2)),
            callee_check: first(&made(3)),
            digits: first(&made(4)),
        }
    }

    /// What the caller shows.
    pub(super) fn caller_check(&self) -> [u8; CHECK_LEN] {
        self.caller_check
    }

    /// What the callee shows.
    pub(super) fn callee_check(&self) -> [u8; CHECK_LEN] {
        self.callee_check
    }

    /// To be read aloud: twice four hexadecimal digits.
    pub(super) fn words(&self) -> Vec<String> {
        self.digits.chunks(2).map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect()).collect()
    }

    pub(super) fn encrypt(&self, direction: Direction, number: u32, sound: &mut [u8; CODEC_BYTES]) {
        self.cipher.apply(VOICE, direction, number, sound.as_chunks_mut().0, true);
    }

    pub(super) fn decrypt(&self, direction: Direction, number: u32, sound: &mut [u8; CODEC_BYTES]) {
        self.cipher.apply(VOICE, direction, number, sound.as_chunks_mut().0, false);
    }

    pub(super) fn farewell(&self, direction: Direction) -> [u8; CHECK_LEN] {
        let mut sealed = FAREWELL;
        self.cipher.apply(HANG_UP, direction, 0, sealed.as_chunks_mut().0, true);
        sealed
    }

    pub(super) fn is_farewell(&self, direction: Direction, sealed: [u8; CHECK_LEN]) -> bool {
        self.farewell(direction).ct_eq(&sealed).into()
    }
}

impl fmt::Debug for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallKey(..)")
    }
}

impl Keyed {
    fn new(cipher: Cipher, key: &[u8]) -> Self {
        let fits = "each cipher gets a key of its own length";
        match cipher {
            Cipher::Blowfish => Self::Blowfish(Box::new(Blowfish::new_from_slice(key).expect(fits))),
            Cipher::Idea => Self::Idea(Box::new(Idea::new_from_slice(key).expect(fits))),
            Cipher::TripleDes => Self::TripleDes(Box::new(TdesEde3::new_from_slice(key).expect(fits))),
        }
    }

    fn apply(&self, kind: u8, direction: Direction, number: u32, blocks: &mut [[u8; BLOCK]], encrypts: bool) {
        match self {
            Self::Blowfish(cipher) => feedback::<Blowfish>(cipher, kind, direction, number, blocks, encrypts),
            Self::Idea(cipher) => feedback::<Idea>(cipher, kind, direction, number, blocks, encrypts),
            Self::TripleDes(cipher) => {
                feedback::<TdesEde3>(cipher, kind, direction, number, blocks, encrypts)
            }
        }
    }
}

/// Cipher feedback from the encrypted kind, direction and number, which is never the same twice in a call, and which
/// nobody can tell before (NIST SP 800-38A, appendix C).
fn feedback<C: BlockCipherEncrypt<BlockSize = U8>>(
    cipher: &C,
    kind: u8,
    direction: Direction,
    number: u32,
    blocks: &mut [[u8; BLOCK]],
    encrypts: bool,
) {
    let [n0, n1, n2, n3] = number.to_be_bytes();
    let way = match direction {
        Direction::FromCaller => 0,
        Direction::FromCallee => 1,
    };
    let mut iv = Array([kind, way, 0, 0, n0, n1, n2, n3]);
    cipher.encrypt_block(&mut iv);
    if encrypts {
        cfb_encrypt(cipher, iv.0, blocks);
    } else {
        cfb_decrypt(cipher, iv.0, blocks);
    }
}

fn first<const N: usize>(bytes: &[u8; 20]) -> [u8; N] {
    *bytes.first_chunk().expect("a hash has 20 bytes")
}
