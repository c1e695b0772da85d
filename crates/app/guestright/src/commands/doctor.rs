//! `guestright doctor`: what this computer can and cannot do.

mod certificates;
mod layers;
mod page;
mod role;

use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::MemberArgs;
use guestright_cli::output::Output;
use guestright_codec::{CodecError, Kind};
use guestright_firewall::check_connections;
use guestright_netns::{Mode, Sandbox};
use guestright_portmap::Reach;
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
            Some(role) => role.examine(self.config.as_deref(), &self.member, &mut page)?,
        }
        page.end(self.role.map(Role::in_words))
    }
}

fn examine(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    access_point_tools(page)?;
    demo(page)?;
    page.add(certificates::finding())?;
    page.add(codecs())?;
    page.add(sound())?;
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

fn demo(page: &mut Page<'_, '_>) -> Result<(), Failure> {
    let sandbox = Sandbox::probe();
    page.add(Finding {
        what: "the demo (namespaces)",
        good: sandbox.is_ok(),
        needed: true,
        says: sandbox.map_or_else(
            |error| error.to_string(),
            |mode| match mode {
                Mode::Root => "they work, as root".to_owned(),
                Mode::UserNamespace => "they work, without root".to_owned(),
            },
        ),
        to_do: "run as root, or allow user namespaces as the message says".into(),
    })?;
    page.add(tool("the demo: ethtool", "ethtool", "--version", "install the package ethtool"))?;
    page.add(tool("the demo: curl", "curl", "--version", "install the package curl"))
}

/// Which codecs a call can have. G.711, G.722 and ADPCM are always there.
fn codecs() -> Finding {
    let (there, lacking): (Vec<_>, Vec<_>) =
        Kind::ALL.into_iter().map(|kind| (kind, kind.is_available())).partition(|(_, result)| result.is_ok());
    let names = there.iter().map(|(kind, _)| kind.to_string()).collect::<Vec<_>>().join(" ");
    let absent = lacking.iter().filter_map(|(_, result)| result.as_ref().err());
    // What was left out on purpose is no lack.
    let absent: Vec<_> = absent.filter(|error| !matches!(error, CodecError::NotBuilt { .. })).collect();
    let says = absent.iter().fold(names, |says, error| format!("{says}; {error}"));
    let to_do = "install what is named, or do without these codecs".into();
    Finding { what: "calls: codecs", good: absent.is_empty(), needed: false, says, to_do }
}

#[cfg(feature = "sound-card")]
fn sound() -> Finding {
    use guestright_audio::card::devices;
    let devices = devices();
    let usable =
        |device: &guestright_audio::card::Device| device.name != "null" && (device.hears || device.speaks);
    let names =
        devices.map(|all| all.into_iter().filter(usable).map(|device| device.name).collect::<Vec<_>>());
    let good = names.as_ref().is_ok_and(|names| !names.is_empty());
    let says = match names {
        Ok(names) if names.is_empty() => "there is none here".to_owned(),
        Ok(names) => format!("{} devices, first {}", names.len(), names[0]),
        Err(error) => error.to_string(),
    };
    let to_do = "calls from and to WAV files work without one".into();
    Finding { what: "calls: sound card", good, needed: false, says, to_do }
}

#[cfg(not(feature = "sound-card"))]
fn sound() -> Finding {
    Finding {
        what: "calls: sound card",
        good: false,
        needed: false,
        says: "this program was built without".to_owned(),
        to_do: "calls from and to WAV files work; build with --features sound-card for more".into(),
    }
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
    let examined = match guestright_portmap::examine() {
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
