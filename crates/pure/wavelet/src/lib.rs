//! Speech codecs whose packets can be cut anywhere: `w1` on a wavelet transform, as BoAT had it, and `w2` on an MDCT.
//!
//! In: 40 ms of speech at 8 kHz ([`FRAME_SAMPLES`]) and how many bytes they may become; or a packet that anybody could
//! have sent. Out: that packet, or 40 ms of speech.
//!
//! Paper D (section 4.1) says of BoAT's codec: a discrete wavelet transform, coefficients quantised by successive
//! approximation, run lengths with codes of variable length, an embedded code that ends wherever the encoder likes, from
//! 700 to 8,000 bytes a second. It does not say which wavelet, how many levels, or what the codes are, and its reference
//! for that was not to be found: the formats are ours.
//!
//! | kind | transform | codes | delay beyond the frame |
//! | --- | --- | --- | --- |
//! | [`Kind::W1`] | Cohen-Daubechies-Feauveau 9/7, five levels, each frame for itself | run lengths, Golomb-Rice | none |
//! | [`Kind::W2`] | MDCT of 20 ms, two to a frame, overlapping by 20 ms | contexts, binary arithmetic | 20 ms |
//!
//! Invariants, tested:
//!
//! - *Prefix*: a packet of `n` bytes is the beginning of the packet that the same speech becomes with more than `n`.
//! - Whatever is cut off, from any byte on, the rest decodes; a symbol that is not complete is ignored.
//! - No packet panics or takes longer than a full one. Packets depend on no earlier packet, so that losses do not spread;
//!   `w2` needs the packet before for the overlap only.
//! - The same speech becomes the same bytes, and the same bytes the same speech, on every computer: all arithmetic is on
//!   integers or on IEEE 754 numbers with `+`, `-`, `*`, `/` and `sqrt`, in a fixed order, and tables come from `libm`.
//!
//! ```
//! use guestright_wavelet::{Decoder, Encoder, FRAME_SAMPLES, Kind};
//!
//! let speech = [1_000; FRAME_SAMPLES];
//! let mut packet = [0; 320];
//! let bytes = Encoder::new(Kind::W1).encode(&speech, 34, &mut packet);
//! assert!(bytes <= 34);
//! let mut heard = [0; FRAME_SAMPLES];
//! Decoder::new(Kind::W1).decode(&packet[..bytes], &mut heard);
//! assert!(heard.iter().all(|sample| (900..1_100).contains(sample)));
//! ```

mod bits;
mod codec;
mod concealment;
mod contexts;
mod lifting;
mod mdct;
mod planes;
mod range;
mod runs;

pub use codec::{Decoder, Encoder, Kind};

/// Samples in a frame: 40 ms.
pub const FRAME_SAMPLES: usize = 320;
/// Samples in a second.
pub const SAMPLE_RATE_HZ: u32 = 8_000;
/// Bytes of a frame at 700 bytes a second.
pub const FRAME_BYTES_MIN: usize = 28;
/// Bytes of a frame at 8,000 bytes a second; longer packets are never made, and what is beyond is not looked at.
pub const FRAME_BYTES_MAX: usize = 320;
