//! What coding and decoding cost.

use guestright_audio::{RATE_HZ_MIN, SPEECH, Source, WavSource};
use guestright_codec::{Codec, CodecError, Kind, PACKET_SAMPLES_MAX, PAYLOAD_BYTES_MAX, open};
use guestright_experiment::{Outcome, SettingError, Settings};
use guestright_receipt_cost::time_us;

/// A codec at a rate, and how much speech it is given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coding {
    kind: Kind,
    bytes_per_s: u32,
    packet_samples: usize,
    sample_rate_hz: u32,
    speech_s: f64,
}

impl Coding {
    /// What the settings want; nothing, if they want none.
    pub(super) fn read(settings: &Settings) -> Result<Option<Self>, SettingError> {
        let name = settings.text("codec")?;
        if name == "none" {
            return Ok(None);
        }
        let kind: Kind = name.parse().map_err(unfit)?;
        kind.is_available().map_err(unfit)?;
        let format = kind.format();
        let (frames, rate): (usize, u32) = (settings.whole("frames")?, settings.whole("sample_rate_hz")?);
        let coding = Self {
            kind,
            bytes_per_s: settings.whole("bytes_per_s")?,
            packet_samples: if frames == 0 { format.packet_samples } else { frames * format.frame_samples },
            sample_rate_hz: if rate == 0 { format.sample_rate_hz } else { rate },
            speech_s: settings.float("speech_s")?,
        };
        if coding.packet_samples > PACKET_SAMPLES_MAX {
            let reason = format!("a packet has at most {PACKET_SAMPLES_MAX} samples");
            return Err(SettingError::unfit("frames", reason));
        }
        if coding.sample_rate_hz < RATE_HZ_MIN {
            return Err(SettingError::unfit("sample_rate_hz", format!("at least {RATE_HZ_MIN}, or 0")));
        }
        coding.open()?;
        Ok(Some(coding))
    }

    fn open(&self) -> Result<Box<dyn Codec>, SettingError> {
        let mut settings = guestright_codec::Settings { redundancy: false, ..Default::default() };
        if self.bytes_per_s > 0 {
            settings.bits_per_second = Some(self.bytes_per_s * 8);
        }
        open(self.kind, &settings).map_err(|error| {
            let setting = if matches!(error, CodecError::Setting { .. }) { "bytes_per_s" } else { "codec" };
            SettingError::unfit(setting, error.to_string())
        })
    }

    /// Measures; gives coding and decoding together, in µs for each second of speech.
    pub(super) fn measure(self, outcome: &mut Outcome) -> Result<f64, SettingError> {
        let speech = speech(self.sample_rate_hz, self.speech_s)?;
        let mut codec = self.open()?;
        let (mut payload, mut samples) = ([0; PAYLOAD_BYTES_MAX], [0; PACKET_SAMPLES_MAX]);
        let mut payloads: Vec<Vec<u8>> = Vec::new();
        for packet in speech.chunks_exact(self.packet_samples) {
            let encoded = codec.encode(packet, &mut payload).map_err(unfit)?;
            payloads.push(payload[..encoded.bytes].to_vec());
        }
        let seconds = ratio(payloads.len() * self.packet_samples) / f64::from(self.sample_rate_hz);
        let mut coder = self.open()?;
        let encode_us = time_us(|| {
            for packet in speech.chunks_exact(self.packet_samples) {
                let _ = std::hint::black_box(coder.encode(packet, &mut payload));
            }
        }) / seconds;
        let mut decoder = self.open()?;
        let decode_us = time_us(|| {
            for payload in &payloads {
                let _ = std::hint::black_box(decoder.decode(payload, &mut samples));
            }
        }) / seconds;
        let bytes: usize = payloads.iter().map(Vec::len).sum();
        outcome.packets = payloads.len() as u64;
        outcome.set("encode_ms", encode_us / 1e3);
        outcome.set("decode_ms", decode_us / 1e3);
        outcome.set("codec_bytes", ratio(bytes) / seconds);
        outcome.set("codec_packets", ratio(payloads.len()) / seconds);
        outcome.set("codec_packet_bytes", ratio(bytes) / ratio(payloads.len()));
        Ok(encode_us + decode_us)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as an argument of map_err")]
fn unfit(error: CodecError) -> SettingError {
    SettingError::unfit("codec", error.to_string())
}

/// So much speech at this rate: the ten seconds that come with the program, again and again.
fn speech(rate_hz: u32, seconds: f64) -> Result<Vec<i16>, SettingError> {
    let broken = |error: guestright_audio::AudioError| SettingError::unfit("codec", error.to_string());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 600 s")]
    let wanted = (seconds * f64::from(rate_hz)) as usize;
    let mut source = WavSource::from_bytes("speech", SPEECH, rate_hz).map_err(broken)?;
    let (mut once, mut part) = (Vec::new(), [0; 4_096]);
    loop {
        match source.read(&mut part).map_err(broken)? {
            0 => break,
            count => once.extend_from_slice(&part[..count]),
        }
    }
    Ok(once.iter().copied().cycle().take(wanted).collect())
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn ratio(count: usize) -> f64 {
    count as f64
}
