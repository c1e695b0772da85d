/// Key material in a message has at most so many bytes.
pub const KEY_PART_MAX: usize = 64;
/// A codec's packet has at most so many bytes: 40 ms at 8,000 bytes a second are 320.
pub const PAYLOAD_MAX: usize = 1_024;

/// What is in a protected datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Audio(Audio),
    /// A step of a handshake, to look like sound from outside.
    Message(Message),
    /// What the listener tells the talker every 5 s (section 4.1).
    Report(Report),
    /// Looks like sound, and says nothing: it hides pauses and handshakes.
    Cover,
    Bye,
}

/// A packet of sound: P = {ts, M} of Algorithm 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audio {
    /// The talker's clock when the packet was made, its sound complete, in ticks ([`Content`] does not know how long a
    /// tick is). Within a talkspurt it rises by the length of a packet.
    pub timestamp: u32,
    /// The first packet after a silence.
    pub starts_talkspurt: bool,
    /// How long the silence before it was, in packets, if it starts a talkspurt; 65535 stands for longer.
    pub silence: u16,
    /// The codec's bytes, at most [`PAYLOAD_MAX`].
    pub payload: Vec<u8>,
}

/// One of the four messages of Table 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which phase it belongs to. Rises by one with each PROBE of a direction; never reused.
    pub phase: u32,
    /// Which of the four.
    pub step: Step,
    /// Key material, as the [`Seal`](super::Seal) of both sides has it; at most [`KEY_PART_MAX`] bytes.
    pub key: Vec<u8>,
}

/// The step of a phase. Times are in ticks of the talker's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// S to R: the talker's clock.
    Probe {
        /// `ts`.
        time: u32,
    },
    /// R to S: the same, back.
    Response {
        /// `ts` of the probe.
        time: u32,
        /// How long R held it back, in ticks, because a message waits for a place between packets of sound.
        held: u16,
    },
    /// S to R: set the clock back by the round trip.
    Install {
        /// In ticks.
        round_trip: u32,
    },
    /// R to S: it will.
    Ack { round_trip: u32 },
}

/// What the listener saw in the last interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    pub number: u32,
    /// Packets that should have come.
    pub expected: u32,
    /// Packets that came.
    pub received: u32,
    /// Of them too late to be played.
    pub late: u32,
    /// Jitter (RFC 3550, section 6.4.1), in µs.
    pub jitter_us: u32,
}
