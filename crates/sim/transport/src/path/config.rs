//! What a path is made of.

use crate::errors::Errors;
use crate::foreign::Ends;
use crate::queue::Discipline;
use crate::tcp::{ReceiverSettings, SenderSettings};
use guestright_engine::{Instant, Nanos};

/// The links of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathConfig {
    /// From R1 to R2, and back.
    pub first: Bottleneck,
    /// From R2 to R3, and back.
    pub second: Bottleneck,
    /// Every other link.
    pub access: Access,
    /// Which packets the links from R3 to the calls' sinks lose.
    pub errors: Errors,
    /// Which packets the links from the calls' sinks to R3 lose.
    pub reverse_errors: Errors,
    /// Whether the datagrams of [`Carrier::Foreign`] may be marked (ECT). A TCP says it itself.
    pub ecn: bool,
    /// Each packet comes up to so much later to the end of each link, at random; see [`PathConfig::JITTER`].
    pub jitter: Nanos,
}

/// A link between two routers; the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// Bits per second.
    pub rate: u64,
    /// Propagation delay.
    pub delay: Nanos,
    /// Packets before it, the one being sent among them.
    pub buffer: u32,
    /// What is done with those that wait.
    pub discipline: Discipline,
}

/// A link between a host and its router; the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Bits per second.
    pub rate: u64,
    /// Propagation delay.
    pub delay: Nanos,
    /// The links of each flow have up to so much more delay, the same for all four: another one for each flow, at random.
    pub spread: Nanos,
    /// Packets before it, the one being sent among them; `None`: no limit.
    pub buffer: Option<u32>,
}

impl PathConfig {
    /// Enough jitter to break ties: less than 8 ns.
    ///
    /// Packets of equal length that are clocked by acknowledgements come after whole multiples of few times: a packet
    /// comes at the very nanosecond at which another one leaves, or a timer goes off. Which is first then decides who
    /// loses a packet, again and again (S. Floyd and V. Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways",
    /// Internetworking: Research and Experience 3(3), 1992). Any fixed rule is a bias: without jitter, 100 calls over Reno
    /// send 4 % more packets, and 45 % more of what is heard is late. ns-2's clock is a floating-point number, and its
    /// rounding breaks ties as if at random.
    pub const JITTER: Nanos = Nanos(8);

    /// Drop-tail, 2 Mbit/s twice, 10 ms each, 50 packets; 10 Mbit/s and 5 ms elsewhere; one in a hundred lost on the
    /// sinks' links. What we put in the place of the paper's Figure 1. Without jitter.
    #[must_use]
    pub const fn paper_c() -> Self {
        let bottleneck = Bottleneck {
            rate: 2_000_000,
            delay: Nanos::from_millis(10),
            buffer: 50,
            discipline: Discipline::DropTail,
        };
        Self {
            first: bottleneck,
            second: bottleneck,
            access: Access { rate: 10_000_000, delay: Nanos::from_millis(5), spread: Nanos(0), buffer: None },
            errors: Errors::Bernoulli { per_million: 10_000 },
            reverse_errors: Errors::Bernoulli { per_million: 10_000 },
            ecn: false,
            jitter: Nanos(0),
        }
    }
}

/// What carries a call.
#[derive(Debug)]
pub enum Carrier<C> {
    /// Each packet by itself.
    Udp {
        /// Bytes of headers: 28 of IPv4 and UDP, 12 of RTP; ns-2 has none.
        header_bytes: u32,
    },
    /// A TCP stream; a packet of speech is a segment.
    Tcp(TcpCarrier<C>),
    /// Anything else.
    Foreign(Box<dyn Ends>),
}

/// A TCP stream.
#[derive(Clone, Debug)]
pub struct TcpCarrier<C> {
    pub sender: SenderSettings,
    pub receiver: ReceiverSettings,
    /// Its congestion control.
    pub controller: C,
    /// How many packets of speech may wait to be sent for the first time. One more, and the oldest of them is thrown away:
    /// the application takes back what TCP has not sent. `None`: no limit.
    pub send_buffer: Option<u32>,
}

/// A call from a source at R1 to a sink at R3.
#[derive(Debug)]
pub struct Call<C> {
    /// When packets are spoken, in order.
    pub arrivals: Vec<Instant>,
    /// Bytes of speech in each.
    pub packet_bytes: u32,
    /// What carries them.
    pub carrier: Carrier<C>,
    /// Other errors on its sink's link than the path has: there, and back.
    pub errors: Option<[Errors; 2]>,
}

/// A file transfer from R2 to R3.
#[derive(Clone, Debug)]
pub struct Transfer<C> {
    /// When it begins.
    pub start: Instant,
    /// How many bytes it has; `None`: no end.
    pub bytes: Option<u64>,
    /// What carries it; `send_buffer` means nothing.
    pub tcp: TcpCarrier<C>,
}
