//! The DNS as a way to find a home.

use crate::update::now;
use crate::{DnsError, Resolver, Updater};
use guestright_directory::{Announcing, Contact, FindError, Finder, Finding, HostName, Record};

/// Looks contacts up by the name that they have in the DNS, and puts our own record there.
#[derive(Debug)]
pub struct DnsFinder {
    resolver: Resolver,
    own: Option<(Updater, HostName)>,
}

impl DnsFinder {
    /// A finder that asks `resolver`; with an updater and a name it can also announce.
    pub fn new(resolver: Resolver, own: Option<(Updater, HostName)>) -> Self {
        Self { resolver, own }
    }
}

impl Finder for DnsFinder {
    fn name(&self) -> &'static str {
        "the DNS"
    }

    fn find<'a>(&'a self, contact: &'a Contact) -> Finding<'a> {
        Box::pin(async move {
            let name = contact.dns.as_ref().ok_or(FindError::NoHint("name in the DNS"))?;
            Ok(self.resolver.lookup(name, contact.member, now()).await?)
        })
    }

    fn announce<'a>(&'a self, record: &'a Record) -> Announcing<'a> {
        Box::pin(async move {
            let (updater, name) = self.own.as_ref().ok_or(FindError::NoHint("name of our own in the DNS"))?;
            updater.publish(name, record).await?;
            Ok(())
        })
    }
}

impl From<DnsError> for FindError {
    fn from(error: DnsError) -> Self {
        match error {
            DnsError::Nothing(_) => Self::Unknown(error.to_string()),
            DnsError::Timeout { server, seconds } => Self::NoAnswer { whom: server.to_string(), seconds },
            DnsError::Record(error) => Self::Record(error),
            DnsError::Io { .. }
            | DnsError::Answer { .. }
            | DnsError::Refused { .. }
            | DnsError::Older { .. }
            | DnsError::OtherMember(_)
            | DnsError::Contended(_)
            | DnsError::Name(..)
            | DnsError::Key(_)
            | DnsError::NoServer(_) => Self::Way(error.to_string()),
        }
    }
}
