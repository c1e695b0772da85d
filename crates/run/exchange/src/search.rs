//! What comes of searches: calls that go on, and those that do not.

use crate::exchange::Task;
use crate::find::{NotThere, Purpose, Retry};
use crate::ways::{Waiting, WayEvent};
use guestright_directory::{Contact, Event as DirectoryEvent, Record, Source};
use guestright_signalling::{CallId, Reach};
use guestright_units::Time;

impl Task {
    pub(crate) fn handle_directory(&mut self, event: DirectoryEvent, now: Time) {
        match event {
            DirectoryEvent::LinkNeeded(hint) => self.links.connect(hint),
            DirectoryEvent::Found { search, record } => match self.searches.finish(search) {
                Some(Purpose::Call { call, caller, contact, tried }) => {
                    let again = (!tried).then_some((caller, contact));
                    self.reach(call, &record, again, now);
                }
                Some(Purpose::Verify { call, key, home }) if record.home() != home => {
                    // It may have moved since.
                    let contact = self.searches.vouched(key, home);
                    let search = self.directory.handle_find_newer(&contact, record.sequence(), now);
                    self.searches.begin(search, Purpose::VerifyAgain { call, key, home });
                }
                Some(Purpose::Verify { call, .. }) => self.proxy.handle_verified(call, true, now),
                Some(Purpose::VerifyAgain { call, home, .. }) => {
                    self.proxy.handle_verified(call, record.home() == home, now);
                }
                None => {}
            },
            DirectoryEvent::NotFound { search, reason } => {
                tracing::debug!(%reason, "a home was not found");
                match self.searches.finish(search) {
                    Some(Purpose::Call { call, caller, contact, tried }) => {
                        let is_near =
                            contact.homes.iter().filter_map(|hint| hint.key).any(|key| self.links.is_up(key));
                        let caller = self.directory.book().get(caller, now.unix_seconds()).cloned();
                        if is_near || !self.ways.search((call, tried), &contact, caller) {
                            self.reach_hinted((call, tried), &contact, now);
                        }
                    }
                    Some(Purpose::Verify { call, key, home } | Purpose::VerifyAgain { call, key, home }) => {
                        let is_proven = self.searches.is_hinted(key, home);
                        self.proxy.handle_verified(call, is_proven, now);
                    }
                    None => {}
                }
            }
            DirectoryEvent::Stored(_) => self.book_is_kept = false,
            DirectoryEvent::Announced { outcome, .. } => {
                tracing::debug!(?outcome, "a peer was told of a member's home")
            }
            DirectoryEvent::RenewalNeeded { ends, .. } => {
                tracing::warn!(%ends, "a member's record ends soon: sign a new one with `guestright team member record`");
            }
            DirectoryEvent::Refused(_, kind, reason) => tracing::debug!(kind, %reason, "refused"),
        }
    }

    /// News of the other ways to find homes.
    pub(crate) fn handle_way(&mut self, event: WayEvent) {
        let now = self.clock.now();
        match event {
            WayEvent::Searched(contact, found) => {
                let calls = self.ways.finish(&contact);
                let record = found.map(|(record, source)| self.learn(*record, source, now));
                for call in calls {
                    match &record {
                        Some(record) => self.reach(call.0, record, None, now),
                        None => self.reach_hinted(call, &contact, now),
                    }
                }
            }
            #[cfg(feature = "sms")]
            WayEvent::Learned(record, source) => drop(self.learn(*record, source, now)),
        }
    }

    /// Keeps a record that has come in another way; gives back the newest of its member.
    fn learn(&mut self, record: Record, source: Source, now: Time) -> Record {
        if let Err(error) = self.directory.handle_learned(record.clone(), source, now) {
            tracing::debug!(%error, ?source, "a record was not kept");
        }
        let known = self.directory.book().get(record.member(), now.unix_seconds());
        known.filter(|known| known.replaces(&record)).cloned().unwrap_or(record)
    }

    /// Takes a call to the home that a record names. If nobody is there, a newer record may say where it has gone.
    fn reach(&mut self, call: CallId, record: &Record, again: Option<Retry>, now: Time) {
        if let Some(reach) = self.searches.reach(call, record, again, &self.links) {
            self.proxy.handle_found(call, reach, now);
        }
    }

    /// Takes a call to the home that a card names, if it does.
    fn reach_hinted(&mut self, (call, tried): Waiting, contact: &Contact, now: Time) {
        let reach = match self.searches.reach_hinted(call, contact, &self.links) {
            Some(Reach::Unknown) if tried => Some(Reach::Away),
            reach => reach,
        };
        if let Some(reach) = reach {
            self.proxy.handle_found(call, reach, now);
        }
    }

    /// There is nobody where a record has said that a home is.
    pub(crate) fn not_there(&mut self, failed: NotThere, now: Time) {
        let NotThere { call, sequence, again } = failed;
        let Some((caller, contact)) = again else { return self.proxy.handle_found(call, Reach::Away, now) };
        let search = self.directory.handle_find_newer(&contact, sequence, now);
        self.searches.begin(search, Purpose::Call { call, caller, contact, tried: true });
    }
}
