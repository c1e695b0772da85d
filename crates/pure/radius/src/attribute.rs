//! Attributes by number, and how long texts and EAP packets are cut into them.

use std::fmt;

/// The longest value of an attribute: its length is one octet and counts two more (RFC 2865, section 5).
pub const VALUE_BYTES_MAX: usize = 253;

/// An attribute's number (IANA, "RADIUS Attribute Types").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u8);

impl Kind {
    pub const USER_NAME: Self = Self(1);
    pub const NAS_IP_ADDRESS: Self = Self(4);
    pub const NAS_PORT: Self = Self(5);
    pub const FRAMED_MTU: Self = Self(12);
    pub const REPLY_MESSAGE: Self = Self(18);
    pub const STATE: Self = Self(24);
    pub const CLASS: Self = Self(25);
    pub const VENDOR_SPECIFIC: Self = Self(26);
    pub const SESSION_TIMEOUT: Self = Self(27);
    pub const TERMINATION_ACTION: Self = Self(29);
    pub const CALLED_STATION_ID: Self = Self(30);
    pub const CALLING_STATION_ID: Self = Self(31);
    pub const NAS_IDENTIFIER: Self = Self(32);
    pub const PROXY_STATE: Self = Self(33);
    pub const ACCT_STATUS_TYPE: Self = Self(40);
    pub const ACCT_INPUT_OCTETS: Self = Self(42);
    pub const ACCT_OUTPUT_OCTETS: Self = Self(43);
    pub const ACCT_SESSION_ID: Self = Self(44);
    pub const ACCT_SESSION_TIME: Self = Self(46);
    pub const ACCT_INPUT_PACKETS: Self = Self(47);
    pub const ACCT_OUTPUT_PACKETS: Self = Self(48);
    pub const ACCT_TERMINATE_CAUSE: Self = Self(49);
    pub const ACCT_INPUT_GIGAWORDS: Self = Self(52);
    pub const ACCT_OUTPUT_GIGAWORDS: Self = Self(53);
    pub const EVENT_TIMESTAMP: Self = Self(55);
    pub const NAS_PORT_TYPE: Self = Self(61);
    pub const EAP_MESSAGE: Self = Self(79);
    pub const MESSAGE_AUTHENTICATOR: Self = Self(80);
    pub const NAS_IPV6_ADDRESS: Self = Self(95);
    pub const ERROR_CAUSE: Self = Self(101);

    fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::USER_NAME => "User-Name",
            Self::NAS_IP_ADDRESS => "NAS-IP-Address",
            Self::NAS_PORT => "NAS-Port",
            Self::FRAMED_MTU => "Framed-MTU",
            Self::REPLY_MESSAGE => "Reply-Message",
            Self::STATE => "State",
            Self::CLASS => "Class",
            Self::VENDOR_SPECIFIC => "Vendor-Specific",
            Self::SESSION_TIMEOUT => "Session-Timeout",
            Self::TERMINATION_ACTION => "Termination-Action",
            Self::CALLED_STATION_ID => "Called-Station-Id",
            Self::CALLING_STATION_ID => "Calling-Station-Id",
            Self::NAS_IDENTIFIER => "NAS-Identifier",
            Self::PROXY_STATE => "Proxy-State",
            Self::ACCT_STATUS_TYPE => "Acct-Status-Type",
            Self::ACCT_INPUT_OCTETS => "Acct-Input-Octets",
            Self::ACCT_OUTPUT_OCTETS => "Acct-Output-Octets",
            Self::ACCT_SESSION_ID => "Acct-Session-Id",
            Self::ACCT_SESSION_TIME => "Acct-Session-Time",
            Self::ACCT_INPUT_PACKETS => "Acct-Input-Packets",
            Self::ACCT_OUTPUT_PACKETS => "Acct-Output-Packets",
            Self::ACCT_TERMINATE_CAUSE => "Acct-Terminate-Cause",
            Self::ACCT_INPUT_GIGAWORDS => "Acct-Input-Gigawords",
            Self::ACCT_OUTPUT_GIGAWORDS => "Acct-Output-Gigawords",
            Self::EVENT_TIMESTAMP => "Event-Timestamp",
            Self::NAS_PORT_TYPE => "NAS-Port-Type",
            Self::EAP_MESSAGE => "EAP-Message",
            Self::MESSAGE_AUTHENTICATOR => "Message-Authenticator",
            Self::NAS_IPV6_ADDRESS => "NAS-IPv6-Address",
            Self::ERROR_CAUSE => "Error-Cause",
            _ => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "attribute {}", self.0),
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An attribute as it is in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    pub kind: Kind,
    pub value: &'a [u8],
}

/// A text in pieces that fit into attributes; no piece ends inside a character, because each of them is text by
/// itself (RFC 2865, section 5: UTF-8).
pub(crate) fn text_pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let (piece, rest) = text.split_at(text.floor_char_boundary(VALUE_BYTES_MAX));
        text = rest;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let text = "ä".repeat(300);
        let pieces: Vec<_> = text_pieces(&text).collect();
        assert_eq!(pieces.iter().map(|piece| piece.len()).collect::<Vec<_>>(), [252, 252, 96]);
        assert_eq!(pieces.concat(), text);
        assert_eq!(text_pieces("").count(), 0);
        assert_eq!(text_pieces(&"a".repeat(253)).count(), 1);
    }

    #[test]
    fn attributes_have_names() {
        assert_eq!(Kind::EAP_MESSAGE.to_string(), "EAP-Message");
        assert_eq!(Kind(241).to_string(), "attribute 241");
    }
}
