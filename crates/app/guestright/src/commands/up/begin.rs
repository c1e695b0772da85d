//! The first `up`: files are put where they stay, and the program is started, by systemd where that runs.

use crate::settings::{VisitSettings, beside, read};
use anyhow::{Context, anyhow};
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::files::PassphraseArgs;
use guestright_cli::output::Output;
use guestright_host::{HomeAddress, system_command};
use guestright_identity::Certificate;
use guestright_tunnel::wireguard::{Config, Host};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tracing::level_filters::LevelFilter;
use zeroize::Zeroizing;

/// The unit, as it is put where systemd finds it.
const UNIT: &str = include_str!("../../../../../../docs/systemd/guestright-visit.service");
const UNIT_NAME: &str = "guestright-visit.service";
/// systemd runs where this is (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";
const UNIT_PATHS: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
/// What the unit's text has in the place of this program.
const PROGRAM: &str = "/usr/local/bin/guestright";
/// The unit's group.
const GROUP: &str = "guestright";

/// A member's files.
#[derive(Debug, clap::Args)]
pub(super) struct Files {
    /// Your secret key
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Your certificate; otherwise the file of your key's name that ends in .cert
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// WireGuard's configuration of the way home; otherwise the file of your key's name that ends in .conf
    #[arg(long, value_name = "FILE", requires = "key")]
    tunnel: Option<PathBuf>,
    /// Your team's home, by name or address; otherwise where the tunnel ends
    #[arg(long, value_name = "NAME[:PORT]", requires = "key")]
    home: Option<HomeAddress>,
}

impl Files {
    pub(super) fn are_given(&self) -> bool {
        self.key.is_some()
    }

    /// Copies the files beside the settings file, and writes that, unless it is there: then only what is said is changed.
    pub(super) fn put(&self, config: &Path, out: &mut Output) -> Result<HomeAddress, Failure> {
        let key = self.key.clone().ok_or_else(|| Failure::bug(anyhow!("no key")))?;
        let certificate = self.certificate.clone().unwrap_or_else(|| key.with_extension("cert"));
        let tunnel = self.tunnel.clone().unwrap_or_else(|| key.with_extension("conf"));
        // Everything is looked at before anything is changed.
        let given = PassphraseArgs::default().credentials(&key, &certificate)?.certificate;
        let home = match &self.home {
            Some(home) => home.clone(),
            None => home_of(&tunnel)?,
        };
        let from = [(&key, "member.key"), (&certificate, "member.cert"), (&tunnel, "member.conf")];
        let mut files = Vec::new();
        for (file, name) in from {
            let read = guestright_keys::read_to_limit(file, FILE_MAX).map_err(Failure::config)?;
            files.push((beside(config, &PathBuf::from("visit").join(name)), read));
        }
        let renewed = beside(config, Path::new("visit/member.cert"));
        if guestright_keys::read_certificate(&renewed).is_ok_and(|renewed| outlasts(&renewed, &given)) {
            files.retain(|(file, _)| *file != renewed);
            writeln!(out, "your certificate has been renewed here, and ends later than this one: it stays")?;
        }
        let directory = beside(config, Path::new("visit"));
        guestright_cli::files::state_directory(&directory)?;
        for (file, bytes) in &files {
            guestright_keys::replace_private(file, bytes).map_err(Failure::config)?;
        }
        let mut table = match std::fs::read_to_string(config) {
            Ok(text) => text
                .parse::<toml::Table>()
                .map_err(|error| Failure::config(anyhow!("understand {}: {error}", config.display())))?,
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
        let text = toml::to_string(&table).map_err(Failure::bug)?;
        write_readable(config, &text)?;
        writeln!(out, "your files are in {}, and {} says so", directory.display(), config.display())?;
        Ok(home)
    }
}

/// Whether a certificate that is there is the same one with a longer life.
fn outlasts(renewed: &Certificate, given: &Certificate) -> bool {
    (renewed.subject_id(), renewed.team_id()) == (given.subject_id(), given.team_id())
        && renewed.not_after() > given.not_after()
}

/// The home, if it is not named: where the tunnel ends.
fn home_of(tunnel: &Path) -> Result<HomeAddress, Failure> {
    let text = guestright_keys::read_to_limit(tunnel, Config::LEN_MAX)
        .map(Zeroizing::new)
        .map_err(Failure::config)?;
    let config = Config::parse(&String::from_utf8_lossy(&text))
        .with_context(|| format!("read {}", tunnel.display()))
        .map_err(Failure::config)?;
    let host = config.peers.first().and_then(|peer| match &peer.endpoint.as_ref()?.host {
        Host::Address(address) => Some(address.to_string()),
        Host::Name(name) => Some(name.clone()),
    });
    host.and_then(|host| host.parse().ok()).ok_or_else(|| {
        Failure::config(anyhow!("{} does not say where your home is", tunnel.display()))
            .hint("say it with --home NAME")
    })
}

/// No file of a member is longer.
const FILE_MAX: usize = 64 * 1024;

/// The settings hold no secret: everybody may see where the program answers.
fn write_readable(path: &Path, text: &str) -> Outcome {
    let new = path.with_extension("new");
    let write = || {
        std::fs::write(&new, text)?;
        std::fs::set_permissions(&new, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        std::fs::rename(&new, path)
    };
    write().with_context(|| format!("write {}", path.display())).map_err(Failure::config)
}

/// Starts the program, and returns when it is on its way.
pub(super) fn start(config: &Path, log: LevelFilter, out: &mut Output) -> Outcome {
    // A mistake in the settings is told here, and not in a log.
    let settings: VisitSettings = read(config).map_err(|failure| {
        failure.hint("the first `guestright up` wants your files: --key, --certificate, --tunnel; see `guestright up --help`")
    })?;
    settings.for_loop(config, false)?;
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::user(anyhow!("only root can start the visitor's program"))
            .hint("sudo guestright up; afterwards members of the group guestright need no sudo"));
    }
    let state = beside(config, &settings.state);
    super::daemon::want(&state, true)?;
    if Path::new(BOOTED).is_dir() && config == Path::new(crate::settings::visit::FILE) {
        return start_unit(out);
    }
    start_here(config, &state, log)
}

fn start_unit(out: &mut Output) -> Outcome {
    if !UNIT_PATHS.iter().any(|path| Path::new(path).join(UNIT_NAME).exists()) {
        let program = std::env::current_exe().map_err(Failure::network)?;
        let unit = Path::new(UNIT_PATHS[0]).join(UNIT_NAME);
        let text = UNIT.replace(PROGRAM, &program.display().to_string());
        // Without it only root may ask; with its name in the unit nobody could start that.
        let text = if super::daemon::group_id(GROUP).is_some() {
            text
        } else {
            text.replace(&format!("Group={GROUP}\n"), "")
        };
        std::fs::write(&unit, text)
            .with_context(|| format!("write {}", unit.display()))
            .map_err(Failure::config)?;
        writeln!(out, "{} is made: the visitor starts with the computer from now on", unit.display())?;
    }
    for arguments in [&["daemon-reload"][..], &["enable", "--now", UNIT_NAME]] {
        let mut command = system_command("systemctl");
        let output = command.args(arguments).stdin(Stdio::null()).output().map_err(Failure::network)?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Failure::network(anyhow!("systemctl {}: {words}", arguments.join(" "))));
        }
    }
    Ok(())
}

/// Without systemd: a process of its own, which no terminal ends.
fn start_here(config: &Path, state: &Path, log: LevelFilter) -> Outcome {
    let path = log_file(state);
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    let file = file.with_context(|| format!("open {}", path.display())).map_err(Failure::config)?;
    let errors = file.try_clone().map_err(Failure::network)?;
    let program = std::env::current_exe().map_err(Failure::network)?;
    let mut command = Command::new(program);
    command.args(["--log", &log.to_string(), "up", "--foreground", "--until-down", "--config"]).arg(config);
    command.stdin(Stdio::null()).stdout(file).stderr(errors).current_dir("/").process_group(0);
    command.spawn().map_err(Failure::network)?;
    Ok(())
}

fn log_file(state: &Path) -> PathBuf {
    state.join("log")
}

/// Where its log is, for a person.
pub(super) fn log_words(config: &Path) -> String {
    if Path::new(BOOTED).is_dir() {
        return format!("journalctl -u {UNIT_NAME}");
    }
    let state = read::<VisitSettings>(config).map(|settings| beside(config, &settings.state));
    state.map_or_else(|_| "the log".to_owned(), |state| log_file(&state).display().to_string())
}
