use super::*;
use crate::Tone;

/// A tone from a card whose clock is off, which brings 10 ms at a time, read in packets of 20 ms for `seconds`.
fn listen(ppm: f64, seconds: usize) -> (Vec<i16>, Statistics) {
    let (mut end, mut microphone) = capture(48_000, 8_000).unwrap();
    let mut tone = Tone::new(48_000, 500.0, -10.0).unwrap();
    let (mut card, mut now) = (0.0, 0.0);
    let (mut captured, mut period, mut packet) = (Vec::new(), [0; 480], [0; 160]);
    for _ in 0..seconds * 50 {
        now += 0.02;
        while card < now * (1.0 + ppm / 1e6) {
            card += 0.01;
            tone.read(&mut period).unwrap();
            end.push(period.iter().copied(), period.len());
        }
        assert_eq!(microphone.read(&mut packet), Ok(160));
        captured.extend(packet);
    }
    (captured, microphone.statistics())
}

/// The largest step from one sample to the next but one in terms of a sine: a click would show.
fn roughness(samples: &[i16]) -> i32 {
    samples
        .windows(3)
        .map(|three| (i32::from(three[0]) - 2 * i32::from(three[1]) + i32::from(three[2])).abs())
        .max()
        .unwrap()
}

#[test]
fn a_microphone_with_another_clock_neither_clicks_nor_stops() {
    for ppm in [-300.0, 0.0, 300.0] {
        let (captured, statistics) = listen(ppm, 120);
        assert_eq!((statistics.underruns, statistics.dropped_samples), (0, 0), "{ppm} ppm");
        assert!((statistics.clock_ppm - ppm).abs() < 150.0, "{ppm} ppm: {statistics:?}");
        let steady = &captured[8_000..];
        // A sine of 500 Hz at 8 kHz bends by at most (2 pi / 16)^2 of its amplitude, 14,654.
        assert!(roughness(steady) < 2_500, "{ppm} ppm: {}", roughness(steady));
        assert!((crate::Level::of(steady).rms_dbov + 10.0).abs() < 0.2);
    }
}

#[test]
fn a_stalled_microphone_is_silent_and_comes_back() {
    let (mut end, mut microphone) = capture(48_000, 8_000).unwrap();
    let mut packet = [1; 160];
    assert_eq!((microphone.read(&mut packet), packet), (Ok(160), [0; 160]));
    let mut loud = |microphone: &mut Capture, packets: usize, brings: bool| {
        let mut quiet = 0;
        for _ in 0..packets {
            if brings {
                end.push(std::iter::repeat_n(8_000, 960), 960);
            }
            microphone.read(&mut packet).unwrap();
            quiet += usize::from(packet[80] == 0);
        }
        quiet
    };
    assert!(loud(&mut microphone, 50, true) < 4);
    assert!(loud(&mut microphone, 50, false) > 45);
    assert_eq!(microphone.statistics().underruns, 1, "one stall is one underrun");
    assert!(loud(&mut microphone, 50, true) < 5);
}

#[test]
fn a_call_that_stalls_does_not_become_late() {
    let (mut end, mut microphone) = capture(48_000, 8_000).unwrap();
    // The caller sleeps for a second.
    for _ in 0..100 {
        end.push(std::iter::repeat_n(5, 480), 480);
    }
    microphone.read(&mut [0; 160]).unwrap();
    let statistics = microphone.statistics();
    assert!(statistics.ready_samples <= samples(48_000, READY_MS), "{statistics:?}");
    assert!(statistics.dropped_samples > 40_000, "{statistics:?}");
}

/// The same the other way round: what a card with another clock plays.
fn speak(ppm: f64, seconds: usize) -> (Vec<i16>, Statistics) {
    let (mut end, mut speaker) = playback(44_100, 16_000).unwrap();
    let mut tone = Tone::new(16_000, 500.0, -10.0).unwrap();
    let (mut card, mut now) = (0.0, 0.0);
    let (mut played, mut packet) = (Vec::new(), [0; 320]);
    for _ in 0..seconds * 50 {
        tone.read(&mut packet).unwrap();
        speaker.write(&packet).unwrap();
        now += 0.02;
        while card < now * (1.0 + ppm / 1e6) {
            card += 0.01;
            end.play(441, |sample| played.push(sample));
        }
    }
    (played, speaker.statistics())
}

#[test]
fn a_loudspeaker_with_another_clock_neither_clicks_nor_stops() {
    for ppm in [-300.0, 0.0, 300.0] {
        let (played, statistics) = speak(ppm, 120);
        assert_eq!((statistics.underruns, statistics.dropped_samples), (0, 0), "{ppm} ppm");
        assert!((statistics.clock_ppm - ppm).abs() < 150.0, "{ppm} ppm: {statistics:?}");
        let steady = &played[44_100..];
        assert!(roughness(steady) < 120, "{ppm} ppm: {}", roughness(steady));
        assert!((crate::Level::of(steady).rms_dbov + 10.0).abs() < 0.2);
    }
}

#[test]
fn a_loudspeaker_that_does_not_play_takes_no_memory_and_no_time() {
    let (mut end, mut speaker) = playback(48_000, 8_000).unwrap();
    for _ in 0..500 {
        speaker.write(&[100; 160]).unwrap();
    }
    let statistics = speaker.statistics();
    assert!(statistics.ready_samples <= samples(48_000, READY_MS + EXCESS_MS_MAX), "{statistics:?}");
    assert!(statistics.dropped_samples > 400_000, "{statistics:?}");
    // Nothing comes any more: it plays the rest and then silence, which counts once.
    let mut last = 1;
    end.play(48_000, |sample| last = sample);
    end.play(48_000, |sample| last = sample);
    assert_eq!((last, speaker.statistics().underruns), (0, 1));
}
