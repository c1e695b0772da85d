//! What protecting one second of conversation costs (Table 12 of paper D).

use super::cipher::{Cipher, CounterMode};
use super::codec::Codec;
use super::packet::{HEADER_LEN, Kind, Packet};
use crate::cost::{End, Pace, Work, digest};

/// Encrypting and decrypting one second of conversation, for GSM lite and GSM at 4410 Hz and ADPCM, with each cipher.
///
/// It is one direction's sound. Keys are scheduled before, as in a call; each packet has its own number, and its whole
/// datagram is made or read. With GSM some runs do 13 packets and some 14, with ADPCM 12 and 13, so take the mean of many
/// runs.
#[must_use]
pub fn work() -> Vec<Work> {
    let mut all = Vec::new();
    for (codec, names) in [
        (Codec::GsmLite4410, ["gsm lite 4410 blowfish", "gsm lite 4410 cast5", "gsm lite 4410 3des"]),
        (Codec::Gsm4410, ["gsm 4410 blowfish", "gsm 4410 cast5", "gsm 4410 3des"]),
        (Codec::Adpcm, ["adpcm blowfish", "adpcm cast5", "adpcm 3des"]),
    ] {
        for (cipher, name) in [Cipher::Blowfish, Cipher::Cast5, Cipher::TripleDes].into_iter().zip(names) {
            all.extend(
                [End::Sender, End::Receiver].into_iter().filter_map(|end| one(codec, cipher, name, end)),
            );
        }
    }
    all
}

fn one(codec: Codec, cipher: Cipher, name: &'static str, end: End) -> Option<Work> {
    let samples = usize::try_from(codec.packet_samples()).ok()?;
    let mut pace = Pace::new(samples, usize::try_from(codec.sample_rate()).ok()?);
    // What the bytes are changes nothing about how long it takes.
    let key: Vec<u8> = (1..=24).collect();
    let mode = CounterMode::new(cipher, &key[..cipher.key_len()])?;
    let data = vec![0x5a; codec.data_bytes()];
    let datagram = seal(&mode, 0, &data);
    let (codec_bytes, wire_bytes) = (pace.bytes(codec.payload_bytes()), pace.bytes(codec.wire_bytes()));
    let mut sequence = 0_u32;
    let run = move || {
        let packets = 0..pace.packets();
        packets.fold(0, |sum, _| {
            let done = match end {
                End::Sender => seal(&mode, sequence, &data),
                End::Receiver => open(&mode, sequence, &datagram),
            };
            sequence = sequence.wrapping_add(1);
            sum ^ digest(&done)
        })
    };
    Some(Work { name, end, codec_bytes, wire_bytes, run: Box::new(run) })
}

fn seal(mode: &CounterMode, sequence: u32, data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    mode.apply(Kind::Voice as u8, sequence, &mut data);
    let [.., high, low] = sequence.to_be_bytes();
    Packet { kind: Kind::Voice, sequence: u16::from_be_bytes([high, low]), data: &data }.emit()
}

fn open(mode: &CounterMode, sequence: u32, datagram: &[u8]) -> Vec<u8> {
    let mut data = datagram.get(HEADER_LEN..).unwrap_or_default().to_vec();
    mode.apply(Kind::Voice as u8, sequence, &mut data);
    data
}
