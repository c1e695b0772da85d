//! `guestright team invite`: another computer of the team gets certificates for keys that it made itself, by a code that
//! is good once and for a few minutes (design note 0011).

mod exchange;

use super::{PassphraseArgs, is_name, no_team, team_key};
use anyhow::{Context, anyhow};
use data_encoding::BASE32_NOPAD;
use guestright_channel::{Channel, InvitationSecret, accept_invited, connect_invited};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_clock::Clock;
use guestright_identity::{Certificate, RevocationList, Role, SecretKey};
use serde_json::json;
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

/// Let another computer into the team: print a code for `guestright setup`, and wait for it
///
/// The other computer makes its own keys, and gets certificates for an access point and a home. The code holds the address
/// of this computer and a secret; it works once, until the time is over or this program ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright team invite --name cabin --dir family
  guestright setup --join 192.168.1.5:7279/abcd-efgh-…        on the other computer")]
pub(super) struct Invite {
    /// What the computer is to be called: letters, digits and dashes. Certificates are NAME-ap.cert and NAME-home.cert
    #[arg(long, default_value = "router")]
    name: String,
    /// Where to wait
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:7279")]
    listen: SocketAddr,
    /// Under which name or address the other computer finds this one; otherwise the one towards the household's router
    #[arg(long, value_name = "HOST[:PORT]")]
    address: Option<String>,
    /// For how many minutes the code works
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60))]
    minutes: u64,
    /// For how many days the certificates hold
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
    /// The team's directory
    #[arg(long, default_value = "team")]
    dir: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

/// What the founder reads out: where, and the secret.
#[derive(Clone, Debug)]
pub(crate) struct Code {
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
    /// As a person reads it out: small letters, in fours.
    fn text(&self) -> String {
        let digits = BASE32_NOPAD.encode(&self.secret[..]).to_ascii_lowercase();
        let groups: Vec<_> =
            digits.as_bytes().chunks(4).map(|group| String::from_utf8_lossy(group)).collect();
        format!("{}/{}", self.address, groups.join("-"))
    }
}

/// What the founder signs with, and where what it signed is kept.
struct Founder {
    team: SecretKey,
    revocations: RevocationList,
    dir: PathBuf,
    name: String,
    days: u64,
}

impl Invite {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        if !is_name(&self.name) {
            return Err(Failure::user(anyhow!("{:?} will not do: letters, digits and dashes", self.name)));
        }
        let founder = self.founder()?;
        for role in [Role::AccessPoint, Role::Home] {
            let path = founder.certificate_path(role);
            if path.exists() {
                return Err(Failure::config(anyhow!("{} exists already", path.display()))
                    .hint("every name is given once; choose another with --name"));
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Failure::network)?.block_on(self.wait(&founder, out))
    }

    fn founder(&self) -> Result<Founder, Failure> {
        let team = self.passphrase.read_secret(&team_key(&self.dir)).map_err(no_team)?;
        let revocations = super::revocations(&self.dir)?.map_or_else(|| empty_list(&team), Ok)?;
        Ok(Founder { team, revocations, dir: self.dir.clone(), name: self.name.clone(), days: self.days })
    }

    async fn wait(&self, founder: &Founder, out: &mut Output<'_>) -> Outcome {
        let failed = |error| {
            Failure::network(anyhow!("listen at {}: {error}", self.listen))
                .hint("choose another port with --listen")
        };
        let listener = TcpListener::bind(self.listen).await.map_err(failed)?;
        let port = listener.local_addr().map_err(Failure::network)?.port();
        let mut secret = InvitationSecret::default();
        secret.copy_from_slice(&guestright_clock::seed().0[..16]);
        let code = Code { address: self.announced(port)?, secret };
        self.say_code(&code, out)?;
        let end = tokio::time::Instant::now() + Duration::from_secs(self.minutes * 60);
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
                    Ok(Some((channel, peer))) => return self.certify(founder, channel, peer, out).await,
                    Ok(None) | Err(_) => strangers += 1,
                },
                () = sleep_until(end) => {
                    return Err(Failure::network(anyhow!("nobody came in {} minutes, and the code is void", self.minutes))
                        .hint("run it again for a new code; the other computer has to reach this one at the code's address"));
                }
            }
            if strangers > STRANGERS_MAX {
                return Err(Failure::network(anyhow!(
                    "{strangers} connections did not know the secret: the code is void"
                ))
                .hint("somebody is trying; run it again when that is over"));
            }
        }
    }

    /// The first who knows the secret is the only one: whatever becomes of it, the code is void.
    async fn certify(
        &self,
        founder: &Founder,
        channel: Channel,
        peer: SocketAddr,
        out: &mut Output<'_>,
    ) -> Outcome {
        let answered = timeout(EXCHANGE_MAX, exchange::answer(channel, founder)).await;
        let again = |failure: Failure| failure.hint("the code is void: run it again for a new one");
        let certificates =
            answered.map_err(|_| again(Failure::network(anyhow!("{peer} did not go on"))))?.map_err(again)?;
        for certificate in &certificates {
            let path = founder.certificate_path(certificate.role());
            let (role, id, until) = (certificate.role(), certificate.subject_id(), certificate.not_after());
            if self.json {
                let event = json!({ "event": "certified", "role": role.to_string(), "id": id.to_string(),
                    "not_after": until.to_string(), "peer": peer.to_string(), "certificate": path });
                writeln!(out, "{event}")?;
            } else {
                writeln!(
                    out,
                    "certified {peer} as {role}, until {until}; its certificate is {}",
                    path.display()
                )?;
            }
        }
        Ok(())
    }

    fn announced(&self, port: u16) -> Result<String, Failure> {
        match &self.address {
            Some(address) if address.contains(':') => Ok(address.clone()),
            Some(address) => Ok(format!("{address}:{port}")),
            None if !self.listen.ip().is_unspecified() => {
                Ok(SocketAddr::new(self.listen.ip(), port).to_string())
            }
            None => {
                let uplink = guestright_portmap::uplink().map_err(|error| {
                    Failure::network(error).hint("say with --address where the other computer finds this one")
                })?;
                Ok(SocketAddr::new(uplink.own.into(), port).to_string())
            }
        }
    }

    fn say_code(&self, code: &Code, out: &mut Output) -> Outcome {
        let text = code.text();
        if self.json {
            writeln!(out, "{}", json!({ "event": "waiting", "code": text, "minutes": self.minutes }))?;
        } else {
            writeln!(
                out,
                "on the other computer, within {} minutes:\n\n  guestright setup --join {text}\n",
                self.minutes
            )?;
            writeln!(out, "whoever has this code gets into the team, once; waiting")?;
        }
        Ok(out.flush()?)
    }
}

impl Founder {
    fn certificate_path(&self, role: Role) -> PathBuf {
        let suffix = if role == Role::Home { "home" } else { "ap" };
        self.dir.join(format!("{}-{suffix}.cert", self.name))
    }
}

/// Keys with their certificates, and what the team has revoked.
pub(crate) struct Membership {
    pub(crate) keys: Vec<(SecretKey, Certificate)>,
    pub(crate) revocations: RevocationList,
}

/// Makes keys for these roles and has them certified by whoever printed the code.
pub(crate) fn join(code: &Code, roles: &[Role]) -> Result<Membership, Failure> {
    let hint = "is `guestright team invite` still waiting, and is the code whole? A code works once";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Failure::network)?.block_on(async {
        let address = code.address.to_socket_addrs().ok().and_then(|mut found| found.next());
        let unknown = || Failure::network(anyhow!("{} has no address", code.address));
        let address = address.ok_or_else(unknown)?;
        let connecting = timeout(EXCHANGE_MAX, TcpStream::connect(address)).await;
        let stream =
            connecting.map_err(|_| Failure::network(anyhow!("{address} does not answer")).hint(hint))?;
        let stream = stream.with_context(|| format!("connect to {address}"));
        let stream = stream.map_err(|error| Failure::network(error).hint(hint))?;
        let channel = connect_invited(stream, &code.secret).await;
        let channel = channel.with_context(|| format!("speak to {address}"));
        let channel = channel.map_err(|error| Failure::network(error).hint(hint))?;
        let asked = timeout(EXCHANGE_MAX, exchange::ask(channel, roles)).await;
        asked.map_err(|_| Failure::network(anyhow!("{address} did not go on")).hint(hint))?
    })
}

/// The list of a team that has revoked nobody: any other takes its place.
pub(crate) fn empty_list(team: &SecretKey) -> Result<RevocationList, Failure> {
    RevocationList::issue(team, 0, now(), std::collections::BTreeMap::new()).map_err(Failure::bug)
}

fn now() -> guestright_units::UnixSeconds {
    Clock::start().now().unix_seconds()
}

/// Writes certificates into the team's directory, where `member list` and `member revoke` find them.
fn keep(founder: &Founder, certificates: &[Certificate]) -> Outcome {
    for certificate in certificates {
        let path: &Path = &founder.certificate_path(certificate.role());
        guestright_keys::write_certificate(path, certificate).map_err(Failure::config)?;
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
