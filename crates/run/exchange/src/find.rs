//! Searches under way, and calls that wait for a link.

use guestright_directory::{Address, Contact, HomeHint, Host, Record, Search};
use guestright_identity::KeyId;
use guestright_links::ExchangeLinks;
use guestright_signalling::{CallId, Found, Reach};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::num::NonZeroU16;

/// What somebody is looked for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// To be called, by this member of ours; perhaps after a record was tried that led nowhere.
    Call { call: CallId, caller: KeyId, contact: Box<Contact>, tried: bool },
    /// To learn whether this home may say that it calls.
    Verify { call: CallId, key: KeyId, home: KeyId },
    /// The same, after an older record named another home.
    VerifyAgain { call: CallId, key: KeyId, home: KeyId },
}

/// Who looks for whom, if it may be done once more.
pub(crate) type Retry = (KeyId, Box<Contact>);

/// A call to a home at which nobody is.
#[derive(Debug)]
pub(crate) struct NotThere {
    pub(crate) call: CallId,
    /// Of the record that has named the home; 0 if it was a card.
    pub(crate) sequence: u64,
    pub(crate) again: Option<Retry>,
}

/// A call that waits for a link to a home.
#[derive(Debug)]
struct Waiting {
    call: CallId,
    key: KeyId,
    home: KeyId,
    /// Where it can be tried next.
    addresses: Vec<Address>,
    /// Where it is tried now.
    trying: Address,
    sequence: u64,
    again: Option<Retry>,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Searches {
    contacts: Vec<Contact>,
    /// Whether telephone numbers on cards of members' telephones may be asked.
    numbers_on_cards: bool,
    open: BTreeMap<Search, Purpose>,
    waiting: Vec<Waiting>,
}

impl Searches {
    pub(crate) fn new(contacts: Vec<Contact>, numbers_on_cards: bool) -> Self {
        Self { contacts, numbers_on_cards, open: BTreeMap::new(), waiting: Vec::new() }
    }

    /// Who has this key, with all that is known about where to ask.
    pub(crate) fn contact(&self, key: KeyId) -> Contact {
        let known = self.contacts.iter().find(|contact| contact.member == key);
        known.cloned().unwrap_or_else(|| unnamed(key))
    }

    /// Who has this key, with what the home knows and what is on the card that the caller's telephone has sent.
    pub(crate) fn called(&self, key: KeyId, card: Option<&Contact>) -> Contact {
        let mut contact = self.contact(key);
        let Some(card) = card.filter(|card| card.member == key) else { return contact };
        for hint in &card.homes {
            if contact.homes.len() < Contact::HOMES_MAX && !contact.homes.contains(hint) {
                contact.homes.push(hint.clone());
            }
        }
        contact.dns = contact.dns.or_else(|| card.dns.clone());
        let telephone = card.telephone.as_ref().filter(|_| self.numbers_on_cards);
        contact.telephone = contact.telephone.or_else(|| telephone.cloned());
        contact
    }

    /// Who has this key, to be asked for at the home that vouches, which has a link.
    pub(crate) fn vouched(&self, key: KeyId, home: KeyId) -> Contact {
        let nowhere = Address::new(Host::V4(Ipv4Addr::new(192, 0, 2, 255)), NonZeroU16::MIN);
        let here = nowhere.ok().map(|address| HomeHint { address, key: Some(home) });
        let mut contact = self.contact(key);
        contact.homes.retain(|hint| hint.key != Some(home));
        contact.homes.truncate(Contact::HOMES_MAX - 1);
        contact.homes.splice(0..0, here);
        contact
    }

    /// Whether the contact's card names this home.
    pub(crate) fn is_hinted(&self, key: KeyId, home: KeyId) -> bool {
        self.contact(key).homes.iter().any(|hint| hint.key == Some(home))
    }

    pub(crate) fn begin(&mut self, search: Search, purpose: Purpose) {
        self.open.insert(search, purpose);
    }

    pub(crate) fn finish(&mut self, search: Search) -> Option<Purpose> {
        self.open.remove(&search)
    }

    /// Somebody's record names the home. What is known at once; else a link is made.
    pub(crate) fn reach(
        &mut self,
        call: CallId,
        record: &Record,
        again: Option<Retry>,
        links: &ExchangeLinks,
    ) -> Option<Reach> {
        let who = (record.member(), record.home());
        self.connect(call, who, record.addresses().to_vec(), (record.sequence(), again), links)
    }

    /// There is no record, but a card may name the home with its key. That is as good: whoever gave the card said so.
    pub(crate) fn reach_hinted(
        &mut self,
        call: CallId,
        contact: &Contact,
        links: &ExchangeLinks,
    ) -> Option<Reach> {
        let hints = &contact.homes;
        let Some(home) = hints.iter().find_map(|hint| hint.key) else { return Some(Reach::Unknown) };
        let own = hints.iter().filter(|hint| hint.key == Some(home));
        let addresses = own.map(|hint| hint.address.clone()).collect();
        self.connect(call, (contact.member, home), addresses, (0, None), links)
    }

    fn connect(
        &mut self,
        call: CallId,
        (key, home): (KeyId, KeyId),
        mut addresses: Vec<Address>,
        (sequence, again): (u64, Option<Retry>),
        links: &ExchangeLinks,
    ) -> Option<Reach> {
        if links.is_up(home) {
            return Some(Reach::Home(Found { home, key }));
        }
        if addresses.is_empty() {
            return Some(Reach::Away);
        }
        let trying = addresses.remove(0);
        links.connect(HomeHint { address: trying.clone(), key: Some(home) });
        self.waiting.push(Waiting { call, key, home, addresses, trying, sequence, again });
        None
    }

    /// There is a link to a home: the calls that have waited for it.
    pub(crate) fn linked(&mut self, home: KeyId) -> Vec<(CallId, Reach)> {
        let reached = self.waiting.extract_if(.., |waiting| waiting.home == home);
        reached.map(|each| (each.call, Reach::Home(Found { home, key: each.key }))).collect()
    }

    /// There is none at this address: the calls that have no other. Others try the next one.
    pub(crate) fn link_failed(&mut self, hint: &HomeHint, links: &ExchangeLinks) -> Vec<NotThere> {
        let is_it = |waiting: &Waiting| Some(waiting.home) == hint.key && waiting.trying == hint.address;
        let ended = self.waiting.extract_if(.., |waiting| is_it(waiting) && waiting.addresses.is_empty());
        let failed = ended.map(|Waiting { call, sequence, again, .. }| NotThere { call, sequence, again });
        let failed = failed.collect();
        for waiting in self.waiting.iter_mut().filter(|waiting| is_it(waiting)) {
            waiting.trying = waiting.addresses.remove(0);
            links.connect(HomeHint { address: waiting.trying.clone(), key: Some(waiting.home) });
        }
        failed
    }
}

/// Somebody without a name.
fn unnamed(key: KeyId) -> Contact {
    let (name, homes) = ("unnamed".to_owned(), Vec::new());
    Contact { name, member: key, homes, dns: None, telephone: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOB: KeyId = KeyId([0xb0; 24]);

    fn card(home: &str) -> Contact {
        let home = HomeHint { address: home.parse().unwrap(), key: None };
        let dns = guestright_directory::HostName::new("bob.example").ok();
        let telephone = "+12025550142".parse().ok();
        Contact { homes: vec![home], dns, telephone, ..Contact::new("x", BOB).unwrap() }
    }

    #[test]
    fn a_card_adds_to_what_the_home_knows_and_replaces_nothing() {
        let known = Contact { dns: None, telephone: None, name: "bobby".to_owned(), ..card("192.0.2.1") };
        let searches = Searches::new(vec![known.clone()], true);
        let both = searches.called(BOB, Some(&card("192.0.2.2")));
        let addresses: Vec<String> = both.homes.iter().map(|hint| hint.address.to_string()).collect();
        assert_eq!(
            (both.name.as_str(), addresses),
            ("bobby", vec!["192.0.2.1:7275".to_owned(), "192.0.2.2:7275".to_owned()])
        );
        assert_eq!((both.dns, both.telephone), (card("192.0.2.2").dns, card("192.0.2.2").telephone));
        assert_eq!(searches.called(BOB, Some(&known)), known, "nothing twice");
        assert_eq!(searches.called(BOB, None), known);
        let other = searches.called(KeyId([1; 24]), Some(&card("192.0.2.2")));
        assert!(other.homes.is_empty() && other.dns.is_none(), "another one's card");
        let full =
            Contact { homes: (1..=4).flat_map(|n| card(&format!("192.0.2.{n}")).homes).collect(), ..known };
        let searches = Searches::new(vec![full.clone()], true);
        assert_eq!(searches.called(BOB, Some(&card("192.0.2.9"))).homes, full.homes);
    }

    #[test]
    fn a_number_on_a_card_costs_nothing_unless_the_home_says_so() {
        let asked = |numbers_on_cards| {
            Searches::new(Vec::new(), numbers_on_cards).called(BOB, Some(&card("192.0.2.2")))
        };
        assert_eq!((asked(false).telephone, asked(true).telephone), (None, card("192.0.2.2").telephone));
        assert_eq!(asked(false).homes, card("192.0.2.2").homes);
    }
}
