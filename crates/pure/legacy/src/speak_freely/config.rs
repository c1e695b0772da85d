use super::Cipher;
use crate::ciphers::padded_len;
use guestright_units::Micros;
use guestright_voice::tool::Side;
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// The name in a packet, in bytes; the sixteenth ends it.
pub const NAME_MAX: usize = 15;

/// Copies of each packet in robust mode.
pub const COPIES_MAX: u8 = 8;

/// What the sound is coded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// GSM 06.10: frames of 33 bytes and 20 ms.
    Gsm,
    /// IMA ADPCM: half a byte a sample, then the coder's state before the packet, 3 bytes.
    Adpcm,
    /// LPC-10: frames of 7 bytes and 22.5 ms. Not in RTP mode.
    Lpc10,
}

/// What is around the sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Its own packets.
    Own,
    /// RTP, as others understood it: GSM and DVI4 of 80 ms, DES over the whole packet.
    Rtp,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gsm, Self::Adpcm, Self::Lpc10];

    /// Samples in a packet, at 8 kHz: 1600, 972 or 1800 in its own protocol (`sound_packet` of `sfmike.c`), 640 in RTP.
    #[must_use]
    pub const fn packet_samples(self, protocol: Protocol) -> usize {
        match (protocol, self) {
            (Protocol::Own, Self::Gsm) => 1_600,
            (Protocol::Own, Self::Adpcm) => 972,
            (Protocol::Own, Self::Lpc10) => 1_800,
            (Protocol::Rtp, _) => 640,
        }
    }

    /// What the codec makes of a packet's samples, in bytes: frames alone, or half-bytes and state. This is what a
    /// [`Frame`](guestright_voice::session::Frame) has, and what is given out to be played.
    #[must_use]
    pub const fn codec_bytes(self, samples: usize) -> usize {
        match self {
            Self::Gsm => samples / 160 * 33,
            Self::Adpcm => samples / 2 + 3,
            Self::Lpc10 => samples / 180 * 7,
        }
    }

    /// The data of a packet of its own protocol with that many samples, before padding: GSM counts its samples first.
    #[must_use]
    pub const fn data_bytes(self, samples: usize) -> usize {
        self.codec_bytes(samples) + self.prefix()
    }

    /// Table 5 of paper D: what is encrypted of such a packet, in whole blocks.
    #[must_use]
    pub const fn encrypted_bytes(self, samples: usize) -> usize {
        padded_len(self.data_bytes(samples))
    }

    /// Samples in what the codec made, if a packet can have that length.
    #[must_use]
    pub const fn samples(self, codec_bytes: usize) -> Option<usize> {
        let samples = match self {
            Self::Gsm if codec_bytes.is_multiple_of(33) => codec_bytes / 33 * 160,
            Self::Adpcm if codec_bytes > 3 => (codec_bytes - 3) * 2,
            Self::Lpc10 if codec_bytes.is_multiple_of(7) => codec_bytes / 7 * 180,
            Self::Gsm | Self::Adpcm | Self::Lpc10 => 0,
        };
        if samples == 0 { None } else { Some(samples) }
    }

    pub(super) const fn prefix(self) -> usize {
        match self {
            Self::Gsm => 2,
            Self::Adpcm | Self::Lpc10 => 0,
        }
    }

    /// The type that tells what to decode; RTP's where RTP has one (RFC 3551, section 6).
    #[must_use]
    pub const fn payload_type(self) -> u8 {
        match self {
            Self::Gsm => 3,
            Self::Adpcm => 5,
            // None of RFC 3551: RTP mode has no LPC-10.
            Self::Lpc10 => 96,
        }
    }
}

#[derive(Clone)]
pub struct Config {
    pub side: Side,
    pub form: Form,
    /// What is around its sound.
    pub protocol: Protocol,
    /// What encrypts it.
    pub cipher: Cipher,
    /// What the key is made of.
    pub phrase: Zeroizing<String>,
    /// How often each packet is sent; above 1 it is robust mode, with numbers. 1 in RTP mode.
    pub copies: u8,
    /// What it calls itself, up to [`NAME_MAX`] bytes.
    pub name: String,
    /// How long sound is held before it is played, to take out jitter.
    pub hold: Micros,
    /// The call is over when nothing has come for so long.
    pub silence_max: Micros,
}

impl Config {
    /// Without a cipher, one copy of each packet, held for 200 ms, given up after 30 s.
    #[must_use]
    pub fn new(side: Side, form: Form, protocol: Protocol) -> Self {
        Self {
            side,
            form,
            protocol,
            cipher: Cipher::None,
            phrase: Zeroizing::default(),
            copies: 1,
            name: "guestright".to_owned(),
            hold: Micros::from_millis(200),
            silence_max: Micros::from_seconds(30),
        }
    }

    #[must_use]
    pub const fn packet_samples(&self) -> usize {
        self.form.packet_samples(self.protocol)
    }

    /// Sound in a packet.
    #[must_use]
    pub const fn packet(&self) -> Micros {
        Micros(self.packet_samples() as u64 * 125)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let is_rtp = self.protocol == Protocol::Rtp;
        if is_rtp && self.form == Form::Lpc10 {
            return Err(ConfigError::NotInRtp("LPC-10"));
        }
        if is_rtp && matches!(self.cipher, Cipher::Idea | Cipher::Blowfish) {
            return Err(ConfigError::NotInRtp(self.cipher.name()));
        }
        if is_rtp && self.copies != 1 {
            return Err(ConfigError::NotInRtp("robust mode"));
        }
        if !(1..=COPIES_MAX).contains(&self.copies) {
            return Err(ConfigError::Copies(self.copies));
        }
        if self.name.len() > NAME_MAX || self.name.contains('\0') {
            return Err(ConfigError::Name { got: self.name.len() });
        }
        if self.cipher != Cipher::None && self.phrase.is_empty() {
            return Err(ConfigError::NoPhrase(self.cipher.name()));
        }
        Ok(())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("side", &self.side)
            .field("form", &self.form)
            .field("protocol", &self.protocol)
            .field("cipher", &self.cipher)
            .field("copies", &self.copies)
            .finish_non_exhaustive()
    }
}

/// Why a call cannot be made like that.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// RTP mode has GSM and ADPCM, DES or nothing, and one copy of each packet.
    #[error("Speak Freely has no {0} in RTP mode; use its own protocol")]
    NotInRtp(&'static str),
    /// Between 1 and [`COPIES_MAX`].
    #[error("{0} copies of each packet; there can be 1 to {COPIES_MAX}")]
    Copies(u8),
    /// Longer than [`NAME_MAX`], or with a zero in it.
    #[error("the name has {got} bytes; it may have {NAME_MAX}, none of them zero")]
    Name { got: usize },
    /// A cipher needs one.
    #[error("{0} needs a pass phrase, the same at both ends")]
    NoPhrase(&'static str),
}
