use guestright_units::{Micros, Time};
use guestright_wire::rtp::Header;
use rand::{Rng, RngExt as _};

/// Encoded sound of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What the codec made of it.
    pub payload: &'a [u8],
    /// How much sound it is.
    pub duration: Micros,
    /// Whether somebody speaks. Whoever decides lets a word fade: some 200 ms after it count as speech.
    pub is_speech: bool,
    /// The level of the noise in silence, in -dBov from 0 to 127 (RFC 3389, section 3.1).
    pub noise_level: u8,
}

/// What we send.
#[derive(Debug)]
pub(super) struct Sender {
    ssrc: u32,
    sequence: u16,
    /// Of the next frame, in µs since the first; the RTP timestamp follows from it.
    media: u64,
    timestamp_start: u32,
    clock_rate: u32,
    is_talking: bool,
    last_sent: Option<Time>,
    /// The last frame's timestamp and when it was handed in, for reports.
    last_frame: Option<(u32, Time)>,
    pub(super) packets: u64,
    pub(super) octets: u64,
    pub(super) noise_packets: u64,
    pub(super) talkspurts: u64,
    /// Frames that came before there were keys.
    pub(super) withheld: u64,
}

impl Sender {
    pub(super) fn new(rng: &mut impl Rng) -> Self {
        Self {
            ssrc: rng.random(),
            // Below 2^15, so that a receiver that misses the first packets still counts the first wrap (RFC 3711, 3.3.1).
            sequence: rng.random_range(0..1 << 15),
            media: 0,
            timestamp_start: rng.random(),
            clock_rate: 0,
            is_talking: false,
            last_sent: None,
            last_frame: None,
            packets: 0,
            octets: 0,
            noise_packets: 0,
            talkspurts: 0,
            withheld: 0,
        }
    }

    pub(super) fn ssrc(&self) -> u32 {
        self.ssrc
    }

    /// Another source, after a collision (RFC 3550, section 8.2).
    pub(super) fn renew(&mut self, rng: &mut impl Rng) {
        self.ssrc = rng.random();
        self.sequence = rng.random_range(0..1 << 15);
        self.timestamp_start = rng.random();
        (self.packets, self.octets) = (0, 0);
        self.is_talking = false;
    }

    pub(super) fn begin_talkspurt(&mut self) {
        self.is_talking = false;
    }

    /// The timestamp of the next frame, which is ready to go `now` and lasts for `duration`.
    pub(super) fn next_frame(&mut self, clock_rate: u32, duration: Micros, now: Time) -> u32 {
        let timestamp = self.timestamp(clock_rate);
        self.media += duration.0;
        self.last_frame = Some((timestamp, now));
        timestamp
    }

    /// There is speech; whether it begins.
    pub(super) fn speak(&mut self) -> bool {
        let begins = !std::mem::replace(&mut self.is_talking, true);
        self.talkspurts += u64::from(begins);
        begins
    }

    /// There is silence; whether it begins.
    pub(super) fn fall_silent(&mut self) -> bool {
        std::mem::replace(&mut self.is_talking, false)
    }

    /// Whether nothing was sent for so long.
    pub(super) fn is_quiet_for(&self, keep_alive: Micros, now: Time) -> bool {
        self.last_sent.is_none_or(|last| now.since(last) >= keep_alive)
    }

    /// The header of the next packet.
    pub(super) fn header(&self, marker: bool, payload_type: u8, timestamp: u32) -> Header {
        Header { marker, payload_type, sequence: self.sequence, timestamp, ssrc: self.ssrc }
    }

    /// The packet with that header is sent.
    pub(super) fn sent(&mut self, octets: u64, now: Time) {
        self.sequence = self.sequence.wrapping_add(1);
        self.packets += 1;
        self.octets += octets;
        self.last_sent = Some(now);
    }

    fn timestamp(&mut self, clock_rate: u32) -> u32 {
        if self.clock_rate != clock_rate {
            // Another clock begins where the old one stands.
            if self.clock_rate != 0 {
                let before = self.ticks(self.media);
                self.timestamp_start = self.timestamp_start.wrapping_add(before);
                self.media = 0;
            }
            self.clock_rate = clock_rate;
        }
        self.timestamp_start.wrapping_add(self.ticks(self.media))
    }

    #[expect(clippy::cast_possible_truncation, reason = "timestamps wrap")]
    fn ticks(&self, media: u64) -> u32 {
        (u128::from(media) * u128::from(self.clock_rate) / 1_000_000) as u32
    }

    /// The timestamp that belongs to this moment, for a report.
    pub(super) fn timestamp_at(&self, now: Time) -> Option<u32> {
        let (timestamp, at) = self.last_frame?;
        Some(timestamp.wrapping_add(self.ticks(now.since(at).0)))
    }
}
