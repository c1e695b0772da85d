//! What our channels compute with, and nothing else that Noise knows.
//!
//! The hash is the one that receipts are signed with: snow's own resolver brings another version of it, and SHA-512 and
//! BLAKE2 too, which would be a hundred kilobytes of a router's program.

use sha2::{Digest as _, Sha256};
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};

/// noiseprotocol.org, revision 34, section 12.5: HASHLEN and BLOCKLEN.
const HASH_LENGTH: usize = 32;
const BLOCK_LENGTH: usize = 64;

pub(crate) struct Primitives;

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        DefaultResolver.resolve_rng()
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        match choice {
            HashChoice::SHA256 => Some(Box::new(NoiseHash::default())),
            HashChoice::SHA512 | HashChoice::Blake2s | HashChoice::Blake2b => None,
        }
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

#[derive(Default)]
struct NoiseHash(Sha256);

impl Hash for NoiseHash {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        BLOCK_LENGTH
    }

    fn hash_len(&self) -> usize {
        HASH_LENGTH
    }

    fn reset(&mut self) {
        self.0 = Sha256::new();
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        out[..HASH_LENGTH].copy_from_slice(&self.0.finalize_reset());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, sections 4.2 and 4.3.
    #[test]
    fn its_hmac_is_that_of_the_standard() {
        for (key, text, want) in [
            (
                &[0x0b; 20][..],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
        ] {
            let mut hash = NoiseHash::default();
            // What somebody left in it does not count.
            hash.input(b"rest");
            let mut got = [0; HASH_LENGTH];
            hash.hmac(key, text, &mut got);
            let got: String = got.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(got, want);
        }
    }
}
