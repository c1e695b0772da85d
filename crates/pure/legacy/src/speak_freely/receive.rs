use super::config::{Config, Form, Protocol};
use super::rtp;
use guestright_units::{Micros, Time};
use guestright_voice::playout::{self, Counts, Fate, Fixed, Incoming, Output, Playout, Sound};
use guestright_voice::session::ReceivedPacket;
use guestright_wire::rtp::{WidenSequence, WidenTimestamp};
use md5::{Digest as _, Md5};
use std::collections::VecDeque;

/// So many packets are remembered by their digests, to know one that comes again. Below 256, so that in robust mode
/// numbers that come round are not mistaken for it.
pub const EQUAL_KEPT: usize = 128;

/// By its number, a packet so far behind the last one, or farther, is the beginning of something new (`sfspeaker.c`).
const BEHIND_MAX: u8 = 16;

/// What is held beyond the fixed delay, at most.
const DELAY_MAX: Micros = Micros::from_millis(1_500);

/// While nothing is played, the buffer is asked so often.
const SILENCE: Micros = Micros::from_millis(20);

/// A sample at 8 kHz, in µs.
const SAMPLE_US: u64 = 125;

/// What comes in, put in an order and a time.
#[derive(Debug)]
pub(super) struct Receiver {
    form: Form,
    hold: Micros,
    playout: Playout,
    /// Digests of the last packets.
    recent: VecDeque<[u8; 16]>,
    /// The last number of robust mode.
    number: Option<u8>,
    /// How many packets were passed on, which is the sequence number of those that have none.
    passed: u64,
    /// Where the sound so far ends, in µs of our clock, had it been played as it came.
    end: Option<u64>,
    rtp_sequence: WidenSequence,
    rtp_timestamp: WidenTimestamp,
    ssrc: Option<u32>,
    /// What the buffer does not know of: what was dropped before it.
    dropped: Counts,
    pub(super) missing_by_number: u64,
}

impl Receiver {
    pub(super) fn new(config: &Config) -> Self {
        let packet = config.packet();
        let (frame_bytes, frame) = match config.form {
            Form::Gsm => (33, Micros::from_millis(20)),
            Form::Lpc10 => (7, Micros(22_500)),
            // Its state makes the length say too much.
            Form::Adpcm => (0, packet),
        };
        let (clock_rate, conceal_max) = match config.protocol {
            Protocol::Own => (1_000_000, Micros(0)),
            Protocol::Rtp => (8_000, Micros(2 * packet.0)),
        };
        let delay_max = Micros(DELAY_MAX.0 + config.hold.0);
        let playing = playout::Config { clock_rate, packet, frame_bytes, frame, delay_max, conceal_max };
        // The buffer begins up to half a packet early, which is much where a packet is 200 ms.
        let hold = Micros(config.hold.0 + packet.0 / 2);
        Self {
            form: config.form,
            hold,
            playout: Playout::new(playing, Box::new(Fixed::new(hold))),
            recent: VecDeque::new(),
            number: None,
            passed: 0,
            end: None,
            rtp_sequence: WidenSequence::new(),
            rtp_timestamp: WidenTimestamp::new(),
            ssrc: None,
            dropped: Counts::default(),
            missing_by_number: 0,
        }
    }

    /// Takes sound that has no time and perhaps a number: it follows on what came before, unless that must have run out
    /// by now.
    pub(super) fn receive_own(
        &mut self,
        datagram: &[u8],
        number: Option<u8>,
        payload: &[u8],
        now: Time,
    ) -> ReceivedPacket {
        let digest: [u8; 16] = Md5::digest(datagram).into();
        let is_duplicate = self.recent.contains(&digest);
        let is_late = !is_duplicate && number.is_some_and(|number| !self.is_ahead(number));
        let after = self.end.filter(|end| now.0 <= end.saturating_add(self.hold.0));
        let media = after.unwrap_or(now.0);
        let received = ReceivedPacket {
            sequence: low(self.passed),
            timestamp: low_word(media / SAMPLE_US),
            marker: after.is_none(),
            payload_type: self.form.payload_type(),
            payload_bytes: payload.len(),
            arrival: now,
            delay: None,
            is_duplicate,
        };
        if is_duplicate || is_late {
            self.dropped.received += 1;
            self.dropped.duplicates += u64::from(is_duplicate);
            self.dropped.late += u64::from(is_late);
            return received;
        }
        if self.recent.len() == EQUAL_KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(digest);
        if let Some(number) = number {
            let ahead = self.number.map_or(1, |last| number.wrapping_sub(last));
            // What has begun anew says nothing about what is missing.
            self.missing_by_number += u64::from(if ahead < 128 { ahead.saturating_sub(1) } else { 0 });
            self.number = Some(number);
        }
        let samples = self.form.samples(payload.len()).unwrap_or_default();
        self.end = Some(media.saturating_add(SAMPLE_US * u64::try_from(samples).unwrap_or_default()));
        self.passed += 1;
        self.insert(self.passed, media, after.is_none(), payload, now);
        received
    }

    /// The tool's rule: what is not ahead of the last number is dropped, if it is less than 16 behind.
    fn is_ahead(&self, number: u8) -> bool {
        let Some(last) = self.number else { return true };
        let (ahead, behind) = (number.wrapping_sub(last), last.wrapping_sub(number));
        (ahead != 0 && ahead <= behind) || behind >= BEHIND_MAX && ahead > behind
    }

    /// Takes a packet of RTP mode.
    pub(super) fn receive_rtp(&mut self, sound: &rtp::Sound, now: Time) -> ReceivedPacket {
        let header = sound.header;
        if self.ssrc.replace(header.ssrc).is_some_and(|before| before != header.ssrc) {
            self.playout.restart_source();
            (self.rtp_sequence, self.rtp_timestamp) = (WidenSequence::new(), WidenTimestamp::new());
        }
        let sequence = self.rtp_sequence.widen(u64::from(header.sequence));
        let timestamp = self.rtp_timestamp.widen(u64::from(header.timestamp));
        let fate = self.insert(sequence, timestamp, header.marker, &sound.payload, now);
        ReceivedPacket {
            sequence: header.sequence,
            timestamp: header.timestamp,
            marker: header.marker,
            payload_type: header.payload_type,
            payload_bytes: sound.payload.len(),
            arrival: now,
            delay: None,
            is_duplicate: fate == Fate::Duplicate,
        }
    }

    fn insert(&mut self, sequence: u64, timestamp: u64, marker: bool, payload: &[u8], now: Time) -> Fate {
        let payload_type = self.form.payload_type();
        let is_noise = false;
        let packet = Incoming { sequence, timestamp, marker, payload_type, is_noise, payload, arrived: now };
        self.playout.insert(&packet)
    }

    pub(super) fn poll(&mut self, now: Time) -> Output {
        let mut output = self.playout.poll(now);
        if output.sound == Sound::Silence {
            output.duration = output.duration.min(SILENCE);
        }
        output
    }

    pub(super) fn hear(&mut self, is_speech: bool) {
        self.playout.hear(is_speech);
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = self.playout.counts();
        counts.received += self.dropped.received;
        counts.duplicates += self.dropped.duplicates;
        counts.late += self.dropped.late;
        counts
    }

    pub(super) fn buffered(&self) -> Option<Micros> {
        self.playout.added()
    }
}

/// The lower 16 bits, as RTP would have them.
#[expect(clippy::cast_possible_truncation, reason = "the lower bits are what is wanted")]
pub(super) const fn low(wide: u64) -> u16 {
    wide as u16
}

/// The lower 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the lower bits are what is wanted")]
pub(super) const fn low_word(wide: u64) -> u32 {
    wide as u32
}
