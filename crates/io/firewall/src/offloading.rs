//! Flow offloading: a flowtable forwards packets of running flows by itself, before any chain of ours sees them.

use serde_json::Value;

use crate::{FirewallError, Settings, tool};

/// Refuses while flows of one of our interfaces are offloaded.
///
/// # Errors
/// [`FirewallError::Offloaded`], or `nft` cannot say.
pub(crate) fn refuse(settings: &Settings) -> Result<(), FirewallError> {
    let found = tool::nft_list(&["flowtables"])?;
    let interfaces = [settings.visitor_interface.as_str(), settings.uplink_interface.as_str()];
    found.iter().find_map(|object| offloaded(&object["flowtable"], interfaces)).map_or(Ok(()), Err)
}

/// What a flowtable offloads of these interfaces. nft lists one interface as text, and several as a list.
fn offloaded(flowtable: &Value, interfaces: [&str; 2]) -> Option<FirewallError> {
    let listed = &flowtable["dev"];
    let several = listed.as_array().into_iter().flatten();
    let mut named = several.chain([listed]).filter_map(Value::as_str);
    let interface = named.find(|name| interfaces.contains(name))?;
    let text = |name: &str| flowtable[name].as_str().unwrap_or("?").to_owned();
    Some(FirewallError::Offloaded {
        flowtable: text("name"),
        table: format!("{} {}", text("family"), text("table")),
        interface: interface.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_flowtable_on_one_of_our_interfaces_is_found() {
        let ours = ["br-guest", "wan"];
        let table =
            |dev: Value| json!({ "family": "inet", "name": "ft", "table": "fw4", "handle": 3, "dev": dev });
        for dev in [json!("wan"), json!(["lan1", "br-guest"]), json!(["wan", "br-guest"])] {
            let found = offloaded(&table(dev.clone()), ours).map(|error| error.to_string());
            assert!(found.is_some_and(|text| text.contains("\"ft\" of table inet fw4")), "{dev}");
        }
        for dev in [json!("lan1"), json!(["lan1", "lan2"]), json!([]), Value::Null] {
            assert_eq!(offloaded(&table(dev.clone()), ours), None, "{dev}");
        }
        assert_eq!(offloaded(&Value::Null, ours), None);
    }
}
