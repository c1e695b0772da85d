//! What is said, and where it goes: a file, the sound card, or nothing.

use crate::{SoundSettings, TelephoneError};
#[cfg(feature = "sound-card")]
use guestright_audio::card::{Loudspeaker, Microphone};
use guestright_audio::{AudioError, Sink, Source, WavSink, WavSource};
use std::path::PathBuf;

/// Both ends of the sound, at the rate of the first codec; other codecs' samples are converted.
pub(crate) struct Sound {
    source: Option<Box<dyn Source>>,
    sink: Option<Box<dyn Sink>>,
    /// The file that is said again and again.
    again: Option<PathBuf>,
    /// Of the ends, in Hz.
    rate_hz: u32,
    /// Of the codec, in Hz.
    codec_hz: u32,
    /// The last sample in either direction, to go on from.
    captured: i16,
    played: i16,
}

impl Sound {
    /// Opens both ends for samples at `rate_hz`.
    pub(crate) fn open(settings: &SoundSettings, rate_hz: u32) -> Result<Self, TelephoneError> {
        let source: Option<Box<dyn Source>> = match &settings.play {
            Some(path) => {
                Some(Box::new(WavSource::open(path, rate_hz).map_err(TelephoneError::SoundSource)?))
            }
            None if settings.no_card => None,
            None => Some(microphone(rate_hz).map_err(TelephoneError::SoundSource)?),
        };
        let sink: Option<Box<dyn Sink>> = match &settings.record {
            Some(path) => Some(Box::new(WavSink::create(path, rate_hz).map_err(TelephoneError::SoundSink)?)),
            None if settings.no_card => None,
            None => Some(loudspeaker(rate_hz).map_err(TelephoneError::SoundSink)?),
        };
        let again = settings.play.clone().filter(|_| settings.again);
        Ok(Self { source, sink, again, rate_hz, codec_hz: rate_hz, captured: 0, played: 0 })
    }

    /// Whether both ends are there: a microphone and a loudspeaker, or what takes their place. Nothing is written.
    ///
    /// # Errors
    /// One is not.
    pub(crate) fn check(settings: &SoundSettings, rate_hz: u32) -> Result<(), TelephoneError> {
        match &settings.play {
            Some(path) => drop(WavSource::open(path, rate_hz).map_err(TelephoneError::SoundSource)?),
            None if settings.no_card => {}
            None => drop(microphone(rate_hz).map_err(TelephoneError::SoundSource)?),
        }
        if settings.record.is_none() && !settings.no_card {
            drop(loudspeaker(rate_hz).map_err(TelephoneError::SoundSink)?);
        }
        Ok(())
    }

    /// Another codec, of another rate.
    pub(crate) fn set_codec_rate(&mut self, codec_hz: u32) {
        self.codec_hz = codec_hz;
    }

    /// The next samples of the source; silence when there are no more.
    pub(crate) fn capture(&mut self, samples: usize) -> Result<Vec<i16>, AudioError> {
        let mut here = vec![0; scaled(samples, self.codec_hz, self.rate_hz)];
        if let Some(source) = &mut self.source {
            let count = source.read(&mut here)?;
            if count < here.len()
                && let Some(path) = &self.again
            {
                let mut begun = WavSource::open(path, self.rate_hz)?;
                begun.read(&mut here[count..])?;
                *source = Box::new(begun);
            }
        }
        Ok(convert(&here, samples, &mut self.captured))
    }

    /// Plays samples, or keeps them in the file.
    pub(crate) fn play(&mut self, samples: &[i16]) -> Result<(), AudioError> {
        let there = convert(samples, scaled(samples.len(), self.rate_hz, self.codec_hz), &mut self.played);
        self.sink.as_mut().map_or(Ok(()), |sink| sink.write(&there))
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<(), AudioError> {
        self.sink.map_or(Ok(()), Sink::finish)
    }
}

#[cfg(feature = "sound-card")]
fn microphone(rate_hz: u32) -> Result<Box<dyn Source>, AudioError> {
    Ok(Box::new(Microphone::open(None, rate_hz)?))
}

#[cfg(feature = "sound-card")]
fn loudspeaker(rate_hz: u32) -> Result<Box<dyn Sink>, AudioError> {
    Ok(Box::new(Loudspeaker::open(None, rate_hz)?))
}

#[cfg(not(feature = "sound-card"))]
fn microphone(_: u32) -> Result<Box<dyn Source>, AudioError> {
    Err(no_card())
}

#[cfg(not(feature = "sound-card"))]
fn loudspeaker(_: u32) -> Result<Box<dyn Sink>, AudioError> {
    Err(no_card())
}

#[cfg(not(feature = "sound-card"))]
fn no_card() -> AudioError {
    let says = "this program was built without (cargo feature `sound-card`)".to_owned();
    AudioError::Device { device: "default".to_owned(), says }
}

/// How many samples at rate `to` last as long as `samples` at rate `from`.
pub(crate) fn scaled(samples: usize, from: u32, to: u32) -> usize {
    // Exact for the rates of our codecs, which divide each other.
    let product = u64::try_from(samples).unwrap_or(u64::MAX).saturating_mul(u64::from(to));
    usize::try_from(product / u64::from(from.max(1))).unwrap_or(usize::MAX)
}

/// As many samples as wanted, over the same time: means on the way down, straight lines on the way up. Only after a
/// change of the codec in the middle of a call is there anything to do.
pub(crate) fn convert(samples: &[i16], wanted: usize, last: &mut i16) -> Vec<i16> {
    if samples.len() == wanted || samples.is_empty() {
        *last = samples.last().copied().unwrap_or(*last);
        return if samples.is_empty() { vec![0; wanted] } else { samples.to_vec() };
    }
    let mut out = Vec::with_capacity(wanted);
    if samples.len() > wanted {
        for part in samples.chunks(samples.len().div_ceil(wanted.max(1))).take(wanted) {
            let sum: i64 = part.iter().map(|sample| i64::from(*sample)).sum();
            let count = i64::try_from(part.len()).unwrap_or(i64::MAX);
            out.push(i16::try_from(sum / count).unwrap_or_default());
        }
    } else {
        let steps = i32::try_from(wanted / samples.len()).unwrap_or(i32::MAX).max(1);
        for sample in samples {
            let (from, to) = (i32::from(*last), i32::from(*sample));
            out.extend(
                (1..=steps).map(|step| i16::try_from(from + (to - from) * step / steps).unwrap_or_default()),
            );
            *last = *sample;
        }
    }
    out.resize(wanted, *last);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_converted_without_a_change_of_length_or_level() {
        let mut last = 0;
        assert_eq!(scaled(160, 8_000, 48_000), 960);
        assert_eq!(scaled(960, 48_000, 8_000), 160);
        assert_eq!(convert(&[4, 8], 4, &mut last), [2, 4, 6, 8]);
        assert_eq!(convert(&[2, 4, 6, 8], 2, &mut last), [3, 7]);
        assert_eq!(convert(&[5; 960], 160, &mut last), [5; 160]);
        assert_eq!(convert(&[5; 3], 3, &mut last), [5; 3]);
    }
}
