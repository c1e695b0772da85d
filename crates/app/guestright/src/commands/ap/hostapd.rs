//! `guestright ap hostapd`: what hostapd has to be told so that phones join by 802.1X.

use crate::settings::{ApSettings, beside};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::access_point::phones;
use guestright_profile::hostapd::{AccessPoint, Passpoint, Radio, Radius, Security};
use guestright_profile::openwrt::WifiInterface;
use guestright_profile::{Secret, Ssid};
use guestright_radius::Realm;
use guestright_units::TeamId;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};

/// Print hostapd's settings for phones: the Wi-Fi `guestright`, which asks this access point who may join
///
/// They go into a file of hostapd's, or with --add to the end of one that begins with your open Wi-Fi on the same radio. With
/// --openwrt it is a section for /etc/config/wireless, which needs the full wpad (wpad-openssl or wpad-mbedtls). What is printed
/// holds the secret that hostapd and the access point share: keep it from others.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright ap hostapd --interface wlan0 --channel 6 --country DE > hostapd.conf
  guestright ap hostapd --interface wlan0-1 --add >> hostapd.conf
  guestright ap hostapd --passpoint \"12 Mill Lane\" --team 3f0c… > hostapd.conf
  guestright ap hostapd --openwrt --radio radio0 --network guest >> /etc/config/wireless")]
pub(super) struct Hostapd {
    /// The Wi-Fi interface
    #[arg(long, default_value = "wlan0", conflicts_with = "openwrt")]
    interface: String,
    /// The radio's channel: 1 to 14 on 2.4 GHz, higher ones on 5 GHz
    #[arg(long, default_value_t = 6, conflicts_with_all = ["add", "openwrt"])]
    channel: u8,
    /// The country, in two capital letters
    #[arg(long, conflicts_with_all = ["add", "openwrt"])]
    country: Option<String>,
    /// Print what comes to the end of a file, for a second Wi-Fi on its radio
    #[arg(long, conflicts_with = "openwrt")]
    add: bool,
    /// The Wi-Fi's name, if it is not the one that all phones know
    #[arg(long, value_name = "NAME")]
    ssid: Option<String>,
    /// Take WPA3-Enterprise alone
    #[arg(long)]
    wpa3: bool,
    /// Announce Passpoint, in the household's name
    #[arg(long, value_name = "HOUSEHOLD")]
    passpoint: Option<String>,
    /// Announce to phones of this team, too, that they may try, next to your own; to be given for each team
    #[arg(long, value_name = "TEAM", requires = "passpoint")]
    team: Vec<TeamId>,
    /// Print a section for OpenWrt's /etc/config/wireless
    #[arg(long)]
    openwrt: bool,
    /// OpenWrt's radio
    #[arg(long, value_name = "SECTION", default_value = "radio0", requires = "openwrt")]
    radio: String,
    /// OpenWrt's network for guests
    #[arg(long, value_name = "SECTION", default_value = "guest", requires = "openwrt")]
    network: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What this access point calls itself to hostapd.
const IDENTIFIER: &str = "guestright";

impl Hostapd {
    /// `path` is what the settings' paths are beside.
    pub(super) fn run(&self, settings: &ApSettings, path: &Path, out: &mut Output) -> Outcome {
        let team = guestright_keys::read_certificate(&beside(path, &settings.certificate));
        let team = team.map_err(Failure::config)?.team_id();
        let phones = settings.phones_for_loop(path)?.ok_or_else(|| {
            Failure::config(anyhow!("no phones join here: the settings have no [phones]")).hint(
                "add a line with [phones] to the settings, which is enough, and start the access point again",
            )
        })?;
        let text = if self.openwrt {
            self.wifi_interface(&phones, team)?.render()
        } else {
            self.access_point(settings, &phones, team)?.render()
        };
        let text = text.map_err(Failure::config)?;
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::json!({ "hostapd": *text }))?);
        }
        Ok(write!(out, "{}", *text)?)
    }

    fn ssid(&self) -> Result<Ssid, Failure> {
        self.ssid.as_deref().map_or(Ok(Ssid::common()), Ssid::new).map_err(Failure::config)
    }

    /// Whose phones are told by Passpoint that they may try: the own team's first, each once.
    fn realms(&self, own: TeamId) -> Vec<String> {
        let others = self.team.iter().filter(|team| **team != own).collect::<BTreeSet<_>>();
        std::iter::once(&own).chain(others).map(|team| Realm(*team).to_string()).collect()
    }

    fn security(&self) -> Security {
        if self.wpa3 { Security::Wpa3 } else { Security::Wpa2AndWpa3 }
    }

    fn passpoint(&self, team: TeamId) -> Option<Passpoint> {
        self.passpoint.clone().map(|operator| Passpoint {
            operator,
            realms: self.realms(team),
            domain: Realm(team).to_string(),
            consortiums: Vec::new(),
        })
    }

    fn access_point(
        &self,
        settings: &ApSettings,
        phones: &phones::Settings,
        team: TeamId,
    ) -> Result<AccessPoint, Failure> {
        let radio = Radio { country: self.country.clone(), channel: self.channel };
        Ok(AccessPoint {
            interface: self.interface.clone(),
            bridge: bridge(&settings.visitor_interface, &self.interface),
            radio: (!self.add).then_some(radio),
            ssid: self.ssid()?,
            security: self.security(),
            radius: radius(phones, &installed_version())?,
            passpoint: self.passpoint(team),
        })
    }

    fn wifi_interface(&self, phones: &phones::Settings, team: TeamId) -> Result<WifiInterface, Failure> {
        Ok(WifiInterface {
            device: self.radio.clone(),
            network: self.network.clone(),
            ssid: self.ssid()?,
            security: self.security(),
            radius: radius(phones, "")?,
            passpoint: self.passpoint(team),
        })
    }
}

/// Where a hostapd of this version asks.
fn radius(phones: &phones::Settings, version: &str) -> Result<Radius, Failure> {
    Ok(Radius {
        identifier: IDENTIFIER.to_owned(),
        authentication_port: port(phones.radius)?,
        accounting_port: port(phones.accounting())?,
        orders_port: port(phones.disconnect)?,
        secret: Secret::new(phones.secret()?.as_str()),
        knows_message_authenticator: Radius::knows_message_authenticator(version),
    })
}

/// Where guests' frames go on. A visitor interface that is the radio itself is no bridge.
fn bridge(visitor_interface: &str, radio: &str) -> Option<String> {
    (visitor_interface != radio).then(|| visitor_interface.to_owned())
}

fn port(address: SocketAddr) -> Result<u16, Failure> {
    if address.ip() == Ipv4Addr::LOCALHOST {
        return Ok(address.port());
    }
    let sentence =
        anyhow!("[phones] has the address {address}, and what is printed here is for 127.0.0.1 alone");
    Err(Failure::config(sentence)
        .hint("write the settings of hostapd by hand, or give the address 127.0.0.1"))
}

/// What the installed hostapd says of itself: it goes by `-v`, and ends with 1 then.
fn installed_version() -> String {
    let output = Command::new("hostapd").arg("-v").stdin(Stdio::null()).output();
    output.map_or_else(
        |_| String::new(),
        |output| {
            String::from_utf8_lossy(&[output.stderr, output.stdout].concat())
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        },
    )
}
