//! Other people's codecs, by their own interfaces.
#![expect(unsafe_code, reason = "they are C libraries")]

use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

// SAFETY: only the type, as the header has it.
type Init2 = unsafe extern "C" fn(*mut c_void, c_int, c_int) -> *mut c_void;
// SAFETY: only the type, as the header has it.
type Init1 = unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void;
// SAFETY: only the type, as the header has it.
type Encode = unsafe extern "C" fn(*mut c_void, *mut u8, *const i16, c_int) -> c_int;
// SAFETY: only the type, as the header has it.
type Decode = unsafe extern "C" fn(*mut c_void, *mut i16, *const u8, c_int) -> c_int;

fn library(name: &str) -> Library {
    // SAFETY: the types are those of the header, and the buffers are as long as the library needs.
    unsafe { Library::new(name) }.unwrap_or_else(|error| panic!("{error}; scripts/setup.sh test installs it"))
}

/// One of spandsp's codecs: one state for each direction.
pub(crate) struct Spandsp {
    library: Library,
    name: &'static str,
    encoder: *mut c_void,
    decoder: *mut c_void,
}

impl Spandsp {
    /// G.711: law 0 is the A-law, 1 the mu-law.
    pub(crate) fn g711(law: c_int) -> Self {
        Self::with_one("g711", "g711_init", "g711_init", law)
    }

    pub(crate) fn g722() -> Self {
        Self::with_two("g722", "g722_encode_init", "g722_decode_init", 64_000, 0)
    }

    /// Variant 0 is a block of the IMA's, 1 is DVI4; each call is a block.
    pub(crate) fn ima(variant: c_int) -> Self {
        Self::with_two("ima_adpcm", "ima_adpcm_init", "ima_adpcm_init", variant, 0)
    }

    /// Packed as RFC 3551 has it.
    pub(crate) fn gsm() -> Self {
        Self::with_one("gsm0610", "gsm0610_init", "gsm0610_init", 2)
    }

    pub(crate) fn lpc10() -> Self {
        Self::with_one("lpc10", "lpc10_encode_init", "lpc10_decode_init", 0)
    }

    fn with_one(name: &'static str, encoder: &str, decoder: &str, setting: c_int) -> Self {
        let library = library("libspandsp.so.2");
        // SAFETY: the types are those of the header, and the buffers are as long as the library needs.
        let make = |function: &str| unsafe { library.get::<Init1>(function).unwrap()(null_mut(), setting) };
        let (encoder, decoder) = (make(encoder), make(decoder));
        Self { library, name, encoder, decoder }
    }

    fn with_two(name: &'static str, encoder: &str, decoder: &str, one: c_int, two: c_int) -> Self {
        let library = library("libspandsp.so.2");
        // SAFETY: the types are those of the header, and the buffers are as long as the library needs.
        let make = |function: &str| unsafe { library.get::<Init2>(function).unwrap()(null_mut(), one, two) };
        let (encoder, decoder) = (make(encoder), make(decoder));
        Self { library, name, encoder, decoder }
    }

    pub(crate) fn encode(&mut self, samples: &[i16]) -> Vec<u8> {
        let mut payload = vec![0; samples.len() * 2 + 16];
        // SAFETY: the types are those of the header, and the buffers are as long as the library needs.
        let length = unsafe {
            let encode = self.library.get::<Encode>(format!("{}_encode", self.name)).unwrap();
            encode(self.encoder, payload.as_mut_ptr(), samples.as_ptr(), samples.len() as c_int)
        };
        payload.truncate(length as usize);
        payload
    }

    pub(crate) fn decode(&mut self, payload: &[u8]) -> Vec<i16> {
        let mut samples = vec![0; payload.len() * 32 + 64];
        // SAFETY: the types are those of the header, and the buffers are as long as the library needs.
        let count = unsafe {
            let decode = self.library.get::<Decode>(format!("{}_decode", self.name)).unwrap();
            decode(self.decoder, samples.as_mut_ptr(), payload.as_ptr(), payload.len() as c_int)
        };
        samples.truncate(count as usize);
        samples
    }
}

/// Debian's own libopus: another version than the one that is built in.
pub(crate) struct SystemOpus {
    library: Library,
    decoder: *mut c_void,
}

impl SystemOpus {
    pub(crate) fn new(rate: i32) -> Self {
        // SAFETY: only the type, as the header has it.
        type Create = unsafe extern "C" fn(i32, c_int, *mut c_int) -> *mut c_void;
        let library = library("libopus.so.0");
        let mut status = 0;
        let decoder =
            // SAFETY: the types are those of the header, and the buffers are as long as the library needs.
            unsafe { library.get::<Create>("opus_decoder_create").unwrap()(rate, 1, &raw mut status) };
        assert_eq!(status, 0);
        Self { library, decoder }
    }

    pub(crate) fn decode(&mut self, payload: &[u8]) -> Vec<i16> {
        // SAFETY: only the type, as the header has it.
        type Decode = unsafe extern "C" fn(*mut c_void, *const u8, i32, *mut i16, c_int, c_int) -> c_int;
        let mut samples = vec![0; 5_760];
        // SAFETY: the types are those of the header, and the buffers are as long as the library needs.
        let count = unsafe {
            let decode = self.library.get::<Decode>("opus_decode").unwrap();
            decode(self.decoder, payload.as_ptr(), payload.len() as i32, samples.as_mut_ptr(), 5_760, 0)
        };
        samples.truncate(usize::try_from(count).expect("libopus refused what we encoded"));
        samples
    }
}
