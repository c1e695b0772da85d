//! The sound card, where there is none: ALSA's own plug-ins play the card, and pipes its wires.
//!
//! Each test runs itself once more as a program with a configuration of its own for ALSA: the program opens the default
//! device like any other, and this side of the pipe is the microphone's or the loudspeaker's wire.
#![cfg(feature = "sound-card")]
#![expect(clippy::unwrap_used, reason = "tests fail where they are wrong")]

use guestright_audio::card::{Event, Loudspeaker, Microphone, devices};
use guestright_audio::{AudioError, Level, Sink, Source, Tone};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::{TempDir, tempdir};

const ROLE: &str = "GUESTRIGHT_TEST_CARD_ROLE";
/// Two channels of 16 bits at 48 kHz.
const BYTES_PER_PERIOD: usize = 480 * 2 * 2;
const PERIOD: Duration = Duration::from_millis(10);
/// So many pieces of the tone without a gap have to come, of 50 ms each.
const WHOLE: usize = 30;
/// Long enough for a crowded computer; nothing lasts so long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// A device whose wires are two pipes, one for each direction.
struct Card {
    folder: TempDir,
}

impl Card {
    fn new() -> Self {
        let card = Self { folder: tempdir().unwrap() };
        let made = Command::new("mkfifo").args([card.pipe("out"), card.pipe("in")]).status().unwrap();
        assert!(made.success());
        let device = |name: &str, wires: &str| {
            format!(
                "pcm.{name} {{ type plug slave {{ rate 48000 channels 2 format S16_LE \
                 pcm {{ type file slave.pcm {{ type null }} format raw {wires} }} }} }}\n"
            )
        };
        let speaker = device("speaker", &format!("file \"{}\"", card.pipe("out").display()));
        let microphone =
            device("microphone", &format!("file /dev/null infile \"{}\"", card.pipe("in").display()));
        let both = "pcm.!default { type asym playback.pcm speaker capture.pcm microphone }\n";
        fs::write(card.configuration(), format!("{speaker}{microphone}{both}")).unwrap();
        card
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("asound.conf")
    }

    fn pipe(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Both ends of a pipe at once: neither opening nor writing waits for anybody.
    fn open(&self, name: &str) -> File {
        const O_NONBLOCK: i32 = 0o4000;
        OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK).open(self.pipe(name)).unwrap()
    }

    /// This test once more, in a role. Its standard input ends when it is waited for.
    fn start(&self, test: &str, role: &str) -> Child {
        // The system's own configuration defines the plug-ins; without it there is no sound at all.
        let own = self.configuration().display().to_string();
        let configurations = if role == "server" { own } else { format!("/usr/share/alsa/alsa.conf:{own}") };
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(ROLE, role)
            .env("ALSA_CONFIG_PATH", configurations)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// The pace of a call: 20 ms after 20 ms, without drifting, until it is not to go on.
fn paced(mut goes_on: impl FnMut() -> bool) {
    let begin = Instant::now();
    for at in 1.. {
        if !goes_on() {
            return;
        }
        thread::sleep((begin + Duration::from_millis(20) * at).saturating_duration_since(Instant::now()));
    }
}

#[test]
fn a_loudspeaker_plays_what_is_said() {
    if role().is_some() {
        let mut speaker = Loudspeaker::open(None, 8_000).unwrap();
        let mut tone = Tone::new(8_000, 440.0, -10.0).unwrap();
        let mut packet = [0; 160];
        let (listener, listens) = channel::<()>();
        thread::spawn(move || {
            let _ = std::io::stdin().read(&mut [0]);
            drop(listener);
        });
        paced(|| {
            tone.read(&mut packet).unwrap();
            speaker.write(&packet).unwrap();
            assert_ne!(speaker.poll_event(), Some(Event::Lost));
            listens.try_recv() == Err(TryRecvError::Empty)
        });
        return;
    }
    let card = Card::new();
    let mut wire = card.open("out");
    let mut child = card.start("a_loudspeaker_plays_what_is_said", "speaker");
    let (mut bytes, mut whole) = (Vec::new(), 0);
    let (begin, mut periods) = (Instant::now(), 0);
    while whole < WHOLE && begin.elapsed() < PATIENCE && child.try_wait().unwrap().is_none() {
        // The loudspeaker takes what there is up to its rate: a period in 10 ms.
        let mut period = [0; BYTES_PER_PERIOD];
        if let Ok(count) = wire.read(&mut period) {
            bytes.extend_from_slice(&period[..count]);
        }
        if bytes.len() >= BYTES_PER_PERIOD * 100 {
            let left = |moment: &[u8; 4]| i16::from_le_bytes([moment[0], moment[1]]);
            whole += whole_pieces(&bytes.as_chunks::<4>().0.iter().map(left).collect::<Vec<_>>(), 48_000);
            bytes.drain(..bytes.len() / 4 * 4);
        }
        periods += 1;
        thread::sleep((begin + PERIOD * periods).saturating_duration_since(Instant::now()));
    }
    drop(child.stdin.take());
    // A pipe that nobody empties would hold it up.
    while child.try_wait().unwrap().is_none() {
        let _ = wire.read(&mut [0; BYTES_PER_PERIOD]);
        thread::sleep(PERIOD);
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(whole >= WHOLE, "{whole} pieces in {:?}", begin.elapsed());
}

#[test]
fn a_microphone_hears_what_is_on_the_wire() {
    if role().is_some() {
        let mut microphone = Microphone::open(None, 16_000).unwrap();
        let (mut packet, mut captured, mut whole) = ([0; 320], Vec::new(), 0);
        let begin = Instant::now();
        paced(|| {
            microphone.read(&mut packet).unwrap();
            captured.extend(packet);
            assert_ne!(microphone.poll_event(), Some(Event::Lost));
            if captured.len() >= 16_000 {
                whole += whole_pieces(&captured, 16_000);
                captured.clear();
            }
            whole < WHOLE && begin.elapsed() < PATIENCE
        });
        assert!(whole >= WHOLE, "{whole} pieces in {:?}", begin.elapsed());
        return;
    }
    let card = Card::new();
    let mut wire = card.open("in");
    let mut child = card.start("a_microphone_hears_what_is_on_the_wire", "microphone");
    let mut tone = Tone::new(48_000, 440.0, -10.0).unwrap();
    let (begin, mut periods) = (Instant::now(), 0);
    let mut next = || -> Vec<u8> {
        let mut samples = [0; 480];
        tone.read(&mut samples).unwrap();
        samples.iter().flat_map(|sample| [sample.to_le_bytes(); 2].concat()).collect()
    };
    let mut bytes = next();
    while child.try_wait().unwrap().is_none() {
        // Whole periods or nothing: a full pipe means that nobody listens yet. Then the same period comes once more: one
        // that was left out would be a leap within the tone.
        if wire.write_all(&bytes).is_ok() {
            bytes = next();
        }
        periods += 1;
        thread::sleep((begin + PERIOD * periods).saturating_duration_since(Instant::now()));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// 440 Hz at -10 dBov wherever there is sound. A busy computer may stop either player for a moment, which is a gap of
/// silence on the wire; it does not change the sound on either side of the gap. Returns how many pieces had none.
fn whole_pieces(samples: &[i16], rate_hz: usize) -> usize {
    let pieces: Vec<_> = samples.chunks_exact(rate_hz / 20).collect();
    // A millisecond that stays near zero is none of the tone.
    let has_gap = |piece: &[i16]| {
        piece.chunks_exact(rate_hz / 1_000).any(|few| few.iter().all(|sample| sample.unsigned_abs() < 200))
    };
    let gaps: Vec<bool> = pieces.iter().map(|piece| has_gap(piece)).collect();
    let mut whole = 0;
    // The pieces beside a gap hold where it begins and ends.
    for (at, near) in gaps.windows(3).enumerate().filter(|(_, near)| !near.contains(&true)) {
        let piece = pieces[at + 1];
        let crossings = piece.windows(2).filter(|two| two[0] < 0 && two[1] >= 0).count();
        let level = Level::of(piece).rms_dbov;
        assert!((21..=23).contains(&crossings), "piece {at}: {crossings} periods in 50 ms; {near:?}");
        assert!((level + 10.0).abs() < 0.5, "piece {at}: {level} dBov");
        whole += 1;
    }
    whole
}

#[test]
fn a_device_that_is_not_there_is_named_beside_those_that_are() {
    let card = Card::new();
    if role().is_some() {
        let names: Vec<String> = devices().unwrap().into_iter().map(|device| device.name).collect();
        assert!(names.contains(&"default".to_owned()), "{names:?}");
        let error = Microphone::open(Some("no such card"), 8_000).map(drop).unwrap_err();
        let AudioError::NoDevice { got, known } = error else { panic!("{error}") };
        assert!(got == "no such card" && known.contains("default"), "{known}");
        assert!(matches!(Loudspeaker::open(Some("default"), 3), Err(AudioError::Rate { got: 3 })));
        return;
    }
    let child = card.start("a_device_that_is_not_there_is_named_beside_those_that_are", "lister");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A computer without sound, such as a server: an error, not a panic, and nothing on standard error.
#[test]
fn a_computer_without_sound_says_so() {
    if role().is_some() {
        for error in [Microphone::open(None, 8_000).map(drop), Loudspeaker::open(None, 8_000).map(drop)] {
            assert!(
                matches!(error, Err(AudioError::NoDevice { .. } | AudioError::Device { .. })),
                "{error:?}"
            );
        }
        return;
    }
    let card = Card::new();
    fs::write(card.configuration(), "").unwrap();
    let output = card.start("a_computer_without_sound_says_so", "server").wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
