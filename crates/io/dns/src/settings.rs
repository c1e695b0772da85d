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

    /// A key file as `tsig-keygen` writes it: `key "NAME" { algorithm hmac-sha256; secret "…"; };`
    ///
    /// # Errors
    /// [`DnsError::Key`], without the secret in it: it is something else, two keys, or of another algorithm.
    pub fn parse(text: &str) -> Result<Self, DnsError> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with(['#', '/']));
        let words: Vec<&str> = lines
            .flat_map(|line| line.split(|letter: char| letter.is_whitespace() || "{};\"".contains(letter)))
            .filter(|word| !word.is_empty())
            .collect();
        let (name, algorithm, secret) = match words[..] {
            ["key", name, "algorithm", algorithm, "secret", secret]
            | ["key", name, "secret", secret, "algorithm", algorithm] => (name, algorithm, secret),
            _ => {
                let problem = "it is not one key as `tsig-keygen -a hmac-sha256 NAME` writes it";
                return Err(DnsError::Key(problem.to_owned()));
            }
        };
        if !algorithm.eq_ignore_ascii_case("hmac-sha256") {
            let problem = "its algorithm is not hmac-sha256; make one with `tsig-keygen -a hmac-sha256 NAME`";
            return Err(DnsError::Key(problem.to_owned()));
        }
        Self::from_base64(name, secret)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_one_key_of_the_one_algorithm() {
        let secret = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
        let good = format!(
            "# for updates\nkey \"home\" {{\n\talgorithm hmac-sha256;\n\tsecret \"{secret}\";\n}};\n"
        );
        assert_eq!(format!("{:?}", TsigKey::parse(&good).unwrap()), "TsigKey(home.)");
        let cases = [
            good.replace("sha256", "md5"),
            good.repeat(2),
            good.replace(secret, "short"),
            secret.to_owned(),
            String::new(),
        ];
        for text in cases {
            let refused = TsigKey::parse(&text).unwrap_err().to_string();
            assert!(!refused.contains(secret) && !refused.is_empty(), "{refused}");
        }
    }
}
