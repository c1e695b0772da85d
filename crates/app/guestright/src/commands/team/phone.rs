//! `guestright team member add NAME --phone`: what a stock phone imports, made by the team's home.

use super::{Add, enrol};
use crate::qr;
use crate::settings;
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_error::RunError;
use guestright_team::member;
use guestright_team::phone::{Home, HomeSettings, Revoked, Served, Wish, add};
use guestright_team::qr::Code;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
}

/// What the library wants to know of the team's home.
pub(crate) fn read_home(file: &Path) -> Result<HomeSettings, RunError> {
    let settings: settings::HomeSettings = settings::read(file)?;
    let gateway = settings.gateway.as_ref();
    Ok(HomeSettings {
        state: settings::beside(file, &settings.state),
        revocations: settings.revocations.as_ref().map(|list| settings::beside(file, list)),
        gateway: gateway.map(|gateway| settings::beside(file, &gateway.directory)),
        ikev2: gateway.is_some_and(|gateway| gateway.ikev2.is_some()),
    })
}

impl Add {
    /// The member, a way home, and what its phone imports: what of it is not there already is made.
    pub(super) fn add_phone(self, out: &mut Output) -> Outcome {
        let (name, dir) = (&self.name, &self.team.dir);
        let home = Home::open(&settings::or_usual(self.phone.home.clone(), "home.toml"), read_home)?;
        self.tunnel.images().check(true)?;
        let wish = Wish { page: self.phone.page, anew: self.phone.anew };
        let key = || self.team.signing_key();
        let member = member::Wish { tunnel: Some(self.tunnel.wish()), ..self.wish() };
        let served = add(dir, &key, member, wish, &home)?;
        let Served { certificate, is_new, record, files, answer, gateway_read, .. } = &served;
        if self.json {
            let id = certificate.subject_id().to_string();
            let mut summary = json!({ "name": name, "id": id, "label": record.label, "serial": record.serial,
                "not_after": record.not_after, "ikev2": answer["ikev2"], "files": files,
                "gateway_read": gateway_read });
            let handed = if answer["page"].is_object() { "page" } else { "password" };
            summary[handed] = answer[handed].clone();
            return Ok(writeln!(out, "{summary}")?);
        }
        if *is_new {
            writeln!(out, "added {name} as member, until {}", certificate.not_after())?;
        }
        writeln!(out, "{name}'s phone has a certificate until {}, as {}", record.not_after, record.label)?;
        if !gateway_read {
            writeln!(
                out,
                "give gateway/ to the home again, and say `guestright home reload`: its tunnel needs it"
            )?;
        }
        if self.tunnel.is_wanted() {
            enrol::show(name, dir, self.tunnel.images(), false, out)?;
        }
        if answer["page"].is_object() {
            return print_page(&answer["page"], out);
        }
        print_files(&served.directory, answer, out)
    }
}

fn print_page(page: &Value, out: &mut Output) -> Outcome {
    let (link, minutes) = (page["link"].as_str().unwrap_or_default(), &page["minutes"]);
    qr::print(&Code::new(link)?, out)?;
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

pub(super) fn revoked_json(revoked: Revoked) -> Value {
    match revoked {
        Revoked::NoPhone => Value::Null,
        Revoked::Now { .. } => json!({ "revoked_at_home": true }),
        Revoked::WithTheList => json!({ "revoked_at_home": false }),
    }
}

pub(super) fn print_revoked(revoked: Revoked, name: &str, out: &mut Output) -> Outcome {
    match revoked {
        Revoked::NoPhone => Ok(()),
        Revoked::Now { .. } => {
            Ok(writeln!(out, "{name}'s phone joins no Wi-Fi any more: the home refuses it from now on")?)
        }
        Revoked::WithTheList => Ok(writeln!(
            out,
            "{name}'s phone is refused as soon as the home has the list: the home could not be asked"
        )?),
    }
}
