//! What comes to the tools of paper D, which protect nothing: a key says nothing about who made a datagram.

use guestright_legacy::diffie_hellman::Prime;
use guestright_legacy::nautilus::message::{Message, Offer};
use guestright_legacy::nautilus::{self, CODEC_BYTES, KeyAgreement, Nautilus};
use guestright_legacy::speak_freely::cipher::Key;
use guestright_legacy::speak_freely::packet::{Label, Sound};
use guestright_legacy::speak_freely::{Cipher, Config, Form, Protocol, SpeakFreely, rtp};
use guestright_units::{Micros, Seed as Chance, Time};
use guestright_voice::playout;
use guestright_voice::tool::{Side, Tool};
use guestright_wire::rtp::Header;
use std::net::SocketAddr;

use crate::seeds::Seed;

const START: Time = Time(1_700_000_000_000_000);

fn peer() -> SocketAddr {
    ([192, 0, 2, 1], 2_074).into()
}

/// What can be said of any tool, whatever comes: it lives, and plays no more packets than came.
fn feed(tool: &mut dyn Tool, datagrams: &[&[u8]], plays: impl Fn(&[u8]) -> bool) {
    let (mut came, mut played) = (0, 0);
    for (number, datagram) in (0..).zip(datagrams) {
        let now = START + Micros(number * 50_000);
        came += u32::from(tool.handle_datagram(datagram, peer(), now).is_ok());
        tool.handle_timeout(now);
        if let playout::Sound::Play { payload, .. } = tool.poll_sound(now).sound {
            assert!(plays(&payload), "played what no codec makes: {} bytes", payload.len());
            played += 1;
        }
        assert!(played <= came, "played more than came");
        while tool.poll_transmit().is_some() || tool.poll_event().is_some() || tool.poll_received().is_some()
        {
        }
        assert!(tool.poll_timeout().is_none_or(|at| at > now), "a time that has passed already");
    }
}

/// Datagrams with two bytes of length before each; the last has what is left.
fn datagrams(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (datagram, rest) = rest.split_at(length);
        all.push(datagram);
        bytes = rest;
    }
    all
}

/// A packet of Speak Freely is read whole or not at all, gives no more sound than it may have, and what is written of that
/// sound is read as the same. The first byte says which codec, cipher and protocol a tool has that gets them all.
pub fn speak_freely(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let (choice, all) = (usize::from(*choice), datagrams(bytes));
    let form = Form::ALL[choice % 3];
    let cipher = Cipher::ALL[choice / 3 % 4];
    let protocol = if choice / 12 % 2 == 0 { Protocol::Own } else { Protocol::Rtp };
    for datagram in &all {
        if let Ok(sound) = Sound::parse(datagram) {
            let (form, cipher, sequence, name) =
                (sound.form, sound.cipher, sound.sequence, sound.name.clone());
            let key = Key::new(cipher, Protocol::Own, "fuzz");
            let payload = sound.open(&key);
            assert!(payload.len() <= 490 && form.samples(payload.len()).is_some());
            let label = Label { name: name.as_deref().unwrap_or_default(), sequence };
            let again =
                Sound::parse(&Sound::seal(form, &payload, cipher, &key, label)).expect("what we write");
            assert_eq!((again.form, again.cipher, again.sequence), (form, cipher, sequence));
            assert_eq!(again.open(&key), payload);
        }
        let key = Key::new(cipher, Protocol::Rtp, "fuzz");
        if let Ok(sound) = rtp::Sound::parse(datagram, &key) {
            assert_eq!(rtp::Sound::parse(&sound.emit(&key), &key), Ok(sound));
        }
    }
    let config =
        Config { cipher, phrase: "fuzz".to_owned().into(), ..Config::new(Side::Callee, form, protocol) };
    // Not every choice is one that the tool has.
    if let Ok(mut tool) = SpeakFreely::new(config, &Chance::from_number(1), START) {
        feed(&mut tool, &all, |payload| form.samples(payload.len()).is_some());
    }
}

/// A message of Nautilus is read as what it would be written as. The first byte says which cipher and kind of key a tool
/// has that gets them all, and whether it has agreed with somebody before.
pub fn nautilus(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let (choice, all) = (usize::from(*choice), datagrams(bytes));
    for datagram in &all {
        if let Ok(message) = Message::parse(datagram) {
            assert_eq!(message.emit(), *datagram);
        }
    }
    let cipher = nautilus::Cipher::ALL[choice % 3];
    let begin = |side, seed| {
        let agreement = if choice / 3 % 8 == 7 {
            KeyAgreement::DiffieHellman(Prime::Oakley768)
        } else {
            KeyAgreement::PassPhrase("fuzz".to_owned().into())
        };
        let config = nautilus::Config { cipher, ..nautilus::Config::new(side, agreement) };
        Nautilus::new(config, &Chance::from_number(seed), START).expect("a phrase that is not empty")
    };
    let mut callee = begin(Side::Callee, 1);
    if choice / 24 % 2 == 1 {
        let here = ([192, 0, 2, 2], 2_074).into();
        let mut caller = begin(Side::Caller { to: here }, 2);
        while let Some(transmit) = caller.poll_transmit() {
            callee.handle_datagram(&transmit.bytes, peer(), START).expect("in turn");
            while let Some(reply) = callee.poll_transmit() {
                caller.handle_datagram(&reply.bytes, here, START).expect("in turn");
            }
        }
        assert!(callee.is_ready());
    }
    let was_ready = callee.is_ready();
    feed(&mut callee, &all, |payload| payload.len() == CODEC_BYTES);
    assert!(was_ready || !callee.is_ready(), "agreed with nobody");
}

/// One input for each kind of packet.
pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let framed = |choice: u8, datagrams: &[Vec<u8>]| {
        let mut all = vec![choice];
        for datagram in datagrams {
            all.extend(u16::try_from(datagram.len()).expect("short").to_be_bytes());
            all.extend(datagram);
        }
        all
    };
    for (choice, form, cipher) in
        [(9, Form::Gsm, Cipher::Blowfish), (4, Form::Adpcm, Cipher::Des), (8, Form::Lpc10, Cipher::Idea)]
    {
        let key = Key::new(cipher, Protocol::Own, "fuzz");
        let payload = vec![5; form.codec_bytes(form.packet_samples(Protocol::Own))];
        let packets = [None, Some(7)]
            .map(|sequence| Sound::seal(form, &payload, cipher, &key, Label { name: "fuzz", sequence }));
        seeds.push(("speak_freely", format!("own-{choice}"), framed(choice, &packets)));
    }
    let key = Key::new(Cipher::Des, Protocol::Rtp, "fuzz");
    let header = Header { payload_type: 3, ..Header::default() };
    let sound = rtp::Sound { header, form: Form::Gsm, payload: vec![5; 33] };
    seeds.push(("speak_freely", "rtp".to_owned(), framed(12 + 3, &[sound.emit(&key)])));
    let offer = |agreement, len| Offer { cipher: 0, agreement, nonce: [1; 16], public: vec![2; len] };
    let messages = [
        Message::Hello(offer(0, 0)),
        Message::Hello(offer(1, 96)),
        Message::Answer { offer: offer(0, 0), check: [3; 8] },
        Message::Confirm { check: [4; 8] },
        Message::Voice { number: 1, sound: [5; CODEC_BYTES] },
        Message::HangUp { sealed: [6; 8] },
    ]
    .map(|message| message.emit());
    seeds.push(("nautilus", "before".to_owned(), framed(0, &messages)));
    seeds.push(("nautilus", "in-a-call".to_owned(), framed(24, &messages)));
    seeds.push(("nautilus", "diffie-hellman".to_owned(), framed(21, &messages)));
}
