//! What goes into the buffer, and what comes out.

use guestright_units::{Micros, Time};

/// What a buffer must know of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Ticks of the timestamp in a second.
    pub clock_rate: u32,
    /// Sound in a packet, where [`Config::frame_bytes`] does not tell.
    pub packet: Micros,
    /// Bytes of the codec's smallest frame, or 0 if the length of a payload says nothing: 8 for G.711, 10 for G.729.
    pub frame_bytes: u16,
    /// Sound in that frame: 1 ms for G.711, 10 ms for G.729.
    pub frame: Micros,
    /// The longest that the buffer adds to the delay of the fastest packet.
    pub delay_max: Micros,
    /// So much missing sound in a row is concealed; after that there is silence until the next packet.
    pub conceal_max: Micros,
}

impl Config {
    /// G.711 in packets of 20 ms, held for 400 ms at most.
    pub const G711: Self = Self {
        clock_rate: 8_000,
        packet: Micros::from_millis(20),
        frame_bytes: 8,
        frame: Micros::from_millis(1),
        delay_max: Micros::from_millis(400),
        conceal_max: Micros::from_millis(100),
    };

    /// Sound in a payload of that many bytes.
    #[must_use]
    pub fn duration(&self, payload_len: usize) -> Micros {
        let Some(frames) = payload_len.checked_div(usize::from(self.frame_bytes)) else { return self.packet };
        let duration = self.frame.0.saturating_mul(frames as u64);
        // A payload of less than a frame (a description of silence), or longer than anybody sends, says nothing.
        if duration == 0 || duration > 1_000_000 { self.packet } else { Micros(duration) }
    }

    /// A wide timestamp in µs, at most 2^61, which no honest clock gets to: sums with it stay sums.
    #[must_use]
    pub fn media(&self, timestamp: u64) -> u64 {
        let media = u128::from(timestamp) * 1_000_000 / u128::from(self.clock_rate.max(1));
        u64::try_from(media).unwrap_or(u64::MAX).min(1 << 61)
    }
}

/// A packet for the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming<'a> {
    /// The wide sequence number.
    pub sequence: u64,
    /// The wide timestamp.
    pub timestamp: u64,
    /// The first packet of a talkspurt, as the sender marks it.
    pub marker: bool,
    /// What kind of payload it is.
    pub payload_type: u8,
    /// Comfort noise (RFC 3389): the talkspurt has ended.
    pub is_noise: bool,
    pub payload: &'a [u8],
    /// When it came.
    pub arrived: Time,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It waits for its turn.
    Kept,
    /// Its turn was over.
    Late,
    /// It came before.
    Duplicate,
}

/// What to play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sound {
    /// Decode this.
    Play {
        /// The wide sequence number.
        sequence: u64,
        /// The wide timestamp.
        timestamp: u64,
        payload_type: u8,
        /// What to decode.
        payload: Vec<u8>,
        /// Begins a talkspurt: a codec with a memory may start anew.
        starts_talkspurt: bool,
    },
    /// A packet is missing here: let the codec guess.
    Conceal {
        /// The next packet, if it is here: a codec may carry a copy of the missing one in it (Opus, RFC 6716).
        next: Option<Vec<u8>>,
    },
    /// Nobody speaks: noise as the sender describes it (RFC 3389, section 3: level, then spectrum).
    ComfortNoise {
        /// The last description.
        payload: Vec<u8>,
    },
    /// Nobody speaks, and nothing is known of the noise.
    Silence,
}

/// What to play, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub sound: Sound,
    /// Ask again when so much was played.
    pub duration: Micros,
}

/// How many packets had which fate, since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Came, duplicates included.
    pub received: u64,
    /// Came a second time.
    pub duplicates: u64,
    /// Came after one with a higher sequence number.
    pub reordered: u64,
    /// Given out.
    pub played: u64,
    /// Came after their turn.
    pub late: u64,
    /// Dropped because the buffer was full: delay would have grown.
    pub overflow: u64,
    /// Left out where the listener said it was quiet, to lower the delay.
    pub skipped: u64,
    /// Never came, as far as is known now.
    pub lost: u64,
    /// Intervals that were concealed.
    pub concealed: u64,
    pub talkspurts: u64,
    /// How often everything was begun anew, because the source or its clock had changed.
    pub restarts: u64,
}
