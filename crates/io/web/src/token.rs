//! 128 bits of chance as text, and what is kept of them.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// How many bits of chance a link and a session have: 128.
pub(crate) const TOKEN_BYTES: usize = 16;

/// What is kept of a token: whoever reads our memory or a dump of it gets no session from it.
#[derive(Clone, Debug)]
pub(crate) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(crate) fn of(token: &[u8; TOKEN_BYTES]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Takes the same time wherever they differ.
    pub(crate) fn is_of(&self, token: &[u8; TOKEN_BYTES]) -> bool {
        self.0.ct_eq(&Self::of(token).0).into()
    }
}

pub(crate) fn write(token: &[u8; TOKEN_BYTES]) -> String {
    HEXLOWER.encode(token)
}

/// Hexadecimal in lower case, or base64url without padding, as the page's script takes both from an address.
pub(crate) fn parse(text: &str) -> Option<[u8; TOKEN_BYTES]> {
    let bytes = match text.len() {
        32 => HEXLOWER.decode(text.as_bytes()),
        22 => BASE64URL_NOPAD.decode(text.as_bytes()),
        _ => return None,
    };
    bytes.ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_and_known_again(token: [u8; TOKEN_BYTES], other: [u8; TOKEN_BYTES]) {
            prop_assert_eq!(parse(&write(&token)), Some(token));
            prop_assert_eq!(parse(&BASE64URL_NOPAD.encode(&token)), Some(token));
            prop_assert!(TokenDigest::of(&token).is_of(&token));
            prop_assert_eq!(TokenDigest::of(&token).is_of(&other), token == other);
        }

        #[test]
        fn no_text_is_too_odd_to_be_read(text in ".{0,40}") {
            let _: Option<[u8; TOKEN_BYTES]> = parse(&text);
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for wrong in
            ["", "0", &"F".repeat(32), &"g".repeat(32), &"f".repeat(31), &"=".repeat(22), &"é".repeat(16)]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
