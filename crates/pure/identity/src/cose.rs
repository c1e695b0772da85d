//! COSE_Sign1 (RFC 9052 §4.2) over deterministic CBOR, and nothing else.
//!
//! An object is the untagged array `[protected, {}, payload, signature]`; the protected header holds the algorithm
//! alone. What is signed is the `Sig_structure` of RFC 9052 §4.4 with the object's domain (and, for a receipt, the
//! digest of the certificate) as external data. An object that would be other bytes if written again is refused: coset
//! writes, and what is read is read by `deterministic.rs`.

use crate::deterministic::Reader;
use crate::{Claim, IdentityError, PublicKey, SecretKey, Signature, Suite};
use ciborium::Value;
use coset::{
    CborSerializable, CoseSign1, CoseSign1Builder, HeaderBuilder, RegisteredLabelWithPrivate, iana,
    iana::EnumI64,
};

/// A signed object whose form is right; its signature was not checked yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Sealed {
    /// The suite that the object names.
    pub suite: Suite,
    /// The items of the payload, which is a CBOR array.
    pub items: Vec<Value>,
    sign1: CoseSign1,
}

/// Signs `items` for `domain` (and `context`, which is signed too but not sent) and returns the whole object.
pub fn seal(key: &SecretKey, domain: &str, context: &[u8], items: Vec<Value>) -> Vec<u8> {
    let mut sign1 = build(key.public().suite(), encode(items), Vec::new());
    sign1.signature = key.sign(&sign1.tbs_data(&external(domain, context))).0;
    sign1.to_vec().expect("an object of ours can be written")
}

/// Reads an object of at most `max` bytes. What is wrong is looked for in the order of design note 0001, section 5.
///
/// # Errors
/// [`IdentityError::TooLong`], `Truncated`, `NotCanonical`, `Malformed` or `UnknownSuite`.
pub fn open(bytes: &[u8], max: usize) -> Result<Sealed, IdentityError> {
    if bytes.len() > max {
        return Err(IdentityError::TooLong { got: bytes.len(), max });
    }
    let mut reader = Reader::new(bytes);
    reader.array_of(4)?;
    let protected = reader.bytes()?;
    reader.empty_map()?;
    let (payload, signature) = (reader.bytes()?, reader.bytes()?);
    reader.end()?;
    let suite = Suite::from_algorithm(algorithm(protected)?)?;
    Ok(Sealed { suite, items: decode(payload)?, sign1: build(suite, payload.to_vec(), signature.to_vec()) })
}

/// The algorithm of a protected header that has nothing else.
fn algorithm(protected: &[u8]) -> Result<i64, IdentityError> {
    let alone = |number: &[u8]| {
        let mut reader = Reader::new(number);
        let algorithm = reader.integer().ok().filter(|_| reader.end().is_ok())?;
        i64::try_from(algorithm).ok()
    };
    if let Some(algorithm) = protected.strip_prefix(&[0xa1, 0x01]).and_then(alone) {
        return Ok(algorithm);
    }
    let is_map = protected.first().is_some_and(|first| first >> 5 == 5);
    Err(if is_map { IdentityError::NotCanonical } else { IdentityError::Malformed("it names no algorithm") })
}

impl Sealed {
    /// The signature as it was sent; nobody has checked it.
    pub fn signature(&self) -> Signature {
        Signature(self.sign1.signature.clone())
    }

    /// What has to be checked for this object to be `key`'s, for `domain` and `context`.
    ///
    /// # Errors
    /// [`IdentityError::WrongSuite`] if the object names another suite than the key's.
    pub fn claim(&self, key: &PublicKey, domain: &str, context: &[u8]) -> Result<Claim, IdentityError> {
        if self.suite != key.suite() {
            return Err(IdentityError::WrongSuite { got: self.suite, want: key.suite() });
        }
        let message = self.sign1.tbs_data(&external(domain, context));
        Ok(Claim { key: key.clone(), message, signature: self.signature() })
    }
}

/// The deterministic encoding of an array of `items`.
pub fn encode(items: Vec<Value>) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(&Value::Array(items), &mut bytes).expect("a vector takes every byte");
    bytes
}

/// The items of an array in deterministic encoding.
///
/// # Errors
/// [`IdentityError::Truncated`], `NotCanonical` or `Malformed`.
pub fn decode(bytes: &[u8]) -> Result<Vec<Value>, IdentityError> {
    Reader::whole_array(bytes)
}

/// An unsigned number.
///
/// # Errors
/// [`IdentityError::Malformed`] with `field`.
pub fn number(value: &Value, field: &'static str) -> Result<u64, IdentityError> {
    let number = value.as_integer().and_then(|integer| u64::try_from(integer).ok());
    number.ok_or(IdentityError::Malformed(field))
}

/// A signed number, such as an algorithm.
///
/// # Errors
/// [`IdentityError::Malformed`] with `field`.
pub fn integer(value: &Value, field: &'static str) -> Result<i64, IdentityError> {
    let number = value.as_integer().and_then(|integer| i64::try_from(integer).ok());
    number.ok_or(IdentityError::Malformed(field))
}

/// A byte string.
///
/// # Errors
/// [`IdentityError::Malformed`] with `field`.
pub fn bytes<'a>(value: &'a Value, field: &'static str) -> Result<&'a [u8], IdentityError> {
    value.as_bytes().map(Vec::as_slice).ok_or(IdentityError::Malformed(field))
}

/// A byte string of `N` bytes.
///
/// # Errors
/// [`IdentityError::Malformed`] with `field`.
pub fn array<const N: usize>(value: &Value, field: &'static str) -> Result<[u8; N], IdentityError> {
    bytes(value, field)?.try_into().map_err(|_| IdentityError::Malformed(field))
}

fn build(suite: Suite, payload: Vec<u8>, signature: Vec<u8>) -> CoseSign1 {
    let header = match iana::Algorithm::from_i64(suite.algorithm()) {
        Some(algorithm) => HeaderBuilder::new().algorithm(algorithm).build(),
        None => coset::Header {
            alg: Some(RegisteredLabelWithPrivate::PrivateUse(suite.algorithm())),
            ..Default::default()
        },
    };
    CoseSign1Builder::new().protected(header).payload(payload).signature(signature).build()
}

fn external(domain: &str, context: &[u8]) -> Vec<u8> {
    [b"guestright/", domain.as_bytes(), b"/1", context].concat()
}
