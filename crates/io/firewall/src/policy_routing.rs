//! Routing that says no unless our table has said yes.
//!
//! Our table marks what guests may forward, and what may be forwarded to them. These rules let what is marked go on to
//! the main table, and prohibit the rest, by the names of the interfaces: they hold while our table is not there, and
//! while the guests' interface is removed and made again.
//!
//! They are few and the same for all guests: the kernel looks through rules one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use guestright_command::CommandError;
use serde::{Deserialize, Serialize};

use crate::routing::families;
use crate::{FirewallError, Settings, static_filter, tool};

/// The bit of a packet's mark that our table sets on what may pass. Other bits are left alone.
pub(crate) const PERMITTED: u32 = 0x4000_0000;
/// The bit that our table sets besides on what passes by a grant, and not by a tunnel's allowance: the table's own chain for
/// what is forwarded reads it in place of looking the grant up again.
pub(crate) const GRANTED: u32 = 0x2000_0000;
/// The routing table of what guests never reach.
const TABLE: u32 = 7_274;
/// The first rule's position: before what administrators and their programs add.
const FIRST: u32 = 70;
/// The position of the rules about a bridge's ports.
const LAST: u32 = 76;
/// So often deleting rules may fail.
const FAILURES_MAX: u32 = 3;
/// Whether marks count when a packet's sender is looked up (ip-sysctl, `src_valid_mark`): without it, a reverse path
/// filter drops all that is granted.
const VALID_MARK: &str = "src_valid_mark";

/// What was added, enough to remove it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prohibition {
    guests: String,
    uplink: String,
    network: (Ipv4Addr, u8),
    /// Where guests never get.
    never: BTreeSet<(Ipv4Addr, u8)>,
    /// Interfaces where marks did not count before.
    valid_mark: Vec<String>,
    /// The ports of the guests' interface, where it is a bridge. When the bridge goes, each is an interface of its own, and
    /// with one's hardware address it takes in what guests send to the router.
    ports: Vec<String>,
    /// Of these interfaces, those that had a hook for filters before.
    hooks: Vec<String>,
}

/// A rule of ip-rule(8).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    family: &'static str,
    preference: u32,
    words: String,
}

impl Prohibition {
    /// What is about to be added.
    ///
    /// # Errors
    /// The system does not say what is there.
    pub(crate) fn new(settings: &Settings) -> Result<Self, FirewallError> {
        let interfaces = [&settings.visitor_interface, &settings.uplink_interface];
        let unset =
            interfaces.into_iter().filter(|interface| read(interface).is_some_and(|value| value != "1"));
        let never = settings.never_reached().into_iter();
        let this = Self {
            guests: settings.visitor_interface.clone(),
            uplink: settings.uplink_interface.clone(),
            network: settings.visitor_network,
            never: never.map(|network| (network.network(), network.prefix_len())).collect(),
            valid_mark: unset.cloned().collect(),
            ports: Vec::new(),
            hooks: Vec::new(),
        };
        let hook = static_filter::has_hook(&this.guests)?.then(|| this.guests.clone());
        let this = Self { hooks: hook.into_iter().collect(), ..this };
        Ok(this.with_new_ports()?.unwrap_or(this))
    }

    /// The same, but with what an earlier run found: what is there now is its doing. Nothing if that run's rules were
    /// others.
    pub(crate) fn succeeding(self, earlier: &Self) -> Option<Self> {
        let it = Self { valid_mark: earlier.valid_mark.clone(), hooks: earlier.hooks.clone(), ..self };
        (it == *earlier).then_some(it)
    }

    /// Adds what is missing, so that at no time more passes than before.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn up(&self) -> Result<(), FirewallError> {
        let prohibited = |&(address, prefix): &(Ipv4Addr, u8)| {
            format!("route replace prohibit {address}/{prefix} table {TABLE} protocol kernel")
        };
        let add =
            |rule: Rule| format!("rule add preference {} {} protocol kernel", rule.preference, rule.words);
        // What prohibits comes first, and what makes exceptions from it last.
        for family in families().collect::<Vec<_>>().into_iter().rev() {
            let shown = show(family)?;
            let rules = self.rules().into_iter().rev().filter(|rule| rule.family == family);
            let missing = rules.filter(|rule| rule.count(&shown) == 0);
            // Networks that guests never reach are of IPv4 alone.
            let routes = self.never.iter().filter(|_| family == "-4").map(prohibited);
            let commands: Vec<String> = routes.chain(missing.map(add)).collect();
            tool::ip(family, &commands)?;
        }
        for interface in [&self.guests, &self.uplink] {
            write(interface, "1");
        }
        Ok(())
    }

    /// Whether all of it is there.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub(crate) fn is_up(&self) -> Result<bool, FirewallError> {
        let mut shown = BTreeMap::new();
        for family in families() {
            shown.insert(family, show(family)?);
        }
        let is_there = |rule: &Rule| shown.get(rule.family).is_some_and(|text| rule.count(text) > 0);
        let routes = match tool::json("ip", &["-j", "-4", "route", "show", "table", &TABLE.to_string()]) {
            Ok(found) => found.as_array().map_or(0, Vec::len),
            // Without routes there is no such table, which ip calls an error.
            Err(FirewallError::Command(CommandError::Failed { .. })) => 0,
            Err(error) => return Err(error),
        };
        Ok(self.marks_count() && routes == self.never.len() && self.rules().iter().all(is_there))
    }

    /// Whether marks count where a packet's sender is looked up, on each of the two interfaces that is there. The kernel does not tell
    /// when that is changed.
    pub(crate) fn marks_count(&self) -> bool {
        [&self.guests, &self.uplink]
            .into_iter()
            .all(|interface| read(interface).is_none_or(|value| value == "1"))
    }

    /// Removes it again. What is gone already is no error.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn down(&self) -> Result<(), FirewallError> {
        for family in families() {
            // Something else may take rules away at the same time; then what is left is looked at again.
            let mut failures = 0;
            while let Err(error) = tool::ip(family, &self.deletions(&show(family)?, family)) {
                failures += 1;
                if failures == FAILURES_MAX {
                    return Err(error);
                }
            }
        }
        // Without routes there is no such table, which ip calls an error.
        let _ = tool::ip("-4", &[format!("route flush table {TABLE}")]);
        for interface in &self.valid_mark {
            write(interface, "0");
        }
        for interface in self.guarded() {
            static_filter::remove(interface, self.hooks.contains(interface))?;
        }
        Ok(())
    }

    /// What deletes those of our rules that ip shows. One that is there twice is deleted twice.
    fn deletions(&self, shown: &str, family: &str) -> Vec<String> {
        let rules = self.rules().into_iter().filter(|rule| rule.family == family);
        let delete = |rule: &Rule| format!("rule delete preference {} {}", rule.preference, rule.words);
        rules.flat_map(|rule| std::iter::repeat_n(delete(&rule), rule.count(shown))).collect()
    }

    /// The interfaces on which guests' frames arrive, or would if the bridge were gone.
    pub(crate) fn guarded(&self) -> impl Iterator<Item = &String> {
        [&self.guests].into_iter().chain(&self.ports)
    }

    /// The same with the ports that the bridge has got since; nothing if there are none. Those that it had are kept: they
    /// may come back.
    ///
    /// # Errors
    /// The system does not say.
    pub(crate) fn with_new_ports(&self) -> Result<Option<Self>, FirewallError> {
        let mut new = self.clone();
        for port in bridge_ports(&self.guests)? {
            if new.ports.contains(&port) {
                continue;
            }
            if static_filter::has_hook(&port)? {
                new.hooks.push(port.clone());
            }
            new.ports.push(port);
        }
        Ok((new.ports.len() > self.ports.len()).then_some(new))
    }

    /// In the order in which the kernel looks through them.
    fn rules(&self) -> Vec<Rule> {
        let Self { guests, uplink, network: (address, prefix), .. } = self;
        let mark = format!("fwmark {PERMITTED:#x}/{PERMITTED:#x}");
        let four = [
            format!("iif {guests} lookup {TABLE}"),
            format!("{mark} iif {guests} lookup main"),
            format!("iif {guests} prohibit"),
            format!("to {address}/{prefix} iif lo lookup main"),
            format!("to {address}/{prefix} {mark} iif {uplink} lookup main"),
            format!("to {address}/{prefix} prohibit"),
        ];
        let mut rules: Vec<Rule> = four
            .into_iter()
            .zip(FIRST..)
            .map(|(words, preference)| Rule { family: "-4", preference, words })
            .collect();
        // Behind the others: what is granted never gets so far, and nothing of theirs is about a port.
        let ports = self.ports.iter().map(|port| Rule {
            family: "-4",
            preference: LAST,
            words: format!("iif {port} prohibit"),
        });
        rules.extend(ports);
        if families().any(|family| family == "-6") {
            let all = self.guarded().map(|interface| Rule {
                family: "-6",
                preference: FIRST - 1,
                words: format!("iif {interface} prohibit"),
            });
            rules.extend(all);
        }
        rules
    }
}

impl Rule {
    /// How often the rule is among those that ip shows.
    fn count(&self, shown: &str) -> usize {
        shown.lines().filter(|line| self.is(line)).count()
    }

    /// Whether ip shows this rule so, at its position: it puts "from all" before it, may say `[detached]` where the interface is not
    /// there, and `proto kernel`.
    fn is(&self, line: &str) -> bool {
        let words = |text: &str| -> Vec<String> {
            let ignored = ["from", "all", "[detached]", "proto", "protocol", "kernel"];
            text.split_whitespace().filter(|word| !ignored.contains(word)).map(str::to_owned).collect()
        };
        line.split_once(':').is_some_and(|(at, shown)| {
            at.trim() == self.preference.to_string() && words(shown) == words(&self.words)
        })
    }
}

/// The ports of a bridge; none where it is none.
fn bridge_ports(interface: &str) -> Result<Vec<String>, FirewallError> {
    let found = tool::json("ip", &["-j", "link", "show", "master", interface])?;
    let links = found.as_array().into_iter().flatten();
    Ok(links.filter_map(|link| Some(link["ifname"].as_str()?.to_owned())).collect())
}

/// The rules of a family.
fn show(family: &str) -> Result<String, FirewallError> {
    tool::run("ip", &[family, "rule", "show"], "")
}

fn path(interface: &str) -> String {
    format!("/proc/sys/net/ipv4/conf/{interface}/{VALID_MARK}")
}

fn read(interface: &str) -> Option<String> {
    std::fs::read_to_string(path(interface)).ok().map(|text| text.trim().to_owned())
}

/// An interface that is not there has nothing to be written to: it is seen to when it is made again.
fn write(interface: &str, value: &str) {
    if let Err(error) = std::fs::write(path(interface), value)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, interface, "a reverse path filter may drop what is granted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_the_same_words_at_another_position_is_not_ours() {
        let guests = "br-guest".to_owned();
        let ours = Prohibition {
            guests,
            uplink: "wan".to_owned(),
            network: (Ipv4Addr::new(10, 11, 0, 0), 24),
            never: BTreeSet::new(),
            valid_mark: Vec::new(),
            ports: Vec::new(),
            hooks: Vec::new(),
        };
        let another = "32765:\tfrom all iif br-guest prohibit\n";
        assert_eq!(ours.deletions(another, "-4"), Vec::<String>::new());
        let twice = "72:\tfrom all iif br-guest prohibit proto kernel\n".repeat(2) + another;
        assert_eq!(ours.deletions(&twice, "-4"), ["rule delete preference 72 iif br-guest prohibit"; 2]);
    }
}
