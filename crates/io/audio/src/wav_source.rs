use crate::{AudioError, Resampler, Source, resampler, sample};
use hound::{SampleFormat, WavReader};
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

/// More channels than any microphone has.
const CHANNELS_MAX: u16 = 64;

/// A WAV file being read: any rate, number of channels and number of bits, as one channel at the rate that is wanted.
///
/// The file is read while it is played, so that its length makes no difference.
pub struct WavSource {
    path: PathBuf,
    rate_hz: u32,
    reader: WavReader<Box<dyn Read + Send>>,
    channels: u16,
    scale: Scale,
    /// `None` if the file has the rate that is wanted: then its samples are not touched.
    resampler: Option<Resampler>,
    is_over: bool,
}

/// How a sample becomes a number in -1..1.
#[derive(Clone, Copy, Debug)]
enum Scale {
    Float,
    /// Whole numbers of 16 bits.
    Whole16,
    /// Others: the number that a full sample is.
    Whole(f32),
}

impl fmt::Debug for WavSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WavSource")
            .field("path", &self.path)
            .field("channels", &self.channels)
            .finish_non_exhaustive()
    }
}

impl WavSource {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// [`AudioError::File`] if it cannot be opened, [`AudioError::Wav`] if it is no WAV file, [`AudioError::Rate`] for a
    /// rate that is none.
    pub fn open(path: &Path, rate_hz: u32) -> Result<Self, AudioError> {
        let failed =
            |error: std::io::Error| AudioError::File { path: path.to_owned(), says: error.to_string() };
        let file = File::open(path).map_err(failed)?;
        Self::from_reader(path, Box::new(BufReader::new(file)), rate_hz)
    }

    /// Reads a file in memory, such as [`SPEECH`](crate::SPEECH). `name` is for messages.
    ///
    /// # Errors
    ///
    /// As of [`WavSource::open`].
    pub fn from_bytes(name: &str, bytes: &'static [u8], rate_hz: u32) -> Result<Self, AudioError> {
        Self::from_reader(Path::new(name), Box::new(Cursor::new(bytes)), rate_hz)
    }

    /// Reads whatever can be read. `path` is for messages.
    ///
    /// # Errors
    ///
    /// As of [`WavSource::open`].
    pub fn from_reader(path: &Path, reader: Box<dyn Read + Send>, rate_hz: u32) -> Result<Self, AudioError> {
        resampler::check_rate(rate_hz)?;
        let wrong = |why: &str| AudioError::Wav { path: path.to_owned(), why: why.to_owned() };
        let reader = WavReader::new(reader).map_err(|error| failed(path, &error))?;
        let spec = reader.spec();
        if spec.channels == 0 || spec.channels > CHANNELS_MAX {
            return Err(wrong("it has no channels, or more than 64"));
        }
        let scale = match (spec.sample_format, spec.bits_per_sample) {
            (SampleFormat::Float, 32) => Scale::Float,
            (SampleFormat::Int, 16) => Scale::Whole16,
            #[expect(clippy::cast_precision_loss, reason = "powers of two are exact")]
            (SampleFormat::Int, bits @ 2..=32) => Scale::Whole((1_u64 << (bits - 1)) as f32),
            (SampleFormat::Float | SampleFormat::Int, _) => {
                return Err(wrong("its samples have an unknown format"));
            }
        };
        let resampler =
            if spec.sample_rate == rate_hz { None } else { Some(Resampler::new(spec.sample_rate, rate_hz)?) };
        let (path, channels) = (path.to_owned(), spec.channels);
        Ok(Self { path, rate_hz, reader, channels, scale, resampler, is_over: false })
    }

    /// The next moment of all channels, mixed.
    fn next(&mut self) -> Result<Option<f32>, AudioError> {
        let mut sum = 0.0;
        for channel in 0..self.channels {
            let value = match self.scale {
                Scale::Float => self.reader.samples::<f32>().next(),
                Scale::Whole16 => self.reader.samples::<i16>().next().map(|read| read.map(sample::to_float)),
                #[expect(clippy::cast_precision_loss, reason = "24 bits are more than 16")]
                Scale::Whole(full) => {
                    self.reader.samples::<i32>().next().map(|read| read.map(|value| value as f32 / full))
                }
            };
            match value {
                Some(Ok(value)) => sum += if value.is_finite() { value.clamp(-1.0, 1.0) } else { 0.0 },
                Some(Err(error)) => return Err(failed(&self.path, &error)),
                None if channel == 0 => return Ok(None),
                None => break,
            }
        }
        Ok(Some(sum / f32::from(self.channels)))
    }
}

impl Source for WavSource {
    fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    fn read(&mut self, samples: &mut [i16]) -> Result<usize, AudioError> {
        let mut count = 0;
        while count < samples.len() {
            if let Some(resampler) = &mut self.resampler {
                count += resampler.pull(&mut samples[count..]);
                if count == samples.len() {
                    break;
                }
            }
            if self.is_over {
                break;
            }
            let Some(value) = self.next()? else {
                self.is_over = true;
                if let Some(resampler) = &mut self.resampler {
                    resampler.finish();
                }
                continue;
            };
            match &mut self.resampler {
                Some(resampler) => resampler.push_floats(std::iter::once(value)),
                None => {
                    samples[count] = sample::from_float(value);
                    count += 1;
                }
            }
        }
        samples[count..].fill(0);
        Ok(count)
    }
}

fn failed(path: &Path, error: &hound::Error) -> AudioError {
    let (path, text) = (path.to_owned(), error.to_string());
    match error {
        // The library's own error for a file that is too short has no kind and no number of the system's.
        hound::Error::IoError(inner) if inner.raw_os_error().is_none() => {
            AudioError::Wav { path, why: "it ends too early".to_owned() }
        }
        hound::Error::IoError(_) => AudioError::File { path, says: text },
        hound::Error::FormatError(_)
        | hound::Error::TooWide
        | hound::Error::UnfinishedSample
        | hound::Error::Unsupported
        | hound::Error::InvalidSampleFormat => AudioError::Wav { path, why: text },
    }
}
