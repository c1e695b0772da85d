//! What holds while something else breaks: each layer alone, and how what is gone comes back.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use guestright_airtime::{Count, Counted};
use guestright_firewall::{Class, Firewall, FirewallError, Gate, Layers, Settings, clean_up};
use guestright_netns::testing::{PATIENCE, until};

use crate::testbed::{ALL, SERVER, Testbed, W1, W2, mac};

/// What a household's own firewall may look like, as Debian's service loads it.
const HOUSEHOLD: &str = "flush ruleset
table ip nat {
 chain out { type nat hook postrouting priority srcnat; policy accept; oifname wan0 masquerade; }
}
";
/// Of a household's computer, the router's own, and the Internet: what no stranger may reach.
const TARGETS: [&str; 3] = ["192.168.1.2:7998", "203.0.113.1:7997", "203.0.113.2:7999"];

/// A station without a grant that tries everything all the time, and judges who see what of it arrives.
///
/// Each datagram has the time in it at which it was sent: on a busy computer one that passed before there was a firewall may
/// arrive long after.
struct Stranger {
    began: Instant,
    /// What was sent later than this, since it began, has to stay out.
    guarded_since: Duration,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
    judges: [UdpSocket; 3],
}

impl Stranger {
    /// Begins to try, on a router that would let everything through.
    fn come(testbed: &Testbed) -> Self {
        testbed.nft("ap", HOUSEHOLD);
        testbed.world.sysctl("ap", "net.ipv4.ip_forward", "1").unwrap();
        let judges = [("home", TARGETS[0]), ("ap", TARGETS[1]), ("net", TARGETS[2])];
        let judges = judges.map(|(host, address)| testbed.udp(host, address));
        let socket = testbed.udp("w2", &format!("{W2}:5000"));
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let began = Instant::now();
        let thread = thread::spawn(move || {
            let mut sent = 0;
            while !stopped.load(Ordering::Relaxed) {
                for target in TARGETS {
                    let now = u64::try_from(began.elapsed().as_nanos()).unwrap();
                    // Refusals come back as errors.
                    sent += u64::from(socket.send_to(&now.to_be_bytes(), target).is_ok());
                }
                if sent % 3_000 < 3 {
                    thread::yield_now();
                }
            }
            sent
        });
        let this = Self { began, guarded_since: Duration::ZERO, stop, thread: Some(thread), judges };
        until("the stranger to reach everything", || this.reaches_everything());
        this
    }

    fn reaches_everything(&self) -> bool {
        self.judges.iter().all(|judge| arrival(judge).is_some())
    }

    /// The firewall is up: from now on nothing may arrive.
    fn is_guarded(&mut self) {
        self.guarded_since = self.began.elapsed();
    }

    fn assert_nothing_arrived(&self, while_: &str) {
        for (judge, target) in self.judges.iter().zip(TARGETS) {
            let arrived = std::iter::from_fn(|| arrival(judge)).find(|sent| *sent > self.guarded_since);
            assert_eq!(
                arrived,
                None,
                "{target} was reached {while_}; guarded since {:?}, now {:?}",
                self.guarded_since,
                self.began.elapsed()
            );
        }
    }

    fn go(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// When the next datagram that has arrived was sent.
fn arrival(judge: &UdpSocket) -> Option<Duration> {
    judge.set_nonblocking(true).unwrap();
    let mut sent = [0; 8];
    judge.recv(&mut sent).ok().map(|_| Duration::from_nanos(u64::from_be_bytes(sent)))
}

fn reconcile(testbed: &Testbed, firewall: &mut Firewall) -> Vec<&'static str> {
    let found = testbed.on("ap", || firewall.reconcile(|_| ())).unwrap();
    assert_eq!(found.unseen, None);
    found.mended
}

fn keep_open(testbed: &Testbed, firewall: &mut Firewall) {
    testbed.on("ap", || firewall.renew(&[Gate { address: W1, home: None, most: ALL, window: ALL }])).unwrap();
}

/// Whether the kernel still lists the member's grant: it leaves out what has expired.
fn is_granted(testbed: &Testbed) -> bool {
    let granted = testbed.world.run("ap", "nft", &["list", "set", "inet", "guestright", "granted"]).unwrap();
    granted.contains(&W1.to_string())
}

/// Whether the member's datagrams come back from the Internet, before it could be taken for lost.
fn is_online(client: &UdpSocket) -> bool {
    is_online_within(client, Duration::from_millis(500))
}

fn is_online_within(client: &UdpSocket, patience: Duration) -> bool {
    client.set_read_timeout(Some(patience)).unwrap();
    client.send_to(&[0; 100], SERVER).is_ok() && client.recv(&mut [0; 200]).is_ok()
}

/// One datagram of the member comes back, on a busy computer too.
fn assert_online(client: &UdpSocket, when: &str) {
    assert!(is_online_within(client, PATIENCE), "{when}");
}

#[test]
fn nobody_but_its_owner_changes_the_table() {
    let Some(testbed) = Testbed::inside("layers::nobody_but_its_owner_changes_the_table", true) else {
        return;
    };
    let mut firewall = testbed.up();
    assert_eq!(firewall.layers(), Layers { routing: true, static_filter: true, owned_table: true });
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, ALL)).unwrap();
    let _server = testbed.echo("net", SERVER);
    let client = testbed.udp("w1", &format!("{W1}:5000"));
    assert_online(&client, "from the start");
    testbed.nft("ap", HOUSEHOLD);
    for order in [
        "delete table inet guestright",
        "flush chain inet guestright from_visitor",
        "flush set inet guestright household",
        "add element inet guestright online { 10.77.0.3 }",
    ] {
        let words: Vec<&str> = order.split(' ').collect();
        testbed.world.run("ap", "nft", &words).unwrap_err();
    }
    assert_online(&client, "and nobody notices");
    assert_eq!(reconcile(&testbed, &mut firewall), Vec::<&str>::new());
    let carried = testbed.on("ap", || firewall.traffic()).unwrap()[&(mac(1), W1)];
    assert_eq!((carried.up, carried.down), (256, 256));
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn while_the_ruleset_is_flushed_nothing_opens_and_then_it_is_put_back() {
    let name = "layers::while_the_ruleset_is_flushed_nothing_opens_and_then_it_is_put_back";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    let mut stranger = Stranger::come(&testbed);
    let mut firewall = testbed.up_with(Settings { own_table: false, ..testbed.settings() });
    assert!(!firewall.layers().owned_table);
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, ALL)).unwrap();
    let _server = testbed.echo("net", SERVER);
    let client = testbed.udp("w1", &format!("{W1}:5000"));
    stranger.is_guarded();
    for round in 1..=3 {
        assert_online(&client, &format!("round {round}"));
        testbed.on("ap", || firewall.traffic()).unwrap();
        testbed.nft("ap", HOUSEHOLD);
        thread::sleep(Duration::from_millis(300)); // As long as nobody puts it back, the other layers hold.
        stranger.assert_nothing_arrived("while there was no table");
        assert!(!is_online(&client), "who has a grant does not pass uncounted either");
        assert_eq!(reconcile(&testbed, &mut firewall), ["the nftables table"]);
        assert_online(&client, "and is served again");
        stranger.assert_nothing_arrived("while the table was put back");
    }
    let [(_, read)] = testbed.on("ap", || firewall.read()).unwrap()[..] else { panic!("one visitor passes") };
    assert_eq!((read.used.up, read.used.down), (6 * 128, 6 * 128), "counts go on from what was read");
    let anew = Count { packets: 1, bytes: 128 };
    assert_eq!(read.counted, Counted { up: anew, down: anew }, "and the kernel's begin anew");
    testbed.on("ap", || firewall.down()).unwrap();
    assert!(stranger.go() > 10_000);
}

/// The kernel removes a table, and puts one up, chain by chain, while packets pass: what one chain leaves to another must not
/// open anything where that one is gone already or not there yet. The processors are kept busy, so that it is interrupted
/// in between.
#[test]
fn while_the_table_comes_and_goes_nothing_of_a_stranger_passes() {
    let name = "layers::while_the_table_comes_and_goes_nothing_of_a_stranger_passes";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    let mut stranger = Stranger::come(&testbed);
    let settings = Settings { own_table: false, ..testbed.settings() };
    let ruleset = guestright_firewall::render(&settings).unwrap();
    let firewall = testbed.up_with(settings);
    stranger.is_guarded();
    let cores = thread::available_parallelism().unwrap().get();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 * cores {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let rounds = std::panic::catch_unwind(AssertUnwindSafe(|| {
            for round in 0..40 {
                testbed.nft("ap", "flush ruleset\n");
                testbed.nft("ap", &ruleset);
                stranger.assert_nothing_arrived(&format!("while the table came and went, round {round}"));
            }
        }));
        done.store(true, Ordering::Relaxed);
        rounds.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    testbed.on("ap", || firewall.down()).unwrap();
    assert!(stranger.go() > 10_000);
}

/// A rule of the household's may set any bits of a mark, ours among them; a program for tunnels sets these.
#[test]
fn a_rule_that_sets_our_mark_on_everything_opens_nothing() {
    let Some(testbed) =
        Testbed::inside("layers::a_rule_that_sets_our_mark_on_everything_opens_nothing", true)
    else {
        return;
    };
    let mut firewall = testbed.up();
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, ALL)).unwrap();
    let _server = testbed.echo("net", SERVER);
    let client = testbed.udp("w1", &format!("{W1}:5000"));
    assert_online(&client, "from the start");
    testbed.nft(
        "ap",
        "table ip others {
 chain marks { type filter hook prerouting priority mangle; iifname visitors meta mark set 0x6d6f6c65; }
}
",
    );
    let judge = testbed.udp("net", "203.0.113.2:7999");
    // A stranger by its own address, and by that of the guest.
    testbed.world.run("w2", "ip", &["address", "add", &format!("{W1}/32"), "dev", "eth0"]).unwrap();
    for own in [W2, W1] {
        let stranger = testbed.udp("w2", &format!("{own}:5000"));
        for _ in 0..100 {
            let _ = stranger.send_to(b"stranger", "203.0.113.2:7999");
        }
    }
    testbed.world.run("w2", "ip", &["address", "del", &format!("{W1}/32"), "dev", "eth0"]).unwrap();
    until("the guest to be served as before", || is_online(&client));
    judge.set_nonblocking(true).unwrap();
    assert!(judge.recv(&mut [0; 10]).is_err(), "a stranger's packet has passed");
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn what_somebody_removes_is_put_back_and_nothing_opens_meanwhile() {
    let name = "layers::what_somebody_removes_is_put_back_and_nothing_opens_meanwhile";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    let mut stranger = Stranger::come(&testbed);
    let mut firewall = testbed.up();
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, ALL)).unwrap();
    let _server = testbed.echo("net", SERVER);
    let client = testbed.udp("w1", &format!("{W1}:5000"));
    stranger.is_guarded();
    let faults: [(&str, &[&str]); 6] = [
        (
            "ip rule flush; ip rule add preference 32766 lookup main; ip rule add preference 32767 lookup default; \
          ip rule add preference 0 lookup local",
            &["routing rules"],
        ),
        ("ip route flush table 7274", &["routing rules"]),
        ("echo 0 > /proc/sys/net/ipv4/conf/wan0/src_valid_mark", &["routing rules"]),
        ("tc qdisc del dev visitors clsact", &["the static filter"]),
        ("tc qdisc del dev visitors root", &["queues"]),
        ("echo 0 > /proc/sys/net/ipv4/conf/visitors/forwarding", &["forwarding"]),
    ];
    for (fault, mended) in faults {
        testbed.world.run("ap", "sh", &["-c", fault]).unwrap();
        thread::sleep(Duration::from_millis(100));
        stranger.assert_nothing_arrived(fault);
        assert_eq!(reconcile(&testbed, &mut firewall), mended, "{fault}");
        keep_open(&testbed, &mut firewall);
        assert_online(&client, &format!("after {fault}"));
        assert_eq!(reconcile(&testbed, &mut firewall), Vec::<&str>::new(), "{fault}");
    }
    stranger.assert_nothing_arrived("at last");
    testbed.on("ap", || firewall.down()).unwrap();
    stranger.go();
}

#[test]
fn a_guests_interface_that_is_made_anew_is_guarded_before_it_serves() {
    let name = "layers::a_guests_interface_that_is_made_anew_is_guarded_before_it_serves";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    let mut stranger = Stranger::come(&testbed);
    let mut firewall = testbed.up();
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, ALL)).unwrap();
    let _server = testbed.echo("net", SERVER);
    let client = testbed.udp("w1", &format!("{W1}:5000"));
    stranger.is_guarded();
    testbed.world.run("ap", "ip", &["link", "del", "visitors"]).unwrap();
    let error = testbed.on("ap", || firewall.reconcile(|_| ())).unwrap_err();
    assert_eq!(error, FirewallError::NoInterface { name: "visitors".to_owned() });
    let script = "ip link add visitors type bridge; ip link set visitors up; \
                  for port in port1 port2; do ip link set $port master visitors; done";
    testbed.world.run("ap", "sh", &["-c", script]).unwrap();
    let error = testbed.on("ap", || firewall.reconcile(|_| ())).unwrap_err();
    assert!(matches!(error, FirewallError::NoAddress { .. }), "{error}");
    testbed.world.address("ap", "visitors", "10.77.0.1/24").unwrap();
    reconcile(&testbed, &mut firewall);
    until("the member to be online again", || {
        keep_open(&testbed, &mut firewall);
        is_online(&client)
    });
    assert_eq!(reconcile(&testbed, &mut firewall), Vec::<&str>::new());
    stranger.assert_nothing_arrived("while the interface was made anew");
    testbed.on("ap", || firewall.down()).unwrap();
    stranger.go();
}

#[test]
fn a_killed_access_point_serves_nobody_and_its_successor_leaves_no_gap() {
    let name = "layers::a_killed_access_point_serves_nobody_and_its_successor_leaves_no_gap";
    let Some(testbed) = Testbed::inside(name, true) else { return };
    let before = testbed.condition();
    let mut stranger = Stranger::come(&testbed);
    let mut firewall = testbed.up();
    let _server = testbed.echo("net", SERVER);
    let client = testbed.udp("w1", &format!("{W1}:5000"));
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, ALL)).unwrap();
    assert_online(&client, "from the start");
    stranger.is_guarded();
    for round in 1..=3 {
        // Its last renewal is for a short time.
        testbed.on("ap", || firewall.reconfigure(500, testbed.settings().shaping)).unwrap();
        keep_open(&testbed, &mut firewall);
        firewall.abandon();
        let killed = Instant::now();
        testbed.nft("ap", "flush ruleset\n"); // Its table is nobody's now.
        stranger.assert_nothing_arrived("after it was killed");
        thread::sleep(Duration::from_millis(600).saturating_sub(killed.elapsed()));
        assert!(!is_online(&client), "round {round}: its grants have ended");
        firewall = testbed.up();
        stranger.assert_nothing_arrived("while the next one started");
        testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, ALL)).unwrap();
        assert_online(&client, &format!("round {round}"));
    }
    firewall.abandon();
    testbed.on("ap", || clean_up(&testbed.state_file())).unwrap();
    until("the stranger to reach everything again", || stranger.reaches_everything());
    stranger.go();
    testbed.nft("ap", "flush ruleset\n");
    testbed.world.sysctl("ap", "net.ipv4.ip_forward", "0").unwrap();
    testbed.world.sysctl("ap", "net.ipv4.conf.lan0.forwarding", "1").unwrap();
    assert_eq!(testbed.condition(), before);
}

#[test]
fn a_grant_ends_unless_it_is_renewed() {
    let Some(testbed) = Testbed::inside("layers::a_grant_ends_unless_it_is_renewed", true) else { return };
    let lease = Duration::from_secs(2);
    let mut firewall = testbed.up_with(Settings { lease_ms: 2_000, shaping: None, ..testbed.settings() });
    let server = testbed.echo("net", SERVER);
    let listener = testbed.on("net", || TcpListener::bind(SERVER)).unwrap();
    let client = testbed.udp("w1", &format!("{W1}:5000"));
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, ALL)).unwrap();
    let mut connection = testbed.on("w1", || TcpStream::connect(SERVER)).unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    let began = Instant::now();
    let (mut sent, mut renewed) = (0, began);
    while began.elapsed() < lease * 2 {
        if renewed.elapsed() > lease / 20 {
            renewed = Instant::now();
            keep_open(&testbed, &mut firewall);
        }
        assert_online(&client, "renewing loses nothing");
        sent += 1;
    }
    until("the grant to end", || !is_granted(&testbed));
    assert!(!is_online(&client), "its grant has ended");
    // An access point that was too busy to renew it costs its guests time, and no connection.
    connection.write_all(b"late").unwrap();
    let connect = || TcpStream::connect_timeout(&SERVER.parse().unwrap(), Duration::from_millis(300));
    let unanswered = testbed.on("w1", connect).unwrap_err();
    assert_eq!(unanswered.kind(), ErrorKind::TimedOut, "{unanswered}");
    keep_open(&testbed, &mut firewall);
    assert_online(&client, "a late renewal opens it again");
    accepted.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut got = Vec::<u8>::new();
    until("what was sent meanwhile to arrive", || {
        keep_open(&testbed, &mut firewall);
        let mut part = [0; 8];
        got.extend(accepted.read(&mut part).map_or(&[][..], |length| &part[..length]));
        got == b"late"
    });
    let carried = testbed.on("ap", || firewall.close(mac(1), W1)).unwrap();
    assert!(carried.down >= sent * 128 && carried.up >= carried.down, "{carried:?} of {sent}");
    keep_open(&testbed, &mut firewall);
    assert!(!is_online(&client), "what was closed is not kept open");
    let refused = testbed.on("w1", || TcpStream::connect(SERVER)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused, "{refused}");
    drop(server);
    testbed.on("ap", || firewall.down()).unwrap();
}

#[test]
fn no_more_passes_than_was_agreed_until_it_is_signed_for() {
    let Some(testbed) =
        Testbed::inside("layers::no_more_passes_than_was_agreed_until_it_is_signed_for", true)
    else {
        return;
    };
    let mut firewall = testbed.up();
    let server = testbed.udp("net", SERVER);
    server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let client = testbed.udp("w1", "10.77.0.2:5010");
    testbed.on("ap", || firewall.grant(mac(1), W1, Class::High, 1_300)).unwrap();
    // Far more than may pass, 128 bytes each: in the second half of what may, one of sixteen is dropped.
    let passed = || {
        (0..100).for_each(|_| drop(client.send_to(&[0; 100], SERVER)));
        std::iter::from_fn(|| server.recv(&mut [0; 200]).ok()).count()
    };
    assert_eq!(passed(), 10, "twice 640 bytes");
    let read = |firewall: &mut Firewall| {
        let used = testbed.on("ap", || firewall.traffic()).unwrap()[&(mac(1), W1)];
        used.up + used.down
    };
    assert_eq!(read(&mut firewall), 1_280);
    let renew = |firewall: &mut Firewall, most| {
        testbed
            .on("ap", || firewall.renew(&[Gate { address: W1, home: None, most, window: 1_300 }]))
            .unwrap();
    };
    // As often as it is renewed without a new limit, nothing more passes.
    for _ in 0..3 {
        renew(&mut firewall, 1_300);
        assert_eq!(passed(), 0);
    }
    let drops = testbed.on("ap", || firewall.drops()).unwrap();
    assert!(drops["unsigned"] >= 390, "{drops:?}");
    renew(&mut firewall, 1_280 + 512);
    assert_eq!((passed(), read(&mut firewall)), (4, 1_280 + 512));
    // A table that was made anew lets as little through, and counts on.
    assert!(testbed.on("ap", || firewall.close(mac(1), W1)).is_ok_and(|used| used.up + used.down == 1_792));
    assert_eq!(passed(), 0);
    testbed.on("ap", || firewall.down()).unwrap();
}
