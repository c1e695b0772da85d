//! What is heard when packets are lost.

use crate::speech::{decode, encode, is_built, open, segmental_snr, spectral_distance, speech};
use guestright_codec::{
    Activity, CodecError, Kind, PACKET_SAMPLES_MAX, PAYLOAD_BYTES_MAX, Recovered, Settings,
};

/// Decodes with every tenth packet lost, either concealed or replaced by silence. Says how far the spectra are from those
/// without losses, over all and in dB.
fn with_losses(kind: Kind, conceals: bool) -> f64 {
    let mut codec = open(kind, &Settings::default());
    let payloads = encode(&mut *codec, &speech());
    let whole = decode(&mut *codec, &payloads);
    codec.reset();
    let packet = codec.format().packet_samples;
    let (mut decoded, mut samples) = (Vec::new(), [0; PACKET_SAMPLES_MAX]);
    for (at, payload) in payloads.iter().enumerate() {
        if at % 10 != 7 {
            let count = codec.decode(payload, &mut samples).unwrap();
            decoded.extend_from_slice(&samples[..count]);
        } else if conceals {
            codec.conceal(&mut samples[..packet]).unwrap();
            decoded.extend_from_slice(&samples[..packet]);
        } else {
            decoded.extend(std::iter::repeat_n(0, packet));
        }
    }
    assert_eq!(decoded.len(), whole.len(), "{kind}");
    spectral_distance(&whole, &decoded)
}

#[test]
fn concealing_a_loss_is_better_than_silence() {
    for kind in Kind::ALL.into_iter().filter(|kind| is_built(*kind)) {
        let (concealed, silent) = (with_losses(kind, true), with_losses(kind, false));
        println!("{kind}: {concealed:.2} dB off when concealed, {silent:.2} dB with silence");
        assert!(concealed < silent * 0.9, "{kind}: {concealed} dB off, with silence {silent} dB");
    }
}

#[test]
fn opus_repeats_a_lost_packet_in_the_next_one() {
    for kind in [Kind::Opus8, Kind::Opus16].into_iter().filter(|kind| is_built(*kind)) {
        let settings = Settings { loss_percent: 20, bits_per_second: Some(24_000), ..Settings::default() };
        let packet = kind.format().packet_samples;
        let recover = |settings: &Settings, redundancy: bool| {
            let mut codec = open(kind, settings);
            let payloads = encode(&mut *codec, &speech());
            let whole = decode(&mut *codec, &payloads);
            codec.reset();
            let (mut decoded, mut samples, mut redundant) = (Vec::new(), [0; PACKET_SAMPLES_MAX], 0);
            for at in 0..payloads.len() {
                let count = match payloads.get(at + 1) {
                    Some(next) if at % 10 == 7 && redundancy => {
                        let how = codec.recover(next, &mut samples[..packet]).unwrap();
                        redundant += usize::from(how == Recovered::Redundant);
                        packet
                    }
                    Some(_) if at % 10 == 7 => {
                        codec.conceal(&mut samples[..packet]).unwrap();
                        packet
                    }
                    _ => codec.decode(&payloads[at], &mut samples).unwrap(),
                };
                decoded.extend_from_slice(&samples[..count]);
            }
            (segmental_snr(&whole, &decoded), redundant)
        };
        let ((with, redundant), (without, _)) = (recover(&settings, true), recover(&settings, false));
        println!("{kind}: {with:.1} dB recovered ({redundant} packets), {without:.1} dB concealed");
        assert!(
            redundant > 10 && with > without + 1.0,
            "{kind}: {with} and {without} dB, {redundant} packets"
        );
        let off = Settings { redundancy: false, ..settings };
        assert_eq!(recover(&off, true).1, 0, "{kind}: nothing to recover from");
    }
}

#[test]
fn pauses_cost_next_to_nothing_with_discontinuous_transmission() {
    let settings = Settings { discontinuous: true, bits_per_second: Some(12_000), ..Settings::default() };
    for kind in [Kind::Opus8, Kind::Opus16, Kind::Amr] {
        if !is_built(kind) {
            continue;
        }
        let mut codec = open(kind, &settings);
        let packet = codec.format().packet_samples;
        let pause: Vec<i16> = (0..packet * 250).map(|at| i16::try_from(at * 7 % 13).unwrap() - 6).collect();
        let mut payload = [0; PAYLOAD_BYTES_MAX];
        let mut seen = [0; 3];
        for samples in pause.chunks(packet) {
            let encoded = codec.encode(samples, &mut payload).unwrap();
            assert_eq!(encoded.bytes == 0, encoded.activity == Activity::Nothing);
            match encoded.activity {
                Activity::Speech => seen[0] += 1,
                Activity::Silence => seen[1] += 1,
                Activity::Nothing => seen[2] += 1,
            }
        }
        println!("{kind}: speech, silence, nothing: {seen:?}");
        assert!(seen[2] > 150 && seen[0] < 60, "{kind}: {seen:?}");
        let mut off = open(kind, &Settings { discontinuous: false, ..settings });
        for samples in pause.chunks(packet) {
            assert_eq!(off.encode(samples, &mut payload).unwrap().activity, Activity::Speech, "{kind}");
        }
    }
}

#[test]
fn lengths_that_are_not_a_codecs_are_refused() {
    for kind in Kind::ALL.into_iter().filter(|kind| is_built(*kind)) {
        let mut codec = open(kind, &Settings::default());
        let format = codec.format();
        let (packet, mut payload) = (vec![0; format.packet_samples], [0; PAYLOAD_BYTES_MAX]);
        let refused = |result: Result<_, CodecError>| matches!(result, Err(CodecError::Samples { .. }));
        assert!(refused(codec.encode(&[], &mut payload)), "{kind}");
        assert!(format.frame_samples == 1 || refused(codec.encode(&packet[1..], &mut payload)), "{kind}");
        assert!(matches!(codec.encode(&packet, &mut [0; 5]), Err(CodecError::Room { got: 5, .. })), "{kind}");
        let bytes = codec.encode(&packet, &mut payload).unwrap().bytes;
        assert!(bytes <= format.packet_bytes_max && bytes > 0, "{kind}: {bytes}");
        assert!(
            matches!(codec.decode(&[], &mut [0; 9_000]), Err(CodecError::Length { got: 0, .. })),
            "{kind}"
        );
        let room = codec.decode(&payload[..bytes], &mut vec![0; format.packet_samples - 1]);
        assert_eq!(room, Err(CodecError::Room { got: packet.len() - 1, want: packet.len() }), "{kind}");
        assert_eq!(codec.decode(&payload[..bytes], &mut [0; PACKET_SAMPLES_MAX]), Ok(packet.len()), "{kind}");
        assert!(codec.decode(&[0; PAYLOAD_BYTES_MAX + 1], &mut [0; 9_000]).is_err(), "{kind}");
    }
}
