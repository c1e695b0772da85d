//! Against BIND: a server with a zone and an update key of its own, on loopback.

#![expect(clippy::unwrap_used, reason = "a test")]

use guestright_directory::{Contact, FindError, Finder, HostName, Record, Statement};
use guestright_dns::{DnsError, DnsFinder, Published, Resolver, TsigKey, UpdateSettings, Updater};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_units::UnixSeconds;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tokio::net::UdpSocket;

const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const LIMIT: Duration = Duration::from_secs(60);
/// What BIND says when its port is somebody's, in TCP and in UDP.
const PORT_TAKEN: [&str; 2] =
    ["creating TCP socket: address in use", "creating IPv4 interface lo failed; interface ignored"];

/// A BIND that ends with the test.
struct Bind {
    child: Child,
    folder: TempDir,
    address: SocketAddr,
}

impl Bind {
    /// `options` go into BIND's options.
    fn start(options: &str) -> Self {
        let started = (0..16).find_map(|_| Self::start_at_a_free_port(options));
        started.expect("a port that is free for both protocols")
    }

    /// BIND chooses no port itself. Nothing if somebody has taken this one, for either protocol, before BIND could.
    fn start_at_a_free_port(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let directory = folder.path().display();
        let settings = format!(
            r#"options {{ directory "{directory}"; pid-file none; session-keyfile none; lock-file none;
                 listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
                 recursion no; dnssec-validation no; notify no; {options} }};
               controls {{ }};
               key "home" {{ algorithm hmac-sha256; secret "{SECRET}"; }};
               zone "members.example" {{ type primary; file "zone"; update-policy {{ grant home zonesub ANY; }}; }};
               zone "frozen.example" {{ type primary; file "frozen"; }};"#,
            port = address.port(),
        );
        let zone = "$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\n\
                    other TXT \"v=spf1 -all\"\n";
        std::fs::write(folder.path().join("named.conf"), settings).unwrap();
        for file in ["zone", "frozen"] {
            std::fs::write(folder.path().join(file), zone).unwrap();
        }
        let mut child = Command::new("/usr/sbin/named")
            .args(["-g", "-4", "-n", "1", "-c"])
            .arg(folder.path().join("named.conf"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("named (Debian's bind9; sh scripts/setup.sh test installs it)");
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let bind = Self { child, folder, address };
        let mut output = String::new();
        loop {
            let Some(Ok(line)) = log.next() else { panic!("BIND did not start:\n{output}") };
            output += &format!("{line}\n");
            if PORT_TAKEN.iter().any(|words| line.ends_with(words)) {
                return None;
            }
            if line.ends_with(" running") {
                break;
            }
        }
        // Its log is read on, so that it never waits for us.
        std::thread::spawn(move || log.for_each(drop));
        Some(bind)
    }

    fn updater(&self, zone: &str, key: TsigKey) -> Updater {
        Updater::new(UpdateSettings {
            server: self.address,
            zone: zone.to_owned(),
            key,
            ttl: 60,
            for_people: true,
            timeout: LIMIT,
        })
    }

    fn resolver(&self) -> Resolver {
        Resolver::named(self.address, LIMIT)
    }

    fn dig(&self, arguments: &[&str]) -> String {
        let port = self.address.port().to_string();
        let output = Command::new("dig").args(["@127.0.0.1", "-p", &port, "+short"]).args(arguments).output();
        String::from_utf8(output.expect("dig (Debian's bind9-dnsutils)").stdout).unwrap()
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Member {
    key: SecretKey,
    certificate: Certificate,
}

impl Member {
    fn new(number: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(number);
        let [team, key] = [(); 2].map(|()| SecretKey::generate(Suite::Ed25519, &mut rng));
        let certificate =
            Certificate::issue(&team, key.public(), Role::Member, now().minus(60), now().plus(86_400));
        Self { key, certificate }
    }

    fn record(&self, sequence: u64, addresses: &[&str]) -> Record {
        let statement = Statement {
            home: self.key.public().id(),
            home_team: self.certificate.team_id(),
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            sequence,
            not_before: now().minus(60),
            not_after: now().plus(3_600),
        };
        Record::sign(&self.key, &self.certificate, statement).unwrap()
    }
}

fn now() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs())
}

fn key() -> TsigKey {
    TsigKey::from_base64("home", SECRET).unwrap()
}

fn name(text: &str) -> HostName {
    HostName::new(text).unwrap()
}

#[tokio::test]
async fn a_record_is_published_replaced_and_withdrawn() {
    let bind = Bind::start("");
    let updater = bind.updater("members.example", key());
    let (member, alice) = (Member::new(1), name("alice.members.example"));
    let resolver = bind.resolver();
    let find = || resolver.lookup(&alice, member.key.public().id(), now());
    assert!(matches!(find().await, Err(DnsError::Nothing(_))));

    let first = member.record(1, &["192.0.2.7:7275", "[2001:db8::7]:7000"]);
    assert_eq!(updater.publish(&alice, &first).await.unwrap(), Published::New);
    assert_eq!(find().await.unwrap(), first);
    assert_eq!(updater.publish(&alice, &first).await.unwrap(), Published::Unchanged);
    assert_eq!(
        bind.dig(&["alice.members.example", "A", "alice.members.example", "AAAA"]),
        "192.0.2.7\n2001:db8::7\n"
    );

    let second = member.record(2, &["home.example:7275"]);
    assert_eq!(updater.publish(&alice, &second).await.unwrap(), Published::Replaced);
    assert_eq!(find().await.unwrap(), second);
    assert_eq!(bind.dig(&["_guestright._tcp.alice.members.example", "SRV"]), "0 0 7275 home.example.\n");
    assert_eq!(bind.dig(&["alice.members.example", "A"]), "", "what belonged to the old record is gone");
    let texts = bind.dig(&["_guestright.alice.members.example", "TXT"]);
    assert_eq!(texts.lines().count(), 1, "{texts}");
    assert!(texts.starts_with("\"guestright1\" \""), "{texts}");

    let older = updater.publish(&alice, &first).await;
    assert!(matches!(older, Err(DnsError::Older { got: 1, known: 2, .. })), "{older:?}");
    let other = updater.publish(&alice, &Member::new(2).record(9, &["192.0.2.9"])).await;
    assert!(matches!(other, Err(DnsError::OtherMember(_))), "{other:?}");
    assert_eq!(find().await.unwrap(), second);

    updater.withdraw(&alice).await.unwrap();
    assert!(matches!(find().await, Err(DnsError::Nothing(_))));
    assert_eq!(bind.dig(&["_guestright._tcp.alice.members.example", "SRV"]), "");
}

#[tokio::test]
async fn a_hosts_address_follows_it_and_its_other_records_stay() {
    let bind = Bind::start("");
    let updater = bind.updater("members.example", key());
    let host = name("home.members.example");
    let mut publish = vec![];
    for address in [[192, 0, 2, 7], [192, 0, 2, 7], [198, 51, 100, 9]] {
        publish.push(updater.publish_address(&host, address.into()).await.unwrap());
        let [a, b, c, d] = address;
        assert_eq!(bind.dig(&["home.members.example", "A"]), format!("{a}.{b}.{c}.{d}\n"));
    }
    assert_eq!(publish, [Published::New, Published::Unchanged, Published::Replaced]);
    let other = name("other.members.example");
    updater.publish_address(&other, [192, 0, 2, 8].into()).await.unwrap();
    assert_eq!(bind.dig(&["other.members.example", "TXT"]), "\"v=spf1 -all\"\n");
    let outside = updater.publish_address(&name("home.example"), [192, 0, 2, 7].into()).await.unwrap_err();
    assert!(outside.to_string().contains("it is not in the zone members.example"), "{outside}");
    let wrong = TsigKey::from_base64("home", "YW5vdGhlciBzZWNyZXQgYWx0b2dldGhlcg==").unwrap();
    let refused = bind.updater("members.example", wrong).publish_address(&host, [192, 0, 2, 66].into()).await;
    assert!(refused.unwrap_err().to_string().contains("is the key's name or secret wrong"));
    assert_eq!(bind.dig(&["home.members.example", "A"]), "198.51.100.9\n");
}

#[tokio::test]
async fn two_who_publish_at_once_leave_the_newer_record() {
    let bind = Bind::start("");
    let (member, alice) = (Member::new(1), name("alice.members.example"));
    let updater = bind.updater("members.example", key());
    let publish = |sequence| {
        let (updater, alice, record) =
            (updater.clone(), alice.clone(), member.record(sequence, &["192.0.2.7"]));
        async move { updater.publish(&alice, &record).await }
    };
    for round in 0..5 {
        let (low, high) = tokio::join!(publish(round * 2 + 1), publish(round * 2 + 2));
        assert!(high.is_ok(), "{high:?}");
        assert!(matches!(low, Ok(_) | Err(DnsError::Older { .. })), "{low:?}");
        let found = bind.resolver().lookup(&alice, member.key.public().id(), now()).await.unwrap();
        assert_eq!(found.sequence(), round * 2 + 2);
    }
    // Texts of others beside ours stay out of the way of a lookup and are part of the condition.
    let other = name("other.members.example");
    assert!(matches!(updater.publish(&other, &member.record(1, &["192.0.2.7"])).await, Ok(Published::New)));
}

#[tokio::test]
async fn a_wrong_key_is_refused_with_a_reason() {
    let bind = Bind::start("");
    let (record, alice) = (Member::new(1).record(1, &["192.0.2.7"]), name("alice.members.example"));
    let publish = |zone: &'static str, name: HostName, key| {
        let (updater, record) = (bind.updater(zone, key), record.clone());
        async move { updater.publish(&name, &record).await.unwrap_err() }
    };
    let wrong = TsigKey::from_base64("home", "YW5vdGhlciBzZWNyZXQgYWx0b2dldGhlcg==").unwrap();
    let unknown = TsigKey::from_base64("house", SECRET).unwrap();
    for key in [wrong, unknown] {
        let refused = publish("members.example", alice.clone(), key).await.to_string();
        assert!(refused.contains("is the key's name or secret wrong"), "{refused}");
    }
    let refused = publish("frozen.example", name("alice.frozen.example"), key()).await.to_string();
    assert!(refused.contains("refuses"), "{refused}");
    let refused = publish("members.example", name("alice.example"), key()).await.to_string();
    assert_eq!(
        refused,
        "\"alice.example\" cannot be a name in the DNS here: it is not in the zone members.example"
    );
    assert_eq!(format!("{:?}", key()), "TsigKey(home.)");
}

#[tokio::test]
async fn what_does_not_fit_a_datagram_comes_over_tcp() {
    let bind = Bind::start("max-udp-size 512;");
    let (member, alice) = (Member::new(1), name("alice.members.example"));
    let long = format!("{}example", "abcdefg.".repeat(11));
    let record = member.record(1, &[&long, &format!("{long}:1")]);
    bind.updater("members.example", key()).publish(&alice, &record).await.unwrap();
    let cut =
        bind.dig(&["+noshort", "+ignore", "+noall", "+comments", "_guestright.alice.members.example", "TXT"]);
    assert!(cut.contains(" tc"), "the answer fits after all: {cut}");
    assert_eq!(bind.resolver().lookup(&alice, member.key.public().id(), now()).await.unwrap(), record);
}

#[tokio::test]
async fn a_server_that_is_gone_is_named() {
    let bind = Bind::start("");
    let (address, alice) = (bind.address, name("alice.members.example"));
    let updater = bind.updater("members.example", key());
    let member = Member::new(1);
    drop(bind);
    let gone = updater.publish(&alice, &member.record(1, &["192.0.2.7"])).await.unwrap_err().to_string();
    assert!(gone.starts_with(&format!("the DNS server {address} cannot be reached")), "{gone}");
    let resolver = Resolver::named(address, LIMIT);
    let gone = resolver.lookup(&alice, member.key.public().id(), now()).await.unwrap_err().to_string();
    assert!(gone.starts_with(&format!("the DNS server {address} cannot be reached")), "{gone}");
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let resolver = Resolver::named(silent.local_addr().unwrap(), Duration::from_millis(100));
    let late = resolver.lookup(&alice, member.key.public().id(), now()).await;
    assert!(matches!(late, Err(DnsError::Timeout { .. })), "{late:?}");
}

#[tokio::test]
async fn the_finder_finds_by_the_contacts_name_and_nothing_else() {
    let bind = Bind::start("");
    let (member, alice) = (Member::new(1), name("alice.members.example"));
    let record = member.record(now().0, &["192.0.2.7"]);
    let updater = bind.updater("members.example", key());
    let finder = DnsFinder::new(bind.resolver(), Some((updater, alice.clone())));
    finder.announce(&record).await.unwrap();
    let contact = Contact { dns: Some(alice), ..Contact::new("Other", member.key.public().id()).unwrap() };
    assert_eq!(finder.find(&contact).await.unwrap(), record);
    let impostor = Contact { member: Member::new(2).key.public().id(), ..contact.clone() };
    assert!(matches!(finder.find(&impostor).await, Err(FindError::Record(_))));
    let without = Contact { dns: None, ..contact };
    assert_eq!(finder.find(&without).await, Err(FindError::NoHint("name in the DNS")));
    // The system's way to name a server; the first one that answers counts.
    let list = bind.folder.path().join("resolv.conf");
    std::fs::File::create(&list).unwrap().write_all(b"# nobody\n").unwrap();
    let nobody = Resolver::of_file(&list, LIMIT).lookup(&name("a.example"), record.member(), now()).await;
    assert!(matches!(nobody, Err(DnsError::NoServer(_))), "{nobody:?}");
}
