//! What a stock phone imports, made by the team's home.
//!
//! The home has the household's authority for Wi-Fi, so it has to run, and is asked at its control socket. What the team's
//! directory keeps of it is `NAME.phone`: which certificate, until when, and which home to ask again.

use crate::directory::{TeamKey, gateway, remove, revocation_list};
use crate::ike_access::IkeGateway;
use crate::member;
use crate::way_home::{config_path, has_tunnel};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_error::{OrFail as _, RunError};
use guestright_host::gateway_files::{self, GatewayFiles};
use guestright_host::home::socket;
use guestright_host::private::{create_private, make_private_directory};
use guestright_host::{control, ike_files};
use guestright_identity::{Certificate, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// `NAME.phone` is not longer.
const RECORD_BYTES_MAX: usize = 4_096;

/// `NAME.phone`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// What the phone is called in its certificate.
    pub label: String,
    /// The certificate's number.
    pub serial: String,
    pub not_after: String,
    /// The settings file of the home that has made it.
    home: PathBuf,
    /// Since when it is let in no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
}

/// What of a home's settings matters here; its paths are as seen from the settings file.
#[derive(Clone, Debug)]
pub struct HomeSettings {
    /// Its state directory.
    pub state: PathBuf,
    /// The directory of its gateway.
    pub gateway: Option<PathBuf>,
    /// The list of revoked keys that it reads.
    pub revocations: Option<PathBuf>,
    /// Whether its gateway lets IKEv2 clients in.
    pub ikev2: bool,
}

/// Reads a home's settings file.
pub type ReadHome = fn(&Path) -> Result<HomeSettings, RunError>;

/// The team's home on this computer.
#[derive(Debug)]
pub struct Home {
    file: PathBuf,
    settings: HomeSettings,
}

impl Home {
    /// The home with this settings file.
    ///
    /// # Errors
    /// The file is not there or wrong.
    pub fn open(file: &Path, read: ReadHome) -> Result<Self, RunError> {
        let real = std::fs::canonicalize(file).or_config(|| format!("read {}", file.display()));
        let file = real.map_err(|error| {
            error.with_hint(
                "the home makes what phones import: say this on its computer, and name its settings with --home",
            )
        })?;
        let settings = read(&file)?;
        Ok(Self { file, settings })
    }

    /// Asks it; what it refuses is an error.
    fn ask(&self, question: &str) -> Result<Value, RunError> {
        let nobody = || {
            RunError::network(format!("no home runs with {}", self.file.display()))
                .with_hint("it makes what phones import: start it, and say this again")
        };
        let answer = control::ask(&socket(&self.settings.state), question)?.ok_or_else(nobody)?;
        match answer["error"].as_str() {
            Some(error) => {
                let error = RunError::config(format!("the home says: {error}"));
                Err(match answer["hint"].as_str() {
                    Some(hint) => error.with_hint(hint),
                    None => error,
                })
            }
            None if answer.is_null() => Err(nobody()),
            None => Ok(answer),
        }
    }

    /// Whether what is written in this team's directory is what the home reads.
    ///
    /// # Errors
    /// It is not, or there is no gateway.
    pub(crate) fn check_reads(&self, dir: &Path) -> Result<(), RunError> {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let list = self.settings.revocations.as_deref();
        let is_own = list.is_some_and(|list| {
            list.file_name() == revocation_list(dir).file_name()
                && list.parent().and_then(real).is_some_and(|parent| Some(parent) == real(dir))
        });
        let files = gateway(dir)?.ok_or_else(|| RunError::config("the team has no gateway"))?;
        if !is_own || !self.reads(&files) {
            let (dir, file) = (dir.display(), self.file.display());
            return Err(RunError::config(format!("{file} names other files than those of {dir}"))
                .with_hint(format!("name {dir}/revocations and {dir}/gateway there, or use a terminal")));
        }
        Ok(())
    }

    /// Whether it reads this directory of a gateway, and no copy of it.
    fn reads(&self, files: &GatewayFiles) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let own = self.settings.gateway.as_deref().and_then(real);
        own.is_some_and(|own| Some(own) == real(files.path()))
    }
}

/// What a phone is to have besides what its member has.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// A page of the home's with links, in place of files.
    pub page: bool,
    /// Earlier certificates of this phone count no longer.
    pub anew: bool,
}

/// A member's phone, served. Not `Debug`: it holds the phone's secrets.
#[expect(missing_debug_implementations, reason = "the home's answer has the phone's password and keys")]
pub struct Served {
    /// The member's certificate, and whether it was made now.
    pub certificate: Certificate,
    pub is_new: bool,
    pub record: Record,
    /// What was written, and where.
    pub files: Vec<PathBuf>,
    pub directory: PathBuf,
    /// The home's answer: `ikev2`, and `page` or `password`.
    pub answer: Value,
    /// Whether the home has the member's place at its gateway already.
    pub gateway_read: bool,
}

/// The member, its way home, and what its phone imports: what of it is not there already is made. Without a `tunnel` the member
/// gets one on the usual terms, for a phone is served through it.
///
/// # Errors
/// The home does not run or refuses, the team has no gateway, it is no member, or a file cannot be written.
pub fn add(
    dir: &Path,
    team: TeamKey<'_>,
    mut member: member::Wish,
    wish: Wish,
    home: &Home,
) -> Result<Served, RunError> {
    if member.role != Role::Member {
        let error = format!("only a member roams; {} is to be a {}", member.name, member.role);
        return Err(RunError::user(error).with_hint("leave out --phone"));
    }
    // Before anything is made.
    home.ask("phone ready")?;
    let files = gateway(dir)?.ok_or_else(|| {
        RunError::config("the team has no gateway, and a phone is served through its tunnel home")
            .with_hint("make one with `guestright team gateway init`, and give the home a section [gateway]")
    })?;
    let name = &member.name;
    member.tunnel.get_or_insert_default();
    member.ikev2 |= home.settings.ikev2 && name.is_ascii() && !ike_files::path(&files, name).exists();
    let (certificate, is_new) = make_member(dir, team, &member)?;
    let gateway_read = home.reads(&files);
    if gateway_read {
        home.ask("reload")?;
    }
    let question = question(dir, &files, name, &certificate, wish)?;
    let answer = home.ask(&format!("phone add {}", *question))?;
    let text = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
    let record = Record {
        label: text("label"),
        serial: text("serial"),
        not_after: text("not_after"),
        home: home.file.clone(),
        revoked: None,
    };
    write_record(dir, name, &record)?;
    let directory = directory(dir, name);
    let files = write_files(&directory, &answer["files"])?;
    Ok(Served { certificate, is_new, record, files, directory, answer, gateway_read })
}

/// The member's certificate; whether it was made now. A tunnel is made too, if there is none.
fn make_member(dir: &Path, team: TeamKey<'_>, wish: &member::Wish) -> Result<(Certificate, bool), RunError> {
    let name = &wish.name;
    if !member::is_added(dir, name) {
        return member::add(dir, &team()?, wish).map(|made| (made.certificate, true));
    }
    let certificate = member::roaming_certificate(dir, name, "--phone")?;
    if let Some(tunnel) = &wish.tunnel
        && !has_tunnel(dir, name)?
    {
        member::give_tunnel(dir, team, name, &certificate, tunnel)?;
    }
    if wish.ikev2 {
        IkeGateway::find(dir, name, Role::Member)?.enrol(name, certificate.subject_id())?;
    }
    Ok((certificate, false))
}

/// What the home is asked for.
fn question(
    dir: &Path,
    files: &GatewayFiles,
    name: &str,
    certificate: &Certificate,
    wish: Wish,
) -> Result<Zeroizing<String>, RunError> {
    let mut question = json!({ "member": name, "key": certificate.subject_id().to_string(),
        "page": wish.page, "anew": wish.anew });
    let config = config_path(dir, name);
    if config.exists() {
        question["wireguard"] = json!(gateway_files::read_secret(&config)?);
    }
    let all = ike_files::read_all(files)?;
    let own = all.iter().find(|(member, file)| member == name && file.revoked.is_none());
    if let Some((_, file)) = own {
        question["ike"] = json!({ "gateway": ike_files::host(files),
            "gateway_identity": ike_files::identity(files), "secret": file.secret });
    }
    Ok(Zeroizing::new(question.to_string()))
}

/// Where a phone's files are.
fn directory(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}-phone"))
}

fn record_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.phone"))
}

/// What is known of a member's phone.
///
/// # Errors
/// Its file cannot be read.
pub(crate) fn record(dir: &Path, name: &str) -> Result<Option<Record>, RunError> {
    let path = record_path(dir, name);
    if !path.exists() {
        return Ok(None);
    }
    let understand = || format!("understand {}", path.display());
    let bytes = guestright_keys::read_to_limit(&path, RECORD_BYTES_MAX).or_config(understand)?;
    let text = std::str::from_utf8(&bytes).or_config(understand)?;
    toml::from_str(text).map(Some).or_config(understand)
}

fn write_record(dir: &Path, name: &str, record: &Record) -> Result<(), RunError> {
    let text = toml::to_string(record).map_err(RunError::bug)?;
    guestright_keys::replace_private(&record_path(dir, name), text.as_bytes()).map_err(RunError::config)
}

/// Writes what the home has made, for its owner alone; earlier files give way. Their paths.
fn write_files(directory: &Path, files: &Value) -> Result<Vec<PathBuf>, RunError> {
    forget_files(directory)?;
    let Some(files) = files.as_object() else { return Ok(Vec::new()) };
    make_private_directory(directory)?;
    let mut written = Vec::new();
    for (name, content) in files {
        // The home is ours, and still: a name of it leads nowhere else.
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let bytes = content.as_str().and_then(|text| STANDARD.decode(text).ok()).map(Zeroizing::new);
        let bytes = bytes.filter(|_| is_name && !name.starts_with('.'));
        let bytes = bytes.ok_or_else(|| RunError::bug("the home's answer names no file"))?;
        let path = directory.join(name);
        create_private(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}

fn forget_files(directory: &Path) -> Result<(), RunError> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(RunError::config(format!("remove {}: {error}", directory.display())))
        }
        _ => Ok(()),
    }
}

/// What became of a phone that is to be let in no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// There is none.
    NoPhone,
    /// The home knows, and has shut its tunnel if it has this gateway.
    Now { is_shut: bool },
    /// The home was not reached: it learns of it with the team's list.
    WithTheList,
}

/// Lets a member's phone in no more.
///
/// # Errors
/// What is kept of it cannot be read or written. A home that is not reached is none.
pub(crate) fn revoke(dir: &Path, name: &str, since: &str, read: ReadHome) -> Result<Revoked, RunError> {
    let Some(mut record) = record(dir, name)? else { return Ok(Revoked::NoPhone) };
    record.revoked.get_or_insert_with(|| since.to_owned());
    write_record(dir, name, &record)?;
    forget_files(&directory(dir, name))?;
    let ask = || {
        let home = Home::open(&record.home, read)?;
        home.ask(&format!("phone revoke {name}"))?;
        let is_read = gateway(dir)?.is_some_and(|files| home.reads(&files));
        // A session that is signed for over its tunnel ends with that.
        Ok::<_, RunError>(Revoked::Now { is_shut: is_read && home.ask("reload").is_ok() })
    };
    Ok(ask().unwrap_or(Revoked::WithTheList))
}

/// Nothing is left of it here.
///
/// # Errors
/// What is kept of it cannot be removed.
pub(crate) fn forget(dir: &Path, name: &str) -> Result<(), RunError> {
    remove(&record_path(dir, name))
}

impl Revoked {
    /// Whether its tunnel is shut, too.
    pub fn is_shut(self) -> bool {
        matches!(self, Self::Now { is_shut: true })
    }
}
