//! Where members' telephones are (RFC 3261 section 10).
//!
//! The tunnel is the login: a binding always leads to the address in the tunnel that it was asked for from, whatever
//! its Contact says.

use crate::{Message, NameAddress, Peer, Uri};
use guestright_units::{Micros, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// For how long a binding holds if nobody says, and at most and at least, in seconds.
const EXPIRES: u64 = 3_600;
const EXPIRES_MAX: u64 = 7_200;
const EXPIRES_MIN: u64 = 30;
/// How many telephones one member may have registered.
const BINDINGS_MAX: usize = 8;

/// One telephone of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// What it calls itself.
    pub contact: Uri,
    pub peer: Peer,
    /// Until when.
    pub ends: Time,
    call_id: String,
    sequence: u32,
}

/// Why a registration is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationError {
    /// The binding would end too soon.
    TooBrief,
    /// The member has too many.
    TooMany,
    /// It was overtaken by a later one.
    OutOfOrder,
    /// A Contact or an Expires is not understood.
    Malformed,
}

/// What a REGISTER asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    remove_all: bool,
    contacts: Vec<(Uri, u64)>,
}

/// What tells an older REGISTER from a later one (RFC 3261 section 10.3, step 7).
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The telephone's Call-ID.
    pub call_id: &'a str,
    /// The number in CSeq.
    pub sequence: u32,
}

/// The bindings of all members.
#[derive(Clone, Debug, Default)]
pub struct Registrar {
    bindings: BTreeMap<String, Vec<Binding>>,
}

impl RegistrationError {
    /// As a SIP answer.
    #[must_use]
    pub const fn response(self) -> (u16, &'static str) {
        match self {
            Self::TooBrief => (423, "Interval Too Brief"),
            Self::TooMany => (403, "Too Many Telephones"),
            Self::OutOfOrder => (500, "Registration Out Of Order"),
            Self::Malformed => (400, "Bad Contact Or Expires"),
        }
    }

    /// The shortest time that is granted, in seconds, for Min-Expires.
    pub const EXPIRES_MIN: u64 = EXPIRES_MIN;
}

impl Registration {
    /// Reads what a REGISTER asks for.
    ///
    /// # Errors
    /// [`RegistrationError::Malformed`] or `TooBrief`.
    pub fn parse(request: &Message) -> Result<Self, RegistrationError> {
        let malformed = RegistrationError::Malformed;
        let seconds = |text: &str| text.trim().parse::<u64>().map_err(|_| malformed);
        let default = request.get("Expires").map(seconds).transpose()?.unwrap_or(EXPIRES);
        let mut this = Self { remove_all: false, contacts: Vec::new() };
        for text in request.list("Contact") {
            if text == "*" {
                this.remove_all = true;
                continue;
            }
            let contact = NameAddress::parse(text).map_err(|_| malformed)?;
            let wanted = contact.param("expires").map(seconds).transpose()?.unwrap_or(default);
            if (1..EXPIRES_MIN).contains(&wanted) {
                return Err(RegistrationError::TooBrief);
            }
            this.contacts.push((contact.uri, wanted.min(EXPIRES_MAX)));
        }
        // `*` stands alone, and only to remove (RFC 3261 section 10.2.2).
        if this.remove_all && (default != 0 || !this.contacts.is_empty()) {
            return Err(malformed);
        }
        Ok(this)
    }
}

impl Registrar {
    /// Carries out a registration that came from `from`: all of it or nothing.
    ///
    /// # Errors
    /// [`RegistrationError::TooMany`] or `OutOfOrder`.
    pub fn register(
        &mut self,
        member: &str,
        from: Peer,
        registration: &Registration,
        order: Order<'_>,
        now: Time,
    ) -> Result<(), RegistrationError> {
        let mut bindings = self.bindings.get(member).cloned().unwrap_or_default();
        bindings.retain(|binding| binding.ends > now);
        let Order { call_id, sequence } = order;
        let late = |binding: &Binding| binding.call_id == call_id && binding.sequence >= sequence;
        if registration.remove_all {
            if bindings.iter().any(late) {
                return Err(RegistrationError::OutOfOrder);
            }
            bindings.clear();
        }
        for (contact, seconds) in &registration.contacts {
            let known = bindings.iter().position(|binding| same(&binding.contact, contact));
            if known.is_some_and(|known| late(&bindings[known])) {
                return Err(RegistrationError::OutOfOrder);
            }
            if let Some(known) = known {
                bindings.remove(known);
            }
            if *seconds == 0 {
                continue;
            }
            if bindings.len() == BINDINGS_MAX {
                return Err(RegistrationError::TooMany);
            }
            let (contact, peer, call_id) = (contact.clone(), reach(from, contact), call_id.to_owned());
            bindings.push(Binding {
                contact,
                peer,
                ends: now + Micros::from_seconds(*seconds),
                call_id,
                sequence,
            });
        }
        if bindings.is_empty() {
            self.bindings.remove(member);
        } else {
            self.bindings.insert(member.to_owned(), bindings);
        }
        Ok(())
    }

    /// A member's telephones.
    pub fn bindings(&self, member: &str, now: Time) -> impl Iterator<Item = &Binding> {
        let all = self.bindings.get(member).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter(move |binding| binding.ends > now)
    }

    /// Who has how many telephones.
    pub fn members(&self, now: Time) -> impl Iterator<Item = (&str, usize)> {
        let count = move |all: &[Binding]| all.iter().filter(|binding| binding.ends > now).count();
        self.bindings
            .iter()
            .map(move |(name, all)| (name.as_str(), count(all)))
            .filter(|(_, count)| *count != 0)
    }

    /// Forgets what has ended, and everybody who is not a member any more.
    pub fn remove_expired(&mut self, is_member: impl Fn(&str) -> bool, now: Time) {
        self.bindings.retain(|name, bindings| {
            bindings.retain(|binding| binding.ends > now);
            !bindings.is_empty() && is_member(name)
        });
    }
}

/// Where a telephone is called: at the address it registered from, and at the port of its Contact if that names the
/// same address.
fn reach(from: Peer, contact: &Uri) -> Peer {
    let (Peer::Udp(address) | Peer::Tcp(address)) = from else { return from };
    let own = contact.address() == Some(address.ip());
    let named = SocketAddr::new(address.ip(), contact.port.unwrap_or(5_060));
    match from {
        Peer::Tcp(_) => from,
        Peer::Udp(_) | Peer::Home(_) if contact.wants_tcp() && own => Peer::Tcp(named),
        Peer::Udp(_) | Peer::Home(_) if own => Peer::Udp(named),
        Peer::Udp(_) | Peer::Home(_) => from,
    }
}

/// Whether two Contacts are one (RFC 3261 section 19.1.4, as far as it matters here).
fn same(one: &Uri, other: &Uri) -> bool {
    let port = |uri: &Uri| uri.port.unwrap_or(5_060);
    one.user == other.user
        && one.host == other.host
        && port(one) == port(other)
        && one.wants_tcp() == other.wants_tcp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;

    const NOW: Time = Time(1_000_000_000);

    fn peer() -> Peer {
        Peer::Udp("10.73.5.2:40000".parse().unwrap())
    }

    fn request(contacts: &[&str], expires: Option<&str>) -> Message {
        let mut request = Message::request(Method::Register, "sip:10.73.5.1");
        contacts.iter().for_each(|contact| request.push("Contact", contact));
        expires.into_iter().for_each(|expires| request.push("Expires", expires));
        request
    }

    fn register(
        registrar: &mut Registrar,
        contacts: &[&str],
        expires: Option<&str>,
        sequence: u32,
    ) -> Result<(), RegistrationError> {
        let registration = Registration::parse(&request(contacts, expires))?;
        registrar.register("alice", peer(), &registration, Order { call_id: "call", sequence }, NOW)
    }

    fn count(registrar: &Registrar, now: Time) -> usize {
        registrar.bindings("alice", now).count()
    }

    #[test]
    fn bindings_begin_are_renewed_and_end() {
        let mut registrar = Registrar::default();
        assert_eq!(register(&mut registrar, &["<sip:alice@10.73.5.2:5062>"], Some("100"), 1), Ok(()));
        assert_eq!(count(&registrar, NOW), 1);
        assert_eq!(count(&registrar, NOW + Micros::from_seconds(100)), 0);
        assert_eq!(
            register(&mut registrar, &["<sip:alice@10.73.5.2:5062>;expires=200"], Some("100"), 2),
            Ok(())
        );
        assert_eq!(count(&registrar, NOW + Micros::from_seconds(199)), 1);
        assert_eq!(register(&mut registrar, &["<sip:a@10.73.5.2:5063>"], None, 3), Ok(()));
        assert_eq!(count(&registrar, NOW), 2);
        assert_eq!(register(&mut registrar, &["<sip:alice@10.73.5.2:5062>"], Some("0"), 4), Ok(()));
        assert_eq!(count(&registrar, NOW), 1);
        assert_eq!(register(&mut registrar, &["*"], Some("0"), 5), Ok(()));
        assert_eq!(count(&registrar, NOW), 0);
    }

    #[test]
    fn bad_registrations_change_nothing() {
        let mut registrar = Registrar::default();
        assert_eq!(register(&mut registrar, &["<sip:alice@10.73.5.2>"], None, 7), Ok(()));
        #[rustfmt::skip]
        let cases: [(&[&str], Option<&str>, u32, RegistrationError); 7] = [
            (&["<sip:alice@10.73.5.2>"], None, 7, RegistrationError::OutOfOrder),
            (&["*"], Some("0"), 6, RegistrationError::OutOfOrder),
            (&["*"], Some("60"), 8, RegistrationError::Malformed),
            (&["*", "<sip:b@c>"], Some("0"), 8, RegistrationError::Malformed),
            (&["<sip:b@c>"], Some("5"), 8, RegistrationError::TooBrief),
            (&["<sip:b@c>"], Some("-1"), 8, RegistrationError::Malformed),
            (&["sips:b@c"], None, 8, RegistrationError::Malformed),
        ];
        for (contacts, expires, sequence, want) in cases {
            let before = registrar.bindings.clone();
            assert_eq!(register(&mut registrar, contacts, expires, sequence), Err(want), "{contacts:?}");
            assert_eq!(registrar.bindings, before);
        }
        let many: Vec<String> = (1..=8).map(|port| format!("<sip:alice@10.73.5.2:{port}>")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(register(&mut registrar, &many, None, 9), Err(RegistrationError::TooMany));
        assert_eq!(count(&registrar, NOW), 1);
    }

    #[test]
    fn a_binding_leads_nowhere_but_to_the_tunnel_it_came_from() {
        let mut registrar = Registrar::default();
        #[rustfmt::skip]
        let cases = [
            ("<sip:alice@10.73.5.2:5062>", Peer::Udp("10.73.5.2:5062".parse().unwrap())),
            ("<sip:alice@10.73.5.2>", Peer::Udp("10.73.5.2:5060".parse().unwrap())),
            ("<sip:alice@10.73.5.2;transport=tcp>", Peer::Tcp("10.73.5.2:5060".parse().unwrap())),
            ("<sip:alice@10.73.5.3:5062>", peer()),
            ("<sip:alice@192.168.1.5:5062;transport=tcp>", peer()),
            ("<sip:alice@victim.example>", peer()),
        ];
        for (sequence, (contact, want)) in (1..).zip(cases) {
            register(&mut registrar, &["*"], Some("0"), 2 * sequence).unwrap();
            register(&mut registrar, &[contact], None, 2 * sequence + 1).unwrap();
            let found: Vec<Peer> = registrar.bindings("alice", NOW).map(|binding| binding.peer).collect();
            assert_eq!(found, [want], "{contact}");
        }
    }

    #[test]
    fn who_is_no_member_any_more_is_forgotten() {
        let mut registrar = Registrar::default();
        register(&mut registrar, &["<sip:alice@10.73.5.2>"], None, 1).unwrap();
        assert_eq!(registrar.members(NOW).collect::<Vec<_>>(), [("alice", 1)]);
        registrar.remove_expired(|name| name != "alice", NOW);
        assert_eq!(count(&registrar, NOW), 0);
    }
}
