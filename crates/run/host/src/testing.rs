//! A team whose programs connect to each other, and one of them that sends more than anybody reads.

use guestright_channel::{Credentials, Sender};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_units::UnixSeconds;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::time::Duration;

/// More messages than queues and sockets on the way have room for: 320 MB.
pub(crate) const FLOOD: usize = 5_000;
const MESSAGE_LEN: usize = 64_000;
/// A message that nobody takes for so long waits for a reader.
const STUCK_AFTER: Duration = Duration::from_secs(2);

/// A program of the one team of all tests.
pub(crate) fn credentials(role: Role) -> Credentials {
    let mut rng = StdRng::seed_from_u64(1);
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let mut own = StdRng::seed_from_u64(u64::from(role == Role::Home) + 2);
    let key = SecretKey::generate(Suite::EcdsaP256, &mut own);
    let certificate =
        Certificate::issue(&team, key.public(), role, UnixSeconds(0), UnixSeconds(u64::from(u32::MAX)));
    Credentials { key, certificate }
}

/// Sends until the other end lets us wait. How many messages were sent: at most [`FLOOD`].
pub(crate) async fn flood(sender: &mut Sender) -> usize {
    for sent in 0..FLOOD {
        let sending = sender.send(&[7; MESSAGE_LEN]);
        if tokio::time::timeout(STUCK_AFTER, sending).await.is_err() {
            return sent;
        }
    }
    FLOOD
}
