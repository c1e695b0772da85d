use crate::ReceiptError;
use ciborium::Value;
use guestright_identity::cose::{self, Sealed};
use guestright_identity::{Certificate, CertificateRef, Claim, IdentityError, MemberId, SecretKey, Suite};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use std::fmt;

const DOMAIN: &str = "receipt";

/// The name of a hold, which is credit that homes have reserved for a visitor (design note 0010): 24 bytes of a digest
/// of its terms.
///
/// A receipt that names it names one path, so it cannot be cashed along two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldId(pub [u8; 24]);

impl fmt::Display for HoldId {
    /// The first eight hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HoldId({self})")
    }
}

/// What was served on a hold, as a receipt says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoldUse {
    /// Which hold.
    pub id: HoldId,
    /// How much of the session's bytes were served on it, so far.
    pub weight: Bytes,
}

/// What a receipt is signed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The team that serves.
    pub provider: TeamId,
    /// When the session began.
    pub started: UnixSeconds,
    /// How much was served in the session, both ways, so far.
    pub weight: Bytes,
    /// The hold that it was last served on, and how much of the weight on that.
    pub hold: Option<HoldUse>,
    /// How much of the weight on all holds together; nothing without a hold.
    pub on_holds: Bytes,
}

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
    hold: Option<HoldUse>,
    on_holds: Bytes,
    encoded: Vec<u8>,
}

/// A receipt that was checked: its signature is its member's, whose certificate held when the session began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    session: SessionKey,
    consumer: TeamId,
    certificate: CertificateRef,
    weight: Bytes,
    hold: Option<HoldUse>,
    on_holds: Bytes,
    encoded: Vec<u8>,
}

impl Receipt {
    /// No receipt has more bytes: an RSA-2048 signature, a large weight and their frame.
    pub const LEN_MAX: usize = 512;

    /// Signs a receipt that names no hold, as the member that `certificate` is for.
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
        let service = Service { provider, started, weight, hold: None, on_holds: Bytes(0) };
        Self::sign_service(member, certificate, service)
    }

    /// Signs a receipt as the member that `certificate` is for. One that names a hold has up to 44 bytes more.
    ///
    /// # Panics
    /// If `member` is not the key that `certificate` is for, more was served on the hold than on all, more on holds than at
    /// all, or something on holds where none is named.
    pub fn sign_service(member: &SecretKey, certificate: &Certificate, service: Service) -> Self {
        assert_eq!(member.public(), certificate.subject(), "the certificate is the signer's own");
        let Service { provider, started, weight, hold, on_holds } = service;
        let on_hold = hold.map_or(Bytes(0), |hold| hold.weight);
        assert!(on_hold <= on_holds && on_holds <= weight, "what is on a hold is part of what is signed for");
        assert!(hold.is_some() || on_holds == Bytes(0), "what is on holds is on one that has a name");
        let mut items = vec![
            Value::Bytes(provider.0.to_vec()),
            Value::Bytes(certificate.reference().0.to_vec()),
            Value::from(started.0),
            Value::from(weight.0),
        ];
        if let Some(HoldUse { id, weight }) = hold {
            items.extend([Value::Bytes(id.0.to_vec()), Value::from(weight.0), Value::from(on_holds.0)]);
        }
        let encoded = cose::seal(member, DOMAIN, certificate.digest(), items);
        let session = SessionKey { provider, member: certificate.member_id(), started };
        let certificate_ref = certificate.reference();
        Self {
            session,
            consumer: certificate.team_id(),
            certificate: certificate_ref,
            weight,
            hold,
            on_holds,
            encoded,
        }
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

    /// The hold that it names, and what was served on that.
    pub fn hold(&self) -> Option<HoldUse> {
        self.hold
    }

    /// How much was served on all holds of the session together.
    pub fn on_holds(&self) -> Bytes {
        self.on_holds
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
        let malformed = |reason| ReceiptError::Refused(IdentityError::Malformed(reason));
        let (fields, holds) = match sealed.items.as_slice() {
            [fields @ .., id, weight, on_holds] if fields.len() == 4 => {
                (fields, Some((id, weight, on_holds)))
            }
            fields => (fields, None),
        };
        let [provider, certificate, started, weight] = fields else {
            return Err(malformed("a receipt has four or seven fields"));
        };
        let holds = holds.map(|(id, weight, on_holds)| {
            let id = HoldId(cose::array(id, "the hold is not 24 bytes")?);
            let weight = Bytes(cose::number(weight, "the weight on the hold is not a number")?);
            let on_holds = Bytes(cose::number(on_holds, "the weight on all holds is not a number")?);
            Ok::<_, IdentityError>((HoldUse { id, weight }, on_holds))
        });
        let holds = holds.transpose()?;
        let (hold, on_holds) = (holds.map(|(hold, _)| hold), holds.map_or(Bytes(0), |(_, sum)| sum));
        let weight = Bytes(cose::number(weight, "the weight is not a number")?);
        if hold.is_some_and(|hold| hold.weight > on_holds) {
            return Err(malformed("more was served on the hold than on all holds"));
        }
        if on_holds > weight {
            return Err(malformed("more was served on holds than at all"));
        }
        Ok(Self {
            provider: TeamId(cose::array(provider, "the provider is not 24 bytes")?),
            certificate: CertificateRef(cose::array(certificate, "the certificate is not 16 bytes")?),
            started: UnixSeconds(cose::number(started, "the session's start is not a number")?),
            weight,
            hold,
            on_holds,
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

    /// The hold that it names, and what it says was served on that.
    pub fn hold(&self) -> Option<HoldUse> {
        self.hold
    }

    /// How much it says was served on all holds of the session together.
    pub fn on_holds(&self) -> Bytes {
        self.on_holds
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
            hold: self.hold,
            on_holds: self.on_holds,
            encoded: self.encoded,
        })
    }
}
