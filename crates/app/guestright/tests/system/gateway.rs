//! The home gateway: stock WireGuard clients come home through strangers' networks, and stay whatever happens.
//!
//! ```text
//!   alice ── cafe (NAT) ── net ── router (home with gateway, access point) ── lan: pc
//!     └───── office (NAT) ──┘
//!              └── bob
//! ```

use super::town::Program;
use super::town::services::{AccessLog, Way};
use super::town::{PATIENCE, Rules, Town, inside, succeeded, until};
use guestright_netns::LinkOptions;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The household's address on the Internet.
const HOME: &str = "198.51.100.2";
/// The gateway's address in the tunnel, and its members'.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 73, 5, 1);
const ALICE: Ipv4Addr = Ipv4Addr::new(10, 73, 5, 2);
const BOB: Ipv4Addr = Ipv4Addr::new(10, 73, 5, 3);
/// Services: an echo over TCP and UDP, and the household's resolver.
const ECHO: &str = "192.0.2.1:7";
const RESOLVER: &str = "192.0.2.1:53";

/// Two places abroad with a NAT each, and their numbers: `198.18.N.2` outside, `10.N.0.1` inside.
const SITES: [(&str, u8); 2] = [("cafe", 20), ("office", 30)];
/// Who is where.
const STAYS: [(&str, &str, u8, &str); 3] =
    [("alice", "cafe", 20, "eth0"), ("alice", "office", 30, "eth1"), ("bob", "office", 30, "eth0")];

/// The town, two places abroad, and two members there with nothing but stock programs.
struct Abroad {
    town: Town,
}

impl Abroad {
    /// Builds everything; the home does not run yet.
    fn build(more: &str) -> Self {
        let mut town = Town::build(Rules::default());
        for host in ["alice", "bob", "cafe", "office"] {
            town.world.add_host(host).unwrap();
        }
        let world = &town.world;
        let wire = LinkOptions { mtu: None, segmentation_offload: false };
        world.sysctl("net", "net.ipv4.ip_forward", "1").unwrap();
        for (site, number) in SITES {
            let port = format!("to-{site}");
            world.link(("net", &port), (site, "uplink"), &wire).unwrap();
            world.address("net", &port, &format!("198.18.{number}.1/24")).unwrap();
            world.address(site, "uplink", &format!("198.18.{number}.2/24")).unwrap();
            world.route(site, "default", &format!("198.18.{number}.1")).unwrap();
            world.sysctl(site, "net.ipv4.ip_forward", "1").unwrap();
            world.add_bridge(site, "lan").unwrap();
            world.address(site, "lan", &format!("10.{number}.0.1/24")).unwrap();
            let nat = "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }; \
                       add rule ip nat out oifname uplink masquerade";
            world.run(site, "nft", &[nat]).unwrap();
        }
        for (host, site, number, interface) in STAYS {
            world.link((site, &format!("to-{host}")), (host, interface), &wire).unwrap();
            world.attach(site, &format!("to-{host}"), "lan", false).unwrap();
            let last = if host == "bob" { 3 } else { 2 };
            world.address(host, interface, &format!("10.{number}.0.{last}/24")).unwrap();
        }
        world.route("alice", "default", "10.20.0.1").unwrap();
        world.route("bob", "default", "10.30.0.1").unwrap();
        let this = Self { town };
        this.found(more);
        this
    }

    /// Makes the gateway and its members with the program's own commands.
    fn found(&self, more: &str) {
        let town = &self.town;
        let endpoint = format!("{HOME}:51820");
        let init = ["team", "gateway", "init", "--dir", "house", "--network", "10.73.5.0/24", "--endpoint"];
        succeeded(&town.run(&[&init[..], &[&endpoint]].concat()));
        for name in ["alice", "bob"] {
            succeeded(&town.run(&["team", "member", "add", name, "--qr", "--dir", "house"]));
        }
        let settings = town.path("house/home.toml");
        let text = std::fs::read_to_string(&settings).unwrap();
        let gateway = format!(
            "[gateway]\nuplink_interface = \"uplink\"\nhome_networks = [\"192.168.1.0/24\"]\n\
             dns_upstream = \"192.0.2.1\"\n{more}"
        );
        std::fs::write(&settings, format!("revocations = \"revocations\"\n{text}{gateway}")).unwrap();
        succeeded(&town.run(&["team", "member", "revoke", "resident", "--dir", "house"]));
        // What wg-quick(8) gives the configuration's `DNS` to.
        let tools = town.path("tools");
        std::fs::create_dir(&tools).unwrap();
        let resolvconf = tools.join("resolvconf");
        std::fs::write(&resolvconf, "#!/bin/sh\n[ \"$1\" = -a ] && cat > \"/run/town/$2.dns\"\nexit 0\n")
            .unwrap();
        std::fs::set_permissions(&resolvconf, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Brings a member's tunnel up with nothing but `wg-quick` and the reference implementation, out of the very text
    /// that its QR code has.
    fn connect(&self, name: &str) {
        let config = self.town.path(&format!("house/{name}.conf"));
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.town.path("tools").display());
        let mut command = self.town.world.command(name, "wg-quick").unwrap();
        command.args(["up", config.to_str().unwrap()]).env("PATH", path);
        command.env("WG_QUICK_USERSPACE_IMPLEMENTATION", "wireguard-go");
        // To a file: the implementation goes on behind it, and would hold a pipe open.
        let log = self.town.path(&format!("{name}.log"));
        let file = std::fs::File::create(&log).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let status = command.status().expect("wg-quick of the package wireguard-tools");
        assert!(status.success(), "{}", std::fs::read_to_string(&log).unwrap());
    }

    /// What the home says of its gateway.
    fn gateway(&self) -> Value {
        self.town.ask("home")["gateway"].clone()
    }

    /// What the home says of a member; null if it knows none of this name.
    fn member(&self, name: &str) -> Value {
        let gateway = self.gateway();
        let members = gateway["members"].as_array().cloned().unwrap_or_default();
        members.into_iter().find(|member| member["name"] == name).unwrap_or_default()
    }

    fn reaches(&self, host: &str, address: Ipv4Addr) -> bool {
        !self.town.probe(host, &[(Way::Ping, SocketAddr::new(address.into(), 0))]).is_empty()
    }

    fn until_home(&self, host: &str) {
        until(&format!("{host} to be home"), || self.reaches(host, GATEWAY));
    }

    /// Services on the Internet and in the household; who came is in the three.
    fn serve(&self) -> [AccessLog; 3] {
        let access_logs = [AccessLog::default(), AccessLog::default(), AccessLog::default()];
        self.town.serve_tcp("net", "192.0.2.1:80", &access_logs[0]);
        self.town.serve_tcp("pc", "192.168.1.10:80", &access_logs[1]);
        self.town.serve_udp("net", RESOLVER, &access_logs[2]);
        let listener = self.town.world.within("net", || TcpListener::bind(ECHO)).unwrap().unwrap();
        thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(echo));
        access_logs
    }

    /// A connection to the echo, through the tunnel.
    fn flow(&self, host: &str) -> Flow {
        let open = || TcpStream::connect_timeout(&ECHO.parse().unwrap(), PATIENCE);
        let stream = self.town.world.within(host, open).unwrap().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Flow { stream, sent: 0 }
    }

    /// Datagrams that come down the tunnel, because the member asked for them.
    fn datagrams(&self, host: &str) -> Datagrams {
        let bind = |host, to| self.town.world.within(host, move || UdpSocket::bind(to)).unwrap().unwrap();
        let (member, server) = (bind(host, "0.0.0.0:4000"), bind("net", "192.0.2.1:4000"));
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        member.send_to(b"ask", "192.0.2.1:4000").unwrap();
        let (_, from) = server.recv_from(&mut [0; 3]).unwrap();
        server.connect(from).unwrap();
        // Two ways make a flow that the kernel expects to go on (nf_conntrack_udp_timeout_stream).
        server.send(b"first").unwrap();
        Datagrams::start(server, member)
    }
}

/// Says everything again.
fn echo(mut stream: TcpStream) {
    thread::spawn(move || {
        let mut buffer = [0; 1_000];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            if stream.write_all(&buffer[..length]).is_err() {
                return;
            }
        }
    });
}

/// A connection that goes on.
struct Flow {
    stream: TcpStream,
    sent: u64,
}

impl Flow {
    /// Says something new and waits for the echo.
    fn round_trip(&mut self) {
        self.sent += 1;
        let sent = self.sent.to_be_bytes();
        self.stream.write_all(&sent).unwrap();
        let mut received = [0; 8];
        self.stream.read_exact(&mut received).expect("the flow goes on");
        assert_eq!(received, sent);
    }
}

/// Datagrams from a server to a member, one every millisecond, until somebody on the way refuses one or it ends.
struct Datagrams {
    ended: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<Option<std::io::ErrorKind>>>,
    /// The member's end: where it is not bound, the member would refuse them itself.
    _member: UdpSocket,
}

impl Datagrams {
    fn start(server: UdpSocket, member: UdpSocket) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let send = move || {
            while !end.load(Ordering::Relaxed) {
                if let Err(error) = server.send(b"more") {
                    return Some(error.kind());
                }
                thread::sleep(Duration::from_millis(1));
            }
            None
        };
        Self { ended, thread: Some(thread::spawn(send)), _member: member }
    }

    /// Ends them, and says what one was refused with.
    fn end(&mut self) -> Option<std::io::ErrorKind> {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Who came first, and with what.
fn first(access_log: &AccessLog) -> (std::net::IpAddr, Vec<u8>) {
    until("somebody to come", || !access_log.all().is_empty());
    access_log.all().remove(0)
}

fn start(abroad: &Abroad) -> Program {
    abroad.town.start("home")
}

#[test]
fn a_stock_client_comes_home_through_a_nat() {
    if !inside("gateway::a_stock_client_comes_home_through_a_nat") {
        return;
    }
    let abroad = Abroad::build("");
    let [web, pc, resolver] = abroad.serve();
    let _home = start(&abroad);
    abroad.connect("alice");
    abroad.until_home("alice");
    let seen = abroad.member("alice");
    assert!(seen["endpoint"].as_str().unwrap().starts_with("198.18.20.2:"), "{seen}");
    assert_eq!((seen["address"].as_str(), seen["delegation"].as_bool()), (Some("10.73.5.2"), Some(true)));

    // The Internet sees the home; so does the home network, whose computers need no route.
    let town = &abroad.town;
    assert_eq!(town.download("alice", 3_000_000).unwrap(), 3_000_000);
    assert_eq!(first(&web).0, HOME.parse::<Ipv4Addr>().unwrap());
    let at = |address: &str| address.parse::<SocketAddr>().unwrap();
    assert_eq!(town.probe("alice", &[(Way::Tcp, at("192.168.1.10:80"))]).len(), 1);
    assert_eq!(first(&pc).0, Ipv4Addr::new(192, 168, 1, 1));

    // Names are asked for at home: the configuration says where, and the household's resolver answers.
    let dns = std::fs::read_to_string(town.path("tun.alice.dns"))
        .or_else(|_| std::fs::read_to_string(town.path("alice.dns")));
    assert_eq!(dns.unwrap().trim(), format!("nameserver {GATEWAY}"));
    assert_eq!(town.probe("alice", &[(Way::Udp, SocketAddr::new(GATEWAY.into(), 53))]).len(), 1);
    assert_eq!(first(&resolver), (HOME.parse().unwrap(), b"probe".to_vec()));

    // Another member.
    abroad.connect("bob");
    abroad.until_home("bob");
    assert!(abroad.reaches("alice", BOB) && abroad.reaches("bob", ALICE));

    // What is neither the Internet nor the home network stays closed, and so does the rest of the router.
    let closed = [
        (Way::Ping, at("10.11.0.21:0")),
        (Way::Tcp, at("203.0.113.10:80")),
        (Way::Tcp, at("10.73.5.1:7273")),
    ];
    assert_eq!(town.probe("alice", &closed), []);
    let dropped = &abroad.gateway()["dropped"];
    for reason in ["private", "elsewhere", "to_gateway"] {
        assert!(dropped[reason].as_u64() > Some(0), "{reason}: {dropped}");
    }
    let seen = abroad.member("alice");
    assert!(seen["sent"].as_u64() > Some(3_000_000) && seen["received"].as_u64() > Some(10_000), "{seen}");
}

#[test]
fn flows_go_on_when_a_member_moves_and_nothing_is_a_black_hole() {
    if !inside("gateway::flows_go_on_when_a_member_moves_and_nothing_is_a_black_hole") {
        return;
    }
    let abroad = Abroad::build("");
    let _services = abroad.serve();
    let _home = start(&abroad);
    abroad.connect("alice");
    abroad.until_home("alice");
    let mut flow = abroad.flow("alice");
    flow.round_trip();
    let world = &abroad.town.world;
    world.run("alice", "ip", &["route", "replace", "default", "via", "10.30.0.1"]).unwrap();
    flow.round_trip();
    let seen = abroad.member("alice");
    assert!(seen["endpoint"].as_str().unwrap().starts_with("198.18.30.2:"), "{seen}");

    // 1,500 bytes that may not be fragmented do not fit into the tunnel. The server is told by the gateway (ICMP) and
    // sends smaller packets from then on: the first is lost, the second arrives.
    let member = world.within("alice", || UdpSocket::bind("0.0.0.0:4000")).unwrap().unwrap();
    let server = world.within("net", || UdpSocket::bind("192.0.2.1:4000")).unwrap().unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    member.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    member.send_to(b"hello", "192.0.2.1:4000").unwrap();
    let (_, from) = server.recv_from(&mut [0; 10]).unwrap();
    let large = [7; 1_500 - 28];
    let mut buffer = [0; 2_000];
    server.send_to(&large, from).unwrap();
    assert!(member.recv_from(&mut buffer).is_err(), "a packet larger than the tunnel came through it whole");
    until("the server to be told", || {
        world.run("net", "ip", &["route", "get", HOME]).unwrap().contains("mtu 1420")
    });
    member.set_read_timeout(Some(PATIENCE)).unwrap();
    server.send_to(&large, from).unwrap();
    let (length, _) = member.recv_from(&mut buffer).expect("no black hole");
    assert_eq!(buffer[..length], large);
    assert_eq!(abroad.town.download("alice", 2_000_000).unwrap(), 2_000_000);
}

#[test]
fn a_killed_home_calls_its_members_back() {
    if !inside("gateway::a_killed_home_calls_its_members_back") {
        return;
    }
    let abroad = Abroad::build("");
    let _services = abroad.serve();
    let before = abroad.town.condition();
    let mut home = start(&abroad);
    abroad.connect("alice");
    abroad.until_home("alice");
    let mut flow = abroad.flow("alice");
    flow.round_trip();
    let memory = abroad.town.path("house/home-state/gateway-endpoints");
    until("the home to keep where alice is", || memory.exists());
    let mut download = abroad.datagrams("alice");
    home.kill();
    let killed = Instant::now();
    let home = start(&abroad);
    // Nobody touches alice, and nothing makes her send: the home begins the handshake.
    until("alice to be called", || abroad.member("alice")["handshake"].is_u64());
    flow.round_trip();
    println!("a member was back {:?} after its home was killed", killed.elapsed());
    // At no moment did the router take for its own what was sent to a member.
    assert_eq!(download.end(), None, "the router answered a server in the place of the member");

    // Killed again, and put away by hand: nothing of it is left.
    let mut home = home;
    home.kill();
    let off = abroad.town.run_on("router", &["home", "off", "--config", "house/home.toml"]);
    assert!(succeeded(&off).contains("as it was before"));
    assert_eq!(abroad.town.condition(), before);
}

#[test]
fn a_revoked_member_is_cut_off_and_nobody_else() {
    if !inside("gateway::a_revoked_member_is_cut_off_and_nobody_else") {
        return;
    }
    let abroad = Abroad::build("");
    let _services = abroad.serve();
    let before = abroad.town.condition();
    let _home = start(&abroad);
    for name in ["alice", "bob"] {
        abroad.connect(name);
        abroad.until_home(name);
    }
    let mut flow = abroad.flow("alice");
    flow.round_trip();
    let agreed = abroad.member("alice")["handshake"].clone();
    let reload =
        || succeeded(&abroad.town.run_on("router", &["home", "reload", "--config", "house/home.toml"]));
    assert!(reload().contains("2 members, 0 new, 0 gone"));
    assert!(abroad.reaches("bob", GATEWAY), "nothing has changed for bob yet");
    succeeded(&abroad.town.run(&["team", "member", "revoke", "bob", "--dir", "house"]));
    assert!(abroad.reaches("bob", GATEWAY), "the home has not read it yet");
    assert!(reload().contains("1 members, 0 new, 1 gone"));
    assert!(!abroad.reaches("bob", GATEWAY) && !abroad.town.is_online("bob"));
    assert_eq!(abroad.member("bob"), Value::Null);
    flow.round_trip();
    assert_eq!(abroad.member("alice")["handshake"], agreed, "alice noticed something");
    // A file that cannot be read changes nothing.
    std::fs::write(abroad.town.path("house/gateway/alice.toml"), "public_key = 1\n").unwrap();
    let refused = abroad.town.run_on("router", &["home", "reload", "--config", "house/home.toml"]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && stderr.contains("nothing was changed") && stderr.contains("alice.toml"),
        "{stderr}"
    );
    flow.round_trip();
    succeeded(&abroad.town.run_on("router", &["home", "off", "--config", "house/home.toml"]));
    assert_eq!(abroad.town.condition(), before);
}

#[test]
fn an_access_point_on_the_same_router_comes_and_goes() {
    if !inside("gateway::an_access_point_on_the_same_router_comes_and_goes") {
        return;
    }
    let abroad = Abroad::build("");
    let _services = abroad.serve();
    let town = &abroad.town;
    let before = town.condition();
    let ap_off = || succeeded(&town.run_on("router", &["ap", "off", "--config", "house/ap.toml"]));
    let home_off = || succeeded(&town.run_on("router", &["home", "off", "--config", "house/home.toml"]));
    // The access point first, and first to go.
    let (home, ap) = town.open();
    abroad.connect("alice");
    abroad.until_home("alice");
    let (visit, _) = town.arrive("member", "guests", "member");
    assert!(town.is_online("member") && town.is_online("alice"));
    town.leave(visit);
    ap_off();
    drop(ap);
    assert!(town.is_online("alice"), "the access point took the gateway's way out along");
    home_off();
    drop(home);
    assert_eq!(town.condition(), before);
    // The other way round.
    let (home, ap) = town.open();
    until("alice to be home again", || town.is_online("alice"));
    home_off();
    drop(home);
    let (visit, _) = town.arrive("member", "guests", "second");
    assert!(town.is_online("member"), "the gateway took the access point's way out along");
    town.leave(visit);
    ap_off();
    drop(ap);
    assert_eq!(town.condition(), before);
}
