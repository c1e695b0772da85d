//! Routing that sends what this computer says into a tunnel, beside its own routes and without touching them.
//!
//! The way is that of `wg-quick`: a routing table of our own with a default route into the tunnel; a rule that
//! sends everything there but the tunnel's own marked datagrams; and before it a rule that lets the main table
//! decide wherever it knows better than by a default route. A second default in our table, of the least
//! preference, says "unreachable": it is what is left of the table while there is no tunnel. For IPv6 it is all
//! that there is.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{FirewallError, tool};

/// Both rules' places in the order of rules: before the main table's (32766), after what administrators add.
const MAIN_PREFERENCE: u32 = 7_272;
const TUNNEL_PREFERENCE: u32 = 7_273;
/// Metric of the route that says "unreachable": the largest there is.
const LAST: &str = "4294967295";
/// Whether marks count when a packet's sender is looked up (ip-sysctl, `src_valid_mark`): without it, a strict
/// reverse path filter drops the tunnel's own datagrams.
const VALID_MARK: &str = "/proc/sys/net/ipv4/conf/all/src_valid_mark";

/// What was added, enough to take it away again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Routing {
    mark: u32,
    table: u32,
    /// What `src_valid_mark` said before; nothing if it need not be changed.
    valid_mark: Option<String>,
}

impl Routing {
    /// What is about to be added.
    pub(crate) fn new(mark: u32, table: u32) -> Self {
        let before = std::fs::read_to_string(VALID_MARK).ok().map(|text| text.trim().to_owned());
        Self { mark, table, valid_mark: before.filter(|before| before != "1") }
    }

    /// The same, but with what an earlier run found: what is there now is its doing.
    pub(crate) fn inherited(self, earlier: &Self) -> Self {
        Self { valid_mark: earlier.valid_mark.clone(), ..self }
    }

    /// Adds everything but the route into the tunnel; until that is added, nothing is reachable but neighbours.
    /// What is there already stays.
    pub(crate) fn up(&self) -> Result<(), FirewallError> {
        let table = self.table.to_string();
        for family in families() {
            ip(&[family, "route", "replace", "unreachable", "default", "metric", LAST, "table", &table])?;
        }
        for rule in self.rules() {
            for family in families() {
                let present = rules(family, rule.0)?;
                if !present {
                    ip(&[&[family, "rule", "add"], strings(&rule.1).as_slice()].concat())?;
                }
            }
        }
        if self.valid_mark.is_some()
            && let Err(error) = std::fs::write(VALID_MARK, "1")
        {
            tracing::warn!(%error, "a strict reverse path filter may drop the tunnel's datagrams");
        }
        Ok(())
    }

    /// Whether the rules and the route that says "unreachable" are there, and the route into the tunnel if there should
    /// be one. Only looks: putting routes where they are already is a change that others notice.
    pub(crate) fn is_there(&self, tunnel: Option<&str>) -> Result<bool, FirewallError> {
        let table = self.table.to_string();
        for family in families() {
            for (preference, _) in self.rules() {
                if !rules(family, preference)? {
                    return Ok(false);
                }
            }
            // A table without routes is an error to `ip`, in some of its releases.
            let routes = tool::run("ip", &[family, "route", "show", "table", &table], "").unwrap_or_default();
            let into = tunnel.filter(|_| family == "-4").map(|tunnel| format!("default dev {tunnel} "));
            let has = |begin: &str| routes.lines().any(|route| format!("{route} ").starts_with(begin));
            if !has("unreachable default ") || !into.is_none_or(|begin| has(&begin)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends everything into the tunnel's interface, which is up.
    pub(crate) fn add_tunnel(&self, tunnel: &str) -> Result<(), FirewallError> {
        ip(&["-4", "route", "replace", "default", "dev", tunnel, "table", &self.table.to_string()])
    }

    /// Takes everything away again. What is gone already is none of our business.
    pub(crate) fn down(&self) -> Result<(), FirewallError> {
        for rule in self.rules() {
            for family in families() {
                if rules(family, rule.0)? {
                    ip(&[&[family, "rule", "delete"], strings(&rule.1).as_slice()].concat())?;
                }
            }
        }
        let table = self.table.to_string();
        for family in families() {
            // Flushing passes over "unreachable" in IPv6. What is gone already is an error, and no harm.
            let last = ["route", "delete", "unreachable", "default", "metric", LAST, "table", &table];
            let _ = ip(&[&[family], last.as_slice()].concat());
            let _ = ip(&[family, "route", "flush", "table", &table]);
        }
        if let Some(before) = &self.valid_mark {
            let _ = std::fs::write(VALID_MARK, before); // It was written under a name that may be gone.
        }
        Ok(())
    }

    /// The rules, with the place of each.
    fn rules(&self) -> [(u32, Vec<String>); 2] {
        let words = |text: String| text.split(' ').map(str::to_owned).collect();
        [
            (
                MAIN_PREFERENCE,
                words(format!("preference {MAIN_PREFERENCE} table main suppress_prefixlength 0")),
            ),
            (
                TUNNEL_PREFERENCE,
                words(format!(
                    "preference {TUNNEL_PREFERENCE} not fwmark {} table {}",
                    self.mark, self.table
                )),
            ),
        ]
    }
}

/// IPv4, and IPv6 where the kernel has it.
pub(crate) fn families() -> impl Iterator<Item = &'static str> {
    let six = Path::new("/proc/thread-self/net/if_inet6").exists();
    ["-4", "-6"].into_iter().take(if six { 2 } else { 1 })
}

/// Whether there is a rule in this place.
fn rules(family: &str, preference: u32) -> Result<bool, FirewallError> {
    let found = tool::json("ip", &["-j", family, "rule", "show", "preference", &preference.to_string()])?;
    Ok(found.as_array().is_some_and(|rules| !rules.is_empty()))
}

fn strings(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn ip(arguments: &[&str]) -> Result<(), FirewallError> {
    tool::run("ip", arguments, "").map(|_| ())
}
