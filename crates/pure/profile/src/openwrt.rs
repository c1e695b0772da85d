//! The same Wi-Fi as in [`hostapd`](crate::hostapd), for OpenWrt: a section of its `/etc/config/wireless`.
//!
//! Names of options: what OpenWrt's `hostapd.sh` reads. It needs the full wpad.

use zeroize::Zeroizing;

use crate::hostapd::{LANGUAGE, Passpoint, Radius, Security};
use crate::{ProfileError, Ssid};

/// What a household may announce by Passpoint without choosing anything: a private network that takes guests in, with the
/// Internet behind it, in a private residence.
const PASSPOINT: [(&str, &str); 7] = [
    ("iw_enabled", "1"),
    ("iw_interworking", "1"),
    ("iw_access_network_type", "1"),
    ("iw_internet", "1"),
    ("iw_venue_group", "7"),
    ("iw_venue_type", "1"),
    ("hs20", "1"),
];

/// A Wi-Fi for phones, on one of the router's radios.
#[derive(Clone, Debug)]
pub struct WifiInterface {
    /// The radio's section.
    pub device: String,
    /// The section of the guests' network.
    pub network: String,
    pub ssid: Ssid,
    pub security: Security,
    /// `knows_message_authenticator` does not matter here: the section is the same for every version of hostapd.
    pub radius: Radius,
    /// Consortiums are left out.
    pub passpoint: Option<Passpoint>,
}

impl WifiInterface {
    /// The section `guestright_phones`. It holds the secret that is shared with `guestright ap`.
    ///
    /// # Errors
    /// The first thing that cannot be; or a value has an apostrophe, which ends it in this file, or a line break, which begins
    /// another line in hostapd's.
    pub fn render(&self) -> Result<Zeroizing<String>, ProfileError> {
        self.radius.check()?;
        self.passpoint.as_ref().map_or(Ok(()), Passpoint::check)?;
        // Of the final length at once: what grows leaves pieces behind that nobody wipes.
        let mut section = Section(Zeroizing::new(String::with_capacity(64 * 1_024)));
        section.0.push_str("config wifi-iface 'guestright_phones'\n");
        self.options(&mut section)?;
        if self.passpoint.is_some() {
            PASSPOINT.iter().try_for_each(|(name, value)| section.option(name, value))?;
        }
        section.list("hostapd_bss_options", "radius_das_require_event_timestamp=1")?;
        section.list("hostapd_bss_options", "radius_das_require_message_authenticator=1")?;
        if let Some(Passpoint { operator, realms, domain, .. }) = &self.passpoint {
            let operator = format!("{LANGUAGE}:{operator}");
            section.list("iw_venue_name", &operator)?;
            section.list("iw_domain_name", domain)?;
            section.list("hs20_oper_friendly_name", &operator)?;
            // EAP-TLS (13) with a certificate: credential type (5), certificate (6).
            realms
                .iter()
                .try_for_each(|realm| section.list("iw_nai_realm", &format!("0,{realm},13[5:6]")))?;
        }
        Ok(section.0)
    }

    fn options(&self, section: &mut Section) -> Result<(), ProfileError> {
        let Radius { identifier, authentication_port, accounting_port, orders_port, secret, .. } =
            &self.radius;
        let [authentication, accounting, orders] =
            [authentication_port, accounting_port, orders_port].map(ToString::to_string);
        let secret = secret.expose();
        // OpenWrt's `wpa3` is the 192-bit mode, for which phones' certificates would need P-384. What others call
        // WPA3-Enterprise is this with management frames protected.
        let protected_frames = match self.security {
            Security::Wpa2AndWpa3 => "1",
            Security::Wpa3 => "2",
        };
        let options = [
            ("device", self.device.as_str()),
            ("mode", "ap"),
            ("network", &self.network),
            ("ssid", self.ssid.as_text()),
            ("encryption", "wpa2+ccmp"),
            ("ieee80211w", protected_frames),
            ("isolate", "1"),
            ("auth_cache", "0"),
            ("eap_reauth_period", "0"),
            ("nasid", identifier),
            ("ownip", "127.0.0.1"),
            ("auth_server", "127.0.0.1"),
            ("auth_port", &authentication),
            ("auth_secret", secret),
            ("acct_server", "127.0.0.1"),
            ("acct_port", &accounting),
            ("acct_secret", secret),
            ("acct_interval", "60"),
            ("dae_client", "127.0.0.1"),
            ("dae_port", &orders),
            ("dae_secret", secret),
        ];
        options.iter().try_for_each(|(name, value)| section.option(name, value))
    }
}

/// A section that is being written.
struct Section(Zeroizing<String>);

impl Section {
    fn option(&mut self, name: &'static str, value: &str) -> Result<(), ProfileError> {
        self.line("option", name, value)
    }

    fn list(&mut self, name: &'static str, value: &str) -> Result<(), ProfileError> {
        self.line("list", name, value)
    }

    fn line(&mut self, kind: &str, name: &'static str, value: &str) -> Result<(), ProfileError> {
        // By the option's name: its value may be a secret.
        if value.contains('\'') {
            return Err(ProfileError::Apostrophe { what: name });
        }
        if value.contains(char::is_control) {
            return Err(ProfileError::ControlCharacter { what: name });
        }
        for part in ["\t", kind, " ", name, " '", value, "'\n"] {
            self.0.push_str(part);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn wifi(operator: &str, security: Security) -> WifiInterface {
        WifiInterface {
            device: "radio0".to_owned(),
            network: "guest".to_owned(),
            ssid: Ssid::common(),
            security,
            radius: Radius {
                identifier: "guestright".to_owned(),
                authentication_port: 1812,
                accounting_port: 1813,
                orders_port: 3799,
                secret: Secret::new("0123456789abcdef"),
                knows_message_authenticator: false,
            },
            passpoint: Some(Passpoint {
                operator: operator.to_owned(),
                realms: vec!["a.example".to_owned(), "b.example".to_owned()],
                domain: "a.example".to_owned(),
                consortiums: vec![],
            }),
        }
    }

    #[test]
    fn options_stand_before_lists_and_each_realm_has_a_line() {
        let text = wifi("12 Mill Lane", Security::Wpa2AndWpa3).render().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "config wifi-iface 'guestright_phones'");
        let lists: Vec<&str> = lines
            .iter()
            .copied()
            .skip_while(|line| line.starts_with("\toption ") || line.starts_with("config "))
            .collect();
        assert_eq!(
            lists,
            [
                "\tlist hostapd_bss_options 'radius_das_require_event_timestamp=1'",
                "\tlist hostapd_bss_options 'radius_das_require_message_authenticator=1'",
                "\tlist iw_venue_name 'eng:12 Mill Lane'",
                "\tlist iw_domain_name 'a.example'",
                "\tlist hs20_oper_friendly_name 'eng:12 Mill Lane'",
                "\tlist iw_nai_realm '0,a.example,13[5:6]'",
                "\tlist iw_nai_realm '0,b.example,13[5:6]'",
            ]
        );
        for wanted in [
            "auth_port '1812'",
            "acct_port '1813'",
            "dae_port '3799'",
            "dae_secret '0123456789abcdef'",
            "ieee80211w '1'",
            "hs20 '1'",
        ] {
            assert!(lines.contains(&format!("\toption {wanted}").as_str()), "{wanted}");
        }
        let wpa3 = wifi("12 Mill Lane", Security::Wpa3).render().unwrap();
        assert!(wpa3.contains("\toption ieee80211w '2'\n"));
    }

    #[test]
    fn what_would_end_a_value_is_refused() {
        let error = wifi("The Millers' house", Security::Wpa3).render().unwrap_err();
        assert_eq!(error, ProfileError::Apostrophe { what: "iw_venue_name" });
    }

    #[test]
    fn what_hostapd_would_read_as_another_line_is_refused() {
        let error = wifi("12 Mill Lane\nwpa=0", Security::Wpa3).render().unwrap_err();
        assert_eq!(error, ProfileError::ControlCharacter { what: "iw_venue_name" });
        let mut on_radio = wifi("12 Mill Lane", Security::Wpa3);
        on_radio.device = "radio0\n".to_owned();
        assert_eq!(on_radio.render().unwrap_err(), ProfileError::ControlCharacter { what: "device" });
        let mut of_many = wifi("12 Mill Lane", Security::Wpa3);
        of_many.passpoint.as_mut().unwrap().realms = vec!["a.example".to_owned(); 101];
        let too_many = ProfileError::TooMany { what: "realms", got: 101, want: 100 };
        assert_eq!(of_many.render().unwrap_err(), too_many);
    }

    #[test]
    fn a_secret_that_is_refused_is_not_shown() {
        let mut wifi = wifi("12 Mill Lane", Security::Wpa3);
        wifi.radius.secret = Secret::new("0123456789abcde'");
        let error = wifi.render().unwrap_err();
        assert_eq!(error, ProfileError::Apostrophe { what: "auth_secret" });
        assert!(!format!("{error} {error:?}").contains("abcde"), "{error:?}");
    }
}
