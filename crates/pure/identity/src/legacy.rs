//! The suites of paper A's Table 1, on the system's OpenSSL. For measurements only.

use crate::{IdentityError, Suite};
use openssl::bn::{BigNum, BigNumContext, BigNumRef};
use openssl::ec::{EcGroup, EcKey, EcPoint, PointConversionForm};
use openssl::ecdsa::EcdsaSig;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private, Public};
use openssl::rsa::Rsa;
use openssl::sha::sha256;
use openssl::sign::{Signer, Verifier};

const WORKS: &str = "the system's OpenSSL has this suite";

/// A public key of a legacy suite.
#[derive(Clone)]
pub(crate) struct LegacyPublic {
    suite: Suite,
    key: PKey<Public>,
}

/// A secret key of a legacy suite.
#[derive(Clone)]
pub(crate) struct LegacySecret {
    suite: Suite,
    key: PKey<Private>,
}

/// The curve and the number of bytes of its order, or nothing for RSA.
fn curve(suite: Suite) -> Option<(EcGroup, i32)> {
    let (nid, scalar_bytes) = match suite {
        Suite::EcdsaSecp160r1 => (Nid::SECP160R1, 21), // n has 161 bits.
        Suite::EcdsaSecp224r1 => (Nid::SECP224R1, 28),
        Suite::Ed25519 | Suite::EcdsaP256 | Suite::Rsa1024 | Suite::Rsa2048 => return None,
    };
    Some((EcGroup::from_curve_name(nid).expect(WORKS), scalar_bytes))
}

/// Whether these can be RSA's (RFC 8017, section 3.1): both odd, and the exponent from 3 up to the modulus. OpenSSL takes
/// any, and with an exponent of 1 everybody can sign.
fn is_rsa(modulus: &BigNumRef, exponent: &BigNumRef) -> bool {
    modulus.is_bit_set(0)
        && exponent.is_bit_set(0)
        && exponent.num_bits() > 1
        && exponent.ucmp(modulus).is_lt()
}

fn rsa_bits(suite: Suite) -> u32 {
    if suite == Suite::Rsa1024 { 1024 } else { 2048 }
}

impl LegacySecret {
    pub(crate) fn generate(suite: Suite) -> (Self, LegacyPublic) {
        let key = match curve(suite) {
            Some((group, _)) => PKey::from_ec_key(EcKey::generate(&group).expect(WORKS)),
            None => PKey::from_rsa(Rsa::generate(rsa_bits(suite)).expect(WORKS)),
        };
        Self::with_public(suite, key.expect(WORKS))
    }

    pub(crate) fn from_der(suite: Suite, der: &[u8]) -> Result<(Self, LegacyPublic), IdentityError> {
        let refused = IdentityError::BadKey(suite);
        let key = PKey::private_key_from_pkcs8(der).map_err(|_| refused.clone())?;
        // OpenSSL reads a damaged key without a word, and signs wrongly with it.
        let fits = match curve(suite) {
            Some((group, _)) => key
                .ec_key()
                .is_ok_and(|ec| ec.group().curve_name() == group.curve_name() && ec.check_key().is_ok()),
            None => key
                .rsa()
                .is_ok_and(|rsa| rsa.size() * 8 == rsa_bits(suite) && rsa.check_key().unwrap_or(false)),
        };
        if fits { Ok(Self::with_public(suite, key)) } else { Err(refused) }
    }

    fn with_public(suite: Suite, key: PKey<Private>) -> (Self, LegacyPublic) {
        let der = key.public_key_to_der().expect(WORKS);
        let public = LegacyPublic { suite, key: PKey::public_key_from_der(&der).expect(WORKS) };
        (Self { suite, key }, public)
    }

    pub(crate) fn to_der(&self) -> Vec<u8> {
        self.key.private_key_to_pkcs8().expect(WORKS)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let Some((_, size)) = curve(self.suite) else {
            let mut signer = Signer::new(MessageDigest::sha256(), &self.key).expect(WORKS);
            return signer.sign_oneshot_to_vec(message).expect(WORKS);
        };
        let key = self.key.ec_key().expect("checked when the key was made");
        let signature = EcdsaSig::sign(&sha256(message), &key).expect(WORKS);
        let mut bytes = signature.r().to_vec_padded(size).expect(WORKS);
        bytes.extend(signature.s().to_vec_padded(size).expect(WORKS));
        bytes
    }
}

impl LegacyPublic {
    pub(crate) fn parse(suite: Suite, bytes: &[u8]) -> Result<Self, IdentityError> {
        let refused = IdentityError::BadKey(suite);
        let key = match curve(suite) {
            Some((group, _)) => {
                let mut context = BigNumContext::new().expect(WORKS);
                let point = EcPoint::from_bytes(&group, bytes, &mut context).map_err(|_| refused.clone())?;
                let key = EcKey::from_public_key(&group, &point).map_err(|_| refused.clone())?;
                key.check_key().map_err(|_| refused.clone())?;
                PKey::from_ec_key(key)
            }
            None => {
                let key = Rsa::public_key_from_der_pkcs1(bytes).map_err(|_| refused.clone())?;
                if key.size() * 8 != rsa_bits(suite) || !is_rsa(key.n(), key.e()) {
                    return Err(refused);
                }
                PKey::from_rsa(key)
            }
        };
        let parsed = Self { suite, key: key.map_err(|_| refused.clone())? };
        if parsed.to_bytes() == bytes { Ok(parsed) } else { Err(refused) }
    }

    pub(crate) fn suite(&self) -> Suite {
        self.suite
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match curve(self.suite) {
            Some((group, _)) => {
                let mut context = BigNumContext::new().expect(WORKS);
                let key = self.key.ec_key().expect("checked when the key was made");
                let form = PointConversionForm::COMPRESSED;
                key.public_key().to_bytes(&group, form, &mut context).expect(WORKS)
            }
            None => {
                let key = self.key.rsa().expect("checked when the key was made");
                key.public_key_to_der_pkcs1().expect(WORKS)
            }
        }
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), IdentityError> {
        let refused = || IdentityError::BadSignature;
        let valid = match curve(self.suite) {
            Some((_, size)) => {
                let size = usize::try_from(size).expect("a small number");
                if signature.len() != 2 * size {
                    return Err(refused());
                }
                let number = |bytes| BigNum::from_slice(bytes).map_err(|_| refused());
                let parts = (number(&signature[..size])?, number(&signature[size..])?);
                let parsed = EcdsaSig::from_private_components(parts.0, parts.1).map_err(|_| refused())?;
                let key = self.key.ec_key().expect("checked when the key was made");
                parsed.verify(&sha256(message), &key)
            }
            None => {
                let mut verifier = Verifier::new(MessageDigest::sha256(), &self.key).expect(WORKS);
                verifier.verify_oneshot(signature, message)
            }
        };
        if valid.unwrap_or(false) { Ok(()) } else { Err(refused()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PublicKey;

    #[test]
    fn an_exponent_or_a_modulus_that_is_none_is_refused() {
        let (_, good) = LegacySecret::generate(Suite::Rsa1024);
        let rsa = good.key.rsa().unwrap();
        let key = |modulus: &BigNumRef, exponent: u32| {
            let exponent = BigNum::from_u32(exponent).unwrap();
            let key = Rsa::from_public_components(modulus.to_owned().unwrap(), exponent).unwrap();
            PublicKey::parse(Suite::Rsa1024, &key.public_key_to_der_pkcs1().unwrap())
        };
        let refused = IdentityError::BadKey(Suite::Rsa1024);
        assert!(key(rsa.n(), 65_537).is_ok() && key(rsa.n(), 3).is_ok());
        for exponent in [0, 1, 2, 65_536] {
            assert_eq!(key(rsa.n(), exponent), Err(refused.clone()), "{exponent}");
        }
        let mut even = rsa.n().to_owned().unwrap();
        even.clear_bit(0).unwrap();
        assert_eq!(key(&even, 65_537), Err(refused.clone()));
        // As many bytes, with eight bits fewer or none.
        let mut short = rsa.n().to_owned().unwrap();
        (1_017..1_024).for_each(|bit| short.clear_bit(bit).unwrap());
        short.set_bit(1_016).unwrap();
        assert!(key(&short, 65_537).is_ok(), "a modulus of 128 bytes whose first is 1");
        short.clear_bit(1_016).unwrap();
        assert_eq!(key(&short, 65_537), Err(refused.clone()));
        // A sign bit that DER would write out, and an exponent as large as the modulus.
        let der = good.to_bytes();
        assert_eq!(PublicKey::parse(Suite::Rsa1024, &[&der[..], &[0]].concat()), Err(refused.clone()));
        let same =
            Rsa::from_public_components(rsa.n().to_owned().unwrap(), rsa.n().to_owned().unwrap()).unwrap();
        let same = PublicKey::parse(Suite::Rsa1024, &same.public_key_to_der_pkcs1().unwrap());
        assert_eq!(same, Err(refused));
    }
}
