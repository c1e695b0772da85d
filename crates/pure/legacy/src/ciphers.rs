//! Block ciphers of the nineties and how the tools chained them: 64-bit blocks, and within one packet alone.
//!
//! The ciphers themselves are RustCrypto's. Here are the modes, each over whole blocks in place, the DES of Speak Freely
//! ([`UnpermutedDes`]), and how a pass phrase becomes a key ([`phrase`]).
//!
//! None of it is safe: 64-bit blocks, no check of what was changed, and, in Speak Freely, one initialisation vector for
//! all packets.

pub mod phrase;
mod unpermuted;

pub use unpermuted::UnpermutedDes;

use cbc::cipher::consts::U8;
use cbc::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt as _, BlockModeEncrypt as _,
    InnerIvInit as _,
};

/// Bytes of a block of each of these ciphers.
pub const BLOCK: usize = 8;

/// The initialisation vector of every packet of Speak Freely.
pub const ZERO_IV: [u8; BLOCK] = [0; BLOCK];

/// The length brought up to whole blocks.
#[must_use]
pub const fn padded_len(len: usize) -> usize {
    len.div_ceil(BLOCK) * BLOCK
}

/// Brings data up to whole blocks, with zeros.
pub fn pad(data: &mut Vec<u8>) {
    data.resize(padded_len(data.len()), 0);
}

/// Cipher block chaining (FIPS 81): each block is XORed with the one encrypted before, then encrypted.
pub fn cbc_encrypt<C>(cipher: &C, iv: [u8; BLOCK], blocks: &mut [[u8; BLOCK]])
where
    C: BlockCipherEncrypt<BlockSize = U8>,
{
    cbc::Encryptor::inner_iv_init(cipher, &Array(iv)).encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
}

/// The reverse of [`cbc_encrypt`].
pub fn cbc_decrypt<C>(cipher: &C, iv: [u8; BLOCK], blocks: &mut [[u8; BLOCK]])
where
    C: BlockCipherDecrypt<BlockSize = U8>,
{
    cbc::Decryptor::inner_iv_init(cipher, &Array(iv)).decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
}

/// Cipher feedback of whole blocks (FIPS 81, 64-bit CFB): the block encrypted before is encrypted once more, and XORed.
pub fn cfb_encrypt<C>(cipher: &C, iv: [u8; BLOCK], blocks: &mut [[u8; BLOCK]])
where
    C: BlockCipherEncrypt<BlockSize = U8>,
{
    cfb_mode::Encryptor::inner_iv_init(cipher, &Array(iv))
        .encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
}

/// The reverse of [`cfb_encrypt`].
pub fn cfb_decrypt<C>(cipher: &C, iv: [u8; BLOCK], blocks: &mut [[u8; BLOCK]])
where
    C: BlockCipherEncrypt<BlockSize = U8>,
{
    cfb_mode::Decryptor::inner_iv_init(cipher, &Array(iv))
        .decrypt_blocks(Array::cast_slice_from_core_mut(blocks));
}

#[cfg(test)]
mod tests;
