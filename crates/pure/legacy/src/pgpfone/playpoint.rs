//! How long PGPfone waits before it plays: a play point in quanta of 160 samples, from the jitter of what came.
//!
//! The paper says that the tools of 2003 have no adaptive playout; PGPfone 2.1 has this one. The arithmetic is in whole
//! milliseconds and divides towards zero, as PGPfone's does: deviations below 16 ms never get into the variance.

use super::codec::FRAME_SAMPLES;
use guestright_units::Micros;
use guestright_voice::playout::{Arrival, Policy};

/// The least play point, in quanta.
const LEAST: u64 = 2;
const GREATEST: u64 = 20;
/// Packets after which the skew is smoothed.
const SKEW_AFTER: u32 = 3;
/// Packets after which the play point follows the jitter.
const ADAPT_AFTER: u32 = 10;

/// PGPfone's adaptive jitter control as a [`Policy`].
///
/// The skew is the mean of arrival minus timestamp (gain 1/8), the variance the mean deviation from it (1/16), the jitter
/// twice that, and the play point that jitter in quanta, rounded up, from 2 to 20. A talkspurt is played as soon as the play
/// point is filled: what one packet has in it counts at once. When more than 1/5 s waits, or up to 1 s at a high play point,
/// all of it is thrown away.
#[derive(Clone, Copy, Debug)]
pub struct Playpoint {
    sample_rate: u32,
    packet: Micros,
    skew: i64,
    variance: i64,
    packets: u32,
    quanta: u64,
}

impl Playpoint {
    /// For packets of that much sound, sampled so many times a second.
    #[must_use]
    pub fn new(sample_rate: u32, packet: Micros) -> Self {
        let (sample_rate, packet) = (sample_rate.max(1), Micros(packet.0.max(1)));
        Self { sample_rate, packet, skew: 0, variance: 0, packets: 0, quanta: LEAST }
    }

    /// Twice the mean deviation, in ms.
    #[must_use]
    pub fn jitter(&self) -> i64 {
        self.variance.saturating_mul(2)
    }

    /// The play point now, in quanta.
    #[must_use]
    pub fn quanta(&self) -> u64 {
        self.quanta
    }

    /// How long the first packet of a talkspurt waits: until the packet that fills the play point comes.
    #[must_use]
    pub fn hold(&self) -> Micros {
        let samples =
            (self.packet.0.saturating_mul(self.sample_rate.into()).saturating_add(500_000)) / 1_000_000;
        let packets = (self.quanta * u64::from(FRAME_SAMPLES)).div_ceil(samples.max(1)).max(1);
        Micros((packets - 1) * self.packet.0)
    }

    fn set_quanta(&mut self) {
        // PGPfone's samples in a ms are rounded up, and once more if there was nothing to round.
        let samples = (u64::from(self.sample_rate) / 1_000 + 1).saturating_mul(self.jitter().unsigned_abs());
        let quanta = samples.div_ceil(u64::from(FRAME_SAMPLES));
        self.quanta = if quanta <= LEAST { LEAST } else { (quanta + 1).min(GREATEST) };
    }
}

impl Policy for Playpoint {
    fn name(&self) -> &'static str {
        "pgpfone"
    }

    fn arrived(&mut self, arrival: &Arrival) {
        let skew = arrival.delay().div_euclid(1_000);
        self.skew = if self.packets > SKEW_AFTER {
            self.skew.saturating_add(skew.saturating_sub(self.skew) / 8)
        } else {
            skew
        };
        let deviation = skew.saturating_sub(self.skew).saturating_abs();
        self.variance = self.variance.saturating_add(deviation.saturating_sub(self.variance) / 16);
        if self.packets < ADAPT_AFTER {
            self.packets += 1;
        } else {
            self.set_quanta();
        }
    }

    fn play_after(&mut self, first: &Arrival) -> i64 {
        first.delay().saturating_add(self.hold().0.cast_signed())
    }

    /// As in PGPfone 2.1's `CSoundOutput::Run`.
    fn waiting_max(&self) -> Option<Micros> {
        let part_of_a_second = match self.quanta {
            ..=2 => 5,
            3..=4 => 4,
            5..=6 => 3,
            7..=10 => 2,
            _ => 1,
        };
        Some(Micros(1_000_000 / part_of_a_second))
    }

    fn restart(&mut self) {
        *self = Self::new(self.sample_rate, self.packet);
    }
}
