//! Whom a name means: members of this home, contacts, and keys.

use crate::Uri;
use data_encoding::HEXLOWER_PERMISSIVE;
use guestright_identity::KeyId;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A member of this home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// What it is called at home.
    pub name: String,
    /// The key that others know it by.
    pub key: KeyId,
    /// Its address in the gateway's network.
    pub address: IpAddr,
}

/// Somebody elsewhere who has a name here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// What this home calls it.
    pub name: String,
    /// Its key: who it is.
    pub key: KeyId,
}

/// Where a name leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To a member of this home, by name.
    Local(String),
    /// To somebody whose home has to be found.
    Elsewhere(KeyId),
    Unknown,
}

/// All names that a home knows.
#[derive(Clone, Debug)]
pub struct Names {
    gateway: IpAddr,
    domains: Vec<String>,
    members: BTreeMap<String, Member>,
    by_address: BTreeMap<IpAddr, String>,
    by_key: BTreeMap<KeyId, String>,
    contacts: BTreeMap<String, KeyId>,
}

impl Names {
    /// Nobody yet. Members write `name@gateway`, or one of the domains after `@`.
    #[must_use]
    pub fn new(gateway: IpAddr, domains: Vec<String>) -> Self {
        let domains = domains.into_iter().map(|domain| domain.to_ascii_lowercase()).collect();
        let (members, by_address, by_key, contacts) = Default::default();
        Self { gateway, domains, members, by_address, by_key, contacts }
    }

    /// These are the members from now on. One with several addresses stands there once for each.
    pub fn set_members(&mut self, members: Vec<Member>) {
        self.by_address = members.iter().map(|member| (member.address, member.name.clone())).collect();
        self.by_key = members.iter().map(|member| (member.key, member.name.clone())).collect();
        self.members = members.into_iter().map(|member| (member.name.clone(), member)).collect();
    }

    /// These are the contacts from now on.
    pub fn set_contacts(&mut self, contacts: Vec<Contact>) {
        self.contacts = contacts.into_iter().map(|contact| (contact.name, contact.key)).collect();
    }

    /// The home's address in its members' network.
    #[must_use]
    pub fn gateway(&self) -> IpAddr {
        self.gateway
    }

    #[must_use]
    pub fn member_at(&self, address: IpAddr) -> Option<&Member> {
        self.members.get(self.by_address.get(&address)?)
    }

    /// The member of this name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.get(name)
    }

    /// Whether a URI is for this home to look up.
    #[must_use]
    pub fn serves(&self, uri: &Uri) -> bool {
        uri.address() == Some(self.gateway) || self.domains.contains(&uri.host)
    }

    /// Whom a member means. A member's name goes before a contact's, and both before a key in hexadecimal digits.
    #[must_use]
    pub fn resolve(&self, uri: &Uri) -> Target {
        let Some(user) = uri.user.as_deref().filter(|_| self.serves(uri)) else { return Target::Unknown };
        let lower = user.to_lowercase();
        for name in [user, &lower] {
            if self.members.contains_key(name) {
                return Target::Local(name.to_owned());
            }
            if let Some(key) = self.contacts.get(name) {
                // A contact may have moved in.
                return self.local(*key).unwrap_or(Target::Elsewhere(*key));
            }
        }
        // Nobody has to know how a name is capitalised.
        if let Some(name) = self.members.keys().find(|name| name.to_lowercase() == lower) {
            return Target::Local(name.clone());
        }
        match parse_key(&lower) {
            Some(key) => self.local(key).unwrap_or(Target::Elsewhere(key)),
            None => Target::Unknown,
        }
    }

    /// Whom another home means: a member of ours, by its key, and nobody else.
    #[must_use]
    pub fn resolve_from_outside(&self, uri: &Uri) -> Target {
        let key = uri.user.as_deref().and_then(parse_key);
        key.and_then(|key| self.local(key)).unwrap_or(Target::Unknown)
    }

    /// What this home calls somebody with this key.
    #[must_use]
    pub fn name_of(&self, key: KeyId) -> Option<&str> {
        self.contacts.iter().find(|(_, each)| **each == key).map(|(name, _)| name.as_str())
    }

    fn local(&self, key: KeyId) -> Option<Target> {
        self.by_key.get(&key).cloned().map(Target::Local)
    }
}

/// A key's name as it is written: 48 hexadecimal digits.
pub(crate) fn parse_key(text: &str) -> Option<KeyId> {
    if text.len() != 48 {
        return None;
    }
    let mut id = [0; 24];
    HEXLOWER_PERMISSIVE.decode_mut(text.as_bytes(), &mut id).ok()?;
    Some(KeyId(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: KeyId = KeyId([1; 24]);
    const BOB: KeyId = KeyId([2; 24]);

    fn names() -> Names {
        let mut names = Names::new("10.73.5.1".parse().unwrap(), vec!["Home".to_owned()]);
        let address = "10.73.5.2".parse().unwrap();
        names.set_members(vec![Member { name: "alice".to_owned(), key: ALICE, address }]);
        let bob = Contact { name: "bob".to_owned(), key: BOB };
        let moved = Contact { name: "ally".to_owned(), key: ALICE };
        let shadowed = Contact { name: "alice".to_owned(), key: BOB };
        names.set_contacts(vec![bob, moved, shadowed]);
        names
    }

    #[test]
    fn a_member_is_the_same_at_each_of_its_addresses() {
        let mut names = names();
        let [one, other, nobodys] =
            ["10.73.5.2", "10.73.5.254", "10.73.5.3"].map(|text| text.parse().unwrap());
        names.set_members(
            [one, other].map(|address| Member { name: "alice".to_owned(), key: ALICE, address }).into(),
        );
        for address in [one, other] {
            assert_eq!(names.member_at(address).map(|member| member.key), Some(ALICE), "{address}");
        }
        assert_eq!(names.member_at(nobodys), None);
    }

    #[test]
    fn a_name_leads_to_one_person() {
        let (names, key) = (names(), BOB.to_string());
        let bob = Target::Elsewhere(BOB);
        #[rustfmt::skip]
        let cases = [
            ("sip:alice@10.73.5.1", Target::Local("alice".to_owned())),
            ("sip:ALICE@home", Target::Local("alice".to_owned())),
            ("sip:ally@home", Target::Local("alice".to_owned())),
            ("sip:bob@10.73.5.1", bob.clone()),
            ("sip:bob@10.73.5.9", Target::Unknown),
            ("sip:alice@elsewhere.example", Target::Unknown),
            ("sip:carol@home", Target::Unknown),
            ("sip:home", Target::Unknown),
            (&format!("sip:{key}@home"), bob),
            (&format!("sip:{ALICE}@home"), Target::Local("alice".to_owned())),
            (&format!("sip:{}@home", &key[1..]), Target::Unknown),
        ];
        for (uri, want) in cases {
            assert_eq!(names.resolve(&Uri::parse(uri).unwrap()), want, "{uri}");
        }
    }

    #[test]
    fn a_name_of_any_script_goes_through_a_uri_and_back() {
        let mut names = names();
        let address = "10.73.5.3".parse().unwrap();
        names.set_members(vec![Member { name: "Ελένη".to_owned(), key: ALICE, address }]);
        let written = Uri { user: Some("Ελένη".to_owned()), ..Uri::parse("sip:x@home").unwrap() }.to_string();
        assert_eq!(written, "sip:%CE%95%CE%BB%CE%AD%CE%BD%CE%B7@home");
        for uri in [written.as_str(), "sip:ελένη@home", "sip:ΕΛΈΝΗ@10.73.5.1"] {
            let target = names.resolve(&Uri::parse(uri).unwrap());
            assert_eq!(target, Target::Local("Ελένη".to_owned()), "{uri}");
        }
    }

    #[test]
    fn other_homes_reach_members_by_key_alone() {
        let names = names();
        let ask = |uri: String| names.resolve_from_outside(&Uri::parse(&uri).unwrap());
        assert_eq!(ask(format!("sip:{ALICE}@x.invalid")), Target::Local("alice".to_owned()));
        for user in [BOB.to_string(), "alice".to_owned(), "bob".to_owned()] {
            assert_eq!(ask(format!("sip:{user}@10.73.5.1")), Target::Unknown, "{user}");
        }
    }

    #[test]
    fn a_key_has_the_name_of_its_contact() {
        let names = names();
        assert_eq!((names.name_of(ALICE), names.name_of(KeyId([3; 24]))), (Some("ally"), None));
    }
}
