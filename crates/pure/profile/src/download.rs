//! What the page's buttons lead to, and how the home's HTTP server has to send it.

/// A file for one kind of system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Download {
    /// iPhone, iPad, Mac.
    Apple,
    Android,
    ChromeOs,
    /// The certificate and its key alone.
    Pkcs12,
    /// `wpa_supplicant`.
    Supplicant,
    /// The configuration that stock WireGuard apps read, as it is.
    WireGuard,
}

/// What every one of them is sent with: nobody keeps a copy on the way, nobody guesses at its type, and no link leaves the
/// page.
const ALWAYS: [(&str, &str); 3] = [
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
];

impl Download {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 6] =
        [Self::Apple, Self::Android, Self::ChromeOs, Self::Supplicant, Self::Pkcs12, Self::WireGuard];

    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Apple => "application/x-apple-aspen-config",
            Self::Android => "application/x-wifi-config",
            Self::ChromeOs => "application/x-onc",
            Self::Pkcs12 => "application/x-pkcs12",
            Self::Supplicant | Self::WireGuard => "text/plain; charset=utf-8",
        }
    }

    /// The headers of the answer, which is 200 to a GET, at once and at this address: Android installs nothing that a redirect
    /// leads to, and nothing with a `Content-Disposition`
    /// (<https://source.android.com/docs/core/connect/wifi-passpoint>). `label` is the phone's.
    #[must_use]
    pub fn headers(self, label: &str) -> Vec<(&'static str, String)> {
        let mut headers = vec![("Content-Type", self.content_type().to_owned())];
        match self.file_name(label) {
            Some(name) => headers.push(("Content-Disposition", format!("attachment; filename=\"{name}\""))),
            None => headers.push(("Content-Transfer-Encoding", "base64".to_owned())),
        }
        headers.extend(ALWAYS.map(|(name, value)| (name, value.to_owned())));
        headers
    }

    /// The name under which a browser keeps it. Android's is not kept but installed.
    fn file_name(self, label: &str) -> Option<String> {
        // A checked label has no other letters; this is for one that was not.
        let label: String =
            label.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
        match self {
            Self::Apple => Some(format!("{label}.mobileconfig")),
            Self::Android => None,
            Self::ChromeOs => Some(format!("{label}.onc")),
            Self::Pkcs12 => Some(format!("{label}.p12")),
            Self::Supplicant => Some(format!("{label}-wpa_supplicant.conf")),
            // wg-quick makes an interface of the name, which has 15 letters at most.
            Self::WireGuard => Some(format!("{}.conf", label.chars().take(15).collect::<String>())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn android_gets_no_file_and_all_others_do() {
        for download in Download::ALL {
            let headers = download.headers("k7f2\"\r\nSet-Cookie: a");
            let has = |name: &str| headers.iter().any(|(header, _)| *header == name);
            assert_eq!(has("Content-Disposition"), download != Download::Android, "{download:?}");
            assert_eq!(has("Content-Transfer-Encoding"), download == Download::Android, "{download:?}");
            assert!(has("Cache-Control"));
            assert!(headers.iter().all(|(_, value)| !value.contains(['\r', '\n'])), "{headers:?}");
        }
    }
}
