use crate::agreement::{Call, Prepared};
use crate::playout;
use crate::srtp::MasterKey;
use guestright_units::{BitsPerSecond, Micros};
use guestright_wire::rtp::COMFORT_NOISE;
use std::net::SocketAddr;

/// A payload type that the peer may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub payload_type: u8,
    /// Ticks of its timestamp in a second. G.722 says 8000 (RFC 3551, section 4.5.2), Opus 48000.
    pub clock_rate: u32,
    /// See [`playout::Config::frame_bytes`].
    pub frame_bytes: u16,
    /// See [`playout::Config::frame`].
    pub frame: Micros,
}

/// What was agreed on in SDP, and how we do our side of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where the peer is, as the signalling says. Nothing: wherever its first good packet comes from.
    pub peer: Option<SocketAddr>,
    /// What we send: its number and clock.
    pub send: Accepted,
    /// What the peer may send, comfort noise aside.
    pub receive: Vec<Accepted>,
    /// Payload types that are known and dropped, such as key presses (RFC 4733).
    pub ignored: Vec<u8>,
    /// The payload type of comfort noise if the peer knows it (RFC 3389): in silence a packet of it goes out each
    /// [`Config::keep_alive`]. Otherwise an ordinary packet does.
    pub comfort_noise: Option<u8>,
    /// Whether to be quiet when nobody speaks.
    pub discontinuous: bool,
    /// The longest time without a packet, so that address translators keep their memory (RFC 6263).
    pub keep_alive: Micros,
    /// Sound in a packet, where the payload's length does not tell.
    pub packet: Micros,
    /// The longest that the buffer adds.
    pub delay_max: Micros,
    /// So much missing sound in a row is concealed.
    pub conceal_max: Micros,
    /// What the media takes, one direction: RTCP takes a twentieth of it.
    pub rate: BitsPerSecond,
    /// The shortest mean time between two reports.
    pub report_every: Micros,
    /// Our name in reports.
    pub canonical_name: String,
    /// How far our wall clock may be off, if we know. It is told to the peer.
    pub clock_error: Option<Micros>,
    /// Without protection: whether the peer's address follows whoever sends from elsewhere. Only within a tunnel that has
    /// checked the sender.
    pub follow_unprotected: bool,
}

impl Config {
    /// G.711 A-law (or μ-law, payload type 0) in packets of 20 ms.
    #[must_use]
    pub fn g711(payload_type: u8, canonical_name: &str) -> Self {
        let g711 =
            Accepted { payload_type, clock_rate: 8_000, frame_bytes: 8, frame: Micros::from_millis(1) };
        Self {
            peer: None,
            send: g711,
            receive: vec![g711],
            ignored: Vec::new(),
            comfort_noise: Some(COMFORT_NOISE),
            discontinuous: false,
            keep_alive: Micros::from_seconds(1),
            packet: Micros::from_millis(20),
            delay_max: Micros::from_millis(400),
            conceal_max: Micros::from_millis(100),
            rate: BitsPerSecond::new(80_000).expect("it is not zero"),
            report_every: Micros::from_millis(2_000),
            canonical_name: canonical_name.to_owned(),
            clock_error: None,
            follow_unprotected: false,
        }
    }

    pub(super) fn accepted(&self, payload_type: u8) -> Option<Accepted> {
        self.receive.iter().find(|it| it.payload_type == payload_type).copied()
    }

    pub(super) fn playout(&self) -> playout::Config {
        self.playout_of(self.receive.first().copied().unwrap_or(self.send))
    }

    pub(super) fn playout_of(&self, accepted: Accepted) -> playout::Config {
        playout::Config {
            clock_rate: accepted.clock_rate,
            packet: self.packet,
            frame_bytes: accepted.frame_bytes,
            frame: accepted.frame,
            delay_max: self.delay_max,
            conceal_max: self.conceal_max,
        }
    }
}

/// How the media is protected.
#[derive(Clone, Debug)]
pub enum Protection {
    /// Not at all: within a tunnel.
    None,
    /// With keys that came by the signalling (SDES).
    Keys {
        /// For what we send.
        send: MasterKey,
        /// For what we receive.
        receive: MasterKey,
    },
    /// With keys that both members agree on in the media path.
    EndToEnd {
        /// Who we are.
        prepared: Box<Prepared>,
        /// What the signalling says.
        call: Call,
    },
}

/// Hold and resume, as `a=sendrecv` and its like in SDP say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// We send.
    pub send: bool,
    /// We listen.
    pub receive: bool,
}

impl Direction {
    /// A call in which both talk.
    pub const BOTH: Self = Self { send: true, receive: true };
    pub const NONE: Self = Self { send: false, receive: false };
}
