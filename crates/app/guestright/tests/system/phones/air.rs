//! Households whose access points take phones in, and stock programs that try.

use crate::credit::region::{Household, Region, Terms};
use crate::town::client::now;
use crate::town::{Program, guestright, succeeded};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_eap::{Authority, Certificate, Credential, PrivateKey};
use guestright_netns::World;
use guestright_profile::pkcs12;
use guestright_radius::{Realm, Secret};
use guestright_units::{Seed, TeamId};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Where one joins.
const AT: &str = "p";
/// What `eapol_test` says that it is.
pub(super) const STATION: &str = "02:00:00:00:00:21";

/// Some households. Dropping it ends everything.
pub(super) struct Air {
    pub(super) region: Region,
    households: BTreeMap<&'static str, Household>,
}

/// What became of an attempt to join.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) is_in: bool,
    /// How often the access point was asked.
    pub(super) round_trips: usize,
    pub(super) reply: String,
    pub(super) took: Duration,
    pub(super) log: String,
}

impl Air {
    /// Builds them, each with a gateway, and starts them. The first knows where the homes of the others are.
    pub(super) fn build(households: &[Terms]) -> Self {
        Self::build_with(households, 100_000)
    }

    /// The same, where the first owes each of the others so much for that. It lends nothing.
    pub(super) fn build_with(households: &[Terms], visit_bytes: usize) -> Self {
        Self::build_with_gateways(households, visit_bytes, "")
    }

    /// The same, where the settings of the others' homes say `more`.
    pub(super) fn build_with_gateways(households: &[Terms], visit_bytes: usize, more: &str) -> Self {
        let air = Self::open(households, more);
        for Terms { name, .. } in &households[1..] {
            air.meet(AT, name, visit_bytes);
        }
        air
    }

    /// The same, where each knows where the home of the next one is, and of no other.
    pub(super) fn build_chain(households: &[Terms]) -> Self {
        let air = Self::open(households, "");
        for pair in households.windows(2) {
            air.meet(pair[0].name, pair[1].name, 100_000);
        }
        air
    }

    /// A member of a team visits another household, and brings home where that one's home is.
    fn meet(&self, team: &str, at: &str, bytes: usize) {
        assert_eq!(self.region.visits(at, team, "one", bytes), bytes);
    }

    fn open(households: &[Terms], more: &str) -> Self {
        let mut region = Region::build(households);
        // In a flood, what is said of each attempt would be most of the work.
        region.log_level = "info";
        let mut air = Self { region, households: BTreeMap::new() };
        for Terms { name, .. } in households {
            air.region.make_gateway(name);
            air.region.append(name, "ap.toml", "[phones]\n");
            if *name == AT {
                let path = air.region.path(name, "home.toml");
                let settings = std::fs::read_to_string(&path).unwrap();
                std::fs::write(path, settings.replace("[credit]\n", "[credit]\nlend_bytes_max = 0\n"))
                    .unwrap();
            } else {
                air.region.append(name, "home.toml", more);
            }
            let household = air.region.open(name);
            air.households.insert(name, household);
        }
        air
    }

    /// The teams of which a home knows where their homes may be.
    pub(super) fn met(&self, name: &str) -> BTreeSet<String> {
        let path = self.region.path(name, "home-state/neighbours.addresses");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    }

    /// What a household's home says of phones.
    pub(super) fn home_status(&self, name: &str) -> Value {
        self.region.ask(name, "home", &["status"])["phones"].clone()
    }

    pub(super) fn within<T: Send>(&self, host: &str, job: impl FnOnce() -> T + Send) -> T {
        self.region.world.within(host, job).unwrap()
    }

    pub(super) fn team(&self, name: &str) -> TeamId {
        self.region.team(name)
    }

    pub(super) fn status(&self) -> Value {
        self.region.ask(AT, "ap", &["status"])
    }

    /// Makes a phone for a new member, and returns what its `wpa_supplicant` reads.
    pub(super) fn phone(&self, team: &str, name: &str) -> String {
        self.region.run(team, &["team", "member", "add", name, "--phone", "--dir", "."]);
        let files = self.region.path(team, &format!("{name}-phone"));
        std::fs::read_to_string(files.join("wpa_supplicant.conf")).unwrap()
    }

    /// The same phone, with a certificate of the household's authority that ended a year ago.
    pub(super) fn expired(&self, team: &str, profile: &str) -> String {
        let path = self.region.path(team, "home-state/phones/authority.pem");
        let text = std::fs::read_to_string(path).unwrap();
        let (key, certificate) = text.split_at(text.find("-----BEGIN CERTIFICATE-----").unwrap());
        let (key, certificate) =
            (PrivateKey::from_pem(key).unwrap(), Certificate::from_pem(certificate).unwrap());
        let realm = Realm(self.team(team)).to_string().parse().unwrap();
        let authority = Authority::restore(realm, Credential { certificate, key }).unwrap();
        let (label, old) =
            authority.issue_client(now().minus(2 * 366 * 86_400), &mut StdRng::seed_from_u64(1));
        let key = guestright_profile::PrivateKey::from_pkcs8(old.key.to_der().to_vec());
        let (certificate, seed) = (old.certificate.as_der(), Seed::from_number(1));
        let identity = pkcs12::encode(&label.to_string(), certificate, &key, None, &seed);
        let (before, _) = profile.split_once("blob-base64-guestright-identity={").unwrap();
        let blob = STANDARD.encode(&*identity);
        let lines: Vec<_> =
            blob.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!("{before}blob-base64-guestright-identity={{\n{}\n}}\n", lines.join("\n"))
    }

    /// The household lets the phone in no more.
    pub(super) fn revoke(&self, team: &str, name: &str) {
        self.region.run(team, &["team", "member", "revoke", name, "--dir", "."]);
    }

    pub(super) fn signal_home(&self, team: &str, signal: Signal) {
        self.households[team].home.signal(signal);
    }

    pub(super) fn stop_home(&mut self, team: &str) {
        self.households.get_mut(team).unwrap().home.kill();
    }

    /// What hostapd and the access point share, as hostapd's settings have it.
    fn secret(&self) -> String {
        let settings = self.hostapd_settings();
        let line = settings.lines().find_map(|line| line.strip_prefix("auth_server_shared_secret="));
        line.unwrap().to_owned()
    }

    pub(super) fn radius_secret(&self) -> Secret {
        Secret::new(self.secret().as_bytes()).unwrap()
    }

    /// What the program prints for hostapd.
    fn hostapd_settings(&self) -> String {
        let config = self.region.path(AT, "ap.toml");
        let mut command = guestright();
        command.args(["ap", "hostapd", "--interface", "port", "--config"]).arg(config);
        succeeded(&command.output().unwrap())
    }

    /// `eapol_test` in hostapd's place, with this profile.
    pub(super) fn join(&self, profile: &str) -> Joined {
        self.join_within(Duration::from_secs(20), profile)
    }

    /// The same, where it may take so long; in whole seconds.
    pub(super) fn join_within(&self, patience: Duration, profile: &str) -> Joined {
        let path = self.region.path(AT, "eapol.conf");
        std::fs::write(&path, profile).unwrap();
        let mut command = self.region.world.command(AT, "eapol_test").unwrap();
        command.arg("-c").arg(&path).args(["-a", "127.0.0.1", "-p", "1812", "-s", &self.secret()]);
        command.args(["-M", STATION, "-t", &patience.as_secs().to_string()]).stdin(Stdio::null());
        let begun = Instant::now();
        let output = command.output().expect("`eapol_test`: sh scripts/setup.sh test");
        let took = begun.elapsed();
        let log = String::from_utf8_lossy(&output.stdout).into_owned();
        let round_trips = log.matches("Sending RADIUS message to authentication server").count();
        Joined { is_in: output.status.success(), round_trips, reply: reply_message(&log), took, log }
    }

    /// hostapd as a switch would run it, at the guest's port, with the settings for RADIUS that our program prints.
    pub(super) fn start_hostapd(&self) -> Program {
        start_hostapd(&self.region.world, (AT, "port"), &self.hostapd_settings(), &self.region.path(AT, ""))
    }

    /// The guest's supplicant, on a cable.
    pub(super) fn start_supplicant(&self, profile: &str) -> Program {
        start_supplicant(&self.region.world, &format!("guest-{AT}"), profile, &self.region.path(AT, ""))
    }

    /// Whose phone has joined, if one has.
    pub(super) fn joined_team(&self) -> Option<String> {
        let status = self.status();
        status["phones"]["joined"].as_array()?.first()?["team"].as_str().map(str::to_owned)
    }
}

/// hostapd at a port of a host, with what our program has printed for RADIUS; its files are in `directory`.
pub(crate) fn start_hostapd(world: &World, at: (&str, &str), printed: &str, directory: &Path) -> Program {
    const TAKEN: [&str; 8] = [
        "eapol_version=",
        "eap_reauth_period=",
        "own_ip_addr=",
        "nas_identifier=",
        "auth_server_",
        "acct_server_",
        "radius_acct_",
        "radius_das_",
    ];
    let (host, port) = at;
    let radius = printed.lines().filter(|line| TAKEN.iter().any(|word| line.starts_with(word)));
    let radius: String = radius.map(|line| format!("{line}\n")).collect();
    let settings = format!("interface={port}\ndriver=wired\nieee8021x=1\nuse_pae_group_addr=1\n{radius}");
    let path = directory.join("hostapd.conf");
    std::fs::write(&path, settings).unwrap();
    let mut command = world.command(host, "hostapd").unwrap();
    let hostapd = Program::start(command.arg("-dd").arg(&path), &directory.join("hostapd.log"));
    hostapd.hear_line("to be ready", |line| line.contains("AP-ENABLED"));
    hostapd
}

/// A supplicant with a phone's file, on a cable; its files are in `directory`.
pub(crate) fn start_supplicant(world: &World, guest: &str, profile: &str, directory: &Path) -> Program {
    let is_of_the_air = |line: &str| {
        let words = [
            "ssid=",
            "proto=",
            "key_mgmt=",
            "pairwise=",
            "ieee80211w=",
            "interworking=",
            "hs20=",
            "auto_",
            "pmf=",
        ];
        words.iter().any(|word| line.trim().starts_with(word))
    };
    let wired: String =
        profile.lines().filter(|line| !is_of_the_air(line)).map(|line| format!("{line}\n")).collect();
    let wired = wired.replacen("network={", "ap_scan=0\nnetwork={\n\tkey_mgmt=IEEE8021X\n\teapol_flags=0", 1);
    let path = directory.join("supplicant.conf");
    std::fs::write(&path, wired).unwrap();
    let mut command = world.command(guest, "wpa_supplicant").unwrap();
    command.args(["-D", "wired", "-i", "wlan0", "-c"]).arg(&path);
    let supplicant = Program::start(&mut command, &directory.join("supplicant.log"));
    supplicant.hear_line("to have joined", |line| line.contains("CTRL-EVENT-EAP-SUCCESS"));
    supplicant
}

/// `eapol_test` prints each attribute and its value on the next line.
fn reply_message(log: &str) -> String {
    let mut reply = String::new();
    let mut lines = log.lines();
    while let Some(line) = lines.next() {
        if line.contains("(Reply-Message)") {
            let value = lines.next().unwrap_or_default();
            reply.push_str(value.trim().trim_start_matches("Value: '").trim_end_matches('\''));
        }
    }
    reply
}
