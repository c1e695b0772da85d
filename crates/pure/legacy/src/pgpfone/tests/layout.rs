//! Bytes that were worked out by hand.

use crate::diffie_hellman::Prime;
use crate::pgpfone::agreement::offer;
use crate::pgpfone::cipher::counter;
use crate::pgpfone::packet::widen;
use crate::pgpfone::*;
use blowfish::Blowfish;
use blowfish::cipher::array::Array;
use blowfish::cipher::{BlockCipherEncrypt as _, KeyInit as _};
use guestright_voice::tool::ToolError;
use sha1::{Digest as _, Sha1};

/// Table 5 of paper D, and what goes over the network.
#[test]
fn packets_have_the_sizes_of_the_paper() {
    // 2 x 33 + 4, every 320 / 4410 s; 4 x 80 + 3 + 4, every 640 / 8000 s; lite: 2 x 29 + 4.
    let sizes = |codec: Codec| (codec.data_bytes(), codec.wire_bytes(), codec.packet().0);
    assert_eq!(sizes(Codec::Gsm4410), (70, 73, 72_562));
    assert_eq!(sizes(Codec::Adpcm), (327, 330, 80_000));
    assert_eq!(sizes(Codec::GsmLite4410), (62, 65, 72_562));
    let per_second = |codec: Codec| f64::from(codec.sample_rate()) / f64::from(codec.packet_samples());
    assert!((per_second(Codec::Gsm4410) - 13.8).abs() < 0.05);
    assert!((per_second(Codec::Adpcm) - 12.5).abs() < 1e-9);
    // The paper has GSM lite as 70 bytes too; it is 855 bytes a second, not 965.
    assert!((per_second(Codec::GsmLite4410) * 62.0 - 854.4).abs() < 0.1);
}

#[test]
fn every_codec_has_a_name_of_its_own() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_code(codec.code()), Some(codec));
        assert!(codec.data_bytes() <= DATA_MAX);
        let frames: usize = [2, 3, 4, 5, 6][match codec.sample_rate() {
            4_410 => 0,
            6_000 => 1,
            7_350 => 2,
            8_000 if codec != Codec::Adpcm => 3,
            11_025 => 4,
            _ => 2,
        }];
        assert_eq!(codec.frames(), frames);
    }
    assert_eq!(Codec::from_code(*b"VOXW"), None);
}

#[test]
fn a_message_ends_in_its_checksum() {
    // The known check value of CRC-32, not inverted at the end.
    assert_eq!(checksum(b"123456789"), !0xcbf4_3926);
    let packet = Packet { kind: Kind::Control, sequence: 0x0102, data: &[4] };
    let datagram = packet.emit();
    assert_eq!(datagram[..4], [128, 1, 2, 4]);
    assert_eq!(datagram[4..], checksum(&[128, 1, 2, 4]).to_be_bytes());
    assert_eq!(Packet::parse(&datagram), Ok(packet));
    for offset in 1..datagram.len() {
        let mut changed = datagram.clone();
        changed[offset] ^= 0x10;
        assert_eq!(Packet::parse(&changed), Err(ToolError::Forged));
    }
    // Sound has none.
    let sound = Packet { kind: Kind::Voice, sequence: 0xfffe, data: &[7; 70] };
    assert_eq!(sound.emit().len(), 73);
    assert_eq!(sound.emit()[..4], [2, 0xff, 0xfe, 7]);
    assert_eq!(Packet::parse(&sound.emit()), Ok(sound));
}

#[test]
fn what_is_too_long_or_short_is_no_packet() {
    for bytes in
        [&[][..], &[2], &[2, 0], &[5, 0, 0, 1], &[131, 0, 0, 0, 0, 0, 0], &[0, 1, 2], &[128, 0, 0, 1, 2, 3]]
    {
        assert!(matches!(Packet::parse(bytes), Err(ToolError::Malformed(_))), "{bytes:?}");
    }
    let long = Packet { kind: Kind::Voice, sequence: 0, data: &[0; DATA_MAX + 1] }.emit();
    assert!(Packet::parse(&long).is_err());
    assert!(Packet::parse(&long[..long.len() - 1]).is_ok());
}

#[test]
fn set_up_has_two_bytes() {
    assert_eq!(Setup::Call.emit(), [0, 1]);
    assert_eq!(Setup::Busy.emit(), [0, 2]);
    assert_eq!(Setup::Accept.emit(), [0, 7]);
    // With a name behind it.
    assert_eq!(Setup::parse(b"\0\x01\x03Bob"), Ok(Setup::Call));
    assert!(Setup::parse(&[0]).is_err() && Setup::parse(&[0, 8]).is_err() && Setup::parse(&[0, 0]).is_err());
}

#[test]
fn a_hello_is_a_list_of_items() {
    let hello = Hello {
        version: [0, 0],
        name: Some("Bob".to_owned()),
        hash: Some(*b"SHA1"),
        salt: [1, 2, 3, 4, 5, 6, 7, 8],
        primes: vec![[9; 8]],
        ciphers: vec![*b"CAST", *b"BLOW"],
    };
    let want = [
        &[0][..],
        &[0, 2, 0, 0],
        b"\x01\x03Bob",
        b"\x02\x04SHA1",
        &[3, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9],
        b"\x04\x08CASTBLOW",
    ]
    .concat();
    assert_eq!(Control::Hello(hello.clone()).emit(), want);
    assert_eq!(Control::parse(&want), Ok(Control::Hello(hello)));
    // An item that nobody knows is skipped; one that is longer than the message is not.
    let more = [&want[..], &[99, 2, 1, 1]].concat();
    assert_eq!(Control::parse(&more), Control::parse(&want));
    assert!(Control::parse(&[&want[..], &[99, 3, 1, 1]].concat()).is_err());
    assert!(Control::parse(&[&want[..], &[99]].concat()).is_err());
}

#[test]
fn the_other_messages() {
    let cases = [
        (Control::Commitment([7; 20]), [&[1][..], &[7; 20]].concat()),
        (Control::Public(vec![5, 6, 7]), vec![2, 0, 3, 5, 6, 7]),
        (Control::Hangup, vec![4]),
        (Control::OpenVoice(*b"GSM4"), b"\x05GSM4".to_vec()),
        (Control::SwitchVoice(*b"ADP8"), b"\x06ADP8".to_vec()),
        (Control::Talk, vec![7]),
        (Control::Listen, vec![8]),
        (
            Control::Info(Info {
                name: Some("Al".to_owned()),
                encoders: vec![*b"GSM4"],
                decoders: vec![*b"GSM4", *b"ADP8"],
                is_duplex: true,
                has_words: true,
                authentication_bytes: Some(4),
            }),
            b"\x03\x01\x02Al\x0c\x01\x00\x07\x01\x01\x0a\x01\x01\x09\x01\x04\x05\x04GSM4\x06\x08GSM4ADP8"
                .to_vec(),
        ),
    ];
    for (message, bytes) in cases {
        assert_eq!(message.emit(), bytes, "{message:?}");
        assert_eq!(Control::parse(&bytes), Ok(message));
    }
    assert!(Control::parse(&[]).is_err() && Control::parse(&[9]).is_err());
    assert!(Control::parse(&[2, 0, 4, 5, 6, 7]).is_err() && Control::parse(&[1, 7]).is_err());
}

#[test]
fn a_name_obeys_no_terminal_and_is_short() {
    let named = |name: &[u8]| {
        let item = [&[0, 1, u8::try_from(name.len()).unwrap()], name].concat();
        match Control::parse(&item) {
            Ok(Control::Hello(hello)) => hello.name,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(named(b"\x1b[2JBob\n").as_deref(), Some("[2JBob"));
    assert_eq!(named(&[b'a'; 200]).map(|name| name.len()), Some(NAME_MAX));
    assert_eq!(named(b"\n"), None);
    // Never half a letter.
    let info = Info { name: Some("ä".repeat(40)), ..Info::default() };
    let bytes = Control::Info(info).emit();
    assert_eq!(bytes[2], 62);
}

#[test]
fn a_prime_is_offered_as_a_hash_behind_a_salt() {
    let salt = *b"saltsalt";
    let hashed = [&salt[..], &[2], &Prime::PgpFone1024.to_bytes()].concat();
    assert_eq!(offer(&salt, Prime::PgpFone1024)[..], Sha1::digest(hashed)[..8]);
}

#[test]
fn the_counter_is_type_and_number_and_block() {
    assert_eq!(counter(2, 0x0102_0304, 0x0506), [2, 0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(counter(129, u32::MAX, 0), [129, 0, 255, 255, 255, 255, 0, 0]);
}

fn stream(cipher: Cipher, kind: u8, sequence: u32, len: usize) -> Vec<u8> {
    let key: Vec<u8> = (1..=24).collect();
    let mut bytes = vec![0; len];
    CounterMode::new(cipher, &key[..cipher.key_len()]).unwrap().apply(kind, sequence, &mut bytes);
    bytes
}

/// Against OpenSSL 3.0: `openssl enc -des-ede3 -nopad -K 0102..18` and `-cast5-ecb -K 0102..10`, of the two counters
/// `0200000000070000` and `0200000000070001`.
#[test]
fn the_stream_is_the_encrypted_counter() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&stream(Cipher::TripleDes, 2, 7, 13)), "20471612a516ff0009f866bdcb");
    assert_eq!(hex(&stream(Cipher::Cast5, 2, 7, 13)), "d7812ef27d550932a9d839cdf7");
    let key: Vec<u8> = (1..=24).collect();
    let mut block = Array::from(counter(2, 7, 1));
    <Blowfish>::new_from_slice(&key).unwrap().encrypt_block(&mut block);
    assert_eq!(stream(Cipher::Blowfish, 2, 7, 13)[8..], block[..5]);
}

#[test]
fn a_key_of_another_length_is_none() {
    for cipher in Cipher::ALL {
        assert!(CounterMode::new(cipher, &[1; 15]).is_none() && CounterMode::new(cipher, &[]).is_none());
        let mode = CounterMode::new(cipher, &vec![0x77; cipher.key_len()]).unwrap();
        assert_eq!(format!("{mode:?}"), format!("CounterMode({cipher:?}, ..)"));
    }
}

#[test]
fn numbers_are_widened_by_the_shorter_way() {
    assert_eq!(widen(5, 0), Some(5));
    assert_eq!(widen(0, 65_535), Some(65_536));
    assert_eq!(widen(65_535, 65_536), Some(65_535));
    assert_eq!(widen(0x8000, 0x1_0000), Some(0x8000));
    assert_eq!(widen(0x7fff, 0x1_0000), Some(0x1_7fff));
    // Before the first, and after the last.
    assert_eq!(widen(65_535, 0), None);
    assert_eq!(widen(0, u32::MAX), None);
}

#[test]
fn what_a_second_costs_has_the_sizes_of_table_5() {
    let all = work();
    assert_eq!(all.len(), 18);
    let names: std::collections::BTreeSet<_> =
        all.iter().map(|work| (work.name, format!("{:?}", work.end))).collect();
    assert_eq!(names.len(), 18);
    let bytes = |name: &str| {
        let work = all.iter().find(|work| work.name == name).unwrap();
        (work.codec_bytes, work.wire_bytes)
    };
    assert_eq!(bytes("gsm 4410 cast5"), (910, 1_006));
    assert_eq!(bytes("gsm lite 4410 3des"), (799, 896));
    assert_eq!(bytes("adpcm blowfish"), (4_038, 4_125));
    for mut work in all {
        assert_ne!((work.run)(), (work.run)(), "{work:?}: each second has other numbers");
    }
}
