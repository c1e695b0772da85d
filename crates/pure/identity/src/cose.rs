//! COSE_Sign1 (RFC 9052 §4.2) over deterministic CBOR, and nothing else.
//!
//! An object is the untagged array `[protected, {}, payload, signature]`; the protected header holds the algorithm
//! alone. What is signed is the `Sig_structure` of RFC 9052 §4.4 with the object's domain (and, for a receipt, the
//! digest of the certificate) as external data. An object that would be other bytes if written again is refused.

use crate::{Claim, IdentityError, PublicKey, SecretKey, Signature, Suite};
use ciborium::Value;
use coset::{
    CborSerializable, CoseSign1, CoseSign1Builder, HeaderBuilder, RegisteredLabelWithPrivate, iana,
    iana::EnumI64,
};

/// How deep arrays may be nested in a payload.
const DEPTH_MAX: usize = 6;

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

/// Reads an object of at most `max` bytes.
///
/// # Errors
/// [`IdentityError::TooLong`], `Truncated`, `NotCanonical`, `Malformed` or `UnknownSuite`.
pub fn open(bytes: &[u8], max: usize) -> Result<Sealed, IdentityError> {
    if bytes.len() > max {
        return Err(IdentityError::TooLong { got: bytes.len(), max });
    }
    let sign1 = CoseSign1::from_slice(bytes).map_err(|error| refusal(&error, bytes))?;
    let algorithm = match &sign1.protected.header.alg {
        Some(RegisteredLabelWithPrivate::Assigned(algorithm)) => algorithm.to_i64(),
        Some(RegisteredLabelWithPrivate::PrivateUse(algorithm)) => *algorithm,
        _ => return Err(IdentityError::Malformed("it names no algorithm")),
    };
    let suite = Suite::from_algorithm(algorithm)?;
    let payload = sign1.payload.clone().ok_or(IdentityError::Malformed("it has no payload"))?;
    let rebuilt = build(suite, payload.clone(), sign1.signature.clone());
    if rebuilt.to_vec().ok().as_deref() != Some(bytes) {
        return Err(IdentityError::NotCanonical);
    }
    Ok(Sealed { suite, items: decode(&payload)?, sign1 })
}

impl Sealed {
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
    let value: Value = ciborium::de::from_reader_with_recursion_limit(bytes, DEPTH_MAX).map_err(|error| {
        let cut = matches!(error, ciborium::de::Error::Io(_));
        if cut { truncated(bytes) } else { IdentityError::Malformed("it is not CBOR") }
    })?;
    let Value::Array(items) = value else {
        return Err(IdentityError::Malformed("it is not an array"));
    };
    if !items.iter().all(is_plain) {
        return Err(IdentityError::Malformed("it has items other than numbers, bytes, text and arrays"));
    }
    if encode(items.clone()) != bytes {
        return Err(IdentityError::NotCanonical);
    }
    Ok(items)
}

/// Whether an item is of a kind that some format uses. Maps would need an order, floats a width; nobody has them.
fn is_plain(value: &Value) -> bool {
    let single = value.is_integer() || value.is_bytes() || value.is_text();
    single || value.as_array().is_some_and(|items| items.iter().all(is_plain))
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

fn refusal(error: &coset::CoseError, bytes: &[u8]) -> IdentityError {
    use coset::CoseError as Cose;
    if matches!(error, Cose::DecodeFailed(ciborium::de::Error::Io(_))) {
        return truncated(bytes);
    }
    if matches!(error, Cose::ExtraneousData) {
        return IdentityError::NotCanonical;
    }
    if matches!(error, Cose::UnregisteredIanaValue | Cose::UnregisteredIanaNonPrivateValue) {
        return IdentityError::Malformed("its algorithm is not a known one");
    }
    IdentityError::Malformed("it is not a COSE_Sign1")
}

fn truncated(bytes: &[u8]) -> IdentityError {
    IdentityError::Truncated { got: bytes.len() }
}
