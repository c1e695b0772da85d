//! Keys and certificates of the household's team.

use guestright_error::{Fault as _, RunError};
use guestright_host::gateway_files;
use guestright_identity::{Role, Suite};
use guestright_setup::{Choices, GatewayWork, TeamChoice, TeamWork};
use guestright_system::{Maker, Owners};
use guestright_team::directory::{member_files, revocation_list};
use guestright_team::invitation::{self, Code};
use guestright_team::life::{CERTIFICATE_DAYS, DAY};
use guestright_team::way_home::TunnelWish;
use guestright_team::{gateway, member, name, own_key, renewal};
use guestright_tunnel::wireguard::HostPort;
use std::path::Path;

/// The access point's name in the team, and the home's.
const ACCESS_POINT: &str = "router";
const HOME: &str = "home";

/// Makes what `team init`, `member add`, `renewal init`, `gateway init` would have made.
#[derive(Debug)]
pub(crate) struct KeyMaker;

impl Maker for KeyMaker {
    fn make(&mut self, work: &TeamWork, directory: &Path, owners: Owners) -> Result<(), String> {
        let made = match work {
            TeamWork::Found { members, has_home, gateway } => {
                found(directory, members, *has_home, gateway.as_ref())
            }
            TeamWork::Join { code, has_home } => join(directory, code, *has_home),
        };
        made.and_then(|()| hand_over(directory, owners)).map_err(|error| {
            let hint = error.hint().map_or_else(String::new, |hint| format!("\n  what to do: {hint}"));
            format!("{}{hint}", error.sentence())
        })
    }
}

/// Refuses what cannot become keys, before anything is begun.
pub(crate) fn check(choices: &Choices) -> Result<(), RunError> {
    if let Some(endpoint) = choices.gateway_endpoint() {
        let wrong = |want| RunError::config(format!("`endpoint` is {endpoint:?}; it has to be {want}"));
        endpoint.parse::<HostPort>().map_err(wrong)?;
    }
    match &choices.team {
        TeamChoice::Join { code } => read(code).map(drop),
        TeamChoice::New { members, .. } => members.iter().try_for_each(|name| {
            if name::check(name).is_ok() {
                return Ok(());
            }
            Err(RunError::config(format!("{name:?} cannot be a member's name"))
                .with_hint("letters, digits and dashes, at most 40, and neither \"team\" nor \"gateway\""))
        }),
    }
}

fn read(code: &str) -> Result<Code, RunError> {
    code.parse().map_err(|want| RunError::user(format!("{code:?} is no code; it should be {want}")))
}

fn found(
    dir: &Path,
    members: &[String],
    has_home: bool,
    gateway: Option<&GatewayWork>,
) -> Result<(), RunError> {
    let team = own_key::make(dir, Suite::Ed25519, None)?.key;
    let add = |name: &str, role, tunnel| {
        let name = name::check(name)?;
        let wish = member::Wish { name, role, life: CERTIFICATE_DAYS * DAY, tunnel, ikev2: false };
        member::add(dir, &team, &wish).map(drop)
    };
    add(ACCESS_POINT, Role::AccessPoint, None)?;
    if has_home {
        add(HOME, Role::Home, None)?;
        renewal::make(dir, &team, renewal::Terms::default(), false)?;
    }
    if let Some(GatewayWork { endpoint, network }) = gateway {
        let wrong = |want: &str| RunError::bug(format!("the endpoint {endpoint:?} should be {want}"));
        let endpoint = endpoint.parse().map_err(wrong)?;
        let network = Some(network.clone());
        let wish = gateway::Wish { endpoint, port: None, network, dns: Vec::new(), mtu: gateway_files::MTU };
        gateway::make(dir, wish)?;
    }
    for name in members {
        add(name, Role::Member, gateway.map(|_| TunnelWish::default()))?;
    }
    let list = invitation::empty_list(&team)?;
    guestright_keys::write_revocations(&revocation_list(dir), &list).map_err(RunError::config)
}

fn join(dir: &Path, code: &str, has_home: bool) -> Result<(), RunError> {
    let code = read(code)?;
    let roles = if has_home { &[Role::AccessPoint, Role::Home][..] } else { &[Role::AccessPoint] };
    let membership = invitation::join(&code, roles)?;
    let mut rng = guestright_clock::rng();
    for (key, certificate) in &membership.keys {
        let name = if certificate.role() == Role::Home { HOME } else { ACCESS_POINT };
        let (key_path, path) = member_files(dir, name);
        guestright_keys::write_secret(&key_path, key, None, &mut rng).map_err(RunError::config)?;
        guestright_keys::write_certificate(&path, certificate).map_err(RunError::config)?;
    }
    guestright_keys::write_revocations(&revocation_list(dir), &membership.revocations)
        .map_err(RunError::config)
}

/// The programs' own keys, the renewing key and the gateway's files are for the user that the programs run as. The team's key and its
/// members' stay root's.
fn hand_over(dir: &Path, owners: Owners) -> Result<(), RunError> {
    let Some((uid, gid)) = owners.guestright else { return Ok(()) };
    let give = |path: &Path| std::os::unix::fs::chown(path, Some(uid), Some(gid)).map_err(RunError::network);
    for key in [HOME, ACCESS_POINT].map(|name| member_files(dir, name).0) {
        if key.exists() {
            give(&key)?;
        }
    }
    for inner in [gateway_files::DIRECTORY, renewal::DIRECTORY].map(|name| dir.join(name)) {
        if inner.exists() {
            give(&inner)?;
            for entry in std::fs::read_dir(&inner).map_err(RunError::network)? {
                give(&entry.map_err(RunError::network)?.path())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_team::way_home::has_tunnel;

    #[test]
    fn a_new_team_has_everything_that_its_programs_read_and_revokes_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let dir = directory.path();
        let gateway =
            GatewayWork { endpoint: "home.example.org:51820".to_owned(), network: "10.70.0.0/24".to_owned() };
        let work =
            TeamWork::Found { members: vec!["alice".to_owned()], has_home: true, gateway: Some(gateway) };
        KeyMaker.make(&work, dir, Owners { guestright: None }).unwrap();
        let rows: Vec<_> = member::list(dir).unwrap();
        let rows: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.certificate.role())).collect();
        let want = [("alice", Role::Member), (HOME, Role::Home), (ACCESS_POINT, Role::AccessPoint)];
        assert_eq!(rows, want);
        assert!(has_tunnel(dir, "alice").unwrap());
        assert!(dir.join(renewal::DIRECTORY).is_dir());
        assert!(guestright_keys::read_revocations(&revocation_list(dir)).unwrap().revoked().is_empty());
    }

    #[test]
    fn what_was_not_done_is_a_sentence_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let work = TeamWork::Found { members: Vec::new(), has_home: false, gateway: None };
        let owners = Owners { guestright: None };
        KeyMaker.make(&work, directory.path(), owners).unwrap();
        let refused = KeyMaker.make(&work, directory.path(), owners).unwrap_err();
        assert!(
            refused.ends_with("\n  what to do: one directory holds one team; give another with --dir"),
            "{refused}"
        );
    }
}
