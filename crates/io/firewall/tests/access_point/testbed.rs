//! The place where the tests happen, and what can be done there.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use guestright_firewall::{Firewall, MacAddress, Settings, Shaping};
use guestright_netns::testing::{self, PATIENCE};
use guestright_netns::{LinkOptions, Sandbox, World};
use rustix::net::sockopt;

pub(crate) const PORT: u16 = 4_500;
/// As many bytes as one likes.
pub(crate) const ALL: u64 = u64::MAX;
pub(crate) const W1: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub(crate) const W2: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 3);
pub(crate) const ACCESS_POINT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const SERVER: &str = "203.0.113.2:7000";

/// One leaf or parent of a queue, as tc shows it.
#[derive(Debug)]
pub(crate) struct QueueClass {
    pub(crate) ceiling: String,
    pub(crate) bytes: u64,
}

/// Two visitors on a bridge, their access point, a household behind it and an Internet before it.
pub(crate) struct Testbed {
    pub(crate) world: World,
    pub(crate) folder: PathBuf,
}

/// Answers every datagram with itself until dropped.
pub(crate) struct Echo {
    socket: UdpSocket,
    senders: Arc<Mutex<Vec<SocketAddr>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Testbed {
    pub(crate) fn inside(test: &str, offload: bool) -> Option<Self> {
        Self::inside_as(test, offload, None)
    }

    /// Outside: runs the test of this name in a sandbox and returns nothing. Inside: builds the place.
    pub(crate) fn inside_as(test: &str, offload: bool, part: Option<&str>) -> Option<Self> {
        const PART: &str = "GUESTRIGHT_TEST_PART";
        if Sandbox::inside() && part.is_some() && std::env::var(PART).ok().as_deref() != part {
            return None;
        }
        let arrange = |command: &mut Command| {
            command.arg("--include-ignored").env(PART, part.unwrap_or_default());
        };
        testing::inside_with(test, arrange).then(|| Self::build(offload))
    }

    pub(crate) fn build(segmentation_offload: bool) -> Self {
        let options = LinkOptions { segmentation_offload, ..LinkOptions::default() };
        let mut world = World::new("gr-fwtest-").unwrap();
        for host in ["ap", "w1", "w2", "home", "net"] {
            world.add_host(host).unwrap();
        }
        world.add_bridge("ap", "visitors").unwrap();
        for (number, host, port) in [(1, "w1", "port1"), (2, "w2", "port2")] {
            world.link((host, "eth0"), ("ap", port), &options).unwrap();
            world.attach("ap", port, "visitors", true).unwrap();
            world.hardware_address(host, "eth0", &mac(number).to_string()).unwrap();
            world.address(host, "eth0", &format!("10.77.0.{}/24", number + 1)).unwrap();
            world.route(host, "default", "10.77.0.1").unwrap();
        }
        world.link(("home", "eth0"), ("ap", "lan0"), &options).unwrap();
        world.link(("net", "eth0"), ("ap", "wan0"), &options).unwrap();
        for (host, interface, address) in [
            ("ap", "visitors", "10.77.0.1/24"),
            ("ap", "lan0", "192.168.1.1/24"),
            ("ap", "wan0", "203.0.113.1/24"),
            ("home", "eth0", "192.168.1.2/24"),
            ("net", "eth0", "203.0.113.2/24"),
            ("net", "eth0", "198.51.100.9/24"),
        ] {
            world.address(host, interface, address).unwrap();
        }
        world.route("ap", "default", "203.0.113.2").unwrap();
        world.route("home", "default", "192.168.1.1").unwrap();
        world.sysctl("ap", "net.ipv4.conf.lan0.forwarding", "1").unwrap();
        Self { world, folder: PathBuf::from("/run") } // The sandbox's own; it goes with it.
    }

    pub(crate) fn state_file(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    /// Grants last longer than any test, which need not renew them. What is about their end sets another lease.
    pub(crate) fn settings(&self) -> Settings {
        let network = (Ipv4Addr::new(10, 77, 0, 0), 24);
        let mut settings = Settings::new("visitors", "wan0", ACCESS_POINT, network, PORT);
        settings.lease_ms = 600_000;
        settings.household = vec![(Ipv4Addr::new(198, 51, 100, 0).into(), 24)];
        settings.shaping = Some(Shaping { down_bits_per_second: 64_000_000, up_bits_per_second: 64_000_000 });
        settings
    }

    pub(crate) fn up(&self) -> Firewall {
        self.up_with(self.settings())
    }

    pub(crate) fn up_with(&self, settings: Settings) -> Firewall {
        self.on("ap", || Firewall::up(settings, &self.state_file())).unwrap()
    }

    pub(crate) fn on<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> T {
        self.world.within(host, work).unwrap()
    }

    pub(crate) fn udp(&self, host: &str, address: &str) -> UdpSocket {
        let socket = self.on(host, || UdpSocket::bind(address)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        // Whoever reads it may have to wait for a processor. Not root: as much as the kernel allows.
        if sockopt::set_socket_recv_buffer_size_force(&socket, 4_000_000).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, 4_000_000).unwrap();
        }
        socket
    }

    /// How many datagrams found no room in a socket of this host.
    pub(crate) fn dropped_by_sockets(&self, host: &str) -> u64 {
        let counts = self.on(host, || std::fs::read_to_string("/proc/thread-self/net/snmp")).unwrap();
        let mut lines = counts.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let found = names.split(' ').zip(values.split(' ')).find(|(name, _)| *name == "RcvbufErrors");
        found.unwrap().1.parse().unwrap()
    }

    pub(crate) fn echo(&self, host: &str, address: &str) -> Echo {
        let socket = self.udp(host, address);
        let senders = Arc::<Mutex<Vec<_>>>::default();
        let (serving, recorded) = (socket.try_clone().unwrap(), senders.clone());
        let thread = thread::spawn(move || {
            let mut buffer = [0; 2_000];
            loop {
                let (length, from) = match serving.recv_from(&mut buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    // Nobody has asked for long, and nobody will.
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                    received => received.expect("a socket of the test's own"),
                };
                if length == 0 {
                    return;
                }
                recorded.lock().unwrap().push(from);
                serving.send_to(&buffer[..length], from).unwrap();
            }
        });
        Echo { socket, senders, thread: Some(thread) }
    }

    /// A hundred datagrams of 1,000 bytes to the Internet, and back.
    pub(crate) fn exchange(&self, host: &str, address: Ipv4Addr) {
        let client = self.udp(host, &format!("{address}:5000"));
        for _ in 0..100 {
            client.send_to(&[0; 1_000], SERVER).unwrap();
            client.recv(&mut [0; 2_000]).unwrap();
        }
    }

    /// Downloads over TCP and returns how long it took.
    pub(crate) fn download(&self, host: &str, bytes: usize) -> Duration {
        self.download_from(7_001, host, bytes)
    }

    /// The same, from a port of the server's that nobody else downloads from.
    pub(crate) fn download_from(&self, port: u16, host: &str, bytes: usize) -> Duration {
        let listener = self.on("net", || TcpListener::bind(("203.0.113.2", port))).unwrap();
        let began = Instant::now();
        let mut client = self.on(host, || TcpStream::connect(("203.0.113.2", port))).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let sender = thread::spawn(move || server.write_all(&vec![7; bytes]).unwrap());
        client.read_exact(&mut vec![0; bytes]).unwrap();
        sender.join().unwrap();
        began.elapsed()
    }

    pub(crate) fn drops(&self, firewall: &mut Firewall) -> BTreeMap<String, u64> {
        let mut drops = self.on("ap", || firewall.drops()).unwrap();
        // The static filter sees only what a bridge hands up: with br_netfilter, nftables looks before it does.
        let barred = self.on("ap", || firewall.barred()).unwrap();
        let ours = ["between_visitors", "household4", "to_router"].map(|name| drops[name]);
        drops.insert("kept_out".to_owned(), barred + ours.iter().sum::<u64>());
        drops
    }

    /// Waits until each counter shows at least so many packets.
    pub(crate) fn wait_for_drops(&self, firewall: &mut Firewall, wanted: &[(&str, u64)]) {
        let short = || {
            let mut drops = self.drops(&mut *firewall);
            drops.retain(|name, count| wanted.iter().any(|(each, least)| each == name && *count < *least));
            drops
        };
        testing::eventually(BTreeMap::new(), short);
    }

    /// Applies a ruleset text on a host.
    pub(crate) fn nft(&self, host: &str, text: &str) {
        let file = self.folder.join("foreign.nft");
        fs::write(&file, text).unwrap();
        self.world.run(host, "nft", &["-f", file.to_str().unwrap()]).unwrap();
    }

    /// The bytes that a host's `judge` table counted.
    pub(crate) fn received_bytes(&self, host: &str) -> u64 {
        let text = self.world.run(host, "nft", &["list", "counter", "inet", "judge", "heard"]).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "bytes").unwrap();
        words[at + 1].parse().unwrap()
    }

    /// Everything that the firewall may change: ruleset, queues, forwarding.
    pub(crate) fn condition(&self) -> String {
        let script = "nft list ruleset; tc qdisc show | sed 's/direct_packets_stat [0-9]*//'; ip rule; \
                      ip -6 rule; ip route show table 7274 2> /dev/null; \
                      tc filter show dev visitors ingress; tc filter show dev port1 ingress; cd /proc/sys/net/ipv4; \
                      grep . ip_forward conf/*/forwarding conf/*/accept_redirects conf/*/src_valid_mark";
        self.world.run("ap", "sh", &["-c", script]).unwrap()
    }

    pub(crate) fn classes(&self, interface: &str) -> BTreeMap<String, QueueClass> {
        let text = self.world.run("ap", "tc", &["-s", "class", "show", "dev", interface]).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let after = |from: usize, word: &str| {
            let at = words[from..].iter().position(|each| *each == word).unwrap();
            words[from + at + 1]
        };
        let starts = words.windows(2).enumerate().filter(|(_, pair)| **pair == ["class", "htb"]);
        starts
            .map(|(at, _)| {
                let bytes = after(at, "Sent").parse().unwrap();
                (words[at + 2].to_owned(), QueueClass { ceiling: after(at, "ceil").to_owned(), bytes })
            })
            .collect()
    }
}

impl Echo {
    pub(crate) fn senders(&self) -> Vec<SocketAddr> {
        self.senders.lock().unwrap().clone()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // From the same host to itself: an empty datagram ends it.
        self.socket.send_to(&[], self.socket.local_addr().unwrap()).unwrap();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

pub(crate) fn mac(number: u8) -> MacAddress {
    MacAddress::new([2, 0, 0x5e, 0x10, 0, number]).unwrap()
}
