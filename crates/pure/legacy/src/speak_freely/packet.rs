//! Packets of Speak Freely's own protocol (`speakfree.h`, `sfmike.c`, `sfspeaker.c`, version 7.6).
//!
//! ```text
//! flags u32 BE | name, 16 bytes, ends with a zero | length u32 BE | data
//! ```
//!
//! The length is that of the data without padding; data are padded to whole blocks if a cipher's flag is set. In robust
//! mode the highest byte of the length is a number. Packets of LPC-10 carry the last 16 bytes of their data in the place
//! of the name ("stuffing").

use super::cipher::{Cipher, Key};
use super::config::{Form, NAME_MAX};
use crate::ciphers::{self, padded_len};
use thiserror::Error;

/// Bytes before the data.
pub const HEADER_LEN: usize = 24;
const NAME_LEN: usize = 16;

/// Flags of a packet.
pub mod flags {
    /// Half the samples.
    pub const HALVED: u32 = 1;
    /// GSM 06.10.
    pub const GSM: u32 = 32;
    pub const DES: u32 = 64;
    /// A file of key bytes.
    pub const ONE_TIME_PAD: u32 = 128;
    pub const IDEA: u32 = 256;
    pub const ADPCM: u32 = 512;
    /// IDEA, with a key that PGP brought.
    pub const PGP: u32 = 1_024;
    /// A key that PGP encrypted.
    pub const PGP_KEY: u32 = 2_048;
    pub const LPC: u32 = 4_096;
    /// A part of a picture, or a request for one.
    pub const FACE: u32 = 8_192;
    /// GSM with runs of silence shortened.
    pub const VOX: u32 = 0x1_0000;
    /// LPC-10.
    pub const LPC10: u32 = 0x2_0000;
    /// Copies, with a number.
    pub const ROBUST: u32 = 0x4_0000;
    pub const BLOWFISH: u32 = 0x8_0000;
    pub const CELP: u32 = 0x10_0000;
    pub const AES: u32 = 0x20_0000;
    /// Between the two programs of one computer.
    pub const HALF_DUPLEX: u32 = 0x1000_0000;
    /// This protocol: the place of RTP's version, which is 1 then.
    pub const PROTOCOL: u32 = 0x4000_0000;

    /// What says that no sound is in it.
    pub const NOT_SOUND: u32 = FACE | PGP_KEY | HALF_DUPLEX;
    /// What says how the sound is coded.
    pub const CODED: u32 = HALVED | GSM | ADPCM | LPC | VOX | LPC10 | CELP;
    /// What says how it is encrypted.
    pub const ENCRYPTED: u32 = DES | ONE_TIME_PAD | IDEA | PGP | BLOWFISH | AES;
}

/// Why bytes are not a packet of sound that is understood here.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PacketError {
    /// Shorter than its header.
    #[error("{got} bytes; the header alone has {HEADER_LEN}")]
    Truncated {
        /// Bytes that came.
        got: usize,
    },
    /// The protocol's flag is missing.
    #[error("not of Speak Freely's protocol: the flags are {0:#010x}")]
    Protocol(u32),
    /// A picture, a key, or a word between programs.
    #[error("not sound: the flags are {0:#010x}")]
    NotSound(u32),
    /// No codec, several, or one that is not here.
    #[error("a codec that is not here, or several: the flags are {0:#010x}")]
    Codec(u32),
    /// Several ciphers, or one that is not here.
    #[error("a cipher that is not here, or several: the flags are {0:#010x}")]
    Encryption(u32),
    /// The header's length is not that of the packet, or no packet has it.
    #[error("the header says {declared} bytes of sound, in a packet of {got} bytes")]
    Length {
        /// What the header says.
        declared: usize,
        /// Bytes that came.
        got: usize,
    },
}

/// The sound of a packet: decrypted it is what a codec made, with a count before it where the codec is GSM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sound {
    pub form: Form,
    /// The cipher, from its flag.
    pub cipher: Cipher,
    /// The number in robust mode.
    pub sequence: Option<u8>,
    /// What the sender calls itself; nothing where sound is in its place.
    pub name: Option<String>,
    len: usize,
    data: Vec<u8>,
}

impl Sound {
    /// Reads a packet. Nothing is decrypted.
    ///
    /// # Errors
    /// [`PacketError`]. The tool's own test is the same: the length that is said has to be the length that came.
    pub fn parse(bytes: &[u8]) -> Result<Self, PacketError> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(PacketError::Truncated { got: bytes.len() });
        };
        let [f0, f1, f2, f3, name @ .., l0, l1, l2, l3] = header;
        let flags = u32::from_be_bytes([*f0, *f1, *f2, *f3]);
        if flags >> 30 != flags::PROTOCOL >> 30 {
            return Err(PacketError::Protocol(flags));
        }
        if flags & flags::NOT_SOUND != 0 {
            return Err(PacketError::NotSound(flags));
        }
        let form = form_of(flags).ok_or(PacketError::Codec(flags))?;
        let cipher = cipher_of(flags).ok_or(PacketError::Encryption(flags))?;
        let is_robust = flags & flags::ROBUST != 0;
        let (sequence, l0) = if is_robust { (Some(*l0), 0) } else { (None, *l0) };
        let declared = usize::try_from(u32::from_be_bytes([l0, *l1, *l2, *l3])).unwrap_or(usize::MAX);
        let wrong = PacketError::Length { declared, got: bytes.len() };
        // Before anything is done with the number: 489, 332 or 70 at most.
        if declared > longest(form)
            || declared < form.prefix()
            || form.samples(declared - form.prefix()).is_none()
        {
            return Err(wrong);
        }
        let is_stuffed = stuffs(form, declared);
        let sent = if cipher == Cipher::None { declared } else { padded_len(declared) };
        if body.len() + if is_stuffed { NAME_LEN } else { 0 } != sent {
            return Err(wrong);
        }
        let mut data = body.to_vec();
        if is_stuffed {
            data.extend_from_slice(name);
        }
        let name = if is_stuffed { None } else { read_name(name) };
        Ok(Self { form, cipher, sequence, name, len: declared, data })
    }

    /// What the codec made, decrypted. Whatever the key, it has the right length; with a wrong one it is noise.
    ///
    /// GSM counts its samples first: as in the tool, a count of none or more than 1,600 is read with its bytes swapped
    /// (old releases sent it so), and if that is no better, taken for 1,600.
    #[must_use]
    pub fn open(mut self, key: &Key) -> Vec<u8> {
        key.decrypt(&mut self.data);
        self.data.truncate(self.len);
        if self.form != Form::Gsm {
            return self.data;
        }
        let Some((count, frames)) = self.data.split_first_chunk::<2>() else { return Vec::new() };
        let is_count = |count: &u16| (1..=SAMPLES_MAX).contains(count);
        let count = [u16::from_be_bytes(*count), u16::from_le_bytes(*count)].into_iter().find(is_count);
        let used = usize::from(count.unwrap_or(SAMPLES_MAX)).div_ceil(160) * 33;
        frames[..used.min(frames.len())].to_vec()
    }

    /// Writes a packet of what the codec made: encrypted, padded, numbered if there is a number.
    #[must_use]
    pub fn seal(form: Form, payload: &[u8], cipher: Cipher, key: &Key, label: Label<'_>) -> Vec<u8> {
        let mut packet = vec![0; HEADER_LEN];
        let samples = form.samples(payload.len()).unwrap_or_default();
        if form == Form::Gsm {
            let count = u16::try_from(samples).unwrap_or(SAMPLES_MAX);
            packet.extend_from_slice(&count.to_be_bytes());
        }
        packet.extend_from_slice(payload);
        let len = packet.len() - HEADER_LEN;
        if cipher != Cipher::None {
            packet.resize(HEADER_LEN + ciphers::padded_len(len), 0);
            key.encrypt(&mut packet[HEADER_LEN..]);
        }
        let mut flags = flags::PROTOCOL | flag_of_form(form) | flag_of_cipher(cipher);
        let mut declared = u32::try_from(len).unwrap_or(u32::MAX) & 0x00ff_ffff;
        if let Some(sequence) = label.sequence {
            flags |= flags::ROBUST;
            declared |= u32::from(sequence) << 24;
        }
        packet[..4].copy_from_slice(&flags.to_be_bytes());
        packet[20..HEADER_LEN].copy_from_slice(&declared.to_be_bytes());
        if stuffs(form, len) {
            let last = packet.split_off(packet.len() - NAME_LEN);
            packet[4..20].copy_from_slice(&last);
        } else {
            let name = label.name.as_bytes();
            let name = &name[..name.len().min(NAME_MAX)];
            packet[4..4 + name.len()].copy_from_slice(name);
        }
        packet
    }
}

/// What a packet is labelled with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label<'a> {
    /// What the sender calls itself: the first [`NAME_MAX`] bytes of it are sent, except with LPC-10.
    pub name: &'a str,
    /// The number, in robust mode.
    pub sequence: Option<u8>,
}

/// GSM's count is never more.
const SAMPLES_MAX: u16 = 1_600;

/// The longest data that the tool takes, before padding: 332, 490 or 70 bytes.
const fn longest(form: Form) -> usize {
    match form {
        Form::Gsm => 332,
        Form::Adpcm => 490,
        Form::Lpc10 => 70,
    }
}

/// Whether the last 16 bytes are in the name's place.
const fn stuffs(form: Form, len: usize) -> bool {
    matches!(form, Form::Lpc10) && len >= NAME_LEN
}

fn read_name(name: &[u8]) -> Option<String> {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let printable = name[..end].iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    if end == 0 || !printable {
        return None;
    }
    std::str::from_utf8(&name[..end]).ok().map(str::to_owned)
}

fn form_of(flags: u32) -> Option<Form> {
    Form::ALL.into_iter().find(|form| flags & flags::CODED == flag_of_form(*form))
}

fn cipher_of(flags: u32) -> Option<Cipher> {
    Cipher::ALL.into_iter().find(|cipher| flags & flags::ENCRYPTED == flag_of_cipher(*cipher))
}

const fn flag_of_form(form: Form) -> u32 {
    match form {
        Form::Gsm => flags::GSM,
        Form::Adpcm => flags::ADPCM,
        Form::Lpc10 => flags::LPC10,
    }
}

const fn flag_of_cipher(cipher: Cipher) -> u32 {
    match cipher {
        Cipher::None => 0,
        Cipher::Des => flags::DES,
        Cipher::Idea => flags::IDEA,
        Cipher::Blowfish => flags::BLOWFISH,
    }
}
