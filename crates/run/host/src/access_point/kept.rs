//! What an access point keeps between runs.

use super::Loop;
use super::blocked::Blocked;
use super::retention::{Keep, Retention};
use guestright_error::RunError;
use guestright_identity::{Certificate, RevocationList};
use guestright_receipt::Receipt;
use guestright_store::{Limits, Store};
use std::path::Path;

/// How many of its own receipts an access point keeps until its home has them.
const RECEIPTS_MAX: u64 = 100_000;

/// What was kept between runs.
pub(super) struct Kept {
    pub(super) store: Store,
    pub(super) undelivered: Vec<(Receipt, Certificate)>,
    pub(super) revocations: Vec<RevocationList>,
    pub(super) blocked: Blocked,
    pub(super) retention: Retention,
}

impl Kept {
    pub(super) fn open(state: &Path, keep: Option<Keep>) -> Result<Self, RunError> {
        // First of all what is due is removed, whatever else may be wrong.
        let retention = Retention::open(state, keep)?;
        let limits = Limits { receipts_max: RECEIPTS_MAX, own_team: None };
        let store = Store::open(&state.join("receipts.sqlite"), limits).map_err(RunError::network)?;
        store.check_rows().map_err(RunError::network)?;
        let undelivered = undelivered(&store)?;
        let revocations = store.revocations().map_err(RunError::network)?;
        Ok(Self { store, undelivered, revocations, blocked: Blocked::open(state)?, retention })
    }
}

/// Gives the machine what was kept.
pub(super) fn restore(
    this: &mut Loop,
    undelivered: Vec<(Receipt, Certificate)>,
    revocations: Vec<RevocationList>,
) {
    let now = this.clock.now();
    this.machine.restore(undelivered, now);
    this.machine.restore_revocations(revocations);
}

/// The receipts that were kept and not delivered when the program stopped.
fn undelivered(store: &Store) -> Result<Vec<(Receipt, Certificate)>, RunError> {
    let mut receipts = Vec::new();
    for outgoing in store.unflushed(10_000).map_err(RunError::network)? {
        let certificate = Certificate::parse_kept(&outgoing.certificate).map_err(RunError::config)?;
        let receipt = Receipt::from_kept(&outgoing.receipt, &certificate).map_err(RunError::config)?;
        receipts.push((receipt, certificate));
    }
    Ok(receipts)
}
