//! A visitor's files where they stay, and its unit where systemd finds it.

use super::background::group_id;
use crate::{HomeAddress, private, system_command};
use guestright_error::{OrFail as _, RunError};
use guestright_identity::Certificate;
use guestright_tunnel::wireguard::{Config, Host};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use zeroize::Zeroizing;

/// The unit, as it is put where systemd finds it.
const UNIT: &str = include_str!("../../../../../docs/systemd/guestright-visit.service");
/// Its name.
pub const UNIT_NAME: &str = "guestright-visit.service";
const UNIT_PATHS: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
/// What the unit's text has in the place of this program.
const PROGRAM: &str = "/usr/local/bin/guestright";
/// The unit's group.
const GROUP: &str = "guestright";

/// Where a member's files are now.
#[derive(Debug)]
pub struct MemberFiles {
    pub key: PathBuf,
    pub certificate: PathBuf,
    pub tunnel: PathBuf,
}

/// Where they have been put.
#[derive(Debug)]
pub struct Put {
    pub directory: PathBuf,
    pub home: HomeAddress,
    /// Whether a certificate that was there stays: it is the same one, renewed.
    pub is_renewed: bool,
}

impl MemberFiles {
    /// Copies the files beside the settings file, and writes that, unless it is there: then only what is said is changed.
    /// Without a home it is where the tunnel ends.
    ///
    /// # Errors
    /// A file cannot be read or written, or the tunnel does not say where the home is.
    pub fn put(
        &self,
        given: &Certificate,
        home: Option<&HomeAddress>,
        config: &Path,
    ) -> Result<Put, RunError> {
        let home = match home {
            Some(home) => home.clone(),
            None => home_of(&self.tunnel)?,
        };
        let directory = config.parent().unwrap_or(Path::new(".")).join("visit");
        let from =
            [(&self.key, "member.key"), (&self.certificate, "member.cert"), (&self.tunnel, "member.conf")];
        let mut files = Vec::new();
        for (file, name) in from {
            let read = guestright_keys::read_to_limit(file, FILE_MAX).map_err(RunError::config)?;
            files.push((directory.join(name), read));
        }
        let renewed = directory.join("member.cert");
        let is_renewed =
            guestright_keys::read_certificate(&renewed).is_ok_and(|renewed| outlasts(&renewed, given));
        if is_renewed {
            files.retain(|(file, _)| *file != renewed);
        }
        private::make_private_directory(&directory)?;
        for (file, bytes) in &files {
            guestright_keys::replace_private(file, bytes).map_err(RunError::config)?;
        }
        let mut table = match std::fs::read_to_string(config) {
            Ok(text) => text
                .parse::<toml::Table>()
                .map_err(|error| RunError::config(format!("understand {}: {error}", config.display())))?,
            Err(_) => toml::Table::new(),
        };
        for (setting, value) in [
            ("key", "visit/member.key".to_owned()),
            ("certificate", "visit/member.cert".to_owned()),
            ("tunnel", "visit/member.conf".to_owned()),
            ("home", home.to_string()),
        ] {
            table.insert(setting.to_owned(), toml::Value::String(value));
        }
        let text = toml::to_string(&table).map_err(RunError::bug)?;
        write_readable(config, &text)?;
        Ok(Put { directory, home, is_renewed })
    }
}

/// Whether a certificate that is there is the same one with a longer life.
fn outlasts(renewed: &Certificate, given: &Certificate) -> bool {
    (renewed.subject_id(), renewed.team_id()) == (given.subject_id(), given.team_id())
        && renewed.not_after() > given.not_after()
}

/// The home, if it is not named: where the tunnel ends.
fn home_of(tunnel: &Path) -> Result<HomeAddress, RunError> {
    let text = guestright_keys::read_to_limit(tunnel, Config::LEN_MAX)
        .map(Zeroizing::new)
        .map_err(RunError::config)?;
    let config =
        Config::parse(&String::from_utf8_lossy(&text)).or_config(|| format!("read {}", tunnel.display()))?;
    let host = config.peers.first().and_then(|peer| match &peer.endpoint.as_ref()?.host {
        Host::Address(address) => Some(address.to_string()),
        Host::Name(name) => Some(name.clone()),
    });
    host.and_then(|host| host.parse().ok()).ok_or_else(|| {
        RunError::config(format!("{} does not say where your home is", tunnel.display()))
            .with_hint("say it with --home NAME")
    })
}

/// No file of a member is longer.
const FILE_MAX: usize = 64 * 1024;

/// The settings hold no secret: everybody may see where the program answers.
fn write_readable(path: &Path, text: &str) -> Result<(), RunError> {
    let new = path.with_extension("new");
    let write = || {
        std::fs::write(&new, text)?;
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o644))?;
        std::fs::rename(&new, path)
    };
    write().or_config(|| format!("write {}", path.display()))
}

/// Has systemd start the unit, now and with the computer; puts it where systemd finds it, unless there is one. `program` is
/// this program. Gives the file that was made.
///
/// # Errors
/// The unit cannot be written, or systemd refuses.
pub fn start_unit(program: &Path) -> Result<Option<PathBuf>, RunError> {
    let mut made = None;
    if !UNIT_PATHS.iter().any(|path| Path::new(path).join(UNIT_NAME).exists()) {
        let unit = Path::new(UNIT_PATHS[0]).join(UNIT_NAME);
        let text = UNIT.replace(PROGRAM, &program.display().to_string());
        // Without it only root may ask; with its name in the unit nobody could start that.
        let text =
            if group_id(GROUP).is_some() { text } else { text.replace(&format!("Group={GROUP}\n"), "") };
        std::fs::write(&unit, text).or_config(|| format!("write {}", unit.display()))?;
        made = Some(unit);
    }
    for arguments in [&["daemon-reload"][..], &["enable", "--now", UNIT_NAME]] {
        let mut command = system_command("systemctl");
        let output = command.args(arguments).stdin(Stdio::null()).output().map_err(RunError::network)?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(RunError::network(format!("systemctl {}: {words}", arguments.join(" "))));
        }
    }
    Ok(made)
}
