//! What the two ends of a measurement say to each other: a JSON object on each line, over TCP.

use guestright_quality::Carrier;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Both ends have the same, or nothing is measured.
pub(super) const VERSION: u32 = 1;
/// A line is no longer than this.
const LINE_MAX: u64 = 1 << 20;
/// The other end has this long to say something when it is its turn.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A trial of one transport in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    pub carrier: CarrierName,
    /// The congestion control: the kernel's name for TCP, ours for QUIC.
    pub congestion: Option<String>,
    /// Whether the listener speaks.
    pub back: bool,
    pub packets: u32,
    pub interval_us: u32,
    pub bytes: u16,
    /// Packets that may wait to be sent.
    pub send_buffer: u16,
}

/// The carriers that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CarrierName {
    Udp,
    QuicDatagrams,
    QuicStream,
    Tcp,
}

impl CarrierName {
    /// As the E-model's advice has it.
    #[must_use]
    pub const fn carrier(self) -> Carrier {
        match self {
            Self::Udp => Carrier::Udp,
            Self::QuicDatagrams => Carrier::QuicDatagrams,
            Self::QuicStream => Carrier::QuicStream,
            Self::Tcp => Carrier::Tcp,
        }
    }
}

impl Leg {
    pub(super) const PACKETS_MAX: u32 = 15_000;
    const INTERVAL_US: std::ops::RangeInclusive<u32> = 5_000..=200_000;
    const BYTES: std::ops::RangeInclusive<u16> = 20..=1_200;

    /// Whether the listener takes part in it: no more than the rate of a few calls, and not for ever.
    pub(super) fn is_modest(&self) -> bool {
        (1..=Self::PACKETS_MAX).contains(&self.packets)
            && Self::INTERVAL_US.contains(&self.interval_us)
            && Self::BYTES.contains(&self.bytes)
            && (1..=1_000).contains(&self.send_buffer)
    }

    /// How long somebody speaks.
    pub(super) fn lasts(&self) -> Duration {
        Duration::from_micros(u64::from(self.interval_us) * u64::from(self.packets))
    }
}

/// What the caller says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ask {
    /// First on a connection that is to lead a measurement.
    Hello { version: u32 },
    /// First on a connection that is to carry voice.
    Join { token: u64 },
    /// To see how long an answer takes.
    Ping,
    /// A leg is to begin.
    Try(Leg),
    /// Everything is ready here; with the key of who listens, for QUIC.
    Begin { key: Option<String> },
}

/// What the listener says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// It is there, and this is what its kernel's TCP can do.
    Welcome {
        version: u32,
        congestion: Vec<String>,
    },
    Busy,
    Pong,
    /// Come with this token: a connection, or a datagram to the same port.
    Ready {
        token: u64,
    },
    /// The way for voice is there; with the key of who listens, for QUIC.
    Open {
        key: Option<String>,
    },
    Begun,
    /// It is over.
    Report(Report),
    Refused {
        why: String,
    },
}

/// What one end knows of a leg when it is over; times are by its own clock, in µs since it began to measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// When the first packet was made; of the end that speaks.
    pub(super) first_us: u64,
    /// Which packets were heard, and when; of the end that listens.
    pub(super) deliveries: Vec<(u32, u64)>,
}

/// A connection on which lines go both ways.
#[derive(Debug)]
pub(super) struct Talk {
    reader: BufReader<TcpStream>,
}

impl Talk {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { reader: BufReader::new(stream) })
    }

    pub(super) fn send(&mut self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.reader.get_mut().write_all(&line)
    }

    /// What the other end says next, within `PATIENCE` and `longer`.
    pub(super) fn hear<T: DeserializeOwned>(&mut self, longer: Duration) -> io::Result<T> {
        self.first(PATIENCE + longer)
    }

    /// What the other end says next, within `patience`.
    pub(super) fn first<T: DeserializeOwned>(&mut self, patience: Duration) -> io::Result<T> {
        self.reader.get_ref().set_read_timeout(Some(patience))?;
        let mut line = Vec::new();
        (&mut self.reader).take(LINE_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_slice(&line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// The connection itself; what was read ahead of it is lost, so nothing may be.
    pub(super) fn into_stream(self) -> TcpStream {
        self.reader.into_inner()
    }
}
