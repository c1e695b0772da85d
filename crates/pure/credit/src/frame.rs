//! How a message about a hold travels on a link, beside SIP and the directory.
//!
//! A frame of credit begins with 0xff and the number of this form, 1. SIP begins with ASCII; a question to the directory is
//! a CBOR array and begins with a byte from 0x80 to 0x9f. 0xff is in no UTF-8 text, and begins no item of CBOR (RFC 8949,
//! appendix B).

use crate::message::{Message, MessageError};
use guestright_identity::IdentityError;

/// What begins with it is ours, in whatever form.
const FIRST: u8 = 0xff;
/// The form that this version writes and reads.
const FORM: u8 = 1;

/// No frame has more bytes.
pub const FRAME_LEN_MAX: usize = 2 + Message::LEN_MAX;

/// Whether a frame on a link is about credit, rather than SIP or the directory's.
pub fn is_frame(bytes: &[u8]) -> bool {
    bytes.first() == Some(&FIRST)
}

/// The message as it is sent on a link.
pub fn frame(message: &Message) -> Vec<u8> {
    [&[FIRST, FORM], message.emit().as_slice()].concat()
}

/// The message in a frame.
///
/// # Errors
/// [`MessageError`], also for a frame of another form.
pub fn unframe(bytes: &[u8]) -> Result<Message, MessageError> {
    match bytes {
        [FIRST, FORM, message @ ..] => Message::parse(message),
        _ => Err(IdentityError::Malformed("a frame of credit begins with 0xff and 1").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HoldId;

    #[test]
    fn a_frame_holds_its_message_and_nothing_else_is_one() {
        let message = Message::Good { id: HoldId([7; 24]) };
        let bytes = frame(&message);
        assert!(is_frame(&bytes) && bytes.len() <= FRAME_LEN_MAX);
        assert_eq!(unframe(&bytes), Ok(message.clone()));
        assert!(unframe(&bytes[1..]).is_err() && unframe(&[]).is_err());
        let other_form = [&[FIRST, FORM + 1], message.emit().as_slice()].concat();
        assert!(is_frame(&other_form) && unframe(&other_form).is_err());
        // A byte that begins SIP, a blank line before it, or an array of CBOR.
        for first in (0..0x80_u8).chain(0x80..=0x9f) {
            assert!(!is_frame(&[first, 1]), "{first:#04x}");
        }
        assert!(!is_frame(&message.emit()) && !is_frame(&[]));
    }
}
