//! Keys and certificates that are the same in every run.

use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Bundle, Receipt};
use guestright_roaming::Message;
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};
use std::sync::LazyLock;

/// When every run starts.
pub(super) const START: Time = UnixSeconds(1_800_000_000).time();

/// A key and what its team says about it.
#[derive(Debug)]
pub(super) struct Actor {
    pub(super) key: SecretKey,
    pub(super) certificate: Certificate,
}

/// The household: its access point, its home, a member.
pub(super) static HOUSE: LazyLock<[Actor; 3]> =
    LazyLock::new(|| [actor(1, 2, Role::AccessPoint), actor(1, 3, Role::Home), actor(1, 4, Role::Member)]);

/// Members of the household, of one other team, and of a third.
pub(super) static MEMBERS: LazyLock<[Actor; 4]> = LazyLock::new(|| {
    [(1, 4), (10, 11), (10, 12), (20, 21)].map(|(team, key)| actor(team, key, Role::Member))
});

/// Access points of two other teams.
pub(super) static ACCESS_POINTS: LazyLock<[Actor; 2]> =
    LazyLock::new(|| [(30, 31), (40, 41)].map(|(team, key)| actor(team, key, Role::AccessPoint)));

pub(super) fn secret(number: u8) -> SecretKey {
    SecretKey::from_bytes(Suite::Ed25519, &[number; 32]).expect("every 32 bytes are a key")
}

pub(super) fn actor(team: u8, key: u8, role: Role) -> Actor {
    let (team, key) = (secret(team), secret(key));
    let now = START.unix_seconds();
    let (from, until) = (now.minus(30 * 86_400), now.plus(30 * 86_400));
    let certificate = Certificate::issue(&team, key.public(), role, from, until);
    Actor { key, certificate }
}

impl Actor {
    pub(super) fn sign(&self, provider: TeamId, started: UnixSeconds, weight: Bytes) -> Receipt {
        Receipt::sign(&self.key, &self.certificate, provider, started, weight)
    }
}

/// A RCPT with this receipt, and with its certificate if it is to be shown.
pub(super) fn rcpt(receipt: &Receipt, certificate: Option<&Certificate>) -> Message {
    Message::Rcpt { reference: None, bundle: bundle(receipt, certificate), home: None }
}

pub(super) fn bundle(receipt: &Receipt, certificate: Option<&Certificate>) -> Bundle {
    Bundle {
        certificates: certificate.iter().map(|certificate| certificate.as_bytes().to_vec()).collect(),
        receipts: vec![receipt.as_bytes().to_vec()],
        revocations: Vec::new(),
    }
}
