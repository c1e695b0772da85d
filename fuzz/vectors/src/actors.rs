//! Two households whose keys everybody knows, so that a fuzzer can get past their signatures.

use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_units::{TeamId, UnixSeconds};
use std::sync::LazyLock;

/// The second at which everything is checked: 2027-01-15T08:00:00Z.
pub const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

/// When the sessions of the seeds and the test vectors began.
pub const STARTED: UnixSeconds = UnixSeconds(1_799_999_000);

/// A household: a team, and a key for each of its roles.
#[derive(Debug)]
pub struct Household {
    /// The team's own key.
    pub team: SecretKey,
    /// The key of a member, and its certificate.
    pub member: (SecretKey, Certificate),
    /// The key of an access point, and its certificate.
    pub access_point: (SecretKey, Certificate),
    /// The key of a home, and its certificate.
    pub home: (SecretKey, Certificate),
}

/// The household that consumes, with Ed25519 keys.
pub static CONSUMER: LazyLock<Household> = LazyLock::new(|| Household::new(Suite::Ed25519, 1));

/// The household that provides, with P-256 keys.
pub static PROVIDER: LazyLock<Household> = LazyLock::new(|| Household::new(Suite::EcdsaP256, 5));

impl Household {
    fn new(suite: Suite, first: u8) -> Self {
        let key =
            |number| SecretKey::from_bytes(suite, &[first + number; 32]).expect("a small number is a key");
        let team = key(0);
        let certified = |number, role| {
            let key = key(number);
            let (from, to) = (NOW.minus(86_400), NOW.plus(90 * 86_400));
            let certificate = Certificate::issue(&team, key.public(), role, from, to);
            (key, certificate)
        };
        let member = certified(1, Role::Member);
        let access_point = certified(2, Role::AccessPoint);
        let home = certified(3, Role::Home);
        Self { team, member, access_point, home }
    }

    /// The team's name.
    pub fn id(&self) -> TeamId {
        self.team.public().team_id()
    }
}
