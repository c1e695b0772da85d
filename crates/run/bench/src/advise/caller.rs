//! The end that measures the way to a listener.

use super::leg::{self, Way};
use super::protocol::{Answer, Ask, CarrierName, Leg, Report, Talk, VERSION};
use crate::error::{BenchError, Doing};
use guestright_units::Micros;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// A connection has to come about within this.
const CONNECT: Duration = Duration::from_secs(5);
/// Datagrams that open the way for voice; one is enough.
const GREETINGS: usize = 5;
/// Round trips that are timed; the fastest counts.
const PINGS: usize = 20;

/// What one leg gave: how long each packet took by the two clocks, in µs; or why there was nothing.
pub type LegResult = Result<(Leg, Vec<i64>), String>;

/// The caller's end of a measurement.
#[derive(Debug)]
pub struct Caller {
    peer: SocketAddr,
    talk: Talk,
    /// The congestion controls of the other end's TCP.
    offered: Vec<String>,
    clock: Instant,
}

impl Caller {
    /// Connects to a listener.
    ///
    /// # Errors
    /// If nobody listens there, another measures already, or it speaks another version.
    pub fn connect(peer: SocketAddr) -> Result<Self, BenchError> {
        let unreachable = |source: io::Error| BenchError::Unreachable { peer, source };
        let stream = TcpStream::connect_timeout(&peer, CONNECT).map_err(unreachable)?;
        let mut talk = Talk::new(stream).map_err(unreachable)?;
        talk.send(&Ask::Hello { version: VERSION }).map_err(unreachable)?;
        let answer = talk.hear(Duration::ZERO).map_err(unreachable)?;
        if answer == Answer::Busy {
            return Err(BenchError::Busy { peer });
        }
        let Answer::Welcome { version, congestion } = answer else { return Err(out_of_turn(&answer)) };
        if version != VERSION {
            return Err(BenchError::Version { got: version, want: VERSION });
        }
        Ok(Self { peer, talk, offered: congestion, clock: Instant::now() })
    }

    /// The congestion controls that the TCP of the other end has.
    #[must_use]
    pub fn offered(&self) -> &[String] {
        &self.offered
    }

    /// The fastest of some round trips.
    ///
    /// # Errors
    /// If the other end does not answer.
    pub fn round_trip(&mut self) -> Result<Micros, BenchError> {
        let mut fastest = Duration::MAX;
        for _ in 0..PINGS {
            let sent = Instant::now();
            self.talk.send(&Ask::Ping).doing("ask the other end")?;
            let answer = self.talk.hear(Duration::ZERO).doing("wait for the other end")?;
            if answer != Answer::Pong {
                return Err(out_of_turn(&answer));
            }
            fastest = fastest.min(sent.elapsed());
        }
        Ok(Micros(u64::try_from(fastest.as_micros()).unwrap_or(u64::MAX)))
    }

    /// One transport in one direction; or why there was nothing.
    ///
    /// # Errors
    /// In words, for a table of all that was tried.
    pub fn leg(&mut self, leg: &Leg) -> LegResult {
        let words = |error: io::Error| error.to_string();
        self.talk.send(&Ask::Try(leg.clone())).map_err(words)?;
        let answer = self.hear(Duration::ZERO)?;
        let Answer::Ready { token } = answer else { return Err(out_of_turn(&answer).to_string()) };
        let (way, key) = self.open(leg, token)?;
        self.talk.send(&Ask::Begin { key: way.key() }).map_err(words)?;
        let answer = self.hear(Duration::ZERO)?;
        if answer != Answer::Begun {
            return Err(out_of_turn(&answer).to_string());
        }
        let own = way.run(leg, !leg.back, self.clock, key.as_deref());
        let answer = self.hear(leg.lasts() + leg::AFTERWARDS)?;
        let Answer::Report(theirs) = answer else { return Err(out_of_turn(&answer).to_string()) };
        let own = own?;
        let (spoke, listened): (&Report, &Report) = if leg.back { (&theirs, &own) } else { (&own, &theirs) };
        let differences = leg::differences(leg, spoke.first_us, &listened.deliveries);
        if differences.is_empty() {
            return Err("nothing was heard".to_owned());
        }
        Ok((leg.clone(), differences))
    }

    /// The way for voice. When this returns the other end has it too, and has told its key if it listens to QUIC.
    fn open(&mut self, leg: &Leg, token: u64) -> Result<(Way, Option<String>), String> {
        let words = |error: io::Error| error.to_string();
        if leg.carrier == CarrierName::Tcp {
            let stream = TcpStream::connect_timeout(&self.peer, CONNECT).map_err(words)?;
            let mut talk = Talk::new(stream).map_err(words)?;
            talk.send(&Ask::Join { token }).map_err(words)?;
            let key = self.opened()?;
            return Ok((Way::stream(leg, talk.into_stream())?, key));
        }
        let any: IpAddr = if self.peer.is_ipv4() {
            std::net::Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let socket = UdpSocket::bind((any, 0)).map_err(words)?;
        // Some may be lost; the other end answers on the connection.
        for _ in 0..GREETINGS {
            let _ = socket.send_to(&token.to_be_bytes(), self.peer);
        }
        let key = self.opened()?;
        Ok((Way::datagrams(leg, (socket, self.peer), !leg.back, self.clock)?, key))
    }

    fn opened(&mut self) -> Result<Option<String>, String> {
        let answer = self.hear(Duration::ZERO)?;
        let Answer::Open { key } = answer else { return Err(out_of_turn(&answer).to_string()) };
        Ok(key)
    }

    fn hear(&mut self, longer: Duration) -> Result<Answer, String> {
        let answer = self.talk.hear(longer).map_err(|error| format!("the other end: {error}"))?;
        if let Answer::Refused { why } = answer {
            return Err(why);
        }
        Ok(answer)
    }
}

fn out_of_turn(answer: &Answer) -> BenchError {
    BenchError::OutOfTurn { answer: format!("{answer:?}") }
}
