//! How loud speech in G.711 is, as far as it is in the clear.
//!
//! A path may be without fault and carry silence: a muted microphone, a gateway that lost its other leg, comfort noise
//! for minutes. Loss and delay do not show it, the level does. What is ciphered sounds like noise here, so a silence is
//! found and never made up.

/// A packet whose level is not above this is silent: in dB below the loudest sample (dBov). Speech in a quiet call lies
/// above -45, the noise of a quiet room near -65 (ITU-T P.56 measures speech alike).
pub const SILENT_DBOV: f64 = -60.0;

/// Full scale of a decoded sample.
const FULL: f64 = 32_768.0;

/// The level of a payload of G.711 in dBov: -inf for digital silence. `None` if it is none or empty.
pub(crate) fn level_dbov(payload_type: u8, payload: &[u8]) -> Option<f64> {
    let sample = match payload_type {
        0 => mu_law,
        8 => a_law,
        _ => return None,
    };
    if payload.is_empty() {
        return None;
    }
    let energy: i64 = payload.iter().map(|code| i64::from(sample(*code)).pow(2)).sum();
    #[expect(clippy::cast_precision_loss, reason = "the energy of a packet is below 2^52")]
    let mean = energy as f64 / payload.len() as f64;
    Some(10.0 * (mean / (FULL * FULL)).log10())
}

/// ITU-T G.711, Table 2a: 14 bits, here with 16.
fn mu_law(code: u8) -> i32 {
    let code = !code;
    let magnitude = ((i32::from(code & 0x0f) << 3) + 0x84) << (code >> 4 & 7);
    let magnitude = magnitude - 0x84;
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

/// ITU-T G.711, Table 1a: 13 bits, here with 16.
fn a_law(code: u8) -> i32 {
    let code = code ^ 0x55;
    let (step, segment) = (i32::from(code & 0x0f) << 4, code >> 4 & 7);
    let magnitude = if segment == 0 { step + 8 } else { (step + 0x108) << (segment - 1) };
    if code & 0x80 == 0 { -magnitude } else { magnitude }
}

/// What a stream sounded like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sounding {
    /// Packets of G.711 whose level could be measured.
    pub measured: u64,
    /// Of those, how many were silent.
    pub silent: u64,
    /// Packets of comfort noise (RFC 3389).
    pub comfort_noise: u64,
    /// The longest time in which nothing but silence and comfort noise came, in seconds.
    pub longest_silence_s: f64,
    /// When the silence that lasts began, in seconds of the stream.
    since_s: Option<f64>,
}

impl Sounding {
    /// Takes a packet that came `at_s` seconds into the stream.
    pub(crate) fn add(&mut self, at_s: f64, level_dbov: Option<f64>, is_comfort_noise: bool) {
        self.comfort_noise += u64::from(is_comfort_noise);
        self.measured += u64::from(level_dbov.is_some());
        let is_silent = level_dbov.is_some_and(|level| level <= SILENT_DBOV);
        self.silent += u64::from(is_silent);
        if is_silent || is_comfort_noise {
            let since = *self.since_s.get_or_insert(at_s);
            self.longest_silence_s = self.longest_silence_s.max(at_s - since);
        } else {
            self.since_s = None;
        }
    }

    /// The share of packets with silence or comfort noise. `None`: no level could be measured.
    pub fn silent_share(&self) -> Option<f64> {
        let all = self.measured + self.comfort_noise;
        #[expect(clippy::cast_precision_loss, reason = "packets of a call")]
        let share = (self.silent + self.comfort_noise) as f64 / all as f64;
        (all > 0).then_some(share)
    }

    /// Whether nobody was heard: at least 95 % of at least 50 packets were silent.
    pub fn is_silence(&self) -> bool {
        self.measured + self.comfort_noise >= 50 && self.silent_share().is_some_and(|share| share >= 0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_means_what_another_decoder_says() {
        for code in 0..=u8::MAX {
            let theirs = i32::from(audio_codec_algorithms::decode_ulaw(code));
            assert_eq!(mu_law(code), theirs, "mu-law {code:#x}");
            assert_eq!(a_law(code), i32::from(audio_codec_algorithms::decode_alaw(code)), "A-law {code:#x}");
        }
    }

    #[test]
    fn silence_is_silent_and_speech_is_not() {
        assert!(level_dbov(0, &[0xff; 160]).unwrap() < -200.0);
        assert!(level_dbov(8, &[0xd5; 160]).unwrap() < SILENT_DBOV, "the smallest step of A-law");
        let loud: Vec<u8> = (0..160).map(|index| if index % 8 < 4 { 0x9a } else { 0x1a }).collect();
        assert!((-10.0..-9.0).contains(&level_dbov(0, &loud).unwrap()));
        assert_eq!(level_dbov(0, &[]), None);
        assert_eq!(level_dbov(18, &[0; 20]), None);
    }

    #[test]
    fn a_silence_lasts_from_its_first_packet_to_its_last() {
        let mut sounding = Sounding::default();
        for index in 0..500 {
            let at_s = f64::from(index) * 0.02;
            let level = if (100..300).contains(&index) { f64::NEG_INFINITY } else { -20.0 };
            sounding.add(at_s, Some(level), false);
        }
        assert_eq!((sounding.measured, sounding.silent), (500, 200));
        assert!((sounding.longest_silence_s - 3.98).abs() < 1e-9);
        assert!(!sounding.is_silence());
        let mut noise = Sounding::default();
        (0..60).for_each(|index| noise.add(f64::from(index), None, true));
        assert!(noise.is_silence() && noise.silent_share() == Some(1.0));
        assert_eq!(Sounding::default().silent_share(), None);
    }
}
