//! Hosts, the links between them, and what runs on them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guestright_command::CommandError;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;

use crate::{NetnsError, Process, tool};

/// The kernel's limit on interface names, without the terminating zero (`IFNAMSIZ` is 16).
const INTERFACE_NAME_MAX: usize = 15;
const HOST_NAME_MAX: usize = 64;

/// Every way a veth pair may hand on packets larger than its MTU. `gso` alone is not enough: UDP super-frames
/// have a switch of their own.
const OFFLOADS: [&str; 5] = ["tso", "gso", "gro", "tx-udp-segmentation", "tx-gso-list"];

/// What a link is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// Largest packet in bytes; `None` leaves the kernel's 1,500.
    pub mtu: Option<u32>,
    /// Whether the kernel may carry many segments as one super-frame. A lab that measures turns it off and
    /// checks the mean frame size with [`World::counters`].
    pub segmentation_offload: bool,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self { mtu: None, segmentation_offload: true }
    }
}

/// What the kernel counted on one interface, link-layer headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    pub received_bytes: u64,
    pub received_frames: u64,
    pub sent_bytes: u64,
    pub sent_frames: u64,
}

/// Hosts on this computer, each a network namespace. All are removed when it is dropped.
///
/// Processes started by [`World::spawn`] belong to the caller; a host's namespace lives as long as one of
/// them.
#[derive(Debug)]
pub struct World {
    prefix: String,
    hosts: BTreeSet<String>,
}

impl World {
    /// An empty world. `prefix` begins the names of its namespaces, so that worlds do not collide.
    ///
    /// # Errors
    /// A prefix that is no name.
    pub fn new(prefix: &str) -> Result<Self, NetnsError> {
        check_name("a world's prefix", prefix, HOST_NAME_MAX)?;
        Ok(Self { prefix: prefix.to_owned(), hosts: BTreeSet::new() })
    }

    /// Adds a host with nothing but its loopback interface, which is up.
    ///
    /// # Errors
    /// A bad or known name, or the kernel refuses.
    pub fn add_host(&mut self, host: &str) -> Result<(), NetnsError> {
        check_name("a host", host, HOST_NAME_MAX)?;
        if self.hosts.contains(host) {
            return Err(NetnsError::DuplicateHost { got: host.to_owned() });
        }
        tool::run("ip", &["netns", "add", &self.full_name(host)])?;
        self.hosts.insert(host.to_owned());
        self.up(host, "lo")
    }

    /// Removes a host and its ends of links (the other ends go with them).
    ///
    /// # Errors
    /// No such host, or the kernel refuses.
    pub fn remove_host(&mut self, host: &str) -> Result<(), NetnsError> {
        tool::run("ip", &["netns", "delete", &self.namespace(host)?])?;
        self.hosts.remove(host);
        Ok(())
    }

    /// The name of a host's namespace, as `ip netns` knows it.
    ///
    /// # Errors
    /// No such host.
    pub fn namespace(&self, host: &str) -> Result<String, NetnsError> {
        if self.hosts.contains(host) {
            Ok(self.full_name(host))
        } else {
            Err(NetnsError::UnknownHost { got: host.to_owned() })
        }
    }

    /// Joins two hosts by a cable: `(host, interface)` at either end, both up.
    ///
    /// # Errors
    /// Bad names, no such host, or the kernel refuses.
    pub fn link(&self, a: (&str, &str), b: (&str, &str), options: &LinkOptions) -> Result<(), NetnsError> {
        let names = (self.namespace(a.0)?, self.namespace(b.0)?);
        check_name("an interface", a.1, INTERFACE_NAME_MAX)?;
        check_name("an interface", b.1, INTERFACE_NAME_MAX)?;
        // One command for as much as can be: the kernel takes longer to begin one than to carry it out. The far end cannot come up
        // before the near one is there.
        let mtu = options.mtu.map(|mtu| mtu.to_string());
        let mtu: Vec<&str> = mtu.iter().flat_map(|mtu| ["mtu", mtu.as_str()]).collect();
        let mut arguments = vec!["link", "add", "name", a.1, "netns", &names.0];
        arguments.extend(&mtu);
        if options.segmentation_offload {
            arguments.push("up");
        }
        arguments.extend(["type", "veth", "peer", "name", b.1, "netns", &names.1]);
        arguments.extend(&mtu);
        tool::run("ip", &arguments)?;
        if !options.segmentation_offload {
            self.segmentation_offload_off(a.0, a.1)?;
            self.segmentation_offload_off(b.0, b.1)?;
            self.up(a.0, a.1)?;
        }
        self.up(b.0, b.1)
    }

    /// Adds a bridge to a host, up. An access point's visitors each get a link, and the links one bridge.
    ///
    /// # Errors
    /// A bad name, no such host, or the kernel refuses.
    pub fn add_bridge(&self, host: &str, bridge: &str) -> Result<(), NetnsError> {
        check_name("a bridge", bridge, INTERFACE_NAME_MAX)?;
        self.ip(host, &["link", "add", "name", bridge, "up", "type", "bridge"])
    }

    /// Puts a host's interface on its bridge. An `isolated` one reaches no other isolated one, as on a
    /// wireless network with client isolation.
    ///
    /// # Errors
    /// No such host or interface, or the kernel refuses.
    pub fn attach(
        &self,
        host: &str,
        interface: &str,
        bridge: &str,
        isolated: bool,
    ) -> Result<(), NetnsError> {
        self.ip(host, &["link", "set", interface, "master", bridge])?;
        if isolated {
            self.ip(host, &["link", "set", interface, "type", "bridge_slave", "isolated", "on"])?;
        }
        Ok(())
    }

    /// Gives an interface an address with its prefix length, for example `10.0.0.1/24`.
    ///
    /// # Errors
    /// No such host or interface, or a bad address.
    pub fn address(&self, host: &str, interface: &str, cidr: &str) -> Result<(), NetnsError> {
        // Nobody else has it here. Without `nodad` an IPv6 address is tentative, and nothing can be bound to it, until the kernel
        // has looked for another holder: even where it does not look, that is decided later.
        self.ip(host, &["address", "add", cidr, "dev", interface, "nodad"])
    }

    /// Gives an interface a hardware address.
    ///
    /// # Errors
    /// No such host or interface, or a bad address.
    pub fn hardware_address(&self, host: &str, interface: &str, address: &str) -> Result<(), NetnsError> {
        self.ip(host, &["link", "set", interface, "address", address])
    }

    /// Routes `destination` (`default`, or a network) through a neighbour.
    ///
    /// # Errors
    /// No such host, or the kernel refuses.
    pub fn route(&self, host: &str, destination: &str, via: &str) -> Result<(), NetnsError> {
        self.ip(host, &["route", "add", destination, "via", via])
    }

    /// Brings an interface up.
    ///
    /// # Errors
    /// No such host or interface.
    pub fn up(&self, host: &str, interface: &str) -> Result<(), NetnsError> {
        self.ip(host, &["link", "set", interface, "up"])
    }

    /// Sets a kernel parameter of a host's network, for example `net.ipv4.ip_forward`.
    ///
    /// # Errors
    /// No such host or parameter.
    pub fn sysctl(&self, host: &str, parameter: &str, value: &str) -> Result<(), NetnsError> {
        let path = PathBuf::from("/proc/sys").join(parameter.replace('.', "/"));
        let written = self.within(host, || std::fs::write(&path, value))?;
        written
            .map_err(|error| NetnsError::File { path: path.display().to_string(), reason: error.to_string() })
    }

    /// What the kernel counted on an interface.
    ///
    /// # Errors
    /// No such host or interface.
    pub fn counters(&self, host: &str, interface: &str) -> Result<LinkCounters, NetnsError> {
        let name = self.namespace(host)?;
        let text = tool::run("ip", &["-n", &name, "-s", "-j", "link", "show", "dev", interface])?;
        let parsed: Value = serde_json::from_str(&text).unwrap_or_default();
        let count = |direction: &str, what: &str| {
            parsed[0]["stats64"][direction][what].as_u64().ok_or_else(|| CommandError::Failed {
                command: format!("ip -n {name} -s -j link show dev {interface}"),
                status: "unreadable answer".to_owned(),
                stderr: text.clone(),
                hint: " This needs iproute2 5.0 or later.",
            })
        };
        Ok(LinkCounters {
            received_bytes: count("rx", "bytes")?,
            received_frames: count("rx", "packets")?,
            sent_bytes: count("tx", "bytes")?,
            sent_frames: count("tx", "packets")?,
        })
    }

    /// A command that runs `program` on a host (`tokio::process::Command::from` takes it too).
    ///
    /// # Errors
    /// No such host.
    pub fn command(&self, host: &str, program: impl AsRef<OsStr>) -> Result<Command, NetnsError> {
        let mut command = tool::command("ip");
        command.args(["netns", "exec", &self.namespace(host)?]).arg(program);
        Ok(command)
    }

    /// Runs a program on a host to its end and returns what it printed.
    ///
    /// # Errors
    /// No such host, or the program failed.
    pub fn run(&self, host: &str, program: &str, arguments: &[&str]) -> Result<String, NetnsError> {
        // It goes there by itself.
        if program == "ip" {
            return tool::run("ip", &[&["-n", &self.namespace(host)?], arguments].concat());
        }
        let mut command = self.command(host, program)?;
        command.args(arguments).stdin(Stdio::null());
        let output = tool::output(&mut command)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts a program on a host, with both its outputs in the file `log`.
    ///
    /// # Errors
    /// No such host, no such program, or the file cannot be made.
    pub fn spawn<I, S>(
        &self,
        host: &str,
        program: impl AsRef<OsStr>,
        arguments: I,
        log: &Path,
    ) -> Result<Process, NetnsError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let broken = |error: std::io::Error| NetnsError::File {
            path: log.display().to_string(),
            reason: error.to_string(),
        };
        let file = File::create(log).map_err(broken)?;
        let mut command = self.command(host, program)?;
        command.args(arguments).stdin(Stdio::null());
        command.stdout(file.try_clone().map_err(broken)?).stderr(file);
        let child = command.spawn().map_err(|error| tool::start_error(&command, &error))?;
        Ok(Process::new(child, tool::line(&command), log))
    }

    /// Runs `work` on a thread that stands in a host's network: sockets that it opens belong to that host,
    /// also after it returned them.
    ///
    /// # Errors
    /// No such host, or the thread could not move there.
    pub fn within<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
        let path = format!("/var/run/netns/{}", self.namespace(host)?);
        let broken =
            |error: std::io::Error| NetnsError::File { path: path.clone(), reason: error.to_string() };
        let file = File::open(&path).map_err(broken)?;
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
                Ok(work())
            });
            match thread.join() {
                Ok(outcome) => outcome.map_err(|error: rustix::io::Errno| broken(error.into())),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Turns off every way in which the kernel carries several segments as one frame.
    fn segmentation_offload_off(&self, host: &str, interface: &str) -> Result<(), NetnsError> {
        let mut command = tool::command("ethtool");
        command.arg("-K").arg(interface);
        for offload in OFFLOADS {
            command.args([offload, "off"]);
        }
        // From a thread in that network rather than by `ip netns exec`, so that a missing ethtool is named.
        self.within(host, || tool::output(&mut command).map(|_| ()))?
    }

    fn ip(&self, host: &str, arguments: &[&str]) -> Result<(), NetnsError> {
        self.run(host, "ip", arguments).map(|_| ())
    }

    fn full_name(&self, host: &str) -> String {
        format!("{}{host}", self.prefix)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for host in &self.hosts {
            if let Err(error) = tool::run("ip", &["netns", "delete", &self.full_name(host)]) {
                tracing::warn!(%error, "a host could not be removed");
            }
        }
    }
}

fn check_name(what: &'static str, got: &str, length_max: usize) -> Result<(), NetnsError> {
    let fits = (1..=length_max).contains(&got.len())
        && got.starts_with(|first: char| first.is_ascii_alphanumeric())
        && got.chars().all(|each| each.is_ascii_alphanumeric() || "-_.".contains(each));
    if fits { Ok(()) } else { Err(NetnsError::Name { what, got: got.to_owned(), length_max }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_names_that_a_tool_would_misread() {
        for name in ["", "-d", "a b", "a/b", "..", "a\nb", "interface-name-x"] {
            assert!(check_name("an interface", name, INTERFACE_NAME_MAX).is_err(), "{name:?}");
        }
        assert_eq!(check_name("an interface", "eth0.1_a-b", INTERFACE_NAME_MAX), Ok(()));
    }

    #[test]
    fn a_stranger_host_is_an_error_that_names_it() {
        let world = World::new("gr-fwtest-").expect("a good prefix");
        let error = world.up("nobody", "eth0").expect_err("no such host");
        assert_eq!(error.to_string(), "there is no host \"nobody\" in this world; add_host it first");
    }
}
