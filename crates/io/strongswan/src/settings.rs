//! What the way in through strongSwan is to be.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::StrongswanError;

/// The fewest bytes of a secret: whoever sees one IKE handshake from its middle can guess at leisure.
const SECRET_BYTES_MIN: usize = 12;
const SECRET_BYTES_MAX: usize = 256;
const NAME_BYTES_MAX: usize = 63;
/// Each member is three connections of charon's, one for each way to write a name.
const MEMBERS_MAX: usize = 250;

/// A shared secret: not shown, and wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// A secret, from its text.
    ///
    /// # Errors
    /// It has fewer than 12 bytes or more than 256, or is not of visible ASCII characters, or has a quotation mark
    /// or a backslash in it (pppd's files could not hold it).
    pub fn new(text: &str) -> Result<Self, StrongswanError> {
        let fits = |byte: u8| byte.is_ascii_graphic() && !b"\"'\\#".contains(&byte);
        if (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits) {
            return Ok(Self(Zeroizing::new(text.to_owned())));
        }
        let got = format!("{} bytes", text.len());
        let want = "12 to 256 visible characters, without spaces, quotation marks, # and \\";
        Err(StrongswanError::Setting { what: "a shared secret", got, want })
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Somebody who may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The identity, and the name to log in with: letters, digits and dashes.
    pub name: String,
    /// The address that it has inside the tunnel, always the same.
    pub address: Ipv4Addr,
    pub secret: Secret,
}

/// Which suites are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// IKEv2 with today's suites.
    #[default]
    Modern,
    /// Besides, IKEv1 with the suites of the papers: broken ones, for measuring.
    LegacyPaper,
}

/// Who encrypts packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataPlane {
    /// The kernel where it can, else charon.
    #[default]
    Probe,
    Kernel,
    /// charon, through a TUN device (kernel-libipsec).
    Userspace,
}

impl fmt::Display for DataPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Probe => "not known yet",
            Self::Kernel => "kernel",
            Self::Userspace => "userspace",
        })
    }
}

/// What a gateway proves itself with to clients that log in by name and password (EAP-MSCHAPv2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The X.509 certificate, PEM or DER; its subject or an alternative name is the gateway's identity. PEM may go on
    /// with the certificates of its issuers.
    pub certificate: Vec<u8>,
    /// Its private key, PEM or DER.
    pub key: Zeroizing<Vec<u8>>,
}

/// The way in for L2TP clients: IKEv1, ESP in transport mode, L2TP, PPP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L2tp {
    /// The address that clients call. L2TP to it without IPsec is dropped.
    pub listen: Ipv4Addr,
    /// The gateway's address inside the tunnels.
    pub gateway: Ipv4Addr,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A directory of our own; made if it is not there, for nobody else to enter.
    pub directory: PathBuf,
    /// The gateway's identity: a name, not an address.
    pub identity: String,
    /// Who may come in.
    pub members: Vec<Member>,
    /// Resolvers that clients are told to use.
    pub resolvers: Vec<IpAddr>,
    /// Which suites are offered.
    pub profile: Profile,
    /// Who encrypts packets.
    pub data_plane: DataPlane,
    /// For clients that log in by name and password.
    pub certificate: Option<Certificate>,
    /// The secret that all share who come by IKEv1 (L2TP, and the papers' suites): the protocol has no better.
    pub team_secret: Option<Secret>,
    /// The way in for L2TP clients.
    pub l2tp: Option<L2tp>,
}

impl Settings {
    /// Whether all of it can be.
    ///
    /// # Errors
    /// The first setting that cannot.
    pub fn check(&self) -> Result<(), StrongswanError> {
        let setting = |what, got: String, want| Err(StrongswanError::Setting { what, got, want });
        let is_address = self.identity.parse::<IpAddr>().is_ok();
        if !is_name(&self.identity, b"-.") || is_address {
            return setting(
                "the gateway's identity",
                self.identity.clone(),
                "a name such as home.example.org",
            );
        }
        if self.members.len() > MEMBERS_MAX {
            return setting("the number of members", self.members.len().to_string(), "250 at most");
        }
        let (mut names, mut addresses) = (BTreeSet::new(), BTreeSet::new());
        for member in &self.members {
            if !is_name(&member.name, b"-") {
                return setting("a member's name", member.name.clone(), "1 to 63 letters, digits and dashes");
            }
            if !names.insert(&member.name) {
                return setting("a member's name", member.name.clone(), "a name that nobody else has");
            }
            if !addresses.insert(member.address) {
                return setting("an address", member.address.to_string(), "one that nobody else has");
            }
        }
        if self.team_secret.is_none() && (self.l2tp.is_some() || self.profile == Profile::LegacyPaper) {
            return setting(
                "team_secret",
                "not set".to_owned(),
                "a secret, for L2TP and for the papers' suites",
            );
        }
        Ok(())
    }
}

fn is_name(text: &str, besides: &[u8]) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || besides.contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two members and nothing special.
    pub(crate) fn settings() -> Settings {
        let member = |name: &str, last, secret| Member {
            name: name.to_owned(),
            address: Ipv4Addr::new(10, 78, 0, last),
            secret: Secret::new(secret).unwrap(),
        };
        Settings {
            directory: "/nowhere".into(),
            identity: "home.example.org".to_owned(),
            members: vec![member("alice", 254, "alice-secret-1"), member("bob", 253, "bob-secret-234")],
            resolvers: vec![Ipv4Addr::new(10, 78, 0, 1).into()],
            profile: Profile::Modern,
            data_plane: DataPlane::Probe,
            certificate: None,
            team_secret: None,
            l2tp: None,
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let shown = format!("{:?}", settings());
        assert!(shown.contains("alice") && !shown.contains("alice-secret"), "{shown}");
        let refused = Secret::new("short pass").unwrap_err().to_string();
        assert!(!refused.contains("short pass"), "{refused}");
    }

    #[test]
    fn refuses_what_cannot_be() {
        assert_eq!(settings().check(), Ok(()));
        let l2tp = L2tp { listen: Ipv4Addr::LOCALHOST, gateway: Ipv4Addr::LOCALHOST };
        #[rustfmt::skip]
        let cases: [(&str, Settings); 6] = [
            ("identity", Settings { identity: "192.0.2.1".to_owned(), ..settings() }),
            ("identity", Settings { identity: "a b".to_owned(), ..settings() }),
            ("name", { let mut it = settings(); it.members[0].name = "a\"b".to_owned(); it }),
            ("nobody else", { let mut it = settings(); it.members[1].name = "alice".to_owned(); it }),
            ("nobody else", { let mut it = settings(); it.members[1].address = it.members[0].address; it }),
            ("team_secret", Settings { l2tp: Some(l2tp), ..settings() }),
        ];
        for (word, settings) in cases {
            let refused = settings.check().unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
        for text in ["eleven-byte", "has a space in it", "quotation\"mark", "backslash\\here"] {
            assert!(Secret::new(text).is_err(), "{text}");
        }
    }
}
