//! Whom a person calls, by a name of the person's own.

use crate::{Address, CardError, HostName, card};
use guestright_identity::KeyId;
use guestright_ordered::OrderedMap;
use std::fmt;
use std::str::FromStr;

/// A telephone number in international form: `+` and digits (E.164).
///
/// `Debug` shows its last two digits only.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TelephoneNumber(String);

/// A home that may know where somebody is, and its key if that is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HomeHint {
    pub address: Address,
    /// The key that its link has to show; without one, any home's will do, since records prove themselves.
    pub key: Option<KeyId>,
}

/// Somebody who can be called: a key under a name of the user's own, and where to ask for its home.
///
/// Only the key says who it is. The rest are hints; a wrong one costs time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// What the user calls it.
    pub name: String,
    pub member: KeyId,
    /// Homes that may know, the best first; at most [`Contact::HOMES_MAX`].
    pub homes: Vec<HomeHint>,
    /// The name under which its record is in the DNS.
    pub dns: Option<HostName>,
    /// Where a short message reaches it.
    pub telephone: Option<TelephoneNumber>,
}

/// A list of contacts, found by their names. Names that differ in capitals only are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contacts {
    by_name: OrderedMap<String, Contact>,
}

impl TelephoneNumber {
    /// The digits, without the `+`.
    pub fn digits(&self) -> &str {
        &self.0
    }
}

impl FromStr for TelephoneNumber {
    type Err = CardError;

    /// `+` and 5 to 15 digits, the first not zero. Spaces, hyphens and parentheses are passed over.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix('+').ok_or(CardError::Telephone)?;
        let digits: String = digits.chars().filter(|c| !matches!(c, ' ' | '-' | '(' | ')')).collect();
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || !(5..=15).contains(&digits.len()) || digits.starts_with('0') {
            return Err(CardError::Telephone);
        }
        Ok(Self(digits))
    }
}

impl fmt::Display for TelephoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}", self.0)
    }
}

impl fmt::Debug for TelephoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TelephoneNumber(…{})", &self.0[self.0.len() - 2..])
    }
}

impl Contact {
    /// How many homes a contact may name.
    pub const HOMES_MAX: usize = 4;
    /// How long a name may be, in characters.
    pub const NAME_MAX: usize = 64;
    /// How long a card may be, in characters: a QR code of version 20 or less holds it.
    pub const CARD_MAX: usize = 640;

    /// A contact without hints.
    ///
    /// # Errors
    /// [`CardError::Name`].
    pub fn new(name: &str, member: KeyId) -> Result<Self, CardError> {
        card::check_name(name)?;
        Ok(Self { name: name.to_owned(), member, homes: Vec::new(), dns: None, telephone: None })
    }

    /// Reads a contact card, as [`Contact::card`] wrote it.
    ///
    /// # Errors
    /// [`CardError`].
    pub fn parse(text: &str) -> Result<Self, CardError> {
        card::parse(text)
    }

    /// The contact as a card: `guestright:contact?name=Jo&id=…&home=home.example:7275&dns=…&tel=+12025550142`.
    ///
    /// # Errors
    /// [`CardError`] if a field is against the limits.
    pub fn card(&self) -> Result<String, CardError> {
        card::emit(self)
    }
}

impl Contacts {
    /// How many contacts a list holds.
    pub const LEN_MAX: usize = 1_024;

    /// Reads a list: a card on each line; empty lines and those that begin with `#` are passed over.
    ///
    /// # Errors
    /// [`CardError::Line`] or [`CardError::List`].
    pub fn parse(text: &str) -> Result<Self, CardError> {
        let mut contacts = Self::default();
        for (line, text) in text.lines().enumerate().map(|(index, text)| (index + 1, text.trim())) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let contact =
                Contact::parse(text).map_err(|error| CardError::Line { line, error: Box::new(error) })?;
            if contacts.by_name.len() == Self::LEN_MAX {
                return Err(CardError::List { line, problem: "a list has 1024 contacts at most" });
            }
            if contacts.insert(contact).is_some() {
                return Err(CardError::List { line, problem: "this name is on a line before" });
            }
        }
        Ok(contacts)
    }

    /// The list as text.
    ///
    /// # Errors
    /// [`CardError`] if a contact is against the limits.
    pub fn emit(&self) -> Result<String, CardError> {
        self.by_name.values().map(|contact| contact.card().map(|card| card + "\n")).collect()
    }

    /// Adds a contact; gives the one that had its name.
    pub fn insert(&mut self, contact: Contact) -> Option<Contact> {
        self.by_name.insert(contact.name.to_lowercase(), contact)
    }

    pub fn remove(&mut self, name: &str) -> Option<Contact> {
        self.by_name.remove(&name.to_lowercase())
    }

    /// The contact with this name.
    pub fn get(&self, name: &str) -> Option<&Contact> {
        self.by_name.get(&name.to_lowercase())
    }

    /// The contacts with this key.
    pub fn of_member(&self, member: KeyId) -> impl Iterator<Item = &Contact> {
        self.iter().filter(move |contact| contact.member == member)
    }

    /// All contacts, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Contact> {
        self.by_name.values()
    }
}
