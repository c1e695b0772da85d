//! Packets of RTP mode: GSM and DVI4 as RFC 3551 has them, and DES over the whole packet with its header (RFC 1889,
//! section 9.1; RFC 3550, section 9.1): CBC from zero, padded as RTP pads.

use super::cipher::Key;
use super::config::Form;
use crate::ciphers::BLOCK;
use guestright_wire::rtp::{HEADER_LEN, Header, Packet, RtpError};
use thiserror::Error;

/// Why bytes are not a packet of sound of RTP mode.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RtpModeError {
    /// Not whole blocks, so not encrypted.
    #[error("{got} bytes are not whole blocks of {BLOCK}")]
    Blocks {
        /// Bytes that came.
        got: usize,
    },
    /// Not RTP, or with another key.
    #[error(transparent)]
    Rtp(#[from] RtpError),
    /// Neither GSM nor DVI4 at 8 kHz.
    #[error("payload type {0} is neither GSM nor DVI4")]
    PayloadType(u8),
    /// A length that no packet of that codec has.
    #[error("{got} bytes are no {form:?}")]
    Length {
        form: Form,
        /// Bytes of payload.
        got: usize,
    },
}

/// A packet that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sound {
    /// RTP's header.
    pub header: Header,
    pub form: Form,
    /// What the codec made, as [`Form::codec_bytes`] counts it: of ADPCM the half-bytes, then the state.
    pub payload: Vec<u8>,
}

/// The most samples in a packet that is taken: 120 ms.
const SAMPLES_MAX: usize = 960;

impl Sound {
    /// Reads a packet. With a wrong key the version is wrong in three of four, and so are other fields; what gets through
    /// is noise.
    ///
    /// # Errors
    /// [`RtpModeError`].
    pub fn parse(bytes: &[u8], key: &Key) -> Result<Self, RtpModeError> {
        let mut clear = bytes.to_vec();
        if key.is_set() {
            if !bytes.len().is_multiple_of(BLOCK) {
                return Err(RtpModeError::Blocks { got: bytes.len() });
            }
            key.decrypt(&mut clear);
        }
        let packet = Packet::parse(&clear)?;
        let (header, payload) = (packet.header(), packet.payload());
        let (form, payload) = match header.payload_type {
            3 => (Form::Gsm, payload.to_vec()),
            5 => (Form::Adpcm, from_dvi4(payload).unwrap_or_default()),
            other => return Err(RtpModeError::PayloadType(other)),
        };
        match form.samples(payload.len()) {
            Some(samples) if samples <= SAMPLES_MAX => Ok(Self { header, form, payload }),
            _ => Err(RtpModeError::Length { form, got: packet.payload().len() }),
        }
    }

    /// Writes a packet. Padding is there only if it is encrypted, and only as much as is needed.
    #[must_use]
    pub fn emit(&self, key: &Key) -> Vec<u8> {
        let mut packet = Vec::with_capacity(HEADER_LEN + self.payload.len() + BLOCK);
        self.header.emit(&mut packet);
        match self.form {
            Form::Adpcm => to_dvi4(&self.payload, &mut packet),
            Form::Gsm | Form::Lpc10 => packet.extend_from_slice(&self.payload),
        }
        if key.is_set() {
            pad(&mut packet);
            key.encrypt(&mut packet);
        }
        packet
    }
}

/// RTP's padding, to whole blocks: zeros, then how many bytes it is (RFC 3550, section 5.1).
fn pad(packet: &mut Vec<u8>) {
    let want = packet.len().next_multiple_of(BLOCK);
    let missing = want - packet.len();
    if missing > 0 {
        packet.resize(want, 0);
        packet[0] |= 0x20;
        packet[want - 1] = u8::try_from(missing).unwrap_or(0);
    }
}

/// DVI4 has the state first, and a byte of zero after it (RFC 3551, section 4.5.1).
fn to_dvi4(payload: &[u8], out: &mut Vec<u8>) {
    let (samples, state) = payload.split_at(payload.len().saturating_sub(3));
    out.extend_from_slice(state);
    out.push(0);
    out.extend_from_slice(samples);
}

fn from_dvi4(payload: &[u8]) -> Option<Vec<u8>> {
    let (state, samples) = payload.split_first_chunk::<4>()?;
    let mut out = samples.to_vec();
    out.extend_from_slice(&state[..3]);
    Some(out)
}
