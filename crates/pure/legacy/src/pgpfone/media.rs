//! Sound: the sender's clock on the wire, and the buffer that plays.

use super::codec::{Codec, TIMESTAMP_LEN};
use super::playpoint::Playpoint;
use guestright_units::{Micros, Time};
use guestright_voice::playout::{Config, Incoming, Playout};
use guestright_voice::session::ReceivedPacket;
use guestright_wire::rtp::WidenTimestamp;

/// The longest that the buffer adds: the most that [`Playpoint`] lets wait.
const DELAY_MAX: Micros = Micros::from_millis(1_000);
/// So many packets' time without one is a pause: its length need not be a whole number of packets.
const PAUSE_PACKETS: i64 = 8;
/// How fast the phase of the sender's clock is followed: 1 / this.
const PHASE_GAIN: i64 = 8;

/// The sound that comes.
#[derive(Debug)]
pub(super) struct Media {
    codec: Codec,
    clock: MediaClock,
    playout: Playout,
}

impl Media {
    pub(super) fn new(codec: Codec) -> Self {
        let packet = codec.packet();
        let config = Config {
            clock_rate: 1_000_000,
            packet,
            frame_bytes: 0,
            frame: packet,
            delay_max: DELAY_MAX,
            // As in PGPfone 2.1 on the Macintosh (`CSoundOutput::FillDoubleBuffer`): when nothing waits there is silence until the
            // play point is filled again, so that what comes later is played later. PGPfone's silence is counted in quanta,
            // ours in packets; and after a loss it goes on at once with what it has.
            conceal_max: Micros(0),
        };
        let policy = Playpoint::new(codec.sample_rate(), packet);
        Self { codec, clock: MediaClock::new(packet), playout: Playout::new(config, Box::new(policy)) }
    }

    pub(super) fn playout(&mut self) -> &mut Playout {
        &mut self.playout
    }

    pub(super) fn counts(&self) -> guestright_voice::playout::Counts {
        self.playout.counts()
    }

    pub(super) fn added(&self) -> Option<Micros> {
        self.playout.added()
    }

    /// Takes decrypted sound, if it is as long as the codec's packets are.
    pub(super) fn insert(&mut self, sequence: u32, data: &[u8], now: Time) -> Option<ReceivedPacket> {
        let (timestamp, payload) = data.split_first_chunk::<TIMESTAMP_LEN>()?;
        if payload.len() != self.codec.payload_bytes() {
            return None;
        }
        let timestamp = u32::from_be_bytes(*timestamp);
        let packet = Incoming {
            sequence: sequence.into(),
            timestamp: self.clock.media_time(timestamp),
            marker: false,
            payload_type: 0,
            is_noise: false,
            payload,
            arrived: now,
        };
        let fate = self.playout.insert(&packet);
        let [.., high, low] = sequence.to_be_bytes();
        Some(ReceivedPacket::new(&packet, u16::from_be_bytes([high, low]), timestamp, fate))
    }
}

/// Makes a media clock of the times at which packets were sent, in ms: the sound in them follows without gaps, though
/// they are sent a little sooner or later.
#[derive(Clone, Copy, Debug)]
struct MediaClock {
    packet: i64,
    widen: WidenTimestamp,
    /// The media time of the packet before, and how far its timestamp was ahead of it, in µs.
    last: Option<(i64, i64)>,
}

impl MediaClock {
    fn new(packet: Micros) -> Self {
        Self { packet: packet.0.max(1).cast_signed(), widen: WidenTimestamp::new(), last: None }
    }

    /// The media time of the next packet, in µs: after that of the one before, whatever its timestamp.
    fn media_time(&mut self, timestamp: u32) -> u64 {
        let wide = self.widen.widen(timestamp.into());
        // Below 2^61: the buffer takes no more, and sums with it stay sums.
        let sent = wide.saturating_mul(1_000).min(1 << 60).cast_signed();
        let (media, phase) = match self.last {
            None => (sent, 0),
            Some((last, phase)) => {
                let passed = sent - phase - last;
                let packets = passed.saturating_add(self.packet / 2).div_euclid(self.packet).max(1);
                if packets > PAUSE_PACKETS {
                    let media = sent.max(last + self.packet);
                    (media, sent - media)
                } else {
                    let media = last + packets * self.packet;
                    let error = sent - phase - media;
                    // A clock that has jumped back is taken as it is.
                    let is_near = error.abs() <= PAUSE_PACKETS * self.packet;
                    (media, if is_near { phase + error / PHASE_GAIN } else { sent - media })
                }
            }
        };
        self.last = Some((media, phase));
        media.cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn packets_follow_each_other_although_they_are_sent_unevenly() {
        let packet = Codec::Gsm4410.packet();
        let mut clock = MediaClock::new(packet);
        let start = clock.media_time(5_000);
        for (number, jitter) in [3_i64, -9, 12, 0, -15, 8, 20, -20, 1].into_iter().enumerate() {
            let number = i64::try_from(number).unwrap() + 1;
            let sent = 5_000 + number * packet.0.cast_signed() / 1_000 + jitter;
            let media = clock.media_time(u32::try_from(sent).unwrap());
            assert_eq!(media, start + number.cast_unsigned() * packet.0);
        }
        // Two are lost, then a pause of 10 s.
        let media = clock.media_time(5_000 + u32::try_from(12 * packet.0 / 1_000).unwrap());
        assert_eq!(media, start + 12 * packet.0);
        let after = clock.media_time(5_000 + 10_871);
        assert_eq!(after - start, 10_871_000);
    }

    #[test]
    fn a_clock_that_is_a_little_fast_is_followed() {
        // 300 ppm over half an hour: 540 ms, more than seven packets.
        let packet = Codec::Gsm4410.packet();
        let mut clock = MediaClock::new(packet);
        let start = clock.media_time(0);
        for number in 1..25_000_u64 {
            let sent = number * packet.0 * 10_003 / 10_000 / 1_000;
            assert_eq!(clock.media_time(u32::try_from(sent).unwrap()), start + number * packet.0);
        }
    }

    proptest! {
        #[test]
        fn time_only_rises_whatever_comes(timestamps: Vec<u32>) {
            let mut clock = MediaClock::new(Codec::Adpcm.packet());
            let mut last = None;
            for timestamp in timestamps {
                let media = clock.media_time(timestamp);
                prop_assert!(last.is_none_or(|last| media >= last + Codec::Adpcm.packet().0));
                last = Some(media);
            }
        }
    }
}
