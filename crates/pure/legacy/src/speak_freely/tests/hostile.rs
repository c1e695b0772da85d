//! Bytes that anybody could send.

use super::{all, config, tool};
use crate::speak_freely::cipher::Key;
use crate::speak_freely::packet::{Label, Sound};
use crate::speak_freely::{Cipher, Form, Protocol, control, rtp};
use crate::testing::{Damage, address, frame};
use guestright_units::{Micros, Time};
use guestright_voice::playout;
use guestright_voice::session::Frame;
use guestright_voice::tool::Tool as _;
use guestright_wire::rtp::Header;
use proptest::prelude::*;

fn form() -> impl Strategy<Value = Form> {
    prop::sample::select(&Form::ALL[..])
}

fn cipher() -> impl Strategy<Value = Cipher> {
    prop::sample::select(&Cipher::ALL[..])
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600), flags in 0_u32..1 << 22) {
        for cipher in Cipher::ALL {
            let keys = [Protocol::Own, Protocol::Rtp].map(|protocol| Key::new(cipher, protocol, "x"));
            let mut marked = bytes.clone();
            if let Some(word) = marked.first_chunk_mut() {
                *word = (0x4000_0000 | flags).to_be_bytes();
            }
            for bytes in [&bytes, &marked] {
                if let Ok(sound) = Sound::parse(bytes) {
                    let form = sound.form;
                    prop_assert!(sound.open(&keys[0]).len() <= form.codec_bytes(1_800).max(490));
                }
                let _ = rtp::Sound::parse(bytes, &keys[1]);
                let _ = control::parse(bytes, Protocol::Own, &keys[0]);
                let _ = control::parse(bytes, Protocol::Rtp, &keys[1]);
            }
        }
    }

    #[test]
    fn what_is_written_is_read(
        form in form(), cipher in cipher(), frames in 1_usize..=10, number: Option<u8>, seed: u32,
        name in "[a-z]{0,15}",
    ) {
        let len = if form == Form::Adpcm { 489 - 8 * frames } else { form.codec_bytes(form.packet_samples(Protocol::Own)) / 10 * frames };
        let payload = frame(seed, len);
        let key = Key::new(cipher, Protocol::Own, "x");
        let packet = Sound::seal(form, &payload, cipher, &key, Label { name: &name, sequence: number });
        let sound = Sound::parse(&packet).unwrap();
        prop_assert_eq!((sound.form, sound.cipher, sound.sequence), (form, cipher, number));
        if let Some(read) = &sound.name {
            prop_assert_eq!(read, &name);
        }
        prop_assert_eq!(sound.open(&key), payload);
    }

    #[test]
    fn what_is_written_in_rtp_mode_is_read(
        is_gsm: bool, is_encrypted: bool, frames in 1_usize..=6, seed: u32, sequence: u16, timestamp: u32, ssrc: u32,
    ) {
        let (form, payload_type, len) = if is_gsm { (Form::Gsm, 3, 33 * frames) } else { (Form::Adpcm, 5, 3 + 40 * frames) };
        let header = Header { marker: false, payload_type, sequence, timestamp, ssrc };
        let sound = rtp::Sound { header, form, payload: frame(seed, len) };
        let cipher = if is_encrypted { Cipher::Des } else { Cipher::None };
        let key = Key::new(cipher, Protocol::Rtp, "x");
        let packet = sound.emit(&key);
        prop_assert!(!is_encrypted || packet.len().is_multiple_of(8));
        prop_assert_eq!(rtp::Sound::parse(&packet, &key), Ok(sound));
    }

    #[test]
    fn a_tool_lives_through_packets_that_somebody_has_changed(
        kind in 0_usize..16, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u64..400_000), 1..40),
    ) {
        let (form, protocol, cipher) = all().nth(kind).unwrap();
        let mut caller = tool(config(0, form, protocol, cipher), 1);
        let mut callee = tool(config(1, form, protocol, cipher), 2);
        let bytes = form.codec_bytes(form.packet_samples(protocol));
        let mut now = Time(0);
        for (number, (index, with, later)) in changes.into_iter().enumerate() {
            now = now + Micros(later);
            let payload = frame(u32::try_from(number).unwrap(), bytes);
            let duration = Micros(100_000);
            let frame = Frame { payload: &payload, duration, is_speech: true, noise_level: 60 };
            Damage { index, with }.pass([&mut caller, &mut callee], &frame, now);
            callee.handle_timeout(now);
            if let playout::Sound::Play { payload, .. } = callee.poll_sound(now).sound {
                prop_assert!(form.samples(payload.len()).is_some());
            }
        }
        prop_assert!(callee.summary().playout.received < 100);
    }
}

#[test]
fn a_flood_of_good_packets_fills_nothing() {
    let mut callee = tool(config(1, Form::Gsm, Protocol::Own, Cipher::None), 2);
    let key = Key::new(Cipher::None, Protocol::Own, "");
    for number in 0..600 {
        let packet = Sound::seal(Form::Gsm, &frame(number, 330), Cipher::None, &key, Label::default());
        callee.handle_datagram(&packet, address(0), Time(0)).unwrap();
    }
    let played = |output: playout::Output| matches!(output.sound, playout::Sound::Play { .. });
    let held = (0..600).filter(|_| played(callee.poll_sound(Time(500_000)))).count();
    assert!(held <= 12, "{held}: what is held has a limit in time");
    assert_eq!(callee.summary().playout.received, 600);
    assert!(std::iter::from_fn(|| callee.poll_received()).count() <= 256);
}
