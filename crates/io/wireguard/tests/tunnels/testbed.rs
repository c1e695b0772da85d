//! The place where the tests happen: a client and a server, a router with NAT between them, somebody behind the
//! client; and the ends of tunnels in this process.

use guestright_netns::testing::{self, PATIENCE};
use guestright_netns::{LinkOptions, Process, World};
use guestright_tun::{Device, DeviceSettings, Pump, Socket, SocketSettings};
use guestright_tunnel::wireguard::{PrivateKey, PublicKey};
use guestright_units::Micros;
use guestright_wireguard::{Peer, Userspace, UserspaceSettings};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The server, as the client's network reaches it, and its tunnel's port.
pub(crate) const SERVER: &str = "198.51.100.2:51820";
pub(crate) const PORT: u16 = 51_820;
/// The ends inside the tunnel.
pub(crate) const INSIDE_CLIENT: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);
pub(crate) const INSIDE_SERVER: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);

pub(crate) struct Testbed {
    pub(crate) world: World,
    pub(crate) folder: PathBuf,
}

/// One end of a tunnel in this process.
pub(crate) struct End {
    pub(crate) core: Arc<Userspace>,
    pub(crate) pump: Pump,
}

impl Testbed {
    /// Outside: runs the test of this name in a sandbox and returns nothing. Inside: builds the place.
    pub(crate) fn inside(test: &str) -> Option<Self> {
        testing::inside(test).then(Self::build)
    }

    fn build() -> Self {
        let mut world = World::new("gr-wgtest-").unwrap();
        for host in ["client", "router", "server", "behind"] {
            world.add_host(host).unwrap();
            world.up(host, "lo").unwrap();
            // The kernel's own questions for routers would be packets without a way.
            for which in ["all", "default"] {
                world.sysctl(host, &format!("net.ipv6.conf.{which}.disable_ipv6"), "1").unwrap();
            }
        }
        let options = LinkOptions { segmentation_offload: false, ..LinkOptions::default() };
        world.link(("client", "eth0"), ("router", "lan0"), &options).unwrap();
        world.link(("server", "eth0"), ("router", "wan0"), &options).unwrap();
        world.link(("behind", "eth0"), ("client", "eth1"), &options).unwrap();
        for (host, interface, address) in [
            ("client", "eth0", "10.10.0.2/24"),
            ("router", "lan0", "10.10.0.1/24"),
            ("router", "wan0", "198.51.100.1/24"),
            ("server", "eth0", "198.51.100.2/24"),
            ("client", "eth1", "10.20.0.1/24"),
            ("behind", "eth0", "10.20.0.2/24"),
        ] {
            world.address(host, interface, address).unwrap();
        }
        world.route("client", "default", "10.10.0.1").unwrap();
        world.route("behind", "default", "10.20.0.1").unwrap();
        for host in ["router", "client"] {
            world.sysctl(host, "net.ipv4.ip_forward", "1").unwrap();
        }
        let rules = "table ip nat { chain out { type nat hook postrouting priority 100; oifname wan0 masquerade; }; }";
        world.run("router", "nft", &[rules]).unwrap();
        Self { world, folder: tempfile::tempdir().unwrap().keep() }
    }

    /// An end on a host; `peers` are what it knows.
    pub(crate) fn end(&self, host: &str, key: &PrivateKey, peers: &[Peer]) -> End {
        let (inside, port) = if host == "server" { (INSIDE_SERVER, PORT) } else { (INSIDE_CLIENT, 0) };
        let settings = UserspaceSettings { impatient_after: Some(Micros::from_seconds(5)) };
        let core = Arc::new(Userspace::new(key, settings));
        for peer in peers {
            core.set_peer(peer).unwrap();
        }
        let device = DeviceSettings {
            addresses: vec![(inside.into(), 24)],
            ..DeviceSettings::new("tunnel0", DeviceSettings::WIREGUARD_MTU)
        };
        let bind = (Ipv4Addr::UNSPECIFIED, port).into();
        let (device, socket) = self.on(host, || {
            let socket = Socket::open(&SocketSettings { bind, ..SocketSettings::default() }).unwrap();
            (Device::open(&device).unwrap(), socket)
        });
        let endpoint = Arc::clone(&core);
        End { core, pump: Pump::start(device, socket, endpoint, |error| panic!("{error}")).unwrap() }
    }

    /// Two ends of ours that know one another; the client knows where the server is.
    pub(crate) fn pair(&self) -> (End, End) {
        let server = self.end("server", &key(1), &[client_peer()]);
        (self.end("client", &key(2), &[server_peer()]), server)
    }

    pub(crate) fn on<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> T {
        self.world.within(host, work).unwrap()
    }

    pub(crate) fn ping(&self, from: &str, arguments: &[&str]) -> bool {
        let mut command = self.world.command(from, "ping").unwrap();
        command.args(["-n", "-c", "1", "-W", "1"]).args(arguments).output().unwrap().status.success()
    }

    pub(crate) fn spawn(&self, host: &str, program: &str, arguments: &[&str]) -> Process {
        let log = self.folder.join(format!("{host}-{}.log", program.rsplit('/').next().unwrap()));
        self.world.spawn(host, program, arguments, &log).unwrap()
    }

    /// Moves `megabytes` with TCP, and looks at every byte. Returns how long it took.
    pub(crate) fn carry(&self, from: &str, to: &str, address: Ipv4Addr, megabytes: usize) -> Duration {
        let started = Instant::now();
        self.flow(from, to, address, megabytes).join().unwrap();
        started.elapsed()
    }

    /// A TCP connection that moves so much; joining the thread waits for its end.
    pub(crate) fn flow(&self, from: &str, to: &str, address: Ipv4Addr, megabytes: usize) -> JoinHandle<()> {
        let listener = self.on(to, || TcpListener::bind((address, 0)).unwrap());
        let target = listener.local_addr().unwrap();
        let mut sender = self.on(from, || TcpStream::connect_timeout(&target, PATIENCE).unwrap());
        let (mut receiver, _) = listener.accept().unwrap();
        for stream in [&sender, &receiver] {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        std::thread::spawn(move || {
            let writer = std::thread::spawn(move || {
                (0..megabytes).for_each(|number| sender.write_all(&megabyte(number)).unwrap());
            });
            let mut got = vec![0; 1 << 20];
            for number in 0..megabytes {
                receiver.read_exact(&mut got).unwrap();
                assert!(got == megabyte(number), "megabyte {number} is as it was sent");
            }
            assert_eq!(receiver.read(&mut got).unwrap(), 0, "and then it ends");
            writer.join().unwrap();
        })
    }

    /// A UDP socket on a host that forbids fragments, connected.
    pub(crate) fn unfragmented(&self, host: &str, target: (Ipv4Addr, u16)) -> UdpSocket {
        let socket = self.on(host, || UdpSocket::bind("0.0.0.0:0").unwrap());
        socket.connect(SocketAddr::from(target)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        #[expect(unsafe_code, reason = "no safe crate of ours has this option")]
        // SAFETY: the descriptor is open, and the pointer is to a c_int whose size is given.
        let status = unsafe {
            use std::os::fd::AsRawFd as _;
            let value: libc::c_int = libc::IP_PMTUDISC_DO;
            let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap();
            let value = (&raw const value).cast();
            libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, value, length)
        };
        assert_eq!(status, 0);
        socket
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn key(number: u8) -> PrivateKey {
    PrivateKey::from_random([number; 32])
}

fn public(number: u8) -> PublicKey {
    key(number).public()
}

/// The client, as the server knows it: it and who is behind it.
pub(crate) fn client_peer() -> Peer {
    let allowed_ips = vec!["10.98.0.2/32".parse().unwrap(), "10.20.0.0/24".parse().unwrap()];
    Peer { allowed_ips, ..Peer::new(public(2)) }
}

/// The server, as the client knows it.
pub(crate) fn server_peer() -> Peer {
    let allowed_ips = vec!["10.98.0.0/24".parse().unwrap()];
    Peer { allowed_ips, address: Some(SERVER.parse().unwrap()), ..Peer::new(public(1)) }
}

/// Bytes that say where they belong.
fn megabyte(number: usize) -> Vec<u8> {
    let mut state = u32::try_from(number).unwrap().wrapping_mul(0x9e37_79b9) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()
    };
    (0..1 << 18).flat_map(|_| next()).collect()
}
