//! What speech becomes in a codec: reads a WAV file (one channel, 16 bits, at the rate that the codec shall have), writes
//! one of the same length with the codec's delay taken out. `scripts/codec_quality.py` compares the two.
//!
//! `transcode CODEC BYTES IN.wav OUT.wav`, where BYTES are those of a packet for `w1` and `w2`, and 0 else.

use guestright_codec::{Kind, PACKET_SAMPLES_MAX, PAYLOAD_BYTES_MAX, Settings, open};
use std::error::Error;
use std::{env, fs};

/// As all usual programs write it.
const HEADER_BYTES: usize = 44;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().collect();
    let [_, kind, bytes, from, to] = arguments.as_slice() else {
        return Err("transcode CODEC BYTES IN.wav OUT.wav".into());
    };
    let kind: Kind = kind.parse()?;
    let mut codec = open(kind, &Settings::default())?;
    match bytes.parse()? {
        0 => {}
        bytes => codec.set_packet_bytes(bytes),
    }
    let mut file = fs::read(from)?;
    let (_, data) = file.split_at_mut_checked(HEADER_BYTES).ok_or("it is too short")?;
    let mut input: Vec<i16> = data.as_chunks::<2>().0.iter().map(|two| i16::from_le_bytes(*two)).collect();
    let packet = kind.format().packet_samples;
    input.resize((input.len() + codec.delay_samples()).next_multiple_of(packet), 0);

    let (mut payload, mut samples, mut decoded) =
        ([0; PAYLOAD_BYTES_MAX], [0; PACKET_SAMPLES_MAX], Vec::new());
    for packet in input.chunks_exact(packet) {
        let encoded = codec.encode(packet, &mut payload)?;
        let count = codec.decode(&payload[..encoded.bytes], &mut samples)?;
        decoded.extend_from_slice(&samples[..count]);
    }
    let decoded = decoded.iter().skip(codec.delay_samples());
    for (slot, sample) in data.as_chunks_mut::<2>().0.iter_mut().zip(decoded) {
        *slot = sample.to_le_bytes();
    }
    fs::write(to, file)?;
    Ok(())
}
