//! Links, ports and addresses.

use crate::SystemError;
use crate::tool::{ip_json, run, succeeds};
use serde_json::Value;
use std::net::Ipv4Addr;

/// What `ip` says of a link; nothing if it is not there.
pub(crate) fn link(name: &str) -> Result<Option<Value>, SystemError> {
    // Asking for one that is not there is an error of `ip` like any other, so all are asked for.
    let links = ip_json(&["-details", "link", "show"])?;
    Ok(links.into_iter().find(|link| link["ifname"] == name))
}

pub(crate) fn is_up(link: &Value) -> bool {
    link["flags"].as_array().is_some_and(|flags| flags.iter().any(|flag| flag == "UP"))
}

pub(crate) fn is_kind(link: &Value, kind: &str) -> bool {
    link["linkinfo"]["info_kind"] == kind
}

pub(crate) fn make_bridge(name: &str) -> Result<(), SystemError> {
    if link(name)?.is_none() {
        run("ip", &["link", "add", name, "type", "bridge"])?;
    }
    // Guests have no IPv6, so the bridge needs no address of it either.
    run("ip", &["link", "set", name, "addrgenmode", "none", "up"]).map(drop)
}

pub(crate) fn make_vlan(name: &str, parent: &str, id: u16) -> Result<(), SystemError> {
    if link(name)?.is_none() {
        run("ip", &["link", "add", "link", parent, "name", name, "type", "vlan", "id", &id.to_string()])?;
    }
    run("ip", &["link", "set", name, "up"]).map(drop)
}

pub(crate) fn is_port(interface: &str, bridge: &str) -> Result<bool, SystemError> {
    Ok(link(interface)?.is_some_and(|link| link["master"] == bridge && is_up(&link) && says_isolated(&link)))
}

/// Whether frames of this port of a bridge do not go to other isolated ports.
pub(crate) fn is_isolated(interface: &str) -> Result<bool, SystemError> {
    Ok(link(interface)?.is_some_and(|link| says_isolated(&link)))
}

fn says_isolated(link: &Value) -> bool {
    link["linkinfo"]["info_slave_data"]["isolated"] == true
}

pub(crate) fn isolate(interface: &str) -> Result<(), SystemError> {
    run("ip", &["link", "set", interface, "type", "bridge_slave", "isolated", "on"]).map(drop)
}

pub(crate) fn make_port(interface: &str, bridge: &str) -> Result<(), SystemError> {
    run("ip", &["link", "set", interface, "master", bridge, "up"])?;
    isolate(interface)
}

/// Puts a port back: to the bridge where it was, or to none.
pub(crate) fn restore_port(interface: &str, bridge: Option<&str>, was_up: bool) -> Result<(), SystemError> {
    if link(interface)?.is_none() {
        return Ok(()); // Pulled out since.
    }
    match bridge {
        Some(bridge) => run("ip", &["link", "set", interface, "master", bridge])?,
        None => run("ip", &["link", "set", interface, "nomaster"])?,
    };
    run("ip", &["link", "set", interface, if was_up { "up" } else { "down" }]).map(drop)
}

pub(crate) fn remove_link(name: &str) -> Result<(), SystemError> {
    if link(name)?.is_none() { Ok(()) } else { run("ip", &["link", "delete", name]).map(drop) }
}

pub(crate) fn has_address(interface: &str, address: Ipv4Addr, prefix: u8) -> Result<bool, SystemError> {
    let links = ip_json(&["-4", "address", "show"])?;
    let own = links.iter().filter(|link| link["ifname"] == interface);
    let mut addresses = own.flat_map(|link| link["addr_info"].as_array().into_iter().flatten());
    Ok(addresses.any(|each| each["local"] == address.to_string() && each["prefixlen"] == u64::from(prefix)))
}

pub(crate) fn add_address(interface: &str, address: Ipv4Addr, prefix: u8) -> Result<(), SystemError> {
    run("ip", &["address", "replace", &format!("{address}/{prefix}"), "dev", interface]).map(drop)
}

/// It may have gone with its interface.
pub(crate) fn remove_address(interface: &str, address: Ipv4Addr, prefix: u8) -> Result<(), SystemError> {
    if has_address(interface, address, prefix)? {
        run("ip", &["address", "delete", &format!("{address}/{prefix}"), "dev", interface])?;
    }
    Ok(())
}

/// Lets a program of the system read its files again. One that does not run reads them when it starts.
pub(crate) fn reload(what: &str) -> bool {
    match what {
        "systemd" => succeeds("systemctl", &["daemon-reload"]),
        "networkd" => succeeds("networkctl", &["reload"]),
        "network_manager" => succeeds("nmcli", &["connection", "reload"]),
        "resolved" => succeeds("systemctl", &["try-reload-or-restart", "systemd-resolved"]),
        _ => false,
    }
}
