use super::cipher::{Cipher, Key};
use super::config::{Form, Protocol};
use super::packet::{HEADER_LEN, Label, Sound};
use crate::cost::{End, Pace, Work, digest};

const PHRASE: &str = "a phrase for measuring only";
const LABEL: Label<'static> = Label { name: "guestright", sequence: None };

/// One second with each codec and each cipher of Tables 11 and 13 of paper D, at each end: packets written with all that
/// the tool does for each (the key of DES and IDEA is set for each), or read.
///
/// A second has 5 packets of GSM and 8.23 of ADPCM: with ADPCM some runs do 8 and some 9, so take the mean of many runs.
#[must_use]
pub fn work() -> Vec<Work> {
    let mut all = Vec::new();
    for (form, names) in [
        (Form::Gsm, ["gsm blowfish", "gsm idea", "gsm des"]),
        (Form::Adpcm, ["adpcm blowfish", "adpcm idea", "adpcm des"]),
    ] {
        for (cipher, name) in [Cipher::Blowfish, Cipher::Idea, Cipher::Des].into_iter().zip(names) {
            all.extend([End::Sender, End::Receiver].map(|end| one(form, cipher, name, end)));
        }
    }
    all
}

fn one(form: Form, cipher: Cipher, name: &'static str, end: End) -> Work {
    let samples = form.packet_samples(Protocol::Own);
    let mut pace = Pace::new(samples, 8_000);
    let key = Key::new(cipher, Protocol::Own, PHRASE);
    let payload = vec![0x55; form.codec_bytes(samples)];
    let packet = Sound::seal(form, &payload, cipher, &key, LABEL);
    let (codec_bytes, wire_bytes) =
        (pace.bytes(payload.len()), pace.bytes(HEADER_LEN + form.encrypted_bytes(samples)));
    let run = move || {
        let packets = 0..pace.packets();
        packets.fold(0, |sum, _| {
            let done = match end {
                End::Sender => Sound::seal(form, &payload, cipher, &key, LABEL),
                End::Receiver => Sound::parse(&packet).map(|sound| sound.open(&key)).unwrap_or_default(),
            };
            sum ^ digest(&done)
        })
    };
    Work { name, end, codec_bytes, wire_bytes, run: Box::new(run) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_the_bytes_of_table_5_and_both_ends_of_each() {
        let all = work();
        let seen: Vec<_> =
            all.iter().map(|work| (work.name, work.end, work.codec_bytes, work.wire_bytes)).collect();
        for (number, name) in
            ["gsm blowfish", "gsm idea", "gsm des", "adpcm blowfish", "adpcm idea", "adpcm des"]
                .into_iter()
                .enumerate()
        {
            // 5 packets of 330 and 24 + 336 bytes; 8.2305 of 489 and 24 + 496.
            let (codec, wire) = if number < 3 { (1_650, 1_800) } else { (4_025, 4_280) };
            assert_eq!(seen[2 * number], (name, End::Sender, codec, wire));
            assert_eq!(seen[2 * number + 1], (name, End::Receiver, codec, wire));
        }
    }

    #[test]
    fn a_second_of_work_is_packets_that_the_tool_writes_and_reads() {
        // GSM has five packets a second: an odd number of equal digests is one of them.
        for mut work in work().into_iter().filter(|work| work.name.starts_with("gsm")) {
            let payload = vec![0x55; 330];
            let cipher = match work.name {
                "gsm idea" => Cipher::Idea,
                "gsm des" => Cipher::Des,
                _ => Cipher::Blowfish,
            };
            let key = Key::new(cipher, Protocol::Own, PHRASE);
            let want = match work.end {
                End::Sender => digest(&Sound::seal(Form::Gsm, &payload, cipher, &key, LABEL)),
                End::Receiver => digest(&payload),
            };
            assert_eq!((work.run)(), want, "{work:?}");
        }
    }
}
