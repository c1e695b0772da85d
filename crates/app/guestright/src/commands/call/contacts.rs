//! Contacts: whom a person calls by names of the person's own, in one file; and the person's own card.

use crate::gateway_files;
use crate::qr;
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_directory::{Address, Contact, HomeHint};
use guestright_team::qr::Code;
use guestright_telephone::{contacts, home};
use std::path::{Path, PathBuf};

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
    /// Print JSON
    #[arg(long)]
    json: bool,
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
    /// Print JSON
    #[arg(long)]
    json: bool,
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
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Card {
    pub(super) fn run(self, out: &mut Output) -> Outcome {
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
        if self.json {
            let answer = serde_json::json!({ "card": card, "says_where_home_is": !contact.homes.is_empty() });
            return Ok(writeln!(out, "{answer}")?);
        }
        writeln!(out, "{card}")?;
        if contact.homes.is_empty() {
            writeln!(out, "It does not say where your home is; --home or --tunnel does.")?;
        }
        if self.qr {
            let code = Code::new(&card).map_err(Failure::user)?;
            qr::print(&code, out)?;
        }
        Ok(())
    }
}

/// Where other homes find the home at which a tunnel ends: the same computer, another port.
fn endpoint(tunnel: &Path) -> Result<Address, Failure> {
    let config = home::read_tunnel(tunnel)?;
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
    pub(super) fn run(self, out: &mut Output) -> Outcome {
        match self {
            Self::Add(add) => add.run(out),
            Self::List(list) => list.run(out),
            Self::Remove(remove) => remove.run(out),
        }
    }
}

impl Add {
    fn run(self, out: &mut Output) -> Outcome {
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
        let path = contacts::path(self.contacts.as_deref())?;
        let mut list = contacts::read(&path)?;
        if let Some(there) = list.get(&contact.name)
            && !self.replace
        {
            return Err(Failure::user(anyhow!("{} is among your contacts already", there.name))
                .hint("give another name with --name, or --replace the contact"));
        }
        let (name, member) = (contact.name.clone(), contact.member.to_string());
        list.insert(contact);
        contacts::write(&path, &list)?;
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::json!({ "name": name, "id": member }))?);
        }
        Ok(writeln!(out, "{name} is {member}")?)
    }
}

impl List {
    fn run(self, out: &mut Output) -> Outcome {
        let path = contacts::path(self.contacts.as_deref())?;
        let list = contacts::read(&path)?;
        if self.json {
            let list: Vec<_> = list
                .iter()
                .map(|contact| {
                    let homes: Vec<_> = contact.homes.iter().map(|home| home.address.to_string()).collect();
                    serde_json::json!({ "name": contact.name, "id": contact.member.to_string(), "homes": homes })
                })
                .collect();
            return Ok(writeln!(out, "{}", serde_json::Value::Array(list))?);
        }
        list.iter().try_for_each(|contact| writeln!(out, "{}  {}", contact.member, contact.name))?;
        Ok(())
    }
}

impl Remove {
    fn run(self, out: &mut Output) -> Outcome {
        let path = contacts::path(self.contacts.as_deref())?;
        let mut list = contacts::read(&path)?;
        let gone = list.remove(&self.name).ok_or_else(|| {
            Failure::user(anyhow!("there is no contact {}", self.name))
                .hint("see `guestright call contact list`")
        })?;
        contacts::write(&path, &list)?;
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::json!({ "removed": gone.name }))?);
        }
        Ok(writeln!(out, "{} is no contact any more", gone.name)?)
    }
}
