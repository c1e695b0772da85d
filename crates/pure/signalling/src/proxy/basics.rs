//! A request, as far as every request is understood.

use super::rewrite::Tags;
use crate::peer::Party;
use crate::transaction::ServerKey;
use crate::{Message, NameAddress, Start, Uri};

/// What every request has to have, understood.
pub(super) struct Basics {
    pub(super) from: NameAddress,
    pub(super) from_tag: String,
    pub(super) to: NameAddress,
    pub(super) call_id: String,
    pub(super) sequence: u32,
    pub(super) uri: Uri,
}

impl Basics {
    pub(super) fn read(message: &Message) -> Option<Self> {
        let Start::Request { method, uri } = &message.start else { return None };
        let address = |name| NameAddress::parse(message.get(name)?).ok();
        let (from, to) = (address("From")?, address("To")?);
        let call_id = message.get("Call-ID").filter(|id| !id.is_empty() && id.len() <= 256)?;
        let (_, named) = message.get("CSeq")?.split_once([' ', '\t'])?;
        let fits = named.trim() == method.name();
        let from_tag = from.tag().filter(|tag| fits && tag.len() <= 128)?.to_owned();
        let (call_id, sequence) = (call_id.to_owned(), message.sequence()?);
        Some(Self { from, from_tag, to, call_id, sequence, uri: Uri::parse(uri).ok()? })
    }

    pub(super) fn tags(&self) -> Tags<'_> {
        Tags { from: Some(&self.from_tag), to: self.to.tag() }
    }
}

/// A request in a transaction of its own.
pub(super) struct Request {
    pub(super) key: ServerKey,
    pub(super) party: Party,
    pub(super) basics: Basics,
    pub(super) message: Message,
}
