//! Two homes, two access points that are strangers', and a member behind each.

use crate::town::Program;
use crate::town::{PATIENCE, Rules, Town, look, succeeded, until};
use guestright_netns::{LinkOptions, World};
use rustix::process::Signal;
use serde_json::Value;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The two homes' settings files.
pub(crate) const HOME: &str = "house/home.toml";
pub(crate) const BOB_HOME: &str = "other/home.toml";
/// Where the homes are.
const ADDRESSES: [(&str, &str); 2] = [("house", "198.51.100.2"), ("other", "198.18.40.2")];

/// What goes from one of them to the other, for tcpdump(8).
pub(crate) const BETWEEN_HOMES: &str = "host 198.51.100.2 and host 198.18.40.2";

/// Requests that were written by hand; no two are the same.
static ASKED: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Exchange {
    pub(crate) town: Town,
}

/// A capture that goes on, and one that has ended.
pub(crate) struct Capture {
    program: Program,
    file: PathBuf,
}

pub(crate) struct Trace(PathBuf);

/// A host's way to the Internet.
pub(crate) fn uplink(world: &World, host: &str, number: u8) {
    let wire = LinkOptions { segmentation_offload: false, ..LinkOptions::default() };
    let port = format!("to-{host}");
    world.link(("net", &port), (host, "uplink"), &wire).unwrap();
    world.address("net", &port, &format!("198.18.{number}.1/24")).unwrap();
    world.address(host, "uplink", &format!("198.18.{number}.2/24")).unwrap();
    world.route(host, "default", &format!("198.18.{number}.1")).unwrap();
}

/// Makes a host a router that hides who is behind it.
pub(crate) fn translate(world: &World, router: &str) {
    world.sysctl(router, "net.ipv4.ip_forward", "1").unwrap();
    let nat = "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }; \
               add rule ip nat out oifname uplink masquerade";
    world.run(router, "nft", &[nat]).unwrap();
}

/// Puts a member's radio behind such a router.
pub(crate) fn join(world: &World, router: &str, member: (&str, &str), number: u8) {
    let wire = LinkOptions { segmentation_offload: false, ..LinkOptions::default() };
    world.link((router, "lan"), member, &wire).unwrap();
    world.address(router, "lan", &format!("10.{number}.0.1/24")).unwrap();
    world.address(member.0, member.1, &format!("10.{number}.0.2/24")).unwrap();
}

/// Makes a team's gateway and a member with a way home, whose record comes with it; the contact that others have.
pub(crate) fn gateway(town: &Town, team: &str, address: &str, network: &str, member: &str) -> String {
    let endpoint = format!("{address}:51820");
    let init = ["team", "gateway", "init", "--dir", team, "--network", network, "--endpoint", &endpoint];
    succeeded(&town.run(&init));
    succeeded(&town.run(&["team", "member", "add", member, "--qr", "--dir", team]));
    contact(town, team, address, member)
}

/// Where to ask is known, not which key the home has: only the member's own word says that.
pub(crate) fn contact(town: &Town, team: &str, address: &str, member: &str) -> String {
    let listed = succeeded(&town.run(&["team", "member", "list", "--dir", team, "--json"]));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let member = listed.as_array().unwrap().iter().find(|each| each["name"] == member).unwrap();
    format!("{{ member = \"{}\", homes = [\"{address}:7275\"] }}", member["id"].as_str().unwrap())
}

/// Starts a home, and waits until it is ready.
pub(crate) fn open(town: &Town, host: &str, settings: &str, log: &str) -> Program {
    let mut command = town.world.command(host, env!("CARGO_BIN_EXE_guestright")).unwrap();
    command.args(["--log", "debug", "home", "--config"]).arg(town.path(settings));
    let program = Program::start(&mut command, &town.path(log));
    program.hear_line("to say that it is ready", |_| true);
    program
}

/// Brings a member home with nothing but `wg-quick` and the reference implementation.
pub(crate) fn bring_home(town: &Town, host: &str, config: &str, gateway: &str) {
    let tools = town.path("tools");
    if !tools.exists() {
        std::fs::create_dir(&tools).unwrap();
        // What wg-quick(8) gives the configuration's `DNS` to.
        let resolvconf = tools.join("resolvconf");
        std::fs::write(&resolvconf, "#!/bin/sh\n[ \"$1\" = -a ] && cat > /dev/null\nexit 0\n").unwrap();
        std::fs::set_permissions(&resolvconf, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let config = town.path(config);
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", tools.display());
    let mut command = town.world.command(host, "wg-quick").unwrap();
    command.args(["up", config.to_str().unwrap()]).env("PATH", path);
    command.env("WG_QUICK_USERSPACE_IMPLEMENTATION", "wireguard-go");
    let log = town.path(&format!("{host}-tunnel.log"));
    let file = std::fs::File::create(&log).unwrap();
    command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    let status = command.status().expect("wg-quick of the package wireguard-tools");
    assert!(status.success(), "{}", std::fs::read_to_string(&log).unwrap());
    until("the tunnel to be up", || town.world.run(host, "ping", &["-c1", "-W1", gateway]).is_ok());
}

/// What `home status --json` says.
pub(crate) fn status(town: &Town, settings: &str) -> Value {
    look::ask("home", &town.path(settings), "status")
}

impl Exchange {
    /// Builds everything; no program runs yet. `more` goes to both homes' `[voice]`.
    pub(crate) fn build(more: &str) -> Self {
        let mut town = Town::build(Rules::default());
        for host in ["other", "v1", "v2", "w1", "w2"] {
            town.world.add_host(host).unwrap();
        }
        let world = &town.world;
        world.sysctl("net", "net.ipv4.ip_forward", "1").unwrap();
        for (host, number) in [("other", 40), ("v1", 20), ("v2", 30)] {
            uplink(world, host, number);
        }
        for (router, member, number) in [("v1", "w1", 20), ("v2", "w2", 30)] {
            translate(world, router);
            join(world, router, (member, "wlan0"), number);
            world.route(member, "default", &format!("10.{number}.0.1")).unwrap();
        }
        town.found("other", &[("home", "home")]);
        let this = Self { town };
        this.found(more);
        this
    }

    /// Gateways, members, whose records come with them, and each other's contacts, by the program's own commands.
    fn found(&self, more: &str) {
        let town = &self.town;
        let mut contacts = Vec::new();
        for ((team, address), member) in ADDRESSES.into_iter().zip(["alice", "bob"]) {
            contacts.push(gateway(town, team, address, "10.73.5.0/24", member));
        }
        let homes = [("house", "bobby", &contacts[1]), ("other", "ally", &contacts[0])];
        for (team, name, contact) in homes {
            let text = format!(
                "key = \"home.key\"\ncertificate = \"home.cert\"\nstate = \"home-state\"\n[gateway]\n\
                 uplink_interface = \"uplink\"\nbackend = \"userspace\"\ndns_upstream = \"192.0.2.1\"\n\
                 [voice]\n{more}[voice.contacts]\n{name} = {contact}\n"
            );
            std::fs::write(town.path(team).join("home.toml"), text).unwrap();
        }
    }

    /// Starts both homes.
    pub(crate) fn open(&self) -> [Program; 2] {
        [("router", HOME, "h1.log"), ("other", BOB_HOME, "h2.log")]
            .map(|(host, settings, log)| open(&self.town, host, settings, log))
    }

    /// Brings both members home with nothing but `wg-quick` and the reference implementation.
    pub(crate) fn connect(&self) {
        for (host, config) in [("w1", "house/alice.conf"), ("w2", "other/bob.conf")] {
            bring_home(&self.town, host, config, "10.73.5.1");
        }
    }

    /// What `home status --json` says.
    pub(crate) fn status(&self, settings: &str) -> Value {
        status(&self.town, settings)
    }

    /// How many calls a home knows of.
    pub(crate) fn calls(&self, settings: &str) -> usize {
        self.status(settings)["voice"]["calls"].as_array().map_or(usize::MAX, Vec::len)
    }

    pub(crate) fn until_registered(&self) {
        until("both telephones to be registered", || {
            let telephones = |settings| {
                self.status(settings)["voice"]["telephones"].as_object().map_or(0, |all| all.len())
            };
            telephones(HOME) == 1 && telephones(BOB_HOME) == 1
        });
    }

    /// Packets of voice that both sides of the call have sent, at the second home.
    fn packets(&self) -> [u64; 2] {
        let status = self.status(BOB_HOME);
        let call = &status["voice"]["calls"][0]["from"];
        [0, 1].map(|side| call[side]["packets"].as_u64().unwrap_or_default())
    }

    /// Waits until so many packets of voice have come from both sides.
    pub(crate) fn until_received(&self, packets: u64) {
        until("voice from both sides", || self.packets().iter().all(|count| *count >= packets));
    }

    /// Waits until they talk, or do not.
    pub(crate) fn until_talking(&self, wanted: bool) {
        until("them to talk, or not", || {
            let before = self.packets();
            std::thread::sleep(std::time::Duration::from_millis(400));
            let talks = self.packets().iter().zip(before).all(|(now, before)| *now > before + 5);
            let quiet = self.packets().iter().zip(before).all(|(now, before)| *now <= before + 5);
            if wanted { talks } else { quiet }
        });
    }

    /// Waits until the side that holds the call still talks and the other one is quiet, or both talk again. (Who is on
    /// hold may send nothing; who holds sends on.)
    pub(crate) fn until_one_way(&self, caller_holds: bool, held: bool) {
        until("one of them to talk, or both", || {
            let before = self.packets();
            std::thread::sleep(std::time::Duration::from_millis(400));
            let talks = [0, 1].map(|side| self.packets()[side] > before[side] + 5);
            talks == if held { [caller_holds, !caller_holds] } else { [true, true] }
        });
    }

    /// Sends a request from a member's computer by hand, and gives the number of the final answer.
    pub(crate) fn ask(&self, host: &str, method: &str, whom: &str) -> u16 {
        self.ask_with(host, method, whom, "")
    }

    /// The same, with more lines in the request's head.
    pub(crate) fn ask_with(&self, host: &str, method: &str, whom: &str, lines: &str) -> u16 {
        self.ask_at("10.73.5.1:5060", host, method, whom, lines)
    }

    /// The same, of whoever is at this address.
    pub(super) fn ask_at(&self, at: &str, host: &str, method: &str, whom: &str, lines: &str) -> u16 {
        let open = || {
            let socket = UdpSocket::bind("10.73.5.2:5099").unwrap();
            socket.connect(at).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket
        };
        let socket = self.town.world.within(host, open).unwrap();
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        let request = format!(
            "{method} sip:{whom}@10.73.5.1 SIP/2.0\r\nVia: SIP/2.0/UDP 10.73.5.2:5099;branch=z9hG4bK{method}{number}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:{whom}@10.73.5.1>;tag=1\r\nTo: <sip:{whom}@10.73.5.1>\r\n\
             Call-ID: {method}{number}\r\nCSeq: 1 {method}\r\nContact: <sip:{whom}@10.73.5.2:5060>\r\nExpires: 3600\r\n\
             {lines}Content-Length: 0\r\n\r\n"
        );
        socket.send(request.as_bytes()).unwrap();
        let mut buffer = [0; 4_096];
        loop {
            let length = socket.recv(&mut buffer).unwrap();
            let answer = String::from_utf8_lossy(&buffer[..length]).into_owned();
            // Answers to earlier requests come again as long as nobody acknowledges them.
            if !answer.contains(&format!("Call-ID: {method}{number}\r\n")) {
                continue;
            }
            let code: u16 = answer.split(' ').nth(1).unwrap().parse().unwrap();
            if code >= 200 {
                return code;
            }
        }
    }

    /// Registers a telephone at port 5060 by hand.
    pub(crate) fn register(&self, host: &str, name: &str) {
        assert_eq!(self.ask(host, "REGISTER", name), 200);
    }

    /// Captures everything on an interface.
    pub(crate) fn trace(&self, host: &str, interface: &str) -> Capture {
        let file = self.town.path(&format!("{host}-{interface}.pcap"));
        let mut command = self.town.world.command(host, "tcpdump").unwrap();
        command.args(["-Z", "root", "-i", interface, "-U", "-n", "-s", "0", "-B", "16384", "-w"]).arg(&file);
        let log = self.town.path(&format!("{host}-{interface}.log"));
        let program = Program::start(&mut command, &log);
        until("tcpdump to listen", || program.log().contains("listening on"));
        Capture { program, file }
    }
}

impl Capture {
    pub(crate) fn stop(mut self) -> Trace {
        self.program.signal(Signal::INT);
        self.program.wait();
        Trace(self.file.clone())
    }
}

impl Trace {
    /// The packets that a filter of tcpdump(8) lets through, one a line.
    pub(crate) fn show(&self, filter: &str) -> String {
        let mut command = Command::new("tcpdump");
        let output =
            command.args(["-Z", "root", "-n", "-q", "-t", "-r"]).arg(&self.0).arg(filter).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is neither the link between both homes nor voice. When a call has ended, the last packets find a closed port,
    /// and the kernel says so to the other home: a port of voice is unreachable (RFC 792), with the sealed packet's head.
    pub(crate) fn neither_link_nor_voice(&self) -> String {
        let closed = "icmp[0] == 3 and icmp[1] == 3 and icmp[30:2] >= 20000 and icmp[30:2] <= 29999";
        let known = format!("tcp port 7275 or udp portrange 20000-29999 or ({closed})");
        self.show(&format!("{BETWEEN_HOMES} and not ({known})"))
    }

    pub(crate) fn count(&self, filter: &str) -> usize {
        self.show(filter).lines().count()
    }

    /// How long those packets are, with Ethernet's header.
    pub(crate) fn lengths(&self, filter: &str) -> Vec<usize> {
        let mut command = Command::new("tcpdump");
        let output =
            command.args(["-Z", "root", "-n", "-e", "-t", "-r"]).arg(&self.0).arg(filter).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let length = |line: &str| line.split("length ").nth(1)?.split(':').next()?.trim().parse().ok();
        text.lines().filter_map(length).collect()
    }

    /// Whether these bytes occur anywhere in it.
    pub(crate) fn has(&self, bytes: &[u8]) -> bool {
        let all = std::fs::read(&self.0).unwrap();
        all.windows(bytes.len()).any(|window| window == bytes)
    }
}
