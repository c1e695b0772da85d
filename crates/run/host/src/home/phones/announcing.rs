//! What this home says of where it is, for homes that nobody here has met.

use guestright_channel::CurrentCredentials;
use guestright_directory::{Address, HomeRecord};
use guestright_identity::Certificate;
use guestright_units::{Micros, Time};

/// It is signed anew so often, and counts for so long after that, in seconds.
const AGAIN_AFTER: Micros = Micros::from_seconds(86_400);
const LIFE: u64 = 7 * 86_400;

/// See the module.
#[derive(Debug)]
pub(in crate::home) struct Announcing {
    address: Address,
    credentials: CurrentCredentials,
    /// Under which certificate it was signed last, and when.
    signed: Option<(Certificate, Time)>,
}

impl Announcing {
    pub(in crate::home) fn new(address: Address, credentials: CurrentCredentials) -> Self {
        Self { address, credentials, signed: None }
    }

    /// A record, if the last one is a day old, or was signed under another certificate or by a clock that has been set back.
    pub(super) fn renewed(&mut self, now: Time) -> Option<HomeRecord> {
        let credentials = self.credentials.get();
        let is_good = |(certificate, at): &(Certificate, Time)| {
            *certificate == credentials.certificate && (*at..*at + AGAIN_AFTER).contains(&now)
        };
        if self.signed.as_ref().is_some_and(is_good) {
            return None;
        }
        self.signed = Some((credentials.certificate.clone(), now));
        let from = now.unix_seconds();
        let (life, addresses) = ((from, from.plus(LIFE)), vec![self.address.clone()]);
        let signed = HomeRecord::sign(&credentials.key, &credentials.certificate, addresses, life);
        signed.inspect_err(|error| tracing::warn!(%error, "this home cannot say where it is")).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_channel::Credentials;
    use guestright_identity::{Role, SecretKey, Suite};
    use guestright_units::UnixSeconds;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    #[test]
    fn it_is_signed_anew_each_day_and_when_the_certificate_or_the_clock_is_another() {
        let mut rng = StdRng::seed_from_u64(1);
        let [team, key] = [(); 2].map(|()| SecretKey::generate(Suite::Ed25519, &mut rng));
        let certify = |from| {
            Certificate::issue(&team, key.public(), Role::Home, UnixSeconds(from), UnixSeconds(4_000_000_000))
        };
        let current =
            CurrentCredentials::from(Credentials { key: key.clone(), certificate: certify(1_700_000_000) });
        let mut announcing = Announcing::new("192.0.2.7:7275".parse().unwrap(), current.clone());
        let now = Time(1_800_000_000_000_000);
        let first = announcing.renewed(now).unwrap();
        assert_eq!(first.check(now.unix_seconds()), Ok(()));
        assert_eq!(announcing.renewed(now), None);
        let later = now + AGAIN_AFTER;
        assert!(announcing.renewed(later).unwrap().replaces(&first));
        assert!(announcing.renewed(now).is_some(), "the clock was set back");
        assert_eq!(announcing.renewed(now), None);
        current.renew(certify(1_750_000_000));
        let renewed = announcing.renewed(now).unwrap();
        assert_eq!(renewed.certificate().not_before(), UnixSeconds(1_750_000_000));
    }
}
