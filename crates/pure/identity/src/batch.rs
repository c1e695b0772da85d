//! Many signatures at once, with the verdicts that single verification would give.

use crate::{IdentityError, PublicKey, Signature};
use rand::CryptoRng;

/// One signature to be checked.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Whose signature it is said to be.
    pub key: PublicKey,
    /// The bytes that are said to be signed.
    pub message: Vec<u8>,
    /// In the encoding of the key's suite.
    pub signature: Signature,
}

impl Claim {
    /// The verdict on this signature alone.
    ///
    /// # Errors
    /// [`IdentityError::BadSignature`].
    pub fn verify(&self) -> Result<(), IdentityError> {
        self.key.verify(&self.message, &self.signature)
    }
}

/// Claims that are checked together.
///
/// Ed25519 signatures share one multiscalar multiplication; if it fails the batch is halved until the bad ones are
/// alone. ZIP 215 makes both ways agree (zip-0215, "Rationale"). Other suites are checked one by one.
#[derive(Debug, Default)]
pub struct Batch {
    claims: Vec<Claim>,
}

impl Batch {
    /// Adds a claim; its verdict has the same place in the answer.
    pub fn push(&mut self, claim: Claim) {
        self.claims.push(claim);
    }

    /// Whether each claim holds, in the order in which they were added.
    ///
    /// `rng` blinds the sum: with numbers that an attacker can foresee, bad signatures could cancel out.
    pub fn verify(self, rng: &mut impl CryptoRng) -> Vec<bool> {
        let mut verdicts = vec![false; self.claims.len()];
        let mut together = Vec::new();
        for (index, claim) in self.claims.iter().enumerate() {
            match (claim.key.as_ed25519(), <[u8; 64]>::try_from(claim.signature.0.as_slice())) {
                (Some(key), Ok(signature)) => {
                    let item = ed25519_zebra::batch::Item::from((key, signature.into(), &claim.message));
                    together.push((index, item));
                }
                _ => verdicts[index] = claim.verify().is_ok(),
            }
        }
        halve(&together, &mut verdicts, rng);
        verdicts
    }
}

fn halve(items: &[(usize, ed25519_zebra::batch::Item)], verdicts: &mut [bool], rng: &mut impl CryptoRng) {
    match items {
        [] => {}
        [(index, item)] => verdicts[*index] = item.clone().verify_single().is_ok(),
        many => {
            let mut verifier = ed25519_zebra::batch::Verifier::new();
            for (_, item) in many {
                verifier.queue(item.clone());
            }
            if verifier.verify(&mut *rng).is_ok() {
                many.iter().for_each(|(index, _)| verdicts[*index] = true);
            } else {
                let (left, right) = many.split_at(many.len() / 2);
                halve(left, verdicts, rng);
                halve(right, verdicts, rng);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SecretKey, Suite};
    use proptest::prelude::*;
    use rand::SeedableRng;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn batch_and_single_agree(spoilt in proptest::collection::vec(0_u8..6, 0..40)) {
            let mut rng = rand::rngs::StdRng::seed_from_u64(7);
            let keys = [Suite::Ed25519, Suite::EcdsaP256, Suite::Ed25519]
                .map(|suite| SecretKey::generate(suite, &mut rng));
            let mut batch = Batch::default();
            for (number, how) in spoilt.into_iter().enumerate() {
                let message = number.to_be_bytes().to_vec();
                let mut signature = keys[number % 3].sign(&message);
                match how {
                    0 => signature.0[3] ^= 1,
                    1 => signature.0[63] ^= 0x80,
                    2 => signature.0.truncate(10),
                    _ => {}
                }
                batch.push(Claim { key: keys[number % 3].public().clone(), message, signature });
            }
            let single: Vec<_> = batch.claims.iter().map(|claim| claim.verify().is_ok()).collect();
            prop_assert_eq!(batch.verify(&mut rng), single);
        }
    }

    /// Small-order keys and points that are written non-canonically divide Ed25519 libraries; ZIP 215 accepts them,
    /// alone and in a batch (the 196 combinations of the specification's own test).
    #[test]
    fn small_order_points_get_one_verdict() {
        let encodings: Vec<[u8; 32]> = small_order_encodings();
        assert_eq!(encodings.len(), 14);
        let mut rng = rand::rngs::StdRng::seed_from_u64(8);
        let mut batch = Batch::default();
        let good = SecretKey::generate(Suite::Ed25519, &mut rng);
        for key in &encodings {
            for point in &encodings {
                let mut signature = [0; 64];
                signature[..32].copy_from_slice(point); // R is this point, s is zero.
                let claim = Claim {
                    key: PublicKey::parse(Suite::Ed25519, key).unwrap(),
                    message: b"Zcash".to_vec(),
                    signature: Signature(signature.to_vec()),
                };
                assert_eq!(claim.verify(), Ok(()));
                batch.push(claim);
            }
            let message = key.to_vec();
            let signature = good.sign(&message);
            batch.push(Claim { key: good.public().clone(), message, signature });
        }
        assert!(batch.verify(&mut rng).into_iter().all(|valid| valid));
    }

    /// The eight points of small order in every encoding that RFC 8032 decoding without canonicity checks admits.
    fn small_order_encodings() -> Vec<[u8; 32]> {
        let p = |last: u8, first: u8| {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = (first, last);
            bytes
        };
        let low = |first: u8, last: u8| {
            let mut bytes = [0; 32];
            (bytes[0], bytes[31]) = (first, last);
            bytes
        };
        let order_8 = |hex: &str| -> [u8; 32] {
            std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
        };
        vec![
            low(0, 0),
            low(0, 0x80),
            low(1, 0),
            low(1, 0x80),
            p(0x7f, 0xec),
            p(0xff, 0xec),
            p(0x7f, 0xed),
            p(0xff, 0xed),
            p(0x7f, 0xee),
            p(0xff, 0xee),
            order_8("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
            order_8("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"),
            order_8("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
            order_8("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"),
        ]
    }
}
