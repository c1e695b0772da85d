//! What all conversations of a home share.

use crate::authority::Credential;
use crate::certificate::Certificate;
use crate::identity::{Realm, Serial};
use crate::verifier::{Revoked, Verifier};
use guestright_units::{Micros, Time, UnixSeconds};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::time_provider::TimeProvider;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;

/// How much a conversation may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packets that the phone may have accepted.
    pub rounds_max: u32,
    /// Bytes of one message of TLS, whole (RFC 5216, section 2.1.5).
    pub message_bytes_max: usize,
    /// Bytes of all messages of the phone's.
    pub bytes_max: usize,
    /// From the first packet to the last.
    pub duration_max: Micros,
    /// How often the same answer is given again.
    pub repeats_max: u32,
}

impl Default for Limits {
    /// A certificate chain of 64 KiB in packets of 1,020 bytes is 65 rounds; ours takes four.
    fn default() -> Self {
        Self {
            rounds_max: 80,
            message_bytes_max: 65_535,
            bytes_max: 131_072,
            duration_max: Micros::from_seconds(60),
            repeats_max: 16,
        }
    }
}

/// Certificates with which no home can be set up.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    #[error("the authority's certificate cannot be used to check others")]
    Authority,
    #[error("the home's certificate and key cannot be used with TLS, or do not belong together")]
    Credential,
}

/// What all conversations of a home share. Clones share it too.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) tls: Arc<rustls::ServerConfig>,
    pub(crate) realm: Realm,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<Clock>,
    pub(crate) revoked: Revoked,
}

impl Config {
    /// A home with this certificate, for phones with certificates of this authority. It does not need the authority's
    /// key.
    ///
    /// # Errors
    /// If these are no certificates to work with.
    pub fn new(
        authority: &Certificate,
        realm: Realm,
        home: &Credential,
        revoked: BTreeSet<Serial>,
        limits: Limits,
    ) -> Result<Self, ConfigError> {
        let revoked = Revoked::new(revoked);
        let clock = Arc::new(Clock::default());
        let verifier =
            Verifier::new(authority, realm.clone(), revoked.clone()).ok_or(ConfigError::Authority)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(home.key.to_der().to_vec()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ServerConfig::builder_with_details(provider, Arc::clone(&clock) as _)
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|_| ConfigError::Credential)?
            .with_client_cert_verifier(Arc::new(verifier))
            .with_single_cert(vec![home.certificate.for_tls()], key)
            .map_err(|_| ConfigError::Credential)?;
        // Nothing of one visit is used in the next: a ticket would tell two access points that it is the same phone.
        tls.session_storage = Arc::new(NoServerSessionStorage {});
        tls.send_tls13_tickets = 0;
        // Without it the keys of TLS 1.2 are not bound to who took part (RFC 7627).
        tls.require_ems = true;
        Ok(Self { tls: Arc::new(tls), realm, limits, clock, revoked })
    }

    /// From now on these certificates count no longer, and no others. Conversations that have begun notice.
    pub fn replace_revoked(&self, serials: BTreeSet<Serial>) {
        self.revoked.replace(serials);
    }
}

/// The clock that TLS sees: the time of the last call.
#[derive(Debug, Default)]
pub(crate) struct Clock(Mutex<UnixSeconds>);

impl Clock {
    pub(crate) fn set(&self, now: Time) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now.unix_seconds();
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let now = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(UnixTime::since_unix_epoch(Duration::from_secs(now.0)))
    }
}
