//! A household's router on the real kernel, with miniupnpd, which speaks all three protocols.
//!
//! ```text
//!   home ── lan0 ── router ── wan0 ── net
//!   192.168.1.2     .1   11.22.33.44   11.22.33.1
//! ```

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test says what broke by panicking")]

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use guestright_netns::testing::{self, PATIENCE};
use guestright_netns::{LinkOptions, Process, World};
use guestright_portmap::{
    Event, Keeper, Method, PortmapError, Protocol, Reach, Timeouts, Wanted, examine, keep,
};

const TUNNEL: Wanted = Wanted { protocol: Protocol::Udp, port: 51_820 };
const HOME: Wanted = Wanted { protocol: Protocol::Tcp, port: 7_274 };

/// For routers that answer, on a crowded computer too.
const PATIENT: Timeouts = Timeouts {
    answer: Duration::from_secs(10),
    search: Duration::from_secs(10),
    http: Duration::from_secs(10),
};

/// Where miniupnpd puts its rules.
const RULES: &str = "table inet filter {
    chain forward {
        type filter hook forward priority 0; policy drop;
        iifname \"lan0\" accept
        ct state established,related accept
        jump miniupnpd
    }
    chain miniupnpd { }
    chain prerouting {
        type nat hook prerouting priority -100; policy accept;
        jump prerouting_miniupnpd
    }
    chain postrouting {
        type nat hook postrouting priority 100; policy accept;
        oifname \"wan0\" masquerade
    }
    chain prerouting_miniupnpd { }
    chain postrouting_miniupnpd { }
}
";

/// What miniupnpd says when it does what a setting wants.
const READY: [(&str, &str); 2] = [
    ("enable_upnp=yes", "HTTP listening"),
    ("enable_natpmp=yes", "Listening for NAT-PMP/PCP traffic on port 5351"),
];

struct Testbed {
    world: World,
    daemon: Option<Process>,
}

impl Testbed {
    /// Outside: runs the test of this name in a sandbox and returns nothing. Inside: builds the place.
    fn inside(test: &str, outside: &str) -> Option<Self> {
        testing::inside(test).then(|| Self::build(outside))
    }

    fn build(outside: &str) -> Self {
        let mut world = World::new("gr-portmap-").unwrap();
        for host in ["home", "router", "net"] {
            world.add_host(host).unwrap();
        }
        world.link(("home", "eth0"), ("router", "lan0"), &LinkOptions::default()).unwrap();
        world.link(("router", "wan0"), ("net", "eth0"), &LinkOptions::default()).unwrap();
        let gateway = format!("{}.1", outside.rsplit_once('.').unwrap().0);
        for (host, interface, address) in [
            ("home", "eth0", "192.168.1.2/24".to_owned()),
            ("router", "lan0", "192.168.1.1/24".to_owned()),
            ("router", "wan0", format!("{outside}/24")),
            ("net", "eth0", format!("{gateway}/24")),
        ] {
            world.address(host, interface, &address).unwrap();
        }
        world.route("home", "default", "192.168.1.1").unwrap();
        world.route("router", "default", &gateway).unwrap();
        world.sysctl("router", "net.ipv4.ip_forward", "1").unwrap();
        fs::write("/run/router.nft", RULES).unwrap();
        world.run("router", "nft", &["-f", "/run/router.nft"]).unwrap();
        Self { world, daemon: None }
    }

    /// Starts miniupnpd, and waits until it is ready.
    fn start(&mut self, settings: &str) {
        let config = format!(
            "ext_ifname=wan0\nlistening_ip=lan0\nport=5000\nsecure_mode=yes\nsystem_uptime=yes\nuuid=00000000-0000-\
             0000-0000-000000000001\nlease_file=/run/upnp.leases\nallow 1024-65535 192.168.1.0/24 1024-65535\ndeny \
             0-65535 0.0.0.0/0 0-65535\n{settings}"
        );
        fs::write("/run/miniupnpd.conf", config).unwrap();
        let log = PathBuf::from("/run/miniupnpd.log");
        let arguments = ["-d", "-f", "/run/miniupnpd.conf", "-P", "/run/miniupnpd.pid"];
        let daemon = self.world.spawn("router", "miniupnpd", arguments, &log).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let ready = |(setting, words)| !settings.contains(setting) || daemon.output().contains(words);
        while !READY.into_iter().all(ready) {
            assert!(Instant::now() < deadline, "miniupnpd does not start: {}", daemon.output());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.daemon = Some(daemon);
    }

    fn keep(&self, wanted: &[Wanted], timeouts: Timeouts) -> (Keeper, Receiver<Event>) {
        self.world.within("home", || keep(wanted.to_vec(), timeouts)).unwrap().unwrap()
    }

    /// A datagram from outside to the mapped port and back, and a connection.
    fn is_reached_from_outside(&self) {
        let inside = self.world.within("home", || UdpSocket::bind("0.0.0.0:51820")).unwrap().unwrap();
        let outside = self.world.within("net", || UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
        for socket in [&inside, &outside] {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        outside.send_to(b"there", "11.22.33.44:51820").unwrap();
        let (_, from) = inside.recv_from(&mut [0; 10]).unwrap();
        assert_eq!(from.ip().to_string(), "11.22.33.1");
        inside.send_to(b"back", from).unwrap();
        assert_eq!(outside.recv(&mut [0; 10]).unwrap(), 4);
        let listener = self.world.within("home", || TcpListener::bind("0.0.0.0:7274")).unwrap().unwrap();
        let stream = self.world.within("net", || TcpStream::connect("11.22.33.44:7274")).unwrap();
        stream.unwrap();
        drop(listener.accept().unwrap());
    }

    fn is_closed_from_outside(&self) -> bool {
        let outside = self.world.within("net", || UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
        let inside = self.world.within("home", || UdpSocket::bind("0.0.0.0:51820")).unwrap().unwrap();
        inside.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        outside.send_to(b"there", "11.22.33.44:51820").unwrap();
        inside.recv(&mut [0; 10]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

fn mapped(events: &Receiver<Event>) -> (Wanted, String, Method, Reach) {
    match events.recv_timeout(PATIENCE).unwrap() {
        Event::Mapped { mapping, reach } => {
            (mapping.wanted, mapping.external.to_string(), mapping.method, reach)
        }
        failed @ Event::Failed { .. } => panic!("{failed:?}"),
    }
}

fn maps_by(testbed: &Testbed, method: Method) {
    assert!(testbed.is_closed_from_outside(), "nothing is mapped yet");
    let (keeper, events) = testbed.keep(&[TUNNEL, HOME], PATIENT);
    assert_eq!(mapped(&events), (TUNNEL, "11.22.33.44:51820".to_owned(), method, Reach::Public));
    assert_eq!(mapped(&events), (HOME, "11.22.33.44:7274".to_owned(), method, Reach::Public));
    testbed.is_reached_from_outside();
    drop(keeper);
    assert!(testbed.is_closed_from_outside(), "the mappings are taken away");
}

#[test]
fn maps_ports_by_pcp() {
    let Some(mut testbed) = Testbed::inside("maps_ports_by_pcp", "11.22.33.44") else { return };
    testbed.start("enable_natpmp=yes\nenable_upnp=yes\n");
    maps_by(&testbed, Method::Pcp);
    let examined = testbed.world.within("home", || examine(PATIENT)).unwrap().unwrap();
    let outside = Some("11.22.33.44".parse().unwrap());
    let outcomes: Vec<_> = examined.answers.iter().map(|answer| answer.outcome.clone()).collect();
    assert_eq!(outcomes, [Ok(None), Ok(outside), Ok(outside)]);
    assert_eq!((examined.external(), examined.advice()), (outside, None));
}

#[test]
fn maps_ports_by_upnp_where_nothing_else_is_spoken() {
    let test = "maps_ports_by_upnp_where_nothing_else_is_spoken";
    let Some(mut testbed) = Testbed::inside(test, "11.22.33.44") else { return };
    testbed.start("enable_natpmp=no\nenable_upnp=yes\n");
    maps_by(&testbed, Method::Upnp);
}

#[test]
fn maps_ports_by_nat_pmp_where_pcp_is_not_spoken() {
    let test = "maps_ports_by_nat_pmp_where_pcp_is_not_spoken";
    let Some(mut testbed) = Testbed::inside(test, "11.22.33.44") else { return };
    // What speaks PCP is kept from speaking it: the first byte behind UDP's header is the version.
    testbed
        .world
        .run(
            "router",
            "nft",
            &["add", "chain", "inet", "filter", "old", "{ type filter hook input priority 0; }"],
        )
        .unwrap();
    let rule = ["add", "rule", "inet", "filter", "old", "udp", "dport", "5351", "@th,64,8", "2", "drop"];
    testbed.world.run("router", "nft", &rule).unwrap();
    testbed.start("enable_natpmp=yes\nenable_upnp=no\n");
    maps_by(&testbed, Method::NatPmp);
}

#[test]
fn a_router_that_restarts_is_asked_again_and_a_silent_one_is_given_up() {
    let test = "a_router_that_restarts_is_asked_again_and_a_silent_one_is_given_up";
    let Some(mut testbed) = Testbed::inside(test, "11.22.33.44") else { return };
    let began = Instant::now();
    let examined = testbed.world.within("home", || {
        let (says, receiver) = channel();
        thread::spawn(move || says.send(examine(Timeouts::default())));
        receiver.recv_timeout(PATIENCE)
    });
    let examined = examined.unwrap().expect("it is given up").unwrap();
    println!("given up after {:?}", began.elapsed());
    let router = "192.168.1.1".parse().unwrap();
    for answer in &examined.answers {
        assert_eq!(answer.outcome, Err(PortmapError::Silent { router, method: answer.method }));
    }
    assert!(!examined.maps() && examined.advice().unwrap().contains("forward the home's ports"));
    let (keeper, events) = testbed.keep(&[TUNNEL], Timeouts::default());
    match events.recv_timeout(PATIENCE).unwrap() {
        Event::Failed { wanted, reasons } => assert_eq!((wanted, reasons.len()), (TUNNEL, 3), "{reasons:?}"),
        mapped @ Event::Mapped { .. } => panic!("{mapped:?}"),
    }
    testbed.start("enable_natpmp=yes\nenable_upnp=yes\n");
    // It goes on being tried; while the router starts, or is slow, a try may fail for other reasons than before.
    let external = loop {
        match events.recv_timeout(PATIENCE).unwrap() {
            Event::Mapped { mapping, .. } => break mapping.external,
            Event::Failed { wanted, .. } => assert_eq!(wanted, TUNNEL),
        }
    };
    assert_eq!(external.to_string(), "11.22.33.44:51820");
    drop(keeper);
}

#[test]
fn an_address_shared_by_the_provider_is_named() {
    let Some(mut testbed) = Testbed::inside("an_address_shared_by_the_provider_is_named", "100.64.7.8")
    else {
        return;
    };
    // A router that says what its address is: NAT-PMP by hand (RFC 6886 §3.2).
    let router = testbed.world.within("router", || UdpSocket::bind("192.168.1.1:5351")).unwrap().unwrap();
    let examined = std::thread::scope(|scope| {
        let asking = scope.spawn(|| testbed.world.within("home", || examine(PATIENT)).unwrap().unwrap());
        let mut question = [0; 1_200];
        loop {
            let (length, from) = router.recv_from(&mut question).unwrap();
            if question[..length] == [0, 0] {
                router.send_to(&[0, 128, 0, 0, 0, 0, 0, 9, 100, 64, 7, 8], from).unwrap();
                break asking.join().unwrap();
            }
        }
    });
    assert_eq!(examined.external().map(Reach::of), Some(Reach::Carrier), "{examined:?}");
    assert!(examined.advice().unwrap().contains("shares one address"), "{examined:?}");
    drop(router);

    // And one that will not say it, nor map anything.
    testbed.start("enable_natpmp=yes\nenable_upnp=yes\n");
    let examined = testbed.world.within("home", || examine(PATIENT)).unwrap().unwrap();
    let router = "192.168.1.1".parse().unwrap();
    for (at, method) in [(1, Method::NatPmp), (2, Method::Upnp)] {
        assert_eq!(examined.answers[at].outcome, Err(PortmapError::NoAddress { router, method }));
    }
    assert!(examined.advice().unwrap().contains("carrier-grade NAT"), "{examined:?}");
    let (_keeper, events) = testbed.keep(&[TUNNEL], PATIENT);
    match events.recv_timeout(PATIENCE).unwrap() {
        Event::Failed { reasons, .. } => assert_eq!(reasons.len(), 3, "{reasons:?}"),
        mapped @ Event::Mapped { .. } => panic!("{mapped:?}"),
    }
}

#[test]
fn without_a_router_there_is_nobody_to_ask() {
    let Some(testbed) = Testbed::inside("without_a_router_there_is_nobody_to_ask", "11.22.33.44") else {
        return;
    };
    testbed.world.run("home", "ip", &["route", "del", "default"]).unwrap();
    assert_eq!(testbed.world.within("home", || examine(PATIENT)).unwrap(), Err(PortmapError::NoRouter));
}
