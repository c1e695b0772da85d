//! WireGuard daemons that `wg` configures through their socket: boringtun-cli and wireguard-go.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::{Tunnel, find, first_line, require, wait_until};
use crate::lab::{CLIENT, Lab, Problem, SERVER, SERVER_ADDRESS};

/// An address for each end of a WireGuard tunnel, also of ours.
pub(super) const SERVER_INNER: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
pub(super) const CLIENT_INNER: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);
pub(super) const PORT: u16 = 51_820;

/// 1,500 less 20 IPv4, 8 UDP, 32 of WireGuard, and the 20 that IPv6 outside would take more.
const MTU: &str = "1420";

/// A program that stays in the foreground and makes an interface, both told by its arguments.
pub(super) struct Implementation {
    program: &'static str,
    flags: &'static [&'static str],
}

pub(super) const BORINGTUN: Implementation =
    Implementation { program: "boringtun-cli", flags: &["--foreground", "--disable-drop-privileges"] };
/// `go install` names it after the last part of its module's path.
pub(super) const WIREGUARD_GO: Implementation = Implementation { program: "wireguard", flags: &["-f"] };
pub(super) const WIREGUARD_GO_2022: Implementation =
    Implementation { program: "wireguard-go", flags: &["-f"] };

pub(super) fn start(lab: &Lab, implementation: &Implementation) -> Result<Tunnel, Problem> {
    let program = require(implementation.program)?;
    require("wg")?;
    let mut daemons = Vec::new();
    for host in [SERVER, CLIENT] {
        let interface = interface(host);
        let mut arguments = implementation.flags.to_vec();
        arguments.push(&interface);
        daemons.push(lab.spawn(host, &program, &arguments, host)?);
        let socket = format!("/var/run/wireguard/{interface}.sock");
        let daemon = daemons.last_mut().expect("just pushed");
        // The file is there before anybody listens; `wg` would take that for an interface of the kernel's.
        wait_until(daemon, "a control socket", |_| UnixStream::connect(&socket).is_ok())?;
    }
    let (server, client) = (Key::new()?, Key::new()?);
    let server_key = lab.write("server.key", &server.private)?;
    let client_key = lab.write("client.key", &client.private)?;
    let (inner, port) = (format!("{CLIENT_INNER}/32"), PORT.to_string());
    let set = |host: &str, arguments: &[&str]| -> Result<()> {
        let interface = interface(host);
        let all: Vec<&str> = ["set", &interface].into_iter().chain(arguments.iter().copied()).collect();
        lab.world.run(host, "wg", &all).map(|_| ()).context("configure by wg")
    };
    #[rustfmt::skip]
    set(SERVER, &[
        "listen-port", &port, "private-key", &server_key, "peer", &client.public, "allowed-ips", &inner,
    ])?;
    let endpoint = format!("{SERVER_ADDRESS}:{PORT}");
    #[rustfmt::skip]
    set(CLIENT, &[
        "private-key", &client_key, "peer", &server.public, "allowed-ips", "10.98.0.0/24", "endpoint", &endpoint,
    ])?;
    for (host, inner) in [(SERVER, SERVER_INNER), (CLIENT, CLIENT_INNER)] {
        let interface = interface(host);
        lab.world.address(host, &interface, &format!("{inner}/24"))?;
        lab.world.run(host, "ip", &["link", "set", &interface, "mtu", MTU, "up"])?;
    }
    Ok(Tunnel { daemons, server: SERVER_INNER })
}

pub(super) fn version(implementation: &Implementation) -> Option<String> {
    let program = find(implementation.program)?;
    // Go writes the version of the module into the program; what wireguard-go says itself is older.
    let by_go = find("go").and_then(|go| {
        let output = Command::new(go).args(["version", "-m"]).arg(&program).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().map(str::trim).find(|line| line.starts_with("mod"))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        Some(format!("{} {}", words.get(1)?, words.get(2)?)).filter(|found| !found.ends_with("(devel)"))
    });
    by_go.or_else(|| first_line(&program, &["--version"]))
}

/// Both ends' sockets lie in one directory, so their names differ.
fn interface(host: &str) -> String {
    format!("wt{host}")
}

/// A key pair in WireGuard's text form.
pub(super) struct Key {
    pub(super) private: String,
    pub(super) public: String,
}

impl Key {
    pub(super) fn new() -> Result<Self> {
        let private = wg(&["genkey"], "")?;
        let public = wg(&["pubkey"], &private)?;
        Ok(Self { private, public })
    }
}

fn wg(arguments: &[&str], input: &str) -> Result<String> {
    let mut command = Command::new("wg");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("start wg (package wireguard-tools)")?;
    child.stdin.take().context("a pipe to wg")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "wg {}: {}", arguments.join(" "), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
