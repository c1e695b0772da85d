//! Members, as the household's page has them changed: by the home that runs beside the team's directory (design note 0015).

use crate::directory::{TeamKey, certificates, team_key};
use crate::life::{CERTIFICATE_DAYS, DAY};
use crate::phone::{self, Home, ReadHome};
use crate::qr::Code;
use crate::way_home::{Tunnel, TunnelWish, has_tunnel};
use crate::{member, name};
use guestright_error::RunError;
use guestright_host::home::page::{MadeCode, MemberChange, MemberWish};
use guestright_identity::{KeyId, Role};
use guestright_overview::Key;
use guestright_page::TunnelOrPhone;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// For how many seconds the code of a tunnel is shown. It is a secret that does not end with that.
const TUNNEL_SHOWN: u64 = 900;

/// Two revocations at once would each write a list without the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Whose members, and which home.
#[derive(Clone, Debug)]
pub struct Members {
    /// The team's directory, with its key.
    pub dir: PathBuf,
    /// The home's settings file.
    pub home: PathBuf,
    pub read_home: ReadHome,
}

impl Members {
    /// Does it. Makes a code for whatever is to be scanned.
    ///
    /// # Errors
    /// The team's key is not here or encrypted; the home reads another team's files; nobody has the key; somebody has the name; or a
    /// file cannot be written.
    pub fn change(&self, change: &MemberChange) -> Result<Option<MadeCode>, RunError> {
        let key = || {
            guestright_keys::read_secret(&team_key(&self.dir), || None).map_err(|error| {
                RunError::config(error)
                    .with_hint("a key with a passphrase is for the terminal: guestright team member --help")
            })
        };
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let home = Home::open(&self.home, self.read_home)?;
        home.check_reads(&self.dir)?;
        match change {
            MemberChange::Add(MemberWish { name, kind }) => {
                let name = name::check(name)?;
                if member::is_added(&self.dir, &name) {
                    return Err(RunError::user(format!("somebody is called {name} already")).with_hint(
                        "if that is the member you mean, ask for another code where it is listed",
                    ));
                }
                self.give(&name, *kind, &key, &home).map(Some)
            }
            MemberChange::Code { key: id, kind } => self.give(&self.name(id)?, *kind, &key, &home).map(Some),
            MemberChange::Renew { key: id } => {
                let names = vec![self.name(id)?];
                member::renew(&self.dir, &key, names, CERTIFICATE_DAYS * DAY).map(|_| None)
            }
            MemberChange::Revoke { key: id } => {
                member::revoke(&self.dir, &key, &self.name(id)?, self.read_home).map(|_| None)
            }
        }
    }

    fn give(
        &self,
        name: &str,
        kind: TunnelOrPhone,
        key: TeamKey<'_>,
        home: &Home,
    ) -> Result<MadeCode, RunError> {
        match kind {
            TunnelOrPhone::Phone => self.give_phone(name, key, home),
            TunnelOrPhone::Tunnel => self.give_tunnel(name, key),
        }
    }

    /// A page of the home's, for whoever has its link first.
    fn give_phone(&self, name: &str, key: TeamKey<'_>, home: &Home) -> Result<MadeCode, RunError> {
        let wish = phone::Wish { page: true, anew: false };
        let served = phone::add(&self.dir, key, wanted(name), wish, home)?;
        let page = &served.answer["page"];
        let (link, minutes) = page["link"]
            .as_str()
            .zip(page["minutes"].as_u64())
            .ok_or_else(|| RunError::bug("the home has made no page for the phone, and does not say why"))?;
        Ok(MadeCode { svg: Code::new(link)?.svg(), link: Some(link.to_owned()), seconds: minutes * 60 })
    }

    fn give_tunnel(&self, name: &str, key: TeamKey<'_>) -> Result<MadeCode, RunError> {
        let tunnel = if !member::is_added(&self.dir, name) {
            let added = member::add(&self.dir, &key()?, &wanted(name))?;
            added.tunnel.ok_or_else(|| RunError::bug("no tunnel was made where one was wanted"))?
        } else {
            let certificate = member::roaming_certificate(&self.dir, name, "the tunnel")?;
            if has_tunnel(&self.dir, name)? {
                Tunnel::of_member(&self.dir, name)?
            } else {
                member::give_tunnel(&self.dir, key, name, &certificate, &TunnelWish::default())?
            }
        };
        Ok(MadeCode { svg: Code::new(&tunnel.config)?.svg(), link: None, seconds: TUNNEL_SHOWN })
    }

    /// Who has this key.
    fn name(&self, key: &Key) -> Result<String, RunError> {
        let all = certificates(&self.dir)?;
        let found = all.into_iter().find(|(_, certificate)| {
            certificate.role() == Role::Member && certificate.subject_id() == KeyId(key.0)
        });
        found.map(|(name, _)| name).ok_or_else(|| {
            RunError::user("no member of the team has this key").with_hint("look at the page again")
        })
    }
}

fn wanted(name: &str) -> member::Wish {
    member::Wish {
        name: name.to_owned(),
        role: Role::Member,
        life: CERTIFICATE_DAYS * DAY,
        tunnel: Some(TunnelWish::default()),
        ikev2: false,
    }
}

#[cfg(test)]
mod tests;
