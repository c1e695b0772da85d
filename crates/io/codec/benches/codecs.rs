//! What the codecs cost: time for one second of speech, in packets of 20 ms.

use guestright_codec::{Kind, PACKET_SAMPLES_MAX, PAYLOAD_BYTES_MAX, Settings, open};

fn main() {
    divan::main();
}

/// A second of speech; at higher rates each sample stands for more than one.
fn second(kind: Kind) -> Vec<i16> {
    let file = include_bytes!("../../audio/speech/speech-8k.wav");
    let speech = file[44 + 8_000..].as_chunks::<2>().0.iter().map(|two| i16::from_le_bytes(*two));
    let times = usize::try_from(kind.format().sample_rate_hz / 8_000).unwrap_or(1);
    speech.flat_map(|sample| std::iter::repeat_n(sample, times)).take(8_000 * times).collect()
}

fn kinds() -> Vec<Kind> {
    Kind::ALL.into_iter().filter(|kind| kind.is_available().is_ok()).collect()
}

#[divan::bench(args = kinds())]
fn encode_a_second(bencher: divan::Bencher<'_, '_>, kind: Kind) {
    let samples = second(kind);
    let mut codec = open(kind, &Settings::default()).expect("it is available");
    let mut payload = [0; PAYLOAD_BYTES_MAX];
    bencher.bench_local(|| {
        for packet in samples.chunks_exact(kind.format().packet_samples) {
            let _ = divan::black_box(codec.encode(packet, &mut payload));
        }
    });
}

#[divan::bench(args = kinds())]
fn decode_a_second(bencher: divan::Bencher<'_, '_>, kind: Kind) {
    let mut codec = open(kind, &Settings::default()).expect("it is available");
    let mut payload = [0; PAYLOAD_BYTES_MAX];
    let mut payloads = Vec::new();
    for packet in second(kind).chunks_exact(kind.format().packet_samples) {
        let encoded = codec.encode(packet, &mut payload).expect("a packet");
        payloads.push(payload[..encoded.bytes].to_vec());
    }
    let mut samples = [0; PACKET_SAMPLES_MAX];
    bencher.bench_local(|| {
        for payload in &payloads {
            let _ = divan::black_box(codec.decode(payload, &mut samples));
        }
    });
}

/// A packet and the gap after it, where the codec itself does not conceal.
#[divan::bench(args = [Kind::Pcmu, Kind::G722])]
fn conceal_a_packet(bencher: divan::Bencher<'_, '_>, kind: Kind) {
    let mut codec = open(kind, &Settings::default()).expect("always there");
    let (mut payload, mut samples) = ([0; PAYLOAD_BYTES_MAX], [0; PACKET_SAMPLES_MAX]);
    let speech = second(kind);
    let packet = kind.format().packet_samples;
    let encoded = codec.encode(&speech[..packet], &mut payload).expect("a packet");
    bencher.bench_local(|| {
        let _ = divan::black_box(codec.decode(&payload[..encoded.bytes], &mut samples));
        let _ = divan::black_box(codec.conceal(&mut samples[..packet]));
    });
}
