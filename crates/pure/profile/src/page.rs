//! The page with the buttons, which a phone sees at home.
//!
//! No script, nothing from elsewhere, and no address in it but the links. It works without its style too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use crate::Download;

/// What the page says.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Whose phone this is to be: the team, as people call it.
    pub team: &'a str,
    /// The member, as the household calls it.
    pub member: &'a str,
    /// When what is installed ends: a date.
    pub ends: guestright_units::UnixSeconds,
    /// How long the links hold.
    pub minutes: u64,
    /// Where each button leads to: a path, or an address, of this home alone.
    pub links: &'a [(Download, &'a str)],
    /// What protects the certificate's file, if that is among the links.
    pub password: Option<&'a crate::Secret>,
}

const STYLE: &str = "body{font:1.125rem/1.5 system-ui,sans-serif;max-width:32rem;margin:0 auto;padding:1rem}\
    a.b{display:block;padding:1rem;margin:.5rem 0;border:2px solid;border-radius:.5rem;text-align:center;font-weight:600}\
    code{font-size:1.25rem;overflow-wrap:anywhere}:root{color-scheme:light dark}";

/// The headers of the page: see [`Download::headers`] for those of what its links lead to.
#[must_use]
pub fn headers() -> Vec<(&'static str, String)> {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    vec![
        ("Content-Type", "text/html; charset=utf-8".to_owned()),
        ("Content-Security-Policy", policy),
        ("Cache-Control", "no-store".to_owned()),
        ("X-Content-Type-Options", "nosniff".to_owned()),
        ("Referrer-Policy", "no-referrer".to_owned()),
    ]
}

/// The page's text.
#[must_use]
pub fn render(page: &Page<'_>) -> String {
    let day: String = page.ends.to_string().chars().take_while(|letter| *letter != 'T').collect();
    let title = "Join the Wi-Fi of participating households";
    html! {
        (DOCTYPE)
        "\n"
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    p {
                        "This device will join as " bdi { (page.member) } " of " bdi { (page.team) } ", until " (day) ". "
                        "Choose what it is. Each button works once, within " (page.minutes) " minutes."
                    }
                    @for (download, link) in page.links {
                        section { (button(*download, link, page.password)) }
                    }
                    p {
                        "What you install holds a key that is this device's alone. Do not pass it on; if the device is lost, "
                        "ask whoever looks after the team to remove it."
                    }
                }
            }
        }
        "\n"
    }
    .into_string()
}

fn button(download: Download, link: &str, password: Option<&crate::Secret>) -> Markup {
    let (name, then) = match download {
        Download::Apple => (
            "iPhone, iPad or Mac",
            "Tap Allow. Then open Settings, Profile Downloaded, Install. It will say that it is not signed: it comes from \
             your own home.",
        ),
        Download::Android => {
            ("Android 11 or newer", "Open this page in Chrome, tap the button, then Install.")
        }
        Download::ChromeOs => ("Chromebook", "Then open chrome://network#general and import the file."),
        Download::Supplicant => {
            ("Linux computer", "A configuration for wpa_supplicant, for root alone to read.")
        }
        Download::Pkcs12 => ("Another computer", "The certificate with its key, for EAP-TLS."),
        Download::WireGuard => (
            "WireGuard app",
            "The tunnel home, for the app. It is not needed beside a profile with a tunnel.",
        ),
    };
    html! {
        a.b href=(link) rel="noreferrer" { (name) }
        p {
            (then)
            @if let (Download::Pkcs12, Some(password)) = (download, password) {
                " Its password: " code { (password.expose()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::UnixSeconds;

    #[test]
    fn the_policy_allows_the_style_that_is_there_and_nothing_else() {
        let links = [(Download::Apple, "/phone/a\"b&c")];
        let (ends, minutes) = (UnixSeconds(1_795_176_123), 15);
        let page =
            Page { team: "<b>\u{202e}", member: "a & b", ends, minutes, links: &links, password: None };
        let text = render(&page);
        let headers = headers();
        let policy = headers.iter().find(|(name, _)| *name == "Content-Security-Policy").unwrap();
        let style = text.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        assert!(policy.1.contains(&STANDARD.encode(Sha256::digest(style))), "{policy:?}");
        assert!(
            !text.contains("<b>")
                && text.contains("<bdi>&lt;b&gt;\u{202e}</bdi>")
                && text.contains("a &amp; b")
        );
        assert!(
            text.contains("href=\"/phone/a&quot;b&amp;c\"") && text.contains("until 2026-11-20."),
            "{text}"
        );
        assert!(!text.contains("<script") && !text.contains("style=") && text.len() < 14_000);
    }

    #[test]
    fn a_password_is_shown_beside_its_file_alone() {
        let password = crate::Secret::new("sesame");
        let links = [(Download::Apple, "/a"), (Download::Pkcs12, "/b")];
        let page = Page {
            team: "t",
            member: "m",
            ends: UnixSeconds(0),
            minutes: 1,
            links: &links,
            password: Some(&password),
        };
        assert_eq!(render(&page).matches("sesame").count(), 1);
        assert!(!format!("{page:?}").contains("sesame"));
    }
}
