use std::path::PathBuf;
use thiserror::Error;

/// Why there is no sound.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AudioError {
    /// A file could not be opened, read or written.
    #[error("{path}: {says}", path = path.display())]
    File {
        path: PathBuf,
        /// What the system says.
        says: String,
    },
    /// A file is no WAV file, or is damaged.
    #[error("{path} is not a WAV file that can be read: {why}", path = path.display())]
    Wav {
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file has become as long as a WAV file may.
    #[error("{path} is full: a WAV file takes {WAV_SAMPLES_MAX} samples", path = path.display(),
        WAV_SAMPLES_MAX = crate::WAV_SAMPLES_MAX)]
    Full { path: PathBuf },
    /// Sound at such a rate cannot be converted.
    #[error("{got} Hz is no rate for sound: {least} to {most} Hz are", least = crate::RATE_HZ_MIN, most = crate::RATE_HZ_MAX)]
    Rate {
        /// The rate, in Hz.
        got: u32,
    },
    /// There is no such device.
    #[error("there is no sound device {got:?}; there are: {known}")]
    NoDevice {
        /// What was asked for; empty for the default one.
        got: String,
        /// The names of all.
        known: String,
    },
    /// A device does not do what it has to.
    #[error("the sound device {device}: {says}")]
    Device {
        device: String,
        /// What the system says.
        says: String,
    },
}
