//! Keys and certificates of the team, by the program's own commands.

use crate::gateway_files;
use anyhow::anyhow;
use clap::Parser as _;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_identity::Role;
use guestright_setup::{GatewayWork, TeamChoice, TeamWork};
use guestright_system::{Maker, Owners};
use guestright_team::invitation::{self, Code};
use guestright_team::{name, renewal};
use std::path::Path;
use tracing::level_filters::LevelFilter;

/// Makes what `team init`, `member add`, `renewal init`, `gateway init` would have made.
pub(super) struct KeyMaker;

impl Maker for KeyMaker {
    fn make(&mut self, work: &TeamWork, directory: &Path, owners: Owners) -> Result<(), String> {
        let made = match work {
            TeamWork::Found { members, has_home, gateway } => {
                found(directory, members, *has_home, gateway.as_ref())
            }
            TeamWork::Join { code, has_home } => join(directory, code, *has_home),
        };
        made.and_then(|()| hand_over(directory, owners)).map_err(|failure| {
            let message = failure.message("guestright");
            message.trim_start_matches("guestright: ").trim_end().to_owned()
        })
    }
}

/// Refuses what cannot become keys, before anything is begun.
pub(super) fn check(team: &TeamChoice) -> Outcome {
    match team {
        TeamChoice::Join { code } => read(code).map(drop),
        TeamChoice::New { members, .. } => members.iter().try_for_each(|name| {
            if name::check(name).is_ok() {
                return Ok(());
            }
            Err(Failure::config(anyhow!("{name:?} cannot be a member's name"))
                .hint("letters, digits and dashes, at most 40, and neither \"team\" nor \"gateway\""))
        }),
    }
}

fn read(code: &str) -> Result<Code, Failure> {
    code.parse().map_err(|want| Failure::user(anyhow!("{code:?} is no code; it should be {want}")))
}

/// A command line of this program, in this process.
pub(super) fn command(words: &[&str], out: &mut Output) -> Outcome {
    let words = ["guestright"].iter().chain(words);
    let cli = crate::Cli::try_parse_from(words).map_err(Failure::bug)?;
    cli.command.run(LevelFilter::WARN, out)
}

fn found(directory: &Path, members: &[String], has_home: bool, gateway: Option<&GatewayWork>) -> Outcome {
    let mut nobody = std::io::sink();
    let out = &mut Output::new(&mut nobody);
    let dir = directory.to_str().ok_or_else(|| Failure::bug(anyhow!("our own path is text")))?;
    command(&["team", "init", "--dir", dir], out)?;
    command(&["team", "member", "add", "router", "--role", "access-point", "--dir", dir], out)?;
    if has_home {
        command(&["team", "member", "add", "home", "--role", "home", "--dir", dir], out)?;
        command(&["team", "renewal", "init", "--dir", dir], out)?;
    }
    if let Some(GatewayWork { endpoint, network }) = gateway {
        command(
            &["team", "gateway", "init", "--endpoint", endpoint, "--network", network, "--dir", dir],
            out,
        )?;
    }
    for name in members {
        let add = ["team", "member", "add", "--dir", dir];
        let way_home = if gateway.is_some() { &["--qr"][..] } else { &[] };
        command(&[&add[..], way_home, &["--", name]].concat(), out)?;
    }
    let team = guestright_keys::read_secret(&directory.join("team.key"), || None).map_err(Failure::config)?;
    let list = invitation::empty_list(&team)?;
    guestright_keys::write_revocations(&directory.join("revocations"), &list).map_err(Failure::config)
}

fn join(directory: &Path, code: &str, has_home: bool) -> Outcome {
    let code = read(code)?;
    let roles = if has_home { &[Role::AccessPoint, Role::Home][..] } else { &[Role::AccessPoint] };
    let membership = invitation::join(&code, roles)?;
    let mut rng = guestright_clock::rng();
    for (key, certificate) in &membership.keys {
        let name = if certificate.role() == Role::Home { "home" } else { "router" };
        let key_path = directory.join(format!("{name}.key"));
        guestright_keys::write_secret(&key_path, key, None, &mut rng).map_err(Failure::config)?;
        let path = directory.join(format!("{name}.cert"));
        guestright_keys::write_certificate(&path, certificate).map_err(Failure::config)?;
    }
    let path = directory.join("revocations");
    guestright_keys::write_revocations(&path, &membership.revocations).map_err(Failure::config)
}

/// The programs' own keys, the renewing key and the gateway's files are for the user that the programs run as. The team's key and its
/// members' stay root's.
fn hand_over(directory: &Path, owners: Owners) -> Outcome {
    let Some((uid, gid)) = owners.guestright else { return Ok(()) };
    let give = |path: &Path| std::os::unix::fs::chown(path, Some(uid), Some(gid)).map_err(Failure::network);
    for name in ["home.key", "router.key"].map(|name| directory.join(name)) {
        if name.exists() {
            give(&name)?;
        }
    }
    for inner in [gateway_files::DIRECTORY, renewal::DIRECTORY].map(|name| directory.join(name)) {
        if inner.exists() {
            give(&inner)?;
            for entry in std::fs::read_dir(&inner).map_err(Failure::network)? {
                give(&entry.map_err(Failure::network)?.path())?;
            }
        }
    }
    Ok(())
}
