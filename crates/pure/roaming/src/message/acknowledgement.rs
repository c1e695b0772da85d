use crate::message::Nonce;
use ciborium::Value;
use guestright_identity::{Certificate, IdentityError, KeyId, SecretKey, cose};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, Micros, TeamId, UnixSeconds};

const DOMAIN: &str = "acknowledgement";
const LEN_MAX: usize = 768;

/// The terms of a session, signed by the access point and bound to the visitor's nonce and key.
///
/// Without the signature a rogue access point could relay another one's sessions and have receipts signed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The nonce of the CONN that this answers.
    pub nonce: Nonce,
    /// Whose session it is.
    pub member: KeyId,
    /// The team that provides; receipts name it.
    pub provider: TeamId,
    /// When the session began; receipts name it.
    pub started: UnixSeconds,
    /// At the latest after so long the next receipt is asked for.
    pub interval: Micros,
    /// At the latest after so many bytes the next receipt is asked for.
    pub volume: Bytes,
    /// How the visitor is served.
    pub class: ServiceClass,
}

impl Acknowledgement {
    /// Signs these terms with the access point's key, which `certificate` is for.
    pub fn seal(&self, key: &SecretKey, certificate: &Certificate) -> Vec<u8> {
        let items = vec![
            Value::Bytes(self.nonce.to_vec()),
            Value::Bytes(self.member.0.to_vec()),
            Value::Bytes(self.provider.0.to_vec()),
            Value::from(self.started.0),
            Value::from(self.interval.0),
            Value::from(self.volume.0),
            Value::Text(self.class.to_string()),
        ];
        cose::seal(key, DOMAIN, certificate.digest(), items)
    }

    /// Reads terms and checks that the key of `certificate` signed them for its own team.
    ///
    /// # Errors
    /// What is wrong with the form, the signature or the team.
    pub fn open(encoded: &[u8], certificate: &Certificate) -> Result<Self, IdentityError> {
        let sealed = cose::open(encoded, LEN_MAX)?;
        sealed.claim(certificate.subject(), DOMAIN, certificate.digest())?.verify()?;
        let [nonce, member, provider, started, interval, volume, class] = sealed.items.as_slice() else {
            return Err(IdentityError::Malformed("an acknowledgement has seven fields"));
        };
        let class = class.as_text().and_then(|name| name.parse().ok());
        let terms = Self {
            nonce: cose::array(nonce, "the nonce is not 16 bytes")?,
            member: KeyId(cose::array(member, "the member is not 24 bytes")?),
            provider: TeamId(cose::array(provider, "the provider is not 24 bytes")?),
            started: UnixSeconds(cose::number(started, "the session's start is not a number")?),
            interval: Micros(cose::number(interval, "the interval is not a number")?),
            volume: Bytes(cose::number(volume, "the volume is not a number")?),
            class: class.ok_or(IdentityError::Malformed("there is no such class"))?,
        };
        if terms.provider != certificate.team_id() {
            return Err(IdentityError::Malformed(
                "the provider is not the team that certified the access point",
            ));
        }
        Ok(terms)
    }
}
