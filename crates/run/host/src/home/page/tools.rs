//! What the page needs and a home has not: the team's key, and a past that is decided again.

use guestright_error::RunError;
use guestright_overview::Key;
use guestright_page::{DryRun, TunnelOrPhone};
use guestright_roaming::home::Config;
use guestright_units::UnixSeconds;
use std::fmt;
use zeroize::Zeroizing;

/// Who does for the page what takes its time or needs the team's key. The home calls it on threads that may wait, and goes on.
pub trait Tools: fmt::Debug + Send + Sync {
    /// Decides what has come since then again. `progress` is called now and then with how much of how much is done.
    ///
    /// # Errors
    /// The past cannot be read, or `progress` has said no.
    fn dry_run(
        &self,
        trial: &Trial,
        progress: &mut dyn FnMut(u64, u64) -> Result<(), RunError>,
    ) -> Result<DryRun, RunError>;

    /// Changes a member of the team. The home reads members' files again after that.
    ///
    /// # Errors
    /// The team's key is not here or is encrypted, nobody has the key, somebody has the name, or a file cannot be written.
    fn change_member(&self, change: &MemberChange) -> Result<Option<MadeCode>, RunError>;
}

/// Two policies to be tried on the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    pub in_force: Config,
    pub other: Config,
    /// Sessions from then on are counted.
    pub since: UnixSeconds,
}

/// What is to become of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberChange {
    /// A new one, with what is its first device's.
    Add(MemberWish),
    /// A code for another device.
    Code {
        key: Key,
        kind: TunnelOrPhone,
    },
    Renew {
        key: Key,
    },
    Revoke {
        key: Key,
    },
}

/// A new member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberWish {
    pub name: String,
    pub kind: TunnelOrPhone,
}

/// A picture to scan.
#[expect(missing_debug_implementations, reason = "it may hold a secret")]
pub struct MadeCode {
    /// As SVG.
    pub svg: Zeroizing<String>,
    /// The same as an address, where it is one.
    pub link: Option<String>,
    /// How many seconds it is shown, and works if it is a link.
    pub seconds: u64,
}
