//! Members and their receipts, for tests.

use crate::{Limits, Store};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::Receipt;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tempfile::TempDir;

pub(crate) const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

pub(crate) struct Member {
    pub(crate) team: SecretKey,
    pub(crate) key: SecretKey,
    pub(crate) certificate: Certificate,
}

impl Member {
    /// The only member of a team.
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let team = SecretKey::generate(Suite::Ed25519, &mut rng);
        let key = SecretKey::generate(Suite::Ed25519, &mut rng);
        let certificate = certify(&team, &key, 0);
        Self { team, key, certificate }
    }

    pub(crate) fn item(&self, provider: u8, started: UnixSeconds, weight: u64) -> (Receipt, Certificate) {
        let provider = TeamId([provider; 24]);
        let receipt = Receipt::sign(&self.key, &self.certificate, provider, started, Bytes(weight));
        (receipt, self.certificate.clone())
    }
}

/// Another certificate for each `serial`.
pub(crate) fn certify(team: &SecretKey, key: &SecretKey, serial: u64) -> Certificate {
    Certificate::issue(team, key.public(), Role::Member, UnixSeconds(serial), UnixSeconds(u64::MAX))
}

pub(crate) fn store(receipts_max: u64) -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store =
        Store::open(&directory.path().join("receipts.db"), Limits { receipts_max, own_team: None }).unwrap();
    (directory, store)
}
