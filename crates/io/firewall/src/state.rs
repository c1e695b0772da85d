//! The state file: what we are about to change, written before we change it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::lookup::interface_exists;
use crate::policy_routing::Prohibition;
use crate::routing::Routing;
use crate::{FirewallError, elements, forwarding, shaping, tool};

const VERSION: u32 = 1;

/// What a running firewall or meter has changed, enough to change it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    version: u32,
    boot: String,
    network: String,
    process: u32,
    /// When that process began, in the kernel's ticks: with the number, it names one process for good.
    process_began: u64,
    table: String,
    /// Interfaces that forward because of us, and what they did before.
    forwarding: Vec<(String, String)>,
    /// Interfaces whose root queue is ours.
    queues: Vec<String>,
    /// What sends this computer's packets into a tunnel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    routing: Option<Routing>,
    /// What prohibits guests to forward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prohibition: Option<Prohibition>,
}

impl State {
    /// What this process is about to change.
    pub(crate) fn new(table: &str, forward: &[&str], queues: Vec<String>) -> Result<Self, FirewallError> {
        let process = std::process::id();
        let others = if forward.is_empty() { BTreeMap::new() } else { forwarding::noted_by_others(table)? };
        let mut forwarding = Vec::new();
        for interface in forward {
            let before =
                others.get(*interface).cloned().map_or_else(|| read(&forwarding_path(interface)), Ok)?;
            forwarding.push(((*interface).to_owned(), before));
        }
        Ok(Self {
            version: VERSION,
            boot: boot()?,
            network: network()?,
            process,
            process_began: process_began(process).unwrap_or_default(),
            table: table.to_owned(),
            forwarding,
            queues,
            routing: None,
            prohibition: None,
        })
    }

    /// The same, with the routing that goes with the table.
    pub(crate) fn with_routing(self, routing: Routing) -> Self {
        Self { routing: Some(routing), ..self }
    }

    /// The same, with what keeps guests out.
    pub(crate) fn with_prohibition(self, prohibition: Prohibition) -> Self {
        Self { prohibition: Some(prohibition), ..self }
    }

    /// The same, with our queues on these interfaces.
    pub(crate) fn with_queues(self, queues: Vec<String>) -> Self {
        Self { queues, ..self }
    }

    /// What keeps guests out.
    pub(crate) fn prohibition(&self) -> Option<&Prohibition> {
        self.prohibition.as_ref()
    }

    /// Whether both are about one table and the same interfaces.
    fn is_about_the_same(&self, other: &Self) -> bool {
        let interfaces =
            |state: &Self| state.forwarding.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        self.table == other.table && interfaces(self) == interfaces(other)
    }

    /// This, in the place of an access point's ended run with the same table and interfaces: what was before that is
    /// then what was before.
    pub(crate) fn succeeding(self, earlier: &Self) -> Option<Self> {
        let same = self.is_about_the_same(earlier);
        let prohibition = self.prohibition.clone().zip(earlier.prohibition.as_ref());
        let prohibition = prohibition.filter(|_| same).and_then(|(new, old)| new.succeeding(old))?;
        Some(Self { forwarding: earlier.forwarding.clone(), prohibition: Some(prohibition), ..self })
    }

    /// This, in the place of what an ended run left behind, if that is the same table for the same interfaces and
    /// nothing besides: what they did before is then what they did before that run.
    pub(crate) fn replacing(self, earlier: &Self) -> Option<Self> {
        let tables_alone =
            [&self, earlier].iter().all(|state| state.queues.is_empty() && state.routing.is_none());
        (self.is_about_the_same(earlier) && tables_alone)
            .then(|| Self { forwarding: earlier.forwarding.clone(), ..self })
    }

    /// The routing that goes with the table.
    pub(crate) fn routing(&self) -> Option<&Routing> {
        self.routing.as_ref()
    }

    /// Writes the file so that a crash leaves either all of it or none.
    pub(crate) fn write(&self, path: &Path) -> Result<(), FirewallError> {
        let mut text = serde_json::to_string_pretty(self).map_err(|error| broken(path, &error))?;
        text.push('\n');
        let folder = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let new = folder.join(name);
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|error| broken(path, &error))
    }

    /// Turns on forwarding between the interfaces named. Only there: the global switch would make a router of
    /// every other interface too, and turning it off again would reset what others had set.
    pub(crate) fn forward(&self) -> Result<(), FirewallError> {
        for (interface, _) in &self.forwarding {
            let path = forwarding_path(interface);
            fs::write(&path, "1").map_err(|error| broken(&path, &error))?;
        }
        Ok(())
    }

    /// What the table has to tell others of ours about that, as `nft -f` reads it.
    pub(crate) fn note(&self) -> String {
        forwarding::note(&self.table, &self.forwarding)
    }

    /// Whether the interfaces forward.
    pub(crate) fn forwards(&self) -> bool {
        self.forwarding
            .iter()
            .all(|(interface, _)| read(&forwarding_path(interface)).is_ok_and(|on| on == "1"))
    }

    /// Turns forwarding off where it is on because of us or of others: an emergency brake.
    pub(crate) fn stop_forwarding(&self) {
        for (interface, _) in &self.forwarding {
            let _ = fs::write(forwarding_path(interface), "0"); // An interface that is gone forwards nothing.
        }
    }

    /// Removes our queues.
    pub(crate) fn clear_queues(&self) -> Result<(), FirewallError> {
        for interface in self.queues.iter().filter(|interface| interface_exists(interface)) {
            shaping::clear(interface)?;
        }
        Ok(())
    }

    /// Changes everything back. What is back already is left as it is.
    pub(crate) fn undo(&self) -> Result<(), FirewallError> {
        // Forwarding first: at no time may visitors pass unfiltered. What another table of ours needs goes on.
        let nothing = self.forwarding.is_empty();
        let others = if nothing { BTreeMap::new() } else { forwarding::noted_by_others(&self.table)? };
        for (interface, before) in &self.forwarding {
            let path = forwarding_path(interface);
            if before != "1" && path.exists() && !others.contains_key(interface) {
                fs::write(&path, before).map_err(|error| broken(&path, &error))?;
            }
        }
        self.clear_queues()?;
        // The table last: until then it holds back what is routed past the tunnel again.
        if let Some(routing) = &self.routing {
            routing.down()?;
        }
        if elements::table_exists(&self.table)? {
            tool::nft(&format!("delete table inet {}\n", self.table))?;
        }
        match &self.prohibition {
            Some(prohibition) => prohibition.down(),
            None => Ok(()),
        }
    }
}

/// Undoes whatever a state file tells of and removes the file. No file: nothing to do.
///
/// A file from before the last boot, or of an ended process in another network namespace, tells of nothing
/// that is still here: it is removed and nothing else touched.
///
/// # Errors
/// [`FirewallError::Busy`] while another process that wrote the file is running;
/// [`FirewallError::OtherNetwork`] if we wrote it ourselves, elsewhere; a file that cannot be read; or the
/// kernel refuses, and then the file stays.
pub fn clean_up(state_file: &Path) -> Result<(), FirewallError> {
    if let Some(state) = left_behind(state_file)? {
        state.undo()?;
    }
    remove(state_file)
}

/// What an ended run left behind in this network, untouched; nothing if it left nothing here.
///
/// # Errors
/// As [`clean_up`].
pub(crate) fn left_behind(state_file: &Path) -> Result<Option<State>, FirewallError> {
    let text = match fs::read_to_string(state_file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(broken(state_file, &error)),
    };
    let state: State = serde_json::from_str(&text).map_err(|error| FirewallError::File {
        path: state_file.display().to_string(),
        reason: format!("not a state file that we can read ({error}); look at it, then remove it by hand"),
    })?;
    if state.version != VERSION {
        return Err(FirewallError::File {
            path: state_file.display().to_string(),
            reason: format!(
                "written by another version ({}, ours is {VERSION}); clean up with that",
                state.version
            ),
        });
    }
    if state.boot != boot()? {
        return Ok(None);
    }
    let path = || state_file.display().to_string();
    let is_here = state.network == network()?;
    if process_began(state.process) == Some(state.process_began) {
        if state.process != std::process::id() {
            return Err(FirewallError::Busy { pid: state.process, path: path() });
        }
        if !is_here {
            return Err(FirewallError::OtherNetwork { path: path() });
        }
    }
    Ok(is_here.then_some(state))
}

/// Removes a state file.
pub(crate) fn remove(path: &Path) -> Result<(), FirewallError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(broken(path, &error)),
        _ => Ok(()),
    }
}

fn forwarding_path(interface: &str) -> PathBuf {
    Path::new("/proc/sys/net/ipv4/conf").join(interface).join("forwarding")
}

fn boot() -> Result<String, FirewallError> {
    read(Path::new("/proc/sys/kernel/random/boot_id"))
}

/// The network namespace of this thread, by the kernel's number for it.
fn network() -> Result<String, FirewallError> {
    let path = Path::new("/proc/thread-self/ns/net");
    let link = fs::read_link(path).map_err(|error| broken(path, &error))?;
    Ok(link.to_string_lossy().into_owned())
}

fn process_began(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Fields 3 and 22 of proc(5); the name before the last parenthesis may hold anything. A zombie has ended.
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn read(path: &Path) -> Result<String, FirewallError> {
    let text = fs::read_to_string(path).map_err(|error| broken(path, &error))?;
    Ok(text.trim().to_owned())
}

fn broken(path: &Path, reason: &dyn std::fmt::Display) -> FirewallError {
    FirewallError::File { path: path.display().to_string(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_over_what_interfaces_did_before_and_nothing_else() {
        let state = |table: &str, forwarding: &[(&str, &str)]| {
            let mut state = State::new(table, &[], Vec::new()).unwrap();
            state.forwarding =
                forwarding.iter().map(|(name, before)| ((*name).to_owned(), (*before).to_owned())).collect();
            state
        };
        let earlier = state("guestright_a", &[("gr0", "0"), ("wan0", "1")]);
        let new = state("guestright_a", &[("gr0", "1"), ("wan0", "1")]);
        let taken = new.clone().replacing(&earlier).expect("the same table and interfaces");
        assert_eq!(taken.forwarding, earlier.forwarding);
        assert_eq!(new.replacing(&State { queues: vec!["wan0".to_owned()], ..earlier.clone() }), None);
        assert_eq!(state("guestright_b", &[("gr0", "1"), ("wan0", "1")]).replacing(&earlier), None);
        assert_eq!(state("guestright_a", &[("gr0", "1")]).replacing(&earlier), None);
    }

    #[test]
    fn no_file_is_nothing_to_do_and_a_strange_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        assert_eq!(clean_up(&path), Ok(()));
        for text in ["", "{", "{}", "[1]", "\u{0}"] {
            fs::write(&path, text).unwrap();
            let error = clean_up(&path).unwrap_err();
            assert!(error.to_string().contains("state.json: not a state file"), "{error}");
        }
    }

    #[test]
    fn a_file_of_another_boot_or_network_is_removed_and_nothing_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let ours = State::new("guestright", &[], Vec::new()).unwrap();
        let stale = [
            State { boot: "another".to_owned(), ..ours.clone() },
            State { network: "net:[1]".to_owned(), process_began: 1, ..ours.clone() },
        ];
        for state in stale {
            state.write(&path).unwrap();
            assert_eq!(clean_up(&path), Ok(()));
            assert!(!path.exists());
        }
        State { network: "net:[1]".to_owned(), ..ours }.write(&path).unwrap();
        assert!(matches!(clean_up(&path), Err(FirewallError::OtherNetwork { .. })), "our own, elsewhere");
        assert!(path.exists());
    }

    #[test]
    fn a_running_process_is_not_cleaned_up_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let init = State { process: 1, ..State::new("guestright", &[], Vec::new()).unwrap() };
        let state = State { process_began: process_began(1).unwrap(), ..init };
        state.write(&path).unwrap();
        let error = clean_up(&path).unwrap_err();
        assert!(matches!(error, FirewallError::Busy { pid: 1, .. }), "{error}");
        assert!(path.exists());
    }
}
