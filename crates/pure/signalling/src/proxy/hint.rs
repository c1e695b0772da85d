//! What a member's telephone says about where its contact's home may be.

use super::{CallId, Proxy};
use crate::Message;
use guestright_directory::Contact;
use guestright_identity::KeyId;

/// The header that carries a contact's card (design note 0004, section 4). It ends at the caller's own home.
const HEADER: &str = "Guestright-Contact";

impl Proxy {
    /// The card that came with a call of a member of ours to somebody elsewhere, if it is about who is called.
    pub(super) fn card(&mut self, call: CallId, key: KeyId) -> Option<Box<Contact>> {
        let server = self.servers.get(&self.calls.get(&call)?.server)?;
        match read(&server.request, key) {
            Ok(card) => card,
            Err(reason) => {
                self.refuse(reason);
                None
            }
        }
    }
}

fn read(request: &Message, key: KeyId) -> Result<Option<Box<Contact>>, &'static str> {
    let mut cards = request.values(HEADER);
    let Some(text) = cards.next() else { return Ok(None) };
    if cards.next().is_some() {
        return Err("two contact cards");
    }
    if text.len() > Contact::CARD_MAX {
        return Err("contact card too long");
    }
    let card = Contact::parse(text).map_err(|_| "malformed contact card")?;
    if card.member != key {
        return Err("contact card of somebody else");
    }
    Ok(Some(Box::new(card)))
}
