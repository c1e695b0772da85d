//! GSM 06.10 full rate, by libgsm.

use crate::concealing::{Coder, Concealing, frames};
use crate::shared::{End, Free, Origin, State, c_library};
use crate::{CodecError, Kind};
use std::ffi::{c_int, c_void};

const ORIGIN: Origin = Origin { codec: "gsm", library: "libgsm.so.1", package: "libgsm1" };
/// RFC 3551, section 4.5.8.1.
const MAGIC: u8 = 0xd;

// `gsm.h`, version 1.0.22.
c_library!(ORIGIN {
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    create: unsafe extern "C" fn() -> *mut c_void = "gsm_create",
    destroy: Free = "gsm_destroy",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    encode: unsafe extern "C" fn(*mut c_void, *mut i16, *mut u8) = "gsm_encode",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    decode: unsafe extern "C" fn(*mut c_void, *mut u8, *mut i16) -> c_int = "gsm_decode",
});

#[derive(Debug)]
pub(crate) struct Gsm {
    encoder: State,
    decoder: State,
}

pub(crate) fn gsm() -> Result<Concealing<Gsm>, CodecError> {
    Ok(Concealing::new(Kind::Gsm.format(), Gsm { encoder: state()?, decoder: state()? }))
}

#[expect(unsafe_code, reason = "these are C functions")]
fn state() -> Result<State, CodecError> {
    let library = library()?;
    // SAFETY: `gsm_create` gives a new state or null, and `gsm_destroy` takes it back.
    unsafe { ORIGIN.own((library.create)(), End::Silent(library.destroy), "gsm_create") }
}

impl Coder for Gsm {
    const FRAME_SAMPLES: usize = 160;
    /// RFC 3551, section 4.5.8.1: 260 bits after four that say what it is.
    const FRAME_BYTES: usize = 33;

    #[expect(unsafe_code, reason = "these are C functions")]
    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<(), CodecError> {
        let library = library()?;
        for (frame, bytes) in frames::<{ Self::FRAME_SAMPLES }, { Self::FRAME_BYTES }>(samples, payload) {
            // The interface does not promise to leave its input alone.
            let mut frame = *frame;
            // SAFETY: 160 samples to read and 33 bytes to write are what `gsm_encode` uses.
            unsafe { (library.encode)(self.encoder.pointer(), frame.as_mut_ptr(), bytes.as_mut_ptr()) };
        }
        Ok(())
    }

    #[expect(unsafe_code, reason = "these are C functions")]
    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<(), CodecError> {
        let library = library()?;
        let frames = payload.as_chunks::<{ Self::FRAME_BYTES }>().0;
        if frames.iter().any(|frame| frame[0] >> 4 != MAGIC) {
            return Err(CodecError::Payload {
                codec: ORIGIN.codec,
                why: "a frame does not begin with the bits 1101",
            });
        }
        for (frame, samples) in frames.iter().zip(samples.as_chunks_mut::<{ Self::FRAME_SAMPLES }>().0) {
            let mut frame = *frame;
            // SAFETY: 33 bytes to read and 160 samples to write are what `gsm_decode` uses.
            let status =
                unsafe { (library.decode)(self.decoder.pointer(), frame.as_mut_ptr(), samples.as_mut_ptr()) };
            if status != 0 {
                return Err(ORIGIN.failed("gsm_decode", status));
            }
        }
        Ok(())
    }

    fn delay_samples(&self) -> usize {
        0
    }

    fn reset(&mut self) {
        if let (Ok(encoder), Ok(decoder)) = (state(), state()) {
            (self.encoder, self.decoder) = (encoder, decoder);
        }
    }
}
