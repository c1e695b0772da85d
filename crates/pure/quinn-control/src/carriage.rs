use quinn_proto::{AckFrequencyConfig, MtuDiscoveryConfig, TransportConfig, VarInt};

/// How the voice packets of a call are carried over QUIC. The simulator and the program for real sockets both know these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carriage {
    /// Each in a DATAGRAM frame (RFC 9221): what is lost is not sent again, what comes is heard at once.
    Datagrams,
    /// One after the other in one stream, each after its length in two bytes (as RFC 4571 has it for RTP over TCP): what is
    /// lost is sent again, and what came after it waits.
    Stream,
    /// Each in a stream of its own: what is lost is sent again, nothing waits for it.
    StreamPerPacket,
}

impl Carriage {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Datagrams, Self::Stream, Self::StreamPerPacket];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Datagrams => "datagrams",
            Self::Stream => "stream",
            Self::StreamPerPacket => "stream-per-packet",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|carriage| carriage.name() == name)
    }

    /// What connections that carry voice this way have in common: no bidirectional streams, no segmentation offload, no spin
    /// bit. Every `ack_every` packets are acknowledged, 1 to 255; `mtu_discovery`: whether packets larger than 1200 bytes are
    /// tried. Everything else is quinn's default.
    #[must_use]
    pub fn transport(self, ack_every: u32, mtu_discovery: bool) -> TransportConfig {
        // 2 is quinn's own, without asking the other end.
        let ack_frequency = (ack_every != 2).then(|| {
            let mut config = AckFrequencyConfig::default();
            config.ack_eliciting_threshold(VarInt::from_u32(ack_every.saturating_sub(1)));
            config
        });
        let mut config = TransportConfig::default();
        config
            .ack_frequency_config(ack_frequency)
            .mtu_discovery_config(mtu_discovery.then(MtuDiscoveryConfig::default))
            .max_concurrent_bidi_streams(VarInt::from_u32(0))
            .max_concurrent_uni_streams(VarInt::from_u32(self.streams_max()))
            .enable_segmentation_offload(false)
            .allow_spin(false);
        config
    }

    /// Streams that may be open at once. quinn keeps an entry for each from the start, so no more than are needed: 256
    /// packets on their way are 5 s of speech.
    const fn streams_max(self) -> u32 {
        match self {
            Self::Datagrams => 0,
            Self::Stream => 1,
            Self::StreamPerPacket => 256,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_of_one_carriage() {
        for carriage in Carriage::ALL {
            assert_eq!(Carriage::from_name(carriage.name()), Some(carriage));
        }
        assert_eq!(Carriage::from_name("udp"), None);
    }
}
