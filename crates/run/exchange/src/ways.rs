//! Other ways to find a home than the homes' own directory: the DNS, short messages.
//!
//! They are asked when the directory knows nothing, one after the other, the cheap one first. What they find counts by
//! its signature, as everything does.

#[cfg(feature = "dns")]
mod dns;
#[cfg(feature = "sms")]
mod sms;

use crate::Settings;
use guestright_directory::{Contact, FindError, Finding, Record, Source};
use guestright_error::RunError;
use guestright_signalling::CallId;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Contacts that are looked for at a time. Calls beyond get what is known already.
const SEARCHES_MAX: usize = 32;
/// Events that wait for the loop.
const EVENTS_MAX: usize = 64;

/// What the ways tell the loop.
pub(crate) enum WayEvent {
    /// Looking for a contact has ended, with its record or without.
    Searched(Box<Contact>, Option<(Box<Record>, Source)>),
    /// Somebody who has asked us has sent its own record along.
    #[cfg(feature = "sms")]
    Learned(Box<Record>, Source),
}

trait Way: Send + Sync {
    /// Where records that come this way are from.
    fn source(&self) -> Source;

    /// How long a caller waits for it.
    fn wait_max(&self) -> Duration;

    /// Whether the contact has what this way needs.
    fn suits(&self, contact: &Contact) -> bool;

    /// Asks where the contact's home is, for the member with this record.
    fn find<'a>(&'a self, contact: &'a Contact, caller: Option<&'a Record>) -> Finding<'a>;

    /// These are our members' records from now on, each with what the member is called here.
    fn set_own(&self, own: &[(String, Record)]);
}

/// A call that waits, and whether a record has been tried for it that led nowhere.
pub(crate) type Waiting = (CallId, bool);

/// All ways that the home's settings name.
pub(crate) struct Ways {
    all: Vec<Arc<dyn Way>>,
    events: mpsc::Sender<WayEvent>,
    /// Contacts that are looked for, and the calls that wait for each.
    searches: Vec<(Contact, Vec<Waiting>)>,
}

impl Ways {
    /// Opens what the settings name. Needs a tokio runtime.
    pub(crate) async fn start(settings: &Settings) -> Result<(Self, mpsc::Receiver<WayEvent>), RunError> {
        let (events, receiver) = mpsc::channel(EVENTS_MAX);
        #[cfg_attr(
            not(any(feature = "dns", feature = "sms")),
            expect(unused_mut, reason = "there is none to add")
        )]
        let mut all: Vec<Arc<dyn Way>> = Vec::new();
        if let Some(wanted) = &settings.dns {
            #[cfg(feature = "dns")]
            all.push(Arc::new(dns::Dns::start(wanted)?));
            #[cfg(not(feature = "dns"))]
            return Err(missing("dns", wanted));
        }
        if let Some(wanted) = &settings.sms {
            #[cfg(feature = "sms")]
            all.push(Arc::new(
                sms::ShortMessages::start(wanted, settings.contacts.clone(), events.clone()).await?,
            ));
            #[cfg(not(feature = "sms"))]
            return Err(missing("sms", wanted));
        }
        Ok((Self { all, events, searches: Vec::new() }, receiver))
    }

    /// Looks for a contact, for a call; false if there is no way to. Its end is a [`WayEvent`].
    pub(crate) fn search(&mut self, call: Waiting, contact: &Contact, caller: Option<Record>) -> bool {
        if let Some((_, calls)) = self.searches.iter_mut().find(|(wanted, _)| wanted == contact) {
            calls.push(call);
            return true;
        }
        let ways: Vec<_> = self.all.iter().filter(|way| way.suits(contact)).cloned().collect();
        if ways.is_empty() || self.searches.len() >= SEARCHES_MAX {
            return false;
        }
        self.searches.push((contact.clone(), vec![call]));
        let (contact, events) = (Box::new(contact.clone()), self.events.clone());
        tokio::spawn(async move {
            let mut found = None;
            for way in ways {
                found = ask(&*way, &contact, caller.as_ref()).await;
                if found.is_some() {
                    break;
                }
            }
            // The loop may have ended.
            let _ = events.send(WayEvent::Searched(contact, found)).await;
        });
        true
    }

    /// The calls that have waited for this.
    pub(crate) fn finish(&mut self, contact: &Contact) -> Vec<Waiting> {
        let index = self.searches.iter().position(|(wanted, _)| wanted == contact);
        index.map(|index| self.searches.swap_remove(index).1).unwrap_or_default()
    }

    /// These are our members' records from now on.
    pub(crate) fn set_own(&self, own: &[(String, Record)]) {
        self.all.iter().for_each(|way| way.set_own(own));
    }
}

/// Asks one way, for as long as a caller waits.
async fn ask(way: &dyn Way, contact: &Contact, caller: Option<&Record>) -> Option<(Box<Record>, Source)> {
    let source = way.source();
    match tokio::time::timeout(way.wait_max(), way.find(contact, caller)).await {
        Ok(Ok(record)) => return Some((Box::new(record), source)),
        Ok(Err(error)) => tracing::info!(?source, reason = describe(&error), "a home was not found"),
        Err(_) => tracing::info!(?source, "there was no answer in time"),
    }
    None
}

/// Why a home was not found, without numbers and names of people.
fn describe(error: &FindError) -> String {
    if let FindError::NoAnswer { seconds, .. } = error {
        return format!("there was no answer within {seconds} s");
    }
    if matches!(error, FindError::Unknown(_)) {
        "nobody who was asked knows".to_owned()
    } else {
        error.to_string()
    }
}

#[cfg(not(all(feature = "dns", feature = "sms")))]
fn missing<T>(what: &str, _settings: &T) -> RunError {
    RunError::config(format!("[voice.{what}]: this program was built without it (feature {what})"))
}

#[cfg(test)]
mod tests;
