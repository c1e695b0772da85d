//! A visitor with a stock strongSwan client: its team's home, an access point on the way, and what happens when either
//! end is killed.
//!
//! ```text
//!   member ── router (house's ap) ── net, server 192.0.2.1 ── guesthome (the guests' home)
//! ```

use crate::stock::{Client, ClientSettings};
use crate::town::Program;
use crate::town::services::AccessLog;
use crate::town::{PATIENCE, Rules, Town, guestright, inside, look, succeeded, until, until_within};
use guestright_netns::LinkOptions;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// The guests' home on the Internet.
const HOME: &str = "192.0.2.130";
/// Its identity: what a gateway is called whose endpoint is an address.
const IDENTITY: &str = "home.guestright";
const TEAM_SECRET: &str = "what-the-guests-all-know";

/// A town with a home for the guests, and a member that has a secret for it.
struct Journey {
    town: Town,
    access_log: AccessLog,
    secret: String,
    directory: tempfile::TempDir,
}

impl Journey {
    fn prepare(profile: &str) -> Self {
        let mut town = Town::build(Rules { log: "debug", ..Rules::default() });
        town.world.add_host("guesthome").unwrap();
        town.world.link(("net", "to-guests"), ("guesthome", "uplink"), &LinkOptions::default()).unwrap();
        town.world.address("net", "to-guests", "192.0.2.129/25").unwrap();
        town.world.address("guesthome", "uplink", &format!("{HOME}/25")).unwrap();
        town.world.route("guesthome", "default", "192.0.2.129").unwrap();
        town.world.sysctl("net", "net.ipv4.ip_forward", "1").unwrap();
        let access_log = AccessLog::default();
        town.serve_tcp("net", crate::town::WEB, &access_log);
        town.serve_udp("net", "192.0.2.1:7", &access_log);
        succeeded(&town.run(&["team", "member", "add", "home", "--role", "home", "--dir", "guests"]));
        let endpoint = format!("{HOME}:51820");
        #[rustfmt::skip]
        let init = ["team", "gateway", "init", "--endpoint", &endpoint, "--network", "10.99.0.0/24", "--dir", "guests"];
        succeeded(&town.run(&init));
        // Both at once, so that both ways in have to share the network.
        let add = ["team", "member", "add", "traveller", "--qr", "--ikev2", "--json", "--dir", "guests"];
        let added: Value = serde_json::from_str(&succeeded(&town.run(&add))).unwrap();
        assert_eq!(added["ikev2"]["remote_id"], IDENTITY);
        assert_ne!(added["ikev2"]["address"], added["tunnel"]["address"], "two ways in, two addresses");
        let secret = added["ikev2"]["secret"].as_str().unwrap().to_owned();
        let settings = format!(
            "key = \"home.key\"\ncertificate = \"home.cert\"\n[gateway]\nuplink_interface = \"uplink\"\n\
             dns_upstream = \"192.0.2.1\"\n[gateway.ikev2]\nprofile = \"{profile}\"\nteam_secret = \"team.secret\"\n"
        );
        std::fs::write(town.path("guests/home.toml"), settings).unwrap();
        let file = town.path("guests/team.secret");
        std::fs::write(&file, format!("{TEAM_SECRET}\n")).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        Self { town, access_log, secret, directory: tempfile::tempdir().unwrap() }
    }

    /// Starts the guests' home and waits until it is ready.
    fn home(&self) -> Program {
        let mut command = self.town.world.command("guesthome", env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.args(["--log", "debug", "home", "--config"]).arg(self.town.path("guests/home.toml"));
        let program = Program::start(&mut command, &self.town.path("guests-home.log"));
        program.hear_line("to say that it is ready", |line| line.starts_with("home of team"));
        program
    }

    fn client(&self) -> Client {
        Client::start(&self.town.world, "member", &self.directory.path().join("client"), 3)
    }

    fn psk(&self) -> ClientSettings<'_> {
        ClientSettings::psk(HOME, IDENTITY, "traveller", &self.secret)
    }

    fn home_status(&self) -> Value {
        look::ask("home", &self.town.path("guests/home.toml"), "status")
    }

    fn charon(&self) -> Option<i32> {
        self.home_status()["ikev2"]["charon"].as_i64().and_then(|pid| i32::try_from(pid).ok())
    }

    /// TCP, UDP and ping reach the Internet, and all of it comes from home.
    fn check_exit(&self, what: &str) {
        self.access_log.clear();
        let downloaded = self.town.download("member", 300_000);
        assert_eq!(downloaded.unwrap_or_else(|error| panic!("{what}: {error}")), 300_000, "{what}");
        until(what, || self.is_online());
        let ping = ["-c", "2", "-i", "0.2", "-W", "5", "192.0.2.1"];
        self.town.world.run("member", "ping", &ping).unwrap_or_else(|error| panic!("{what}: {error}"));
        let visits = self.access_log.all();
        assert!(
            visits.len() >= 2 && visits.iter().all(|(from, _)| from.to_string() == HOME),
            "{what}: {visits:?}"
        );
    }

    fn is_online(&self) -> bool {
        let echo = || -> std::io::Result<usize> {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.set_read_timeout(Some(Duration::from_millis(500)))?;
            socket.send_to(b"still there?", "192.0.2.1:7")?;
            socket.recv(&mut [0; 100])
        };
        self.town.world.within("member", || echo().is_ok()).unwrap()
    }

    /// Whether the visitor is on the Internet, from home. While there is no tunnel a stock client goes without.
    fn is_home(&self) -> bool {
        self.access_log.clear();
        self.is_online() && self.access_log.all().iter().all(|(from, _)| from.to_string() == HOME)
    }

    /// Waits until the visitor is home again, for as long as dead-peer detection may take: 15 s of silence, questions
    /// for 26 s, and a new tunnel, on a computer that has other things to do.
    fn recover(&self, what: &str, since: Instant) {
        until_within(3 * PATIENCE, what, || self.is_home());
        println!("{what}: {:?}", since.elapsed());
        self.check_exit(what);
    }
}

fn pid(id: i32) -> Pid {
    Pid::from_raw(id).unwrap()
}

/// Whether a process has ended; whoever inherited it may not have waited for it.
fn has_ended(id: i32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    test_kill_process(pid(id)).is_err() || state.contains(") Z ")
}

#[test]
fn a_stock_strongswan_client_roams_home_through_an_access_point_and_back() {
    if !inside("ike::a_stock_strongswan_client_roams_home_through_an_access_point_and_back") {
        return;
    }
    let journey = Journey::prepare("modern");
    let (_house_home, _ap) = journey.town.open();
    let _home = journey.home();
    let (visit, _) = journey.town.arrive("member", "guests", "member");
    let client = journey.client();
    client.configure(&ClientSettings::psk(HOME, IDENTITY, "traveller", "some-other-secret"));
    let refused = client.connect().unwrap_err();
    assert!(refused.contains("AUTHENTICATION_FAILED"), "{refused}");
    for (esp, want) in [
        ("aes128gcm16", "AES_GCM_16-128"),
        ("aes128-sha256", "AES_CBC-128-HMAC_SHA2_256_128"),
        ("chacha20poly1305", "CHACHA20_POLY1305"),
    ] {
        client.configure(&ClientSettings { esp, ..journey.psk() });
        client.connect().unwrap();
        journey.check_exit(esp);
        let status = journey.home_status();
        let peer = &status["ikev2"]["peers"][0];
        assert_eq!(
            (peer["name"].as_str(), peer["suite"].as_str()),
            (Some("traveller"), Some(want)),
            "{status}"
        );
        assert_eq!(peer["address"], "10.99.0.254", "from the top of the gateway's network");
        client.disconnect();
    }
    // What it was let through for is what it signed for.
    let ended = journey.town.leave(visit);
    assert!(ended["signed"].as_u64().unwrap_or_default() > 900_000, "{ended}");
    let text = succeeded(
        &guestright()
            .args(["home", "status", "--config"])
            .arg(journey.town.path("guests/home.toml"))
            .output()
            .unwrap(),
    );
    assert!(text.contains("IKEv2        packets by userspace, 0 restarts"), "{text}");
}

#[test]
fn the_papers_suites_come_home_with_the_legacy_profile() {
    if !inside("ike::the_papers_suites_come_home_with_the_legacy_profile") {
        return;
    }
    let journey = Journey::prepare("legacy-paper");
    let (_house_home, _ap) = journey.town.open();
    let _home = journey.home();
    let (_visit, _) = journey.town.arrive("member", "guests", "member");
    let client = journey.client();
    for (ike, esp, want) in [
        ("aes128-md5-modp1024", "aes128-md5", "AES_CBC-128-HMAC_MD5_96"),
        ("3des-sha1-modp1024", "3des-sha1", "3DES_CBC-HMAC_SHA1_96"),
    ] {
        client.configure(&ClientSettings {
            version: 1,
            ike,
            esp,
            gateway_id: &format!("paper.{IDENTITY}"),
            local: "auth = psk\n id = paper.traveller\n".to_owned(),
            secrets: format!("ike-1 {{ secret = \"{TEAM_SECRET}\" }}"),
            ..journey.psk()
        });
        client.connect().unwrap();
        journey.check_exit(esp);
        assert_eq!(journey.home_status()["ikev2"]["peers"][0]["suite"], want);
        client.disconnect();
    }
}

#[test]
fn whoever_is_killed_the_client_is_home_again() {
    if !inside("ike::whoever_is_killed_the_client_is_home_again") {
        return;
    }
    let journey = Journey::prepare("modern");
    let (_house_home, _ap) = journey.town.open();
    let mut home = journey.home();
    let (_visit, _) = journey.town.arrive("member", "guests", "member");
    let mut client = journey.client();
    client.configure(&journey.psk());
    client.connect().unwrap();
    journey.check_exit("at first");

    let charon = journey.charon().unwrap();
    kill_process(pid(charon), Signal::KILL).unwrap();
    journey.recover("home again after charon was killed", Instant::now());
    let status = journey.home_status();
    assert_eq!(status["ikev2"]["restarts"], 1, "{status}");

    let charon = journey.charon().unwrap();
    let killed = Instant::now();
    home.kill();
    until("charon to end with its home", || has_ended(charon));
    home = journey.home();
    journey.recover("home again after the home was killed", killed);

    let killed = Instant::now();
    client.restart(&journey.town.world, "member");
    client.configure(&journey.psk());
    client.connect().unwrap();
    journey.recover("home again after the client was killed", killed);

    home.signal(Signal::INT);
    assert!(home.wait().success(), "{}", home.log());
    let log = home.log();
    assert!(log.contains("traveller"), "charon's own log was looked at");
    for secret in [journey.secret.as_str(), TEAM_SECRET] {
        assert!(!log.contains(secret), "a secret is in the log");
    }
}

#[test]
fn a_revoked_member_is_out_after_a_reload() {
    if !inside("ike::a_revoked_member_is_out_after_a_reload") {
        return;
    }
    let journey = Journey::prepare("modern");
    let (_house_home, _ap) = journey.town.open();
    let _home = journey.home();
    let (_visit, _) = journey.town.arrive("member", "guests", "member");
    let client = journey.client();
    client.configure(&journey.psk());
    client.connect().unwrap();
    journey.check_exit("before");
    succeeded(&journey.town.run(&["team", "member", "revoke", "traveller", "--dir", "guests"]));
    succeeded(&journey.town.run(&["home", "reload", "--config", "guests/home.toml"]));
    let deadline = Instant::now() + PATIENCE;
    while journey.home_status()["ikev2"]["peers"] != serde_json::json!([]) {
        assert!(Instant::now() < deadline, "still connected: {}", journey.home_status());
    }
    client.configure(&journey.psk());
    let mut refused = client.connect().unwrap_err();
    // A client that has not heard yet that it was cut off asks nobody.
    while refused.contains("existing duplicate") {
        assert!(Instant::now() < deadline, "still takes itself for connected: {refused}");
        refused = client.connect().unwrap_err();
    }
    // Its secret goes first; once nobody is left who could come in, there is nothing to choose either.
    let reasons = ["AUTHENTICATION_FAILED", "NO_PROPOSAL_CHOSEN"];
    assert!(reasons.iter().any(|reason| refused.contains(reason)), "{refused}");
}
