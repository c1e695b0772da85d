//! Libraries that are opened while the program runs.

use crate::CodecError;
use libloading::Library;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Where a codec comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) codec: &'static str,
    /// The file, with the version of its interface.
    pub(crate) library: &'static str,
    /// The Debian package that has it.
    pub(crate) package: &'static str,
}

/// An opened library. It is never closed: what was found in it stays valid.
#[derive(Debug)]
pub(crate) struct Shared {
    origin: Origin,
    library: Library,
}

impl Origin {
    #[expect(unsafe_code, reason = "opening a library runs its code")]
    pub(crate) fn open(self) -> Result<Shared, CodecError> {
        let Self { codec, library, package } = self;
        // SAFETY: the name has no directory in it, so it is the system's own library of that name. Those that we open
        // are C libraries that do nothing when they are loaded.
        let opened = unsafe { Library::new(library) };
        let opened = opened.map_err(|_| CodecError::LibraryAbsent { codec, library, package })?;
        Ok(Shared { origin: self, library: opened })
    }

    /// Room for frames of `N` samples, and nothing beside them.
    #[cfg(any(feature = "amr", feature = "g729"))]
    pub(crate) fn whole_frames<const N: usize>(
        self,
        samples: &mut [i16],
    ) -> Result<&mut [[i16; N]], CodecError> {
        let got = samples.len();
        match samples.as_chunks_mut::<N>() {
            (frames, []) => Ok(frames),
            _ => Err(CodecError::Samples { codec: self.codec, got, want: N }),
        }
    }

    /// Owns what `function` made.
    ///
    /// # Safety
    ///
    /// As [`State::own`].
    #[expect(unsafe_code, reason = "nothing can check whose a pointer is")]
    pub(crate) unsafe fn own(
        self,
        pointer: *mut c_void,
        end: End,
        function: &'static str,
    ) -> Result<State, CodecError> {
        // SAFETY: the caller vouches for it.
        unsafe { State::own(pointer, end) }.ok_or_else(|| self.failed(function, 0))
    }

    pub(crate) fn failed(self, function: &'static str, code: i32) -> CodecError {
        CodecError::Library { codec: self.codec, function, code }
    }
}

impl Shared {
    /// A function of the library.
    ///
    /// # Safety
    ///
    /// `F` has to be the type that the function has in C, as an `unsafe extern "C" fn`. It may be called only as long
    /// as `self` is there.
    #[expect(unsafe_code, reason = "nothing can check what type a C function has")]
    pub(crate) unsafe fn function<F: Copy>(&self, symbol: &'static str) -> Result<F, CodecError> {
        let Origin { codec, library, package } = self.origin;
        // SAFETY: the caller vouches for the type.
        let found = unsafe { self.library.get::<F>(symbol) };
        found.map(|function| *function).map_err(|_| CodecError::LibraryOther {
            codec,
            library,
            symbol,
            package,
        })
    }
}

/// The functions of a library as `Library`, and `library()`, which opens it at the first call and keeps it open.
///
/// The types have to be those of the library's headers: nothing can check them.
macro_rules! c_library {
    ($origin:ident { $($(#[$attribute:meta])* $function:ident: $type:ty = $symbol:literal,)+ }) => {
        struct Library {
            $($(#[$attribute])* $function: $type,)+
            _opened: $crate::shared::Shared,
        }

        #[expect(unsafe_code, reason = "these are C functions")]
        fn library() -> Result<&'static Library, $crate::CodecError> {
            static OPENED: std::sync::OnceLock<Result<Library, $crate::CodecError>> = std::sync::OnceLock::new();
            let find = || {
                let opened = $origin.open()?;
                // SAFETY: who lists the functions vouches for their types, and the library stays open beside them.
                unsafe { Ok(Library { $($function: opened.function($symbol)?,)+ _opened: opened }) }
            };
            OPENED.get_or_init(find).as_ref().map_err(Clone::clone)
        }
    };
}

pub(crate) use c_library;

/// A C function that makes an end of a state.
// SAFETY: only the type, as the header has it; each call says why it may be made.
pub(crate) type Free = unsafe extern "C" fn(*mut c_void);
/// The same with a result that says nothing.
// SAFETY: only the type, as the header has it; each call says why it may be made.
pub(crate) type FreeWithStatus = unsafe extern "C" fn(*mut c_void) -> std::ffi::c_int;

/// How to make an end of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    #[cfg_attr(
        not(any(feature = "amr", feature = "g729", feature = "gsm")),
        expect(dead_code, reason = "not this one")
    )]
    Silent(Free),
    #[cfg_attr(not(feature = "lpc10"), expect(dead_code, reason = "not this one"))]
    WithStatus(FreeWithStatus),
}

/// A state that a library made and that only we have.
#[derive(Debug)]
pub(crate) struct State {
    pointer: NonNull<c_void>,
    end: End,
}

// SAFETY: none of the libraries keeps anything about a state outside it, or cares which thread comes; we are the only
// owner, and a state is used through `&mut`.
#[expect(unsafe_code, reason = "a pointer says nothing about threads")]
unsafe impl Send for State {}

impl State {
    /// Owns what a library's function made; `None` if it made nothing.
    ///
    /// # Safety
    ///
    /// `pointer` has to be null, or a state that `end` may be called with once, and that nobody else has.
    #[expect(unsafe_code, reason = "nothing can check whose a pointer is")]
    unsafe fn own(pointer: *mut c_void, end: End) -> Option<Self> {
        Some(Self { pointer: NonNull::new(pointer)?, end })
    }

    /// The state, for a call of the library's.
    pub(crate) fn pointer(&mut self) -> *mut c_void {
        self.pointer.as_ptr()
    }
}

impl Drop for State {
    #[expect(unsafe_code, reason = "the state is the library's")]
    fn drop(&mut self) {
        match self.end {
            // SAFETY: who made this vouched for it, and it is done once.
            End::Silent(free) => unsafe { free(self.pointer.as_ptr()) },
            End::WithStatus(free) => {
                // SAFETY: as above.
                let _ = unsafe { free(self.pointer.as_ptr()) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_here_is_named_with_its_package() {
        let origin = Origin { codec: "gsm", library: "libguestright-nothing.so.7", package: "libgsm1" };
        let error = origin.open().map(drop).unwrap_err();
        assert_eq!(
            error.to_string(),
            "gsm needs libguestright-nothing.so.7, which is not on this computer: install the Debian package libgsm1"
        );
    }

    #[test]
    #[expect(unsafe_code, reason = "it asks for a C function")]
    fn another_library_of_that_name_is_told_from_the_right_one() {
        let origin = Origin { codec: "gsm", library: "libc.so.6", package: "libgsm1" };
        // SAFETY: there is no such function, so that nothing depends on its type.
        let found = unsafe { origin.open().unwrap().function::<usize>("gsm_create") };
        let (codec, library, package) = (origin.codec, origin.library, origin.package);
        assert_eq!(found, Err(CodecError::LibraryOther { codec, library, symbol: "gsm_create", package }));
    }
}
