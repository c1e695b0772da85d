//! Certificates of X.509, as phones want them.

use crate::identity::{Label, Realm, Serial};
use guestright_units::UnixSeconds;
use rustls::pki_types::CertificateDer;
use std::fmt;
use thiserror::Error;
use x509_cert::der::pem::LineEnding;
use x509_cert::der::{Decode as _, DecodePem as _, Encode as _, EncodePem as _};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{AuthorityKeyIdentifier, SubjectAltName, SubjectKeyIdentifier};
use x509_cert::time::Time;

/// Bytes or text that hold no certificate.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("this is no certificate of X.509")]
pub struct CertificateError;

/// A certificate of X.509. That it can be read says nothing about its signature.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    parsed: x509_cert::Certificate,
}

impl Certificate {
    /// # Errors
    /// If it is none.
    pub fn from_der(bytes: &[u8]) -> Result<Self, CertificateError> {
        let parsed = x509_cert::Certificate::from_der(bytes).map_err(|_| CertificateError)?;
        Ok(Self { der: bytes.to_vec(), parsed })
    }

    /// # Errors
    /// If it is none.
    pub fn from_pem(text: &str) -> Result<Self, CertificateError> {
        let parsed = x509_cert::Certificate::from_pem(text).map_err(|_| CertificateError)?;
        Ok(Self::from_parsed(parsed))
    }

    pub(crate) fn from_parsed(parsed: x509_cert::Certificate) -> Self {
        Self { der: parsed.to_der().expect("a certificate can be written"), parsed }
    }

    #[must_use]
    pub fn as_der(&self) -> &[u8] {
        &self.der
    }

    #[must_use]
    pub fn to_pem(&self) -> String {
        self.parsed.to_pem(LineEnding::LF).expect("a certificate can be written")
    }

    #[must_use]
    pub fn serial(&self) -> Serial {
        Serial::from_number(self.parsed.tbs_certificate().serial_number().as_bytes())
    }

    /// The first second in which it is valid.
    #[must_use]
    pub fn not_before(&self) -> UnixSeconds {
        seconds(self.parsed.tbs_certificate().validity().not_before)
    }

    /// The last second in which it is valid.
    #[must_use]
    pub fn not_after(&self) -> UnixSeconds {
        seconds(self.parsed.tbs_certificate().validity().not_after)
    }

    /// What its subject is called.
    #[must_use]
    pub fn common_name(&self) -> Option<String> {
        let subject = self.parsed.tbs_certificate().subject().to_string();
        subject.strip_prefix("CN=").map(str::to_owned)
    }

    /// Whether it says that this authority has made it. That is no check of its signature.
    #[must_use]
    pub fn is_issued_by(&self, authority: &Self) -> bool {
        let (own, other) = (self.parsed.tbs_certificate(), authority.parsed.tbs_certificate());
        let named = own.get_extension::<AuthorityKeyIdentifier>().ok().flatten();
        let key = other.get_extension::<SubjectKeyIdentifier>().ok().flatten();
        let named = named.and_then(|(_, identifier)| identifier.key_identifier);
        own.issuer() == other.subject() && named.is_some() && named == key.map(|(_, identifier)| identifier.0)
    }

    /// The label of the phone that it is for: the one address of mail in it, which is in this realm.
    #[must_use]
    pub fn label(&self, realm: &Realm) -> Option<Label> {
        let names = self.parsed.tbs_certificate().get_extension::<SubjectAltName>().ok()??.1;
        let mut addresses = names.0.iter().filter_map(|name| {
            if let GeneralName::Rfc822Name(address) = name { Some(address.as_str()) } else { None }
        });
        let (label, domain) = addresses.next()?.split_once('@')?;
        let is_only_one = addresses.next().is_none();
        (is_only_one && domain == realm.as_str()).then(|| label.parse().ok())?
    }

    pub(crate) fn parsed(&self) -> &x509_cert::Certificate {
        &self.parsed
    }

    pub(crate) fn for_tls(&self) -> CertificateDer<'static> {
        CertificateDer::from(self.der.clone())
    }
}

fn seconds(time: Time) -> UnixSeconds {
    UnixSeconds(time.to_unix_duration().as_secs())
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.serial())
    }
}
