//! `guestright doctor`: what this computer can and cannot do.

mod certificates;
#[cfg(feature = "computer")]
mod computer;
mod layers;
mod page;
mod role;

use guestright_cli::failure::{Failure, Outcome};
#[cfg(feature = "computer")]
use guestright_cli::files::MemberArgs;
use guestright_cli::output::Output;
use guestright_firewall::check_connections;
use guestright_netns::Sandbox;
use guestright_portmap::{Reach, Timeouts};
use page::{Finding, Page};
use role::Role;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Say what this computer can and cannot do, and what to install
///
/// With --for it looks at everything that one role needs, its settings, keys and certificates among it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright doctor
  guestright doctor --for ap --config /etc/guestright/ap.toml
  guestright doctor --for visit --key alice.key --certificate alice.cert --json")]
pub(crate) struct Doctor {
    /// What this computer is to be
    #[arg(long = "for", value_enum, value_name = "ROLE")]
    role: Option<Role>,
    /// With --for ap or home: its settings file [default: ap.toml or home.toml, here or in /etc/guestright]
    #[arg(long, value_name = "FILE", requires = "role")]
    config: Option<PathBuf>,
    #[cfg(feature = "computer")]
    #[command(flatten)]
    member: MemberArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Try the layers of an access point's firewall in this network (the doctor calls this itself, in a sandbox)
    #[arg(long, hide = true)]
    try_layers: bool,
}

impl Doctor {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        if self.try_layers {
            return layers::run_inside(out);
        }
        let mut page = Page::new(self.json, out);
        match self.role {
            None => examine(&mut page)?,
            #[cfg(feature = "computer")]
            Some(Role::Visit) => role::computer::guest(&self.member, &mut page)?,
            #[cfg(feature = "computer")]
            Some(Role::Call) => role::computer::telephone(&self.member, &mut page)?,
            Some(Role::Ap) => role::access_point(self.config.as_deref(), &mut page)?,
            Some(Role::Home) => role::team_home(self.config.as_deref(), &mut page)?,
        }
        page.end(self.role.map(Role::in_words))
    }
}

fn examine(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    access_point_tools(page)?;
    #[cfg(feature = "computer")]
    computer::demo(page)?;
    page.add(certificates::finding())?;
    #[cfg(feature = "computer")]
    computer::sound(page)?;
    router(page)
}

/// A program of others, and what it says of itself.
fn tool(what: &'static str, program: &str, argument: &str, to_do: &'static str) -> Finding {
    let output = Command::new(program).arg(argument).stdin(Stdio::null()).output();
    let says = output.as_ref().map_or_else(ToString::to_string, |output| {
        let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        String::from_utf8_lossy(&text).lines().next().unwrap_or_default().chars().take(40).collect()
    });
    Finding { what, good: output.is_ok(), needed: true, says, to_do: to_do.into() }
}

fn nftables() -> Finding {
    tool("nftables", "nft", "--version", "install the package nftables")
}

fn iproute() -> Finding {
    tool("tc and ip", "tc", "-V", "install the package iproute2")
}

/// What an access point is made of.
fn access_point_tools(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    page.add(nftables())?;
    page.add(iproute())?;
    let connections = check_connections();
    page.add(Finding {
        what: "guests with stock apps",
        good: connections.is_ok(),
        needed: false,
        says: connections
            .map_or_else(|error| error.to_string(), |()| "connections can be looked up".to_owned()),
        to_do: "run as root, with the kernel's nf_conntrack; without /proc/net/nf_conntrack install the package conntrack"
            .into(),
    })?;
    page.trying("the layers of the firewall, in a sandbox")?;
    let sandbox = Sandbox::probe();
    layers::findings(sandbox.ok()).into_iter().try_for_each(|finding| page.add(finding))
}

/// Whether a home on this computer could be reached through the household's router.
fn router(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    page.trying(
        "the household's router for port mappings; a router that does not answer takes some seconds",
    )?;
    page.add(port_mapping())
}

fn port_mapping() -> Finding {
    let what = "home: the household's router";
    let examined = match guestright_portmap::examine(Timeouts::default()) {
        Ok(examined) => examined,
        Err(error) => {
            let to_do = "a home needs a connection to the Internet; everything else works without".into();
            return Finding { what, good: false, needed: false, says: error.to_string(), to_do };
        }
    };
    let answers = examined.answers.iter().map(|answer| match &answer.outcome {
        Ok(Some(address)) => format!("{}: yes, {address} is {}", answer.method, Reach::of(*address)),
        Ok(None) => format!("{}: yes", answer.method),
        Err(error) => format!("{}: {error}", answer.method),
    });
    let own = examined.uplink.own;
    let says = if Reach::of(own) == Reach::Public {
        format!("{own} is an address of the Internet: nothing has to be mapped")
    } else {
        answers.collect::<Vec<_>>().join("; ")
    };
    let advice = examined.advice();
    Finding { what, good: advice.is_none(), needed: false, says, to_do: advice.unwrap_or_default().into() }
}
