//! Whether a certificate is that of a phone of ours, and if not, why.

use crate::certificate::Certificate;
use crate::identity::{Realm, Serial};
use crate::outcome::Reason;
use guestright_units::UnixSeconds;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The numbers of certificates that count no longer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Revoked(Arc<RwLock<BTreeSet<Serial>>>);

impl Revoked {
    pub(crate) fn new(serials: BTreeSet<Serial>) -> Self {
        Self(Arc::new(RwLock::new(serials)))
    }

    pub(crate) fn replace(&self, serials: BTreeSet<Serial>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = serials;
    }

    pub(crate) fn contains(&self, serial: &Serial) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(serial)
    }
}

/// Asks whose a certificate is, what it is for, when it is valid, and whether it is revoked, in this order: so the
/// answer is about the certificate of a stranger only that it is a stranger's.
#[derive(Debug)]
pub(crate) struct Verifier {
    /// Signature, form, and purpose.
    path: Arc<dyn ClientCertVerifier>,
    realm: Realm,
    revoked: Revoked,
}

impl Verifier {
    pub(crate) fn new(authority: &Certificate, realm: Realm, revoked: Revoked) -> Option<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(authority.for_tls()).ok()?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let path = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().ok()?;
        Some(Self { path, realm, revoked })
    }

    fn verify(&self, end_entity: &CertificateDer<'_>, now: UnixTime) -> Result<ClientCertVerified, Reason> {
        let certificate = Certificate::from_der(end_entity).map_err(|_| Reason::BadCertificate)?;
        let (not_before, not_after) = (certificate.not_before(), certificate.not_after());
        // At a moment at which it is valid if it is at all. It is the authority's own: others in between do not count.
        let when = UnixTime::since_unix_epoch(Duration::from_secs(not_before.0));
        let verified =
            self.path.verify_client_cert(end_entity, &[], when).map_err(|error| reason_of_path(&error))?;
        if certificate.label(&self.realm).is_none() {
            return Err(Reason::NotAPhone);
        }
        if now.as_secs() < not_before.0 {
            return Err(Reason::NotYetValid { not_before });
        }
        if now.as_secs() > not_after.0 {
            return Err(Reason::Expired { not_after });
        }
        if self.revoked.contains(&certificate.serial()) {
            return Err(Reason::Revoked);
        }
        Ok(verified)
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of rustls, which has more variants with each release"
)]
fn reason_of_path(error: &Error) -> Reason {
    match error {
        Error::InvalidCertificate(CertificateError::BadEncoding) => Reason::BadCertificate,
        // An authority of the same name with another key has made it.
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            Reason::WrongAuthority
        }
        Error::InvalidCertificate(
            CertificateError::UnsupportedSignatureAlgorithmContext { .. }
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. },
        ) => Reason::WrongAuthority,
        _ => Reason::NotAPhone,
    }
}

/// A reason as TLS knows it; the alert that belongs to it goes to the phone.
fn error_of(reason: &Reason, now: UnixTime) -> CertificateError {
    let time = |seconds: UnixSeconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds.0));
    match *reason {
        Reason::WrongAuthority => CertificateError::UnknownIssuer,
        Reason::Expired { not_after } => {
            CertificateError::ExpiredContext { time: now, not_after: time(not_after) }
        }
        Reason::NotYetValid { not_before } => {
            CertificateError::NotValidYetContext { time: now, not_before: time(not_before) }
        }
        Reason::Revoked => CertificateError::Revoked,
        Reason::NotAPhone => CertificateError::InvalidPurpose,
        Reason::BadCertificate
        | Reason::NoCertificate
        | Reason::WrongKey
        | Reason::Alert(_)
        | Reason::OtherMethod { .. }
        | Reason::Tls
        | Reason::TooLong
        | Reason::TooSlow => CertificateError::BadEncoding,
    }
}

/// The reverse of [`error_of`].
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of rustls, which has more variants with each release"
)]
pub(crate) fn reason_of(error: &CertificateError) -> Reason {
    match *error {
        CertificateError::UnknownIssuer => Reason::WrongAuthority,
        CertificateError::ExpiredContext { not_after, .. } => {
            Reason::Expired { not_after: UnixSeconds(not_after.as_secs()) }
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            Reason::NotYetValid { not_before: UnixSeconds(not_before.as_secs()) }
        }
        CertificateError::Revoked => Reason::Revoked,
        CertificateError::InvalidPurpose => Reason::NotAPhone,
        _ => Reason::BadCertificate,
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.path.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.verify(end_entity, now).map_err(|reason| Error::InvalidCertificate(error_of(&reason, now)))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.path.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.path.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.path.supported_verify_schemes()
    }
}
