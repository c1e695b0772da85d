//! Orders that change our table while it is in force, and questions to it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde_json::Value;

use crate::{FirewallError, MacAddress, tool};

/// One transaction that lets a visitor through, with both counts at nothing.
pub(crate) fn grant(table: &str, mac: MacAddress, address: Ipv4Addr, class_id: &str) -> String {
    format!(
        "add element inet {table} up {{ {address} }}
add element inet {table} down {{ {address} }}
add element inet {table} class {{ {address} : {class_id} }}
add element inet {table} online {{ {address} }}
add element inet {table} granted {{ {mac} . {address} }}
"
    )
}

/// One transaction that stops a visitor's packets both ways, counts kept. The gates are added before they are
/// deleted, so that a second attempt finds something to delete; they are never open in between.
pub(crate) fn shut(table: &str, mac: MacAddress, address: Ipv4Addr) -> String {
    format!(
        "add element inet {table} granted {{ {mac} . {address} }}
add element inet {table} online {{ {address} }}
delete element inet {table} granted {{ {mac} . {address} }}
delete element inet {table} online {{ {address} }}
"
    )
}

/// One transaction that forgets a visitor whose gate is shut.
pub(crate) fn forget(table: &str, address: Ipv4Addr) -> String {
    format!(
        "delete element inet {table} class {{ {address} }}
delete element inet {table} up {{ {address} }}
delete element inet {table} down {{ {address} }}
"
    )
}

/// Whether there is such a table.
pub(crate) fn table_exists(table: &str) -> Result<bool, FirewallError> {
    let found = tool::nft_list(&["tables", "inet"])?;
    Ok(found.iter().any(|object| object["table"]["name"] == table))
}

/// The bytes counted for each address, up and down.
pub(crate) fn read_counts(table: &str) -> Result<BTreeMap<Ipv4Addr, (u64, u64)>, FirewallError> {
    let mut counts = BTreeMap::<_, (u64, u64)>::new();
    for (address, bytes) in read_set(table, "up")? {
        counts.entry(address).or_default().0 = bytes;
    }
    for (address, bytes) in read_set(table, "down")? {
        counts.entry(address).or_default().1 = bytes;
    }
    Ok(counts)
}

fn read_set(table: &str, set: &str) -> Result<Vec<(Ipv4Addr, u64)>, FirewallError> {
    let arguments = ["set", "inet", table, set];
    let count = |element: &Value| {
        let address = element["elem"]["val"].as_str()?.parse().ok()?;
        Some((address, element["elem"]["counter"]["bytes"].as_u64()?))
    };
    read_elements(&arguments)?
        .iter()
        .map(|each| {
            let strange = || tool::unreadable("nft -j list", &arguments, &format!("no count in {each}"));
            count(each).ok_or_else(strange)
        })
        .collect()
}

/// The elements of a set, as nft lists them.
pub(crate) fn read_elements(arguments: &[&str]) -> Result<Vec<Value>, FirewallError> {
    let mut listed = tool::nft_list(arguments)?;
    let elements = listed.iter_mut().filter_map(|object| match object["set"]["elem"].take() {
        Value::Array(elements) => Some(elements),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    });
    Ok(elements.flatten().collect())
}

/// A named counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

/// Every named counter of a table: `what` is its `packets` or `bytes`.
pub(crate) fn read_counters(table: &str, what: &str) -> Result<BTreeMap<String, u64>, FirewallError> {
    let of = |count: Count| if what == "packets" { count.packets } else { count.bytes };
    Ok(read_both(table)?.into_iter().map(|(name, count)| (name, of(count))).collect())
}

/// Every named counter of a table.
pub(crate) fn read_both(table: &str) -> Result<BTreeMap<String, Count>, FirewallError> {
    let arguments = ["counters", "table", "inet", table];
    let listed = tool::nft_list(&arguments)?;
    let counters = listed.iter().filter_map(|object| object.get("counter"));
    counters
        .map(|counter| {
            match (counter["name"].as_str(), counter["packets"].as_u64(), counter["bytes"].as_u64()) {
                (Some(name), Some(packets), Some(bytes)) => Ok((name.to_owned(), Count { packets, bytes })),
                _ => Err(tool::unreadable("nft -j list", &arguments, &format!("no count in {counter}"))),
            }
        })
        .collect()
}
