use crate::error::QuicIoError;
use crate::gate::{Gate, WatchedFactory};
use guestright_quinn_control::{Algorithm, Carriage};
use guestright_units::Time;
use quinn::{IdleTimeout, TransportConfig, VarInt};
use std::sync::Arc;
use std::time::Duration;

/// What time it is. The same clock for senders and receiver makes their times comparable.
pub type Clock = Arc<dyn Fn() -> Time + Send + Sync>;

/// How a call is carried; the simulator's settings have the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoiceSettings {
    /// In what frames.
    pub carriage: Carriage,
    /// Which congestion control senders have.
    pub algorithm: Algorithm,
    /// Voice packets that may wait to be sent, 1 to 1,000,000; of more the oldest is thrown away.
    pub send_buffer: u32,
    /// The receiver acknowledges every so many packets, 1 to 255, or after 25 ms. 2 is quinn's default.
    pub ack_every: u32,
    /// Whether packets larger than 1200 bytes are tried.
    pub mtu_discovery: bool,
    /// After how much silence of the other end a connection is given up, and how long a sender waits for its last packets
    /// to be acknowledged: 1 s to an hour.
    pub idle_timeout: Duration,
    /// After how much silence of its own an end sends a PING.
    pub keep_alive: Duration,
}

impl VoiceSettings {
    /// As people would use it: 15 packets may wait, a connection ends after 30 s and is kept alive every 10 s.
    #[must_use]
    pub const fn call(carriage: Carriage, algorithm: Algorithm) -> Self {
        Self {
            carriage,
            algorithm,
            send_buffer: 15,
            ack_every: 2,
            mtu_discovery: false,
            idle_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(10),
        }
    }

    /// # Errors
    /// Which setting cannot be.
    pub(crate) fn check(&self) -> Result<(), QuicIoError> {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let settings = [
            ("the send buffer, in packets,", u64::from(self.send_buffer), 1, 1_000_000),
            ("the number of packets to an acknowledgement", self.ack_every.into(), 1, 255),
            ("the idle timeout, in ms,", millis(self.idle_timeout), 1_000, 3_600_000),
            (
                "the keep-alive, in ms,",
                millis(self.keep_alive),
                100,
                millis(self.idle_timeout).saturating_sub(1),
            ),
        ];
        for (what, got, min, max) in settings {
            if !(min..=max).contains(&got) {
                return Err(QuicIoError::Setting { what, got, min, max });
            }
        }
        Ok(())
    }

    /// As quinn wants it; `gate` is told of what the connection may send.
    pub(crate) fn transport(&self, gate: &Arc<Gate>) -> TransportConfig {
        let watched = WatchedFactory {
            gate: Arc::clone(gate),
            inner: guestright_quinn_control::factory(self.algorithm),
        };
        let idle_ms = u32::try_from(self.idle_timeout.as_millis()).unwrap_or(u32::MAX);
        let mut config = self.carriage.transport(self.ack_every, self.mtu_discovery);
        config
            .congestion_controller_factory(Arc::new(watched))
            .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(idle_ms))))
            .keep_alive_interval(Some(self.keep_alive));
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_be() {
        let call = VoiceSettings::call(Carriage::Datagrams, Algorithm::Vegas);
        assert!(call.check().is_ok());
        let cases = [
            VoiceSettings { send_buffer: 0, ..call },
            VoiceSettings { ack_every: 256, ..call },
            VoiceSettings { idle_timeout: Duration::ZERO, ..call },
            VoiceSettings { keep_alive: call.idle_timeout, ..call },
        ];
        for case in cases {
            assert!(matches!(case.check(), Err(QuicIoError::Setting { .. })), "{case:?}");
        }
    }
}
