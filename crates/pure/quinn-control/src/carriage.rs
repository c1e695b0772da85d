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

    /// Its name.
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
