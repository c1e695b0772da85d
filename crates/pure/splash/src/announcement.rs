//! How guests learn of the page without a probe: RFC 8910.
//!
//! The address is that of the API (RFC 8908) at a name with a certificate, or [`UNRESTRICTED`] where there is no page. It is
//! not announced otherwise: phones that were given one stop probing, and believe nothing without a certificate.

use crate::{LeaseToken, Secured};
use thiserror::Error;

/// DHCPv4's number for it (RFC 8910 section 2.1).
pub const DHCP_OPTION: u8 = 114;
/// That of router advertisements (RFC 8910 section 2.3).
pub const RA_OPTION: u8 = 37;
/// For networks without a page (RFC 8910 section 2).
pub const UNRESTRICTED: &str = "urn:ietf:params:capport:unrestricted";
/// One DHCPv4 option holds no more (RFC 8910 section 2.1).
pub const URI_BYTES_MAX: usize = 255;

/// The address is longer than an option can be.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the API's address has {got} bytes, at most {URI_BYTES_MAX}")]
pub struct UriTooLong {
    pub got: usize,
}

/// An address to announce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri(String);

impl Uri {
    /// The API's address; with a token that of one lease, where the DHCP server makes one for each.
    pub fn of_api(secured: &Secured, token: Option<&LeaseToken>) -> Result<Self, UriTooLong> {
        let token = token.map(|token| format!("/{}", token.text())).unwrap_or_default();
        let text = format!("{}{}{token}", secured.origin(), crate::api::PATH);
        match text.len() {
            0..=URI_BYTES_MAX => Ok(Self(text)),
            got => Err(UriTooLong { got }),
        }
    }

    pub fn unrestricted() -> Self {
        Self(UNRESTRICTED.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The option of DHCPv4: number, length, address without an end (RFC 8910 section 2.1).
    pub fn dhcp_option(&self) -> Vec<u8> {
        let length = u8::try_from(self.0.len()).expect("it was checked when it was made");
        [&[DHCP_OPTION, length], self.0.as_bytes()].concat()
    }

    /// The option of a router advertisement: number, length in eight bytes each, address, zeros (RFC 8910 section 2.3).
    pub fn ra_option(&self) -> Vec<u8> {
        let eights = (2 + self.0.len()).div_ceil(8);
        let mut option = vec![RA_OPTION, u8::try_from(eights).expect("255 bytes are 33 times eight at most")];
        option.extend_from_slice(self.0.as_bytes());
        option.resize(eights * 8, 0);
        option
    }

    /// A line for dnsmasq, which sends it to those who ask for it. It is the same for all leases.
    pub fn dnsmasq_line(&self) -> String {
        format!("dhcp-option={DHCP_OPTION},{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secured(name: &str) -> Secured {
        Secured { name: name.to_owned(), port: 443 }
    }

    #[test]
    fn is_written_for_dhcp_for_router_advertisements_and_for_dnsmasq() {
        let uri = Uri::of_api(&secured("ap.rivers.example"), None).unwrap();
        assert_eq!(uri.as_str(), "https://ap.rivers.example/api");
        assert_eq!(uri.dnsmasq_line(), "dhcp-option=114,https://ap.rivers.example/api");
        assert_eq!(uri.dhcp_option()[..2], [114, 29]);
        assert_eq!(uri.dhcp_option()[2..], *b"https://ap.rivers.example/api");
        let option = uri.ra_option();
        assert_eq!((option.len(), option[0], option[1], option[31]), (32, 37, 4, 0));
        let token = LeaseToken::new([0x1f; 16]);
        let own = Uri::of_api(&Secured { port: 8443, ..secured("ap.rivers.example") }, Some(&token)).unwrap();
        assert_eq!(own.as_str(), "https://ap.rivers.example:8443/api/1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f");
        assert_eq!(Uri::unrestricted().as_str(), UNRESTRICTED);
    }

    #[test]
    fn nothing_longer_than_an_option_is_made() {
        let name = |length: usize| secured(&"a".repeat(length));
        let own = "https:///api".len();
        assert_eq!(Uri::of_api(&name(255 - own), None).unwrap().dhcp_option().len(), 257);
        assert_eq!(Uri::of_api(&name(255 - own), None).unwrap().ra_option().len(), 264);
        assert_eq!(Uri::of_api(&name(256 - own), None), Err(UriTooLong { got: 256 }));
    }
}
