//! `guestright team invite`: another computer of the team gets certificates for keys that it made itself, by a code that
//! is good once and for a few minutes (design note 0011).

use super::{PassphraseArgs, is_name, no_team, team_key};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_identity::Role;
use guestright_team::invitation::{Code, Founder, empty_list};
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::net::TcpListener;

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
        let code = Code::new(self.announced(port)?);
        self.say_code(&code, out)?;
        let (peer, certificates) = founder.wait(&listener, &code, self.minutes).await?;
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
