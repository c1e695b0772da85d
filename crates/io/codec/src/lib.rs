//! Speech to bytes and back: codecs behind one trait.
//!
//! In: frames of 16-bit samples, or payloads of RTP packets that anybody could have sent. Out: payloads, samples, and
//! something to play in the place of what was lost.
//!
//! - [`open`] gives a [`Codec`] for a [`Kind`]; [`Kind::is_available`] says before whether it can, and what to install.
//! - [`Format`] is what others have to know of a codec: rates, lengths, its names in SDP.
//! - [`Noise`] and [`NoiseMeter`] are comfort noise (RFC 3389) for codecs that have none of their own.
//! - [`Concealment`] fills gaps in the manner of G.711 Appendix I for codecs that cannot do so themselves.
//!
//! | kind | from | the library's licence |
//! | --- | --- | --- |
//! | G.711, IMA ADPCM | `audio-codec-algorithms`, linked | 0BSD or Apache-2.0 |
//! | G.722 | our own, from the Recommendation | ours |
//! | GSM lite | our own, from the standard and PGPfone's layout | ours |
//! | `w1`, `w2` | `guestright-wavelet` (feature `wavelet`) | ours |
//! | Opus | libopus from source, linked (feature `opus`) | BSD-3-Clause |
//! | GSM 06.10 | `libgsm.so.1`, opened at run time (`gsm`) | TU-Berlin-2.0 |
//! | LPC-10 | `libspandsp.so.2`, opened at run time (`lpc10`) | LGPL-2.1 |
//! | AMR-NB | `libopencore-amrnb.so.0`, opened at run time (`amr`) | Apache-2.0 |
//! | G.729 | `libbcg729.so.0`, opened at run time (`g729`) | GPL-3.0-or-later |
//!
//! No payload makes a decoder panic or read outside it. No length from a payload is believed before it was checked.
//! Nothing is allocated for a packet, but by the opened libraries.

mod codec;
mod concealing;
mod concealment;
mod error;
mod format;
mod g711;
mod g722;
mod gsm_lite;
mod ima;
mod noise;
mod sample;

#[cfg(feature = "amr")]
mod amr;
#[cfg(feature = "g729")]
mod g729;
#[cfg(feature = "gsm")]
mod gsm;
#[cfg(feature = "lpc10")]
mod lpc10;
#[cfg(feature = "opus")]
mod opus;
#[cfg(any(feature = "amr", feature = "g729", feature = "gsm", feature = "lpc10"))]
mod shared;
#[cfg(feature = "wavelet")]
mod wavelet;

pub use codec::{Activity, AmrPacking, Codec, Encoded, Recovered, Settings, open};
pub use concealment::Concealment;
pub use error::CodecError;
pub use format::{Format, Kind};
pub use noise::{COEFFICIENTS_MAX, NOISE_BYTES_MAX, Noise, NoiseMeter};

/// The longest payload that is decoded, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 1500;
/// The most samples that one payload decodes to: 120 ms at 48 kHz.
pub const PACKET_SAMPLES_MAX: usize = 5760;
