use crate::DnsError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hickory_proto::rr::rdata::tsig::TsigAlgorithm;
use hickory_proto::rr::{Name, TSigner};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use zeroize::Zeroizing;

/// How far clocks may differ, in seconds; RFC 8945 section 10 recommends it.
const FUDGE: u16 = 300;

/// A key for updates: hmac-sha256 (RFC 8945 section 6). `Debug` shows its name alone.
#[derive(Clone)]
pub struct TsigKey {
    name: Name,
    secret: Zeroizing<Vec<u8>>,
}

/// Where and how a name is updated.
#[derive(Clone, Debug)]
pub struct UpdateSettings {
    /// The zone's primary server, usually with port 53. It is spoken to over TCP.
    pub server: SocketAddr,
    /// The zone that the name is in.
    pub zone: String,
    /// The key for updates.
    pub key: TsigKey,
    /// How long others may keep the record, in seconds.
    pub ttl: u32,
    /// Whether the SRV, A and AAAA records for people are written, too. The name's own A and AAAA records are replaced
    /// then.
    pub for_people: bool,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl TsigKey {
    /// A key from its name and its secret in base64, as `tsig-keygen -a hmac-sha256 NAME` writes them.
    ///
    /// # Errors
    /// [`DnsError::Key`], without the secret in it.
    pub fn from_base64(name: &str, secret: &str) -> Result<Self, DnsError> {
        let refused = |what: &str| DnsError::Key(what.to_owned());
        let mut name = Name::from_ascii(name).map_err(|_| refused("its name is no name"))?;
        name.set_fqdn(true);
        let secret = STANDARD.decode(secret.trim()).map_err(|_| refused("its secret is not base64"))?;
        let secret = Zeroizing::new(secret);
        if secret.len() < 16 {
            return Err(refused("its secret has less than 16 bytes"));
        }
        Ok(Self { name, secret })
    }

    pub(crate) fn signer(&self) -> Result<TSigner, DnsError> {
        let made = TSigner::new(self.secret.to_vec(), TsigAlgorithm::HmacSha256, self.name.clone(), FUDGE);
        made.map_err(|error| DnsError::Key(error.to_string()))
    }
}

impl fmt::Debug for TsigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TsigKey({})", self.name)
    }
}
