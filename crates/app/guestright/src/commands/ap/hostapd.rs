//! `guestright ap hostapd`: what hostapd has to be told so that phones join by 802.1X.

use crate::settings::{ApSettings, beside};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::access_point::phones;
use guestright_profile::hostapd::{AccessPoint, Passpoint, Radio, Radius, Security};
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
            self.uci(&phones, team)?
        } else {
            self.access_point(settings, &phones, team)?.render().map_err(Failure::config)?.to_string()
        };
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::json!({ "hostapd": text }))?);
        }
        Ok(write!(out, "{text}")?)
    }

    fn ssid(&self) -> Result<Ssid, Failure> {
        self.ssid.as_deref().map_or(Ok(Ssid::common()), Ssid::new).map_err(Failure::config)
    }

    /// Whose phones are told by Passpoint that they may try: the own team's first, each once.
    fn realms(&self, own: TeamId) -> Vec<String> {
        let others = self.team.iter().filter(|team| **team != own).collect::<BTreeSet<_>>();
        std::iter::once(&own).chain(others).map(|team| Realm(*team).to_string()).collect()
    }

    fn access_point(
        &self,
        settings: &ApSettings,
        phones: &phones::Settings,
        team: TeamId,
    ) -> Result<AccessPoint, Failure> {
        let radio = Radio { country: self.country.clone(), channel: self.channel };
        let passpoint = self.passpoint.clone().map(|operator| Passpoint {
            operator,
            realms: self.realms(team),
            domain: Realm(team).to_string(),
            consortiums: Vec::new(),
        });
        Ok(AccessPoint {
            interface: self.interface.clone(),
            bridge: bridge(&settings.visitor_interface, &self.interface),
            radio: (!self.add).then_some(radio),
            ssid: self.ssid()?,
            security: if self.wpa3 { Security::Wpa3 } else { Security::Wpa2AndWpa3 },
            radius: Radius {
                identifier: IDENTIFIER.to_owned(),
                authentication_port: port(phones.radius)?,
                accounting_port: port(phones.accounting())?,
                orders_port: port(phones.disconnect)?,
                secret: Secret::new(phones.secret()?.as_str()),
                knows_message_authenticator: Radius::knows_message_authenticator(&installed_version()),
            },
            passpoint,
        })
    }

    /// The same for OpenWrt, by the names that its `hostapd.sh` reads.
    fn uci(&self, phones: &phones::Settings, team: TeamId) -> Result<String, Failure> {
        // Checked as for hostapd's own file.
        let ssid = self.ssid()?;
        let ssid = std::str::from_utf8(ssid.as_bytes()).unwrap_or_default().to_owned();
        let secret = phones.secret()?;
        let [authentication, accounting, orders] =
            [port(phones.radius)?, port(phones.accounting())?, port(phones.disconnect)?]
                .map(|port| port.to_string());
        // OpenWrt's `wpa3` is the 192-bit mode, for which phones' certificates would need P-384. What others call
        // WPA3-Enterprise is this with management frames protected.
        let protected_frames = if self.wpa3 { "2" } else { "1" };
        let realm = Realm(team).to_string();
        let name = self.passpoint.as_ref().map(|operator| format!("eng:{operator}"));
        let mut options = vec![
            ("device", self.radio.as_str()),
            ("mode", "ap"),
            ("network", &self.network),
            ("ssid", &ssid),
            ("encryption", "wpa2+ccmp"),
            ("ieee80211w", protected_frames),
            ("isolate", "1"),
            ("auth_cache", "0"),
            ("eap_reauth_period", "0"),
            ("nasid", IDENTIFIER),
            ("ownip", "127.0.0.1"),
            ("auth_server", "127.0.0.1"),
            ("auth_port", &authentication),
            ("auth_secret", &secret),
            ("acct_server", "127.0.0.1"),
            ("acct_port", &accounting),
            ("acct_secret", &secret),
            ("acct_interval", "60"),
            ("dae_client", "127.0.0.1"),
            ("dae_port", &orders),
            ("dae_secret", &secret),
        ];
        let nai_realms: Vec<_> = self.realms(team).iter().map(|realm| format!("0,{realm},13[5:6]")).collect();
        let mut lists = vec![
            ("hostapd_bss_options", "radius_das_require_event_timestamp=1"),
            ("hostapd_bss_options", "radius_das_require_message_authenticator=1"),
        ];
        if let Some(name) = &name {
            options.extend([
                ("iw_enabled", "1"),
                ("iw_interworking", "1"),
                ("iw_access_network_type", "1"),
                ("iw_internet", "1"),
                ("iw_venue_group", "7"),
                ("iw_venue_type", "1"),
                ("hs20", "1"),
            ]);
            lists.extend([
                ("iw_venue_name", name.as_str()),
                ("iw_domain_name", &realm),
                ("hs20_oper_friendly_name", name),
            ]);
            lists.extend(nai_realms.iter().map(|realm| ("iw_nai_realm", realm.as_str())));
        }
        let mut text = "config wifi-iface 'guestright_phones'\n".to_owned();
        for (kind, pairs) in [("option", options), ("list", lists)] {
            for (option, value) in pairs {
                if value.contains('\'') {
                    let sentence =
                        format!("{value:?} has an apostrophe, which OpenWrt's file cannot have here");
                    return Err(Failure::config(anyhow!(sentence)));
                }
                text.push_str(&format!("\t{kind} {option} '{value}'\n"));
            }
        }
        Ok(text)
    }
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
