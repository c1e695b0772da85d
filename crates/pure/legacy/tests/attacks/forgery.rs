//! a. A MAC that is an encrypted hash: who knows what was said can say something else.

use crate::pair::{self, Pair, sound};
use guestright_boat::modern::Cipher;
use guestright_boat::{Content, Seal, SealError};
use guestright_legacy::boat::{Config, Keystream, Mac};
use md5::{Digest as _, Md5};

const SILENCE: [u8; 34] = [0xd5; 34];
const LIE: [u8; 34] = *b"no, I never said that to anybody!!";
/// The talker's clock. The paper's shows the time, and can be known; ours starts anywhere, so it must be found out first
/// (see `bias` for its first byte).
const CLOCK: u32 = 123_456;

/// `P` as the paper has it, with what precedes the codec's bytes in our layout.
fn plain(payload: &[u8]) -> Vec<u8> {
    [&[0][..], &CLOCK.to_be_bytes(), &[0, 0], payload].concat()
}

/// Takes a datagram of which it knows the content, and puts another content of the same length into it.
fn forge(datagram: &[u8], known: &[u8], wanted: &[u8]) -> Vec<u8> {
    let with_digest = |plain: &[u8]| [plain, &Md5::digest(plain)].concat();
    let change = with_digest(known).into_iter().zip(with_digest(wanted)).map(|(old, new)| old ^ new);
    let (header, sealed) = datagram.split_at(3);
    header.iter().copied().chain(sealed.iter().zip(change).map(|(byte, change)| byte ^ change)).collect()
}

fn attack<S: Seal>(pair: &mut Pair<S>) -> Result<Content, SealError> {
    let datagram = pair.seal(&sound(CLOCK, &SILENCE));
    let forged = forge(&datagram, &plain(&SILENCE), &plain(&LIE));
    assert_eq!(forged.len(), datagram.len());
    pair.open(&forged).map(|opened| opened.content)
}

#[test]
fn an_encrypted_digest_accepts_what_an_attacker_puts_into_known_silence() {
    for keystream in Keystream::ALL {
        let mut pair = pair::legacy(Config::new(keystream, Mac::EncryptedDigest), 1);
        assert_eq!(attack(&mut pair), Ok(sound(CLOCK, &LIE)), "{keystream:?}");
    }
}

#[test]
fn an_hmac_does_not() {
    for keystream in Keystream::ALL {
        let mut pair = pair::legacy(Config::new(keystream, Mac::Hmac), 1);
        assert_eq!(attack(&mut pair), Err(SealError::Forged), "{keystream:?}");
    }
}

#[test]
fn nor_does_boat_today() {
    for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
        let mut pair = pair::modern(cipher, 1);
        assert_eq!(attack(&mut pair), Err(SealError::Forged), "{cipher}");
    }
}

#[test]
fn without_knowing_the_timestamp_the_forgery_fails() {
    let mut pair = pair::legacy(Config::new(Keystream::Seekable, Mac::EncryptedDigest), 1);
    let datagram = pair.seal(&sound(CLOCK + 1, &SILENCE));
    let forged = forge(&datagram, &plain(&SILENCE), &plain(&LIE));
    assert_eq!(pair.open(&forged), Err(SealError::Forged));
}
