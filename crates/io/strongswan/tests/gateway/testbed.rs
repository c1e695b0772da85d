//! Two clients behind a NAT, an Internet with one server, and a home.
//!
//! ```text
//!   client, other ── router (NAT) ── net, server 192.0.2.1 ── home
//! ```

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use guestright_netns::testing::{self, PATIENCE};
use guestright_netns::{LinkOptions, Sandbox, World};
use guestright_strongswan::{Certificate, DataPlane, Gateway, Member, Profile, Secret, Settings};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tracing::field::{Field, Visit};

use crate::stock::Client;

/// No test in a sandbox goes on for longer.
const LIFE_MAX: Duration = Duration::from_secs(300);

pub(crate) const HOME: &str = "203.0.113.2";
pub(crate) const IDENTITY: &str = "home.example.org";
pub(crate) const TEAM_SECRET: &str = "what-the-team-knows";
/// Names, secrets and the last number of addresses.
pub(crate) const ALICE: (&str, &str, u8) = ("alice", "correct-horse-battery", 254);
pub(crate) const BOB: (&str, &str, u8) = ("bob", "staple-and-so-on-77", 253);
/// Where a process of a test keeps a gateway, and how it says which its charon is.
const LEFT_IN: &str = "GUESTRIGHT_TEST_GATEWAY_IN";
const STARTED: &str = "its charon is ";
const SERVER: &str = "192.0.2.1:80";

pub(crate) struct Testbed {
    pub(crate) world: World,
    directory: tempfile::TempDir,
    log: Arc<Mutex<Vec<u8>>>,
}

impl Testbed {
    /// Outside: runs the test of this name in a sandbox and returns nothing. Inside: a new place.
    pub(crate) fn inside(test: &str) -> Option<Self> {
        if Sandbox::inside() {
            // When process 1 of the sandbox ends, so does everything in it.
            std::thread::spawn(|| {
                std::thread::sleep(LIFE_MAX);
                println!("the test took more than {LIFE_MAX:?}");
                std::process::exit(1);
            });
        }
        testing::inside(test).then(Self::build)
    }

    fn build() -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        tracing::subscriber::set_global_default(Listener(Arc::clone(&log))).unwrap();
        let mut world = World::new("ike-").unwrap();
        for host in ["client", "other", "router", "net", "home"] {
            world.add_host(host).unwrap();
        }
        let wire = LinkOptions::default();
        world.link(("client", "eth0"), ("router", "lan1"), &wire).unwrap();
        world.link(("other", "eth0"), ("router", "lan2"), &wire).unwrap();
        world.link(("router", "wan"), ("net", "to-router"), &wire).unwrap();
        world.link(("net", "to-home"), ("home", "uplink"), &wire).unwrap();
        for (host, interface, address) in [
            ("client", "eth0", "10.10.0.2/24"),
            ("router", "lan1", "10.10.0.1/24"),
            ("other", "eth0", "10.11.0.2/24"),
            ("router", "lan2", "10.11.0.1/24"),
            ("router", "wan", "198.51.100.2/24"),
            ("net", "to-router", "198.51.100.1/24"),
            ("net", "to-home", "203.0.113.1/24"),
            ("net", "lo", "192.0.2.1/32"),
            ("home", "uplink", "203.0.113.2/24"),
            ("home", "lo", "10.78.0.1/32"),
        ] {
            world.address(host, interface, address).unwrap();
        }
        world.route("client", "default", "10.10.0.1").unwrap();
        world.route("other", "default", "10.11.0.1").unwrap();
        world.route("router", "default", "198.51.100.1").unwrap();
        world.route("home", "default", "203.0.113.1").unwrap();
        for host in ["router", "net"] {
            world.sysctl(host, "net.ipv4.ip_forward", "1").unwrap();
        }
        // As the gateway's firewall does: its own interfaces and no others.
        world.sysctl("home", "net.ipv4.conf.uplink.forwarding", "1").unwrap();
        for (host, interface) in [("router", "wan"), ("home", "uplink")] {
            let rules = format!(
                "add table ip nat; add chain ip nat out {{ type nat hook postrouting priority 100; }}; \
                 add rule ip nat out oifname {interface} masquerade"
            );
            world.run(host, "nft", &[&rules]).unwrap();
        }
        let testbed = Self { world, directory: tempfile::tempdir().unwrap(), log };
        testbed.serve();
        testbed
    }

    /// A server on the Internet that tells everybody where they come from.
    fn serve(&self) {
        let (tcp, udp) =
            self.world.within("net", || (TcpListener::bind(SERVER), UdpSocket::bind(SERVER))).unwrap();
        let (tcp, udp) = (tcp.unwrap(), udp.unwrap());
        std::thread::spawn(move || {
            while let Ok((mut stream, from)) = tcp.accept() {
                // The client may have gone.
                let _ = stream.write_all(from.ip().to_string().as_bytes());
            }
        });
        std::thread::spawn(move || {
            let mut buffer = [0; 2_000];
            while let Ok((_, from)) = udp.recv_from(&mut buffer) {
                let _ = udp.send_to(from.ip().to_string().as_bytes(), from);
            }
        });
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn settings(&self) -> Settings {
        settings(self.path("home"))
    }

    /// A gateway of another process, which then stands still: it watches over nothing any more. Its charon goes on.
    pub(crate) fn left_gateway(&self, test: &str) -> Left {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(LEFT_IN, self.path("home"));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut keeper = self.world.within("home", || command.spawn()).unwrap().unwrap();
        let lines = BufReader::new(keeper.stdout.take().unwrap()).lines().map_while(Result::ok);
        let charon = lines.filter_map(|line| line.rsplit_once(STARTED)?.1.trim().parse().ok()).next();
        let pid = Pid::from_raw(keeper.id().cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Left { charon: charon.expect("it says so when it runs"), keeper }
    }

    /// Starts a gateway at home.
    pub(crate) fn gateway(&self, settings: Settings) -> Gateway {
        self.world.within("home", || Gateway::start(settings)).unwrap().unwrap()
    }

    /// Starts a client on its host.
    pub(crate) fn client(&self, host: &str) -> Client {
        Client::start(&self.world, host, &self.path(host), 60)
    }

    /// One that soon notices that the gateway is gone, and calls again.
    pub(crate) fn impatient_client(&self, host: &str) -> Client {
        Client::start(&self.world, host, &self.path(host), 3)
    }

    /// As which ports the router lets the clients' tunnels leave from now on. It forgets those that there are, as a router
    /// does whose line was down.
    pub(crate) fn translate(&self, ports: RangeInclusive<u16>) {
        let (first, last) = (ports.start(), ports.end());
        let rules = format!(
            "add table ip ports; delete table ip ports; add table ip ports; \
             add chain ip ports out {{ type nat hook postrouting priority 90; }}; \
             add rule ip ports out oifname wan udp sport 4500 masquerade to :{first}-{last}"
        );
        self.world.run("router", "nft", &[&rules]).unwrap();
        let line = "ip link set wan down && ip link set wan up && ip route replace default via 198.51.100.1";
        self.world.run("router", "sh", &["-c", line]).unwrap();
    }

    /// Ping, UDP and TCP reach the Internet, and come from home.
    pub(crate) fn check_exit(&self, host: &str, what: &str) {
        let ping = self.world.run(host, "ping", &["-c", "2", "-i", "0.2", "-W", "5", "192.0.2.1"]);
        ping.unwrap_or_else(|error| panic!("{what}: {error}"));
        let seen = self.world.within(host, || (ask_tcp(), ask_udp(PATIENCE))).unwrap();
        let seen = (seen.0.unwrap(), seen.1.unwrap());
        assert_eq!(seen, (HOME.to_owned(), HOME.to_owned()), "{what}");
    }

    /// Whether the server sees the host as coming from home.
    pub(crate) fn is_online(&self, host: &str) -> bool {
        self.world.within(host, || ask_udp(TRY).is_ok_and(|seen| seen == HOME)).unwrap()
    }

    /// The gateway's certificate and that of its issuer, which the authority of `root.crt` certified.
    pub(crate) fn certificate(&self) -> Certificate {
        self.certify("root", "root", "basicConstraints=critical,CA:TRUE");
        self.certify("issuer", "root", "basicConstraints=critical,CA:TRUE");
        self.certify("gateway", "issuer", &format!("subjectAltName=DNS:{IDENTITY}"));
        let read = |name: &str| std::fs::read(self.path(name)).unwrap();
        let certificate = [read("gateway.crt"), read("issuer.crt")].concat();
        Certificate { certificate, key: read("gateway.key").into() }
    }

    /// Makes `name.key`, and `name.crt` signed by `issuer`.
    fn certify(&self, name: &str, issuer: &str, extension: &str) {
        std::fs::write(self.path("extension"), extension).unwrap();
        let signer = if name == issuer {
            format!("-signkey {name}.key")
        } else {
            format!("-CA {issuer}.crt -CAkey {issuer}.key -CAcreateserial")
        };
        let script = format!(
            "openssl req -newkey rsa:2048 -nodes -keyout {name}.key -subj /CN={name} -out {name}.csr && \
             openssl x509 -req -in {name}.csr -days 30 -extfile extension {signer} -out {name}.crt"
        );
        let mut command = Command::new("sh");
        let output = command.args(["-c", &script]).current_dir(&self.directory).stdin(Stdio::null()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Everything that was logged, at every level.
    pub(crate) fn log(&self) -> Vec<u8> {
        self.log.lock().unwrap().clone()
    }
}

/// A gateway for Alice and Bob.
fn settings(directory: PathBuf) -> Settings {
    Settings {
        directory,
        identity: IDENTITY.to_owned(),
        members: vec![member(&ALICE), member(&BOB)],
        resolvers: vec![IpAddr::from([10, 78, 0, 1])],
        profile: Profile::Modern,
        data_plane: DataPlane::Probe,
        certificate: None,
        team_secret: None,
        l2tp: None,
    }
}

/// The process that [`Testbed::left_gateway`] starts: keeps a gateway until it is ended.
pub(crate) fn keep_if_left() {
    let Some(directory) = std::env::var_os(LEFT_IN) else { return };
    let gateway = Gateway::start(settings(directory.into())).unwrap();
    println!("{STARTED}{}", gateway.status().unwrap().charon.unwrap());
    loop {
        std::thread::park();
    }
}

/// What [`Testbed::left_gateway`] has left. Killed and waited for when dropped.
pub(crate) struct Left {
    pub(crate) charon: u32,
    keeper: Child,
}

impl Drop for Left {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

pub(crate) fn member(&(name, secret, last): &(&str, &str, u8)) -> Member {
    let address = [10, 78, 0, last].into();
    Member { name: name.to_owned(), address, secret: Secret::new(secret).unwrap() }
}

/// So long one try of several waits for an answer.
const TRY: Duration = Duration::from_millis(500);

/// Ends a process as nobody can expect.
pub(crate) fn kill(id: u32) {
    kill_process(pid(id), Signal::KILL).unwrap();
}

/// Whether a process runs; one that has ended and was not waited for does not.
pub(crate) fn runs(id: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    test_kill_process(pid(id)).is_ok() && !state.contains(") Z ")
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

fn ask_tcp() -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&SERVER.parse().unwrap(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn ask_udp(patience: Duration) -> std::io::Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(patience))?;
    socket.send_to(b"who am I", SERVER)?;
    let mut buffer = [0; 100];
    let length = socket.recv(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// Keeps every event's fields.
struct Listener(Arc<Mutex<Vec<u8>>>);

impl tracing::Subscriber for Listener {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Words(&mut self.0.lock().unwrap()));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

struct Words<'a>(&'a mut Vec<u8>);

impl Visit for Words<'_> {
    fn record_debug(&mut self, _: &Field, value: &dyn std::fmt::Debug) {
        let _ = writeln!(self.0, "{value:?}");
    }
}
