use crate::ReceiptError;
use ciborium::Value;
use guestright_identity::cose::{self, Sealed};
use guestright_identity::{Certificate, CertificateRef, Claim, IdentityError, MemberId, SecretKey, Suite};
use guestright_units::{Bytes, TeamId, UnixSeconds};

const DOMAIN: &str = "receipt";

/// What a session is known by: of all receipts with one key, the largest weight counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    /// The team that served.
    pub provider: TeamId,
    /// The member that was served.
    pub member: MemberId,
    /// When the session began.
    pub started: UnixSeconds,
}

/// A receipt whose form is right and of which nothing else was checked.
#[derive(Clone, Debug)]
pub struct UncheckedReceipt {
    sealed: Sealed,
    provider: TeamId,
    certificate: CertificateRef,
    started: UnixSeconds,
    weight: Bytes,
    encoded: Vec<u8>,
}

/// A receipt that was checked: its signature is its member's, whose certificate held when the session began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    session: SessionKey,
    consumer: TeamId,
    certificate: CertificateRef,
    weight: Bytes,
    encoded: Vec<u8>,
}

impl Receipt {
    /// No receipt has more bytes: an RSA-2048 signature, a large weight and their frame.
    pub const LEN_MAX: usize = 512;

    /// Signs a receipt as the member that `certificate` is for.
    ///
    /// The bytes: 128 with Ed25519 or P-256 and a weight below 4 GiB.
    ///
    /// # Panics
    /// If `member` is not the key that `certificate` is for.
    pub fn sign(
        member: &SecretKey,
        certificate: &Certificate,
        provider: TeamId,
        started: UnixSeconds,
        weight: Bytes,
    ) -> Self {
        assert_eq!(member.public(), certificate.subject(), "the certificate is the signer's own");
        let items = vec![
            Value::Bytes(provider.0.to_vec()),
            Value::Bytes(certificate.reference().0.to_vec()),
            Value::from(started.0),
            Value::from(weight.0),
        ];
        let encoded = cose::seal(member, DOMAIN, certificate.digest(), items);
        let session = SessionKey { provider, member: certificate.member_id(), started };
        let certificate_ref = certificate.reference();
        Self { session, consumer: certificate.team_id(), certificate: certificate_ref, weight, encoded }
    }

    /// The receipt with these bytes, checked before and kept since in our own store.
    ///
    /// # Errors
    /// What is wrong with its form, or [`ReceiptError::UnknownCertificate`] if it points at another one.
    pub fn from_kept(encoded: &[u8], certificate: &Certificate) -> Result<Self, ReceiptError> {
        UncheckedReceipt::parse(encoded)?.accept(certificate)
    }

    /// What the session is known by.
    pub fn session(&self) -> SessionKey {
        self.session
    }

    /// The team that served.
    pub fn provider(&self) -> TeamId {
        self.session.provider
    }

    /// The team whose member was served.
    pub fn consumer(&self) -> TeamId {
        self.consumer
    }

    /// The certificate under which it was signed.
    pub fn certificate(&self) -> CertificateRef {
        self.certificate
    }

    /// When the session began.
    pub fn started(&self) -> UnixSeconds {
        self.session.started
    }

    /// How much was served in this session, both ways, so far.
    pub fn weight(&self) -> Bytes {
        self.weight
    }

    /// The receipt as it is sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.encoded
    }
}

impl UncheckedReceipt {
    /// Reads a receipt.
    ///
    /// # Errors
    /// [`ReceiptError::Truncated`] or [`ReceiptError::Refused`].
    pub fn parse(encoded: &[u8]) -> Result<Self, ReceiptError> {
        let sealed = cose::open(encoded, Receipt::LEN_MAX)?;
        let [provider, certificate, started, weight] = sealed.items.as_slice() else {
            return Err(ReceiptError::Refused(IdentityError::Malformed("a receipt has four fields")));
        };
        Ok(Self {
            provider: TeamId(cose::array(provider, "the provider is not 24 bytes")?),
            certificate: CertificateRef(cose::array(certificate, "the certificate is not 16 bytes")?),
            started: UnixSeconds(cose::number(started, "the session's start is not a number")?),
            weight: Bytes(cose::number(weight, "the weight is not a number")?),
            encoded: encoded.to_vec(),
            sealed,
        })
    }

    /// The certificate that is needed to check it.
    pub fn certificate(&self) -> CertificateRef {
        self.certificate
    }

    /// The suite that it names.
    pub fn suite(&self) -> Suite {
        self.sealed.suite
    }

    /// The team that it says has served.
    pub fn provider(&self) -> TeamId {
        self.provider
    }

    /// When it says that the session began.
    pub fn started(&self) -> UnixSeconds {
        self.started
    }

    /// How much it says was served.
    pub fn weight(&self) -> Bytes {
        self.weight
    }

    /// The signature that has to be checked; it covers the whole digest of `certificate`.
    ///
    /// # Errors
    /// [`ReceiptError::WrongSuite`].
    pub fn claim(&self, certificate: &Certificate) -> Result<Claim, ReceiptError> {
        Ok(self.sealed.claim(certificate.subject(), DOMAIN, certificate.digest())?)
    }

    /// The receipt, now that everything was checked.
    pub(crate) fn accept(self, certificate: &Certificate) -> Result<Receipt, ReceiptError> {
        if certificate.reference() != self.certificate {
            return Err(ReceiptError::UnknownCertificate(self.certificate));
        }
        let member = certificate.member_id();
        Ok(Receipt {
            session: SessionKey { provider: self.provider, member, started: self.started },
            consumer: certificate.team_id(),
            certificate: self.certificate,
            weight: self.weight,
            encoded: self.encoded,
        })
    }
}
