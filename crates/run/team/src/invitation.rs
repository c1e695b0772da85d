//! Certificates for another computer of the team, for keys that it makes itself, by a code that is good once and for a few
//! minutes (design note 0011).

mod exchange;

use crate::directory::revocations;
use data_encoding::BASE32_NOPAD;
use guestright_channel::{Channel, InvitationSecret, accept_invited, connect_invited};
use guestright_error::{OrFail as _, RunError};
use guestright_identity::{Certificate, RevocationList, Role, SecretKey};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

/// How long the whole exchange may take, after the handshake; and a connection to come about.
const EXCHANGE_MAX: Duration = Duration::from_secs(15);
/// How many connections are answered at a time. None of them costs more than a handshake.
const AT_A_TIME: usize = 8;
/// After so many connections that did not know the secret somebody is trying: the code is void.
const STRANGERS_MAX: usize = 200;

/// What the founder reads out: where, and the secret.
#[derive(Clone, Debug)]
pub struct Code {
    address: String,
    secret: InvitationSecret,
}

impl FromStr for Code {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANT: &str =
            "a code as `guestright team invite` prints it, such as 192.168.1.5:7279/abcd-efgh-…";
        let (address, secret) = text.trim().rsplit_once('/').ok_or(WANT)?;
        let digits: String = secret.chars().filter(|c| *c != '-').collect::<String>().to_ascii_uppercase();
        let bytes = BASE32_NOPAD.decode(digits.as_bytes()).map_err(|_| WANT)?;
        let bytes: [u8; 16] = bytes.try_into().map_err(|_| WANT)?;
        if !address.contains(':') || address.len() > 260 {
            return Err(WANT);
        }
        Ok(Self { address: address.to_owned(), secret: InvitationSecret::new(bytes) })
    }
}

impl Code {
    /// A code with a fresh secret, for whoever finds this computer at this address.
    fn new(address: String) -> Self {
        let mut secret = InvitationSecret::default();
        secret.copy_from_slice(&guestright_clock::seed().0[..16]);
        Self { address, secret }
    }

    /// As a person reads it out: small letters, in fours.
    pub fn text(&self) -> String {
        let digits = BASE32_NOPAD.encode(&self.secret[..]).to_ascii_lowercase();
        let groups: Vec<_> =
            digits.as_bytes().chunks(4).map(|group| String::from_utf8_lossy(group)).collect();
        format!("{}/{}", self.address, groups.join("-"))
    }
}

/// Listens for whoever is to come, and makes a code for it. Its address is the one that is given, with the port if that has none;
/// or the one that is listened at; or the one towards the household's router.
///
/// # Errors
/// Nothing can listen there, or there is no way to a router.
pub async fn open(listen: SocketAddr, address: Option<&str>) -> Result<(TcpListener, Code), RunError> {
    let failed = |error| {
        RunError::network(format!("listen at {listen}: {error}"))
            .with_hint("choose another port with --listen")
    };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let port = listener.local_addr().map_err(RunError::network)?.port();
    let address = match address {
        Some(address) if address.contains(':') => address.to_owned(),
        Some(address) => format!("{address}:{port}"),
        None if !listen.ip().is_unspecified() => SocketAddr::new(listen.ip(), port).to_string(),
        None => {
            let uplink = guestright_portmap::uplink().map_err(|error| {
                RunError::network(error)
                    .with_hint("say with --address where the other computer finds this one")
            })?;
            SocketAddr::new(uplink.own.into(), port).to_string()
        }
    };
    Ok((listener, Code::new(address)))
}

/// What the founder signs with, and where what it signed is kept.
#[derive(Debug)]
pub struct Founder {
    team: SecretKey,
    revocations: RevocationList,
    dir: PathBuf,
    name: String,
    days: u64,
}

impl Founder {
    /// For a computer of this name, and certificates that hold for so many days.
    ///
    /// # Errors
    /// The name has certificates already, or the team's list cannot be read.
    pub fn new(dir: &Path, team: SecretKey, name: &str, days: u64) -> Result<Self, RunError> {
        let revocations = revocations(dir)?.map_or_else(|| empty_list(&team), Ok)?;
        let this = Self { team, revocations, dir: dir.to_path_buf(), name: name.to_owned(), days };
        for role in [Role::AccessPoint, Role::Home] {
            let path = this.certificate_path(role);
            if path.exists() {
                return Err(RunError::config(format!("{} exists already", path.display()))
                    .with_hint("every name is given once; choose another with --name"));
            }
        }
        Ok(this)
    }

    /// Where the certificate for this role is kept, in the team's directory.
    pub fn certificate_path(&self, role: Role) -> PathBuf {
        let suffix = if role == Role::Home { "home" } else { "ap" };
        self.dir.join(format!("{}-{suffix}.cert", self.name))
    }

    /// Waits for whoever knows the code's secret, for so many minutes. Whoever comes first is the only one: whatever becomes
    /// of it, the code is void.
    ///
    /// # Errors
    /// Nobody came, somebody is trying secrets, or the exchange failed.
    pub async fn wait(
        &self,
        listener: &TcpListener,
        code: &Code,
        minutes: u64,
    ) -> Result<(SocketAddr, Vec<Certificate>), RunError> {
        let end = tokio::time::Instant::now() + Duration::from_secs(minutes * 60);
        let mut handshakes: JoinSet<Option<(Channel, SocketAddr)>> = JoinSet::new();
        let mut strangers = 0;
        loop {
            tokio::select! {
                accepted = listener.accept(), if handshakes.len() < AT_A_TIME => {
                    let Ok((stream, peer)) = accepted else { continue };
                    let secret = code.secret.clone();
                    handshakes.spawn(async move {
                        accept_invited(stream, &secret).await.ok().map(|channel| (channel, peer))
                    });
                }
                Some(done) = handshakes.join_next() => match done {
                    Ok(Some((channel, peer))) => return self.certify(channel, peer).await,
                    Ok(None) | Err(_) => strangers += 1,
                },
                () = sleep_until(end) => {
                    return Err(RunError::network(format!("nobody came in {minutes} minutes, and the code is void"))
                        .with_hint("run it again for a new code; the other computer has to reach this one at the code's address"));
                }
            }
            if strangers > STRANGERS_MAX {
                return Err(RunError::network(format!(
                    "{strangers} connections did not know the secret: the code is void"
                ))
                .with_hint("somebody is trying; run it again when that is over"));
            }
        }
    }

    async fn certify(
        &self,
        channel: Channel,
        peer: SocketAddr,
    ) -> Result<(SocketAddr, Vec<Certificate>), RunError> {
        let answered = timeout(EXCHANGE_MAX, exchange::answer(channel, self)).await;
        let again = |error: RunError| error.with_hint("the code is void: run it again for a new one");
        let silent = || again(RunError::network(format!("{peer} did not go on")));
        let certificates = answered.map_err(|_| silent())?.map_err(again)?;
        Ok((peer, certificates))
    }
}

/// Keys with their certificates, and what the team has revoked.
#[derive(Debug)]
pub struct Membership {
    pub keys: Vec<(SecretKey, Certificate)>,
    pub revocations: RevocationList,
}

/// Makes keys for these roles and has them certified by whoever printed the code.
///
/// # Errors
/// Nobody waits there, or the exchange failed.
pub fn join(code: &Code, roles: &[Role]) -> Result<Membership, RunError> {
    let hint = "is `guestright team invite` still waiting, and is the code whole? A code works once";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(RunError::network)?.block_on(async {
        let address = code.address.to_socket_addrs().ok().and_then(|mut found| found.next());
        let unknown = || RunError::network(format!("{} has no address", code.address));
        let address = address.ok_or_else(unknown)?;
        let connecting = timeout(EXCHANGE_MAX, TcpStream::connect(address)).await;
        let stream = connecting
            .map_err(|_| RunError::network(format!("{address} does not answer")).with_hint(hint))?;
        let stream = stream.or_network(|| format!("connect to {address}"));
        let stream = stream.map_err(|error| error.with_hint(hint))?;
        let channel = connect_invited(stream, &code.secret).await;
        let channel = channel.or_network(|| format!("speak to {address}"));
        let channel = channel.map_err(|error| error.with_hint(hint))?;
        let asked = timeout(EXCHANGE_MAX, exchange::ask(channel, roles)).await;
        asked.map_err(|_| RunError::network(format!("{address} did not go on")).with_hint(hint))?
    })
}

/// The list of a team that has revoked nobody: any other takes its place.
///
/// # Errors
/// It cannot be signed, which is our mistake.
pub fn empty_list(team: &SecretKey) -> Result<RevocationList, RunError> {
    RevocationList::issue(team, 0, guestright_clock::unix_seconds(), std::collections::BTreeMap::new())
        .map_err(RunError::bug)
}

/// Writes certificates into the team's directory, where `member list` and `member revoke` find them.
fn keep(founder: &Founder, certificates: &[Certificate]) -> Result<(), RunError> {
    for certificate in certificates {
        let path: &Path = &founder.certificate_path(certificate.role());
        guestright_keys::write_certificate(path, certificate).map_err(RunError::config)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_reads_as_it_is_written_whatever_a_person_does_to_it() {
        let code = Code { address: "192.168.1.5:7279".to_owned(), secret: InvitationSecret::new([0xA7; 16]) };
        let text = code.text();
        for written in [text.clone(), format!(" {text}\n"), text.to_uppercase(), text.replace('-', "")] {
            let read: Code = written.parse().unwrap();
            assert_eq!(
                (read.address.as_str(), &read.secret),
                ("192.168.1.5:7279", &code.secret),
                "{written}"
            );
        }
        let cut = &text[..text.len() - 1];
        for wrong in [cut, "192.168.1.5/abcd", "", "/", "a:1/0189"] {
            assert!(wrong.parse::<Code>().is_err(), "{wrong}");
        }
    }
}
