//! Sound files and how alike they are.

use std::path::Path;

/// Ten seconds of speech, 8 kHz.
pub(crate) fn speech() -> Vec<i16> {
    samples(guestright_audio::SPEECH)
}

pub(crate) fn read(path: &Path) -> Vec<i16> {
    samples(&std::fs::read(path).unwrap())
}

fn samples(file: &[u8]) -> Vec<i16> {
    let data = file.windows(4).position(|word| word == b"data").unwrap() + 8;
    file[data..].chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
}

/// Writes 16-bit samples of one channel at 8 kHz.
pub(crate) fn write(path: &Path, samples: &[i16]) {
    let size = u32::try_from(samples.len() * 2).unwrap();
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((size + 36).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(8_000_u32.to_le_bytes());
    bytes.extend(16_000_u32.to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend(size.to_le_bytes());
    bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
}

/// In how many pieces of 100 ms what was heard differs from what was said by no more than G.711 does, 30 dB below.
pub(crate) fn share_alike(original: &[i16], recorded: &[i16], shift: usize) -> f64 {
    let pieces: Vec<_> =
        original.chunks_exact(800).zip(recorded[shift.min(recorded.len())..].chunks_exact(800)).collect();
    let is_alike = |(one, other): &&(&[i16], &[i16])| {
        let signal: f64 = one.iter().map(|sample| f64::from(*sample).powi(2)).sum();
        let error: f64 =
            one.iter().zip(*other).map(|(one, other)| (f64::from(*one) - f64::from(*other)).powi(2)).sum();
        // Of what is nearly silent, the steps of G.711 are a larger part.
        error <= (signal / 1_000.0).max(800.0 * 64.0)
    };
    let alike = pieces.iter().filter(is_alike).count();
    f64::from(u32::try_from(alike).unwrap()) / f64::from(u32::try_from(pieces.len().max(1)).unwrap())
}

/// The same for a recording that a busy computer may have moved in the middle, by late packets that were waited for:
/// each two seconds of what was said are looked for by themselves, in the same order.
pub(crate) fn share_alike_in_parts(original: &[i16], recorded: &[i16]) -> f64 {
    let mut from = 0;
    let parts: Vec<_> = original.chunks_exact(16_000).collect();
    let share = |part: &&[i16]| {
        let near = &recorded[from..recorded.len().min(from + 16_000 + 20_000)];
        if near.len() < part.len() {
            return 0.0;
        }
        let shift = offset_of(part, near);
        from += shift + 12_000;
        share_alike(part, near, shift)
    };
    let shares: f64 = parts.iter().map(share).sum();
    shares / f64::from(u32::try_from(parts.len().max(1)).unwrap())
}

/// Where in what was heard a part of what was said begins: by its loudest half second, at first in steps of a
/// millisecond.
pub(crate) fn offset_of(part: &[i16], recorded: &[i16]) -> usize {
    const STEP: usize = 8;
    const PROBE: usize = 4_000;
    let sums = |samples: &[i16]| -> Vec<i64> {
        samples.chunks_exact(STEP).map(|few| few.iter().map(|one| i64::from(*one)).sum()).collect()
    };
    let likeness =
        |one: &[i64], other: &[i64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<i64>();
    let energy = |at: &usize| part[*at..*at + PROBE].iter().map(|one| i64::from(*one).pow(2)).sum::<i64>();
    let probe_at = (0..=part.len() - PROBE).step_by(PROBE).max_by_key(energy).unwrap();
    let probe = &part[probe_at..probe_at + PROBE];
    let (few, coarse) = (sums(probe), sums(recorded));
    let near = (0..=coarse.len() - few.len()).max_by_key(|at| likeness(&few, &coarse[*at..])).unwrap() * STEP;
    let exact = |at: &usize| -> i64 {
        probe.iter().zip(&recorded[*at..]).map(|(one, other)| i64::from(*one) * i64::from(*other)).sum()
    };
    let last = recorded.len() - PROBE;
    let at = (near.saturating_sub(STEP * 2)..=(near + STEP * 2).min(last)).max_by_key(exact).unwrap();
    at.saturating_sub(probe_at)
}
