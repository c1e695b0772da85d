//! Short messages: contacts are asked where their homes are, and answered.

use super::{Way, WayEvent};
use crate::{SmsLine, SmsSettings};
use guestright_directory::sms::{Config, Courier};
use guestright_directory::{Contact, Finding, Record, Source};
use guestright_error::{OrFail as _, RunError};
use guestright_sms::{FinderEvent, Modem, ModemSettings, Smpp, SmppSettings, Sms, SmsFinder};
use guestright_units::Micros;
use rand::Rng;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use zeroize::Zeroizing;

/// A file with a password or a PIN is not longer.
const SECRET_FILE_MAX: usize = 256;
/// How much of what came by short message may wait.
const RECEIVED_MAX: usize = 64;

pub(super) struct ShortMessages {
    finder: SmsFinder,
    wait: Duration,
}

impl ShortMessages {
    pub(super) async fn start(
        settings: &SmsSettings,
        contacts: Vec<Contact>,
        events: mpsc::Sender<WayEvent>,
    ) -> Result<Self, RunError> {
        let line = line(&settings.line)?;
        let courier = Courier::new(Config {
            who_may_ask: settings.who_may_ask,
            parts_per_day: settings.messages_per_day,
            answer_max: Micros::from_seconds(settings.wait_seconds),
            ..Config::default()
        });
        let (sender, mut received) = mpsc::channel(RECEIVED_MAX);
        tokio::spawn(async move {
            while let Some(event) = received.recv().await {
                match event {
                    FinderEvent::Answered => tracing::info!("a question by short message was answered"),
                    FinderEvent::Learned(record) => {
                        // The loop may have ended.
                        let _ = events.send(WayEvent::Learned(record, Source::ShortMessage)).await;
                    }
                    FinderEvent::Refused(kind, _) => tracing::info!(kind, "a short message was refused"),
                }
            }
        });
        let finder = SmsFinder::start(courier, line, || guestright_clock::rng().next_u32(), Some(sender));
        finder.set_contacts(contacts).await.map_err(RunError::network)?;
        Ok(Self { finder, wait: Duration::from_secs(settings.wait_seconds) })
    }
}

/// The message centre or the modem.
fn line(wanted: &SmsLine) -> Result<Arc<dyn Sms>, RunError> {
    match wanted {
        SmsLine::Smpp { server, system_id, password_file, system_type, number } => {
            // SMPP 3.4, section 5.2.2: nine letters with the zero at their end.
            let password = secret(password_file, |word| word.len() <= 8)?;
            let mut smpp = SmppSettings::new(server, system_id, &password, number.clone());
            smpp.system_type.clone_from(system_type);
            Ok(Arc::new(Smpp::start(&smpp)))
        }
        SmsLine::Modem { device, speed, pin_file } => {
            let is_pin =
                |pin: &str| (4..=8).contains(&pin.len()) && pin.bytes().all(|digit| digit.is_ascii_digit());
            let pin = pin_file.as_deref().map(|file| secret(file, is_pin)).transpose()?;
            let modem = ModemSettings { speed: *speed, pin, ..ModemSettings::new(device) };
            Ok(Arc::new(Modem::start(&modem)))
        }
    }
}

/// The first line of a file that is its owner's alone.
fn secret(file: &Path, is_good: impl Fn(&str) -> bool) -> Result<Zeroizing<String>, RunError> {
    let read = || -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
        let text = guestright_keys::read_secret_text(file, SECRET_FILE_MAX)?;
        let word = text.lines().next().unwrap_or_default().trim();
        let good = !word.is_empty() && word.is_ascii() && is_good(word);
        if good { Ok(Zeroizing::new(word.to_owned())) } else { Err("it is too long, or not one".into()) }
    };
    read().or_config(|| format!("read the password or PIN in {}", file.display()))
}

impl Way for ShortMessages {
    fn source(&self) -> Source {
        Source::ShortMessage
    }

    fn wait_max(&self) -> Duration {
        self.wait
    }

    fn suits(&self, contact: &Contact) -> bool {
        contact.telephone.is_some()
    }

    fn find<'a>(&'a self, contact: &'a Contact, caller: Option<&'a Record>) -> Finding<'a> {
        Box::pin(self.finder.find_for(contact, caller.cloned()))
    }

    fn set_own(&self, own: &[(String, Record)]) {
        let records = own.iter().map(|(_, record)| record.clone()).collect();
        if let Err(error) = self.finder.set_own(records) {
            tracing::warn!(%error, "questions by short message are answered with what was known before");
        }
    }
}
