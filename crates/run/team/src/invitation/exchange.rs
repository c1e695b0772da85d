//! What the two say to each other, in JSON: who the team is, which keys are to be certified, the certificates.
//!
//! A key is certified only if its owner signs the founder's nonce with it: nobody gets a certificate for another's key.

use super::{Founder, Membership, keep};
use crate::life::{DAY, span};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_channel::{Channel, Receiver, Sender};
use guestright_clock::unix_seconds;
use guestright_error::RunError;
use guestright_identity::{Certificate, PublicKey, RevocationList, Role, SecretKey, Signature, Suite};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;
const DOMAIN: &[u8] = b"guestright/invite-key/1";

/// The founder's first word.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hello {
    version: u32,
    suite: String,
    /// The team's public key.
    team: Base64,
    nonce: Base64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    keys: Vec<RequestedKey>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestedKey {
    role: RoleName,
    public: Base64,
    /// The key's signature of the founder's nonce and this role.
    proof: Base64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    certificates: Vec<Base64>,
    revocations: Base64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RoleName {
    AccessPoint,
    Home,
}

/// Bytes, as JSON can hold them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Base64(String);

impl Base64 {
    fn new(bytes: &[u8]) -> Self {
        Self(STANDARD.encode(bytes))
    }

    fn bytes(&self) -> Result<Vec<u8>, RunError> {
        STANDARD.decode(&self.0).map_err(|_| wrong("what should be base64"))
    }
}

impl RoleName {
    fn role(self) -> Role {
        match self {
            Self::AccessPoint => Role::AccessPoint,
            Self::Home => Role::Home,
        }
    }

    fn of(role: Role) -> Option<Self> {
        match role {
            Role::AccessPoint => Some(Self::AccessPoint),
            Role::Home => Some(Self::Home),
            Role::Member => None,
        }
    }
}

fn wrong(what: &str) -> RunError {
    RunError::network(format!("the other computer sent {what}"))
}

fn signed(nonce: &[u8], role: Role, public: &PublicKey) -> Vec<u8> {
    [DOMAIN, nonce, role.to_string().as_bytes(), public.as_bytes()].concat()
}

/// The founder's side.
pub(super) async fn answer(channel: Channel, founder: &Founder) -> Result<Vec<Certificate>, RunError> {
    let (mut sender, mut receiver) = channel.split();
    let nonce = guestright_clock::seed().0;
    let public = founder.team.public();
    let suite = public.suite();
    let hello = Hello {
        version: VERSION,
        suite: suite.name().to_owned(),
        team: Base64::new(public.as_bytes()),
        nonce: Base64::new(&nonce),
    };
    send(&mut sender, &hello).await?;
    let request: Request = receive(&mut receiver).await?;
    let certificates = certify(founder, &request, suite, &nonce)?;
    keep(founder, &certificates)?;
    let grant = Grant {
        certificates: certificates.iter().map(|each| Base64::new(each.as_bytes())).collect(),
        revocations: Base64::new(founder.revocations.as_bytes()),
    };
    send(&mut sender, &grant).await?;
    Ok(certificates)
}

fn certify(
    founder: &Founder,
    request: &Request,
    suite: Suite,
    nonce: &[u8],
) -> Result<Vec<Certificate>, RunError> {
    let roles: Vec<_> = request.keys.iter().map(|key| key.role).collect();
    let is_twice = (1..roles.len()).any(|index| roles[..index].contains(&roles[index]));
    if roles.is_empty() || is_twice {
        return Err(wrong("a request without a key, or with two of a role"));
    }
    let (from, to) = span(unix_seconds(), founder.days * DAY);
    let issue = |key: &RequestedKey| {
        let public =
            PublicKey::parse(suite, &key.public.bytes()?).map_err(|_| wrong("a key that is none"))?;
        let role = key.role.role();
        let proof = Signature(key.proof.bytes()?);
        public
            .verify(&signed(nonce, role, &public), &proof)
            .map_err(|_| wrong("a key that it does not have"))?;
        Ok(Certificate::issue(&founder.team, &public, role, from, to))
    };
    request.keys.iter().map(issue).collect()
}

/// The side of whoever was invited.
pub(super) async fn ask(channel: Channel, roles: &[Role]) -> Result<Membership, RunError> {
    let (mut sender, mut receiver) = channel.split();
    let hello: Hello = receive(&mut receiver).await?;
    if hello.version != VERSION {
        return Err(wrong("a version that this program does not know")
            .with_hint("install the same version of guestright on both computers"));
    }
    let suite: Suite =
        hello.suite.parse().map_err(|_| wrong("a signature suite that this program does not know"))?;
    if suite.is_legacy() {
        return Err(wrong("a signature suite that is for measurements only"));
    }
    let team =
        PublicKey::parse(suite, &hello.team.bytes()?).map_err(|_| wrong("a team's key that is none"))?;
    let nonce = hello.nonce.bytes()?;
    let mut rng = guestright_clock::rng();
    let keys: Vec<_> = roles.iter().map(|role| (*role, SecretKey::generate(suite, &mut rng))).collect();
    let requested = keys.iter().filter_map(|(role, key)| {
        let proof = key.sign(&signed(&nonce, *role, key.public()));
        let (public, proof) = (Base64::new(key.public().as_bytes()), Base64::new(&proof.0));
        Some(RequestedKey { role: RoleName::of(*role)?, public, proof })
    });
    send(&mut sender, &Request { keys: requested.collect() }).await?;
    let grant: Grant = receive(&mut receiver).await?;
    let mut certified = Vec::new();
    for ((role, key), certificate) in keys.into_iter().zip(&grant.certificates) {
        let certificate =
            Certificate::parse(&certificate.bytes()?).map_err(|_| wrong("a certificate that is none"))?;
        let is_ours = certificate.subject() == key.public() && certificate.team() == &team;
        if !is_ours || certificate.check(role, unix_seconds()).is_err() {
            return Err(wrong("a certificate for something else, or one that does not hold now")
                .with_hint("are the clocks of both computers right?"));
        }
        certified.push((key, certificate));
    }
    if certified.len() != roles.len() {
        return Err(wrong("fewer certificates than were asked for"));
    }
    let list = RevocationList::parse(&grant.revocations.bytes()?);
    let revocations = list.map_err(|_| wrong("a revocation list that is none"))?;
    if revocations.team_id() != team.team_id() {
        return Err(wrong("another team's revocation list"));
    }
    Ok(Membership { keys: certified, revocations })
}

async fn send(sender: &mut Sender, message: &impl Serialize) -> Result<(), RunError> {
    let bytes = serde_json::to_vec(message).map_err(RunError::bug)?;
    sender.send(&bytes).await.map_err(RunError::network)
}

async fn receive<T: DeserializeOwned>(receiver: &mut Receiver) -> Result<T, RunError> {
    let bytes = receiver.receive().await.map_err(RunError::network)?;
    let bytes = bytes.ok_or_else(|| wrong("nothing more"))?;
    serde_json::from_slice(&bytes).map_err(|_| wrong("what is no message of an invitation"))
}
