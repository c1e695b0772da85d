//! Both codecs from outside, with speech that is in the repository.

use guestright_wavelet::{Decoder, Encoder, FRAME_BYTES_MAX, FRAME_BYTES_MIN, FRAME_SAMPLES, Kind};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

const KINDS: [Kind; 2] = [Kind::W1, Kind::W2];

fn speech() -> Vec<[i16; FRAME_SAMPLES]> {
    let file = include_bytes!("../../../io/audio/speech/speech-8k.wav");
    let samples: Vec<i16> =
        file[44..].as_chunks::<2>().0.iter().map(|two| i16::from_le_bytes(*two)).collect();
    samples.as_chunks().0.to_vec()
}

fn packet(encoder: &mut Encoder, frame: &[i16; FRAME_SAMPLES], bytes_max: usize) -> Vec<u8> {
    let mut packet = [0xa5; 400];
    let bytes = encoder.encode(frame, bytes_max, &mut packet);
    assert!(packet[bytes..].iter().all(|byte| *byte == 0xa5 || *byte == 0), "written beyond the packet");
    packet[..bytes].to_vec()
}

fn packets(kind: Kind, frames: &[[i16; FRAME_SAMPLES]], bytes_max: usize) -> Vec<Vec<u8>> {
    let mut encoder = Encoder::new(kind);
    frames.iter().map(|frame| packet(&mut encoder, frame, bytes_max)).collect()
}

fn decode(kind: Kind, packets: &[Vec<u8>]) -> Vec<i16> {
    let (mut decoder, mut frame) = (Decoder::new(kind), [0; FRAME_SAMPLES]);
    let one = |packet: &Vec<u8>| {
        decoder.decode(packet, &mut frame);
        frame
    };
    packets.iter().flat_map(one).collect()
}

/// Signal to error in dB, with the decoder's delay taken out.
fn signal_to_error(kind: Kind, frames: &[[i16; FRAME_SAMPLES]], decoded: &[i16]) -> f64 {
    let square = |value: f64| value * value;
    let (mut signal, mut error) = (0.0, 0.0);
    for (original, sample) in frames.as_flattened().iter().zip(&decoded[kind.delay_samples()..]) {
        signal += square(f64::from(*original));
        error += square(f64::from(*original) - f64::from(*sample));
    }
    10.0 * (signal / error).log10()
}

#[test]
fn more_bytes_are_nearer_to_the_speech() {
    let frames = speech();
    for (kind, least) in [(Kind::W1, [3.5, 5.0, 9.0, 18.0, 30.0]), (Kind::W2, [8.0, 9.0, 13.5, 22.0, 33.0])] {
        let mut before = 0.0;
        for (bytes, least) in [28, 34, 66, 160, 320].into_iter().zip(least) {
            let coded = packets(kind, &frames, bytes);
            assert!(coded.iter().all(|packet| packet.len() <= bytes));
            let got = signal_to_error(kind, &frames, &decode(kind, &coded));
            println!("{kind:?}, {bytes} bytes: {got:.1} dB");
            assert!(got > before + 0.5 && got >= least, "{kind:?}, {bytes} bytes: {got} dB after {before}");
            before = got;
        }
    }
}

#[test]
fn silence_is_a_byte() {
    for kind in KINDS {
        let mut encoder = Encoder::new(kind);
        // Nothing, and a tone that is as good as nothing.
        for (level, most) in [(0, 1), (1, 12)] {
            let frame = std::array::from_fn(|at| if at % 2 == 0 { level } else { -level });
            let bytes = packet(&mut encoder, &frame, 320).len();
            assert!((1..=most).contains(&bytes), "{kind:?}, {level}: {bytes}");
        }
        let mut frame = [1; FRAME_SAMPLES];
        Decoder::new(kind).decode(&[0], &mut frame);
        assert_eq!(frame, [0; FRAME_SAMPLES]);
    }
}

/// What no throat makes, also at full scale: it comes back about as it was.
#[test]
fn the_loudest_signals_fit() {
    let mut seed = 1_u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as u16 as i16
    };
    let frames = vec![
        std::array::from_fn(|_| random()),
        [i16::MIN; FRAME_SAMPLES],
        [i16::MAX; FRAME_SAMPLES],
        std::array::from_fn(|at| if at / 37 % 2 == 0 { i16::MAX } else { i16::MIN }),
        std::array::from_fn(|at| if at == 200 { i16::MIN } else { 0 }),
        [0; FRAME_SAMPLES],
    ];
    for kind in KINDS {
        let decoded = decode(kind, &packets(kind, &frames, 320));
        let got = signal_to_error(kind, &frames[..5], &decoded);
        assert!(got > 20.0, "{kind:?}: {got} dB");
    }
}

/// All packets of the speech at three rates, and what is heard of them. Whoever changes a format changes this, and calls
/// the result another codec.
#[test]
fn the_bits_are_those_that_were_recorded() {
    let frames = speech();
    let digest = |bytes: &[u8]| {
        Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let mut got = Vec::new();
    for kind in KINDS {
        for bytes in [28, 80, 320] {
            let coded = packets(kind, &frames, bytes);
            let decoded: Vec<u8> =
                decode(kind, &coded).iter().flat_map(|sample| sample.to_le_bytes()).collect();
            got.push(format!("{kind:?} {bytes} {} {}", digest(&coded.concat()), digest(&decoded)));
        }
    }
    let want = [
        "W1 28 df871a6198f3f4a4 ab622ec03158d2d8",
        "W1 80 965bb144035abf77 98ffa281e96a6d5c",
        "W1 320 862022e73bffd219 36130d55cd0a2389",
        "W2 28 9f5051a929e83150 65b2b25ade7b8abf",
        "W2 80 2165c2ff931133cd 37dfaf3631ce10fe",
        "W2 320 3755a8980dacd0c2 8f4a918ade14e198",
    ];
    assert_eq!(got, want);
}

#[test]
fn a_lost_frame_is_made_up_and_fades() {
    let frames = speech();
    let energy =
        |frame: &[i16]| frame.iter().map(|sample| f64::from(*sample) * f64::from(*sample)).sum::<f64>();
    for kind in KINDS {
        let coded = packets(kind, &frames, 160);
        let whole = decode(kind, &coded);
        // In the middle of a vowel.
        let at = (20..100)
            .max_by(|one, other| energy(&frames[*one]).total_cmp(&energy(&frames[*other])))
            .expect("speech");
        let (mut decoder, mut frame, mut concealed) = (Decoder::new(kind), [0; FRAME_SAMPLES], Vec::new());
        for packet in &coded[..at] {
            decoder.decode(packet, &mut frame);
        }
        for _ in 0..4 {
            decoder.conceal(&mut frame);
            concealed.push(energy(&frame));
        }
        let original = energy(&whole[at * FRAME_SAMPLES..][..FRAME_SAMPLES]);
        assert!(
            concealed[0] > original / 20.0 && concealed[0] < original * 4.0,
            "{kind:?}: {concealed:?} for {original}"
        );
        assert!(concealed[1] < concealed[0] && concealed[3] == 0.0, "{kind:?}: {concealed:?}");
    }
}

#[test]
fn a_loss_does_not_spread() {
    let frames = speech();
    for kind in KINDS {
        let coded = packets(kind, &frames[..50], 80);
        let whole = decode(kind, &coded);
        let (mut decoder, mut frame) = (Decoder::new(kind), [0; FRAME_SAMPLES]);
        for (at, packet) in coded.iter().enumerate() {
            if at % 10 == 5 {
                decoder.conceal(&mut frame);
            } else {
                decoder.decode(packet, &mut frame);
            }
            let same = frame == whole[at * FRAME_SAMPLES..][..FRAME_SAMPLES];
            assert!(same || (5..=6).contains(&(at % 10)), "{kind:?}: frame {at} is another one");
        }
    }
}

proptest! {
    /// A stored packet, cut, is what the encoder would have made at the lower rate; and it decodes.
    #[test]
    fn a_cut_packet_is_the_packet_of_a_lower_rate(
        at in 0_usize..249,
        bytes in FRAME_BYTES_MIN..=FRAME_BYTES_MAX,
        more in FRAME_BYTES_MIN..=FRAME_BYTES_MAX,
    ) {
        let frames = &speech()[at..=at + 1];
        for kind in KINDS {
            let (low, high) = (packets(kind, frames, bytes.min(more)), packets(kind, frames, bytes.max(more)));
            for (low, high) in low.iter().zip(&high) {
                prop_assert_eq!(low, &high[..high.len().min(bytes.min(more))]);
            }
        }
    }

    /// Any samples, loud or silent.
    #[test]
    fn any_frame_is_cut_likewise(frame in frames(), bytes in 0_usize..=FRAME_BYTES_MAX) {
        for kind in KINDS {
            let (low, high) = (packets(kind, &[frame; 2], bytes), packets(kind, &[frame; 2], 320));
            for (low, high) in low.iter().zip(&high) {
                prop_assert_eq!(low, &high[..high.len().min(bytes)]);
            }
        }
    }

    /// Packets that nobody's encoder made.
    #[test]
    fn anything_decodes(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 1..8),
    ) {
        for kind in KINDS {
            let (first, second) = (decode(kind, &packets), decode(kind, &packets));
            prop_assert_eq!(first, second);
        }
    }
}

fn frames() -> impl Strategy<Value = [i16; FRAME_SAMPLES]> {
    (any::<[[i16; 20]; 16]>(), 0_u32..16)
        .prop_map(|(blocks, quiet)| std::array::from_fn(|at| blocks[at / 20][at % 20] >> quiet))
}

/// At every byte: what is left decodes, and is no further from the speech than less of it.
#[test]
fn every_cut_decodes() {
    let frames = &speech()[30..34];
    for kind in KINDS {
        let coded = packets(kind, frames, 320);
        let mut ratios = Vec::new();
        for bytes in 0..=320 {
            let cut: Vec<Vec<u8>> =
                coded.iter().map(|packet| packet[..packet.len().min(bytes)].to_vec()).collect();
            ratios.push(signal_to_error(kind, frames, &decode(kind, &cut)));
        }
        let worse = ratios.windows(2).filter(|two| two[1] < two[0] - 0.5).count();
        assert!(worse == 0 && ratios[320] > ratios[28] + 15.0, "{kind:?}: {worse} times worse with more");
    }
}
