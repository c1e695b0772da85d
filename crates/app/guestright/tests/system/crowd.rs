//! As many visitors as a router is made for, and what its programs need for them.

use crate::town::client::{Client, Member, conn, rcpt};
use crate::town::services::AccessLog;
use crate::town::{ACCESS_POINT, Program, Rules, Town, inside, until, until_within};
use guestright_netns::LinkOptions;
use guestright_receipt::Bundle;
use guestright_roaming::Message;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Visitors, who belong to half as many teams.
const VISITORS: u8 = 100;
/// What each sends to a server that sends it back: datagrams, and bytes of each.
const DATAGRAMS: usize = 40;
const DATAGRAM: usize = 1_200;
/// How long somebody waits for something before looking around.
const A_MOMENT: Duration = Duration::from_millis(500);
/// How long all of them may take to be served: they come at once.
const ARRIVAL_MAX: Duration = Duration::from_secs(120);
/// What access point and home may have in memory together, at the most that they ever had.
const RESIDENT_KIB_MAX: u64 = 24 * 1_000 * 1_000 / 1_024;

/// A visitor, with a computer of its own or one address of many on the same.
struct Visitor {
    member: Member,
    client: Client,
    /// To the server.
    socket: UdpSocket,
}

impl Visitor {
    fn new(town: &mut Town, number: u8) -> Self {
        let (host, port, address) =
            (format!("guest{number}"), format!("guests{number}"), Ipv4Addr::new(10, 11, 0, 100 + number));
        let world = &mut town.world;
        world.add_host(&host).unwrap();
        world.link(("router", &port), (&host, "wlan0"), &LinkOptions::default()).unwrap();
        world.attach("router", &port, "guests", true).unwrap();
        world.address(&host, "wlan0", &format!("{address}/24")).unwrap();
        world.route(&host, "default", "10.11.0.1").unwrap();
        Self::on(town, &host, address, number)
    }

    /// One of many on the computer `hostile`, with one hardware address for all of them.
    fn beside_others(town: &Town, number: u8) -> Self {
        let address = Ipv4Addr::new(10, 11, 0, 100 + number);
        town.world.address("hostile", "wlan0", &format!("{address}/24")).unwrap();
        Self::on(town, "hostile", address, number)
    }

    fn on(town: &Town, host: &str, address: Ipv4Addr, number: u8) -> Self {
        let world = &town.world;
        let connected = |peer: &str| {
            let socket = world.within(host, || UdpSocket::bind((address, 0))).unwrap().unwrap();
            socket.connect(peer).unwrap();
            socket.set_read_timeout(Some(A_MOMENT)).unwrap();
            socket
        };
        let client = Client::Udp(connected(&ACCESS_POINT.to_string()));
        let member = Member::new(1_000 + u64::from(number / 2), 2_000 + u64::from(number));
        Self { member, client, socket: connected("192.0.2.1:5000") }
    }

    /// Is served until `over`, signs for what is asked for, and returns for how many bytes.
    fn visit(&mut self, served: &AtomicUsize, over: &AtomicBool) -> u64 {
        let question = conn(&self.member.certificate, 1, Bundle::default()).emit();
        let mut terms = None;
        // Always the same question: another one would take the place of the first, whose answer may be on its way.
        until_within(ARRIVAL_MAX, "the access point to answer", || {
            self.client.send(&question);
            terms = self.client.receive_terms().ok();
            terms.is_some()
        });
        let terms = terms.unwrap();
        let sign = |weight| rcpt(&self.member.sign(terms.provider, terms.started, weight)).emit();
        self.client.send(&sign(0));
        let (mut answered, mut signed, mut buffer) = (0, 0, [0; DATAGRAM]);
        while !over.load(Ordering::Relaxed) {
            if answered < DATAGRAMS {
                self.socket.send(&[7; DATAGRAM]).unwrap();
                answered += usize::from(self.socket.recv(&mut buffer).is_ok());
                if answered == DATAGRAMS {
                    served.fetch_add(1, Ordering::Relaxed);
                }
            }
            let wait = if answered < DATAGRAMS { Duration::ZERO } else { A_MOMENT };
            if self.client.is_answered_within(wait)
                && let Ok(Message::Rreq { weight, .. }) = self.client.receive()
            {
                self.client.send(&sign(weight.0));
                signed = signed.max(weight.0);
            }
        }
        signed
    }
}

/// When it is dropped, visits are over: also those of a test that fails.
struct Visits<'a>(&'a AtomicBool);

impl Drop for Visits<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
#[ignore = "measures the program of a router, which `cargo xtask router x86_64` builds and gives it"]
fn a_hundred_visitors_fit_into_the_memory_of_a_router() {
    if !inside("crowd::a_hundred_visitors_fit_into_the_memory_of_a_router") {
        return;
    }
    let named = ["GUESTRIGHT_TEST_HOME", "GUESTRIGHT_TEST_AP"].map(|name| std::env::var(name).is_ok());
    assert_eq!(named, [true, true], "both programs have to be a router's");
    let mut town = Town::build(Rules::default());
    town.serve_udp("net", "192.0.2.1:5000", &AccessLog::default());
    let mut visitors: Vec<_> = (0..VISITORS).map(|number| Visitor::new(&mut town, number)).collect();
    let (home, ap) = town.open();
    let idle = memory(&home, &ap);
    let (then, signed) = serve(&town, &mut visitors, || memory(&home, &ap));
    let most = [&home, &ap].map(|program| program.memory_kib("VmHWM"));
    println!("{signed} bytes were signed for");
    println!(
        "home and access point, KiB resident: idle {idle:?}, with {VISITORS} visitors {then:?}, at most {most:?}"
    );
    let together: u64 = most.iter().sum();
    assert!(together <= RESIDENT_KIB_MAX, "{together} KiB together, {RESIDENT_KIB_MAX} at most");
}

/// Lets all of them visit at once until each is served and the receipts are at home; what `look` sees then, and for how many bytes
/// all have signed.
fn serve<T>(town: &Town, visitors: &mut [Visitor], look: impl Fn() -> T) -> (T, u64) {
    let (served, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let going_on = Visits(&over);
        let visits: Vec<_> =
            visitors.iter_mut().map(|visitor| scope.spawn(|| visitor.visit(&served, &over))).collect();
        until_within(ARRIVAL_MAX, "everybody to be served", || {
            served.load(Ordering::Relaxed) == usize::from(VISITORS)
        });
        let status = town.status();
        let open = status["sessions"].as_array().unwrap().iter().filter(|session| session["open"] == true);
        assert_eq!(open.count(), usize::from(VISITORS), "nobody was sent away: {status}");
        let carried = u64::from(VISITORS) * (2 * DATAGRAMS * DATAGRAM) as u64;
        until("the receipts to be at home", || town.ask("home")["owed_to_us"].as_u64() >= Some(carried));
        let then = look();
        drop(going_on);
        (then, visits.into_iter().map(|visit| visit.join().unwrap()).sum())
    })
}

#[test]
fn a_hundred_visitors_with_one_hardware_address_are_all_served() {
    if !inside("crowd::a_hundred_visitors_with_one_hardware_address_are_all_served") {
        return;
    }
    let town = Town::build(Rules::default());
    town.serve_udp("net", "192.0.2.1:5000", &AccessLog::default());
    let mut visitors: Vec<_> = (0..VISITORS).map(|number| Visitor::beside_others(&town, number)).collect();
    let (home, ap) = town.open();
    let idle = memory(&home, &ap);
    let (then, signed) = serve(&town, &mut visitors, || memory(&home, &ap));
    println!("{signed} bytes were signed for");
    println!(
        "home and access point, KiB resident: idle {idle:?}, with {VISITORS} visitors of one address {then:?}"
    );
}

fn memory(home: &Program, ap: &Program) -> [u64; 2] {
    [home, ap].map(|program| program.memory_kib("VmRSS"))
}
