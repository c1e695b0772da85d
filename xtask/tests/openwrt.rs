//! The package for OpenWrt without an OpenWrt: its scripts run in busybox's shell with stand-ins for what procd, uci and
//! ntpd bring, and its files and packages are looked at from outside.

#![allow(clippy::unwrap_used, reason = "a test says what broke by panicking")]

#[path = "openwrt/archive.rs"]
mod archive;
#[path = "openwrt/contents.rs"]
mod contents;
#[path = "openwrt/init.rs"]
mod init;

use std::path::{Path, PathBuf};

/// `packaging/openwrt`.
fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/openwrt")
}
