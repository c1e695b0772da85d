//! What the household says of itself.

use crate::Language;
use guestright_wire::name;
use std::net::SocketAddr;
use thiserror::Error;

/// Of each text, as it stands in the page: with `&amp;` for `&`. So the page has room for them all.
const HOUSEHOLD_BYTES_MAX: usize = 100;
const CONTACT_BYTES_MAX: usize = 200;
const MEMBER_PAGE_BYTES_MAX: usize = 200;
const TERMS_BYTES_MAX: usize = 2_000;
/// Of the page of terms, as it is written, and as it stands in the page.
pub const TERMS_TEXT_BYTES_MAX: usize = 32 * 1_024;
pub(crate) const TERMS_ESCAPED_BYTES_MAX: usize = 2 * TERMS_TEXT_BYTES_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How the household calls itself.
    pub household: String,
    /// How somebody reaches the household: a line of text.
    pub contact: Option<String>,
    /// The household's terms: paragraphs, each in a line of its own.
    pub terms: Option<String>,
    /// All of its terms, on a page of their own: paragraphs, each in lines that are not empty. Nothing: the usual ones.
    pub terms_text: Option<String>,
    /// For so many hours it is kept who had which address; nothing: it is not.
    pub addresses_kept_hours: Option<u64>,
    /// Where to read how one becomes a member: text, which a guest without service cannot open yet.
    pub member_page: Option<String>,
    /// In these the page can be read; the first one is for those who ask for none of them.
    pub languages: Vec<Language>,
    /// Where the machine is reached without encryption.
    pub address: SocketAddr,
    /// A name with a certificate that phones trust, if the household has one.
    pub secured: Option<Secured>,
}

/// Where the machine is reached over TLS. Without it there is no API (RFC 8908 section 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secured {
    pub name: String,
    pub port: u16,
}

/// A setting that cannot be shown, or that would not fit.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SettingsError {
    #[error("{setting} is empty")]
    Empty { setting: &'static str },
    #[error("{setting} takes {got} bytes in the page, at most {most}")]
    TooLong { setting: &'static str, got: usize, most: usize },
    #[error("{setting} has a character that is not shown: U+{code:04X}")]
    Unshown { setting: &'static str, code: u32 },
    #[error("language `{}` is there twice", .0.tag())]
    LanguageTwice(Language),
    #[error("{0:?} is not a name of the DNS in lower case")]
    NotAName(String),
    #[error("guests cannot reach {0}")]
    Unreachable(SocketAddr),
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        check_text("household", Some(&self.household), HOUSEHOLD_BYTES_MAX, false)?;
        check_text("contact", self.contact.as_deref(), CONTACT_BYTES_MAX, false)?;
        check_text("member_page", self.member_page.as_deref(), MEMBER_PAGE_BYTES_MAX, false)?;
        check_text("terms", self.terms.as_deref(), TERMS_BYTES_MAX, true)?;
        if let Some(text) = self.terms_text.as_deref().filter(|text| text.len() > TERMS_TEXT_BYTES_MAX) {
            let (setting, got, most) = ("terms_file", text.len(), TERMS_TEXT_BYTES_MAX);
            return Err(SettingsError::TooLong { setting, got, most });
        }
        check_text("terms_file", self.terms_text.as_deref(), TERMS_ESCAPED_BYTES_MAX, true)?;
        if self.languages.is_empty() {
            return Err(SettingsError::Empty { setting: "languages" });
        }
        for (index, language) in self.languages.iter().enumerate() {
            if self.languages[..index].contains(language) {
                return Err(SettingsError::LanguageTwice(*language));
            }
        }
        if self.address.ip().is_unspecified() || self.address.port() == 0 {
            return Err(SettingsError::Unreachable(self.address));
        }
        match &self.secured {
            Some(secured) if !name::is_domain(&secured.name) => {
                Err(SettingsError::NotAName(secured.name.clone()))
            }
            Some(secured) if secured.port == 0 => Err(SettingsError::Empty { setting: "secured.port" }),
            Some(_) | None => Ok(()),
        }
    }
}

impl Secured {
    /// `https://` with the name, and the port unless it is the usual one.
    pub(crate) fn origin(&self) -> String {
        match self.port {
            443 => format!("https://{}", self.name),
            port => format!("https://{}:{port}", self.name),
        }
    }
}

/// The text as it stands in a page.
pub(crate) fn escaped_length(text: &str) -> usize {
    text.chars()
        .map(|character| match character {
            '&' => "&amp;".len(),
            '<' | '>' => "&lt;".len(),
            '"' => "&quot;".len(),
            other => other.len_utf8(),
        })
        .sum()
}

/// Whether a character does not change how others are shown. Marks of direction do: a text could look like another one.
pub(crate) fn is_shown(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}'
    );
    !turns && !character.is_control()
}

fn check_text(
    setting: &'static str,
    text: Option<&str>,
    most: usize,
    has_lines: bool,
) -> Result<(), SettingsError> {
    let Some(text) = text else { return Ok(()) };
    if text.trim().is_empty() {
        return Err(SettingsError::Empty { setting });
    }
    // Each line becomes a paragraph.
    let got = escaped_length(text) + text.matches('\n').count() * "<p dir=\"auto\"></p>".len();
    if got > most {
        return Err(SettingsError::TooLong { setting, got, most });
    }
    let unshown = text.chars().find(|it| !(is_shown(*it) || has_lines && *it == '\n'));
    unshown.map_or(Ok(()), |it| Err(SettingsError::Unshown { setting, code: it.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            household: "The Rivers".to_owned(),
            contact: None,
            terms: None,
            terms_text: None,
            addresses_kept_hours: None,
            member_page: None,
            languages: vec![Language::English],
            address: "10.73.0.1:80".parse().unwrap(),
            secured: None,
        }
    }

    #[test]
    fn what_cannot_be_shown_is_refused() {
        assert_eq!(settings().check(), Ok(()));
        let secured = |name: &str| Some(Secured { name: name.to_owned(), port: 443 });
        let long = "&".repeat(HOUSEHOLD_BYTES_MAX / 5 + 1);
        #[rustfmt::skip]
        let cases = [
            (Settings { household: " ".to_owned(), ..settings() }, SettingsError::Empty { setting: "household" }),
            (Settings { household: long, ..settings() }, SettingsError::TooLong { setting: "household", got: 105, most: 100 }),
            (Settings { contact: Some("a\nb".to_owned()), ..settings() }, SettingsError::Unshown { setting: "contact", code: 10 }),
            (Settings { contact: Some("a\u{202e}b".to_owned()), ..settings() }, SettingsError::Unshown { setting: "contact", code: 0x202e }),
            (Settings { terms: Some("a\rb".to_owned()), ..settings() }, SettingsError::Unshown { setting: "terms", code: 13 }),
            (Settings { terms: Some("a".repeat(2_001)), ..settings() }, SettingsError::TooLong { setting: "terms", got: 2_001, most: 2_000 }),
            (Settings { terms: Some("a\n".repeat(101)), ..settings() }, SettingsError::TooLong { setting: "terms", got: 2_020, most: 2_000 }),
            (Settings { terms_text: Some("a".repeat(32_769)), ..settings() }, SettingsError::TooLong { setting: "terms_file", got: 32_769, most: 32_768 }),
            (Settings { terms_text: Some("&".repeat(32_768)), ..settings() }, SettingsError::TooLong { setting: "terms_file", got: 163_840, most: 65_536 }),
            (Settings { terms_text: Some("a\u{202e}b".to_owned()), ..settings() }, SettingsError::Unshown { setting: "terms_file", code: 0x202e }),
            (Settings { terms_text: Some("\n \n".to_owned()), ..settings() }, SettingsError::Empty { setting: "terms_file" }),
            (Settings { languages: vec![], ..settings() }, SettingsError::Empty { setting: "languages" }),
            (Settings { languages: vec![Language::German; 2], ..settings() }, SettingsError::LanguageTwice(Language::German)),
            (Settings { address: "0.0.0.0:80".parse().unwrap(), ..settings() }, SettingsError::Unreachable("0.0.0.0:80".parse().unwrap())),
            (Settings { secured: secured("a b.example"), ..settings() }, SettingsError::NotAName("a b.example".to_owned())),
            (Settings { secured: secured("localhost"), ..settings() }, SettingsError::NotAName("localhost".to_owned())),
        ];
        for (settings, want) in cases {
            assert_eq!(settings.check(), Err(want));
        }
        let terms = Some("Be kind.\nNo mail servers.".to_owned());
        assert_eq!(Settings { terms, secured: secured("ap.rivers.example"), ..settings() }.check(), Ok(()));
    }
}
