//! What is encrypted: the content, its type, and zeros up to the length that sound has.
//!
//! ```text
//! audio     timestamp u32 | silence u16 | the codec's bytes            type 1, or 2 at the start of a talkspurt
//! PROBE     phase | time u32 | key                                     type 3
//! RESPONSE  phase | time u32 | held u16 | key                          type 4
//! INSTALL   phase | round trip u32 | key                               type 5
//! ACK       phase | round trip u32 | key                               type 6
//! report    number u32 | expected u32 | received u32 | late u32 | jitter u32     type 7
//! cover     nothing                                                    type 8
//! goodbye   nothing                                                    type 9
//! ```
//!
//! The type stands behind the content, and behind it are zeros only (as in TLS 1.3, RFC 8446, section 5.2), so the length
//! is explicit and costs nothing. The length of a silence has its place in every packet of sound: otherwise the start of
//! a talkspurt would show in the length. A phase is written in groups of seven bits, the lowest first (LEB128): until
//! phase 16,384, that is for hours, PROBE and RESPONSE with a key of 32 bytes are no longer than sound of 34 bytes.

use crate::{Audio, Content, KEY_PART_MAX, Message, PAYLOAD_MAX, Report, SealError, Step};

/// What is around the codec's bytes in a packet of sound.
pub(super) const AUDIO_OVERHEAD: usize = 7;
/// The longest text: sound of [`PAYLOAD_MAX`] bytes.
pub(super) const TEXT_MAX: usize = PAYLOAD_MAX + AUDIO_OVERHEAD;

const AUDIO: u8 = 1;
const AUDIO_START: u8 = 2;
const PROBE: u8 = 3;
const RESPONSE: u8 = 4;
const INSTALL: u8 = 5;
const ACK: u8 = 6;
const REPORT: u8 = 7;
const COVER: u8 = 8;
const BYE: u8 = 9;

/// Appends the text for `content`. `room`: see [`Seal::seal`](crate::Seal::seal).
///
/// # Errors
/// [`SealError::Unsealable`]: it is too long.
pub(super) fn emit(content: &Content, room: usize, out: &mut Vec<u8>) -> Result<(), SealError> {
    match content {
        Content::Audio(audio) if audio.payload.len() > PAYLOAD_MAX => {
            return Err(SealError::Unsealable("a codec's packet of more than PAYLOAD_MAX bytes"));
        }
        Content::Message(message) if message.key.len() > KEY_PART_MAX => {
            return Err(SealError::Unsealable("key material of more than KEY_PART_MAX bytes"));
        }
        Content::Audio(_) | Content::Message(_) | Content::Report(_) | Content::Cover | Content::Bye => {}
    }
    let start = out.len();
    let kind = match content {
        Content::Audio(audio) => emit_audio(audio, out),
        Content::Message(message) => emit_message(message, out),
        Content::Report(report) => {
            for number in [report.number, report.expected, report.received, report.late, report.jitter_us] {
                out.extend_from_slice(&number.to_be_bytes());
            }
            REPORT
        }
        Content::Cover => COVER,
        Content::Bye => BYE,
    };
    out.push(kind);
    if !matches!(content, Content::Audio(_)) {
        let length = (out.len() - start).max(room.min(PAYLOAD_MAX) + AUDIO_OVERHEAD);
        out.resize(start + length, 0);
    }
    Ok(())
}

fn emit_audio(audio: &Audio, out: &mut Vec<u8>) -> u8 {
    let silence = if audio.starts_talkspurt { audio.silence } else { 0 };
    out.extend_from_slice(&audio.timestamp.to_be_bytes());
    out.extend_from_slice(&silence.to_be_bytes());
    out.extend_from_slice(&audio.payload);
    if audio.starts_talkspurt { AUDIO_START } else { AUDIO }
}

fn emit_message(message: &Message, out: &mut Vec<u8>) -> u8 {
    emit_phase(message.phase, out);
    let (kind, time) = match message.step {
        Step::Probe { time } => (PROBE, time),
        Step::Response { time, .. } => (RESPONSE, time),
        Step::Install { round_trip } => (INSTALL, round_trip),
        Step::Ack { round_trip } => (ACK, round_trip),
    };
    out.extend_from_slice(&time.to_be_bytes());
    if let Step::Response { held, .. } = message.step {
        out.extend_from_slice(&held.to_be_bytes());
    }
    out.extend_from_slice(&message.key);
    kind
}

fn emit_phase(mut phase: u32, out: &mut Vec<u8>) {
    loop {
        let group = u8::try_from(phase & 0x7f).expect("seven bits");
        phase >>= 7;
        if phase == 0 {
            out.push(group);
            return;
        }
        out.push(group | 0x80);
    }
}

/// Reads a text that was decrypted.
///
/// # Errors
/// [`SealError::Malformed`].
pub(super) fn parse(text: &[u8]) -> Result<Content, SealError> {
    if text.len() > TEXT_MAX {
        return Err(SealError::Malformed("longer than any sound"));
    }
    let end = text.iter().rposition(|byte| *byte != 0).ok_or(SealError::Malformed("nothing but zeros"))?;
    let (kind, mut body) = (text[end], &text[..end]);
    let body = &mut body;
    match kind {
        AUDIO | AUDIO_START if text.len() != end + 1 => Err(SealError::Malformed("sound with padding")),
        AUDIO | AUDIO_START => parse_audio(kind == AUDIO_START, body).map(Content::Audio),
        PROBE | RESPONSE | INSTALL | ACK => parse_message(kind, body).map(Content::Message),
        REPORT => {
            let report = Report {
                number: number(body)?,
                expected: number(body)?,
                received: number(body)?,
                late: number(body)?,
                jitter_us: number(body)?,
            };
            whole(body, Content::Report(report))
        }
        COVER => whole(body, Content::Cover),
        BYE => whole(body, Content::Bye),
        _ => Err(SealError::Malformed("an unknown type of content")),
    }
}

/// Whether these bytes have the form of content before it is encrypted, and would be written the same, but for the number
/// of zeros at the end.
#[must_use]
pub fn parses(text: &[u8]) -> bool {
    let mut again = Vec::new();
    let Ok(content) = parse(text) else { return false };
    emit(&content, 0, &mut again).expect("what was read is not too long");
    let end = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != 0);
    again[..=end(&again).expect("a type is not 0")] == text[..=end(text).expect("a type is not 0")]
}

fn parse_audio(starts_talkspurt: bool, body: &mut &[u8]) -> Result<Audio, SealError> {
    let timestamp = number(body)?;
    let silence = u16::from_be_bytes(read_array(body)?);
    if !starts_talkspurt && silence != 0 {
        return Err(SealError::Malformed("a silence before sound that goes on"));
    }
    Ok(Audio { timestamp, starts_talkspurt, silence, payload: body.to_vec() })
}

fn parse_message(kind: u8, body: &mut &[u8]) -> Result<Message, SealError> {
    let phase = parse_phase(body)?;
    let time = number(body)?;
    let step = match kind {
        PROBE => Step::Probe { time },
        RESPONSE => Step::Response { time, held: u16::from_be_bytes(read_array(body)?) },
        INSTALL => Step::Install { round_trip: time },
        _ => Step::Ack { round_trip: time },
    };
    if body.len() > KEY_PART_MAX {
        return Err(SealError::Malformed("more key material than there can be"));
    }
    Ok(Message { phase, step, key: body.to_vec() })
}

/// Only the shortest way to write a phase is taken.
fn parse_phase(body: &mut &[u8]) -> Result<u32, SealError> {
    let mut phase = 0_u32;
    for index in 0..5 {
        let [group] = read_array(body)?;
        let bits = u32::from(group & 0x7f);
        if index == 4 && bits > 0xf || index > 0 && group == 0 {
            break;
        }
        phase |= bits << (7 * index);
        if group & 0x80 == 0 {
            return Ok(phase);
        }
    }
    Err(SealError::Malformed("a phase that is too large, or not written in the shortest way"))
}

fn number(body: &mut &[u8]) -> Result<u32, SealError> {
    read_array(body).map(u32::from_be_bytes)
}

fn read_array<const N: usize>(body: &mut &[u8]) -> Result<[u8; N], SealError> {
    let (taken, rest) = body.split_first_chunk().ok_or(SealError::Malformed("it ends too early"))?;
    *body = rest;
    Ok(*taken)
}

fn whole(body: &[u8], content: Content) -> Result<Content, SealError> {
    if body.is_empty() { Ok(content) } else { Err(SealError::Malformed("it is too long")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) fn contents() -> impl Strategy<Value = Content> {
        let bytes = |max| proptest::collection::vec(any::<u8>(), 0..=max);
        let audio = (any::<u32>(), any::<bool>(), any::<u16>(), bytes(PAYLOAD_MAX)).prop_map(
            |(timestamp, starts_talkspurt, silence, payload)| {
                let silence = if starts_talkspurt { silence } else { 0 };
                Content::Audio(Audio { timestamp, starts_talkspurt, silence, payload })
            },
        );
        let step = (0..4, any::<u32>(), any::<u16>()).prop_map(|(step, time, held)| match step {
            0 => Step::Probe { time },
            1 => Step::Response { time, held },
            2 => Step::Install { round_trip: time },
            _ => Step::Ack { round_trip: time },
        });
        let phase = prop_oneof![any::<u32>(), 0_u32..300, 16_380_u32..16_390];
        let message = (phase, step, bytes(KEY_PART_MAX))
            .prop_map(|(phase, step, key)| Content::Message(Message { phase, step, key }));
        let report = any::<[u32; 5]>().prop_map(|[number, expected, received, late, jitter_us]| {
            Content::Report(Report { number, expected, received, late, jitter_us })
        });
        prop_oneof![audio, message, report, Just(Content::Cover), Just(Content::Bye)]
    }

    proptest! {
        #[test]
        fn is_read_as_it_was_written(content in contents(), room in 0_usize..2_000) {
            let mut text = Vec::new();
            emit(&content, room, &mut text).unwrap();
            prop_assert!(text.len() <= TEXT_MAX);
            prop_assert_eq!(parse(&text), Ok(content));
        }

        #[test]
        fn what_is_read_would_be_written_the_same(mut text: Vec<u8>, kind in 0_u8..12, zeros in 0_usize..40) {
            text.push(kind);
            text.resize(text.len() + zeros, 0);
            if let Ok(content) = parse(&text) {
                let mut again = Vec::new();
                emit(&content, text.len().saturating_sub(AUDIO_OVERHEAD), &mut again).unwrap();
                prop_assert!(parses(&text));
                prop_assert!(again == text || again.len() == AUDIO_OVERHEAD && again.starts_with(&text));
            }
        }
    }

    #[test]
    fn everything_is_as_long_as_sound_of_34_bytes() {
        let length = |content| {
            let mut text = Vec::new();
            emit(&content, 34, &mut text).unwrap();
            text.len()
        };
        let message = |step, key| Content::Message(Message { phase: 16_383, step, key: vec![1; key] });
        let report = Report { number: 9, expected: 125, received: 120, late: 1, jitter_us: 900 };
        for starts_talkspurt in [false, true] {
            let payload = vec![7; 34];
            let audio = Audio { timestamp: 1, starts_talkspurt, silence: 9, payload };
            assert_eq!(length(Content::Audio(audio)), 41);
        }
        for content in [
            message(Step::Probe { time: 8 }, 32),
            message(Step::Response { time: 8, held: 1 }, 32),
            message(Step::Install { round_trip: 8 }, 16),
            message(Step::Ack { round_trip: 8 }, 16),
            Content::Report(report),
            Content::Cover,
            Content::Bye,
        ] {
            assert_eq!(length(content.clone()), 41, "{content:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_not_sealed() {
        let payload = vec![1; PAYLOAD_MAX + 1];
        let audio = Audio { timestamp: 0, starts_talkspurt: false, silence: 0, payload };
        let key = vec![1; KEY_PART_MAX + 1];
        let message = Message { phase: 0, step: Step::Probe { time: 0 }, key };
        for content in [Content::Audio(audio), Content::Message(message)] {
            let mut text = Vec::new();
            assert!(matches!(emit(&content, 0, &mut text), Err(SealError::Unsealable(_))));
            assert!(text.is_empty());
        }
    }

    #[test]
    fn refuses_what_nobody_writes() {
        #[rustfmt::skip]
        let cases: [(&[u8], &str); 8] = [
            (&[], "nothing but zeros"),
            (&[0, 0, 0], "nothing but zeros"),
            (&[10], "an unknown type of content"),
            (&[0, 0, 0, 1, 0, 1, 1], "a silence before sound that goes on"),
            (&[0, 0, 0, 1, 0, 0, 1, 0], "sound with padding"),
            (&[5, COVER, 0], "it is too long"),
            (&[0x80, 0, 0, 0, 0, 1, PROBE], "a phase that is too large, or not written in the shortest way"),
            (&[0xff, 0xff, 0xff, 0xff, 0x1f, 0, 0, 0, 1, PROBE],
                "a phase that is too large, or not written in the shortest way"),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text), Err(SealError::Malformed(want)), "{text:?}");
        }
    }
}
