//! What is encoded, and how alike two signals are.

use guestright_codec::{Codec, CodecError, Kind, PACKET_SAMPLES_MAX, PAYLOAD_BYTES_MAX, Settings};
use sha2::{Digest, Sha256};
use std::f64::consts::TAU;
use std::sync::LazyLock;

/// The 10 s of speech that the project brings along, at 8 kHz.
pub(crate) fn speech() -> Vec<i16> {
    let file = include_bytes!("../../../audio/speech/speech-8k.wav");
    file[44..].as_chunks::<2>().0.iter().map(|two| i16::from_le_bytes(*two)).collect()
}

/// What no throat makes: noise at full scale, square waves, sweeps, single clicks.
pub(crate) fn cruelty() -> Vec<i16> {
    let mut seed = 1_u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as u16 as i16
    };
    let mut samples: Vec<i16> = (0..8_000).map(|_| random()).collect();
    samples.extend((0..4_000).map(|at| if at / 37 % 2 == 0 { i16::MAX } else { i16::MIN }));
    samples.extend((0..8_000).map(|at| ((f64::from(at * at) / 20_000.0).sin() * 32_767.0) as i16));
    samples.extend((0..4_000).map(|at| if at % 500 == 0 { i16::MIN } else { 0 }));
    samples.extend((0..4_000).map(|_| random() / 4_096));
    samples
}

/// Whether the tests were built with a codec. That its library is there is another question: then the tests want it.
pub(crate) fn is_built(kind: Kind) -> bool {
    !matches!(kind.is_available(), Err(CodecError::NotBuilt { .. }))
}

pub(crate) fn open(kind: Kind, settings: &Settings) -> Box<dyn Codec> {
    guestright_codec::open(kind, settings)
        .unwrap_or_else(|error| panic!("{error}; scripts/setup.sh test installs it"))
}

/// All packets of a signal; the rest that fills no packet is left out.
pub(crate) fn encode(codec: &mut dyn Codec, samples: &[i16]) -> Vec<Vec<u8>> {
    let mut payload = [0; PAYLOAD_BYTES_MAX];
    samples
        .chunks_exact(codec.format().packet_samples)
        .map(|packet| {
            let encoded = codec.encode(packet, &mut payload).unwrap();
            payload[..encoded.bytes].to_vec()
        })
        .collect()
}

pub(crate) fn decode(codec: &mut dyn Codec, payloads: &[Vec<u8>]) -> Vec<i16> {
    let mut samples = [0; PACKET_SAMPLES_MAX];
    let one = |payload: &Vec<u8>| {
        let count = codec.decode(payload, &mut samples).unwrap();
        samples[..count].to_vec()
    };
    payloads.iter().flat_map(one).collect()
}

pub(crate) fn digest(payloads: &[Vec<u8>]) -> String {
    let digest = Sha256::digest(payloads.concat());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Segmental signal-to-noise ratio in dB: the mean over all 20 ms in which somebody speaks, each within -10..35.
pub(crate) fn segmental_snr(wanted: &[i16], got: &[i16]) -> f64 {
    let square = |value: f64| value * value;
    let mut ratios = Vec::new();
    for (wanted, got) in wanted.chunks_exact(160).zip(got.chunks_exact(160)) {
        let signal: f64 = wanted.iter().map(|sample| square(f64::from(*sample))).sum();
        let error: f64 =
            wanted.iter().zip(got).map(|(one, other)| square(f64::from(*one) - f64::from(*other))).sum();
        if signal / 160.0 > square(200.0) {
            ratios.push((10.0 * (signal / error.max(1e-9)).log10()).clamp(-10.0, 35.0));
        }
    }
    ratios.iter().sum::<f64>() / ratios.len() as f64
}

/// Distance of the spectra in dB, blind to phases: the mean over 20 ms of the root mean square difference of the levels
/// in 16 bands, of which each is a bank of sines.
pub(crate) fn spectral_distance(wanted: &[i16], got: &[i16]) -> f64 {
    let mut distances = Vec::new();
    for (wanted, got) in wanted.chunks_exact(320).zip(got.chunks_exact(320)) {
        let power: f64 = wanted.iter().map(|sample| f64::from(*sample).powi(2)).sum();
        if power / 320.0 > 200.0 * 200.0 {
            let (one, other) = (bands(wanted), bands(got));
            let squares: f64 = one.iter().zip(&other).map(|(one, other)| (one - other).powi(2)).sum();
            distances.push((squares / one.len() as f64).sqrt());
        }
    }
    distances.iter().sum::<f64>() / distances.len() as f64
}

/// Levels in dB in 14 bands of 250 Hz from 200 Hz on, by sines and cosines every 25 Hz under a Hann window.
fn bands(samples: &[i16]) -> Vec<f64> {
    static TABLE: LazyLock<Vec<[(f64, f64); 320]>> = LazyLock::new(|| {
        let line = |step: i32| {
            let turn = TAU * (200.0 + f64::from(step) * 25.0) / 8_000.0;
            std::array::from_fn(|at| {
                let window = 0.5 - 0.5 * (TAU * at as f64 / 320.0).cos();
                ((turn * at as f64).sin() * window, (turn * at as f64).cos() * window)
            })
        };
        (0..140).map(line).collect()
    });
    let level = |line: &[(f64, f64); 320]| {
        let (mut sine, mut cosine) = (0.0, 0.0);
        for (sample, (s, c)) in samples.iter().zip(line) {
            sine += f64::from(*sample) * s;
            cosine += f64::from(*sample) * c;
        }
        sine * sine + cosine * cosine
    };
    TABLE.chunks(10).map(|band| 10.0 * (band.iter().map(level).sum::<f64>() + 1e4).log10()).collect()
}
