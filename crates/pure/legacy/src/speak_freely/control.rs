//! What the ends tell each other beside sound: RTCP with a name or a farewell. In Speak Freely's own protocol it has
//! version 1 in its first part and is never encrypted; in RTP mode four random bytes come first if there is a key.

use super::cipher::Key;
use super::config::Protocol;
use crate::ciphers::BLOCK;
use guestright_wire::rtcp::{self, Part};

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// I am here, and this is what I call myself.
    Here(Option<String>),
    /// I send no more.
    Goodbye,
}

const RECEIVER_REPORT: u8 = 201;
const SENDER_REPORT: u8 = 200;
/// A control packet is a few names long; longer is not read.
const LEN_MAX: usize = 1_500;

/// Writes it. `prefix` is for encrypted packets; its two highest bits are cleared, so that on one port nobody takes it for
/// the version of an RTP packet.
pub(super) fn emit(
    control: &Control,
    ssrc: u32,
    protocol: Protocol,
    key: &Key,
    mut prefix: [u8; 4],
) -> Vec<u8> {
    let is_encrypted = protocol == Protocol::Rtp && key.is_set();
    let mut out = Vec::new();
    if is_encrypted {
        prefix[0] &= 0x3f;
        out.extend_from_slice(&prefix);
    }
    let start = out.len();
    rtcp::emit(&[Part::ReceiverReport { ssrc, blocks: Vec::new() }], &mut out);
    let last = out.len();
    let part = match control {
        Control::Here(name) => Part::Description(vec![(ssrc, name.clone())]),
        Control::Goodbye => Part::Goodbye(vec![ssrc]),
    };
    rtcp::emit(&[part], &mut out);
    // An odd number of words, so that it is whole blocks with the random bytes before it; the tool does so always.
    if (out.len() - start).is_multiple_of(BLOCK) {
        out.extend_from_slice(&[0, 0, 0, 4]);
        out[last] |= 0x20;
        let words = u16::from_be_bytes([out[last + 2], out[last + 3]]) + 1;
        out[last + 2..last + 4].copy_from_slice(&words.to_be_bytes());
    }
    match protocol {
        Protocol::Own => out[start] = out[start] & 0x3f | 0x40,
        Protocol::Rtp => key.encrypt(&mut out),
    }
    out
}

/// Reads one, or says that it is something else. With a wrong key it is something else.
pub(super) fn parse(bytes: &[u8], protocol: Protocol, key: &Key) -> Option<Control> {
    if bytes.len() > LEN_MAX {
        return None;
    }
    let mut clear = bytes.to_vec();
    let start = match protocol {
        Protocol::Own if bytes.first()? >> 6 == 1 => {
            clear[0] = clear[0] & 0x3f | 0x80;
            0
        }
        Protocol::Own => return None,
        Protocol::Rtp if key.is_set() => {
            if !bytes.len().is_multiple_of(BLOCK) {
                return None;
            }
            key.decrypt(&mut clear);
            4
        }
        Protocol::Rtp => 0,
    };
    let compound = clear.get(start..)?;
    if !matches!(compound.get(1)?, &(RECEIVER_REPORT | SENDER_REPORT)) {
        return None;
    }
    let parts = rtcp::parse(compound).ok()?;
    if parts.iter().any(|part| matches!(part, Part::Goodbye(_))) {
        return Some(Control::Goodbye);
    }
    let name = parts.into_iter().find_map(|part| match part {
        Part::Description(chunks) => chunks.into_iter().find_map(|(_, name)| name),
        Part::SenderReport { .. }
        | Part::ReceiverReport { .. }
        | Part::Goodbye(_)
        | Part::Extended { .. }
        | Part::ClockError { .. }
        | Part::Other { .. } => None,
    });
    Some(Control::Here(name))
}
