//! What a member's telephone says about where its contact's home may be.

use crate::Message;
use guestright_directory::Contact;
use guestright_identity::KeyId;

/// The header that carries a contact's card (design note 0004, section 4). It ends at the caller's own home.
const HEADER: &str = "Guestright-Contact";

/// The card that came with a call of a member of ours to somebody elsewhere, if it is about who is called. The error is
/// the reason that is counted; the call goes on without the card.
pub(super) fn read_card(request: &Message, key: KeyId) -> Result<Option<Box<Contact>>, &'static str> {
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
