//! The units of systemd.

use super::links::commands;
use crate::{Choices, Facts, Manager, Names};
use std::path::Path;

pub(crate) const SYSUSERS: &str = include_str!("../../../../../docs/systemd/guestright.sysusers");
const ACCESS_POINT: &str = include_str!("../../../../../docs/systemd/guestright-ap.service");
const HOME: &str = include_str!("../../../../../docs/systemd/guestright-home.service");
const GATEWAY: &str = include_str!("../../../../../docs/systemd/guestright-home-gateway.conf");
const DHCP: &str = include_str!("../../../../../docs/systemd/guestright-dhcp.service");
const WIFI: &str = include_str!("../../../../../docs/systemd/guestright-wifi.service");
/// Where the units believe the program to be.
const PROGRAM: &str = "/usr/local/bin/guestright";

/// Names below /etc/systemd/system, and texts.
pub(crate) fn units(facts: &Facts, choices: &Choices) -> Vec<(String, String)> {
    let program = facts.program.display().to_string();
    let ours = |text: &str| text.replace(PROGRAM, &program);
    let named = |name: &str, text: String| (name.to_owned(), text);
    let mut units = Vec::new();
    if let Some(text) = links(facts, choices) {
        units.push(named("guestright-links.service", text));
    }
    if choices.names == Names::Dnsmasq {
        units.push(named("guestright-dhcp.service", DHCP.to_owned()));
    }
    if let Some(wifi) = &choices.wifi {
        let isolate = wifi.ports().map(|port| isolate(&port)).concat();
        units.push(named("guestright-wifi.service", WIFI.replace("# ISOLATE\n", &isolate)));
    }
    if choices.has_home() {
        units.push(named("guestright-home.service", ours(HOME)));
    }
    if choices.gateway_endpoint().is_some() {
        units.push(named("guestright-home.service.d/gateway.conf", GATEWAY.to_owned()));
    }
    units.push(named("guestright-ap.service", ours(ACCESS_POINT)));
    units
}

/// Isolates a port as soon as hostapd has put it on the bridge: with a country it first waits for the kernel, already in the
/// background. If that does not happen in the unit's time the Wi-Fi is switched off again.
fn isolate(port: &str) -> String {
    let isolate = format!("/sbin/bridge link set dev {port} isolated on 2>/dev/null");
    format!("ExecStartPost=/bin/sh -c 'until {isolate}; do sleep 0.2; done'\n")
}

/// What makes the links where nobody else does, or could.
fn links(facts: &Facts, choices: &Choices) -> Option<String> {
    let is_needed = match facts.manager {
        Manager::Unknown => true,
        Manager::Networkd => choices.vlan.is_some(),
        Manager::NetworkManager | Manager::Ifupdown { .. } => false,
    };
    if !is_needed {
        return None;
    }
    let mut lines = commands(choices, "/sbin/ip", "/sbin/bridge");
    let (address, prefix, bridge) = (choices.address(), choices.network.prefix(), &choices.bridge);
    lines.push(format!("/sbin/ip address replace {address}/{prefix} dev {bridge}"));
    let start: String = lines.iter().map(|line| format!("ExecStart=-{line}\n")).collect();
    let devices: String = choices
        .ports
        .iter()
        .map(|port| format!(" sys-subsystem-net-devices-{}.device", escape(Path::new(port))))
        .collect();
    Some(format!(
        "# Made by `guestright setup`: the guests' links.\n[Unit]\nDescription=guestright: the guests' links\n\
         Wants={devices}\nAfter={devices}\nBefore=network.target guestright-dhcp.service guestright-ap.service\n\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\n{start}\n[Install]\nWantedBy=multi-user.target\n"
    ))
}

/// A name in a unit's name (systemd-escape(1)).
fn escape(name: &Path) -> String {
    let text = name.to_string_lossy();
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' => char::from(byte).to_string(),
            other => format!("\\x{other:02x}"),
        })
        .collect()
}
