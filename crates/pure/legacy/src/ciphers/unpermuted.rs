use super::{BLOCK, ZERO_IV, cbc_decrypt, cbc_encrypt};
use cbc::cipher::KeyInit as _;
use des::Des;
use std::fmt;

/// DES without its initial and final permutation, chained from zero, as in Speak Freely's own protocol.
///
/// The permutations make DES no stronger, only slower in software, so some programs left them out. Both are linear, so
/// the sixteen rounds alone, chained, are DES in CBC between two permutations of each block: what is counted for it in a
/// measurement holds four permutations more than the tool needed.
pub struct UnpermutedDes(Des);

impl UnpermutedDes {
    /// With a key of eight bytes; the lowest bit of each says nothing.
    #[must_use]
    pub fn new(key: &[u8; BLOCK]) -> Self {
        Self(Des::new(&(*key).into()))
    }

    /// Encrypts in place, each block XORed with the one encrypted before it; the first with nothing.
    pub fn encrypt(&self, blocks: &mut [[u8; BLOCK]]) {
        blocks.iter_mut().for_each(|block| *block = final_permutation(*block));
        cbc_encrypt(&self.0, ZERO_IV, blocks);
        blocks.iter_mut().for_each(|block| *block = initial_permutation(*block));
    }

    /// The reverse of [`UnpermutedDes::encrypt`].
    pub fn decrypt(&self, blocks: &mut [[u8; BLOCK]]) {
        blocks.iter_mut().for_each(|block| *block = final_permutation(*block));
        cbc_decrypt(&self.0, ZERO_IV, blocks);
        blocks.iter_mut().for_each(|block| *block = initial_permutation(*block));
    }
}

impl fmt::Debug for UnpermutedDes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnpermutedDes(..)")
    }
}

/// Exchanges bits of one half with those of the other, `shift` places higher: FIPS 46's permutations are five of these.
const fn exchange(high: u32, low: u32, shift: u32, mask: u32) -> (u32, u32) {
    let differ = ((high >> shift) ^ low) & mask;
    (high ^ differ << shift, low ^ differ)
}

/// IP of FIPS 46-3.
pub(super) fn initial_permutation(block: [u8; BLOCK]) -> [u8; BLOCK] {
    let whole = u64::from_be_bytes(block);
    let (left, right) = halves(whole);
    let (left, right) = exchange(left, right, 4, 0x0f0f_0f0f);
    let (left, right) = exchange(left, right, 16, 0x0000_ffff);
    let (right, left) = exchange(right, left, 2, 0x3333_3333);
    let (right, left) = exchange(right, left, 8, 0x00ff_00ff);
    let (left, right) = exchange(left, right, 1, 0x5555_5555);
    (u64::from(left) << 32 | u64::from(right)).to_be_bytes()
}

/// Its inverse, also of FIPS 46-3.
pub(super) fn final_permutation(block: [u8; BLOCK]) -> [u8; BLOCK] {
    let (left, right) = halves(u64::from_be_bytes(block));
    let (left, right) = exchange(left, right, 1, 0x5555_5555);
    let (right, left) = exchange(right, left, 8, 0x00ff_00ff);
    let (right, left) = exchange(right, left, 2, 0x3333_3333);
    let (left, right) = exchange(left, right, 16, 0x0000_ffff);
    let (left, right) = exchange(left, right, 4, 0x0f0f_0f0f);
    (u64::from(left) << 32 | u64::from(right)).to_be_bytes()
}

#[expect(clippy::cast_possible_truncation, reason = "each half is what is wanted")]
const fn halves(whole: u64) -> (u32, u32) {
    ((whole >> 32) as u32, whole as u32)
}
