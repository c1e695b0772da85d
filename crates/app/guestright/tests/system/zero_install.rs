//! Visitors that have nothing but a stock WireGuard app: their homes sign for them.
//!
//! ```text
//!   member, resident ══ guests ── router (access point, its home) ── net ── manor (a home far away)
//!                                                                     └──── plain (a tunnel without a home)
//! ```

use super::town::Program;
use super::town::quick::Quick;
use super::town::services::AccessLog;
use super::town::{PATIENCE, Rules, Town, inside, look, succeeded, until};
use guestright_netns::LinkOptions;
use guestright_roaming::AccessPoint;
use guestright_roaming::access_point::{Address, Config, Event, Path, Transmit};
use guestright_roaming::message::{Message, message_len};
use guestright_units::{Bytes, Micros, Time};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::num::NonZeroU16;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MANOR: Ipv4Addr = Ipv4Addr::new(198, 18, 40, 2);
const PLAIN: Ipv4Addr = Ipv4Addr::new(198, 18, 50, 2);
/// The household's address on the Internet.
const ROUTER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
/// What a visitor has an hour without a signature, by default.
const ALLOWANCE: u64 = 131_072;
/// A short try is given up when it has had nothing for so long.
const TRY: Duration = Duration::from_secs(2);
/// A download that has had nothing for so long gets nothing more: TCP has tried again often enough for the last bytes.
const STALLED: Duration = Duration::from_secs(20);

/// The town, a home far away with a gateway, and a computer that only has tunnels.
struct Country {
    town: Town,
    quick: Quick,
}

impl Country {
    fn build(rules: Rules, more: &str) -> Self {
        let mut town = Town::build(rules);
        let wire = LinkOptions { mtu: None, segmentation_offload: false };
        town.world.sysctl("net", "net.ipv4.ip_forward", "1").unwrap();
        for (host, number) in [("manor", 40), ("plain", 50)] {
            town.world.add_host(host).unwrap();
            let port = format!("to-{host}");
            town.world.link(("net", &port), (host, "uplink"), &wire).unwrap();
            town.world.address("net", &port, &format!("198.18.{number}.1/24")).unwrap();
            town.world.address(host, "uplink", &format!("198.18.{number}.2/24")).unwrap();
            town.world.route(host, "default", &format!("198.18.{number}.1")).unwrap();
        }
        town.found("manor", &[("home", "home")]);
        let endpoint = format!("{MANOR}:51820");
        succeeded(&town.run(&[
            "team",
            "gateway",
            "init",
            "--dir",
            "manor",
            "--network",
            "10.74.5.0/24",
            "--endpoint",
            &endpoint,
        ]));
        let home = "key = \"home.key\"\ncertificate = \"home.cert\"\nstate = \"home-state\"\n[gateway]\n\
                    uplink_interface = \"uplink\"\ndns_upstream = \"192.0.2.1\"\n";
        std::fs::write(town.path("manor/home.toml"), home).unwrap();
        let settings = town.path("house/ap.toml");
        let text = std::fs::read_to_string(&settings).unwrap();
        std::fs::write(&settings, format!("{text}{more}")).unwrap();
        // Who comes again and again without giving is served all the same.
        let settings = town.path("house/home.toml");
        let text = std::fs::read_to_string(&settings).unwrap();
        let text = text.split_once("[policy]").unwrap().0.to_owned();
        std::fs::write(&settings, text + "[policy]\nkind = \"quota\"\nquota_bytes = 0\n").unwrap();
        let quick = Quick::prepare(&town.directory);
        Self { town, quick }
    }

    /// A member of the manor, made with the program's own command.
    fn enrol(&self, name: &str, more: &[&str]) {
        let add = ["team", "member", "add", name, "--qr", "--dir", "manor"];
        succeeded(&self.town.run(&[&add[..], more].concat()));
    }

    fn start_manor(&self) -> Program {
        let mut command = self.town.world.command("manor", env!("CARGO_BIN_EXE_guestright")).unwrap();
        command.args(["--log", "debug", "home", "--config"]).arg(self.town.path("manor/home.toml"));
        let program = Program::start(&mut command, &self.town.path("manor.log"));
        program.hear_line("to say that it is ready", |_| true);
        program
    }

    /// What the manor's home says of its telephone.
    fn receipt_requests(&self) -> Value {
        look::ask("home", &self.town.path("manor/home.toml"), "status")["receipt_requests"].clone()
    }

    /// Brings a member's tunnel up, or down, with `wg-quick` and the reference implementation alone.
    fn quick(&self, order: &str, host: &str, name: &str) {
        let config = self.town.path(&format!("manor/{name}.conf"));
        self.quick.run(&self.town.world, order, host, &config);
    }

    /// Counts what leaves the household for tunnels, where nobody of ours is.
    fn judge(&self) {
        let table = "add table inet judge; add counter inet judge up; \
                     add chain inet judge c { type filter hook forward priority 0; }; \
                     add rule inet judge c iifname to-router udp dport 51820 counter name up";
        self.town.world.run("net", "nft", &[table]).unwrap();
    }

    /// What the judge has counted on the way up; on the way down it stands before the access point.
    fn judged(&self) -> u64 {
        let text =
            self.town.world.run("net", "nft", &["-j", "list", "counters", "table", "inet", "judge"]).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        value["nftables"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|each| each["counter"]["bytes"].as_u64())
            .next()
            .unwrap()
    }

    /// Waits until the member's tunnel carries more than its allowance, and its home signs for it, in another session than
    /// `before`. The member tries again and again, as somebody would: who is silent is not noticed. Gives the session.
    fn until_signed(&self, killed: &str, before: &Value, since: Instant) -> Value {
        let member = self.town.address_of("member");
        let mut session = Value::Null;
        until(&format!("the tunnel to be served after {killed} was killed"), || {
            if self.town.download_within("member", 1_000, TRY).is_err() {
                return false;
            }
            session = tunnel(&self.town.ask("ap"), &member);
            let is_new = session["open"] == true && session["started"] != before["started"];
            is_new && self.town.download_within("member", 2_000_000, STALLED).is_ok()
        });
        println!("{killed} killed: carries 2 MB again after {:?}", since.elapsed());
        let status = self.town.until_status("the home to sign", |status| {
            let now = tunnel(status, &member);
            now["started"] == session["started"] && now["signed"].as_u64() > Some(1_000_000)
        });
        tunnel(&status, &member)
    }

    fn until_served(&self, host: &str) -> Value {
        let ip = self.town.address_of(host);
        let status =
            self.town.until_status("the tunnel to be served", |status| tunnel(status, &ip)["open"] == true);
        tunnel(&status, &ip)
    }
}

/// The open session of a tunnel; null if there is none.
fn tunnel(status: &Value, ip: &str) -> Value {
    let mut sessions = status["sessions"].as_array().into_iter().flatten();
    sessions.find(|session| session["ip"] == ip && session["tunnel"].is_string()).cloned().unwrap_or_default()
}

#[test]
fn a_stock_client_is_served_by_receipts_of_its_home() {
    if !inside("zero_install::a_stock_client_is_served_by_receipts_of_its_home") {
        return;
    }
    let country = Country::build(Rules::SHORT, "");
    country.enrol("walker", &[]);
    country.enrol("rider", &[]);
    country.judge();
    let town = &country.town;
    let web = AccessLog::default();
    town.serve_tcp("net", "192.0.2.1:80", &web);
    let (_home, mut ap) = town.open();
    let mut manor = country.start_manor();
    assert!(!town.is_online("member"), "nothing passes without a tunnel");
    let began = Instant::now();
    country.quick("up", "member", "walker");
    country.quick("up", "resident", "rider"); // Another member of the same home behind the same address.
    assert_eq!(town.download("member", 1).unwrap(), 1);
    let session = country.until_served("member");
    country.until_served("resident");
    println!("online by its tunnel after {:?}: {session}", began.elapsed());
    assert_eq!(session["tunnel"], MANOR.to_string());
    assert_eq!(town.download("member", 5_000_000).unwrap(), 5_000_000);
    assert_eq!(town.download("resident", 300_000).unwrap(), 300_000);
    assert!(
        web.all().iter().all(|(from, _)| *from == IpAddr::from(MANOR)),
        "seen by the server: {:?}",
        web.all()
    );
    let paid = |ip: &str, least: u64| {
        let status = town.until_status("the home to sign", |status| {
            tunnel(status, ip)["signed"].as_u64().is_some_and(|signed| signed >= least)
        });
        tunnel(&status, ip)
    };
    let (walker, rider) = (paid("10.11.0.21", 5_000_000), paid("10.11.0.22", 300_000));
    assert_ne!(walker["member"], rider["member"]);
    assert!(rider["signed"].as_u64().unwrap() < 1_000_000, "{rider}");
    let requests = country.receipt_requests();
    assert_eq!(requests["open"].as_array().unwrap().len(), 2, "{requests}");
    assert!(
        requests["open"].as_array().unwrap().iter().all(|request| request["from"] == ROUTER.to_string()),
        "{requests}"
    );
    println!("the home says: {requests}");

    // The home goes: it takes its leave, and the last bytes are paid.
    manor.signal(rustix::process::Signal::INT);
    assert!(manor.wait().success(), "{}", manor.log());
    let status = town.until_status("the sessions to end", |status| {
        status["closed"].as_array().is_some_and(|closed| closed.len() == 2)
    });
    for session in status["closed"].as_array().unwrap() {
        assert_eq!(session["end"], "closed", "{session}");
        assert_eq!(session["counted"], session["signed"], "{session}");
    }
    let signed: u64 =
        status["closed"].as_array().unwrap().iter().map(|each| each["signed"].as_u64().unwrap()).sum();
    town.until_home_is_owed(signed);
    // What the tunnels had is what is signed for, and the little before.
    let used = status["allowance"]["used"].as_u64().unwrap();
    assert!(used <= 2 * ALLOWANCE && country.judged() < signed, "{used}, {signed}, {}", country.judged());
    // It comes back, and so do they, without a hand.
    let _manor = country.start_manor();
    until("the member to be online again", || town.is_online("member"));
    ap.signal(rustix::process::Signal::INT);
    assert!(ap.wait().success(), "{}", ap.log());
}

#[test]
fn a_stock_client_is_served_again_after_its_home_or_the_access_point_was_killed() {
    if !inside("zero_install::a_stock_client_is_served_again_after_its_home_or_the_access_point_was_killed") {
        return;
    }
    let country = Country::build(Rules::SHORT, "");
    country.enrol("walker", &[]);
    let town = &country.town;
    town.serve_tcp("net", "192.0.2.1:80", &AccessLog::default());
    let (_home, mut ap) = town.open();
    let mut manor = country.start_manor();
    country.quick("up", "member", "walker");
    let first = country.until_signed("nobody", &Value::Null, Instant::now());
    until("the home to know where its member is", || {
        town.path("manor/home-state/gateway-endpoints").exists()
    });
    // What was carried is at the household's home before anybody is killed: recovery is not for strangers only.
    town.until_home_is_owed(1);
    manor.kill();
    let killed = Instant::now();
    let _manor = country.start_manor();
    let second = country.until_signed("the home", &first, killed);
    ap.kill();
    let killed = Instant::now();
    let _ap = town.start("ap");
    country.until_signed("the access point", &second, killed);
}

#[test]
fn without_a_signature_there_is_the_allowance_and_no_more() {
    if !inside("zero_install::without_a_signature_there_is_the_allowance_and_no_more") {
        return;
    }
    let country = Country::build(Rules::default(), "");
    country.enrol("undelegated", &["--no-delegation"]);
    country.enrol("poor", &["--bytes-per-day", "1000"]);
    country.judge();
    let town = &country.town;
    town.serve_tcp("net", "192.0.2.1:80", &AccessLog::default());
    let _running = town.open();
    let manor = country.start_manor();
    let mut before = 0;
    for (host, name, kind) in [("member", "undelegated", "no-tunnel"), ("resident", "poor", "used-up")] {
        country.quick("up", host, name);
        assert_eq!(town.download(host, 1_000).unwrap(), 1_000, "{name} gets home, and a little way");
        let got = town.download_within(host, 1_000_000, STALLED);
        assert!(got.is_err(), "{name} had {got:?}");
        until(&format!("{name} to be refused"), || {
            country.receipt_requests()["refused"][kind].as_u64() > Some(0)
        });
        let all = country.judged();
        let used = town.status()["allowance"]["used"].as_u64().unwrap();
        println!("{name}: {} of {ALLOWANCE} bytes used, {all} went up in all", used - before);
        assert!((ALLOWANCE - 3_000..=ALLOWANCE).contains(&(used - before)), "{name}: {used}");
        assert!(all <= used, "{name}: {all} of {used}");
        before = used;
    }
    let status = town.status();
    assert!(
        status["sessions"].as_array().unwrap().is_empty() && status["closed"].as_array().unwrap().is_empty()
    );
    assert!(status["dropped"]["allowance"].as_u64() > Some(0), "{status}");
    assert!(status["refused"]["home-refused"].as_u64() >= Some(2), "{status}");
    assert_eq!(town.ask("home")["owed_to_us"], 0);
    drop(manor);
}

#[test]
fn made_up_homes_and_addresses_stay_within_the_hour() {
    if !inside("zero_install::made_up_homes_and_addresses_stay_within_the_hour") {
        return;
    }
    let limits = "[tunnels]\nper_home_bytes = 200000\nper_hour_bytes = 500000\n";
    let country = Country::build(Rules::default(), limits);
    country.judge();
    let town = &country.town;
    for number in 100..130 {
        town.world.address("plain", "lo", &format!("198.18.60.{number}/32")).unwrap();
        town.world.address("hostile", "wlan0", &format!("10.11.0.{number}/24")).unwrap();
    }
    town.world.run("net", "ip", &["route", "add", "198.18.60.96/27", "via", "198.18.50.2"]).unwrap();
    let _running = town.open();
    // Whatever comes to the plain computer is answered, so all of its addresses look like homes.
    let answers = town.world.within("plain", || UdpSocket::bind("0.0.0.0:51820")).unwrap().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((length, from)) = answers.recv_from(&mut buffer) {
            let _ = answers.send_to(&buffer[..length], from);
        }
    });
    let mut sent = 0_u64;
    for from in 100..130_u8 {
        let bind = || UdpSocket::bind(format!("10.11.0.{from}:5000"));
        let socket = town.world.within("hostile", bind).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        for _ in 0..10 {
            // As many homes as an address may have flows; one of them is everybody's.
            let others = (0..7).map(|number| Ipv4Addr::new(198, 18, 60, 100 + (from + number) % 30));
            for to in others.chain([PLAIN]) {
                // Rejections come back as errors of the socket.
                sent += u64::from(socket.send_to(&[0; 1_000], (to, 51_820)).is_ok());
            }
            while socket.recv(&mut [0; 2_000]).is_ok() {}
        }
    }
    let status = town.until_status("the hour to be spent", |status| {
        status["allowance"]["used"].as_u64().is_some_and(|used| used > 500_000 - 3_000)
    });
    assert!(sent > 1_000 && status["allowance"]["used"].as_u64() <= Some(500_000), "{sent}, {status}");
    assert!(country.judged() <= 500_000, "{}", country.judged());
    // Nobody was called more often than the limits say: the homes do not answer the telephone.
    let contacts = status["allowance"]["home_contacts"].as_u64().unwrap();
    assert!(contacts <= 12, "{contacts} contacts");
    // Those who have a program are served as ever.
    town.serve_tcp("net", "192.0.2.1:80", &AccessLog::default());
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", 1_000_000).unwrap(), 1_000_000);
    town.leave(visit);
}

#[test]
fn an_access_point_cannot_have_signed_what_it_did_not_carry() {
    if !inside("zero_install::an_access_point_cannot_have_signed_what_it_did_not_carry") {
        return;
    }
    let country = Country::build(Rules::default(), "");
    country.enrol("walker", &[]);
    let town = &country.town;
    let _manor = country.start_manor();
    town.serve_tcp("net", "192.0.2.1:80", &AccessLog::default());
    // A household that lets everything through and lies about how much.
    town.world.sysctl("router", "net.ipv4.ip_forward", "1").unwrap();
    town.nft("table ip nat {\n chain out { type nat hook postrouting priority 100; oifname \"uplink\" masquerade; }\n}\n");
    country.quick("up", "member", "walker");
    assert_eq!(town.download("member", 500_000).unwrap(), 500_000);
    let port = outer_port(town);
    let mut liar = Liar::call(&country, port);
    // It has carried nothing since it called: so little is believed, and no more.
    let tolerance = 65_536;
    for claim in [50_000, 1_000_000, 100_000_000] {
        liar.claim(claim);
    }
    assert_eq!(liar.signed, 50_000, "within the tolerance");
    assert_eq!(town.download("member", 400_000).unwrap(), 400_000);
    let mut liar = Liar::call(&country, port);
    assert_eq!(town.download("member", 400_000).unwrap(), 400_000);
    liar.claim(400_000);
    assert_eq!(liar.signed, 400_000, "what it carried is signed for");
    liar.claim(1_000_000);
    assert!(liar.signed <= 500_000 + tolerance, "{}", liar.signed);
    // Another port is nobody's tunnel.
    let other = NonZeroU16::new(port.get() ^ 1).unwrap();
    let refused = Liar::ask(&country, other);
    assert!(matches!(refused, Message::Erro { .. }), "{refused:?}");
}

/// The port under which the household's translation sends the member's tunnel.
fn outer_port(town: &Town) -> NonZeroU16 {
    let table = town.world.run("router", "cat", &["/proc/thread-self/net/nf_conntrack"]).unwrap();
    let line = table.lines().find(|line| line.contains("udp") && line.contains("dport=51820")).unwrap();
    line.split_whitespace().filter_map(|word| word.strip_prefix("dport=")).nth(1).unwrap().parse().unwrap()
}

/// An access point that says what it likes.
struct Liar {
    machine: AccessPoint,
    stream: TcpStream,
    path: Path,
    address: Address,
    signed: u64,
}

impl Liar {
    /// Calls the manor as an access point does, to the point where its visitor is served.
    fn call(country: &Country, port: NonZeroU16) -> Self {
        let town = &country.town;
        let key = guestright_keys::read_secret(&town.path("house/router.key"), || None).unwrap();
        let certificate = guestright_keys::read_certificate(&town.path("house/router.cert")).unwrap();
        // Its home has some time to sign, as with the settings of the other tests.
        let interval = Micros::from_millis(Rules::SHORT.interval_ms);
        let config = Config { interval, receipt_deadline: Micros(interval.0 / 2), ..Config::default() };
        let mut machine = AccessPoint::new(config, key, certificate);
        let address = Address::new([2; 6], Ipv4Addr::new(10, 11, 0, 21));
        machine.handle_flow(address, MANOR, port, now());
        let Some(Event::Connect { path, .. }) = machine.poll_event() else { panic!("no call") };
        let stream = connect(town);
        machine.handle_connected(path);
        let address = Address { home: Some(MANOR), ..address };
        let mut this = Self { machine, stream, path, address, signed: 0 };
        let deadline = Instant::now() + PATIENCE;
        while !this.turn().iter().any(|event| matches!(event, Event::Opened { .. })) {
            assert!(Instant::now() < deadline, "the home does not sign");
            this.machine.handle_home_lost(now()); // So that it decides by itself.
        }
        this
    }

    /// What the home answers to a question about this port.
    fn ask(country: &Country, port: NonZeroU16) -> Message {
        let mut stream = connect(&country.town);
        stream.write_all(&Message::RreqTunnel { port, started: None }.emit()).unwrap();
        read(&mut stream).expect("an answer")
    }

    /// Claims to have carried so much, and waits whether it is signed for.
    fn claim(&mut self, bytes: u64) {
        self.machine.handle_traffic(self.address, Bytes(bytes), now());
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && self.signed < bytes {
            let closed = self.turn().iter().any(|event| matches!(event, Event::Closing { .. }));
            if closed {
                return;
            }
        }
    }

    /// Says what there is to say and hears what there is to hear.
    fn turn(&mut self) -> Vec<Event> {
        self.machine.handle_timeout(now());
        while let Some(transmit) = self.machine.poll_transmit() {
            if let Transmit::Visitor(path, bytes) = transmit
                && path == self.path
            {
                self.stream.write_all(&bytes).unwrap();
            }
        }
        self.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let begun = self.stream.peek(&mut [0]).is_ok();
        // What has begun is read to its end.
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        if let Some(message) = begun.then(|| read(&mut self.stream)).flatten() {
            self.machine.handle_contact(self.path, &message.emit(), now());
        }
        let events: Vec<_> = std::iter::from_fn(|| self.machine.poll_event()).collect();
        for event in &events {
            if let Event::Received(receipt, _) = event {
                self.signed = self.signed.max(receipt.weight().0);
            }
        }
        events
    }
}

fn connect(town: &Town) -> TcpStream {
    let to = SocketAddr::from((MANOR, 7_273));
    let stream = town.world.within("router", || TcpStream::connect_timeout(&to, PATIENCE));
    let stream = stream.unwrap().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// One message, if one comes in time.
fn read(stream: &mut TcpStream) -> Option<Message> {
    let mut bytes = Vec::new();
    loop {
        if let Ok(Some(length)) = message_len(&bytes)
            && bytes.len() >= length
        {
            return Some(Message::parse(&bytes).unwrap());
        }
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => bytes.push(byte[0]),
            Ok(_) | Err(_) => return None,
        }
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Time(u64::try_from(since.as_micros()).unwrap())
}
