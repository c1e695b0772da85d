//! Contacts: whom a person calls by names of the person's own, in one file; and the person's own card.

use super::place;
use crate::gateway_files;
use crate::qr::Code;
use anyhow::{Context, anyhow};
use guestright_cli::failure::{Failure, Outcome};
use guestright_directory::{Address, Contact, Contacts, HomeHint};
use guestright_identity::KeyId;
use std::fs::{self, OpenOptions};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A list of contacts has at most so many bytes: as many cards as it may have, of the longest.
const FILE_MAX: usize = Contacts::LEN_MAX * Contact::CARD_MAX * 4;

/// Print your own contact card, for others to call you
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright call card --certificate alice.cert --tunnel alice.conf --qr")]
pub(super) struct Card {
    /// Your certificate
    #[arg(long, default_value = "member.cert")]
    certificate: PathBuf,
    /// What others shall call you; otherwise the name of your certificate's file
    #[arg(long)]
    name: Option<String>,
    /// Where your home is found by other homes; may be given again
    #[arg(long, value_name = "HOST[:PORT]")]
    home: Vec<Address>,
    /// WireGuard's configuration of the way home, which says where the home is; otherwise the file of your
    /// certificate's name that ends in .conf, if it is there
    #[arg(long, value_name = "FILE", conflicts_with = "home")]
    tunnel: Option<PathBuf>,
    /// Show it as a QR code too
    #[arg(long)]
    qr: bool,
}

/// Keep the list of those whom you call
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:
  guestright call contact add 'guestright:contact?name=Bea&id=…' --name bea")]
pub(super) enum ContactCommand {
    Add(Add),
    List(List),
    Remove(Remove),
}

/// Take somebody in, from a contact card
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright call contact add 'guestright:contact?name=Bea&id=…' --name bea")]
pub(super) struct Add {
    /// The card: guestright:contact?…
    card: String,
    /// What you call the person; otherwise what the card says
    #[arg(long)]
    name: Option<String>,
    /// Take the place of a contact of the same name
    #[arg(long)]
    replace: bool,
    /// The file of your contacts
    #[arg(long, value_name = "FILE")]
    contacts: Option<PathBuf>,
}

/// List them
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright call contact list")]
pub(super) struct List {
    /// The file of your contacts
    #[arg(long, value_name = "FILE")]
    contacts: Option<PathBuf>,
    /// As one JSON document
    #[arg(long)]
    json: bool,
}

/// Strike somebody out
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright call contact remove bea")]
pub(super) struct Remove {
    /// Whom
    name: String,
    /// The file of your contacts
    #[arg(long, value_name = "FILE")]
    contacts: Option<PathBuf>,
}

impl Card {
    pub(super) fn run(self, out: &mut impl Write) -> Outcome {
        let certificate = guestright_keys::read_certificate(&self.certificate).map_err(Failure::config)?;
        let stem = self.certificate.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = self.name.unwrap_or(stem);
        let mut contact = Contact::new(&name, certificate.subject_id())
            .map_err(|error| Failure::user(error).hint("give yourself another name: --name"))?;
        let mut addresses = self.home;
        let conf = self.certificate.with_extension("conf");
        let tunnel = self.tunnel.or_else(|| Some(conf).filter(|path| addresses.is_empty() && path.exists()));
        if let Some(tunnel) = tunnel {
            addresses.push(endpoint(&tunnel)?);
        }
        contact.homes = addresses.into_iter().map(|address| HomeHint { address, key: None }).collect();
        let card = contact.card().map_err(Failure::user)?;
        writeln!(out, "{card}")?;
        if contact.homes.is_empty() {
            writeln!(out, "It does not say where your home is; --home or --tunnel does.")?;
        }
        if self.qr {
            Code::new(&card)?.print(std::io::stdout().is_terminal(), out)?;
        }
        Ok(())
    }
}

/// Where other homes find the home at which a tunnel ends: the same computer, another port.
fn endpoint(tunnel: &Path) -> Result<Address, Failure> {
    let config = place::read_tunnel(tunnel)?;
    let endpoint = config.peers.first().and_then(|peer| peer.endpoint.as_ref());
    let endpoint = endpoint.ok_or_else(|| {
        Failure::config(anyhow!("{} does not say where the home is", tunnel.display()))
            .hint("name it: --home")
    })?;
    gateway_files::link_address(endpoint).map_err(|error| {
        Failure::config(anyhow!("{}: {error}", tunnel.display()))
            .hint("name an address that others reach: --home")
    })
}

impl ContactCommand {
    pub(super) fn run(self, out: &mut impl Write) -> Outcome {
        match self {
            Self::Add(add) => add.run(out),
            Self::List(list) => list.run(out),
            Self::Remove(remove) => remove.run(out),
        }
    }
}

impl Add {
    fn run(self, out: &mut impl Write) -> Outcome {
        let wrong = "a card begins with guestright:contact? — `guestright call card` prints one";
        let mut contact =
            Contact::parse(self.card.trim()).map_err(|error| Failure::user(error).hint(wrong))?;
        if let Some(name) = self.name {
            contact.name = name;
        }
        if ["listen", "card", "contact", "help"].contains(&contact.name.to_lowercase().as_str()) {
            let name = &contact.name;
            return Err(Failure::user(anyhow!("nobody can be called {name}: it is a command"))
                .hint("give another name: --name"));
        }
        // Also checks the name.
        contact.card().map_err(Failure::user)?;
        let path = path(self.contacts.as_deref())?;
        let mut contacts = read(&path)?;
        if let Some(there) = contacts.get(&contact.name)
            && !self.replace
        {
            return Err(Failure::user(anyhow!("{} is among your contacts already", there.name))
                .hint("give another name with --name, or --replace the contact"));
        }
        let said = format!("{} is {}", contact.name, contact.member);
        contacts.insert(contact);
        write(&path, &contacts)?;
        Ok(writeln!(out, "{said}")?)
    }
}

impl List {
    fn run(self, out: &mut impl Write) -> Outcome {
        let contacts = read(&path(self.contacts.as_deref())?)?;
        if self.json {
            let list: Vec<_> = contacts
                .iter()
                .map(|contact| {
                    let homes: Vec<_> = contact.homes.iter().map(|home| home.address.to_string()).collect();
                    serde_json::json!({ "name": contact.name, "id": contact.member.to_string(), "homes": homes })
                })
                .collect();
            return Ok(writeln!(out, "{}", serde_json::Value::Array(list))?);
        }
        contacts.iter().try_for_each(|contact| writeln!(out, "{}  {}", contact.member, contact.name))?;
        Ok(())
    }
}

impl Remove {
    fn run(self, out: &mut impl Write) -> Outcome {
        let path = path(self.contacts.as_deref())?;
        let mut contacts = read(&path)?;
        let gone = contacts.remove(&self.name).ok_or_else(|| {
            Failure::user(anyhow!("there is no contact {}", self.name))
                .hint("see `guestright call contact list`")
        })?;
        write(&path, &contacts)?;
        Ok(writeln!(out, "{} is no contact any more", gone.name)?)
    }
}

/// The list's file: as told, or among the person's settings.
fn path(told: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(told) = told {
        return Ok(told.to_owned());
    }
    let settings = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let settings = settings.or_else(home).ok_or_else(|| {
        Failure::config(anyhow!("there is no place for settings: HOME is not set"))
            .hint("name a file: --contacts")
    })?;
    Ok(settings.join("guestright").join("contacts"))
}

/// The contacts; none if there is no file.
pub(super) fn load(told: Option<&Path>) -> Result<Contacts, Failure> {
    match told {
        // A file that was named has to be there.
        Some(path) => parse(path),
        None => path(None).map_or_else(|_| Ok(Contacts::default()), |path| read(&path)),
    }
}

fn read(path: &Path) -> Result<Contacts, Failure> {
    if path.exists() { parse(path) } else { Ok(Contacts::default()) }
}

fn parse(path: &Path) -> Result<Contacts, Failure> {
    let bytes = guestright_keys::read_to_limit(path, FILE_MAX).map_err(Failure::config)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::config(anyhow!("{} is no text", path.display())))?;
    Contacts::parse(&text).map_err(|error| Failure::config(anyhow!("{}: {error}", path.display())))
}

/// Replaces the file as a whole; who is called is nobody else's business.
fn write(path: &Path, contacts: &Contacts) -> Outcome {
    let text = contacts.emit().map_err(Failure::user)?;
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
    replace().with_context(|| format!("write {}", path.display())).map_err(Failure::config)
}

/// Whom a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Callee {
    /// What the person typed, or the contact's name.
    pub(super) shown: String,
    /// The SIP address to dial.
    pub(super) address: String,
    /// The key that has to be shown.
    pub(super) expected: Option<KeyId>,
}

/// Finds out whom a name stands for: a contact, a key, an address, or else a name that the home knows.
pub(super) fn resolve(name: &str, contacts: &Contacts, home: Option<&str>) -> Result<Callee, Failure> {
    let at_home = |user: &str| {
        home.map(|home| format!("sip:{}@{home}", escape(user))).ok_or_else(|| {
            Failure::user(anyhow!("without a home only an address can be called"))
                .hint("dial sip:name@address:port")
        })
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
        return Err(Failure::user(anyhow!("there is no contact {name:?}"))
            .hint("`guestright call contact list` lists them; `guestright call contact add` takes one in"));
    }
    Ok(Callee { shown, address: at_home(name)?, expected: None })
}

/// The header in which our own home is told where to ask for somebody (design note 0004, section 4).
pub(super) const CARD_HEADER: &str = "Guestright-Contact";

/// What our own home has to know of a contact: where to ask, and not what the person calls it.
pub(super) fn card(contacts: &Contacts, member: KeyId) -> Option<String> {
    let contact = contacts.of_member(member).next()?;
    Contact { name: "contact".to_owned(), ..contact.clone() }.card().ok()
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
