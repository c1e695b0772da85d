use guestright_identity::{Certificate, Delegation, KeyId, Role, SecretKey};
use guestright_units::TeamId;
use thiserror::Error;

/// How a member's tunnel comes home. A member may have one of each at a time: a phone's own client and a computer's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    #[default]
    WireGuard,
    Ipsec,
}

/// Which tunnel it is: a member has one of each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tunnel {
    pub(super) member: KeyId,
    pub(super) way: Way,
}

/// What a home has from a member: its word, the key that it is about, and the team's certificate for that key.
#[derive(Clone, Debug)]
pub struct Mandate {
    pub(super) delegation: Delegation,
    pub(super) key: SecretKey,
    pub(super) certificate: Certificate,
    pub(super) way: Way,
}

/// Why the three do not belong together.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MandateError {
    /// The delegation is to another key.
    #[error("the delegation is for another key than the delegate's")]
    OtherKey,
    /// The certificate is another key's.
    #[error("the certificate is for another key than the delegate's")]
    OtherCertificate,
    /// The certificate is for something else, or of another team.
    #[error(
        "the delegate's certificate is of team {got} for {role}; it has to be of team {want} for a member"
    )]
    Certificate {
        got: TeamId,
        role: Role,
        /// Whose it has to be.
        want: TeamId,
    },
}

impl Mandate {
    /// Puts the three together for the home of `team`.
    ///
    /// # Errors
    /// They do not belong together. Whether they hold now is asked at each call.
    pub fn new(
        delegation: Delegation,
        key: SecretKey,
        certificate: Certificate,
        team: TeamId,
    ) -> Result<Self, MandateError> {
        if delegation.delegate() != key.public() {
            return Err(MandateError::OtherKey);
        }
        if certificate.subject() != key.public() {
            return Err(MandateError::OtherCertificate);
        }
        if certificate.role() != Role::Member || certificate.team_id() != team {
            let (got, role) = (certificate.team_id(), certificate.role());
            return Err(MandateError::Certificate { got, role, want: team });
        }
        Ok(Self { delegation, key, certificate, way: Way::default() })
    }

    /// The same for a tunnel that comes this way.
    pub fn by(self, way: Way) -> Self {
        Self { way, ..self }
    }

    /// How the tunnel comes that it is for.
    pub fn way(&self) -> Way {
        self.way
    }

    pub(super) fn tunnel(&self) -> Tunnel {
        Tunnel { member: self.delegation.member_id(), way: self.way }
    }

    /// The member's word.
    pub fn delegation(&self) -> &Delegation {
        &self.delegation
    }

    /// The certificate under which the delegate signs.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }
}
