//! A set of receipts as a map of max-registers: any two sets merge, in any order, to the same set.

use crate::{Receipt, ReceiptError, SessionKey};
use guestright_units::Bytes;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What a receipt changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The first of its session.
    New,
    /// Larger than the one that was known, by so much.
    Raised(Bytes),
    /// Nothing: it says what was known.
    Known,
}

/// The receipts that count, one for each session.
///
/// Of two receipts over the same weight (a signer can make many) the one with the greater bytes stays, so that
/// the merge is commutative to the byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    receipts: BTreeMap<SessionKey, Receipt>,
}

impl Registers {
    /// Takes a receipt in.
    ///
    /// # Errors
    /// [`ReceiptError::LowerWeight`] if a larger one of its session is known; nothing changes.
    pub fn admit(&mut self, receipt: Receipt) -> Result<Admission, ReceiptError> {
        match self.receipts.entry(receipt.session()) {
            Entry::Vacant(entry) => {
                entry.insert(receipt);
                Ok(Admission::New)
            }
            Entry::Occupied(mut entry) => {
                let (got, known) = (receipt.weight(), entry.get().weight());
                if got < known {
                    return Err(ReceiptError::LowerWeight { got, known });
                }
                if supersedes(&receipt, entry.get()) {
                    entry.insert(receipt);
                }
                Ok(if got > known { Admission::Raised(got.saturating_sub(known)) } else { Admission::Known })
            }
        }
    }

    /// Takes in everything that `other` knows.
    pub fn merge(&mut self, other: &Self) {
        for receipt in other.receipts.values() {
            // A lower weight changes nothing, which is what merging means.
            let _ = self.admit(receipt.clone());
        }
    }

    /// The receipt that counts for a session.
    pub fn get(&self, session: &SessionKey) -> Option<&Receipt> {
        self.receipts.get(session)
    }

    /// All receipts, by session.
    pub fn iter(&self) -> impl Iterator<Item = &Receipt> {
        self.receipts.values()
    }

    /// How many sessions are known.
    pub fn len(&self) -> usize {
        self.receipts.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.receipts.is_empty()
    }
}

/// Whether `new` takes the place of `old` of the same session: by weight, then by bytes.
fn supersedes(new: &Receipt, old: &Receipt) -> bool {
    (new.weight(), new.as_bytes()) > (old.weight(), old.as_bytes())
}
