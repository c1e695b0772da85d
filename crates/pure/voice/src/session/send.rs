use super::{Keys, Session};
use crate::srtp::SrtpError;
use guestright_units::{Micros, Time};
use guestright_wire::rtp::{Header, Kind};
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

    /// The timestamp of the next frame.
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

impl Session {
    /// Takes the next sound, also when it is silence and nothing will be sent: time goes on with it.
    ///
    /// `now` is when it is ready to go. Reports tell the peer that its timestamp belongs to that moment, so that a one-way
    /// delay is the network's, without the time that it took to fill the packet.
    pub fn handle_frame(&mut self, frame: &Frame<'_>, now: Time) {
        let timestamp = self.sender.timestamp(self.config.send.clock_rate);
        self.sender.media += frame.duration.0;
        self.sender.last_frame = Some((timestamp, now));
        if !self.direction.send {
            return;
        }
        if !self.is_ready() {
            self.sender.withheld += 1;
            return;
        }
        if frame.is_speech || !self.config.discontinuous {
            let marker = !self.sender.is_talking;
            self.sender.is_talking = true;
            self.sender.talkspurts += u64::from(marker);
            self.send_rtp(marker, self.config.send.payload_type, timestamp, frame.payload, now);
            return;
        }
        let ends_talkspurt = std::mem::replace(&mut self.sender.is_talking, false);
        let is_due = self.sender.last_sent.is_none_or(|last| now.since(last) >= self.config.keep_alive);
        match self.config.comfort_noise {
            Some(payload_type) if ends_talkspurt || is_due => {
                self.sender.noise_packets += 1;
                self.send_rtp(false, payload_type, timestamp, &[frame.noise_level & 0x7f], now);
            }
            None if is_due => {
                self.send_rtp(false, self.config.send.payload_type, timestamp, frame.payload, now);
            }
            Some(_) | None => {}
        }
    }

    fn send_rtp(&mut self, marker: bool, payload_type: u8, timestamp: u32, payload: &[u8], now: Time) {
        let (sequence, ssrc) = (self.sender.sequence, self.sender.ssrc);
        let header = Header { marker, payload_type, sequence, timestamp, ssrc };
        self.scratch.clear();
        header.emit(&mut self.scratch);
        self.scratch.extend_from_slice(payload);
        let mut bytes = Vec::new();
        match &mut self.keys {
            Keys::Plain => bytes.clone_from(&self.scratch),
            Keys::Awaited => return,
            Keys::Ready(contexts) => {
                bytes.reserve_exact(self.scratch.len() + contexts.protect.profile().rtp_overhead());
                match contexts.protect.rtp(&self.scratch, &mut bytes) {
                    Ok(()) => {}
                    // 2^48 packets under one key take 178,000 years; then there is silence rather than a weak key.
                    Err(SrtpError::KeyWornOut) => return,
                    Err(error) => unreachable!("our own sequence numbers rise one by one: {error}"),
                }
            }
        }
        self.sender.sequence = sequence.wrapping_add(1);
        self.sender.packets += 1;
        self.sender.octets += payload.len() as u64;
        self.sender.last_sent = Some(now);
        self.reports.sent_media();
        self.transmit(Kind::Rtp, bytes);
    }
}
