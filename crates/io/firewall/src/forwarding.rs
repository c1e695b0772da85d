//! Which interfaces forward because of us, when several of our programs run on one computer.
//!
//! An access point and a home gateway share the uplink. Whoever stops first must leave it forwarding, and whoever
//! stops last must put it back as it was before the first. So each table of ours notes what its interfaces did before:
//! the kernel keeps the notes, of a program that crashed too, until the table is deleted.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{FirewallError, tool};

const MAP: &str = "forwarding";
/// Tables with another beginning are not ours.
const TABLES: &str = "guestright";

/// The note of a table, as `nft -f` reads it.
pub(crate) fn note(table: &str, forwarding: &[(String, String)]) -> String {
    let mut text = format!("add map inet {table} {MAP} {{ type ifname : mark; }}\n");
    for (interface, before) in forwarding {
        let before = u8::from(before == "1");
        text += &format!("add element inet {table} {MAP} {{ \"{interface}\" : {before} }}\n");
    }
    text
}

/// What interfaces did before the first of our other tables made them forward.
pub(crate) fn noted_by_others(own: &str) -> Result<BTreeMap<String, String>, FirewallError> {
    let listed = tool::nft_list(&["maps", "inet"])?;
    Ok(read(&listed, own))
}

fn read(listed: &[Value], own: &str) -> BTreeMap<String, String> {
    let notes = listed.iter().filter_map(|object| object.get("map")).filter(|map| {
        let table = map["table"].as_str().unwrap_or_default();
        map["name"] == MAP && table.starts_with(TABLES) && table != own
    });
    let elements = notes.filter_map(|map| map["elem"].as_array()).flatten();
    elements
        .filter_map(|element| {
            let before = u8::from(element[1].as_u64()? == 1).to_string();
            Some((element[0].as_str()?.to_owned(), before))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_of_ours_count_and_nobody_elses() {
        let map = |table: &str, name: &str, interface: &str| serde_json::json!({ "map": { "table": table, "name": name, "elem": [[interface, 1], ["lan", 0]] } });
        let listed = [
            serde_json::json!({ "metainfo": {} }),
            map("guestright", "forwarding", "own"),
            map("guestright_gateway", "forwarding", "uplink"),
            map("guestright_gateway", "class", "x"),
            map("filter", "forwarding", "y"),
        ];
        let found: Vec<_> = read(&listed, "guestright").into_iter().collect();
        assert_eq!(found, [("lan".into(), "0".into()), ("uplink".into(), "1".into())]);
    }
}
