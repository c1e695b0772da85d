//! G.729 Annex A, by bcg729.
//!
//! Pauses of others (Annex B) are understood, but not made: a packet has two frames, and one that is not sent or
//! describes noise can only be at its end (RFC 3551, section 4.5.6).

use crate::shared::{End, Free, Origin, State, c_library};
use crate::{Activity, Codec, CodecError, Encoded, Format, Kind, PAYLOAD_BYTES_MAX};
use std::ffi::c_void;

const ORIGIN: Origin = Origin { codec: "g729", library: "libbcg729.so.0", package: "libbcg729-0" };
const FRAME_SAMPLES: usize = 80;
const FRAME_BYTES: usize = 10;
/// A description of noise (Annex B), only at the end of a payload (RFC 3551, section 4.5.6).
const NOISE_BYTES: usize = 2;
/// The encoder looks 5 ms ahead.
const DELAY_SAMPLES: usize = 40;

// `bcg729/encoder.h` and `bcg729/decoder.h`, version 1.1.1.
c_library!(ORIGIN {
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    encoder_new: unsafe extern "C" fn(u8) -> *mut c_void = "initBcg729EncoderChannel",
    encoder_free: Free = "closeBcg729EncoderChannel",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    encode: unsafe extern "C" fn(*mut c_void, *const i16, *mut u8, *mut u8) = "bcg729Encoder",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    decoder_new: unsafe extern "C" fn() -> *mut c_void = "initBcg729DecoderChannel",
    decoder_free: Free = "closeBcg729DecoderChannel",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    decode: unsafe extern "C" fn(*mut c_void, *const u8, u8, u8, u8, u8, *mut i16) = "bcg729Decoder",
});

/// One G.729 channel.
#[derive(Debug)]
pub(crate) struct G729 {
    encoder: State,
    decoder: State,
}

#[expect(unsafe_code, reason = "these are C functions")]
fn states() -> Result<(State, State), CodecError> {
    let library = library()?;
    // SAFETY: the functions make new states or null, which the other ones take back.
    unsafe {
        Ok((
            ORIGIN.own(
                (library.encoder_new)(0),
                End::Silent(library.encoder_free),
                "initBcg729EncoderChannel",
            )?,
            ORIGIN.own(
                (library.decoder_new)(),
                End::Silent(library.decoder_free),
                "initBcg729DecoderChannel",
            )?,
        ))
    }
}

impl G729 {
    pub(crate) fn new() -> Result<Self, CodecError> {
        let (encoder, decoder) = states()?;
        Ok(Self { encoder, decoder })
    }

    #[expect(unsafe_code, reason = "these are C functions")]
    fn decode_frame(
        &mut self,
        frame: Option<&[u8]>,
        samples: &mut [i16; FRAME_SAMPLES],
    ) -> Result<(), CodecError> {
        let library = library()?;
        let nothing = [0; FRAME_BYTES];
        let (pointer, length) = frame.map_or((nothing.as_ptr(), 0), |frame| (frame.as_ptr(), frame.len()));
        let is_noise = u8::from(length == NOISE_BYTES);
        let length = u8::try_from(length).unwrap_or(0);
        let erased = u8::from(frame.is_none());
        // SAFETY: the frame is 10 bytes, or 2 for noise, as is said with it, or erased and 10 bytes of nothing; 80 samples
        // are written.
        unsafe {
            (library.decode)(
                self.decoder.pointer(),
                pointer,
                length,
                erased,
                is_noise,
                0,
                samples.as_mut_ptr(),
            );
        }
        Ok(())
    }

    #[expect(unsafe_code, reason = "these are C functions")]
    fn encode_frame(
        &mut self,
        frame: &[i16; FRAME_SAMPLES],
        bytes: &mut [u8; FRAME_BYTES],
    ) -> Result<(), CodecError> {
        let library = library()?;
        let mut length = 0;
        // SAFETY: 80 samples to read; at most 10 bytes and one length to write.
        unsafe {
            (library.encode)(self.encoder.pointer(), frame.as_ptr(), bytes.as_mut_ptr(), &raw mut length);
        }
        let is_whole = usize::from(length) == FRAME_BYTES;
        if is_whole { Ok(()) } else { Err(ORIGIN.failed("bcg729Encoder", length.into())) }
    }
}

impl Codec for G729 {
    fn format(&self) -> &'static Format {
        Kind::G729.format()
    }

    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<Encoded, CodecError> {
        let (frames, rest) = samples.as_chunks::<FRAME_SAMPLES>();
        let want = frames.len() * FRAME_BYTES;
        if frames.is_empty() || !rest.is_empty() || want > PAYLOAD_BYTES_MAX {
            return Err(CodecError::Samples { codec: ORIGIN.codec, got: samples.len(), want: FRAME_SAMPLES });
        }
        if payload.len() < want {
            return Err(CodecError::Room { got: payload.len(), want });
        }
        for (frame, bytes) in frames.iter().zip(payload.as_chunks_mut::<FRAME_BYTES>().0) {
            self.encode_frame(frame, bytes)?;
        }
        Ok(Encoded { bytes: want, activity: Activity::Speech })
    }

    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<usize, CodecError> {
        let (frames, noise) = payload.as_chunks::<FRAME_BYTES>();
        let is_whole = noise.is_empty() || noise.len() == NOISE_BYTES;
        if payload.is_empty() || payload.len() > PAYLOAD_BYTES_MAX || !is_whole {
            return Err(CodecError::Length { codec: ORIGIN.codec, got: payload.len() });
        }
        let all =
            frames.iter().map(<[u8; FRAME_BYTES]>::as_slice).chain((!noise.is_empty()).then_some(noise));
        let (got, want) = (samples.len(), (frames.len() + usize::from(!noise.is_empty())) * FRAME_SAMPLES);
        let samples = samples.get_mut(..want).ok_or(CodecError::Room { got, want })?;
        for (frame, samples) in all.zip(samples.as_chunks_mut::<FRAME_SAMPLES>().0) {
            self.decode_frame(Some(frame), samples)?;
        }
        Ok(want)
    }

    fn conceal(&mut self, samples: &mut [i16]) -> Result<(), CodecError> {
        let frames = ORIGIN.whole_frames::<FRAME_SAMPLES>(samples)?;
        frames.iter_mut().try_for_each(|samples| self.decode_frame(None, samples))
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
