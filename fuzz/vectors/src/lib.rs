//! The test vectors of `docs/vectors`: what other implementations have to read, write and refuse.
//!
//! [`files`] makes them again, so the committed ones cannot go stale. What OpenSSL signs differs every time; those of
//! the legacy suites are made once and only verified from then on.

pub mod actors;
pub mod canonical;
pub mod holds;
#[cfg(feature = "legacy-suites")]
pub mod legacy;
pub mod messages;
mod mutations;
pub mod negative;
pub mod objects;

pub use mutations::mutations;
pub use negative::refusal;

use data_encoding::HEXLOWER;
use guestright_identity::{Certificate, IdentityError, PublicKey, cose};
use serde_json::{Value, json};

/// Every file by its name, without those of the legacy suites.
pub fn files() -> Vec<(&'static str, Value)> {
    vec![
        ("keys.json", objects::keys()),
        ("certificates.json", objects::certificates()),
        ("revocations.json", objects::revocations()),
        ("delegations.json", objects::delegated()),
        ("receipts.json", objects::receipts()),
        ("holds.json", holds::holds()),
        ("bundles.json", objects::bundles()),
        ("acknowledgements.json", objects::acknowledgements()),
        ("messages.json", messages::messages()),
        ("negative.json", negative::negative()),
    ]
}

/// Bytes in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// The bytes that hexadecimal digits stand for.
///
/// # Panics
/// If there are other characters: the file is ours.
pub fn unhex(text: &str) -> Vec<u8> {
    HEXLOWER.decode(text.as_bytes()).expect("two hexadecimal digits a byte")
}

/// The bytes in the member `name` of an object.
///
/// # Panics
/// If there is no such member: the file is ours.
pub fn field(object: &Value, name: &str) -> Vec<u8> {
    unhex(object[name].as_str().unwrap_or_else(|| panic!("{name} is missing in {object}")))
}

/// The short name of what is wrong with a signed object.
pub fn identity_kind(error: &IdentityError) -> &'static str {
    match error {
        IdentityError::Truncated { .. } => "truncated",
        IdentityError::TooLong { .. } => "oversized",
        IdentityError::NotCanonical => "not-canonical",
        IdentityError::Malformed(_) => "malformed",
        IdentityError::UnknownSuite { .. } => "unknown-suite",
        IdentityError::WrongSuite { .. } => "wrong-suite",
        IdentityError::BadSignature => "forged",
        IdentityError::BadKey(_) => "bad-key",
        IdentityError::WarrantExceeded(_) => "exceeded",
        IdentityError::NotYetValid { .. }
        | IdentityError::Expired { .. }
        | IdentityError::WrongRole { .. }
        | IdentityError::Revoked { .. }
        | _ => "not-entitled",
    }
}

fn key(key: &PublicKey) -> Value {
    json!({
        "suite": key.suite().name(),
        "algorithm": key.suite().algorithm(),
        "public": hex(key.as_bytes()),
        "id": key.id().to_string(),
    })
}

/// What a reader of a signed object sees on its way: the payload and the bytes that are signed.
fn parts(encoded: &[u8], signer: &PublicKey, domain: &str, context: &[u8]) -> Value {
    let sealed = cose::open(encoded, encoded.len()).expect("an object of ours");
    let claim = sealed.claim(signer, domain, context).expect("its signer's suite");
    claim.verify().expect("its signer's signature");
    json!({
        "encoded": hex(encoded),
        "payload": hex(&cose::encode(sealed.items.clone())),
        "external_aad": hex(&[b"guestright/", domain.as_bytes(), b"/1", context].concat()),
        "signed": hex(&claim.message),
        "signature": hex(&claim.signature.0),
    })
}

/// Puts the members of `more` into `object`.
fn with(mut object: Value, more: &Value) -> Value {
    let (Some(object_members), Some(more)) = (object.as_object_mut(), more.as_object()) else {
        unreachable!("both are objects");
    };
    object_members.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
    object
}

fn certificate(name: &str, certificate: &Certificate) -> Value {
    let facts = json!({
        "name": name,
        "role": certificate.role().to_string(),
        "team": key(certificate.team()),
        "subject": key(certificate.subject()),
        "not_before": certificate.not_before().0,
        "not_after": certificate.not_after().0,
        "digest": hex(certificate.digest()),
        "reference": certificate.reference().to_string(),
    });
    with(facts, &parts(certificate.as_bytes(), certificate.team(), "certificate", &[]))
}

fn receipt(name: &str, receipt: &guestright_receipt::Receipt, member: &Certificate) -> Value {
    let on_holds = receipt.on_holds().0;
    let hold = receipt.hold().map_or_else(
        || json!({}),
        |hold| json!({ "hold": hex(&hold.id.0), "hold_weight": hold.weight.0, "on_holds": on_holds }),
    );
    let facts = json!({
        "name": name,
        "certificate": hex(member.as_bytes()),
        "provider": receipt.provider().to_string(),
        "consumer": receipt.consumer().to_string(),
        "member": receipt.session().member.to_string(),
        "started": receipt.started().0,
        "weight": receipt.weight().0,
        "length": receipt.as_bytes().len(),
    });
    let parts = parts(receipt.as_bytes(), member.subject(), "receipt", member.digest());
    with(with(facts, &hold), &parts)
}
