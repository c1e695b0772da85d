use crate::AudioError;
use std::fmt::Debug;

/// Where a call's speech comes from: samples of one channel, at a rate of [`Source::rate_hz`].
pub trait Source: Debug + Send {
    /// The rate of its samples, in Hz.
    fn rate_hz(&self) -> u32;

    /// Fills `samples` and says how many it had: fewer than asked only if there will be no more. The rest is silence.
    ///
    /// # Errors
    ///
    /// [`AudioError::File`] and [`AudioError::Wav`] for a file that cannot be read on.
    fn read(&mut self, samples: &mut [i16]) -> Result<usize, AudioError>;
}

/// Where a call's speech goes to.
pub trait Sink: Debug + Send {
    /// The rate of its samples, in Hz.
    fn rate_hz(&self) -> u32;

    /// Takes samples.
    ///
    /// # Errors
    ///
    /// [`AudioError::File`] and [`AudioError::Full`] for a file that cannot be written on.
    fn write(&mut self, samples: &[i16]) -> Result<(), AudioError>;

    /// Takes no more, and reports what went wrong with the last ones. Dropping does the same, but in silence.
    ///
    /// # Errors
    ///
    /// As of [`Sink::write`].
    fn finish(self: Box<Self>) -> Result<(), AudioError>;
}
