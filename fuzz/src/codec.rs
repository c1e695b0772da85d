//! What arrives as speech.

use crate::seeds::Seed;
use guestright_codec::{AmrPacking, Kind, Noise, PACKET_SAMPLES_MAX, PAYLOAD_BYTES_MAX, Settings, open};

/// A payload for any of the codecs that are built in; the first byte says which. It is decoded or refused: nothing is
/// written beyond what the decoder says, a gap after it is filled, and a decoder that refused it is as it was.
pub fn codec(bytes: &[u8]) {
    let Some((first, payload)) = bytes.split_first() else { return };
    comfort_noise(payload);
    let kind = Kind::ALL[usize::from(*first) % Kind::ALL.len()];
    let packing = if first & 0x80 == 0 { AmrPacking::BandwidthEfficient } else { AmrPacking::OctetAligned };
    // What needs a library of the system that is not here cannot be asked.
    let settings = Settings { amr_packing: packing, ..Settings::default() };
    let (Ok(mut codec), Ok(mut fresh)) = (open(kind, &settings), open(kind, &settings)) else { return };
    let (mut samples, mut gap) = ([0x5a5a; PACKET_SAMPLES_MAX], [0; PACKET_SAMPLES_MAX]);
    let packet = codec.format().packet_samples;
    match codec.decode(payload, &mut samples) {
        Ok(count) => {
            assert!(count > 0 && count <= PACKET_SAMPLES_MAX, "a number of samples that cannot be");
            assert!(samples[count..].iter().all(|sample| *sample == 0x5a5a), "written beyond the packet");
            let short = fresh.decode(payload, &mut gap[..count - 1]);
            assert!(short.is_err(), "fewer samples than there is room for");
        }
        Err(_) => fresh.conceal(&mut gap[..packet]).expect("a packet can be lost"),
    }
    codec.recover(payload, &mut samples[..packet]).expect("a packet can be lost");
    codec.conceal(&mut samples[..packet]).expect("and another one");
}

fn comfort_noise(payload: &[u8]) {
    let mut noise = Noise::new(1);
    assert_eq!(noise.describe(payload).is_ok(), !payload.is_empty());
    noise.play(&mut [0; 160]);
}

/// A payload of some of the codecs, and one that just misses.
pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    for (index, kind) in (0_u8..).zip(Kind::ALL) {
        if !matches!(kind, Kind::Pcmu | Kind::G722 | Kind::Dvi4 | Kind::Ima | Kind::Opus16) {
            continue;
        }
        let Ok(mut codec) = open(kind, &Settings::default()) else { continue };
        let samples: Vec<i16> =
            (0..codec.format().packet_samples).map(|at| [0, 900, 0, -900][at / 8 % 4]).collect();
        let mut payload = [0; PAYLOAD_BYTES_MAX];
        let encoded = codec.encode(&samples, &mut payload).expect("a packet of samples");
        seeds.push(("codec", format!("good-{kind}"), [&[index], &payload[..encoded.bytes]].concat()));
    }
    let step = [4, 0, 0, 89, 0, 1, 2];
    seeds.push(("codec", "near-dvi4-step".to_owned(), step.to_vec()));
}
