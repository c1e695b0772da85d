//! `guestright team member add NAME --phone`: what a stock phone imports, made by the team's home.
//!
//! The home has the household's authority for Wi-Fi, so it has to run, and is asked at its control socket. What the team's
//! directory keeps of it is `NAME.phone`: which certificate, until when, and which home to ask again.

use super::{Add, enrol, member_files, renew};
use crate::control;
use crate::gateway_files::{self, GatewayFiles};
use crate::ike_files;
use crate::qr;
use crate::settings::{self, HomeSettings};
use anyhow::{Context as _, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::home::socket;
use guestright_identity::{Certificate, Role};
use guestright_team::qr::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{ErrorKind, IsTerminal as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// `NAME.phone` is not longer.
const RECORD_BYTES_MAX: usize = 4_096;

/// What a stock phone imports.
#[derive(Debug, clap::Args)]
pub(super) struct PhoneArgs {
    /// Make what a stock phone or computer imports to join participating Wi-Fi and to tunnel home, in NAME-phone/
    #[arg(long)]
    phone: bool,
    /// Show a QR code that leads to a page of the home's with a button for each kind of phone, in place of files. Each link works
    /// once, for a quarter of an hour, and only at home
    #[arg(long, requires = "phone")]
    page: bool,
    /// Earlier certificates of this phone count no longer
    #[arg(long, requires = "phone")]
    anew: bool,
    /// The settings file of the team's home, which has to run on this computer; where there is none here, the one in
    /// /etc/guestright
    #[arg(long, value_name = "FILE", default_value = "home.toml", requires = "phone")]
    home: PathBuf,
}

impl PhoneArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.phone
    }

    pub(super) fn none() -> Self {
        Self { phone: false, page: false, anew: false, home: PathBuf::from("home.toml") }
    }
}

/// `NAME.phone`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// What the phone is called in its certificate.
    pub(super) label: String,
    /// The certificate's number.
    pub(super) serial: String,
    pub(super) not_after: String,
    /// The settings file of the home that has made it.
    home: PathBuf,
    /// Since when it is let in no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revoked: Option<String>,
}

/// The team's home on this computer.
struct Home {
    file: PathBuf,
    settings: HomeSettings,
    state: PathBuf,
}

impl Home {
    fn open(file: &Path) -> Result<Self, Failure> {
        let file = std::fs::canonicalize(file).with_context(|| format!("read {}", file.display()));
        let file = file.map_err(|error| {
            Failure::config(error).hint(
                "the home makes what phones import: say this on its computer, and name its settings with --home",
            )
        })?;
        let settings: HomeSettings = settings::read(&file)?;
        let state = settings::beside(&file, &settings.state);
        Ok(Self { file, settings, state })
    }

    /// Asks it; what it refuses is an error.
    fn ask(&self, question: &str) -> Result<Value, Failure> {
        let nobody = || {
            Failure::network(anyhow!("no home runs with {}", self.file.display()))
                .hint("it makes what phones import: start it, and say this again")
        };
        let answer = control::ask(&socket(&self.state), question)?.ok_or_else(nobody)?;
        match answer["error"].as_str() {
            Some(error) => {
                let failure = Failure::config(anyhow!("the home says: {error}"));
                Err(match answer["hint"].as_str() {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                })
            }
            None if answer.is_null() => Err(nobody()),
            None => Ok(answer),
        }
    }

    /// Whether it reads this directory of a gateway, and no copy of it.
    fn reads(&self, files: &GatewayFiles) -> bool {
        let own = self.settings.gateway.as_ref().map(|own| settings::beside(&self.file, &own.directory));
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        own.and_then(|own| real(&own)).is_some_and(|own| Some(own) == real(files.path()))
    }
}

impl Add {
    /// The member, a way home, and what its phone imports: what of it is not there already is made.
    pub(super) fn add_phone(mut self, out: &mut Output) -> Outcome {
        let home = Home::open(&settings::or_usual(self.phone.home.clone(), "home.toml"))?;
        if self.role.role() != Role::Member {
            let error = anyhow!("only a member roams; {} is to be a {}", self.name, self.role.role());
            return Err(Failure::user(error).hint("leave out --phone"));
        }
        // Before anything is made.
        home.ask("phone ready")?;
        let files = super::gateway(&self.team.dir)?.ok_or_else(|| {
            Failure::config(anyhow!("the team has no gateway, and a phone is served through its tunnel home"))
                .hint("make one with `guestright team gateway init`, and give the home a section [gateway]")
        })?;
        let (shows_tunnel, dir) = (self.tunnel.is_wanted(), self.team.dir.clone());
        let (certificate, is_new) = self.make_member(&home, &files)?;
        let is_read = home.reads(&files);
        if is_read {
            home.ask("reload")?;
        }
        let answer = home.ask(&format!("phone add {}", *self.wish(&files, &certificate)?))?;
        let text = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
        let record = Record {
            label: text("label"),
            serial: text("serial"),
            not_after: text("not_after"),
            home: home.file.clone(),
            revoked: None,
        };
        write_record(&dir, &self.name, &record)?;
        let written = write_files(&directory(&dir, &self.name), &answer["files"])?;
        if self.json {
            let id = certificate.subject_id().to_string();
            let mut summary = json!({ "name": self.name, "id": id, "label": record.label, "serial": record.serial,
                "not_after": record.not_after, "ikev2": answer["ikev2"], "files": written,
                "gateway_read": is_read });
            if answer["page"].is_object() {
                summary["page"] = answer["page"].clone();
            } else {
                summary["password"] = answer["password"].clone();
            }
            return Ok(writeln!(out, "{summary}")?);
        }
        let name = &self.name;
        if is_new {
            writeln!(out, "added {name} as member, until {}", certificate.not_after())?;
        }
        writeln!(out, "{name}'s phone has a certificate until {}, as {}", record.not_after, record.label)?;
        if !is_read {
            writeln!(
                out,
                "give gateway/ to the home again, and say `guestright home reload`: its tunnel needs it"
            )?;
        }
        if shows_tunnel {
            enrol::Show::of(name, &dir, self.tunnel.into_images(), false).run(out)?;
        }
        if answer["page"].is_object() {
            return print_page(&answer["page"], out);
        }
        print_files(&directory(&dir, name), &answer, out)
    }

    /// The member's certificate; whether it was made now. A tunnel is made too, if there is none.
    fn make_member(&mut self, home: &Home, files: &GatewayFiles) -> Result<(Certificate, bool), Failure> {
        self.tunnel.want();
        let wants_ike = home.settings.gateway.as_ref().is_some_and(|gateway| gateway.ikev2.is_some());
        if wants_ike && self.name.is_ascii() && !ike_files::path(files, &self.name).exists() {
            self.ike.want();
        }
        if !member_files(&self.team.dir, &self.name).1.exists() {
            return self.make().map(|made| (made.certificate, true));
        }
        let (dir, name) = (&self.team.dir, &self.name);
        let certificate = renew::certificate_of(dir, name)?;
        if certificate.role() != Role::Member {
            let error = anyhow!("only a member roams; {name} is a {}", certificate.role());
            return Err(Failure::user(error).hint("leave out --phone"));
        }
        renew::check_not_revoked(dir, name, certificate.subject_id())?;
        if !enrol::has_tunnel(dir, name)? {
            self.give_tunnel(&certificate)?;
        }
        let ike = self.ike.find_gateway(dir, name, Role::Member)?;
        ike.map(|gateway| gateway.enrol(name, certificate.subject_id())).transpose()?;
        Ok((certificate, false))
    }

    /// What the home is asked for.
    fn wish(&self, files: &GatewayFiles, certificate: &Certificate) -> Result<Zeroizing<String>, Failure> {
        let name = &self.name;
        let mut wish = json!({ "member": name, "key": certificate.subject_id().to_string(),
            "page": self.phone.page, "anew": self.phone.anew });
        let config = self.team.dir.join(format!("{name}.conf"));
        if config.exists() {
            wish["wireguard"] = json!(gateway_files::read_secret(&config)?);
        }
        let all = ike_files::read_all(files)?;
        let own = all.iter().find(|(member, file)| member == name && file.revoked.is_none());
        if let Some((_, file)) = own {
            wish["ike"] = json!({ "gateway": ike_files::host(files),
                "gateway_identity": ike_files::identity(files), "secret": file.secret });
        }
        Ok(Zeroizing::new(wish.to_string()))
    }
}

/// Where a phone's files are.
fn directory(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}-phone"))
}

fn record_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.phone"))
}

/// What is known of a member's phone.
pub(super) fn record(dir: &Path, name: &str) -> Result<Option<Record>, Failure> {
    let path = record_path(dir, name);
    if !path.exists() {
        return Ok(None);
    }
    let read = || {
        let bytes = guestright_keys::read_to_limit(&path, RECORD_BYTES_MAX)?;
        Ok::<_, anyhow::Error>(toml::from_str(std::str::from_utf8(&bytes)?)?)
    };
    read().with_context(|| format!("understand {}", path.display())).map(Some).map_err(Failure::config)
}

fn write_record(dir: &Path, name: &str, record: &Record) -> Result<(), Failure> {
    let text = toml::to_string(record).map_err(Failure::bug)?;
    guestright_keys::replace_private(&record_path(dir, name), text.as_bytes()).map_err(Failure::config)
}

/// Writes what the home has made, for its owner alone; earlier files give way. Their paths.
fn write_files(directory: &Path, files: &Value) -> Result<Vec<PathBuf>, Failure> {
    forget_files(directory)?;
    let Some(files) = files.as_object() else { return Ok(Vec::new()) };
    guestright_cli::files::state_directory(directory)?;
    let mut written = Vec::new();
    for (name, content) in files {
        // The home is ours, and still: a name of it leads nowhere else.
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let bytes = content.as_str().and_then(|text| STANDARD.decode(text).ok()).map(Zeroizing::new);
        let bytes = bytes.filter(|_| is_name && !name.starts_with('.'));
        let bytes = bytes.ok_or_else(|| Failure::bug(anyhow!("the home's answer names no file")))?;
        let path = directory.join(name);
        gateway_files::create_private(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}

fn forget_files(directory: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failure::config(anyhow!("remove {}: {error}", directory.display())))
        }
        _ => Ok(()),
    }
}

fn print_page(page: &Value, out: &mut Output) -> Outcome {
    let (link, minutes) = (page["link"].as_str().unwrap_or_default(), &page["minutes"]);
    let code = Code::new(link).map_err(Failure::config)?;
    qr::print(&code, std::io::stdout().is_terminal(), out)?;
    writeln!(out, "scan this with the phone, at home: {link}")?;
    writeln!(
        out,
        "it works for {minutes} minutes, for the first who follows it, and each file is given out once"
    )?;
    Ok(())
}

fn print_files(directory: &Path, answer: &Value, out: &mut Output) -> Outcome {
    writeln!(out, "\nin {}, each for one kind of system:", directory.display())?;
    for (file, what) in [
        ("apple.mobileconfig", "iPhone, iPad, Mac"),
        (
            "android.wifi-config",
            "Android 11 and newer, served as application/x-wifi-config: better by --page",
        ),
        ("chromeos.onc", "Chromebook, at chrome://network#general"),
        ("wpa_supplicant.conf", "Linux with wpa_supplicant"),
        (
            "network-manager.nmconnection",
            "Linux with NetworkManager, with authority.pem and the other .p12 in",
        ),
        ("", "/etc/NetworkManager/guestright/"),
        ("certificate.p12", "anything else: the certificate and its key"),
    ] {
        writeln!(out, "  {file:<30} {what}")?;
    }
    writeln!(out, "  {:<30} {}", "its password", answer["password"].as_str().unwrap_or_default())?;
    writeln!(out, "whoever has one of them joins as this phone: hand over one, and delete the directory")?;
    if answer["ikev2"] != true {
        writeln!(
            out,
            "they join Wi-Fi and make no tunnel, for the home has no [gateway.ikev2]: the phone needs the WireGuard app \
             too, see `guestright team member show`"
        )?;
    }
    Ok(())
}

/// What became of a phone that is to be let in no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revoked {
    /// There is none.
    NoPhone,
    /// The home knows, and has shut its tunnel if it has this gateway.
    Now { is_shut: bool },
    /// The home was not reached: it learns of it with the team's list.
    WithTheList,
}

/// Lets a member's phone in no more.
pub(super) fn revoke(dir: &Path, name: &str, since: &str) -> Result<Revoked, Failure> {
    let Some(mut record) = record(dir, name)? else { return Ok(Revoked::NoPhone) };
    record.revoked.get_or_insert_with(|| since.to_owned());
    write_record(dir, name, &record)?;
    forget_files(&directory(dir, name))?;
    let tell = || {
        let home = Home::open(&record.home)?;
        home.ask(&format!("phone revoke {name}"))?;
        let is_read = super::gateway(dir)?.is_some_and(|files| home.reads(&files));
        // A session that is signed for over its tunnel ends with that.
        Ok::<_, Failure>(Revoked::Now { is_shut: is_read && home.ask("reload").is_ok() })
    };
    Ok(tell().unwrap_or(Revoked::WithTheList))
}

/// Nothing is left of it here.
pub(super) fn forget(dir: &Path, name: &str) -> Result<(), Failure> {
    Ok(super::renewal::remove(&record_path(dir, name))?)
}

impl Revoked {
    /// Whether its tunnel is shut, too.
    pub(super) fn is_shut(self) -> bool {
        matches!(self, Self::Now { is_shut: true })
    }

    pub(super) fn json(self) -> Value {
        match self {
            Self::NoPhone => Value::Null,
            Self::Now { .. } => json!({ "revoked_at_home": true }),
            Self::WithTheList => json!({ "revoked_at_home": false }),
        }
    }

    pub(super) fn print(self, name: &str, out: &mut Output) -> Outcome {
        match self {
            Self::NoPhone => Ok(()),
            Self::Now { .. } => {
                Ok(writeln!(out, "{name}'s phone joins no Wi-Fi any more: the home refuses it from now on")?)
            }
            Self::WithTheList => Ok(writeln!(
                out,
                "{name}'s phone is refused as soon as the home has the list: the home could not be asked"
            )?),
        }
    }
}
