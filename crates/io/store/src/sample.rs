//! Members and their receipts, for tests.

use crate::{Limits, Store, schema};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::Receipt;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rusqlite::{Connection, params};
use std::path::Path;
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

/// A store of a format before the fourth.
pub(crate) fn old_format(path: &Path, format: usize, items: &[(Receipt, Certificate)]) {
    let connection = Connection::open(path).unwrap();
    schema::STEPS[..format].iter().for_each(|step| connection.execute_batch(step).unwrap());
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", i64::try_from(format).unwrap()).unwrap();
    for (receipt, certificate) in items {
        let (reference, team) = (certificate.reference().0, certificate.team_id().0);
        let sql = "INSERT OR IGNORE INTO certificate (ref, team, raw) VALUES (?, ?, ?)";
        connection.execute(sql, params![reference, team, certificate.as_bytes()]).unwrap();
        let (session, weight) = (receipt.session(), receipt.weight().0.cast_signed());
        let started = session.started.0.cast_signed();
        connection
            .execute(
                "INSERT INTO receipt (provider, started, member, certificate, weight, first_seen, age, raw)
                 SELECT ?1, ?2, ?3, id, ?4, ?2, ?2, ?5 FROM certificate WHERE ref = ?6",
                params![session.provider.0, started, session.member.0, weight, receipt.as_bytes(), reference],
            )
            .unwrap();
    }
}
