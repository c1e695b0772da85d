//! What the tool cannot do, shown.

use super::{PHRASE, config, tool};
use crate::speak_freely::cipher::Key;
use crate::speak_freely::packet::{Label, Sound};
use crate::speak_freely::{Cipher, Config, Form, Protocol, SpeakFreely};
use crate::testing::{address, frame};
use guestright_units::{Micros, Time};
use guestright_voice::playout;
use guestright_voice::session::Frame;
use guestright_voice::tool::{Tool as _, ToolError};

const SECRET: [Cipher; 3] = [Cipher::Des, Cipher::Idea, Cipher::Blowfish];

fn send(tool: &mut SpeakFreely, payload: &[u8]) -> Vec<u8> {
    while tool.poll_transmit().is_some() {}
    let duration = Micros::from_millis(200);
    tool.handle_frame(&Frame { payload, duration, is_speech: true, noise_level: 60 }, Time(0));
    tool.poll_transmit().unwrap().bytes
}

fn played(tool: &mut SpeakFreely) -> Option<Vec<u8>> {
    let sounds = (0..100).map(|step| tool.poll_sound(Time(1_000_000 + step * 10_000)).sound);
    sounds
        .filter_map(
            |sound| if let playout::Sound::Play { payload, .. } = sound { Some(payload) } else { None },
        )
        .next()
}

fn own(end: usize, cipher: Cipher) -> Config {
    config(end, Form::Gsm, Protocol::Own, cipher)
}

#[test]
fn equal_packets_are_encrypted_equally_in_any_call_of_any_day() {
    for cipher in SECRET {
        let (mut today, mut tomorrow) = (tool(own(0, cipher), 1), tool(own(0, cipher), 2));
        let first = send(&mut today, &frame(1, 330));
        assert_eq!(send(&mut today, &frame(1, 330)), first, "{cipher:?}");
        assert_eq!(send(&mut tomorrow, &frame(1, 330)), first, "{cipher:?}");
        // Up to where they begin to differ, packets are equal too: the count of samples and six bytes of sound here.
        let mut other = frame(1, 330);
        other[6..].fill(0);
        assert_eq!(send(&mut today, &other)[24..32], first[24..32], "{cipher:?}");
    }
}

#[test]
fn rtp_mode_hides_equal_sound_behind_its_header() {
    let mut tool = tool(config(0, Form::Gsm, Protocol::Rtp, Cipher::Des), 1);
    let (first, second) = (send(&mut tool, &frame(1, 132)), send(&mut tool, &frame(1, 132)));
    assert!(first.iter().zip(&second).filter(|(one, other)| one == other).count() < 10);
}

#[test]
fn a_flipped_bit_comes_through() {
    for cipher in SECRET {
        let packet = send(&mut tool(own(0, cipher), 1), &frame(1, 330));
        let mut changed = packet.clone();
        changed[24 + 40] ^= 0x01;
        let mut callee = tool(own(1, cipher), 2);
        callee.handle_datagram(&changed, address(0), Time(0)).unwrap();
        let sound = played(&mut callee).unwrap();
        let differ: Vec<usize> =
            (0..330).filter(|index| sound[*index] != frame(1, 330)[*index]).map(|index| index + 2).collect();
        // The count is first. Of the chain this block is lost and the same bit of the next is turned; of feedback the bit
        // is turned here and the next block is lost.
        let (lost, turned) = if cipher == Cipher::Idea { (48..56, 40) } else { (40..48, 48) };
        assert!(differ.iter().all(|index| lost.contains(index) || *index == turned), "{cipher:?} {differ:?}");
        assert!(differ.contains(&turned) && differ.len() > 2, "{cipher:?} {differ:?}");
        assert_eq!(sound[turned - 2] ^ frame(1, 330)[turned - 2], 0x01, "{cipher:?}");
    }
}

#[test]
fn a_packet_of_an_old_call_is_played_in_a_new_one() {
    let packet = send(&mut tool(own(0, Cipher::Blowfish), 1), &frame(5, 330));
    let mut callee = tool(own(1, Cipher::Blowfish), 2);
    callee.handle_datagram(&packet, address(0), Time(0)).unwrap();
    assert_eq!(played(&mut callee), Some(frame(5, 330)));
}

#[test]
fn a_wrong_phrase_gives_noise_and_nobody_notices() {
    for cipher in SECRET {
        let mut caller = tool(own(0, cipher), 1);
        let wrong = Config { phrase: "another".to_owned().into(), ..own(1, cipher) };
        let mut callee = tool(wrong, 2);
        let packet = send(&mut caller, &frame(1, 330));
        callee.handle_datagram(&packet, address(0), Time(0)).unwrap();
        assert!(callee.poll_event().is_some(), "it says that it is connected");
        let noise = played(&mut callee).unwrap();
        assert_eq!(noise.len() % 33, 0, "{cipher:?}");
        let alike = noise.iter().zip(frame(1, 330)).filter(|(one, other)| **one == *other).count();
        assert!(alike < 20, "{cipher:?}: {alike} bytes are alike");
    }
}

#[test]
fn a_wrong_phrase_in_rtp_mode_is_refused_because_the_header_is_noise_too() {
    let mut caller = tool(config(0, Form::Gsm, Protocol::Rtp, Cipher::Des), 1);
    let wrong =
        Config { phrase: "another".to_owned().into(), ..config(1, Form::Gsm, Protocol::Rtp, Cipher::Des) };
    let mut callee = tool(wrong, 2);
    for number in 0..50 {
        let packet = send(&mut caller, &frame(number, 132));
        assert_eq!(callee.handle_datagram(&packet, address(0), Time(0)), Err(ToolError::Forged));
    }
    assert_eq!(callee.summary().refused, 50);
}

#[test]
fn sound_without_the_cipher_of_the_call_is_not_taken() {
    let key = Key::new(Cipher::None, Protocol::Own, PHRASE);
    let clear = Sound::seal(Form::Gsm, &frame(1, 330), Cipher::None, &key, Label::default());
    let mut callee = tool(own(1, Cipher::Blowfish), 2);
    assert_eq!(callee.handle_datagram(&clear, address(0), Time(0)), Err(ToolError::Forged));
    assert!(!callee.is_ready());
}
