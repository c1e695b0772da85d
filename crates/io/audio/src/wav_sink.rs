use crate::{AudioError, Sink, resampler};
use hound::{SampleFormat, WavSpec, WavWriter};
use std::fmt;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// The most samples that fit: 2 GiB, which every program can read.
pub const WAV_SAMPLES_MAX: u32 = (1 << 30) - 64;

/// A WAV file being written: 16 bits, one channel.
///
/// Once a second of sound the header is brought up to date, so that the file is whole up to there if the program ends
/// without saying so.
pub struct WavSink {
    path: PathBuf,
    rate_hz: u32,
    writer: WavWriter<BufWriter<File>>,
    written: u32,
    /// When the header was last right.
    flushed: u32,
}

impl fmt::Debug for WavSink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WavSink")
            .field("path", &self.path)
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

impl WavSink {
    /// Makes the file, or empties it.
    ///
    /// # Errors
    ///
    /// [`AudioError::Rate`] for a rate that is none, [`AudioError::File`] if the file cannot be written.
    pub fn create(path: &Path, rate_hz: u32) -> Result<Self, AudioError> {
        resampler::check_rate(rate_hz)?;
        let spec = WavSpec {
            channels: 1,
            sample_rate: rate_hz,
            bits_per_sample: 16,
            sample_format: SampleFormat::Int,
        };
        let mut writer = WavWriter::create(path, spec).map_err(|error| file(path, &error))?;
        writer.flush().map_err(|error| file(path, &error))?;
        Ok(Self { path: path.to_owned(), rate_hz, writer, written: 0, flushed: 0 })
    }
}

impl Sink for WavSink {
    fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    fn write(&mut self, samples: &[i16]) -> Result<(), AudioError> {
        let total = u32::try_from(samples.len()).ok().and_then(|count| self.written.checked_add(count));
        let Some(total) = total.filter(|total| *total <= WAV_SAMPLES_MAX) else {
            return Err(AudioError::Full { path: self.path.clone() });
        };
        for sample in samples {
            self.writer.write_sample(*sample).map_err(|error| file(&self.path, &error))?;
        }
        self.written = total;
        if total - self.flushed >= self.rate_hz {
            self.writer.flush().map_err(|error| file(&self.path, &error))?;
            self.flushed = total;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), AudioError> {
        let Self { path, writer, .. } = *self;
        writer.finalize().map_err(|error| file(&path, &error))
    }
}

fn file(path: &Path, error: &hound::Error) -> AudioError {
    AudioError::File { path: path.to_owned(), says: error.to_string() }
}
