//! The place where the tests happen, and what can be done there.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::path::PathBuf;

use guestright_firewall::{Guard, KillSwitch, Passage, Surroundings};
use guestright_netns::testing::{self, PATIENCE};
use guestright_netns::{LinkOptions, World};
use socket2::{Domain, Socket, Type};

pub(crate) const V: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const MARK: u32 = 26_482;
const HOME: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 5), 51_820);

pub(crate) fn passage() -> Passage {
    Passage {
        interface: "gr-home".to_owned(),
        address: Ipv4Addr::new(10, 99, 0, 2),
        home: HOME,
        mark: MARK,
        table: MARK,
        resolver: Some(Ipv4Addr::new(10, 99, 0, 1)),
        guard: Guard::Met,
    }
}

pub(crate) fn surroundings() -> Surroundings {
    Surroundings { interface: "wlan0".to_owned(), access_point: V, port: 7_273, portal: false }
}

/// A visitor, an access point, an Internet, and a home at the other end of a cable that stands for a tunnel.
pub(crate) struct Testbed {
    pub(crate) world: World,
    pub(crate) folder: PathBuf,
}

impl Testbed {
    /// Outside: runs the test of this name in a sandbox and returns nothing. Inside: builds the place.
    pub(crate) fn inside(test: &str) -> Option<Self> {
        testing::inside(test).then(Self::build)
    }

    fn build() -> Self {
        let options = LinkOptions { segmentation_offload: false, ..LinkOptions::default() };
        let mut world = World::new("gr-visitor-").unwrap();
        for host in ["w", "v", "net", "h"] {
            world.add_host(host).unwrap();
            // Addresses can be used at once: nobody else is here who could have them.
            world.sysctl(host, "net.ipv6.conf.default.accept_dad", "0").unwrap();
        }
        world.link(("w", "wlan0"), ("v", "visitors"), &options).unwrap();
        world.link(("v", "wan0"), ("net", "eth0"), &options).unwrap();
        world.link(("w", "gr-home"), ("h", "tunnel"), &options).unwrap();
        // A tunnel has nothing of IPv6, and a cable that stands for one must not say so either.
        for (host, interface) in [("w", "gr-home"), ("h", "tunnel")] {
            world.sysctl(host, &format!("net.ipv6.conf.{interface}.disable_ipv6"), "1").unwrap();
        }
        for (host, interface, address) in [
            ("w", "wlan0", "10.77.0.2/24"),
            ("w", "wlan0", "fd00:77::2/64"),
            ("w", "gr-home", "10.99.0.2/32"),
            ("v", "visitors", "10.77.0.1/24"),
            ("v", "visitors", "fd00:77::1/64"),
            ("v", "wan0", "203.0.113.1/24"),
            ("net", "eth0", "203.0.113.5/24"),
            ("h", "tunnel", "10.99.0.1/32"),
            ("h", "tunnel", "192.0.2.1/32"),
        ] {
            world.address(host, interface, address).unwrap();
        }
        world.route("w", "default", "10.77.0.1").unwrap();
        world.run("w", "ip", &["-6", "route", "add", "default", "via", "fd00:77::1"]).unwrap();
        world.route("net", "default", "203.0.113.1").unwrap();
        world.run("h", "ip", &["route", "add", "10.99.0.2", "dev", "tunnel", "src", "10.99.0.1"]).unwrap();
        world.sysctl("v", "net.ipv4.ip_forward", "1").unwrap();
        Self { world, folder: PathBuf::from("/run") } // The sandbox's own; it goes with it.
    }

    pub(crate) fn state_file(&self) -> PathBuf {
        self.folder.join("switch.json")
    }

    pub(crate) fn on<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> T {
        self.world.within(host, work).unwrap()
    }

    pub(crate) fn close(&self) -> KillSwitch {
        self.on("w", || KillSwitch::close(passage(), surroundings(), &self.state_file())).unwrap()
    }

    pub(crate) fn held(&self, switch: &KillSwitch, kind: &str) -> u64 {
        self.on("w", || switch.held_back()).unwrap()[kind]
    }

    pub(crate) fn until_held(&self, switch: &KillSwitch, kind: &str, least: u64) {
        testing::until(kind, || self.held(switch, kind) >= least);
    }

    pub(crate) fn udp(&self, host: &str, address: &str) -> UdpSocket {
        let socket = self.on(host, || UdpSocket::bind(address)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// A socket that may be bound to the interface to the access point, and marked.
    pub(crate) fn socket(&self, host: &str, bound: bool, mark: Option<u32>, six: bool) -> Socket {
        self.on(host, || {
            let domain = if six { Domain::IPV6 } else { Domain::IPV4 };
            let socket = Socket::new(domain, Type::DGRAM, None).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            if !six {
                socket.set_broadcast(true).unwrap();
            }
            if bound {
                socket.bind_device(Some(b"wlan0")).unwrap();
            }
            if let Some(mark) = mark {
                socket.set_mark(mark).unwrap();
            }
            socket
        })
    }

    /// Sends a datagram.
    pub(crate) fn send(
        &self,
        host: &str,
        to: &str,
        bound: bool,
        mark: Option<u32>,
    ) -> std::io::Result<usize> {
        let scoped = to.contains("%wlan0");
        let address: SocketAddr = to.replace("%wlan0", "").parse().unwrap();
        let address = match address {
            SocketAddr::V6(six) if scoped => {
                let text = self.world.run(host, "ip", &["-o", "link", "show", "dev", "wlan0"]).unwrap();
                let scope = text.split(':').next().unwrap().trim().parse().unwrap();
                SocketAddrV6::new(*six.ip(), six.port(), 0, scope).into()
            }
            SocketAddr::V4(_) | SocketAddr::V6(_) => address,
        };
        let socket = self.socket(host, bound, mark, address.is_ipv6());
        socket.send_to(b"a datagram", &address.into())
    }

    /// A datagram there and one back; `seen_as` is the address that the other end sees.
    pub(crate) fn exchange(&self, from: (&str, Option<u32>), to: (&str, &str), seen_as: &str) {
        let server = self.udp(to.0, to.1);
        let client = self.socket(from.0, false, from.1, false);
        let address: SocketAddr = to.1.parse().unwrap();
        client.send_to(b"there", &address.into()).unwrap();
        let (_, sender) = server.recv_from(&mut [0; 10]).unwrap();
        assert_eq!(sender.ip().to_string(), seen_as);
        server.send_to(b"back", sender).unwrap();
        let mut buffer = [std::mem::MaybeUninit::uninit(); 10];
        assert_eq!(client.recv(&mut buffer).unwrap(), 4, "the answer of {} comes", to.1);
    }

    /// Applies a ruleset text on a host.
    pub(crate) fn nft(&self, host: &str, text: &str) {
        let file = self.folder.join("foreign.nft");
        fs::write(&file, text).unwrap();
        self.world.run(host, "nft", &["-f", file.to_str().unwrap()]).unwrap();
    }

    /// From now on, all that the visitor's interface brings to the access point is counted, but ARP.
    pub(crate) fn listen_at_the_access_point(&self) {
        self.nft(
            "v",
            "table netdev judge {
                counter heard { }
                counter datagrams { }
                chain everything {
                    type filter hook ingress device \"visitors\" priority 0; policy accept;
                    ether type arp accept
                    counter name \"heard\"
                    ip protocol udp counter name \"datagrams\"
                }
            }
            ",
        );
    }

    /// Everything that the access point heard from the visitor, for messages.
    pub(crate) fn judge(&self) -> String {
        self.world.run("v", "nft", &["list", "ruleset"]).unwrap()
    }

    /// Packets that the access point heard from the visitor.
    pub(crate) fn received_packets(&self) -> u64 {
        self.count("heard", "packets")
    }

    /// Bytes of UDP that the access point heard from the visitor, headers included.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.count("datagrams", "bytes")
    }

    fn count(&self, counter: &str, what: &str) -> u64 {
        let text = self.world.run("v", "nft", &["list", "counter", "netdev", "judge", counter]).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words.iter().position(|word| *word == what).unwrap();
        words[at + 1].parse().unwrap()
    }

    /// Everything on the visitor's computer that the switch may change.
    pub(crate) fn condition(&self) -> String {
        let script = "nft list ruleset; ip rule; ip -6 rule; ip route show table all; \
                      ip -6 route show table all | sed 's/expires [0-9]*sec//'; \
                      cat /proc/sys/net/ipv4/conf/all/src_valid_mark";
        self.world.run("w", "sh", &["-c", script]).unwrap()
    }
}
