//! The name of the Wi-Fi that all participating households have.

use std::fmt;

use crate::ProfileError;

/// The name under which a participating access point takes phones in by 802.1X.
///
/// One name for everybody, as eduroam has it: a phone that knows it joins at every household, without Passpoint, which
/// many access points lack; and no list of teams has to be on the air. It is compared byte for byte (IEEE 802.11-2020,
/// 9.4.2.2), so it is of lower-case ASCII letters alone: nobody can spell it in two ways. It is no secret and proves
/// nothing: whoever opens a network of this name gets an EAP conversation that ends when its server cannot show the
/// certificate of the phone's own home.
///
/// A household may call its *open* network whatever it likes. It may give another name to this one too, but then only
/// phones with Passpoint find it.
pub const SSID: &str = "guestright";

/// The name of a Wi-Fi network: 1 to 32 bytes. Any bytes, though it is best to be UTF-8.
#[derive(Clone, PartialEq, Eq)]
pub struct Ssid(Vec<u8>);

impl Ssid {
    /// # Errors
    /// It is empty or has more than 32 bytes (IEEE 802.11-2020, 9.4.2.2), or a control character is in it, which
    /// systems draw, or cut off, in as many ways.
    pub fn new(text: &str) -> Result<Self, ProfileError> {
        if !(1..=32).contains(&text.len()) || text.chars().any(char::is_control) {
            return Err(ProfileError::wrong(
                "a Wi-Fi's name",
                text,
                "1 to 32 bytes without control characters",
            ));
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// The common name, [`SSID`].
    #[must_use]
    pub fn common() -> Self {
        Self(SSID.as_bytes().to_vec())
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn as_text(&self) -> &str {
        std::str::from_utf8(&self.0).expect("it was made of text")
    }

    /// As hexadecimal digits any name can stand in any file.
    pub(crate) fn hex(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.0)
    }
}

impl fmt::Debug for Ssid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ssid({:?})", self.as_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_name_is_a_name_that_nobody_can_misspell() {
        assert_eq!(Ssid::new(SSID), Ok(Ssid::common()));
        assert!(SSID.bytes().all(|byte| byte.is_ascii_lowercase()));
    }

    #[test]
    fn names_have_1_to_32_bytes() {
        for good in ["a", "ä 😀 \"", &"x".repeat(32)] {
            assert_eq!(Ssid::new(good).unwrap().as_bytes(), good.as_bytes());
        }
        for bad in ["", "a\nb", "a\0", &"x".repeat(33), "😀😀😀😀😀😀😀😀😀"] {
            assert!(Ssid::new(bad).is_err(), "{bad:?}");
        }
    }
}
