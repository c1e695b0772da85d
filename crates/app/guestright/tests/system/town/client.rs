//! A visitor made of the protocol's messages alone, which can also say what no honest one says.

use super::{ACCESS_POINT, PATIENCE, Town};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Bundle, Receipt};
use guestright_roaming::Message;
use guestright_roaming::message::{Acknowledgement, Code, message_len};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::{Duration, SystemTime};

pub(crate) fn now() -> UnixSeconds {
    UnixSeconds(SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs())
}

/// A key pair that is the same for the same number.
pub(crate) fn secret(number: u64) -> SecretKey {
    SecretKey::generate(Suite::Ed25519, &mut StdRng::seed_from_u64(number))
}

/// A certificate that holds now.
pub(crate) fn certify(team: &SecretKey, subject: &SecretKey, role: Role) -> Certificate {
    Certificate::issue(team, subject.public(), role, now().minus(3_600), now().plus(3_600))
}

pub(crate) fn conn(certificate: &Certificate, nonce: u8, bundle: Bundle) -> Message {
    Message::Conn { certificate: Box::new(certificate.clone()), nonce: [nonce; 16], bundle, holds: false }
}

/// A RCPT with these bytes for a receipt.
pub(crate) fn rcpt(receipt: &[u8]) -> Message {
    let bundle = Bundle { receipts: vec![receipt.to_vec()], ..Bundle::default() };
    Message::Rcpt { reference: None, bundle, home: None }
}

/// How a client speaks to the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
}

/// One way to the access point.
#[derive(Debug)]
pub(crate) enum Client {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Client {
    pub(crate) fn new(town: &Town, host: &str, transport: Transport) -> Self {
        let open = || match transport {
            Transport::Tcp => {
                let stream = TcpStream::connect_timeout(&ACCESS_POINT, PATIENCE).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Self::Tcp(stream)
            }
            Transport::Udp => {
                let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
                socket.connect(ACCESS_POINT).unwrap();
                socket.set_read_timeout(Some(PATIENCE)).unwrap();
                Self::Udp(socket)
            }
        };
        town.world.within(host, open).unwrap()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes).unwrap(),
            Self::Udp(socket) => assert_eq!(socket.send(bytes).unwrap(), bytes.len()),
        }
    }

    /// Says that nothing more follows, where that can be said.
    pub(crate) fn finish(&mut self) {
        if let Self::Tcp(stream) = self {
            stream.shutdown(Shutdown::Write).unwrap();
        }
    }

    /// The next answer, or why there is none.
    pub(crate) fn receive(&mut self) -> Result<Message, String> {
        let bytes = match self {
            Self::Udp(socket) => {
                let mut buffer = vec![0; 65_536];
                let length = socket.recv(&mut buffer).map_err(|error| error.to_string())?;
                buffer.truncate(length);
                buffer
            }
            Self::Tcp(stream) => receive_whole(stream)?,
        };
        Message::parse(&bytes).map_err(|error| error.to_string())
    }

    /// The next answer that is not a request for a receipt.
    fn receive_answer(&mut self) -> Result<Message, String> {
        loop {
            let message = self.receive()?;
            if !matches!(message, Message::Rreq { .. }) {
                return Ok(message);
            }
        }
    }

    /// Waits for an ERRO; requests for receipts may come before it.
    pub(crate) fn receive_error(&mut self) -> Result<(Code, String), String> {
        let answer = self.receive_answer()?;
        let Message::Erro { code, reason, .. } = answer else {
            return Err(format!("answered with {}", answer.method()));
        };
        Ok((code, reason))
    }

    /// Asks for service; the terms, if it is granted.
    pub(crate) fn ask(
        &mut self,
        certificate: &Certificate,
        nonce: u8,
        bundle: Bundle,
    ) -> Result<Acknowledgement, String> {
        self.send(&conn(certificate, nonce, bundle).emit());
        self.receive_terms()
    }

    /// Asks for service every half second until there is an answer, as a visitor does: who asks too soon gets none, or reads that others
    /// have their turn.
    pub(crate) fn ask_again(
        &mut self,
        certificate: &Certificate,
        nonce: u8,
        bundle: Bundle,
    ) -> Result<Acknowledgement, String> {
        let question = conn(certificate, nonce, bundle).emit();
        let mut answer = Err(String::new());
        super::until("an answer", || {
            self.send(&question);
            if !self.is_answered_within(Duration::from_millis(500)) {
                return false;
            }
            answer = self.receive_terms();
            answer.as_ref().err().is_none_or(|reason| !reason.contains("code: Busy"))
        });
        answer
    }

    /// Whether something begins to come, or the connection ends, in this time.
    pub(crate) fn is_answered_within(&self, time: Duration) -> bool {
        let mut events = [match self {
            Self::Tcp(stream) => PollFd::new(stream, PollFlags::IN),
            Self::Udp(socket) => PollFd::new(socket, PollFlags::IN),
        }];
        poll(&mut events, Some(&time.try_into().unwrap())).unwrap() == 1
    }

    /// Waits for the terms of service.
    pub(crate) fn receive_terms(&mut self) -> Result<Acknowledgement, String> {
        let answer = self.receive_answer()?;
        let Message::Cack { certificate, acknowledgement, .. } = answer else {
            return Err(format!("{answer:?}"));
        };
        Acknowledgement::open(&acknowledgement, &certificate).map_err(|error| error.to_string())
    }
}

/// A member that signs by hand.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) key: SecretKey,
    pub(crate) certificate: Certificate,
}

impl Member {
    /// Member `number` of team `team`, both made up.
    pub(crate) fn new(team: u64, number: u64) -> Self {
        let key = secret(number);
        let certificate = certify(&secret(team), &key, Role::Member);
        Self { key, certificate }
    }

    pub(crate) fn sign(&self, provider: TeamId, started: UnixSeconds, weight: u64) -> Vec<u8> {
        Receipt::sign(&self.key, &self.certificate, provider, started, Bytes(weight)).as_bytes().to_vec()
    }

    /// Opens a session from a host, as an honest visitor does.
    pub(crate) fn open(&self, town: &Town, host: &str, client: &mut Client) -> Acknowledgement {
        let terms = client.ask(&self.certificate, 1, Bundle::default()).unwrap();
        client.send(&rcpt(&self.sign(terms.provider, terms.started, 0)).emit());
        let ip = town.address_of(host);
        town.until_status("the firewall to open", |status| super::session(status, &ip)["open"] == true);
        terms
    }
}

fn receive_whole(stream: &mut TcpStream) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    loop {
        if let Some(length) = message_len(&bytes).map_err(|error| error.to_string())?
            && bytes.len() == length
        {
            return Ok(bytes);
        }
        let mut byte = [0];
        match stream.read(&mut byte).map_err(|error| error.to_string())? {
            0 => return Err(format!("closed after {} bytes of an answer", bytes.len())),
            _ => bytes.push(byte[0]),
        }
    }
}
