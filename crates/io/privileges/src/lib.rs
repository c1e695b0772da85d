//! Gives up what a daemon may do and does not need, so that a fault in it gives an attacker less than root.
//!
//! In: what the program has to be able to do ([`Needs`]). Out: the same process with the capabilities for that and no
//! others, which it and its children can never get back ([`confine`]), and with system calls refused that neither it
//! nor `nft`, `tc`, `ip` and `wg` ever make.
//!
//! Invariants:
//! - A program without root keeps what it has of its needs and runs on; nothing here asks for more than there is.
//! - Called before a process has threads: capabilities belong to a thread, and later ones inherit them.
//! - What cannot be given up is an error, but for what this kernel or processor does not know ([`Confinement`]).

mod capabilities;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod filter;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "no_filter.rs"]
mod filter;
mod threads;

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

pub use rustix::thread::CapabilitySet;

/// The bit of a directory's mode that lets everybody pass (inode(7)).
const ENTERED_BY_ALL: u32 = 0o001;

/// What a program has to be able to do, besides what every user may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Change interfaces, routes, queues, nftables and the sysctls of the network; open a TUN device.
    pub network: bool,
    /// Listen at ports below 1024.
    pub low_ports: bool,
    /// Use files that belong to other users; for root in somebody's home directory.
    pub files_of_others: bool,
    /// Run strongSwan, with a `/run` of its own.
    pub strongswan: bool,
    /// Run the programs of L2TP beside strongSwan.
    pub l2tp: bool,
}

/// What has come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// The capabilities that are left.
    pub kept: CapabilitySet,
    /// Whether system calls are filtered: not every kernel is built with seccomp, and the filter knows x86-64 and
    /// 64-bit ARM.
    pub filtered: bool,
}

/// Why something could not be given up.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum PrivilegesError {
    /// The system refuses.
    #[error("the system would not {what}: {reason}")]
    Refused { what: &'static str, reason: String },
    /// Other threads would keep what this one gives up.
    #[error("privileges are given up while {got} other threads have more than is needed; expected none")]
    Threads { got: usize },
}

impl Needs {
    /// The capabilities for it, as capabilities(7) has them.
    #[must_use]
    pub fn capabilities(self) -> CapabilitySet {
        let sets = [
            (self.network, CapabilitySet::NET_ADMIN),
            (self.low_ports, CapabilitySet::NET_BIND_SERVICE),
            (self.files_of_others, CapabilitySet::DAC_OVERRIDE),
            (self.strongswan, capabilities::STRONGSWAN),
            (self.l2tp, capabilities::L2TP),
        ];
        sets.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, set)| set).collect()
    }

    /// The same, and the right to use the files of others where one of these paths needs it: it, or the directory in
    /// which it would be made, belongs to another user, or lies in a directory that others may not enter.
    #[must_use]
    pub fn with_files(self, paths: &[&Path]) -> Self {
        let files_of_others = self.files_of_others || paths.iter().any(|path| is_of_another(path));
        Self { files_of_others, ..self }
    }
}

/// Gives up everything but `needs`, for good: capabilities, the ways of programs to get some by their file's mode
/// (`no_new_privs`), and system calls.
///
/// Other threads may run if they have no more than is needed, and cannot get it. (QEMU's user mode has one of its own in
/// every program.) The filter holds for all threads.
///
/// # Errors
/// Other threads have more, or the system refuses. Then the program should end: it would run with more than it says.
pub fn confine(needs: Needs) -> Result<Confinement, PrivilegesError> {
    let got = threads::with_more(needs.capabilities())?;
    if got != 0 {
        return Err(PrivilegesError::Threads { got });
    }
    let kept = capabilities::keep(needs.capabilities())?;
    rustix::thread::set_no_new_privs(true).map_err(|error| refused("set no_new_privs", &error.into()))?;
    let filtered = filter::install(needs)?;
    if !filtered {
        tracing::warn!("system calls are not filtered: this kernel or processor has no filter that we know");
    }
    tracing::debug!(?kept, filtered, "gave up all other privileges");
    Ok(Confinement { kept, filtered })
}

/// Whether a path, or the nearest directory above it that is there, belongs to another user than this process, or can be
/// reached through what does not let everybody pass.
fn is_of_another(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut existing = absolute.ancestors().filter_map(|it| it.metadata().ok());
    let is_closed = |above: std::fs::Metadata| above.uid() != own && above.mode() & ENTERED_BY_ALL == 0;
    existing.next().is_some_and(|it| it.uid() != own) || existing.any(is_closed)
}

fn refused(what: &'static str, error: &std::io::Error) -> PrivilegesError {
    PrivilegesError::Refused { what, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_is_not_needed_is_not_asked_for() {
        let network = Needs { network: true, ..Needs::default() };
        let table = [
            (Needs::default(), CapabilitySet::empty()),
            (network, CapabilitySet::NET_ADMIN),
            (
                Needs { low_ports: true, ..network },
                CapabilitySet::NET_ADMIN | CapabilitySet::NET_BIND_SERVICE,
            ),
            (
                Needs { files_of_others: true, ..network },
                CapabilitySet::NET_ADMIN | CapabilitySet::DAC_OVERRIDE,
            ),
        ];
        for (needs, want) in table {
            assert_eq!(needs.capabilities(), want, "{needs:?}");
        }
    }

    #[test]
    fn files_of_others_are_told_by_their_owner_and_the_way_to_them() {
        let directory = std::env::temp_dir().join(format!("guestright-privileges-{}", std::process::id()));
        let inner = directory.join("inner");
        std::fs::create_dir_all(&inner).unwrap();
        let file = inner.join("state/file");
        let needs = |path: &Path| Needs::default().with_files(&[path]).files_of_others;
        let own = [needs(&directory), needs(&inner), needs(&file)];
        let mut others = Vec::new();
        if rustix::process::geteuid().is_root() {
            // Somebody's directory, in which ours lies.
            std::os::unix::fs::chown(&directory, Some(12_345), None).unwrap();
            for mode in [0o755, 0o700] {
                std::fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
                others.push([needs(&directory), needs(&directory.join("new")), needs(&file)]);
            }
        }
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(own, [false; 3]);
        assert!(others.is_empty() || others == [[true, true, false], [true; 3]], "{others:?}");
    }

    #[test]
    fn refuses_while_other_threads_would_keep_everything() {
        let (stop, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        assert!(matches!(confine(Needs::default()), Err(PrivilegesError::Threads { got }) if got > 1));
        drop(stop);
        other.join().unwrap().unwrap_err();
    }
}
