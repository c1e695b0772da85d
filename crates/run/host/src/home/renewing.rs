//! The home's renewing key: what it renews for others, for itself, and for the delegates whose keys are here.

use super::open::read_revocations;
use super::{Loop, Settings};
use crate::renewal::{OwnCertificate, describe};
use guestright_channel::CurrentCredentials;
use guestright_error::RunError;
use guestright_identity::Certificate;
use guestright_roaming::message::{Code, Message};
use guestright_roaming::renewal::{Notice, Renewer, RenewerConfig, Validity};
use guestright_units::{Micros, TeamId, Time};
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// In the directory that `team renewal init` makes: the renewing key, and the team's word for it.
pub const KEY: &str = "renewing.key";
pub const WARRANT: &str = "warrant";

/// Delegates' certificates are looked at so often…
const DELEGATES_EVERY: Micros = Micros::from_seconds(3_600);
/// …and, while one of them is short, after such a part of its life.
const DELEGATES_PARTS: u64 = 12;
const DELEGATES_MIN: Micros = Micros::from_millis(500);

/// The certificates that this home keeps alive.
#[derive(Debug)]
pub(super) struct Renewing {
    directory: Option<PathBuf>,
    own: OwnCertificate,
    delegates_at: Time,
    /// The last step of which a person was warned for the warrant.
    warned: Option<u64>,
}

/// The renewing key and its warrant, if this home has one.
///
/// # Errors
/// A file cannot be read, or the two do not fit each other or the team.
pub(super) fn read(directory: Option<&Path>, team: TeamId) -> Result<Option<Renewer>, RunError> {
    let Some(directory) = directory else { return Ok(None) };
    let key = guestright_keys::read_secret(&directory.join(KEY), || None).map_err(RunError::config)?;
    let warrant = guestright_keys::read_warrant(&directory.join(WARRANT)).map_err(RunError::config)?;
    if warrant.team_id() != team {
        let (got, path) = (warrant.team_id().short(), directory.display());
        return Err(RunError::config(format!("the warrant in {path} is of team {got}, not of ours")));
    }
    Renewer::new(RenewerConfig { key, warrant })
        .map(Some)
        .map_err(|error| RunError::config(format!("{}: {error}", directory.display())))
}

impl Renewing {
    pub(super) fn new(
        credentials: &CurrentCredentials,
        settings: &Settings,
        rng: &mut StdRng,
        now: Time,
    ) -> Self {
        let mut own = OwnCertificate::new(credentials, &settings.certificate, &settings.state, rng, now);
        // It is its own home.
        own.handle_home(settings.renewal.is_some(), rng, now);
        Self { directory: settings.renewal.clone(), own, delegates_at: now, warned: None }
    }

    /// Takes up what was read again: where the renewing key is, and whether the own certificate was replaced.
    pub(super) fn reconfigure(&mut self, directory: Option<&Path>, rng: &mut StdRng, now: Time) {
        self.directory = directory.map(Path::to_path_buf);
        self.own.handle_home(directory.is_some(), rng, now);
        self.own.look_again();
        self.delegates_at = now;
    }

    pub(super) fn clock_was_set(&mut self, rng: &mut StdRng, now: Time) {
        self.own.clock_was_set(rng, now);
        self.own.handle_home(self.directory.is_some(), rng, now);
        self.delegates_at = now;
    }

    /// The own certificate as it is now.
    pub(super) fn certificate(&self) -> &Certificate {
        self.own.certificate()
    }

    pub(super) fn status(&self, now: Time) -> Value {
        self.own.status(now)
    }
}

impl Loop {
    /// When [`Self::keep_certificates`] wants to be called.
    pub(super) fn renewing_due(&mut self) -> Option<Time> {
        let now = self.clock.now();
        let delegates = self.server.renewer().map(|_| self.renewing.delegates_at);
        [self.renewing.own.due(now), delegates].into_iter().flatten().min()
    }

    /// Renews what is due: the own certificate, which new channels and links then prove, and delegates'.
    pub(super) fn keep_certificates(&mut self) {
        let now = self.clock.now();
        let to_do = self.renewing.own.pass_time(&mut self.rng, now);
        for question in to_do.messages {
            self.answer_own(&question, now);
        }
        if now >= self.renewing.delegates_at {
            self.warn_of_warrant(now);
            self.keep_delegates(now);
        }
    }

    /// The home asks itself, as any other program asks it.
    fn answer_own(&mut self, question: &[u8], now: Time) {
        let Ok(Message::Rnew { reference, .. }) = Message::parse(question) else { return };
        let own = self.renewing.own.certificate().clone();
        let answer = match self.server.renew_own(&own, now) {
            Ok(certificate) => Message::Rnew { reference, certificate: Some(Box::new(certificate)) },
            Err(error) => Message::Erro {
                reference: Some(reference),
                code: Code::Certificate,
                reason: error.to_string(),
            },
        };
        self.renewing.own.handle_input(&answer.emit(), &mut self.rng, now);
        // What came is kept and used at once; it asks nothing before a pause.
        let _ = self.renewing.own.pass_time(&mut self.rng, now);
    }

    /// The members that have nothing but a tunnel ask for nothing: their delegates' keys are here.
    fn keep_delegates(&mut self, now: Time) {
        self.renewing.delegates_at = now + DELEGATES_EVERY;
        let Some(gateway) = &self.gateway else { return };
        let delegates: Vec<_> = gateway.delegates().collect();
        let mut shortest = DELEGATES_EVERY;
        let mut changed = false;
        for (path, certificate) in delegates {
            let life = Micros(certificate.life().saturating_mul(1_000_000));
            shortest = shortest.min(Micros(life.0 / DELEGATES_PARTS));
            if now < certificate.not_before().time() + Micros(life.0 / 3) {
                continue;
            }
            let renewed = self.server.renew_own(&certificate, now).map_err(|error| error.to_string());
            let kept = renewed.and_then(|renewed| {
                guestright_keys::write_certificate(&path, &renewed).map_err(|error| error.to_string())
            });
            match kept {
                Ok(()) => changed = true,
                Err(error) => {
                    let notice = Notice::of(&certificate, now.unix_seconds());
                    if notice.validity() == Validity::Good {
                        tracing::debug!(%error, file = %path.display(), "a delegate's certificate was not renewed");
                    } else {
                        tracing::warn!(%error, file = %path.display(), "a delegate's certificate was not renewed");
                    }
                }
            }
        }
        self.renewing.delegates_at = now + shortest.max(DELEGATES_MIN);
        let read = |this: &mut Self| {
            let revoked = read_revocations(this.revocations.as_deref())?;
            this.read_members(revoked.as_ref())
        };
        if changed && let Err(error) = read(self) {
            tracing::warn!(error = error.sentence(), "renewed certificates of delegates could not be read");
        }
    }

    /// Once for each step, as for certificates.
    fn warn_of_warrant(&mut self, now: Time) {
        let Some(renewer) = self.server.renewer() else { return };
        let notice = Notice::of_warrant(renewer.warrant(), now.unix_seconds());
        let step = notice.warning_step();
        if step.is_some() && step != self.renewing.warned {
            tracing::warn!(name: "warrant_ends", "{notice}");
        }
        self.renewing.warned = step;
    }

    /// How long it may renew.
    pub(super) fn renewing_key_status(&mut self) -> Value {
        let now = self.clock.now().unix_seconds();
        let Some(renewer) = self.server.renewer() else { return Value::Null };
        let warrant = renewer.warrant();
        let mut status = describe(&Notice::of_warrant(warrant, now));
        status["key"] = json!(warrant.renewing().id().to_string());
        status["life_max_seconds"] = json!(warrant.life_max());
        status
    }
}
