//! The suites of paper A's Table 1, on the system's OpenSSL. For measurements only.

use crate::{IdentityError, Suite};
use openssl::bn::{BigNum, BigNumContext};
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
                if key.size() * 8 != rsa_bits(suite) {
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
