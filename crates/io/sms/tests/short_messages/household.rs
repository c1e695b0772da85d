//! Members with numbers that are kept free for stories.

use guestright_directory::sms::{Config, Courier};
use guestright_directory::{Contact, Record, Statement, TelephoneNumber};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_sms::{FinderEvent, Sms, SmsFinder};
use guestright_units::UnixSeconds;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;

/// No step of a test takes so long, unless something is wrong.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) const CALLER: &str = "+12025550142";
pub(crate) const CALLEE: &str = "+12025550177";

pub(crate) fn number(text: &str) -> TelephoneNumber {
    text.parse().unwrap()
}

pub(crate) struct Member {
    pub(crate) key: SecretKey,
    certificate: Certificate,
    pub(crate) number: TelephoneNumber,
}

impl Member {
    pub(crate) fn new(seed: u64, telephone: &str) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let [team, key] = [(); 2].map(|()| SecretKey::generate(Suite::Ed25519, &mut rng));
        let certificate =
            Certificate::issue(&team, key.public(), Role::Member, now().minus(60), now().plus(86_400));
        Self { key, certificate, number: number(telephone) }
    }

    pub(crate) fn record(&self) -> Record {
        let statement = Statement {
            home: self.key.public().id(),
            home_team: self.certificate.team_id(),
            addresses: vec!["192.0.2.7:7275".parse().unwrap(), "[2001:db8::7]:7275".parse().unwrap()],
            sequence: now().0,
            not_before: now().minus(60),
            not_after: now().plus(3_600),
        };
        Record::sign(&self.key, &self.certificate, statement).unwrap()
    }

    pub(crate) fn contact(&self) -> Contact {
        let contact = Contact::new("Other", self.key.public().id()).unwrap();
        Contact { telephone: Some(self.number.clone()), ..contact }
    }

    /// A finder that knows `other` as its only contact and gives this member's record out.
    pub(crate) async fn finder(
        &self,
        sms: Arc<dyn Sms>,
        other: &Member,
    ) -> (SmsFinder, mpsc::Receiver<FinderEvent>, Record) {
        use guestright_directory::Finder;
        let (events_in, events) = mpsc::channel(16);
        let next = AtomicU32::new(7);
        let chance = move || next.fetch_add(0x0101, Ordering::Relaxed);
        let finder = SmsFinder::start(Courier::new(Config::default()), sms, chance, Some(events_in));
        let record = self.record();
        finder.announce(&record).await.unwrap();
        finder.set_contacts(vec![other.contact()]).await.unwrap();
        (finder, events, record)
    }
}

fn now() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs())
}

/// The end of something that must not take for ever.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, what).await.expect("it ends within half a minute")
}
