//! What the protection of `boat` costs: both ends of one direction, with everything that a second has.

use guestright_boat::modern::{Cipher, Config, Modern};
use guestright_boat::{Audio, Content, Message, Seal, Step};
use guestright_experiment::SettingError;
use guestright_receipt_cost::time_us;
use guestright_units::{Micros, Seed, Time};
use guestright_voice::agreement::Role;
use std::hint::black_box;
use std::str::FromStr;
use zeroize::Zeroizing;

/// Packets of 40 ms.
const PACKETS: u32 = 25;

/// `aes-128-gcm/850/16`: the cipher, the codec's bytes in a second, and every how many phases bring fresh X25519 keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Boat {
    config: Config,
    payload: usize,
}

/// What was measured, for each second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Sealing what one talks, in µs.
    pub(super) protect_us: f64,
    /// Both ends with whole phases, in µs.
    pub(super) both_us: f64,
    /// Bytes of the codec.
    pub(super) content_bytes: usize,
    /// UDP payload of both directions.
    pub(super) wire_bytes: usize,
}

impl FromStr for Boat {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let wanted = || {
            let reason = "wanted is boat/CIPHER/BYTES/EVERY, such as boat/aes-128-gcm/850/16: aes-128-gcm or \
                          chacha20-poly1305, 25 to 8000 bytes a second, X25519 in every 1st to 1000th phase";
            SettingError::unfit("protection", reason)
        };
        let mut parts = text.split('/');
        let mut part = || parts.next().ok_or_else(wanted);
        let name = part()?;
        let ciphers = [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305];
        let cipher = ciphers.into_iter().find(|cipher| cipher.name().eq_ignore_ascii_case(name));
        let bytes: usize = part()?.parse().map_err(|_| wanted())?;
        let healing_interval: u32 = part()?.parse().map_err(|_| wanted())?;
        let cipher = cipher.ok_or_else(wanted)?;
        if !(25..=8_000).contains(&bytes) || !(1..=1_000).contains(&healing_interval) {
            return Err(wanted());
        }
        Ok(Self { config: Config { cipher, healing_interval }, payload: bytes / PACKETS as usize })
    }
}

/// Two ends, and the clock between them.
struct Call {
    talker: Modern,
    listener: Modern,
    second: u32,
    payload: usize,
    datagram: Vec<u8>,
    wire_bytes: usize,
}

impl Call {
    fn new(boat: Boat, seed: &Seed) -> Self {
        let shared = Zeroizing::new(seed.0);
        Self {
            talker: Modern::new(Role::Caller, &shared, boat.config, seed),
            listener: Modern::new(Role::Callee, &shared, boat.config, seed),
            second: 0,
            payload: boat.payload,
            datagram: Vec::new(),
            wire_bytes: 0,
        }
    }

    fn now(&self, packet: u32) -> Time {
        Time(0)
            + Micros(u64::from(self.second) * 1_000_000 + u64::from(packet) * 1_000_000 / u64::from(PACKETS))
    }

    fn audio(&self, packet: u32) -> Content {
        let timestamp = self.second.wrapping_mul(8_000).wrapping_add(packet * 320);
        Content::Audio(Audio {
            timestamp,
            starts_talkspurt: false,
            silence: 0,
            payload: vec![0x55; self.payload],
        })
    }

    /// What a talker seals in a second: its sound, PROBE and INSTALL.
    fn seal_second(&mut self) {
        let key = self.talker.probe(self.second);
        let probe = Content::Message(Message { phase: self.second, step: Step::Probe { time: 0 }, key });
        let install = Message { phase: self.second, step: Step::Install { round_trip: 0 }, key: vec![0; 16] };
        for content in [probe, Content::Message(install)] {
            let sealed = self.talker.seal(&content, self.payload, self.now(0), &mut self.datagram);
            sealed.expect("keys are renewed each second");
        }
        self.talker.abandon(self.second);
        for packet in 0..PACKETS {
            let (audio, now) = (self.audio(packet), self.now(packet));
            let sealed = self.talker.seal(&audio, self.payload, now, &mut self.datagram);
            sealed.expect("keys are renewed each second");
            black_box(&self.datagram);
        }
        self.second += 1;
    }

    /// Both ends for a second: a whole phase, and the sound.
    fn second(&mut self) {
        let phase = self.second;
        let key = self.talker.probe(phase);
        let key = self.carry(true, Step::Probe { time: 0 }, key);
        let key = self.listener.response(phase, &key).expect("the key part of an honest talker");
        let key = self.carry(false, Step::Response { time: 0, held: 0 }, key);
        let key = self.talker.install(phase, &key).expect("the key part of an honest listener");
        let key = self.carry(true, Step::Install { round_trip: 0 }, key);
        let key = self.listener.ack(phase, &key).expect("the key part of an honest talker");
        let key = self.carry(false, Step::Ack { round_trip: 0 }, key);
        self.talker.complete(phase, &key).expect("the key part of an honest listener");
        for packet in 0..PACKETS {
            black_box(self.pass(true, &self.audio(packet), packet));
        }
        self.second += 1;
    }

    /// The key part of a message, once it has come through.
    fn carry(&mut self, is_talker: bool, step: Step, key: Vec<u8>) -> Vec<u8> {
        let message = Content::Message(Message { phase: self.second, step, key });
        match self.pass(is_talker, &message, 0) {
            Content::Message(message) => message.key,
            Content::Audio(_) | Content::Report(_) | Content::Cover | Content::Bye => Vec::new(),
        }
    }

    fn pass(&mut self, is_talker: bool, content: &Content, packet: u32) -> Content {
        let now = self.now(packet);
        let (from, to) = match is_talker {
            true => (&mut self.talker, &mut self.listener),
            false => (&mut self.listener, &mut self.talker),
        };
        from.seal(content, self.payload, now, &mut self.datagram).expect("keys are renewed each second");
        self.wire_bytes += self.datagram.len();
        to.open(&self.datagram, now).expect("it was sealed by the other end").content
    }
}

impl Boat {
    pub(super) fn measure(self, seed: &Seed) -> Measured {
        let interval = self.config.healing_interval;
        let mut call = Call::new(self, seed);
        let protect_us = time_us(|| (0..interval).for_each(|_| call.seal_second())) / f64::from(interval);
        let mut call = Call::new(self, seed);
        let both_us = time_us(|| (0..interval).for_each(|_| call.second())) / f64::from(interval);
        let wire_bytes = call.wire_bytes / call.second as usize;
        Measured { protect_us, both_us, content_bytes: PACKETS as usize * self.payload, wire_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_protected_second_by_second() {
        let boat: Boat = "aes-128-gcm/850/2".parse().unwrap();
        let mut call = Call::new(boat, &Seed::from_number(1));
        (0..10).for_each(|_| call.second());
        assert_eq!(call.talker.generations()[0], 5, "each second phase brings fresh keys");
        assert!(call.wire_bytes > 10 * 850);
    }

    #[test]
    fn names_are_read_strictly() {
        for wrong in
            ["", "aes-128-gcm", "aes-128-gcm/850", "rot13/850/1", "aes-128-gcm/0/1", "aes-128-gcm/850/0"]
        {
            assert_eq!(wrong.parse::<Boat>().unwrap_err().setting(), "protection", "{wrong}");
        }
    }
}
