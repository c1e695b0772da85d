use super::config::Cipher;
use super::key::{CallKey, Direction};
use super::message::{HEADER_LEN, Message, NONCE_LEN, Offer};
use super::{CODEC_BYTES, PACKET_SAMPLES};
use crate::cost::{End, Pace, Work, digest};

/// One second with each cipher of Tables 11 and 13 of paper D, at each end. The key is that of the call.
///
/// A second has 5.56 packets: some runs do 5 and some 6, so take the mean of many runs.
#[must_use]
pub fn work() -> Vec<Work> {
    [(Cipher::Blowfish, "blowfish"), (Cipher::Idea, "idea"), (Cipher::TripleDes, "3des")]
        .into_iter()
        .flat_map(|(cipher, name)| [End::Sender, End::Receiver].map(|end| one(cipher, name, end)))
        .collect()
}

fn one(cipher: Cipher, name: &'static str, end: End) -> Work {
    let offer = Offer { cipher: cipher.code(), agreement: 0, nonce: [7; NONCE_LEN], public: Vec::new() };
    let key = CallKey::new(cipher, b"a phrase for measuring only", &offer, &offer);
    let mut pace = Pace::new(PACKET_SAMPLES, 8_000);
    let (codec_bytes, wire_bytes) = (pace.bytes(CODEC_BYTES), pace.bytes(HEADER_LEN + CODEC_BYTES));
    let packet = Message::Voice { number: 1, sound: [0x55; CODEC_BYTES] }.emit();
    let mut number = 0_u32;
    let mut once = move || match end {
        End::Sender => {
            let mut sound = [0x55; CODEC_BYTES];
            number = number.wrapping_add(1);
            key.encrypt(Direction::FromCaller, number, &mut sound);
            digest(&Message::Voice { number, sound }.emit())
        }
        End::Receiver => match Message::parse(&packet) {
            Ok(Message::Voice { number, mut sound }) => {
                key.decrypt(Direction::FromCaller, number, &mut sound);
                digest(&sound)
            }
            _ => 0,
        },
    };
    let run = move || {
        let packets = 0..pace.packets();
        packets.fold(0, |sum, _| sum ^ once())
    };
    Work { name, end, codec_bytes, wire_bytes, run: Box::new(run) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_5_56_packets_at_both_ends() {
        let all = work();
        let names: Vec<_> = all.iter().map(|work| (work.name, work.end)).collect();
        let want: Vec<_> = ["blowfish", "idea", "3des"]
            .into_iter()
            .flat_map(|name| [(name, End::Sender), (name, End::Receiver)])
            .collect();
        assert_eq!(names, want);
        // 56 and 60 bytes, 5.556 times.
        assert!(all.iter().all(|work| (work.codec_bytes, work.wire_bytes) == (311, 333)));
    }

    #[test]
    fn what_is_sent_changes_with_every_packet() {
        for mut work in work().into_iter().filter(|work| work.end == End::Sender) {
            let sums: std::collections::BTreeSet<u64> = (0..10).map(|_| (work.run)()).collect();
            assert_eq!(sums.len(), 10, "{}: another number, another vector", work.name);
        }
    }
}
