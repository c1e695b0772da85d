//! Whether what was heard is what was said, and how good it is.

use super::super::call::wav;
use super::path::{Passage, Weather};
use guestright_audio::{Source as _, WavSource};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A level is that of so many samples: 20 ms.
const WINDOW: usize = 160;
/// A part of speech that is looked for by itself, in levels: 2 s. Adaptive playout moves what is heard between words.
const PART: usize = 100;
/// What is said is in the recording at most so many levels earlier or later: 3 s. A recording begins when its side is ready.
const SHIFT_MAX: usize = 150;
/// Levels below this are silence, in dB of full scale.
const FLOOR_DB: f64 = -50.0;

/// A recording at whatever rate, at 8 kHz.
pub(crate) fn recording(path: &Path) -> Vec<i16> {
    let mut source = WavSource::open(path, 8_000).unwrap();
    let mut samples = Vec::new();
    loop {
        let mut more = vec![0; 8_000];
        let count = source.read(&mut more).unwrap();
        samples.extend_from_slice(&more[..count]);
        if count < more.len() {
            return samples;
        }
    }
}

/// How alike the loudness of two sounds goes up and down, from -1 to 1: the mean over parts of 2 s of what was said, each
/// of them where it fits best within [`SHIFT_MAX`] of when it was said. Whatever a codec does to a voice, it leaves that.
///
/// The part that fits worst is left out: who calls begins to speak when its own side is ready, and a lost message of the
/// set-up makes the other one ready up to two seconds later.
pub(crate) fn likeness(original: &[i16], recorded: &[i16]) -> f64 {
    let (original_levels, recorded_levels) = (levels(original), levels(recorded));
    let parts: Vec<_> = original_levels.chunks_exact(PART).collect();
    let best = |(index, part): (usize, &&[f64])| {
        let offsets = (index * PART).saturating_sub(SHIFT_MAX)..=index * PART + SHIFT_MAX;
        let alike = offsets.filter_map(|at| Some(correlation(part, recorded_levels.get(at..at + PART)?)));
        alike.fold(0.0, f64::max)
    };
    let mut alike: Vec<f64> = parts.iter().enumerate().map(best).collect();
    alike.sort_by(f64::total_cmp);
    println!("parts of 2 s, the worst first: {alike:.2?}");
    alike[1..].iter().sum::<f64>() / f64::from(u32::try_from(alike.len() - 1).unwrap())
}

fn levels(samples: &[i16]) -> Vec<f64> {
    let level = |window: &[i16]| {
        let energy: f64 = window.iter().map(|sample| (f64::from(*sample) / 32_768.0).powi(2)).sum();
        let mean = energy / f64::from(u32::try_from(WINDOW).unwrap());
        (10.0 * mean.max(1e-12).log10()).max(FLOOR_DB)
    };
    samples.chunks_exact(WINDOW).map(level).collect()
}

fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap());
    let (one_mean, other_mean) = (mean(one), mean(other));
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        one.iter().zip(other).map(|(a, b)| f(a - one_mean, b - other_mean)).sum()
    };
    let scale = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    if scale > 0.0 { sum(&|a, b| a * b) / scale } else { 0.0 }
}

/// ITU-T P.862 of the part of a recording that has the speech in it, if this computer has it: the environment variable
/// `GUESTRIGHT_PESQ_PYTHON` names a Python that can `import pesq`. A figure for people; nothing is decided by it.
pub(crate) fn print_pesq(what: &str, original: &Path, recorded: &Path) {
    const SCRIPT: &str = "import sys, wave, numpy, pesq\n\
        def read(name):\n\
        \x20   with wave.open(name) as file:\n\
        \x20       return numpy.frombuffer(file.readframes(file.getnframes()), dtype=numpy.int16)\n\
        said, heard = read(sys.argv[1]), read(sys.argv[2])\n\
        print('%.2f' % pesq.pesq(8000, said, heard, 'nb'))\n";
    let Some(python) = std::env::var_os("GUESTRIGHT_PESQ_PYTHON") else {
        println!("{what}: PESQ is not computed; GUESTRIGHT_PESQ_PYTHON names no Python that has it");
        return;
    };
    let even = recorded.with_extension("8k.wav");
    wav::write(&even, &recording(recorded));
    let output = Command::new(python).args(["-c", SCRIPT]).arg(original).arg(&even).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{what}: PESQ {} {}", out.trim(), err.trim());
}

/// What the path did to the packets of a call: the share that it lost, and the mean delay of the others in ms.
pub(crate) fn measured(trace: &[Passage]) -> (f64, f64) {
    let count = |count: usize| f64::from(u32::try_from(count).unwrap());
    let delays: Vec<f64> = trace
        .iter()
        .filter_map(|passage| passage.left.map(|left| (left - passage.entered).as_secs_f64() * 1e3))
        .collect();
    let lost = count(trace.len() - delays.len());
    (lost / count(trace.len()), delays.iter().sum::<f64>() / count(delays.len()))
}

/// The share of a call's packets that the path held up for longer than its weather lets it hold up most of them.
pub(crate) fn overtaken(trace: &[Passage]) -> f64 {
    let most = Weather::FOUL.delay + Weather::FOUL.jitter + Duration::from_millis(10);
    let late = |passage: &&Passage| passage.left.is_some_and(|left| left - passage.entered > most);
    let count = |count: usize| f64::from(u32::try_from(count).unwrap());
    count(trace.iter().filter(late).count()) / count(trace.len())
}

/// The E-model with everything else at its default, written out here once more: R = 93.2 - Id - Ie,eff (ITU-T G.107, with
/// the straight lines for the delay of Cole and Rosenbluth, 2001), G.711 with concealment (Ie 0, Bpl 25.1).
pub(crate) fn predicted_mos(mouth_to_ear_ms: f64, missing: f64) -> f64 {
    let delay = 0.024 * mouth_to_ear_ms + 0.11 * (mouth_to_ear_ms - 177.3).max(0.0);
    let percent = missing * 100.0;
    let equipment = 95.0 * percent / (percent + 25.1);
    let r = 93.2 - delay - equipment;
    if r < 6.5 { 1.0 } else { 1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6 }
}

#[test]
fn likeness_tells_speech_from_other_speech() {
    let original = wav::speech();
    let mut recorded = vec![0; 3_217];
    recorded.extend(original.iter().map(|sample| sample / 2));
    assert!(likeness(&original, &recorded) > 0.95);
    let backwards: Vec<i16> = original.iter().rev().copied().collect();
    let other = likeness(&original, &backwards);
    assert!(other < 0.7, "{other}");
    assert!(likeness(&original, &vec![0; recorded.len()]) < 0.1);
}
