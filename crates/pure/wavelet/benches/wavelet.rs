//! What the codecs cost: time for one second of speech.

use guestright_wavelet::{Decoder, Encoder, FRAME_BYTES_MAX, FRAME_SAMPLES, Kind};

fn main() {
    divan::main();
}

/// Bytes of a frame at 700 and 8,000 bytes a second.
const BYTES: [usize; 2] = [28, 320];
const FRAMES_PER_SECOND: usize = 25;

fn second() -> Vec<[i16; FRAME_SAMPLES]> {
    let file = include_bytes!("../../../io/audio/speech/speech-8k.wav");
    let speech: Vec<i16> =
        file[44 + 8_000..].as_chunks::<2>().0.iter().map(|two| i16::from_le_bytes(*two)).collect();
    speech.as_chunks().0.iter().take(FRAMES_PER_SECOND).copied().collect()
}

fn packets(kind: Kind, bytes: usize) -> Vec<Vec<u8>> {
    let (mut encoder, mut packet) = (Encoder::new(kind), [0; FRAME_BYTES_MAX]);
    let one = |frame: &[i16; FRAME_SAMPLES]| {
        let length = encoder.encode(frame, bytes, &mut packet);
        packet[..length].to_vec()
    };
    second().iter().map(one).collect()
}

fn encode(bencher: divan::Bencher<'_, '_>, kind: Kind, bytes: usize) {
    let (frames, mut encoder, mut packet) = (second(), Encoder::new(kind), [0; FRAME_BYTES_MAX]);
    bencher.bench_local(|| {
        for frame in &frames {
            divan::black_box(encoder.encode(frame, bytes, &mut packet));
        }
    });
}

fn decode(bencher: divan::Bencher<'_, '_>, kind: Kind, bytes: usize) {
    let (packets, mut decoder, mut frame) = (packets(kind, bytes), Decoder::new(kind), [0; FRAME_SAMPLES]);
    bencher.bench_local(|| {
        for packet in &packets {
            decoder.decode(packet, &mut frame);
            divan::black_box(&frame);
        }
    });
}

#[divan::bench(args = BYTES)]
fn encode_a_second_w1(bencher: divan::Bencher<'_, '_>, bytes: usize) {
    encode(bencher, Kind::W1, bytes);
}

#[divan::bench(args = BYTES)]
fn encode_a_second_w2(bencher: divan::Bencher<'_, '_>, bytes: usize) {
    encode(bencher, Kind::W2, bytes);
}

#[divan::bench(args = BYTES)]
fn decode_a_second_w1(bencher: divan::Bencher<'_, '_>, bytes: usize) {
    decode(bencher, Kind::W1, bytes);
}

#[divan::bench(args = BYTES)]
fn decode_a_second_w2(bencher: divan::Bencher<'_, '_>, bytes: usize) {
    decode(bencher, Kind::W2, bytes);
}
