//! The protocol's side of a hostile access point: it answers questions and asks for receipts in every way but the right
//! one, and in that one too, so that there are sessions. It has nothing of the product's access point but the messages.

use super::script::{Junk, Manner, Way, Weight, Which};
use super::{ACCESS_POINT, VISITOR};
use crate::town::Town;
use crate::town::client::{certify, now, secret};
use guestright_identity::{Certificate, Role, SecretKey};
use guestright_receipt::Bundle;
use guestright_reciprocity::ServiceClass;
use guestright_roaming::Message;
use guestright_roaming::message::{Acknowledgement, Code, Nonce, Update, message_len};
use guestright_units::{Bytes, Micros, UnixSeconds};
use rustix::net::sockopt::{set_socket_linger, set_socket_reuseaddr, set_socket_reuseport};
use rustix::net::{AddressFamily, SocketType, bind, connect, listen, socket};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const PORT: u16 = 7_273;
const TEAM: u64 = 900;
const KEY: u64 = 901;
/// What is kept to be repeated.
const SENT_MAX: usize = 64;
/// Connections to services of the visitor's that are tried at once.
const TRIES_MAX: usize = 8;
const LINKS_MAX: usize = 8;

/// What it did, and what came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) questions: u64,
    pub(super) granted: u64,
    pub(super) receipts: u64,
    pub(super) messages: u64,
    pub(super) connections: u64,
    pub(super) datagrams: u64,
}

/// The running protocol.
pub(super) struct Speaker {
    shared: Arc<Mutex<Shared>>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    key: SecretKey,
    certificate: Certificate,
    manner: Manner,
    links: Vec<Link>,
    udp: UdpSocket,
    /// Where the visitor's datagrams come from.
    visitor: Option<SocketAddr>,
    /// Sessions opened so far: each began at another second than the one before.
    sessions: u64,
    session: Option<UnixSeconds>,
    before: Option<UnixSeconds>,
    weight: u64,
    sent: VecDeque<Vec<u8>>,
    tries: VecDeque<OwnedFd>,
    /// A connection that was opened when everything was open.
    old: Option<OwnedFd>,
    tally: Tally,
}

struct Link {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Speaker {
    pub(super) fn start(town: &Town) -> Self {
        let sockets = || (listener(), UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).unwrap());
        let (listener, udp) = town.world.within("router", sockets).unwrap();
        udp.set_nonblocking(true).unwrap();
        let key = secret(KEY);
        let certificate = certify(&secret(TEAM), &key, Role::AccessPoint);
        let shared = Arc::new(Mutex::new(Shared {
            key,
            certificate,
            manner: Manner::Properly { interval_us: 5_000_000 },
            links: Vec::new(),
            udp,
            visitor: None,
            sessions: 0,
            session: None,
            before: None,
            weight: 0,
            sent: VecDeque::new(),
            tries: VecDeque::new(),
            old: None,
            tally: Tally::default(),
        }));
        let done = Arc::new(AtomicBool::new(false));
        let (until, inner) = (Arc::clone(&done), Arc::clone(&shared));
        let thread = thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                inner.lock().unwrap().turn(&listener);
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { shared, done, thread: Some(thread) }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }

    pub(super) fn tally(&self) -> Tally {
        self.shared().tally
    }

    pub(super) fn answer(&self, manner: Manner) {
        self.shared().manner = manner;
    }

    pub(super) fn request(&self, weight: Weight, which: Which, last: bool, way: Way, copies: u16) {
        let mut shared = self.shared();
        let started = match which {
            Which::Current => shared.session,
            Which::Before => shared.before,
            Which::Other(number) => Some(UnixSeconds(number)),
        };
        let started = started.unwrap_or_else(now);
        for _ in 0..copies {
            let weight = match weight {
                Weight::Exactly(bytes) => bytes,
                Weight::More(bytes) => shared.weight.saturating_add(bytes),
                Weight::Less(bytes) => shared.weight.saturating_sub(bytes),
            };
            if matches!(which, Which::Current) && weight < 1 << 40 {
                shared.weight = shared.weight.max(weight);
            }
            shared.say(&Message::Rreq { started, weight: Bytes(weight), last, hold: None }.emit(), way);
        }
    }

    pub(super) fn error(&self, code: Code, way: Way) {
        self.shared().say(&Message::error(code, "go away").emit(), way);
    }

    pub(super) fn repeat(&self, back: usize, way: Way) {
        let mut shared = self.shared();
        let sent = shared.sent.iter().rev().nth(back).cloned();
        sent.into_iter().for_each(|bytes| shared.say(&bytes, way));
    }

    pub(super) fn junk(&self, junk: &Junk, way: Way) {
        let mut shared = self.shared();
        let bytes = match junk {
            Junk::Bytes(bytes) => bytes.clone(),
            Junk::Length(length) => format!(
                "RREQ P2PWNC/3.0\r\nSession-Started: 1\r\nWeight: 1\r\nContent-Length: {length}\r\n\r\n"
            )
            .into(),
            Junk::Endless => [b"CACK P2PWNC/3.0\r\nAcknowledgement: ".as_slice(), &[b'A'; 9_000]].concat(),
            Junk::NotForVisitors(number) => shared.not_for_visitors(*number).emit(),
        };
        shared.say(&bytes, way);
    }

    pub(super) fn close(&self) {
        self.shared().links.clear();
    }

    /// Begins to open a connection; whether it comes about, the service knows.
    pub(super) fn connect(&self, town: &Town, from: u16, to: u16, ipv6: bool) {
        let mut shared = self.shared();
        // The port can be used once.
        shared.tries.clear();
        if let Some(socket) = town.world.within("router", || begin_connection(from, to, ipv6)).unwrap() {
            shared.tries.push_back(socket);
            shared.tally.connections += 1;
        }
        while shared.tries.len() > TRIES_MAX {
            shared.tries.pop_front();
        }
    }

    /// Keeps the connection that was opened last.
    pub(super) fn keep_connection(&self) {
        let mut shared = self.shared();
        shared.old = shared.tries.pop_back();
    }

    /// Whether it was taken: it is not before the connection has come about, and when nothing was acknowledged for so long
    /// that there is no room.
    pub(super) fn say_on_old_connection(&self) -> bool {
        let shared = self.shared();
        let old = shared.old.as_ref().expect("it was kept");
        rustix::io::write(old, b"old").is_ok()
    }

    pub(super) fn datagram(&self, to: u16) {
        let mut shared = self.shared();
        if shared.udp.send_to(b"from the access point", (VISITOR, to)).is_ok() {
            shared.tally.datagrams += 1;
        }
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        // If it has panicked, the test has failed already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Shared {
    /// Takes in what has come.
    fn turn(&mut self, listener: &TcpListener) {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(true).unwrap();
            self.links.push(Link { stream, received: Vec::new() });
            if self.links.len() > LINKS_MAX {
                self.links.remove(0);
            }
        }
        let mut messages = Vec::new();
        self.links.retain_mut(|link| link.receive(&mut messages));
        for message in messages {
            self.handle(&message, Way::Connection);
        }
        let mut buffer = [0; 65_535];
        while let Ok((length, from)) = self.udp.recv_from(&mut buffer) {
            self.visitor = Some(from);
            self.handle(&buffer[..length], Way::Datagram);
        }
    }

    fn handle(&mut self, message: &[u8], way: Way) {
        match Message::parse(message) {
            Ok(Message::Conn { certificate, nonce, .. }) => {
                self.tally.questions += 1;
                self.answer(&certificate, nonce, way);
            }
            Ok(Message::Rcpt { .. }) => self.tally.receipts += 1,
            Ok(Message::Erro { code: Code::Closed, .. }) => self.say_goodbye(way),
            _ => {}
        }
    }

    /// The visitor leaves.
    fn say_goodbye(&mut self, way: Way) {
        if let Manner::Scolds(code) = self.manner {
            self.say(&Message::error(code, "not yet").emit(), way);
        } else if self.manner == Manner::HangsUp {
            self.links.clear();
        } else if matches!(self.manner, Manner::Properly { .. }) {
            self.say(&Message::error(Code::Closed, "bye").emit(), way);
        }
    }

    fn answer(&mut self, member: &Certificate, nonce: Nonce, way: Way) {
        let started = now().minus(300).plus(self.sessions % 500);
        let good = Acknowledgement {
            nonce,
            member: member.subject_id(),
            provider: self.certificate.team_id(),
            started,
            interval: Micros::from_seconds(5),
            volume: Bytes(1_000_000),
            class: ServiceClass::Lowest,
        };
        let seal = |this: &Self, terms: &Acknowledgement| {
            (this.certificate.clone(), terms.seal(&this.key, &this.certificate))
        };
        let (certificate, mut acknowledgement) = match self.manner {
            Manner::Silence => return,
            Manner::Closes => return self.links.clear(),
            Manner::Says(code) => return self.say(&Message::error(code, "no").emit(), way),
            Manner::Junk => return self.say(b"CACK P2PWNC/3.0\r\nAcknowledgement: AAAA\r\n\r\n", way),
            Manner::Properly { .. } | Manner::HangsUp | Manner::Scolds(_) | Manner::Twice => {
                let interval = if let Manner::Properly { interval_us } = self.manner {
                    Micros(interval_us)
                } else {
                    good.interval
                };
                self.sessions += 1;
                self.before = self.session.replace(started);
                self.weight = 0;
                self.tally.granted += 1;
                seal(self, &Acknowledgement { interval, ..good.clone() })
            }
            Manner::WrongNonce => seal(self, &Acknowledgement { nonce: [7; 16], ..good.clone() }),
            Manner::OtherMember => {
                seal(self, &Acknowledgement { member: self.certificate.subject_id(), ..good.clone() })
            }
            Manner::Began(seconds) => {
                let started = UnixSeconds(now().0.saturating_add_signed(seconds));
                seal(self, &Acknowledgement { started, ..good.clone() })
            }
            Manner::Again => {
                let started = self.session.unwrap_or(started);
                seal(self, &Acknowledgement { started, ..good.clone() })
            }
            Manner::Expired => {
                let (from, until) = (now().minus(7_200), now().minus(3_600));
                let certificate =
                    Certificate::issue(&secret(TEAM), self.key.public(), Role::AccessPoint, from, until);
                (certificate.clone(), good.seal(&self.key, &certificate))
            }
            Manner::WrongRole => {
                let certificate = certify(&secret(TEAM), &self.key, Role::Member);
                (certificate.clone(), good.seal(&self.key, &certificate))
            }
            Manner::Forged => seal(self, &good),
        };
        if self.manner == Manner::Forged {
            *acknowledgement.last_mut().unwrap() ^= 1;
        }
        let certificate = Box::new(certificate);
        self.say(
            &Message::Cack { certificate: certificate.clone(), acknowledgement, home: None }.emit(),
            way,
        );
        if self.manner == Manner::Twice {
            let acknowledgement =
                Acknowledgement { started: started.plus(1), ..good }.seal(&self.key, &certificate);
            self.say(&Message::Cack { certificate, acknowledgement, home: None }.emit(), way);
        }
    }

    fn not_for_visitors(&self, number: u8) -> Message {
        let certificate = Box::new(self.certificate.clone());
        let bundle = Bundle::default();
        match number % 6 {
            0 => Message::Conn { certificate, nonce: [1; 16], bundle, holds: false },
            1 => Message::Rcpt { reference: Some(1), bundle, home: None },
            2 => Message::Quer {
                reference: 1,
                certificate,
                request: Bytes(1),
                bundle,
                holds: false,
                session: None,
            },
            3 => Message::Qrsp {
                volume: None,
                reference: 1,
                grant: Some(ServiceClass::High),
                ind: None,
                valid_for: 300,
                reason: "yes".to_owned(),
                home: None,
            },
            4 => Message::Updt { reference: 1, what: Update::Fetch { since: UnixSeconds(0), max: 64 } },
            _ => Message::RreqTunnel { port: std::num::NonZeroU16::MIN, started: None },
        }
    }

    /// Says something to the visitor, if there is a way to it.
    fn say(&mut self, bytes: &[u8], way: Way) {
        self.sent.push_back(bytes.to_vec());
        if self.sent.len() > SENT_MAX {
            self.sent.pop_front();
        }
        let cut = |at: usize| at.min(bytes.len());
        let has_left = match way {
            Way::Datagram => self.visitor.is_some_and(|visitor| self.udp.send_to(bytes, visitor).is_ok()),
            Way::Connection => self.write(bytes),
            Way::Pieces(at) => {
                let begun = self.write(&bytes[..cut(at)]);
                thread::sleep(Duration::from_millis(1));
                begun && self.write(&bytes[cut(at)..])
            }
            Way::Part(length) => {
                let has_left = self.write(&bytes[..cut(length)]);
                if let Some(link) = self.links.pop() {
                    let _ = link.stream.shutdown(Shutdown::Both);
                }
                has_left
            }
            Way::Flipped(bit) => {
                let mut bytes = bytes.to_vec();
                let at = bit / 8 % bytes.len();
                bytes[at] ^= 1 << (bit % 8);
                self.write(&bytes)
            }
        };
        self.tally.messages += u64::from(has_left);
    }

    /// Whether it has left; it has not if nobody reads, or there is no connection.
    fn write(&mut self, bytes: &[u8]) -> bool {
        self.links.last_mut().is_some_and(|link| link.stream.write_all(bytes).is_ok())
    }
}

impl Link {
    /// Reads whole messages; false once it is closed or was never a visitor's.
    fn receive(&mut self, messages: &mut Vec<Vec<u8>>) -> bool {
        let mut buffer = [0; 4_096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(length) => self.received.extend(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        loop {
            match message_len(&self.received) {
                Ok(Some(length)) if length <= self.received.len() => {
                    messages.push(self.received.drain(..length).collect());
                }
                Ok(_) => return true,
                Err(_) => return false,
            }
        }
    }
}

/// Listens so that connections can be made from the same port, too.
fn listener() -> TcpListener {
    let made = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    set_socket_reuseaddr(&made, true).unwrap();
    set_socket_reuseport(&made, true).unwrap();
    bind(&made, &SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT))).unwrap();
    listen(&made, 64).unwrap();
    let listener = TcpListener::from(made);
    listener.set_nonblocking(true).unwrap();
    listener
}

fn begin_connection(from: u16, to: u16, ipv6: bool) -> Option<OwnedFd> {
    let (family, own, visitor): (_, SocketAddr, SocketAddr) = if ipv6 {
        let address = |last| Ipv6Addr::new(0xfd00, 0x12, 0, 0, 0, 0, 0, last);
        (AddressFamily::INET6, (address(1), from).into(), (address(0x21), to).into())
    } else {
        (AddressFamily::INET, (ACCESS_POINT, from).into(), (VISITOR, to).into())
    };
    let made = socket(family, SocketType::STREAM, None).unwrap();
    set_socket_reuseaddr(&made, true).unwrap();
    set_socket_reuseport(&made, true).unwrap();
    // What it leaves behind when it is closed would keep the port.
    set_socket_linger(&made, Some(Duration::ZERO)).unwrap();
    rustix::io::ioctl_fionbio(&made, true).unwrap();
    bind(&made, &own).ok()?;
    match connect(&made, &visitor) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Some(made),
        Err(_) => None,
    }
}
