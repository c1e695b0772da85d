//! One direction of a call without a clock or a wire: a seal that talks, and one that listens.

use guestright_boat::modern::{self, Cipher, Modern};
use guestright_boat::{Audio, Content, Message, Opened, Seal, SealError, Step};
use guestright_legacy::boat::{Config, Legacy, SharedKey};
use guestright_units::{Seed, Time};
use guestright_voice::agreement::Role;
use zeroize::Zeroizing;

/// Both ends of a direction, whatever protects it.
pub(crate) struct Pair<S> {
    pub(crate) talker: S,
    pub(crate) listener: S,
    pub(crate) phase: u32,
    pub(crate) now: Time,
}

/// As printed, with a first key.
pub(crate) fn legacy(config: Config, seed: u64) -> Pair<Legacy> {
    let shared = SharedKey::from_pass_phrase(crate::wire::PASS_PHRASE);
    let [talker, listener] = [true, false].map(|is_caller| {
        Legacy::new(config, shared.clone(), is_caller, &Seed::from_number(seed * 2 + u64::from(is_caller)))
    });
    let mut pair = Pair { talker, listener, phase: 0, now: Time(0) };
    pair.change_key();
    pair
}

/// What the sides of a modern call begin with.
pub(crate) const SHARED: [u8; 32] = [0x5a; 32];

/// Today's, with a phase of fresh keys each time.
pub(crate) fn modern(cipher: Cipher, seed: u64) -> Pair<Modern> {
    let config = modern::Config { cipher, healing_interval: 1 };
    let [talker, listener] = [Role::Caller, Role::Callee].map(|role| {
        let number = seed * 2 + u64::from(role == Role::Caller);
        Modern::new(role, &Zeroizing::new(SHARED), config, &Seed::from_number(number))
    });
    Pair { talker, listener, phase: 0, now: Time(0) }
}

impl<S: Seal> Pair<S> {
    /// A datagram of the talker's.
    pub(crate) fn seal(&mut self, content: &Content) -> Vec<u8> {
        let mut datagram = Vec::new();
        self.talker.seal(content, crate::wire::PAYLOAD, self.now, &mut datagram).expect("it can be sealed");
        datagram
    }

    /// A datagram that came to the listener.
    pub(crate) fn open(&mut self, datagram: &[u8]) -> Result<Opened, SealError> {
        self.listener.open(datagram, self.now)
    }

    /// Sends one of the talker's messages to the listener.
    pub(crate) fn send(&mut self, step: Step, key: Vec<u8>) -> Message {
        let message = Message { phase: self.phase, step, key };
        let datagram = self.seal(&Content::Message(message));
        let opened = self.open(&datagram).expect("nobody has touched it");
        let Content::Message(message) = opened.content else { panic!("it was a message") };
        message
    }

    /// PROBE, RESPONSE and INSTALL; gives the key material of ACK, which may get lost.
    pub(crate) fn offer_key(&mut self) -> Vec<u8> {
        self.phase += 1;
        let probe = self.talker.probe(self.phase);
        let probe = self.send(Step::Probe { time: 1_000 }, probe);
        let response = self.listener.response(self.phase, &probe.key).expect("it answers");
        let install = self.talker.install(self.phase, &response).expect("it installs");
        let install = self.send(Step::Install { round_trip: 100 }, install);
        self.listener.ack(self.phase, &install.key).expect("it acknowledges")
    }

    /// A whole phase.
    pub(crate) fn change_key(&mut self) {
        let ack = self.offer_key();
        self.talker.complete(self.phase, &ack).expect("it completes");
    }
}

/// A packet of sound.
pub(crate) fn sound(timestamp: u32, payload: &[u8]) -> Content {
    Content::Audio(Audio { timestamp, starts_talkspurt: false, silence: 0, payload: payload.to_vec() })
}
