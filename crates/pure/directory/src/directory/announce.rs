//! Records of our own members, handed to peers.

use super::{Directory, Event, LinkId};
use crate::message::Ended;
use crate::{Message, Outcome};
use guestright_identity::KeyId;
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, Time};

/// How often one announcement is tried on one link.
const TRIES_MAX: u32 = 3;
/// A peer may make us wait so long at most before we try again.
const WAIT_MAX: Micros = Micros::from_seconds(3_600);

#[derive(Debug)]
struct Sent {
    link: LinkId,
    member: KeyId,
    tries: u32,
    /// Without an answer until then, it is sent again.
    until: Time,
}

#[derive(Debug, Default)]
pub(super) struct Announcements {
    sent: OrderedMap<u64, Sent>,
    /// When everything is handed to everybody again.
    again: Option<Time>,
    /// When links to peers that we have none to are wanted again.
    links_again: Option<Time>,
}

impl Announcements {
    pub(super) fn drop_link(&mut self, link: LinkId) {
        self.sent.retain(|_, sent| sent.link != link);
    }

    pub(super) fn drop_member(&mut self, member: KeyId) {
        self.sent.retain(|_, sent| sent.member != member);
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        let sent = self.sent.values().map(|sent| sent.until);
        sent.chain(self.again).chain(self.links_again).min()
    }
}

impl Directory {
    /// Hands a member's record to every peer that there is a link to, and wants links to the others.
    pub(super) fn announce_member(&mut self, member: KeyId, now: Time) {
        self.announcements.drop_member(member);
        let links: Vec<_> = self.links.keys().copied().filter(|&link| self.is_peer(link)).collect();
        for link in links {
            self.announce_over(link, member, 0, now);
        }
        if self.announcements.again.is_none() && !self.config.peers.is_empty() {
            self.announcements.again = Some(now + self.config.announce_again);
        }
        self.want_peers(now);
    }

    fn want_peers(&mut self, now: Time) {
        let linked = |peer: &crate::HomeHint| self.links.values().any(|link| link.is(peer));
        let missing: Vec<_> = self.config.peers.iter().filter(|peer| !linked(peer)).cloned().collect();
        self.announcements.links_again = None;
        if !missing.is_empty() && self.book.own().next().is_some() {
            self.announcements.links_again = Some(now + self.config.peer_again);
            self.events.extend(missing.into_iter().map(Event::LinkNeeded));
        }
    }

    pub(super) fn announce_over(&mut self, link: LinkId, member: KeyId, tries: u32, now: Time) {
        // A record that is over is not worth a frame.
        let Some(record) = self.book.get(member, now.unix_seconds()).cloned() else { return };
        let reference = self.next_reference();
        let until = now + Micros(self.config.answer_max.0.saturating_mul(u64::from(tries) * 4 + 2));
        self.announcements.sent.insert(reference, Sent { link, member, tries, until });
        self.send(link, &Message::Announce { reference, record });
    }

    /// A peer says what it did; whether that belongs to something we sent.
    pub(super) fn handle_announced(&mut self, link: LinkId, home: KeyId, ended: Ended, now: Time) -> bool {
        let Ended { reference, outcome, retry_after } = ended;
        let Some(sent) = self.announcements.sent.get_mut(&reference).filter(|sent| sent.link == link) else {
            return false;
        };
        let member = sent.member;
        if outcome == Outcome::Limited && sent.tries < TRIES_MAX {
            let wait = Micros::from_seconds(retry_after.max(1)).min(WAIT_MAX);
            sent.until = now + wait;
        } else {
            self.announcements.sent.remove(&reference);
        }
        self.events.push_back(Event::Announced { home, member, outcome });
        true
    }

    pub(super) fn announce_due(&mut self, now: Time) {
        let due = self.announcements.sent.extract_if(|_, sent| sent.until <= now);
        let due: Vec<_> = due.map(|(_, sent)| sent).filter(|sent| sent.tries + 1 < TRIES_MAX).collect();
        for sent in due {
            self.announce_over(sent.link, sent.member, sent.tries + 1, now);
        }
        if self.announcements.again.is_some_and(|at| at <= now) {
            self.announcements.again = Some(now + self.config.announce_again);
            let links: Vec<_> = self.links.keys().copied().filter(|&link| self.is_peer(link)).collect();
            let members: Vec<_> = self.book.own().map(crate::Record::member).collect();
            for (link, member) in links.into_iter().flat_map(|link| members.iter().map(move |&m| (link, m))) {
                self.announce_over(link, member, 0, now);
            }
            self.book.forget(now.unix_seconds());
        }
        if self.announcements.links_again.is_some_and(|at| at <= now) {
            self.want_peers(now);
        }
    }
}
