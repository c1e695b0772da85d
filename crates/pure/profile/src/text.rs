//! What names and texts have to be so that every file can hold them.

use guestright_wire::name;

use crate::ProfileError;

/// The longest name that a phone shows without cutting it off somewhere in the middle of a screen.
const NAME_CHARS_MAX: usize = 64;

/// The identifier of a roaming consortium: an OI that IEEE has given to somebody, of 3 or 5 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsortiumId(Vec<u8>);

impl ConsortiumId {
    /// # Errors
    /// It has neither 3 nor 5 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, ProfileError> {
        if matches!(bytes.len(), 3 | 5) {
            return Ok(Self(bytes.to_vec()));
        }
        let got = data_encoding::HEXUPPER.encode(bytes);
        Err(ProfileError::wrong("a roaming consortium", &got, "3 or 5 bytes"))
    }

    /// In capitals: what Apple's schema asks for, and all others read.
    pub(crate) fn hex(&self) -> String {
        data_encoding::HEXUPPER.encode(&self.0)
    }
}

/// Whether people may see this as a name: any writing, quotation marks and line breaks too, but nothing that XML 1.0
/// cannot hold (section 2.2) and nothing that cannot be seen at all.
pub(crate) fn check_name(what: &'static str, text: &str) -> Result<(), ProfileError> {
    let is_seen = text.chars().any(|letter| !letter.is_whitespace() && !letter.is_control());
    if is_seen && text.chars().count() <= NAME_CHARS_MAX && text.chars().all(is_xml) {
        return Ok(());
    }
    Err(ProfileError::wrong(what, text, "1 to 64 characters that can be seen, or line breaks between them"))
}

fn is_xml(letter: char) -> bool {
    match letter {
        '\t' | '\n' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        // A carriage return would be read back as a line feed by some.
        other => !other.is_control(),
    }
}

/// Whether this is a domain name as it stands in certificates.
pub(crate) fn check_domain(what: &'static str, text: &str) -> Result<(), ProfileError> {
    if name::is_domain(text) {
        return Ok(());
    }
    Err(ProfileError::wrong(what, text, "a domain name in small letters, with a dot in it"))
}

/// Whether this can be in a file's name and in a certificate: letters, digits and dashes.
pub(crate) fn check_label(what: &'static str, text: &str) -> Result<(), ProfileError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if (1..=63).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(());
    }
    Err(ProfileError::wrong(what, text, "1 to 63 letters, digits and dashes"))
}

/// A name on one line, where a format has no second one.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Between double quotes after a `P`, as hostapd and wpa_supplicant read it (`printf_decode` in their `utils/common.c`).
pub(crate) fn printf_quoted(text: &str) -> String {
    let mut quoted = String::from("P\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=b'~' => quoted.push(char::from(byte)),
            other => quoted.push_str(&format!("\\x{other:02x}")),
        }
    }
    quoted.push('"');
    quoted
}

/// PEM (RFC 7468), for readers that take nothing else.
#[cfg(feature = "files")]
pub(crate) fn pem(kind: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN {kind}-----\n{}-----END {kind}-----\n", wrapped(&body, 64))
}

/// In lines of at most `width` letters, each with its end.
pub(crate) fn wrapped(ascii: &str, width: usize) -> String {
    let mut lines = String::with_capacity(ascii.len() + ascii.len() / width + 1);
    for line in ascii.as_bytes().chunks(width) {
        lines.extend(line.iter().copied().map(char::from));
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_seen() {
        for good in ["Miller", "a \"b\" <c> & 'd'\nsecond line", "שלום", "😀", "\u{202e}evil"] {
            assert_eq!(check_name("a name", good), Ok(()), "{good:?}");
        }
        for bad in ["", " \n", "a\0b", "\u{7}", "a\rb", "\u{ffff}", &"x".repeat(65)] {
            assert!(check_name("a name", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn domains_are_those_of_certificates() {
        for good in ["a.b", "home.7f3a.guestright.alt", "xn--bcher-kva.example"] {
            assert_eq!(check_domain("a realm", good), Ok(()), "{good:?}");
        }
        for bad in [
            "",
            "a",
            "a..b",
            ".a",
            "a.",
            "A.b",
            "a b.c",
            "-a.b",
            "bücher.example",
            "a@b.c",
            &"a.".repeat(130),
        ] {
            assert!(check_domain("a realm", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn quotes_what_a_line_cannot_hold() {
        assert_eq!(printf_quoted("a\"b\\c\nä"), r#"P"a\"b\\c\x0a\xc3\xa4""#);
    }
}
