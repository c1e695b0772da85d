//! A stock WireGuard client: `wg-quick`, with the kernel's WireGuard or the reference implementation.

use guestright_netns::World;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// `wg-quick`, and what it calls.
#[derive(Debug)]
pub(crate) struct Quick {
    tools: PathBuf,
}

impl Quick {
    /// Makes in a directory what wg-quick(8) gives the configuration's `DNS` to, through a pipe: who does not read breaks it.
    pub(crate) fn prepare(directory: &Path) -> Self {
        let tools = directory.join("tools");
        std::fs::create_dir(&tools).unwrap();
        let resolvconf = tools.join("resolvconf");
        std::fs::write(&resolvconf, "#!/bin/sh\n[ \"$1\" != -a ] || cat >/dev/null\n").unwrap();
        std::fs::set_permissions(&resolvconf, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { tools }
    }

    /// Brings a tunnel up, or down.
    pub(crate) fn run(&self, world: &World, order: &str, host: &str, config: &Path) {
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.tools.display());
        let mut command = world.command(host, "wg-quick").unwrap();
        command.arg(order).arg(config).env("PATH", path);
        command.env("WG_QUICK_USERSPACE_IMPLEMENTATION", "wireguard-go");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
