//! Payloads that nobody's encoder made.

use crate::speech::{encode, is_built, open, speech};
use guestright_codec::{AmrPacking, Codec, Kind, PACKET_SAMPLES_MAX, Settings};

struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }
}

/// Decodes, recovers and conceals whatever comes, with guards around the output.
fn survive(codec: &mut dyn Codec, payload: &[u8], chance: &mut Chance) {
    const GUARD: i16 = 0x5a5a;
    let room = if chance.below(4) == 0 { chance.below(1_000) } else { PACKET_SAMPLES_MAX };
    let mut samples = vec![GUARD; room + 64];
    if let Ok(count) = codec.decode(payload, &mut samples[..room]) {
        assert!(count > 0 && count <= room);
    }
    if chance.below(8) == 0 {
        let length = codec.format().packet_samples.min(room);
        let _ = codec.recover(payload, &mut samples[..length]);
    }
    assert!(samples[room..].iter().all(|sample| *sample == GUARD), "written beyond the buffer");
}

#[test]
fn no_payload_does_harm() {
    let mut all: Vec<_> = Kind::ALL
        .into_iter()
        .filter(|kind| is_built(*kind))
        .map(|kind| (kind, Settings::default()))
        .collect();
    if is_built(Kind::Amr) {
        all.push((Kind::Amr, Settings { amr_packing: AmrPacking::OctetAligned, ..Settings::default() }));
    }
    for (kind, settings) in all {
        let mut chance = Chance(kind as u64);
        let mut codec = open(kind, &settings);
        let good = encode(&mut *codec, &speech()[..40_000]);
        for _ in 0..20_000 {
            let mut payload = match chance.below(3) {
                // Noise of any length, or of a length that fits.
                0 => vec![0; chance.below(200)],
                1 => vec![0; good[0].len()],
                // A good payload with some bytes changed.
                _ => good[chance.below(good.len())].clone(),
            };
            let is_noise = payload.iter().all(|byte| *byte == 0);
            for byte in &mut payload {
                if is_noise || chance.below(12) == 0 {
                    *byte = chance.next() as u8;
                }
            }
            if kind == Kind::Gsm && chance.below(8) > 0 {
                payload.iter_mut().step_by(33).for_each(|first| *first = *first & 0x0f | 0xd0);
            }
            survive(&mut *codec, &payload, &mut chance);
        }
    }
}

#[test]
fn a_refused_payload_changes_nothing() {
    let cases: [(Kind, &[u8]); 6] = [
        (Kind::Pcmu, &[]),
        (Kind::G722, &[]),
        (Kind::Dvi4, &[0, 0, 89, 0, 1, 2]),
        (Kind::Gsm, &[0; 33]),
        (Kind::Lpc10, &[0; 8]),
        (Kind::Opus16, &[0xff, 0xff, 0xff]),
    ];
    for (kind, bad) in cases.into_iter().filter(|(kind, _)| is_built(*kind)) {
        let (mut one, mut other) = (open(kind, &Settings::default()), open(kind, &Settings::default()));
        let good = encode(&mut *one, &speech()[..16_000]);
        let (mut ours, mut theirs) = ([0; PACKET_SAMPLES_MAX], [0; PACKET_SAMPLES_MAX]);
        for payload in &good {
            assert!(one.decode(bad, &mut ours).is_err(), "{kind}");
            assert!(one.decode(payload, &mut [0; 3]).is_err(), "{kind}");
            let count = one.decode(payload, &mut ours).unwrap();
            assert_eq!(other.decode(payload, &mut theirs), Ok(count), "{kind}");
            assert!(ours[..count] == theirs[..count], "{kind}");
        }
    }
}
