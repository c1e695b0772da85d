//! The other side of the air: hostapd's settings for the Wi-Fi that phones join.
//!
//! Names of settings: `hostapd.conf` of hostap 2.10. hostapd asks `guestright ap` by RADIUS on the loopback interface whether
//! a station may join, reports to it, and is ordered by it to let one go (RFC 5176).

use std::fmt::Write as _;

use zeroize::Zeroizing;

use crate::phone::limit;
use crate::text::{check_domain, check_label, check_name, printf_quoted};
use crate::{ConsortiumId, ProfileError, Secret, Ssid};

/// hostapd reads so many realms from a line (`MAX_NAI_REALMS`).
const REALMS_PER_LINE: usize = 10;
/// An ANQP answer of all of them still fits: 100 realms of 40 bytes are 5 kB, which GAS sends in pieces.
const REALMS_MAX: usize = 100;
const CONSORTIUMS_MAX: usize = 3;
/// Names are names in any language, but ANQP wants one (ISO 639).
pub(crate) const LANGUAGE: &str = "eng";

/// An access point for phones.
#[derive(Clone, Debug)]
pub struct AccessPoint {
    pub interface: String,
    /// Where guests' frames go on: the bridge of the guests' network.
    pub bridge: Option<String>,
    /// The radio, if this Wi-Fi is the first of it. Otherwise what is written goes to the end of a file that begins with
    /// another, such as the open one.
    pub radio: Option<Radio>,
    /// [`Ssid::common`], unless the household knows better.
    pub ssid: Ssid,
    pub security: Security,
    pub radius: Radius,
    pub passpoint: Option<Passpoint>,
}

/// A radio.
#[derive(Clone, Debug)]
pub struct Radio {
    /// Two letters (ISO 3166-1), if it is known.
    pub country: Option<String>,
    pub channel: u8,
}

/// Whom it lets in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// WPA2-Enterprise, and WPA3-Enterprise for those that can: management frames are protected if the station likes.
    #[default]
    Wpa2AndWpa3,
    /// WPA3-Enterprise alone.
    Wpa3,
}

/// Where hostapd asks, all of it on 127.0.0.1.
#[derive(Clone, Debug)]
pub struct Radius {
    /// What this access point calls itself there.
    pub identifier: String,
    pub authentication_port: u16,
    pub accounting_port: u16,
    /// Where hostapd listens for orders.
    pub orders_port: u16,
    pub secret: Secret,
    /// Whether this hostapd knows the setting that demands a Message-Authenticator in every answer: from 2.11 on. That has it
    /// on by default; before, an unknown setting would be an error.
    pub knows_message_authenticator: bool,
}

/// What stations are answered before they join (ANQP, IEEE 802.11-2020, 9.4.5).
#[derive(Clone, Debug)]
pub struct Passpoint {
    /// Who shares this, in words.
    pub operator: String,
    /// The teams that are known here. A station of another one may still join by the name of the Wi-Fi.
    pub realms: Vec<String>,
    /// The realm of the household's own team: to its members this is home.
    pub domain: String,
    /// What somebody has registered for all teams.
    pub consortiums: Vec<ConsortiumId>,
}

impl AccessPoint {
    /// The text of hostapd's file, or what to put at its end. It holds the secret that is shared with `guestright ap`.
    ///
    /// # Errors
    /// The first thing that cannot be.
    pub fn render(&self) -> Result<Zeroizing<String>, ProfileError> {
        self.check()?;
        // Of the final length at once: what grows leaves pieces behind that nobody wipes.
        let mut out = Zeroizing::new(String::with_capacity(64 * 1_024));
        out.push_str("# Made by guestright: phones join by 802.1X.\n");
        match &self.radio {
            Some(radio) => out.push_str(&radio.render(&self.interface)),
            None => out.push_str(&format!("bss={}\n", self.interface)),
        }
        if let Some(bridge) = &self.bridge {
            out.push_str(&format!("bridge={bridge}\n"));
        }
        out.push_str(&format!("ssid2={}\nutf8_ssid=1\nauth_algs=1\nwmm_enabled=1\n", self.ssid.hex()));
        // Guests do not reach each other on the air. And each time somebody joins, the home is asked: hostapd answers for
        // nobody from memory.
        out.push_str("ap_isolate=1\ndisable_pmksa_caching=1\nokc=0\n");
        out.push_str(self.security.render());
        self.radius.render(&mut out);
        if let Some(passpoint) = &self.passpoint {
            passpoint.render(&mut out);
        }
        Ok(out)
    }

    fn check(&self) -> Result<(), ProfileError> {
        check_interface(&self.interface)?;
        self.bridge.as_deref().map_or(Ok(()), check_interface)?;
        if let Some(Radio { country: Some(country), .. }) = &self.radio
            && !(country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_uppercase()))
        {
            return Err(ProfileError::wrong("a country", country, "two capital letters"));
        }
        self.radius.check()?;
        self.passpoint.as_ref().map_or(Ok(()), Passpoint::check)
    }
}

impl Radio {
    fn render(&self, interface: &str) -> String {
        let country = self.country.as_ref();
        let country =
            country.map_or_else(String::new, |country| format!("country_code={country}\nieee80211d=1\n"));
        let Self { channel, .. } = self;
        let mode = if *channel <= 14 { "g" } else { "a" };
        format!(
            "interface={interface}\ndriver=nl80211\n{country}hw_mode={mode}\nchannel={channel}\nieee80211n=1\n"
        )
    }
}

impl Security {
    /// `WPA-EAP` is for stations that know no other; `WPA-EAP-SHA256` is what WPA3-Enterprise asks for.
    fn render(self) -> &'static str {
        match self {
            Self::Wpa2AndWpa3 => {
                "wpa=2\nieee8021x=1\nwpa_key_mgmt=WPA-EAP WPA-EAP-SHA256\nrsn_pairwise=CCMP\nieee80211w=1\n"
            }
            Self::Wpa3 => {
                "wpa=2\nieee8021x=1\nwpa_key_mgmt=WPA-EAP-SHA256\nrsn_pairwise=CCMP\nieee80211w=2\n"
            }
        }
    }
}

impl Radius {
    pub(crate) fn check(&self) -> Result<(), ProfileError> {
        check_label("the access point's identifier", &self.identifier)?;
        // hostapd takes the rest of the line, blanks and all, and reads it as bytes.
        let secret = self.secret.expose();
        if !(16..=128).contains(&secret.len()) || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ProfileError::wrong(
                "the RADIUS secret",
                "not that",
                "16 to 128 visible ASCII characters",
            ));
        }
        Ok(())
    }

    fn render(&self, out: &mut String) {
        let Self { identifier, authentication_port, accounting_port, orders_port, secret, .. } = self;
        let secret = secret.expose();
        let written = write!(
            out,
            "eapol_version=2\neap_reauth_period=0\nown_ip_addr=127.0.0.1\nnas_identifier={identifier}\n\
             auth_server_addr=127.0.0.1\nauth_server_port={authentication_port}\n\
             auth_server_shared_secret={secret}\n\
             acct_server_addr=127.0.0.1\nacct_server_port={accounting_port}\n\
             acct_server_shared_secret={secret}\nradius_acct_interim_interval=60\n\
             radius_das_port={orders_port}\nradius_das_client=127.0.0.1 {secret}\n\
             radius_das_require_event_timestamp=1\nradius_das_require_message_authenticator=1\n"
        );
        written.expect("a string takes everything");
        if self.knows_message_authenticator {
            out.push_str("radius_require_message_authenticator=1\n");
        }
    }
}

impl Passpoint {
    pub(crate) fn check(&self) -> Result<(), ProfileError> {
        check_name("the operator's name", &self.operator)?;
        check_domain("the team's domain", &self.domain)?;
        limit("realms", self.realms.len(), REALMS_MAX)?;
        limit("roaming consortiums", self.consortiums.len(), CONSORTIUMS_MAX)?;
        self.realms.iter().try_for_each(|realm| check_domain("a realm", realm))
    }

    fn render(&self, out: &mut String) {
        let operator = printf_quoted(&format!("{LANGUAGE}:{}", self.operator));
        // A private network that takes guests in, with the Internet behind it; a private residence; one private IPv4
        // address behind one NAT, no IPv6 (9.4.2.91, 9.4.1.34, 9.4.5.9).
        out.push_str(&format!(
            "interworking=1\naccess_network_type=1\ninternet=1\nvenue_group=7\nvenue_type=1\n\
             venue_name={operator}\nipaddr_type_availability=0c\ndomain_name={}\n",
            self.domain
        ));
        // EAP-TLS (13) with a certificate: credential type (5), certificate (6).
        for realms in self.realms.chunks(REALMS_PER_LINE) {
            out.push_str(&format!("nai_realm=0,{},13[5:6]\n", realms.join(";")));
        }
        for id in &self.consortiums {
            out.push_str(&format!("roaming_consortium={}\n", id.hex().to_lowercase()));
        }
        out.push_str(&format!("hs20=1\nhs20_oper_friendly_name={operator}\n"));
    }
}

fn check_interface(name: &str) -> Result<(), ProfileError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    if (1..=15).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    Err(ProfileError::wrong("an interface", name, "1 to 15 letters, digits, dots, dashes"))
}

impl Radius {
    /// Whether the version that `hostapd -v` prints, such as `v2.10` or `v2.11-devel`, is 2.11 or later.
    #[must_use]
    pub fn knows_message_authenticator(version: &str) -> bool {
        let numbers = version.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let mut parts = numbers.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (2, 11),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_versions() {
        for (version, want) in [
            ("hostapd v2.10", false),
            ("v2.11-devel", true),
            ("hostapd v3.0", true),
            ("v2.9", false),
            ("", false),
        ] {
            assert_eq!(Radius::knows_message_authenticator(version), want, "{version}");
        }
    }
}
