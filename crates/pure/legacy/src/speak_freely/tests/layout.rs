//! Bytes, counted by hand from the source's structures.

use super::{PHRASE, config, tool};
use crate::ciphers::{ZERO_IV, cbc_decrypt, phrase};
use crate::speak_freely::cipher::Key;
use crate::speak_freely::control::{self, Control};
use crate::speak_freely::packet::{Label, PacketError, Sound};
use crate::speak_freely::{Cipher, ConfigError, Form, Protocol, SpeakFreely, rtp};
use blowfish::Blowfish;
use cbc::cipher::KeyInit as _;
use data_encoding::HEXLOWER_PERMISSIVE;
use guestright_units::{Seed, Time};
use guestright_wire::rtp::Header;

fn key(cipher: Cipher) -> Key {
    Key::new(cipher, Protocol::Own, PHRASE)
}

fn sealed(form: Form, payload: &[u8], cipher: Cipher, sequence: Option<u8>) -> Vec<u8> {
    Sound::seal(form, payload, cipher, &key(cipher), Label { name: "alice", sequence })
}

fn count(from: u8, len: usize) -> Vec<u8> {
    (0..len).map(|index| from.wrapping_add(u8::try_from(index % 256).unwrap())).collect()
}

#[test]
fn a_packet_of_gsm_has_flags_a_name_a_length_a_count_and_frames() {
    let frames = count(0, 330);
    let packet = sealed(Form::Gsm, &frames, Cipher::None, None);
    let mut want = vec![0x40, 0, 0, 0x20];
    want.extend_from_slice(b"alice\0\0\0\0\0\0\0\0\0\0\0");
    want.extend_from_slice(&[0, 0, 0x01, 0x4c, 0x06, 0x40]);
    want.extend_from_slice(&frames);
    assert_eq!(packet, want, "332 bytes of 1,600 samples");
    let sound = Sound::parse(&want).unwrap();
    assert_eq!((sound.form, sound.cipher, sound.sequence), (Form::Gsm, Cipher::None, None));
    assert_eq!(sound.name.as_deref(), Some("alice"));
    assert_eq!(sound.open(&key(Cipher::None)), frames);
}

#[test]
fn a_cipher_pads_the_data_and_leaves_the_length() {
    let frames = count(7, 330);
    let packet = sealed(Form::Gsm, &frames, Cipher::Blowfish, None);
    assert_eq!(packet[..4], [0x40, 0x08, 0, 0x20]);
    assert_eq!(packet[20..24], [0, 0, 0x01, 0x4c], "the length is that without padding");
    assert_eq!(packet.len(), 24 + 336);
    let cipher = Blowfish::new_from_slice(&*phrase::digest(PHRASE)).unwrap();
    let mut data = packet[24..].to_vec();
    cbc_decrypt::<Blowfish>(&cipher, ZERO_IV, data.as_chunks_mut().0);
    assert_eq!(data, [&[0x06, 0x40][..], &frames, &[0; 4]].concat());
}

#[test]
fn the_flags_name_codec_and_cipher() {
    let flags = |form: Form, cipher, sequence| {
        let payload = count(1, form.codec_bytes(form.packet_samples(Protocol::Own)));
        let packet = sealed(form, &payload, cipher, sequence);
        u32::from_be_bytes(*packet.first_chunk().unwrap())
    };
    assert_eq!(flags(Form::Adpcm, Cipher::Des, None), 0x4000_0240);
    assert_eq!(flags(Form::Gsm, Cipher::Idea, None), 0x4000_0120);
    assert_eq!(flags(Form::Lpc10, Cipher::Blowfish, None), 0x400a_0000);
    assert_eq!(flags(Form::Lpc10, Cipher::None, Some(3)), 0x4006_0000);
}

#[test]
fn the_number_of_robust_mode_is_the_highest_byte_of_the_length() {
    let packet = sealed(Form::Adpcm, &count(0, 489), Cipher::None, Some(0xfe));
    assert_eq!(packet[..4], [0x40, 0x04, 0x02, 0]);
    assert_eq!(packet[20..24], [0xfe, 0, 0x01, 0xe9], "489");
    assert_eq!(Sound::parse(&packet).unwrap().sequence, Some(0xfe));
}

#[test]
fn lpc10_has_its_last_16_bytes_in_the_place_of_the_name() {
    let frames = count(0, 70);
    let packet = sealed(Form::Lpc10, &frames, Cipher::None, None);
    assert_eq!(packet[4..20], frames[54..]);
    assert_eq!(packet[20..24], [0, 0, 0, 70]);
    assert_eq!(packet[24..], frames[..54]);
    let sound = Sound::parse(&packet).unwrap();
    assert_eq!(sound.name, None);
    assert_eq!(sound.open(&key(Cipher::None)), frames);
    // Encrypted there are 72 bytes, and the last 16 of them, with the padding, are moved.
    let packet = sealed(Form::Lpc10, &frames, Cipher::Idea, None);
    assert_eq!(packet.len(), 24 + 72 - 16);
    assert_eq!(Sound::parse(&packet).unwrap().open(&key(Cipher::Idea)), frames);
    // Two frames are fewer than 16 bytes, and the name stays.
    let packet = sealed(Form::Lpc10, &frames[..14], Cipher::None, None);
    assert_eq!((&packet[4..9], packet.len()), (&b"alice"[..], 24 + 14));
}

#[test]
fn packets_are_as_long_and_as_many_as_in_table_5() {
    let row = |form: Form| {
        let samples = form.packet_samples(Protocol::Own);
        let packet = sealed(form, &count(0, form.codec_bytes(samples)), Cipher::Des, None);
        (samples, form.data_bytes(samples), form.encrypted_bytes(samples), packet.len())
    };
    assert_eq!(row(Form::Gsm), (1_600, 332, 336, 24 + 336), "5 a second");
    assert_eq!(row(Form::Adpcm), (972, 489, 496, 24 + 496), "8.23 a second; the table says 8.4");
    assert_eq!(row(Form::Lpc10), (1_800, 70, 72, 24 + 72 - 16));
    assert_eq!(8_000 / 1_600, 5);
    assert_eq!(8_000 * 100 / 972, 823);
}

#[test]
fn a_count_that_cannot_be_is_read_as_the_tool_does() {
    let packet_with = |count: [u8; 2]| {
        let mut packet = sealed(Form::Gsm, &[9; 330], Cipher::None, None);
        packet[24..26].copy_from_slice(&count);
        Sound::parse(&packet).unwrap().open(&key(Cipher::None)).len()
    };
    assert_eq!(packet_with([0x06, 0x40]), 330);
    assert_eq!(packet_with([0x40, 0x06]), 330, "old releases swapped the bytes");
    assert_eq!(packet_with([0x01, 0x40]), 66, "320 samples are two frames");
    assert_eq!(packet_with([0, 0]), 330, "none is taken for all");
    assert_eq!(packet_with([0xff, 0xff]), 330);
}

#[test]
fn an_rtp_packet_of_gsm_has_no_count_and_is_encrypted_with_its_header() {
    let header = Header {
        marker: false,
        payload_type: 3,
        sequence: 0x1234,
        timestamp: 0x0102_0304,
        ssrc: 0xa1b2_c3d4,
    };
    let sound = rtp::Sound { header, form: Form::Gsm, payload: count(0, 132) };
    let clear = sound.emit(&Key::new(Cipher::None, Protocol::Rtp, ""));
    assert_eq!(clear[..12], [0x80, 3, 0x12, 0x34, 1, 2, 3, 4, 0xa1, 0xb2, 0xc3, 0xd4]);
    assert_eq!(clear[12..], sound.payload);
    let key = Key::new(Cipher::Des, Protocol::Rtp, PHRASE);
    let sealed = sound.emit(&key);
    assert_eq!(sealed.len(), 144, "whole blocks as it is");
    let mut opened = sealed.clone();
    let des = des::Des::new(&(*phrase::rtp(PHRASE)).into());
    cbc_decrypt(&des, ZERO_IV, opened.as_chunks_mut().0);
    assert_eq!(opened, clear);
    assert_eq!(rtp::Sound::parse(&sealed, &key), Ok(sound));
}

#[test]
fn an_rtp_packet_that_is_no_whole_blocks_is_padded_as_rtp_pads() {
    let header = Header { payload_type: 3, ..Header::default() };
    let sound = rtp::Sound { header, form: Form::Gsm, payload: count(0, 33) };
    let key = Key::new(Cipher::Des, Protocol::Rtp, PHRASE);
    let sealed = sound.emit(&key);
    let mut opened = sealed.clone();
    key.decrypt(&mut opened);
    assert_eq!((opened.len(), opened[0]), (48, 0xa0));
    assert_eq!(opened[45..], [0, 0, 3]);
    assert_eq!(rtp::Sound::parse(&sealed, &key), Ok(sound));
}

#[test]
fn dvi4_has_the_state_first() {
    let mut payload = count(0, 320);
    payload.extend_from_slice(&[0xab, 0xcd, 0x1f]);
    let sound = rtp::Sound {
        header: Header { payload_type: 5, ..Header::default() },
        form: Form::Adpcm,
        payload: payload.clone(),
    };
    let clear = sound.emit(&Key::new(Cipher::None, Protocol::Rtp, ""));
    assert_eq!(clear[12..16], [0xab, 0xcd, 0x1f, 0]);
    assert_eq!(clear[16..], payload[..320]);
    assert_eq!(rtp::Sound::parse(&clear, &Key::new(Cipher::None, Protocol::Rtp, "")), Ok(sound));
}

#[test]
fn a_control_packet_of_its_own_protocol_has_version_1_and_an_odd_number_of_words() {
    let here = Control::Here(Some("guestright".to_owned()));
    let bytes = control::emit(&here, 0x0102_0304, Protocol::Own, &key(Cipher::Des), [0xff; 4]);
    let mut want = vec![0x40, 201, 0, 1, 1, 2, 3, 4];
    // One source; 24 bytes: its number, item 1 of 10 bytes, a zero, and on to a whole word; then one word of padding.
    want.extend_from_slice(&[0x80 | 0x20 | 1, 202, 0, 6, 1, 2, 3, 4, 1, 10]);
    want.extend_from_slice(b"guestright\0\0\0\0\0\0\0\x04");
    assert_eq!(bytes.len(), 36);
    assert_eq!(bytes, want);
    assert_eq!(control::parse(&bytes, Protocol::Own, &key(Cipher::Des)), Some(here));
    let bye = control::emit(&Control::Goodbye, 7, Protocol::Own, &key(Cipher::Des), [0; 4]);
    assert_eq!(bye, [0x40, 201, 0, 1, 0, 0, 0, 7, 0xa1, 203, 0, 2, 0, 0, 0, 7, 0, 0, 0, 4]);
}

#[test]
fn a_control_packet_of_rtp_mode_is_encrypted_behind_four_random_bytes() {
    let key = Key::new(Cipher::Des, Protocol::Rtp, PHRASE);
    let mut bytes = control::emit(&Control::Goodbye, 7, Protocol::Rtp, &key, [0xff, 2, 3, 4]);
    assert_eq!(control::parse(&bytes, Protocol::Rtp, &key), Some(Control::Goodbye));
    let other = Key::new(Cipher::Des, Protocol::Rtp, "another");
    assert_eq!(control::parse(&bytes, Protocol::Rtp, &other), None);
    key.decrypt(&mut bytes);
    assert_eq!(bytes[..6], [0x3f, 2, 3, 4, 0x80, 201]);
    assert_eq!(bytes.len(), 24);
}

#[test]
fn what_is_not_sound_or_not_here_is_refused() {
    let good = sealed(Form::Gsm, &[1; 330], Cipher::None, None);
    let with = |flags: u32| {
        let mut packet = good.clone();
        packet[..4].copy_from_slice(&flags.to_be_bytes());
        Sound::parse(&packet)
    };
    assert_eq!(with(0x0000_0020), Err(PacketError::Protocol(0x20)));
    assert_eq!(with(0xc000_0020), Err(PacketError::Protocol(0xc000_0020)));
    assert_eq!(with(0x4000_2020), Err(PacketError::NotSound(0x4000_2020)));
    assert_eq!(with(0x4000_0220), Err(PacketError::Codec(0x4000_0220)), "two codecs");
    assert_eq!(with(0x4000_0021), Err(PacketError::Codec(0x4000_0021)), "half the samples");
    assert_eq!(with(0x4000_0000), Err(PacketError::Codec(0x4000_0000)), "none");
    assert_eq!(with(0x4020_0020), Err(PacketError::Encryption(0x4020_0020)), "AES");
    assert_eq!(with(0x4008_0060), Err(PacketError::Encryption(0x4008_0060)), "two ciphers");
    assert_eq!(with(0x4008_0020), Err(PacketError::Length { declared: 332, got: 356 }), "not padded");
    assert!(with(0x4000_4032).is_ok(), "debugging, looped back, a face offered: sound all the same");
    for shorter in 0..good.len() {
        assert!(Sound::parse(&good[..shorter]).is_err());
    }
    let mut longer = good.clone();
    longer[20..24].copy_from_slice(&[0, 0, 0x02, 0]);
    assert_eq!(Sound::parse(&longer), Err(PacketError::Length { declared: 512, got: 356 }));
}

#[test]
fn a_call_that_the_tool_could_not_make_is_refused() {
    let refused = |config| SpeakFreely::new(config, &Seed::from_number(1), Time(0)).unwrap_err();
    let rtp = |form, cipher| config(0, form, Protocol::Rtp, cipher);
    assert_eq!(refused(rtp(Form::Lpc10, Cipher::None)), ConfigError::NotInRtp("LPC-10"));
    assert_eq!(refused(rtp(Form::Gsm, Cipher::Idea)), ConfigError::NotInRtp("IDEA"));
    let own = || config(0, Form::Gsm, Protocol::Own, Cipher::Des);
    assert_eq!(refused(super::Config { copies: 0, ..own() }), ConfigError::Copies(0));
    assert_eq!(refused(super::Config { copies: 9, ..own() }), ConfigError::Copies(9));
    assert_eq!(refused(super::Config { name: "a".repeat(16), ..own() }), ConfigError::Name { got: 16 });
    assert_eq!(
        refused(super::Config { phrase: String::new().into(), ..own() }),
        ConfigError::NoPhrase("DES")
    );
    assert!(!format!("{:?}{:?}", own(), tool(own(), 1)).contains(PHRASE));
}

fn hex(text: &str) -> Vec<u8> {
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).unwrap()
}

#[test]
fn other_people_s_libraries_encrypt_the_same_packets_alike() {
    // Blowfish and DES by OpenSSL 3.0, IDEA by libgcrypt 1.10, of the same clear bytes under keys made by other code.
    let frames = count(0, 33);
    let data = |cipher| sealed(Form::Gsm, &frames, cipher, None)[24..].to_vec();
    let blowfish = "365c1ef6d70ee7fad31a489260e5ce60a312d1319d7088acc6803f921626aeb23a91b4c140e87b96";
    assert_eq!(data(Cipher::Blowfish), hex(blowfish));
    let idea = "991ffec549fedf61fdd9b01d2826f4e974269c8d30d280bb1b00e200c908cac14d01a8a8691eacd8";
    assert_eq!(data(Cipher::Idea), hex(idea));
    // DES block by block by OpenSSL, between the two permutations of FIPS 46-3 by their tables.
    let des = "038ed3118c11f74524dffe4025ba2e2e02264c5d8cd05c60b09aba9165072acfac224894cc476952";
    assert_eq!(data(Cipher::Des), hex(des));
    let header = Header { marker: false, payload_type: 3, sequence: 1, timestamp: 640, ssrc: 0x0102_03ab };
    let sound = rtp::Sound { header, form: Form::Gsm, payload: frames };
    let rtp =
        "b7f6f4e5ae8defac268012dcbdc024ac13b2d40b69e79fa6e2bf15dd2dee810de9072c6318973695249bb95e5e96eade";
    assert_eq!(sound.emit(&Key::new(Cipher::Des, Protocol::Rtp, PHRASE)), hex(rtp));
}
