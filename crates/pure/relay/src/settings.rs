use crate::guard::SrtpKeys;
use crate::side::Side;
use guestright_units::Micros;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Limits of a call; see [`Limits::default`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest datagram, in bytes.
    pub datagram_bytes_max: usize,
    /// Datagrams in a second from one side. A call with 20 ms packets has 50, and some reports.
    pub rate_max: u32,
    /// How many may come at once above that.
    pub burst_max: u32,
    /// Datagrams in a second from addresses that a side does not follow yet. They have an allowance of their own, so
    /// that strangers cannot use up the caller's.
    pub strangers_rate_max: u32,
    /// Streams (synchronisation sources) from one side during a call.
    pub streams_max: usize,
    /// How long keys that were replaced still open what was on its way.
    pub rekey_grace: Micros,
    /// How long a side's address has to be silent before another one that is allowed may take its place.
    pub latch_after: Micros,
    /// How many datagrams go to an address that was signalled and from which nothing has come. It may be somebody's who
    /// did not ask for them (compare RFC 7675).
    pub unanswered_max: u32,
    /// How long nothing has to come from a side before [`Event::Silent`](crate::Event::Silent).
    pub silent_after: Micros,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            datagram_bytes_max: 1_500,
            rate_max: 500,
            burst_max: 250,
            strangers_rate_max: 100,
            streams_max: 32,
            rekey_grace: Micros::from_seconds(5),
            latch_after: Micros::from_millis(250),
            unanswered_max: 15_000,
            silent_after: Micros::from_seconds(60),
        }
    }
}

/// What the signalling agreed on for one side of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideSettings {
    /// Where that side wants its media, as its SDP says; `None` as long as there is none.
    pub media: Option<SocketAddr>,
    /// Where it wants its reports; `None` is the port above the media's (RFC 3550, section 11). Without meaning if
    /// [`SideSettings::mux`].
    pub control: Option<SocketAddr>,
    /// Whether reports come on the media's port (RFC 5761).
    pub mux: bool,
    /// The addresses whose datagrams are accepted.
    pub sources: Sources,
    /// How they are protected.
    pub protection: Protection,
    /// The clock of the stream's timestamps in hertz; only for statistics.
    pub clock_hz: u32,
}

/// Whose datagrams a side takes, and to whom it answers (symmetric RTP, RFC 4961).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// Only those of the very address and port that were signalled.
    Signalled,
    /// Those of any port of one address; answers go to the port that was seen. For a member: its address in the
    /// tunnel. If another address was signalled, nothing goes there; answers wait for the first datagram.
    Address(IpAddr),
    /// Those of any address from which a datagram with a right tag came. For another home behind a NAT that its record
    /// says nothing about; only with [`Protection::Srtp`].
    Proven,
}

/// How a side's datagrams are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Not decided yet, or on hold for good: nothing is taken and nothing is sent.
    Closed,
    /// RTP and RTCP as they are. For a side inside a tunnel.
    Plain,
    /// SRTP and SRTCP (RFC 3711).
    Srtp(SrtpKeys),
    /// Whatever it is, it passes; for what the two ends have protected between themselves, and for their key
    /// agreement. The other side has to be the same.
    Opaque,
}

/// Why a call cannot be as it was asked for.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RelayError {
    /// One side passes everything, the other one wants to look inside.
    #[error("side {side} passes datagrams as they are and the other side does not; make both sides alike")]
    HalfOpaque {
        /// The side that is opaque.
        side: Side,
    },
    /// Any source and nothing that proves it.
    #[error("side {side} takes datagrams from any address, which only SRTP may; name the address")]
    UnprovenSources { side: Side },
    /// Nobody can be reached there.
    #[error("side {side} wants its media at {address}, where nobody can be")]
    Destination {
        side: Side,
        /// What was signalled.
        address: SocketAddr,
    },
    /// One key for both directions: two packets could be protected under one index (RFC 3711, section 9.1).
    #[error("side {side} has the same SRTP key for both directions; each direction needs its own")]
    OneKey { side: Side },
}

impl SideSettings {
    /// A side about which nothing is known yet: it takes nothing and sends nothing.
    #[must_use]
    pub const fn closed() -> Self {
        Self {
            media: None,
            control: None,
            mux: false,
            sources: Sources::Signalled,
            protection: Protection::Closed,
            clock_hz: 8_000,
        }
    }

    /// Where reports go.
    pub(crate) fn control_address(&self) -> Option<SocketAddr> {
        if self.mux {
            return self.media;
        }
        let above = |media: SocketAddr| Some(SocketAddr::new(media.ip(), media.port().checked_add(1)?));
        self.control.or_else(|| self.media.and_then(above))
    }

    /// Whether the side alone makes sense.
    pub(crate) fn validate(&self, side: Side) -> Result<(), RelayError> {
        let srtp = matches!(self.protection, Protection::Srtp(_));
        if self.sources == Sources::Proven && !srtp && self.protection != Protection::Closed {
            return Err(RelayError::UnprovenSources { side });
        }
        if let Protection::Srtp(keys) = &self.protection
            && keys.incoming == keys.outgoing
        {
            return Err(RelayError::OneKey { side });
        }
        match [self.media, self.control].into_iter().flatten().find(|address| !reachable(*address)) {
            Some(address) => Err(RelayError::Destination { side, address }),
            None => Ok(()),
        }
    }
}

/// Whether one host may be there. A call has one other end, so it is never sent to many.
fn reachable(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    let everybody = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    address.port() != 0 && !ip.is_unspecified() && !ip.is_multicast() && !everybody
}
