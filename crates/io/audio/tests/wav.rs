//! WAV files: ours, others', and broken ones.
#![expect(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests fail where they are wrong")]

use guestright_audio::{AudioError, Level, RATE_HZ_MAX, SPEECH, Sink, Source, WavSink, WavSource};
use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};

fn temp_path(name: &str) -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

/// Everything, in packets of 20 ms.
fn read_all(source: &mut dyn Source) -> Result<Vec<i16>, AudioError> {
    let (mut all, mut packet) = (Vec::new(), vec![7; usize::try_from(source.rate_hz() / 50).unwrap()]);
    loop {
        let count = source.read(&mut packet)?;
        assert!(packet[count..].iter().all(|sample| *sample == 0), "the rest is silence");
        all.extend_from_slice(&packet[..count]);
        if count < packet.len() {
            return Ok(all);
        }
    }
}

#[test]
fn the_speech_is_ten_seconds_and_its_samples_are_not_touched() {
    let mut source = WavSource::from_bytes("speech", SPEECH, 8_000).unwrap();
    let samples = read_all(&mut source).unwrap();
    let stored: Vec<i16> =
        SPEECH[44..].as_chunks::<2>().0.iter().map(|two| i16::from_le_bytes(*two)).collect();
    assert_eq!(samples.len(), 80_000);
    assert_eq!(samples, stored);
    let level = Level::of(&samples);
    assert!((-30.0..-20.0).contains(&level.rms_dbov) && level.peak_dbov < -1.0, "{level:?}");
}

#[test]
fn what_is_written_is_read_again() {
    let (_folder, path) = temp_path("own.wav");
    let samples: Vec<i16> = (0..20_000).map(|at| i16::try_from(at * 3 % 65_536 - 32_768).unwrap()).collect();
    let mut sink = Box::new(WavSink::create(&path, 16_000).unwrap());
    for packet in samples.chunks(320) {
        sink.write(packet).unwrap();
    }
    sink.finish().unwrap();
    assert_eq!(read_all(&mut WavSource::open(&path, 16_000).unwrap()).unwrap(), samples);
}

#[test]
fn any_rate_channels_and_bits_become_what_is_wanted() {
    let cases =
        [(8, 8_000, 1), (16, 44_100, 2), (24, 48_000, 6), (32, 11_025, 1), (16, 96_000, 3), (8, 22_050, 2)];
    for (bits, rate, channels) in cases {
        for wanted in [8_000, 16_000, 48_000] {
            let spec = WavSpec {
                channels,
                sample_rate: rate,
                bits_per_sample: bits,
                sample_format: SampleFormat::Int,
            };
            let (_folder, path) = temp_path("other.wav");
            let mut writer = WavWriter::create(&path, spec).unwrap();
            let full = f64::from(1_u32 << (bits - 1)) - 1.0;
            for at in 0..rate {
                let sine = (std::f64::consts::TAU * 440.0 * f64::from(at) / f64::from(rate)).sin();
                (0..channels).for_each(|_| writer.write_sample((sine * full * 0.5) as i32).unwrap());
            }
            writer.finalize().unwrap();
            let samples = read_all(&mut WavSource::open(&path, wanted).unwrap()).unwrap();
            assert_eq!(
                samples.len(),
                usize::try_from(wanted).unwrap(),
                "{bits} bits, {rate} Hz to {wanted} Hz"
            );
            let level = Level::of(&samples);
            assert!(
                (level.rms_dbov + 9.03).abs() < 0.2,
                "{bits} bits, {rate} Hz, {channels} channels: {level:?}"
            );
        }
    }
}

#[test]
fn floats_that_are_no_numbers_are_silence() {
    let (_folder, path) = temp_path("floats.wav");
    let spec =
        WavSpec { channels: 1, sample_rate: 8_000, bits_per_sample: 32, sample_format: SampleFormat::Float };
    let mut writer = WavWriter::create(&path, spec).unwrap();
    for value in [0.5, f32::NAN, f32::INFINITY, -7.0, 0.25] {
        writer.write_sample(value).unwrap();
    }
    writer.finalize().unwrap();
    let samples = read_all(&mut WavSource::open(&path, 8_000).unwrap()).unwrap();
    assert_eq!(samples, [16_384, 0, 0, -32_768, 8_192]);
}

#[test]
fn a_file_that_is_none_or_is_cut_says_so() {
    let (folder, path) = temp_path("none.wav");
    assert!(matches!(WavSource::open(&path, 8_000), Err(AudioError::File { .. })));
    assert!(matches!(
        WavSource::open(folder.path(), 8_000),
        Err(AudioError::File { .. } | AudioError::Wav { .. })
    ));
    for bytes in [
        &b""[..],
        b"RIFF",
        b"this is not a WAV file, but a text that is long enough to be one",
        &SPEECH[..40],
    ] {
        fs::write(&path, bytes).unwrap();
        assert!(matches!(WavSource::open(&path, 8_000), Err(AudioError::Wav { .. })), "{bytes:?}");
    }
    fs::write(&path, &SPEECH[..50_001]).unwrap();
    let cut = read_all(&mut WavSource::open(&path, 8_000).unwrap());
    assert_eq!(cut, Err(AudioError::Wav { path: path.clone(), why: "it ends too early".to_owned() }));
    assert_eq!(
        WavSource::open(&path, RATE_HZ_MAX + 1).map(drop),
        Err(AudioError::Rate { got: RATE_HZ_MAX + 1 })
    );
    assert!(matches!(WavSink::create(folder.path(), 8_000), Err(AudioError::File { .. })));
    assert_eq!(WavSink::create(&path, 1).map(drop), Err(AudioError::Rate { got: 1 }));
}

/// A header that promises 4 GiB costs nothing.
#[test]
fn a_header_is_not_believed() {
    let mut bytes = SPEECH[..1_000].to_vec();
    bytes[40..44].copy_from_slice(&0xffff_fffe_u32.to_le_bytes());
    let (_folder, path) = temp_path("promise.wav");
    fs::write(&path, bytes).unwrap();
    let mut source = WavSource::open(&path, 8_000).unwrap();
    let mut packet = [0; 400];
    assert_eq!(source.read(&mut packet), Ok(400));
    assert!(matches!(source.read(&mut packet), Err(AudioError::Wav { .. })));
}

/// The program is killed while it writes: a process of its own, which ends without any ado.
#[test]
fn a_file_is_whole_when_the_program_is_killed() {
    const PATH_ENV: &str = "GUESTRIGHT_TEST_KILLED_WHILE_WRITING";
    if let Some(path) = std::env::var_os(PATH_ENV) {
        let mut sink = WavSink::create(Path::new(&path), 8_000).unwrap();
        for _ in 0..180 {
            sink.write(&[1_234; 160]).unwrap();
        }
        let _ = std::io::stdout().flush();
        std::process::abort();
    }
    let (_folder, path) = temp_path("killed.wav");
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_file_is_whole_when_the_program_is_killed"])
        .env(PATH_ENV, &path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success(), "it was to be killed");
    let reader = WavReader::open(&path).unwrap();
    // 3.6 s were written; the header was last brought up to date after 3.
    assert_eq!(reader.duration(), 24_000);
    let samples = read_all(&mut WavSource::open(&path, 8_000).unwrap()).unwrap();
    assert!(samples.len() == 24_000 && samples.iter().all(|sample| *sample == 1_234));
}

#[test]
fn a_new_file_is_a_file_of_no_length() {
    let (_folder, path) = temp_path("empty.wav");
    let sink = WavSink::create(&path, 8_000).unwrap();
    assert_eq!(read_all(&mut WavSource::open(&path, 8_000).unwrap()), Ok(Vec::new()));
    drop(sink);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Headers with bytes changed, cut anywhere: sound or an error, and never more of it than the file has.
    #[test]
    fn no_file_does_harm(changes: Vec<(u8, u8)>, length in 0..600_usize, rate in prop::sample::select(&[8_000_u32, 48_000])) {
        let mut bytes = SPEECH[..length].to_vec();
        for (at, value) in changes.into_iter().take(6) {
            if let Some(byte) = bytes.get_mut(usize::from(at) % 60) {
                *byte = value;
            }
        }
        let (_folder, path) = temp_path("broken.wav");
        fs::write(&path, &bytes).unwrap();
        let Ok(mut source) = WavSource::open(&path, rate) else { return Ok(()) };
        let mut packet = [0; 960];
        let mut all = 0;
        while let Ok(count @ 1..) = source.read(&mut packet) {
            all += count;
            prop_assert!(all < 600 * 384);
        }
    }
}
