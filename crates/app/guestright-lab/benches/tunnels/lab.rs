//! Client, router and server, and what passed between them.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use guestright_netns::{LinkCounters, LinkOptions, Process, World};
use serde_json::Value;

pub(crate) const CLIENT: &str = "cl";
pub(crate) const ROUTER: &str = "rt";
pub(crate) const SERVER: &str = "sv";

/// The server as the client sees it without a tunnel.
pub(crate) const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

/// An Ethernet frame without its check sequence: 14 bytes and 1,500. Longer ones do not exist on a real link.
pub(crate) const FRAME_MAX: f64 = 1_514.0;

/// The second table counts packets larger than the link could carry; both rules cost every path the same.
const RULES: &str = "\
table ip nat {
  chain out { type nat hook postrouting priority srcnat; policy accept; oifname \"wan0\" masquerade; }
}
table ip frames {
  chain pass { type filter hook forward priority filter; policy accept; meta length > 1500 counter; }
}
";

const REACH_TIMEOUT: Duration = Duration::from_secs(6);

/// Why there is no path.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The program is not on this computer.
    Absent(String),
    NoPath(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::NoPath(error.into())
    }
}

/// The three hosts of one measurement, with a directory for what is written there.
pub(crate) struct Lab {
    pub(crate) world: World,
    pub(crate) directory: PathBuf,
}

impl Lab {
    pub(crate) fn build(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory).with_context(|| format!("make {}", directory.display()))?;
        let mut world = World::new("bench-")?;
        for host in [CLIENT, ROUTER, SERVER] {
            world.add_host(host)?;
        }
        let options = LinkOptions { segmentation_offload: false, ..LinkOptions::default() };
        world.link((CLIENT, "eth0"), (ROUTER, "lan0"), &options)?;
        world.link((SERVER, "eth0"), (ROUTER, "wan0"), &options)?;
        world.address(CLIENT, "eth0", "10.10.0.2/24")?;
        world.address(ROUTER, "lan0", "10.10.0.1/24")?;
        world.address(ROUTER, "wan0", "198.51.100.1/24")?;
        world.address(SERVER, "eth0", &format!("{SERVER_ADDRESS}/24"))?;
        world.route(CLIENT, "default", "10.10.0.1")?;
        world.sysctl(ROUTER, "net.ipv4.ip_forward", "1")?;
        let lab = Self { world, directory: directory.to_owned() };
        let rules = lab.write("rules.nft", RULES)?;
        lab.world.run(ROUTER, "nft", &["-f", &rules])?;
        Ok(lab)
    }

    /// Writes a file for a program and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<String> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.directory.join(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        // Keys are among them, and some programs insist.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(path.to_string_lossy().into_owned())
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.directory.join(name).to_string_lossy().into_owned()
    }

    /// Starts a daemon whose output goes to a log of that name.
    pub(crate) fn spawn<S: AsRef<OsStr>>(
        &self,
        host: &str,
        program: impl AsRef<OsStr>,
        arguments: &[S],
        log: &str,
    ) -> Result<Process> {
        Ok(self.world.spawn(host, program, arguments, &self.directory.join(format!("{log}.log")))?)
    }

    /// Whether packets that arrive at the two hosts are put together. The router never does it.
    pub(crate) fn set_receive_offload(&self, on: bool) -> Result<()> {
        for host in [CLIENT, SERVER] {
            self.world.run(host, "ethtool", &["-K", "eth0", "gro", if on { "on" } else { "off" }])?;
        }
        Ok(())
    }

    /// What the router sent and got on the outer link.
    pub(crate) fn wire(&self) -> Result<LinkCounters> {
        Ok(self.world.counters(ROUTER, "wan0")?)
    }

    /// How many packets above 1,500 bytes the router forwarded so far.
    pub(crate) fn oversize(&self) -> Result<u64> {
        let text = self.world.run(ROUTER, "nft", &["-j", "list", "chain", "ip", "frames", "pass"])?;
        let parsed: Value = serde_json::from_str(&text).context("parse the router's rules")?;
        let mut entries = parsed["nftables"].as_array().into_iter().flatten();
        let counted = entries.find_map(|entry| {
            let parts = entry["rule"]["expr"].as_array()?;
            parts.iter().find_map(|part| part["counter"]["packets"].as_u64())
        });
        counted.with_context(|| format!("no counter in {text}"))
    }

    /// Waits until a datagram from the client reaches the server's `address` and its answer comes back.
    pub(crate) fn wait_for_path(&self, address: Ipv4Addr) -> Result<()> {
        const PORT: u16 = 4_999;
        let open = |host: &str, port| -> Result<UdpSocket> {
            let socket = self.world.within(host, || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)))??;
            socket.set_read_timeout(Some(Duration::from_millis(50)))?;
            Ok(socket)
        };
        let (client, server) = (open(CLIENT, 0)?, open(SERVER, PORT)?);
        let began = Instant::now();
        let mut buffer = [0; 16];
        while began.elapsed() < REACH_TIMEOUT {
            // A daemon that is not there yet makes sending fail for a while.
            if client.send_to(b"home?", SocketAddr::new(IpAddr::V4(address), PORT)).is_err() {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            if let Ok((length, from)) = server.recv_from(&mut buffer) {
                server.send_to(&buffer[..length], from)?;
                if client.recv_from(&mut buffer).is_ok() {
                    return Ok(());
                }
            }
        }
        bail!("nothing came through to {address} within {} s", REACH_TIMEOUT.as_secs())
    }

    /// The last lines of every log, for a path that failed.
    pub(crate) fn last_words(&self) -> String {
        let mut words = String::new();
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut logs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        logs.retain(|path| path.extension().is_some_and(|end| end == "log"));
        logs.sort();
        for path in logs {
            let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let text = text.unwrap_or_default();
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let last = lines[lines.len().saturating_sub(4)..].join(" | ");
            // Writing to a String cannot fail.
            let _ = write!(words, "[{name}] {} ", if last.is_empty() { "said nothing" } else { &last });
        }
        words.trim_end().to_owned()
    }
}
