//! `guestright team invite`: another computer of the team gets certificates for keys that it made itself, by a code that
//! is good once and for a few minutes (design note 0011).

use super::{PassphraseArgs, no_team, team_key};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_team::invitation::{self, Code, Founder};
use guestright_team::name;
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;

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
        if name::check(&self.name).is_err() {
            return Err(Failure::user(anyhow!("{:?} will not do: letters, digits and dashes", self.name)));
        }
        let team = self.passphrase.read_secret(&team_key(&self.dir)).map_err(no_team)?;
        let founder = Founder::new(&self.dir, team, &self.name, self.days)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Failure::network)?.block_on(self.wait(&founder, out))
    }

    async fn wait(&self, founder: &Founder, out: &mut Output<'_>) -> Outcome {
        let (listener, code) = invitation::open(self.listen, self.address.as_deref()).await?;
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
