//! What a datagram says, before RC4: `P` of Algorithm 1 with a byte in front, the "additional field" of section 3.2.1.

use super::envelope::{ENVELOPE, Envelope, Kind, Letter};
use guestright_boat::{Audio, Content, PAYLOAD_MAX, Report, SealError};
use rand::Rng;

const AUDIO: u8 = 0;
/// Set in the kind of a packet of sound that starts a talkspurt.
const STARTS_TALKSPURT: u8 = 0x80;
const COVER: u8 = 6;
const REPORT: u8 = 7;
const BYE: u8 = 8;
/// Timestamp and silence, between kind and payload.
pub(super) const AUDIO_HEADER: usize = 6;

/// Appends `content`, filled with random bytes to the length of a packet of sound with `room` bytes of codec.
///
/// # Errors
/// [`SealError::Unsealable`].
pub(super) fn write(
    content: &Content,
    room: usize,
    envelope: &Envelope,
    is_caller: bool,
    rng: &mut impl Rng,
    to: &mut Vec<u8>,
) -> Result<(), SealError> {
    let start = to.len();
    match content {
        Content::Audio(audio) => {
            if audio.payload.len() > PAYLOAD_MAX {
                return Err(SealError::Unsealable("a packet of sound has at most 1,024 bytes"));
            }
            to.push(AUDIO | if audio.starts_talkspurt { STARTS_TALKSPURT } else { 0 });
            to.extend_from_slice(&audio.timestamp.to_be_bytes());
            to.extend_from_slice(&audio.silence.to_be_bytes());
            to.extend_from_slice(&audio.payload);
            return Ok(());
        }
        Content::Message(message) => {
            write_letter(&Letter::of(message)?, room, envelope, is_caller, rng, to);
            return Ok(());
        }
        Content::Report(report) => {
            to.push(REPORT);
            for number in [report.number, report.expected, report.received, report.late, report.jitter_us] {
                to.extend_from_slice(&number.to_be_bytes());
            }
        }
        Content::Cover => to.push(COVER),
        Content::Bye => to.push(BYE),
    }
    fill(start, room, rng, to);
    Ok(())
}

/// Appends a letter in its envelope, filled likewise.
pub(super) fn write_letter(
    letter: &Letter,
    room: usize,
    envelope: &Envelope,
    is_caller: bool,
    rng: &mut impl Rng,
    to: &mut Vec<u8>,
) {
    let start = to.len();
    to.push(letter.kind as u8);
    envelope.close(letter, is_caller, rng, to);
    fill(start, room, rng, to);
}

/// Random bytes ("rubbish", section 3.2.1), so that what began at `start` is as long as a packet of sound.
fn fill(start: usize, room: usize, rng: &mut impl Rng, to: &mut Vec<u8>) {
    let from = to.len();
    let length = 1 + AUDIO_HEADER + room.min(PAYLOAD_MAX);
    if start + length > from {
        to.resize(start + length, 0);
        rng.fill_bytes(&mut to[from..]);
    }
}

/// Reads it.
///
/// # Errors
/// [`SealError::Malformed`]; [`SealError::Forged`] for an envelope that was not made with `K0`.
pub(super) fn read(plain: &[u8], envelope: &Envelope, from_caller: bool) -> Result<Content, SealError> {
    let (&kind, rest) = plain.split_first().ok_or(SealError::Malformed("it is empty"))?;
    if let Some(kind) = letter_kind(kind) {
        let letter = envelope.open(kind, from_caller, rest.get(..ENVELOPE).unwrap_or(rest))?;
        return Ok(letter.message().map_or(Content::Cover, Content::Message));
    }
    match kind {
        AUDIO | STARTS_TALKSPURT => read_audio(kind == STARTS_TALKSPURT, rest),
        COVER => Ok(Content::Cover),
        BYE => Ok(Content::Bye),
        REPORT => read_report(rest),
        _ => Err(SealError::Malformed("an unknown kind")),
    }
}

/// What kind of letter, if it is one.
pub(super) fn letter_kind(kind: u8) -> Option<Kind> {
    [Kind::Probe, Kind::Response, Kind::Install, Kind::Ack, Kind::Knock]
        .into_iter()
        .find(|known| *known as u8 == kind)
}

fn read_audio(starts_talkspurt: bool, rest: &[u8]) -> Result<Content, SealError> {
    let (header, payload) =
        rest.split_first_chunk::<AUDIO_HEADER>().ok_or(SealError::Malformed("sound without a timestamp"))?;
    if payload.len() > PAYLOAD_MAX {
        return Err(SealError::Malformed("a packet of sound has at most 1,024 bytes"));
    }
    let [a, b, c, d, e, f] = *header;
    Ok(Content::Audio(Audio {
        timestamp: u32::from_be_bytes([a, b, c, d]),
        starts_talkspurt,
        silence: u16::from_be_bytes([e, f]),
        payload: payload.to_vec(),
    }))
}

fn read_report(rest: &[u8]) -> Result<Content, SealError> {
    let numbers = rest.first_chunk::<20>().ok_or(SealError::Malformed("a report has five numbers"))?;
    let number =
        |at: usize| u32::from_be_bytes([numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]]);
    Ok(Content::Report(Report {
        number: number(0),
        expected: number(4),
        received: number(8),
        late: number(12),
        jitter_us: number(16),
    }))
}
