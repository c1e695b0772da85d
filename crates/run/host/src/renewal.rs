//! A program's own certificate, kept alive: the machine of `roaming`, the file that the certificate is in, and the log.

use guestright_channel::{Credentials, CurrentCredentials};
use guestright_identity::Certificate;
use guestright_roaming::Renewal;
use guestright_roaming::renewal::{Event, Notice, Validity};
use guestright_units::{Micros, Time};
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// In the state directory: a renewed certificate, where the file of the old one cannot be written.
pub const SPARE: &str = "renewed.cert";
/// While the certificate is old, it is looked so often whether a person has put another one in its place.
const LOOK_EVERY: Micros = Micros::from_seconds(30);

/// A program's certificate.
#[derive(Debug)]
pub(crate) struct OwnCertificate {
    machine: Renewal,
    /// Where it is kept, and looked for.
    file: PathBuf,
    /// Where it is kept if nothing can be written there: settings may belong to somebody else.
    spare: PathBuf,
    credentials: CurrentCredentials,
    look_at: Time,
    /// A person asks that it is looked at once.
    look_again: bool,
}

/// The credentials with what was renewed in an earlier run, if that could not be put in place of the old certificate.
pub fn latest(credentials: Credentials, state: &Path) -> Credentials {
    let spare = guestright_keys::read_certificate(&state.join(SPARE)).ok();
    match spare.filter(|spare| is_later(spare, &credentials.certificate)) {
        Some(certificate) => Credentials { certificate, ..credentials },
        None => credentials,
    }
}

/// Whether a certificate is for the same key, role and team as `own`, and ends later.
pub fn is_later(found: &Certificate, own: &Certificate) -> bool {
    let is_own = found.member_id() == own.member_id() && found.role() == own.role();
    is_own && found.not_after() > own.not_after()
}

/// What the program has to do after something went in.
#[derive(Debug, Default)]
pub(crate) struct ToDo {
    /// Messages for the home.
    pub(crate) messages: Vec<Vec<u8>>,
    /// The certificate to use from now on; new connections do already.
    pub(crate) renewed: Option<Certificate>,
    /// The home does not know of it: the channel to it has to be made anew.
    pub(crate) by_hand: bool,
}

impl OwnCertificate {
    pub(crate) fn new(
        credentials: &CurrentCredentials,
        file: &Path,
        state: &Path,
        rng: &mut StdRng,
        now: Time,
    ) -> Self {
        let certificate = credentials.get().certificate.clone();
        let machine = Renewal::new(certificate, rng, now);
        let (file, spare) = (file.to_path_buf(), state.join(SPARE));
        Self { machine, file, spare, credentials: credentials.clone(), look_at: now, look_again: false }
    }

    /// The one in use.
    pub(crate) fn certificate(&self) -> &Certificate {
        self.machine.certificate()
    }

    /// Whether the home can be reached.
    pub(crate) fn handle_home(&mut self, is_up: bool, rng: &mut StdRng, now: Time) {
        self.machine.handle_home(is_up, rng, now);
    }

    /// A message of the home; false if it is for somebody else.
    pub(crate) fn handle_input(&mut self, bytes: &[u8], rng: &mut StdRng, now: Time) -> bool {
        self.machine.handle_input(bytes, rng, now)
    }

    /// Looks with the next [`Self::pass_time`] whether there is another certificate in the file.
    pub(crate) fn look_again(&mut self) {
        self.look_again = true;
    }

    /// When [`Self::pass_time`] wants to be called.
    pub(crate) fn due(&self, now: Time) -> Option<Time> {
        let look = self.machine.is_old(now).then_some(self.look_at);
        let look = if self.look_again { Some(now) } else { look };
        [self.machine.poll_timeout(), look].into_iter().flatten().min()
    }

    /// Carries out everything that is due.
    pub(crate) fn pass_time(&mut self, rng: &mut StdRng, now: Time) -> ToDo {
        let mut to_do = ToDo::default();
        let is_due = self.machine.is_old(now) && now >= self.look_at;
        if std::mem::take(&mut self.look_again) || is_due {
            self.look_at = now + LOOK_EVERY;
            to_do.by_hand = self.look(rng, now);
        }
        self.machine.handle_timeout(rng, now);
        self.drain(&mut to_do, rng, now);
        to_do
    }

    /// Time does not go on from where it was.
    pub(crate) fn clock_was_set(&mut self, rng: &mut StdRng, now: Time) {
        self.machine = Renewal::new(self.machine.certificate().clone(), rng, now);
        self.look_at = now;
    }

    fn look(&mut self, rng: &mut StdRng, now: Time) -> bool {
        match guestright_keys::read_certificate(&self.file) {
            Ok(found) if found != *self.machine.certificate() => {
                self.machine.handle_replaced(found, rng, now)
            }
            Ok(_) => false,
            Err(error) => {
                tracing::debug!(%error, "the certificate's file cannot be read");
                false
            }
        }
    }

    /// Makes it durable in place of the old one, or in the state directory.
    fn keep(&self, certificate: &Certificate) -> Result<(), String> {
        let Err(error) = guestright_keys::write_certificate(&self.file, certificate) else { return Ok(()) };
        guestright_keys::write_certificate(&self.spare, certificate).map_err(|_| error.to_string())?;
        tracing::debug!(%error, file = %self.spare.display(), "the certificate is kept in the state directory");
        Ok(())
    }

    fn drain(&mut self, to_do: &mut ToDo, rng: &mut StdRng, now: Time) {
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::Keep(certificate) => {
                    let kept = self.keep(&certificate);
                    self.machine.handle_kept(kept, rng, now);
                }
                Event::Renewed(certificate) => {
                    let until = certificate.not_after();
                    tracing::info!(%until, "the certificate was renewed");
                    self.credentials.renew((*certificate).clone());
                    to_do.renewed = Some(*certificate);
                }
                Event::EndsSoon(notice) | Event::Expired(notice) => {
                    tracing::warn!(name: "certificate_ends", "{notice}")
                }
                Event::Failed(reason) => {
                    tracing::info!(%reason, "the certificate was not renewed; asking again later")
                }
            }
        }
        while let Some(message) = self.machine.poll_transmit() {
            to_do.messages.push(message);
        }
    }

    /// What `status` says of it.
    pub(crate) fn status(&self, now: Time) -> Value {
        let notice = self.machine.notice(now);
        let mut status = describe(&notice);
        status["renewals"] = json!(self.machine.renewals());
        status
    }
}

/// How a certificate stands, for `status` and `doctor`: `warning` is a sentence where a person has to do something.
pub fn describe(notice: &Notice) -> Value {
    let validity = notice.validity();
    json!({
        "not_after": notice.not_after.to_string(),
        "expired": validity == Validity::Expired,
        "warning": (validity != Validity::Good).then(|| notice.to_string()),
    })
}
