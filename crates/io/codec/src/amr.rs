//! AMR narrow band, by opencore-amrnb.

mod payload;

use crate::shared::{End, Free, Origin, State, c_library};
use crate::{Activity, AmrPacking, Codec, CodecError, Encoded, Format, Kind, Settings};
use payload::{FRAME_BYTES_MAX, FRAMES_MAX, Frame, Frames, NO_DATA, NO_REQUEST};
use std::ffi::{c_int, c_void};

const ORIGIN: Origin =
    Origin { codec: "amr", library: "libopencore-amrnb.so.0", package: "libopencore-amrnb0" };
const FRAME_SAMPLES: usize = 160;
/// The encoder looks 5 ms ahead.
const DELAY_SAMPLES: usize = 40;
/// A buffer as long as any frame with its first byte.
type Storage = [u8; FRAME_BYTES_MAX + 1];

// `interf_enc.h` and `interf_dec.h`, version 0.1.6.
c_library!(ORIGIN {
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    encoder_new: unsafe extern "C" fn(c_int) -> *mut c_void = "Encoder_Interface_init",
    encoder_free: Free = "Encoder_Interface_exit",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    encode: unsafe extern "C" fn(*mut c_void, c_int, *const i16, *mut u8, c_int) -> c_int = "Encoder_Interface_Encode",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    decoder_new: unsafe extern "C" fn() -> *mut c_void = "Decoder_Interface_init",
    decoder_free: Free = "Decoder_Interface_exit",
    // SAFETY: only the type, as the header has it; each call says why it may be made.
    decode: unsafe extern "C" fn(*mut c_void, *const u8, *mut i16, c_int) = "Decoder_Interface_Decode",
});

/// One AMR stream each way.
#[derive(Debug)]
pub(crate) struct Amr {
    packing: AmrPacking,
    discontinuous: bool,
    /// The mode chosen, and the one that the other side wants now (RFC 4867, section 4.3.1), if any.
    mode: u8,
    requested: Option<u8>,
    encoder: State,
    decoder: State,
}

#[expect(unsafe_code, reason = "these are C functions")]
fn states(discontinuous: bool) -> Result<(State, State), CodecError> {
    let library = library()?;
    // SAFETY: the functions make new states or null, which the other ones take back.
    unsafe {
        Ok((
            ORIGIN.own(
                (library.encoder_new)(discontinuous.into()),
                End::Silent(library.encoder_free),
                "Encoder_Interface_init",
            )?,
            ORIGIN.own(
                (library.decoder_new)(),
                End::Silent(library.decoder_free),
                "Decoder_Interface_init",
            )?,
        ))
    }
}

impl Amr {
    pub(crate) fn new(settings: &Settings) -> Result<Self, CodecError> {
        let (encoder, decoder) = states(settings.discontinuous)?;
        Ok(Self {
            packing: settings.amr_packing,
            discontinuous: settings.discontinuous,
            mode: u8::try_from(settings.amr_mode).unwrap_or(7),
            requested: None,
            encoder,
            decoder,
        })
    }

    #[expect(unsafe_code, reason = "these are C functions")]
    fn encode_frame(&mut self, frame: &[i16; FRAME_SAMPLES]) -> Result<Frame, CodecError> {
        let library = library()?;
        let mode = c_int::from(self.requested.unwrap_or(self.mode));
        // The encoder overwrites its input, whatever its header promises.
        let mut frame = *frame;
        let mut storage: Storage = [0; FRAME_BYTES_MAX + 1];
        // SAFETY: 160 samples of our own to read and write over; at most 32 bytes are written.
        let length = unsafe {
            (library.encode)(self.encoder.pointer(), mode, frame.as_mut_ptr(), storage.as_mut_ptr(), 0)
        };
        let first = storage[0];
        let made = Frame::new(first >> 3 & 15, first >> 2 & 1 == 1, &storage[1..]);
        made.filter(|_| length > 0).ok_or_else(|| ORIGIN.failed("Encoder_Interface_Encode", length))
    }

    #[expect(unsafe_code, reason = "these are C functions")]
    fn decode_frame(&mut self, frame: &Frame, samples: &mut [i16; FRAME_SAMPLES]) -> Result<(), CodecError> {
        let library = library()?;
        let mut storage: Storage = [0; FRAME_BYTES_MAX + 1];
        // A damaged frame is treated like one that was lost: the library does not look at the flag.
        let kind = if frame.is_good { frame.kind } else { NO_DATA };
        storage[0] = kind << 3 | u8::from(frame.is_good) << 2;
        storage[1..].copy_from_slice(&frame.bytes);
        // SAFETY: the buffer is as long as the longest frame, and the kind of frame one that the library knows; 160
        // samples are written.
        unsafe { (library.decode)(self.decoder.pointer(), storage.as_ptr(), samples.as_mut_ptr(), 0) };
        Ok(())
    }
}

impl Codec for Amr {
    fn format(&self) -> &'static Format {
        Kind::Amr.format()
    }

    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<Encoded, CodecError> {
        let (frames, rest) = samples.as_chunks::<FRAME_SAMPLES>();
        if frames.is_empty() || frames.len() > FRAMES_MAX || !rest.is_empty() {
            return Err(CodecError::Samples { codec: ORIGIN.codec, got: samples.len(), want: FRAME_SAMPLES });
        }
        let (got, want) = (payload.len(), 1 + frames.len() * (FRAME_BYTES_MAX + 1));
        if got < want {
            return Err(CodecError::Room { got, want });
        }
        let mut made = Frames::default();
        for frame in frames {
            made.push(self.encode_frame(frame)?);
        }
        let activity = made.activity();
        let bytes =
            if activity == Activity::Nothing { 0 } else { made.pack(NO_REQUEST, self.packing, payload) };
        Ok(Encoded { bytes, activity })
    }

    /// Obeys the other side's request for a mode, too.
    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<usize, CodecError> {
        let (request, frames) = Frames::unpack(payload, self.packing)?;
        let frames = frames.as_slice();
        let (got, want) = (samples.len(), frames.len() * FRAME_SAMPLES);
        let samples = samples.get_mut(..want).ok_or(CodecError::Room { got, want })?;
        for (frame, samples) in frames.iter().zip(samples.as_chunks_mut::<FRAME_SAMPLES>().0) {
            self.decode_frame(frame, samples)?;
        }
        self.requested = if request < 8 { Some(request) } else { self.requested };
        Ok(want)
    }

    fn conceal(&mut self, samples: &mut [i16]) -> Result<(), CodecError> {
        let frames = ORIGIN.whole_frames::<FRAME_SAMPLES>(samples)?;
        frames.iter_mut().try_for_each(|samples| self.decode_frame(&Frame::lost(), samples))
    }

    fn delay_samples(&self) -> usize {
        DELAY_SAMPLES
    }

    fn reset(&mut self) {
        self.requested = None;
        if let Ok((encoder, decoder)) = states(self.discontinuous) {
            (self.encoder, self.decoder) = (encoder, decoder);
        }
    }
}
