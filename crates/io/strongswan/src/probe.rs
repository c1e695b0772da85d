//! What this computer has of strongSwan, and what its kernel can.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;

use guestright_command::system_command;

use crate::StrongswanError;

/// Where distributions put charon: Debian and OpenWrt, Fedora, Arch, and a build of one's own.
const CHARON: [&str; 5] = [
    "/usr/lib/ipsec/charon",
    "/usr/libexec/ipsec/charon",
    "/usr/libexec/strongswan/charon",
    "/usr/lib/strongswan/charon",
    "/usr/local/libexec/ipsec/charon",
];
const PLUGINS: [&str; 5] = [
    "/usr/lib/ipsec/plugins",
    "/usr/lib64/strongswan/plugins",
    "/usr/lib/strongswan/plugins",
    "/usr/lib64/ipsec/plugins",
    "/usr/local/lib/ipsec/plugins",
];

/// The strongSwan on this computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    pub charon: PathBuf,
    /// The directory of its plugins.
    pub plugins: PathBuf,
}

impl Installation {
    /// Looks in the usual places.
    ///
    /// # Errors
    /// There is no charon, or it cannot be driven.
    pub fn find() -> Result<Self, StrongswanError> {
        let first = |paths: [&str; 5]| paths.into_iter().map(PathBuf::from).find(|path| path.exists());
        let missing = |what: &str, package| StrongswanError::Missing { what: what.to_owned(), package };
        let charon = first(CHARON).ok_or_else(|| missing("charon (strongSwan)", "strongswan-charon"))?;
        let plugins = first(PLUGINS).ok_or_else(|| missing("strongSwan's plugins", "libstrongswan"))?;
        let found = Self { charon, plugins };
        if found.has("vici") {
            Ok(found)
        } else {
            Err(missing("strongSwan's plugin vici", "strongswan-swanctl"))
        }
    }

    /// Whether a plugin is there.
    #[must_use]
    pub fn has(&self, plugin: &str) -> bool {
        self.plugins.join(format!("libstrongswan-{plugin}.so")).exists()
    }

    /// Refuses where a plugin is not there, and names its package.
    ///
    /// # Errors
    /// It is not.
    pub fn require(&self, plugin: &str, package: &'static str) -> Result<(), StrongswanError> {
        let missing = || StrongswanError::Missing { what: format!("strongSwan's plugin {plugin}"), package };
        self.has(plugin).then_some(()).ok_or_else(missing)
    }
}

/// Whether the kernel has ESP: tried for real, in a network namespace that ends with the trial.
#[must_use]
pub fn kernel_has_esp() -> bool {
    #[rustfmt::skip]
    let trial = [
        "--net", "ip", "xfrm", "state", "add", "src", "127.0.0.1", "dst", "127.0.0.1", "proto", "esp", "spi", "0x1000",
        "mode", "tunnel", "aead", "rfc4106(gcm(aes))", "0x0000000000000000000000000000000000000000", "128",
    ];
    let mut command = system_command("unshare");
    command.args(trial);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Why there can be no PPP on this computer; nothing if there can.
#[must_use]
pub fn why_no_ppp() -> Option<&'static str> {
    // Opening it loads the kernel's part where that is a module.
    if File::options().read(true).write(true).open("/dev/ppp").is_err() {
        return Some("/dev/ppp cannot be opened, so it has no PPP (module ppp_generic), or we are not root");
    }
    None
}

/// The first place on the search path that has `program`.
pub(crate) fn find_program(program: &str, package: &'static str) -> Result<PathBuf, StrongswanError> {
    guestright_command::find_program(program)
        .ok_or_else(|| StrongswanError::Missing { what: format!("`{program}`"), package })
}
