//! Whether somebody speaks.
//!
//! By energy: speech is what is clearly louder than the room. How loud the room is follows the quietest that was heard:
//! at once downwards, slowly upwards. After speech, silence begins only when it has lasted for a while (hangover), so
//! that the ends of words and the gaps within them are kept.

use crate::Level;

/// How far above the room speech is, in dB.
const MARGIN_DB: f32 = 9.0;
/// Quieter than this is never speech.
const SPEECH_MIN_DBOV: f32 = -55.0;
/// Louder than this is always speech, whatever the room.
const SPEECH_SURE_DBOV: f32 = -20.0;
/// How fast the room is believed to become louder, in dB per second: in pauses, and while somebody seems to speak.
const RISE_PAUSE_DB: f32 = 6.0;
const RISE_SPEECH_DB: f32 = 1.0;
/// How long speech goes on after the last loud moment, in ms.
const HANGOVER_MS: u32 = 200;

/// Tells talkspurts from pauses in one stream.
#[derive(Clone, Debug)]
pub struct VoiceDetector {
    rate_hz: u32,
    room_dbov: f32,
    /// How long it has been quiet, in samples.
    quiet_samples: u32,
    is_speech: bool,
}

impl VoiceDetector {
    /// For samples at a rate of `rate_hz`. Begins in a pause and in a room of -70 dBov.
    #[must_use]
    pub fn new(rate_hz: u32) -> Self {
        Self { rate_hz: rate_hz.max(1), room_dbov: -70.0, quiet_samples: 0, is_speech: false }
    }

    /// Takes the next packet (10 to 60 ms) and says whether it is to be sent as speech.
    pub fn detect(&mut self, samples: &[i16]) -> bool {
        let length = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        if length == 0 {
            return self.is_speech;
        }
        let level = Level::of(samples).rms_dbov;
        let is_loud =
            level > SPEECH_MIN_DBOV && (level > self.room_dbov + MARGIN_DB || level > SPEECH_SURE_DBOV);
        self.follow(level, is_loud, length);
        self.quiet_samples = if is_loud { 0 } else { self.quiet_samples.saturating_add(length) };
        let hangover = self.rate_hz.saturating_mul(HANGOVER_MS) / 1_000;
        self.is_speech = is_loud || (self.is_speech && self.quiet_samples <= hangover);
        self.is_speech
    }

    /// What the room is believed to sound like, in dBov.
    #[must_use]
    pub fn room_dbov(&self) -> f32 {
        self.room_dbov
    }

    fn follow(&mut self, level: f32, is_loud: bool, length: u32) {
        #[expect(clippy::cast_precision_loss, reason = "a packet's length and a rate are far below 2^24")]
        let seconds = length as f32 / self.rate_hz as f32;
        if level < self.room_dbov {
            self.room_dbov += (level - self.room_dbov) * 0.5;
        } else {
            let rise = if is_loud { RISE_SPEECH_DB } else { RISE_PAUSE_DB };
            self.room_dbov = (self.room_dbov + rise * seconds).min(level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speech() -> Vec<i16> {
        crate::SPEECH[44..].as_chunks::<2>().0.iter().map(|two| i16::from_le_bytes(*two)).collect()
    }

    fn noise(count: usize, amplitude: i16) -> Vec<i16> {
        let mut seed = 5_u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            i16::try_from(seed >> 17).unwrap() % (amplitude * 2 + 1) - amplitude
        };
        (0..count).map(|_| next()).collect()
    }

    /// Begins and ends of talkspurts, in ms.
    fn talkspurts(samples: &[i16]) -> Vec<(usize, usize)> {
        let mut detector = VoiceDetector::new(8_000);
        let mut spurts: Vec<(usize, usize)> = Vec::new();
        let mut before = false;
        for (at, packet) in samples.chunks(160).enumerate() {
            let now = detector.detect(packet);
            if now && !before {
                spurts.push((at * 20, at * 20));
            }
            if now && let Some(last) = spurts.last_mut() {
                last.1 = at * 20 + 20;
            }
            before = now;
        }
        spurts
    }

    #[test]
    fn the_four_sentences_are_found() {
        let spurts = talkspurts(&speech());
        // The pauses between the sentences are at 2.26, 5.22 and 7.13 s, half a second each.
        let want = [(400, 2_260), (2_767, 5_215), (5_722, 7_127), (7_634, 9_600)];
        for (begin, end) in want {
            let covers = |spurt: &&(usize, usize)| spurt.0 <= begin + 60 && spurt.1 + 40 >= end;
            let over = spurts.iter().filter(|spurt| spurt.0 < end && spurt.1 > begin).collect::<Vec<_>>();
            assert!(over.first().is_some_and(|first| first.0 <= begin + 60), "{begin}..{end}: {spurts:?}");
            assert!(over.iter().any(covers) || over.len() <= 2, "{begin}..{end}: {spurts:?}");
        }
        for pause in [2_550, 5_500, 7_420] {
            assert!(
                !spurts.iter().any(|(begin, end)| (*begin..*end).contains(&pause)),
                "{pause}: {spurts:?}"
            );
        }
        let spoken: usize = spurts.iter().map(|(begin, end)| end - begin).sum();
        assert!((7_000..9_000).contains(&spoken), "{spoken} ms: {spurts:?}");
    }

    #[test]
    fn a_louder_room_is_soon_only_a_room() {
        let mut detector = VoiceDetector::new(8_000);
        let quiet = noise(80_000, 10);
        assert!(quiet.chunks(160).all(|packet| !detector.detect(packet)), "a quiet room is no speech");
        // A fan goes on: 20 dB louder.
        let fan = noise(8_000 * 40, 150);
        let detected: Vec<bool> = fan.chunks(160).map(|packet| detector.detect(packet)).collect();
        assert!(detected[0] && !detected[detected.len() - 1], "the fan is speech for ever");
        // And somebody speaks over it.
        let over: Vec<i16> =
            speech().iter().zip(noise(80_000, 150)).map(|(one, other)| one.saturating_add(other)).collect();
        let spoken = over.chunks(160).filter(|packet| detector.detect(packet)).count();
        assert!(spoken > 250, "{spoken} of 500 packets");
    }

    #[test]
    fn speech_goes_on_for_two_hundred_milliseconds() {
        let mut detector = VoiceDetector::new(8_000);
        assert!(detector.detect(&[8_000; 160]));
        let after = (0..50).take_while(|_| detector.detect(&[0; 160])).count();
        assert_eq!(after, 10);
        assert!(!detector.detect(&[]));
    }
}
