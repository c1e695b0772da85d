//! Codecs that may be implemented in more than one way: how near to the speech they come, and when.

use crate::peers::SystemOpus;
use crate::speech::{decode, encode, is_built, open, segmental_snr, spectral_distance, speech};
use guestright_codec::{Kind, Settings};

/// Speech at the codec's rate.
fn speech_for(kind: Kind) -> Vec<i16> {
    let times = usize::try_from(kind.format().sample_rate_hz / 8_000).unwrap();
    let speech = speech();
    let value = |at: usize| {
        let (from, part) = (at / times, at % times);
        let (one, two) = (i32::from(speech[from]), i32::from(*speech.get(from + 1).unwrap_or(&0)));
        i16::try_from(one + (two - one) * i32::try_from(part).unwrap() / i32::try_from(times).unwrap())
            .unwrap()
    };
    (0..speech.len() * times).map(value).collect()
}

#[test]
fn each_codec_is_as_good_and_as_late_as_it_says() {
    // Least segmental SNR, and most spectral distance, both at the delay that the codec says.
    let cases = [
        (Kind::Pcmu, 30.0, 2.0),
        (Kind::Pcma, 30.0, 2.0),
        (Kind::Dvi4, 20.0, 5.0),
        (Kind::Ima, 20.0, 5.0),
        (Kind::Gsm, 10.0, 5.5),
        (Kind::Opus8, 8.0, 5.0),
        (Kind::Amr, 3.5, 5.0),
        (Kind::G729, 2.5, 7.0),
    ];
    let wanted = speech();
    for (kind, snr_min, distance_max) in cases.into_iter().filter(|(kind, ..)| is_built(*kind)) {
        let mut codec = open(kind, &Settings { bits_per_second: Some(16_000), ..Settings::default() });
        let payloads = encode(&mut *codec, &wanted);
        let decoded = decode(&mut *codec, &payloads);
        let says = codec.delay_samples();
        let around = (says.saturating_sub(12)..says + 12)
            .map(|delay| (delay, segmental_snr(&wanted, &decoded[delay..])));
        let (delay, snr) = around.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
        let distance = spectral_distance(&wanted, &decoded[says..]);
        println!("{kind}: {snr:.1} dB at {delay} samples, says {says}; spectra {distance:.1} dB");
        assert!(delay.abs_diff(says) <= 1, "{kind} says {says} samples, and it is {delay}");
        assert!(snr >= snr_min && distance <= distance_max, "{kind}: {snr} dB, spectra {distance} dB");
    }
}

/// A vocoder keeps no phases: only its spectrum over time says anything.
#[test]
fn lpc10_sounds_like_the_speech_when_it_says() {
    let (wanted, mut codec) = (speech(), open(Kind::Lpc10, &Settings::default()));
    let payloads = encode(&mut *codec, &wanted);
    let decoded = decode(&mut *codec, &payloads);
    let distances = (0..60).map(|step| (step * 20, spectral_distance(&wanted, &decoded[step * 20..])));
    let distances: Vec<_> = distances.collect();

    let (delay, least) = distances.into_iter().min_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
    let says = codec.delay_samples();
    assert!(delay.abs_diff(says) <= 60, "says {says} samples, and it is {delay}");
    assert!(least < 8.0, "{least} dB");
}

#[test]
fn others_hear_what_our_opus_says() {
    for kind in [Kind::Opus8, Kind::Opus16, Kind::Opus48].into_iter().filter(|kind| is_built(*kind)) {
        let settings = Settings { bits_per_second: Some(24_000), ..Settings::default() };
        let mut codec = open(kind, &settings);
        let payloads = encode(&mut *codec, &speech_for(kind));
        let ours = decode(&mut *codec, &payloads);
        let mut peer = SystemOpus::new(kind.format().sample_rate_hz.try_into().unwrap());
        let theirs: Vec<i16> = payloads.iter().flat_map(|payload| peer.decode(payload)).collect();
        let alike = segmental_snr(&ours, &theirs);
        println!("{kind}: {alike:.1} dB");
        assert!(alike > 30.0, "{kind}: only {alike} dB alike");
    }
}
