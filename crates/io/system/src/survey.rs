//! Looking at the computer.

mod radios;

use crate::SystemError;
use crate::links::{is_kind, is_up};
use crate::tool::{ip_json, succeeds};
use guestright_command::find_program;
use guestright_setup::{Facts, Init, Interface, Kind, Manager, Subnet, paths};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

/// Programs that a plan may depend on.
const PROGRAMS: [&str; 6] = ["dnsmasq", "hostapd", "ip", "iw", "nft", "systemd-sysusers"];
/// Kinds of links that frames come in by from elsewhere: containers and virtual machines have these in place of wires.
const LIKE_WIRES: [&str; 4] = ["veth", "macvlan", "bond", "dsa"];

/// Looks at the computer. `seed` is for what is to differ from household to household.
///
/// # Errors
/// `ip` is missing, or says what cannot be read.
pub fn survey(seed: u64) -> Result<Facts, SystemError> {
    let links = ip_json(&["-details", "link", "show"])?;
    let addresses = ip_json(&["-4", "address", "show"])?;
    let routes = ip_json(&["-4", "route", "show", "table", "all"])?;
    let radios = radios::radios();
    let is_radio = |name: &str| radios.iter().any(|radio| radio.interface == name);
    let interfaces: Vec<_> = links.iter().filter_map(|link| interface(link, &addresses, is_radio)).collect();
    let default = routes
        .iter()
        .filter(|route| route["dst"] == "default" && route["type"].is_null() && route["table"].is_null())
        .min_by_key(|route| route["metric"].as_u64().unwrap_or_default());
    let uplink = default.and_then(|route| text(&route["dev"]));
    let networks = interfaces
        .iter()
        .flat_map(|interface| interface.addresses.iter().map(|network| (interface.name.clone(), *network)))
        .chain(routes.iter().filter_map(route_network))
        .collect();
    let init = if Path::new("/run/systemd/system").is_dir() { Init::Systemd } else { Init::Unknown };
    let program = std::env::current_exe()
        .map_err(|error| SystemError::file("find", Path::new("/proc/self/exe"), &error))?;
    Ok(Facts {
        init,
        manager: manager(init, links.iter().find(|link| text(&link["ifname"]) == uplink)),
        uplink_address: uplink.as_deref().and_then(|name| first_address(&addresses, name)),
        uplink,
        interfaces,
        networks,
        radios,
        programs: PROGRAMS
            .into_iter()
            .filter(|name| find_program(name).is_some())
            .map(str::to_owned)
            .collect(),
        has_resolved: init == Init::Systemd
            && succeeds("systemctl", &["--quiet", "is-active", "systemd-resolved"]),
        taken_ports: taken_ports(),
        packaged_units: packaged_units(&program),
        program,
        seed,
    })
}

/// Those that start this very program: a package's units are nothing to a program that was built here.
fn packaged_units(program: &Path) -> BTreeSet<String> {
    let start = format!("\nExecStart={} ", program.display());
    let starts_it = |name: &&str| {
        let text = std::fs::read_to_string(Path::new(paths::PACKAGED_UNITS).join(name));
        text.is_ok_and(|text| text.contains(&start))
    };
    ["guestright-ap.service", "guestright-home.service"]
        .iter()
        .filter(|name| starts_it(name))
        .map(|name| (*name).to_owned())
        .collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn of<'a>(addresses: &'a [Value], name: &'a str) -> impl Iterator<Item = (Ipv4Addr, u8)> + 'a {
    let own = addresses.iter().filter(move |link| link["ifname"] == name);
    own.flat_map(|link| link["addr_info"].as_array().into_iter().flatten()).filter_map(|each| {
        let prefix = u8::try_from(each["prefixlen"].as_u64()?).ok()?;
        Some((each["local"].as_str()?.parse().ok()?, prefix))
    })
}

fn first_address(addresses: &[Value], name: &str) -> Option<Ipv4Addr> {
    of(addresses, name).next().map(|(address, _)| address)
}

fn interface(link: &Value, addresses: &[Value], is_radio: impl Fn(&str) -> bool) -> Option<Interface> {
    let name = text(&link["ifname"])?;
    let own = link["linkinfo"]["info_kind"].as_str();
    let is_like_a_wire = own.is_none_or(|kind| LIKE_WIRES.contains(&kind));
    let kind = if is_radio(&name) {
        Kind::Wireless
    } else if is_kind(link, "bridge") {
        Kind::Bridge
    } else if link["link_type"] == "ether" && is_like_a_wire {
        Kind::Wired
    } else {
        Kind::Other
    };
    let addresses =
        of(addresses, &name).filter_map(|(address, prefix)| Subnet::new(address, prefix)).collect();
    Some(Interface { kind, addresses, bridge: text(&link["master"]), is_up: is_up(link), name })
}

/// The network that a route leads to; none for the default, and for what the kernel keeps for itself.
fn route_network(route: &Value) -> Option<(String, Subnet)> {
    let is_way = route["type"].is_null() || route["type"] == "unicast";
    let destination = route["dst"].as_str().filter(|_| is_way)?;
    let (address, prefix) = destination.split_once('/').unwrap_or((destination, "32"));
    let subnet = Subnet::new(address.parse().ok()?, prefix.parse().ok()?)?;
    Some((text(&route["dev"]).unwrap_or_default(), subnet))
}

/// Who sets up the uplink, and so would set up our links.
fn manager(init: Init, uplink: Option<&Value>) -> Manager {
    let is_active =
        |unit: &str| init == Init::Systemd && succeeds("systemctl", &["--quiet", "is-active", unit]);
    // networkd's own notes on a link (systemd's src/network/networkd-state-file.c).
    let index = uplink.and_then(|link| link["ifindex"].as_u64()).unwrap_or_default();
    let notes = fs::read_to_string(format!("/run/systemd/netif/links/{index}")).unwrap_or_default();
    let is_networkd = is_active("systemd-networkd");
    if is_networkd && notes.contains("NETWORK_FILE=") {
        return Manager::Networkd;
    }
    if is_active("NetworkManager") {
        return Manager::NetworkManager;
    }
    if is_networkd {
        return Manager::Networkd;
    }
    let interfaces = fs::read_to_string("/etc/network/interfaces");
    match interfaces {
        Ok(text) if find_program("ifup").is_some() => {
            Manager::Ifupdown { reads_directory: reads_interfaces_directory(&text) }
        }
        Ok(_) | Err(_) => Manager::Unknown,
    }
}

/// interfaces(5): `source` with a pattern, or `source-directory`.
fn reads_interfaces_directory(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.any(|words| match words[..] {
        ["source", pattern] => pattern.ends_with("interfaces.d/*"),
        ["source-directory", directory] => directory.trim_end_matches('/').ends_with("interfaces.d"),
        _ => false,
    })
}

/// The UDP ports at which somebody listens at every address (proc(5), `/proc/net/udp`: address and port are hexadecimal).
fn taken_ports() -> BTreeSet<u16> {
    let tables = ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"];
    let text: String = tables.iter().filter_map(|table| fs::read_to_string(table).ok()).collect();
    text.lines().filter_map(wildcard_port).collect()
}

fn wildcard_port(line: &str) -> Option<u16> {
    let local = line.split_whitespace().nth(1)?;
    let (address, port) = local.split_once(':')?;
    let is_everywhere = !address.is_empty() && address.bytes().all(|digit| digit == b'0');
    u16::from_str_radix(port, 16).ok().filter(|_| is_everywhere)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_who_listens_everywhere_has_taken_a_port() {
        let rows = [
            (
                "  610: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0 0 1 2",
                Some(53),
            ),
            (
                "  610: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0 0 1 2",
                None,
            ),
            ("  61: 00000000000000000000000000000000:0043 0000:0000 07", Some(67)),
            ("  sl  local_address rem_address   st tx_queue", None),
        ];
        for (line, want) in rows {
            assert_eq!(wildcard_port(line), want, "{line}");
        }
    }

    #[test]
    fn networks_come_from_routes_but_not_from_the_default_one() {
        let rows = [
            (json!({"dst": "10.8.0.0/24", "dev": "wg0"}), Some(("wg0", "10.8.0.0/24"))),
            (json!({"dst": "192.0.2.7", "dev": "eth0", "table": "52"}), Some(("eth0", "192.0.2.7/32"))),
            (json!({"dst": "default", "dev": "eth0"}), None),
            (json!({"type": "broadcast", "dst": "10.8.0.255", "dev": "wg0", "table": "local"}), None),
        ];
        for (route, want) in rows {
            let got = route_network(&route).map(|(device, network)| (device, network.to_string()));
            assert_eq!(got, want.map(|(device, network)| (device.to_owned(), network.to_owned())), "{route}");
        }
    }

    #[test]
    fn says_what_a_link_is() {
        let none = |_: &str| false;
        let kind = |link: Value| interface(&link, &[], none).unwrap().kind;
        assert_eq!(kind(json!({"ifname": "eth0", "link_type": "ether"})), Kind::Wired);
        let veth = json!({"ifname": "eth1", "link_type": "ether", "linkinfo": {"info_kind": "veth"}});
        assert_eq!(kind(veth), Kind::Wired);
        let bridge = json!({"ifname": "lan", "link_type": "ether", "linkinfo": {"info_kind": "bridge"}});
        assert_eq!(kind(bridge), Kind::Bridge);
        let dummy = json!({"ifname": "d", "link_type": "ether", "linkinfo": {"info_kind": "dummy"}});
        assert_eq!(kind(dummy), Kind::Other);
        assert_eq!(kind(json!({"ifname": "lo", "link_type": "loopback"})), Kind::Other);
        let radio = interface(&json!({"ifname": "wlan0", "link_type": "ether"}), &[], |name| name == "wlan0");
        assert_eq!(radio.unwrap().kind, Kind::Wireless);
    }

    #[test]
    fn sees_whether_the_directory_of_ifupdown_is_read() {
        assert!(reads_interfaces_directory("source /etc/network/interfaces.d/*\nauto lo\n"));
        assert!(reads_interfaces_directory("source-directory interfaces.d\n"));
        assert!(!reads_interfaces_directory("# source /etc/network/interfaces.d/*\nauto lo\n"));
    }
}
