//! The household's own phones: its authority, its home's certificate, the list of phones, their conversations, their files.
//!
//! All of it is in `phones/` in the state directory, for the home's user alone: `authority.pem` and `home.pem` (a key and its
//! certificate each), and `phones.json`. Nothing is made before the first phone is.

mod book;
mod files;
mod page;

use super::household::{IkeAccess, Request, Surroundings};
use crate::home::overview::Phone as ShownPhone;
use crate::log_pace::LogPace;
use crate::private;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use book::{Book, Issued, Phone};
use files::Files;
use guestright_eap::{
    Authority, Certificate, Config, ConversationId, Credential, Label, Limits, Outcome, Packet, PrivateKey,
    Realm, Serial, Servers, TableLimits,
};
use guestright_error::{OrFail as _, RunError};
use guestright_identity::RevocationList;
use guestright_profile::{
    Download, Elsewhere, Ike, IkeAuthentication, OnDemand, Secret, Ssid, TlsVersions, Uuid,
};
use guestright_radius::relay::{Answer, Conversation, Question, Sentence, What};
use guestright_radius::{Msk, Realm as TeamRealm};
use guestright_units::{Micros, Seed, TeamId, Time, UnixSeconds};
use page::{Offer, Pages};
use rand::Rng as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The directory in the state directory, and the files in it.
const DIRECTORY: &str = "phones";
const AUTHORITY: &str = "authority.pem";
const HOME: &str = "home.pem";
const BOOK: &str = "phones.json";
const PEM_BYTES_MAX: usize = 16 * 1_024;
/// The home's certificate is looked at so often, and made anew when this is left of its year: four months, in seconds.
const LOOK_EVERY: Micros = Micros::from_seconds(3_600);
const RENEW_BEFORE: u64 = 122 * 86_400;
/// The authority's end is said two years before: phones have to be given another one by then, in seconds.
const AUTHORITY_ENDS_SOON: u64 = 730 * 86_400;
/// A clock before this, 2026-01-01, is wrong: a computer without a battery for it has started a moment ago.
const EARLIEST: UnixSeconds = UnixSeconds(1_767_225_600);
/// Conversations at a time, and those of one team's access points. One in the middle of a handshake has some 30 kB.
const CONVERSATIONS_MAX: usize = 1_024;
const CONVERSATIONS_EACH_MAX: usize = 256;

const OVER: &str = "This attempt to join is over. Try again.";
const CROWDED: &str = "Too many devices are trying to join at the moment. Try again.";
const NONE_YET: &str = "Your home has made no phone yet. Ask whoever looks after it.";
const NOT_READY: &str = "Your home is not ready for phones. Try again in a while.";
const UNKNOWN: &str = "Your home does not know this phone's certificate. Fetch a new profile at home.";

/// See [module](self).
#[derive(Debug)]
pub(in super::super) struct Household {
    team: TeamId,
    realm: Realm,
    surroundings: Surroundings,
    directory: PathBuf,
    book: Book,
    /// Made with the first phone.
    authority: Option<Authority>,
    server: Option<Server>,
    look_at: Time,
    pages: Pages,
    counts: BTreeMap<&'static str, u64>,
    lines: LogPace,
    /// The last warning that was written into the log.
    warned: Option<String>,
}

/// The home as a server of EAP.
#[derive(Debug)]
struct Server {
    certificate: Certificate,
    config: Config,
    conversations: Servers<TeamId>,
    /// What each asker calls its conversations.
    ids: BTreeMap<(TeamId, Conversation), ConversationId>,
}

/// A phone that was made.
struct Made {
    phone: guestright_profile::Phone,
    credential: Credential,
    files: Files,
}

impl Household {
    /// What there is in the state directory.
    ///
    /// # Errors
    /// A file there cannot be read or is not what it was.
    pub(in super::super) fn open(
        surroundings: Surroundings,
        team: TeamId,
        rng: &mut StdRng,
        now: Time,
    ) -> Result<Option<Self>, RunError> {
        if let Some(address) = surroundings.settings.page {
            page::check(address)?;
        }
        let directory = surroundings.state.join(DIRECTORY);
        let realm: Realm = TeamRealm(team).to_string().parse().map_err(RunError::bug)?;
        let authority = read_authority(&directory.join(AUTHORITY), &realm)?;
        let mut this = Self {
            team,
            realm,
            book: Book::open(&directory.join(BOOK))?,
            authority,
            server: None,
            look_at: now,
            pages: Pages::new(surroundings.settings.page, surroundings.settings.page_seconds),
            counts: BTreeMap::new(),
            lines: LogPace::default(),
            warned: None,
            surroundings,
            directory,
        };
        this.handle_timeout(rng, now);
        Ok(Some(this))
    }

    /// What is said about one packet of a phone; nothing if it changes nothing.
    pub(in super::super) fn answer(
        &mut self,
        asker: TeamId,
        question: &Question,
        rng: &mut StdRng,
        now: Time,
    ) -> Option<Answer> {
        let conversation = question.conversation;
        let away = |reason| Some(Answer { conversation, what: What::Away { reason: Sentence::new(reason) } });
        let Some(server) = &mut self.server else {
            return away(if self.authority.is_some() { NOT_READY } else { NONE_YET });
        };
        let begun = server.ids.get(&(asker, conversation)).copied();
        let id = match begun {
            Some(id) => id,
            // It is not known any more, or has not begun as it should.
            None if !is_beginning(&question.eap) => {
                self.count("over");
                return away(OVER);
            }
            None => {
                let Some(id) = server.conversations.begin(asker, question.framed_mtu, now, rng) else {
                    self.count("crowded");
                    return away(CROWDED);
                };
                server.ids.insert((asker, conversation), id);
                id
            }
        };
        let handled = server.conversations.handle(id, &asker, &question.eap, now);
        let packet = server.conversations.poll_transmit().map(|(_, packet)| packet);
        let outcome = server.conversations.outcome(id).cloned();
        server.forget_ended();
        if let Err(dropped) = handled {
            tracing::debug!(%dropped, "a packet about a phone was dropped");
            // The right one may still come: on the air anybody can send one.
            self.count("dropped");
            return None;
        }
        let what = self.judge(asker, packet?, outcome, now);
        Some(Answer { conversation, what })
    }

    fn judge(&mut self, asker: TeamId, eap: Vec<u8>, outcome: Option<Outcome>, now: Time) -> What {
        match outcome {
            None => What::Challenge { eap },
            Some(Outcome::Refused { reason }) => {
                self.count("refused");
                self.say_refused(asker, &reason.to_string(), now);
                What::Reject { eap, reason: Sentence::new(&reason.to_string()) }
            }
            Some(Outcome::Accepted { label, serial, msk, .. }) => {
                self.judge_accepted(asker, eap, (&label, &serial), Msk::new(*msk.as_bytes()), now)
            }
        }
    }

    /// The certificate is right; is the phone on the list?
    fn judge_accepted(
        &mut self,
        asker: TeamId,
        eap: Vec<u8>,
        (label, serial): (&Label, &Serial),
        msk: Msk,
        now: Time,
    ) -> What {
        let seconds = now.unix_seconds();
        let Some((phone, issued)) = self.book.holder(&serial.to_string(), seconds) else {
            self.count("unknown");
            self.say_refused(asker, UNKNOWN, now);
            let failure = Packet::Failure { identifier: eap.get(1).copied().unwrap_or_default() };
            return What::Reject { eap: failure.emit(), reason: Sentence::new(UNKNOWN) };
        };
        let left = issued.not_after.saturating_sub(seconds.0);
        let valid_for_seconds = u32::try_from(left).unwrap_or(u32::MAX);
        let member = phone.member.clone();
        self.count("joined");
        if let Some(unsaid) = self.lines.next(now) {
            let unsaid = (unsaid > 0).then_some(unsaid);
            tracing::info!(%member, %label, at = %asker.short(), unsaid, "a phone joins");
        }
        What::Accept { eap, msk, valid_for_seconds, home: self.surroundings.endpoint }
    }

    fn say_refused(&mut self, asker: TeamId, reason: &str, now: Time) {
        if let Some(unsaid) = self.lines.next(now) {
            let unsaid = (unsaid > 0).then_some(unsaid);
            tracing::info!(at = %asker.short(), reason, unsaid, "a phone was refused");
        }
    }

    pub(in super::super) fn poll_timeout(&self) -> Option<Time> {
        let conversations = self.server.as_ref().and_then(|server| server.conversations.poll_timeout());
        self.authority.as_ref().map(|_| self.look_at).into_iter().chain(conversations).min()
    }

    pub(in super::super) fn handle_timeout(&mut self, rng: &mut StdRng, now: Time) {
        if let Some(server) = &mut self.server {
            server.conversations.handle_timeout(now);
            server.forget_ended();
        }
        if now < self.look_at && self.look_at - now <= LOOK_EVERY {
            return;
        }
        self.look_at = now + LOOK_EVERY;
        if self.authority.is_some()
            && let Err(error) = self.keep_server(rng, now.unix_seconds())
        {
            tracing::error!(error = error.sentence(), "the home has no certificate for phones");
        }
        let warning = self.warnings(now.unix_seconds()).into_iter().next();
        if let Some(warning) = warning.as_ref().filter(|warning| self.warned.as_ref() != Some(warning)) {
            tracing::warn!(name: "phones_warning", "{warning}");
        }
        self.warned = warning;
    }

    /// Makes a certificate and files for a member's phone, and the authority if this is the first.
    ///
    /// # Errors
    /// The clock is wrong, a file cannot be written, there are too many, or a name cannot stand in a file.
    pub(in super::super) fn add(
        &mut self,
        request: Request,
        rng: &mut StdRng,
        now: Time,
    ) -> Result<Value, RunError> {
        if request.page {
            self.pages.open()?;
        }
        let Made { phone, credential, mut files } = self.make(&request, rng, now)?;
        let certificate = &credential.certificate;
        let mut answer = json!({
            "member": request.member,
            "label": phone.label,
            "serial": certificate.serial().to_string(),
            "not_after": certificate.not_after().to_string(),
            "realm": self.realm.as_str(),
            "ikev2": phone.ike.is_some(),
        });
        if !request.page {
            let (named, password) = files.named();
            let encode =
                |(name, bytes): (String, Zeroizing<Vec<u8>>)| (name, json!(STANDARD.encode(&*bytes)));
            answer["files"] = named.into_iter().map(encode).collect::<serde_json::Map<_, _>>().into();
            answer["password"] = json!(password.expose());
            return Ok(answer);
        }
        if let Some(wireguard) = &request.wireguard {
            files.downloads.insert(Download::WireGuard, Zeroizing::new(wireguard.as_bytes().to_vec()));
        }
        let link = self.pages.offer(
            Offer {
                team: phone.team.clone(),
                member: request.member,
                label: phone.label.clone(),
                ends: certificate.not_after(),
                password: files.password,
                files: files.downloads,
            },
            rng,
        )?;
        answer["page"] = json!({ "link": link.address.as_str(), "minutes": link.minutes });
        Ok(answer)
    }

    /// Makes certificate and files, and has the phone on the list before anybody has them.
    fn make(&mut self, request: &Request, rng: &mut StdRng, now: Time) -> Result<Made, RunError> {
        let seconds = now.unix_seconds();
        self.found(rng, seconds)?;
        self.keep_server(rng, seconds)?;
        let authority = self.authority.as_ref().ok_or_else(|| RunError::bug("it was founded"))?;
        let (label, credential) = authority.issue_client(seconds, rng);
        let uuid = match self.book.of(&request.member) {
            Some(phone) => phone.uuid,
            None => random(rng),
        };
        let phone = self.describe(authority, request, &label, &credential, uuid)?;
        let files = Files::make(&phone, &Seed(random(rng)))?;
        let certificate = &credential.certificate;
        let issued = Issued {
            label: label.to_string(),
            serial: certificate.serial().to_string(),
            not_before: certificate.not_before().0,
            not_after: certificate.not_after().0,
            revoked: None,
        };
        if request.anew {
            self.book.revoke(|phone| phone.member == request.member, seconds)?;
        }
        self.book.add((&request.member, &request.key.to_string(), uuid), issued, seconds)?;
        self.take_up_revoked();
        Ok(Made { phone, credential, files })
    }

    /// A member's phone is let in no more, from its next conversation on.
    ///
    /// # Errors
    /// The list cannot be written.
    pub(in super::super) fn revoke(&mut self, member: &str, now: Time) -> Result<Value, RunError> {
        let is_known = self.book.of(member).is_some();
        let count = self.book.revoke(|phone| phone.member == member, now.unix_seconds())?;
        self.pages.remove(member);
        self.take_up_revoked();
        Ok(json!({ "member": member, "known": is_known, "revoked": count }))
    }

    /// Whoever signs for nothing any more joins nowhere any more.
    pub(in super::super) fn handle_revocations(&mut self, list: &RevocationList, now: Time) {
        let keys: BTreeSet<String> = list.revoked().keys().map(ToString::to_string).collect();
        match self.book.revoke(|phone| keys.contains(&phone.key), now.unix_seconds()) {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "certificates of revoked members' phones were revoked"),
            Err(error) => {
                tracing::error!(error = error.sentence(), "phones of revoked members could not be revoked");
            }
        }
        self.take_up_revoked();
    }

    pub(in super::super) fn status(&self, now: Time) -> Value {
        let seconds = now.unix_seconds();
        let phone = |phone: &Phone| {
            let current = phone.current(seconds).or(phone.certificates.last());
            let is_revoked = phone.certificates.iter().all(|issued| issued.revoked.is_some());
            json!({
                "member": phone.member,
                "label": current.map(|issued| &issued.label),
                "serial": current.map(|issued| &issued.serial),
                "not_after": current.map(|issued| issued.ends().to_string()),
                "certificates": phone.certificates.iter().filter(|issued| issued.holds(seconds)).count(),
                "revoked": is_revoked,
                "warning": phone.warning(seconds),
            })
        };
        let conversations = self.server.as_ref().map_or(0, |server| server.conversations.len());
        json!({
            "realm": self.realm.as_str(),
            "authority_not_after": self.authority.as_ref().map(|it| it.certificate().not_after().to_string()),
            "home_not_after": self.server.as_ref().map(|it| it.certificate.not_after().to_string()),
            "warnings": self.warnings(seconds),
            "phones": self.book.phones().iter().map(phone).collect::<Vec<_>>(),
            "conversations": conversations,
            "counts": self.counts,
            "page": self.pages.serving().map(|address| address.to_string()),
        })
    }

    /// Each member's phone: its certificate that holds, or else its last one.
    pub(in super::super) fn phones(&self, now: UnixSeconds) -> Vec<ShownPhone> {
        let phone = |phone: &Phone| {
            let issued = phone.current(now).or(phone.certificates.last())?;
            Some(ShownPhone {
                member: phone.member.clone(),
                key: phone.key.clone(),
                label: issued.label.clone(),
                not_after: Some(issued.ends()),
                revoked: issued.revoked.map(UnixSeconds),
            })
        };
        self.book.phones().iter().filter_map(phone).collect()
    }

    /// What a person has to do.
    fn warnings(&self, now: UnixSeconds) -> Vec<String> {
        let Some(authority) = &self.authority else { return Vec::new() };
        let (begins, ends) = (authority.certificate().not_before(), authority.certificate().not_after());
        if now < begins.max(EARLIEST) {
            return vec![format!(
                "the clock says {now}, which is before the phones' authority was made: set it; until then no phone joins"
            )];
        }
        let mut warnings = Vec::new();
        if now > ends {
            warnings.push(format!("the phones' authority has ended at {ends}: is the clock right?"));
        } else if ends.0 - now.0 < AUTHORITY_ENDS_SOON {
            warnings.push(format!("the phones' authority ends at {ends}: phones need another one by then"));
        }
        warnings.extend(self.book.phones().iter().filter_map(|phone| phone.warning(now)));
        warnings
    }

    /// Makes the authority, if there is none.
    fn found(&mut self, rng: &mut StdRng, now: UnixSeconds) -> Result<(), RunError> {
        if self.authority.is_some() {
            return Ok(());
        }
        if now < EARLIEST {
            return Err(RunError::config(format!("the clock of the home's computer says {now}"))
                .with_hint("set it: certificates that are made now would count for another time"));
        }
        private::make_private_directory(&self.directory)?;
        let authority = Authority::found(self.realm.clone(), now, rng);
        write_credential(&self.directory.join(AUTHORITY), authority.credential())?;
        tracing::info!(until = %authority.certificate().not_after(), "made an authority for phones");
        self.authority = Some(authority);
        Ok(())
    }

    /// Has a certificate for the home that still counts for a while.
    fn keep_server(&mut self, rng: &mut StdRng, now: UnixSeconds) -> Result<(), RunError> {
        let Some(authority) = &self.authority else { return Ok(()) };
        let lasts = |certificate: &Certificate| {
            let (begins, ends) = (certificate.not_before(), certificate.not_after());
            let is_last = ends >= authority.certificate().not_after();
            now >= begins && now <= ends && (is_last || ends.0 - now.0 > RENEW_BEFORE)
        };
        if self.server.as_ref().is_some_and(|server| lasts(&server.certificate)) {
            return Ok(());
        }
        let path = self.directory.join(HOME);
        // What is made while the clock is wrong counts for another time: then the one that there is has to do.
        let is_wrong = now < authority.certificate().not_before().max(EARLIEST);
        // One that cannot be read, or is of another authority, is made anew.
        let kept = read_credential(&path).ok().flatten().filter(|kept| {
            let certificate = &kept.certificate;
            certificate.is_issued_by(authority.certificate()) && (is_wrong || lasts(certificate))
        });
        let (home, is_new) = match kept {
            Some(kept) => (kept, false),
            None if is_wrong => return Ok(()),
            None => (authority.issue_server(now, rng), true),
        };
        let revoked = self.book.revoked().iter().filter_map(|serial| serial.parse().ok()).collect();
        let certificate = authority.certificate();
        let config = Config::new(certificate, self.realm.clone(), &home, revoked, Limits::default());
        let config = config.map_err(RunError::config)?;
        if is_new {
            write_credential(&path, &home)?;
            tracing::info!(until = %home.certificate.not_after(), "made a certificate by which phones know the home");
        }
        self.install(home.certificate, config);
        Ok(())
    }

    /// Conversations that have begun go on with what they began with.
    fn install(&mut self, certificate: Certificate, config: Config) {
        if let Some(server) = &mut self.server {
            server.conversations.replace_config(config.clone());
            (server.certificate, server.config) = (certificate, config);
            return;
        }
        let limits = TableLimits {
            conversations_max: CONVERSATIONS_MAX,
            per_asker_max: CONVERSATIONS_EACH_MAX,
            ..TableLimits::default()
        };
        let conversations = Servers::new(config.clone(), limits);
        self.server = Some(Server { certificate, config, conversations, ids: BTreeMap::new() });
    }

    fn take_up_revoked(&self) {
        if let Some(server) = &self.server {
            let revoked = self.book.revoked().iter().filter_map(|serial| serial.parse().ok()).collect();
            server.config.replace_revoked(revoked);
        }
    }

    /// What the phone's files say.
    fn describe(
        &self,
        authority: &Authority,
        request: &Request,
        label: &Label,
        credential: &Credential,
        uuid: [u8; 16],
    ) -> Result<guestright_profile::Phone, RunError> {
        let settings = &self.surroundings.settings;
        let ssid = |name: &String| {
            Ssid::new(name).or_config(|| "understand wifi_at_home in [phones] of home.toml".to_owned())
        };
        let on_demand = OnDemand {
            at_home: settings.wifi_at_home.iter().map(ssid).collect::<Result<_, _>>()?,
            announced: None,
            elsewhere: if settings.tunnel_elsewhere { Elsewhere::Tunnel } else { Elsewhere::Leave },
        };
        let ike = |access: &IkeAccess| Ike {
            gateway: access.gateway.clone(),
            gateway_identity: access.gateway_identity.clone(),
            identity: request.member.clone(),
            authentication: IkeAuthentication::SharedSecret(Secret::new(access.secret.as_str())),
            on_demand: on_demand.clone(),
        };
        let name = settings.name.clone().unwrap_or_else(|| format!("Team {}", self.team.short()));
        let certificate = &credential.certificate;
        Ok(guestright_profile::Phone {
            uuid: Uuid::from_random(uuid),
            label: label.to_string(),
            team: name,
            realm: self.realm.as_str().to_owned(),
            server: self.realm.server_name(),
            ssid: Ssid::common(),
            consortiums: Vec::new(),
            authority: authority.certificate().as_der().to_vec(),
            authority_name: authority.certificate().common_name().unwrap_or_default(),
            certificate: certificate.as_der().to_vec(),
            key: guestright_profile::PrivateKey::from_pkcs8(credential.key.to_der().to_vec()),
            not_before: certificate.not_before(),
            not_after: certificate.not_after(),
            tls: TlsVersions::default(),
            ike: request.ike.as_ref().filter(|_| self.surroundings.ike).map(ike),
        })
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

impl Server {
    /// Conversations that are known no longer are no longer called anything.
    fn forget_ended(&mut self) {
        let mut ended = BTreeSet::new();
        while let Some((id, _)) = self.conversations.poll_event() {
            ended.insert(id);
        }
        if !ended.is_empty() {
            self.ids.retain(|_, id| !ended.contains(id));
        }
    }
}

/// An answer to "who are you?" (RFC 3748, section 5.1).
fn is_beginning(eap: &[u8]) -> bool {
    matches!(eap, [2, _, _, _, 1, ..])
}

fn random<const N: usize>(rng: &mut StdRng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// A key and its certificate are one file, so that they never are of two.
fn write_credential(path: &Path, credential: &Credential) -> Result<(), RunError> {
    let (key, certificate) = (credential.key.to_pem(), credential.certificate.to_pem());
    let mut text = Zeroizing::new(String::with_capacity(key.len() + certificate.len()));
    text.push_str(&key);
    text.push_str(&certificate);
    private::replace(path, text.as_bytes())
}

fn read_credential(path: &Path) -> Result<Option<Credential>, RunError> {
    if !path.exists() {
        return Ok(None);
    }
    let text = guestright_keys::read_secret_text(path, PEM_BYTES_MAX).map_err(RunError::config)?;
    let begins = text.find("-----BEGIN CERTIFICATE-----");
    let (key, certificate) = text.split_at(begins.unwrap_or(text.len()));
    let what = || format!("read {}", path.display());
    let key = PrivateKey::from_pem(key).or_config(what)?;
    let certificate = Certificate::from_pem(certificate).or_config(what)?;
    Ok(Some(Credential { certificate, key }))
}

fn read_authority(path: &Path, realm: &Realm) -> Result<Option<Authority>, RunError> {
    let credential = read_credential(path)?;
    let restore = |credential| {
        Authority::restore(realm.clone(), credential).or_config(|| format!("read {}", path.display()))
    };
    credential.map(restore).transpose()
}

#[cfg(test)]
mod tests;
