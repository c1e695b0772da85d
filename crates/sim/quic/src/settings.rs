use crate::error::QuicError;
use guestright_congestion::{Controller, SettingsError};
use guestright_engine::{Instant, Nanos};
use guestright_quinn_control::{Algorithm, Carriage, Factory};
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::{IdleTimeout, TransportConfig, VarInt};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most voice packets that may wait to be sent: 20,000 s of packets of 20 ms.
pub(crate) const SEND_BUFFER_MAX: u32 = 1_000_000;
/// Bytes around speech, at most.
const HEADER_BYTES_MAX: u32 = 1_000;
/// Packets between two acknowledgements at most.
const ACK_EVERY_MAX: u32 = 255;
/// What quinn itself may hold of datagrams, either way. Ours is the queue that matters: see `carried.rs`.
const DATAGRAM_BUFFER: usize = 1 << 20;

/// When the connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// At this time, as a caller does who has signalled before speaking.
    At(Instant),
    /// With the first voice packet, which waits a round trip for it.
    WithFirstPacket,
}

/// Which congestion control an end has.
#[derive(Clone)]
pub enum Congestion {
    /// One with a name, with its usual settings.
    Named(Algorithm),
    Other(Arc<dyn ControllerFactory + Send + Sync>),
}

impl Congestion {
    /// One of ours, from `make`, which gets the size of a segment in bytes; see [`Factory`].
    ///
    /// # Errors
    ///
    /// What `make` says of a segment of 1200 bytes.
    pub fn ours<F, C>(make: F) -> Result<Self, SettingsError>
    where
        F: Fn(u32) -> Result<C, SettingsError> + Send + Sync + 'static,
        C: Controller + Clone + Send + Sync + 'static,
    {
        Ok(Self::Other(Arc::new(Factory::new(make)?)))
    }

    fn factory(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Self::Named(algorithm) => guestright_quinn_control::factory(*algorithm),
            Self::Other(factory) => Arc::clone(factory),
        }
    }
}

impl fmt::Debug for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(algorithm) => algorithm.fmt(f),
            Self::Other(_) => f.write_str("Other(..)"),
        }
    }
}

/// How a call is carried over QUIC. Everything else is quinn's default: 333 ms of round trip before the first is measured,
/// ECN on.
#[derive(Clone, Debug)]
pub struct QuicSettings {
    /// In what frames.
    pub carriage: Carriage,
    /// Which congestion control.
    pub congestion: Congestion,
    /// Voice packets that may wait to be sent for the first time; of more the oldest is thrown away.
    pub send_buffer: u32,
    /// Bytes that come with each voice packet: 12 for RTP. Up to 1000.
    pub header_bytes: u32,
    /// When the connection opens.
    pub opening: Opening,
    /// The listener acknowledges every so many packets, or after 25 ms. With 2, quinn's default, there is no word of it on the
    /// wire; any other number is asked for (draft-ietf-quic-ack-frequency-04).
    pub ack_every: u32,
    /// Whether packets larger than 1200 bytes are tried. Costs some probes at the start of the call.
    pub mtu_discovery: bool,
    /// After how much silence of the other end the connection is given up; `None`: never.
    pub idle_timeout: Option<Nanos>,
    /// After how much silence of its own an end sends a PING, so that it is not given up; `None`: never.
    pub keep_alive: Option<Nanos>,
}

impl QuicSettings {
    /// As people would use it for a call: 15 packets may wait (300 ms of speech in packets of 20 ms), the connection is opened
    /// at the start of the run, ends after 30 s (quinn's default, RFC 9308, section 3.2), and is kept alive every 10 s.
    #[must_use]
    pub const fn call(carriage: Carriage, congestion: Congestion) -> Self {
        Self {
            carriage,
            congestion,
            send_buffer: 15,
            header_bytes: 0,
            opening: Opening::At(Instant::START),
            ack_every: 2,
            mtu_discovery: false,
            idle_timeout: Some(Nanos::from_seconds(30)),
            keep_alive: Some(Nanos::from_seconds(10)),
        }
    }

    /// Whether the settings can be.
    ///
    /// # Errors
    ///
    /// Which setting cannot.
    pub fn check(&self) -> Result<(), QuicError> {
        if !(1..=SEND_BUFFER_MAX).contains(&self.send_buffer) {
            return Err(QuicError::SendBuffer { got: self.send_buffer, max: SEND_BUFFER_MAX });
        }
        if self.header_bytes > HEADER_BYTES_MAX {
            return Err(QuicError::Header { got: self.header_bytes, max: HEADER_BYTES_MAX });
        }
        if !(1..=ACK_EVERY_MAX).contains(&self.ack_every) {
            return Err(QuicError::AcknowledgeEvery { got: self.ack_every, max: ACK_EVERY_MAX });
        }
        let idle_ms = self.idle_timeout.map(|span| span.0 / 1_000_000);
        if let Some(got_ms) = idle_ms.filter(|ms| !(1_000..=3_600_000).contains(ms)) {
            return Err(QuicError::IdleTimeout { got_ms });
        }
        let keep_alive_ms = self.keep_alive.map(|span| span.0 / 1_000_000);
        match keep_alive_ms {
            Some(got_ms) if got_ms < 100 || idle_ms.is_some_and(|idle| got_ms >= idle) => {
                Err(QuicError::KeepAlive { got_ms })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// As quinn wants it.
    pub(crate) fn transport(&self) -> TransportConfig {
        let mut config = self.carriage.transport(self.ack_every, self.mtu_discovery);
        let idle_ms = self.idle_timeout.and_then(|span| u32::try_from(span.0 / 1_000_000).ok());
        config
            .congestion_controller_factory(self.congestion.factory())
            .max_idle_timeout(idle_ms.map(|ms| IdleTimeout::from(VarInt::from_u32(ms))))
            .keep_alive_interval(self.keep_alive.map(|span| Duration::from_nanos(span.0)))
            .datagram_receive_buffer_size(Some(DATAGRAM_BUFFER))
            .datagram_send_buffer_size(DATAGRAM_BUFFER);
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_be() {
        let call = QuicSettings::call(Carriage::Datagrams, Congestion::Named(Algorithm::QuinnNewReno));
        assert_eq!(call.check(), Ok(()));
        let seconds = |seconds| Some(Nanos::from_seconds(seconds));
        let of = |settings: QuicSettings| settings.check();
        assert_eq!(
            of(QuicSettings { send_buffer: 0, ..call.clone() }),
            Err(QuicError::SendBuffer { got: 0, max: SEND_BUFFER_MAX })
        );
        assert_eq!(
            of(QuicSettings { header_bytes: 1_001, ..call.clone() }),
            Err(QuicError::Header { got: 1_001, max: HEADER_BYTES_MAX })
        );
        assert_eq!(
            of(QuicSettings { ack_every: 0, ..call.clone() }),
            Err(QuicError::AcknowledgeEvery { got: 0, max: ACK_EVERY_MAX })
        );
        assert_eq!(
            of(QuicSettings { idle_timeout: seconds(0), ..call.clone() }),
            Err(QuicError::IdleTimeout { got_ms: 0 })
        );
        assert_eq!(
            of(QuicSettings { keep_alive: seconds(30), ..call.clone() }),
            Err(QuicError::KeepAlive { got_ms: 30_000 })
        );
        assert_eq!(of(QuicSettings { idle_timeout: None, keep_alive: seconds(40), ..call }), Ok(()));
    }
}
