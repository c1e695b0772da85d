//! Ciphers over one long text: the megabytes per second that papers print.

use super::{End, Work, digest};
use blowfish::Blowfish;
use cast5::Cast5;
use cbc::Encryptor;
use cbc::cipher::array::Array;
use cbc::cipher::typenum::U8;
use cbc::cipher::{BlockCipherEncrypt, BlockModeEncrypt, InnerIvInit, KeyInit, StreamCipher};
use des::{Des, TdesEde3};
use idea::Idea;
use md5::{Digest, Md5};
use rc4::Rc4;

/// How long the text is, in bytes: long enough that setting up a key costs nothing beside it.
const TEXT_LEN: usize = 256 * 1024;
const KEY: [u8; 24] = *b"a key for measuring only";

/// Each cipher over one long text with one key. Block ciphers chain as CBC does. What short packets cost is another
/// number: there the set-up of keys, chains and hashes counts.
#[must_use]
pub fn long_texts() -> Vec<Work> {
    let mut stream = Rc4::new_from_slice(&KEY[..16]).expect("RC4 takes 16 bytes");
    vec![
        over("rc4", move |text| stream.apply_keystream(text)),
        over("md5", |text| {
            let hash = Md5::digest(&*text);
            text[TEXT_LEN - hash.len()..].copy_from_slice(&hash);
        }),
        block::<Blowfish>("blowfish", 16),
        block::<Idea>("idea", 16),
        block::<Des>("des", 8),
        block::<TdesEde3>("3des", 24),
        block::<Cast5>("cast5", 16),
    ]
}

fn block<C>(name: &'static str, key_len: usize) -> Work
where
    C: BlockCipherEncrypt<BlockSize = U8> + KeyInit + Clone + Send + 'static,
{
    let cipher = C::new_from_slice(&KEY[..key_len]).expect("the length that this cipher takes");
    over(name, move |text| {
        let mut chain = Encryptor::inner_iv_init(cipher.clone(), &Array([0; 8]));
        let (blocks, _) = Array::slice_as_chunks_mut(text);
        chain.encrypt_blocks(blocks);
    })
}

fn over(name: &'static str, mut what: impl FnMut(&mut [u8]) + Send + 'static) -> Work {
    let mut text = vec![0x55; TEXT_LEN];
    let run = move || {
        what(&mut text);
        digest(&text)
    };
    Work { name, end: End::Sender, codec_bytes: TEXT_LEN, wire_bytes: 0, run: Box::new(run) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cipher_changes_the_text_again_and_again() {
        for mut work in long_texts() {
            let (first, second) = ((work.run)(), (work.run)());
            assert_ne!(first, second, "{}", work.name);
        }
    }
}
