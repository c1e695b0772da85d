//! How Speak Freely makes keys of a pass phrase: by one MD5, without salt, so equal phrases are equal keys for ever.
//!
//! From the source of Speak Freely 7.6 for Unix (`sfmike.c`, `deskey.c`; public domain): what it does, not its code.

use super::BLOCK;
use md5::{Digest as _, Md5};
use zeroize::Zeroizing;

/// The key of IDEA and Blowfish: MD5 of the phrase.
#[must_use]
pub fn digest(phrase: &str) -> Zeroizing<[u8; 16]> {
    Zeroizing::new(Md5::digest(phrase.as_bytes()).into())
}

/// The key of DES in Speak Freely's own protocol: the halves of the digest are XORed, and the highest bit of each byte
/// is cleared.
///
/// DES ignores the lowest bit of each byte, not the highest: of the 56 bits that a key has, eight are always zero here.
/// So 2^48 keys are all there are.
#[must_use]
pub fn folded(phrase: &str) -> Zeroizing<[u8; BLOCK]> {
    let digest = digest(phrase);
    let mut key = Zeroizing::new([0; BLOCK]);
    for (index, byte) in key.iter_mut().enumerate() {
        *byte = (digest[index] ^ digest[index + BLOCK]) & 0x7f;
    }
    key
}

/// The longest phrase that [`rtp`] reads, in bytes; what follows is ignored.
const RTP_PHRASE_MAX: usize = 256;

/// The key of DES in RTP mode: spaces at both ends are dropped, those within made one each, letters made small; of the
/// digest the first 56 bits are taken, seven to a byte, and the lowest bit is made one of odd parity.
///
/// The tool puts the seven bits in the lower end of the byte, where the parity then overwrites one of them, and takes
/// only four for the last byte: 45 bits are left.
///
/// A phrase `ALGORITHM/phrase` names another cipher, which the tool then refuses; here the slash is nothing special.
#[must_use]
pub fn rtp(phrase: &str) -> Zeroizing<[u8; BLOCK]> {
    let words: Vec<&str> = phrase.split_ascii_whitespace().collect();
    let mut text = Zeroizing::new(words.join(" ").to_ascii_lowercase().into_bytes());
    text.truncate(RTP_PHRASE_MAX);
    let digest: Zeroizing<[u8; 16]> = Zeroizing::new(Md5::digest(&*text).into());
    let mut key = Zeroizing::new([0; BLOCK]);
    for (index, byte) in key.iter_mut().enumerate() {
        // Seven bits from bit 7 * place on, counted from the highest of the first byte.
        let first = 7 * index;
        let pair = u16::from_be_bytes([digest[first / 8], digest[first / 8 + 1]]);
        let [_, seven] = (pair >> (9 - first % 8)).to_be_bytes();
        *byte = with_odd_parity(if index == BLOCK - 1 { seven & 0x0f } else { seven & 0x7f });
    }
    key
}

fn with_odd_parity(byte: u8) -> u8 {
    let upper = byte & 0xfe;
    upper | u8::from(upper.count_ones().is_multiple_of(2))
}
