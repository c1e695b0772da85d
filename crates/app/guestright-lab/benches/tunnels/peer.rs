//! Bringing up a way home: one file for each kind.

mod openvpn;
mod ours;
mod strongswan;
mod wireguard;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use guestright_netns::Process;

use crate::lab::{Lab, Problem, SERVER_ADDRESS};
use crate::path::Way;

/// A path that carried a packet there and back. Dropping it ends the daemons.
pub(crate) struct Tunnel {
    /// Both ends.
    pub(crate) daemons: Vec<Process>,
    /// The server's address at the far end.
    pub(crate) server: Ipv4Addr,
}

pub(crate) fn bring_up(way: Way, lab: &Lab) -> Result<Tunnel, Problem> {
    let tunnel = match way {
        Way::Nat => Tunnel { daemons: Vec::new(), server: SERVER_ADDRESS },
        Way::OurEsp(suite) => ours::esp(lab, suite)?,
        Way::OurWireGuard => ours::wireguard(lab)?,
        Way::Boringtun => wireguard::start(lab, &wireguard::BORINGTUN)?,
        Way::WireGuardGo => wireguard::start(lab, &wireguard::WIREGUARD_GO)?,
        Way::WireGuardGo2022 => wireguard::start(lab, &wireguard::WIREGUARD_GO_2022)?,
        Way::Libipsec(suite) => strongswan::start(lab, suite)?,
        Way::OpenVpn => openvpn::start(lab)?,
    };
    lab.wait_for_path(tunnel.server)?;
    Ok(tunnel)
}

/// What the program says about itself, for the report; `None` if it is not here.
pub(crate) fn version(way: Way) -> Option<String> {
    match way {
        Way::Nat => None,
        Way::OurEsp(_) | Way::OurWireGuard => first_line(Path::new(ours::PROGRAM), &["--version"]),
        Way::Boringtun => wireguard::version(&wireguard::BORINGTUN),
        Way::WireGuardGo => wireguard::version(&wireguard::WIREGUARD_GO),
        Way::WireGuardGo2022 => wireguard::version(&wireguard::WIREGUARD_GO_2022),
        Way::Libipsec(_) => strongswan::version(),
        Way::OpenVpn => first_line(&find("openvpn")?, &["--version"]),
    }
}

/// Where `cargo xtask bench` puts the peers that no distribution has: `peers` beside the build's own directories.
fn peers() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    Some(own.parent()?.parent()?.parent()?.join("peers/bin"))
}

/// Finds a program among the peers, on the search path, and where administrators' programs are.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = peers().into_iter();
    let others = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin", "/usr/bin"].map(PathBuf::from));
    own.chain(others).map(|directory| directory.join(program)).find(|file| file.is_file())
}

fn require(program: &str) -> Result<PathBuf, Problem> {
    find(program).ok_or_else(|| Problem::Absent(format!("{program} is not installed")))
}

/// The first line that a program prints.
fn first_line(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
}

/// Waits for something that a daemon does, as long as it lives.
fn wait_until(daemon: &mut Process, what: &str, mut done: impl FnMut(&Process) -> bool) -> Result<()> {
    let began = Instant::now();
    while !done(daemon) {
        if let Some(status) = daemon.try_wait()? {
            bail!("`{}` ended ({status}) before there was {what}", daemon.line());
        }
        if began.elapsed() > Duration::from_secs(10) {
            bail!("`{}`: no {what} within 10 s", daemon.line());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
