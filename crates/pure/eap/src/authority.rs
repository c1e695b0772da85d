//! Who makes a household's certificates for Wi-Fi.

use crate::certificate::Certificate;
use crate::identity::{Label, Realm, Serial};
use crate::key::PrivateKey;
use data_encoding::BASE32_NOPAD;
use guestright_units::UnixSeconds;
use p256::pkcs8::EncodePublicKey as _;
use rand::CryptoRng;
use std::time::Duration;
use thiserror::Error;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder as _, CertificateBuilder, Result as BuilderResult};
use x509_cert::der::Decode as _;
use x509_cert::der::asn1::{Any, GeneralizedTime, Ia5String, ObjectIdentifier};
use x509_cert::der::flagset::FlagSet;
use x509_cert::ext::pkix::constraints::name::GeneralSubtree;
use x509_cert::ext::pkix::name::{GeneralName, OtherName};
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, NameConstraints,
    SubjectAltName, SubjectKeyIdentifier,
};
use x509_cert::ext::{Extension, ToExtension};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::SubjectPublicKeyInfoRef;
use x509_cert::time::{Time, Validity};
use x509_cert::{SubjectPublicKeyInfo, TbsCertificate};

/// A certificate is valid since the day before, for phones whose clock is late.
const EARLIER_SECONDS: u64 = 86_400;
/// Ten years: as long as a profile stays on phones.
const AUTHORITY_SECONDS: u64 = 3_653 * 86_400;
/// A year. Apple takes at most 825 days from a server (support.apple.com, HT210176).
const LEAF_SECONDS: u64 = 366 * 86_400;
/// The most that a common name may have (RFC 5280, appendix A.1, ub-common-name).
const COMMON_NAME_MAX: usize = 64;

const SERVER_AUTHENTICATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const CLIENT_AUTHENTICATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");
/// What Windows takes a user's name from (Microsoft, "Certificate requirements when you use EAP-TLS", 814394).
const USER_PRINCIPAL_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.311.20.2.3");

/// A certificate and a key that are no authority.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum AuthorityError {
    #[error("the authority's key is not the one in its certificate")]
    OtherKey,
    #[error("the authority's certificate may not make certificates")]
    NoAuthority,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Credential {
    pub certificate: Certificate,
    pub key: PrivateKey,
}

/// Who makes a household's certificates for Wi-Fi: a key on P-256 with a certificate that phones are given as their
/// only trusted one for this network. It is constrained to the realm, so that it can certify no other server.
///
/// Signatures are deterministic (RFC 6979): with the same chance and time, certificates are the same.
///
/// ```
/// use guestright_eap::Authority;
/// use guestright_units::UnixSeconds;
/// use rand::SeedableRng;
///
/// let mut rng = rand::rngs::StdRng::seed_from_u64(1); // In earnest, of the system's entropy.
/// let now = UnixSeconds(1_800_000_000);
/// let authority = Authority::found("0123abcd.guestright.alt".parse()?, now, &mut rng);
/// let home = authority.issue_server(now, &mut rng);
/// let (label, phone) = authority.issue_client(now, &mut rng);
/// assert_eq!(phone.certificate.label(authority.realm()), Some(label));
/// # Ok::<(), guestright_eap::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Authority {
    realm: Realm,
    credential: Credential,
}

impl Authority {
    /// Makes a new authority.
    pub fn found(realm: Realm, now: UnixSeconds, rng: &mut impl CryptoRng) -> Self {
        let key = PrivateKey::generate(rng);
        // Two authorities of one household have two names, so that a phone does not take one for the other.
        let mut number = [0; 5];
        rng.fill_bytes(&mut number);
        let name = format!("guestright Wi-Fi {}", BASE32_NOPAD.encode(&number).to_ascii_lowercase());
        let name = common_name(&name);
        let profile = Profile { issuer: name.clone(), subject: name, kind: Kind::Authority, realm: &realm };
        let certificate = make(profile, &key, &key, (now, AUTHORITY_SECONDS, None), rng);
        Self { credential: Credential { certificate, key }, realm }
    }

    /// An authority that was made before.
    ///
    /// # Errors
    /// If key and certificate are none.
    pub fn restore(realm: Realm, credential: Credential) -> Result<Self, AuthorityError> {
        let tbs = credential.certificate.parsed().tbs_certificate();
        if *tbs.subject_public_key_info() != public_key(&credential.key) {
            return Err(AuthorityError::OtherKey);
        }
        let constraints = tbs.get_extension::<BasicConstraints>().ok().flatten();
        if constraints.is_none_or(|(_, constraints)| !constraints.ca) {
            return Err(AuthorityError::NoAuthority);
        }
        Ok(Self { realm, credential })
    }

    #[must_use]
    pub fn realm(&self) -> &Realm {
        &self.realm
    }

    /// What phones are given.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.credential.certificate
    }

    /// Both, to keep them.
    #[must_use]
    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    /// Makes a certificate for the home, for a year.
    pub fn issue_server(&self, now: UnixSeconds, rng: &mut impl CryptoRng) -> Credential {
        let name = self.realm.server_name();
        // Some phones look for the name here and nowhere else (GÉANT, "EAP Server Certificate considerations").
        let subject = common_name(if name.len() <= COMMON_NAME_MAX { &name } else { "home" });
        self.issue(subject, Kind::Server, now, rng)
    }

    /// Makes a certificate for a phone, for a year, with a new label.
    ///
    /// Its subject is the whole identity `label@realm` where that fits, because some systems send it as the outer
    /// identity (geteduroam/ionic-app#12), and an identity without a realm finds no home.
    pub fn issue_client(&self, now: UnixSeconds, rng: &mut impl CryptoRng) -> (Label, Credential) {
        let label = Label::generate(rng);
        let identity = format!("{label}@{}", self.realm);
        let subject = if identity.len() <= COMMON_NAME_MAX {
            common_name(&identity)
        } else {
            common_name(&label.to_string())
        };
        (label, self.issue(subject, Kind::Client { identity }, now, rng))
    }

    fn issue(&self, subject: Name, kind: Kind, now: UnixSeconds, rng: &mut impl CryptoRng) -> Credential {
        let key = PrivateKey::generate(rng);
        let own = &self.credential;
        let issuer = own.certificate.parsed().tbs_certificate().subject().clone();
        let profile = Profile { issuer, subject, kind, realm: &self.realm };
        let validity = (now, LEAF_SECONDS, Some(own.certificate.not_after()));
        Credential { certificate: make(profile, &key, &own.key, validity, rng), key }
    }
}

fn public_key(key: &PrivateKey) -> SubjectPublicKeyInfo {
    let der = key.public().to_public_key_der().expect("a key can be written");
    SubjectPublicKeyInfo::from_der(der.as_bytes()).expect("a key that was written is read")
}

fn common_name(text: &str) -> Name {
    format!("CN={text}").parse().expect("names have no letter that means something else")
}

fn make(
    profile: Profile<'_>,
    key: &PrivateKey,
    signer: &PrivateKey,
    (now, seconds, end): (UnixSeconds, u64, Option<UnixSeconds>),
    rng: &mut impl CryptoRng,
) -> Certificate {
    let time = |seconds: UnixSeconds| {
        let time = GeneralizedTime::from_unix_duration(Duration::from_secs(seconds.0));
        Time::GeneralTime(time.expect("the year has four digits"))
    };
    let not_after = now.plus(seconds);
    let not_after = end.map_or(not_after, |end| end.min(not_after));
    let validity = Validity::new(time(now.minus(EARLIER_SECONDS)), time(not_after));
    let serial = SerialNumber::new(Serial::generate(rng).as_bytes()).expect("16 bytes are a number");
    let certificate = CertificateBuilder::new(profile, serial, validity, public_key(key))
        .and_then(|builder| builder.build::<_, p256::ecdsa::DerSignature>(&signer.signing()))
        .expect("what we put into a certificate can be written");
    Certificate::from_parsed(certificate)
}

enum Kind {
    Authority,
    Server,
    Client { identity: String },
}

/// What a certificate says beside its key.
struct Profile<'a> {
    issuer: Name,
    subject: Name,
    kind: Kind,
    realm: &'a Realm,
}

impl Profile<'_> {
    fn names(&self) -> BuilderResult<Vec<GeneralName>> {
        let server_name = self.realm.server_name();
        Ok(match &self.kind {
            Kind::Authority => Vec::new(),
            Kind::Server => vec![GeneralName::DnsName(Ia5String::new(&server_name)?)],
            Kind::Client { identity } => vec![
                GeneralName::Rfc822Name(Ia5String::new(identity)?),
                GeneralName::OtherName(OtherName {
                    type_id: USER_PRINCIPAL_NAME,
                    value: Any::encode_from(identity)?,
                }),
            ],
        })
    }

    fn usage(&self) -> (FlagSet<KeyUsages>, Option<ObjectIdentifier>) {
        match self.kind {
            Kind::Authority => (KeyUsages::KeyCertSign.into(), None),
            Kind::Server => (KeyUsages::DigitalSignature.into(), Some(SERVER_AUTHENTICATION)),
            Kind::Client { .. } => (KeyUsages::DigitalSignature.into(), Some(CLIENT_AUTHENTICATION)),
        }
    }
}

impl BuilderProfile for Profile<'_> {
    fn get_issuer(&self, _subject: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        key: SubjectPublicKeyInfoRef<'_>,
        issuer_key: SubjectPublicKeyInfoRef<'_>,
        _tbs: &TbsCertificate,
    ) -> BuilderResult<Vec<Extension>> {
        let is_authority = matches!(self.kind, Kind::Authority);
        let (usage, purpose) = self.usage();
        let mut extensions = Vec::new();
        let basic = BasicConstraints { ca: is_authority, path_len_constraint: is_authority.then_some(0) };
        extensions.push((true, &basic).to_extension(&self.subject, &[])?);
        extensions.push((true, &KeyUsage(usage)).to_extension(&self.subject, &[])?);
        if let Some(purpose) = purpose {
            extensions.push((false, &ExtendedKeyUsage(vec![purpose])).to_extension(&self.subject, &[])?);
        }
        let names = self.names()?;
        if !names.is_empty() {
            extensions.push((false, &SubjectAltName(names)).to_extension(&self.subject, &[])?);
        }
        if is_authority {
            let base = GeneralName::DnsName(Ia5String::new(self.realm.as_str())?);
            let permitted = vec![GeneralSubtree { base, minimum: 0, maximum: None }];
            let constraints =
                NameConstraints { permitted_subtrees: Some(permitted), excluded_subtrees: None };
            // Not critical: a system that does not know constraints is to join nevertheless.
            extensions.push((false, &constraints).to_extension(&self.subject, &[])?);
        } else {
            let identifier = AuthorityKeyIdentifier::try_from(issuer_key)?;
            extensions.push((false, &identifier).to_extension(&self.subject, &[])?);
        }
        let identifier = SubjectKeyIdentifier::try_from(key)?;
        extensions.push((false, &identifier).to_extension(&self.subject, &[])?);
        Ok(extensions)
    }
}

#[cfg(test)]
mod tests;
