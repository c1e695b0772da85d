//! Ten thousand connections and thousands of datagrams, at a bounded rate, from a hundred addresses of one visitor.

use crate::town::client::{Member, conn};
use crate::town::{ACCESS_POINT, Town};
use guestright_receipt::Bundle;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// So many connections are tried at least.
pub(super) const CONNECTIONS: usize = 10_000;
/// And no more than so many.
const CONNECTIONS_MAX: usize = 40_000;
const DATAGRAMS: usize = 3_000;
/// Of the datagrams: questions with fresh certificates that are valid.
const QUESTIONS: usize = 600;
const THREADS: usize = 8;
/// How many connections each thread leaves open.
const IDLE_MAX: usize = 75;
const ADDRESSES: u8 = 100;

/// What the attacker does, and how far it is.
#[derive(Debug, Default)]
pub(super) struct Attack {
    connections: AtomicUsize,
    established: AtomicUsize,
    stopped: AtomicBool,
}

impl Attack {
    /// Gives the hostile visitor a hundred addresses.
    pub(super) fn prepare(town: &Town) -> Self {
        let lines =
            (0..ADDRESSES).map(|number| format!("address add {}/24 dev wlan0\n", address(number.into())));
        let batch = town.path("addresses");
        std::fs::write(&batch, lines.collect::<String>()).unwrap();
        town.world.run("hostile", "ip", &["-batch", batch.to_str().unwrap()]).unwrap();
        Self::default()
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(super) fn established(&self) -> usize {
        self.established.load(Ordering::Relaxed)
    }

    /// It may end once it has made its ten thousand connections.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Attacks to the end, from the hostile visitor's host.
    pub(super) fn run(&self, town: &Town) {
        let attack = || {
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| self.connect());
                }
                scope.spawn(send_datagrams);
            });
        };
        town.world.within("hostile", attack).unwrap();
    }

    fn goes_on(&self, number: usize) -> bool {
        number < CONNECTIONS || number < CONNECTIONS_MAX && !self.stopped.load(Ordering::Relaxed)
    }

    fn connect(&self) {
        let mut idle = VecDeque::new();
        let began = Instant::now();
        for turn in 0.. {
            let number = self.connections.fetch_add(1, Ordering::Relaxed);
            if !self.goes_on(number) {
                self.connections.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            if let Some(mut stream) = connect_from(address(number)) {
                self.established.fetch_add(1, Ordering::Relaxed);
                // The access point may have closed it by now.
                let _ = match number % 5 {
                    0 => Ok(()),
                    1 => stream.write_all(b"GET / HTTP/1.1\r\nHost: household\r\n\r\n"),
                    2 => stream.write_all(b"CONN P2PWNC/3.0\r\nNonce: "),
                    3 => stream.write_all(&[0xff; 300]),
                    _ => stream.write_all(&b"A".repeat(5_000)),
                };
                idle.push_back(stream);
                if idle.len() > IDLE_MAX {
                    idle.pop_front();
                }
            }
            pace(began, turn, 125);
        }
    }
}

fn address(number: usize) -> Ipv4Addr {
    let last = u8::try_from(number % usize::from(ADDRESSES)).unwrap();
    Ipv4Addr::new(10, 11, 0, 100 + last)
}

/// Waits until the `turn`th turn is due at so many a second: the rate is what is being bounded.
fn pace(began: Instant, turn: u32, per_second: u32) {
    let due = began + Duration::from_secs(1) * turn / per_second;
    thread::sleep(due.saturating_duration_since(Instant::now()));
}

/// A connection from one of the attacker's addresses, if it comes about at once.
fn connect_from(source: Ipv4Addr) -> Option<TcpStream> {
    let made = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    set_socket_timeout(&made, Timeout::Send, Some(Duration::from_millis(10))).unwrap();
    bind(&made, &SocketAddr::from((source, 0))).unwrap();
    connect(&made, &ACCESS_POINT).ok()?;
    Some(TcpStream::from(made))
}

/// Half of the junk comes from one address, more than one address may send.
fn send_datagrams() {
    let open = |number| UdpSocket::bind((address(number), 0)).unwrap();
    let sockets: Vec<_> = (0..usize::from(ADDRESSES)).map(open).collect();
    let began = Instant::now();
    for turn in 0..u32::try_from(DATAGRAMS).unwrap() {
        let number = usize::try_from(turn).unwrap();
        let bytes = if number % (DATAGRAMS / QUESTIONS) == 0 {
            let fresh = Member::new(10_000 + number as u64, 20_000 + number as u64);
            conn(&fresh.certificate, 1, Bundle::default()).emit()
        } else {
            vec![u8::try_from(number % 256).unwrap(); number % 1_400]
        };
        let from = if number % 2 == 0 { number / 2 } else { 0 };
        // What does not leave is as good as lost.
        let _ = sockets[from % sockets.len()].send_to(&bytes, ACCESS_POINT);
        pace(began, turn, 500);
    }
}
