//! Whom a person calls by names of the person's own: the file that has them, and what a name stands for.

use crate::TelephoneError;
use guestright_directory::{Contact, Contacts};
use guestright_identity::KeyId;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A list of contacts has at most so many bytes: as many cards as it may have, of the longest.
const FILE_MAX: usize = Contacts::LEN_MAX * Contact::CARD_MAX * 4;

/// The list's file: the one that was named, or the one among the person's settings.
///
/// # Errors
/// There is no folder for settings.
pub fn path(named: Option<&Path>) -> Result<PathBuf, TelephoneError> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let settings = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let settings = settings.or_else(home).ok_or(TelephoneError::NoSettingsFolder)?;
    Ok(settings.join("guestright").join("contacts"))
}

/// The contacts; none if there is no file. A file that was named has to be there.
///
/// # Errors
/// The file cannot be read, or is no list of contacts.
pub fn load(named: Option<&Path>) -> Result<Contacts, TelephoneError> {
    match named {
        Some(path) => parse(path),
        None => path(None).map_or_else(|_| Ok(Contacts::default()), |path| read(&path)),
    }
}

/// The contacts in a file; none if it is not there.
///
/// # Errors
/// As [`load`].
pub fn read(path: &Path) -> Result<Contacts, TelephoneError> {
    if path.exists() { parse(path) } else { Ok(Contacts::default()) }
}

fn parse(path: &Path) -> Result<Contacts, TelephoneError> {
    let bytes = guestright_keys::read_to_limit(path, FILE_MAX).map_err(TelephoneError::Unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| TelephoneError::NotText(path.to_owned()))?;
    Contacts::parse(&text).map_err(|error| TelephoneError::Contacts { path: path.to_owned(), error })
}

/// Replaces the file as a whole; who is called is nobody else's business.
///
/// # Errors
/// A contact has a name that no card can have, or the file cannot be written.
pub fn write(path: &Path, contacts: &Contacts) -> Result<(), TelephoneError> {
    let text = contacts.emit().map_err(TelephoneError::Card)?;
    let replace = || {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            fs::create_dir_all(directory)?;
        }
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    replace().map_err(|source| TelephoneError::Unwritable { path: path.to_owned(), source })
}

/// Whom a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callee {
    /// What the person typed, or the contact's name.
    pub shown: String,
    /// The SIP address to dial.
    pub address: String,
    /// The key that has to be shown.
    pub expected: Option<KeyId>,
}

/// Finds out whom a name stands for: a contact, a key, an address, or else a name that the home knows.
///
/// # Errors
/// It stands for nobody, or for somebody whom only a home can find.
pub fn resolve(name: &str, contacts: &Contacts, home: Option<&str>) -> Result<Callee, TelephoneError> {
    let at_home = |user: &str| {
        home.map(|home| format!("sip:{}@{home}", escape(user))).ok_or(TelephoneError::OnlyAddresses)
    };
    let shown = name.to_owned();
    if name.len() >= 4 && name[..4].eq_ignore_ascii_case("sip:") {
        let address = name.to_owned();
        // sip:CONTACT@address calls there and wants the contact's key.
        let user = name[4..].split('@').next().unwrap_or_default();
        let expected = contacts.get(user).map(|contact| contact.member).or_else(|| key(user));
        return Ok(Callee { shown, address, expected });
    }
    if let Some(contact) = contacts.get(name) {
        let address = at_home(&contact.member.to_string())?;
        return Ok(Callee { shown: contact.name.clone(), address, expected: Some(contact.member) });
    }
    if let Some(key) = key(name) {
        return Ok(Callee { shown, address: at_home(&key.to_string())?, expected: Some(key) });
    }
    if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(TelephoneError::UnknownContact(shown));
    }
    Ok(Callee { shown, address: at_home(name)?, expected: None })
}

/// The header that says to our own home where to ask for somebody (design note 0004, section 4).
pub(crate) const CARD_HEADER: &str = "Guestright-Contact";

/// What our own home has to know of a contact: where to ask, and not what the person calls it.
pub(crate) fn card(contacts: &Contacts, member: KeyId) -> Option<String> {
    let contact = contacts.of_member(member).next()?;
    Contact { name: "contact".to_owned(), ..contact.clone() }.card().ok()
}

/// Who the other side has proven to be.
#[must_use]
pub fn identity(contacts: &Contacts, key: KeyId) -> String {
    match contacts.of_member(key).next() {
        Some(contact) => format!("{}, as your contacts have it", contact.name),
        None => format!("somebody who is not among your contacts, with the key {key}"),
    }
}

/// A key's name: 48 hexadecimal digits.
fn key(text: &str) -> Option<KeyId> {
    let id: guestright_units::TeamId = text.parse().ok()?;
    Some(KeyId(id.0))
}

/// The user part of a SIP address (RFC 3261 section 25.1: all but unreserved characters as `%` and two digits).
fn escape(user: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()+".contains(&byte);
    user.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_contact_before_it_is_anything_else() {
        let id = "ab".repeat(24);
        let other = "cd".repeat(24);
        let contacts = Contacts::parse(&format!("guestright:contact?name=Bea&id={id}\n")).unwrap();
        let find = |name: &str| resolve(name, &contacts, Some("10.9.0.1")).unwrap();
        let callee = |shown: &str, address: String, expected: Option<u8>| Callee {
            shown: shown.to_owned(),
            address,
            expected: expected.map(|byte| KeyId([byte; 24])),
        };
        assert_eq!(find("bea"), callee("Bea", format!("sip:{id}@10.9.0.1"), Some(0xab)));
        assert_eq!(find(&other), callee(&other, format!("sip:{other}@10.9.0.1"), Some(0xcd)));
        assert_eq!(find("carlo"), callee("carlo", "sip:carlo@10.9.0.1".to_owned(), None));
        assert_eq!(find("jo&co"), callee("jo&co", "sip:jo%26co@10.9.0.1".to_owned(), None));
        let there = "sip:bea@127.0.0.1:5070";
        assert_eq!(find(there), callee(there, there.to_owned(), Some(0xab)));
        assert!(resolve("carlo", &contacts, None).is_err());
        assert!(resolve("two words", &contacts, Some("10.9.0.1")).is_err());
    }
}
