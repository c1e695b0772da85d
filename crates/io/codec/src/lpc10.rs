//! LPC-10 (FS-1015) at 2.4 kbit/s, by spandsp.

use crate::concealing::{Coder, Concealing, frames};
use crate::shared::{End, FreeWithStatus, Origin, State, c_library};
use crate::{CodecError, Kind};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

const ORIGIN: Origin = Origin { codec: "lpc10", library: "libspandsp.so.2", package: "libspandsp2" };
/// Encoder and decoder together, beyond the frame itself. Measured: see `tests/references.rs`.
const DELAY_SAMPLES: usize = 870;

// SAFETY: only the type, as the header has it; each call says why it may be made.
type Init = unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void;

// `spandsp/lpc10.h`, version 0.0.6.
c_library!(ORIGIN {
    encode_init: Init = "lpc10_encode_init",
    encode_free: FreeWithStatus = "lpc10_encode_free",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    encode: unsafe extern "C" fn(*mut c_void, *mut u8, *const i16, c_int) -> c_int = "lpc10_encode",
    decode_init: Init = "lpc10_decode_init",
    decode_free: FreeWithStatus = "lpc10_decode_free",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    decode: unsafe extern "C" fn(*mut c_void, *mut i16, *const u8, c_int) -> c_int = "lpc10_decode",
});

#[derive(Debug)]
pub(crate) struct Lpc10 {
    encoder: State,
    decoder: State,
}

pub(crate) fn lpc10() -> Result<Concealing<Lpc10>, CodecError> {
    let (encoder, decoder) = states()?;
    Ok(Concealing::new(Kind::Lpc10.format(), Lpc10 { encoder, decoder }))
}

#[expect(unsafe_code, reason = "these are C functions")]
fn states() -> Result<(State, State), CodecError> {
    let library = library()?;
    // SAFETY: with null, the functions make a new state (no error correction), which the other ones take back.
    unsafe {
        Ok((
            ORIGIN.own(
                (library.encode_init)(null_mut(), 0),
                End::WithStatus(library.encode_free),
                "lpc10_encode_init",
            )?,
            ORIGIN.own(
                (library.decode_init)(null_mut(), 0),
                End::WithStatus(library.decode_free),
                "lpc10_decode_init",
            )?,
        ))
    }
}

impl Coder for Lpc10 {
    const FRAME_SAMPLES: usize = 180;
    /// 54 bits.
    const FRAME_BYTES: usize = 7;

    #[expect(unsafe_code, reason = "these are C functions")]
    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<(), CodecError> {
        let library = library()?;
        for (frame, bytes) in frames::<{ Self::FRAME_SAMPLES }, { Self::FRAME_BYTES }>(samples, payload) {
            // SAFETY: 180 samples to read become 7 bytes to write.
            let _ =
                unsafe { (library.encode)(self.encoder.pointer(), bytes.as_mut_ptr(), frame.as_ptr(), 180) };
        }
        Ok(())
    }

    #[expect(unsafe_code, reason = "these are C functions")]
    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<(), CodecError> {
        let library = library()?;
        let frames = payload.as_chunks::<{ Self::FRAME_BYTES }>().0.iter();
        for (frame, samples) in frames.zip(samples.as_chunks_mut::<{ Self::FRAME_SAMPLES }>().0) {
            // SAFETY: 7 bytes to read become 180 samples to write.
            let _ =
                unsafe { (library.decode)(self.decoder.pointer(), samples.as_mut_ptr(), frame.as_ptr(), 7) };
        }
        Ok(())
    }

    fn delay_samples(&self) -> usize {
        DELAY_SAMPLES
    }

    fn reset(&mut self) {
        if let Ok((encoder, decoder)) = states() {
            (self.encoder, self.decoder) = (encoder, decoder);
        }
    }
}
