//! Settings of our programs, of dnsmasq and of hostapd.

use crate::{Choices, HomeChoice, Splash, SplashCertificate, Subnet, TeamChoice, Wifi, paths};
use std::fmt::Write as _;

const MADE: &str = "# Made by `guestright setup`. Yours to change; `guestright setup --undo` removes it.\n";
/// Where other homes come in (`guestright_directory::LINK_PORT`), and access points.
const LINK_PORT: u16 = 7_275;
const HOME_PORT: u16 = 7_274;
/// Places in the guests' network for what has a fixed address.
const FIRST_LEASE: u32 = 10;

fn list(networks: &[Subnet]) -> String {
    let quoted: Vec<_> = networks.iter().map(|network| format!("\"{network}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

pub(crate) fn home(choices: &Choices) -> String {
    let mut text = format!(
        "{MADE}key = \"team/home.key\"\ncertificate = \"team/home.cert\"\nrevocations = \"team/revocations\"\n\
         state = \"{}/home\"\nlisten = \"0.0.0.0:{HOME_PORT}\"\n",
        paths::STATE
    );
    if matches!(choices.team, TeamChoice::New { .. }) {
        text.push_str("renewal = \"team/renewal\"\n");
    }
    if let Some(bytes) = choices.allowance_bytes_per_day {
        let _ = write!(text, "\n[credit]\nallowance_bytes_per_day = {bytes}\n");
    }
    let HomeChoice::Here { endpoint, port_mapping } = &choices.home else { return text };
    let _ = write!(text, "\n[links]\nlisten = \"0.0.0.0:{LINK_PORT}\"\n");
    if let Some((host, _)) = endpoint.as_deref().and_then(|endpoint| endpoint.rsplit_once(':')) {
        let _ = writeln!(text, "announce = \"{host}:{LINK_PORT}\"");
    }
    if choices.gateway_endpoint().is_some() {
        let _ = write!(
            text,
            "\n[gateway]\ndirectory = \"team/gateway\"\nuplink_interface = \"{}\"\nhome_networks = {}\n\
             port_mapping = {port_mapping}\n",
            choices.uplink,
            list(&choices.home_networks)
        );
    }
    text
}

pub(crate) fn access_point(choices: &Choices) -> String {
    let home = match &choices.home {
        HomeChoice::Here { .. } => format!("127.0.0.1:{HOME_PORT}"),
        HomeChoice::At(address) => address.clone(),
    };
    let mut text = format!(
        "{MADE}key = \"team/router.key\"\ncertificate = \"team/router.cert\"\nstate = \"{}/ap\"\nhome = \"{home}\"\n\
         visitor_interface = \"{}\"\nuplink_interface = \"{}\"\nhousehold_networks = {}\n",
        paths::STATE,
        choices.bridge,
        choices.uplink,
        list(&choices.household_networks)
    );
    if let Some((down, up)) = choices.shaping {
        let _ = write!(text, "\n[shaping]\ndown_bits_per_second = {down}\nup_bits_per_second = {up}\n");
    }
    if let Some(Splash { household, trial, certificate }) = &choices.splash {
        let _ = write!(text, "\n[splash]\nhousehold = \"{household}\"\n");
        if let Some(trial) = trial {
            let _ = writeln!(text, "trial = \"{trial}\"");
        }
        if let Some(SplashCertificate { name, chain, key }) = certificate {
            let _ =
                writeln!(text, "name = \"{name}\"\ncertificate = \"{chain}\"\ncertificate_key = \"{key}\"");
        }
    }
    text
}

/// Lines that announce the page to phones (RFC 8910), and say its name to them.
fn announced(choices: &Choices) -> String {
    let Some((name, uri)) = choices.announcement() else { return String::new() };
    format!(
        "# Where guests' systems ask how they stand.\ndhcp-option=114,{uri}\nhost-record={name},{}\n",
        choices.address()
    )
}

/// An instance of its own: the household's, if there is one, is not touched.
pub(crate) fn dnsmasq(choices: &Choices) -> String {
    let Choices { bridge, network, .. } = choices;
    let last = network.count().saturating_sub(2);
    format!(
        "{MADE}interface={bridge}\n\
         # Nowhere else, and there also when it is made anew.\n\
         except-interface=lo\nbind-dynamic\n\
         # Guests learn nothing of the household's own names.\n\
         no-hosts\ndomain-needed\nbogus-priv\n\
         dhcp-range={},{},{},1h\ndhcp-authoritative\ndhcp-leasefile={}/leases\n\
         # The number of guests has an end, and so has what they ask at a time.\n\
         dhcp-lease-max=1000\ndns-forward-max=150\npid-file\n{}",
        network.at(FIRST_LEASE),
        network.at(last),
        network.mask(),
        paths::LEASES,
        announced(choices)
    )
}

/// An open network, and OWE (RFC 8110) for whoever can, which the open one points to (Wi-Fi Alliance, Opportunistic
/// Wireless Encryption specification 1.1, section 2.2).
pub(crate) fn hostapd(bridge: &str, wifi: &Wifi) -> String {
    let Wifi { interface, ssid, country, channel } = wifi;
    let owe = wifi.owe_interface();
    // As hexadecimal digits any text can stand there.
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut hidden: String = ssid.clone();
    while hidden.len() > 32 - " owe".len() {
        hidden.pop();
    }
    let hidden = hex(&format!("{hidden} owe"));
    let regulation = country
        .as_ref()
        .map_or_else(String::new, |country| format!("country_code={country}\nieee80211d=1\n"));
    format!(
        "{MADE}interface={interface}\nbridge={bridge}\ndriver=nl80211\n{regulation}hw_mode=g\nchannel={channel}\n\
         ieee80211n=1\nwmm_enabled=1\nssid2={}\nutf8_ssid=1\nauth_algs=1\n\
         # Guests do not reach each other on the air.\n\
         ap_isolate=1\nowe_transition_ifname={owe}\n\n\
         bss={owe}\nbridge={bridge}\nssid2={hidden}\nutf8_ssid=1\nignore_broadcast_ssid=1\nauth_algs=1\nwmm_enabled=1\n\
         ap_isolate=1\nwpa=2\nwpa_key_mgmt=OWE\nrsn_pairwise=CCMP\nieee80211w=2\nowe_transition_ifname={interface}\n",
        hex(ssid)
    )
}
