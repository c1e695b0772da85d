//! Sound files.

use crate::seeds::Seed;
use guestright_audio::{Source as _, WavSource};
use std::io::Cursor;
use std::path::Path;

/// A WAV file, read at a rate that the first byte says, for some seconds at most.
pub fn wav(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let rate = [8_000, 16_000, 44_100, 48_000][usize::from(choice) % 4];
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    let Ok(mut source) = WavSource::from_reader(Path::new("any"), reader, rate) else { return };
    let mut samples = [1; 480];
    for _ in 0..200 {
        match source.read(&mut samples) {
            Ok(count) => {
                assert!(samples[count..].iter().all(|sample| *sample == 0), "silence behind the end");
                if count < samples.len() {
                    assert_eq!(source.read(&mut samples).ok(), Some(0), "what is over is over");
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    // Format, channels, rate, bits (Multimedia Programming Interface and Data Specifications 1.0, chapter 3).
    let kinds =
        [(1_u16, 1_u16, 8_000_u32, 16_u16), (1, 2, 44_100, 24), (3, 1, 48_000, 32), (1, 3, 11_025, 8)];
    for (number, (format, channels, rate, bits)) in kinds.into_iter().enumerate() {
        let block = channels * bits / 8;
        let sound: Vec<u8> =
            (0..u32::from(block) * 40).map(|at| at.to_le_bytes()[0].wrapping_mul(37)).collect();
        let length = |of: usize| u32::try_from(of).expect("short").to_le_bytes();
        let mut file = [&[0][..], b"RIFF", &length(36 + sound.len()), b"WAVEfmt ", &length(16)].concat();
        file.extend([format, channels].map(u16::to_le_bytes).concat());
        file.extend([rate, rate * u32::from(block)].map(u32::to_le_bytes).concat());
        file.extend([block, bits].map(u16::to_le_bytes).concat());
        file.extend([b"data".as_slice(), &length(sound.len()), &sound].concat());
        seeds.push(("wav", format!("kind-{number}"), file));
    }
}
