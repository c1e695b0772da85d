use thiserror::Error;

/// Why something could not be encoded, decoded, or opened.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CodecError {
    /// The caller handed over a number of samples that is no whole number of frames, or none.
    #[error("{codec} takes {want} samples or a multiple of that, not {got}")]
    Samples {
        /// The codec's name.
        codec: &'static str,
        /// What was handed over.
        got: usize,
        want: usize,
    },
    /// The caller's buffer is too small for what comes out.
    #[error("the buffer has room for {got}, and {want} are needed")]
    Room {
        /// The buffer's length.
        got: usize,
        /// What is needed.
        want: usize,
    },
    /// A payload has a length that this codec never makes.
    #[error("a payload of {codec} cannot be {got} bytes long")]
    Length {
        /// The codec's name.
        codec: &'static str,
        /// The payload's length.
        got: usize,
    },
    /// A payload has a fitting length but nothing in it that this codec could have written.
    #[error("not a payload of {codec}: {why}")]
    Payload {
        /// The codec's name.
        codec: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// A codec's library is not on this computer.
    #[error("{codec} needs {library}, which is not on this computer: install the Debian package {package}")]
    LibraryAbsent {
        /// The codec's name.
        codec: &'static str,
        /// The file that was looked for.
        library: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// There is a library of that name, but it is another one.
    #[error("{library} has no {symbol}: it is not the library that {codec} needs (Debian package {package})")]
    LibraryOther {
        /// The codec's name.
        codec: &'static str,
        /// The file that was opened.
        library: &'static str,
        /// What it lacks.
        symbol: &'static str,
        /// The Debian package that has the right one.
        package: &'static str,
    },
    /// The library failed.
    #[error("{codec}: {function} failed ({code})")]
    Library {
        /// The codec's name.
        codec: &'static str,
        /// The function that failed.
        function: &'static str,
        /// The library's own number for it.
        code: i32,
    },
    /// The program was built without this codec.
    #[error("this program was built without {codec}: build it with --features {feature}")]
    NotBuilt {
        /// The codec's name.
        codec: &'static str,
        /// The cargo feature.
        feature: &'static str,
    },
    /// A setting is out of its range.
    #[error("{setting} is {got}, and has to be from {least} to {most}")]
    Setting {
        setting: &'static str,
        got: u32,
        /// The smallest possible value.
        least: u32,
        /// The largest possible value.
        most: u32,
    },
    /// There is no codec of this name.
    #[error("there is no codec named {got:?}; there are {known}")]
    Name {
        /// What was asked for.
        got: String,
        known: String,
    },
}
