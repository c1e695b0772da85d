//! GSM 06.10 full rate, by libgsm.

use crate::concealing::{Coder, Concealing};
use crate::shared::{End, Free, Origin, Shared, State};
use crate::{CodecError, Kind};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

const ORIGIN: Origin = Origin { codec: "gsm", library: "libgsm.so.1", package: "libgsm1" };
const FRAME_SAMPLES: usize = 160;
/// RFC 3551, section 4.5.8.1: 260 bits after four that say what it is.
const FRAME_BYTES: usize = 33;
const MAGIC: u8 = 0xd;

/// `gsm.h`, version 1.0.22.
struct Library {
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    create: unsafe extern "C" fn() -> *mut c_void,
    destroy: Free,
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    encode: unsafe extern "C" fn(*mut c_void, *mut i16, *mut u8),
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    decode: unsafe extern "C" fn(*mut c_void, *mut u8, *mut i16) -> c_int,
    _opened: Shared,
}

#[derive(Debug)]
pub(crate) struct Gsm {
    encoder: State,
    decoder: State,
}

#[expect(unsafe_code, reason = "these are C functions")]
fn library() -> Result<&'static Library, CodecError> {
    static OPENED: OnceLock<Result<Library, CodecError>> = OnceLock::new();
    let find = || {
        let opened = ORIGIN.open()?;
        // SAFETY: the types are those of `gsm.h`, and the library stays open beside them.
        unsafe {
            Ok(Library {
                create: opened.function("gsm_create")?,
                destroy: opened.function("gsm_destroy")?,
                encode: opened.function("gsm_encode")?,
                decode: opened.function("gsm_decode")?,
                _opened: opened,
            })
        }
    };
    OPENED.get_or_init(find).as_ref().map_err(Clone::clone)
}

pub(crate) fn gsm() -> Result<Concealing<Gsm>, CodecError> {
    Ok(Concealing::new(Kind::Gsm.format(), Gsm { encoder: state()?, decoder: state()? }))
}

#[expect(unsafe_code, reason = "these are C functions")]
fn state() -> Result<State, CodecError> {
    let library = library()?;
    // SAFETY: `gsm_create` gives a new state or null, and `gsm_destroy` takes it back.
    let state = unsafe { State::own((library.create)(), End::Silent(library.destroy)) };
    state.ok_or_else(|| ORIGIN.failed("gsm_create", 0))
}

impl Coder for Gsm {
    fn bytes(&self, samples: usize) -> Option<usize> {
        samples.is_multiple_of(FRAME_SAMPLES).then_some(samples / FRAME_SAMPLES * FRAME_BYTES)
    }

    fn samples(&self, bytes: usize) -> Option<usize> {
        bytes.is_multiple_of(FRAME_BYTES).then_some(bytes / FRAME_BYTES * FRAME_SAMPLES)
    }

    #[expect(unsafe_code, reason = "these are C functions")]
    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<(), CodecError> {
        let library = library()?;
        let frames = samples.as_chunks::<FRAME_SAMPLES>().0.iter();
        for (frame, bytes) in frames.zip(payload.as_chunks_mut::<FRAME_BYTES>().0) {
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
        let frames = payload.as_chunks::<FRAME_BYTES>().0;
        if frames.iter().any(|frame| frame[0] >> 4 != MAGIC) {
            return Err(CodecError::Payload {
                codec: ORIGIN.codec,
                why: "a frame does not begin with the bits 1101",
            });
        }
        for (frame, samples) in frames.iter().zip(samples.as_chunks_mut::<FRAME_SAMPLES>().0) {
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
