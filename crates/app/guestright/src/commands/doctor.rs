//! `guestright doctor`: what this computer can and cannot do.

#[cfg(feature = "computer")]
mod computer;
mod page;
mod role;

use super::validity;
use guestright_cli::failure::{Failure, Outcome};
#[cfg(feature = "computer")]
use guestright_cli::files::MemberArgs;
use guestright_cli::output::Output;
use guestright_host::examine::{self, Finding, layers, tool};
use guestright_netns::Sandbox;
use page::Page;
use role::Role;
use std::path::PathBuf;

/// What the trial of the firewall's layers is called with, inside the sandbox.
const TRY_LAYERS: [&str; 2] = ["doctor", "--try-layers"];

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
            return Ok(writeln!(out, "{}", layers::try_out()?)?);
        }
        let mut page = Page::new(self.json, out);
        match self.role {
            None => whole_computer(&mut page)?,
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

fn whole_computer(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    access_point_tools(page)?;
    #[cfg(feature = "computer")]
    computer::demo(page)?;
    page.add(examine::certificates(&validity::examine()))?;
    #[cfg(feature = "computer")]
    computer::sound(page)?;
    #[cfg(feature = "port-mapping")]
    router(page)?;
    Ok(())
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
    page.add(examine::connections())?;
    page.trying("the layers of the firewall, in a sandbox")?;
    let sandbox = Sandbox::probe();
    layers::findings(sandbox.ok(), &TRY_LAYERS).into_iter().try_for_each(|finding| page.add(finding))
}

/// Whether a home on this computer could be reached through the household's router.
#[cfg(feature = "port-mapping")]
fn router(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    page.trying(
        "the household's router for port mappings; a router that does not answer takes some seconds",
    )?;
    page.add(examine::port_mapping())
}
