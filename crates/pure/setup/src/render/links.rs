//! What makes the guests' links when the computer starts.

use crate::{Choices, Facts, Init, Manager, Names};
use std::path::PathBuf;

/// A file: where, its mode, its text.
type Written = (PathBuf, u32, String);

const MADE: &str = "# Made by `guestright setup`; `guestright setup --undo` removes it.\n";

pub(crate) fn kept_links(facts: &Facts, choices: &Choices) -> Vec<Written> {
    match (facts.manager, facts.init) {
        (Manager::Networkd, _) => networkd(choices),
        (Manager::NetworkManager, _) => network_manager(choices),
        (Manager::Ifupdown { .. }, _) => vec![ifupdown(choices)],
        // Nobody does it, so a unit does; it is among the other units.
        (Manager::Unknown, Init::Systemd | Init::Unknown) => Vec::new(),
    }
}

/// systemd.netdev(5) and systemd.network(5). A VLAN would have to be named in the file of its wire, which is not ours:
/// a unit makes it.
fn networkd(choices: &Choices) -> Vec<Written> {
    let Choices { bridge, network, .. } = choices;
    let path =
        |name: &str, kind: &str| PathBuf::from(format!("/etc/systemd/network/10-guestright-{name}.{kind}"));
    let device = format!("{MADE}[NetDev]\nName={bridge}\nKind=bridge\n");
    let server = match choices.names {
        Names::Dnsmasq => String::new(),
        Names::Networkd => {
            let address = choices.address();
            let option = choices
                .announcement()
                .map_or_else(String::new, |(_, uri)| format!("SendOption=114:string:{uri}\n"));
            format!("DHCPServer=yes\n\n[DHCPServer]\nPoolOffset=10\nEmitDNS=yes\nDNS={address}\n{option}")
        }
    };
    let own = format!(
        "{MADE}[Match]\nName={bridge}\n\n[Network]\nAddress={}/{}\nConfigureWithoutCarrier=yes\n\
         LinkLocalAddressing=no\nIPv6AcceptRA=no\n{server}",
        choices.address(),
        network.prefix()
    );
    let mut files = vec![(path(bridge, "netdev"), 0o644, device), (path(bridge, "network"), 0o644, own)];
    for port in choices.guest_links() {
        let text = format!(
            "{MADE}[Match]\nName={port}\n\n[Network]\nBridge={bridge}\nLinkLocalAddressing=no\n\n[Bridge]\nIsolated=yes\n"
        );
        files.push((path(&port, "network"), 0o644, text));
    }
    files
}

/// nm-settings-keyfile(5).
fn network_manager(choices: &Choices) -> Vec<Written> {
    let Choices { bridge, network, .. } = choices;
    let path = |name: &str| {
        PathBuf::from(format!("/etc/NetworkManager/system-connections/guestright-{name}.nmconnection"))
    };
    let own = format!(
        "{MADE}[connection]\nid=guestright-{bridge}\ntype=bridge\ninterface-name={bridge}\n\n[bridge]\nstp=false\n\n\
         [ipv4]\nmethod=manual\naddress1={}/{}\n\n[ipv6]\nmethod=disabled\n",
        choices.address(),
        network.prefix()
    );
    let mut files = vec![(path(bridge), 0o600, own)];
    for (index, port) in choices.guest_links().into_iter().enumerate() {
        let (kind, more) = match choices.vlan {
            None => ("ethernet", String::new()),
            Some(id) => {
                let parent = &choices.ports[index];
                ("vlan", format!("\n[vlan]\nid={id}\nparent={parent}\n"))
            }
        };
        let text = format!(
            "{MADE}[connection]\nid=guestright-{port}\ntype={kind}\ninterface-name={port}\nmaster={bridge}\n\
             slave-type=bridge\n{more}"
        );
        files.push((path(&port), 0o600, text));
    }
    files
}

/// interfaces(5). The links by `ip`, so that neither bridge-utils nor vlan has to be there.
fn ifupdown(choices: &Choices) -> Written {
    let Choices { bridge, network, .. } = choices;
    let (address, prefix) = (choices.address(), network.prefix());
    let make: String = commands(choices, "/sbin/ip", "/sbin/bridge")
        .iter()
        .map(|command| format!("    pre-up {command} || true\n"))
        .collect();
    let text = format!(
        "{MADE}auto {bridge}\niface {bridge} inet static\n    address {address}/{prefix}\n{make}    post-down /sbin/ip link delete {bridge} || true\n"
    );
    (PathBuf::from("/etc/network/interfaces.d/guestright"), 0o644, text)
}

/// The commands that make the links, without the address; each may find its work done.
pub(super) fn commands(choices: &Choices, ip: &str, bridge_program: &str) -> Vec<String> {
    let bridge = &choices.bridge;
    let links = choices.guest_links();
    let vlans = choices.vlan.into_iter().flat_map(|id| {
        links
            .iter()
            .zip(&choices.ports)
            .map(move |(name, parent)| format!("{ip} link add link {parent} name {name} type vlan id {id}"))
    });
    let mut commands: Vec<_> = vlans.collect();
    commands.push(format!("{ip} link add {bridge} type bridge"));
    commands.push(format!("{ip} link set {bridge} addrgenmode none up"));
    for port in &links {
        commands.push(format!("{ip} link set {port} master {bridge} up"));
        commands.push(format!("{bridge_program} link set dev {port} isolated on"));
    }
    commands
}

/// resolved.conf(5).
pub(crate) fn resolved(choices: &Choices) -> String {
    format!("{MADE}[Resolve]\nDNSStubListenerExtra={}\n", choices.address())
}
