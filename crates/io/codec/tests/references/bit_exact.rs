//! Codecs that are defined to the bit.

use crate::peers::Spandsp;
use crate::speech::{cruelty, decode, digest, encode, is_built, open, speech};
use guestright_codec::{Codec, Kind, Settings};

/// Both directions of a codec beside spandsp's, packet for packet.
fn assert_same(kind: Kind, mut peer: Spandsp, samples: &[i16]) {
    let mut codec = open(kind, &Settings::default());
    let payloads = encode(&mut *codec, samples);
    let theirs: Vec<Vec<u8>> =
        samples.chunks_exact(codec.format().packet_samples).map(|packet| peer.encode(packet)).collect();
    for (at, (ours, theirs)) in payloads.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "{kind}: packet {at} is encoded differently");
    }
    let decoded = decode(&mut *codec, &payloads);
    let theirs: Vec<i16> = payloads.iter().flat_map(|payload| peer.decode(payload)).collect();
    let delay = concealment_delay(&*codec);
    assert_eq!(decoded.len(), theirs.len());
    // Where G.722's filter is too loud, spandsp 0.0.6 turns to the other end of the range instead of staying at it.
    let is_turned =
        |ours: i16, theirs: i16| kind == Kind::G722 && ours == (if theirs < 0 { i16::MAX } else { i16::MIN });
    let mut pairs = decoded[delay..].iter().zip(&theirs).enumerate();
    let differ = pairs.find(|(_, (ours, theirs))| ours != theirs && !is_turned(**ours, **theirs));
    assert_eq!(differ, None, "{kind}: decoded differently");
    assert!(decoded[..delay].iter().all(|sample| *sample == 0));
}

/// What our decoders hold back to conceal losses.
fn concealment_delay(codec: &dyn Codec) -> usize {
    if codec.format().sample_rate_hz == 16_000 { 60 } else { 30 }
}

/// Every sample and every byte. On the border of two intervals spandsp rounds negative samples one way, and the ITU's
/// own program (G.191) the other; we are with the ITU.
#[test]
fn g711_is_the_itus_for_every_sample_and_spandsps_for_every_byte() {
    for (kind, law) in [(Kind::Pcma, 0), (Kind::Pcmu, 1)] {
        let itu = if kind == Kind::Pcma { itu_a_law } else { itu_mu_law };
        let payload: Vec<u8> = (0..=255).chain([0; 30]).collect();
        let values =
            decode(&mut *open(kind, &Settings::default()), std::slice::from_ref(&payload))[30..].to_vec();
        assert_eq!(values, Spandsp::g711(law).decode(&payload)[..256], "{kind}");
        let all: Vec<i16> = (i16::MIN..=i16::MAX).collect();
        let mut codec = open(kind, &Settings::default());
        let mut ours = Vec::new();
        for some in all.chunks(1_024) {
            let mut payload = [0; 1_024];
            assert_eq!(codec.encode(some, &mut payload).unwrap().bytes, 1_024);
            ours.extend(payload);
        }
        let wrong = all.iter().zip(&ours).find(|(sample, ours)| itu(**sample) != **ours);
        assert_eq!(wrong, None, "{kind}");
        let theirs = Spandsp::g711(law).encode(&all);
        let borders = all.iter().zip(ours.iter().zip(&theirs)).filter(|(_, (ours, theirs))| ours != theirs);
        assert!(borders.clone().count() <= 128 && borders.clone().all(|(sample, _)| *sample < 0), "{kind}");
    }
}

/// G.191's `alaw_compress`, as arithmetic: 12 bits and a sign; four bits within one of eight segments.
fn itu_a_law(sample: i16) -> u8 {
    let size = u16::from_ne_bytes((if sample < 0 { !sample } else { sample }).to_ne_bytes()) >> 4;
    let segment = (size >> 4).checked_ilog2().map_or(0, |bits| bits + 1);
    let within = (size >> segment.saturating_sub(1)) & 15;
    let sign = if sample < 0 { 0 } else { 0x80 };
    (sign | (segment as u8) << 4 | within as u8) ^ 0x55
}

/// G.191's `ulaw_compress`: 13 bits and a sign, 33 added so that segments begin at powers of two.
fn itu_mu_law(sample: i16) -> u8 {
    let size = u16::from_ne_bytes((if sample < 0 { !sample } else { sample }).to_ne_bytes());
    let biased = ((size >> 2) + 33).min(0x1fff);
    let segment = (biased >> 5).ilog2();
    let within = (biased >> (segment + 1)) & 15;
    let sign = if sample < 0 { 0x80 } else { 0 };
    !(sign | (segment as u8) << 4 | within as u8)
}

#[test]
fn g722_is_spandsps() {
    for samples in [speech(), cruelty()] {
        assert_same(Kind::G722, Spandsp::g722(), &samples);
    }
}

#[test]
fn dvi4_and_ima_blocks_are_spandsps() {
    for samples in [speech(), cruelty()] {
        assert_same(Kind::Dvi4, Spandsp::ima(1), &samples);
        assert_same(Kind::Ima, Spandsp::ima(0), &samples);
    }
}

/// libgsm's through our interface, and spandsp's: two people's work.
#[test]
fn gsm_is_spandsps() {
    for samples in [speech(), cruelty()] {
        assert_same(Kind::Gsm, Spandsp::gsm(), &samples);
    }
}

#[test]
fn lpc10_through_our_interface_is_lpc10() {
    assert_same(Kind::Lpc10, Spandsp::lpc10(), &speech());
}

/// No release of ours, or of a library, changes the bits unseen.
#[test]
fn the_bits_are_those_that_were_recorded() {
    let cases = [
        (Kind::Pcmu, "0acc0c83e3a58377"),
        (Kind::Pcma, "acb456702ad4f6e3"),
        (Kind::G722, "87ce62a02e6b58d9"),
        (Kind::Gsm, "3716f5a1f73701dd"),
        (Kind::Amr, "e752f9923b9b3120"),
        (Kind::G729, "3d3703274560f687"),
        (Kind::Dvi4, "3db672929c60069a"),
        (Kind::Ima, "e8737e1d1d587854"),
    ];
    for (kind, want) in cases.into_iter().filter(|(kind, _)| is_built(*kind)) {
        let payloads = encode(&mut *open(kind, &Settings::default()), &speech());
        assert_eq!(digest(&payloads), want, "{kind}");
    }
}

#[test]
fn a_reset_codec_is_a_new_one() {
    let (speech, other) = (speech(), cruelty());
    for kind in Kind::ALL.into_iter().filter(|kind| is_built(*kind)) {
        let once = |codec: &mut dyn Codec| {
            let payloads = encode(codec, &speech);
            (digest(&payloads), decode(codec, &payloads))
        };
        let mut codec = open(kind, &Settings::default());
        let first = once(&mut *codec);
        let mut payloads = encode(&mut *codec, &other);
        payloads.truncate(20);
        decode(&mut *codec, &payloads);
        codec.reset();
        assert!(first == once(&mut *codec), "{kind}");
    }
}
