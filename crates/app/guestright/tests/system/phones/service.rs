//! What comes after having joined by 802.1X: the phone's tunnel home, its home's signatures, and the end.

use super::air::Air;
use crate::credit::region::{Terms, guest_of};
use crate::stock::{Client, ClientSettings};
use crate::town::quick::Quick;
use crate::town::{PATIENCE, Program, inside, until};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Where the phone joins, and where its home is.
const AT: &str = "p";
const HOME: &str = "198.51.102.2";
const ALLOWANCE: u64 = 1_000_000_000;
/// What passes of a phone's tunnel before anybody has signed.
const ALLOWANCE_OF_TUNNELS: u64 = 131_072;

/// Two households, and a phone of `a` that has joined at `p`.
struct Joined {
    air: Air,
    hostapd: Program,
    _supplicant: Program,
    profile: String,
}

impl Joined {
    fn prepare(more: &str) -> Self {
        let air =
            Air::build_with_gateways(&[Terms::new(AT, ALLOWANCE), Terms::new("a", ALLOWANCE)], 100_000, more);
        let profile = air.phone("a", "phone");
        let hostapd = air.start_hostapd();
        let supplicant = air.start_supplicant(&profile);
        until("the phone to have joined", || air.joined_team() == Some(air.team("a").to_string()));
        Self { air, hostapd, _supplicant: supplicant, profile }
    }

    fn download(&self, bytes: usize, patience: Duration) -> usize {
        self.air.region.download(AT, bytes, patience)
    }

    /// Counts the tunnels' packets where nobody of ours is: at the phone, and on the Internet.
    fn judge(&self, ports: &str) {
        let chain = |host: &str, chain: &str, hook: &str, rules: &[String]| {
            let rules: Vec<_> =
                rules.iter().map(|rule| format!("add rule inet judge {chain} {rule}")).collect();
            let text = format!(
                "add table inet judge; add counter inet judge both; \
                 add chain inet judge {chain} {{ type filter hook {hook} priority 0; }}; {}",
                rules.join("; ")
            );
            self.air.region.world.run(host, "nft", &[&text]).unwrap();
        };
        let [there, back] =
            ["dport", "sport"].map(|side| format!("udp {side} {{ {ports} }} counter name both"));
        chain(&guest_of(AT), "there", "output", &[format!("oifname wlan0 {there}")]);
        chain(&guest_of(AT), "back", "input", &[format!("iifname wlan0 {back}")]);
        let both = [format!("iifname to-{AT} {there}"), format!("oifname to-{AT} {back}")];
        chain("net", "passing", "forward", &both);
    }

    fn judged(&self, host: &str) -> u64 {
        let arguments = ["-j", "list", "counters", "table", "inet", "judge"];
        let text = self.air.region.world.run(host, "nft", &arguments).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let mut counts = value["nftables"].as_array().unwrap().iter();
        counts.find_map(|each| each["counter"]["bytes"].as_u64()).unwrap()
    }

    /// The open session of the phone's tunnel; null if there is none.
    fn session(&self) -> Value {
        let status = self.air.status();
        let mut sessions = status["sessions"].as_array().into_iter().flatten();
        let is_it = |session: &&Value| session["tunnel"] == HOME && session["open"] == true;
        sessions.find(is_it).cloned().unwrap_or_default()
    }

    /// What the phone's home says of it.
    fn signing(&self) -> Value {
        let status = self.air.region.ask("a", "home", &["status"]);
        status["receipt_requests"]["open"]
            .as_array()
            .into_iter()
            .flatten()
            .next()
            .cloned()
            .unwrap_or_default()
    }

    /// Uses the tunnel until there is a session for it, as somebody would who wants something.
    fn until_served(&self, what: &str) -> Value {
        until(what, || {
            self.download(1_000, Duration::from_secs(2));
            !self.session().is_null()
        });
        self.session()
    }

    /// Waits until what was counted is signed for, but for the last few packets, and compares everybody's counts. Returns the
    /// household's.
    fn until_signed(&self, least: u64) -> u64 {
        // Both judges have also seen what came before there was a session, which is no more than the allowance.
        let agree = |judge: u64, counted: u64| {
            are_alike(judge.max(counted), counted)
                || (counted..counted + ALLOWANCE_OF_TUNNELS).contains(&judge)
        };
        let bytes = |value: &Value, key: &str| value[key].as_u64().unwrap_or_default();
        let (mut session, mut signing) = (Value::Null, Value::Null);
        // Programs read the kernel's counters now and then: what came since the last time is in the judges' counts alone.
        until("everything to be signed for, and all counts to agree", || {
            (session, signing) = (self.session(), self.signing());
            let [phone, internet] = [&*guest_of(AT), "net"].map(|host| self.judged(host));
            let (household, home) = (bytes(&session, "counted"), bytes(&signing, "counted"));
            println!("{session}\n{signing}\nthe phone has seen {phone}, the Internet {internet}");
            let signed = bytes(&session, "signed");
            signed >= least
                && are_alike(household, signed)
                && agree(phone, household)
                && agree(internet, home)
        });
        let (household, home) = (bytes(&session, "counted"), bytes(&signing, "counted"));
        // The household drops what nobody has signed for yet: that far they differ, and that is not signed for.
        let signed = bytes(&signing, "signed");
        assert!(signed <= household && household <= home + home / 100, "{signed}, {household}, {home}");
        household
    }

    /// The session is bound to who has joined at this hardware address.
    fn check_binding(&self, session: &Value) {
        let phones = self.air.status()["phones"].clone();
        let joined = &phones["joined"][0];
        let team = self.air.team("a").to_string();
        assert_eq!((&joined["team"], &session["team"]), (&Value::from(team.clone()), &Value::from(team)));
        assert_eq!(joined["mac"], session["mac"]);
        assert_eq!(self.signing()["provider"], self.air.team(AT).to_string());
    }

    /// As which port the household's router lets IPsec's tunnels leave, from the next flow on.
    fn translate(&self, ports: &str) {
        let rules = format!(
            "add table ip twist; delete table ip twist; add table ip twist; \
             add chain ip twist c {{ type nat hook postrouting priority 90; }}; \
             add rule ip twist c oifname uplink udp sport 4500 masquerade to :{ports}"
        );
        self.air.region.world.run(AT, "nft", &[&rules]).unwrap();
    }

    /// Where the phone's home sees its IPsec tunnel come from.
    fn port_at_home(&self) -> Value {
        self.air.region.ask("a", "home", &["status"])["ikev2"]["peers"][0]["from"].clone()
    }

    /// Its household lets the phone in no more: its session ends, hostapd has it leave, and nobody lets it in again.
    fn revoke(&self) {
        self.air.revoke("a", "phone");
        until("hostapd to have let it go", || {
            self.air.status()["phones"]["counters"]["dismissed"].as_u64() > Some(0)
        });
        self.hostapd.hear_line("to be told so", |line| line.contains("RADIUS DAS: Calling-Station-Id match"));
        until("everybody to have ended the session", || self.session().is_null() && self.signing().is_null());
        assert_eq!(self.air.joined_team(), None);
        let refused = self.air.join(&self.profile);
        assert!(
            !refused.is_in && refused.reply.contains("Your home does not let you in:"),
            "{}",
            refused.reply
        );
        assert_eq!(self.download(1_000, Duration::from_secs(2)), 0);
    }
}

/// Whether two counts are alike, but for packets on their way and the first ones, which are counted at one end.
fn are_alike(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= one.max(other) / 100 + 10_000
}

#[test]
fn a_phone_that_joined_tunnels_home_and_its_home_signs_until_it_is_revoked() {
    if !inside("phones::service::a_phone_that_joined_tunnels_home_and_its_home_signs_until_it_is_revoked") {
        return;
    }
    let joined = Joined::prepare("");
    joined.judge("51820");
    assert!(joined.session().is_null(), "having joined is no service");
    let quick = Quick::prepare(&joined.air.region.path("a", ""));
    let config = joined.air.region.path("a", "phone.conf");
    quick.run(&joined.air.region.world, "up", &guest_of(AT), &config);
    let session = joined.until_served("the tunnel to be served");
    joined.check_binding(&session);
    assert_eq!(joined.download(5_000_000, PATIENCE), 5_000_000);
    joined.until_signed(5_000_000);
    joined.revoke();
}

/// A stock client of IKEv2 with what an Apple profile says, at an access point that lets nothing through but the allowance
/// for tunnels, served for what it has had; and how much that was.
fn at_home_by_ikev2(directory: &Path) -> (Joined, Client, u64) {
    let joined = Joined::prepare("[gateway.ikev2]\nprofile = \"modern\"\n");
    joined.judge("500, 4500");
    joined.translate("5000-5099");
    let client = Client::start(&joined.air.region.world, &guest_of(AT), directory, 3);
    let secret = secret_of(&joined.air.region.path("a", "gateway/phone.ike"));
    client.configure(&ClientSettings {
        ike: "aes256gcm16-prfsha256-ecp256",
        esp: "aes256gcm16-ecp256",
        ..ClientSettings::psk(HOME, "home.guestright", "phone", &secret)
    });
    client.connect().unwrap();
    let session = joined.until_served("the tunnel to be served");
    joined.check_binding(&session);
    assert_eq!(joined.download(5_000_000, PATIENCE), 5_000_000);
    let household = joined.until_signed(5_000_000);
    let from = joined.port_at_home();
    assert!(from.as_str().unwrap().starts_with("198.51.101.2:50"), "the household translates: {from}");
    (joined, client, household)
}

#[test]
fn a_phone_that_joined_comes_home_by_ikev2_and_its_home_signs_until_it_is_revoked() {
    if !inside(
        "phones::service::a_phone_that_joined_comes_home_by_ikev2_and_its_home_signs_until_it_is_revoked",
    ) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (joined, _client, _) = at_home_by_ikev2(directory.path());
    joined.revoke();
}

#[test]
fn a_phones_tunnel_by_ikev2_is_signed_for_whatever_its_port() {
    if !inside("phones::service::a_phones_tunnel_by_ikev2_is_signed_for_whatever_its_port") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (joined, client, household) = at_home_by_ikev2(directory.path());
    let started = joined.session()["started"].clone();
    client.until_it_knows_its_port();

    // The household forgets its connections, as a line that was down does: the tunnel comes from another port from now on, and
    // the client says so (MOBIKE). The session goes on.
    joined.translate("6000-6099");
    let line =
        "ip link set uplink down && ip link set uplink up && ip route replace default via 198.51.101.1";
    joined.air.region.world.run(AT, "sh", &["-c", line]).unwrap();
    until("the tunnel to come from another port", || {
        joined.download(1_000, Duration::from_secs(2));
        joined.port_at_home().as_str().is_some_and(|from| from.starts_with("198.51.101.2:60"))
    });
    assert_eq!(joined.download(1_000_000, PATIENCE), 1_000_000);
    joined.until_signed(household + 1_000_000);
    assert_eq!(joined.session()["started"], started, "it is the same session");
    joined.revoke();
}

/// What a phone's profile has in it.
fn secret_of(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("secret = "));
    line.unwrap().trim_matches('"').to_owned()
}
