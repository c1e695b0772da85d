//! What a phone is to be given.

use guestright_units::UnixSeconds;

use crate::text::{check_domain, check_label, check_name};
use crate::{ConsortiumId, PrivateKey, ProfileError, Secret, Ssid, Uuid, der};

/// Systems keep few of them, and nobody has registered more than one.
const CONSORTIUMS_MAX: usize = 4;
const HOME_NETWORKS_MAX: usize = 8;

/// A member's phone, or computer, and everything that it has to know.
///
/// [`Phone::check`] says whether all of it can be; what writes files calls it, and returns its error.
#[derive(Clone, Debug)]
pub struct Phone {
    /// By chance, and the same for as long as this phone is this member's: a profile of the same identity takes the
    /// place of the one before.
    pub uuid: Uuid,
    /// What the certificate calls it: by chance, not a person's name. Also the name of its files.
    pub label: String,
    /// What people read: the team, or the household.
    pub team: String,
    /// `TEAM.ZONE`: where access points ask who this is (RFC 7542).
    pub realm: String,
    /// What the home's certificate is for: the realm, or a name below it.
    pub server: String,
    /// The Wi-Fi of participating households: [`Ssid::common`], unless somebody knows better.
    pub ssid: Ssid,
    /// What the team's access points and others announce, if somebody has registered it.
    pub consortiums: Vec<ConsortiumId>,
    /// Of the home's certificate authority: X.509 as DER. Nobody else's is believed.
    pub authority: Vec<u8>,
    /// The common name in it: Apple's IKEv2 client asks for the issuer of the gateway's certificate by name.
    pub authority_name: String,
    /// The phone's own certificate: X.509 as DER, for a key on P-256.
    pub certificate: Vec<u8>,
    pub key: PrivateKey,
    pub not_before: UnixSeconds,
    /// When the certificate ends, and so the profile.
    pub not_after: UnixSeconds,
    pub tls: TlsVersions,
    /// The tunnel home, if the home's gateway lets IKEv2 in.
    pub ike: Option<Ike>,
}

/// Which versions of TLS are spoken inside EAP. Below 1.3 the access point sees the client's certificate go by
/// (RFC 9190, section 2.1.4), which is why that holds a random label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersions {
    /// 1.2 alone: for a home, or phones, whose 1.3 turns out not to work.
    Only12,
    /// 1.2, and 1.3 for those that can.
    #[default]
    UpTo13,
}

/// The UDP ports of IKEv2 (RFC 7296, section 2): an access point has to let these through before anybody has signed
/// (`ports` in `[tunnels]`), or a phone's tunnel never begins.
pub const IKE_PORTS: [u16; 2] = [500, 4_500];

/// The home's gateway for a built-in IKEv2 client.
#[derive(Clone, Debug)]
pub struct Ike {
    /// Name or address that the phone calls.
    pub gateway: String,
    /// How the gateway calls itself: a name.
    pub gateway_identity: String,
    /// How the phone calls itself: the member's name at the gateway.
    pub identity: String,
    pub authentication: IkeAuthentication,
    pub on_demand: OnDemand,
}

/// How both ends prove who they are, as the gateway offers it.
#[derive(Clone, Debug)]
pub enum IkeAuthentication {
    /// Both by one secret of this member's.
    SharedSecret(Secret),
    /// The gateway by its certificate, the phone by EAP-MSCHAPv2: with the same name and secret.
    Password(Secret),
    /// Both by certificates, the phone by the one that it joins Wi-Fi with.
    Certificate,
}

/// When a phone makes the tunnel without being asked.
#[derive(Clone, Debug, Default)]
pub struct OnDemand {
    /// The household's own networks: no tunnel there, since it is at home already.
    pub at_home: Vec<Ssid>,
    /// The domain that participating access points announce by DHCP, whatever they call their Wi-Fi.
    pub announced: Option<String>,
    pub elsewhere: Elsewhere,
}

/// What to do on other Wi-Fi.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elsewhere {
    /// Nothing: whatever tunnel there is may stay.
    #[default]
    Leave,
    /// Tunnel home as soon as the Internet is there, after any portal.
    Tunnel,
}

impl Phone {
    /// Whether all of it can be.
    ///
    /// # Errors
    /// The first thing that cannot.
    pub fn check(&self) -> Result<(), ProfileError> {
        check_label("a phone's label", &self.label)?;
        check_name("a team's name", &self.team)?;
        check_name("the authority's name", &self.authority_name)?;
        check_domain("a realm", &self.realm)?;
        check_domain("a server's name", &self.server)?;
        // Android compares the server's names with the provider's domain, and there is no other field for it that would
        // leave a private authority believed (`android`).
        if self.server != self.realm && !self.server.ends_with(&format!(".{}", self.realm)) {
            let (server, realm) = (self.server.clone(), self.realm.clone());
            return Err(ProfileError::ServerOutsideRealm { server, realm });
        }
        limit("roaming consortiums", self.consortiums.len(), CONSORTIUMS_MAX)?;
        let parts: [(&'static str, &[u8]); 3] = [
            ("the authority's certificate", &self.authority),
            ("the phone's certificate", &self.certificate),
            ("the phone's key", self.key.expose()),
        ];
        for (what, bytes) in parts {
            if !der::is_sequence(bytes) {
                return Err(ProfileError::NotDer { what });
            }
        }
        if self.not_before >= self.not_after {
            let (begins, ends) = (self.not_before.to_string(), self.not_after.to_string());
            return Err(ProfileError::Ended { begins, ends });
        }
        self.ike.as_ref().map_or(Ok(()), Ike::check)
    }

    /// The name under which it asks to be let in, the same for all phones of the team. Android makes this one and no
    /// other, so all systems use it: nobody can tell one kind of phone from another by it.
    pub(crate) fn outer_identity(&self) -> String {
        format!("anonymous@{}", self.realm)
    }
}

impl Ike {
    fn check(&self) -> Result<(), ProfileError> {
        let is_address = self.gateway.parse::<std::net::IpAddr>().is_ok();
        if !is_address {
            check_domain("the gateway's address", &self.gateway.to_ascii_lowercase())?;
        }
        // Somebody else has chosen these two, and may have written them in capitals.
        check_domain("the gateway's identity", &self.gateway_identity.to_ascii_lowercase())?;
        check_label("the member's name at the gateway", &self.identity)?;
        if let IkeAuthentication::SharedSecret(secret) | IkeAuthentication::Password(secret) =
            &self.authentication
            && (secret.expose().is_empty() || !secret.expose().bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(ProfileError::wrong("the member's secret", "not that", "visible ASCII characters"));
        }
        limit("the household's networks", self.on_demand.at_home.len(), HOME_NETWORKS_MAX)?;
        self.on_demand
            .announced
            .as_ref()
            .map_or(Ok(()), |domain| check_domain("the announced domain", domain))
    }
}

pub(crate) fn limit(what: &'static str, got: usize, want: usize) -> Result<(), ProfileError> {
    if got <= want { Ok(()) } else { Err(ProfileError::TooMany { what, got, want }) }
}
