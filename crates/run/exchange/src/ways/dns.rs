//! The DNS: contacts are looked up there, and members' records put there.

use super::Way;
use crate::{DnsSettings, DnsZone, MemberNames, update_key};
use guestright_directory::{Contact, Finder, Finding, HostName, Record, Source};
use guestright_dns::{DnsFinder, Resolver, UpdateSettings, Updater};
use guestright_error::{Fault as _, RunError};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long each of the system's servers may take, so that the next one has a chance.
const SERVER_MAX: Duration = Duration::from_secs(4);
/// How long an update may take.
const UPDATE_MAX: Duration = Duration::from_secs(20);
/// How long after a failure it is tried again: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(1_800));
/// How often it is looked whether everything is still there.
const LOOK_EVERY: Duration = Duration::from_secs(6 * 3_600);

type Wanted = BTreeMap<HostName, Record>;

pub(super) struct Dns {
    finder: DnsFinder,
    wait_max: Duration,
    publishing: Option<Publishing>,
}

/// The task that keeps members' records in the DNS.
struct Publishing {
    names: MemberNames,
    wanted: watch::Sender<Wanted>,
    task: JoinHandle<()>,
}

impl Dns {
    pub(super) fn start(settings: &DnsSettings) -> Result<Self, RunError> {
        let wait = settings.wait_max;
        let resolver = match settings.resolver {
            Some(server) => Resolver::named(server, wait),
            None => Resolver::system(wait.min(SERVER_MAX)),
        };
        let publishing = match &settings.zone {
            Some(zone) => {
                let updater = updater(zone)?;
                let (wanted, changes) = watch::channel(Wanted::new());
                let task = tokio::spawn(publish(updater, changes));
                Some(Publishing { names: zone.names.clone(), wanted, task })
            }
            None => None,
        };
        Ok(Self { finder: DnsFinder::new(resolver, None), wait_max: wait, publishing })
    }
}

fn updater(zone: &DnsZone) -> Result<Updater, RunError> {
    Ok(Updater::new(UpdateSettings {
        server: zone.server,
        zone: zone.zone.clone(),
        key: update_key(&zone.key_file)?,
        ttl: zone.ttl_seconds,
        for_people: zone.for_people,
        timeout: UPDATE_MAX,
    }))
}

impl Way for Dns {
    fn source(&self) -> Source {
        Source::Dns
    }

    fn wait_max(&self) -> Duration {
        self.wait_max
    }

    fn suits(&self, contact: &Contact) -> bool {
        contact.dns.is_some()
    }

    fn find<'a>(&'a self, contact: &'a Contact, _: Option<&'a Record>) -> Finding<'a> {
        self.finder.find(contact)
    }

    fn set_own(&self, own: &[(String, Record)]) {
        let Some(publishing) = &self.publishing else { return };
        let mut wanted = Wanted::new();
        for (member, record) in own {
            match publishing.names.name_of(member) {
                Ok(Some(name)) => drop(wanted.insert(name, record.clone())),
                Ok(None) => {}
                Err(error) => {
                    let (error, what_to_do) = (error.sentence(), error.hint());
                    tracing::warn!(error, what_to_do, "a member has no name in the DNS");
                }
            }
        }
        publishing.wanted.send_replace(wanted);
    }
}

impl Drop for Dns {
    fn drop(&mut self) {
        if let Some(publishing) = &self.publishing {
            publishing.task.abort();
        }
    }
}

/// Keeps in the DNS what is wanted there. What is wanted no more is taken away, if this run has put it there.
async fn publish(updater: Updater, mut changes: watch::Receiver<Wanted>) {
    let mut there = Vec::new();
    let mut pause = AGAIN.0;
    loop {
        let wanted = changes.borrow_and_update().clone();
        let failed = update(&updater, &wanted, &mut there).await;
        let wait = if failed { pause } else { LOOK_EVERY };
        pause = if failed { (pause * 2).min(AGAIN.1) } else { AGAIN.0 };
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Whether something has failed.
async fn update(updater: &Updater, wanted: &Wanted, there: &mut Vec<HostName>) -> bool {
    let mut failed = false;
    for (name, record) in wanted {
        match updater.publish(name, record).await {
            Ok(published) => {
                tracing::info!(%name, ?published, "a member's home is in the DNS");
                if !there.contains(name) {
                    there.push(name.clone());
                }
            }
            Err(error) => {
                failed = true;
                tracing::warn!(%name, %error, "a member's home could not be put into the DNS");
            }
        }
    }
    let gone: Vec<HostName> = there.iter().filter(|name| !wanted.contains_key(*name)).cloned().collect();
    for name in gone {
        match updater.withdraw(&name).await {
            Ok(()) => there.retain(|each| *each != name),
            Err(error) => {
                failed = true;
                tracing::warn!(%name, %error, "a former member's home could not be taken out of the DNS");
            }
        }
    }
    failed
}
