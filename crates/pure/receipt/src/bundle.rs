//! What travels when receipts are shown: the receipts, the certificates that they point at, revocation lists.

use crate::{Receipt, ReceiptError, Rules, UncheckedReceipt, verify_batch};
use ciborium::Value;
use guestright_identity::{Certificate, CertificateRef, IdentityError, RevocationList, cose};
use guestright_units::UnixSeconds;
use rand::CryptoRng;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why a bundle as a whole cannot be read. What is wrong with one receipt in it is said of that receipt.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BundleError {
    /// Its form is wrong.
    #[error("the bundle is refused: {0}")]
    Form(#[from] IdentityError),
    /// Too many items.
    #[error("the bundle has {got} {what}, at most {max} are allowed")]
    TooMany {
        /// Which items.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// How many there may be.
        max: usize,
    },
}

/// Receipts, certificates and revocation lists as bytes, none of them checked yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// [`Certificate`]s.
    pub certificates: Vec<Vec<u8>>,
    /// [`Receipt`]s.
    pub receipts: Vec<Vec<u8>>,
    /// [`RevocationList`]s.
    pub revocations: Vec<Vec<u8>>,
}

impl Bundle {
    /// How many receipts may be shown at once.
    pub const RECEIPTS_MAX: usize = 64;
    /// How many revocation lists may be shown at once.
    pub const REVOCATIONS_MAX: usize = 2;
    /// No bundle has more bytes.
    pub const LEN_MAX: usize = 60 * 1_024;

    /// The deterministic encoding: `[[certificate …], [receipt …], [revocation list …]]`, each a byte string.
    pub fn emit(&self) -> Vec<u8> {
        let list = |items: &[Vec<u8>]| Value::Array(items.iter().cloned().map(Value::Bytes).collect());
        cose::encode(vec![list(&self.certificates), list(&self.receipts), list(&self.revocations)])
    }

    /// Reads a bundle. No bytes at all are an empty one.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        if bytes.len() > Self::LEN_MAX {
            return Err(IdentityError::TooLong { got: bytes.len(), max: Self::LEN_MAX }.into());
        }
        let items = cose::decode(bytes)?;
        let [certificates, receipts, revocations] = items.as_slice() else {
            return Err(IdentityError::Malformed("a bundle has three lists").into());
        };
        Ok(Self {
            certificates: list(certificates, "certificates", Self::RECEIPTS_MAX + 1)?,
            receipts: list(receipts, "receipts", Self::RECEIPTS_MAX)?,
            revocations: list(revocations, "revocation lists", Self::REVOCATIONS_MAX)?,
        })
    }

    /// Checks everything in the bundle. `known` finds certificates that did not come along.
    ///
    /// A certificate that is not valid is left out; the receipts that need it say so.
    pub fn verify(
        &self,
        known: impl Fn(CertificateRef) -> Option<Certificate>,
        rules: &Rules,
        now: UnixSeconds,
        rng: &mut impl CryptoRng,
    ) -> Verified {
        let mut certificates: BTreeMap<_, _> = BTreeMap::new();
        for bytes in &self.certificates {
            if let Ok(certificate) = Certificate::parse(bytes) {
                certificates.insert(certificate.reference(), certificate);
            }
        }
        let parsed: Vec<_> = self.receipts.iter().map(|bytes| UncheckedReceipt::parse(bytes)).collect();
        for receipt in parsed.iter().flatten() {
            let reference = receipt.certificate();
            if !certificates.contains_key(&reference)
                && let Some(certificate) = known(reference)
            {
                certificates.insert(reference, certificate);
            }
        }
        let mut refused = Vec::new();
        let mut pairs = Vec::new();
        for receipt in parsed {
            let found = receipt.and_then(|receipt| {
                let reference = receipt.certificate();
                let certificate = certificates.get(&reference);
                certificate.map(|found| (receipt, found)).ok_or(ReceiptError::UnknownCertificate(reference))
            });
            match found {
                Ok(pair) => pairs.push(pair),
                Err(error) => refused.push(error),
            }
        }
        let mut receipts = Vec::new();
        for verdict in verify_batch(pairs, rules, now, rng) {
            match verdict {
                Ok(receipt) => receipts.push(receipt),
                Err(error) => refused.push(error),
            }
        }
        let revocations =
            self.revocations.iter().filter_map(|bytes| RevocationList::parse(bytes).ok()).collect();
        Verified { receipts, certificates, revocations, refused }
    }
}

/// What of a bundle holds.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// The receipts that count.
    pub receipts: Vec<Receipt>,
    /// The certificates that they need, and others that came along.
    pub certificates: BTreeMap<CertificateRef, Certificate>,
    /// Revocation lists with a valid signature.
    pub revocations: Vec<RevocationList>,
    /// Why the other receipts do not count.
    pub refused: Vec<ReceiptError>,
}

fn list(value: &Value, what: &'static str, max: usize) -> Result<Vec<Vec<u8>>, BundleError> {
    let items = value.as_array().ok_or(IdentityError::Malformed("a bundle has three lists"))?;
    if items.len() > max {
        return Err(BundleError::TooMany { what, got: items.len(), max });
    }
    let item = |item| Ok(cose::bytes(item, "an item of a bundle is not bytes")?.to_vec());
    items.iter().map(item).collect()
}
